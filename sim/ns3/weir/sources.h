// What the library was built from.

#pragma once

#include <string>

namespace weirsim {

/// SHA-256 of the sources of the experiments' programs, of this library and of its golden model, one behind the other in the order of
/// their names.
std::string librarySources();

}  // namespace weirsim

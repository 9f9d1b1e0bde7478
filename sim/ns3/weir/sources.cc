#include "sources.h"

namespace weirsim {

std::string librarySources() { return WEIR_SOURCES; }

}  // namespace weirsim

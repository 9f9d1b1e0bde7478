// Fixed-point words of the registers and small helpers that every golden policy uses (docs/modules/ewma.md, red.md, fn.md).

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace weirsim::golden {

using u128 = unsigned __int128;
using i128 = __int128;
/// Register words of a queue by name, as libweir's weir_convert_queue gives them.
using Words = std::map<std::string, uint32_t>;

constexpr uint64_t one32 = uint64_t{1} << 32;
constexpr uint64_t one36 = uint64_t{1} << 36;

enum Action { accept = 0, mark = 1, drop = 2 };
enum Cause { none = 0, early = 1, forced = 2, overflow = 3, partial = 6 };
enum Ecn { notEct = 0, ect1 = 1, ect0 = 2, ce = 3 };
enum Policy { dropTail = 0, red = 1, dtEcn = 2, isred = 3, fn = 4 };

/// mantissa * 2^-exponent, as a register holds it.
struct Scaled {
  uint64_t mantissa = 0;
  unsigned exponent = 0;
};

inline uint32_t word(const Words &words, const char *name, uint32_t otherwise = 0) {
  const auto at = words.find(name);
  return at == words.end() ? otherwise : at->second;
}
inline Scaled scaled(const Words &words, const char *name) {
  const uint32_t w = word(words, name);
  return {w & 0x3FFFF, w >> 24 & 0x3F};
}
/// All ones if `value` does not fit `bits`.
inline u128 saturate(u128 value, unsigned bits) { return std::min(value, (u128{1} << bits) - 1); }
inline unsigned bitLength(u128 value) {
  unsigned n = 0;
  for (; value; value >>= 1) ++n;
  return n;
}

/// A policy's answer with its evidence.
struct Verdict {
  unsigned action = accept;
  unsigned cause = none;
  uint64_t average = 0;
  uint32_t count = 0;
  uint64_t probability = 0;
  uint32_t slots = 0;
};

/// What a policy sees of an arrival.
struct Request {
  uint64_t ns = 0;  ///< time of the request
  uint32_t length = 0, ecn = 0, draw = 0, slots = 0;
  uint32_t bytes = 0, packets = 0, frames = 0;  ///< the queue before it
};

}  // namespace weirsim::golden

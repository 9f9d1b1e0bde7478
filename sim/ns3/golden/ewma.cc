#include "ewma.h"

#include <array>
#include <cmath>

namespace weirsim::golden {

namespace {

constexpr uint32_t slotsMax = (1u << 22) - 2;
constexpr uint64_t ln2 = 11629080;  // ln 2 * 2^24

/// round(2^(-i/512) * 2^36), the first entry saturated to 36 bits. Long double has 64 bits of mantissa.
std::array<uint64_t, 512> powers() {
  std::array<uint64_t, 512> table{};
  for (unsigned i = 0; i < table.size(); ++i)
    table[i] = std::min<uint64_t>(std::llroundl(std::exp2l(36.0L - i / 512.0L)), one36 - 1);
  return table;
}

}  // namespace

EwmaParams EwmaParams::of(const Words &w) {
  const uint64_t weight = word(w, "RED_WEIGHT_LO") | uint64_t{word(w, "RED_WEIGHT_HI") & 31} << 32;
  return {std::min(weight, one36), word(w, "RED_DECAY_LO") | uint64_t{word(w, "RED_DECAY_HI") & 1023} << 32,
          scaled(w, "RED_IDLE_RATE")};
}

uint32_t idleSlots(uint64_t idleNs, const EwmaParams &params) {
  return static_cast<uint32_t>(
      std::min<u128>(u128{idleNs} * params.idleRate.mantissa >> params.idleRate.exponent, slotsMax));
}

uint64_t idleFactor(uint32_t slots, const EwmaParams &params) {
  static const std::array<uint64_t, 512> table = powers();
  const u128 y = u128{slots + 1} * params.decay;
  const u128 whole = y >> 36;
  if (whole >= 40 || params.weight == one36) return 0;
  const uint64_t power = table[static_cast<size_t>(y >> 27) & 0x1FF];
  const uint64_t z = (static_cast<uint64_t>(y) & ((uint64_t{1} << 27) - 1)) * ln2 >> 15;
  const uint64_t h = z - ((z >> 18) * (z >> 18) >> 10);
  return (power - static_cast<uint64_t>(u128{power} * h >> 45)) >> static_cast<unsigned>(whole);
}

uint64_t Ewma::request(uint32_t slots, uint64_t quantity, const EwmaParams &params) {
  const u128 half = u128{1} << 35;
  const u128 sum = slots ? u128{idleFactor(slots, params)} * average_
                         : u128{one36 - params.weight} * average_ + (u128{params.weight} * quantity << 22);
  average_ = static_cast<uint64_t>((sum + half) >> 36);
  return average_;
}

}  // namespace weirsim::golden

// The average queue, bit for bit (docs/modules/ewma.md; golden/ewma.py is the reference that the tests compare with).

#pragma once

#include "arith.h"

namespace weirsim::golden {

/// Weight, decay and idle rate of a queue.
struct EwmaParams {
  uint64_t weight = one36, decay = 0;
  Scaled idleRate;
  static EwmaParams of(const Words &words);
};

/// m: idle slots in `idleNs`.
uint32_t idleSlots(uint64_t idleNs, const EwmaParams &params);
/// About (1-w)^(slots+1) * 2^36.
uint64_t idleFactor(uint32_t slots, const EwmaParams &params);

/// The average of one queue, UQ21.22.
class Ewma {
 public:
  /// An arrival that found `quantity` units, after `slots` idle slots (0: a normal update).
  uint64_t request(uint32_t slots, uint64_t quantity, const EwmaParams &params);
  uint64_t average() const { return average_; }

 private:
  uint64_t average_ = 0;
};

}  // namespace weirsim::golden

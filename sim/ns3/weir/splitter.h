// The receiving end of a link: jumbo frames come in, the frames of their packets go out (docs/jumbo.md).

#pragma once

#include "bottleneck.h"

namespace weirsim {

/// Time is in ns since it was made, in the core's measure, and does not go back. Frames that are no jumbo frames pass.
class Splitter {
 public:
  virtual ~Splitter() = default;
  virtual void send(const uint8_t *frame, uint32_t length, uint64_t atNs) = 0;
  /// The frames of the oldest frame that was sent and not taken. If the core has not given out the same ones by `ns` the run ends with a
  /// std::runtime_error, here or, from a core on a thread of its own, a while later and at the latest in `finish`.
  virtual std::vector<std::vector<uint8_t>> take(uint64_t ns) = 0;
  virtual void finish() {}
  /// `compared`: frames that came out of a core and were compared with the golden model, byte for byte. `departureHash`: of their bytes.
  virtual Totals totals() const { return {}; }
};

/// A core that splits, fed at the rate of its 10GbE line, its link as fast as it can be.
std::unique_ptr<Splitter> makeRtlSplitter(const Setup &setup);
std::unique_ptr<Splitter> makeGoldenSplitter();

}  // namespace weirsim

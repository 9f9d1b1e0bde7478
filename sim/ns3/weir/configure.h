// Natural units to registers: libweir's work, for the RTL and for the golden model alike.

#pragma once

#include "../golden/port.h"
#include "bottleneck.h"

#include <map>

extern "C" {
struct weir_queue_config;
struct weir_capabilities;
struct weir;
}

namespace weirsim {

/// The setup as libweir's configuration. Throws std::runtime_error with libweir's sentence.
void configOf(const Setup &setup, weir_queue_config *config);
/// Throws std::runtime_error for jumbo frames that are to be merged and to stay together, for MRED where there is none, and for `tick` or `stretch` out of range.
void checkSetup(const Setup &setup);
/// Throws std::runtime_error for a policy's settings that no core would take: for a queue of ns-3 that is to have them.
void checkSettings(const Setup &setup);
/// The rate of the core's shaper, bit/s, in the core's time.
double coreRate(const Setup &setup);
/// What the setup's core has, for the golden model alone; the RTL says it itself. Throws std::runtime_error for a core without a golden model.
weir_capabilities capabilitiesOf(const Setup &setup);
/// What the golden model needs, from the same setup and the capabilities of the core.
golden::PortConfig portConfigOf(const Setup &setup, const weir_capabilities &capabilities);
/// ECN codepoint of an Ethernet frame (IPv4 or IPv6 without tags), 0 if it has none.
uint32_t ecnOf(const uint8_t *frame, uint32_t length);
/// Throws with libweir's sentence if `status` tells a failure.
void check(int status);

/// What the core writes for the link and the jumbo frames, with its queue: registers of a device.
void configureCore(struct weir *device, const Setup &setup);

/// The frames that a merging queue holds, and the jumbo frames that they become.
class Merging {
 public:
  explicit Merging(const Setup &setup) : on_(setup.merge), transit_(setup.transit), tick_(setup.tick) {}
  bool on() const { return on_; }
  /// Whether a frame is a jumbo frame that stays together.
  bool transit(const uint8_t *frame, uint32_t length) const { return transit_ && golden::isJumbo(frame, length); }
  /// Throws std::runtime_error for a jumbo frame in a queue that merges: it could be taken for one that was merged there; and in
  /// transit for one that would not arrive.
  void admit(const uint8_t *frame, uint32_t length) const;
  /// Admits a frame, and keeps it.
  golden::Incoming keep(const uint8_t *frame, uint32_t length);
  /// An arrival's record: what is dropped is forgotten.
  void decided(const Record &record);
  /// Members, time and bytes; of a jumbo frame, its bytes. Its packets are forgotten.
  Departure departure(const golden::Leaving &leaving);

 private:
  bool on_, transit_;
  unsigned tick_;
  uint64_t number_ = 0;
  uint16_t identification_ = 0;
  std::map<uint64_t, golden::Bytes> frames_;
};

/// The 10GbE line to the core. Behind a jumbo frame in transit it stays quiet for a while: the golden model does not cover frames
/// that come while such a frame is still being cut.
class Line {
 public:
  /// When a frame is to come that would come at `at`, in the core's time.
  uint64_t place(uint32_t length, bool transit, uint64_t at);

 private:
  uint64_t free_ = 0;   ///< byte time
  uint64_t quiet_ = 0;  ///< ns
};

/// FNV-1a, 64 bits.
constexpr uint64_t hashBasis = 0xCBF29CE484222325;
uint64_t hashed(uint64_t hash, const uint8_t *bytes, size_t count);

/// Hashes and counts records.
class Tally {
 public:
  void add(const Record &record);
  /// Records of that time of the core or later do not count: a run ends there, whatever comes out while the core settles.
  void end(uint64_t ns) { end_ = ns; }
  bool counts(const Record &record) const;
  void fill(Totals &totals) const;

 private:
  uint64_t arrivals_ = 0, departures_ = 0, arrivalHash_ = hashBasis, departureHash_ = hashBasis;
  uint64_t end_ = ~uint64_t{0};
};

}  // namespace weirsim

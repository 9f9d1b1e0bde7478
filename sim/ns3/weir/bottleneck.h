// A Weir queue in front of a link, as a simulator sees it: frames go in at a time, frames come out at a time.
//
// Two kinds with the same interface: the RTL's cycle model, and the golden model that predicts it. Nothing here knows ns-3.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weirsim {

/// A trace record, 12 words (docs/architecture.md, Trace).
using Record = std::array<uint32_t, 12>;

/// A queue and its link in natural units, as libweir takes them.
struct Setup {
  std::string policy = "drop-tail";
  std::vector<std::pair<std::string, std::string>> settings;  ///< of the policy: {"min", "5"}, {"ecn", "on"}, …
  /// Of the link, bit/s: 64 kbit/s to 10 Gbit/s, in the core's time; where the golden model is, alone or beside the RTL, up to 100 Mbit/s.
  double rate = 1e7;
  /// A frame of L bytes takes max(L, mpu) + overhead of the link; overhead may be negative. ns-3's links pad no frame, those of
  /// Ethernet are overhead 24, mpu 60.
  int overhead = 0, mpu = 0;
  /// Packets of a flow that wait leave in one jumbo frame of the L3 form (docs/jumbo.md, at most 9216 bytes).
  bool merge = false;
  /// Jumbo frames of the L3 form that come stay together (docs/modules/transit.md); not with `merge`.
  bool transit = false;
  /// MRED with DDF, of jumbo frames in transit and a policy of the RED family: one that RED selects is spared, and the one
  /// nearest the head loses a share of its packets: `mredLow` of them at min, `mredHigh` at max, 0 to 1.
  bool mred = false;
  double mredLow = 0.1, mredHigh = 0.6;
  /// RED with ECN drops what it selects at this probability and above, where it would mark: ns-2's `mark_p_`. 1: it marks at each. The golden
  /// model alone has it, not the RTL.
  double markP = 1;
  /// log2 of the unit, ns of the core's time, in which a jumbo frame tells its packets' spacing: 1 to 16. Packets that are more than 65535 units apart are not
  /// merged: 4.2 ms with 6.
  unsigned tick = 6;
  /// The core's time runs this many times faster than the simulator's, 1 to 10000: 100 makes a link of 10 Gbit/s one of 100 Mbit/s to the
  /// core. `rate` is the simulator's. The larger it is, the larger has `tick` to be.
  unsigned stretch = 1;
  uint64_t seed = 1;      ///< of the core's random source
  /// The core: "full", the preset; "network", one queue with drop-tail, RED, DT-ECN, ISRED and FN and no jumbo frames, which is
  /// evaluated four times as fast, and whose pipeline is shorter, so that both have their own traces; or "network-jumbo", one queue
  /// with drop-tail, RED and jumbo frames.
  std::string core = "full";
  /// The cycle model computes on a thread of its own while the simulator goes on (Bottleneck::reach). Results are the same.
  bool thread = true;
  std::string model;      ///< the cycle model's library; empty: WEIR_MODEL, or build/model/<core> of this tree
};

/// A frame on its way to the link.
struct Departure {
  /// Frames, counted from 0 as they were sent; more than one: it is a jumbo frame of them. One that was sent as a jumbo frame,
  /// and stayed together, has one number.
  std::vector<uint64_t> members;
  uint32_t packets = 1;           ///< in it; of a frame in transit those that are left
  uint64_t firstNs = 0;           ///< when its first beat left the queue, ns
  bool marked = false;            ///< CE was set (of a jumbo frame its bytes say it)
  std::vector<uint8_t> bytes;     ///< as they came out; empty from the golden model, but for jumbo frames, merged or in transit
};

/// What a run leaves behind.
struct Totals {
  uint64_t arrivals = 0, departures = 0, cycles = 0, evaluated = 0;
  uint64_t compared = 0;     ///< of the run's records those that were compared with the golden model, word for word
  uint64_t arrivalHash = 0;  ///< FNV-1a, 64 bits, of the arrivals' records in their order
  uint64_t departureHash = 0;
};

/// Time is in ns since the bottleneck was made, and does not go back.
class Bottleneck {
 public:
  virtual ~Bottleneck() = default;
  /// A frame (Ethernet, without FCS) whose first beat comes at `atNs` on a 10GbE line, or as soon after as that is free. With
  /// `transit`, throws std::runtime_error for a jumbo frame that is malformed or has no packet.
  virtual void send(const uint8_t *frame, uint32_t length, uint64_t atNs) = 0;
  /// Everything that happens before `ns`.
  virtual void runUntil(uint64_t ns) = 0;
  /// Nothing is sent for a time before `ns` any more: one that is `eager` works out meanwhile what happens until then. A matter of speed
  /// alone: it is told by `runUntil`.
  virtual void reach(uint64_t) {}
  virtual bool eager() const { return false; }
  /// Frames that have wholly come out since the last call. A frame in transit that has lost all its packets never does.
  virtual std::vector<Departure> take() = 0;
  /// Frames on the line or in the queue, as they were sent, decided or not; a jumbo frame in transit is one until all its packets
  /// are gone.
  virtual uint64_t held() const = 0;
  /// Ends the run: what has been decided is told and compared. Throws if something is wrong.
  virtual void finish() {}
  virtual Totals totals() const = 0;

  /// Is told each record, times in the core's own ns (`epochNs` later than those of this interface).
  std::function<void(const Record &)> onRecord;
};

/// The core's clock when the bottleneck's is 0: time for its configuration.
constexpr uint64_t epochNs = 1000000;
/// Every decision is on the trace port so much later, ns.
constexpr uint64_t settleNs = 2000;

/// The RTL. With `check` each of its records is compared with the golden model; a difference throws.
/// Throws std::runtime_error, one line, if the cycle model is missing or a setting is refused.
std::unique_ptr<Bottleneck> makeRtl(const Setup &setup, bool check);
/// The golden model alone. Throws std::runtime_error, one line, for what the core does not have or the model does not cover.
std::unique_ptr<Bottleneck> makeGolden(const Setup &setup);

}  // namespace weirsim

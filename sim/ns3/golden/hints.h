// What the average of a queue is told of arrivals before they come: docs/modules/ewma.md#idle-time, core.md.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <ranges>
#include <vector>

namespace weirsim::golden {

/// Frames on their way to their requests, and the hints that they give: each with its header. What was told is void when a jumbo frame
/// ends; that one is told of again when it leaves Batch, and so is whatever leaves Batch first after an end. A hint is
/// told by the cycle from which it counts, the one after its own.
class Hints {
 public:
  static constexpr uint64_t none = ~uint64_t{0};

  /// @param averages requests of the queue reach the average, and make hints stale
  explicit Hints(bool averages) : averages_(averages) {}

  /// A frame: cycle of its first beat, of its request if nothing is in its way, packets of a jumbo frame (0: it is none).
  void comes(uint64_t first, uint64_t ready, uint32_t packets);
  /// The oldest is requested in that cycle, of a queue that became empty in cycle `emptied`, which may be one to come.
  void goes(uint64_t at, uint64_t emptied);
  /// The earliest request of the oldest.
  uint64_t ready() const { return ready_; }
  /// Whether a request in that cycle has to wait for the decay over idle time, if it finds the queue empty.
  bool waits(uint64_t at, uint64_t emptied) const;
  /// The hint whose idle time a request in that cycle uses, if it finds the queue empty; or none.
  uint64_t used(uint64_t at, uint64_t emptied) const;

 private:
  struct Frame {
    uint64_t first;   ///< beat
    uint64_t leaves;  ///< Batch, if nothing is in its way
    uint32_t packets;
    bool requested = false;
  };
  /// How far what leaves Batch has come: frames, of a jumbo frame its header and each packet.
  struct Passage {
    std::size_t frame = 0;        ///< that leaves next
    uint32_t items = 0;           ///< of it, that have left
    uint64_t last = 0;            ///< when something did
    std::vector<uint64_t> hints;  ///< that were given there
  };

  /// Frames whose first beat has come.
  auto begun(uint64_t at) const {
    return std::ranges::subrange(frames_.begin(), std::ranges::upper_bound(frames_, at, {}, &Frame::first));
  }
  uint64_t readyNow() const;
  static uint64_t ends(const Frame &jumbo);
  bool ended(uint64_t from, uint64_t until) const;
  bool told(uint64_t at) const;
  uint64_t next(const Passage &passage) const;
  void pass(Passage &passage, uint64_t until) const;
  uint64_t valid(uint64_t until) const;
  uint64_t oldest(uint64_t first, uint64_t at) const;

  bool averages_;
  std::deque<Frame> frames_;  ///< that are not requested, or not all out of Batch
  Passage passage_;           ///< up to the last request
  uint64_t stale_ = 0;        ///< hints before that cycle are
  /// Without an average: the oldest hint of frames that were requested. Its result is held until the queue becomes empty, and in the cycle
  /// before that is seen nobody waits for a younger one.
  uint64_t kept_ = none;
  uint64_t ready_ = none;
};

}  // namespace weirsim::golden

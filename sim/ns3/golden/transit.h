// Jumbo frames that stay together, and MRED with DDF: docs/modules/transit.md; bytes as cocotb-tests/golden/transit.py has them.

#pragma once

#include <deque>
#include <memory>

#include "arith.h"
#include "jumbo.h"

namespace weirsim::golden {

/// What the model covers: the packets of longer tables are read too slowly for its constants.
constexpr uint32_t mostEntries = 31;

/// The packets of a jumbo frame in transit. Throws std::runtime_error if it is malformed or has no packet, and if it has to be
/// `covered` by the model, for more entries.
std::vector<Inner> readTransit(const uint8_t *frame, uint32_t length, bool covered);

/// What becomes of a jumbo frame in transit on its way.
struct Fate {
  uint32_t gone = 0;    ///< packets at its front that were dropped
  uint32_t front = 0;   ///< that are to be marked; never both
  bool marked = false;  ///< as a whole, when it came
};
/// The frame as it leaves: entries of what is gone zeroed, marks, outer length and checksum corrected, no padding.
Bytes rebuilt(const Bytes &frame, const Fate &fate);

/// A jumbo frame in transit that waits whole, as MRED sees it.
struct Waiting {
  uint32_t number = 0, packets = 0, ecn = 0;
  Fate fate;
  uint64_t linked = 0;          ///< cycle in which its last packet was linked
  uint64_t left = ~uint64_t{0};  ///< in which it left the list
  uint32_t live() const { return packets - fate.gone; }
};

/// Carries out the selections of a queue, one after the other, cycle by cycle: the first k packets of the jumbo frame nearest the
/// head are dropped, each in a slot of the scheduler, or marked.
class Mred {
 public:
  explicit Mred(const Words &words);
  bool on() const { return on_; }
  /// A jumbo frame that may pay was linked; the group of one is granted.
  void linked(std::shared_ptr<Waiting> frame) { list_.push_back(std::move(frame)); }
  void granted(uint32_t number, uint64_t at);
  /// An arrival that was requested in that cycle would be spared.
  bool spares(uint64_t request) const;
  void select(uint64_t commit, uint64_t average, bool forced);

  bool busy() const { return !selections_.empty(); }
  /// The first cycle that has not been stepped through; it counts while busy.
  uint64_t cycle() const { return cycle_; }
  /// Its group gets no grant.
  bool holds(uint32_t number) const { return state_ != State::idle && victim_->number == number; }
  /// The cycle from which the group that it held last may be granted.
  uint64_t released() const { return released_; }
  /// Wants a slot in `cycle`.
  bool wants() const;
  /// It has the slot: a look, or the next packet of the answered frame is dropped.
  std::shared_ptr<Waiting> slot();
  /// The cycle ends. `written`: the memory of the groups is written by someone else, or a group departs.
  void step(bool written);

 private:
  enum class State { idle, dropping, ending };
  struct Selection {
    uint64_t commit, average;
    bool forced;
    uint64_t moved;  ///< cycle in which it left the FIFO for the register behind it
  };
  bool any(uint64_t at) const;
  uint32_t share(uint64_t average, uint32_t count) const;

  bool on_, ecn_, hardDrop_;
  uint64_t minimum_, low_, high_;
  Scaled slope_;
  std::deque<std::shared_ptr<Waiting>> list_;  ///< those that have left stay for some cycles
  std::deque<Selection> selections_;           ///< the first is being carried out
  uint64_t cycle_ = 0, taken_ = 0, from_ = 0, released_ = 0;
  State state_ = State::idle;
  std::shared_ptr<Waiting> victim_;
  uint32_t left_ = 0, marks_ = 0;
};

}  // namespace weirsim::golden

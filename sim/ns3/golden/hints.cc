#include "hints.h"

#include <algorithm>

namespace weirsim::golden {

namespace {

// Cycles, docs/modules/core.md, admit.md and buffer.md; found by measurement and held by the comparison of every record.
constexpr unsigned heads = 3;    ///< first beat to the hint
constexpr unsigned counts = 1;   ///< that to the cycle from which it counts
constexpr unsigned decays = 11;  ///< that to the request, while the idle time is computed
constexpr unsigned admits = 3;   ///< Batch to the request
constexpr unsigned reads = 2;    ///< of Batch's memory
constexpr unsigned enters = 4;   ///< request to where its packet is in the queue; what empties the queue until then still does

}  // namespace

void Hints::comes(uint64_t first, uint64_t ready, uint32_t packets) {
  frames_.push_back({first, ready - admits, packets});
  ready_ = readyNow();
}

void Hints::goes(uint64_t at, uint64_t emptied) {
  pass(passage_, at);
  if (averages_) {
    stale_ = at + 1 + counts;
  } else {
    stale_ = std::max(valid(at), emptied <= at + enters ? emptied : 0);
    kept_ = oldest(stale_, at);
  }
  std::ranges::find(frames_, false, &Frame::requested)->requested = true;
  for (; passage_.frame > 0 && frames_.front().requested; --passage_.frame) frames_.pop_front();
  std::erase_if(passage_.hints, [at](uint64_t hint) { return hint <= at; });
  ready_ = readyNow();
}

/// None if nothing is on its way. What is not a jumbo frame may leave Batch later than is told here, but not so late that it is not at
/// its turn: Batch takes three cycles for each packet of what is before it, and one for a header's hint, Admit four.
uint64_t Hints::readyNow() const {
  const auto head = std::ranges::find(frames_, false, &Frame::requested);
  if (head == frames_.end()) return none;
  const auto n = static_cast<std::size_t>(head - frames_.begin());
  if (head->packets == 0 || passage_.frame > n || (passage_.frame == n && passage_.items > 0)) return head->leaves + admits;
  Passage p = passage_;
  while (p.frame < n) pass(p, next(p));
  return next(p) + admits;
}

/// In that cycle all hints before it become void.
uint64_t Hints::ends(const Frame &jumbo) { return jumbo.leaves - reads; }

bool Hints::ended(uint64_t from, uint64_t until) const {
  return std::ranges::any_of(begun(until), [=](const Frame &f) { return f.packets > 0 && ends(f) >= from && ends(f) < until; });
}

/// A header's hint is given in that cycle: nothing leaves Batch.
bool Hints::told(uint64_t at) const {
  return std::ranges::any_of(begun(at), [at](const Frame &f) { return f.first + heads == at; });
}

/// When what is next leaves Batch.
uint64_t Hints::next(const Passage &p) const {
  const Frame &f = frames_[p.frame];
  uint64_t at = f.leaves;
  // what finds something before it is written to the memory, as is every jumbo frame, and read when it is the next
  if (f.packets > 0 || p.last >= at || told(at)) at = std::max(f.packets > 0 ? ends(f) : at + 1, p.last + 1) + reads;
  while (told(at)) ++at;
  return at;
}

void Hints::pass(Passage &p, uint64_t until) const {
  while (p.frame < frames_.size()) {
    const Frame &f = frames_[p.frame];
    const uint64_t at = next(p);
    if (at > until) return;
    if ((f.packets > 0 && p.items == 0) || ended(p.last, at)) p.hints.push_back(at + counts);
    p.last = at;
    if (++p.items > f.packets) p.items = 0, ++p.frame;
  }
}

/// The first cycle whose hints are not stale, nor void by an end before `until`.
uint64_t Hints::valid(uint64_t until) const {
  uint64_t first = stale_;
  for (const Frame &f : begun(until))
    if (f.packets > 0 && ends(f) < until) first = std::max(first, ends(f) + counts);
  return first;
}

/// The oldest hint of those from `first` to `at`; or none.
uint64_t Hints::oldest(uint64_t first, uint64_t at) const {
  Passage p = passage_;
  pass(p, at);
  uint64_t found = none;
  const auto consider = [&](uint64_t hint) {
    if (hint >= first && hint <= at) found = std::min(found, hint);
  };
  consider(kept_);
  std::ranges::for_each(p.hints, consider);
  for (const Frame &f : begun(at)) consider(f.first + heads + counts);
  return found;
}

// That hints are stale or void is seen by the average a cycle before it is by who waits.

bool Hints::waits(uint64_t at, uint64_t emptied) const {
  const uint64_t hint = oldest(std::max(valid(at), emptied <= at ? emptied : 0), at);
  return at + 1 >= emptied && hint != none && hint + decays > at;
}

uint64_t Hints::used(uint64_t at, uint64_t emptied) const {
  const uint64_t hint = oldest(std::max(valid(at + 1), emptied), at);
  return hint != none && hint + decays <= at ? hint : none;
}

}  // namespace weirsim::golden

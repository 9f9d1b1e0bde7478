#include "transit.h"

#include <stdexcept>
#include <string>

namespace weirsim::golden {

namespace {

// Cycles, docs/modules/transit.md.
constexpr unsigned selected = 1;    ///< commit to a selection that can be carried out
constexpr unsigned shares = 19;     ///< look to the first slot, or to the end of one that marks
constexpr unsigned found = 4;       ///< slot to what follows from it
constexpr unsigned asked = 9;       ///< request to the cycle in which it was seen whether there is a jumbo frame
constexpr unsigned departs = 3;     ///< grant to the group's leaving the list
constexpr unsigned follows = 2;     ///< that to the next one's being known
constexpr unsigned fifo = 16, kept = 4;  ///< places, and those that are not used

bool isEct(uint32_t ecn) { return ecn == ect0 || ecn == ect1; }

}  // namespace

std::vector<Inner> readTransit(const uint8_t *frame, uint32_t length, bool covered) {
  std::vector<Inner> packets = readJumbo(frame, length);
  if (packets.empty()) throw std::runtime_error("a jumbo frame has no packet that is left");
  const uint32_t entries = frame[34] << 8 | frame[35];
  if (covered && entries > mostEntries)
    throw std::runtime_error("a jumbo frame has " + std::to_string(entries) + " entries: the golden model covers up to " +
                             std::to_string(mostEntries) + " in transit; without it (check off) the RTL takes them");
  return packets;
}

Bytes rebuilt(const Bytes &frame, const Fate &fate) {
  const std::vector<Inner> packets = readJumbo(frame.data(), static_cast<uint32_t>(frame.size()));
  Bytes out(frame.begin(), frame.begin() + packets.front().at);
  for (uint32_t n = 0; n < packets.size(); ++n) {
    const Inner &p = packets[n];
    if (n < fate.gone) {
      out[p.entry] = out[p.entry + 1] = 0;
      continue;
    }
    out.insert(out.end(), frame.begin() + p.at, frame.begin() + p.at + p.bytes);
    if (isEct(p.ecn) && (fate.marked || n < fate.front)) setEcn(&out[out.size() - p.bytes], ce);
  }
  setLength(out);
  if (fate.marked && isEct(frame[ethernetBytes + 1] & 3u)) setEcn(out, ce);
  return out;
}

Mred::Mred(const Words &w)
    : on_(word(w, "MRED") & 1),
      ecn_(word(w, "RED_FLAGS") >> 5 & 1),
      hardDrop_(word(w, "RED_FLAGS") >> 6 & 1),
      minimum_(word(w, "RED_MIN")),
      low_(word(w, "MRED_LO")),
      high_(word(w, "MRED_HI")),
      slope_(scaled(w, "MRED_SLOPE")) {}

void Mred::granted(uint32_t number, uint64_t at) {
  for (const auto &w : list_)
    if (w->number == number && w->left > at + departs) w->left = at + departs;
  while (!list_.empty() && list_.front()->left < at - 2 * asked) list_.pop_front();
}

/// As it is seen in that cycle.
bool Mred::any(uint64_t at) const {
  for (const auto &w : list_)
    if (w->linked < at && w->left >= at) return true;
  return false;
}

bool Mred::spares(uint64_t request) const {
  unsigned waiting = 0;
  for (const Selection &s : selections_) waiting += s.commit <= request + asked && s.moved > request + asked;
  return any(request + asked) && fifo - waiting > kept;
}

void Mred::select(uint64_t commit, uint64_t average, bool forced) {
  const bool first = selections_.empty();
  selections_.push_back({commit, average, forced, first ? std::max(commit, taken_) : ~uint64_t{0}});
  if (first) cycle_ = selections_.front().moved + selected;
}

/// k, in the fixed point of the registers: f with 32 bits, from an average and a minimum with 11 bits of fraction.
uint32_t Mred::share(uint64_t average, uint32_t count) const {
  const uint64_t a = average >> 11, above = a > minimum_ ? a - minimum_ : 0;
  const u128 f = std::min<u128>((u128{above} * slope_.mantissa << 4 >> slope_.exponent) + low_, high_);
  return std::max<uint32_t>(1, static_cast<uint32_t>((f * count + (one32 - 1)) >> 32));
}

bool Mred::wants() const {
  if (selections_.front().moved >= cycle_) return false;
  if (state_ == State::dropping) return cycle_ >= from_;
  if (state_ != State::idle) return false;
  uint64_t last = 0;  // the one before the first left in that cycle
  for (const auto &w : list_) {
    if (w->left >= cycle_) return w->linked < cycle_ && (w->linked >= last || cycle_ >= last + follows);
    last = std::max(last, w->left);
  }
  return false;
}

std::shared_ptr<Waiting> Mred::slot() {
  if (state_ == State::dropping) {
    ++victim_->fate.gone;
    from_ = cycle_ + found;
    if (--left_ == 0) state_ = State::ending;
    return victim_;
  }
  for (const auto &w : list_)
    if (w->left >= cycle_) {
      victim_ = w;
      break;
    }
  const Selection &s = selections_.front();
  const bool ect = ecn_ && victim_->ecn != notEct && !(s.forced && hardDrop_);
  const bool marks = victim_->fate.front > 0 || (victim_->fate.gone == 0 && ect);
  const uint32_t k = share(s.average, victim_->live() - victim_->fate.front);
  from_ = cycle_ + shares;
  state_ = marks ? State::ending : State::dropping;
  left_ = marks ? 0 : k, marks_ = marks ? k : 0;
  return nullptr;
}

void Mred::step(bool written) {
  const bool valid = selections_.front().moved < cycle_;
  bool done = valid && state_ == State::idle && !any(cycle_);  // none is left: it is void
  if (state_ == State::ending && cycle_ >= from_ && !written) {
    victim_->fate.front += marks_;
    if (victim_->live() == victim_->fate.front) victim_->left = cycle_;
    state_ = State::idle, released_ = cycle_ + 1, done = true;
  }
  if (done) {
    taken_ = cycle_;
    selections_.pop_front();
    if (!selections_.empty()) selections_.front().moved = std::max(selections_.front().commit, taken_);
  }
  ++cycle_;
}

}  // namespace weirsim::golden

#include "port.h"

#include <stdexcept>

namespace weirsim::golden {

namespace {

constexpr uint64_t never = ~uint64_t{0};
// Cycles, docs/modules/core.md and admit.md; found by measurement and held by the comparison of every record.
constexpr unsigned decays = 15;     ///< first beat to request, while the idle time of an empty queue is computed
constexpr unsigned links = 1;       ///< commit to the link; what is granted from that cycle on may have been joined
constexpr unsigned shaped = 7;      ///< the shaper's time to grant
constexpr unsigned interval = 4;    ///< from request to request and from grant to grant
constexpr unsigned egress = 11;     ///< grant to first beat
constexpr unsigned charges = 1;     ///< last packet's departure to the shaper's charge for a jumbo frame
constexpr unsigned packs = 16;      ///< last packet's departure to the first beat of a jumbo frame
constexpr unsigned hint = 4;        ///< first beat to the time up to which the queue was idle
constexpr unsigned emptied = 6;     ///< grant to the time from which the queue is idle
constexpr unsigned refused = 3;     ///< commit of a refused arrival to the same, if that leaves the queue empty
constexpr unsigned fractionBits = 19, frames = 2;  ///< unit of POLICY
constexpr uint64_t taps = 0x9E37803700000000, seedOfZero = 0x9E3779B97F4A7C15;

uint64_t ceilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
uint64_t cellsOf(uint32_t length) { return ceilDiv(length, 64); }

}  // namespace

void Port::View::take(std::deque<Event> &events, uint64_t cycle) {
  while (!events.empty() && events.front().cycle <= cycle) {
    const Event &e = events.front();
    bytes += e.bytes, packets += e.packets, frames += e.frames;
    events.pop_front();
  }
}

void Port::View::until(uint64_t enter, uint64_t refund, uint64_t join, uint64_t leave) {
  take(enters, enter);
  take(refunds, refund);
  take(joins, join);
  take(leaves, leave);
}

Port::Port(const PortConfig &config)
    : config_(config),
      policy_(policyOf(config.words)),
      averaging_((word(config.words, "POLICY") & 15) == red || (word(config.words, "POLICY") & 15) == isred),
      limitBytes_(word(config.words, "LIMIT_BYTES", (1u << 21) - 1) & 0x1FFFFF),
      limitPackets_(word(config.words, "LIMIT_PACKETS", 65535) & 0xFFFF),
      lfsr_(config.seed ? config.seed : seedOfZero),
      flows_(config.merge.slots),
      merger_(config.merge) {
  if (config.cost < uint64_t{80} << fractionBits)
    throw std::invalid_argument("the golden model covers links up to 100 Mbit/s; without it (check off) the RTL runs any");
  if (config.merge.on && (averaging_ || (word(config.words, "POLICY") >> 8 & 3) == frames))
    throw std::invalid_argument("the golden model of a queue that merges covers drop-tail, dt-ecn and fn, in bytes or packets");
}

void Port::send(uint32_t length, uint32_t ecn, uint64_t atNs, const PacketInfo &packet) {
  const uint64_t start = std::max(ceilDiv(atNs * 5, 4), lineFree_);
  lineFree_ = start + std::max(length, 60u) + 24;
  const uint64_t first = ceilDiv(start, 8);
  linePending_.push_back({first, first + ceilDiv(length, 8) - 1, length, ecn, number_++, flows_.lookUp(packet)});
}

uint32_t Port::draw() {
  uint32_t fresh = 0;
  for (unsigned i = 0; i < 64; ++i)
    if (taps >> i & 1) fresh ^= static_cast<uint32_t>(lfsr_ >> (i - 31));
  lfsr_ = lfsr_ << 32 | fresh;
  return fresh >> 8;
}

/// While a decay over idle time is being computed a request that finds the queue empty waits for it. An event that empties
/// the queue ends the computation; a request in the cycle before it waits if there is an average.
uint64_t Port::requestCycle(const Frame &frame) const {
  const uint64_t at = std::max({frame.last + config_.pipeline.decides, frame.first + config_.pipeline.parses, lastRequest_ + interval});
  const uint64_t computed = frame.first + decays;
  if (!empty() || at >= computed) return at;
  return stale(frame) ? at + (averaging_ && at + 1 == emptiedAt_) : computed;
}

/// Whether the idle time that the frame's header began to measure has ended since.
bool Port::stale(const Frame &frame) const { return frame.first + hint < emptiedAt_; }

uint64_t Port::grantCycle() const {
  if (!walking_.empty()) return lastGrant_ + interval;
  if (empty()) return never;
  const uint32_t head = queue_.empty() ? links_.front() : queue_.front()->members.front();
  const uint64_t wake = static_cast<uint64_t>((tat_ + (u128{1} << fractionBits) - 1) >> fractionBits);
  return std::max({packets_.at(head).linked + config_.pipeline.linked, cycleOfNs(wake) + shaped, lastGrant_ + interval});
}

void Port::request(const Frame &frame, uint64_t at) {
  link(at);
  atRequest_.until(at - 1, at - 2, at - 2, at - 5);
  while (!commits_.empty() && commits_.front().at <= at + policy_->takesCount()) {
    policy_->commit(commits_.front().length, commits_.front().selected, commits_.front().dropped);
    commits_.pop_front();
  }
  Request r;
  r.ns = nsOfCycle(at), r.length = frame.length, r.ecn = frame.ecn, r.draw = draw();
  r.bytes = static_cast<uint32_t>(atRequest_.bytes), r.packets = static_cast<uint32_t>(atRequest_.packets);
  const uint64_t seen = nsOfCycle(frame.first + hint);
  if (r.packets == 0 && averaging_) {
    if (!stale(frame)) r.slots = policy_->slotsAfter(seen > idleSince_ ? seen - idleSince_ : 0);
    idleSince_ = r.ns;
  }
  Verdict v = policy_->request(r);
  const bool selected = v.cause != none;
  if (r.bytes + r.length > limitBytes_ || r.packets >= limitPackets_) v.action = drop, v.cause = overflow;
  const bool dropped = v.action == drop;
  const uint64_t commit = at + policy_->commitAt();
  commits_.push_back({commit, r.length, selected, dropped});
  lastRequest_ = at;
  if (dropped) lastRefund_ = commit;
  if (dropped && empty()) emptiedAt_ = commit + refused;

  const int64_t length = r.length;
  for (View *view : {&atRequest_, &atDeparture_}) {
    view->enters.push_back({at, length, 1, 1});
    if (dropped) view->refunds.push_back({commit, -length, -1, -1});
  }
  if (!dropped) {
    packets_[frame.number] = {at, commit + links, r.length, r.ecn, frame.number, v.action == mark, frame.found};
    links_.push_back(frame.number);
    cellsHeld_ += cellsOf(r.length);
    if (cellsHeld_ > config_.cells / 8 * 7) throw std::runtime_error("the golden model does not cover a full buffer");
  }
  const uint32_t policy = word(config_.words, "POLICY") & 15, unit = word(config_.words, "POLICY") >> 8 & 3;
  const bool one = v.probability >> 32;
  arrivals_.push_back({static_cast<uint32_t>(r.ns),
                       static_cast<uint32_t>(r.ns >> 32 & 0xFFFF) | v.action << 22 | v.cause << 24 | r.ecn << 28 |
                           uint32_t{one} << 31,
                       r.length | policy << 16 | unit << 20, r.bytes, r.packets | static_cast<uint32_t>(atRequest_.frames) << 16,
                       static_cast<uint32_t>(v.average >> 11), static_cast<uint32_t>(v.average & 0x7FF) << 21, v.count,
                       static_cast<uint32_t>(v.probability), r.draw, v.slots, frame.number});
}

std::vector<Leaving> Port::takeLeaving() {
  std::vector<Leaving> open;
  if (!walking_.empty()) open.push_back(std::move(leaving_.back())), leaving_.pop_back();
  return std::exchange(leaving_, std::move(open));
}

void Port::link(uint64_t until) {
  while (!links_.empty() && packets_.at(links_.front()).linked <= until) {
    const Packet &p = packets_.at(links_.front());
    links_.pop_front();
    if (auto group = merger_.link(p.found, p.number, nsOfCycle(p.at)))
      queue_.push_back(std::move(group));
    else
      for (View *view : {&atRequest_, &atDeparture_}) view->joins.push_back({p.linked, 0, 0, -1});
  }
}

void Port::grant(uint64_t at) {
  link(at);
  const bool first = walking_.empty();
  const uint64_t ns = nsOfCycle(at);
  if (first) {
    Group &group = *queue_.front();
    group.closed = true;
    walking_ = group.members;
    const uint32_t count = static_cast<uint32_t>(walking_.size());
    const int64_t bytes = count > 1 ? jumboBytes(count, group.sum) : packets_.at(walking_.front()).length;
    queue_.pop_front();
    const uint64_t last = at + (count - 1) * interval;  // a jumbo frame is charged, and built, when its length is known
    const uint64_t from = nsOfCycle(count > 1 ? last + charges : at);
    tat_ = std::max(tat_, u128{from} << fractionBits) + std::max<int64_t>(0, bytes + config_.overhead) * config_.cost;
    const uint64_t beat = count > 1 ? last + packs : at + egress;
    leaving_.push_back({{}, nsOfCycle(beat), beat + ceilDiv(static_cast<uint64_t>(bytes), 8) - 1});
  }
  const Packet p = packets_.at(walking_.front());
  walking_.pop_front();
  packets_.erase(p.number);
  cellsHeld_ -= cellsOf(p.length);
  lastGrant_ = at;
  if (empty()) emptiedAt_ = std::max(at + emptied, lastRefund_ + refused);
  for (View *view : {&atRequest_, &atDeparture_}) view->leaves.push_back({at, -int64_t{p.length}, -1, -int64_t{first}});
  const uint64_t sojourn = ns - nsOfCycle(p.at);
  open_.push_back({at, {static_cast<uint32_t>(ns),
                        static_cast<uint32_t>(ns >> 32 & 0xFFFF) | 1u << 20 | uint32_t{p.marked} << 22 | p.ecn << 28,
                        p.length | uint32_t{p.marked} << 14, 0, 0, static_cast<uint32_t>(sojourn),
                        static_cast<uint32_t>(sojourn >> 32 & 0xFFFF), 0, 0, 0, 0, p.number}});
  leaving_.back().members.push_back({p.number, nsOfCycle(p.at), p.marked});
}

/// A departure's record tells the queue of some cycles later: arrivals up to two, refunds and joins up to three cycles after it.
void Port::finishDepartures(uint64_t before) {
  link(before);
  while (!open_.empty() && open_.front().at + 3 < before) {
    Open &o = open_.front();
    atDeparture_.until(o.at + 2, o.at + 3, o.at + 3, o.at);
    o.record[3] = static_cast<uint32_t>(atDeparture_.bytes);
    o.record[4] = static_cast<uint32_t>(atDeparture_.packets | atDeparture_.frames << 16);
    if (atDeparture_.packets == 0) idleSince_ = nsOfCycle(o.at + emptied);
    departures_.push_back(o.record);
    open_.pop_front();
  }
}

void Port::runUntil(uint64_t ns) {
  const uint64_t end = cycleOfNs(ns);
  for (;;) {
    const uint64_t g = grantCycle();
    if (g < end && (linePending_.empty() || g < linePending_.front().last + config_.pipeline.decides)) {
      finishDepartures(g);
      grant(g);
      continue;
    }
    if (linePending_.empty()) break;
    const uint64_t r = requestCycle(linePending_.front());
    if (g < end && g < r) {
      finishDepartures(g);
      grant(g);
      continue;
    }
    if (r >= end) break;
    finishDepartures(r);
    request(linePending_.front(), r);
    linePending_.pop_front();
  }
  finishDepartures(end);
}

}  // namespace weirsim::golden

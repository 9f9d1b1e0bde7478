#include "port.h"

#include <algorithm>
#include <ranges>
#include <stdexcept>

namespace weirsim::golden {

namespace {

constexpr uint64_t never = ~uint64_t{0};
// Cycles, docs/modules/core.md and arrival-decision.md; found by measurement and held by the comparison of every record.
constexpr unsigned links = 1;       ///< commit to the link; what is granted from that cycle on may have been joined
constexpr unsigned stores = 1;      ///< link to the write of what it links, before which a selection's writes give way
constexpr unsigned shaped = 4;      ///< the shaper's time to grant (shaper.md)
constexpr unsigned interval = 4;    ///< from request to request and from grant to grant
constexpr unsigned egress = 11;     ///< grant to first beat
constexpr unsigned charges = 1;     ///< last packet's departure to the shaper's charge for a jumbo frame
constexpr unsigned packs = 17;      ///< last packet's departure to the first beat of a jumbo frame
constexpr unsigned afterwards = 12; ///< request to where RED decides about an arrival that found its queue empty
constexpr unsigned quickly = 8;     ///< what nobody is asked about, while no decision is under way, is linked this much earlier
constexpr unsigned verdict = 2;     ///< a decision's last cycle to its commit
constexpr unsigned sees = 1, seesRefund = 2, seesLeave = 5;  ///< what changes q to the first request that sees it
constexpr unsigned admits = 3;      ///< batch to the request
constexpr unsigned reads = 2;       ///< of the batch's memory
// Of jumbo frames in transit.
constexpr unsigned collects = 25;   ///< last beat to request
constexpr unsigned cuts = 31;       ///< first beat to request, and a cycle for each word of the header and of the packets
constexpr unsigned cutsLast = 22;   ///< a packet's last beat to request, and a cycle for each word behind it, at most
constexpr unsigned decidesAt = 9;   ///< request to the cycle in which it is settled who pays
constexpr unsigned walks = 6;       ///< last packet's departure to the next slot
constexpr unsigned departs = 3;     ///< grant to departure
constexpr unsigned fractionBits = 19, frames = 2;  ///< unit of POLICY
constexpr uint64_t taps = 0x9E37803700000000, seedOfZero = 0x9E3779B97F4A7C15;

uint64_t ceilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
uint64_t cellsOf(uint32_t length) { return ceilDiv(length, 64); }
/// Of the own frame of a packet in a jumbo frame.
uint32_t lengthOf(const Inner &packet) { return ethernetBytes + packet.bytes; }
/// Bytes before the packets.
uint32_t headerOf(const std::vector<Inner> &inner) { return inner.front().at; }
uint64_t cellsOf(const std::vector<Inner> &inner) {
  uint64_t cells = cellsOf(headerOf(inner));
  for (const Inner &p : inner) cells += cellsOf(lengthOf(p));
  return cells;
}

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

int64_t Port::View::packetsAt(uint64_t enter, uint64_t refund, uint64_t leave) const {
  int64_t sum = packets;
  const auto add = [&sum](const std::deque<Event> &events, uint64_t cycle) {
    for (const Event &e : events) sum += e.cycle <= cycle ? e.packets : 0;
  };
  add(enters, enter), add(refunds, refund), add(leaves, leave);
  return sum;
}

Port::Port(const PortConfig &config)
    : config_(config),
      policy_(policyOf(config.words)),
      averaging_((word(config.words, "POLICY") & 15) == red || (word(config.words, "POLICY") & 15) == isred),
      limitBytes_(word(config.words, "LIMIT_BYTES", (1u << 21) - 1) & 0x1FFFFF),
      limitPackets_(word(config.words, "LIMIT_PACKETS", 65535) & 0xFFFF),
      lfsr_(config.seed ? config.seed : seedOfZero),
      flows_(config.merge.slots),
      merger_(config.merge),
      mred_(config.words) {
  if (config.cost < uint64_t{80} << fractionBits)
    throw std::runtime_error("the golden model covers links up to 100 Mbit/s; without it (check off) the RTL runs any");
  if (config.merge.on && (word(config.words, "POLICY") >> 8 & 3) == frames)
    throw std::runtime_error("the golden model of a queue that merges covers the units bytes and packets");
  if (config.transit && (word(config.words, "POLICY") & 15) == fn)
    throw std::runtime_error("the golden model of jumbo frames in transit covers drop-tail, dt-ecn, red and isred");
}

/// The earliest cycle of the request of a frame that is not in transit.
uint64_t Port::requestedAt(uint64_t first, uint64_t last, uint32_t length) const {
  const Pipeline &p = config_.pipeline;
  return std::max(last + p.decides, first + p.parses + (p.realigns ? ceilDiv(length, 16) : 0));
}

uint64_t Port::leavesBatch(uint64_t ready, uint32_t packets) {
  const uint64_t direct = ready - admits;
  // what finds something before it is written to the memory, as is every jumbo frame, and read when it is the next
  const bool stored = packets > 0 || batchLast_ >= direct;
  batchLast_ = stored ? std::max(packets > 0 ? direct - reads : direct + 1, batchLast_ + 1) + reads : direct;
  const uint64_t first = batchLast_;
  batchLast_ += packets * (reads + 1);
  // a frame without packets may leave later than this, but not so late that it is not at its turn: Admit is slower
  return packets > 0 ? first + admits : ready;
}

void Port::send(uint32_t length, uint32_t ecn, uint64_t atNs, const Incoming &incoming) {
  const uint64_t start = std::max(ceilDiv(atNs * 5, 4), lineFree_);
  lineFree_ = start + std::max(length, 60u) + 24;
  const uint64_t first = ceilDiv(start, 8);
  const uint64_t last = first + ceilDiv(length, 8) - 1;
  uint64_t ready = requestedAt(first, last, length);
  Frame frame{length, ecn, number_++, flows_.lookUp(incoming.packet), incoming.inner, 0};
  if (!frame.inner.empty()) {
    // the first word of the table that has a length opens it; words come every second cycle
    uint64_t behind = cutsLast, words = ceilDiv(headerOf(frame.inner), 16) + 2 * (frame.inner.front().entry / 16 - 2);
    frame.length = 0;
    for (const Inner &p : frame.inner) words += ceilDiv(lengthOf(p), 16), frame.length += lengthOf(p);
    ready = std::max(last + collects, first + cuts + words);
    for (auto p = frame.inner.rbegin(); p != frame.inner.rend(); ++p) {
      if (first + (p->at + p->bytes - 1) / 8 + behind > ready)
        throw std::runtime_error("a jumbo frame has packets of fewer than 28 bytes behind others: the golden model does not cover that in"
                                 " transit; without it (check off) the RTL takes them");
      behind += ceilDiv(lengthOf(*p), 16);
    }
  }
  frame.ready = leavesBatch(ready, frame.inner.empty() ? 0 : frame.packets());
  linePending_.push_back(std::move(frame));
}

uint32_t Port::draw() {
  uint32_t fresh = 0;
  for (unsigned i = 0; i < 64; ++i)
    if (taps >> i & 1) fresh ^= static_cast<uint32_t>(lfsr_ >> (i - 31));
  lfsr_ = lfsr_ << 32 | fresh;
  return fresh >> 8;
}

bool Port::clear(uint64_t at) const {
  return std::ranges::none_of(
      deferred_, [at](uint64_t d) { return at + interval > d + afterwards && at < d + afterwards + interval; });
}

bool Port::meets(uint64_t commit) const {
  return std::ranges::any_of(underWay_, [commit](uint64_t c) { return c + 1 >= commit && c <= commit + 1; });
}

/// Whether the oldest frame, requested in that cycle, is accepted without asking; and without waiting for a verdict.
std::pair<bool, bool> Port::deferredAt(uint64_t at) const {
  const bool deferred = averaging_ && atRequest_.packetsAt(at - sees, at - seesRefund, at - seesLeave) == 0;
  const bool idle = std::ranges::none_of(underWay_, [at](uint64_t commit) { return commit >= at + verdict; });
  return {deferred, deferred && idle && !config_.merge.on && linePending_.front().inner.empty()};
}

/// When the oldest frame on its way is requested: if it finds something in its queue, after all that were deferred.
uint64_t Port::requestCycle() const {
  const uint64_t ready = linePending_.front().ready;
  for (uint64_t at = std::max(ready - config_.pipeline.looksUp, nextRequest_);; ++at) {
    const auto [deferred, quick] = deferredAt(at);
    const bool late = !deferred && !deferred_.empty() && at < deferred_.back() + afterwards + interval;
    if ((at >= ready || quick) && (deferred || (clear(at) && !late)) && !meets(at + policy_->commitAt())) return at;
  }
}

uint64_t Port::grantCycle() const {
  if (!walking_.empty()) return lastGrant_ + interval;
  if (queue_.empty() && links_.empty()) return never;
  const uint32_t head = queue_.empty() ? links_.front() : queue_.front()->members.front();
  if (mred_.holds(head)) return never;
  const uint64_t wake = static_cast<uint64_t>((tat_ + (u128{1} << fractionBits) - 1) >> fractionBits);
  return std::max({packets_.at(head).linked + config_.pipeline.linked, cycleOfNs(wake) + shaped, std::max(lastGrant_, lastSlot_) + interval,
                   mred_.released()});
}

void Port::request(const Frame &frame, uint64_t at) {
  link(at);
  const auto [deferred, quick] = deferredAt(at);
  atRequest_.until(at - sees, at - seesRefund, at - seesRefund, at - seesLeave);
  const uint64_t decided = deferred ? at + afterwards : at;
  while (!commits_.empty() && commits_.front().at <= decided + policy_->takesCount()) {
    policy_->commit(commits_.front().length, commits_.front().selected, commits_.front().dropped);
    commits_.pop_front();
  }
  Request r;
  r.ns = nsOfCycle(at), r.length = frame.length, r.ecn = frame.ecn, r.draw = draw();
  r.bytes = static_cast<uint32_t>(atRequest_.bytes), r.packets = static_cast<uint32_t>(atRequest_.packets);
  r.frames = static_cast<uint32_t>(atRequest_.frames);
  while (!deferred_.empty() && deferred_.front() + afterwards + interval <= at) deferred_.pop_front();
  if (deferred) {
    r.slots = policy_->slotsAfter(r.ns - idleSinceNs_);
    idleSinceNs_ = r.ns;
    deferred_.push_back(at);
  }
  Verdict v = policy_->request(r);
  const uint32_t packets = frame.packets();
  const bool selected = v.cause != none, together = !frame.inner.empty();
  const bool refused = r.bytes + r.length > limitBytes_ || r.packets + packets > limitPackets_;
  if (refused) v.action = drop, v.cause = overflow;
  commits_.push_back({decided + policy_->commitAt(), r.length, selected, v.action == drop});
  while (!underWay_.empty() && underWay_.front() < at) underWay_.pop_front();
  const auto takes = [this](uint64_t commit) { underWay_.insert(std::ranges::upper_bound(underWay_, commit), commit); };
  if (deferred) takes(decided + policy_->commitAt());
  if (!quick) takes(at + policy_->commitAt());
  std::vector<uint64_t> members;  // of a jumbo frame follow without asking
  nextRequest_ = at + interval;
  for (uint32_t n = 0; together && n < packets; ++n, nextRequest_ += interval) {
    while (!clear(nextRequest_) || meets(nextRequest_ + policy_->commitAt())) ++nextRequest_;
    members.push_back(nextRequest_);
    takes(nextRequest_ + policy_->commitAt());
  }
  if (!refused)
    for (View *view : {&atRequest_, &atDeparture_}) view->enters.push_back({at, int64_t{r.length}, packets, 1});
  const bool several = together && headerOf(frame.inner) > jumboBytes(1, 0);  // in its table
  const bool may = mred_.on() && several && v.action != accept && v.cause != overflow;
  deciding_.push_back({frame, r, v, at, std::move(members), quick, may});
  if (!may && deciding_.size() == 1) conclude();
}

void Port::conclude() {
  const Deciding d = std::move(deciding_.front());
  deciding_.pop_front();
  const Frame &frame = d.frame;
  const Request &r = d.request;
  Verdict v = d.verdict;
  const uint64_t commit = d.at + policy_->commitAt();
  const uint32_t packets = frame.packets();
  if (d.may && mred_.spares(d.at)) {
    mred_.select(commit, v.average, v.cause == forced);
    v.action = accept, v.cause = partial;
  }
  const bool together = !frame.inner.empty();
  if (v.action == drop && v.cause != overflow) {
    for (View *view : {&atRequest_, &atDeparture_}) view->refunds.push_back({commit, -int64_t{r.length}, -int64_t{packets}, -1});
  } else if (v.action != drop) {
    const uint64_t behind = policy_->commitAt() + links - (d.quick ? quickly : 0);
    const uint64_t link = d.at + behind, last = together ? d.members.back() + behind : link;
    Packet &p = packets_[frame.number];
    p = {d.at, last, r.length, r.ecn, frame.number, v.action == mark, frame.found, frame.inner, nullptr};
    if (together) {
      p.waiting = std::make_shared<Waiting>(Waiting{frame.number, packets, r.ecn, {}, last});
      p.waiting->fate.marked = p.marked;
    }
    if (mred_.on()) {
      linkings_.push_back(link + stores);
      for (uint64_t member : d.members) linkings_.push_back(member + behind + stores);
    }
    links_.push_back(frame.number);
    cellsHeld_ += together ? cellsOf(frame.inner) : cellsOf(r.length);
    if (cellsHeld_ > config_.cells / 8 * 7) throw std::runtime_error("the golden model does not cover a full buffer");
  }
  const uint32_t policy = word(config_.words, "POLICY") & 15, unit = word(config_.words, "POLICY") >> 8 & 3;
  const bool one = v.probability >> 32;
  arrivals_.push_back({static_cast<uint32_t>(r.ns),
                       static_cast<uint32_t>(r.ns >> 32 & 0xFFFF) | v.action << 22 | v.cause << 24 | r.ecn << 28 |
                           uint32_t{one} << 31,
                       r.length | policy << 16 | unit << 20 | (together ? packets : 0) << 22, r.bytes, r.packets | r.frames << 16,
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
    if (p.waiting && !p.marked) mred_.linked(p.waiting);
    if (auto group = merger_.link(p.found, p.number, nsOfCycle(p.at)))
      queue_.push_back(std::move(group));
    else
      for (View *view : {&atRequest_, &atDeparture_}) view->joins.push_back({p.linked, 0, 0, -1});
  }
}

void Port::grant(uint64_t at) {
  link(at);
  const bool first = walking_.empty();
  if (first && !start(at)) return;
  const Leg leg = walking_.front();
  walking_.pop_front();
  lastGrant_ = at, slotLast_ = false;
  if (walking_.empty() && leg.packet >= 0) walked_ = at;
  if (leg.packet == header) {
    for (View *view : {&atRequest_, &atDeparture_}) view->leaves.push_back({at, 0, 0, -1});
    return;
  }
  const Packet &p = packets_.at(leg.number);
  const bool inside = leg.packet >= 0;
  const uint32_t n = static_cast<uint32_t>(leg.packet);
  const uint32_t length = inside ? lengthOf(p.inner[n]) : p.length, ecn = inside ? p.inner[n].ecn : p.ecn;
  const bool pays = inside && n < p.waiting->fate.front;
  const bool marked = (p.marked || pays) && (!inside || ecn == ect0 || ecn == ect1);
  depart(at, p, length, ecn, marked ? mark : accept, marked && pays ? partial : none, inside ? 0 : first);
  leaving_.back().members.push_back({p.number, nsOfCycle(p.at), p.marked, {}});
  if (inside) leaving_.back().members.resize(1), leaving_.back().members.front().fate = p.waiting->fate;
  if (!inside || walking_.empty()) {
    cellsHeld_ -= inside ? cellsOf(p.inner) : cellsOf(p.length);
    packets_.erase(p.number);
  }
}

/// A group is granted. Answers whether anything of it is left.
bool Port::start(uint64_t at) {
  Group &group = *queue_.front();
  group.closed = true;
  const Packet &head = packets_.at(group.members.front());
  const uint32_t merged = static_cast<uint32_t>(group.members.size());
  int64_t bytes = merged > 1 ? jumboBytes(merged, group.sum) : head.length;
  uint64_t beat = packs;
  for (uint32_t number : group.members) walking_.push_back({number, whole});
  queue_.pop_front();
  uint32_t packets = merged;
  if (head.waiting) {
    mred_.granted(head.number, at);
    headed_ = at;
    packets = head.waiting->live();
    if (packets == 0) {
      bury(at, head);
      return false;
    }
    bytes = headerOf(head.inner);
    walking_ = {{head.number, header}};
    for (uint32_t n = head.waiting->fate.gone; n < head.inner.size(); ++n)
      walking_.push_back({head.number, static_cast<int>(n)}), bytes += head.inner[n].bytes;
    beat += packets / 4 + packets / 8;
  }
  const size_t count = walking_.size();
  const uint64_t last = at + (count - 1) * interval;  // a jumbo frame is charged, and built, when its length is known
  const uint64_t from = nsOfCycle(last + departs + (count > 1 ? charges : 0));
  const int64_t charged = std::max<int64_t>(0, std::max(bytes, config_.mpu) + config_.overhead);
  tat_ = std::max(tat_, u128{from} << fractionBits) + charged * config_.cost;
  beat = count > 1 ? last + beat : at + egress;
  leaving_.push_back({{}, packets, nsOfCycle(beat), beat + ceilDiv(static_cast<uint64_t>(bytes), 8) - 1});
  return true;
}

/// Nothing of the group at the head is left but what was before its packets: a grant without a frame.
void Port::bury(uint64_t at, const Packet &packet) {
  walking_.clear();
  lastGrant_ = at, slotLast_ = false;
  --dead_;
  open_.push_back({at, {}, false});
  cellsHeld_ -= cellsOf(packet.inner);
  packets_.erase(packet.number);
}

/// A packet leaves the queue; `frames` with it.
void Port::depart(uint64_t at, const Packet &p, uint32_t length, uint32_t ecn, unsigned action, unsigned cause, int64_t frames) {
  for (View *view : {&atRequest_, &atDeparture_}) view->leaves.push_back({at, -int64_t{length}, -1, -frames});
  const uint64_t ns = nsOfCycle(at), sojourn = ns - nsOfCycle(p.at);
  idleSinceNs_ = ns;
  open_.push_back({at, {static_cast<uint32_t>(ns),
                        static_cast<uint32_t>(ns >> 32 & 0xFFFF) | 1u << 20 | action << 22 | cause << 24 | ecn << 28,
                        length | uint32_t{action == mark} << 14, 0, 0, static_cast<uint32_t>(sojourn),
                        static_cast<uint32_t>(sojourn >> 32 & 0xFFFF), 0, 0, 0, 0, p.number}, true});
}

bool Port::linking(uint64_t at) const { return std::ranges::find(linkings_, at) != linkings_.end(); }

/// The scheduler gives slots in turn with grants.
void Port::pay(uint64_t at, bool granted) {
  link(at);
  while (!linkings_.empty() && linkings_.front() < at) linkings_.pop_front();
  const bool free = walking_.empty() && at >= std::max({lastGrant_ + interval, lastSlot_ + interval, walked_ + walks});
  if (free && mred_.wants() && !(slotLast_ && granted)) {
    lastSlot_ = at, slotLast_ = true;
    if (const auto victim = mred_.slot()) {
      const Packet &p = packets_.at(victim->number);
      const Inner &packet = p.inner[victim->fate.gone - 1];
      dead_ += victim->live() == 0;
      depart(at, p, lengthOf(packet), packet.ecn, drop, partial, victim->live() == 0);
    }
  } else if (granted) {
    grant(at);
  }
  mred_.step(linking(at) || at == headed_ + departs);
}

/// A departure's record tells the queue of some cycles later: arrivals up to one, refunds and joins up to three cycles after it.
void Port::finishDepartures(uint64_t before) {
  link(before);
  while (!open_.empty() && open_.front().at + 3 < before) {
    Open &o = open_.front();
    atDeparture_.until(o.at + 1, o.at + 3, o.at + 3, o.at);
    o.record[3] = static_cast<uint32_t>(atDeparture_.bytes);
    o.record[4] = static_cast<uint32_t>(atDeparture_.packets | atDeparture_.frames << 16);
    if (o.told) departures_.push_back(o.record);
    open_.pop_front();
  }
}

void Port::runUntil(uint64_t ns) {
  const uint64_t end = cycleOfNs(ns);
  for (;;) {
    const uint64_t g = grantCycle();
    const uint64_t m = mred_.busy() ? mred_.cycle() : never;
    const uint64_t d = deciding_.empty() ? never : deciding_.front().at + decidesAt;
    const uint64_t r = linePending_.empty() ? never : requestCycle();
    const uint64_t next = std::min({g, m, d, r});
    if (next >= end) break;
    finishDepartures(next);
    if (r == next) {
      request(linePending_.front(), r);
      linePending_.pop_front();
    } else if (m == next) {
      pay(m, g == m);
    } else if (g == next) {
      grant(g);
    } else {
      conclude();
    }
  }
  finishDepartures(end);
}

}  // namespace weirsim::golden

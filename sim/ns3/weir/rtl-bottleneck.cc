// The RTL as a bottleneck: real bytes through the Verilated core, its shaper as the link.

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>

#include "configure.h"
#include "rtl-core.h"
#include "weir_trace.h"

namespace weirsim {

namespace {

class RtlBottleneck final : public Bottleneck {
 public:
  RtlBottleneck(const Setup &setup, bool checked) : core_(setup), merging_(setup) {
    configureCore(core_.device(), setup);
    check(weir_trace_control(core_.device(), 1, 1, WEIR_TRACE_ARRIVALS | WEIR_TRACE_DEPARTURES));
    if (checked) {
      weir_capabilities capabilities;
      check(weir_get_capabilities(core_.device(), &capabilities));
      golden_.emplace(portConfigOf(setup, capabilities));
    }
    core_.begin();
  }

  void send(const uint8_t *frame, uint32_t length, uint64_t atNs) override {
    const uint64_t at = line_.place(length, merging_.transit(frame, length), atNs + epochNs);
    core_.send(frame, length, at);
    ++held_;
    if (golden_)
      golden_->send(length, ecnOf(frame, length), at, merging_.keep(frame, length));
    else
      merging_.admit(frame, length);
  }

  void runUntil(uint64_t ns) override {
    now_ = ns;
    core_.reach(ns + epochNs);
    if (golden_) golden_->runUntil(ns + epochNs);
    core_.runUntil(ns + epochNs);
    records();
    frames();
  }

  void reach(uint64_t ns) override {
    if (eager()) core_.reach(ns + epochNs);
  }
  bool eager() const override { return core_.threaded(); }

  std::vector<Departure> take() override { return std::exchange(out_, {}); }
  uint64_t held() const override { return held_ + leaving_.size(); }  // frames

  void finish() override {
    tally_.end(now_ + epochNs);
    runUntil(now_ + settleNs);
    // of what was decided meanwhile, which is no part of the run, one may already have the record that the other still makes
    for (auto *records : {seen_, expected_})
      for (unsigned kind = 0; kind < 2; ++kind)
        while (!records[kind].empty() && !tally_.counts(records[kind].back())) records[kind].pop_back();
    if (golden_ && expected_[0].size() + expected_[1].size() + seen_[0].size() + seen_[1].size() > 0)
      differs("the number of records", seen_[0].size() + seen_[1].size(), expected_[0].size() + expected_[1].size());
    core_.balance();
  }

  Totals totals() const override {
    Totals t;
    tally_.fill(t);
    t.cycles = core_.get(WEIR_MODEL_CYCLES), t.evaluated = core_.get(WEIR_MODEL_EVALUATED);
    t.compared = compared_;
    return t;
  }

 private:
  struct Gone {
    uint64_t number;
    bool marked;
    uint32_t packets;
  };
  /// A jumbo frame in transit that is in the queue.
  struct Whole {
    uint32_t left, sent;  ///< packets that are still there, and that have departed to be sent
  };

  void records() {
    core_.trace(buffer_);
    for (const Record &r : buffer_) {
      const unsigned kind = weir_record_kind(r.data());
      const bool departure = kind == WEIR_RECORD_KIND_DEPARTURE, dropped = weir_record_action(r.data()) == golden::drop;
      if (kind == WEIR_RECORD_KIND_TICK) continue;
      tally_.add(r);
      merging_.decided(r);
      if (onRecord) onRecord(r);
      count(r, departure, dropped);
      if (golden_) seen_[kind].push_back(r);
    }
    if (golden_) compare();
  }

  /// What is held after that record, and what is about to leave.
  void count(const Record &r, bool departure, bool dropped) {
    const uint32_t packets = weir_record_members(r.data()), number = weir_record_number(r.data());
    if (!departure && !dropped && packets) wholes_[number] = {packets, 0};
    const auto whole = departure ? wholes_.find(number) : wholes_.end();
    if (whole == wholes_.end()) {
      held_ -= dropped || departure;
      if (departure && !dropped) leaving_.push_back({number, bool(weir_record_marked(r.data())), 1});
      return;
    }
    whole->second.sent += !dropped;
    if (--whole->second.left) return;
    --held_;
    if (whole->second.sent) leaving_.push_back({number, false, whole->second.sent});
    wholes_.erase(whole);
  }

  void compare() {
    for (const Record &r : golden_->takeArrivals()) expected_[0].push_back(r);
    for (const Record &r : golden_->takeDepartures()) expected_[1].push_back(r);
    for (const golden::Leaving &l : golden_->takeLeaving()) frames_.push_back(merging_.departure(l));
    for (unsigned kind = 0; kind < 2; ++kind) {
      while (!seen_[kind].empty() && !expected_[kind].empty()) {
        const Record got = seen_[kind].front(), want = expected_[kind].front();
        for (unsigned i = 0; i < got.size(); ++i)
          if (got[i] != want[i])
            differs((kind ? "departure of " : "arrival ") + std::to_string(want[11]) + ", word " + std::to_string(i),
                    got[i], want[i]);
        compared_ += tally_.counts(got);
        seen_[kind].pop_front(), expected_[kind].pop_front();
      }
    }
  }

  [[noreturn]] static void differs(const std::string &what, uint64_t got, uint64_t want) {
    throw std::runtime_error("RTL and golden model disagree: " + what + " is " + std::to_string(got) + ", expected " +
                             std::to_string(want));
  }

  void frames() {
    for (RtlCore::Out &o : core_.receive()) {
      // in a queue that merges no other frame is a jumbo frame
      const bool jumbo = merging_.on() && golden::isJumbo(o.bytes.data(), static_cast<uint32_t>(o.bytes.size()));
      const size_t packets = jumbo ? o.bytes[34] << 8 | o.bytes[35] : 1;
      if (leaving_.size() < packets) throw std::runtime_error("a frame left the core that its trace does not tell");
      Departure d;
      for (size_t n = 0; n < packets; ++n) {
        d.members.push_back(leaving_.front().number);
        d.marked = packets == 1 && leaving_.front().marked;
        d.packets = jumbo ? static_cast<uint32_t>(packets) : leaving_.front().packets;
        leaving_.pop_front();
      }
      d.firstNs = o.firstNs - epochNs, d.bytes = std::move(o.bytes);
      if (golden_) sameFrame(d);
      out_.push_back(std::move(d));
    }
  }

  /// The golden model had the same packets in a frame at the same time, and of a jumbo frame the same bytes.
  void sameFrame(const Departure &d) {
    const std::string which = "the frame with packet " + std::to_string(d.members[0]);
    if (frames_.empty()) differs(which, 1, 0);
    const Departure want = std::move(frames_.front());
    frames_.pop_front();
    if (d.members != want.members) differs(which + ", number of packets", d.members.size(), want.members.size());
    if (d.packets != want.packets) differs(which + ", packets that are left", d.packets, want.packets);
    if (d.firstNs != want.firstNs) differs(which + ", time", d.firstNs, want.firstNs);
    if (want.bytes.empty()) return;
    if (d.bytes.size() != want.bytes.size()) differs(which + ", length", d.bytes.size(), want.bytes.size());
    const auto at = std::mismatch(d.bytes.begin(), d.bytes.end(), want.bytes.begin());
    if (at.first != d.bytes.end())
      differs(which + ", byte " + std::to_string(at.first - d.bytes.begin()), *at.first, *at.second);
  }

  RtlCore core_;
  Merging merging_;
  Line line_;
  std::optional<golden::Port> golden_;
  std::vector<Record> buffer_;
  std::deque<Record> seen_[2], expected_[2];
  std::deque<Gone> leaving_;
  std::map<uint32_t, Whole> wholes_;  ///< by number
  std::deque<Departure> frames_;  ///< that the golden model expects
  std::vector<Departure> out_;
  Tally tally_;
  uint64_t now_ = 0, held_ = 0, compared_ = 0;
};

}  // namespace

std::unique_ptr<Bottleneck> makeRtl(const Setup &setup, bool check) {
  return std::make_unique<RtlBottleneck>(setup, check);
}

}  // namespace weirsim

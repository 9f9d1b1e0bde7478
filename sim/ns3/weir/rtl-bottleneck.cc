// The RTL as a bottleneck: real bytes through the Verilated core, its shaper as the link.

#include <cstring>
#include <deque>
#include <optional>
#include <stdexcept>

#include "configure.h"
#include "cycle-model.h"
#include "weir.h"

namespace weirsim {

namespace {

constexpr uint64_t settleNs = 2000;  ///< after which every decision that was taken is on the trace port

class RtlBottleneck final : public Bottleneck {
 public:
  RtlBottleneck(const Setup &setup, bool checked) : model_(CycleModel::load(setup.model)) {
    core_ = model_.create();
    if (!core_) throw std::runtime_error("the core of the cycle model does not come out of reset");
    try {
      configure(setup, checked);
    } catch (...) {
      close();
      throw;
    }
  }
  ~RtlBottleneck() override { close(); }
  RtlBottleneck(const RtlBottleneck &) = delete;
  RtlBottleneck &operator=(const RtlBottleneck &) = delete;

  void send(const uint8_t *frame, uint32_t length, uint64_t atNs) override {
    const uint64_t at = atNs + epochNs;
    if (length < 14 || length > 9216)
      throw std::runtime_error("a frame of " + std::to_string(length) + " bytes is not one of 14 to 9216 bytes");
    if (model_.send(core_, 1, frame, &length, &at, nullptr) != WEIR_MODEL_OK)
      throw std::runtime_error("the cycle model refuses a frame");
    ++held_;
    if (golden_) golden_->send(length, ecnOf(frame, length), at);
  }

  void runUntil(uint64_t ns) override {
    model_.runUntil(core_, ns + epochNs);
    if (golden_) golden_->runUntil(ns + epochNs);
    records();
    frames();
  }

  std::vector<Departure> take() override { return std::exchange(out_, {}); }
  uint64_t held() const override { return held_; }

  void finish() override {
    runUntil((model_.get(core_, WEIR_MODEL_NOW_NS) - epochNs) + settleNs);
    if (golden_ && expected_[0].size() + expected_[1].size() + seen_[0].size() + seen_[1].size() > 0)
      differs("the number of records", seen_[0].size() + seen_[1].size(), expected_[0].size() + expected_[1].size());
    if (model_.get(core_, WEIR_MODEL_INGRESS_STALLS) || model_.get(core_, WEIR_MODEL_UNDERRUNS))
      throw std::runtime_error("the core refused a beat or left a gap in a frame");
    balance();
  }

  Totals totals() const override {
    Totals t;
    tally_.fill(t);
    t.cycles = model_.get(core_, WEIR_MODEL_CYCLES), t.evaluated = model_.get(core_, WEIR_MODEL_EVALUATED);
    t.compared = compared_;
    return t;
  }

 private:
  void configure(const Setup &setup, bool checked) {
    const weir_bus bus{this,
                       [](void *c, uint32_t a, uint32_t *v) { return self(c)->model_.csrRead(self(c)->core_, a, v); },
                       [](void *c, uint32_t a, uint32_t v) { return self(c)->model_.csrWrite(self(c)->core_, a, v); }};
    check(weir_open_bus(&bus, &device_));
    model_.set(core_, WEIR_MODEL_EGRESS, 1);
    const weir_shaper shaper{setup.rate, 0.0, static_cast<double>(setup.overhead)};
    check(weir_seed(device_, setup.seed));
    check(weir_shape(device_, &shaper));
    weir_queue_config config;
    configOf(setup, &config);
    check(weir_queue_apply(device_, 0, &config));
    check(weir_trace_control(device_, 1, 1, WEIR_TRACE_ARRIVALS | WEIR_TRACE_DEPARTURES));
    if (checked) {
      weir_capabilities capabilities;
      check(weir_get_capabilities(device_, &capabilities));
      golden_.emplace(portConfigOf(setup, capabilities));
    }
    if (model_.get(core_, WEIR_MODEL_NOW_NS) >= epochNs) throw std::logic_error("the configuration takes too long");
    model_.runUntil(core_, epochNs);
  }

  static RtlBottleneck *self(void *context) { return static_cast<RtlBottleneck *>(context); }

  void records() {
    const size_t count = model_.traced(core_);
    buffer_.resize(count);
    if (count) model_.trace(core_, buffer_.front().data(), nullptr, count);
    for (const Record &r : buffer_) {
      const unsigned kind = r[1] >> 20 & 3, action = r[1] >> 22 & 3;
      const bool dropped = action == golden::drop;
      if (kind > 1) continue;
      tally_.add(r);
      if (onRecord) onRecord(r);
      held_ -= dropped || kind == 1;
      if (kind == 1 && !dropped) leaving_.push_back({r[11], 0, bool(r[2] >> 14 & 1), {}});
      if (golden_) seen_[kind].push_back(r);
    }
    if (golden_) compare();
  }

  void compare() {
    for (const Record &r : golden_->takeArrivals()) expected_[0].push_back(r);
    for (const Record &r : golden_->takeDepartures()) expected_[1].push_back(r);
    golden_->takeLeaving();
    for (unsigned kind = 0; kind < 2; ++kind) {
      while (!seen_[kind].empty() && !expected_[kind].empty()) {
        const Record got = seen_[kind].front(), want = expected_[kind].front();
        for (unsigned i = 0; i < got.size(); ++i)
          if (got[i] != want[i])
            differs((kind ? "departure of " : "arrival ") + std::to_string(want[11]) + ", word " + std::to_string(i),
                    got[i], want[i]);
        ++compared_;
        seen_[kind].pop_front(), expected_[kind].pop_front();
      }
    }
  }

  [[noreturn]] static void differs(const std::string &what, uint64_t got, uint64_t want) {
    throw std::runtime_error("RTL and golden model disagree: " + what + " is " + std::to_string(got) + ", expected " +
                             std::to_string(want));
  }

  void frames() {
    size_t count = 0, size = 0;
    model_.received(core_, &count, &size);
    if (!count) return;
    std::vector<uint8_t> bytes(size), user(count);
    std::vector<uint32_t> lengths(count);
    std::vector<uint64_t> first(count), last(count);
    model_.recv(core_, bytes.data(), lengths.data(), first.data(), last.data(), user.data());
    const uint8_t *at = bytes.data();
    for (size_t i = 0; i < count; ++i) {
      if (leaving_.empty() || user[i]) throw std::runtime_error("a frame left the core that its trace does not tell");
      Departure d = std::move(leaving_.front());
      leaving_.pop_front();
      d.firstNs = first[i] - epochNs;
      d.bytes.assign(at, at + lengths[i]);
      at += lengths[i];
      out_.push_back(std::move(d));
    }
  }

  /// rx = tx + dropped + held, by the core's own counters.
  void balance() {
    struct weir_counters q;
    struct weir_core_counters c;
    struct weir_core_live live;
    check(weir_snapshot(device_));
    check(weir_counters(device_, 0, &q));
    check(weir_core_counters(device_, &c));
    check(weir_core_live(device_, &live));
    const uint64_t dropped = q.early.packets + q.forced.packets + q.overflow.packets + q.front.packets +
                             q.head_dropped.packets + c.ingress_overflow.packets + c.bad.packets + c.runt.packets +
                             c.oversize.packets + c.malformed.packets;
    if (c.rx.packets > c.tx.packets + dropped + live.held_packets + 1 ||
        c.rx.packets + 1 < c.tx.packets + dropped + live.held_packets)
      throw std::runtime_error("the core's counters do not add up");
  }

  void close() {
    if (device_) weir_close(device_);
    if (core_) model_.destroy(core_);
    device_ = nullptr, core_ = nullptr;
  }

  const CycleModel &model_;
  weir_model *core_ = nullptr;
  struct weir *device_ = nullptr;
  std::optional<golden::Port> golden_;
  std::vector<Record> buffer_;
  std::deque<Record> seen_[2], expected_[2];
  std::deque<Departure> leaving_;
  std::vector<Departure> out_;
  Tally tally_;
  uint64_t held_ = 0, compared_ = 0;
};

}  // namespace

std::unique_ptr<Bottleneck> makeRtl(const Setup &setup, bool checked) {
  return std::make_unique<RtlBottleneck>(setup, checked);
}

}  // namespace weirsim

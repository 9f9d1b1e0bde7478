#include "splitter.h"

#include <deque>
#include <stdexcept>

#include "configure.h"
#include "rtl-core.h"

namespace weirsim {

namespace {

class GoldenSplitter final : public Splitter {
 public:
  void send(const uint8_t *frame, uint32_t length, uint64_t) override {
    if (golden::isJumbo(frame, length))
      waiting_.push_back(golden::splitJumbo(frame, length));
    else
      waiting_.push_back({golden::Bytes(frame, frame + length)});
  }

  std::vector<golden::Bytes> take(uint64_t) override {
    std::vector<golden::Bytes> frames = std::move(waiting_.front());
    waiting_.pop_front();
    for (const golden::Bytes &frame : frames) hash_ = hashed(hash_, frame.data(), frame.size());
    return frames;
  }

  Totals totals() const override {
    Totals t;
    t.departureHash = hash_;
    return t;
  }

  /// Frames of those that were sent and not taken.
  size_t untaken() const {
    size_t frames = 0;
    for (const auto &of : waiting_) frames += of.size();
    return frames;
  }

 private:
  std::deque<std::vector<golden::Bytes>> waiting_;
  uint64_t hash_ = hashBasis;
};

/// The core's frames have to be the golden model's, byte for byte, in the same order, and out by the time they are taken; or the run ends. In
/// turns with the simulator that is seen before they go on, on a thread of its own some time later.
class RtlSplitter final : public Splitter {
 public:
  explicit RtlSplitter(const Setup &setup) : core_(setup) {
    weir_queue_config config;
    check(weir_queue_defaults_of("drop-tail", &config));
    check(weir_queue_set(&config, "limit", "900KB"));
    check(weir_queue_apply(core_.device(), 0, &config));
    const weir_jumbo jumbo{WEIR_JUMBO_SPLIT, 0, golden::jumboProtocol, 1, setup.tick, 0};
    check(weir_set_jumbo(core_.device(), &jumbo));
    core_.begin();
  }

  void send(const uint8_t *frame, uint32_t length, uint64_t atNs) override {
    golden_.send(frame, length, atNs);
    core_.send(frame, length, atNs + epochNs);
  }

  std::vector<golden::Bytes> take(uint64_t ns) override {
    now_ = ns + epochNs;
    std::vector<golden::Bytes> frames = golden_.take(ns);
    core_.reach(now_);
    core_.then([this, by = now_, frames] { compare(frames, by); });
    return frames;
  }

  void finish() override {
    now_ += settleNs;
    core_.runUntil(now_);
    compare({}, now_);
    if (out_.size() > golden_.untaken()) throw std::runtime_error("the core that splits gave out more frames than came in");
    core_.balance();
  }

  Totals totals() const override {
    Totals t;
    t.cycles = core_.get(WEIR_MODEL_CYCLES), t.evaluated = core_.get(WEIR_MODEL_EVALUATED);
    t.compared = compared_, t.departureHash = hash_;
    return t;
  }

 private:
  /// What is taken at `by`, ns. On the core's thread.
  void compare(const std::vector<golden::Bytes> &frames, uint64_t by) {
    for (RtlCore::Out &o : core_.receive()) out_.push_back(std::move(o));
    for (const golden::Bytes &frame : frames) {
      if (out_.empty() || out_.front().lastNs >= by)
        throw std::runtime_error("the core that splits has not given out a frame in time");
      if (out_.front().bytes != frame)
        throw std::runtime_error("RTL and golden model disagree: frame " + std::to_string(compared_) + " out of the split");
      hash_ = hashed(hash_, out_.front().bytes.data(), out_.front().bytes.size());
      out_.pop_front(), ++compared_;
    }
  }

  GoldenSplitter golden_;
  uint64_t now_ = epochNs;
  std::deque<RtlCore::Out> out_;
  uint64_t compared_ = 0, hash_ = hashBasis;  // of what the core gave out
  RtlCore core_;  // the last: its thread ends before what it works on
};

}  // namespace

std::unique_ptr<Splitter> makeRtlSplitter(const Setup &setup) { return std::make_unique<RtlSplitter>(setup); }
std::unique_ptr<Splitter> makeGoldenSplitter() { return std::make_unique<GoldenSplitter>(); }

}  // namespace weirsim

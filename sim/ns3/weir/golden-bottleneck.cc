// The golden model as a bottleneck: what "pure software" means for policies that ns-3 does not have.

#include <deque>

#include "configure.h"
#include "weir.h"

namespace weirsim {

namespace {

class GoldenBottleneck final : public Bottleneck {
 public:
  GoldenBottleneck(const golden::PortConfig &config, const Setup &setup) : port_(config), merging_(setup) {}

  void send(const uint8_t *frame, uint32_t length, uint64_t atNs) override {
    const uint64_t at = line_.place(length, merging_.transit(frame, length), atNs + epochNs);
    port_.send(length, ecnOf(frame, length), at, merging_.keep(frame, length));
  }

  void runUntil(uint64_t ns) override {
    port_.runUntil(ns + epochNs);
    for (const Record &r : port_.takeArrivals()) tell(r);
    for (const Record &r : port_.takeDepartures()) tell(r);
    now_ = ns;
  }

  std::vector<Departure> take() override {
    std::vector<Departure> out;
    for (golden::Leaving &l : port_.takeLeaving()) leaving_.push_back(std::move(l));
    // not before the RTL would have it whole, so that events of the same moment have the same order
    for (; !leaving_.empty() && leaving_.front().lastCycle < golden::cycleOfNs(now_ + epochNs); leaving_.pop_front())
      out.push_back(merging_.departure(leaving_.front()));
    return out;
  }

  uint64_t held() const override { return port_.held() + leaving_.size(); }

  void finish() override {
    tally_.end(now_ + epochNs);
    runUntil(now_ + settleNs);
  }

  Totals totals() const override {
    Totals t;
    tally_.fill(t);
    t.cycles = golden::cycleOfNs(now_ + epochNs);
    return t;
  }

 private:
  void tell(const Record &record) {
    tally_.add(record);
    merging_.decided(record);
    if (onRecord) onRecord(record);
  }

  golden::Port port_;
  Merging merging_;
  Line line_;
  std::deque<golden::Leaving> leaving_;
  Tally tally_;
  uint64_t now_ = 0;
};

}  // namespace

std::unique_ptr<Bottleneck> makeGolden(const Setup &setup) {
  return std::make_unique<GoldenBottleneck>(portConfigOf(setup, capabilitiesOf(setup)), setup);
}

}  // namespace weirsim

// The golden model as a bottleneck: what "pure software" means for policies that ns-3 does not have.

#include "configure.h"
#include "weir.h"

namespace weirsim {

namespace {

class GoldenBottleneck final : public Bottleneck {
 public:
  explicit GoldenBottleneck(const golden::PortConfig &config) : port_(config) {}

  void send(const uint8_t *frame, uint32_t length, uint64_t atNs) override {
    port_.send(length, ecnOf(frame, length), atNs + epochNs);
  }

  void runUntil(uint64_t ns) override {
    port_.runUntil(ns + epochNs);
    for (const Record &r : port_.takeArrivals()) tell(r);
    for (const Record &r : port_.takeDepartures()) tell(r);
    now_ = ns;
  }

  std::vector<Departure> take() override {
    std::vector<Departure> out;
    for (const golden::Leaving &l : port_.takeLeaving()) out.push_back({l.number, l.firstNs - epochNs, l.marked, {}});
    return out;
  }

  uint64_t held() const override { return port_.held(); }

  Totals totals() const override {
    Totals t;
    tally_.fill(t);
    t.cycles = golden::cycleOfNs(now_ + epochNs);
    return t;
  }

 private:
  void tell(const Record &record) {
    tally_.add(record);
    if (onRecord) onRecord(record);
  }

  golden::Port port_;
  Tally tally_;
  uint64_t now_ = 0;
};

}  // namespace

std::unique_ptr<Bottleneck> makeGolden(const Setup &setup) {
  weir_capabilities capabilities;
  weir_capabilities_full(&capabilities);
  capabilities.link_rate = setup.rate;
  return std::make_unique<GoldenBottleneck>(portConfigOf(setup, capabilities));
}

}  // namespace weirsim

#include "configure.h"

#include <cmath>
#include <stdexcept>

#include "weir.h"

namespace weirsim {

void check(int status) {
  if (status < 0) throw std::runtime_error(weir_error());
}

void configOf(const Setup &setup, weir_queue_config *config) {
  check(weir_queue_defaults_of(setup.policy.c_str(), config));
  for (const auto &[name, value] : setup.settings) check(weir_queue_set(config, name.c_str(), value.c_str()));
}

double coreRate(const Setup &setup) { return setup.rate / setup.stretch; }

golden::PortConfig portConfigOf(const Setup &setup, const weir_capabilities &capabilities) {
  golden::PortConfig port;
  if (setup.core == "network")
    port.pipeline = golden::withoutJumbo;
  else if (setup.core != "full")
    throw std::runtime_error("the golden model covers the cores full and network, not '" + setup.core + "'");
  weir_queue_config config;
  configOf(setup, &config);
  weir_queue_registers registers;
  check(weir_convert_queue(&capabilities, &config, &registers));
  for (uint32_t i = 0; i < registers.count; ++i) port.words[registers.words[i].name] = registers.words[i].value;
  const weir_shaper shaper{coreRate(setup), 0.0, static_cast<double>(setup.overhead)};
  weir_shaper_registers words;
  check(weir_convert_shaper(&capabilities, &shaper, &words));
  port.cost = words.cost, port.overhead = words.overhead, port.seed = setup.seed, port.cells = capabilities.cells;
  port.merge.on = setup.merge, port.merge.tick = setup.tick;
  return port;
}

void configureCore(struct weir *device, const Setup &setup) {
  const weir_shaper shaper{coreRate(setup), 0.0, static_cast<double>(setup.overhead)};
  check(weir_seed(device, setup.seed));
  check(weir_shape(device, &shaper));
  weir_queue_config config;
  configOf(setup, &config);
  check(weir_queue_apply(device, 0, &config));
  if (!setup.merge) return;
  const weir_jumbo jumbo{WEIR_JUMBO_OPAQUE, 0, golden::jumboProtocol, 1, setup.tick, 0};
  weir_merge merge{};
  merge.mode = WEIR_MERGE_FLOW;
  check(weir_set_jumbo(device, &jumbo));
  check(weir_set_merge(device, 0, &merge));
}

void Merging::admit(const uint8_t *frame, uint32_t length) const {
  if (on_ && golden::isJumbo(frame, length)) throw std::runtime_error("a queue that merges takes no jumbo frames");
}

golden::PacketInfo Merging::keep(const uint8_t *frame, uint32_t length) {
  const uint64_t number = number_++;
  if (!on_) return {};
  admit(frame, length);
  frames_.emplace_hint(frames_.end(), number, golden::Bytes(frame, frame + length));
  return golden::inspect(frame, length);
}

void Merging::decided(const Record &record) {
  const bool arrival = (record[1] >> 20 & 3) == 0;
  if (on_ && arrival && (record[1] >> 22 & 3) == golden::drop) frames_.erase(record[11]);
}

Departure Merging::departure(const golden::Leaving &leaving) {
  Departure d;
  d.firstNs = leaving.firstNs - epochNs;
  std::vector<const golden::Bytes *> frames;
  std::vector<uint64_t> ns;
  for (const auto &m : leaving.members) {
    d.members.push_back(m.number);
    if (!on_) continue;
    golden::Bytes &frame = frames_.at(m.number);
    if (m.marked) golden::setEcn(frame, golden::ce);
    frames.push_back(&frame), ns.push_back(m.requestNs);
  }
  if (leaving.members.size() == 1)
    d.marked = leaving.members[0].marked;
  else
    d.bytes = golden::buildJumbo(frames, ns, tick_, identification_++);
  for (uint64_t number : d.members) frames_.erase(number);
  return d;
}

uint32_t ecnOf(const uint8_t *frame, uint32_t length) {
  if (length < 34) return 0;
  const unsigned type = frame[12] << 8 | frame[13];
  if (type == 0x0800) return frame[15] & 3;
  return type == 0x86DD ? frame[15] >> 4 & 3 : 0;
}

void Tally::add(const Record &record) {
  const bool departure = record[1] >> 20 & 3;
  uint64_t &hash = departure ? departureHash_ : arrivalHash_;
  ++(departure ? departures_ : arrivals_);
  for (uint32_t word : record)
    for (unsigned i = 0; i < 4; ++i) hash = (hash ^ (word >> 8 * i & 0xFF)) * 0x100000001B3;
}

void Tally::fill(Totals &totals) const {
  totals.arrivals = arrivals_, totals.departures = departures_;
  totals.arrivalHash = arrivalHash_, totals.departureHash = departureHash_;
}

}  // namespace weirsim

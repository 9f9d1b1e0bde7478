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

golden::PortConfig portConfigOf(const Setup &setup, const weir_capabilities &capabilities) {
  golden::PortConfig port;
  weir_queue_config config;
  configOf(setup, &config);
  weir_queue_registers registers;
  check(weir_convert_queue(&capabilities, &config, &registers));
  for (uint32_t i = 0; i < registers.count; ++i) port.words[registers.words[i].name] = registers.words[i].value;
  const weir_shaper shaper{setup.rate, 0.0, static_cast<double>(setup.overhead)};
  weir_shaper_registers words;
  check(weir_convert_shaper(&capabilities, &shaper, &words));
  port.cost = words.cost, port.overhead = words.overhead, port.seed = setup.seed, port.cells = capabilities.cells;
  return port;
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

// Natural units to registers: libweir's work, for the RTL and for the golden model alike.

#pragma once

#include "../golden/port.h"
#include "bottleneck.h"

extern "C" {
struct weir_queue_config;
struct weir_capabilities;
}

namespace weirsim {

/// The setup as libweir's configuration. Throws std::runtime_error with libweir's sentence.
void configOf(const Setup &setup, weir_queue_config *config);
/// What the golden model needs, from the same setup and the capabilities of the core.
golden::PortConfig portConfigOf(const Setup &setup, const weir_capabilities &capabilities);
/// ECN codepoint of an Ethernet frame (IPv4 or IPv6 without tags), 0 if it has none.
uint32_t ecnOf(const uint8_t *frame, uint32_t length);
/// Throws with libweir's sentence if `status` tells a failure.
void check(int status);

/// Hashes and counts records.
class Tally {
 public:
  void add(const Record &record);
  void fill(Totals &totals) const;

 private:
  static constexpr uint64_t basis = 0xCBF29CE484222325;
  uint64_t arrivals_ = 0, departures_ = 0, arrivalHash_ = basis, departureHash_ = basis;
};

}  // namespace weirsim

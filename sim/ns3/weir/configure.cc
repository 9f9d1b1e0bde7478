#include "configure.h"

#include <bit>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "weir.h"
#include "weir_regs.h"

namespace weirsim {

void check(int status) {
  if (status < 0) throw std::runtime_error(weir_error());
}

void configOf(const Setup &setup, weir_queue_config *config) {
  check(weir_queue_defaults_of(setup.policy.c_str(), config));
  for (const auto &[name, value] : setup.settings) check(weir_queue_set(config, name.c_str(), value.c_str()));
}

void checkSetup(const Setup &setup) {
  const auto within = [](const char *name, unsigned value, unsigned least, unsigned most) {
    if (value < least || value > most)
      throw std::runtime_error(std::string(name) + " " + std::to_string(value) + " is out of range: allowed is " + std::to_string(least) + " to " +
                               std::to_string(most));
  };
  within("stretch", setup.stretch, 1, 10000);
  if (setup.merge || setup.transit) within("tick", setup.tick, 1, 16);
  if (setup.merge && setup.transit)
    throw std::runtime_error("merge and transit are both on: a queue that merges takes no jumbo frames; turn one of them off");
  if (setup.mred && !setup.transit)
    throw std::runtime_error("mred is on and transit is off: only jumbo frames that stay together can pay; turn transit on");
  if (setup.mred && setup.policy != "red" && setup.policy != "isred" && setup.policy != "ared")
    throw std::runtime_error("mred is on with policy '" + setup.policy + "': allowed are red, isred and ared");
}

double coreRate(const Setup &setup) { return setup.rate / setup.stretch; }

namespace {

/// A core of docs/ns3.md, *Which core*. No policies: every one.
struct Core {
  const char *name;
  std::vector<const char *> policies;
  bool jumbo;
  golden::Pipeline pipeline;
};

/// Throws std::runtime_error for one that has no golden model.
const Core &coreOf(const std::string &name) {
  static const Core cores[] = {{"full", {}, true, golden::withJumbo},
                               {"network", {"drop-tail", "red", "dt-ecn", "isred", "fn"}, false, golden::withoutJumbo},
                               {"network-jumbo", {"drop-tail", "red"}, true, golden::withJumbo}};
  for (const Core &core : cores)
    if (core.name == name) return core;
  throw std::runtime_error("the golden model covers the cores full, network and network-jumbo, not '" + name + "'");
}

weir_shaper shaperOf(const Setup &setup) {
  return {coreRate(setup), 0.0, static_cast<double>(setup.overhead), static_cast<double>(setup.mpu)};
}

weir_queue_registers registersOf(const Setup &setup, const weir_capabilities &capabilities) {
  weir_queue_config config;
  configOf(setup, &config);
  weir_queue_registers registers;
  check(weir_convert_queue(&capabilities, &config, &registers));
  return registers;
}

}  // namespace

void checkSettings(const Setup &setup) {
  weir_capabilities full;
  weir_capabilities_full(&full);
  full.link_rate = coreRate(setup);
  registersOf(setup, full);
}

/// The words of MRED, as libweir writes them: to registers that only remember.
void addMred(const Setup &setup, golden::Words &words) {
  weir_capabilities full;
  weir_capabilities_full(&full);
  std::map<uint32_t, uint32_t> memory{{WEIR_MAGIC, WEIR_MAGIC_VALUE},
                                      {WEIR_FEATURES, full.features | 1u << WEIR_FEATURES_SPLIT_SHIFT},
                                      {WEIR_PARAMS, full.queues << WEIR_PARAMS_QUEUES_SHIFT |
                                                        full.data_width << WEIR_PARAMS_DATA_WIDTH_SHIFT},
                                      {WEIR_CELLS, full.cells},
                                      {WEIR_DESCRIPTORS, full.descriptors},
                                      {WEIR_CLOCK_HZ, full.clock_hz},
                                      {WEIR_CELL_BYTES, full.cell_bytes},
                                      {WEIR_Q_BASE + WEIR_Q_POLICY, words.at("POLICY")},
                                      {WEIR_Q_BASE + WEIR_Q_RED_MIN, words.at("RED_MIN")},
                                      {WEIR_Q_BASE + WEIR_Q_RED_MAX, words.at("RED_MAX")}};
  using Memory = decltype(memory);
  const weir_bus bus{&memory,
                     [](void *m, uint32_t a, uint32_t *v) { return *v = (*static_cast<Memory *>(m))[a], int{WEIR_OK}; },
                     [](void *m, uint32_t a, uint32_t v) { return (*static_cast<Memory *>(m))[a] = v, int{WEIR_OK}; }};
  struct weir *device;
  check(weir_open_bus(&bus, &device));
  const weir_mred mred{1, setup.mredLow, setup.mredHigh};
  const int status = weir_set_mred(device, 0, &mred);
  weir_close(device);
  check(status);
  words["MRED"] = memory[WEIR_Q_BASE + WEIR_Q_MRED];
  words["MRED_LO"] = memory[WEIR_Q_BASE + WEIR_Q_MRED_LO];
  words["MRED_HI"] = memory[WEIR_Q_BASE + WEIR_Q_MRED_HI];
  words["MRED_SLOPE"] = memory[WEIR_Q_BASE + WEIR_Q_MRED_SLOPE];
}

weir_capabilities capabilitiesOf(const Setup &setup) {
  weir_capabilities has;
  weir_capabilities_full(&has);
  has.link_rate = coreRate(setup);
  const Core &core = coreOf(setup.core);
  if (core.policies.empty()) return has;
  for (size_t i = 0; const weir_policy_info *info = weir_policy_at(i); ++i)
    if (std::none_of(core.policies.begin(), core.policies.end(), [&](const char *policy) { return std::string(policy) == info->name; }))
      has.features &= ~(1u << info->id);
  return has;
}

golden::PortConfig portConfigOf(const Setup &setup, const weir_capabilities &capabilities) {
  checkSetup(setup);
  const Core &core = coreOf(setup.core);
  if ((setup.merge || setup.transit) && !core.jumbo)
    throw std::runtime_error("the core " + setup.core + " has no jumbo frames; choose one of full, network-jumbo");
  golden::PortConfig port;
  port.pipeline = core.pipeline;
  const weir_queue_registers registers = registersOf(setup, capabilities);
  for (uint32_t i = 0; i < registers.count; ++i) port.words[registers.words[i].name] = registers.words[i].value;
  const weir_shaper shaper = shaperOf(setup);
  weir_shaper_registers words;
  check(weir_convert_shaper(&capabilities, &shaper, &words));
  port.cost = words.cost, port.overhead = words.overhead, port.mpu = words.mpu, port.seed = setup.seed, port.cells = capabilities.cells;
  port.merge.on = setup.merge, port.merge.tick = setup.tick, port.transit = setup.transit;
  if (setup.mred) addMred(setup, port.words);
  if (!(setup.markP > 0 && setup.markP <= 1))
    throw std::runtime_error("mark_p " + std::to_string(setup.markP) + " is out of range: allowed is above 0 and up to 1");
  if (setup.markP < 1) {
    const bool marks = setup.policy == "red" && port.words.at("RED_FLAGS") >> 5 & 1;
    if (!marks || port.words.at("RED_FLAGS") >> 7 & 1 || setup.mred)
      throw std::runtime_error("mark_p is below 1, which is of policy red with ecn on, and without nodrop and mred");
    port.words["MARK_P"] = static_cast<uint32_t>(std::min(std::ceil(std::ldexp(setup.markP, 32)), 0xFFFFFFFFp0));
  }
  return port;
}

void configureCore(struct weir *device, const Setup &setup) {
  checkSetup(setup);
  if (setup.markP != 1) throw std::runtime_error("mark_p is not 1: the golden model alone has it, the RTL marks at every probability");
  const weir_shaper shaper = shaperOf(setup);
  check(weir_seed(device, setup.seed));
  check(weir_shape(device, &shaper));
  weir_queue_config config;
  configOf(setup, &config);
  check(weir_queue_apply(device, 0, &config));
  if (!setup.merge && !setup.transit) return;
  const weir_jumbo jumbo{setup.transit ? WEIR_JUMBO_TRANSIT : WEIR_JUMBO_OPAQUE, 0, golden::jumboProtocol, 1, setup.tick, 0};
  check(weir_set_jumbo(device, &jumbo));
  if (setup.merge) {
    weir_merge merge{};
    merge.mode = WEIR_MERGE_FLOW;
    check(weir_set_merge(device, 0, &merge));
  }
  if (setup.mred) {
    const weir_mred mred{1, setup.mredLow, setup.mredHigh};
    check(weir_set_mred(device, 0, &mred));
  }
}

void Merging::admit(const uint8_t *frame, uint32_t length) const {
  const unsigned type = length < golden::ethernetBytes ? 0 : frame[12] << 8 | frame[13];
  if (transit_ && (type == 0x88B5 || type == 0x8100 || type == 0x88A8))
    throw std::runtime_error("a queue with jumbo frames in transit takes frames in the L3 form and without VLAN tags only");
  if (!(on_ || transit_) || !golden::isJumbo(frame, length)) return;
  if (on_) throw std::runtime_error("a queue that merges takes no jumbo frames");
  golden::readTransit(frame, length, false);
}

golden::Incoming Merging::keep(const uint8_t *frame, uint32_t length) {
  const uint64_t number = number_++;
  const bool jumbo = transit(frame, length);
  admit(frame, length);
  if (!on_ && !jumbo) return {};
  frames_.emplace_hint(frames_.end(), number, golden::Bytes(frame, frame + length));
  if (jumbo) return {{}, golden::readTransit(frame, length, true)};
  return {golden::inspect(frame, length), {}};
}

void Merging::decided(const Record &record) {
  const uint32_t *const words = record.data();
  const bool arrival = weir_record_kind(words) == WEIR_RECORD_KIND_ARRIVAL;
  const bool drops = arrival && weir_record_action(words) == golden::drop;
  if ((on_ || transit_) && drops) frames_.erase(weir_record_number(words));
}

Departure Merging::departure(const golden::Leaving &leaving) {
  Departure d;
  d.firstNs = leaving.firstNs - epochNs;
  d.packets = leaving.packets;
  if (const auto kept = frames_.find(leaving.members.front().number); transit_ && kept != frames_.end()) {
    d.members = {kept->first};
    d.bytes = golden::rebuilt(kept->second, leaving.members.front().fate);
    frames_.erase(kept);
    return d;
  }
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

uint64_t Line::place(uint32_t length, bool transit, uint64_t at) {
  constexpr uint64_t least = 60, around = 24, quiet = 256;  // bytes
  at = std::max(at, quiet_);
  free_ = std::max((at * 5 + 3) / 4, free_) + std::max<uint64_t>(length, least) + around;
  if (transit) quiet_ = (free_ + quiet) * 4 / 5;
  return at;
}

uint32_t ecnOf(const uint8_t *frame, uint32_t length) {
  if (length < 34) return 0;
  const unsigned type = frame[12] << 8 | frame[13];
  if (type == 0x0800) return frame[15] & 3;
  return type == 0x86DD ? frame[15] >> 4 & 3 : 0;
}

bool Tally::counts(const Record &record) const { return weir_record_time_ns(record.data()) < end_; }

uint64_t hashed(uint64_t hash, const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001B3;
  return hash;
}

void Tally::add(const Record &record) {
  if (!counts(record)) return;
  const bool departure = weir_record_kind(record.data()) != WEIR_RECORD_KIND_ARRIVAL;
  uint64_t &hash = departure ? departureHash_ : arrivalHash_;
  ++(departure ? departures_ : arrivals_);
  static_assert(std::endian::native == std::endian::little);
  hash = hashed(hash, reinterpret_cast<const uint8_t *>(record.data()), sizeof record);
}

void Tally::fill(Totals &totals) const {
  totals.arrivals = arrivals_, totals.departures = departures_;
  totals.arrivalHash = arrivalHash_, totals.departureHash = departureHash_;
}

}  // namespace weirsim

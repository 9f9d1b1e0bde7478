// The cycle model of a Weir core. See weir_model.h for the interface, docs/modules/model.md for the ideas.

#include "weir_model.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "Vweir.h"
#include "Vweir___024root.h"
#include "verilated.h"
#ifdef WEIR_MODEL_WAVE
#include "verilated_vcd_c.h"
#endif

#ifndef WEIR_MODEL_PRESET
#error "WEIR_MODEL_PRESET must name the preset"
#endif
#ifndef WEIR_MODEL_WAVE
/// The clocks of units that may stand still: X(name, beginning of its variables' names) for each; build.py's.
#include "gates.h"
#endif

#ifdef WEIR_MODEL_CHECK
#include <cstddef>
#include <cstdio>
#include <set>

/// Everything that Verilator keeps of the core, but for its large memories: the table is build.py's.
struct Member {
  const char *name;
  size_t offset, size;
};
extern const Member weir_model_members[];
extern const size_t weir_model_member_count;
#endif

/// What `Vweir::eval` runs for each change of inputs, without its locks: Verilator's own, like `__Vtrigprevexpr…` below.
void Vweir___024root___eval(Vweir___024root *root);

namespace {

constexpr uint64_t never = ~uint64_t{0};
constexpr uint64_t timeMask = (uint64_t{1} << 48) - 1;
/// A deadline this far ahead or farther is none: in modular time it is past, and a late one would not be quiet.
constexpr uint64_t timePast = uint64_t{1} << 47;
constexpr unsigned beatBytes = 8;
/// Cycles that are run before the event that ends a skip, so that copies of `now_ns` inside the core are fresh.
constexpr uint64_t warmUp = 4;
/// Cycles that are run before a deadline of the core's: one that gets up for it before it is there (Spacing, 64 ns) asks for
/// more (build.py looks for it).
#ifndef WEIR_MODEL_LEAD
#define WEIR_MODEL_LEAD 16
#endif
constexpr uint64_t lead = WEIR_MODEL_LEAD;
/// Skips are multiples of this many cycles, so that slot counters inside the core, which never rest, keep their phase: what
/// goes round the queues does so in 64 (build.py looks for it), the others in four or less.
#ifndef WEIR_MODEL_SKIP_STEP
#define WEIR_MODEL_SKIP_STEP 64
#endif
constexpr uint64_t skipStep = WEIR_MODEL_SKIP_STEP;
/// `quiet` is believed after so many cycles of it without movement of a port: it comes through registers, which
/// may lag a movement by some cycles.
constexpr uint64_t settleCycles = 8;
constexpr uint64_t accessBound = 1000000;
constexpr unsigned traceWords = 12;
constexpr uint32_t heldPackets = 0x108;

/// Byte times (0.8 ns) that a frame takes on a 10GbE line: at least 60 bytes, preamble, FCS and gap.
uint64_t wireTime(uint64_t length) { return std::max<uint64_t>(length, 60) + 24; }
/// Time at which cycle k begins: floor(k * 6.4).
uint64_t nsOfCycle(uint64_t k) { return k / 5 * 32 + k % 5 * 32 / 5; }
/// The first cycle that does not begin before `ns`: ceil(ns / 6.4).
uint64_t cycleOfNs(uint64_t ns) { return ns / 32 * 5 + (ns % 32 * 5 + 31) / 32; }
uint64_t ceilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/// Of all cores of this process: see WEIR_MODEL_STILL and WEIR_MODEL_STRAYS.
std::atomic<uint64_t> stillCycles{0}, strayCycles{0};

struct Frame {
  size_t offset;
  uint32_t length;
  uint32_t flags;
  uint64_t atNs;
};

struct Received {
  uint32_t length;
  uint32_t tuser;
  uint64_t firstNs;
  uint64_t lastNs;
};

}  // namespace

struct weir_model {
  weir_model();
  ~weir_model();
  weir_model(const weir_model &) = delete;
  weir_model &operator=(const weir_model &) = delete;

  bool reset();
  void set(int option, int value) {
    options[option] = value;
    quiet = false;  // an input may have moved
    settled = cycle + settleCycles;
  }
  void send(size_t count, const uint8_t *bytes, const uint32_t *lengths, const uint64_t *atNs, const uint8_t *flags);
  /// Whether a gated clock leaves out the next edge, with its `run` as it is. `run` is made of registers: what the ports
  /// show comes on top. `strict`: so that no register changes; a policy's unit that rests (aqm.Resting) may miss changes
  /// that are of no consequence.
  bool stands(std::string_view clock, bool run, bool strict = false) const {
    const bool shown = clock == "ingress" ? beatShown : clock == "front" && bus.open();
    const bool within = clock.rfind("packet_", 0) == 0;
    return !(within ? (run || strict) && packetRuns : run || shown) && options[WEIR_MODEL_SKIP] && !top->rst;
  }
  void runTo(uint64_t cycle);
  bool runIdle(uint64_t lastCycle);
  int access(bool write, uint32_t address, uint32_t *value);
  bool wave(const char *path);
  uint64_t lineFreeNs() const;
  uint64_t nextNs() const;

  bool linePending() const { return head < frames.size(); }

  int options[WEIR_MODEL_OPTIONS] = {0, 0, 1, 1, 3};
  uint64_t cycle = 0;
  uint64_t evaluated = 0;
  uint64_t framesIn = 0, bytesIn = 0, framesOut = 0, bytesOut = 0;
  uint64_t ingressStalls = 0, underruns = 0, traceRecords = 0;

  // the ingress line: frames[head] is the next to go or on its way
  std::vector<Frame> frames;
  std::vector<uint8_t> line;
  size_t head = 0;

  // what came out
  std::vector<uint8_t> out;
  std::vector<Received> received;
  std::vector<uint32_t> trace;
  std::vector<uint64_t> traceNs;
  size_t traceHead = 0;

 private:
  void step();
  void driveIngress();
  void driveEgress();
  void driveAccess();
  void sampleEgress();
  void sampleAccess();
  void prepareHead(uint64_t earliest);
  void compactLine();
  void settle();
  void edge();
#ifdef WEIR_MODEL_CHECK
  void checkStill();
  std::vector<uint8_t> before;
  std::set<const char *> told;
#endif
  void skipTo(uint64_t limit);
  bool atRest() const;

  VerilatedContext context;
  std::unique_ptr<Vweir> top;
#ifdef WEIR_MODEL_WAVE
  std::unique_ptr<VerilatedVcdC> vcd;
#endif

  // ingress
  uint64_t headStart = never;  // cycle of the head's first beat
  uint64_t lineFree = 0;       // byte time at which the line is free after the head (10GbE), or its cycle * 8
  uint32_t sentBytes = 0;      // of the head, with the beat that is shown now
  bool beatShown = false;

  // egress
  uint64_t sinkFree = 0;       // byte time
  size_t openBytes = 0;
  uint64_t openFirstNs = 0;
  bool frameOpen = false;
  bool openKept = false;

  // the register access that is open
  struct {
    bool address = false, data = false, response = false, write = false;
    uint32_t result = 0, value = 0;
    bool open() const { return address || data || response; }
  } bus;

  // sampled in the last evaluated cycle
  bool packetRuns = true;
  bool quiet = false;
  uint64_t wakeCycle = never;
  uint64_t settled = 0;
};

weir_model::weir_model() : top(nullptr) {
  Verilated::threadContextp(&context);  // which Verilator's scopes enter
  context.randReset(0);
#ifdef WEIR_MODEL_WAVE
  context.traceEverOn(true);
#endif
  top = std::make_unique<Vweir>(&context, "weir");
  top->clk = 0;
  top->csr_wstrb = 0xF;
  top->eval();
}

weir_model::~weir_model() {
  wave(nullptr);
  top->final();
  Verilated::threadContextp(&context);  // Verilator's scopes leave the thread's context: another core's is gone perhaps
  top.reset();
}

/// The low half of a cycle. Every output of the core depends on registers alone, not on an input of the same cycle, so
/// there is nothing to evaluate for the model; a waveform shows it.
void weir_model::settle() {
#ifdef WEIR_MODEL_WAVE
  top->clk = 0;
  top->eval();
  if (vcd) vcd->dump(cycle * 6400);
#endif
}

/// The rising edge of the clock, with the inputs as they are.
void weir_model::edge() {
  top->clk = 1;
#ifdef WEIR_MODEL_WAVE
  top->eval();
  if (vcd) vcd->dump(cycle * 6400 + 3200);
#else
#define PACKET(gate, at) if (std::string_view(#gate) == "packet") packetRuns = top->rootp->at##runs;
  WEIR_MODEL_GATES(PACKET)
#undef PACKET
#ifdef WEIR_MODEL_CHECK
  checkStill();
#endif
  auto &root = *top->rootp;
  root.__Vtrigprevexpr___TOP__clk__0 = 0;
#define RISE(gate, at) root.at##made = 1, root.__Vtrigprevexpr___TOP__##at##made##__0 = stands(#gate, root.at##runs);
  WEIR_MODEL_GATES(RISE)
#undef RISE
  Vweir___024root___eval(&root);
#endif
}

#ifdef WEIR_MODEL_CHECK
/// The clocks that are to stand still rise alone: nothing may change. Then all is as it was.
void weir_model::checkStill() {
  auto &root = *top->rootp;
  auto *bytes = reinterpret_cast<uint8_t *>(&root);
  root.__Vtrigprevexpr___TOP__clk__0 = 1;
  unsigned still = 0;
#define STAY(gate, at) root.at##made = root.__Vtrigprevexpr___TOP__##at##made##__0 = 1, still += stands(#gate, root.at##runs, true);
  WEIR_MODEL_GATES(STAY)
#undef STAY
  if (!still) return;
  Vweir___024root___eval(&root);  // what follows from the inputs
  before.clear();
  for (size_t i = 0; i < weir_model_member_count; ++i) {
    const Member &m = weir_model_members[i];
    before.insert(before.end(), bytes + m.offset, bytes + m.offset + m.size);
  }
#define RISE(gate, at) root.__Vtrigprevexpr___TOP__##at##made##__0 = !stands(#gate, root.at##runs, true);
  WEIR_MODEL_GATES(RISE)
#undef RISE
  Vweir___024root___eval(&root);
  ++stillCycles;
  bool strays = false;
  const uint8_t *was = before.data();
  for (size_t i = 0; i < weir_model_member_count; was += weir_model_members[i++].size) {
    const Member &m = weir_model_members[i];
    if (std::memcmp(was, bytes + m.offset, m.size) == 0) continue;
    std::memcpy(bytes + m.offset, was, m.size);
    strays = true;
    if (told.insert(m.name).second)
      std::fprintf(stderr, "cycle %llu: %s moves while its clock stands still\n", static_cast<unsigned long long>(cycle), m.name);
  }
  strayCycles += strays;
}
#endif

bool weir_model::wave(const char *path) {
#ifdef WEIR_MODEL_WAVE
  if (vcd) {
    vcd->close();
    vcd.reset();
  }
  if (!path) return true;
  vcd = std::make_unique<VerilatedVcdC>();
  top->trace(vcd.get(), 99);
  vcd->open(path);
  if (!vcd->isOpen()) vcd.reset();
  return vcd != nullptr;
#else
  return path == nullptr;
#endif
}

bool weir_model::reset() {
  top->rst = 1;
  for (int i = 0; i < 16; ++i) step();
  top->rst = 0;
  // The first access waits for the sweeps that follow a reset; then they have ended.
  for (uint64_t i = 0; i < accessBound; ++i) {
    step();
    if (quiet) break;
  }
  uint32_t magic = 0;
  return access(false, 0, &magic) == WEIR_MODEL_OK;
}

void weir_model::send(size_t count, const uint8_t *bytes, const uint32_t *lengths, const uint64_t *atNs,
                      const uint8_t *flags) {
  compactLine();
  size_t total = 0;
  for (size_t i = 0; i < count; ++i) total += lengths[i];
  size_t offset = line.size() < beatBytes ? 0 : line.size() - beatBytes;
  line.resize(offset + total + beatBytes);  // beats may be read past the end
  std::memcpy(line.data() + offset, bytes, total);
  for (size_t i = 0; i < count; ++i) {
    frames.push_back({offset, lengths[i], flags ? flags[i] : 0u, atNs[i]});
    offset += lengths[i];
  }
  if (headStart == never) prepareHead(cycle);
}

/// Gives back the memory of frames that are in the core.
void weir_model::compactLine() {
  if (head < 4096 && linePending()) return;
  if (!linePending()) {
    frames.clear();
    line.clear();
  } else if (head >= frames.size() / 2) {
    const size_t gone = frames[head].offset;
    line.erase(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(gone));
    frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(head));
    for (Frame &frame : frames) frame.offset -= gone;
  } else {
    return;
  }
  head = 0;
}

/// Fixes when the first beat of the line's next frame goes: not before cycle `earliest`.
void weir_model::prepareHead(uint64_t earliest) {
  sentBytes = 0;
  if (!linePending()) {
    headStart = never;
    return;
  }
  const Frame &frame = frames[head];
  if (options[WEIR_MODEL_LINE] == 0) {
    const uint64_t start = std::max({ceilDiv(frame.atNs * 5, 4), lineFree, earliest * beatBytes});
    headStart = ceilDiv(start, beatBytes);
    lineFree = start + wireTime(frame.length);
  } else {
    headStart = std::max({cycleOfNs(frame.atNs), ceilDiv(lineFree, beatBytes), earliest});
    lineFree = (headStart + ceilDiv(frame.length, beatBytes)) * beatBytes;
  }
}

uint64_t weir_model::lineFreeNs() const {
  uint64_t free = std::max(lineFree, cycle * beatBytes);
  for (size_t i = head + (headStart != never); i < frames.size(); ++i)
    free = std::max(free, ceilDiv(frames[i].atNs * 5, 4)) +
           (options[WEIR_MODEL_LINE] == 0 ? wireTime(frames[i].length)
                                          : ceilDiv(frames[i].length, beatBytes) * beatBytes);
  return ceilDiv(free * 4, 5);
}

/// Before this nothing moves, unless something is sent or set.
uint64_t weir_model::nextNs() const {
  if (!quiet) return nsOfCycle(cycle);
  const uint64_t next = std::min(headStart, wakeCycle);
  return next == never ? never : nsOfCycle(std::max(next, cycle));
}

void weir_model::driveIngress() {
  if (headStart > cycle) {
    if (beatShown) {
      beatShown = false;
      top->s_axis_tvalid = 0;
      top->s_axis_tlast = 0;
      top->s_axis_tuser = 0;
    }
    return;
  }
  const Frame &frame = frames[head];
  const uint32_t left = frame.length - sentBytes;
  uint64_t data;
  std::memcpy(&data, line.data() + frame.offset + sentBytes, beatBytes);
  const bool last = left <= beatBytes;
  if (last && left < beatBytes) data &= (uint64_t{1} << (8 * left)) - 1;
  top->s_axis_tdata = data;
  top->s_axis_tkeep = last ? static_cast<uint8_t>((1u << left) - 1) : 0xFF;
  top->s_axis_tlast = last;
  top->s_axis_tuser = last && (frame.flags & WEIR_MODEL_BAD);
  top->s_axis_tvalid = 1;
  beatShown = true;
}

void weir_model::driveEgress() {
  const int mode = options[WEIR_MODEL_EGRESS];
  top->m_axis_tready = mode == 0 || (mode == 1 && (frameOpen || sinkFree <= cycle * beatBytes));
}

void weir_model::driveAccess() {
  top->csr_awvalid = bus.write && bus.address;
  top->csr_wvalid = bus.write && bus.data;
  top->csr_bready = bus.write && bus.response;
  top->csr_arvalid = !bus.write && bus.address;
  top->csr_rready = !bus.write && bus.response;
}

void weir_model::sampleAccess() {
  if (bus.write) {
    if (top->csr_awvalid && top->csr_awready) bus.address = false;
    if (top->csr_wvalid && top->csr_wready) bus.data = false;
    if (top->csr_bvalid && bus.response) {
      bus.response = false;
      bus.result = top->csr_bresp;
    }
  } else {
    if (top->csr_arvalid && top->csr_arready) bus.address = false;
    if (top->csr_rvalid && bus.response) {
      bus.response = false;
      bus.result = top->csr_rresp;
      bus.value = top->csr_rdata;
    }
  }
}

void weir_model::sampleEgress() {
  if (!top->m_axis_tready) return;
  if (!top->m_axis_tvalid) {
    underruns += frameOpen;
    return;
  }
  const uint64_t ns = nsOfCycle(cycle);
  if (!frameOpen) {
    frameOpen = true;
    openFirstNs = ns;
    openBytes = 0;
    openKept = options[WEIR_MODEL_KEEP] & 1;
    // A source with a backlog starts at the first cycle possible and then keeps the exact byte time.
    sinkFree = std::max(sinkFree, cycle * beatBytes < beatBytes ? 0 : cycle * beatBytes - (beatBytes - 1));
  }
  const unsigned bytes = static_cast<unsigned>(__builtin_popcount(top->m_axis_tkeep));
  if (openKept) {
    const uint64_t data = top->m_axis_tdata;
    const size_t at = out.size();
    out.resize(at + bytes);
    std::memcpy(out.data() + at, &data, bytes);
  }
  openBytes += bytes;
  if (!top->m_axis_tlast) return;
  frameOpen = false;
  sinkFree += wireTime(openBytes);
  ++framesOut;
  bytesOut += openBytes;
  if (openKept)
    received.push_back({static_cast<uint32_t>(openBytes), top->m_axis_tuser, openFirstNs, ns});
}

/// One cycle: inputs, combinational logic, sampling, edge.
void weir_model::step() {
  const uint64_t now = nsOfCycle(cycle) & timeMask;
  top->now_ns = now;
  top->link_up = options[WEIR_MODEL_LINK] != 0;
  driveIngress();
  driveEgress();
  driveAccess();
  settle();

  if (beatShown) {
    if (top->s_axis_tready) {
      sentBytes += beatBytes;
      if (top->s_axis_tlast) {
        ++framesIn;
        bytesIn += frames[head].length;
        ++head;
        prepareHead(cycle + 1);
      }
    } else {
      ++ingressStalls;
      lineFree += beatBytes;
    }
  }
  sampleEgress();
  if (top->trace_valid) {
    ++traceRecords;
    if (options[WEIR_MODEL_KEEP] & 2) {
      traceNs.push_back(nsOfCycle(cycle));
      trace.insert(trace.end(), top->trace_data.data(), top->trace_data.data() + traceWords);
    }
  }
  if (!top->quiet || beatShown || top->m_axis_tvalid || frameOpen || bus.open() || top->rst)
    settled = cycle + settleCycles;
  quiet = cycle >= settled;
  if (quiet) {
    const uint64_t ahead = (static_cast<uint64_t>(top->wake_ns) - now) & timeMask;
    wakeCycle = ahead >= timePast ? never : cycleOfNs(nsOfCycle(cycle) + ahead);
  }
  if (bus.open()) sampleAccess();

  edge();
  ++cycle;
  ++evaluated;
}

/// Jumps to shortly before the next event, if nothing can happen until then.
void weir_model::skipTo(uint64_t limit) {
  const auto before = [](uint64_t event, uint64_t cycles) { return event - std::min(event, cycles); };
  const uint64_t end = std::min(before(std::min(limit, headStart), warmUp), before(wakeCycle, lead));
  if (end > cycle) cycle += (end - cycle) / skipStep * skipStep;
}

void weir_model::runTo(uint64_t target) {
  const bool skip = options[WEIR_MODEL_SKIP] == 1;
  while (cycle < target) {
    if (quiet && skip) {
      skipTo(target);
      quiet = false;
    }
    step();
  }
}

bool weir_model::atRest() const { return quiet && !linePending(); }

bool weir_model::runIdle(uint64_t lastCycle) {
  uint64_t nextLook = 0;
  while (cycle < lastCycle) {
    if (atRest()) {
      if (wakeCycle == never) return true;
      if (cycle >= nextLook) {  // a timer runs: does the core hold anything?
        uint32_t held = 0;
        if (access(false, heldPackets, &held) != WEIR_MODEL_OK) return false;
        if (held == 0) return true;
        nextLook = cycle + 2000;
        continue;
      }
    }
    // Until something moves, in steps that leave the state visible.
    uint64_t target = cycle + 1;
    if (quiet && options[WEIR_MODEL_SKIP] == 1) {
      const uint64_t next = std::min({lastCycle, headStart, wakeCycle});
      if (next > cycle) target = next;
    }
    runTo(std::min(target, lastCycle));
  }
  return false;
}

int weir_model::access(bool write, uint32_t address, uint32_t *value) {
  bus.write = write;
  bus.address = bus.response = true;
  bus.data = write;
  if (write) {
    top->csr_awaddr = static_cast<uint16_t>(address);
    top->csr_wdata = *value;
  } else {
    top->csr_araddr = static_cast<uint16_t>(address);
  }
  for (uint64_t i = 0; i < accessBound && bus.open(); ++i) step();
  if (bus.open()) {
    bus.address = bus.data = bus.response = false;
    return WEIR_MODEL_TIMEOUT;
  }
  if (!write) *value = bus.value;
  step();
  return bus.result == 0 ? WEIR_MODEL_OK : WEIR_MODEL_SLVERR;
}

extern "C" {

#define WEIR_API __attribute__((visibility("default")))

WEIR_API weir_model *weir_model_create(void) {
  try {
    auto model = std::make_unique<weir_model>();
    return model->reset() ? model.release() : nullptr;
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

WEIR_API void weir_model_destroy(weir_model *m) { delete m; }

WEIR_API const char *weir_model_preset(void) { return WEIR_MODEL_PRESET; }
WEIR_API const char *weir_model_rtl(void) { return WEIR_MODEL_RTL; }
WEIR_API unsigned weir_model_queues(void) { return WEIR_MODEL_QUEUES; }

WEIR_API int weir_model_can_wave(void) {
#ifdef WEIR_MODEL_WAVE
  return 1;
#else
  return 0;
#endif
}

WEIR_API int weir_model_set(weir_model *m, int option, int value) {
  static const int highest[WEIR_MODEL_OPTIONS] = {1, 2, 2, 1, 3};
  if (option < 0 || option >= WEIR_MODEL_OPTIONS || value < 0 || value > highest[option]) return WEIR_MODEL_ARGUMENT;
  m->set(option, value);
  return WEIR_MODEL_OK;
}

WEIR_API uint64_t weir_model_get(const weir_model *m, int number) {
  switch (number) {
    case WEIR_MODEL_NOW_NS: return nsOfCycle(m->cycle);
    case WEIR_MODEL_CYCLES: return m->cycle;
    case WEIR_MODEL_EVALUATED: return m->evaluated;
    case WEIR_MODEL_PENDING: return m->frames.size() - m->head;
    case WEIR_MODEL_FRAMES_IN: return m->framesIn;
    case WEIR_MODEL_BYTES_IN: return m->bytesIn;
    case WEIR_MODEL_FRAMES_OUT: return m->framesOut;
    case WEIR_MODEL_BYTES_OUT: return m->bytesOut;
    case WEIR_MODEL_INGRESS_STALLS: return m->ingressStalls;
    case WEIR_MODEL_UNDERRUNS: return m->underruns;
    case WEIR_MODEL_TRACE_RECORDS: return m->traceRecords;
    case WEIR_MODEL_LINE_FREE_NS: return m->lineFreeNs();
    case WEIR_MODEL_NEXT_NS: return m->nextNs();
    case WEIR_MODEL_STILL: return stillCycles;
    case WEIR_MODEL_STRAYS: return strayCycles;
    default: return 0;
  }
}

WEIR_API int weir_model_send(weir_model *m, size_t count, const uint8_t *bytes, const uint32_t *lengths,
                             const uint64_t *at_ns, const uint8_t *flags) {
  for (size_t i = 0; i < count; ++i)
    if (lengths[i] == 0 || lengths[i] > 65535 || at_ns[i] > (never >> 4)) return WEIR_MODEL_ARGUMENT;
  try {
    if (count) m->send(count, bytes, lengths, at_ns, flags);
  } catch (const std::bad_alloc &) {
    return WEIR_MODEL_MEMORY;
  }
  return WEIR_MODEL_OK;
}

WEIR_API int weir_model_run_until(weir_model *m, uint64_t ns) {
  if (ns > (never >> 4)) return WEIR_MODEL_ARGUMENT;
  try {
    m->runTo(cycleOfNs(ns));
  } catch (const std::bad_alloc &) {
    return WEIR_MODEL_MEMORY;
  }
  return WEIR_MODEL_OK;
}

WEIR_API int weir_model_run_idle(weir_model *m, uint64_t limit_ns) {
  if (limit_ns > (never >> 4)) return WEIR_MODEL_ARGUMENT;
  try {
    return m->runIdle(cycleOfNs(limit_ns)) ? WEIR_MODEL_OK : WEIR_MODEL_TIMEOUT;
  } catch (const std::bad_alloc &) {
    return WEIR_MODEL_MEMORY;
  }
}

WEIR_API int weir_model_run_cycles(weir_model *m, uint64_t cycles) {
  if (cycles > (never >> 8)) return WEIR_MODEL_ARGUMENT;
  try {
    m->runTo(m->cycle + cycles);
  } catch (const std::bad_alloc &) {
    return WEIR_MODEL_MEMORY;
  }
  return WEIR_MODEL_OK;
}

WEIR_API void weir_model_received(const weir_model *m, size_t *frames, size_t *bytes) {
  size_t total = 0;
  for (const Received &frame : m->received) total += frame.length;
  *frames = m->received.size();
  *bytes = total;
}

WEIR_API void weir_model_recv(weir_model *m, uint8_t *bytes, uint32_t *lengths, uint64_t *first_ns,
                              uint64_t *last_ns, uint8_t *tuser) {
  size_t total = 0;
  for (size_t i = 0; i < m->received.size(); ++i) {
    const Received &frame = m->received[i];
    lengths[i] = frame.length;
    first_ns[i] = frame.firstNs;
    last_ns[i] = frame.lastNs;
    tuser[i] = static_cast<uint8_t>(frame.tuser);
    total += frame.length;
  }
  std::memcpy(bytes, m->out.data(), total);
  m->out.erase(m->out.begin(), m->out.begin() + static_cast<std::ptrdiff_t>(total));
  m->received.clear();
}

WEIR_API size_t weir_model_traced(const weir_model *m) { return m->traceNs.size() - m->traceHead; }

WEIR_API size_t weir_model_trace(weir_model *m, uint32_t *words, uint64_t *at_ns, size_t count) {
  count = std::min(count, weir_model_traced(m));
  std::memcpy(words, m->trace.data() + m->traceHead * traceWords, count * traceWords * sizeof(uint32_t));
  if (at_ns) std::memcpy(at_ns, m->traceNs.data() + m->traceHead, count * sizeof(uint64_t));
  m->traceHead += count;
  if (weir_model_traced(m) == 0) {
    m->trace.clear();
    m->traceNs.clear();
    m->traceHead = 0;
  }
  return count;
}

WEIR_API int weir_model_csr_read(weir_model *m, uint32_t address, uint32_t *value) {
  if (address > 0xFFFF) return WEIR_MODEL_ARGUMENT;
  return m->access(false, address, value);
}

WEIR_API int weir_model_csr_write(weir_model *m, uint32_t address, uint32_t value) {
  if (address > 0xFFFF) return WEIR_MODEL_ARGUMENT;
  return m->access(true, address, &value);
}

WEIR_API int weir_model_reset(weir_model *m) { return m->reset() ? WEIR_MODEL_OK : WEIR_MODEL_TIMEOUT; }

WEIR_API int weir_model_wave(weir_model *m, const char *path) {
  return m->wave(path) ? WEIR_MODEL_OK : WEIR_MODEL_NO_WAVE;
}

}  // extern "C"

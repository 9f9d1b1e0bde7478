// What build.py lets the compiler watch: the model under the loads that are to be fast. Built into one program with the
// instrumented model, never part of the library. No random numbers: the same sources give the same library.

#include <cstdint>
#include <cstdio>
#include <vector>

#include "weir_model.h"
#include "weir_regs.h"

namespace {

constexpr uint32_t dropTail = 0, red = 1;
constexpr int tenGig = 0, backToBack = 1;
constexpr int macPaced = 1;

struct Setting {
  uint32_t address, value;
};

/// As libweir writes them for RED with minimum 30 kB, maximum 90 kB, probability 0.02, weight 1/64, gentle, ECN.
const Setting redSettings[] = {
    {WEIR_Q_RED_FLAGS, 1u | WEIR_Q_RED_FLAGS_GENTLE_MASK | WEIR_Q_RED_FLAGS_ECN_MASK},
    {WEIR_Q_RED_WEIGHT_LO, 1u << 30},
    {WEIR_Q_RED_DECAY_LO, 1561230176u},
    {WEIR_Q_RED_IDLE_RATE, 27u << 24 | 167772u},
    {WEIR_Q_RED_MIN, 30000u << 11},
    {WEIR_Q_RED_MAX, 90000u << 11},
    {WEIR_Q_RED_SLOPE, 22u << 24 | 183252u},
    {WEIR_Q_RED_GENTLE_SLOPE, 17u << 24 | 187067u},
    {WEIR_Q_RED_MAXP, 85899346u},
    {WEIR_Q_RED_MEAN, 7u << 24 | 134218u},
};

/// A UDP frame of `length` bytes to a DSCP, ECT(0), with its header checksum.
void appendFrame(std::vector<uint8_t> &line, uint32_t length, uint32_t dscp, uint32_t number) {
  const size_t at = line.size();
  line.resize(at + length, static_cast<uint8_t>(number));
  uint8_t *f = line.data() + at;
  const uint8_t head[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, static_cast<uint8_t>(dscp << 2 | 2),
                          static_cast<uint8_t>((length - 14) >> 8), static_cast<uint8_t>(length - 14),
                          static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number), 0x40, 0, 64, 17, 0, 0,
                          10, 0, 0, 1, 10, 0, 0, 2};
  uint32_t sum = 0;
  for (size_t i = 0; i < sizeof head; ++i) {
    f[i] = head[i];
    if (i >= 14) sum += i % 2 ? head[i] : head[i] * 256u;
  }
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = ~((sum & 0xFFFF) + (sum >> 16));
  f[24] = static_cast<uint8_t>(sum >> 8);
  f[25] = static_cast<uint8_t>(sum);
}

/// Sends `count` frames of `length` bytes and takes what comes out.
void load(weir_model *m, uint32_t length, size_t count, uint32_t queues) {
  std::vector<uint8_t> line;
  for (size_t i = 0; i < count; ++i) appendFrame(line, length, static_cast<uint32_t>(i % queues), static_cast<uint32_t>(i));
  const std::vector<uint32_t> lengths(count, length);
  const std::vector<uint64_t> times(count, weir_model_get(m, WEIR_MODEL_NOW_NS));
  weir_model_send(m, count, line.data(), lengths.data(), times.data(), nullptr);
  weir_model_run_until(m, weir_model_get(m, WEIR_MODEL_LINE_FREE_NS));

  size_t frames = 0, bytes = 0;
  weir_model_received(m, &frames, &bytes);
  std::vector<uint8_t> out(bytes), tuser(frames);
  std::vector<uint32_t> outLengths(frames);
  std::vector<uint64_t> first(frames), last(frames);
  weir_model_recv(m, out.data(), outLengths.data(), first.data(), last.data(), tuser.data());
  std::vector<uint32_t> words(12 * weir_model_traced(m));
  weir_model_trace(m, words.data(), nullptr, words.size() / 12);
}

/// A queue's settings; registers that this preset has not are refused, and the others count.
void configure(weir_model *m, uint32_t queue, uint32_t policy) {
  const uint32_t base = WEIR_Q_BASE + queue * WEIR_Q_STRIDE;
  weir_model_csr_write(m, base + WEIR_Q_POLICY, policy);
  if (policy == red)
    for (const Setting &s : redSettings) weir_model_csr_write(m, base + s.address, s.value);
  weir_model_csr_write(m, base + WEIR_Q_APPLY, 1);
}

/// The registers, as a monitoring host reads them.
void look(weir_model *m) {
  weir_model_csr_write(m, WEIR_SNAPSHOT, 1);
  for (uint32_t address = 0x200; address < 0x270; address += 4) {
    uint32_t value = 0;
    weir_model_csr_read(m, address, &value);
  }
}

}  // namespace

int main() {
  weir_model *m = weir_model_create();
  if (!m) {
    std::fprintf(stderr, "the model does not come out of its reset\n");
    return 1;
  }
  weir_model_set(m, WEIR_MODEL_EGRESS, macPaced);
  for (uint32_t n = 0; n < 8; ++n) weir_model_csr_write(m, WEIR_DSCP_MAP0 + 4 * n, 0x32103210);
  weir_model_csr_write(m, WEIR_TRACE_CTRL, WEIR_TRACE_CTRL_ENABLE_MASK | WEIR_TRACE_CTRL_ARRIVALS_MASK |
                                               WEIR_TRACE_CTRL_DEPARTURES_MASK | 0xFFu << WEIR_TRACE_CTRL_QUEUES_SHIFT);
  weir_model_csr_write(m, WEIR_CORE_APPLY, 1);
  for (const uint32_t policy : {red, dropTail}) {
    for (uint32_t queue = 0; queue < 4; ++queue) configure(m, queue, policy);
    load(m, 60, 3000, 1);
    load(m, 60, 1000, 4);
    load(m, 1518, 150, 1);
    weir_model_set(m, WEIR_MODEL_LINE, backToBack);  // more than goes out: queues, marks, drops
    load(m, 60, 1500, 1);
    load(m, 1518, 150, 4);
    load(m, 300, 300, 4);
    weir_model_set(m, WEIR_MODEL_LINE, tenGig);
    weir_model_run_idle(m, weir_model_get(m, WEIR_MODEL_NOW_NS) + 1000000);
    look(m);
  }
  const bool whole = weir_model_get(m, WEIR_MODEL_INGRESS_STALLS) == 0;
  weir_model_destroy(m);
  return whole ? 0 : 1;
}

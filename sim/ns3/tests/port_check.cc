// Random frames through the RTL and through the golden model: every trace record has to be the same, word for word.
//
//   port_check POLICY RATE FRAMES LOAD SEED [NAME VALUE]…
//
// With `-` for FRAMES they come from standard input, a line each: ns, bytes, ECN; LOAD does nothing then.
// Names that are not of the policy: `merge`, whose value is the number of flows whose packets are merged, `core`, `mark-p`, and the
// link's `overhead` and `mpu`.
// Prints arrivals, records compared, and the two hashes of the RTL and of the golden model alone; exits 1 if they differ.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>

#include "../weir/bottleneck.h"

namespace {

/// An Ethernet frame with an IPv4 header of one of some flows; what is behind it does not matter to the core.
std::vector<uint8_t> frameOf(uint32_t length, unsigned ecn, unsigned flow) {
  std::vector<uint8_t> f(length, 0x5A);
  const uint8_t head[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, static_cast<uint8_t>(ecn)};
  std::copy(std::begin(head), std::end(head), f.begin());
  f[16] = static_cast<uint8_t>((length - 14) >> 8), f[17] = static_cast<uint8_t>(length - 14);
  f[20] = f[21] = 0, f[23] = flow % 5 ? 17 : 6, f[33] = static_cast<uint8_t>(flow);
  if (flow % 7 == 6) f[14] = 0x46;              // options: of unknown flow
  if (flow % 11 == 10) f[17] -= 1;              // a trailer: barred
  return f;
}

}  // namespace

int main(int count, char **words) {
  if (count < 6) {
    std::fprintf(stderr, "port_check: POLICY RATE FRAMES LOAD SEED [NAME VALUE]...\n");
    return 2;
  }
  try {
    weirsim::Setup setup;
    setup.policy = words[1], setup.rate = std::atof(words[2]), setup.seed = std::strtoull(words[5], nullptr, 0);
    unsigned flows = 1;
    for (int i = 6; i + 1 < count; i += 2) {
      const std::string name = words[i];
      setup.merge |= name == "merge";
      if (name == "merge") flows = static_cast<unsigned>(std::atoi(words[i + 1]));
      else if (name == "core") setup.core = words[i + 1];
      else if (name == "mark-p") setup.markP = std::atof(words[i + 1]);
      else if (name == "overhead") setup.overhead = std::atoi(words[i + 1]);
      else if (name == "mpu") setup.mpu = std::atoi(words[i + 1]);
      else setup.settings.emplace_back(words[i], words[i + 1]);
    }
    const auto golden = weirsim::makeGolden(setup), rtl = weirsim::makeRtl(setup, true);
    std::mt19937_64 random(setup.seed);
    const double mean = 700 * 8e9 / setup.rate / std::atof(words[4]);
    const uint32_t sizes[] = {54, 60, 64, 65, 72, 73, 100, 500, 1064, 1500, 1514};
    uint64_t at = 0;
    const auto send = [&](const std::vector<uint8_t> &frame) {
      for (auto *b : {rtl.get(), golden.get()}) b->send(frame.data(), static_cast<uint32_t>(frame.size()), at);
    };
    unsigned long long ns;
    unsigned bytes, ecn;
    if (words[3] == std::string("-"))
      while (std::scanf("%llu %u %u", &ns, &bytes, &ecn) == 3) at = ns, send(frameOf(bytes, ecn, 0));
    for (long i = 0; i < std::atol(words[3]); ++i) {
      send(frameOf(sizes[random() % std::size(sizes)], random() % 4, setup.merge ? random() % flows : 0));
      const double u = (random() >> 11) * 0x1p-53;
      if (i % 3) rtl->reach(at);  // results do not depend on it
      at += random() % 3 ? static_cast<uint64_t>(-1.5 * mean * std::log(1 - u)) : random() % 2000;
      if (random() % 16 == 0)
        for (auto *b : {rtl.get(), golden.get()}) b->runUntil(at > 100 ? at - 100 : 0);
    }
    for (auto *b : {rtl.get(), golden.get()}) {
      while (b->held()) b->runUntil(at += 1000000);
      b->runUntil(at + 1000000);
      b->finish();
      b->runUntil(at + 1010000);
    }
    const weirsim::Totals a = rtl->totals(), b = golden->totals();
    std::printf("%llu arrivals, %llu departures, %llu compared, %llu cycles evaluated\n%016llx %016llx\n%016llx %016llx\n",
                (unsigned long long)a.arrivals, (unsigned long long)a.departures, (unsigned long long)a.compared,
                (unsigned long long)a.evaluated, (unsigned long long)a.arrivalHash, (unsigned long long)a.departureHash,
                (unsigned long long)b.arrivalHash, (unsigned long long)b.departureHash);
    return a.arrivalHash == b.arrivalHash && a.departureHash == b.departureHash ? 0 : 1;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "port_check: %s\n", e.what());
    return 1;
  }
}

// Random jumbo frames in transit, and others between them, through the RTL and through the golden model: every trace record and
// every frame that leaves has to be the same.
//
//   transit_check POLICY RATE FRAMES LOAD SEED [NAME VALUE]…
//
// Names that are not of the policy: `mred` LOW:HIGH; `jumbo`, the share of frames that are jumbo frames (1); `least` and
// `most`, packets of a jumbo frame (1, 12); `shortest` and `longest`, bytes of a packet's frame (42, 700); `pause`, ns, the longest between a third of
// the frames (20000); `ecn-of`, the ECN codepoint of all packets (at random); `entries` on, packets that were dropped before;
// `type`, EtherType of the other frames, hexadecimal;
// `unchecked` on, the RTL alone; `print` on, all records; `merge` on; `opaque` on, no transit; `core`, the RTL (full).
// Prints arrivals, departures, records compared, frames that left, the most that were held, cycles evaluated; then, without
// `unchecked`, the two hashes of the RTL and of the golden model alone; exits 1 if they differ.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <random>
#include <stdexcept>

#include "../golden/jumbo.h"
#include "../weir/bottleneck.h"

using weirsim::golden::Bytes;

namespace {

struct Load {
  double jumbo = 1;
  unsigned least = 1, most = 12;
  uint32_t shortest = 42, longest = 700, pause = 20000;
  int ecn = -1;
  unsigned type = 0x0800;
  bool entries = false, checked = true, print = false;
};

class Traffic {
 public:
  Traffic(const Load &load, uint64_t seed) : load_(load), random_(seed) {}
  uint64_t below(uint64_t n) { return random_() % n; }
  double share() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  Bytes frame() {
    if (share() >= load_.jumbo) {
      Bytes alone = packet(static_cast<unsigned>(below(4)));
      alone[12] = static_cast<uint8_t>(load_.type >> 8), alone[13] = static_cast<uint8_t>(load_.type);
      return alone;
    }
    const size_t count = load_.least > 1 || below(8) ? load_.least + below(load_.most - load_.least + 1) : 1;
    std::vector<Bytes> frames;
    const bool mixed = below(2);
    const unsigned ecn = static_cast<unsigned>(below(4));
    for (size_t n = 0; n < count; ++n) frames.push_back(packet(mixed ? static_cast<unsigned>(below(4)) : ecn));
    std::vector<const Bytes *> pointers;
    std::vector<uint64_t> ns;
    for (const Bytes &f : frames) pointers.push_back(&f), ns.push_back(ns.empty() ? 0 : ns.back() + below(100000));
    Bytes jumbo = weirsim::golden::buildJumbo(pointers, ns, 6, static_cast<uint16_t>(random_()));
    // what is outside need not be what a builder wrote
    if (load_.ecn < 0 && below(4) == 0) weirsim::golden::setEcn(jumbo, static_cast<unsigned>(below(4)));
    return load_.entries ? dropped(jumbo) : jumbo;
  }

 private:
  /// An Ethernet frame with an IPv4 header.
  Bytes packet(unsigned ecn) {
    Bytes f(load_.shortest + below(load_.longest - load_.shortest + 1));
    for (uint8_t &byte : f) byte = static_cast<uint8_t>(random_());
    const uint8_t head[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45};
    std::copy(std::begin(head), std::end(head), f.begin());
    f[15] = static_cast<uint8_t>((f[15] & 0xFC) | (load_.ecn < 0 ? ecn : static_cast<unsigned>(load_.ecn)));
    f[16] = static_cast<uint8_t>((f.size() - 14) >> 8), f[17] = static_cast<uint8_t>(f.size() - 14);
    f[20] = f[21] = 0, f[23] = below(2) ? 17 : 6;
    return f;
  }

  /// Some packets that another node has dropped: entries of length 0 behind a first one that is there.
  Bytes dropped(const Bytes &jumbo) {
    const uint32_t count = static_cast<uint32_t>(jumbo[34] << 8 | jumbo[35]);
    Bytes out(jumbo.begin(), jumbo.begin() + 40 + 4 * count);
    const uint32_t keep = static_cast<uint32_t>(below(count));
    size_t at = 40 + 4 * count;
    for (uint32_t n = 0; n < count; ++n) {
      uint8_t *entry = out.data() + 40 + 4 * n;
      const size_t bytes = static_cast<size_t>(entry[0] << 8 | entry[1]);
      if (n == keep || below(4))
        out.insert(out.end(), jumbo.begin() + static_cast<long>(at), jumbo.begin() + static_cast<long>(at + bytes));
      else
        entry[0] = entry[1] = 0;
      at += bytes;
    }
    out[16] = static_cast<uint8_t>((out.size() - 14) >> 8), out[17] = static_cast<uint8_t>(out.size() - 14);
    out[24] = out[25] = 0;
    uint32_t sum = 0;
    for (size_t i = 14; i < 34; i += 2) sum += static_cast<uint32_t>(out[i] << 8 | out[i + 1]);
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    out[24] = static_cast<uint8_t>(~sum >> 8), out[25] = static_cast<uint8_t>(~sum);
    return out;
  }

  Load load_;
  std::mt19937_64 random_;
};

void same(bool equal, const char *what, const weirsim::Departure &d) {
  if (!equal)
    throw std::runtime_error(std::string("RTL and golden model alone: ") + what + " of frame " + std::to_string(d.members[0]));
}

}  // namespace

int main(int count, char **words) {
  if (count < 6) {
    std::fprintf(stderr, "transit_check: POLICY RATE FRAMES LOAD SEED [NAME VALUE]...\n");
    return 2;
  }
  try {
    weirsim::Setup setup;
    Load load;
    setup.policy = words[1], setup.rate = std::atof(words[2]), setup.seed = std::strtoull(words[5], nullptr, 0);
    setup.transit = true;
    for (int i = 6; i + 1 < count; i += 2) {
      const std::string name = words[i], value = words[i + 1];
      if (name == "mred")
        setup.mred = true, setup.mredLow = std::stod(value), setup.mredHigh = std::stod(value.substr(value.find(':') + 1));
      else if (name == "jumbo") load.jumbo = std::stod(value);
      else if (name == "pause") load.pause = static_cast<uint32_t>(std::stoul(value));
      else if (name == "type") load.type = static_cast<unsigned>(std::stoul(value, nullptr, 16));
      else if (name == "least") load.least = static_cast<unsigned>(std::stoul(value));
      else if (name == "most") load.most = static_cast<unsigned>(std::stoul(value));
      else if (name == "shortest") load.shortest = static_cast<uint32_t>(std::stoul(value));
      else if (name == "longest") load.longest = static_cast<uint32_t>(std::stoul(value));
      else if (name == "ecn-of") load.ecn = std::stoi(value);
      else if (name == "entries") load.entries = true;
      else if (name == "core") setup.core = value;
      else if (name == "unchecked") load.checked = false;
      else if (name == "merge") setup.merge = true;
      else if (name == "opaque") setup.transit = false;
      else if (name == "print") load.print = true;
      else setup.settings.emplace_back(name, value);
    }
    std::vector<std::unique_ptr<weirsim::Bottleneck>> both;
    both.push_back(weirsim::makeRtl(setup, load.checked));
    if (load.checked) both.push_back(weirsim::makeGolden(setup));
    if (load.print)
      both[0]->onRecord = [](const weirsim::Record &r) {
        for (uint32_t word : r) std::printf("%u ", word);
        std::printf("\n");
      };
    std::deque<weirsim::Departure> out[2];
    uint64_t frames = 0, most = 0;
    const auto run = [&](uint64_t ns) {
      for (size_t n = 0; n < both.size(); ++n) {
        both[n]->runUntil(ns);
        for (auto &d : both[n]->take()) out[n].push_back(std::move(d)), frames += n == 0;
        most = std::max(most, both[n]->held());
      }
      for (; load.checked && !out[0].empty() && !out[1].empty(); out[0].pop_front(), out[1].pop_front()) {
        const auto &a = out[0].front(), &b = out[1].front();
        same(a.members == b.members, "number", a);
        same(a.packets == b.packets && a.marked == b.marked, "packets or mark", a);
        same(a.firstNs == b.firstNs, "time", a);
        same(b.bytes.empty() || a.bytes == b.bytes, "bytes", a);
      }
    };
    Traffic traffic(load, setup.seed);
    if (load.shortest < 34 || load.longest < load.shortest) throw std::invalid_argument("allowed is 34 <= shortest <= longest");
    if (load.least < 1 || load.most < load.least) throw std::invalid_argument("allowed is 1 <= least <= most");
    const double inner = (load.longest + load.shortest) / 2.0;
    const double together = (load.least + load.most) / 2.0, jumbo = load.least > 1 ? together : (7 * together + 1) / 8;
    const double packets = load.jumbo * jumbo + (1 - load.jumbo);
    const double mean = inner * packets * 8e9 / setup.rate / std::atof(words[4]);
    uint64_t at = 0;
    for (long i = 0; i < std::atol(words[3]); ++i) {
      const Bytes frame = traffic.frame();
      for (auto &b : both) b->send(frame.data(), static_cast<uint32_t>(frame.size()), at);
      at += traffic.below(3) ? static_cast<uint64_t>(-1.5 * mean * std::log(1 - traffic.share())) : traffic.below(load.pause);
      if (traffic.below(16) == 0) run(at > 100 ? at - 100 : 0);
    }
    for (bool held = true; held;) {
      run(at += 1000000);
      held = false;
      for (auto &b : both) held |= b->held() > 0;
    }
    run(at + 1000000);
    for (auto &b : both) b->finish();
    run(at + 1010000);
    const weirsim::Totals a = both[0]->totals();
    std::printf("%llu arrivals, %llu departures, %llu compared, %llu frames left, %llu held at most, %llu cycles evaluated\n",
                (unsigned long long)a.arrivals, (unsigned long long)a.departures, (unsigned long long)a.compared,
                (unsigned long long)frames, (unsigned long long)most, (unsigned long long)a.evaluated);
    if (!load.checked) return 0;
    const weirsim::Totals b = both[1]->totals();
    std::printf("%016llx %016llx\n%016llx %016llx\n", (unsigned long long)a.arrivalHash, (unsigned long long)a.departureHash,
                (unsigned long long)b.arrivalHash, (unsigned long long)b.departureHash);
    return a.arrivalHash == b.arrivalHash && a.departureHash == b.departureHash && out[0].size() + out[1].size() == 0 ? 0 : 1;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "transit_check: %s\n", e.what());
    return 1;
  }
}

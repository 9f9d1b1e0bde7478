// Drop-Tail, DT-ECN and RED gateways: Piyatamrong and Anutchalakhom, "Performance Evaluation on Drop-Tail and RED Gateways",
// Tables 1-4.

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "network.h"
#include "ns3/double.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rng-seed-manager.h"

using namespace weirsim;

namespace {

using Thirds = std::array<unsigned, 3>;

/// Connections in each third of the time, of `--connections` or of the scenario.
Thirds thirdsOf(const Options &o) {
  // The paper gives times for A only; B to E take its thirds [ours].
  static const std::map<std::string, Thirds> scenarios = {
      {"A", {10, 25, 10}}, {"B", {10, 25, 50}}, {"C", {50, 35, 10}}, {"D", {20, 50, 100}}, {"E", {100, 70, 20}}, {"F", {100, 100, 100}}};
  const std::string &own = o.text("connections");
  if (own.empty()) return scenarios.at(o.text("scenario"));
  Thirds thirds{};
  int end = 0;
  const bool three = std::sscanf(own.c_str(), "%4u,%4u,%4u%n", &thirds[0], &thirds[1], &thirds[2], &end) == 3 && own[static_cast<size_t>(end)] == 0;
  const unsigned most = *std::max_element(thirds.begin(), thirds.end());
  if (!three || own.find_first_not_of("0123456789,") != std::string::npos || most < 1 || most > 1000)
    o.refuse("--connections=" + own + " must be three whole numbers of 0 to 1000, like 10,25,10, one of them at least 1");
  return thirds;
}

}  // namespace

int main(int count, char **words) {
  Options o("gateways", "scenarios A to F over a WAN link of 45 Mb/s");
  commonOptions(o, 60);
  networkOptions(o);
  o.text("scenario", "A", {"A", "B", "C", "D", "E", "F"}, "connections in the three thirds of the time");
  o.text("connections", "", {}, "in the three thirds, like 10,25,10; empty: of --scenario");
  o.text("gateway", "red-ecn", {"drop-tail", "drop-front", "dt-ecn-25", "dt-ecn-50", "dt-ecn-75", "dt-ecn", "red-ecn", "red"}, "the queue");
  o.number("utilisation", 50, 1, 100, "percent of the queue at which --gateway dt-ecn marks");
  o.text("tcp", "reno", {"tahoe", "reno", "newreno", "sack"}, "of every source");
  o.number("rate", 45e6, 64e3, 1e9, "of every link, bit/s");
  o.number("delay", 0.01, 0, 10, "of the bottleneck, s");
  o.number("access-delay", 0.01, 0, 10, "of each other link, s");
  o.number("ssthresh", 65536, 0, 1e9, "TCP's first threshold, bytes; 0: none");
  o.number("jitter", 0.1, 0, 20, "of the starts, s, in a run of 60 s; shorter with it");
  o.integer("limit", 450, 4, 600, "of the queue, packets");
  o.integer("size", 1500, 100, 1500, "of a packet on the wire, bytes");
  o.integer("window", 44, 1, 2000, "of the receivers, packets; more than 45 with window scaling");
  o.number("min", 0, 0, 600, "RED, packets; 0: a quarter of --limit");
  o.number("max", 0, 0, 600, "RED, packets; 0: half of --limit");
  o.text("spread", "uniform-wait", {"geometric", "uniform", "uniform-wait"}, "of RED's drops and marks");
  o.number("weight", 0.002, 1.6e-5, 1, "RED's average");
  o.number("probability", 0.02, 1e-6, 1, "RED's max_p");
  o.text("gentle", "on", {"on", "off"}, "as in ns-2");
  o.number("mark-p", 1, 1e-6, 1, "red-ecn drops what it selects at this probability and above, as ns-2's mark_p_; 1: it marks");
  o.parse(count, words);

  const std::string &gateway = o.text("gateway");
  if (gateway == "drop-front" && o.text("queue") == "golden") o.refuse("--gateway drop-front has no golden model; take --queue rtl --check off");
  if (gateway == "drop-front" && o.text("queue") == "rtl" && o.text("check") == "on") o.refuse("--gateway drop-front has no golden model; give --check off");
  const bool red = gateway.rfind("red", 0) == 0, ecn = gateway.find("ecn") != std::string::npos;
  for (const char *name : {"min", "max", "spread", "weight", "probability", "gentle"}) o.only(name, red, "--gateway red and red-ecn");
  o.only("scenario", o.text("connections").empty(), "a run without --connections");
  o.only("utilisation", gateway == "dt-ecn", "--gateway dt-ecn");
  o.only("mark-p", gateway == "red-ecn" && o.text("queue") == "golden", "--gateway red-ecn with --queue golden");
  NetworkConfig c;
  c.name = "gateways";
  c.queue.markP = o.number("mark-p");
  c.queue.rate = o.number("rate");
  c.queue.policy = red ? "red" : gateway.rfind("dt-ecn", 0) == 0 ? "dt-ecn" : gateway;
  const double limit = o.number("limit");
  const double min = o.number("min") > 0 ? o.number("min") : limit / 4;
  const double max = o.number("max") > 0 ? o.number("max") : limit / 2;
  if (red) checkThresholds(o, "--min, --max, --limit", min, max, limit);
  if (red) checkSpread(o);
  const auto thirds = thirdsOf(o);
  auto &s = c.queue.settings;
  s = {{"unit", "packets"}, {"limit", o.text("limit")}};
  if (c.queue.policy == "dt-ecn") s.emplace_back("utilisation", gateway == "dt-ecn" ? o.text("utilisation") : gateway.substr(7));
  if (red) {
    for (const auto &[name, value] : {std::pair<const char *, double>{"min", min}, {"max", max},
                                      {"weight", o.number("weight")}, {"probability", o.number("probability")}, {"avpkt", o.number("size")}})
      s.emplace_back(name, jsonNumber(value));
    s.emplace_back("gentle", o.text("gentle")), s.emplace_back("spread", o.text("spread")), s.emplace_back("ecn", ecn ? "on" : "off");
    s.emplace_back("exempt_first", exemptFirst(o));
    c.disc = {"ns3::RedQueueDisc",
              {{"MaxSize", o.text("limit") + "p"}, {"MinTh", jsonNumber(min)}, {"MaxTh", jsonNumber(max)},
               {"LInterm", jsonNumber(1 / o.number("probability"))}, {"QW", o.text("weight")}, {"MeanPktSize", o.text("size")},
               {"Gentle", o.text("gentle") == "on" ? "true" : "false"}, {"UseEcn", ecn ? "true" : "false"},
               {"UseHardDrop", "false"},
               {"Wait", o.text("spread") == "uniform-wait" ? "true" : "false"}, {"LinkBandwidth", jsonNumber(o.number("rate")) + "bps"}, {"LinkDelay", o.text("delay") + "s"}}};
  }
  if (gateway == "drop-tail") c.disc = {"ns3::FifoQueueDisc", {{"MaxSize", o.text("limit") + "p"}}};
  c.packetBytes = static_cast<uint32_t>(o.whole("size")), c.windowPackets = static_cast<uint32_t>(o.whole("window"));
  c.slowStart = o.number("ssthresh"), c.tcp = o.text("tcp"), c.delay = o.number("delay");

  const double third = o.number("duration") / 3;
  ns3::RngSeedManager::SetSeed(1);
  ns3::RngSeedManager::SetRun(o.whole("seed"));
  const auto u = ns3::CreateObject<ns3::UniformRandomVariable>();
  u->SetStream(1000);
  for (unsigned i = 0; i < std::max({thirds[0], thirds[1], thirds[2]}); ++i) {
    for (unsigned first = 0, last = 0; first < 3; first = last + 1) {  // of each run of thirds that have it
      for (last = first; last < 3 && thirds[last] > i; ++last) continue;
      if (last == first) continue;
      Flow f;
      f.rate = o.number("rate"), f.nearDelay = f.farDelay = o.number("access-delay"), f.ecn = ecn;
      f.start = first * third + u->GetValue(0, o.number("jitter") * third / 20);
      f.stop = last == 3 ? 0 : last * third;
      c.flows.push_back(f);
    }
  }
  return runNetwork(o, std::move(c));
}

// ISRED against RED: Chhabra, Kshirsagar and Zadgaonkar, "Effective Congestion Indication …" (2013), Table 1, Figures 3-9.

#include "network.h"
#include "ns3/random-variable-stream.h"
#include "ns3/double.h"
#include "ns3/rng-seed-manager.h"

using namespace weirsim;

int main(int count, char **words) {
  Options o("isred", "two TCP sources, from 10 s on many, over RED or ISRED");
  commonOptions(o, 30);
  networkOptions(o);
  o.text("policy", "isred", {"red", "isred", "drop-tail"}, "of the bottleneck's queue");
  o.integer("sources", 30, 3, 1000, "all of them, the two that begin at 0 s included");
  o.number("rate", 0.7e6, 64e3, 1e9, "of the bottleneck, bit/s");
  o.number("delay", 0.02, 0, 10, "of the bottleneck, s");
  o.number("access-rate", 2e6, 64e3, 10e9, "of the links of the first two sources and their sinks, bit/s");
  o.number("access-delay", 0.01, 0, 10, "of these links, s");
  o.number("late-rate", 10e6, 64e3, 10e9, "of the links of the others, bit/s");
  o.number("late-delay-least", 0.014, 0, 10, "of these links, s");
  o.number("late-delay-most", 0.015, 0, 10, "of these links, s");
  o.number("late", 10, 0, 100000, "when the others begin, s");
  o.number("jitter", 0.1, 0, 100, "of the starts, s");
  o.integer("size", 500, 100, 1500, "of a packet on the wire, bytes");
  o.integer("limit", 30, 1, 1000, "of the queue, packets");
  o.number("min", 5, 0, 1000, "RED, packets");
  o.number("max", 15, 1, 1000, "RED, packets");
  o.number("probability", 0.1, 1e-6, 1, "RED's max_p");
  o.number("weight", 0.002, 1.6e-5, 1, "of the average");
  o.number("slope", 25, 0.001, 1e6, "ISRED, packets/s");
  o.text("mode", "certain", {"certain", "chance", "gain"}, "ISRED's edrop()");
  o.number("gain", 2, 0.001, 1000, "ISRED, --mode gain: factor of RED's chance");
  o.text("source", "avg", {"avg", "q"}, "what ISRED's rate is of");
  o.text("gentle", "on", {"on", "off"}, "as in ns-2");
  o.text("spread", "uniform-wait", {"geometric", "uniform", "uniform-wait"}, "of RED's drops");
  o.text("tcp", "reno", {"tahoe", "reno", "newreno", "sack"}, "of every source");
  o.integer("window", 20, 1, 1000, "of the receivers, packets (ns-2's default)");
  o.parse(count, words);
  for (const char *name : {"slope", "mode", "source"}) o.only(name, o.text("policy") == "isred", "--policy isred");
  for (const char *name : {"min", "max", "probability", "weight", "gentle", "spread"})
    o.only(name, o.text("policy") != "drop-tail", "--policy red and isred");
  o.only("gain", o.text("policy") == "isred" && o.text("mode") == "gain", "--mode gain");
  if (o.number("late-delay-least") > o.number("late-delay-most")) o.refuse("--late-delay-least may not exceed --late-delay-most");
  if (o.text("policy") != "drop-tail") {
    checkThresholds(o, "--min, --max", o.number("min"), o.number("max"), o.number("limit"));
    checkSpread(o);
  }

  NetworkConfig c;
  c.name = "isred";
  c.queue.policy = o.text("policy"), c.queue.rate = o.number("rate");
  c.queue.settings = {{"unit", "packets"}, {"limit", o.text("limit")}};
  if (c.queue.policy != "drop-tail")
    for (const char *name : {"min", "max", "probability", "weight", "gentle", "spread"}) c.queue.settings.emplace_back(name, o.text(name));
  if (c.queue.policy != "drop-tail") c.queue.settings.emplace_back("exempt_first", exemptFirst(o));
  if (c.queue.policy != "drop-tail") c.queue.settings.emplace_back("avpkt", o.text("size"));
  if (c.queue.policy == "isred")
    for (const char *name : {"slope", "mode", "source"}) c.queue.settings.emplace_back(name, o.text(name));
  if (c.queue.policy == "isred" && o.text("mode") == "gain") c.queue.settings.emplace_back("gain", o.text("gain"));
  if (c.queue.policy == "red")
    c.disc = {"ns3::RedQueueDisc",
              {{"MaxSize", o.text("limit") + "p"}, {"MinTh", o.text("min")}, {"MaxTh", o.text("max")},
               {"LInterm", jsonNumber(1 / o.number("probability"))}, {"QW", o.text("weight")},
               {"Gentle", o.text("gentle") == "on" ? "true" : "false"}, {"MeanPktSize", o.text("size")},
               {"Wait", o.text("spread") == "uniform-wait" ? "true" : "false"},
               {"LinkBandwidth", jsonNumber(o.number("rate")) + "bps"}, {"LinkDelay", jsonNumber(o.number("delay")) + "s"}}};
  if (c.queue.policy == "drop-tail") c.disc = {"ns3::FifoQueueDisc", {{"MaxSize", o.text("limit") + "p"}}};
  c.delay = o.number("delay"), c.packetBytes = static_cast<uint32_t>(o.whole("size"));
  c.windowPackets = static_cast<uint32_t>(o.whole("window")), c.tcp = o.text("tcp");
  c.queue.overhead = 0;

  ns3::RngSeedManager::SetSeed(1);
  ns3::RngSeedManager::SetRun(o.whole("seed"));
  const auto u = ns3::CreateObject<ns3::UniformRandomVariable>();
  u->SetStream(1000);
  for (uint64_t i = 0; i < o.whole("sources"); ++i) {
    Flow f;
    const bool first = i < 2;
    const auto delay = [&] { return first ? o.number("access-delay") : u->GetValue(o.number("late-delay-least"), o.number("late-delay-most")); };
    f.rate = o.number(first ? "access-rate" : "late-rate");
    f.nearDelay = delay(), f.farDelay = delay();
    f.start = (first ? 0 : o.number("late")) + u->GetValue(0, o.number("jitter"));
    c.flows.push_back(f);
  }
  return runNetwork(o, std::move(c));
}

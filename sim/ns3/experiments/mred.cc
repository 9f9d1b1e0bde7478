// MRED with DDF against RED: Mulahuwaish, Abu Bakar and Ghafoor, "A Congestion Avoidance Approach in Jumbo Frame-enabled IP
// Network", Figures 6 to 9.

#include "../golden/jumbo.h"
#include "network.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rng-seed-manager.h"

using namespace weirsim;

namespace {

/// Packets of `size` bytes, Ethernet header included, that fit into a jumbo frame of `most`.
uint32_t packetsIn(uint32_t most, uint32_t size) {
  uint32_t n = 0;
  while (golden::jumboBytes(n + 1, (n + 1) * (size - golden::ethernetBytes)) <= most) ++n;
  return n;
}

uint32_t packetsOfWindow(const Options &o, const char *name) {
  return static_cast<uint32_t>(o.whole(name)) * packetsIn(static_cast<uint32_t>(o.whole("mtu")), static_cast<uint32_t>(o.whole("size")));
}

Disc redDisc(const Options &o) {
  return {"ns3::RedQueueDisc",
          {{"MaxSize", o.text("limit") + "p"}, {"MinTh", o.text("min")}, {"MaxTh", o.text("max")},
           {"LInterm", jsonNumber(1 / o.number("probability"))}, {"QW", o.text("weight")},
           {"Gentle", o.text("gentle") == "on" ? "true" : "false"}, {"MeanPktSize", o.text("mtu")},
           {"Wait", o.text("spread") == "uniform-wait" ? "true" : "false"}, {"UseHardDrop", "true"},
           {"LinkBandwidth", jsonNumber(o.number("rate")) + "bps"}, {"LinkDelay", jsonNumber(o.number("delay")) + "s"}}};
}

/// As in ns-2's network of six nodes: 2 or 3 ms to the left, 4 or 5 ms to the right, in turn.
Flow flow(const Options &o, uint64_t index, bool back) {
  Flow f;
  f.rate = o.number("access-rate"), f.back = back;
  const double more = o.number("delay-step") * static_cast<double>(index % 2);
  const double left = o.number("left-delay") + more, right = o.number("right-delay") + more;
  f.nearDelay = back ? right : left, f.farDelay = back ? left : right;
  return f;
}

void traffic(const Options &o, NetworkConfig &c) {
  const auto u = ns3::CreateObject<ns3::UniformRandomVariable>();
  u->SetStream(1000);
  const uint64_t news = o.whole("flows"), first = o.whole("forward");
  const bool increase = o.text("scenario") == "increase";
  const auto add = [&](bool back, double start, uint64_t bytes) {
    Flow f = flow(o, c.flows.size(), back);
    f.start = start + u->GetValue(0, o.number("jitter")), f.bytes = bytes;
    c.flows.push_back(f);
  };
  for (uint64_t i = 0; i < first; ++i) {
    add(false, 0, 0);
    if (o.whole("long-window") != o.whole("window")) c.flows.back().windowPackets = packetsOfWindow(o, "long-window");
  }
  for (uint64_t i = 0; i < o.whole("reverse"); ++i) add(true, 0, 0);
  // those that end carry what is their share of the link in the first half
  const auto share = static_cast<uint64_t>(o.number("rate") / 8 * c.half / static_cast<double>(news + first));
  for (uint64_t i = 0; i < news; ++i) add(false, (increase ? c.half : 0) + o.number("apart") * static_cast<double>(i), increase ? 0 : share);
}

}  // namespace

int main(int count, char **words) {
  Options o("mred", "TCP in jumbo frames that edges make and split; the bottleneck drops packets out of them (MRED) or whole ones (RED)");
  commonOptions(o, 50, "network-jumbo");
  networkOptions(o);
  o.text("side", "mred", {"mred", "red"}, "MRED with DDF, or RED's own decision on whole jumbo frames");
  o.text("scenario", "increase", {"increase", "decrease"}, "new flows at half of the time; or they begin with it, and end");
  o.integer("flows", 20, 0, 1000, "new ones");
  o.number("apart", 0.1, 0, 1000, "between the starts of the new ones, s");
  o.number("jitter", 0.1, 0, 1000, "of each start, s");
  o.integer("forward", 2, 1, 100, "flows without an end");
  o.integer("reverse", 1, 0, 100, "flows without an end in the other direction");
  o.number("rate", 1.5e6, 64e3, 1e9, "of the bottleneck, bit/s");
  o.number("delay", 0.02, 0, 10, "of the bottleneck, s");
  o.number("access-rate", 1e7, 64e3, 10e9, "of the links of sources and sinks, bit/s");
  o.number("left-delay", 0.002, 0, 10, "of the links to the left, s");
  o.number("right-delay", 0.004, 0, 10, "of the links to the right, s");
  o.number("delay-step", 0.001, 0, 10, "what every second pair of links has more, s");
  o.number("edge-rate", 1e8, 64e3, 10e9, "of the links between edge and router, bit/s");
  o.integer("tick", 10, 1, 16, "log2 of the unit, ns, in which jumbo frames tell spacing");
  o.integer("size", 500, 100, 1500, "of a full segment's Ethernet frame, bytes");
  o.integer("mtu", 3000, 200, 9216, "of a jumbo frame, Ethernet header included, bytes");
  o.integer("count", 31, 1, 448, "packets of a jumbo frame at most; the golden model covers 31");
  o.number("timer", 0.02, 0, 4.29, "JFET, s: how long a packet waits at an edge for others at most");
  o.text("shape", "on", {"on", "off"}, "the far edge gives packets the spacing back in which they came to the near one");
  o.integer("limit", 20, 1, 1000, "of the queue, jumbo frames of --mtu; the core counts their bytes, ns-3 frames of any size");
  o.number("min", 5, 0, 1000, "RED, frames");
  o.number("max", 15, 1, 1000, "RED, frames");
  o.number("probability", 0.1, 1e-6, 1, "RED's max_p");
  o.number("weight", 0.0027, 1.6e-5, 1, "of the average");
  o.text("gentle", "off", {"on", "off"}, "RED above max");
  o.text("spread", "uniform-wait", {"geometric", "uniform", "uniform-wait"}, "of RED's drops");
  o.number("low", 0.1, 0, 1, "MRED: share of a jumbo frame's packets that is dropped at min");
  o.number("high", 0.6, 0, 1, "MRED: the same at max");
  o.text("tcp", "sack", {"tahoe", "reno", "newreno", "sack"}, "of every source");
  o.integer("window", 20, 1, 1000, "of the receivers, full jumbo frames");
  o.integer("long-window", 20, 1, 1000, "of the receivers of the flows without an end to the right");
  o.parse(count, words);
  const auto size = static_cast<uint32_t>(o.whole("size")), mtu = static_cast<uint32_t>(o.whole("mtu"));
  for (const char *name : {"low", "high"}) o.only(name, o.text("side") == "mred", "--side mred");
  checkThresholds(o, "--min, --max", o.number("min"), o.number("max"), o.number("limit"));
  checkSpread(o);
  if (o.number("low") > o.number("high")) o.refuse("--low may not exceed --high");
  const double longest = 65535e-9 * static_cast<double>(1u << o.whole("tick"));
  if (o.number("timer") > longest) o.refuse("--timer=" + o.text("timer") + " must be 0 to " + jsonNumber(longest) + ", 65535 units of --tick");
  if (packetsIn(mtu, size) < 2)
    o.refuse("--mtu=" + o.text("mtu") + " must be " + jsonNumber(golden::jumboBytes(2, 2 * (size - golden::ethernetBytes))) +
             " to 9216: two packets of --size and their headers");

  NetworkConfig c;
  c.name = "mred";
  c.queue.policy = "red", c.queue.rate = o.number("rate"), c.queue.overhead = 0, c.queue.tick = static_cast<unsigned>(o.whole("tick"));
  c.queue.transit = true, c.queue.mred = o.text("side") == "mred";
  c.queue.mredLow = o.number("low"), c.queue.mredHigh = o.number("high");
  c.queue.settings = {{"unit", "frames"}, {"limit_bytes", std::to_string(o.whole("limit") * mtu)}, {"avpkt", o.text("mtu")}};
  for (const char *name : {"min", "max", "probability", "weight", "gentle", "spread"}) c.queue.settings.emplace_back(name, o.text(name));
  c.queue.settings.emplace_back("exempt_first", exemptFirst(o));
  if (!c.queue.mred) c.disc = redDisc(o);
  c.back = redDisc(o);
  c.delay = o.number("delay"), c.packetBytes = size, c.tcp = o.text("tcp");
  c.windowPackets = packetsOfWindow(o, "window"), c.edgeRate = o.number("edge-rate");
  c.half = o.number("duration") / 2;
  EdgeLimits edges;
  edges.bytes = mtu, edges.count = static_cast<uint32_t>(o.whole("count"));
  edges.tick = c.queue.tick, edges.timer = ns3::Seconds(o.number("timer")), edges.shape = o.text("shape") == "on";
  c.edges = edges;

  ns3::RngSeedManager::SetSeed(1);
  ns3::RngSeedManager::SetRun(o.whole("seed"));
  traffic(o, c);
  return runNetwork(o, std::move(c));
}

// FN against RED: Kadhum and Hassan, "A Quantitative Analysis and Performance Study of Fast Congestion Notification (FN)
// Mechanism" (APCC 2009), Table II.

#include <cmath>

#include "network.h"
#include "ns3/double.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rng-seed-manager.h"

using namespace weirsim;

int main(int count, char **words) {
  Options o("fn-red", "ten TCP sources, five with ECN, over FN or RED");
  commonOptions(o, 120);
  networkOptions(o);
  o.text("policy", "fn", {"fn", "fn-quadratic", "red"}, "of the bottleneck's queue");
  o.integer("ws", 1024, 1, 4096, "FN's window, packets");
  o.number("t", 0.027, 1e-6, 4, "FN's time constant, s");
  o.number("k", 5, 1, 60, "RED's min, packets");
  o.number("max", 0, 0, 1000, "RED's, packets; 0: 3k");
  o.text("gentle", "off", {"on", "off"}, "RED above max");
  o.text("spread", "uniform", {"geometric", "uniform", "uniform-wait"}, "of drops and marks");
  o.number("rate", 20e6, 64e3, 1e9, "of the bottleneck, bit/s");
  o.number("delay", 0.01, 0, 10, "of the bottleneck, s");
  o.number("access-rate", 100e6, 64e3, 10e9, "of the other links, bit/s");
  o.number("access-delay", 0.001, 0, 10, "of the sources' links, s");
  o.number("jitter", 0.1, 0, 100, "of the starts, s");
  o.integer("sources", 10, 1, 1000, "of TCP");
  o.integer("ecn-every", 2, 0, 1000, "every so many sources one has ECN, the first included; 0: none");
  o.text("traffic", "persistent", {"persistent", "sessions", "fed"}, "endless, a connection a session, sessions fed into one");
  o.number("every", 0.045, 1e-4, 100, "mean time between the sessions of a source, s");
  o.number("mean", 10000, 1, 1e8, "of a session's size, bytes");
  o.number("shape", 1.5, 1.01, 100, "of the Pareto distribution of a session's size");
  o.integer("size", 1064, 100, 1500, "of a packet on the wire, bytes: MaxPacketSize");
  o.number("buffer", 210000, 1500, 1e6, "bytes");
  o.number("qopt", 13125, 0, 1e6, "bytes");
  o.number("weight", 0.002, 1.6e-5, 1, "RED's average");
  o.number("probability", 0.1, 1e-6, 1, "RED's max_p");
  o.integer("window", 98, 1, 1000, "of the receivers, packets: the bandwidth-delay product at 20 Mb/s");
  o.parse(count, words);
  if (o.number("qopt") > o.number("buffer")) o.refuse("--qopt may not exceed --buffer");

  const bool red = o.text("policy") == "red";
  for (const char *name : {"k", "max", "gentle", "weight", "probability"}) o.only(name, red, "--policy red");
  for (const char *name : {"ws", "t"}) o.only(name, !red, "--policy fn and fn-quadratic");
  for (const char *name : {"every", "mean", "shape"}) o.only(name, o.text("traffic") != "persistent", "--traffic sessions and fed");
  const auto text = [](double v) { return jsonNumber(v); };
  NetworkConfig c;
  c.name = "fn-red";
  c.queue.rate = o.number("rate"), c.queue.policy = red ? "red" : "fn";
  const double size = o.number("size"), k = o.number("k"), max = o.number("max") > 0 ? o.number("max") : 3 * k;
  if (red) checkThresholds(o, "--k, --max, --buffer", k, max, o.number("buffer") / size);
  if (red) checkSpread(o);
  if (!red && o.text("spread") == "uniform-wait") o.refuse("--spread must be one of geometric, uniform with --policy fn and fn-quadratic, not 'uniform-wait'");
  c.queue.settings = {{"limit_bytes", text(o.number("buffer"))}, {"ecn", "on"}, {"spread", o.text("spread")}};
  auto &s = c.queue.settings;
  if (red) {
    for (const auto &[name, value] : {std::pair<const char *, double>{"min", k * size}, {"max", max * size},
                                      {"weight", o.number("weight")}, {"probability", o.number("probability")}, {"avpkt", size}})
      s.emplace_back(name, text(value));
    s.emplace_back("gentle", o.text("gentle")), s.emplace_back("bytemode", "before");
    s.emplace_back("exempt_first", exemptFirst(o));
    // In byte mode, as Weir's. It counts packets without their Ethernet header.
    const double counted = size - 14, scale = counted / size;
    c.disc = {"ns3::RedQueueDisc",
              {{"MaxSize", text(std::floor(o.number("buffer") * scale)) + "B"}, {"MinTh", text(k * counted)}, {"MaxTh", text(max * counted)},
               {"LInterm", text(1 / o.number("probability"))}, {"QW", text(o.number("weight"))}, {"Gentle", o.text("gentle") == "on" ? "true" : "false"},
               {"Wait", o.text("spread") == "uniform-wait" ? "true" : "false"}, {"UseEcn", "true"}, {"UseHardDrop", "false"}, {"MeanPktSize", text(counted)},
               {"LinkBandwidth", text(o.number("rate") * scale) + "bps"}, {"LinkDelay", o.text("delay") + "s"}}};
  } else {
    s.emplace_back("window", text(o.number("ws"))), s.emplace_back("t", text(o.number("t") * 1e6) + "us");
    s.emplace_back("qopt", text(o.number("qopt"))), s.emplace_back("capacity", text(o.number("rate")) + "bit");
    s.emplace_back("mean", text(size)), s.emplace_back("bytemode", "on");
    s.emplace_back("quadratic", o.text("policy") == "fn-quadratic" ? "on" : "off");
  }
  c.delay = o.number("delay"), c.packetBytes = static_cast<uint32_t>(size), c.windowPackets = static_cast<uint32_t>(o.whole("window"));
  c.threshold = o.number("qopt");

  ns3::RngSeedManager::SetSeed(1);
  ns3::RngSeedManager::SetRun(o.whole("seed"));
  const auto u = ns3::CreateObject<ns3::UniformRandomVariable>();
  u->SetStream(1000);
  const uint64_t every = o.whole("ecn-every");
  for (uint64_t i = 0; i < o.whole("sources"); ++i) {
    Flow f;
    f.rate = o.number("access-rate"), f.nearDelay = o.number("access-delay"), f.farDelay = 0.0;
    f.start = u->GetValue(0, o.number("jitter")), f.meanBytes = o.number("mean"), f.shape = o.number("shape"), f.ecn = every > 0 && i % every == 0;
    if (o.text("traffic") != "persistent") f.every = o.number("every"), f.connections = o.text("traffic") == "sessions";
    c.flows.push_back(f);
  }
  return runNetwork(o, std::move(c));
}

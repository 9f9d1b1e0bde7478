// JFEPM in a data center: "Adapting Jumbo Frames in Data center" (paper 002), Tables 4.2 to 4.9, Figures 4.2 and 4.3.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

#include "../tcp/tcp-classic.h"
#include "network.h"
#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/double.h"
#include "ns3/global-value.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"
#include "transfers.h"
#include "tree.h"

using namespace ns3;
using namespace weirsim;

namespace {

constexpr uint32_t headers = 14 + 20 + 20;
constexpr double patience = 5;  ///< s after the last transfer's start

/// Transfers a second between hosts so that what they send, headers and acknowledgements included, is that share of the busiest
/// links, those of the core switch. Half of the hosts send through each, to the other half of the racks.
double arrivalRate(const Options &o, uint32_t hosts) {
  const double segment = o.number("size") - headers, bytes = (o.number("least") + o.number("most")) / 2;
  const double perSegment = o.number("size") + headers + 2 * o.number("overhead");
  const double through = 0.5 * (hosts / 2) / (hosts - 1);  // share of all transfers in one direction of one such link
  return o.number("load") * o.number("up-rate") / 8 / (bytes / segment * perSegment) / through;
}

void defaults(const Options &o) {
  const auto segment = static_cast<uint32_t>(o.whole("size")) - headers;
  const auto window = static_cast<uint32_t>(o.whole("window")) * segment;
  const TimeValue timer(Seconds(o.number("min-rto")));
  GlobalValue::Bind("ChecksumEnabled", BooleanValue(false));
  RngSeedManager::SetSeed(1);
  RngSeedManager::SetRun(o.whole("seed"));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
  setTcp(o);
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 * window));
  Config::SetDefault("ns3::TcpSocket::ConnTimeout", timer);
  Config::SetDefault("ns3::RttEstimator::InitialEstimation", timer);
  Config::SetDefault("ns3::TcpSocketBase::MinRto", timer);
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(window > 65535));
}

/// Completion times in us of those that are done, within sizes.
struct Times {
  std::vector<double> us;
  double mean() const {
    double sum = 0;
    for (double t : us) sum += t;
    return us.empty() ? std::nan("") : sum / static_cast<double>(us.size());  // null in the result
  }
  /// Nearest rank.
  double percentile(double p) {
    if (us.empty()) return std::nan("");
    std::sort(us.begin(), us.end());
    return us[static_cast<size_t>(std::max(1.0, std::ceil(p / 100 * static_cast<double>(us.size())))) - 1];
  }
};

class Experiment {
 public:
  explicit Experiment(const Options &o) : o_(o) {
    defaults(o);
    TreeConfig c;
    c.racks = static_cast<uint32_t>(o.whole("racks")), c.hostRate = o.number("host-rate"), c.upRate = o.number("up-rate"), c.delay = o.number("delay");
    c.hosts = static_cast<uint32_t>(o.whole("hosts")), c.limit = static_cast<uint32_t>(o.whole("limit"));
    c.limitBytes = o.text("count") == "bytes" ? c.limit * static_cast<uint32_t>(o.whole("size")) : 0;
    c.overhead = static_cast<int>(o.whole("overhead")), c.merge = o.text("merge") == "on";
    c.stretch = static_cast<unsigned>(o.whole("stretch")), c.latency = o.number("latency");
    c.ns3 = o.text("queue") == "ns3";
    c.rtl = o.text("queue") == "rtl" ? static_cast<uint32_t>(o.whole("rtl")) : 0;
    c.check = o.text("check") == "on", c.seed = o.whole("seed"), c.core = o.text("core"), c.model = o.text("model");
    c.thread = o.text("thread") == "on";
    tree_ = std::make_unique<Tree>(c);
    TypeId sockets;
    for (const auto &host : tree_->hosts) sockets = InstallTcp(host, o.text("tcp"));
    transfers_ = std::make_unique<Transfers>(tree_->hosts, tree_->addresses, sockets, [] { Simulator::Stop(); });
    traffic(c.racks, c.hosts);
  }

  void run() {
    const double from = o_.number("warm"), to = from + o_.number("duration");
    Simulator::Schedule(Seconds(from), [this] { before_ = tree_->drops(); });
    Simulator::Schedule(Seconds(to), [this] { after_ = tree_->drops(); });
    Simulator::Stop(Seconds(to + patience));
    const auto begin = std::chrono::steady_clock::now();
    Simulator::Run();
    tree_->finish();  // cores on threads of their own are not done before
    wall_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  std::string json() const {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return "{\"experiment\": \"datacenter\",\n\"parameters\": " + o_.json() + ",\n\"results\": " + results() +
           ",\n\"core\": " + (o_.text("queue") == "ns3" ? "null" : tree_->json(rtlMember(o_))) + sourcesMember() + ",\n\"wall_s\": " + jsonNumber(wall_) +
           ", \"cpu_s\": " + jsonNumber(processorTime(usage)) + ", \"memory_kib\": " + std::to_string(usage.ru_maxrss) + ",\n\"series\": {}}\n";
  }

 private:
  void traffic(uint32_t racks, uint32_t hosts) {
    const uint32_t all = racks * hosts;
    const auto gap = CreateObject<ExponentialRandomVariable>();
    const auto u = CreateObject<UniformRandomVariable>();
    gap->SetAttribute("Mean", DoubleValue(1 / arrivalRate(o_, all)));
    gap->SetStream(1), u->SetStream(2);
    const double end = o_.number("warm") + o_.number("duration");
    bool counts = false;
    for (double at = gap->GetValue(); at < end; at += gap->GetValue()) {
      Transfer t;
      t.start = at, t.bytes = u->GetInteger(static_cast<uint32_t>(o_.whole("least")), static_cast<uint32_t>(o_.whole("most")));
      t.from = u->GetInteger(0, all - 1), t.to = u->GetInteger(0, all - 2);
      t.to += t.to >= t.from;
      transfers_->add(t);
      counts |= t.start >= o_.number("warm");
    }
    if (!counts)
      throw std::runtime_error("no transfer begins between --warm=" + o_.text("warm") + " and " + jsonNumber(end) + " s; give more of --load or --duration");
    for (uint32_t rack = 0; rack < racks; ++rack)
      for (uint32_t n = 0; n < o_.whole("elephants"); ++n)
        transfers_->endless(rack * hosts + n, (rack + racks / 2) % racks * hosts + hosts / 2 + n, u->GetValue(0, 1e-3));
  }

  std::string results() const {
    Times all, inside, outside, sizes[3];
    uint64_t unfinished = 0;
    const auto rack = [this](uint32_t host) { return host / o_.whole("hosts"); };
    for (const Transfer &t : transfers_->all()) {
      if (t.start < o_.number("warm")) continue;
      if (t.end < 0) {
        ++unfinished;
        continue;
      }
      const double us = (t.end - t.start) * 1e6;
      all.us.push_back(us);
      (rack(t.from) == rack(t.to) ? inside : outside).us.push_back(us);
      sizes[3 * (t.bytes - o_.whole("least")) / (o_.whole("most") - o_.whole("least") + 1)].us.push_back(us);
    }
    const uint64_t frames = tree_->jumboFrames(), packets = tree_->jumboPackets();
    std::string out = "{\"flows\": " + std::to_string(all.us.size()) + ", \"unfinished\": " + std::to_string(unfinished);
    const auto put = [&out](const char *name, double value) { out += ", " + jsonText(name) + ": " + jsonNumber(value); };
    put("fct_mean_us", all.mean()), put("fct_p95_us", all.percentile(95)), put("fct_p99_us", all.percentile(99));
    put("fct_small_us", sizes[0].mean()), put("fct_middle_us", sizes[1].mean()), put("fct_large_us", sizes[2].mean());
    put("fct_inside_us", inside.mean()), put("fct_outside_us", outside.mean());
    put("dropped", after_.all() - before_.all()), put("dropped_uplink", after_.uplink - before_.uplink);
    put("dropped_aggregation", after_.aggregation - before_.aggregation), put("dropped_core", after_.core - before_.core);
    put("dropped_host", after_.host - before_.host), put("dropped_split", after_.split - before_.split);
    put("jumbo_frames", frames), put("jumbo_packets", packets);
    return out + "}";
  }

  const Options &o_;
  std::unique_ptr<Tree> tree_;
  std::unique_ptr<Transfers> transfers_;
  Tree::Drops before_, after_;
  double wall_ = 0;
};

}  // namespace

int main(int count, char **words) {
  Options o("datacenter", "short TCP transfers and long ones in a tree of racks; the ToRs' uplinks merge and split jumbo frames");
  commonOptions(o, 0.05, "network-jumbo");
  o.text("tcp", "newreno", {"tahoe", "reno", "newreno", "sack"}, "of every source");
  o.text("merge", "on", {"on", "off"}, "JFEPM at the ToRs' uplinks");
  o.integer("size", 800, 200, 1514, "of a full segment's Ethernet frame, bytes");
  o.number("load", 0.5, 0.01, 2, "of the core switch's links, by the short transfers");
  o.number("warm", 0.01, 0, 1000, "s before transfers count");
  o.integer("least", 2000, 1, 1e9, "of a short transfer's size, bytes (uniform)");
  o.integer("most", 198000, 1, 1e9, "of a short transfer's size, bytes");
  o.integer("racks", 4, 2, 16, "of the tree (even)");
  o.number("host-rate", 1e9, 64e3, 10e9, "of the hosts' links, bit/s");
  o.number("up-rate", 1e10, 64e3, 10e9, "of the links between switches, bit/s");
  o.number("delay", 25e-6, 1e-9, 1, "of each link, s");
  o.integer("hosts", 40, 2, 60, "of a rack (even)");
  o.integer("elephants", 1, 0, 20, "long transfers that leave a rack");
  o.integer("limit", 40, 1, 1000, "of a switch's queue, packets; a jumbo frame is one behind the ToR");
  o.text("count", "frames", {"frames", "bytes"}, "what aggregation and core count; bytes: limit times size");
  o.integer("overhead", 24, 0, 100, "bytes of a frame on a link besides itself: preamble, FCS, gap");
  o.integer("window", 20, 1, 1000, "of the receivers, segments (ns-2's default)");
  o.number("min-rto", 0.01, 0.001, 10, "least time of a retransmission timer, s");
  tcpOptions(o);
  o.integer("stretch", 100, 1, 10000, "the cores' time runs so many times faster");
  o.number("latency", 1e-6, 1e-9, 1, "of the split, s");
  o.integer("rtl", 1, 1, 4, "uplinks that are RTL, and as many splits (with --queue rtl)");
  o.parse(count, words);
  checkCommon(o);
  if (o.text("queue") != "ns3" && o.text("core") == "network") o.refuse("--core must be one of full, network-jumbo, which have jumbo frames, not 'network'");
  o.only("rtl", o.text("queue") == "rtl", "--queue rtl");
  for (const char *name : {"stretch", "latency"}) o.only(name, o.text("queue") != "ns3", "--queue rtl and golden");
  if (o.whole("hosts") % 2) o.refuse("--hosts must be even");
  if (o.whole("racks") % 2) o.refuse("--racks must be even");
  if (o.text("queue") == "rtl" && o.whole("rtl") > o.whole("racks")) o.refuse("--rtl=" + o.text("rtl") + " may not exceed --racks=" + o.text("racks"));
  if (o.whole("least") > o.whole("most")) o.refuse("--least may not exceed --most");
  if (2 * o.whole("elephants") > o.whole("hosts"))
    o.refuse("--elephants=" + o.text("elephants") + " must be 0 to " + std::to_string(o.whole("hosts") / 2) + ", half of --hosts");
  if (o.text("queue") == "ns3" && o.text("merge") == "on") o.refuse("ns-3 has no queue that merges; take --queue golden");
  try {
    checkSources();
    const ResultFile result(o.text("out"));
    Experiment experiment(o);
    experiment.run();
    result.write(experiment.json());
    Simulator::Destroy();
    return 0;
  } catch (const std::exception &e) {
    std::cerr << "datacenter: " << e.what() << std::endl;
    Simulator::Destroy();  // cores that are still at work end first
    return 1;
  }
}

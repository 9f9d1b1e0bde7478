#include "network.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "../tcp/tcp-classic.h"
#include "../weir/configure.h"
#include "../weir/cycle-model.h"
#include "../weir/frames.h"
#include "../weir/sources.h"
#include "edges.h"
#include "ns3/config.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/global-value.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/uinteger.h"
#include "sessions.h"

using namespace ns3;

namespace weirsim {

namespace {

constexpr uint32_t headers = 14 + 20 + 20;  ///< Ethernet, IPv4, TCP
constexpr uint16_t port = 5001;
constexpr int ethernetNotPpp = 14 - 2;  ///< what an Ethernet header is longer than that of ns-3's device

class Network {
 public:
  Network(const Options &options, const NetworkConfig &config)
      : options_(options), config_(config), log_(options.number("sample"), config.threshold, options.text("arrivals") == "on") {
    if (config.edges) log_.halve(config.half);
  }

  void build() {
    const uint32_t segment = config_.packetBytes - headers;
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(options_.text("queue") == "rtl" || config_.edges));
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(options_.whole("seed"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
    setTcp(options_);
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(config_.windowPackets * segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(sendBuffer(segment)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(mostPackets() * segment > 65535));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(config_.minRto)));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("AcceptOnly"));  // a sender asks for it (Sessions)
    // TIME_WAIT of 2 s, not 240: ns-3 looks through all of a host's connections for each segment, and sessions leave thousands
    Config::SetDefault("ns3::TcpSocketBase::MaxSegLifetime", DoubleValue(1));
    if (config_.slowStart > 0)
      Config::SetDefault("ns3::TcpSocket::InitialSlowStartThreshold",
                         UintegerValue(static_cast<uint32_t>(config_.slowStart)));
    routers_.Create(2);
    internet_.Install(routers_);
    bottleneck();
    if (config_.edges) edges_ = std::make_unique<Edges>(routers_, *config_.edges, config_.edgeRate);
    for (size_t i = 0; i < config_.flows.size(); ++i) flow(config_.flows[i], static_cast<uint32_t>(i));
  }

  void run() {
    Simulator::Stop(Seconds(config_.duration));
    const auto begin = std::chrono::steady_clock::now();
    Simulator::Run();
    if (device_) device_->Finish();  // a core on a thread of its own is not done before
    wall_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    log_.end(config_.duration);
  }

  std::string json() const {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    uint64_t received = 0;
    for (const auto &sink : sinks_) received += sink->GetTotalRx();
    char hash[64] = "";
    std::string core = "null";
    if (device_) {
      const Totals t = device_->GetTotals();
      std::snprintf(hash, sizeof hash, "%016llx%016llx", (unsigned long long)t.arrivalHash,
                    (unsigned long long)t.departureHash);
      core = "{\"cycles\": " + std::to_string(t.cycles) + ", \"evaluated\": " + std::to_string(t.evaluated) +
             ", \"records\": " + std::to_string(t.arrivals + t.departures) +
             ", \"compared\": " + std::to_string(t.compared) + ", \"trace_hash\": \"" + hash + "\"" +
             rtlMember(options_) + "}";
    }
    return "{\"experiment\": " + jsonText(config_.name) + ",\n\"parameters\": " + options_.json() +
           ",\n\"results\": " + log_.json(config_.queue.rate, config_.duration, config_.queue.overhead) +
           ",\n\"goodput_bytes\": " + std::to_string(received) + stopped() + config_.extra +
           (edges_ ? ",\n\"edge\": " + edges_->made.json() : "") + ",\n\"core\": " + core + sourcesMember() +
           ",\n\"wall_s\": " + jsonNumber(wall_) + ", \"cpu_s\": " + jsonNumber(processorTime(usage)) + ", \"memory_kib\": " + std::to_string(usage.ru_maxrss) +
           ",\n\"series\": " + log_.series() + (options_.text("arrivals") == "on" ? ",\n\"arrivals\": " + log_.arrivals() : "") + "}\n";
  }

 private:
  /// Of the flows with a stop: how long behind it their receivers had the last byte, s.
  std::string stopped() const {
    std::string out;
    for (const auto &[stop, last] : stopped_) out += (out.empty() ? "" : ", ") + jsonNumber(*last - stop);
    return stopped_.empty() ? "" : ",\n\"after_stop_s\": [" + out + "]";
  }

  uint32_t sendBuffer(uint32_t segment) const {
    for (const Flow &f : config_.flows)
      if (f.every > 0 && !f.connections) return 1u << 30;  // what sessions have written waits in the socket
    return 4 * mostPackets() * segment;
  }

  /// The largest window of a receiver, packets.
  uint32_t mostPackets() const {
    uint32_t most = config_.windowPackets;
    for (const Flow &f : config_.flows) most = std::max(most, f.windowPackets);
    return most;
  }

  void bottleneck() {
    const std::string &kind = options_.text("queue");
    NetDeviceContainer devices;
    if (kind == "ns3") {
      devices = disc();
    } else {
      using Kind = WeirHelper::Kind;
      const Kind which = kind == "golden" ? Kind::golden : options_.text("check") == "on" ? Kind::checkedRtl : Kind::rtl;
      devices = WeirHelper(config_.queue, which).Install(routers_.Get(0), routers_.Get(1), Seconds(config_.delay));
      device_ = DynamicCast<WeirNetDevice>(devices.Get(0));
      const bool fn = config_.queue.policy == "fn";
      device_->TraceConnectWithoutContext("Record", Callback<void, const Record &>([this, fn](const Record &r) {
                                            log_.record(r, fn);
                                          }));
      DynamicCast<PointToPointNetDevice>(devices.Get(1))->GetQueue()->SetAttribute("MaxSize", StringValue("100000p"));
    }
    if (config_.edges) domain(devices);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    const auto interfaces = addresses.Assign(devices);
    route(routers_.Get(0), "10.2.0.0", interfaces.GetAddress(1), interfaces.Get(0).second);
    route(routers_.Get(1), "10.1.0.0", interfaces.GetAddress(0), interfaces.Get(1).second);
  }

  /// The link carries jumbo frames: their size, what comes over it, and the queue of its other direction.
  void domain(const NetDeviceContainer &devices) {
    for (uint32_t end = 0; end < 2; ++end) devices.Get(end)->SetMtu(static_cast<uint16_t>(config_.edges->bytes - frameHeaderBytes));
    const auto far = DynamicCast<PointToPointNetDevice>(devices.Get(1));
    far->TraceConnectWithoutContext("PhyRxEnd", Callback<void, Ptr<const Packet>>([this](Ptr<const Packet> packet) {
                                      log_.received(now(), packet->GetSize() + ethernetNotPpp);
                                    }));
    if (!config_.back.type.empty()) installDisc(far, config_.back);
  }

  /// The same link with a queue disc of ns-3. Its frames are those of PPP; the rate is scaled so that a full segment takes
  /// as long as the Ethernet frame does in the Weir link.
  NetDeviceContainer disc() {
    if (config_.disc.type.empty()) throw std::runtime_error("ns-3 has no queue like this; take --queue golden");
    const uint32_t full = config_.edges ? config_.edges->bytes : config_.packetBytes;
    const double scale = (int(full) - ethernetNotPpp) / static_cast<double>(int(full) + config_.queue.overhead);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(std::llround(config_.queue.rate * scale))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(config_.delay)));
    const auto devices = link.Install(routers_);
    DynamicCast<PointToPointNetDevice>(devices.Get(1))->GetQueue()->SetAttribute("MaxSize", StringValue("100000p"));
    disc_ = installDisc(DynamicCast<PointToPointNetDevice>(devices.Get(0)), config_.disc);
    disc_->TraceConnectWithoutContext("Enqueue", Callback<void, Ptr<const QueueDiscItem>>([this](Ptr<const QueueDiscItem> item) {
      log_.arrival(now(), frame(item), disc_->GetNBytes() + 14 * disc_->GetNPackets() - frame(item), disc_->GetNPackets() - 1, packets(item));
    }));
    disc_->TraceConnectWithoutContext("DropBeforeEnqueue", Callback<void, Ptr<const QueueDiscItem>, const char *>(
                                          [this](Ptr<const QueueDiscItem> item, const char *why) { lost(item, why); }));
    disc_->TraceConnectWithoutContext("Mark", Callback<void, Ptr<const QueueDiscItem>, const char *>(
                                          [this](Ptr<const QueueDiscItem>, const char *) { log_.marked(); }));
    disc_->TraceConnectWithoutContext("Dequeue", Callback<void, Ptr<const QueueDiscItem>>([this](Ptr<const QueueDiscItem> item) {
      log_.sent(now(), frame(item), disc_->GetNBytes() + 14 * disc_->GetNPackets(), disc_->GetNPackets());
    }));
    return devices;
  }

  void lost(Ptr<const QueueDiscItem> item, const std::string &why) {
    log_.arrival(now(), frame(item), disc_->GetNBytes() + 14 * disc_->GetNPackets(), disc_->GetNPackets(), packets(item));
    const bool early = why.find("nforced") != std::string::npos, forced = why == "Forced drop";
    log_.dropped(now(), frame(item), early ? 1 : forced ? 2 : 3, packets(item));
  }

  static uint32_t frame(Ptr<const QueueDiscItem> item) { return item->GetSize() + 14; }
  uint32_t packets(Ptr<const QueueDiscItem> item) const {
    const auto ip = DynamicCast<const Ipv4QueueDiscItem>(item);
    if (!config_.edges || !ip) return 1;
    const auto packet = ip->GetPacket()->Copy();  // its header is beside it
    packet->AddHeader(ip->GetHeader());
    return PacketsIn(packet);
  }
  static double now() { return Simulator::Now().GetSeconds(); }

  void flow(const Flow &f, uint32_t index) {
    const auto source = CreateObject<Node>(), sink = CreateObject<Node>();
    internet_.Install(NodeContainer(source, sink));
    const NodeContainer &ends = edges_ ? edges_->nodes : routers_;
    access(source, ends.Get(f.back), f.back, index, f.rate, f.nearDelay);
    const Ipv4Address to = access(sink, ends.Get(!f.back), !f.back, index, f.rate, f.farDelay);
    const TypeId sending = InstallTcp(source, config_.tcp), receiving = InstallTcp(sink, config_.tcp);
    PacketSinkHelper sinks(receiving.GetName(), InetSocketAddress(Ipv4Address::GetAny(), port));
    const auto received = sinks.Install(sink);
    if (!f.back) sinks_.push_back(DynamicCast<PacketSink>(received.Get(0)));
    if (f.windowPackets > 0)  // once it listens, before the first SYN can be there
      Simulator::Schedule(NanoSeconds(1), [sink = DynamicCast<PacketSink>(received.Get(0)), bytes = f.windowPackets * (config_.packetBytes - headers)] {
        sink->GetListeningSocket()->SetAttribute("RcvBufSize", UintegerValue(bytes));
      });
    if (f.stop > 0) {
      const auto last = std::make_shared<double>(f.stop);
      received.Get(0)->TraceConnectWithoutContext("Rx", Callback<void, Ptr<const Packet>, const Address &>(
                                                            [last](Ptr<const Packet>, const Address &) { *last = now(); }));
      stopped_.emplace_back(f.stop, last);
    }
    const auto application = CreateObject<Sessions>(f, sending, InetSocketAddress(to, port), config_.packetBytes - headers);
    source->AddApplication(application);
    application->SetStartTime(Seconds(f.start));
    if (f.stop > 0) application->SetStopTime(Seconds(f.stop));
  }

  const Options &options_;
  const NetworkConfig &config_;
  QueueLog log_;
  InternetStackHelper internet_;
  NodeContainer routers_;
  Ptr<WeirNetDevice> device_;
  Ptr<QueueDisc> disc_;
  std::unique_ptr<Edges> edges_;
  std::vector<Ptr<PacketSink>> sinks_;
  std::vector<std::pair<double, std::shared_ptr<double>>> stopped_;  ///< stop of a flow, when its last byte came
  double wall_ = 0;
};

}  // namespace

double processorTime(const rusage &usage) {
  const auto seconds = [](const timeval &t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void commonOptions(Options &options, double duration, const char *core) {
  options.text("queue", "rtl", {"rtl", "golden", "ns3"}, "what the bottleneck's queue is");
  options.text("check", "on", {"on", "off"}, "compare every record of the RTL with the golden model");
  options.integer("seed", 1, 1, 1e9, "of the network's and of the core's random numbers");
  options.number("duration", duration, 0.001, 100000, "simulated time, s");
  options.number("sample", 0, 0, 1000, "time between points of the series, s; 0: none");
  options.text("arrivals", "off", {"on", "off"}, "every arrival at the queue, with its time and length");
  options.text("core", core, {"full", "network", "network-jumbo"}, "the RTL: the preset full, or what the papers' queues need of it");
  options.text("thread", "on", {"on", "off"}, "the RTL computes beside the simulator, on a thread of its own");
  options.text("model", "", {}, "the cycle model's library; empty: WEIR_MODEL or build/model/<core>");
  options.text("out", "", {}, "file of the result; empty: standard output");
}

void tcpOptions(Options &options) {
  options.integer("initial-window", 1, 1, 100, "of every source, segments");
  options.integer("ack-every", 1, 1, 2, "segments that an acknowledgement is sent for; it waits for the second for 200 ms at most");
}

void setTcp(const Options &options) {
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(options.whole("initial-window")));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(options.whole("ack-every")));
}

void networkOptions(Options &options) {
  options.number("min-rto", 0.2, 0.001, 60, "least time of a retransmission timer, s");
  tcpOptions(options);
}

void checkThresholds(const Options &options, const std::string &names, double min, double max, double limit) {
  const std::string begin = names + ": RED's ";
  if (min >= max) options.refuse(begin + "min, " + jsonNumber(min) + ", must be below its max, " + jsonNumber(max));
  if (max > limit) options.refuse(begin + "max, " + jsonNumber(max) + ", may not exceed the limit of the queue, " + jsonNumber(limit));
}

void checkSpread(const Options &options) {
  if (options.text("queue") == "ns3" && options.text("spread") == "geometric")
    options.refuse("--spread must be one of uniform, uniform-wait with --queue ns3, not 'geometric'");
}

std::string exemptFirst(const Options &options) { return options.text("spread") == "uniform-wait" ? "on" : "off"; }

void checkCommon(const Options &options) {
  for (const char *name : {"check", "thread", "model"}) options.only(name, options.text("queue") == "rtl", "--queue rtl");
  options.only("core", options.text("queue") != "ns3", "--queue rtl and golden");
}

ResultFile::ResultFile(const std::string &path) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (path.empty()) return;
  path_ = fs::is_symlink(path, none) ? fs::weakly_canonical(path).string() : path;
  whole_ = !fs::exists(path_, none) || fs::is_regular_file(path_, none);
  const fs::path folder = fs::path(path_).parent_path();
  if (fs::is_directory(path_, none) || ::access(whole_ ? (folder.empty() ? "." : folder.c_str()) : path_.c_str(), W_OK) != 0) fail();
}

void ResultFile::write(const std::string &json) const {
  if (path_.empty()) {
    std::cout << json << std::flush;
    if (!std::cout) throw std::runtime_error("the result cannot be written to standard output");
    return;
  }
  const std::string part = whole_ ? path_ + ".part" : path_;
  std::ofstream file(part);
  file << json;
  file.close();
  if (file && (!whole_ || std::rename(part.c_str(), path_.c_str()) == 0)) return;
  if (whole_) std::remove(part.c_str());
  fail();
}

void ResultFile::fail() const { throw std::runtime_error(path_ + " cannot be written"); }

void checkSources() {
  if (librarySources() != WEIR_SOURCES)
    throw std::runtime_error("program and libweir-ns3.so are of different sources; run `make ns3`, or copy both");
}

std::string sourcesMember() { return ",\n\"sources\": " + jsonText(librarySources()); }

std::string rtlMember(const Options &options) {
  if (options.text("queue") != "rtl") return "";
  return ", \"rtl\": " + jsonText(CycleModel::load(options.text("model"), options.text("core")).rtl());
}

int runNetwork(const Options &options, NetworkConfig config) {
  checkCommon(options);
  try {
    checkSources();
    const ResultFile result(options.text("out"));
    config.duration = options.number("duration"), config.minRto = options.number("min-rto");
    config.queue.seed = 0x9E3779B97F4A7C15ull * options.whole("seed");
    config.queue.core = options.text("core"), config.queue.model = options.text("model");
    config.queue.thread = options.text("thread") == "on";
    if (options.text("queue") == "ns3") checkSettings(config.queue);
    Network network(options, config);
    network.build();
    network.run();
    result.write(network.json());
    Simulator::Destroy();
    return 0;
  } catch (const std::exception &e) {
    std::cerr << config.name << ": " << e.what() << std::endl;
    Simulator::Destroy();  // cores that are still at work end first
    return 1;
  }
}

}  // namespace weirsim

#include "tree.h"

#include <cmath>

#include "../golden/jumbo.h"
#include "../weir/frames.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/string.h"
#include "options.h"

using namespace ns3;

namespace weirsim {

namespace {

constexpr int ethernetNotPpp = 14 - 2;  ///< what an Ethernet header is longer than that of ns-3's device
constexpr uint32_t unlimited = 100000;

/// How many packets a frame of ns-3 (without its link header) carries.
uint64_t packetsOf(Ptr<const Packet> packet) {
  uint8_t head[28];
  return packet->CopyData(head, sizeof head) == sizeof head && head[2 + 9] == golden::jumboProtocol ? head[22] << 8 | head[23] : 1;
}

}  // namespace

Ptr<NetDevice> Tree::portOf(Ptr<const Packet> packet, const Port &port) {
  uint8_t header[20];
  packet->CopyData(header, sizeof header);
  return port(header[17] - 1u, header[18]);  // of 10.<rack + 1>.<host>.1
}

bool Tree::room(const std::vector<Ptr<Packet>> &packets, const Port &port) {
  const auto queue = DynamicCast<PointToPointNetDevice>(portOf(packets.front(), port))->GetQueue();  // they are of one flow
  if (queue->GetNPackets() + packets.size() <= queue->GetMaxSize().GetValue()) return true;
  drops_.host += packets.size(), drops_.split += packets.size();
  return false;
}

void Tree::forward(Ptr<NetDevice> device, Port port) {
  device->SetReceiveCallback(Callback<bool, Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address &>(
      [port](Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t protocol, const Address &) {
        const auto out = portOf(packet, port);
        return out->Send(packet->Copy(), out->GetBroadcast(), protocol);
      }));
}

NetDeviceContainer Tree::plain(Ptr<Node> a, Ptr<Node> b, double rate) {
  PointToPointHelper link;
  link.DisableFlowControl();
  link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
  link.SetChannelAttribute("Delay", TimeValue(Seconds(config_.delay)));
  return link.Install(a, b);
}

/// The queue of a switch's port, or of a host, which drops nothing of its own.
void Tree::queue(Ptr<NetDevice> device, double rate, uint64_t *drops, bool host) {
  const auto d = DynamicCast<PointToPointNetDevice>(device);
  d->SetMtu(jumboMtu);
  d->SetAttribute("InterframeGap", TimeValue(Seconds((ethernetNotPpp + config_.overhead) * 8 / rate)));
  const bool bytes = config_.limitBytes > 0 && drops && drops != &drops_.host && drops != &drops_.uplink;
  const std::string size = host ? std::to_string(unlimited) + "p"
                                : bytes ? std::to_string(config_.limitBytes) + "B" : std::to_string(config_.limit) + "p";
  d->GetQueue()->SetAttribute("MaxSize", StringValue(size));
  if (drops)
    d->GetQueue()->TraceConnectWithoutContext(
        "Drop", Callback<void, Ptr<const Packet>>([drops](Ptr<const Packet> packet) { *drops += packetsOf(packet); }));
}

NetDeviceContainer Tree::uplink(uint32_t rack, Ptr<Node> tor, Ptr<Node> aggregation) {
  if (config_.ns3) {
    const auto link = plain(tor, aggregation, config_.upRate);
    queue(link.Get(0), config_.upRate, &drops_.uplink);
    queue(link.Get(1), config_.upRate, &drops_.aggregation);
    return link;
  }
  Setup setup;
  setup.policy = "drop-tail";
  setup.settings = {{"unit", "packets"}, {"limit", std::to_string(config_.limit)}};
  setup.rate = config_.upRate, setup.overhead = config_.overhead, setup.stretch = config_.stretch;
  setup.merge = config_.merge, setup.tick = 12, setup.core = config_.core, setup.model = config_.model, setup.thread = config_.thread;
  setup.seed = config_.seed * config_.racks + rack;
  using Kind = WeirHelper::Kind;
  const Kind kind = rack >= config_.rtl ? Kind::golden : config_.check ? Kind::checkedRtl : Kind::rtl;
  const auto devices = WeirHelper(setup, kind).Install(tor, aggregation, Seconds(config_.delay));
  const auto device = DynamicCast<WeirNetDevice>(devices.Get(0));
  device->SetMtu(jumboMtu);
  const bool rtlSplit = (rack + config_.racks - config_.racks / 2) % config_.racks < config_.rtl;
  device->SetSplitter(rtlSplit ? makeRtlSplitter(setup) : makeGoldenSplitter(), config_.stretch, Seconds(config_.latency));
  device->TraceConnectWithoutContext("Drop", Callback<void, Ptr<const Packet>>([this](Ptr<const Packet>) { ++drops_.uplink; }));
  device->TraceConnectWithoutContext("Jumbo", Callback<void, Ptr<const Packet>, uint32_t>([this](Ptr<const Packet>, uint32_t n) {
                                       ++jumbos_, jumboPackets_ += n;
                                     }));
  uplinks.push_back(device);
  queue(devices.Get(1), config_.upRate, &drops_.aggregation);
  return devices;
}

void Tree::host(Ptr<Node> node, const NetDeviceContainer &link, uint32_t rack, uint32_t number) {
  InternetStackHelper().Install(node);
  char base[24];
  std::snprintf(base, sizeof base, "10.%u.%u.0", rack + 1, number);
  const auto own = Ipv4AddressHelper(Ipv4Address(base), "255.255.255.252").Assign(link.Get(0));
  Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(Ipv4Address::GetAny(), own.Get(0).second);
  hosts.push_back(node);
  addresses.push_back(own.GetAddress(0));
}

Ptr<NetDevice> Tree::rack(uint32_t number, Ptr<Node> aggregation) {
  const auto tor = CreateObject<Node>();
  const auto up = uplink(number, tor, aggregation);
  auto ports = std::make_shared<std::vector<Ptr<NetDevice>>>();
  const Port port = [ports, number, up](uint32_t rack, uint32_t host) { return rack == number ? ports->at(host) : up.Get(0); };
  forward(up.Get(0), port);
  if (const auto device = DynamicCast<WeirNetDevice>(up.Get(0)))
    device->SetRoomCallback([this, port](const std::vector<Ptr<Packet>> &packets) { return room(packets, port); });
  for (uint32_t i = 0; i < config_.hosts; ++i) {
    const auto node = CreateObject<Node>();
    const auto link = plain(node, tor, config_.hostRate);
    queue(link.Get(0), config_.hostRate, nullptr, true);
    queue(link.Get(1), config_.hostRate, &drops_.host);
    host(node, link, number, i);
    ports->push_back(link.Get(1));
    forward(link.Get(1), port);
  }
  return up.Get(1);
}

Tree::Tree(const TreeConfig &config) : config_(config) {
  const auto core = CreateObject<Node>();
  const uint32_t half = config_.racks / 2;
  std::vector<Ptr<NetDevice>> downs;  // of the core switch
  for (uint32_t a = 0; a < 2; ++a) {
    const auto aggregation = CreateObject<Node>();
    const auto link = plain(aggregation, core, config_.upRate);
    queue(link.Get(0), config_.upRate, &drops_.aggregation);
    queue(link.Get(1), config_.upRate, &drops_.core);
    std::vector<Ptr<NetDevice>> racks;
    for (uint32_t r = a * half; r < (a + 1) * half; ++r) racks.push_back(rack(r, aggregation));
    const auto up = link.Get(0);
    const Port port = [racks, up, a, half](uint32_t rack, uint32_t) { return rack / half == a ? racks[rack % half] : up; };
    forward(up, port);
    for (const auto &device : racks) forward(device, port);
    downs.push_back(link.Get(1));
  }
  for (const auto &device : downs) forward(device, [downs, half](uint32_t rack, uint32_t) { return downs.at(rack / half); });
}

void Tree::finish() {
  for (const auto &device : uplinks) device->Finish();
}

std::string Tree::json(const std::string &more) const {
  uint64_t cycles = 0, evaluated = 0, records = 0, compared = 0, split = 0, packets = 0;
  std::string hash;
  for (uint32_t rack = 0; rack < uplinks.size(); ++rack) {
    const Totals t = uplinks[rack]->GetTotals(), s = uplinks[rack]->GetSplitTotals();
    char text[52];
    std::snprintf(text, sizeof text, "%016llx%016llx%016llx", (unsigned long long)t.arrivalHash, (unsigned long long)t.departureHash,
                  (unsigned long long)s.departureHash);
    hash += text;
    packets += t.departures;
    evaluated += t.evaluated + s.evaluated, compared += t.compared, split += s.compared;
    if (rack < config_.rtl) records += t.arrivals + t.departures, cycles += t.cycles;
    cycles += s.cycles;
  }
  return "{\"cycles\": " + std::to_string(cycles) + ", \"evaluated\": " + std::to_string(evaluated) +
         ", \"records\": " + std::to_string(records) + ", \"compared\": " + std::to_string(compared) +
         ", \"split_frames_compared\": " + std::to_string(split) + ", \"uplink_packets\": " + std::to_string(packets) +
         ", \"trace_hash\": \"" + hash + "\"" + more + "}";
}

}  // namespace weirsim

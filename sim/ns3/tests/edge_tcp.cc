// A stream of known bytes over TCP: edge that makes jumbo frames, Weir core that passes them on, edge that splits them. What comes
// out has to be what went in, byte for byte.
//
//   edge_tcp KIND BYTES [NAME VALUE]…
//
// KIND: rtl, checked or golden. Names that are not RED's: `mred` LOW:HIGH; `flows`; `shape` off. Prints bytes received, wrong ones, jumbo
// frames made, packets dropped out of jumbo frames, whole frames dropped, records compared; exits 1 if a byte is wrong or missing.

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "../experiments/edges.h"
#include "../weir/weir-net-device.h"
#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/global-value.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/inet-socket-address.h"
#include "ns3/socket.h"
#include "ns3/uinteger.h"

using namespace ns3;
using namespace weirsim;

namespace {

uint64_t total = 0, received = 0, wrong = 0;

/// Byte n of a flow's stream.
uint8_t content(uint32_t flow, uint64_t n) { return static_cast<uint8_t>((n + 1) * 0x9E3779B97F4A7C15ull >> (40 + flow % 8)); }

Ipv4Address host(Ptr<Node> node, Ptr<Node> edge, uint32_t side, uint32_t index) {
  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", StringValue("10Mbps"));
  link.SetChannelAttribute("Delay", StringValue("2ms"));
  char base[24];
  std::snprintf(base, sizeof base, "10.%u.%u.0", side + 1, index);
  const auto interfaces = Ipv4AddressHelper(Ipv4Address(base), "255.255.255.252").Assign(link.Install(node, edge));
  Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(interfaces.GetAddress(1), interfaces.Get(0).second);
  return interfaces.GetAddress(0);
}

void flow(Ptr<Node> from, Ptr<Node> to, Ipv4Address address, uint32_t index) {
  const auto listening = Socket::CreateSocket(to, TcpSocketFactory::GetTypeId());
  listening->Bind(InetSocketAddress(Ipv4Address::GetAny(), 5001));
  listening->Listen();
  listening->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
                               [index](Ptr<Socket> s, const Address &) {
                                 auto at = std::make_shared<uint64_t>(0);
                                 s->SetRecvCallback([index, at](Ptr<Socket> r) {
                                   for (auto packet = r->Recv(); packet && packet->GetSize(); packet = r->Recv()) {
                                     std::vector<uint8_t> bytes(packet->GetSize());
                                     packet->CopyData(bytes.data(), packet->GetSize());
                                     for (uint8_t byte : bytes) wrong += byte != content(index, (*at)++);
                                     received += bytes.size();
                                   }
                                 });
                               });
  const auto sending = Socket::CreateSocket(from, TcpSocketFactory::GetTypeId());
  auto sent = std::make_shared<uint64_t>(0);
  const auto write = [index, sent](Ptr<Socket> s, uint32_t) {
    while (*sent < total) {
      std::vector<uint8_t> bytes(std::min<uint64_t>(s->GetTxAvailable(), total - *sent));
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = content(index, *sent + i);
      if (bytes.empty() || s->Send(bytes.data(), static_cast<uint32_t>(bytes.size()), 0) < 0) return;
      *sent += bytes.size();
    }
  };
  sending->SetSendCallback(write);
  Simulator::Schedule(MilliSeconds(10 * index), [sending, address] { sending->Connect(InetSocketAddress(address, 5001)); });
}

}  // namespace

int main(int count, char **words) {
  if (count < 3) {
    std::fprintf(stderr, "edge_tcp: rtl|checked|golden BYTES [NAME VALUE]...\n");
    return 2;
  }
  try {
    Setup setup;
    EdgeLimits limits;
    limits.bytes = 3000;
    uint32_t flows = 4;
    setup.policy = "red", setup.rate = 1.5e6, setup.transit = true;
    total = std::strtoull(words[2], nullptr, 10);
    for (int i = 3; i + 1 < count; i += 2) {
      const std::string name = words[i], value = words[i + 1];
      if (name == "mred") setup.mred = true, setup.mredLow = std::stod(value), setup.mredHigh = std::stod(value.substr(value.find(':') + 1));
      else if (name == "flows") flows = static_cast<uint32_t>(std::stoul(value));
      else if (name == "shape") limits.shape = value == "on";
      else setup.settings.emplace_back(name, value);
    }
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));  // a damaged packet would be noticed
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(446));
    NodeContainer routers(2);
    InternetStackHelper().Install(routers);
    const std::string kind = words[1];
    using Kind = WeirHelper::Kind;
    const auto devices = WeirHelper(setup, kind == "golden" ? Kind::golden : kind == "checked" ? Kind::checkedRtl : Kind::rtl)
                             .Install(routers.Get(0), routers.Get(1), MilliSeconds(20));
    uint64_t cuts = 0, drops = 0;
    devices.Get(0)->TraceConnectWithoutContext("Cut", Callback<void, Ptr<const Packet>>([&](Ptr<const Packet>) { ++cuts; }));
    devices.Get(0)->TraceConnectWithoutContext("Drop", Callback<void, Ptr<const Packet>>([&](Ptr<const Packet>) { ++drops; }));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    const auto interfaces = addresses.Assign(devices);
    const Ipv4Mask mask("255.255.0.0");
    for (uint32_t side = 0; side < 2; ++side) {
      devices.Get(side)->SetMtu(2986);
      Ipv4StaticRoutingHelper().GetStaticRouting(routers.Get(side)->GetObject<Ipv4>())
          ->AddNetworkRouteTo(side ? "10.1.0.0" : "10.2.0.0", mask, interfaces.GetAddress(1 - side), interfaces.Get(side).second);
    }
    Edges edges(routers, limits, 1e8);
    for (uint32_t i = 0; i < flows; ++i) {
      NodeContainer ends(2);
      InternetStackHelper().Install(ends);
      host(ends.Get(0), edges.nodes.Get(0), 0, i);
      flow(ends.Get(0), ends.Get(1), host(ends.Get(1), edges.nodes.Get(1), 1, i), i);
    }
    Simulator::Stop(Seconds(600));
    Simulator::Run();
    const auto device = DynamicCast<WeirNetDevice>(devices.Get(0));
    device->Finish();
    std::printf("%llu %llu %llu %llu %llu %llu\n", (unsigned long long)received, (unsigned long long)wrong,
                (unsigned long long)edges.made.frames, (unsigned long long)cuts, (unsigned long long)drops,
                (unsigned long long)device->GetTotals().compared);
    Simulator::Destroy();
    return wrong == 0 && received == total * flows ? 0 : 1;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "edge_tcp: %s\n", e.what());
    return 1;
  }
}

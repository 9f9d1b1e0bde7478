#include "edges.h"

#include "links.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"

using namespace ns3;

namespace weirsim {

std::string Made::json() const {
  return "{\"jumbo_frames\": " + std::to_string(frames) + ", \"jumbo_packets\": " + std::to_string(packets) +
         ", \"packets_alone\": " + std::to_string(alone) + "}";
}

Edges::Edges(const NodeContainer &routers, const EdgeLimits &limits, double rate) {
  nodes.Create(2);
  InternetStackHelper().Install(nodes);
  Ipv4AddressHelper addresses("10.0.1.0", "255.255.255.252");
  const Ipv4Mask mask("255.255.0.0");
  const Ipv4Address hosts[] = {Ipv4Address("10.1.0.0"), Ipv4Address("10.2.0.0")};
  for (uint32_t side = 0; side < 2; ++side) {
    const auto devices = InstallEdge(nodes.Get(side), routers.Get(side), limits, rate, Seconds(0));
    const auto interfaces = addresses.Assign(devices);
    addresses.NewNetwork();
    route(nodes.Get(side), hosts[1 - side], interfaces.GetAddress(1), interfaces.Get(0).second);
    route(routers.Get(side), hosts[side], interfaces.GetAddress(0), interfaces.Get(1).second);
    const auto device = DynamicCast<EdgeNetDevice>(devices.Get(0));
    device->AddClass(hosts[1 - side], mask);
    if (side == 0)
      device->TraceConnectWithoutContext("Made", Callback<void, Ptr<const Packet>, uint32_t>([this](Ptr<const Packet>, uint32_t n) {
                                           n > 1 ? (++made.frames, made.packets += n) : ++made.alone;
                                         }));
  }
}

}  // namespace weirsim

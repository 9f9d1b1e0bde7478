#include "links.h"

#include <cmath>
#include <cstdio>

#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-static-routing-helper.h"
#include "ns3/ipv4.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/string.h"
#include "ns3/traffic-control-layer.h"

using namespace ns3;

namespace weirsim {

Ptr<QueueDisc> installDisc(Ptr<PointToPointNetDevice> device, const Disc &disc) {
  device->GetQueue()->SetAttribute("MaxSize", StringValue("1p"));
  if (!device->GetObject<NetDeviceQueueInterface>()) {
    const auto interface = CreateObject<NetDeviceQueueInterface>();
    interface->GetTxQueue(0)->ConnectQueueTraces(device->GetQueue());
    device->AggregateObject(interface);
  }
  ObjectFactory factory(disc.type);
  for (const auto &[name, value] : disc.attributes) factory.Set(name, StringValue(value));
  const auto made = factory.Create<QueueDisc>();
  device->GetNode()->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(device, made);
  return made;
}

void route(Ptr<Node> node, Ipv4Address network, Ipv4Address next, uint32_t interface) {
  Ipv4StaticRoutingHelper helper;
  helper.GetStaticRouting(node->GetObject<Ipv4>())->AddNetworkRouteTo(network, Ipv4Mask("255.255.0.0"), next, interface);
}

Ipv4Address access(Ptr<Node> host, Ptr<Node> router, uint32_t side, uint32_t index, double rate, double delay) {
  PointToPointHelper link;
  link.DisableFlowControl();  // no queue disc: nothing but the bottleneck drops
  link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
  link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(std::llround(rate)))));
  link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
  const auto devices = link.Install(host, router);
  char base[32];
  std::snprintf(base, sizeof base, "10.%u.%u.%u", side + 1, index / 64, index % 64 * 4);
  Ipv4AddressHelper addresses(Ipv4Address(base), "255.255.255.252");
  const auto interfaces = addresses.Assign(devices);
  Ipv4StaticRoutingHelper helper;
  helper.GetStaticRouting(host->GetObject<Ipv4>())->SetDefaultRoute(interfaces.GetAddress(1), interfaces.Get(0).second);
  return interfaces.GetAddress(0);
}

}  // namespace weirsim

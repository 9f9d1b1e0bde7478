// Two routers whose link merges the packets of a flow that wait into jumbo frames, and splits them at the other end, both ways in the RTL.

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "ns3/boolean.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/callback.h"
#include "ns3/config.h"
#include "ns3/global-value.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"
#include "weir/weir-net-device.h"

using namespace ns3;

int main(int count, char **words) try {
  if (count > 1) throw std::runtime_error("takes no parameters, not '" + std::string(words[1]) + "'");
  GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1000));
  NodeContainer routers(2), sources(2), sinks(2);
  InternetStackHelper().Install(NodeContainer(routers, sources, sinks));

  weirsim::Setup queue;
  queue.rate = 10e6;
  queue.settings = {{"unit", "packets"}, {"limit", "40"}};
  queue.merge = true;
  queue.core = "network-jumbo";
  const auto link = weirsim::WeirHelper(queue).InstallBoth(routers.Get(0), routers.Get(1), MilliSeconds(5));
  uint64_t frames = 0, inside = 0;
  for (uint32_t end = 0; end < 2; ++end)
    link.Get(end)->TraceConnectWithoutContext("Jumbo", Callback<void, Ptr<const Packet>, uint32_t>([&](Ptr<const Packet>, uint32_t packets) {
                                                ++frames, inside += packets;
                                              }));

  PointToPointHelper access;
  access.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
  Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
  addresses.Assign(link);
  ApplicationContainer received;
  for (uint32_t i = 0; i < 2; ++i) {  // a flow each way
    addresses.NewNetwork();
    addresses.Assign(access.Install(sources.Get(i), routers.Get(i)));
    addresses.NewNetwork();
    const auto last = addresses.Assign(access.Install(routers.Get(1 - i), sinks.Get(i)));
    const InetSocketAddress to(last.GetAddress(1), 5001);
    received.Add(PacketSinkHelper("ns3::TcpSocketFactory", to).Install(sinks.Get(i)));
    BulkSendHelper sender("ns3::TcpSocketFactory", to);
    sender.SetAttribute("MaxBytes", UintegerValue(500000));
    sender.Install(sources.Get(i));
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();

  Simulator::Stop(Seconds(5));
  Simulator::Run();
  uint64_t bytes = 0, decisions = 0, split = 0;
  for (uint32_t i = 0; i < 2; ++i) {
    const auto device = DynamicCast<weirsim::WeirNetDevice>(link.Get(i));
    device->Finish();
    decisions += device->GetTotals().compared, split += device->GetSplitTotals().compared;
    bytes += DynamicCast<PacketSink>(received.Get(i))->GetTotalRx();
  }
  std::printf("%llu bytes received; %llu jumbo frames of %llu packets; %llu decisions and %llu frames out of splits agree with the golden model\n",
              (unsigned long long)bytes, (unsigned long long)frames, (unsigned long long)inside, (unsigned long long)decisions,
              (unsigned long long)split);
  Simulator::Destroy();
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "merge: %s\n", e.what());
  return 1;
}

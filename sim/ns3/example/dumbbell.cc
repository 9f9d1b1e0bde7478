// The smallest program with a Weir queue: four TCP sources share a link of 10 Mb/s whose queue is RED with ECN, in the RTL.

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "ns3/bulk-send-helper.h"
#include "ns3/config.h"
#include "ns3/global-value.h"
#include "ns3/boolean.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "weir/weir-net-device.h"

using namespace ns3;

int main(int count, char **words) try {
  if (count > 1) throw std::runtime_error("takes no parameters, not '" + std::string(words[1]) + "'");
  GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));  // so that a frame the core damaged would be noticed
  Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
  NodeContainer routers(2), sources(4), sink(1);
  InternetStackHelper().Install(NodeContainer(routers, sources, sink));

  weirsim::Setup queue;
  queue.rate = 10e6;
  queue.policy = "red";
  queue.settings = {{"limit", "100KB"}, {"min", "10KB"}, {"max", "30KB"}, {"probability", "0.1"}, {"ecn", "on"}};
  weirsim::WeirHelper weir(queue);
  const auto bottleneck = weir.Install(routers.Get(0), routers.Get(1), MilliSeconds(10));

  PointToPointHelper access;
  access.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
  access.SetChannelAttribute("Delay", StringValue("1ms"));
  Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
  addresses.Assign(bottleneck);
  for (uint32_t i = 0; i < sources.GetN(); ++i) {
    addresses.NewNetwork();
    addresses.Assign(access.Install(sources.Get(i), routers.Get(0)));
  }
  addresses.NewNetwork();
  const auto last = addresses.Assign(access.Install(routers.Get(1), sink.Get(0)));
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();

  const InetSocketAddress to(last.GetAddress(1), 5001);
  PacketSinkHelper("ns3::TcpSocketFactory", to).Install(sink);
  BulkSendHelper("ns3::TcpSocketFactory", to).Install(sources);

  Simulator::Stop(Seconds(3));
  Simulator::Run();
  const auto device = DynamicCast<weirsim::WeirNetDevice>(bottleneck.Get(0));
  device->Finish();
  const weirsim::Totals t = device->GetTotals();
  std::printf("%llu packets arrived, %llu left; %llu decisions of the RTL agree with the golden model\n",
              (unsigned long long)t.arrivals, (unsigned long long)t.departures, (unsigned long long)t.compared);
  Simulator::Destroy();
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "dumbbell: %s\n", e.what());
  return 1;
}

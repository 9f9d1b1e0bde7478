// A link with a queue at each end (WeirHelper::InstallBoth), a flow of TCP each way: what each end did.
//
//   both_check KIND POLICY MERGE STRETCH DELAY_US    rtl or golden; a policy of the core network-jumbo; on or off
//
// "END arrivals departures hash jumbo_frames packets_in_them split_frames" for each end, "received BYTES BYTES"; 300,000 bytes are sent each way.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "../weir/weir-net-device.h"
#include "ns3/boolean.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/callback.h"
#include "ns3/global-value.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

using namespace ns3;

int main(int count, char **words) try {
  if (count != 6) {
    std::fprintf(stderr, "both_check: KIND POLICY MERGE STRETCH DELAY_US\n");
    return 2;
  }
  GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
  weirsim::Setup queue;
  queue.policy = words[2], queue.merge = words[3] == std::string("on"), queue.stretch = static_cast<unsigned>(std::atoi(words[4]));
  queue.rate = 2e6 * queue.stretch, queue.core = "network-jumbo", queue.tick = 16;
  queue.settings = {{"unit", "packets"}, {"limit", "30"}};
  if (queue.policy == "red") queue.settings.insert(queue.settings.end(), {{"min", "3"}, {"max", "9"}, {"weight", "0.05"}, {"probability", "0.2"}});
  using Kind = weirsim::WeirHelper::Kind;
  NodeContainer nodes(2);
  InternetStackHelper().Install(nodes);
  const auto link = weirsim::WeirHelper(queue, words[1] == std::string("rtl") ? Kind::checkedRtl : Kind::golden)
                        .InstallBoth(nodes.Get(0), nodes.Get(1), MicroSeconds(std::strtoul(words[5], nullptr, 10)));
  uint64_t frames[2] = {}, inside[2] = {};
  ApplicationContainer sinks;
  Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
  const auto interfaces = addresses.Assign(link);
  for (uint32_t end = 0; end < 2; ++end) {
    link.Get(end)->TraceConnectWithoutContext("Jumbo", Callback<void, Ptr<const Packet>, uint32_t>([&, end](Ptr<const Packet>, uint32_t packets) {
                                                ++frames[end], inside[end] += packets;
                                              }));
    const InetSocketAddress to(interfaces.GetAddress(1 - end), 5001);
    sinks.Add(PacketSinkHelper("ns3::TcpSocketFactory", to).Install(nodes.Get(1 - end)));
    BulkSendHelper sender("ns3::TcpSocketFactory", to);
    sender.SetAttribute("MaxBytes", UintegerValue(300000));
    sender.Install(nodes.Get(end));
  }
  Simulator::Stop(Seconds(10));
  Simulator::Run();
  for (uint32_t end = 0; end < 2; ++end) {
    const auto device = DynamicCast<weirsim::WeirNetDevice>(link.Get(end));
    device->Finish();
    const weirsim::Totals t = device->GetTotals(), s = device->GetSplitTotals();
    std::printf("%u %llu %llu %016llx%016llx %llu %llu %llu\n", end, (unsigned long long)t.arrivals, (unsigned long long)t.departures,
                (unsigned long long)t.arrivalHash, (unsigned long long)t.departureHash, (unsigned long long)frames[end],
                (unsigned long long)inside[end], (unsigned long long)s.compared);
  }
  std::printf("received %llu %llu\n", (unsigned long long)DynamicCast<PacketSink>(sinks.Get(0))->GetTotalRx(),
              (unsigned long long)DynamicCast<PacketSink>(sinks.Get(1))->GetTotalRx());
  Simulator::Destroy();
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "both_check: %s\n", e.what());
  return 1;
}

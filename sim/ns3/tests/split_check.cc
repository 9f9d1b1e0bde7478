// Jumbo frames of UDP packets come down to a rack all at once, for its host 0: who finds a place.
//
//   split_check LIMIT COUNT…    the queue of the host's port, packets; packets of each frame
//
// "received dropped whole": packets that the host had, that were dropped, and of these the packets of whole jumbo frames.

#include <cstdio>
#include <cstdlib>

#include "../experiments/tree.h"
#include "../golden/jumbo.h"
#include "../weir/frames.h"
#include "ns3/global-value.h"
#include "ns3/boolean.h"
#include "ns3/ipv4-header.h"
#include "ns3/ppp-header.h"
#include "ns3/simulator.h"
#include "ns3/udp-header.h"

using namespace ns3;
using namespace weirsim;

namespace {

golden::Bytes udp(Ipv4Address to) {
  const auto packet = Create<Packet>(700);
  UdpHeader ports;
  ports.SetSourcePort(1), ports.SetDestinationPort(2);
  packet->AddHeader(ports);
  Ipv4Header ip;
  ip.EnableChecksum();
  ip.SetSource("10.3.0.1"), ip.SetDestination(to), ip.SetProtocol(17), ip.SetTtl(64), ip.SetPayloadSize(packet->GetSize());
  packet->AddHeader(ip);
  golden::Bytes frame(golden::ethernetBytes + packet->GetSize());
  frame[12] = 8;
  packet->CopyData(frame.data() + golden::ethernetBytes, packet->GetSize());
  return frame;
}

void comesDown(Ptr<WeirNetDevice> device, const golden::Bytes &frame, uint32_t count) {
  const auto packet = PacketOf(golden::buildJumbo(std::vector<const golden::Bytes *>(count, &frame), std::vector<uint64_t>(count, 0), 12, 0));
  PppHeader ppp;
  ppp.SetProtocol(0x0021);
  packet->AddHeader(ppp);
  device->Receive(packet);
}

}  // namespace

int main(int count, char **words) {
  GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
  TreeConfig config;
  config.hosts = 2, config.limit = static_cast<uint32_t>(std::atoi(words[1])), config.merge = true;
  Tree tree(config);
  uint64_t received = 0;
  tree.hosts[0]->GetDevice(0)->TraceConnectWithoutContext("MacRx", Callback<void, Ptr<const Packet>>([&received](Ptr<const Packet>) { ++received; }));
  const auto frame = udp(tree.addresses[0]);
  Simulator::Schedule(MilliSeconds(1), [&] {
    for (int n = 2; n < count; ++n) comesDown(tree.uplinks[0], frame, static_cast<uint32_t>(std::atoi(words[n])));
  });
  Simulator::Stop(Seconds(1));
  Simulator::Run();
  std::printf("%llu %llu %llu\n", (unsigned long long)received, (unsigned long long)tree.drops().host, (unsigned long long)tree.drops().split);
  Simulator::Destroy();
}

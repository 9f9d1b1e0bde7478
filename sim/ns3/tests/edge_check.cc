// Two edges of a domain, one link apart: packets go in at the first, as read from standard input, and come out at the second.
//
//   edge_check BYTES COUNT TICK TIMER_NS shape|plain PREFIX…
//
// PREFIX: a class, leading bits of the destination, as 10.2.0.0/16. A line of input: when, in ns, and a frame in hexadecimal, IPv4 or
// IPv6, with any addresses in its Ethernet header. Prints, as it happens, `link NS PACKETS PACKET` and `out NS PACKET`, without Ethernet headers.

#include <cstdio>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "../weir/edge-net-device.h"
#include "../weir/frames.h"
#include "ns3/simulator.h"

using namespace ns3;
using namespace weirsim;

namespace {

void print(const char *what, uint32_t packets, Ptr<const Packet> packet) {
  std::vector<uint8_t> bytes(packet->GetSize());
  packet->CopyData(bytes.data(), packet->GetSize());
  std::printf("%s %lld ", what, static_cast<long long>(Simulator::Now().GetNanoSeconds()));
  if (packets) std::printf("%u ", packets);
  for (uint8_t byte : bytes) std::printf("%02x", byte);
  std::printf("\n");
}

}  // namespace

int main(int count, char **words) {
  if (count < 6) {
    std::fprintf(stderr, "edge_check: BYTES COUNT TICK TIMER_NS shape|plain PREFIX...\n");
    return 2;
  }
  try {
    EdgeLimits limits;
    limits.bytes = static_cast<uint32_t>(std::stoul(words[1])), limits.count = static_cast<uint32_t>(std::stoul(words[2]));
    limits.tick = static_cast<unsigned>(std::stoul(words[3])), limits.timer = NanoSeconds(std::stoll(words[4]));
    limits.shape = std::string(words[5]) == "shape";
    const auto near = CreateObject<Node>(), far = CreateObject<Node>();
    const auto devices = InstallEdge(near, far, limits, 1e15, Time(0));
    const auto edge = DynamicCast<EdgeNetDevice>(devices.Get(0));
    for (int i = 6; i < count; ++i) {
      const std::string text = words[i];
      edge->AddClass(Ipv4Address(text.substr(0, text.find('/')).c_str()), Ipv4Mask(text.substr(text.find('/')).c_str()));
    }
    // the far edge: a device of its own, to which the link's end gives what comes
    const auto outer = InstallEdge(CreateObject<Node>(), CreateObject<Node>(), limits, 1e15, Time(0));
    const auto splits = DynamicCast<EdgeNetDevice>(outer.Get(0));
    splits->SetReceiveCallback([](Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address &) {
      print("out", 0, packet);
      return true;
    });
    edge->TraceConnectWithoutContext("Made", Callback<void, Ptr<const Packet>, uint32_t>([](Ptr<const Packet> packet, uint32_t n) {
                                       print("link", n, packet);
                                     }));
    devices.Get(1)->SetReceiveCallback([&outer](Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t protocol, const Address &to) {
      return outer.Get(1)->Send(packet->Copy(), to, protocol);
    });
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream in(line);
      int64_t ns;
      std::string hex;
      in >> ns >> hex;
      std::vector<uint8_t> frame;
      for (size_t i = 0; i + 1 < hex.size(); i += 2) frame.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
      const uint16_t protocol = static_cast<uint16_t>(frame.at(12) << 8 | frame.at(13));
      Simulator::Schedule(NanoSeconds(ns), [edge, frame, protocol] { edge->Send(PacketOf(frame), edge->GetBroadcast(), protocol); });
    }
    Simulator::Run();
    Simulator::Destroy();
    return 0;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "edge_check: %s\n", e.what());
    return 1;
  }
}

// One TCP connection over a link that loses chosen segments: prints what the sender sends and its window.
//
//   tcp_trace VARIANT WINDOW LOST[,LOST]… [SEGMENTS [MARKED[,MARKED]…]]    segments of 1000 bytes, counted from 1; 40
//
// A segment that is named twice in LOST is lost the second time too.
// With MARKED both ends have ECN, and each of these segments is marked (CE) the first time it comes.
//
// "ms send N": segment N goes out; "ms cwr N": it says that the window was reduced; "ms cwnd C", "ms threshold T": window and threshold, in segments, when they change.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <set>
#include <sstream>

#include "../tcp/tcp-classic.h"
#include "ns3/boolean.h"
#include "ns3/bulk-send-application.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/config.h"
#include "ns3/error-model.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-header.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/pointer.h"
#include "ns3/ppp-header.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-header.h"
#include "ns3/uinteger.h"

using namespace ns3;

namespace {

constexpr uint32_t segment = 1000;

long now() { return Simulator::Now().GetMilliSeconds(); }

/// The number of the data segment that a PPP frame carries, 0 if none; and its header.
uint32_t numberOf(Ptr<const Packet> frame, TcpHeader &tcp) {
  const auto p = frame->Copy();
  PppHeader ppp;
  Ipv4Header ip;
  p->RemoveHeader(ppp), p->RemoveHeader(ip), p->RemoveHeader(tcp);
  return p->GetSize() ? (tcp.GetSequenceNumber().GetValue() - 1) / segment + 1 : 0;
}

void Mark(Ptr<Packet> frame) {
  PppHeader ppp;
  Ipv4Header ip;
  frame->RemoveHeader(ppp), frame->RemoveHeader(ip);
  ip.SetEcn(Ipv4Header::ECN_CE);
  frame->AddHeader(ip), frame->AddHeader(ppp);
}

std::multiset<uint32_t> numbers(const char *words) {
  std::multiset<uint32_t> found;
  std::stringstream list(words);
  for (std::string n; std::getline(list, n, ',');) found.insert(std::strtoul(n.c_str(), nullptr, 10));
  return found;
}

/// Loses each segment as often as it is among the lost, and marks it as often as among the marked.
class LoseNamed : public ErrorModel {
 public:
  std::multiset<uint32_t> lost, marked;

 private:
  bool DoCorrupt(Ptr<Packet> p) override {
    TcpHeader tcp;
    const uint32_t number = numberOf(p, tcp);
    if (Take(marked, number)) Mark(p);
    return Take(lost, number);
  }
  void DoReset() override {}
  static bool Take(std::multiset<uint32_t> &from, uint32_t number) {
    const auto found = from.find(number);
    if (found == from.end()) return false;
    from.erase(found);
    return true;
  }
};

void Sent(Ptr<const Packet> p) {
  TcpHeader tcp;
  const uint32_t n = numberOf(p, tcp);
  if (n) std::printf("%ld send %u\n", now(), n);
  if (n && tcp.GetFlags() & TcpHeader::CWR) std::printf("%ld cwr %u\n", now(), n);
}
void Window(uint32_t, uint32_t w) { std::printf("%ld cwnd %g\n", now(), w / double(segment)); }
void Threshold(uint32_t, uint32_t t) { std::printf("%ld threshold %g\n", now(), t / double(segment)); }

}  // namespace

int main(int count, char **words) try {
  if (count < 4 || count > 6) {
    std::fprintf(stderr, "tcp_trace: VARIANT WINDOW LOST[,LOST]... [SEGMENTS [MARKED[,MARKED]...]]\n");
    return 2;
  }
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(std::atoi(words[2]) * segment));
  Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(false));
  if (count == 6) Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue("On"));
  NodeContainer nodes(2);
  InternetStackHelper().Install(nodes);
  PointToPointHelper link;
  link.DisableFlowControl();
  link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
  link.SetChannelAttribute("Delay", StringValue("50ms"));
  const auto devices = link.Install(nodes);
  Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
  const auto interfaces = addresses.Assign(devices);
  const auto model = CreateObject<LoseNamed>();
  model->lost = numbers(words[3]);
  if (count == 6) model->marked = numbers(words[5]);
  devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(model));
  const TypeId type = weirsim::InstallTcp(nodes.Get(0), words[1]);
  weirsim::InstallTcp(nodes.Get(1), words[1]);
  const InetSocketAddress to(interfaces.GetAddress(1), 5001);
  PacketSinkHelper(type.GetName(), to).Install(nodes.Get(1));
  BulkSendHelper sender(type.GetName(), to);
  sender.SetAttribute("MaxBytes", UintegerValue((count > 4 ? std::atoi(words[4]) : 40) * segment));
  sender.SetAttribute("SendSize", UintegerValue(segment));
  const auto application = sender.Install(nodes.Get(0)).Get(0);
  devices.Get(0)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Sent));
  Simulator::Schedule(MilliSeconds(1), +[](Ptr<Application> a) {
    const auto socket = DynamicCast<BulkSendApplication>(a)->GetSocket();
    socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Window));
    socket->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&Threshold));
  }, application);
  Simulator::Stop(Seconds(20));
  Simulator::Run();
  Simulator::Destroy();
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "tcp_trace: %s\n", e.what());
  return 1;
}

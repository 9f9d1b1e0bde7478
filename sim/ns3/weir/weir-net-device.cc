#include "weir-net-device.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "ns3/drop-tail-queue.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv6-header.h"
#include "ns3/mac48-address.h"
#include "ns3/packet.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/ppp-header.h"
#include "ns3/simulator.h"

using namespace ns3;

namespace weirsim {

namespace {

constexpr uint16_t ipv4 = 0x0800, ipv6 = 0x86DD;
constexpr uint32_t headerBytes = 14, leastFrame = 60;

uint64_t NowNs() { return static_cast<uint64_t>(Simulator::Now().GetNanoSeconds()); }

/// An Ethernet frame without its header, as ns-3's packets are.
Ptr<Packet> PacketOf(const std::vector<uint8_t> &frame) {
  return Create<Packet>(frame.data() + headerBytes, static_cast<uint32_t>(frame.size()) - headerBytes);
}

}  // namespace

NS_OBJECT_ENSURE_REGISTERED(WeirNetDevice);

TypeId WeirNetDevice::GetTypeId() {
  static TypeId tid =
      TypeId("weirsim::WeirNetDevice")
          .SetParent<PointToPointNetDevice>()
          .AddConstructor<WeirNetDevice>()
          .AddTraceSource("Record", "A trace record of the queue", MakeTraceSourceAccessor(&WeirNetDevice::m_records),
                          "weirsim::WeirNetDevice::RecordCallback")
          .AddTraceSource("Drop", "A packet that the queue drops", MakeTraceSourceAccessor(&WeirNetDevice::m_drops),
                          "ns3::Packet::TracedCallback")
          .AddTraceSource("Jumbo", "A jumbo frame that leaves, and how many packets it carries",
                          MakeTraceSourceAccessor(&WeirNetDevice::m_jumbo), "weirsim::WeirNetDevice::JumboCallback");
  return tid;
}

WeirNetDevice::~WeirNetDevice() = default;

void WeirNetDevice::SetBottleneck(std::unique_ptr<Bottleneck> bottleneck, const Setup &setup) {
  m_bottleneck = std::move(bottleneck);
  m_nsPerByte = 8e9 / setup.rate;
  m_stretch = setup.stretch;
  m_overhead = setup.overhead;
  m_bottleneck->onRecord = [this](const Record &record) { Forget(record); };
}

uint64_t WeirNetDevice::QueueNs() const { return NowNs() * m_stretch; }

void WeirNetDevice::SetSplitter(std::unique_ptr<Splitter> splitter, unsigned stretch, Time latency) {
  m_splitter = std::move(splitter), m_splitStretch = stretch, m_splitLatency = latency;
}

void WeirNetDevice::SetReceiveCallback(NetDevice::ReceiveCallback callback) {
  m_up = callback;
  PointToPointNetDevice::SetReceiveCallback(MakeCallback(&WeirNetDevice::Split, this));
}

bool WeirNetDevice::Split(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t protocol, const Address &from) {
  if (!m_splitter || protocol != ipv4) return m_up(device, packet, protocol, from);
  FrameOf(packet, protocol);
  m_splitter->send(m_frame.data(), static_cast<uint32_t>(m_frame.size()), NowNs() * m_splitStretch);
  Simulator::Schedule(m_splitLatency, &WeirNetDevice::GiveUp, this, packet, protocol, from);
  return true;
}

void WeirNetDevice::GiveUp(Ptr<const Packet> packet, uint16_t protocol, Address from) {
  const auto frames = m_splitter->take(NowNs() * m_splitStretch);
  const bool whole = frames.size() == 1 && frames[0].size() == headerBytes + packet->GetSize();
  if (whole) {
    m_up(this, packet, protocol, from);
    return;
  }
  for (const auto &frame : frames) m_up(this, PacketOf(frame), protocol, from);
}

/// What leaves the queue now is felt at the other end a propagation delay later at the earliest. So the queue may lag
/// behind the simulator by that much: it is run once in that time, and not at all while it holds nothing.
void WeirNetDevice::ScheduleWake() {
  if (m_lookahead == 0) {
    TimeValue delay;
    GetChannel()->GetAttribute("Delay", delay);
    const double least = std::max<double>(1, (int{leastFrame} + m_overhead) * m_nsPerByte - leastFrame);
    m_lookahead = static_cast<uint64_t>(std::max<double>(delay.Get().GetNanoSeconds(), least));
  }
  m_wake = Simulator::Schedule(NanoSeconds(m_lookahead), &WeirNetDevice::Wake, this);
}

bool WeirNetDevice::Send(Ptr<Packet> packet, const Address &, uint16_t protocol) {
  if (!m_bottleneck) throw std::logic_error("WeirNetDevice: SetBottleneck comes before the first packet");
  if (!IsLinkUp() || (protocol != ipv4 && protocol != ipv6)) return false;
  FrameOf(packet, protocol);
  m_bottleneck->send(m_frame.data(), static_cast<uint32_t>(m_frame.size()), QueueNs());
  m_waiting.emplace_hint(m_waiting.end(), m_sent++, Waiting{packet, protocol});
  if (!m_wake.IsPending()) ScheduleWake();
  return true;
}

void WeirNetDevice::FrameOf(Ptr<const Packet> packet, uint16_t protocol) {
  m_frame.resize(headerBytes + packet->GetSize());
  const auto channel = DynamicCast<PointToPointChannel>(GetChannel());
  const auto peer = channel->GetPointToPointDevice(channel->GetPointToPointDevice(0) == this ? 1 : 0);
  Mac48Address::ConvertFrom(peer->GetAddress()).CopyTo(m_frame.data());
  Mac48Address::ConvertFrom(GetAddress()).CopyTo(m_frame.data() + 6);
  m_frame[12] = protocol >> 8, m_frame[13] = protocol & 0xFF;
  packet->CopyData(m_frame.data() + headerBytes, packet->GetSize());
}

void WeirNetDevice::Wake() {
  m_bottleneck->runUntil(QueueNs());
  for (const Departure &departure : m_bottleneck->take()) Deliver(departure);
  if (m_bottleneck->held()) ScheduleWake();
}

void WeirNetDevice::Finish() {
  m_bottleneck->runUntil(QueueNs());
  m_bottleneck->finish();
  if (m_splitter) m_splitter->finish();
  m_wake.Cancel();
}

void WeirNetDevice::Forget(const Record &record) {
  m_records(record);
  if ((record[1] >> 22 & 3) != 2) return;
  const auto at = m_waiting.find(record[11]);
  if (at == m_waiting.end()) throw std::runtime_error("the queue drops a packet that it does not hold");
  m_drops(at->second.packet);
  m_waiting.erase(at);
}

void WeirNetDevice::Deliver(const Departure &departure) {
  Waiting first;
  for (uint64_t number : departure.members) {
    const auto at = m_waiting.find(number);
    if (at == m_waiting.end()) throw std::runtime_error("the queue sends a packet that it does not hold");
    if (number == departure.members.front()) first = at->second;
    m_waiting.erase(at);
  }
  const bool jumbo = departure.members.size() > 1;
  const Ptr<Packet> packet = jumbo ? PacketOf(departure.bytes) : first.packet;
  const uint32_t length = headerBytes + packet->GetSize();
  if (departure.marked) Mark(packet);
  if (!jumbo && !departure.bytes.empty()) SameBytes(packet, departure);
  if (jumbo) m_jumbo(packet, static_cast<uint32_t>(departure.members.size()));
  const uint64_t start = std::max(departure.firstNs / m_stretch, m_linkFree);
  m_linkFree = start + static_cast<uint64_t>(std::llround((int{static_cast<int>(length)} + m_overhead) * m_nsPerByte));
  PppHeader ppp;
  ppp.SetProtocol(first.protocol == ipv4 ? 0x0021 : 0x0057);
  packet->AddHeader(ppp);
  const Time end = NanoSeconds(m_linkFree) - Simulator::Now();  // may be past: the channel's delay comes on top
  DynamicCast<PointToPointChannel>(GetChannel())->TransmitStart(packet, this, end);
}

void WeirNetDevice::Mark(Ptr<Packet> packet) const {
  uint8_t first;
  packet->CopyData(&first, 1);
  if (first >> 4 == 4) {
    Ipv4Header header;
    if (Node::ChecksumEnabled()) header.EnableChecksum();
    packet->RemoveHeader(header);
    header.SetEcn(Ipv4Header::ECN_CE);
    packet->AddHeader(header);
  } else {
    Ipv6Header header;
    packet->RemoveHeader(header);
    header.SetEcn(Ipv6Header::ECN_CE);
    packet->AddHeader(header);
  }
}

/// What the core sent is the packet, byte for byte; without ns-3's checksums that of the IPv4 header is not compared.
void WeirNetDevice::SameBytes(Ptr<const Packet> packet, const Departure &departure) const {
  std::vector<uint8_t> expected(packet->GetSize());
  packet->CopyData(expected.data(), packet->GetSize());
  bool same = departure.bytes.size() == headerBytes + expected.size();
  for (size_t i = 0; same && i < expected.size(); ++i) {
    const bool checksum = !Node::ChecksumEnabled() && expected[0] >> 4 == 4 && (i == 10 || i == 11);
    same = checksum || departure.bytes[headerBytes + i] == expected[i];
  }
  if (!same) throw std::runtime_error("packet " + std::to_string(departure.members[0]) + " left the queue with other bytes");
}

NetDeviceContainer WeirHelper::Install(Ptr<Node> near, Ptr<Node> far, Time delay) const {
  auto bottleneck = m_kind == Kind::golden ? makeGolden(m_setup) : makeRtl(m_setup, m_kind == Kind::checkedRtl);
  const auto channel = CreateObject<PointToPointChannel>();
  channel->SetAttribute("Delay", TimeValue(delay));
  const auto device = CreateObject<WeirNetDevice>();
  const auto peer = CreateObject<PointToPointNetDevice>();
  NetDeviceContainer devices;
  for (const auto &[d, node] : {std::pair<Ptr<PointToPointNetDevice>, Ptr<Node>>{device, near}, {peer, far}}) {
    d->SetAddress(Mac48Address::Allocate());
    d->SetDataRate(DataRate(static_cast<uint64_t>(m_setup.rate)));
    d->SetQueue(CreateObject<DropTailQueue<Packet>>());
    node->AddDevice(d);
    d->Attach(channel);
    devices.Add(d);
  }
  device->SetBottleneck(std::move(bottleneck), m_setup);
  return devices;
}

}  // namespace weirsim

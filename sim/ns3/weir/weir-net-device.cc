#include "weir-net-device.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../golden/jumbo.h"
#include "frames.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv6-header.h"
#include "ns3/mac48-address.h"
#include "ns3/packet.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/ppp-header.h"
#include "ns3/simulator.h"
#include "weir_trace.h"

using namespace ns3;

namespace weirsim {

namespace {

constexpr uint32_t leastFrame = 34;  ///< Ethernet and IPv4 headers
/// Times in a propagation delay that a queue hears how far it may go. Each costs a core at rest some ten cycles.
constexpr uint64_t reaches = 16;

uint64_t NowNs() { return static_cast<uint64_t>(Simulator::Now().GetNanoSeconds()); }

}  // namespace

NS_OBJECT_ENSURE_REGISTERED(WeirNetDevice);

TypeId WeirNetDevice::GetTypeId() {
  static TypeId tid =
      TypeId("weirsim::WeirNetDevice")
          .SetParent<PointToPointNetDevice>()
          .AddConstructor<WeirNetDevice>()
          .AddTraceSource("Record", "A trace record of the queue", MakeTraceSourceAccessor(&WeirNetDevice::m_records),
                          "weirsim::WeirNetDevice::RecordCallback")
          .AddTraceSource("Drop", "A packet, or a whole jumbo frame, that the queue drops", MakeTraceSourceAccessor(&WeirNetDevice::m_drops),
                          "ns3::Packet::TracedCallback")
          .AddTraceSource("Cut", "A jumbo frame that waits, as it came, and loses a packet",
                          MakeTraceSourceAccessor(&WeirNetDevice::m_cuts), "ns3::Packet::TracedCallback")
          .AddTraceSource("Jumbo", "A jumbo frame that leaves, and how many packets it carries",
                          MakeTraceSourceAccessor(&WeirNetDevice::m_jumbo), "weirsim::WeirNetDevice::JumboCallback");
  return tid;
}

WeirNetDevice::~WeirNetDevice() = default;

void WeirNetDevice::SetBottleneck(std::unique_ptr<Bottleneck> bottleneck, const Setup &setup) {
  m_bottleneck = std::move(bottleneck);
  m_nsPerByte = 8e9 / setup.rate;
  m_stretch = setup.stretch;
  m_overhead = setup.overhead, m_mpu = setup.mpu;
  m_transit = setup.transit;
  m_bottleneck->onRecord = [this](const Record &record) { Forget(record); };
}

double WeirNetDevice::LinkNs(uint32_t length) const {
  return std::max(0, std::max(static_cast<int>(length), m_mpu) + m_overhead) * m_nsPerByte;
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
  if (!m_splitter || protocol != ipv4Type) return m_up(device, packet, protocol, from);
  FrameOf(*this, packet, protocol, m_frame);
  m_splitter->send(m_frame.data(), static_cast<uint32_t>(m_frame.size()), NowNs() * m_splitStretch);
  Simulator::Schedule(m_splitLatency, &WeirNetDevice::GiveUp, this, packet, protocol, from);
  return true;
}

void WeirNetDevice::GiveUp(Ptr<const Packet> packet, uint16_t protocol, Address from) {
  const auto frames = m_splitter->take(NowNs() * m_splitStretch);
  const bool whole = frames.size() == 1 && frames[0].size() == frameHeaderBytes + packet->GetSize();
  if (whole) {
    m_up(this, packet, protocol, from);
    return;
  }
  std::vector<Ptr<Packet>> packets;
  for (const auto &frame : frames) packets.push_back(PacketOf(frame));
  if (m_room && !m_room(packets)) return;
  for (const auto &inner : packets) m_up(this, inner, protocol, from);
}

/// What leaves the queue now is felt at the other end a propagation delay later at the earliest. So the queue may lag
/// behind the simulator by that much: it is run once in that time, and not at all while it holds nothing. One that works beside the
/// simulator hears from time to time how far it may go.
void WeirNetDevice::ScheduleWake() {
  if (m_lookahead == 0) {
    TimeValue delay;
    GetChannel()->GetAttribute("Delay", delay);
    const double least = std::max<double>(1, LinkNs(leastFrame) - leastFrame);
    m_lookahead = static_cast<uint64_t>(std::max<double>(delay.Get().GetNanoSeconds(), least));
  }
  m_wake = Simulator::Schedule(NanoSeconds(m_lookahead), &WeirNetDevice::Wake, this);
  if (m_bottleneck->eager()) Reach();
}

void WeirNetDevice::Reach() {
  m_bottleneck->reach(QueueNs());
  const Time step = NanoSeconds(std::max<uint64_t>(1, m_lookahead / reaches));
  if (Simulator::GetDelayLeft(m_wake) > step) m_reach = Simulator::Schedule(step, &WeirNetDevice::Reach, this);
}

bool WeirNetDevice::Send(Ptr<Packet> packet, const Address &, uint16_t protocol) {
  if (!m_bottleneck) throw std::logic_error("WeirNetDevice: SetBottleneck comes before the first packet");
  if (!IsLinkUp() || (protocol != ipv4Type && protocol != ipv6Type)) return false;
  FrameOf(*this, packet, protocol, m_frame);
  m_bottleneck->send(m_frame.data(), static_cast<uint32_t>(m_frame.size()), QueueNs());
  m_waiting.emplace_hint(m_waiting.end(), m_sent++, Waiting{packet, protocol});
  if (!m_wake.IsPending()) ScheduleWake();
  return true;
}

void WeirNetDevice::Wake() {
  m_bottleneck->runUntil(QueueNs());
  for (const Departure &departure : m_bottleneck->take()) Deliver(departure);
  if (m_bottleneck->held()) ScheduleWake();
}

void WeirNetDevice::Finish() {
  m_bottleneck->runUntil(QueueNs());
  m_bottleneck->finish();
  const uint64_t out = m_bottleneck->take().size();  // too late to be sent
  if (m_transit && m_waiting.size() != m_bottleneck->held() + out)
    throw std::runtime_error("the device waits for " + std::to_string(m_waiting.size()) + " frames, the queue holds " +
                             std::to_string(m_bottleneck->held() + out));
  if (m_splitter) m_splitter->finish();
  m_wake.Cancel();
  m_reach.Cancel();
}

void WeirNetDevice::Forget(const Record &record) {
  m_records(record);
  const uint32_t *const words = record.data();
  const bool departure = weir_record_kind(words) != WEIR_RECORD_KIND_ARRIVAL;
  const bool dropped = weir_record_action(words) == WEIR_RECORD_ACTION_DROP;
  if (!dropped && !m_transit) return;
  const auto at = m_waiting.find(weir_record_number(words));
  if (at == m_waiting.end()) throw std::runtime_error("the queue drops or sends a packet that it does not hold");
  Waiting &waiting = at->second;
  if (departure && waiting.left > 0) {  // it has a record a packet
    if (dropped) m_cuts(waiting.packet);
    waiting.sent |= !dropped;
    if (--waiting.left == 0 && !waiting.sent) m_waiting.erase(at);
  } else if (dropped) {
    m_drops(waiting.packet);
    m_waiting.erase(at);
  } else if (!departure) {
    waiting.left = weir_record_members(words);
  }
}

void WeirNetDevice::Deliver(const Departure &departure) {
  Waiting first;
  for (uint64_t number : departure.members) {
    const auto at = m_waiting.find(number);
    if (at == m_waiting.end()) throw std::runtime_error("the queue sends a packet that it does not hold");
    if (number == departure.members.front()) first = at->second;
    m_waiting.erase(at);
  }
  const auto bytes = static_cast<uint32_t>(departure.bytes.size());
  const bool jumbo = departure.members.size() > 1 || (m_transit && golden::isJumbo(departure.bytes.data(), bytes));
  const Ptr<Packet> packet = jumbo ? PacketOf(departure.bytes) : first.packet;
  const uint32_t length = frameHeaderBytes + packet->GetSize();
  if (departure.marked) Mark(packet);
  if (!jumbo && !departure.bytes.empty()) SameBytes(packet, departure);
  if (jumbo) m_jumbo(packet, departure.packets);
  const uint64_t start = std::max(departure.firstNs / m_stretch, m_linkFree);
  m_linkFree = start + static_cast<uint64_t>(std::llround(LinkNs(length)));
  PppHeader ppp;
  ppp.SetProtocol(first.protocol == ipv4Type ? 0x0021 : 0x0057);
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
  bool same = departure.bytes.size() == frameHeaderBytes + expected.size();
  if (same) {
    const uint8_t *sent = departure.bytes.data() + frameHeaderBytes;
    if (expected.size() >= 20 && expected[0] >> 4 == 4 && !Node::ChecksumEnabled()) std::copy_n(sent + 10, 2, expected.data() + 10);
    same = std::equal(expected.begin(), expected.end(), sent);
  }
  if (!same) throw std::runtime_error("packet " + std::to_string(departure.members[0]) + " left the queue with other bytes");
}

Ptr<WeirNetDevice> WeirHelper::Queue(const Setup &setup) const {
  auto bottleneck = m_kind == Kind::golden ? makeGolden(setup) : makeRtl(setup, m_kind == Kind::checkedRtl);
  const auto device = CreateObject<WeirNetDevice>();
  device->SetBottleneck(std::move(bottleneck), setup);
  return device;
}

NetDeviceContainer WeirHelper::Connect(Ptr<PointToPointNetDevice> here, Ptr<Node> near, Ptr<PointToPointNetDevice> there, Ptr<Node> far, Time delay) const {
  const auto channel = CreateObject<PointToPointChannel>();
  channel->SetAttribute("Delay", TimeValue(delay));
  NetDeviceContainer devices;
  for (const auto &[d, node] : {std::pair{here, near}, {there, far}}) {
    d->SetAddress(Mac48Address::Allocate());
    d->SetDataRate(DataRate(static_cast<uint64_t>(m_setup.rate)));
    d->SetQueue(CreateObject<DropTailQueue<Packet>>());
    node->AddDevice(d);
    d->Attach(channel);
    devices.Add(d);
  }
  return devices;
}

NetDeviceContainer WeirHelper::Install(Ptr<Node> near, Ptr<Node> far, Time delay) const {
  return Connect(Queue(m_setup), near, CreateObject<PointToPointNetDevice>(), far, delay);
}

NetDeviceContainer WeirHelper::InstallBoth(Ptr<Node> a, Ptr<Node> b, Time delay) const {
  Setup other = m_setup;
  other.seed ^= 0x9E3779B97F4A7C15;  // of the source of random numbers, a shift register, that of a small seed is like that of twice it
  const auto devices = Connect(Queue(m_setup), a, Queue(other), b, delay);
  if (!m_setup.merge) return devices;
  for (uint32_t end = 0; end < 2; ++end) {
    auto splitter = m_kind == Kind::golden ? makeGoldenSplitter() : makeRtlSplitter(m_setup);
    const auto device = DynamicCast<WeirNetDevice>(devices.Get(end));
    device->SetSplitter(std::move(splitter), m_setup.stretch, MicroSeconds(100) / m_setup.stretch);
    device->SetMtu(jumboMtu);
  }
  return devices;
}

}  // namespace weirsim

#include "edge-net-device.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "../golden/arith.h"
#include "../golden/jumbo.h"
#include "frames.h"
#include "ns3/data-rate.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/mac48-address.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

using namespace ns3;

namespace weirsim {

namespace {

constexpr uint32_t mostBytes = 9216, mostSum = 8960, mostCount = 448;
constexpr uint64_t mostSpacing = 65535;  // ticks

uint64_t NowNs() { return static_cast<uint64_t>(Simulator::Now().GetNanoSeconds()); }
uint32_t Word(const uint8_t *at) { return uint32_t{at[0]} << 24 | at[1] << 16 | at[2] << 8 | at[3]; }

void Within(const char *name, double value, double least, double most) {
  if (value >= least && value <= most) return;
  const auto text = [](double v) { return std::to_string(static_cast<int64_t>(v)); };
  throw std::runtime_error("an edge's " + std::string(name) + " of " + text(value) + " must be " + text(least) + " to " + text(most));
}

}  // namespace

NS_OBJECT_ENSURE_REGISTERED(EdgeNetDevice);

TypeId EdgeNetDevice::GetTypeId() {
  static TypeId tid = TypeId("weirsim::EdgeNetDevice")
                          .SetParent<PointToPointNetDevice>()
                          .AddConstructor<EdgeNetDevice>()
                          .AddTraceSource("Made", "What goes to the core, and how many packets it carries",
                                          MakeTraceSourceAccessor(&EdgeNetDevice::m_made), "weirsim::EdgeNetDevice::MadeCallback");
  return tid;
}

void EdgeNetDevice::SetLimits(const EdgeLimits &limits) {
  Within("longest frame in bytes", limits.bytes, 64, mostBytes);
  Within("packets in a frame", limits.count, 1, mostCount);
  Within("tick", limits.tick, 0, 31);
  // the last packet of a group comes before its timer ends, so no spacing is longer
  Within("timer in ns", static_cast<double>(limits.timer.GetNanoSeconds()), 0, static_cast<double>(mostSpacing << limits.tick));
  m_limits = limits;
  SetMtu(static_cast<uint16_t>(limits.bytes - frameHeaderBytes));
}

size_t EdgeNetDevice::ClassOf(const Frame &frame) const {
  size_t which = 0;
  const Ipv4Address to(Word(frame.data() + frameHeaderBytes + 16));
  while (which < m_classes.size() && !m_classes[which].second.IsMatch(m_classes[which].first, to)) ++which;
  return which;
}

bool EdgeNetDevice::Fits(const Group &group, const Frame &frame, uint64_t ns) const {
  const auto count = static_cast<uint32_t>(group.frames.size()) + 1;
  const uint32_t sum = group.sum + static_cast<uint32_t>(frame.size()) - frameHeaderBytes;
  const bool sameDscp = (group.frames[0][15] ^ frame[15]) < 4;
  return sameDscp && count <= m_limits.count && sum <= mostSum && golden::jumboBytes(count, sum) <= m_limits.bytes &&
         (ns >> m_limits.tick) - (group.ns.back() >> m_limits.tick) <= mostSpacing;
}

bool EdgeNetDevice::Send(Ptr<Packet> packet, const Address &, uint16_t protocol) {
  if (protocol != ipv4Type) return Transmit(packet, protocol, 1);
  FrameOf(*this, packet, protocol, m_frame);
  const golden::PacketInfo info = golden::inspect(m_frame.data(), static_cast<uint32_t>(m_frame.size()));
  const size_t which = info.kind == golden::Kind::none ? m_classes.size() : ClassOf(m_frame);
  if (which == m_classes.size()) return Transmit(packet, protocol, 1);
  CloseDue();
  const auto at = m_open.find(which);
  const uint64_t ns = NowNs();
  const bool joins = info.kind == golden::Kind::joinable;
  if (at != m_open.end() && (!joins || !Fits(at->second, m_frame, ns))) Close(which);
  if (!joins || m_limits.count == 1 || m_limits.timer.IsZero()) return Transmit(packet, protocol, 1);
  Group &group = m_open[which];
  if (group.frames.empty()) {
    group.first = packet;
    group.timer = Simulator::Schedule(m_limits.timer, &EdgeNetDevice::Close, this, which);
  }
  group.frames.push_back(m_frame), group.ns.push_back(ns);
  group.sum += static_cast<uint32_t>(m_frame.size()) - frameHeaderBytes;
  return true;
}

/// A packet that comes as timers end comes too late, whichever event ns-3 takes first.
void EdgeNetDevice::CloseDue() {
  std::vector<std::pair<uint32_t, size_t>> due;  // in the order of their first packets
  for (const auto &[which, group] : m_open)
    if (NanoSeconds(group.ns[0]) + m_limits.timer <= Simulator::Now()) due.emplace_back(group.timer.GetUid(), which);
  std::sort(due.begin(), due.end());
  for (const auto &[uid, which] : due) Close(which);
}

void EdgeNetDevice::Close(size_t which) {
  const auto at = m_open.find(which);
  Group group = std::move(at->second);
  m_open.erase(at);
  group.timer.Cancel();
  const auto count = static_cast<uint32_t>(group.frames.size());
  if (count == 1) {
    Transmit(group.first, ipv4Type, 1);
    return;
  }
  std::vector<const Frame *> frames;
  for (const Frame &frame : group.frames) frames.push_back(&frame);
  Transmit(PacketOf(golden::buildJumbo(frames, group.ns, m_limits.tick, m_identification++)), ipv4Type, count);
}

bool EdgeNetDevice::Transmit(Ptr<Packet> packet, uint16_t protocol, uint32_t packets) {
  m_made(packet, packets);
  return PointToPointNetDevice::Send(packet, GetBroadcast(), protocol);
}

void EdgeNetDevice::SetReceiveCallback(NetDevice::ReceiveCallback callback) {
  m_up = callback;
  PointToPointNetDevice::SetReceiveCallback(MakeCallback(&EdgeNetDevice::Split, this));
}

bool EdgeNetDevice::Split(Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t protocol, const Address &from) {
  if (protocol != ipv4Type) return m_up(device, packet, protocol, from);
  Frame frame;
  FrameOf(*this, packet, protocol, frame);
  const auto length = static_cast<uint32_t>(frame.size());
  if (!golden::isJumbo(frame.data(), length)) {
    Release(packet, 0, from);
    return true;
  }
  const uint8_t *header = frame.data() + frameHeaderBytes + golden::outerBytes, *table = header + golden::jumboHeaderBytes;
  const std::vector<Frame> frames = golden::splitJumbo(frame.data(), length);
  const unsigned tick = header[5];
  const bool marked = (frame[15] & 3) == golden::ce;
  auto next = frames.begin();
  uint64_t ticks = 0;
  const uint8_t *entry = table;
  for (const golden::Inner &inner : golden::readJumbo(frame.data(), length)) {
    for (; entry <= frame.data() + inner.entry; entry += golden::entryBytes) ticks += entry[2] << 8 | entry[3];
    if (marked && !(frame[inner.at + 1] & 3)) continue;  // RFC 6040 drops it
    Release(PacketOf(*next++), m_limits.shape ? ticks << tick : 0, from);
  }
  return true;
}

/// Packets between two addresses stay in order, so that one that waits for its time holds up those that come behind it.
void EdgeNetDevice::Release(Ptr<const Packet> packet, uint64_t afterNs, const Address &from) {
  uint8_t header[golden::outerBytes];
  packet->CopyData(header, sizeof header);
  Time &last = m_lanes[uint64_t{Word(header + 12)} << 32 | Word(header + 16)];
  last = std::max(last, Simulator::Now() + NanoSeconds(afterNs));
  Simulator::Schedule(last - Simulator::Now(), [this, packet, from] { m_up(this, packet, ipv4Type, from); });
}

NetDeviceContainer InstallEdge(Ptr<Node> edge, Ptr<Node> core, const EdgeLimits &limits, double rate, Time delay) {
  const auto channel = CreateObject<PointToPointChannel>();
  channel->SetAttribute("Delay", TimeValue(delay));
  const auto device = CreateObject<EdgeNetDevice>();
  const auto peer = CreateObject<PointToPointNetDevice>();
  NetDeviceContainer devices;
  for (const auto &[d, node] : {std::pair<Ptr<PointToPointNetDevice>, Ptr<Node>>{device, edge}, {peer, core}}) {
    d->SetAddress(Mac48Address::Allocate());
    d->SetDataRate(DataRate(static_cast<uint64_t>(std::llround(rate))));
    d->SetQueue(CreateObjectWithAttributes<DropTailQueue<Packet>>("MaxSize", StringValue("100000p")));
    d->SetMtu(static_cast<uint16_t>(limits.bytes - frameHeaderBytes));
    node->AddDevice(d);
    d->Attach(channel);
    devices.Add(d);
  }
  device->SetLimits(limits);
  return devices;
}

}  // namespace weirsim

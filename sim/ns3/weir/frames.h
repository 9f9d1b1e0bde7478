// Packets of ns-3 as Ethernet frames, and back.

#pragma once

#include <cstdint>
#include <vector>

#include "ns3/packet.h"
#include "ns3/point-to-point-net-device.h"

namespace weirsim {

constexpr uint16_t ipv4Type = 0x0800, ipv6Type = 0x86DD;
constexpr uint32_t frameHeaderBytes = 14;
constexpr uint16_t jumboMtu = 9216 - frameHeaderBytes;

/// The Ethernet frame of a packet that `device` sends to its peer, without FCS.
void FrameOf(const ns3::PointToPointNetDevice &device, ns3::Ptr<const ns3::Packet> packet, uint16_t protocol,
             std::vector<uint8_t> &frame);
/// An Ethernet frame without its header, as ns-3's packets are.
ns3::Ptr<ns3::Packet> PacketOf(const std::vector<uint8_t> &frame);
/// How many packets an IPv4 packet carries: a jumbo frame the count of its header, any other 1.
uint32_t PacketsIn(ns3::Ptr<const ns3::Packet> packet);

}  // namespace weirsim

// The edge of a domain with jumbo frames (JumboGen, paper 000): `#include "weir/edge-net-device.h"`, docs/ns3.md.

#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ns3/event-id.h"
#include "ns3/ipv4-address.h"
#include "ns3/net-device-container.h"
#include "ns3/node.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/traced-callback.h"

namespace weirsim {

/// Of the jumbo frames that an edge makes (L3 form, docs/jumbo.md).
struct EdgeLimits {
  uint32_t bytes = 9216;   ///< of a jumbo frame, Ethernet header included, 64 to 9216
  uint32_t count = 448;    ///< packets of one, 1 (none is made) to 448
  unsigned tick = 10;      ///< log2 of the unit, ns, in which it tells its packets' spacing, 0 to 31
  ns3::Time timer = ns3::MilliSeconds(20);  ///< JFET: from a group's first packet until it leaves at the latest
  bool shape = true;       ///< packets leave the far edge as far apart as they came to this one
};

/// The port of an edge node to the core of the domain. Outwards it makes jumbo frames: one open group for each class, which is a
/// prefix of the destination. Inwards it splits those that come, with ECN by RFC 6040. The edge is software, here: golden/jumbo.h.
class EdgeNetDevice : public ns3::PointToPointNetDevice {
 public:
  static ns3::TypeId GetTypeId();
  /// Throws std::runtime_error, one line, if a limit is out of its range.
  void SetLimits(const EdgeLimits &limits);
  /// Packets to these addresses are a class. Those that are of no class travel as they are.
  void AddClass(ns3::Ipv4Address network, ns3::Ipv4Mask mask) { m_classes.emplace_back(network, mask); }
  bool Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address &dest, uint16_t protocol) override;
  void SetReceiveCallback(ns3::NetDevice::ReceiveCallback callback) override;

  /// Trace source `Made`: what goes to the core, without its Ethernet header, and its packets: 1 for one that travels as it is.
  typedef void (*MadeCallback)(ns3::Ptr<const ns3::Packet> packet, uint32_t packets);

 private:
  using Frame = std::vector<uint8_t>;
  /// An open group.
  struct Group {
    std::vector<Frame> frames;
    std::vector<uint64_t> ns;
    ns3::Ptr<ns3::Packet> first;
    uint32_t sum = 0;  ///< of the IP packets, bytes
    ns3::EventId timer;
  };

  /// The packet's class; the number of classes if it has none.
  size_t ClassOf(const Frame &frame) const;
  bool Fits(const Group &group, const Frame &frame, uint64_t ns) const;
  void CloseDue();
  void Close(size_t which);
  bool Transmit(ns3::Ptr<ns3::Packet> packet, uint16_t protocol, uint32_t packets);
  bool Split(ns3::Ptr<ns3::NetDevice> device, ns3::Ptr<const ns3::Packet> packet, uint16_t protocol, const ns3::Address &from);
  void Release(ns3::Ptr<const ns3::Packet> packet, uint64_t afterNs, const ns3::Address &from);

  EdgeLimits m_limits;
  std::vector<std::pair<ns3::Ipv4Address, ns3::Ipv4Mask>> m_classes;
  std::map<size_t, Group> m_open;
  uint16_t m_identification = 0;
  Frame m_frame;
  std::map<uint64_t, ns3::Time> m_lanes;  ///< by both addresses: when the last packet leaves the domain
  ns3::NetDevice::ReceiveCallback m_up;
  ns3::TracedCallback<ns3::Ptr<const ns3::Packet>, uint32_t> m_made;
};

/// A link from an edge node to the core: device 0 is the edge's, device 1 an ordinary one. Nothing is dropped there.
ns3::NetDeviceContainer InstallEdge(ns3::Ptr<ns3::Node> edge, ns3::Ptr<ns3::Node> core, const EdgeLimits &limits, double rate,
                                    ns3::Time delay);

}  // namespace weirsim

// The data center of paper 002: racks of hosts, ToR switches, two aggregation switches, a core switch.

#pragma once

#include "../weir/weir-net-device.h"
#include "ns3/node.h"
#include "ns3/ptr.h"

namespace weirsim {

struct TreeConfig {
  uint32_t racks = 4, hosts = 40;          ///< hosts of a rack
  double hostRate = 1e9, upRate = 1e10;    ///< bit/s
  double delay = 25e-6;                    ///< of each link, s
  uint32_t limit = 40;                     ///< of every switch's queue: packets; behind the ToRs frames, whatever they carry
  uint32_t limitBytes = 0;                 ///< 0; else of the queues behind the ToRs, instead of frames
  int overhead = 24;                       ///< bytes that a frame takes of a link besides itself
  bool merge = false;                      ///< at the uplinks of the ToRs; and split where they come down
  unsigned stretch = 100;                  ///< Setup::stretch of the cores
  double latency = 1e-6;                   ///< of the split, s
  bool ns3 = false;                        ///< the uplinks' queues are ns-3's own, which do not merge
  uint32_t rtl = 0;                        ///< so many uplinks, and as many splits, are RTL; the others the golden model
  bool check = true;                       ///< compare the RTL with the golden model
  uint64_t seed = 1;
  bool thread = true;                      ///< Setup::thread
  std::string core = "network-jumbo", model;
};

/// Builds the network. Switches forward by the destination address, without the time that a lookup takes. Rack r of the RTL's uplinks is 0, 1, …; of the splits 2, 3, 0, 1: one pair of racks on either
/// side of the core switch to begin with.
class Tree {
 public:
  explicit Tree(const TreeConfig &config);

  std::vector<ns3::Ptr<ns3::Node>> hosts;
  std::vector<ns3::Ipv4Address> addresses;
  std::vector<ns3::Ptr<WeirNetDevice>> uplinks;

  /// Frames that the queues have dropped so far, jumbo frames by their packets.
  struct Drops {
    uint64_t uplink = 0, aggregation = 0, core = 0, host = 0;
    uint64_t split = 0;  ///< of those at ports to hosts the packets of whole jumbo frames, for which there was no room
    uint64_t all() const { return uplink + aggregation + core + host; }
  };
  const Drops &drops() const { return drops_; }
  uint64_t jumboFrames() const { return jumbos_; }
  uint64_t jumboPackets() const { return jumboPackets_; }
  /// After the simulation: compares what is left.
  void finish();
  /// JSON of what the cores did: of those that are RTL cycles, records and comparisons; the hash of all uplinks.
  /// The result's member `core`; `more` are further members, each with a comma before it.
  std::string json(const std::string &more) const;

 private:
  /// A switch gives what comes in at a device to the device that `port` answers for a rack and a host of it.
  using Port = std::function<ns3::Ptr<ns3::NetDevice>(uint32_t rack, uint32_t host)>;
  static ns3::Ptr<ns3::NetDevice> portOf(ns3::Ptr<const ns3::Packet> packet, const Port &port);
  /// Algorithm 2 of the paper: a jumbo frame whose packets do not all find a place in the queue of their port is dropped.
  bool room(const std::vector<ns3::Ptr<ns3::Packet>> &packets, const Port &port);
  static void forward(ns3::Ptr<ns3::NetDevice> device, Port port);
  ns3::NetDeviceContainer plain(ns3::Ptr<ns3::Node> a, ns3::Ptr<ns3::Node> b, double rate);
  void queue(ns3::Ptr<ns3::NetDevice> device, double rate, uint64_t *drops, bool host = false);
  ns3::NetDeviceContainer uplink(uint32_t rack, ns3::Ptr<ns3::Node> tor, ns3::Ptr<ns3::Node> aggregation);
  /// Answers the device at the aggregation switch.
  ns3::Ptr<ns3::NetDevice> rack(uint32_t number, ns3::Ptr<ns3::Node> aggregation);
  void host(ns3::Ptr<ns3::Node> node, const ns3::NetDeviceContainer &link, uint32_t rack, uint32_t number);

  TreeConfig config_;
  Drops drops_;
  uint64_t jumbos_ = 0, jumboPackets_ = 0;
};

}  // namespace weirsim

// Parts of a network: hosts' links, routes, queue discs of ns-3.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ns3/ipv4-address.h"
#include "ns3/node.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/queue-disc.h"

namespace weirsim {

/// A queue disc of ns-3: its type and attributes as text.
struct Disc {
  std::string type;
  std::vector<std::pair<std::string, std::string>> attributes;
};

/// The device's packets wait in a queue disc; its own queue holds one.
ns3::Ptr<ns3::QueueDisc> installDisc(ns3::Ptr<ns3::PointToPointNetDevice> device, const Disc &disc);

/// Everything to that network of 16 bits goes to `next`.
void route(ns3::Ptr<ns3::Node> node, ns3::Ipv4Address network, ns3::Ipv4Address next, uint32_t interface);

/// A host's link, `rate` in bit/s, `delay` in s, on which nothing is dropped. Answers the host's address: 10.(side + 1).x.y.
ns3::Ipv4Address access(ns3::Ptr<ns3::Node> host, ns3::Ptr<ns3::Node> router, uint32_t side, uint32_t index, double rate, double delay);

}  // namespace weirsim

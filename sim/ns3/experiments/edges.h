// A domain with jumbo frames between the sources and the sinks of a network: an edge node on either side of the routers.

#pragma once

#include "../weir/edge-net-device.h"
#include "ns3/node-container.h"

namespace weirsim {

/// What the edge on the sources' side gave to the domain.
struct Made {
  uint64_t frames = 0, packets = 0;  ///< jumbo frames, and packets in them
  uint64_t alone = 0;                ///< packets that travel as they are
  std::string json() const;
};

/// Edge nodes 0 and 1, each at the router of its side; hosts are in 10.1.0.0/16 and 10.2.0.0/16. A class is the other side.
class Edges {
 public:
  /// `rate` of the links between edge and router, bit/s.
  Edges(const ns3::NodeContainer &routers, const EdgeLimits &limits, double rate);
  ns3::NodeContainer nodes;
  Made made;
};

}  // namespace weirsim

#include "frames.h"

#include "../golden/jumbo.h"
#include "ns3/mac48-address.h"
#include "ns3/point-to-point-channel.h"

using namespace ns3;

namespace weirsim {

void FrameOf(const PointToPointNetDevice &device, Ptr<const Packet> packet, uint16_t protocol, std::vector<uint8_t> &frame) {
  frame.resize(frameHeaderBytes + packet->GetSize());
  const auto channel = DynamicCast<PointToPointChannel>(device.GetChannel());
  const auto peer = channel->GetPointToPointDevice(PeekPointer(channel->GetPointToPointDevice(0)) == &device ? 1 : 0);
  Mac48Address::ConvertFrom(peer->GetAddress()).CopyTo(frame.data());
  Mac48Address::ConvertFrom(device.GetAddress()).CopyTo(frame.data() + 6);
  frame[12] = protocol >> 8, frame[13] = protocol & 0xFF;
  packet->CopyData(frame.data() + frameHeaderBytes, packet->GetSize());
}

Ptr<Packet> PacketOf(const std::vector<uint8_t> &frame) {
  return Create<Packet>(frame.data() + frameHeaderBytes, static_cast<uint32_t>(frame.size()) - frameHeaderBytes);
}

uint32_t PacketsIn(Ptr<const Packet> packet) {
  uint8_t head[golden::outerBytes + 2];
  const bool jumbo = packet->CopyData(head, sizeof head) == sizeof head && head[0] >> 4 == 4 && head[9] == golden::jumboProtocol;
  return jumbo ? head[20] << 8 | head[21] : 1;
}

}  // namespace weirsim

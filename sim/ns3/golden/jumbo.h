// Jumbo frames of the L3 form (docs/jumbo.md), of IPv4 packets behind an Ethernet header without tags: what ns-3 sends.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace weirsim::golden {

using Bytes = std::vector<uint8_t>;

constexpr uint32_t jumboProtocol = 253;
constexpr uint32_t ethernetBytes = 14, outerBytes = 20, jumboHeaderBytes = 6, entryBytes = 4;

/// What a merger knows of a packet. `joinable`: it may travel in a jumbo frame; `barred`: it may not, but its flow is known;
/// `unknown`: its flow is not; `none`: it is not IPv4, and in no order with anything.
enum class Kind { none, unknown, barred, joinable };

struct PacketInfo {
  Kind kind = Kind::none;
  /// Ethernet header, DSCP, protocol, addresses, ports: equal keys may share a frame.
  std::array<uint8_t, 28> key{};
  uint32_t hash = 0;      ///< Toeplitz of addresses and ports, xor protocol: modulo the slots, the flow's slot
  uint32_t ipLength = 0;  ///< bytes behind the Ethernet header
};

/// Throws std::runtime_error for IPv6 and for VLAN tags, which are not covered.
PacketInfo inspect(const uint8_t *frame, uint32_t length);

/// Bytes of the jumbo frame of `count` packets that have `sum` bytes together.
constexpr uint32_t jumboBytes(uint32_t count, uint32_t sum) {
  return ethernetBytes + outerBytes + jumboHeaderBytes + entryBytes * count + sum;
}

/// The jumbo frame of frames that may travel together; `ns`: when each arrived; `tick`: log2 of the spacing's unit in ns.
Bytes buildJumbo(const std::vector<const Bytes *> &frames, const std::vector<uint64_t> &ns, unsigned tick,
                 uint16_t identification);

/// Whether a frame is a jumbo frame of the L3 form.
bool isJumbo(const uint8_t *frame, uint32_t length);
/// A packet of a jumbo frame.
struct Inner {
  uint32_t entry, at;  ///< where its entry and its first byte are in the frame
  uint32_t bytes, ecn;
};
/// The packets that are left of a jumbo frame. Throws std::runtime_error if it is malformed.
std::vector<Inner> readJumbo(const uint8_t *frame, uint32_t length);
/// The frames of its packets, ECN by RFC 6040. Throws std::runtime_error if it is malformed.
std::vector<Bytes> splitJumbo(const uint8_t *frame, uint32_t length);

/// Writes the total length and the checksum of a frame's IPv4 header, which has no options.
void setLength(Bytes &frame);
/// Gives an IPv4 frame that codepoint, and corrects its header checksum (RFC 1624).
void setEcn(Bytes &frame, unsigned ecn);
void setEcn(uint8_t *ip, unsigned ecn);

}  // namespace weirsim::golden

#include "jumbo.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "arith.h"

namespace weirsim::golden {

namespace {

constexpr uint32_t most = 9216, mostCount = 448, leastPacket = 20, mostPadded = 68;
constexpr unsigned tcp = 6, udp = 17;
constexpr uint8_t secret[] = {  // of receive side scaling, its published key
    0x6D, 0x5A, 0x56, 0xDA, 0x25, 0x5B, 0x0E, 0xC2, 0x41, 0x67, 0x25, 0x3D, 0x43, 0xA3, 0x8F, 0xB0, 0xD0, 0xCA, 0x2B, 0xCB,
    0xAE, 0x7B, 0x30, 0xB4, 0x77, 0xCB, 0x2D, 0xA3, 0x80, 0x30, 0xF2, 0x0C, 0x6A, 0x42, 0xB7, 0x3B, 0xBE, 0xAC, 0x01, 0xFA};

uint32_t u16(const uint8_t *at) { return at[0] << 8 | at[1]; }
void put16(uint8_t *at, uint32_t value) { at[0] = static_cast<uint8_t>(value >> 8), at[1] = static_cast<uint8_t>(value); }

/// Toeplitz hash: bit n of the data, if it is set, adds the 32 bits of the key from bit n on.
uint32_t toeplitz(const uint8_t *data, size_t count) {
  uint32_t result = 0;
  uint32_t window = uint32_t{secret[0]} << 24 | secret[1] << 16 | secret[2] << 8 | secret[3];
  for (size_t byte = 0; byte < count; ++byte)
    for (unsigned bit = 0; bit < 8; ++bit) {
      if (data[byte] >> (7 - bit) & 1) result ^= window;
      window = window << 1 | (secret[byte + 4] >> (7 - bit) & 1);
    }
  return result;
}

/// One's complement sum of a header, complemented; 0 over one that is right.
uint32_t checksum(const uint8_t *header, size_t bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes; i += 2) sum += u16(header + i);
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  return sum ^ 0xFFFF;
}

/// ECN of the outer header.
unsigned outerEcn(const std::vector<const Bytes *> &frames) {
  for (unsigned codepoint : {notEct, ect0, ect1})
    if (std::any_of(frames.begin(), frames.end(), [&](const Bytes *f) { return ((*f)[15] & 3u) == codepoint; }))
      return codepoint;
  return ect0;
}

/// ECN of a packet that leaves the outer header, RFC 6040 section 4.2; nothing: it is dropped.
std::optional<unsigned> combined(unsigned inner, unsigned outer) {
  if (inner == notEct) return outer == ce ? std::nullopt : std::optional<unsigned>(unsigned{notEct});
  if (outer == ce) return ce;
  return inner == ect0 && outer == ect1 ? unsigned{ect1} : inner;
}

[[noreturn]] void malformed(const char *why) { throw std::runtime_error(std::string("a jumbo frame is malformed: ") + why); }

}  // namespace

PacketInfo inspect(const uint8_t *frame, uint32_t length) {
  PacketInfo info;
  if (length < ethernetBytes) return info;
  const uint32_t type = u16(frame + 12);
  if (type == 0x86DD || type == 0x8100 || type == 0x88A8)
    throw std::runtime_error("the golden model of merging covers IPv4 without VLAN tags");
  const uint8_t *ip = frame + ethernetBytes;
  info.ipLength = length - ethernetBytes;
  if (type != 0x0800 || info.ipLength < 20 || ip[0] >> 4 != 4 || (ip[0] & 15) < 5 || info.ipLength < 4u * (ip[0] & 15)) return info;
  const bool ported = (ip[9] == tcp || ip[9] == udp) && info.ipLength >= 24;
  info.kind = Kind::unknown;
  if ((ip[0] & 15) != 5 || (u16(ip + 6) & 0x1FFF) || (ported && u16(ip + 2) < 24)) return info;
  const bool group = frame[0] == 0x01 && frame[1] == 0x80 && frame[2] == 0xC2 && !frame[3] && !frame[4] && frame[5] < 16;
  info.kind = group || ip[9] == jumboProtocol || u16(ip + 2) != info.ipLength ? Kind::barred : Kind::joinable;
  uint8_t flow[12] = {};
  std::copy(ip + 12, ip + 20, flow);
  if (ported) std::copy(ip + 20, ip + 24, flow + 8);
  info.hash = toeplitz(flow, sizeof flow) ^ ip[9];
  auto at = std::copy(frame, frame + ethernetBytes, info.key.begin());
  *at++ = ip[1] >> 2, *at++ = ip[9];
  std::copy(flow, flow + sizeof flow, at);
  return info;
}

Bytes buildJumbo(const std::vector<const Bytes *> &frames, const std::vector<uint64_t> &ns, unsigned tick,
                 uint16_t identification) {
  const uint32_t count = static_cast<uint32_t>(frames.size());
  uint32_t sum = 0;
  for (const Bytes *f : frames) sum += static_cast<uint32_t>(f->size()) - ethernetBytes;
  Bytes out(jumboBytes(count, sum));
  const Bytes &first = *frames.front();
  std::copy(first.begin(), first.begin() + ethernetBytes, out.begin());
  uint8_t *ip = out.data() + ethernetBytes;
  ip[0] = 0x45, ip[1] = static_cast<uint8_t>((first[15] & 0xFC) | outerEcn(frames));
  put16(ip + 4, identification), put16(ip + 6, 0x4000);
  ip[8] = first[22], ip[9] = jumboProtocol;
  std::copy(first.begin() + 26, first.begin() + 34, ip + 12);
  setLength(out);
  uint8_t *at = ip + outerBytes;
  put16(at, count), put16(at + 2, sum / count), at[4] = 0x10, at[5] = static_cast<uint8_t>(tick);
  at += jumboHeaderBytes;
  for (size_t i = 0; i < frames.size(); ++i, at += entryBytes) {
    put16(at, static_cast<uint32_t>(frames[i]->size()) - ethernetBytes);
    put16(at + 2, i ? static_cast<uint32_t>((ns[i] >> tick) - (ns[i - 1] >> tick)) : 0);
  }
  for (const Bytes *f : frames) at = std::copy(f->begin() + ethernetBytes, f->end(), at);
  return out;
}

bool isJumbo(const uint8_t *frame, uint32_t length) {
  return length >= ethernetBytes + outerBytes && u16(frame + 12) == 0x0800 && frame[14] >> 4 == 4 &&
         (frame[14] & 15) >= 5 && frame[23] == jumboProtocol;
}

std::vector<Inner> readJumbo(const uint8_t *frame, uint32_t length) {
  const uint8_t *ip = frame + ethernetBytes, *header = ip + outerBytes, *end = frame + length;
  if ((ip[0] & 15) != 5 || (u16(ip + 6) & 0x3FFF)) malformed("its outer header has options, or it is a fragment");
  if (checksum(ip, outerBytes)) malformed("the outer header's checksum is wrong");
  if (length > most || end - header < jumboHeaderBytes) malformed("it ends inside its header");
  const uint32_t count = u16(header);
  if (header[4] != 0x10 || header[5] > 31 || count < 1 || count > mostCount) malformed("version, flags, tick or count");
  const uint8_t *entry = header + jumboHeaderBytes, *packet = entry + entryBytes * count;
  if (packet > end) malformed("it ends inside its table");
  std::vector<Inner> out;
  for (uint32_t i = 0; i < count; ++i, entry += entryBytes) {
    const uint32_t bytes = u16(entry);
    if (bytes == 0) continue;
    if (bytes < leastPacket || packet + bytes > end || packet[0] >> 4 != 4 || u16(packet + 2) != bytes || packet[9] == jumboProtocol)
      malformed("a packet contradicts the table");
    const uint32_t header = 4u * (packet[0] & 15);
    out.push_back({static_cast<uint32_t>(entry - frame), static_cast<uint32_t>(packet - frame), bytes,
                   header >= 20 && header <= bytes ? packet[1] & 3u : 0u});
    packet += bytes;
  }
  if ((packet != end && length > mostPadded) || ip + u16(ip + 2) != packet) malformed("the lengths do not add up");
  return out;
}

std::vector<Bytes> splitJumbo(const uint8_t *frame, uint32_t length) {
  std::vector<Bytes> out;
  for (const Inner &packet : readJumbo(frame, length))
    if (const auto ecn = combined(frame[packet.at + 1] & 3u, frame[ethernetBytes + 1] & 3u)) {
      Bytes &inner = out.emplace_back(frame, frame + ethernetBytes);
      inner.insert(inner.end(), frame + packet.at, frame + packet.at + packet.bytes);
      setEcn(inner, *ecn);
    }
  return out;
}

void setLength(Bytes &frame) {
  uint8_t *ip = frame.data() + ethernetBytes;
  put16(ip + 2, static_cast<uint32_t>(frame.size()) - ethernetBytes), put16(ip + 10, 0);
  put16(ip + 10, checksum(ip, outerBytes));
}

void setEcn(Bytes &frame, unsigned ecn) { setEcn(frame.data() + ethernetBytes, ecn); }

void setEcn(uint8_t *ip, unsigned ecn) {
  if ((ip[1] & 3u) == ecn) return;
  const uint32_t before = u16(ip);
  ip[1] = static_cast<uint8_t>((ip[1] & 0xFC) | ecn);
  uint32_t sum = (u16(ip + 10) ^ 0xFFFF) + (before ^ 0xFFFF) + u16(ip);
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  put16(ip + 10, sum ^ 0xFFFF);
}

}  // namespace weirsim::golden

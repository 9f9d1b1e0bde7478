"""ECN at both ends of a jumbo frame (RFC 6040), and checksums of IPv4 headers (RFC 1071, RFC 1624)."""

from __future__ import annotations

import struct
from collections.abc import Collection

from .packet import traffic_class, u16

NOT_ECT, ECT1, ECT0, CE = range(4)


def header_checksum(header: bytes) -> int:
    """The Internet checksum (RFC 1071) of an even number of bytes; over a header that is right, 0."""
    total: int = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def corrected_checksum(checksum: int, before: int, after: int) -> int:
    """The checksum after a 16-bit word of what it covers has changed (RFC 1624, equation 3)."""
    total = (checksum ^ 0xFFFF) + (before ^ 0xFFFF) + after
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def outer_ecn(members: Collection[int]) -> int:
    """ECN of the outer header over packets with these codepoints."""
    for codepoint in (NOT_ECT, ECT0, ECT1):
        if codepoint in members:
            return codepoint
    return ECT0


def combined_ecn(inner: int, outer: int) -> int | None:
    """ECN of a packet that leaves the outer header (RFC 6040, section 4.2); None: it is dropped."""
    if inner == NOT_ECT:
        return None if outer == CE else NOT_ECT
    if inner == ECT0 and outer == ECT1:
        return ECT1
    return CE if outer == CE else inner


def with_ecn(ip: bytes, ecn: int) -> bytes:
    """The IP packet with that codepoint; an IPv4 checksum is corrected, so that a wrong one stays equally wrong."""
    if traffic_class(ip) & 3 == ecn:
        return ip
    if ip[0] >> 4 == 6:
        return ip[:1] + bytes([ip[1] & 0xCF | ecn << 4]) + ip[2:]
    first = ip[:1] + bytes([ip[1] & 0xFC | ecn])
    checksum = corrected_checksum(u16(ip, 10), u16(ip, 0), u16(first, 0))
    return first + ip[2:10] + checksum.to_bytes(2, "big") + ip[12:]

"""Ethernet frames for measurements: IPv4 and UDP, any length from 42 bytes, right checksums."""

from __future__ import annotations

import struct

NOT_ECT, ECT1, ECT0, CE = 0, 1, 2, 3
HEADERS = 42


def udp_frame(length: int, dscp: int = 0, ecn: int = ECT0, number: int = 0) -> bytes:
    """A frame of `length` bytes without FCS (42 to 9216). `number` is the IP identification and, if there is room,
    begins the payload."""
    if not HEADERS <= length <= 9216:
        raise ValueError(f"a UDP frame has {HEADERS} to 9216 bytes, not {length}")
    ip = bytearray(
        struct.pack(">BBHHHBBH4s4s", 0x45, dscp << 2 | ecn, length - 14, number & 0xFFFF, 0x4000, 64, 17, 0,
                    bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
    )  # fmt: skip
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    ip[10:12] = (total ^ 0xFFFF).to_bytes(2, "big")
    payload = (number & 0xFFFFFFFF).to_bytes(4, "big") * ((length - HEADERS + 3) // 4)
    ethernet = bytes.fromhex("02000000000202000000000108 00")
    udp = struct.pack(">HHHH", 1000, 2000, length - 34, 0)
    return (ethernet + bytes(ip) + udp + payload)[:length]

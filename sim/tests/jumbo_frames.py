"""IP packets in Ethernet frames for tests of jumbo frames, made byte by byte."""

from __future__ import annotations

import random
import struct

MACS = bytes.fromhex("020000000002020000000001")
TAG = bytes.fromhex("81000064")
TAGS = (b"", TAG, bytes.fromhex("88a8000a81000064"))


def checksum(header: bytes) -> int:
    """RFC 1071 in its plainest form: the complement of the sum modulo 0xFFFF, 0xFFFF for 0."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header)) % 0xFFFF
    return 0xFFFF - (total or 0xFFFF)


def ipv4(length: int = 40, flow: int = 0, *, ecn: int = 0, dscp: int = 0, protocol: int = 17, number: int = 0,
         fragment: int = 0, options: bytes = b"", tags: bytes = b"", macs: bytes = MACS, trailer: bytes = b"",
         claimed: int | None = None) -> bytes:  # fmt: skip
    """A frame with an IPv4 packet of `length` bytes; its payload is UDP's header and repeats `number`."""
    ihl = 5 + len(options) // 4
    assert length >= 4 * ihl and len(options) % 4 == 0
    source, destination = bytes((10, 0, 0, 1 + flow % 4)), bytes((10, 0, 1, 2))
    head = bytearray(
        struct.pack(">BBHHHBBH", 0x40 | ihl, dscp << 2 | ecn, length if claimed is None else claimed,
                    number & 0xFFFF, fragment, 64, protocol, 0)
    ) + source + destination + options  # fmt: skip
    head[10:12] = checksum(bytes(head)).to_bytes(2, "big")
    payload = struct.pack(">HHHH", 1000 + flow, 2000, length - 4 * ihl, 0)
    payload += (number & 0xFFFFFFFF).to_bytes(4, "big") * (length // 4)
    return macs + tags + b"\x08\x00" + bytes(head) + payload[: length - 4 * ihl] + trailer


def ipv6(length: int = 60, flow: int = 0, *, ecn: int = 0, dscp: int = 0, protocol: int = 17, number: int = 0,
         tags: bytes = b"", macs: bytes = MACS, trailer: bytes = b"", claimed: int | None = None) -> bytes:  # fmt: skip
    """A frame with an IPv6 packet of `length` bytes (40 or more)."""
    traffic = dscp << 2 | ecn
    own = (length if claimed is None else claimed) - 40
    head = struct.pack(">BBHHBB", 0x60 | traffic >> 4, traffic << 4 & 0xF0, 0, own, protocol, 64)
    head += bytes.fromhex("fd00") + bytes(13) + bytes([1 + flow % 4]) + bytes.fromhex("fd00") + bytes(13) + b"\x02"
    payload = struct.pack(">HHHH", 1000 + flow, 2000, length - 40, 0)
    payload += (number & 0xFFFFFFFF).to_bytes(4, "big") * (length // 4)
    return macs + tags + b"\x86\xdd" + head + payload[: length - 40] + trailer


def alike(rng: random.Random, count: int, *, version: int = 4, longest: int = 300) -> list[bytes]:
    """Frames that may travel together: one Ethernet header and DSCP, any lengths, any ECN."""
    make, shortest = (ipv4, 20) if version == 4 else (ipv6, 40)
    tags, dscp = rng.choice(TAGS), rng.randrange(64)
    return [
        make(rng.randrange(shortest, longest), rng.randrange(5), ecn=rng.randrange(4), dscp=dscp, number=n, tags=tags)
        for n in range(count)
    ]


def spread(frame: bytes) -> bytes:
    """The frame to a destination that depends on its source (10.0.1.2 to 10.0.4.2, fd00:1:: to fd00:4::); others as they are."""
    start = 14
    while frame[start - 2 : start] in (b"\x81\x00", b"\x88\xa8"):
        start += 4
    data, kind = bytearray(frame), frame[start - 2 : start]
    if kind == b"\x86\xdd" and len(frame) >= start + 40:
        data[start + 27] = data[start + 23]
    elif (
        kind == b"\x08\x00" and len(frame) > start and len(frame) >= (head := start + max(20, 4 * (frame[start] & 15)))
    ):
        data[start + 18] = data[start + 15]
        data[start + 10 : start + 12] = bytes(2)
        data[start + 10 : start + 12] = checksum(bytes(data[start:head])).to_bytes(2, "big")
    return bytes(data)


def traffic(rng: random.Random, count: int, *, longest: int = 1500, sixes: float = 0.3) -> list[tuple[int, bytes]]:
    """Times in ns and frames of a few flows, of everything that a merger has to tell apart.

    `sixes` is the share of IPv6. Each flow keeps its tags and DSCP for the most part; one packet in eight is of a kind that may not join, or differs.
    """
    flows = [(n, rng.choice(TAGS), rng.choice((0, 0, 46)), rng.random() < sixes) for n in range(rng.randrange(2, 7))]
    rows, now = [], rng.randrange(1 << 48)
    for number in range(count):
        now += rng.choice((0, 0, rng.randrange(100), rng.randrange(3000)))
        if rng.random() < 0.005:
            now += rng.choice((64 * 65535, 64 * 65536, 10**9))
        flow, tags, dscp, six = rng.choice(flows)
        length = rng.choice((rng.randrange(20, 60), rng.randrange(20, longest + 1), 20, 40, longest))
        make, shortest = (ipv6, 40) if six else (ipv4, 20)
        length = max(length, shortest)
        ecn, odd = rng.choice((2, 2, 2, 0, 1, 3)), rng.randrange(88)
        frame = make(length, flow, ecn=ecn, dscp=dscp, number=number, tags=tags)
        if odd == 0:
            frame = make(length, flow, number=number, tags=tags, trailer=bytes(rng.randrange(1, 20)))
        elif odd == 1:
            frame = make(length, flow, dscp=dscp ^ 1, number=number, tags=tags)
        elif odd == 2:
            frame = make(length, flow, number=number, tags=rng.choice(TAGS))
        elif odd == 3:
            frame = make(length, flow, number=number, macs=rng.choice((MACS[6:] + MACS[:6], bytes.fromhex("0180c2000002") + MACS[6:])))  # fmt: skip # noqa: E501
        elif odd == 4:
            frame = make(length, flow, number=number, protocol=rng.choice((253, 6, 1)))
        elif odd == 5:
            frame = ipv4(length + 4, flow, number=number, tags=tags, options=bytes(4))
        elif odd in (6, 7):
            frame = ipv4(
                length, flow, number=number, fragment=0x2000 + rng.randrange(2) * rng.randrange(8192), tags=tags
            )
        elif odd in (8, 9):
            frame = ipv6(max(length, 40), flow, number=number, protocol=rng.choice((0, 44, 60)), tags=tags)
        elif odd == 10:
            frame = MACS + tags + b"\x08\x06" + number.to_bytes(4, "big") * 7
        elif odd == 11:
            frame = MACS + b"\x88\x47\x00\x00\x01\xff" + frame[14 + len(tags) :]
        rows.append((now, frame))
    return rows

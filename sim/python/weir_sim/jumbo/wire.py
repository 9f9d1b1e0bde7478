"""Jumbo frames on the wire: build, dissect, split. Written from docs/jumbo.md; frames are `bytes` without FCS."""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from .ecn import CE, ECT0, ECT1, NOT_ECT, combined_ecn, header_checksum, outer_ecn, with_ecn
from .packet import (
    IPV4,
    IPV6,
    Flow,
    JumboFormat,
    Packet,
    Pair,
    ethernet_length,
    ip_version,
    own_length,
    parse_packet,
    traffic_class,
    u16,
)

__all__ = [
    "CE", "DEFAULT", "ECT0", "ECT1", "MAX_COUNT", "MAX_FRAME", "MAX_SPACING", "MAX_SUM", "NOT_ECT", "VERSION", "Entry",
    "Flow", "Jumbo", "JumboFormat", "Malformed", "Packet", "Pair", "Split", "build", "combined_ecn", "dissect",
    "frame_bytes", "header_checksum", "outer_ecn", "parse_packet", "spacings", "split", "waits_ns", "with_ecn",
]  # fmt: skip

VERSION = 1
MAX_FRAME, MAX_SUM, MAX_COUNT, MAX_SPACING = 9216, 8960, 448, 65535
MAX_PADDED = 68
DEFAULT = JumboFormat()


class Malformed(ValueError):
    """A jumbo frame that contradicts itself; the text says how."""


class Entry(NamedTuple):
    """An entry of the table."""

    length: int
    """bytes of the IP packet; 0: dropped on the way"""
    spacing: int
    """ticks since the packet before it"""


@dataclass(frozen=True)
class Jumbo:
    """A well-formed jumbo frame."""

    ethernet: bytes
    """destination, source and tags: 12 + 4t bytes"""
    l3: bool
    ecn: int | None
    """of the outer IPv4 header; None in the L2 form"""
    average: int
    tick: int
    entries: tuple[Entry, ...]
    packets: tuple[bytes, ...]
    """the IP packets that are there, one for each entry with a length"""

    @property
    def count(self) -> int:
        """Entries of the table, dropped packets included."""
        return len(self.entries)


class Split(NamedTuple):
    """What a jumbo frame held."""

    frames: list[bytes]
    dropped: int
    """packets that RFC 6040 has dropped: Not-ECT in a frame with CE"""
    dropped_bytes: int
    """bytes of their frames"""


def spacings(arrivals_ns: Sequence[int], tick: int) -> list[int]:
    """pQTime of packets that arrived then, in ticks of 2^tick ns; 0 for the first. They may be out of range."""
    ticks = [t >> tick for t in arrivals_ns]
    return [0, *(now - before for before, now in zip(ticks, ticks[1:], strict=False))]


def frame_bytes(tags: int, count: int, total: int, l3: bool) -> int:
    """Bytes of the jumbo frame of `count` entries whose packets have `total` bytes."""
    return 14 + 4 * tags + 20 * l3 + 6 + 4 * count + total


def build(
    frames: Sequence[bytes],
    arrivals_ns: Sequence[int],
    form: JumboFormat = DEFAULT,
    identification: int = 0,
    dropped: Collection[int] = (),
) -> bytes:
    """The jumbo frame of some frames, without padding.

    Args:
        frames: frames that may travel together, 1 to 448. (A merger does not build one of a single frame.)
        arrivals_ns: when each arrived, any origin, not falling.
        form: L2 or L3, numbers, tick.
        identification: of the outer IPv4 header, modulo 2^16.
        dropped: indices of packets that are gone: their entries have length 0; the average length still has them,
            the outer header is that of the first packet that is left.

    Raises:
        ValueError: these frames may not travel together, or do not fit.
    """
    if not 1 <= len(frames) <= MAX_COUNT or len(arrivals_ns) != len(frames):
        raise ValueError(f"a jumbo frame has 1 to {MAX_COUNT} packets and as many arrival times")
    packets: list[Packet] = []
    for number, frame in enumerate(frames):
        packet = parse_packet(frame, form)
        if packet is None or packet.barred:
            raise ValueError(f"packet {number} may not join: {packet.barred if packet else 'it is not IP'}")
        packets.append(packet)
    left = [packet for number, packet in enumerate(packets) if number not in dropped]
    if not left:
        raise ValueError("all packets are dropped")
    first = left[0]
    if any(p.ethernet != first.ethernet or p.dscp != first.dscp for p in packets):
        raise ValueError("the packets' Ethernet headers or DSCPs differ")
    gaps = spacings(arrivals_ns, form.tick)
    if not all(0 <= gap <= MAX_SPACING for gap in gaps):
        raise ValueError(f"a spacing is not 0 to {MAX_SPACING} ticks")
    total = sum(len(p.ip) for p in left)
    size = frame_bytes(first.tags, len(packets), total, form.l3)
    if size > MAX_FRAME:
        raise ValueError(f"the jumbo frame would have {size} bytes; {MAX_FRAME} are the most")

    average = sum(len(p.ip) for p in packets) // len(packets)
    table = b"".join(
        struct.pack(">HH", 0 if number in dropped else len(packet.ip), gap)
        for number, (packet, gap) in enumerate(zip(packets, gaps, strict=True))
    )
    content = struct.pack(">HHBB", len(packets), average, VERSION << 4, form.tick) + table
    content += b"".join(p.ip for p in left)
    if not form.l3:
        return first.ethernet[:-2] + form.ethertype.to_bytes(2, "big") + content
    traffic = first.dscp << 2 | outer_ecn([p.ecn for p in left])
    outer = struct.pack(">BBHHHBBH", 0x45, traffic, 20 + len(content), identification & 0xFFFF, 0x4000, first.ip[8],
                        form.protocol, 0) + first.ip[12:20]  # fmt: skip
    return first.ethernet + outer[:10] + header_checksum(outer).to_bytes(2, "big") + outer[12:] + content


def _require(ok: bool, reason: str) -> None:
    if not ok:
        raise Malformed(reason)


class Place(NamedTuple):
    """Where a jumbo frame's Ethernet header ends, and its form."""

    start: int
    l3: bool


def recognise(frame: bytes, form: JumboFormat = DEFAULT) -> Place | None:
    """Whether a frame is a jumbo frame, well-formed or not; None if it is none."""
    start = ethernet_length(frame)
    if start is None:
        return None
    l3 = ip_version(frame, start) == 4 and frame[start + 9] == form.protocol
    return Place(start, l3) if l3 or u16(frame, start - 2) == form.ethertype else None


def dissect(frame: bytes, form: JumboFormat = DEFAULT) -> Jumbo | None:
    """Takes a jumbo frame of either form apart; None if it is none.

    Raises:
        Malformed: it is one, and breaks a rule of docs/jumbo.md, "Receiving".
    """
    found = recognise(frame, form)
    if found is None:
        return None
    start, l3 = found
    content, ecn = start, None
    if l3:
        _require(frame[start] & 15 == 5, "the outer header has options")
        _require(u16(frame, start + 6) & 0x3FFF == 0, "the outer packet is a fragment")
        _require(header_checksum(frame[start : start + 20]) == 0, "the outer header's checksum is wrong")
        content, ecn = start + 20, frame[start + 1] & 3
        _require(start + u16(frame, start + 2) <= len(frame), "the outer total length does not fit the frame")
    _require(len(frame) >= content + 6, "it ends inside its header")
    count, average, version, tick = struct.unpack_from(">HHBB", frame, content)
    _require(version >> 4 == VERSION, f"version {version >> 4} is not {VERSION}")
    _require(version & 15 == 0, "flags are not 0")
    _require(tick <= 31, f"tick {tick} is above 31")
    _require(1 <= count <= MAX_COUNT, f"count {count} is not 1 to {MAX_COUNT}")
    at = content + 6 + 4 * count
    _require(len(frame) >= at, "it ends inside its table")
    entries = tuple(Entry(*pair) for pair in struct.iter_unpack(">HH", frame[content + 6 : at]))
    _require(all(e.length == 0 or e.length >= 20 for e in entries), "a length is 1 to 19")
    end = at + sum(e.length for e in entries)
    _require(end <= len(frame), "the lengths add up to more than there is")
    _require(end == len(frame) or len(frame) <= MAX_PADDED, "the lengths add up to less than there is")
    _require(not l3 or start + u16(frame, start + 2) == end, "the outer total length is not that of the content")

    packets = []
    for length in (e.length for e in entries if e.length):
        packets.append(frame[at : at + length])
        at += length
    for packet in packets:
        _require(packet[0] >> 4 in (4, 6), "a packet is neither IPv4 nor IPv6")
        _require(packet[0] >> 4 == packets[0][0] >> 4, "the packets' IP versions differ")
        _require(own_length(packet) == len(packet), "a packet's own length is not the table's")
        _require(packet[0] >> 4 == 6 or packet[9] != form.protocol, "a packet is a jumbo frame (nested)")
    return Jumbo(frame[: start - 2], l3, ecn, average, tick, entries, tuple(packets))


def _ethertype(ip: bytes) -> int:
    return IPV4 if ip[0] >> 4 == 4 else IPV6


def split(jumbo: Jumbo) -> Split:
    """The frames of the packets that a jumbo frame holds, in its order, with ECN by RFC 6040."""
    frames, lost = [], []
    for ip in jumbo.packets:
        header = jumbo.ethernet + _ethertype(ip).to_bytes(2, "big")
        ecn = traffic_class(ip) & 3
        ecn_out = ecn if jumbo.ecn is None else combined_ecn(ecn, jumbo.ecn)
        if ecn_out is None:
            lost.append(len(header) + len(ip))
        else:
            frames.append(header + with_ecn(ip, ecn_out))
    return Split(frames, len(lost), sum(lost))


def waits_ns(jumbo: Jumbo) -> list[int]:
    """Of each packet that `split` gives: the sum of the spacings up to its own, those of packets that are gone included."""
    sums = accumulate(entry.spacing for entry in jumbo.entries)
    there = [ticks << jumbo.tick for entry, ticks in zip(jumbo.entries, sums, strict=True) if entry.length]
    return [
        wait
        for ip, wait in zip(jumbo.packets, there, strict=True)
        if jumbo.ecn is None or combined_ecn(traffic_class(ip) & 3, jumbo.ecn) is not None
    ]

"""Packets that ask to join a jumbo frame: what a merger has to know of an Ethernet frame.

Written from docs/jumbo.md, "Who may travel together", and docs/architecture.md, "Classification". Frames are `bytes`
without FCS; nothing here looks at checksums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

TAGS = (0x8100, 0x88A8)
IPV4, IPV6 = 0x0800, 0x86DD
TCP, UDP = 6, 17
EXTENSIONS = frozenset((0, 43, 44, 50, 51, 60, 135, 139, 140))
"""Next headers behind which the ports of an IPv6 packet are not looked for."""


@dataclass(frozen=True)
class JumboFormat:
    """What both ends have agreed on, and the form that is built.

    Args:
        l3: build with an outer IPv4 header; a receiver takes both forms.
        ethertype: of the L2 form, 0x0600 to 0xFFFF, not one of IP or of a tag.
        protocol: IPv4 protocol of the L3 form, 0 to 255.
        tick: log2 of the spacing's unit in ns, 0 to 31.

    Raises:
        ValueError: a number is out of its range.
    """

    l3: bool = False
    ethertype: int = 0x88B5
    protocol: int = 253
    tick: int = 6

    def __post_init__(self) -> None:
        if not 0x0600 <= self.ethertype <= 0xFFFF or self.ethertype in (IPV4, IPV6, *TAGS):
            raise ValueError(f"ethertype=0x{self.ethertype:04x} must be 0x0600 to 0xffff, not IP or a tag; try 0x88b5")
        if not 0 <= self.protocol <= 255:
            raise ValueError(f"protocol={self.protocol} must be 0 to 255; try 253")
        if not 0 <= self.tick <= 31:
            raise ValueError(f"tick={self.tick} must be 0 to 31; try 6")


class Flow(NamedTuple):
    """A flow: what must stay in order. Ports are 0 unless the protocol is TCP or UDP and the packet has them."""

    source: bytes
    destination: bytes
    """addresses, 4 bytes (IPv4) or 16 (IPv6)"""
    protocol: int
    source_port: int
    destination_port: int


class Pair(NamedTuple):
    """A packet's addresses: what is known of a flow when its ports are not."""

    source: bytes
    destination: bytes


@dataclass(frozen=True)
class Packet:
    """An IP packet in its frame."""

    ethernet: bytes
    """Ethernet header with tags and EtherType, 14 + 4t bytes"""
    ip: bytes
    """the rest of the frame; the IP packet itself if the packet may join"""
    version: Literal[4, 6]
    dscp: int
    ecn: int
    pair: Pair
    flow: Flow | None
    """None if it cannot be known: a later fragment, an IPv4 header with options, an IPv6 extension header, a length that ends before
    the ports of a longer frame"""
    barred: str | None
    """why the packet may not join; None if it may"""

    @property
    def may_join(self) -> bool:
        """Rules 1 to 5, and the IPv4 of rule 6, hold."""
        return self.barred is None

    @property
    def tags(self) -> int:
        """VLAN tags, 0 to 2."""
        return (len(self.ethernet) - 14) // 4

    @property
    def frame(self) -> bytes:
        """The frame that it came in."""
        return self.ethernet + self.ip


def u16(data: bytes, at: int) -> int:
    """Two bytes, big-endian."""
    return int.from_bytes(data[at : at + 2], "big")


def ethernet_length(frame: bytes) -> int | None:
    """Bytes of the Ethernet header with at most two tags, EtherType included; None if the frame ends inside it."""
    start = 14
    while start < 22 and len(frame) >= start and u16(frame, start - 2) in TAGS:
        start += 4
    return start if len(frame) >= start else None


def ip_version(frame: bytes, start: int) -> Literal[4, 6] | None:
    """The IP version of the packet at `start`, as classification says; None if it is not IP."""
    kind, rest = u16(frame, start - 2), len(frame) - start
    if rest < 1:
        return None
    first = frame[start]
    if kind == IPV4 and first >> 4 == 4 and first & 15 >= 5 and rest >= 4 * (first & 15):
        return 4
    if kind == IPV6 and first >> 4 == 6 and rest >= 40:
        return 6
    return None


def own_length(ip: bytes) -> int:
    """What the IP packet says of its own length, in bytes."""
    return u16(ip, 2) if ip[0] >> 4 == 4 else u16(ip, 4) + 40


def traffic_class(ip: bytes) -> int:
    """DSCP and ECN of an IP packet, 8 bits."""
    return ip[1] if ip[0] >> 4 == 4 else (ip[0] & 15) << 4 | ip[1] >> 4


def _flow(pair: Pair, protocol: int, ip: bytes, start: int) -> Flow | None:
    """The flow of a packet whose payload is at `start`; None if its length says that it has no ports, and its frame has some."""
    there, told = len(ip) >= start + 4, own_length(ip) >= start + 4
    if protocol not in (TCP, UDP) or not there:
        return Flow(*pair, protocol, 0, 0)
    return Flow(*pair, protocol, u16(ip, start), u16(ip, start + 2)) if told else None


def parse_packet(frame: bytes, form: JumboFormat = JumboFormat()) -> Packet | None:  # noqa: B008 (it is frozen)
    """What a merger knows of a frame; None if it is not IP, so that nothing has to be in order with it.

    Args:
        frame: a whole frame without FCS, any length.
        form: a packet of its protocol, and in the L3 form any of IPv6, may not join.
    """
    start = ethernet_length(frame)
    version = ip_version(frame, start) if start else None
    if start is None or version is None:
        return None
    ethernet, ip = frame[:start], frame[start:]
    barred = flow = None
    if own_length(ip) != len(ip):
        barred = "its frame is not as long as its IP length says"
    if ethernet[:5] == bytes.fromhex("0180c20000") and ethernet[5] < 16:
        barred = "its destination is 01-80-C2-00-00-0x"
    if version == 4:
        pair, protocol = Pair(ip[12:16], ip[16:20]), ip[9]
        if protocol == form.protocol:
            barred = "it is of the jumbo protocol"
        if ip[0] & 15 != 5:
            barred = "its IPv4 header has options"
        elif u16(ip, 6) & 0x1FFF:
            barred = "it is a later fragment"
        else:
            flow = _flow(pair, protocol, ip, 20)
    else:
        pair, protocol = Pair(ip[8:24], ip[24:40]), ip[6]
        if form.l3:
            barred = "it is IPv6, and the outer header IPv4"
        if protocol in EXTENSIONS:
            barred = "it has an IPv6 extension header"
        else:
            flow = _flow(pair, protocol, ip, 40)
    traffic = traffic_class(ip)
    return Packet(ethernet, ip, version, traffic >> 2, traffic & 3, pair, flow, barred)

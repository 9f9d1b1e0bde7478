"""Random Ethernet frames of every kind that the core tells apart, built with scapy."""

from __future__ import annotations

import logging
import random

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption  # noqa: E402
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop  # noqa: E402
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether  # noqa: E402
from scapy.packet import Packet, Raw  # noqa: E402

GROUP = "01:80:c2:00:00:0"


def _address(rng: random.Random) -> str:
    choice = rng.random()
    if choice < 0.1:
        return GROUP + rng.choice("0123456789abcdef")
    if choice < 0.2:  # one bit away from an exempt address
        address = int("0180c2000000", 16) ^ (1 << rng.randrange(4, 48))
        return ":".join(f"{byte:02x}" for byte in address.to_bytes(6, "big"))
    return ":".join(f"{rng.randrange(256):02x}" for _ in range(6))


def _tags(rng: random.Random) -> Packet | None:
    stack: Packet | None = None
    for _ in range(rng.choice((0, 0, 1, 1, 2, 2, 3))):
        layer = rng.choice((Dot1Q, Dot1AD))
        tag = layer(vlan=rng.randrange(4096), prio=rng.randrange(8))
        stack = tag if stack is None else stack / tag
    return stack


def ethernet(rng: random.Random) -> Packet:
    """An Ethernet header with no tag to three tags."""
    header = Ether(dst=_address(rng), src=_address(rng))
    tags = _tags(rng)
    return header if tags is None else header / tags


def ipv4(rng: random.Random, ecn: int | None = None) -> Packet:
    """An IPv4 header, with options or a fragment's fields now and then."""
    tos = rng.randrange(64) << 2 | (rng.randrange(4) if ecn is None else ecn)
    header = IP(src="10.0.0.1", dst="10.0.0.2", tos=tos, id=rng.randrange(65536), ttl=rng.randrange(256))
    if rng.random() < 0.3:
        header.options = [IPOption(b"\x01" * rng.randrange(1, 41))]
    if rng.random() < 0.2:
        header.flags, header.frag = rng.choice(("MF", 0)), rng.randrange(8192)
    return header / rng.choice((UDP(sport=1, dport=2), TCP(sport=3, dport=4), ICMP()))


def ipv6(rng: random.Random, ecn: int | None = None) -> Packet:
    """An IPv6 header, with extension headers now and then."""
    traffic = rng.randrange(64) << 2 | (rng.randrange(4) if ecn is None else ecn)
    header = IPv6(src="fd00::1", dst="fd00::2", tc=traffic, fl=rng.randrange(1 << 20))
    if rng.random() < 0.3:
        header = header / rng.choice((IPv6ExtHdrHopByHop(), IPv6ExtHdrFragment(offset=rng.randrange(8192))))
    return header / rng.choice((UDP(sport=1, dport=2), TCP(sport=3, dport=4)))


def frame(rng: random.Random, longest: int = 300) -> bytes:
    """A frame of 14 bytes or more: IP with and without tags, other protocols, cut short, damaged."""
    payload = Raw(rng.randbytes(rng.randrange(max(1, longest - 120))))
    choice = rng.random()
    if choice < 0.4:
        packet = ethernet(rng) / ipv4(rng) / payload
    elif choice < 0.7:
        packet = ethernet(rng) / ipv6(rng) / payload
    elif choice < 0.8:
        packet = ethernet(rng) / ARP()
    else:
        header = ethernet(rng)
        header.lastlayer().type = rng.choice((0x0800, 0x86DD, 0x8100, 0x0806, 0x88B5, 0x0801, 0x88CC))
        packet = header / payload
    data = bytearray(bytes(packet))
    if rng.random() < 0.2:
        data = data[: rng.randrange(14, max(15, min(len(data), 90)))]
    if rng.random() < 0.2:
        data[rng.randrange(min(len(data), 60))] ^= 1 << rng.randrange(8)
    if len(data) < 14:
        data += rng.randbytes(14 - len(data))
    return bytes(data)

"""What the core's merger has to do, written from docs/jumbo.md and docs/modules/merge.md: which packets travel together.

The trace gives the times of decisions and grants; all else follows from the frames.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from weir_sim.jumbo.ecn import with_ecn
from weir_sim.jumbo.packet import JumboFormat, Packet, parse_packet
from weir_sim.jumbo.wire import frame_bytes

KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
"""of the Toeplitz hash, from Microsoft's "Verifying the RSS Hash Calculation" """


def toeplitz(data: bytes) -> int:
    """The 32-bit Toeplitz hash of receive side scaling."""
    key, result = int.from_bytes(KEY, "big"), 0
    for n in range(8 * len(data)):
        if data[n // 8] >> (7 - n % 8) & 1:
            result ^= key >> (8 * len(KEY) - 32 - n) & 0xFFFFFFFF
    return result


def slot_of(packet: Packet, slots: int) -> int:
    """Where a flow's open group is kept."""
    flow = packet.flow
    assert flow
    ports = flow.source_port.to_bytes(2, "big") + flow.destination_port.to_bytes(2, "big")
    return (toeplitz(flow.source + flow.destination + ports) ^ flow.protocol) % slots


@dataclass
class Limits:
    """Of a queue that merges."""

    max_bytes: int = 9216
    max_sum: int = 8960
    max_count: int = 448


@dataclass
class Member:
    """A packet in a queue."""

    frame: bytes
    time_ns: int


@dataclass
class Group:
    """Packets that leave together."""

    queue: int
    members: list[Member]
    seqs: list[int]
    granted: int | None = None
    """cycle of the grant"""
    closed: bool = False
    sent: int = 0
    """packets that left"""


class Found(NamedTuple):
    """What is known of an arrival's flow."""

    kind: str
    slot: int
    number: int
    packet: Packet | None


class FlowTable:
    """The last flow of each slot.

    Args:
        protocol: IPv4 protocol of jumbo frames.
        slots: places of flows.
    """

    def __init__(self, protocol: int, slots: int) -> None:
        self._form, self._slots = JumboFormat(protocol=protocol), slots
        self._table: dict[int, tuple[object, int]] = {}
        self._numbers = 0

    def look_up(self, frame: bytes) -> Found:
        """An arrival's kind, slot and flow number; every arrival comes here, in order."""
        packet = parse_packet(frame, self._form)
        if packet is None:
            return Found("none", -1, -1, None)
        if packet.flow is None:
            return Found("unknown", -1, -1, packet)
        slot = slot_of(packet, self._slots)
        key = (packet.ethernet, packet.dscp, packet.version, packet.flow)
        if slot not in self._table or self._table[slot][0] != key:
            self._table[slot] = key, self._numbers
            self._numbers += 1
        return Found("barred" if packet.barred else "joinable", slot, self._table[slot][1], packet)


@dataclass
class MergeModel:
    """The open groups.

    Args:
        form: of the jumbo frames that are built.
        limits: of each queue; None: it does not merge.
    """

    form: JumboFormat
    limits: list[Limits | None]
    open: dict[int, tuple[int, Group]] = field(default_factory=dict)
    """by slot: the flow's number, and its group"""
    last: tuple[int, int] = (-100, -1)
    """cycle and slot of the last link"""

    def link(self, cycle: int, queue: int, found: Found, member: Member, seq: int) -> Group | None:
        """A packet is linked in that cycle; the group that it opens, or None if it joins one."""
        kind, slot, number, packet = found
        limits = self.limits[queue]
        near = cycle - self.last[0] <= 3 and slot == self.last[1]
        if kind in ("barred", "joinable"):
            self.last = (cycle, slot)
        may_join = kind == "joinable" and limits is not None and not (self.form.l3 and packet and packet.version == 6)
        if may_join and slot in self.open and not near:
            assert packet and limits
            flow, group = self.open[slot]
            if (
                flow == number
                and group.queue == queue
                and not group.closed
                and (group.granted is None or group.granted >= cycle)
            ):
                inner = sum(len(m.frame) - len(packet.ethernet) for m in group.members) + len(packet.ip)
                count = len(group.members) + 1
                ticks = (member.time_ns >> self.form.tick) - (group.members[-1].time_ns >> self.form.tick)
                if (
                    frame_bytes(packet.tags, count, inner, self.form.l3) <= limits.max_bytes
                    and inner <= limits.max_sum
                    and count <= limits.max_count
                    and ticks <= 0xFFFF
                ):
                    group.members.append(member)
                    group.seqs.append(seq)
                    return None
        group = Group(queue, [member], [seq])
        if kind == "unknown":
            for _, other in self.open.values():
                if other.queue == queue:
                    other.closed = True
        elif kind != "none":
            self.open.pop(slot, None)
            if may_join:
                self.open[slot] = (number, group)
        return group


def marked(frame: bytes) -> bytes:
    """The frame with Congestion Experienced."""
    packet = parse_packet(frame)
    assert packet
    return packet.ethernet + with_ecn(packet.ip, 3)

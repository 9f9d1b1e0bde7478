"""What the core's merger has to do, written from docs/jumbo.md and docs/modules/merge.md: which packets travel together.

The trace gives the times of decisions and grants; all else follows from the frames.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
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
    jfet_ns: int | None = None
    """by class; None: by flow"""


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
    deadline_ns: int | None = None
    """of a class: when its timer ends"""
    opened: int = 0
    """cycle in which its first packet was linked"""
    closes: int | None = None
    """of a class: cycle in which a packet closed it"""


class Found(NamedTuple):
    """What is known of an arrival's flow."""

    kind: str
    slot: int
    number: int
    packet: Packet | None
    classed: bool = False
    """the slot is one of a class"""


CLASSES = 16


class Rule(NamedTuple):
    """Of the match table: packets whose destination, masked, is the value, masked."""

    version: int
    value: int
    mask: int
    """32 bits (IPv4), or the first 64 (IPv6)"""
    klass: int | None
    """None: they are left alone"""


def class_of(packet: Packet, rules: Sequence[Rule], unmatched: int | None = 0) -> int | None:
    """What the first rule that matches says of a packet."""
    for rule in rules:
        address = int.from_bytes(packet.pair.destination[:8], "big")
        if rule.version == packet.version and not (address ^ rule.value) & rule.mask:
            return rule.klass
    return unmatched


class FlowTable:
    """The last flow of each slot.

    Args:
        protocol: IPv4 protocol of jumbo frames.
        slots: places of flows.
        classed: queues that merge by class.
        rules: of the match table.
        unmatched: class of other packets; None: left alone.
    """

    def __init__(self, protocol: int, slots: int, classed: Container[int] = (), rules: Sequence[Rule] = (),
                 unmatched: int | None = 0) -> None:  # fmt: skip
        self._form, self._slots = JumboFormat(protocol=protocol), slots
        self.classed, self.rules, self.unmatched = classed, rules, unmatched
        self._table: dict[int, tuple[object, int]] = {}
        self._numbers = 0

    def look_up(self, frame: bytes, queue: int = 0) -> Found:
        """An arrival's kind, slot and flow number; every arrival comes here, in order."""
        packet = parse_packet(frame, self._form)
        if packet is None:
            return Found("none", -1, -1, None)
        klass = class_of(packet, self.rules, self.unmatched)
        if klass is None:
            return Found("none", -1, -1, packet)
        classed = queue in self.classed
        if packet.flow is None and not classed:
            return Found("unknown", -1, -1, packet)
        slot = self._slots + CLASSES * queue + klass if classed else slot_of(packet, self._slots)
        key = (packet.ethernet, packet.dscp, packet.version, None if classed else packet.flow)
        if slot not in self._table or self._table[slot][0] != key:
            self._table[slot] = key, self._numbers
            self._numbers += 1
        kind = "barred" if packet.barred or packet.flow is None else "joinable"
        return Found(kind, slot, self._table[slot][1], packet, classed)


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
        kind, slot, number, packet = found[:4]
        limits = self.limits[queue]
        near = cycle - self.last[0] <= 3 and slot == self.last[1]
        if kind in ("barred", "joinable"):
            self.last = (cycle, slot)
        may_join = kind == "joinable" and limits is not None and not (self.form.l3 and packet and packet.version == 6)
        now_ns = 32 * (cycle - 1) // 5
        """when the link comes, a cycle before it goes on"""
        if may_join and slot in self.open and not near:
            assert packet and limits
            flow, group = self.open[slot]
            in_time = group.deadline_ns is None or now_ns < group.deadline_ns
            if (
                flow == number
                and in_time
                and self._waits(group, queue, cycle)
                and self._fits(group, packet, member, limits)
            ):
                group.members.append(member)
                group.seqs.append(seq)
                return None
        group = Group(queue, [member], [seq], opened=cycle)
        if kind == "unknown":
            for _, other in self.open.values():
                if other.queue == queue:
                    other.closed = True
        elif kind != "none":
            _, before = self.open.pop(slot, (0, None))
            if before and before.deadline_ns is not None:
                before.closes = cycle
            if may_join:
                self.open[slot] = (number, group)
                assert limits
                if limits.jfet_ns is not None:
                    group.deadline_ns = now_ns + limits.jfet_ns
        return group

    @staticmethod
    def _waits(group: Group, queue: int, cycle: int) -> bool:
        return group.queue == queue and not group.closed and (group.granted is None or group.granted >= cycle)

    def _fits(self, group: Group, packet: Packet, member: Member, limits: Limits) -> bool:
        inner = sum(len(m.frame) - len(packet.ethernet) for m in group.members) + len(packet.ip)
        count = len(group.members) + 1
        ticks = (member.time_ns >> self.form.tick) - (group.members[-1].time_ns >> self.form.tick)
        return (
            frame_bytes(packet.tags, count, inner, self.form.l3) <= limits.max_bytes
            and inner <= limits.max_sum
            and count <= limits.max_count
            and ticks <= 0xFFFF
        )


def marked(frame: bytes) -> bytes:
    """The frame with Congestion Experienced."""
    packet = parse_packet(frame)
    assert packet
    return packet.ethernet + with_ecn(packet.ip, 3)

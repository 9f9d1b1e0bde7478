"""What the core does with jumbo frames that stay together (transit), written from docs/jumbo.md and docs/modules/transit.md.

Jumbo frames in, jumbo frames out, byte for byte. The trace gives only the times of decisions and departures and what the policies said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from golden.merge import marked
from weir_sim.jumbo.ecn import CE, ECT0, ECT1, NOT_ECT, header_checksum, with_ecn
from weir_sim.jumbo.packet import JumboFormat, parse_packet, traffic_class
from weir_sim.jumbo.wire import Jumbo, Malformed, dissect

ECT = (ECT0, ECT1)


@dataclass
class Unit:
    """What arrives as one: an ordinary frame, or a jumbo frame that stays together."""

    frame: bytes
    jumbo: Jumbo | None
    lengths: list[int]
    """of the packets' own frames"""
    ecns: list[int]
    ecn: int
    """that the policy is asked with"""
    dscp: int | None
    """that chooses the queue; None: not IP"""
    outer_ce: bool = False
    ce: set[int] = field(default_factory=set)
    """packets that are to be marked, by their places among those that came"""
    gone: set[int] = field(default_factory=set)
    """packets that were dropped, likewise"""

    @property
    def header(self) -> int:
        """Bytes before the packets; 0 of an ordinary frame."""
        if self.jumbo is None:
            return 0
        return len(self.jumbo.ethernet) + 2 + 20 * self.jumbo.l3 + 6 + 4 * self.jumbo.count

    @property
    def cells(self) -> int:
        """Cells of 64 bytes that it takes."""
        return sum(-(-n // 64) for n in (*self.lengths, self.header))

    @property
    def live(self) -> list[int]:
        """Packets that are left."""
        return [n for n in range(len(self.lengths)) if n not in self.gone]

    def sent(self) -> bytes:
        """The frame as it leaves."""
        if self.jumbo is None:
            return marked(self.frame) if self.ce else self.frame
        return rebuilt(self.frame, self.jumbo, self.outer_ce, self.ce, self.gone)


def rebuilt(frame: bytes, jumbo: Jumbo, outer_ce: bool, ce: set[int], gone: set[int]) -> bytes:
    """A jumbo frame without its padding, some packets marked and some dropped: their entries have length 0 and keep their spacing."""
    start = len(jumbo.ethernet) + 2
    content = start + 20 * jumbo.l3
    table = bytearray(frame[content + 6 : content + 6 + 4 * jumbo.count])
    packets, number = b"", 0
    for place, entry in enumerate(jumbo.entries):
        if not entry.length:
            continue
        if number in gone:
            table[4 * place : 4 * place + 2] = bytes(2)
        else:
            packet = jumbo.packets[number]
            packets += with_ecn(packet, CE) if number in ce and traffic_class(packet) & 3 in ECT else packet
        number += 1
    head = bytearray(frame[start:content])
    if jumbo.l3:
        if outer_ce and jumbo.ecn in ECT:
            head[1] |= CE
        head[2:4] = (20 + 6 + len(table) + len(packets)).to_bytes(2, "big")
        head[10:12] = bytes(2)
        head[10:12] = header_checksum(bytes(head)).to_bytes(2, "big")
    return frame[:start] + bytes(head) + frame[content : content + 6] + bytes(table) + packets


def outer_rule(ecns: Sequence[int]) -> int:
    """The ECN that a builder gives a jumbo frame of such packets; CE if all are."""
    for codepoint in (NOT_ECT, ECT0, ECT1):
        if codepoint in ecns:
            return codepoint
    return CE


def traffic(ip: bytes) -> tuple[int, int | None]:
    """ECN and DSCP of an IP packet; Not-ECT and no DSCP if its IPv4 header is not inside it."""
    if ip[0] >> 4 == 4 and not 20 <= 4 * (ip[0] & 15) <= len(ip):
        return NOT_ECT, None
    return traffic_class(ip) & 3, traffic_class(ip) >> 2


def unit(frame: bytes, ethertype: int = 0x88B5, protocol: int = 253) -> Unit | None:
    """A frame as it arrives; None if nothing of it does (malformed, or a jumbo frame without packets)."""
    try:
        jumbo = dissect(frame, JumboFormat(ethertype=ethertype, protocol=protocol))
    except Malformed:
        return None
    if jumbo is None:
        packet = parse_packet(frame)
        ecn, dscp = (packet.ecn, packet.dscp) if packet else (NOT_ECT, None)
        return Unit(frame, None, [len(frame)], [ecn], ecn, dscp)
    if not jumbo.packets:
        return None
    start = len(jumbo.ethernet) + 2
    ecns = [traffic(p)[0] for p in jumbo.packets]
    ecn, dscp = outer_rule(ecns), traffic(jumbo.packets[0])[1]
    if jumbo.l3:
        ecn, dscp = frame[start + 1] & 3, frame[start + 1] >> 2
    return Unit(frame, jumbo, [start + len(p) for p in jumbo.packets], ecns, ecn, dscp)


@dataclass
class Mred:
    """MRED with DDF of a queue (algorithms: 000).

    Args:
        low, high: shares at `min` and at `max`.
        min, max: of RED, in the queue's unit.
        ecn: packets of ECT jumbo frames are marked.
    """

    low: float
    high: float
    min: float
    max: float
    ecn: bool

    def share(self, average: float, count: int) -> set[int]:
        """How many of `count` packets an average costs; two numbers if rounding may decide."""
        f = self.low + (self.high - self.low) * (average - self.min) / (self.max - self.min)
        inside = self.low < f < self.high
        x = min(max(f, self.low), self.high) * count - 1e-9
        # the slope has 18 bits, the average 11 of its fraction
        slack = (0.002 + x * 2**-16) * inside
        return {min(max(math.ceil(y), 1), count) for y in (x - slack, x + slack)}


@dataclass
class Selection:
    """A jumbo frame that RED selected and that was spared."""

    cycle: int
    """when that was decided"""
    average: float


@dataclass
class Waiting:
    """A jumbo frame in transit that waits, as MRED sees it."""

    unit: Unit
    linked: int
    """cycle in which its last packet was linked"""
    marked: int = 0
    """packets at its front that are to be marked"""
    pays: bool = True
    """it was not marked as a whole when it came"""

    @property
    def untouched(self) -> list[int]:
        """Packets that a selection may take."""
        return self.unit.live[self.marked :] if self.pays else []


class MredModel:
    """The jumbo frames of one queue that wait, and the selections that are to be carried out, the oldest first."""

    def __init__(self, mred: Mred) -> None:
        self.mred = mred
        self.waiting: list[Waiting] = []
        self.pending: list[Selection] = []
        self.planned: list[int] = []
        """packets of the share that is being dropped that are still to come, if it is the largest of `options`"""
        self.options: set[int] = set()
        self.done = 0
        """packets of that share that were dropped"""
        self.taken: list[int] = []
        """k of every selection"""

    def removed(self, n: Unit) -> int:
        """A packet of that jumbo frame was dropped: which one. It must be the next of a share that is being dropped, or the first of a new one."""
        victim = next(w for w in self.waiting if w.untouched)
        while victim.unit is not n:
            # marks that will show when it leaves
            assert self.mred.ecn and victim.unit.ecn != NOT_ECT and not self.planned, (
                "not the jumbo frame nearest the head"
            )
            self._mark(victim)
            victim = next(w for w in self.waiting if w.untouched)
        assert not (self.mred.ecn and n.ecn != NOT_ECT), "packets that should be marked were dropped"
        if not self.planned:
            selection = self.pending.pop(0)
            self.options = self.mred.share(selection.average, len(victim.untouched))
            self.planned = victim.untouched[: max(self.options)]
            self.done = 0
        place = self.planned.pop(0)
        n.gone.add(place)
        self.done += 1
        if not self.planned:
            self.taken.append(self.done)
        return place

    def _mark(self, w: Waiting) -> None:
        """The next selection marks packets of that jumbo frame."""
        x = min(self.mred.share(self.pending.pop(0).average, len(w.untouched)))
        w.marked += x
        self.taken.append(x)

    def settle(self) -> None:
        """Nothing more is dropped for the last share: it was one of those that rounding allows."""
        assert not self.planned or self.done in self.options, (
            f"{self.done} packets were dropped, not one of {self.options}"
        )
        self.planned = []

    def departs(self, n: Unit, cycle: int, marked: int) -> None:
        """That jumbo frame was granted in that cycle and `marked` packets at its front were marked in place."""
        w = self.waiting.pop(next(i for i, w in enumerate(self.waiting) if w.unit is n))
        while w.marked < marked:
            assert self.pending and self.pending[0].cycle < cycle, "marks that nobody selected"
            self._mark(w)
        assert w.marked == marked, f"{marked} packets were marked, not {w.marked}"
        # those that were decided long before had all this time, unless nothing was left to take; those before it was there are void
        while self.pending and (self.pending[0].cycle < w.linked):
            self.pending.pop(0)
        if w.untouched:
            assert not any(s.cycle + 400 < cycle for s in self.pending), "a selection was not carried out"

"""Mergers: queues that give packets to a link in groups. Written from docs/jumbo.md, "Who may travel together" and "Order".

All times are whole ns of one clock. Queues here have no limit: they hold what the link has not taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Protocol

from .packet import Flow, JumboFormat, Packet, Pair, parse_packet
from .wire import MAX_COUNT, MAX_FRAME, MAX_SPACING, MAX_SUM, frame_bytes


@dataclass(frozen=True)
class Limits:
    """What a group may hold.

    Args:
        form: of the jumbo frame; its tick is the unit of the spacing.
        max_bytes: of the jumbo frame without FCS, 64 to 9216.
        max_sum: of the IP packets, 40 to 8960.
        max_count: packets, 1 (nothing is merged) to 448.

    Raises:
        ValueError: a number is out of its range.
    """

    form: JumboFormat = field(default_factory=JumboFormat)
    max_bytes: int = MAX_FRAME
    max_sum: int = MAX_SUM
    max_count: int = MAX_COUNT

    def __post_init__(self) -> None:
        for name, low, high in (("max_bytes", 64, MAX_FRAME), ("max_sum", 40, MAX_SUM), ("max_count", 1, MAX_COUNT)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name}={value} must be {low} to {high}")


@dataclass(frozen=True, eq=False)
class Arrival:
    """A frame that came to a queue."""

    time_ns: int
    frame: bytes
    packet: Packet | None
    """None if it is not IP"""
    number: int = 0

    @staticmethod
    def of(time_ns: int, frame: bytes, form: JumboFormat, number: int = 0) -> Arrival:
        """The arrival of a frame, its packet parsed."""
        return Arrival(time_ns, frame, parse_packet(frame, form), number)


class Merger(Protocol):
    """What a link asks of a queue. Times never go back; arrivals at a moment come before what is taken at it."""

    def arrive(self, arrival: Arrival) -> None:
        """A frame comes in, at its time."""

    def take(self, now_ns: int) -> list[Arrival]:
        """The frames that leave together now; none if there are none."""

    def wake_ns(self) -> int | None:
        """When frames that wait for a timer can be taken; None if none wait."""


class Group:
    """Packets that will leave together, in order. Rules 6 and 7 of the page."""

    def __init__(self, first: Arrival, limits: Limits) -> None:
        self.members = [first]
        self._limits = limits
        packet = first.packet
        self._like = (packet.ethernet, packet.dscp) if packet else None
        self._tags = packet.tags if packet else 0
        self._sum = len(packet.ip) if packet else 0

    def fits(self, arrival: Arrival, packet: Packet) -> bool:
        """Whether the packet, which may join some frame, may join this one."""
        limits = self._limits
        tick, count, total = limits.form.tick, len(self.members) + 1, self._sum + len(packet.ip)
        return (
            (packet.ethernet, packet.dscp) == self._like
            and frame_bytes(self._tags, count, total, limits.form.l3) <= limits.max_bytes
            and total <= limits.max_sum
            and count <= limits.max_count
            and (arrival.time_ns >> tick) - (self.members[-1].time_ns >> tick) <= MAX_SPACING
        )

    def add(self, arrival: Arrival, packet: Packet) -> None:
        """The packet, which fits, joins."""
        self.members.append(arrival)
        self._sum += len(packet.ip)


class FlowMerger:
    """Grouping at the arrival, O(1) a packet: each flow has at most one open group (JFEPM, paper 002).

    A group has the place of its first packet in the FIFO and closes when the link takes it. Without drops it gives
    the frames of `jfepm.Jfepm`, which searches the queue.

    Args:
        limits: of a group.
        alone: packets, by flow, that are left alone (the paper's flows within a rack).
    """

    def __init__(self, limits: Limits, alone: Callable[[Packet], bool] = lambda packet: False) -> None:
        self._limits, self._alone = limits, alone
        self._fifo: deque[tuple[Group, Flow | None]] = deque()
        self._open: dict[Flow, Group] = {}
        self._flows: dict[Pair, set[Flow]] = {}
        """flows with an open group, by their addresses"""

    def _close(self, flow: Flow) -> None:
        if self._open.pop(flow, None) is not None:
            pair = Pair(flow.source, flow.destination)
            flows = self._flows[pair]
            flows.remove(flow)
            if not flows:
                del self._flows[pair]

    def arrive(self, arrival: Arrival) -> None:
        """See `Merger`."""
        packet = arrival.packet
        flow = packet.flow if packet else None
        if packet and flow is None:
            for other in tuple(self._flows.get(packet.pair, ())):
                self._close(other)
        if packet is None or flow is None:
            self._fifo.append((Group(arrival, self._limits), None))
            return
        joins = packet.may_join and not self._alone(packet)
        group = self._open.get(flow)
        if joins and group and group.fits(arrival, packet):
            group.add(arrival, packet)
            return
        self._close(flow)
        group = Group(arrival, self._limits)
        self._fifo.append((group, flow))
        if joins:
            self._open[flow] = group
            self._flows.setdefault(packet.pair, set()).add(flow)

    def take(self, now_ns: int) -> list[Arrival]:
        """See `Merger`."""
        if not self._fifo:
            return []
        group, flow = self._fifo.popleft()
        if flow and self._open.get(flow) is group:
            self._close(flow)
        return group.members

    def wake_ns(self) -> int | None:
        """See `Merger`."""
        return None


def by_destination(bits4: int, bits6: int) -> Callable[[Packet], Hashable]:
    """Classes by the leading bits of the destination address (0 to 32 and 0 to 128): the paper's egress points.

    A class must follow from the two addresses alone; else a fragment could pass the packets of its flow.
    """

    def of(packet: Packet) -> Hashable:
        destination = packet.pair.destination
        bits = 8 * len(destination)
        keep = bits4 if packet.version == 4 else bits6
        return packet.version, int.from_bytes(destination, "big") >> (bits - keep)

    return of


class ClassMerger:
    """One open group for each class, with a timer (JumboGen, paper 000).

    A group is parked until it closes: `jfet_ns` after its first packet came, or when a packet of its class comes that
    does not fit or may not join. It then goes to the rear of the FIFO. A timer that ends when a packet comes ends
    before it.

    Args:
        limits: of a group.
        jfet_ns: the Jumbo Frame Encapsulation Timer, 0 or more.
        class_of: a packet's class by its addresses; None: the class bypasses merging.
    """

    def __init__(self, limits: Limits, jfet_ns: int, class_of: Callable[[Packet], Hashable | None]) -> None:
        self._limits, self._jfet, self._class_of = limits, jfet_ns, class_of
        self._fifo: deque[Group] = deque()
        self._parked: dict[Hashable, Group] = {}
        self._timers: deque[tuple[int, Hashable, Group]] = deque()
        """of parked groups and, until they end, of some that have closed; in order, as all have the same length"""

    def _expire(self, now_ns: int) -> None:
        while (wake := self.wake_ns()) is not None and wake <= now_ns:
            self._fifo.append(self._parked.pop(self._timers.popleft()[1]))

    def arrive(self, arrival: Arrival) -> None:
        """See `Merger`."""
        self._expire(arrival.time_ns)
        packet = arrival.packet
        kind = self._class_of(packet) if packet else None
        if packet is None or kind is None:
            self._fifo.append(Group(arrival, self._limits))
            return
        group = self._parked.get(kind)
        if group and packet.may_join and group.fits(arrival, packet):
            group.add(arrival, packet)
            return
        if group:
            self._fifo.append(self._parked.pop(kind))
        group = Group(arrival, self._limits)
        if packet.may_join:
            self._parked[kind] = group
            self._timers.append((arrival.time_ns + self._jfet, kind, group))
        else:
            self._fifo.append(group)

    def take(self, now_ns: int) -> list[Arrival]:
        """See `Merger`."""
        self._expire(now_ns)
        return self._fifo.popleft().members if self._fifo else []

    def wake_ns(self) -> int | None:
        """See `Merger`."""
        while self._timers and self._parked.get(self._timers[0][1]) is not self._timers[0][2]:
            self._timers.popleft()
        return self._timers[0][0] if self._timers else None

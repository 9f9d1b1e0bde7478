"""JFEPM as paper 002 prints it: Algorithm 1 at the dequeue, Algorithm 2 at the enqueue. The oracle of `merge.FlowMerger`.

Slow on purpose: the queue is searched, and whether a packet still fits is tried by building the frame.
"""

from __future__ import annotations

from collections.abc import Callable

from .merge import Arrival, Limits
from .packet import Packet
from .wire import Malformed, build, dissect, split


def cells_of(frame: bytes) -> int:
    """Cells of 64 bytes that a frame takes in the buffer."""
    return -(-len(frame) // 64)


class Jfepm:
    """A FIFO of packets that merges when it is asked for a frame.

    Where the paper leaves a hole, or would change the order of a flow, docs/jumbo.md decides: the test is made before
    a packet is added, the search stops at the first packet of the flow that does not fit, and at one whose flow
    cannot be known between the same addresses.

    Args:
        limits: of a group.
        within_rack: packets, by flow, that are left alone.
        buffer_bytes: of frames that the queue may hold; None: any. What does not fit is dropped whole.
        buffer_cells: that it may hold, each packet of a jumbo frame that is split in cells of its own, as in the RTL; None: any.
        split_arrivals: split jumbo frames that arrive (the far end); a malformed one is dropped.
        one_stops_all: a packet whose flow cannot be known ends every search, not only between its addresses, as in the RTL.
    """

    def __init__(self, limits: Limits, within_rack: Callable[[Packet], bool] = lambda packet: False,
                 buffer_bytes: int | None = None, split_arrivals: bool = True, one_stops_all: bool = False,
                 buffer_cells: int | None = None) -> None:  # fmt: skip
        self._limits, self._within_rack, self._buffer_bytes = limits, within_rack, buffer_bytes
        self._split_arrivals, self._one_stops_all = split_arrivals, one_stops_all
        self._queue: list[Arrival] = []
        self.buffer_cells = buffer_cells
        """may be changed between arrivals: others hold cells, too"""
        self.dropped = 0
        """frames that did not fit, or were malformed"""

    @property
    def cells(self) -> int:
        """That the packets hold."""
        return sum(cells_of(a.frame) for a in self._queue)

    def arrive(self, arrival: Arrival) -> None:
        """Algorithm 2: inserts the frame, or the packets of a jumbo frame, at the rear."""
        form = self._limits.form
        available = None if self._buffer_bytes is None else self._buffer_bytes - sum(len(a.frame) for a in self._queue)
        if available is not None and len(arrival.frame) > available:
            self.dropped += 1
            return
        try:
            jumbo = dissect(arrival.frame, form) if self._split_arrivals else None
        except Malformed:
            self.dropped += 1
            return
        frames = split(jumbo).frames if jumbo else [arrival.frame]
        if self.buffer_cells is not None and self.cells + sum(map(cells_of, frames)) > self.buffer_cells:
            self.dropped += 1
            return
        for frame in frames:
            self._queue.append(Arrival.of(arrival.time_ns, frame, form, arrival.number) if jumbo else arrival)

    def take(self, now_ns: int) -> list[Arrival]:
        """Algorithm 1: the front packet, and those of its flow that fit into one frame with it."""
        if not self._queue:
            return []
        front = self._queue.pop(0)
        first = front.packet
        taken = [front]
        if first is None or not first.may_join or self._within_rack(first):
            return taken
        for other in list(self._queue):
            packet = other.packet
            if packet is None:
                continue
            if packet.flow is None and (self._one_stops_all or packet.pair == first.pair):
                break
            if packet.flow != first.flow:
                continue
            if not self._fit([*taken, other]):
                break
            self._queue.remove(other)
            taken.append(other)
        return taken

    def wake_ns(self) -> int | None:
        """Nothing here waits for time."""
        return None

    def _fit(self, members: list[Arrival]) -> bool:
        limits = self._limits
        try:
            frame = build([m.frame for m in members], [m.time_ns for m in members], limits.form)
        except ValueError:
            return False
        total = sum(len(m.packet.ip) for m in members if m.packet)
        return len(frame) <= limits.max_bytes and total <= limits.max_sum and len(members) <= limits.max_count

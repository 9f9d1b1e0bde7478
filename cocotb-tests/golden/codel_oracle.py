"""RFC 8289's CoDel as its section 5 states it: `deque()` with its loop, over a queue of packets.

It shares nothing with `codel.py` but the packets' type: numbers are doubles (or integers, if the control law that is given
returns integers), the loop is a loop. What the RFC does not have is marked [ours]: packets that are exempt, marking as in Linux'
codel, and that the clock goes on within a `deque()`, since every packet is a grant of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Protocol

from .codel import CodelParams, Departing
from .red import CE, NOT_ECT

Number = float | int
ControlLaw = Callable[[Number, Number, int], Number]
COUNT_MAX = (1 << 16) - 1


def exact(t: Number, interval: Number, count: int) -> Number:
    """RFC 8289, 5.6."""
    return t + interval / sqrt(count)


class Source(Protocol):
    """The queue: its head leaves; None if it is empty."""

    def __call__(self) -> Departing | None: ...


@dataclass
class Result:
    """`dodequeue_result`."""

    packet: Departing | None
    ok_to_drop: bool


class CodelQueue:
    """The RFC's class. `log` gets (packet, fate) for every packet: "drop", "mark" or "send", in order."""

    def __init__(self, queue: Source, params: CodelParams, control_law: ControlLaw = exact) -> None:
        self.queue = queue
        self.params = params
        self.law = control_law
        self.now: Number = 0
        self.first_above_time: Number | None = None
        self.drop_next: Number = 0
        self.count = 0
        self.lastcount = 0
        self.dropping = False
        self.log: list[tuple[Departing, str]] = []

    def reached(self, packet: Departing | None) -> bool:
        """now >= drop_next; a test that knows of rounding may override it."""
        return self.now >= self.drop_next

    def recently(self) -> bool:
        """now - drop_next < 16 INTERVAL."""
        return self.now - self.drop_next < 16 * self.params.interval

    def deque(self) -> Departing | None:
        """Section 5.5."""
        r = self.dodequeue()
        if self.dropping:
            if not r.ok_to_drop:
                self.dropping = False
            while self.dropping and self._acts(r.packet) and self.reached(r.packet):
                self.count = min(self.count + 1, COUNT_MAX)
                if self._marks(r.packet):  # [ours], Linux
                    self.drop_next = self.law(self.drop_next, self.params.interval, self.count)
                    return r.packet
                self._drop(r.packet)
                r = self.dodequeue()
                if not r.ok_to_drop:
                    self.dropping = False
                else:
                    self.drop_next = self.law(self.drop_next, self.params.interval, self.count)
        elif r.ok_to_drop and self._acts(r.packet):
            if not self._marks(r.packet):  # [ours], Linux
                self._drop(r.packet)
                entered = self.now
                r = self.dodequeue()
            else:
                entered = self.now
            self.dropping = True
            self._enter(entered)
        if r.packet is not None and not (self.log and self.log[-1][0] is r.packet):
            self.log.append((r.packet, "send"))
        return r.packet

    def _enter(self, now: Number) -> None:
        delta = self.count - self.lastcount
        later, self.now = self.now, now
        self.count = delta if delta > 1 and self.recently() else 1
        self.now = later
        self.drop_next = self.law(now, self.params.interval, self.count)
        self.lastcount = self.count

    def _acts(self, packet: Departing | None) -> bool:
        """[ours] An exempt packet is returned as if it were not time yet."""
        return packet is not None and not packet.exempt

    def _marks(self, packet: Departing | None) -> bool:
        """[ours] As Linux' INET_ECN_set_ce: what is CE already counts as marked."""
        if packet is None or not self.params.ecn or packet.ecn == NOT_ECT:
            return False
        self.log.append((packet, "send" if packet.ecn == CE else "mark"))
        return True

    def _drop(self, packet: Departing | None) -> None:
        if packet is None:
            raise ValueError("an empty queue is never above its target")
        self.log.append((packet, "drop"))

    def dodequeue(self) -> Result:
        """Section 5.6."""
        packet = self.queue()
        if packet is None:
            self.first_above_time = None
            return Result(None, False)
        self.now = packet.now_ns
        ok = False
        if packet.sojourn_ns < self.params.target or packet.bytes <= self.params.mtu:
            self.first_above_time = None
        elif self.first_above_time is None:
            self.first_above_time = self.now + self.params.interval
        elif self.now >= self.first_above_time:
            ok = True
        return Result(packet, ok)

"""CoDel's decisions, bit for bit (docs/modules/codel.md). One `Codel` is one queue, one call a departure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import isqrt, sqrt

from .red import ACCEPT, CE, DROP, FORCED, MARK, NONE, NOT_ECT

TIME = 1 << 48
EPOCH = 1 << 46
COUNT_MAX = (1 << 16) - 1
OFF = (1 << 32) - 1

BEGIN, ENTERED, LOOP = "begin", "entered", "loop"


@dataclass(frozen=True)
class CodelParams:
    """The registers CODEL_*: times in ns (32 bits), MTU in bytes (14 bits)."""

    target: int = 5_000_000
    interval: int = 100_000_000
    mtu: int = 1514
    ecn: bool = False
    ce_threshold: int = OFF


@dataclass(frozen=True)
class Departing:
    """`PolicyDeparture`: times in ns modulo 2^48; `bytes` is the queue without the packet."""

    now_ns: int
    sojourn_ns: int
    bytes: int
    ecn: int = NOT_ECT
    exempt: bool = False


@dataclass(frozen=True)
class Ruling:
    """The verdict; `selected` (by the control law, not by the CE threshold) is for tests only."""

    action: int
    cause: int
    selected: bool


def normalised(count: int) -> tuple[int, int]:
    """(a, e) with count = m·4^e, 1 <= m < 4, a = floor(256·m)."""
    exponent = (count.bit_length() - 1) // 2
    return (count << 8) >> (2 * exponent), exponent


@lru_cache(maxsize=1024)
def mantissa(a: int) -> int:
    """round(2^18 / sqrt(a / 256)), 18 bits."""
    nearest = (isqrt((1 << 46) // a) + 1) // 2
    return min(nearest, (1 << 18) - 1)


def step(interval: int, count: int) -> int:
    """interval / sqrt(count) in ns as hardware has it; count 1 to 65535."""
    if count == 1:
        return interval
    a, exponent = normalised(count)
    return interval * mantissa(a) >> 18 + exponent


def step_error(interval: int, count: int) -> float:
    """Bound of |step - interval/sqrt(count)|, ns (docs/modules/codel.md)."""
    if count == 1:
        return 0.0
    return interval / sqrt(count) * (2.0**-18 if count < 1024 else 2.0**-9 + 2.0**-18) + 1.0


class Aged:
    """A time that is known to be past once its epoch is two before the present."""

    def __init__(self) -> None:
        self.ns = 0
        self.old = True

    def set(self, ns: int, old: bool = False) -> None:
        """Another time, old already or not."""
        self.ns = ns % TIME
        self.old = old

    def copy(self, other: Aged) -> None:
        """The same time as another."""
        self.ns, self.old = other.ns, other.old

    def sweep(self, now_ns: int) -> None:
        """Time has come to `now_ns`."""
        if (now_ns // EPOCH - self.ns // EPOCH) % 4 == 2:
            self.old = True

    def age(self, now_ns: int) -> int | None:
        """now - time, signed; None if it is old."""
        if self.old:
            return None
        difference = (now_ns - self.ns) % TIME
        return difference - TIME if difference >= TIME // 2 else difference

    def reached(self, now_ns: int) -> bool:
        """now >= time."""
        age = self.age(now_ns)
        return age is None or age >= 0


class Codel:
    """State of one queue."""

    def __init__(self) -> None:
        self.first_above = Aged()
        self.drop_next = Aged()
        self.drop_before = Aged()
        self.clear()

    def clear(self) -> None:
        """The queue's state starts anew."""
        self.dropping = False
        self.above = False
        self.phase = BEGIN
        self.count = 0
        self.lastcount = 0

    def sweep(self, now_ns: int) -> None:
        """Time has come to `now_ns`; at least once in every 2^46 ns."""
        for time in (self.first_above, self.drop_next, self.drop_before):
            time.sweep(now_ns)

    def emptied(self) -> None:
        """The queue has become empty without a departure that was asked about."""
        self.above = False

    @property
    def next_drop(self) -> Aged:
        """drop_next as the RFC has it: in the loop, the packet has yet to show whether it moves."""
        return self.drop_before if self.phase == LOOP else self.drop_next

    def depart(self, packet: Departing, params: CodelParams) -> Ruling:
        """Decide about a packet at the head of its queue."""
        now = packet.now_ns
        above = packet.sojourn_ns >= params.target and packet.bytes > params.mtu
        ok = above and self.above and self.first_above.reached(now)
        if above and not self.above:
            self.first_above.set(now + params.interval)
        self.above = above

        phase, self.phase = self.phase, BEGIN
        if phase == LOOP and not ok:
            self.drop_next.copy(self.drop_before)
        if phase == ENTERED:
            selected = False
        elif self.dropping:
            self.dropping = ok
            selected = ok and self.drop_next.reached(now) and not packet.exempt
        else:
            selected = ok and not packet.exempt

        marks = selected and params.ecn and packet.ecn != NOT_ECT
        drops = selected and not marks
        if selected and self.dropping:
            self._advance(params.interval)
            self.phase = LOOP if drops else BEGIN
        elif selected:
            self._enter(now, params.interval)
            self.phase = ENTERED if drops else BEGIN

        late = params.ce_threshold != OFF and packet.sojourn_ns > params.ce_threshold
        late = late and not packet.exempt and packet.ecn != NOT_ECT and not drops
        action = ACCEPT
        if drops:
            action = DROP
        elif (marks or late) and packet.ecn != CE:
            action = MARK
        return Ruling(action, FORCED if selected or late else NONE, selected)

    def _advance(self, interval: int) -> None:
        self.count = min(self.count + 1, COUNT_MAX)
        self.drop_before.copy(self.drop_next)
        self.drop_next.set(self.drop_next.ns + step(interval, self.count), self.drop_next.old)

    def _enter(self, now: int, interval: int) -> None:
        delta, age = self.count - self.lastcount, self.drop_next.age(now)
        recent = age is not None and age < 16 * interval
        self.count = delta if delta > 1 and recent else 1
        self.lastcount = self.count
        self.dropping = True
        self.drop_next.set(now + step(interval, self.count))

"""FN's decision, bit for bit (docs/modules/fn.md). One `Fn` is one queue; the `pool` is shared by the queues.

Sources: Kadhum and Hassan, "Fast Congestion Notification" (APCC 2009), equation 3; docs/modules/fn.md for what it leaves open.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction

ACCEPT, MARK, DROP = 0, 1, 2
NONE, EARLY, FORCED = 0, 1, 2
NOT_ECT, ECT1, ECT0, CE = 0, 1, 2, 3

ENTRIES = 4096
ONE = 1 << 32
TIME = 1 << 48
GAP_MAX = (1 << 32) - 1
COUNT_MAX = (1 << 16) - 1
AVERAGE_MAX = (1 << 43) - 1
#: the acceleration is measured every max(SIZE, PERIOD) packets and used PERIOD packets later
PERIOD = 128
#: exponent of a term that is 0
NOTHING = -256


@dataclass(frozen=True)
class FnParams:
    """The FN_* registers, field for field."""

    quadratic: bool = False
    uniform: bool = False
    byte_mode: bool = False
    ecn: bool = False
    size: int = 1
    base: int = 0
    t_mantissa: int = 0
    t_exponent: int = 0
    room: int = 0
    mean_mantissa: int = 0
    mean_exponent: int = 0
    half_t2_mantissa: int = 0
    half_t2_exponent: int = 0

    @property
    def entries(self) -> int:
        """Window size as used, 1 to 4096."""
        return min(max(self.size, 1), ENTRIES)

    @property
    def time_constant(self) -> Fraction:
        """T in ns."""
        return Fraction(self.t_mantissa) * Fraction(2) ** (self.t_exponent - 32)

    @property
    def half_t2(self) -> Fraction:
        """T^2/2 in ns^2."""
        return Fraction(self.half_t2_mantissa << self.half_t2_exponent)

    @property
    def room_bytes(self) -> Fraction:
        """mu T + Qopt in bytes."""
        return Fraction(self.room, 16)

    @property
    def size_reciprocal(self) -> Fraction:
        """1 / MaxPacketSize, per byte."""
        return Fraction(self.mean_mantissa, 1 << (self.mean_exponent + 20))


@dataclass(frozen=True)
class Float:
    """`(-1)^negative * mantissa * 2^exponent`."""

    mantissa: int = 0
    exponent: int = 0
    negative: bool = False


@dataclass(frozen=True)
class Verdict:
    """The policy's answer with its evidence. The fields from `numerator` on are for tests only."""

    action: int
    cause: int
    average: int
    count: int
    probability: int
    idle_slots: int
    numerator: int = 0
    denominator: int = 0
    certain: bool = False

    @property
    def selected(self) -> bool:
        """The packet was selected."""
        return self.cause != NONE


def normalise(value: int, width: int = 44) -> tuple[int, int]:
    """The upper 18 bits of a value of `width` bits after a left shift that sets its top bit, and the shift."""
    if value == 0:
        return 0, 47
    shift = width - value.bit_length()
    return value << shift >> width - 18, shift


def reciprocal(mantissa: int) -> int:
    """2^35 / mantissa from a table of 1024 entries; mantissa 2^17 to 2^18 - 1 (0 is read as 2^17)."""
    middle = (1 << 17) + ((mantissa >> 7 & 1023) << 7) + (1 << 6)
    return ((1 << 36) + middle) // (2 * middle)


def quotient(a: int, b: int, exponent: int) -> Float:
    """a / b * 2^exponent, truncated to 18 bits; a 0 or normalised, b normalised."""
    q = (a << 18) // b
    if q >= 1 << 18:
        return Float(q >> 1, exponent - 17)
    return Float(q, exponent - 18)


def difference(new: Float, old: Float) -> Float:
    """new - old, normalised to 18 bits."""
    top = max(new.exponent, old.exponent)
    a = new.mantissa << 8 >> min(top - new.exponent, 31)
    b = old.mantissa << 8 >> min(top - old.exponent, 31)
    size = abs(a - b)
    if size == 0:
        return Float()
    shift = 26 - size.bit_length()
    return Float(size << shift >> 8, top - shift, a < b)


def product(a: Float, mantissa: int, exponent: int) -> Float:
    """a * mantissa * 2^exponent, truncated to 18 bits of the 36-bit product."""
    exact = a.mantissa * mantissa
    up = exact >> 35
    return Float(exact >> 17 + up, a.exponent + exponent + 17 + up, a.negative)


def rate_scaled(bytes_: tuple[int, int], time: tuple[int, int]) -> int:
    """R in bytes per 2^20 ns, UQ21.22, from normalised sums."""
    if bytes_[0] == 0:
        return 0
    if time[0] == 0:
        return AVERAGE_MAX
    top = bytes_[0] * reciprocal(time[0]) >> 18
    x = time[1] - bytes_[1] + 25
    return min(top << x if x >= 0 else top >> -x, AVERAGE_MAX)


class Fn:
    """One queue: `request` for every arrival in order (its count is taken then), `commit` when its fate is known.

    Commits that hardware takes before a request's count have to be given before its `request`.
    """

    def __init__(self, pool: list[tuple[int, int]] | None = None) -> None:
        self.pool = pool if pool is not None else [(0, 0)] * ENTRIES
        self.count = 0
        self.live = 0
        self._taken: deque[int] = deque()
        self.restart()

    def restart(self) -> None:
        """The window starts anew: with `clear`, and when SIZE, BASE or T change."""
        self.last: int | None = None
        self.fill = self.position = self.since = 0
        self.sum_bytes = self.sum_time = self.elapsed = 0
        self.rate: Float | None = None
        self.pending = Float()
        self.lead = Float()

    def clear(self) -> None:
        """The queue's state starts anew."""
        self.restart()
        self.count = 0
        self.live = 0

    def _enter(self, now_ns: int, length: int, params: FnParams) -> bool:
        """Puts an arrival into the window; false if it is the first, which only starts the clock."""
        if self.last is None:
            self.last = now_ns
            return False
        gap = min((now_ns - self.last) % TIME, GAP_MAX)
        self.last = now_ns
        at = (params.base + self.position) % ENTRIES
        old_gap, old_length = self.pool[at] if self.fill == params.entries else (0, 0)
        self.pool[at] = (gap, length)
        self.fill = min(self.fill + 1, params.entries)
        self.position = (self.position + 1) % params.entries
        self.sum_time = (self.sum_time + gap - old_gap) % (1 << 44)
        self.sum_bytes = (self.sum_bytes + length - old_length) % (1 << 26)
        self.elapsed += gap
        self.since += 1
        return True

    def _measure(self, bytes_: tuple[int, int], time: tuple[int, int], params: FnParams) -> None:
        """Rate and acceleration over the packets since the last measurement."""
        if self.since == PERIOD:
            self.lead = self.pending
        if self.since < max(params.entries, PERIOD):
            return
        elapsed = normalise(self.elapsed)
        rate = quotient(bytes_[0], time[0], time[1] - bytes_[1]) if time[0] else None
        self.pending = Float()
        if rate is not None and self.rate is not None and elapsed[0]:
            change = difference(rate, self.rate)
            if change.mantissa:
                size = quotient(change.mantissa, elapsed[0], change.exponent + elapsed[1] - 26)
                acceleration = Float(size.mantissa, size.exponent, change.negative)
                self.pending = product(acceleration, params.half_t2_mantissa, params.half_t2_exponent)
        self.rate = rate
        self.since = self.elapsed = 0

    def _balance(
        self, held: int, bytes_: tuple[int, int], time: tuple[int, int], params: FnParams
    ) -> tuple[int, int, bool]:
        """(Nn, D, P is 1 for certain) at a common scale; 0 <= Nn <= D < 2^37, 0 if P is 0."""
        space = params.room - (held << 4)
        k, k_shift = normalise(max(space, 0))
        h = self.lead if params.quadratic else Float()
        x = bytes_[0] * params.t_mantissa
        y = time[0] * k
        z = time[0] * h.mantissa
        e_x = params.t_exponent - 6 - bytes_[1] if x else NOTHING
        e_y = 48 - time[1] - k_shift if y else NOTHING
        e_z = 26 - time[1] + h.exponent if z else NOTHING
        top = max(e_x, e_y, e_z)
        x, y, z = (v >> min(top - e, 63) for v, e in ((x, e_x), (y, e_y), (z, e_z)))
        d = x - z if h.negative else x + z
        if space <= 0 and not (params.quadratic and d <= 0):
            return 1 << 36, 1 << 36, True
        return (d - y, d, False) if d > y else (0, 0, False)

    def request(self, now_ns: int, held: int, length: int, ecn: int, draw: int, params: FnParams) -> Verdict:
        """Decide about an arrival of `length` bytes at `now_ns` that found `held` bytes; `draw` is u 2^24."""
        entered = self._enter(now_ns, length, params)
        bytes_, time = normalise(self.sum_bytes), normalise(self.sum_time)
        self._taken.append(length)
        if not entered:
            self.count = 0
            self.live = 0
            return Verdict(ACCEPT, NONE, 0, 0, 0, 0)
        self._measure(bytes_, time, params)
        numerator, denominator, certain = self._balance(held, bytes_, time, params)
        self.live = average = rate_scaled(bytes_, time)
        if numerator == 0:
            self.count = 0
            return Verdict(ACCEPT, NONE, average, 0, 0, self.fill)
        used = self.count
        self.count = min(used + 1, COUNT_MAX)
        shift = 37 - denominator.bit_length()
        d, n = denominator << shift >> 19, numerator << shift >> 1
        p = ONE if certain else min(ONE, n * reciprocal(d) >> 21)
        hit = draw * d << 14 < n * self._weight(used, length, draw, params)
        cause = (FORCED if certain else EARLY) if hit else NONE
        return Verdict(answer(cause, ecn, params), cause, average, used, p, self.fill, numerator, denominator, certain)

    @staticmethod
    def _weight(count: int, length: int, draw: int, params: FnParams) -> int:
        """g = kappa (1 + u count), UQ16.20."""
        kappa = 1 << 20
        if params.byte_mode:
            kappa = min(kappa, length * params.mean_mantissa >> params.mean_exponent)
        spread = (1 << 20) + (draw * count >> 4 if params.uniform else 0)
        return kappa * spread >> 20

    def commit(self, length: int, selected: bool, dropped: bool) -> None:
        """What really happened to the oldest request without a commit."""
        oldest = self._taken.popleft()
        if oldest != length:
            raise ValueError(f"commit of {length} bytes, but the oldest request has {oldest}")
        if selected or dropped:
            self.count = min(self.count, len(self._taken))


def answer(cause: int, ecn: int, params: FnParams) -> int:
    """The action for a packet selected for `cause`."""
    if cause == NONE:
        return ACCEPT
    if params.ecn and ecn in (ECT0, ECT1):
        return MARK
    if params.ecn and ecn == CE:
        return ACCEPT
    return DROP

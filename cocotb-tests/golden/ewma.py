"""The average queue, bit for bit (docs/modules/ewma.md). One `Ewma` is one queue."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

from .params import ONE36, RedParams

TIME_MASK = (1 << 48) - 1
SLOTS_MAX = (1 << 22) - 2
LN2_24 = 11629080


def _rom() -> tuple[int, ...]:
    with localcontext() as context:
        context.prec = 50
        two = Decimal(2)
        exact = (two ** (36 - Decimal(i) / 512) for i in range(512))
        return tuple(min(int(v.to_integral_value()), ONE36 - 1) for v in exact)


#: round(2^(-i/512) * 2^36), the first entry saturated to 36 bits
POWERS = _rom()


def idle_time(since_ns: int, now_ns: int) -> int:
    """now - since, modulo 2^48 ns."""
    return (now_ns - since_ns) & TIME_MASK


def idle_slots(idle_ns: int, params: RedParams) -> int:
    """m: idle slots in `idle_ns`, saturated."""
    return min(idle_ns * params.idle_mantissa >> params.idle_exponent, SLOTS_MAX)


def idle_factor(slots: int, params: RedParams) -> int:
    """A_idle, about (1-w)^(slots+1) * 2^36."""
    y = (slots + 1) * params.decay
    whole = y >> 36
    if whole >= 40 or params.weight == ONE36:
        return 0
    power = POWERS[y >> 27 & 0x1FF]
    z = (y & (1 << 27) - 1) * LN2_24 >> 15
    h = z - ((z >> 18) ** 2 >> 10)
    return power - (power * h >> 45) >> whole


@dataclass(frozen=True)
class Average:
    """What the policy gets: the new average (UQ21.22) and m (0 for a normal update)."""

    average: int
    idle_slots: int


class Ewma:
    """The average of one queue, told of departures and arrivals in the order in which they happen."""

    def __init__(self) -> None:
        self.average = 0
        self.idle_since = 0

    def left(self, now_ns: int) -> None:
        """A packet was granted: if it was the last one, the queue has been idle since then."""
        self.idle_since = now_ns

    def clear(self) -> None:
        """The average starts again from 0."""
        self.average = 0

    def request(self, now_ns: int, packets: int, quantity: int, params: RedParams) -> Average:
        """An arrival that found `packets` packets and `quantity` units in the queue."""
        slots = 0
        if packets == 0:
            slots = idle_slots(idle_time(self.idle_since, now_ns), params)
            self.idle_since = now_ns
        if slots:
            self.average = idle_factor(slots, params) * self.average + (1 << 35) >> 36
        else:
            a, b = ONE36 - params.weight, params.weight
            self.average = a * self.average + (b * quantity << 22) + (1 << 35) >> 36
        return Average(self.average, slots)

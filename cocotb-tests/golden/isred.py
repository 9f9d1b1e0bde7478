"""ISRED's test of the rate, bit for bit (docs/modules/isred.md). One `Rise` is one queue."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

TIME_MASK = (1 << 48) - 1
#: an arrival that much later than the last, in ns, has no rate
APART_NS = 1 << 36
CERTAIN, WITHOUT_WAIT, GAIN = 0, 1, 2
AVERAGE, QUEUE = 0, 1


@dataclass(frozen=True)
class IsredParams:
    """ISRED_* as the registers hold them. `mode` 3 acts as 2."""

    mode: int = CERTAIN
    source: int = AVERAGE
    slope_mantissa: int = 0
    slope_exponent: int = 0
    gain_mantissa: int = 0
    gain_exponent: int = 0

    @property
    def slope(self) -> Fraction:
        """Queue units a nanosecond."""
        return Fraction(self.slope_mantissa, 1 << (self.slope_exponent + 12))

    @property
    def gain(self) -> Fraction:
        """Gain of mode 2."""
        return Fraction(self.gain_mantissa, 1 << self.gain_exponent)


class Rise:
    """What a queue keeps from arrival to arrival."""

    def __init__(self) -> None:
        self.last: tuple[int, int] | None = None

    def clear(self) -> None:
        """The queue starts anew: its next arrival has no rate."""
        self.last = None

    def arrival(self, now_ns: int, quantity: int, before: int, after: int, params: IsredParams) -> bool:
        """An arrival that found `quantity` units and moved the average (UQ21.22): is the rise rapid?"""
        last, self.last = self.last, (now_ns, quantity)
        if last is None:
            return False
        elapsed = (now_ns - last[0]) & TIME_MASK
        if elapsed >= APART_NS:
            return False
        rise = quantity - last[1] << 22 if params.source == QUEUE else after - before
        return rise > (params.slope_mantissa * elapsed << 10) >> params.slope_exponent

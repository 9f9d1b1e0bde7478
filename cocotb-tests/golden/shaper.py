"""GCRA in exact arithmetic (ITU-T I.371, virtual scheduling), in time that neither wraps nor rounds."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

FRACTION_BITS = 19


def cost_of(rate_bps: int) -> int:
    """The register's ns per byte (UQ17.19) of a rate in bit/s, rounded to nearest."""
    return round(Fraction(8 * 10**9 << FRACTION_BITS, rate_bps))


class Gcra:
    """Theoretical arrival time `tat` in ns, a Fraction.

    Args:
        cost: ns per byte in units of 2^-19 ns; 0 is off.
        burst_ns: burst tolerance.
        overhead: bytes added to every length, may be negative.
        mpu: least length that is counted, before `overhead` is added; 0 for none.
    """

    def __init__(self, cost: int, burst_ns: int, overhead: int, mpu: int, now_ns: int = 0) -> None:
        self.cost = cost
        self.burst_ns = burst_ns
        self.overhead = overhead
        self.mpu = mpu
        self.tat = Fraction(now_ns)

    def price(self, length: int) -> Fraction:
        """ns that a frame of `length` bytes takes."""
        return Fraction(max(0, max(length, self.mpu) + self.overhead) * self.cost, 1 << FRACTION_BITS)

    def charge(self, now_ns: int, length: int) -> None:
        """A frame goes at `now_ns`."""
        self.tat = max(Fraction(now_ns), self.tat) + self.price(length)

    def allowed(self, now_ns: int) -> bool:
        """Whether a frame may go at `now_ns`."""
        return self.cost == 0 or self.tat - now_ns <= self.burst_ns

    def wake(self) -> int:
        """The first ns at which a frame may go."""
        return ceil(self.tat - self.burst_ns)

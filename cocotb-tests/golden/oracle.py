"""An independent oracle in double precision: RED as the papers write it, with divisions.

Sources: Floyd & Jacobson 1993 (count, uniform spreading, byte mode before spreading), ns-2.35
red.cc (wait, gentle, byte mode after spreading), docs/modules/red.md and ewma.md. It shares no arithmetic
with `red.py` and `ewma.py`: it takes natural values, computes p_a by division and compares u.

`bound` is the error bound of docs/modules/red.md: hardware and oracle agree wherever
|u - p_a| exceeds it. `Ruling.tied` says that a verdict is closer than that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from .params import BYTES_AFTER, BYTES_BEFORE, BYTES_OFF, GEOMETRIC, UNIFORM_WAIT, RedParams

#: relative error that a chain of a dozen double operations can have
FLOAT = 2.0**-48


@dataclass(frozen=True)
class Natural:
    """RED in natural units: what the raw parameters stand for."""

    w: float
    idle_rate: Fraction
    minimum: float
    maximum: float
    slope: float
    gentle_slope: float
    max_p: float
    mean_reciprocal: float
    spread: int
    byte_mode: int
    gentle: bool
    exempt_first: bool

    @classmethod
    def of(cls, raw: RedParams) -> Natural:
        """The natural values of raw parameters (each rounded to a double, 2^-53 relative)."""
        return cls(
            float(raw.w),
            raw.idle_rate,
            float(raw.minimum_units),
            float(raw.maximum_units),
            float(raw.slope),
            float(raw.gentle_slope),
            float(raw.max_p_value),
            float(raw.mean_reciprocal),
            min(raw.spread, UNIFORM_WAIT),
            raw.byte_mode,
            raw.gentle,
            raw.exempt_first,
        )


@dataclass(frozen=True)
class Ruling:
    """The oracle's answer: the probability p_a, p_b, and whether u = `u` is too close to call."""

    selected: bool
    p_a: float
    p_b: float
    bound: float
    tied: bool


class OracleEwma:
    """`avg <- (1-w)^m avg`, then `avg <- avg + w (q - avg)`."""

    def __init__(self) -> None:
        self.average = 0.0
        self.idle_since = 0

    def update(self, q: float, natural: Natural, idle_ns: int | None = None) -> float:
        """An arrival that found `q` units, `idle_ns` after the queue became empty (None: not empty)."""
        if idle_ns is not None:
            slots = min(math.floor(idle_ns * natural.idle_rate), (1 << 22) - 2)
            self.average *= (1.0 - natural.w) ** slots
        self.average += natural.w * (q - self.average)
        return self.average


class OracleRed:
    """One queue, one arrival at a time: `judge`, then `settle` before the next `judge`."""

    def __init__(self) -> None:
        self.in_band = False
        self.count = 0
        self.count_bytes = 0

    def judge(
        self, average: float, packets: int, length: int, u: float, natural: Natural, average_error: float = 0.0
    ) -> Ruling:
        """RED's decision; `average_error` bounds |average - the hardware's average|."""
        edges = [natural.minimum, natural.maximum * (2 if natural.gentle else 1)]
        if natural.gentle:
            edges.append(natural.maximum)
        edge = any(abs(average - e) < average_error for e in edges)
        if average < natural.minimum:
            self.in_band = False
            return Ruling(False, 0.0, 0.0, 0.0, edge)
        forced = average >= natural.maximum * (2 if natural.gentle else 1)
        exempt = not forced and not self.in_band and natural.exempt_first
        if not forced and not self.in_band:
            self.in_band = True
            self.count, self.count_bytes = (1, length) if natural.exempt_first else (0, 0)
        else:
            self.count += 1
            self.count_bytes += length
        if forced:
            return Ruling(packets >= 2, 1.0, 1.0, 0.0, edge)
        p_b, slope = _base(average, natural)
        ruling = _spread(p_b, slope, self.count, self.count_bytes, length, u, natural, average_error)
        if exempt or packets < 2:
            return Ruling(False, 0.0, p_b, 0.0, edge)
        return Ruling(ruling.selected, ruling.p_a, p_b, ruling.bound, ruling.tied or edge)

    def settle(self, selected: bool, dropped: bool) -> None:
        """The fate of the arrival: a mark or any drop starts the count again."""
        if selected or dropped:
            self.count = 0
            self.count_bytes = 0


def _base(average: float, natural: Natural) -> tuple[float, float]:
    """p_b and the slope at that average."""
    if average < natural.maximum:
        return min(1.0, natural.slope * (average - natural.minimum)), natural.slope
    rise = natural.gentle_slope * (average - natural.maximum)
    return min(1.0, natural.max_p + rise), natural.gentle_slope


def _spread(
    p_b: float,
    slope: float,
    count: int,
    count_bytes: int,
    length: int,
    u: float,
    natural: Natural,
    average_error: float,
) -> Ruling:
    """p_a from p_b by the selected method, and the bound of docs/modules/red.md."""
    size, spacing = 1.0, float(count)
    if natural.byte_mode != BYTES_OFF:
        size = length * natural.mean_reciprocal
    if natural.byte_mode == BYTES_AFTER:
        spacing = count_bytes * natural.mean_reciprocal
    omega = 2.0 if natural.spread == UNIFORM_WAIT else 1.0

    error_p = slope * (2.0**-15 + average_error) + 2.0**-32
    if natural.byte_mode == BYTES_BEFORE:
        # Floyd 1993: p_b itself carries the size
        scaled, after = p_b * size, 1.0
        h, error_h = spacing * size, spacing * 2.0**-20
    else:
        scaled, after = p_b, size
        h, error_h = spacing, 2.0**-20 if natural.byte_mode == BYTES_AFTER else 0.0
    product = spacing * scaled
    error_kappa = 0.0 if natural.byte_mode == BYTES_OFF else 2.0**-20

    if natural.spread == GEOMETRIC:
        p_a = scaled * after
        bound = error_p * size + p_b * error_kappa
        bound += FLOAT * p_a
        return Ruling(u < p_a, p_a, p_b, bound, abs(u - p_a) <= bound)

    error_g = error_kappa + u * error_h + 2.0**-20
    total = error_p * (size + u * h) + p_b * error_g + FLOAT * (omega + product)
    left = omega - product
    if left > 0.0:
        p_a = scaled / left * after
        bound = total / left
        tied = abs(u - p_a) <= bound
    else:
        p_a, bound = 1.0, total
        tied = p_b * size - u * left <= total
    if natural.spread == UNIFORM_WAIT:
        error_wait = error_p * h + p_b * error_h + FLOAT
        tied = (tied and product > 1.0 - error_wait) or abs(product - 1.0) <= error_wait
        if product < 1.0:
            return Ruling(False, 0.0, p_b, bound, tied)
    return Ruling(u < p_a, p_a, p_b, bound, tied)


def saturated(count: int, count_bytes: int, length: int, u: float, natural: Natural) -> bool:
    """Whether an intermediate of the hardware saturates: outside the bound's premises."""
    size = 1.0 if natural.byte_mode == BYTES_OFF else length * natural.mean_reciprocal
    h = float(count)
    if natural.byte_mode == BYTES_AFTER:
        h = count_bytes * natural.mean_reciprocal
    elif natural.byte_mode == BYTES_BEFORE:
        h = count * size
    g = size if natural.spread == GEOMETRIC else size + u * h
    limit = 0.75 * 2**16 if natural.byte_mode == BYTES_BEFORE else 2.0**16
    return size >= 2.0**14 or h >= limit or g >= 2.0**16 or count >= 65535 or count_bytes >= 1 << 24

"""Adaptive RED's ticks, bit for bit (docs/modules/ared.md). One `MaxP` is one queue."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .params import RedParams

#: the shortest interval, ns
LEAST_NS = 16384
ONES = (1 << 32) - 1


@dataclass(frozen=True)
class AredParams:
    """ARED_* as the registers hold them."""

    interval: int = 0
    low: int = 0
    high: int = ONES
    bottom: int = 0
    top: int = ONES
    increase: int = 0
    decrease: int = ONES
    band_mantissa: int = 0
    band_exponent: int = 0
    gentle_mantissa: int = 0
    gentle_exponent: int = 0

    @property
    def interval_ns(self) -> int:
        """From tick to tick."""
        return max(self.interval, LEAST_NS)


def adapted(p: int, average: int, params: AredParams) -> int:
    """max_p after a tick (UQ0.32), of an average (UQ21.22)."""
    if average > params.high << 11:
        return min(p + min(params.increase, p >> 2), params.top) if p < params.top else p
    if average < params.low << 11 and p > params.bottom:
        return max(p * params.decrease >> 32, params.bottom)
    return p


def scaled_product(p: int, mantissa: int, exponent: int) -> tuple[int, int]:
    """p·2^-32 times mantissa·2^-exponent as mantissa and exponent: truncated, and as near to bit 17 as 63 allows.

    Zero has exponent 63.
    """
    product = p * mantissa
    shift = min(50 - product.bit_length() if product else 63, 63 - exponent)
    return product << shift >> 32, exponent + shift


@dataclass(frozen=True)
class Slopes:
    """What a tick writes."""

    max_p: int
    slope: tuple[int, int]
    gentle_slope: tuple[int, int]


class MaxP:
    """max_p of one queue: that of the registers until a tick replaces it."""

    def __init__(self) -> None:
        self.slopes: Slopes | None = None

    def renew(self) -> None:
        """The queue's registers were written, or its policy changed."""
        self.slopes = None

    def max_p(self, red: RedParams) -> int:
        """max_p in use."""
        return red.max_p if self.slopes is None else self.slopes.max_p

    def tick(self, average: int, red: RedParams, params: AredParams) -> Slopes:
        """What a tick with that average (UQ21.22) makes of max_p; `self.slopes` takes it when it is written."""
        p = adapted(self.max_p(red), average, params)
        return Slopes(
            p,
            scaled_product(p, params.band_mantissa, params.band_exponent),
            scaled_product(ONES - p, params.gentle_mantissa, params.gentle_exponent),
        )

    def live(self, red: RedParams) -> RedParams:
        """The parameters that an arrival is judged by."""
        if self.slopes is None:
            return red
        s = self.slopes
        return replace(
            red,
            max_p=s.max_p,
            slope_mantissa=s.slope[0],
            slope_exponent=s.slope[1],
            gentle_mantissa=s.gentle_slope[0],
            gentle_exponent=s.gentle_slope[1],
        )

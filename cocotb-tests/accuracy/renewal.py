"""The exact renewal law of RED's marks at a constant average, and the marks of the golden models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import sqrt

from scipy.stats import norm

from golden.lfsr import RESET_STATE, Lfsr
from golden.params import GEOMETRIC, UNIFORM, UNIFORM_WAIT, RedParams, scaled
from golden.red import BAND, NOT_ECT, Red, probability, region

METHODS = {GEOMETRIC: "geometric", UNIFORM: "uniform", UNIFORM_WAIT: "uniform-wait"}
LENGTH = 1000


@dataclass(frozen=True)
class Law:
    """Mean and variance of the spacing of marks, exact."""

    mean: Fraction
    variance: Fraction

    def sigma(self, packets: int) -> float:
        """Of the number of marks: sqrt(n Var / mean^3)."""
        return sqrt(packets * self.variance / self.mean**3)

    def deviation(self, marks: float, packets: int) -> float:
        """How many sigma `marks` of `packets` are away."""
        return (marks - float(packets / self.mean)) / self.sigma(packets)

    def chance_to_pass_for(self, claimed: Law, packets: int) -> float:
        """That the marks of this law are within 3 sigma of another one's; the number of marks is normal."""
        away = claimed.deviation(float(packets / self.mean), packets)
        wide = self.sigma(packets) / claimed.sigma(packets)
        return float(norm.cdf((3 - away) / wide) - norm.cdf((-3 - away) / wide))


def spread_probability(method: int, p: Fraction, count: int) -> Fraction:
    """p_a as docs/modules/red.md states it."""
    if method == GEOMETRIC:
        return p
    if method == UNIFORM:
        return p / (1 - count * p) if count * p < 1 else Fraction(1)
    if count * p < 1:
        return Fraction(0)
    return p / (2 - count * p) if count * p < 2 else Fraction(1)


def law(method: int, p: Fraction) -> Law:
    """The law of the spacing n = 1, 2, … where the n-th packet after a mark has count n."""
    if method == GEOMETRIC:
        return Law(1 / p, (1 - p) / p**2)
    survival, count = Fraction(1), 0
    first, second = Fraction(0), Fraction(0)
    while survival > 0:
        first += survival
        second += (2 * count + 1) * survival
        count += 1
        survival *= 1 - min(Fraction(1), spread_probability(method, p, count))
    return Law(first, second - first**2)


def operating_point(p: Fraction, method: int) -> tuple[RedParams, int, Fraction]:
    """Registers and an average (UQ21.22) whose p_b is near `p` < 1, and that p_b exactly."""
    mantissa, exponent = scaled(Fraction(1, 200) * (1 << 17))
    params = RedParams(
        minimum=5 << 11, maximum=205 << 11, slope_mantissa=mantissa, slope_exponent=exponent, spread=method
    )
    average = int((params.minimum_units + p / params.slope) * (1 << 22))
    real = params.slope * (Fraction(average, 1 << 22) - params.minimum_units)
    return params, average, real


def golden_marks(params: RedParams, average: int, packets: int, seed: int) -> list[int]:
    """Which of `packets` arrivals the golden RED marks with the golden LFSR."""
    red, source = Red(), Lfsr(seed)
    marks = []
    for i in range(packets):
        verdict = red.take(average, 10, LENGTH, NOT_ECT, source.draw(), params)
        red.commit(LENGTH, verdict.selected, verdict.action == 2)
        if verdict.selected:
            marks.append(i)
    return marks


@cache
def draws(packets: int, seed: int = RESET_STATE) -> list[int]:
    """The same for each point of a test."""
    return Lfsr(seed).draws(packets)


def fast_marks(params: RedParams, average: int, packets: int, seed: int) -> list[int]:
    """The same marks from the same integer arithmetic, reduced to what a constant average leaves of it."""
    if region(average, params) != BAND:
        raise ValueError(f"average={average} is outside the band of {params}")
    p = probability(average, params)
    threshold = {GEOMETRIC: 0, UNIFORM: 0, UNIFORM_WAIT: 1 << 52}[params.spread]
    spread = 0 if params.spread == GEOMETRIC else 1
    shift = 29 if params.spread == UNIFORM_WAIT else 28
    marks = []
    count = -1
    for i, draw in enumerate(draws(packets, seed)):
        count += 1
        if draw << shift < p * ((1 << 20) + spread * (draw * (count << 20) >> 24)) and p * count << 20 >= threshold:
            marks.append(i)
            count = 0
    return marks


def with_method(params: RedParams, method: int) -> RedParams:
    """The same operating point with another spreading of marks."""
    return replace(params, spread=method)

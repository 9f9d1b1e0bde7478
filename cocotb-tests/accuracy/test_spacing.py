"""The spacing of marks against the exact renewal law: chi-square at 99.9 %, with the power to tell the laws apart.

Each sequence of marks comes from the golden models' integer arithmetic with the golden LFSR, which the RTL equals bit
for bit. It has to fit the law of its method and to be rejected against p 10 % lower or higher and against the other
methods. The number of packets is chosen so that a wrong p is missed with a probability below 10^-3 (checked from
the non-central distribution of the statistic, not from the draws).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

import test_fn_drop_rate as fn
from figures import POINTS
from golden.params import GEOMETRIC, UNIFORM, UNIFORM_WAIT
from renewal import fast_marks, operating_point, spread_probability

CONFIDENCE = 0.999
BINS = 11
MARKS = 24_000
"""spacings of a sequence, about"""

Hazard = Callable[[float, int], float]


def red_hazard(method: int) -> Hazard:
    """Chance of a mark n packets after the last one: RED counts that packet n."""
    exact = {GEOMETRIC: lambda p, n: p,
             UNIFORM: lambda p, n: p / (1 - n * p) if n * p < 1 else 1.0,
             UNIFORM_WAIT: lambda p, n: 0.0 if n * p < 1 else p / (2 - n * p) if n * p < 2 else 1.0}  # fmt: skip
    return exact[method]


def fn_uniform(p: float, n: int) -> float:
    """FN counts the packet after an action 0."""
    return p / (1 - (n - 1) * p) if (n - 1) * p < 1 else 1.0


LAWS: dict[str, Hazard] = {
    "geometric": red_hazard(GEOMETRIC),
    "uniform": red_hazard(UNIFORM),
    "uniform-wait": red_hazard(UNIFORM_WAIT),
    "fn-uniform": fn_uniform,
}
RED_METHODS = {"geometric": GEOMETRIC, "uniform": UNIFORM, "uniform-wait": UNIFORM_WAIT}
MEAN = {"geometric": 1.0, "uniform": 0.5, "uniform-wait": 1.5, "fn-geometric": 1.0, "fn-uniform": 0.5}
"""mean spacing, times 1/p"""
MADE = {**{name: name for name in RED_METHODS}, "fn-geometric": "geometric", "fn-uniform": "fn-uniform"}
"""sequence: its law"""


@cache
def masses(law: str, p: float) -> np.ndarray:
    """P(spacing = n) for n = 1, 2, …, up to a rest of 10^-12."""
    hazard, survival, found = LAWS[law], 1.0, []
    while survival > 1e-12:
        chance = min(1.0, hazard(p, len(found) + 1))
        found.append(survival * chance)
        survival *= 1 - chance
    return np.array(found)


@cache
def spacings(made: str, p: Fraction) -> tuple[np.ndarray, float]:
    """Spacings of the marks of a sequence, and the p that its registers say."""
    packets = int(MARKS * MEAN[made] / p)
    if made in RED_METHODS:
        params, average, real = operating_point(p, RED_METHODS[made])
        marks = fast_marks(params, average, packets, 11)
    else:
        params, held, real = fn.operating_point(p, (made == "fn-uniform", False))
        marks = fn.fast_marks(params, held, packets, 11)
    return np.diff(marks), float(real)


def edges(law: str, p: float) -> np.ndarray:
    """Last spacings of the bins but the last: of about equal shares, each at least 2 %."""
    below = np.cumsum(masses(law, p))
    last, taken = [], 0.0
    for n, share in enumerate(below, 1):
        if share - taken >= 1 / BINS and share < 0.98:
            last.append(n)
            taken = share
    return np.array(last)


def shares(law: str, p: float, last: np.ndarray) -> np.ndarray:
    """Share of each bin in a law."""
    below = np.concatenate([np.zeros(1), np.cumsum(masses(law, p))])
    return np.diff(np.concatenate([np.zeros(1), below[np.minimum(last, below.size - 1)], np.ones(1)]))


def rejected(gaps: np.ndarray, law: str, p: float) -> bool:
    """Whether chi-square of the spacings in the bins of a law passes its 99.9 % point, or one is impossible."""
    last = edges(law, p)
    expected = shares(law, p, last) * gaps.size
    assert expected.size >= 4 and expected.min() > 100, expected
    if gaps.max() > masses(law, p).size:
        return True
    seen = np.bincount(np.searchsorted(last, gaps), minlength=expected.size)
    return bool(((seen - expected) ** 2 / expected).sum() > chi2.ppf(CONFIDENCE, expected.size - 1))


SEQUENCE = pytest.mark.parametrize("made", MADE)
POINT = pytest.mark.parametrize("p", POINTS, ids=lambda p: f"p={float(p)}")


@SEQUENCE
@POINT
def test_the_spacing_fits_the_law_of_its_method(made: str, p: Fraction) -> None:
    gaps, real = spacings(made, p)
    assert gaps.size > 0.9 * MARKS
    assert not rejected(gaps, MADE[made], real)


@SEQUENCE
@POINT
@pytest.mark.parametrize("factor", [0.9, 1.1], ids=["-10%", "+10%"])
def test_a_probability_off_by_ten_percent_is_rejected(made: str, p: Fraction, factor: float) -> None:
    gaps, real = spacings(made, p)
    assert rejected(gaps, MADE[made], real * factor)


@SEQUENCE
@POINT
def test_another_spreading_is_rejected(made: str, p: Fraction) -> None:
    gaps, real = spacings(made, p)
    others = [law for law in RED_METHODS if law != MADE[made].removeprefix("fn-")]
    assert len(others) == 2
    for law in others:
        # also with the p that gives the mean that was seen
        for claimed in (real, MEAN[law] / gaps.mean()):
            assert rejected(gaps, law, claimed), (law, claimed)


@SEQUENCE
@POINT
@pytest.mark.parametrize("factor", [0.9, 1.1], ids=["-10%", "+10%"])
def test_the_test_has_the_power_it_claims(made: str, p: Fraction, factor: float) -> None:
    """Missing a p off by 10 % has a probability below 10^-3, by the non-central chi-square of the statistic."""
    law, real = MADE[made], float(p)
    last = edges(law, real * factor)
    claimed, true = shares(law, real * factor, last), shares(law, real, last)
    noncentral = MARKS * float(((true - claimed) ** 2 / claimed).sum())
    freedom = claimed.size - 1
    assert ncx2.cdf(chi2.ppf(CONFIDENCE, freedom), freedom, noncentral) < 1e-3


def test_the_laws_are_those_of_the_exact_module() -> None:
    p = Fraction(1, 50)
    for name, method in RED_METHODS.items():
        for n in range(1, 120):
            exact = float(min(Fraction(1), spread_probability(method, p, n)))
            assert LAWS[name](float(p), n) == pytest.approx(exact, rel=1e-9, abs=1e-12), (name, n)
    assert masses("geometric", 0.02).sum() == pytest.approx(1)
    assert masses("uniform", 0.02)[:49] == pytest.approx(np.full(49, 1 / 49))

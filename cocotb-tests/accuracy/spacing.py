"""Laws of the spacing of marks, and their chi-square test with its power.

A law is its hazard: the chance that the n-th packet after a mark is marked, n = 1, 2, …, at a constant p.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, ncx2, norm

CONFIDENCE = 0.999
BINS = 11

Hazard = Callable[[float, int], float]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def geometric(p: float, n: int) -> float:
    """Independent draws: PIE (RFC 8033, Appendix A), PI2 and the coupled queue (RFC 9332), RED without spreading."""
    return p


def uniform(p: float, n: int) -> float:
    """Floyd & Jacobson 1993, section 7: RED counts that packet n."""
    return p / (1 - n * p) if n * p < 1 else 1.0


def uniform_wait(p: float, n: int) -> float:
    """ns-2's wait_."""
    return 0.0 if n * p < 1 else p / (2 - n * p) if n * p < 2 else 1.0


def fn_uniform(p: float, n: int) -> float:
    """FN counts the packet after an action 0."""
    return p / (1 - (n - 1) * p) if (n - 1) * p < 1 else 1.0


def derandomised(p: float, n: int) -> float:
    """RFC 8033, section 5.4: p is summed over the packets since the last drop; none below 0.85, certain from 8.5 on."""
    return 0.0 if n * p < 0.85 else p if n * p < 8.5 else 1.0


LAWS: dict[str, Hazard] = {
    "geometric": geometric,
    "uniform": uniform,
    "uniform-wait": uniform_wait,
    "fn-uniform": fn_uniform,
    "de-randomised": derandomised,
}
MEAN = {"geometric": 1.0, "uniform": 0.5, "uniform-wait": 1.5, "fn-uniform": 0.5, "de-randomised": 1.85}
"""mean spacing, about, times 1/p"""


@cache
def masses(law: str, p: float) -> Floats:
    """P(spacing = n) for n = 1, 2, …, up to a rest of 10^-12."""
    hazard, survival, found = LAWS[law], 1.0, []
    while survival > 1e-12:
        chance = min(1.0, hazard(p, len(found) + 1))
        found.append(survival * chance)
        survival *= 1 - chance
    return np.array(found)


def mean(law: str, p: float) -> float:
    """Mean spacing."""
    chances = masses(law, p)
    return float(chances @ np.arange(1, chances.size + 1))


def edges(law: str, p: float) -> Ints:
    """Last spacings of the bins but the last: of about equal shares, each at least 2 %."""
    below = np.cumsum(masses(law, p))
    last, taken = [], 0.0
    for n, share in enumerate(below, 1):
        if share - taken >= 1 / BINS and share < 0.98:
            last.append(n)
            taken = share
    return np.array(last)


def shares(law: str, p: float, last: Ints) -> Floats:
    """Share of each bin in a law."""
    below = np.concatenate([np.zeros(1), np.cumsum(masses(law, p))])
    return np.diff(np.concatenate([np.zeros(1), below[np.minimum(last, below.size - 1)], np.ones(1)]))


def rejected(gaps: Ints, law: str, p: float) -> bool:
    """Whether chi-square of the spacings in the bins of a law passes its 99.9 % point, or one is impossible."""
    last = edges(law, p)
    expected = shares(law, p, last) * gaps.size
    assert expected.size >= 4 and expected.min() > 50, expected
    if gaps.max() > masses(law, p).size:
        return True
    seen = np.bincount(np.searchsorted(last, gaps), minlength=expected.size)
    return bool(((seen - expected) ** 2 / expected).sum() > chi2.ppf(CONFIDENCE, expected.size - 1))


def chance_to_miss(law: str, p: float, claimed: float, marks: int, other: str = "") -> float:
    """Chance that marks by a law at `p` pass for that law, or another, at `claimed`: the non-central chi-square of the statistic."""
    other = other or law
    last = edges(other, claimed)
    expected, true = shares(other, claimed, last), shares(law, p, last)
    noncentral = marks * float(((true - expected) ** 2 / expected).sum())
    freedom = expected.size - 1
    beyond = float(masses(law, p)[masses(other, claimed).size :].sum())
    return float(ncx2.cdf(chi2.ppf(CONFIDENCE, freedom), freedom, noncentral)) * (1 - beyond) ** marks


def deviation(law: str, p: float) -> float:
    """Standard deviation of the spacing."""
    chances = masses(law, p)
    squares = float(chances @ np.arange(1, chances.size + 1) ** 2)
    return sqrt(max(squares - mean(law, p) ** 2, 0.0))


def rate_deviation(gaps: Ints, law: str, p: float) -> float:
    """How many sigma the number of marks is away from the law's, sigma = sqrt(n Var / mean^3) for n packets."""
    packets = float(gaps.sum())
    return (gaps.size - packets / mean(law, p)) * mean(law, p) ** 1.5 / (deviation(law, p) * sqrt(packets))


def chance_to_miss_rate(law: str, p: float, claimed: float, marks: int) -> float:
    """Chance that the rate of marks by a law at `p` is within 3 sigma of the same law at `claimed`."""
    packets = marks * mean(law, p)
    sigma = deviation(law, claimed) * sqrt(packets) / mean(law, claimed) ** 1.5
    true = deviation(law, p) * sqrt(packets) / mean(law, p) ** 1.5
    off = marks - packets / mean(law, claimed)
    return float(norm.cdf((3 * sigma - abs(off)) / true))

"""The exact law of what a policy selects, given the arrivals: for probabilities that change from packet to packet.

The chance h_n that the n-th packet after a selection is selected follows from its own probability, its length and what came
since. With S_n = (1 - h_1) … (1 - h_n), a spacing n is turned into S_n + w (S_{n-1} - S_n), w uniform in [0, 1): if the law
is right these values are independent and uniform in [0, 1], whatever the arrivals were (the probability integral transform of a
discrete variable). Chi-square tests that; the number of selections is tested against the sum of the chances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, chi2, ncx2, norm

from spacing import CONFIDENCE, Floats, Ints

BINS = 10
SLACK = 1e-3
"""share of spacings that may be just beyond what a law allows: where the selection is certain at the end, p is known to so much"""

Hazard = Callable[[Floats, Floats, Floats], Floats]
"""chances from p of the packets since a selection, their lengths over the mean length, and their numbers 1, 2, …"""


def _clamped(dividend: Floats, divisor: Floats) -> Floats:
    return np.where(divisor > dividend, dividend / np.where(divisor > 0, divisor, 1.0), 1.0)


def geometric(p: Floats, size: Floats, n: Floats) -> Floats:
    """Independent draws."""
    return p


def geometric_bytes(p: Floats, size: Floats, n: Floats) -> Floats:
    """In proportion to the length."""
    return np.minimum(1.0, p * size)


def fn_uniform(p: Floats, size: Floats, n: Floats) -> Floats:
    """FN: the packet after an action has count 0."""
    return _clamped(p, 1 - (n - 1) * p)


def fn_bytes(p: Floats, size: Floats, n: Floats) -> Floats:
    """FN's Table I: u (D M - count Nn L) < Nn L."""
    return fn_uniform(geometric_bytes(p, size, n), size, n)


def before(p: Floats, size: Floats, n: Floats) -> Floats:
    """Floyd & Jacobson 1993: p_b L/M is spread, RED counts that packet n."""
    scaled = geometric_bytes(p, size, n)
    return _clamped(scaled, 1 - n * scaled)


def before_wait(p: Floats, size: Floats, n: Floats) -> Floats:
    """Floyd & Jacobson's with ns-2's wait_."""
    scaled = geometric_bytes(p, size, n)
    return np.where(n * scaled < 1, 0.0, _clamped(scaled, 2 - n * scaled))


def after(p: Floats, size: Floats, n: Floats) -> Floats:
    """ns-2: spread by the bytes since, over the mean, then scaled."""
    return _clamped(p * size, 1 - np.cumsum(size) * p)


def after_wait(p: Floats, size: Floats, n: Floats) -> Floats:
    """ns-2 with wait_."""
    spread = np.cumsum(size) * p
    return np.where(spread < 1, 0.0, _clamped(p * size, 2 - spread))


HAZARDS: dict[str, Hazard] = {
    "geometric": geometric,
    "geometric-bytes": geometric_bytes,
    "fn-uniform": fn_uniform,
    "fn-bytes": fn_bytes,
    "before": before,
    "before-wait": before_wait,
    "after": after,
    "after-wait": after_wait,
}


@dataclass(frozen=True)
class Claim:
    """A law and the arrivals that it is given: p, and the length over the mean length, of each packet."""

    law: str
    p: Floats
    size: Floats

    def chances(self, last: int, until: int) -> Floats:
        """Of the packets after number `last`, which was selected, up to number `until`."""
        part = slice(last + 1, until + 1)
        return HAZARDS[self.law](self.p[part], self.size[part], np.arange(1.0, until - last + 1))

    def times(self, factor: float) -> Claim:
        """The same with all p off by a factor."""
        return Claim(self.law, self.p * factor, self.size)


@dataclass(frozen=True)
class Fit:
    """What became of the spacings under a claim."""

    impossible: float
    """share of the spacings that have no chance"""
    chi_square: float
    deviation: float
    """of the number of selections from the sum of the chances, in sigma; the greatest of all packets and those of each length"""

    @property
    def rate_rejected(self) -> bool:
        """Beyond 3 sigma."""
        return self.deviation > 3

    @property
    def spacing_rejected(self) -> bool:
        """Beyond the 99.9 % point of chi-square, or more spacings than SLACK have no chance."""
        return self.impossible > SLACK or self.chi_square > float(chi2.ppf(CONFIDENCE, BINS - 1))


def _groups(size: Floats) -> list[npt.NDArray[np.bool_]]:
    lengths = np.unique(size)
    return [np.ones(size.size, bool), *([size == n for n in lengths] if lengths.size > 1 else [])]


def fit(selected: Ints, claim: Claim, size: Floats) -> Fit:
    """The packets that were selected, by number, against a claim; `size` tells the lengths apart, whatever the claim has."""
    shares = np.random.default_rng(1).random(selected.size)
    values, chances, impossible = [], [], 0
    for last, until, share in zip(selected[:-1], selected[1:], shares, strict=False):
        chance = claim.chances(int(last), int(until))
        survival = np.cumprod(1 - chance)
        upper = survival[-2] if survival.size > 1 else 1.0
        impossible += chance[-1] <= 0.0 or upper <= 0.0
        values.append(survival[-1] + share * (upper - survival[-1]))
        chances.append(chance)
    seen = np.bincount(np.minimum((np.array(values) * BINS).astype(int), BINS - 1), minlength=BINS)
    each = len(values) / BINS
    every = np.concatenate(chances)
    hits = np.zeros(every.size)
    hits[selected[1:] - selected[0] - 1] = 1.0
    worst = 0.0
    for group in _groups(size[selected[0] + 1 : selected[-1] + 1]):
        h = every[group]
        worst = max(worst, abs(hits[group].sum() - h.sum()) / max(sqrt((h * (1 - h)).sum()), 1e-9))
    return Fit(impossible / len(values), float(((seen - each) ** 2 / each).sum()), float(worst))


def chances_to_miss(true: Claim, claim: Claim, starts: Ints, horizon: int, marks: int) -> tuple[float, float]:
    """Chances that `marks` selections by a law pass for another claim, by their rate and by their spacing.

    From both laws, over spacings that begin at `starts` and end within `horizon`; no draws are in it.
    """
    shares, possible, means = np.zeros(BINS), 1.0, []
    for start in starts:
        real, said = (c.chances(int(start), int(start) + horizon) for c in (true, claim))
        left, kept = np.cumprod(1 - real), np.cumprod(1 - said)
        assert left[-1] < 1e-4, "the horizon is too near"
        reached, upper = np.append(1.0, left[:-1]), np.append(1.0, kept[:-1])
        possible -= float((reached * real)[(said <= 0) | (upper <= 0)].sum()) / starts.size
        # P(value <= x): S at the claim's own S, straight between
        below = np.interp(np.arange(BINS + 1) / BINS, np.append(kept[::-1], 1.0), np.append(left[::-1], 1.0))
        below[0] = 0.0
        shares += np.diff(below) / starts.size
        for group in _groups(true.size[start + 1 : start + horizon + 1]):
            part = reached[group]
            means.append([(part * h).sum() for h in (real[group], said[group], said[group] * (1 - said[group]))])
    noncentral = marks * float(((shares - 1 / BINS) ** 2 * BINS).sum())
    spacing = float(ncx2.cdf(chi2.ppf(CONFIDENCE, BINS - 1), BINS - 1, noncentral))
    sums = np.array(means).reshape(starts.size, -1, 3).mean(0)
    off = np.abs(sums[:, 0] - sums[:, 1]) * sqrt(marks) / np.sqrt(np.maximum(sums[:, 2], 1e-12))
    return float(norm.cdf(3 - off.max())), spacing * float(
        binom.cdf(int(SLACK * marks), marks, min(max(1 - possible, 0.0), 1.0))
    )

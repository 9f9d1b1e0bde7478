"""The spacing of marks against the exact renewal law: chi-square at 99.9 %, with the power to tell the laws apart.

Each sequence of marks comes from the golden models' integer arithmetic with the golden LFSR, which the RTL equals bit
for bit. It has to fit the law of its method and to be rejected against p 10 % lower or higher and against the other
methods. The number of packets is chosen so that a wrong p is missed with a probability below 10^-3 (checked from
the non-central distribution of the statistic, not from the draws).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import test_fn_drop_rate as fn
from figures import POINTS
from golden.params import GEOMETRIC, UNIFORM, UNIFORM_WAIT
from renewal import fast_marks, operating_point, spread_probability
from spacing import LAWS, MEAN, Ints, chance_to_miss, masses, mean, rejected

MARKS = 24_000
"""spacings of a sequence, about"""

RED_METHODS = {"geometric": GEOMETRIC, "uniform": UNIFORM, "uniform-wait": UNIFORM_WAIT}
MADE = {**{name: name for name in RED_METHODS}, "fn-geometric": "geometric", "fn-uniform": "fn-uniform"}
"""sequence: its law"""


def spacings(made: str, p: Fraction) -> tuple[Ints, float]:
    """Spacings of the marks of a sequence, and the p that its registers say."""
    packets = int(MARKS * MEAN[MADE[made]] / p)
    if made in RED_METHODS:
        params, average, real = operating_point(p, RED_METHODS[made])
        marks = fast_marks(params, average, packets, 11)
    else:
        params, held, real = fn.operating_point(p, (made == "fn-uniform", False))
        marks = fn.fast_marks(params, held, packets, 11)
    return np.diff(marks), float(real)


SEQUENCE = pytest.mark.parametrize("made", MADE)
POINT = pytest.mark.parametrize("p", POINTS, ids=lambda p: f"p={float(p)}")


@SEQUENCE
@POINT
def test_the_spacing_fits_the_law_of_its_method_and_no_other(made: str, p: Fraction) -> None:
    gaps, real = spacings(made, p)
    assert gaps.size > 0.9 * MARKS
    assert not rejected(gaps, MADE[made], real)
    assert rejected(gaps, MADE[made], real * 0.9) and rejected(gaps, MADE[made], real * 1.1)
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
    assert chance_to_miss(MADE[made], float(p), float(p) * factor, MARKS) < 1e-3


def test_the_laws_are_those_of_the_exact_module() -> None:
    p = Fraction(1, 50)
    for name, method in RED_METHODS.items():
        for n in range(1, 120):
            exact = float(min(Fraction(1), spread_probability(method, p, n)))
            assert LAWS[name](float(p), n) == pytest.approx(exact, rel=1e-9, abs=1e-12), (name, n)
    assert masses("geometric", 0.02).sum() == pytest.approx(1)
    assert masses("uniform", 0.02)[:49] == pytest.approx(np.full(49, 1 / 49))
    # 42 packets without a drop, then independent draws up to the 425th
    assert mean("de-randomised", 0.02) == pytest.approx(42 + (1 - 0.98**383) / 0.02)
    for name, times in MEAN.items():
        assert mean(name, 0.001) == pytest.approx(times * 1000, rel=2e-3), name

"""Rate and spacing of what leaves the RTL while a policy's state is held, against the exact law.

At three operating points each. The average (a weight of 2^-36) or the controller's p (gains of 0) is held where it is; the
law follows from that state, as the trace tells it, and from the settings, by the paper or the RFC alone. Marks are the CE
codepoints of the frames that leave, drops the numbers that are missing.

The rate has to be within 3 sigma of the renewal law (99.7 %), the spacings have to pass chi-square at 99.9 %. The same
sequence has to be rejected by both for a p that is 10 % lower or higher, and by the spacings for other ways of
spreading: for PIE also the de-randomisation of RFC 8033, 5.4, which it does not do. The chance to miss one of these,
computed from the laws, is below 10^-3 each.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np
import pytest

from held_core import BACKLOG, DROPPED, FULL, LENGTH, LIMITS, MARKED, MAX, MIN, Bench, scaled
from spacing import LAWS, MEAN, Ints, chance_to_miss, chance_to_miss_rate, rate_deviation, rejected

MARKS = {"geometric": 7000, "uniform": 3500, "uniform-wait": 3500}
"""spacings of a sequence, at least, by its law: the narrower it is, the fewer do"""
POINTS = (0.07, 0.11, 0.16)
"""p, about; at larger ones a law has too few spacings"""
GEOMETRIC, UNIFORM, UNIFORM_WAIT = 0, 1, 2
"""RED_FLAGS.SPREAD"""
GENTLE, ECN = 1 << 4, 1 << 5
"""RED_FLAGS"""

Found = tuple[Ints, float]
"""spacings, and the p of the law"""


def spacings(bench: Bench, spacing: float, what: int = MARKED, queue: int = 0, marks: int = MARKS["geometric"]) -> Ints:
    """Of marks, or of drops, that come once in `spacing` packets."""
    found = bench.outcomes(np.full(ceil(marks * 1.1 * spacing), LENGTH), queue=queue)
    if what == MARKED:
        assert not (found == DROPPED).any()
    return np.diff(np.flatnonzero(found == what))


def red_family(bench: Bench, words: dict[str, int], probability: Callable[[float], float], law: str) -> Found:
    """At an average that is held, `probability` of which in bytes is p."""
    held = bench.hold_average(**words)
    p = probability(held)
    gaps = spacings(bench, MEAN[law] / p, marks=MARKS[law])
    assert bench.average_is_still(held)
    return gaps, p


def ared(bench: Bench, p: float, spread: int, law: str) -> Found:
    """Adaptive RED at a max_p that its ticks leave alone, the average being between LOW and HIGH; p_b by Floyd & Jacobson 1993."""
    max_p = 2 * p
    words = {
        "POLICY": 5, "RED_FLAGS": spread | ECN, "RED_MAXP": int(max_p * 2**32), "RED_SLOPE": scaled(max_p / (MAX - MIN) * 2**17),
        "ARED_INTERVAL": 100_000, "ARED_LOW": (MIN + 80_000) << 11, "ARED_HIGH": (MIN + 120_000) << 11,
        "ARED_BOTTOM": 1 << 20, "ARED_TOP": FULL, "ARED_INCREASE": 1 << 28, "ARED_DECREASE": 1 << 31,
        "ARED_BAND": scaled(2**17 / (MAX - MIN)),
    }  # fmt: skip
    return red_family(bench, words, lambda average: max_p * (average - MIN) / (MAX - MIN), law)


def gentle(bench: Bench, p: float) -> Found:
    """RED above max: p_b = max_p + (1 - max_p)(avg - max)/max, of which max_p is a fifth here (ns-2, gentle_)."""
    max_p = p / 5
    most = int(BACKLOG * LENGTH / (1 + (p - max_p) / (1 - max_p)))
    words = {
        "POLICY": 1, "RED_FLAGS": UNIFORM | GENTLE | ECN, "RED_MAX": most << 11, "RED_MAXP": int(max_p * 2**32),
        "RED_SLOPE": scaled(max_p / (most - MIN) * 2**17), "RED_GENTLE_SLOPE": scaled((1 - max_p) / most * 2**17),
    }  # fmt: skip
    return red_family(bench, words, lambda held: max_p + (1 - max_p) * (held - most) / most, "uniform")


def isred(bench: Bench, p: float, mode: int) -> Found:
    """Every arrival being of a rise, mode 1: RED's p without the wait; mode 2: min(1, gain p_b). RED itself would spread them
    uniformly, with wait."""
    gain = dict(zip(POINTS, (0.5, 3.0, 2.5), strict=True))[p] if mode == 2 else 1.0
    p = p if mode == 2 else p / 2
    max_p = 2 * p / gain
    words = {
        "POLICY": 3, "RED_FLAGS": UNIFORM_WAIT | ECN, "RED_MAXP": int(max_p * 2**32), "RED_SLOPE": scaled(max_p / (MAX - MIN) * 2**17),
        "ISRED_CTRL": mode, "ISRED_SLOPE": 0, "ISRED_GAIN": scaled(gain),
    }  # fmt: skip
    law = "geometric" if mode == 2 else "uniform"
    return red_family(bench, words, lambda average: gain * max_p * (average - MIN) / (MAX - MIN), law)


def pie(bench: Bench, p: float) -> Found:
    """RFC 8033, Appendix A: u < p."""
    bench.write(**LIMITS, POLICY=6, PIE_CTRL=1, PIE_BURST=0, PIE_ECN_MAX=FULL, PIE_BYPASS=0, PIE_INTERVAL=10_000,
                PIE_TARGET=1000, PIE_BETA=0)  # fmt: skip
    state = bench.hold_p("PIE", p)
    bench.send(BACKLOG)
    gaps = spacings(bench, 1 / state)
    assert bench.p_is_still(state)
    return gaps, state


def pi2(bench: Bench, p: float, maximum: int = FULL) -> Found:
    """RFC 9332, A.1: p_C = p'^2 marks; in overload, from p_Cmax on, it drops."""
    bench.write(**LIMITS, POLICY=8, PI2_CTRL=1, PI2_STEP=FULL, PI2_COUPLING=2 << 12, PI2_MAX=maximum, PI2_INTERVAL=10_000,
                PI2_TARGET=1000, PI2_BETA=0)  # fmt: skip
    state = bench.hold_p("PI2", p**0.5)
    bench.send(BACKLOG)
    gaps = spacings(bench, 1 / state**2, MARKED if maximum == FULL else DROPPED)
    assert bench.p_is_still(state)
    return gaps, state**2


def coupled(bench: Bench, base: float, k: int, maximum: int = FULL) -> float:
    """Queue 0 is the classic queue, queue 1 the L queue, with frames in it; p' near `base`, held."""
    classic = {"POLICY": 8, "PI2_INTERVAL": 10_000, "PI2_TARGET": 1000, "PI2_BETA": 0, "PI2_STEP": FULL,
               "PI2_COUPLING": k, "PI2_MAX": maximum}  # fmt: skip
    bench.write(1, **LIMITS, **classic, PI2_CTRL=2 | 0 << 4, PI2_ALPHA=0)
    bench.write(0, **LIMITS, **classic, PI2_CTRL=1 | 1 << 4)
    state = bench.hold_p("PI2", base)
    bench.send(BACKLOG, 1)
    return state


def l_queue(bench: Bench, p: float) -> Found:
    """RFC 9332, A.1: p_CL = k p', k = 2."""
    state = coupled(bench, p / 2, 2 << 12)
    gaps = spacings(bench, 1 / (2 * state), queue=1)
    assert bench.p_is_still(state)
    return gaps, 2 * state


OVERLOAD = 1 << 27
"""p_Cmax of the overload cases: 1/32, below p_C of each point"""


def l_queue_in_overload(bench: Bench, p: float, what: int) -> Found:
    """RFC 9332, 4.2.3 and A.1: dropped with p_C = p'^2, what is not dropped marked with p_CL = k p', here k = 1/2."""
    state = coupled(bench, p**0.5, 1 << 11, OVERLOAD)
    p = state**2 if what == DROPPED else (1 - state**2) * state / 2
    gaps = spacings(bench, 1 / p, what, queue=1) if what == DROPPED else marks_beside_drops(bench, p)
    assert bench.p_is_still(state)
    return gaps, p


def marks_beside_drops(bench: Bench, p: float) -> Ints:
    """Spacings of marks in queue 1, in arrivals; others are dropped."""
    found = bench.outcomes(np.full(ceil(MARKS["geometric"] * 1.1 / p), LENGTH), queue=1)
    assert (found == DROPPED).any()
    return np.diff(np.flatnonzero(found == MARKED))


CASES: dict[str, tuple[Callable[[Bench, float], Found], str]] = {
    "red-gentle": (lambda bench, p: gentle(bench, p / 2), "uniform"),
    "ared-geometric": (lambda bench, p: ared(bench, p, GEOMETRIC, "geometric"), "geometric"),
    "ared-uniform": (lambda bench, p: ared(bench, p / 2, UNIFORM, "uniform"), "uniform"),
    "ared-wait": (lambda bench, p: ared(bench, p, UNIFORM_WAIT, "uniform-wait"), "uniform-wait"),
    "isred-without-wait": (lambda bench, p: isred(bench, p, 1), "uniform"),
    "isred-gain": (lambda bench, p: isred(bench, p, 2), "geometric"),
    "pie": (pie, "geometric"),
    "pi2": (pi2, "geometric"),
    "pi2-overload": (lambda bench, p: pi2(bench, p, OVERLOAD), "geometric"),
    "coupled": (l_queue, "geometric"),
    "coupled-overload-drops": (lambda bench, p: l_queue_in_overload(bench, p, DROPPED), "geometric"),
    "coupled-overload-marks": (lambda bench, p: l_queue_in_overload(bench, p, MARKED), "geometric"),
}
"""name: spacings and p of its state, its law"""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("point", POINTS, ids=lambda p: f"p={p}")
def test_what_leaves_fits_the_law_of_the_state_and_no_other(name: str, point: float) -> None:
    sequence, law = CASES[name]
    gaps, p = sequence(Bench(100 + 3 * list(CASES).index(name) + POINTS.index(point)), point)
    marks = MARKS[law]
    assert gaps.size > marks
    print(f"{name}: p = {p:.5f}, {gaps.size} spacings, rate off by {rate_deviation(gaps, law, p):.2f} sigma")
    assert abs(rate_deviation(gaps, law, p)) <= 3
    assert not rejected(gaps, law, p)
    for wrong in (0.9 * p, 1.1 * p):
        assert chance_to_miss_rate(law, p, wrong, marks) < 1e-3 and chance_to_miss(law, p, wrong, marks) < 1e-3
        assert abs(rate_deviation(gaps, law, wrong)) > 3 and rejected(gaps, law, wrong), wrong
    for other in set(LAWS) - {"fn-uniform", law}:
        # also with the p that gives the mean that was seen
        for claimed in (p, MEAN[other] / gaps.mean()):
            assert chance_to_miss(law, p, claimed, marks, other) < 1e-3
            assert rejected(gaps, other, claimed), (other, claimed)

"""ISRED against RED on the arrival process of its paper around t = 10 s, golden models in a small simulation.

The rule, over ten seeds and with 30 sources that join (figures 3 to 7 of the paper are for 30): the claims of mode 0 have
to hold for every seed; what the other modes do is asserted for the sum only, because they are weaker.
"""

from __future__ import annotations

from functools import cache

import pytest

from dumbbell import JOIN_S, Dumbbell, Result, isred_params
from golden.isred import CERTAIN, GAIN, QUEUE, WITHOUT_WAIT

SEEDS = range(10)
MODES = {"red": None, "certain": CERTAIN, "without-wait": WITHOUT_WAIT, "gain-4": GAIN}


@cache
def run(name: str, seed: int, source: int = 0) -> Result:
    """A run of 30 s."""
    mode = MODES[name]
    return Dumbbell(30, seed, None if mode is None else isred_params(mode, source)).run()


def within(times: list[float], begin_s: float, end_s: float) -> int:
    """How many lie in [begin, end)."""
    return sum(begin_s <= t < end_s for t in times)


def test_before_the_others_join_the_scenario_is_a_loaded_link() -> None:
    for seed in SEEDS:
        assert 1200 < within(run("red", seed).arrivals, 0, JOIN_S) < 1900


@pytest.mark.parametrize("seed", SEEDS)
def test_isred_acts_earlier_than_red_when_the_load_rises(seed: int) -> None:
    red, isred = run("red", seed), run("certain", seed)

    def fifth(result: Result) -> float:
        """Time of the fifth drop by chance or edrop() after the others join."""
        return [t for t in result.early if t >= JOIN_S][4]

    assert fifth(isred) < JOIN_S + 0.3
    assert fifth(red) > fifth(isred) + 0.3
    assert within(isred.early, JOIN_S, JOIN_S + 0.5) >= 10 * max(1, within(red.early, JOIN_S, JOIN_S + 0.5))


@pytest.mark.parametrize("seed", SEEDS)
def test_overflow_nearly_disappears(seed: int) -> None:
    """Figures 4 and 5: many overflows of RED from 10 s on, none of ISRED."""
    assert within(run("red", seed).overflow, JOIN_S, 30) > 50
    assert within(run("certain", seed).overflow, JOIN_S, 30) <= 5


def test_fewer_packets_arrive_and_fewer_are_dropped() -> None:
    """Figure 7 and Table 1 at 30 sources, by sign, for the sum of the seeds."""

    def total(name: str, what: str) -> int:
        result = [run(name, seed) for seed in SEEDS]
        if what == "arrivals":
            return sum(len(r.arrivals) for r in result)
        return sum(len(r.early) + len(r.forced) + len(r.overflow) for r in result)

    assert total("certain", "arrivals") < total("red", "arrivals")
    assert total("certain", "drops") < total("red", "drops")


@pytest.mark.parametrize("name", ["without-wait", "gain-4"])
def test_the_other_modes_act_earlier_too_but_do_not_stop_overflow(name: str) -> None:
    def early(which: str) -> int:
        return sum(within(run(which, seed).early, JOIN_S, JOIN_S + 0.5) for seed in SEEDS)

    def overflow(which: str) -> int:
        return sum(within(run(which, seed).overflow, JOIN_S, 30) for seed in SEEDS)

    assert early("red") < early(name) < early("certain") / 4
    assert overflow(name) > 5 * overflow("certain") + 100


def test_the_rate_of_the_queue_instead_of_its_average_is_far_more_sensitive() -> None:
    for seed in SEEDS:
        by_queue, by_average = Dumbbell(30, seed, isred_params(CERTAIN, QUEUE)).run(), run("certain", seed)
        assert len(by_queue.early) > len(by_average.early)
        assert len(by_queue.forced) == 0

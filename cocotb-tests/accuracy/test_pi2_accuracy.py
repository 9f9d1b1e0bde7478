"""The integer model of PI2 against RFC 9332's pseudocode in double precision, its rates, and what it does to a queue."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from random import Random

import pytest

from golden.bottleneck import simulate
from golden.lfsr import Lfsr
from golden.params import GEOMETRIC
from golden.pi import NS_MAX, ONE, TOP, Gain
from golden.pi2 import DEFAULTS, TOP32, Pi2, Pi2Params, decide_classic, decide_low_latency, leave, pairs
from golden.red import ACCEPT, CE, DROP, ECT0, ECT1, FORCED, MARK, NONE, NOT_ECT
from renewal import Law, draws, law

PACKETS = 2_000_000
#: |p' - p'*| of a tick from the same p': two truncated terms; and the double's own rounding
STEP = 2 * 2.0**-48
DOUBLE = 2.0**-49
#: p_C, p_CL and their union against those of the same p': p' truncated to 36 bits, products to 32
PRODUCT = 2.0**-32 + 2 * 2.0**-36


def _params(rng: Random) -> Pi2Params:
    scale = Fraction(1, rng.choice([1, 3, 30, 500]))
    boost = Fraction(rng.choice([1, 1, 5, 40]))
    return replace(
        DEFAULTS,
        target=int(15_000_000 * scale),
        alpha=Gain.of(boost * 16 / 100 / scale),
        beta=Gain.of(boost * 3 / scale),
        coupling=rng.choice([1 << 12, 2 << 12, rng.getrandbits(16)]),
        maximum=rng.choice([1 << 30, 1 << 31, TOP32]),
    )


def test_every_tick_and_verdict_is_the_rfcs_beyond_the_bound() -> None:
    """dualpi2_update, and the decisions of dualpi2_dequeue with u for recur(), in doubles; p' from the hardware before each tick."""
    rng, compared, ties, seen = Random(5), 0, 0, set()
    for _ in range(200):
        params, model, level = _params(rng), Pi2(), 0.5
        alpha, beta = float(params.alpha.per_ns), float(params.beta.per_ns)
        k, p_c_max = params.coupling / 4096, params.maximum / 2**32
        p_l_max = min(k * sqrt(p_c_max), 1.0)
        for _ in range(200):
            if rng.random() < 0.1:
                level = rng.choice([0.0, 0.5, 1.0, 1.2, 2.0, 8.0])
            delay = min(NS_MAX, int(params.target * level * (0.9 + 0.2 * rng.random())))
            base, old = model.base / ONE, model.old
            model.update(delay, params)
            base += alpha * (delay - params.target) + beta * (delay - old)
            base = min(max(base, 0.0), TOP / ONE)
            error = STEP + DOUBLE * (8 * (alpha + beta) * max(delay, old, params.target) + 4)
            assert abs(model.base / ONE - base) <= error
            p_cl, p_c = min(k * base, 1.0), base * base
            near = (
                abs(p_c - p_c_max) <= 4 * PRODUCT
                or abs(k * base - p_l_max) <= 4 * (1 + k) * PRODUCT
                or abs(k * base - 1) <= 4 * (1 + k) * PRODUCT
            )
            for _ in range(4):
                draw = rng.choice([rng.getrandbits(24), int(rng.choice([p_c, p_cl]) * (1 << 24)), 0, 0xFFFFFF])
                draw = min(max(draw + rng.randrange(-1, 2), 0), 0xFFFFFF)
                u, ecn = draw / 2**24, rng.randrange(4)
                classic = decide_classic(model, ecn, draw, params.ecn)
                low = decide_low_latency(model, ecn, draw)
                union = p_c + p_cl - p_c * p_cl
                bound = 4 * (1 + k) * PRODUCT + 2 * error
                if near or any(x > 0 and abs(u - min(x, TOP32 / 2**32)) <= bound for x in (p_c, p_cl, union)):
                    ties += 1
                    continue
                compared += 1
                action = ACCEPT
                if u < p_c:
                    action = DROP if ecn == NOT_ECT or p_c >= p_c_max else (ACCEPT if ecn == CE else MARK)
                assert classic.action == action
                seen.add(("classic", p_c >= p_c_max, action))
                marked = ACCEPT if ecn == CE else MARK
                if k * base < p_l_max:
                    action = (DROP if u < p_c else ACCEPT) if ecn == NOT_ECT else (marked if u < p_cl else ACCEPT)
                else:
                    action = DROP if u < p_c else (marked if u < union and ecn != NOT_ECT else ACCEPT)
                assert low.action == action, (low, p_c, p_cl, u, ecn)
                seen.add(("low", k * base >= p_l_max, action))
    print(f"{compared} compared, {ties} ties")
    assert compared > 100_000 and ties < compared / 10
    assert seen >= {
        (kind, over, action) for kind in ("classic", "low") for over in (False, True) for action in (ACCEPT, DROP)
    }
    assert ("classic", False, MARK) in seen and ("low", False, MARK) in seen and ("low", True, MARK) in seen


def _at(base: float) -> Pi2:
    """A queue with that p'."""
    model = Pi2()
    model.base = int(base * ONE)
    model.update(0, replace(DEFAULTS, alpha=Gain(0, 0), beta=Gain(0, 0)))
    return model


def _law(p: float) -> Law:
    return law(GEOMETRIC, Fraction(p))


def _fits(hits: int, p: float) -> bool:
    return abs(_law(p).deviation(hits, PACKETS)) <= 3


@pytest.mark.parametrize("base", [0.06, 0.15, 0.3])
@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (0.94, False), (1.06, False)])
def test_the_classic_rate_is_the_square(base: float, factor: float, accepted: bool) -> None:
    """p' off by 6 % is p_C off by more than 10 %."""
    model = _at(base * factor)
    drops = sum(decide_classic(model, NOT_ECT, draw, True).action == DROP for draw in draws(PACKETS))
    assert _fits(drops, base * base) == accepted
    assert accepted or _law((base * factor) ** 2).chance_to_pass_for(_law(base * base), PACKETS) < 1e-3


@pytest.mark.parametrize("base", [0.01, 0.06, 0.3])
@pytest.mark.parametrize(("factor", "accepted"), [(1.0, True), (0.9, False), (1.1, False)])
def test_the_coupled_rate_is_k_times_the_base(base: float, factor: float, accepted: bool) -> None:
    model = _at(base * factor)
    marks = sum(decide_low_latency(model, ECT1, draw).action == MARK for draw in draws(PACKETS))
    assert _fits(marks, 2 * base) == accepted
    assert accepted or _law(2 * base * factor).chance_to_pass_for(_law(2 * base), PACKETS) < 1e-3


def test_in_overload_both_queues_drop_alike() -> None:
    model = _at(0.6)
    assert model.over_classic and model.over_coupled
    low = [decide_low_latency(model, ECT1, draw).action for draw in draws(PACKETS)]
    assert _fits(low.count(DROP), 0.36)
    assert low.count(ACCEPT) == 0, "k p' is 1: what is not dropped is marked"
    assert all(decide_classic(model, ECT0, draw, True).action in (DROP, ACCEPT) for draw in draws(PACKETS)[:1000])


def test_the_step_marks_late_packets_of_the_l_queue_that_are_not_alone() -> None:
    low = replace(DEFAULTS, low_latency=True)
    assert leave(1_000_001, 1, ECT1, low) == (MARK, FORCED)
    for sojourn, packets, ecn, params in (
        (1_000_000, 1, ECT1, low),
        (1_000_001, 0, ECT1, low),
        (1_000_001, 1, NOT_ECT, low),
        (1_000_001, 1, ECT1, DEFAULTS),
        (1 << 40, 1, ECT1, replace(low, step=TOP32)),
    ):
        assert leave(sojourn, packets, ecn, params) == (ACCEPT, NONE)
    # selected, and marked already
    assert leave(1_000_001, 1, CE, low) == (ACCEPT, FORCED)


def test_pairs_name_each_other() -> None:
    classic, low = replace(DEFAULTS, coupled=1), replace(DEFAULTS, low_latency=True, coupled=0)
    assert pairs([classic, low], 3) == [1, 0]
    assert pairs([classic, low], 1) == [None, None]
    assert pairs([classic, replace(low, coupled=1)], 3) == [None, None]
    assert pairs([classic, replace(low, low_latency=False)], 3) == [None, None]
    assert pairs([replace(classic, coupled=9), low], 3) == [None, None]


def test_an_l_queue_without_a_pair_has_the_step_alone() -> None:
    assert {decide_low_latency(None, ecn, 0).action for ecn in range(4)} == {ACCEPT}


def test_an_idle_queue_comes_to_rest_and_stays_there() -> None:
    model = _at(0.9)
    ticks = 0
    while not model.update(0, DEFAULTS):
        ticks += 1
        assert ticks < 500
    state = vars(model).copy()
    for _ in range(100):
        assert model.update(0, DEFAULTS) and vars(model) == state


class Managed:
    """A classic queue on its own, its ticks at their deadlines."""

    def __init__(self) -> None:
        self.model, self.source = Pi2(), Lfsr(5)
        self.model.deadlines.start(0)

    def _ticks(self, now: int) -> None:
        deadlines = self.model.deadlines
        while deadlines.due(now, DEFAULTS.interval):
            at = deadlines.deadline(DEFAULTS.interval)
            deadlines.taken(at, DEFAULTS.interval)
            self.model.tick(self.model.delay.ns, self.model.delay.ns == 0, DEFAULTS)

    def arrive(self, now_ns: int, queued_bytes: int) -> bool:
        self._ticks(now_ns)
        if queued_bytes == 0:
            self.model.delay.empty()
        return decide_classic(self.model, NOT_ECT, self.source.draw(), True).action == DROP

    def depart(self, now_ns: int, sojourn_ns: int, packets: int) -> None:
        self._ticks(now_ns)
        self.model.delay.departure(sojourn_ns, packets)
        if self.model.delay.ns:
            self.model.deadlines.rouse(now_ns)


@pytest.mark.parametrize(("flows", "constant"), [(5, 0.0), (20, 0.0), (50, 0.0), (0, 1.2)])
def test_the_delay_stays_near_the_target(flows: int, constant: float) -> None:
    result = simulate(Managed(), flows, 20e6, 50_000_000, 60.0, constant * 20e6)
    print(
        f"{flows} flows: mean {result.mean_ms:.1f} ms, 95 % {result.percentile_ms(0.95):.1f} ms, link {result.utilisation:.3f}"
    )
    assert 0.6 * 15 < result.mean_ms < 1.4 * 15
    assert result.utilisation > 0.93

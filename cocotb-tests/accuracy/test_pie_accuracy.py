"""The integer model of PIE against the RFC's pseudocode in double precision, its drop rate, and when it may sleep."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from random import Random

import pytest

from golden.params import GEOMETRIC
from golden.pi import NS_MAX, ONE, TOP, Deadlines, Delay, Gain, control
from golden.pie import DEFAULTS, FIFTH, SCALES, Pie, PieParams, tuned
from golden.pie_oracle import Natural, OraclePie
from golden.red import ACCEPT, CE, DROP, ECT0, ECT1, MARK, NONE, NOT_ECT
from renewal import draws, law

#: |p - p*| of one tick that starts from the same p: two truncated terms, the scaling, the decay; and the double's own rounding
STEP = 4 * 2.0**-48
DOUBLE = 2.0**-49
PACKETS = 2_000_000
POINTS = (Fraction(3, 1000), Fraction(21, 1000), Fraction(77, 1000))


def _params(rng: Random) -> PieParams:
    scale = Fraction(1, rng.choice([1, 3, 30, 500]))
    boost = Fraction(rng.choice([1, 1, 5, 40, 1000]))
    target = int(15_000_000 * scale) + rng.randrange(0, 999)
    return PieParams(
        rng.random() < 0.5, int(15_000_000 * scale), target, Gain.of(boost / 8 / scale), Gain.of(boost * 5 / 4 / scale),
        10 * target, rng.choice([(1 << 32) // 10, 1 << 31, NS_MAX]), rng.choice([0, 3000]),
    )  # fmt: skip


def _region(p: float) -> tuple[int, bool, bool]:
    return sum(p < s / ONE for s in SCALES), p < FIFTH / ONE, p < 2.0**-49


def _sojourns(rng: Random, target: int, ticks: int) -> list[int]:
    """A wandering delay with idle times, bursts and some seconds."""
    level, result = 0.5, []
    for _ in range(ticks):
        if rng.random() < 0.05:
            level = rng.choice([0.0, 0.0, 0.3, 0.49, 1.0, 1.1, 2.0, 5.0])
        result.append(min(NS_MAX, int(target * level * (1 + 0.3 * rng.random() - 0.15))))
        if rng.random() < 0.01:
            result[-1] = rng.choice([249_999_999, 250_000_000, 250_000_001, NS_MAX])
    return result


def test_every_tick_is_the_rfcs_to_a_few_units_of_the_last_place() -> None:
    rng, worst, ticks, seen = Random(3), 0.0, 0, Counter[object]()
    for _ in range(300):
        params = _params(rng)
        natural = Natural.of(params)
        model, oracle = Pie(), OraclePie(natural)
        for delay in _sojourns(rng, params.target, 300):
            if rng.random() < 0.02:
                model.p = rng.choice([0, 1, TOP, *SCALES, *(s - 1 for s in SCALES), FIFTH, rng.getrandbits(48)])
            before, old = model.p, model.old
            oracle.drop_prob, oracle.qdelay_old = before / ONE, old / 1e9
            model.update(delay, params)
            oracle.calculate_drop_prob(delay / 1e9)
            size = (
                abs(natural.alpha * delay / 1e9) + natural.alpha * natural.target + natural.beta * max(delay, old) / 1e9
            )
            error = abs(model.p / ONE - min(oracle.drop_prob, TOP / ONE))
            assert error <= STEP + DOUBLE * (8 * size + 4), (before, delay, old, params)
            worst = max(worst, error)
            ticks += 1
            seen[_region(before / ONE)[0]] += 1
    print(f"{ticks} ticks, largest |p - p*| = {worst:.3g}, by scale {dict(seen)}")
    assert all(seen[i] > 1000 for i in range(7))


def test_verdicts_agree_with_a_free_running_oracle_beyond_the_bound() -> None:
    """The oracle keeps its own p; it follows the hardware only where a rule of the RFC jumps and p is within the bound of the jump."""
    rng, seen, widest = Random(4), Counter[str](), 0.0
    for _ in range(150):
        params = _params(rng)
        model, oracle, bound = Pie(), OraclePie(Natural.of(params)), 0.0
        for delay in _sojourns(rng, params.target, 300):
            model.update(delay, params)
            oracle.calculate_drop_prob(delay / 1e9)
            natural = oracle.n
            bound += STEP + DOUBLE * (8 * (natural.alpha + natural.beta) * max(delay, params.target) / 1e9 + 4)
            distance = abs(model.p / ONE - min(oracle.drop_prob, TOP / ONE))
            assert distance <= bound
            jumped = _region(model.p / ONE) != _region(oracle.drop_prob)
            if jumped or (oracle.burst_allowance > 1e-12) != model.allowed:
                seen["resynchronised"] += 1
                oracle.drop_prob, bound = model.p / ONE, 0.0
                assert model.burst is not None
                oracle.burst_allowance = model.burst / 1e9
                continue
            for _ in range(3):
                queued, ecn = rng.choice([0, 3000, 3001, 100_000]), rng.randrange(4)
                draw = min(max(int(oracle.drop_prob * (1 << 24)) + rng.randrange(-1, 2), 0), (1 << 24) - 1)
                draw = rng.choice([draw, rng.getrandbits(24), 0, (1 << 24) - 1])
                verdict = model.decide(queued, ecn, draw, params)
                p, u = oracle.probability(queued), draw / (1 << 24)
                edge = oracle.drop_prob - natural.ecn_max
                if p > 0.0 and abs(u - min(p, TOP / ONE)) <= bound + 2.0**-32 or abs(edge) <= bound + 2.0**-32:
                    seen["ties"] += 1
                    continue
                widest = max(widest, bound + 2.0**-32)
                seen["compared"] += 1
                selected = u < p
                seen["selected"] += selected
                assert (verdict.cause != NONE) == selected, (verdict, p, u, queued)
                wanted = ACCEPT
                if selected:
                    wanted = DROP if not oracle.marks() or ecn == NOT_ECT else (ACCEPT if ecn == CE else MARK)
                assert verdict.action == wanted
    print(dict(seen), f"widest bound {widest:.3g}")
    assert seen["compared"] > 100_000 and seen["selected"] > 10_000
    assert seen["ties"] < seen["compared"] / 50 and seen["resynchronised"] < 1500


@pytest.mark.parametrize("fault", ["scale", "cap", "late", "decay"])
def test_the_comparison_rejects_a_tick_without_one_of_the_rules(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(change: int, p: int, delay: int) -> int:
        if fault == "scale":
            return change
        if fault == "cap" and p >= SCALES[0]:
            return change
        return tuned(change, p, min(delay, 250_000_000) if fault == "late" else delay)

    monkeypatch.setattr("golden.pie.tuned", without)
    if fault == "decay":
        monkeypatch.setattr(OraclePie, "calculate_drop_prob", _without_decay)
    with pytest.raises(AssertionError):
        test_every_tick_is_the_rfcs_to_a_few_units_of_the_last_place()


def _without_decay(oracle: OraclePie, current_qdelay: float, real=OraclePie.calculate_drop_prob) -> None:  # type: ignore[no-untyped-def]
    idle = current_qdelay == 0.0 and oracle.qdelay_old == 0.0
    real(oracle, current_qdelay)
    if idle:
        oracle.drop_prob /= 1 - 1 / 64


# ---- rate and spacing


def _drops(p: Fraction) -> list[int]:
    model = Pie()
    model.p, model.allowed, model.calm = int(p * ONE), False, False
    return [i for i, draw in enumerate(draws(PACKETS)) if model.decide(100_000, NOT_ECT, draw, DEFAULTS).action == DROP]


@pytest.mark.parametrize("p", POINTS, ids=lambda p: f"p={float(p)}")
def test_the_drop_rate_and_the_spacing_are_those_of_independent_draws(p: Fraction) -> None:
    drops = _drops(p)
    assert abs(law(GEOMETRIC, p).deviation(len(drops), PACKETS)) <= 3
    gaps = [b - a for a, b in zip(drops, drops[1:], strict=False)]
    variance = sum((g - float(1 / p)) ** 2 for g in gaps) / len(gaps)
    # the variance of a geometric gap's square deviation is about 8/p^4
    assert abs(variance * float(p**2 / (1 - p)) - 1) <= 3 * sqrt(8 / len(gaps))


@pytest.mark.parametrize("p", POINTS, ids=lambda p: f"p={float(p)}")
@pytest.mark.parametrize("factor", [Fraction(9, 10), Fraction(11, 10)], ids=["-10%", "+10%"])
def test_a_probability_off_by_ten_percent_is_rejected(p: Fraction, factor: Fraction) -> None:
    assert law(GEOMETRIC, p * factor).chance_to_pass_for(law(GEOMETRIC, p), PACKETS) < 1e-3
    assert abs(law(GEOMETRIC, p).deviation(len(_drops(p * factor)), PACKETS)) > 3


# ---- rules one by one


def test_the_scale_steps_are_inclusive_below() -> None:
    for n, shift in enumerate((1, 3, 5, 7, 9, 11)):
        assert tuned(1 << 20, SCALES[n] - 1, 0) == 1 << 20 - shift
        above = 0 if n == 0 else (1, 3, 5, 7, 9)[n - 1]
        assert tuned(1 << 20, SCALES[n], 0) == 1 << 20 - above
    assert all(Fraction(s - 1, ONE) < Fraction(1, 10**n) <= Fraction(s, ONE) for n, s in enumerate(SCALES, start=1))


def test_increments_are_capped_from_ten_percent_on_and_raised_above_250_ms() -> None:
    assert tuned(ONE, SCALES[0], 0) == ONE // 50
    assert tuned(-ONE, SCALES[0], 0) == -ONE
    assert tuned(ONE, SCALES[0] - 1, 0) == ONE // 2
    assert tuned(ONE, SCALES[0], 250_000_001) == 2 * (ONE // 50)
    assert tuned(0, 0, 250_000_000) == 0 and tuned(0, 0, 250_000_001) == ONE // 50


def test_terms_are_truncated_towards_zero() -> None:
    gain = Gain(1, 9)
    assert (gain.term(1), gain.term(2), gain.term(-1), gain.term(-3)) == (0, 1, 0, -1)
    assert control(0, NS_MAX, NS_MAX, Gain(2**18 - 1, 0), Gain(2**18 - 1, 0)) == -2 * ((2**18 - 1) * NS_MAX << 8)


def test_without_delay_p_decays_by_a_64th_at_least_to_nothing() -> None:
    params = replace(DEFAULTS, alpha=Gain(0, 0), beta=Gain(0, 0))
    model = Pie()
    model.p, ticks = TOP, 0
    model.update(0, params)
    while model.p:
        before = model.p
        model.update(0, params)
        assert before - model.p == -(-before // 64)
        ticks += 1
    assert 1700 < ticks < 2300


def test_the_burst_allowance_runs_down_and_comes_back_after_two_calm_ticks_at_zero() -> None:
    model, params = Pie(), replace(DEFAULTS, burst=40_000_000)
    burst = []
    for delay in (8_000_000, 8_000_000, 8_000_000, 8_000_000, 7_000_000, 7_000_000):
        model.p = 0
        model.update(delay, replace(params, alpha=Gain(0, 0), beta=Gain(0, 0)))
        burst.append((model.burst, model.allowed))
    assert burst == [(25_000_000, True), (10_000_000, True), (0, False), (0, False), (0, False), (40_000_000, True)]


def test_nothing_is_dropped_while_calm_below_a_fifth_or_within_the_bypass() -> None:
    model = Pie()
    model.allowed = False
    for p, calm in ((FIFTH - 1, True), (FIFTH, False)):
        model.p, model.old = p, 0
        model.update(7_499_999, replace(DEFAULTS, alpha=Gain(0, 0), beta=Gain(0, 0)))
        model.allowed = False
        assert model.calm == calm
        assert model.decide(3001, NOT_ECT, 0, DEFAULTS).action == (ACCEPT if calm else DROP)
    assert model.decide(3000, NOT_ECT, 0, DEFAULTS).action == ACCEPT
    model.update(7_500_000, replace(DEFAULTS, alpha=Gain(0, 0), beta=Gain(0, 0)))
    assert not model.calm


def test_ecn_marks_up_to_its_largest_p_and_drops_above() -> None:
    model, params = Pie(), replace(DEFAULTS, ecn=True)
    model.allowed = model.calm = False
    for p, marking in ((params.ecn_max, True), (params.ecn_max + 1, False)):
        model.p = p << 16
        for ecn in (NOT_ECT, ECT0, ECT1, CE):
            action = model.decide(9999, ecn, 0, params).action
            assert action == (DROP if not marking or ecn == NOT_ECT else ACCEPT if ecn == CE else MARK)
            assert model.decide(9999, ecn, 0, replace(params, ecn=False)).action == DROP


def test_a_sleeping_queue_has_nothing_left_to_change() -> None:
    """Whatever the registers: once a tick says that it rests, ticks without delay leave every bit as it is."""
    rng, rested = Random(8), 0
    for _ in range(400):
        hostile = rng.random() < 0.5
        params = _params(rng) if not hostile else PieParams(
            True, rng.getrandbits(rng.randrange(33)), rng.choice([0, 1, 2, rng.getrandbits(32)]),
            Gain(rng.getrandbits(18), rng.randrange(64)), Gain(rng.getrandbits(18), rng.randrange(64)),
            rng.choice([0, 1, rng.getrandbits(32)]), NS_MAX, 0,
        )  # fmt: skip
        model = Pie()
        for _ in range(rng.randrange(30)):
            model.update(rng.choice([0, params.target, 3 * params.target, NS_MAX]) & NS_MAX, params)
        ticks = 0
        while not model.update(0, params):
            ticks += 1
            if ticks > 3000 and params.burst and not params.target:
                # without a target the allowance runs down, an interval a tick
                model.burst = min(model.burst or 0, 10 * max(params.interval, 4096))
            assert ticks < 6000, "an idle queue must come to rest"
        state = (model.p, model.old, model.burst, model.allowed, model.calm)
        for _ in range(50):
            assert model.update(0, params)
            assert state == (model.p, model.old, model.burst, model.allowed, model.calm)
        rested += 1
    assert rested == 400


def test_the_delay_is_that_of_the_last_packet_and_0_when_none_is_left() -> None:
    delay = Delay()
    delay.departure(5, 1)
    assert delay.ns == 5
    delay.departure(1 << 40, 1)
    assert delay.ns == NS_MAX
    delay.departure(7, 0)
    assert delay.ns == 0
    delay.departure(7, 2)
    delay.empty()
    assert delay.ns == 0


def test_deadlines_follow_each_other_by_the_interval_unless_one_was_missed() -> None:
    d = Deadlines()
    d.start(100)
    assert not d.due(100 + 4999, 5000) and d.due(5100, 5000) and d.due(5100, 5000)
    d.taken(5200, 5000)
    assert d.deadline(5000) == 10100
    d.taken(15099, 5000)
    assert d.deadline(5000) == 15100
    d.taken(20100, 5000)
    assert d.deadline(5000) == 25100, "late by an interval: from now on"
    d.rouse(1)
    assert d.deadline(0) == 20100 + 4096

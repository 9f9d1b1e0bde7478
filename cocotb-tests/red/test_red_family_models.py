"""The integer models of ISRED and adaptive RED against oracles in double precision, and their own properties. No RTL."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from golden.ared import ONES, AredParams, MaxP, adapted, scaled_product
from golden.ewma import Ewma
from golden.isred import APART_NS, AVERAGE, CERTAIN, GAIN, QUEUE, TIME_MASK, WITHOUT_WAIT, IsredParams, Rise
from golden.oracle import Natural, OracleRed, saturated
from golden.oracle_family import OracleAred, OracleIsred, edrop
from golden.params import GEOMETRIC, UNIFORM, UNIFORM_WAIT, RedParams, plausible
from golden.red import BAND, DROP, EARLY, ECT0, MARK, NONE, NOT_ECT, ONE, Red

SPAN = 1 << 20


def _isred(rng: Random) -> IsredParams:
    return IsredParams(
        rng.randrange(4),
        rng.randrange(2),
        rng.randrange(1 << 17, 1 << 18),
        rng.randrange(8, 40),
        rng.randrange(1 << 17, 1 << 18),
        rng.randrange(12, 20),
    )


def _compare(params: RedParams, isred: IsredParams, rng: Random, arrivals: int, tally: Counter[str]) -> None:
    natural = Natural.of(params)
    ewma, red, rise = Ewma(), Red(), Rise()
    oracle, rate = OracleRed(), OracleIsred()
    q, now = 0, rng.choice([0, TIME_MASK - 100_000])
    begin = now
    for _ in range(arrivals):
        now += rng.choice([0, 1, rng.randrange(10, 3000), rng.randrange(100_000)])
        length = rng.choice([60, 1514, rng.randrange(14, 9217)])
        draw = rng.choice([rng.getrandbits(24), rng.getrandbits(rng.randrange(1, 24))])
        packets = rng.choice([1, 2, 5, 1000])
        q = max(0, min(SPAN, q + rng.randrange(-20000, 22000))) if rng.random() < 0.97 else rng.randrange(SPAN)
        before = ewma.average
        step = ewma.request(now & TIME_MASK, packets, q, params)
        rapid = rise.arrival(now & TIME_MASK, q, before, step.average, isred)
        average = step.average / (1 << 22)
        ruling = rate.arrival((now - begin) * 1e-9, float(q), average, isred)
        if ruling.tied:
            tally["rate ties"] += 1
        else:
            assert ruling.rapid == rapid, (params, isred)
            tally["rates", rapid] += 1
        verdict = red.take(step.average, packets, length, NOT_ECT, draw, params, 0, isred if rapid else None)
        u = draw / (1 << 24)
        applies = rapid and natural.minimum <= average < natural.maximum
        theirs = (
            edrop(oracle, isred, average, packets, length, u, natural)
            if applies
            else oracle.judge(average, packets, length, u, natural)
        )
        if verdict.region == BAND and saturated(verdict.count, verdict.used_bytes, length, u, natural):
            tally["saturated"] += 1
        elif theirs.tied:
            tally["ties"] += 1
        else:
            tally["compared"] += 1
            tally["edrop", isred.mode, verdict.selected] += applies
            assert verdict.selected == theirs.selected, (params, isred, verdict, theirs, u, applies)
        dropped = rng.random() < 0.01 or verdict.action == DROP
        red.commit(length, verdict.selected, dropped)
        oracle.settle(verdict.selected, dropped)
        oracle.in_band, oracle.count, oracle.count_bytes = not red.fresh, red.count, red.count_bytes


def test_isred_agrees_with_the_oracle_beyond_the_bound() -> None:
    rng, tally = Random(21), Counter()
    for _ in range(500):
        _compare(plausible(rng, SPAN // 2), _isred(rng), rng, 300, tally)
    print(tally)
    assert tally["compared"] > 120_000
    assert tally["rates", True] > 10_000 and tally["rates", False] > 10_000
    for mode in range(4):
        assert tally["edrop", mode, True] > 500, mode
    for mode in (1, 2, 3):
        assert tally["edrop", mode, False] > 500, mode
    assert tally["ties"] + tally["rate ties"] < tally["compared"] / 50


def test_the_comparison_fails_for_a_slope_that_is_off() -> None:
    with pytest.raises(AssertionError):
        rng = Random(22)
        for _ in range(50):
            params, isred = plausible(rng, SPAN // 2), _isred(rng)
            ewma, rise, rate = Ewma(), Rise(), OracleIsred()
            now = q = 0
            for _ in range(300):
                now += rng.randrange(1, 50_000)
                q = max(0, q + rng.randrange(-2000, 2200))
                before = ewma.average
                after = ewma.request(now, 1, q, params).average
                off = replace(isred, slope_mantissa=isred.slope_mantissa * 9 // 10)
                ruling = rate.arrival(now * 1e-9, float(q), after / (1 << 22), isred)
                assert ruling.tied or ruling.rapid == rise.arrival(now, q, before, after, off)


def test_the_rate_is_compared_without_division() -> None:
    """0.016 packets a ns: 8 in 500 ns are not more than the slope, 9 are, and 1 in no time is."""
    params = IsredParams(CERTAIN, QUEUE, 1 << 17, 11)
    assert params.slope == Fraction(1, 64)
    for elapsed, rise, rapid in ((512, 8, False), (512, 9, True), (511, 8, True), (0, 1, True), (0, 0, False)):
        model = Rise()
        assert not model.arrival(TIME_MASK - 100, 10, 0, 0, params), "the first arrival has no rate"
        now = (TIME_MASK - 100 + elapsed) & TIME_MASK
        assert model.arrival(now, 10 + rise, 0, 0, params) == rapid, (elapsed, rise)


def test_an_average_that_falls_or_stays_is_never_rapid() -> None:
    params = IsredParams(CERTAIN, AVERAGE, 0, 0)
    for before, after, rapid in ((100, 100, False), (100, 99, False), (100, 101, True)):
        model = Rise()
        model.arrival(0, 0, 0, 0, params)
        assert model.arrival(10, 5, before, after, params) == rapid


def test_arrivals_far_apart_have_no_rate() -> None:
    params = IsredParams(CERTAIN, QUEUE, 0, 0)
    for elapsed, rapid in ((APART_NS - 1, True), (APART_NS, False), ((1 << 47) + 5, False)):
        model = Rise()
        model.arrival(7, 0, 0, 0, params)
        assert model.arrival((7 + elapsed) & TIME_MASK, 9, 0, 0, params) == rapid


BAND_PARAMS = RedParams(
    minimum=10 << 11, maximum=20 << 11, slope_mantissa=1 << 17, slope_exponent=7, ecn=True, exempt_first=True
)


def test_edrop_marks_and_spares_as_early_does() -> None:
    rise = IsredParams(CERTAIN)

    def verdict(
        average: int, packets: int = 5, ecn: int = NOT_ECT, params: RedParams = BAND_PARAMS
    ) -> tuple[int, int, int]:
        v = Red().take(average << 22, packets, 1000, ecn, ONES >> 8, params, 0, rise)
        return v.action, v.cause, v.probability

    assert verdict(15) == (DROP, EARLY, ONE)
    assert verdict(15, ecn=ECT0) == (MARK, EARLY, ONE)
    assert verdict(15, packets=1)[1] == NONE
    assert verdict(9)[1] == NONE, "below min nothing happens"
    gentle = replace(BAND_PARAMS, gentle=True, exempt_first=False)
    assert verdict(25, params=gentle)[1] == NONE, "from max on as in RED"


def test_mode_1_is_red_without_the_wait() -> None:
    wait, uniform = (replace(BAND_PARAMS, spread=s, exempt_first=False) for s in (UNIFORM_WAIT, UNIFORM))
    for draw in range(0, 1 << 24, 99_991):
        with_rise = Red().take(15 << 22, 5, 1000, NOT_ECT, draw, wait, 0, IsredParams(WITHOUT_WAIT))
        assert with_rise == Red().take(15 << 22, 5, 1000, NOT_ECT, draw, uniform)
        assert Red().take(15 << 22, 5, 1000, NOT_ECT, draw, wait).cause == NONE


def test_mode_2_is_its_gain_times_p() -> None:
    params = replace(BAND_PARAMS, spread=GEOMETRIC, slope_exponent=12)
    p = Fraction(5, 4096)
    for gain in (Fraction(1, 2), Fraction(3), Fraction(100)):
        rise = IsredParams(GAIN, 0, 0, 0, *(int(gain * 1024), 10))
        edge = min(int(p * gain * (1 << 24)), 1 << 24)
        for draw in (0, edge - 1, edge, (1 << 24) - 1):
            hit = Red().take(15 << 22, 5, 1000, NOT_ECT, draw, params, 0, rise).selected
            assert hit == (draw < edge), (gain, draw, edge)


# ---- adaptive RED


def _ared(rng: Random) -> AredParams:
    low = rng.randrange(1 << 30)
    return AredParams(
        low=low,
        high=low + rng.randrange(1 << 30),
        bottom=rng.getrandbits(28),
        top=rng.getrandbits(32),
        increase=rng.getrandbits(rng.randrange(20, 32)),
        decrease=rng.getrandbits(32),
        band_mantissa=rng.randrange(1 << 17, 1 << 18),
        band_exponent=rng.randrange(64),
        gentle_mantissa=rng.randrange(1 << 17, 1 << 18),
        gentle_exponent=rng.randrange(64),
    )


def test_ared_agrees_with_the_oracle_to_a_bit_a_tick() -> None:
    rng, moves = Random(31), Counter()
    for _ in range(2000):
        params, red = _ared(rng), RedParams(max_p=rng.getrandbits(32))
        queue = MaxP()
        for _ in range(20):
            average = rng.choice([params.low, params.high, rng.getrandbits(31)]) * 2048 + rng.randrange(-1, 2)
            old = queue.max_p(red)
            theirs, bound = OracleAred(old / 2**32).interval(average / 2**22, params)
            queue.slopes = queue.tick(max(average, 0), red, params)
            new = queue.slopes.max_p
            assert 0 <= theirs - new / 2**32 + 2.0**-50 <= bound + 2.0**-49
            moves[(new > old) - (new < old)] += 1
            for p, (mantissa, exponent), (m, k) in (
                (new, queue.slopes.slope, (params.band_mantissa, params.band_exponent)),
                (ONES - new, queue.slopes.gentle_slope, (params.gentle_mantissa, params.gentle_exponent)),
            ):
                exact = Fraction(p, 1 << 32) * Fraction(m, 1 << k)
                got = Fraction(mantissa, 1 << exponent)
                assert 0 <= exact - got <= max(exact / (1 << 17), Fraction(1, 1 << 63))
                assert mantissa < 1 << 18 and 0 <= exponent <= 63
                assert mantissa >> 17 or exponent == 63
    assert all(moves[m] > 1000 for m in (-1, 0, 1)), moves


def test_max_p_stays_in_its_range_and_between_the_thresholds() -> None:
    params = AredParams(low=10 << 11, high=20 << 11, bottom=1000, top=2_000_000, increase=100_000, decrease=1 << 31)
    assert adapted(1_950_000, 21 << 22, params) == 2_000_000
    assert adapted(1500, 9 << 22, params) == 1000
    assert adapted(4000, 21 << 22, params) == 5000, "a quarter, if the increase is more"
    for average in (10 << 22, 15 << 22, 20 << 22):
        assert adapted(5000, average, params) == 5000
    assert adapted(5000, (20 << 22) + 1, params) > 5000
    assert adapted(5000, (10 << 22) - 1, params) < 5000
    # out of its range it moves towards it only, and never jumps
    assert adapted(3_000_000, 21 << 22, params) == 3_000_000
    assert adapted(500, 9 << 22, params) == 500


def test_a_product_is_normalised_unless_the_exponent_ends() -> None:
    assert scaled_product(ONES, 1 << 17, 0) == ((1 << 18) - 1, 1)
    assert scaled_product(1 << 31, 1 << 17, 5) == (1 << 17, 6)
    assert scaled_product(1, 1, 0) == (1 << 17, 49)
    assert scaled_product(1, 1, 20) == (1 << 11, 63)
    assert scaled_product(0, 1, 3) == (0, 63)
    assert scaled_product(ONES, 1 << 17, 63) == ((1 << 16) * 2 - 1, 63)

"""Drop rates of ISRED's mode 2 and of adaptive RED at a max_p that stays, against the exact law; 10 % off is rejected."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import figures
from golden.ared import AredParams, MaxP
from golden.isred import GAIN, IsredParams
from golden.lfsr import Lfsr
from golden.params import GEOMETRIC, UNIFORM, UNIFORM_WAIT, RedParams, scaled
from golden.red import NOT_ECT, Red
from renewal import LENGTH, fast_marks, law, operating_point

PACKETS = 300_000
POINTS = (Fraction(7, 1000), Fraction(31, 1000), Fraction(123, 1000))
GAINS = (Fraction(3), Fraction(5, 2), Fraction(1, 2))


def gained_marks(p_b: Fraction, gain: Fraction, spread: int, packets: int) -> tuple[int, Fraction]:
    """Marks of a golden queue whose every arrival is of a rapid rise, and the probability that the registers say."""
    params, average, real = operating_point(p_b, spread)
    rise = IsredParams(GAIN, 0, 0, 0, *scaled(gain))
    red, source, marks = Red(), Lfsr(7), 0
    for _ in range(packets):
        verdict = red.take(average, 10, LENGTH, NOT_ECT, source.draw(), params, 0, rise)
        red.commit(LENGTH, verdict.selected, verdict.action == 2)
        marks += verdict.selected
    return marks, min(Fraction(1), real * rise.gain)


@pytest.mark.parametrize(("p_b", "gain"), list(zip(POINTS, GAINS, strict=True)), ids=lambda v: f"{float(v):g}")
def test_mode_2_drops_at_gain_times_p_and_ten_percent_are_seen(p_b: Fraction, gain: Fraction) -> None:
    marks, p = gained_marks(p_b, gain, UNIFORM_WAIT, PACKETS)
    assert abs(law(GEOMETRIC, p).deviation(marks, PACKETS)) <= 3
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        assert law(GEOMETRIC, p).chance_to_pass_for(law(GEOMETRIC, p * factor), PACKETS) < 1e-3
        assert abs(law(GEOMETRIC, p * factor).deviation(marks, PACKETS)) > 3


def test_mode_2_is_geometric_whatever_red_does() -> None:
    same = {gained_marks(POINTS[1], GAINS[1], spread, 20_000)[0] for spread in (GEOMETRIC, UNIFORM, UNIFORM_WAIT)}
    assert len(same) == 1


def test_mode_2_is_certain_where_gain_times_p_passes_one() -> None:
    assert gained_marks(Fraction(1, 2), Fraction(2), UNIFORM, 5000)[0] == 5000


#: max_p at which a tick leaves it: the average is between low and high
MAX_P = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))


def adapted_point(max_p: Fraction, spread: int) -> tuple[RedParams, int, Fraction]:
    """Registers after a tick, an average in the middle of the band, and p_b as max_p states it."""
    m, k = scaled(Fraction(1 << 17, 200))
    # the slope that the host wrote is another; only ticks count
    params = RedParams(
        minimum=5 << 11, maximum=205 << 11, max_p=int(max_p * (1 << 32)), slope_mantissa=1, spread=spread
    )
    average = int(Fraction(105) * (1 << 22))
    queue = MaxP()
    ared = AredParams(low=85 << 11, high=125 << 11, band_mantissa=m, band_exponent=k)
    queue.slopes = queue.tick(average, params, ared)
    assert queue.slopes.max_p == params.max_p
    return queue.live(params), average, Fraction(params.max_p, 1 << 33)


@pytest.mark.parametrize("spread", [GEOMETRIC, UNIFORM, UNIFORM_WAIT], ids=["geometric", "uniform", "uniform-wait"])
@pytest.mark.parametrize("max_p", MAX_P, ids=lambda p: f"{float(p):g}")
def test_ared_drops_at_the_rate_of_its_max_p_and_ten_percent_are_seen(max_p: Fraction, spread: int) -> None:
    params, average, p = adapted_point(max_p, spread)
    # 1/p is an integer here, where uniform-wait may wait one packet longer: the law of the quantised slope
    exact = (average - (params.minimum << 11)) * params.slope / (1 << 22)
    assert abs(exact / p - 1) < Fraction(1, 1 << 16)
    marks = len(fast_marks(params, average, figures.PACKETS, figures.SEED))
    assert abs(law(spread, exact).deviation(marks, figures.PACKETS)) <= 3
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        assert law(spread, exact).chance_to_pass_for(law(spread, exact * factor), figures.PACKETS) < 1e-3
        assert abs(law(spread, exact * factor).deviation(marks, figures.PACKETS)) > 3


def test_ared_follows_the_load_up_and_down() -> None:
    """Above the band max_p climbs to its top, below it falls to its bottom, in steps that Floyd's table states."""
    ared = AredParams(
        low=85 << 11, high=125 << 11, bottom=42949673, top=1 << 31, increase=42949673, decrease=3865470566
    )
    params = RedParams(max_p=(1 << 32) // 50)
    queue, seen = MaxP(), []
    for average in [130 << 22] * 60 + [80 << 22] * 60:
        queue.slopes = queue.tick(average, params, ared)
        seen.append(queue.slopes.max_p / (1 << 32))
    assert seen[0] == pytest.approx(0.02 * 1.25, abs=1e-8) and seen[1] == pytest.approx(0.025 * 1.25, abs=1e-8)
    assert seen[59] == 0.5 and seen[60] == pytest.approx(0.45, abs=1e-8) and seen[-1] == pytest.approx(0.01, abs=1e-8)
    assert replace(ared).interval_ns == 16384

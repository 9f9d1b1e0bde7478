"""The average against exact arithmetic (goal: 1 byte)."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

import figures
from exact_ewma import parameters, power, quantised, whole_step_error
from golden.ewma import POWERS, Ewma, idle_factor
from golden.params import ONE36


@pytest.mark.parametrize("requested", figures.WEIGHTS, ids=lambda w: f"w={float(w):.3g}")
def test_a_million_updates_in_bytes_stay_within_one_byte(requested: Fraction) -> None:
    error, idles = figures.walk(quantised(requested), figures.BUFFER_BYTES)
    assert idles >= 30, "too few idle steps to say anything"
    assert 0 < error <= 1


@pytest.mark.parametrize("requested", figures.WEIGHTS, ids=lambda w: f"w={float(w):.3g}")
def test_a_million_updates_in_packets_stay_within_a_64th(requested: Fraction) -> None:
    error, idles = figures.walk(quantised(requested), figures.BUFFER_PACKETS)
    assert idles >= 30, "too few idle steps to say anything"
    assert 0 < error <= 2**-6


@pytest.mark.parametrize("requested", figures.STEP_WEIGHTS, ids=lambda w: f"w={float(w):.5g}")
def test_a_step_of_the_whole_buffer_stays_within_four_bytes_of_the_requested_weight(requested: Fraction) -> None:
    assert 0 < whole_step_error(requested, figures.BUFFER_BYTES) <= 4


def test_the_step_test_rejects_a_weight_off_by_one_in_a_hundred_thousand() -> None:
    params = parameters(quantised(Fraction(1, 500)) * 100001 // 100000)
    model, exact, worst = Ewma(), Fraction(0), 0.0
    for _ in range(600):
        average = model.request(0, 1, 1 << 20, params).average
        exact = Fraction(int((exact + ((1 << 20) - exact) / 500) * (1 << 200)), 1 << 200)
        worst = max(worst, abs(float(Fraction(average, 1 << 22) - exact)))
    assert worst > 3


def test_weight_one_is_exact() -> None:
    error, idles = figures.walk(ONE36, figures.BUFFER_BYTES)
    assert idles >= 30
    assert error == 0


@pytest.mark.parametrize(
    "requested", [*figures.WEIGHTS, Fraction(1, 2), 1 - Fraction(1, 1 << 20)], ids=lambda w: f"w={float(w):.3g}"
)
def test_the_idle_factor_is_a_power_to_within_its_error(requested: Fraction) -> None:
    """|A_idle - (1-w)^(m+1)| <= 2^-31 + 2^-37 (m+1) ln 2 (1-w)^(m+1), the two terms of the page."""
    weight = quantised(requested)
    params = parameters(weight)
    rng = Random(7)
    for _ in range(2000):
        slots = min(int(2 ** (22 * rng.random())), (1 << 22) - 2)
        true = power(ONE36 - weight, slots + 1) / (1 << 240)
        error = abs(idle_factor(slots, params) / ONE36 - true)
        assert error <= 2**-31 + 2**-37 * (slots + 1) * 0.6932 * true


def test_the_table_is_rounded_to_nearest() -> None:
    """T^512 brackets 2^(36*512 - i) between (T - 1/2)^512 and (T + 1/2)^512, in integers."""
    assert POWERS[0] == ONE36 - 1
    for i, value in enumerate(POWERS[1:], start=1):
        scaled_power = 1 << (37 * 512 - i)
        assert (2 * value - 1) ** 512 <= scaled_power <= (2 * value + 1) ** 512

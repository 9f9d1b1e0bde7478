"""FN's drop rate and spacing at a constant P against the exact renewal law, and proof that the test can fail."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import pytest

from golden.fn import NOT_ECT, Fn, FnParams
from golden.lfsr import Lfsr
from renewal import Law, draws

PACKETS = 2_000_000
SEED = 1
GAP, LENGTH = 851, 1064
POINTS = (Fraction(3, 1000), Fraction(21, 1000), Fraction(77, 1000))
#: uniform, byte mode
VARIANTS = {(False, False): "geometric", (True, False): "uniform", (True, True): "uniform-bytes"}


def operating_point(p: Fraction, variant: tuple[bool, bool]) -> tuple[FnParams, int, Fraction]:
    """Registers and a backlog in bytes at which steady arrivals have a P near `p`; P times L/M exactly."""
    uniform, byte_mode = variant
    t = 1 << 26
    arriving = Fraction(LENGTH * t, GAP)
    scale = Fraction(1, 2) if byte_mode else 1
    held = 5000
    params = FnParams(
        uniform=uniform,
        byte_mode=byte_mode,
        size=32,
        t_mantissa=1 << 17,
        t_exponent=32 + 9,
        room=int((arriving * (1 - p / scale) + held) * 16),
        mean_mantissa=int(Fraction(1 << 20, 2 * LENGTH) * (1 << 8)),
        mean_exponent=8,
    )
    real = (arriving - (params.room_bytes - held)) / arriving
    if byte_mode:
        real *= LENGTH * params.size_reciprocal
    return params, held, real


def golden_marks(params: FnParams, held: int, packets: int, seed: int) -> list[int]:
    """Which arrivals the golden Fn selects with the golden LFSR; the first 40 fill the window."""
    fn, source = Fn(), Lfsr(seed)
    for i in range(40):
        fn.request(i * GAP, held, LENGTH, NOT_ECT, 0xFFFFFF, params)
        fn.commit(LENGTH, True, False)
    marks = []
    for i in range(packets):
        verdict = fn.request((40 + i) * GAP % (1 << 48), held, LENGTH, NOT_ECT, source.draw(), params)
        fn.commit(LENGTH, verdict.selected, verdict.selected)
        if verdict.selected:
            marks.append(i)
    return marks


@cache
def fast_marks(params: FnParams, held: int, packets: int, seed: int) -> list[int]:
    """The same marks from the same integers, reduced to what steady arrivals leave of them."""
    fn = Fn()
    for i in range(40):
        verdict = fn.request(i * GAP, held, LENGTH, NOT_ECT, 0xFFFFFF, params)
    shift = 37 - verdict.denominator.bit_length()
    d, n = verdict.denominator << shift >> 19, verdict.numerator << shift >> 1
    kappa = LENGTH * params.mean_mantissa >> params.mean_exponent if params.byte_mode else 1 << 20
    count, marks = 0, []
    spread = int(params.uniform)
    for i, draw in enumerate(draws(packets, seed)):
        if draw * d << 14 < n * (kappa * ((1 << 20) + spread * (draw * count >> 4)) >> 20):
            marks.append(i)
            count = 0
        else:
            count += 1
    return marks


def law(uniform: bool, p: Fraction) -> Law:
    """The packet after an action has count 0: uniform spacings are 1 to 1/p."""
    if not uniform:
        return Law(1 / p, (1 - p) / p**2)
    survival, count, first, second = 1.0, 0, 0.0, 0.0
    while survival > 0:
        first += survival
        second += (2 * count + 1) * survival
        left = 1 - count * float(p)
        survival *= 1 - min(1.0, float(p) / left) if left > 0 else 0.0
        count += 1
    return Law(Fraction(first), Fraction(second - first**2))


VARIANT = pytest.mark.parametrize("variant", VARIANTS, ids=VARIANTS.values())
POINT = pytest.mark.parametrize("p", POINTS, ids=lambda p: f"p={float(p)}")


@VARIANT
@POINT
def test_the_fast_loop_equals_the_golden_model(variant: tuple[bool, bool], p: Fraction) -> None:
    params, held, _ = operating_point(p, variant)
    assert fast_marks(params, held, 20_000, 5) == golden_marks(params, held, 20_000, 5)


@VARIANT
@POINT
def test_the_drop_rate_is_within_three_sigma_of_the_law(variant: tuple[bool, bool], p: Fraction) -> None:
    params, held, real = operating_point(p, variant)
    assert abs(real / p - 1) < Fraction(1, 1000)
    assert abs(law(variant[0], real).deviation(len(fast_marks(params, held, PACKETS, SEED)), PACKETS)) <= 3


@VARIANT
@POINT
@pytest.mark.parametrize("factor", [Fraction(9, 10), Fraction(11, 10)], ids=["-10%", "+10%"])
def test_a_probability_off_by_ten_percent_is_rejected(
    variant: tuple[bool, bool], p: Fraction, factor: Fraction
) -> None:
    params, held, _ = operating_point(p * factor, variant)
    assert law(variant[0], p * factor).chance_to_pass_for(law(variant[0], p), PACKETS) < 1e-3
    assert abs(law(variant[0], p).deviation(len(fast_marks(params, held, PACKETS, SEED)), PACKETS)) > 3


@POINT
def test_one_spreading_taken_for_the_other_is_rejected(p: Fraction) -> None:
    for made in (False, True):
        params, held, real = operating_point(p, (made, False))
        assert abs(law(not made, real).deviation(len(fast_marks(params, held, PACKETS, SEED)), PACKETS)) > 3


@POINT
def test_uniform_spacings_are_uniform_up_to_the_reciprocal_of_p(p: Fraction) -> None:
    """None beyond 1/p, and the variance is the law's, not the geometric one of the same mean."""
    params, held, real = operating_point(p, (True, False))
    marks = fast_marks(params, held, PACKETS, SEED)
    gaps = [b - a for a, b in zip(marks, marks[1:], strict=False)]
    assert max(gaps) <= 1 / real + 1
    mean = sum(gaps) / len(gaps)
    variance = sum((g - mean) ** 2 for g in gaps) / len(gaps)
    assert abs(variance / float(law(True, real).variance) - 1) < 0.1
    assert variance < 0.5 * mean * (mean - 1)

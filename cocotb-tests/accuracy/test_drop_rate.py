"""The drop rate against the exact renewal law of the method, and proof that the test can fail."""

from __future__ import annotations

from fractions import Fraction

import pytest

import figures
from golden.params import GEOMETRIC, UNIFORM, UNIFORM_WAIT
from renewal import METHODS, fast_marks, golden_marks, law, operating_point, with_method

METHOD = pytest.mark.parametrize("method", METHODS, ids=METHODS.values())
POINT = pytest.mark.parametrize("p", figures.POINTS, ids=lambda p: f"p={float(p)}")


@METHOD
@POINT
def test_the_fast_loop_equals_the_golden_model(method: int, p: Fraction) -> None:
    params, average, _ = operating_point(p, method)
    assert fast_marks(params, average, 20_000, 5) == golden_marks(params, average, 20_000, 5)


@METHOD
@POINT
def test_the_drop_rate_is_within_three_sigma_of_the_law(method: int, p: Fraction) -> None:
    assert abs(figures.deviation(method, p)) <= 3


@METHOD
@POINT
@pytest.mark.parametrize("factor", [Fraction(9, 10), Fraction(11, 10)], ids=["-10%", "+10%"])
def test_a_probability_off_by_ten_percent_is_rejected(method: int, p: Fraction, factor: Fraction) -> None:
    params, average, _ = operating_point(p * factor, method)
    _, _, claimed = operating_point(p, method)
    assert law(method, p * factor).chance_to_pass_for(law(method, p), figures.PACKETS) < 1e-3
    marks = len(fast_marks(params, average, figures.PACKETS, figures.SEED))
    assert abs(law(method, claimed).deviation(marks, figures.PACKETS)) > 3


@POINT
@pytest.mark.parametrize(
    ("made", "claimed"),
    [
        (GEOMETRIC, UNIFORM),
        (UNIFORM, GEOMETRIC),
        (GEOMETRIC, UNIFORM_WAIT),
        (UNIFORM, UNIFORM_WAIT),
        (UNIFORM_WAIT, UNIFORM),
    ],
)
def test_one_spreading_taken_for_another_is_rejected(made: int, claimed: int, p: Fraction) -> None:
    params, average, real = operating_point(p, made)
    assert law(made, p).chance_to_pass_for(law(claimed, p), figures.PACKETS) < 1e-3
    marks = len(fast_marks(with_method(params, made), average, figures.PACKETS, figures.SEED))
    assert abs(law(claimed, real).deviation(marks, figures.PACKETS)) > 3


@POINT
def test_geometric_with_the_uniform_mean_is_rejected_by_its_variance(p: Fraction) -> None:
    """At twice the p_b geometric has nearly the rate of uniform; the spread of the spacings still tells."""
    for method, doubled in ((UNIFORM, 1), (GEOMETRIC, 2)):
        params, average, real = operating_point(p * doubled, method)
        marks = fast_marks(params, average, 200_000, figures.SEED)
        gaps = [b - a for a, b in zip(marks, marks[1:], strict=False)]
        mean = sum(gaps) / len(gaps)
        variance = sum((g - mean) ** 2 for g in gaps) / len(gaps)
        uniform = float(law(UNIFORM, real / doubled).variance)
        assert (abs(variance / uniform - 1) < 0.1) == (method == UNIFORM)


def test_the_laws_are_those_of_the_textbook() -> None:
    p = Fraction(1, 50)
    assert law(UNIFORM, p).mean == Fraction(25)  # uniform on 1…49
    assert law(UNIFORM, p).variance == Fraction(49**2 - 1, 12)
    assert law(UNIFORM_WAIT, p).mean == Fraction(149, 2)  # uniform on 50…99
    assert law(UNIFORM_WAIT, p).variance == Fraction(50**2 - 1, 12)
    assert law(GEOMETRIC, p).mean == 50


def test_seeds_do_not_matter() -> None:
    """Ten more seeds: chi-square of the deviations, 10 degrees of freedom, 99.9 % point 29.6."""
    params, average, real = operating_point(figures.POINTS[1], UNIFORM)
    exact = law(UNIFORM, real)
    marks = [len(fast_marks(params, average, 100_000, seed)) for seed in range(100, 110)]
    assert sum(exact.deviation(m, 100_000) ** 2 for m in marks) < 29.6

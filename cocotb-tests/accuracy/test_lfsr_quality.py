"""The LFSR as a random source: period, uniformity, independence of successive draws."""

from __future__ import annotations

from math import prod, sqrt

import numpy as np
import pytest

from golden.lfsr import POLYNOMIAL, Lfsr, leap, step

FACTORS = (3, 5, 17, 257, 641, 65537, 6700417)
DRAWS = 1_000_000


def _times(a: int, b: int, polynomial: int) -> int:
    """Product in GF(2)[x] modulo a polynomial of degree 64."""
    result = 0
    while b:
        if b & 1:
            result ^= a
        b >>= 1
        a <<= 1
        if a >> 64:
            a ^= polynomial
    return result


def _power_of_x(exponent: int, polynomial: int) -> int:
    result, base = 1, 2
    while exponent:
        if exponent & 1:
            result = _times(result, base, polynomial)
        base = _times(base, base, polynomial)
        exponent >>= 1
    return result


def _primitive(polynomial: int) -> bool:
    order = (1 << 64) - 1
    return _power_of_x(order, polynomial) == 1 and all(_power_of_x(order // f, polynomial) != 1 for f in FACTORS)


def test_the_polynomial_is_primitive() -> None:
    assert prod(FACTORS) == (1 << 64) - 1
    assert _primitive(sum(1 << e for e in POLYNOMIAL))
    assert _primitive(sum(1 << (64 - e) for e in POLYNOMIAL)), "the reciprocal has the same order"


def test_the_check_rejects_a_polynomial_that_is_not_primitive() -> None:
    assert not _primitive(sum(1 << e for e in (64, 63, 61, 59, 0)))
    assert not _primitive((1 << 64) | 1)


def test_the_register_obeys_the_polynomial() -> None:
    """The polynomial read as a recurrence: b(n) is the sum of b(n-d) over its exponents d > 0."""
    state = 0x0123456789ABCDEF
    bits = [state >> (63 - i) & 1 for i in range(64)]
    for _ in range(500):
        state = step(state)
        bits.append(state & 1)
    assert all(bits[n] == sum(bits[n - d] for d in POLYNOMIAL if d) & 1 for n in range(64, 564))


def test_a_leap_is_32_steps() -> None:
    state = 1
    for _ in range(1000):
        slow = state
        for _ in range(32):
            slow = step(slow)
        state = leap(state)
        assert state == slow


def test_seed_zero_is_replaced() -> None:
    assert Lfsr(0).draws(3) == Lfsr().draws(3)
    assert Lfsr(1).draws(3) != Lfsr().draws(3)


@pytest.fixture(scope="module")
def draws() -> np.ndarray:
    """A million draws of the reset seed, as integers."""
    return np.array(Lfsr().draws(DRAWS), dtype=np.int64)


@pytest.mark.parametrize("shift", [0, 8, 16])
def test_every_byte_of_a_draw_is_uniform(draws: np.ndarray, shift: int) -> None:
    """Chi-square over 256 bins within 4 sigma of its mean, on both sides."""
    seen = np.bincount(draws >> shift & 255, minlength=256)
    chi = float(((seen - DRAWS / 256) ** 2).sum() / (DRAWS / 256))
    assert abs(chi - 255) < 4 * sqrt(2 * 255)


def _pair_deviation(draws: np.ndarray, lag: int) -> float:
    """Chi-square over 64 x 64 bins of (u(n), u(n+lag)), in sigma from its mean."""
    pairs = (draws[:-lag] >> 18 << 6) | draws[lag:] >> 18
    seen = np.bincount(pairs, minlength=4096)
    expected = len(pairs) / 4096
    return (float(((seen - expected) ** 2).sum() / expected) - 4095) / sqrt(2 * 4095)


LAGS = (*range(1, 17), 31, 32, 33, 63, 64, 65)


@pytest.mark.parametrize("lag", LAGS)
def test_pairs_of_draws_are_uniform(draws: np.ndarray, lag: int) -> None:
    assert abs(_pair_deviation(draws, lag)) < 4.5


@pytest.mark.parametrize("lag", LAGS)
def test_a_small_draw_says_nothing_about_a_later_one(draws: np.ndarray, lag: int) -> None:
    """RED selects small u: P(u(n+lag) < 1/16 | u(n) < 1/256), binomial."""
    later = draws[lag:][draws[:-lag] < 1 << 16]
    expected = len(later) / 16
    assert abs(int((later < 1 << 20).sum()) - expected) < 4.5 * sqrt(expected * 15 / 16)


def test_the_pair_test_rejects_a_sparse_polynomial() -> None:
    """x^64 + x^63 + x^61 + x^60 + 1 is primitive too, and useless with a leap of 32."""
    assert _primitive(sum(1 << e for e in (64, 63, 61, 60, 0)))
    state, sparse = 1, []
    for _ in range(100_000):
        new = (state >> 32 ^ state >> 31 ^ state >> 29 ^ state >> 28) & 0xFFFFFFFF
        state = (state << 32 | new) & (1 << 64) - 1
        sparse.append(state >> 8 & 0xFFFFFF)
    assert _pair_deviation(np.array(sparse, dtype=np.int64), 2) > 1000


@pytest.mark.parametrize("lag", [1, 2, 3, 4, 8, 16, 64])
def test_successive_draws_are_uncorrelated(draws: np.ndarray, lag: int) -> None:
    u = draws / 2.0**24 - 0.5
    correlation = float((u[:-lag] * u[lag:]).mean() * 12)
    assert abs(correlation) < 4 / sqrt(DRAWS)

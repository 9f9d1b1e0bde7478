"""The conversions of docs/libweir.md in exact and 50-digit arithmetic, written from docs/modules, not from the C."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

DIGITS = 50


def decay(weight: int) -> Fraction:
    """-log2(1 - weight/2^36) * 2^36."""
    with localcontext() as context:
        context.prec = DIGITS
        kept = 1 - Decimal(weight) / (1 << 36)
        return Fraction(-kept.ln() / Decimal(2).ln()) * (1 << 36)


def scaled(mantissa: int, exponent: int) -> Fraction:
    """The number that a mantissa and exponent stand for."""
    return Fraction(mantissa, 1 << exponent)


def relative_error(value: Fraction, wanted: Fraction) -> Fraction:
    """|value - wanted| / wanted."""
    return abs(value - wanted) / wanted


def burst_average(burst: float, weight: float) -> Decimal:
    """(1-(1-w)^burst)/w."""
    with localcontext() as context:
        context.prec = DIGITS
        w = Decimal(weight)
        kept = Decimal(0) if w == 1 else (Decimal(burst) * (1 - w).ln()).exp()
        return (1 - kept) / w


def idle_rate(bandwidth: float, avpkt: int) -> Fraction:
    """Slots a nanosecond: a slot is avpkt*8/bandwidth seconds."""
    return Fraction(bandwidth) / (avpkt * 8 * 10**9)


def ulp(value: float) -> Fraction:
    """The distance from a double to its neighbour."""
    return Fraction(math.ulp(value))


def scaled_word(word: int) -> Fraction:
    """MANTISSA * 2^-EXPONENT of a register."""
    assert word >> 30 == word >> 18 & 63 == 0
    return scaled(word & (1 << 18) - 1, word >> 24)


def wide_word(word: int, bias: int = 32) -> Fraction:
    """MANTISSA * 2^(EXPONENT - bias) of a register."""
    assert word >> 30 == word >> 18 & 63 == 0
    return Fraction(word & (1 << 18) - 1) * Fraction(2) ** ((word >> 24) - bias)


def probability_word(word: int) -> Fraction:
    """UQ0.32, all ones being 1."""
    return Fraction(1) if word == (1 << 32) - 1 else Fraction(word, 1 << 32)

"""Register values for the tests of FN. Nothing here is libweir's conversion."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from golden.fn import FnParams

#: parts of the pool of the queues, 1024 entries each
BASES = (0, 1024, 2048, 3072)


def wide(value: Fraction) -> tuple[int, int]:
    """An 18-bit mantissa (truncated) and an exponent E, value = mantissa * 2^(E - 32)."""
    for exponent in range(64):
        mantissa = int(value / Fraction(2) ** (exponent - 32))
        if mantissa < 1 << 18:
            return mantissa, exponent
    return (1 << 18) - 1, 63


def scaled(value: Fraction) -> tuple[int, int]:
    """An 18-bit mantissa (truncated) and an exponent, value = mantissa * 2^-exponent."""
    for exponent in range(63, -1, -1):
        mantissa = int(value * (1 << exponent))
        if mantissa < 1 << 18:
            return mantissa, exponent
    return (1 << 18) - 1, 0


def registers(
    link_bits_per_s: float,
    t_ns: float,
    target_bytes: float,
    size: int,
    base: int = 0,
    max_packet: int = 1514,
    quadratic: bool = False,
    uniform: bool = False,
    byte_mode: bool = False,
    ecn: bool = False,
) -> FnParams:
    """Registers of FN in natural units."""
    room = round((link_bits_per_s * t_ns / 8e9 + target_bytes) * 16)
    t = wide(Fraction(t_ns))
    half = wide(Fraction(t_ns) ** 2 / 2 / (1 << 32))
    mean = scaled(Fraction(1 << 20, max_packet))
    return FnParams(quadratic, uniform, byte_mode, ecn, size, base, *t, min(room, (1 << 40) - 1), *mean, *half)


def plausible(rng: Random, queue: int) -> FnParams:
    """A host's registers; the window in the queue's own part."""
    return registers(
        link_bits_per_s=rng.choice([64e3, 1e6, 20e6, 1e9, 1e10, 1e10]),
        t_ns=rng.choice([i**3 * 1e6 for i in range(1, 13)] + [1e4, 1e5, 1e5, 123456.0, 1e9 * rng.random() + 1]),
        target_bytes=rng.choice([0, 1500, 13125, 13125, 100000]),
        size=rng.choice([1, 2, 3, 16, 32, 64, 100, 128, 256, 512, 1024]),
        base=BASES[queue],
        max_packet=rng.choice([64, 500, 1064, 1514, 9216]),
        quadratic=rng.random() < 0.5,
        uniform=rng.random() < 0.5,
        byte_mode=rng.random() < 0.5,
        ecn=rng.random() < 0.5,
    )


def _extreme(rng: Random, bits: int) -> int:
    top = (1 << bits) - 1
    short = rng.getrandbits(rng.randrange(1, bits + 1))
    return rng.choice([0, 1, top, top - 1, 1 << (bits - 1), rng.getrandbits(bits), short])


def hostile(rng: Random, queue: int) -> FnParams:
    """Any bit pattern; small windows often, anywhere in the pool."""
    flags = [rng.random() < 0.5 for _ in range(4)]
    size = rng.choice([_extreme(rng, 13), rng.randrange(20), rng.randrange(20)])
    pairs = [(_extreme(rng, 18), _extreme(rng, 6)) for _ in range(3)]
    return FnParams(*flags, size, rng.getrandbits(12), *pairs[0], _extreme(rng, 40), *pairs[1], *pairs[2])

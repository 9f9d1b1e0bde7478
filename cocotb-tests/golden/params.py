"""Raw parameters of RED as the registers hold them, and the natural values they stand for.

Nothing here converts natural units to registers: that is libweir's work alone. The only
derived register is `decay`, because hardware needs it consistent with `weight`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from random import Random

ONE36 = 1 << 36
DECAY_MAX = (1 << 42) - 1

GEOMETRIC, UNIFORM, UNIFORM_WAIT = 0, 1, 2
BYTES_OFF, BYTES_AFTER, BYTES_BEFORE = 0, 1, 2


@dataclass(frozen=True)
class RedParams:
    """The fields of RED_*; formats in docs/modules/ewma.md and red.md."""

    weight: int = ONE36
    decay: int = DECAY_MAX
    idle_mantissa: int = 0
    idle_exponent: int = 0
    minimum: int = 0
    maximum: int = 0xFFFFFFFF
    slope_mantissa: int = 0
    slope_exponent: int = 0
    gentle_mantissa: int = 0
    gentle_exponent: int = 0
    max_p: int = 0
    mean_mantissa: int = 0
    mean_exponent: int = 0
    spread: int = GEOMETRIC
    byte_mode: int = BYTES_OFF
    gentle: bool = False
    ecn: bool = False
    hard_drop: bool = False
    no_drop: bool = False
    exempt_first: bool = False

    @property
    def w(self) -> Fraction:
        """EWMA weight, (0, 1]."""
        return Fraction(self.weight, ONE36)

    @property
    def idle_rate(self) -> Fraction:
        """Idle slots a nanosecond."""
        return Fraction(self.idle_mantissa, 1 << self.idle_exponent)

    @property
    def minimum_units(self) -> Fraction:
        """Lower threshold in the queue's unit."""
        return Fraction(self.minimum, 1 << 11)

    @property
    def maximum_units(self) -> Fraction:
        """Upper threshold in the queue's unit."""
        return Fraction(self.maximum, 1 << 11)

    @property
    def slope(self) -> Fraction:
        """max_p / (max - min), per unit of the queue."""
        return Fraction(self.slope_mantissa, 1 << (self.slope_exponent + 17))

    @property
    def gentle_slope(self) -> Fraction:
        """(1 - max_p) / max, per unit of the queue."""
        return Fraction(self.gentle_mantissa, 1 << (self.gentle_exponent + 17))

    @property
    def max_p_value(self) -> Fraction:
        """max_p."""
        return Fraction(self.max_p, 1 << 32)

    @property
    def mean_reciprocal(self) -> Fraction:
        """1 / mean packet size, per byte."""
        return Fraction(self.mean_mantissa, 1 << (self.mean_exponent + 20))


@lru_cache(maxsize=4096)
def decay_of(weight: int) -> int:
    """-log2(1 - weight/2^36) as UQ6.36, to the nearest; all ones for w = 1."""
    if not 0 < weight <= ONE36:
        raise ValueError(f"weight={weight} must be 1 to 2^36")
    if weight == ONE36:
        return DECAY_MAX
    with localcontext() as context:
        context.prec = 60
        value = -(Decimal(ONE36 - weight) / ONE36).ln() / Decimal(2).ln()
        return int((value * ONE36).to_integral_value())


def scaled(value: Fraction) -> tuple[int, int]:
    """An 18-bit mantissa and 6-bit exponent near `value`, for stimuli; not libweir's rounding."""
    if value <= 0:
        return 0, 0
    exponent = 0
    while exponent < 63 and value * (1 << (exponent + 1)) < 1 << 18:
        exponent += 1
    return min(int(value * (1 << exponent)), (1 << 18) - 1), exponent


def weight_at_random(rng: Random) -> int:
    """A weight from [2^-16, 1] spread over its logarithm; the ends often."""
    kind = rng.randrange(8)
    if kind == 0:
        return ONE36
    if kind == 1:
        return 1 << 20
    if kind == 2:
        return ONE36 - rng.randrange(1, 1 << rng.randrange(1, 30))
    return min(ONE36, (1 << 20) + rng.getrandbits(rng.randrange(8, 37)))


def plausible(rng: Random, span: int) -> RedParams:
    """Parameters as a host would write them, for a queue of about `span` units."""
    low = Fraction(rng.randrange(0, span * 1024), 2048)
    high = low + Fraction(rng.randrange(1, span * 2048), 2048)
    top = Fraction(rng.choice([1, 2, 10, 50, 100]) * rng.randrange(1, 1 << 16), 100 << 16)
    weight = weight_at_random(rng)
    return _common(rng, weight, low, high, top, mean=rng.choice([64, 500, 1000, 1500, 9216]))


def _common(rng: Random, weight: int, low: Fraction, high: Fraction, top: Fraction, mean: int) -> RedParams:
    slope = scaled(top / (high - low) * (1 << 17))
    gentle = scaled((1 - top) / high * (1 << 17))
    idle = scaled(Fraction(1, rng.choice([1, 51, 67, 1200, 800000])))
    reciprocal = scaled(Fraction(1 << 20, mean))
    return RedParams(
        weight=weight,
        decay=decay_of(weight),
        idle_mantissa=idle[0],
        idle_exponent=idle[1],
        minimum=min(int(low * 2048), 0xFFFFFFFF),
        maximum=min(int(high * 2048), 0xFFFFFFFF),
        slope_mantissa=slope[0],
        slope_exponent=slope[1],
        gentle_mantissa=gentle[0],
        gentle_exponent=gentle[1],
        max_p=min(int(top * (1 << 32)), 0xFFFFFFFF),
        mean_mantissa=reciprocal[0],
        mean_exponent=reciprocal[1],
        spread=rng.randrange(3),
        byte_mode=rng.randrange(3),
        **_flags(rng),
    )


def _flags(rng: Random) -> dict[str, bool]:
    names = ("gentle", "ecn", "hard_drop", "no_drop", "exempt_first")
    return {name: rng.random() < 0.5 for name in names}


def _extreme(rng: Random, bits: int) -> int:
    top = (1 << bits) - 1
    short = rng.getrandbits(rng.randrange(1, bits + 1))
    return rng.choice([0, 1, top, top - 1, 1 << (bits - 1), rng.getrandbits(bits), short])


def adversarial(rng: Random) -> RedParams:
    """Any bit pattern that the registers can hold (weights stay legal), ends preferred; min may exceed max."""
    weight = weight_at_random(rng)
    return RedParams(
        weight=weight,
        decay=decay_of(weight) if rng.random() < 0.5 else _extreme(rng, 42),
        idle_mantissa=_extreme(rng, 18),
        idle_exponent=_extreme(rng, 6),
        minimum=_extreme(rng, 32),
        maximum=_extreme(rng, 32),
        slope_mantissa=_extreme(rng, 18),
        slope_exponent=_extreme(rng, 6),
        gentle_mantissa=_extreme(rng, 18),
        gentle_exponent=_extreme(rng, 6),
        max_p=_extreme(rng, 32),
        mean_mantissa=_extreme(rng, 18),
        mean_exponent=_extreme(rng, 6),
        spread=rng.randrange(3),
        byte_mode=rng.randrange(3),
        **_flags(rng),
    )

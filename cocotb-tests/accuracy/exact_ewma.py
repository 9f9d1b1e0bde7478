"""The EWMA in exact arithmetic (integers with 200 fraction bits) beside the golden model."""

from __future__ import annotations

from fractions import Fraction
from random import Random

from golden.ewma import Ewma
from golden.params import ONE36, RedParams, decay_of, scaled

BITS = 200
GUARD = 240
#: a typical packet at 10 Gb/s, in ns
SLOT_NS = 1200


def parameters(weight: int) -> RedParams:
    """Registers for that weight with an idle slot of `SLOT_NS`."""
    mantissa, exponent = scaled(Fraction(1, SLOT_NS))
    return RedParams(weight=weight, decay=decay_of(weight), idle_mantissa=mantissa, idle_exponent=exponent)


def quantised(requested: Fraction) -> int:
    """The nearest W36 to a requested weight."""
    return round(requested * ONE36)


def power(kept: int, exponent: int) -> int:
    """(kept / 2^36)^exponent with `GUARD` fraction bits, truncated."""
    result = 1 << GUARD
    base = kept << (GUARD - 36)
    while exponent:
        if exponent & 1:
            result = result * base >> GUARD
        base = base * base >> GUARD
        exponent >>= 1
    return result


def as_units(difference: int) -> float:
    """A difference with `BITS` fraction bits in the queue's unit."""
    return difference / (1 << BITS)


def random_walk_error(weight: int, updates: int, largest: int, seed: int) -> tuple[float, int]:
    """Largest |golden - exact| over `updates` arrivals, idle steps included, and how many idle steps decayed.

    The queue walks at random over 0…`largest`; idle periods are spread over the logarithm of their length up to
    the point where nothing is left of the average. `exact` uses the quantised weight.
    """
    params = parameters(weight)
    model, exact, worst, idles = Ewma(), 0, 0, 0
    rng = Random(seed)
    kept = ONE36 - weight
    idle_share = min(0.02, 4 * weight / ONE36)
    longest = min(1 << 22, 64 * ONE36 // weight)
    q, now = 0, 0
    for _ in range(updates):
        draw = rng.random()
        if draw < idle_share:
            now += 1
            model.left(now)
            now += int(SLOT_NS * longest ** rng.random())
            step = model.request(now, 0, 0, params)
            if step.idle_slots:
                idles += 1
                exact = power(kept, step.idle_slots + 1) * exact >> GUARD
            else:
                exact = kept * exact >> 36
        else:
            if draw < 0.5:
                q = int(largest * rng.random())
            elif draw > 0.9:
                q = largest
            step = model.request(now, 1, q, params)
            exact = kept * exact + (weight * q << BITS) >> 36
        worst = max(worst, abs((step.average << BITS - 22) - exact))
    return as_units(worst), idles


def whole_step_error(requested: Fraction, largest: int) -> float:
    """Largest |golden - exact| on a step from 0 to `largest` and back; `exact` uses the requested weight."""
    params = parameters(quantised(requested))
    model, exact, worst = Ewma(), 0, 0
    length = 4 + int(4 / requested)
    for q in (largest, 0):
        target = q << BITS
        for _ in range(length):
            average = model.request(0, 1, q, params).average
            exact += (target - exact) * requested.numerator // requested.denominator
            worst = max(worst, abs((average << BITS - 22) - exact))
    return as_units(worst)

"""The PI controller that PIE and PI2 share, and the delay they feed it with, bit for bit (docs/modules/pie.md)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

FRACTION = 48
ONE = 1 << FRACTION
#: the largest p, 1 - 2^-48
TOP = ONE - 1
NS_MAX = (1 << 32) - 1
TIME = 1 << 48
#: the shortest interval in ns
LEAST_INTERVAL = 4096


@dataclass(frozen=True)
class Gain:
    """A gain per ns as registers hold it: MANTISSA (18 bits) * 2^-EXPONENT (6 bits) is the gain times 2^40."""

    mantissa: int
    exponent: int

    @classmethod
    def of(cls, hertz: Fraction) -> Gain:
        """The nearest below a gain in 1/s, for stimuli; not libweir's rounding."""
        value = hertz * (1 << 40) / 10**9
        if value <= 0:
            return cls(0, 0)
        exponent = 0
        while exponent < 63 and value * (1 << (exponent + 1)) < 1 << 18:
            exponent += 1
        return cls(min(int(value * (1 << exponent)), (1 << 18) - 1), exponent)

    @property
    def per_ns(self) -> Fraction:
        """What the registers stand for."""
        return Fraction(self.mantissa, 1 << (40 + self.exponent))

    def term(self, error_ns: int) -> int:
        """gain * error, 48 fraction bits, towards 0."""
        size = (self.mantissa * abs(error_ns) << 8) >> self.exponent
        return -size if error_ns < 0 else size


def bounded(p: int) -> int:
    """Within [0, 1 - 2^-48]."""
    return min(max(p, 0), TOP)


def control(delay: int, old: int, target: int, alpha: Gain, beta: Gain) -> int:
    """alpha * (delay - target) + beta * (delay - old), 48 fraction bits."""
    return alpha.term(delay - target) + beta.term(delay - old)


class Delay:
    """A queue's delay in ns: the sojourn of the packet that left last, 0 when nothing is left."""

    def __init__(self) -> None:
        self.ns = 0

    def departure(self, sojourn_ns: int, packets: int) -> None:
        """A packet has left `packets` behind."""
        self.ns = min(sojourn_ns, NS_MAX) if packets else 0

    def empty(self) -> None:
        """Emptied, or a request found the queue empty."""
        self.ns = 0


class Deadlines:
    """When a queue's ticks are due. Asleep, it has no deadline."""

    def __init__(self) -> None:
        self.awake = False
        self.base = 0

    def start(self, now_ns: int) -> None:
        """Awake from `now_ns` on."""
        self.awake, self.base = True, now_ns % TIME

    def rouse(self, now_ns: int) -> None:
        """Awake from `now_ns` on, unless it is already."""
        if not self.awake:
            self.start(now_ns)

    def sleep(self) -> None:
        """No deadline any more."""
        self.awake = False

    def deadline(self, interval: int) -> int:
        """The next one, ns."""
        return (self.base + effective(interval)) % TIME

    def due(self, now_ns: int, interval: int) -> bool:
        """Whether a tick is to be carried out at `now_ns`."""
        return self.awake and (now_ns - self.deadline(interval)) % TIME < TIME >> 1

    def taken(self, now_ns: int, interval: int) -> None:
        """A tick begins at `now_ns`: the next deadline is one interval after this one, or, if that has passed, after now."""
        due = self.deadline(interval)
        self.base = due if (now_ns - due) % TIME < effective(interval) else now_ns % TIME


def effective(interval: int) -> int:
    """The interval that hardware uses, ns."""
    return max(interval, LEAST_INTERVAL)

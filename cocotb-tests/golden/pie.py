"""PIE, bit for bit (docs/modules/pie.md). One `Pie` is one queue."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from .pi import FRACTION, ONE, Deadlines, Delay, Gain, bounded, control, effective
from .red import ACCEPT, CE, DROP, EARLY, MARK, NONE, NOT_ECT

#: p < SCALES[n] is p < 10^-(n+1); below it the change is shifted right by SHIFTS[n]
SCALES = tuple(ceil(Fraction(ONE, 10**n)) for n in range(1, 7))
SHIFTS = (1, 3, 5, 7, 9, 11)
FIFTH = ceil(Fraction(ONE, 5))
#: 2 %
INCREMENT = ONE // 50
LATE_NS = 250_000_000


@dataclass(frozen=True)
class PieParams:
    """The registers PIE_*; times in ns, `ecn_max` UQ0.32, `bypass` in bytes."""

    ecn: bool = False
    interval: int = 0
    target: int = 0
    alpha: Gain = Gain(0, 0)
    beta: Gain = Gain(0, 0)
    burst: int = 0
    ecn_max: int = 0
    bypass: int = 0


#: RFC 8033's defaults: 15 ms, 15 ms, 1/8, 1 1/4, 150 ms, 10 %, two packets of 1500 bytes
DEFAULTS = PieParams(
    interval=15_000_000,
    target=15_000_000,
    alpha=Gain.of(Fraction(1, 8)),
    beta=Gain.of(Fraction(5, 4)),
    burst=150_000_000,
    ecn_max=(1 << 32) // 10,
    bypass=3000,
)


@dataclass(frozen=True)
class Verdict:
    """Hardware's answer with its evidence: p as UQ0.32; flags: 0 burst allowance, 1 calm, 2 bypass."""

    action: int
    cause: int
    probability: int
    flags: int


@dataclass(frozen=True)
class Tick:
    """What a tick leaves: a trace record of kind 2."""

    p: int
    delay: int
    burst: int
    calm: bool
    asleep: bool

    @property
    def words(self) -> tuple[int, int, int, int]:
        """Words 3 to 6 of the record."""
        return (self.p >> 16, self.p & 0xFFFF | self.calm << 16 | self.asleep << 17, self.delay, self.burst)


def tuned(change: int, p: int, delay: int) -> int:
    """The change of p as RFC 8033 scales and caps it."""
    shift = max((s for s, limit in zip(SHIFTS, SCALES, strict=True) if p < limit), default=0)
    change >>= shift
    if p >= SCALES[0]:
        change = min(change, INCREMENT)
    if delay > LATE_NS:
        change += INCREMENT
    return change


class Pie:
    """State of one queue."""

    def __init__(self) -> None:
        self.delay = Delay()
        self.deadlines = Deadlines()
        self.clear()

    def clear(self) -> None:
        """p = 0, the whole burst allowance; the delay stays, it is the queue's."""
        self.p = 0
        self.old = 0
        self.burst: int | None = None
        self.allowed = True
        self.calm = True

    def departure(self, sojourn_ns: int, packets: int, now_ns: int) -> None:
        """A packet has left."""
        self.delay.departure(sojourn_ns, packets)
        if self.delay.ns:
            self.deadlines.rouse(now_ns)

    def decide(self, queued: int, ecn: int, draw: int, params: PieParams) -> Verdict:
        """An arrival that found `queued` bytes."""
        p = self.p >> FRACTION - 32
        few = queued <= params.bypass
        flags = self.allowed | self.calm << 1 | few << 2
        if flags or draw << 8 >= p:
            return Verdict(ACCEPT, NONE, p, flags)
        marking = params.ecn and p <= params.ecn_max
        if not marking or ecn == NOT_ECT:
            return Verdict(DROP, EARLY, p, flags)
        return Verdict(ACCEPT if ecn == CE else MARK, EARLY, p, flags)

    def update(self, delay: int, params: PieParams) -> bool:
        """A tick that found `delay` ns; tells whether further ticks without delay would change nothing."""
        old_burst = params.burst if self.burst is None else self.burst
        change = control(delay, self.old, params.target, params.alpha, params.beta)
        p = bounded(self.p + tuned(change, self.p, delay))
        if delay == 0 and self.old == 0:
            p -= (p + 63) >> 6
        self.p = p
        if p == 0 and 2 * delay < params.target and 2 * self.old < params.target:
            burst = params.burst
        else:
            burst = max(0, old_burst - effective(params.interval))
        idle = p == 0 and delay == 0 and self.old == 0 and burst == old_burst
        self.old, self.burst = delay, burst
        self.allowed = burst > 0
        self.calm = 2 * delay < params.target and p < FIFTH
        return idle

    def tick(self, delay: int, still_none: bool, params: PieParams) -> Tick:
        """`update`; then the queue sleeps if nothing changed and there is still no delay (`still_none`) at its end."""
        asleep = self.update(delay, params) and still_none
        if asleep:
            self.deadlines.sleep()
        assert self.burst is not None
        return Tick(self.p, delay, self.burst, self.calm, asleep)

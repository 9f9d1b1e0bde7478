"""PI2 and the coupled dual queue, bit for bit (docs/modules/pi2.md). One `Pi2` is one queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from .pi import FRACTION, Deadlines, Delay, Gain, bounded, control
from .red import ACCEPT, CE, DROP, EARLY, FORCED, MARK, NONE, NOT_ECT

TOP32 = (1 << 32) - 1


@dataclass(frozen=True)
class Pi2Params:
    """The registers PI2_*; times in ns, `coupling` UQ4.12, `maximum` UQ0.32. `coupled` is a queue's number."""

    ecn: bool = False
    low_latency: bool = False
    coupled: int = 0
    interval: int = 0
    target: int = 0
    alpha: Gain = Gain(0, 0)
    beta: Gain = Gain(0, 0)
    step: int = TOP32
    coupling: int = 0
    maximum: int = TOP32


#: RFC 9332's defaults for an RTT of at most 100 ms: alpha = 0.1 * Tupdate / RTT_max^2, beta = 0.3 / RTT_max, k = 2, p_Cmax = 25 %
DEFAULTS = Pi2Params(
    ecn=True,
    interval=16_000_000,
    target=15_000_000,
    alpha=Gain.of(Fraction(16, 100)),
    beta=Gain.of(Fraction(3)),
    step=1_000_000,
    coupling=2 << 12,
    maximum=1 << 30,
)


@dataclass(frozen=True)
class Verdict:
    """Hardware's answer with its evidence: p_C and the probability used, UQ0.32; flags: 0 L queue, 1 p_C at p_Cmax, 2 overload."""

    action: int
    cause: int
    classic: int
    probability: int
    flags: int


@dataclass(frozen=True)
class Tick:
    """What a tick leaves: a trace record of kind 2."""

    base: int
    delay: int
    classic: int
    over_classic: bool
    over_coupled: bool
    asleep: bool

    @property
    def words(self) -> tuple[int, int, int, int]:
        """Words 3 to 6 of the record."""
        flags = self.over_classic << 16 | self.over_coupled << 17 | self.asleep << 18
        return (self.base >> 16, self.base & 0xFFFF | flags, self.delay, self.classic)


class Pi2:
    """State of one queue; that of the controller means something in a classic queue only."""

    def __init__(self) -> None:
        self.delay = Delay()
        self.deadlines = Deadlines()
        self.clear()

    def clear(self) -> None:
        """p' = 0; the delay stays."""
        self.base = self.old = 0
        self.classic = self.coupled = self.either = 0
        self.over_classic = self.over_coupled = False

    def update(self, delay: int, params: Pi2Params) -> bool:
        """A tick that found `delay` ns; tells whether further ticks without delay would change nothing."""
        self.base = bounded(self.base + control(delay, self.old, params.target, params.alpha, params.beta))
        idle = self.base == 0 and delay == 0 and self.old == 0
        self.old = delay
        upper = self.base >> FRACTION - 36
        self.classic = upper * upper >> 40
        coupled = params.coupling * upper >> 16
        self.coupled = min(coupled, TOP32)
        self.either = min(self.classic + self.coupled - (self.classic * self.coupled >> 32), TOP32)
        self.over_classic = self.classic >= params.maximum
        self.over_coupled = self.over_classic or coupled > TOP32
        return idle

    def tick(self, delay: int, still_none: bool, params: Pi2Params) -> Tick:
        """`update`; then the queue sleeps if nothing changed and there is still no delay in its pair at its end."""
        asleep = self.update(delay, params) and still_none
        if asleep:
            self.deadlines.sleep()
        return Tick(self.base, delay, self.classic, self.over_classic, self.over_coupled, asleep)


def pairs(params: Sequence[Pi2Params], selected: int) -> list[int | None]:
    """The other queue of each queue's pair: both run the policy, name each other, and are of different kind."""
    result: list[int | None] = []
    for q, mine in enumerate(params):
        r = mine.coupled
        other = params[r] if r < len(params) and r != q else None
        good = other is not None and other.coupled == q and other.low_latency != mine.low_latency
        result.append(r if good and selected >> q & 1 and selected >> r & 1 else None)
    return result


def decide_classic(queue: Pi2, ecn: int, draw: int, marking: bool) -> Verdict:
    """An arrival of a classic queue; `marking`: its ECN flag."""
    flags = queue.over_classic << 1 | queue.over_coupled << 2
    p = queue.classic
    if draw << 8 >= p:
        return Verdict(ACCEPT, NONE, p, p, flags)
    if not marking or queue.over_classic or ecn == NOT_ECT:
        return Verdict(DROP, EARLY, p, p, flags)
    return Verdict(ACCEPT if ecn == CE else MARK, EARLY, p, p, flags)


def decide_low_latency(classic: Pi2 | None, ecn: int, draw: int) -> Verdict:
    """An arrival of an L queue whose pair's classic queue is `classic`."""
    queue = classic or Pi2()
    flags = 1 | queue.over_classic << 1 | queue.over_coupled << 2
    if queue.over_coupled:
        p, drops = queue.either, draw << 8 < queue.classic
    elif ecn == NOT_ECT:
        p, drops = queue.classic, draw << 8 < queue.classic
    else:
        p, drops = queue.coupled, False
    if drops:
        return Verdict(DROP, EARLY, queue.classic, p, flags)
    if draw << 8 < p and ecn != NOT_ECT:
        return Verdict(ACCEPT if ecn == CE else MARK, EARLY, queue.classic, p, flags)
    return Verdict(ACCEPT, NONE, queue.classic, p, flags)


def leave(sojourn: int, packets: int, ecn: int, params: Pi2Params) -> tuple[int, int]:
    """Action and cause of a departure that leaves `packets` behind."""
    late = sojourn > params.step and params.step != TOP32
    if params.low_latency and late and packets and ecn != NOT_ECT:
        return ACCEPT if ecn == CE else MARK, FORCED
    return ACCEPT, NONE

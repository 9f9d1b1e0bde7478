"""Departures that keep CoDel near its decisions: what comes next depends on the model's state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from golden.codel import BEGIN, EPOCH, OFF, TIME, Codel, CodelParams, Departing
from golden.red import ECT0, NOT_ECT

WORD = (1 << 32) - 1


@dataclass(frozen=True)
class Style:
    """How the departures of a bench behave.

    intervals: CODEL_INTERVAL is drawn from these
    bad: share of packets that are above target in a bad time
    edges: share of packets whose time is next to a deadline of the model
    ect: share of packets that are not Not-ECT
    exempt: share of exempt packets
    hostile: registers with any bit pattern
    idle: probability that the queue rests for long, up to 2^45 ns
    start_ns: time at the beginning
    """

    intervals: tuple[int, ...] = (2_000, 40_000, 1_000_000)
    bad: float = 0.995
    edges: float = 0.3
    ect: float = 0.4
    exempt: float = 0.02
    hostile: bool = False
    idle: float = 0.0005
    start_ns: int = 1 << 20


STYLES = {
    "mixed": Style(),
    "drops_only": Style(ect=0.0, exempt=0.0),
    "overload": Style(intervals=(200, 1_000), bad=1.0, edges=0.05, ect=0.05),
    "marks": Style(ect=1.0),
    "restless": Style(bad=0.9, edges=0.5),
    "exempt_packets": Style(exempt=0.3),
    "hostile_registers": Style(hostile=True, edges=0.6, idle=0.01),
    "time_wraps": Style(start_ns=TIME - 400_000, intervals=(2_000, 40_000), idle=0.0),
    "long_rests": Style(idle=0.02, intervals=(2_000, 1_000_000)),
}


def params_of(style: Style, rng: Random) -> CodelParams:
    """Registers of a queue."""
    interval = rng.choice(style.intervals)
    params = CodelParams(
        target=rng.choice([interval // 20, interval, 100]),
        interval=interval,
        mtu=rng.choice([0, 1514, 9216, 16383]),
        ecn=rng.random() < 0.5,
        ce_threshold=rng.choice([OFF, interval // 10, interval * 2]),
    )
    if style.hostile:
        extreme = [0, 1, WORD, WORD - 1, 1 << 31, 1 << 18, rng.getrandbits(rng.randrange(1, 33))]
        params = CodelParams(
            target=rng.choice([0, 1, params.target, rng.choice(extreme)]),
            interval=rng.choice([0, 1, 2, 3, rng.choice(extreme), interval]),
            mtu=rng.choice([0, 1, 16383, rng.getrandbits(14)]),
            ecn=rng.random() < 0.5,
            ce_threshold=rng.choice([0, 1, *extreme]),
        )
    return params


class Stimulus:
    """One queue's departures."""

    def __init__(self, style: Style, rng: Random, params: CodelParams) -> None:
        self.style = style
        self.rng = rng
        self.params = params
        self.bad_until = 0
        self.good_until = 0

    def rest(self, model: Codel, now_ns: int) -> int:
        """How far time may jump before the next departure, ns: to a deadline, or long, or not at all."""
        rng = self.rng
        if rng.random() < self.style.idle:
            return rng.choice([EPOCH // 2, 16 * self.params.interval, rng.getrandbits(rng.randrange(20, 46))])
        if rng.random() < self.style.edges:
            deadline = model.drop_next if model.dropping else model.first_above
            ahead = -(model.drop_next.age(now_ns) or 0) + 16 * self.params.interval
            if model.dropping or model.phase != BEGIN or rng.random() < 0.8:
                ahead = -(deadline.age(now_ns) or 0)
            ahead += rng.choice([-1, 0, 1, rng.randrange(-50, 50)])
            if 0 < ahead < EPOCH // 2:
                return ahead
        return rng.choice([0, rng.randrange(100), rng.randrange(self.params.interval // 8 + 1)])

    def departure(self, now_ns: int) -> Departing:
        """The next packet."""
        rng, style, params = self.rng, self.style, self.params
        if self.good_until <= 0 and self.bad_until <= 0:
            self.bad_until = rng.choice([rng.randrange(1, 400), rng.randrange(1, 30), rng.randrange(1, 6)])
            self.good_until = rng.choice([0, 1, 1, 2, rng.randrange(1, 20)])
        bad = self.bad_until > 0
        if bad:
            self.bad_until -= 1
        else:
            self.good_until -= 1
        above = bad and rng.random() < style.bad
        sojourn = params.target + rng.choice([0, 1, rng.randrange(params.interval + 1), rng.getrandbits(33)])
        held = params.mtu + rng.choice([1, 2, rng.randrange(1, 1 << 20)])
        if not above:
            if rng.random() < 0.5 and params.target > 0:
                sojourn = params.target - rng.choice([1, rng.randrange(1, params.target + 1)])
            else:
                held = params.mtu - rng.choice([0, rng.randrange(params.mtu + 1)])
        if params.ce_threshold != OFF and rng.random() < 0.2 and above:
            sojourn = max(params.target, params.ce_threshold + rng.choice([-1, 0, 1]))
        ecn = NOT_ECT if rng.random() >= style.ect else rng.choice([ECT0, 1, 3])
        return Departing(now_ns % TIME, sojourn % TIME, held, ecn, rng.random() < style.exempt)


def without_wrap(style: Style) -> Style:
    """The same from time 2^20 on, without rests: for models with unlimited time."""
    return replace(style, start_ns=1 << 20, idle=0.0)

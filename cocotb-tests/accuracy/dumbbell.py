"""The scenario of the ISRED paper (seed 003, figure 2) as a small discrete simulation around the golden models.

Two bulk sources start within 0–0.1 s, `joining` more within 10–10.1 s; one queue of 30 packets before 0.7 Mb/s and
20 ms, 500-byte packets, RED 5/15/0.1/0.002, slope 25 packets/s.

What is simplified against ns-2: sources are Reno-like (slow start, congestion avoidance, fast retransmit with one
halving a window, no inflation during recovery, go-back-N after a timeout, 0.2 s least timeout, window 20 packets); an
acknowledgement is sent for every packet and is never lost or queued; access links delay, and space the packets of a
source, but drop nothing; 500 bytes are those of the wire. Figures of it are not to be compared with the paper's tables.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from random import Random

from golden.ewma import Ewma
from golden.isred import IsredParams, Rise
from golden.lfsr import Lfsr
from golden.params import UNIFORM_WAIT, RedParams, decay_of, scaled
from golden.red import DROP, FORCED, NOT_ECT, Red

LIMIT, LENGTH = 30, 500
BOTTLENECK_S, BOTTLENECK_DELAY_S = LENGTH * 8 / 0.7e6, 0.020
SLOPE_PER_S = 25
WINDOW = 20.0
#: when the others join
JOIN_S = 10.0


def red_params() -> RedParams:
    """RED 5/15/0.1/0.002 in packets with ns-2's wait; not gentle, as the paper's equations."""
    weight = round(Fraction(2, 1000) * (1 << 36))
    slope = scaled(Fraction(1, 10) / 10 * (1 << 17))
    idle = scaled(Fraction(1, round(BOTTLENECK_S * 1e9)))
    return RedParams(
        weight=weight,
        decay=decay_of(weight),
        idle_mantissa=idle[0],
        idle_exponent=idle[1],
        minimum=5 << 11,
        maximum=15 << 11,
        slope_mantissa=slope[0],
        slope_exponent=slope[1],
        max_p=(1 << 32) // 10,
        spread=UNIFORM_WAIT,
        exempt_first=True,
    )


def isred_params(mode: int, source: int = 0, gain: int = 4) -> IsredParams:
    """Slope 25 packets/s."""
    slope = scaled(Fraction(SLOPE_PER_S << 12, 10**9))
    return IsredParams(mode, source, *slope, *scaled(Fraction(gain)))


@dataclass
class Source:
    """A Reno-like bulk sender."""

    rate_s: float
    delay_s: float
    cwnd: float = 1.0
    ssthresh: float = WINDOW
    next: int = 0
    acked: int = 0
    repeats: int = 0
    recover: int = -1
    rto_s: float = 3.0
    srtt_s: float = 0.0
    timer: int = 0
    free_s: float = 0.0
    sent_s: dict[int, float] = field(default_factory=dict)
    received: set[int] = field(default_factory=set)
    expected: int = 0


@dataclass
class Result:
    """What happened at the queue; times in s."""

    arrivals: list[float] = field(default_factory=list)
    early: list[float] = field(default_factory=list)
    forced: list[float] = field(default_factory=list)
    overflow: list[float] = field(default_factory=list)


class Dumbbell:
    """One run; `isred` None is RED."""

    def __init__(self, joining: int, seed: int, isred: IsredParams | None) -> None:
        rng = Random(seed)
        self.params, self.isred = red_params(), isred
        self.ewma, self.red, self.rise, self.lfsr = Ewma(), Red(), Rise(), Lfsr(rng.getrandbits(64))
        self.sources = [Source(LENGTH * 8 / 2e6, 0.020) for _ in range(2)]
        self.sources += [Source(LENGTH * 8 / 10e6, 0.014 + 0.001 * rng.random() + 0.010) for _ in range(joining)]
        self.held = 0
        self.done_s = 0.0
        self.now = 0.0
        self.result = Result()
        self.order = count()
        self.events: list[tuple[float, int, str, int, int]] = []
        for i in range(len(self.sources)):
            self._at((0.0 if i < 2 else JOIN_S) + 0.1 * rng.random(), "start", i, 0)

    def _at(self, time_s: float, kind: str, source: int, value: int) -> None:
        heapq.heappush(self.events, (time_s, next(self.order), kind, source, value))

    def run(self, until_s: float = 30.0) -> Result:
        """Everything that arrives before `until_s`."""
        while self.events and self.events[0][0] < until_s:
            self.now, _, kind, i, value = heapq.heappop(self.events)
            getattr(self, f"_{kind}")(i, value)
        return self.result

    # ---- the queue

    def _arrive(self, i: int, sequence: int) -> None:
        now_ns = int(self.now * 1e9)
        self.result.arrivals.append(self.now)
        before = self.ewma.average
        step = self.ewma.request(now_ns, self.held, self.held, self.params)
        rise = None
        if self.isred is not None and self.rise.arrival(now_ns, self.held, before, step.average, self.isred):
            rise = self.isred
        verdict = self.red.take(
            step.average, self.held, LENGTH, NOT_ECT, self.lfsr.draw(), self.params, step.idle_slots, rise
        )
        full = self.held >= LIMIT
        dropped = full or verdict.action == DROP
        self.red.commit(LENGTH, verdict.selected, dropped)
        if dropped:
            kind = self.result.overflow if full else self.result.early
            (self.result.forced if verdict.cause == FORCED and not full else kind).append(self.now)
            return
        self.held += 1
        self.done_s = max(self.done_s, self.now) + BOTTLENECK_S
        self._at(self.done_s, "leave", i, sequence)

    def _leave(self, i: int, sequence: int) -> None:
        self.held -= 1
        self.ewma.left(int(self.now * 1e9))
        s = self.sources[i]
        s.received.add(sequence)
        while s.expected in s.received:
            s.received.remove(s.expected)
            s.expected += 1
        # the rest of the way there, and the way back
        self._at(self.now + 2 * BOTTLENECK_DELAY_S + s.delay_s + 0.010, "ack", i, s.expected)

    # ---- a source

    def _start(self, i: int, _: int) -> None:
        self._send(i)

    def _send(self, i: int) -> None:
        s = self.sources[i]
        while s.next < s.acked + int(min(s.cwnd, WINDOW)):
            self._packet(i, s.next)
            s.next += 1

    def _packet(self, i: int, sequence: int) -> None:
        s = self.sources[i]
        s.free_s = max(s.free_s, self.now) + s.rate_s
        if sequence in s.sent_s:
            s.sent_s[sequence] = -1.0
        else:
            s.sent_s[sequence] = self.now
        self._at(s.free_s + s.delay_s, "arrive", i, sequence)
        if sequence == s.acked:
            self._arm(i)

    def _arm(self, i: int) -> None:
        s = self.sources[i]
        s.timer += 1
        self._at(self.now + s.rto_s, "timeout", i, s.timer)

    def _ack(self, i: int, upto: int) -> None:
        s = self.sources[i]
        if upto > s.acked:
            sent = s.sent_s.get(upto - 1, -1.0)
            if sent >= 0.0:
                s.srtt_s = self.now - sent if s.srtt_s == 0.0 else 0.875 * s.srtt_s + 0.125 * (self.now - sent)
                s.rto_s = max(0.2, 2.0 * s.srtt_s)
            for n in range(s.acked, upto):
                s.sent_s.pop(n, None)
            s.acked, s.repeats = upto, 0
            s.next = max(s.next, upto)
            s.cwnd += 1.0 if s.cwnd < s.ssthresh else 1.0 / s.cwnd
            s.cwnd = min(s.cwnd, WINDOW)
            self._arm(i)
        else:
            s.repeats += 1
            if s.repeats == 3 and s.acked > s.recover:
                s.ssthresh = max(min(s.cwnd, WINDOW) / 2, 2.0)
                s.cwnd, s.recover = s.ssthresh, s.next
                self._packet(i, s.acked)
        self._send(i)

    def _timeout(self, i: int, timer: int) -> None:
        s = self.sources[i]
        if timer != s.timer or s.next == s.acked:
            return
        s.ssthresh, s.cwnd = max(min(s.cwnd, WINDOW) / 2, 2.0), 1.0
        s.rto_s = min(2 * s.rto_s, 60.0)
        s.recover, s.repeats, s.next = s.next, 0, s.acked
        self._send(i)
        self._arm(i)

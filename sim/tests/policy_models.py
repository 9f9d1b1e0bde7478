"""What a queue's policy must decide, from trace records alone: the golden models behind one interface.

Cycles are those of the records' times: of an arrival its s0 (its t0 is a cycle later), of a departure its grant (its
policy sees it four cycles later), of a tick the moment it found its deadline passed. Latencies are those of
docs/modules; what the records do not tell exactly is a window, and each is named where it is used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import insort
from collections import Counter, deque
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import weir
from golden import drop_tail, dt_ecn
from golden.ared import AredParams, MaxP
from golden.codel import Codel, CodelParams, Departing
from golden.core import COMMIT, TAKES_COUNT, Mismatch, Record, Setup, decided
from golden.ewma import Ewma
from golden.fn import Fn, FnParams
from golden.isred import IsredParams, Rise
from golden.pi import Gain, effective
from golden.pi2 import Pi2, Pi2Params, decide_classic, decide_low_latency, leave
from golden.pie import Pie, PieParams
from golden.red import DROP, MARK, Red

NAMES = tuple(policy.name for policy in weir.policies())
DROP_TAIL, RED, DT_ECN, ISRED, FN, ARED, PIE, CODEL, PI2 = range(9)

#: cycles from s0 to the commit: fast policies, and FN (arrival-decision.md)
FAST_COMMIT, SLOW_COMMIT = COMMIT, COMMIT + 10
#: fn.md: a request reads its count at t12, after the commits up to t11
FN_TAKES_COUNT = 12
#: ared.md: a tick sees averages whose t0 was 4 cycles or more before it; arrivals whose t2 comes after its cycle 58 see it
ARED_STORES, ARED_WRITES = 5, 58
#: pie.md: the delay is that of two cycles after the tick's time; a departure is shown four cycles after its grant,
#: `emptied` comes five after it, or two after a commit that refuses, a request one after s0; each counts two cycles later
DEPARTED, EMPTIED, REFUSED, REQUESTED = 4, 5, 2, 1
#: a record is on the trace port up to this many cycles after its tick (it waits for a gap between others, trace.md)
TRACED = 18
#: a deadline is found this many cycles after it has passed, other queues' ticks and scans included (pie.md, pi2.md, ared.md)
PATIENCE = 450
#: a frame waits for its decision no longer than this: 32 before it, and a configuration that is taken over
WAITS = 400


class Tick(NamedTuple):
    """A record of kind 2; `seen` is the cycle in which it was on the trace port."""

    at: int
    time: int
    queue: int
    policy: int
    words: tuple[int, int, int, int]
    seen: int


class Ruling(NamedTuple):
    """A policy's answer to an arrival with its evidence."""

    action: int
    cause: int
    average: int = 0
    count: int = 0
    probability: int = 0
    slots: int = 0


def same(what: str, got: object, expected: object) -> None:
    """Mismatch if they differ."""
    if got != expected:
        raise Mismatch(f"{what} is {got}, expected {expected}")


def scaled(words: Mapping[str, int], name: str) -> tuple[int, int]:
    """MANTISSA, EXPONENT."""
    word = words.get(name, 0)
    return word & 0x3FFFF, word >> 24 & 0x3F


def cycle_of(ns: int) -> int:
    """The cycle that begins at `ns`."""
    return -(-ns * 5 // 32)


def isred_params(w: Mapping[str, int]) -> IsredParams:
    """ISRED_* as the registers have them."""
    control = w.get("ISRED_CTRL", 0)
    return IsredParams(control & 3, control >> 2 & 1, *scaled(w, "ISRED_SLOPE"), *scaled(w, "ISRED_GAIN"))


def ared_params(w: Mapping[str, int]) -> AredParams:
    """ARED_*."""
    names = ("INTERVAL", "LOW", "HIGH", "BOTTOM", "TOP", "INCREASE", "DECREASE")
    return AredParams(*(w[f"ARED_{n}"] for n in names), *scaled(w, "ARED_BAND"), *scaled(w, "ARED_GENTLE"))


def fn_params(w: Mapping[str, int]) -> FnParams:
    """FN_*."""
    control, window = w["FN_CTRL"], w["FN_WINDOW"]
    return FnParams(
        bool(control & 1), bool(control & 2), bool(control & 4), bool(control & 8), window & 0x1FFF, window >> 16 & 0xFFF,
        *scaled(w, "FN_T"), w["FN_ROOM_LO"] | (w["FN_ROOM_HI"] & 0xFF) << 32, *scaled(w, "FN_MEAN"), *scaled(w, "FN_HALF_T2"),
    )  # fmt: skip


def pie_params(w: Mapping[str, int]) -> PieParams:
    """PIE_*."""
    return PieParams(
        bool(w["PIE_CTRL"] & 1), w["PIE_INTERVAL"], w["PIE_TARGET"], Gain(*scaled(w, "PIE_ALPHA")),
        Gain(*scaled(w, "PIE_BETA")), w["PIE_BURST"], w["PIE_ECN_MAX"], w["PIE_BYPASS"],
    )  # fmt: skip


def pi2_params(w: Mapping[str, int]) -> Pi2Params:
    """PI2_*."""
    control = w["PI2_CTRL"]
    return Pi2Params(
        bool(control & 1), bool(control & 2), control >> 4 & 15, w["PI2_INTERVAL"], w["PI2_TARGET"],
        Gain(*scaled(w, "PI2_ALPHA")), Gain(*scaled(w, "PI2_BETA")), w["PI2_STEP"], w["PI2_COUPLING"], w["PI2_MAX"],
    )  # fmt: skip


def codel_params(w: Mapping[str, int]) -> CodelParams:
    """CODEL_*."""
    return CodelParams(
        w["CODEL_TARGET"], w["CODEL_INTERVAL"], w["CODEL_MTU"], bool(w["CODEL_CTRL"] & 1), w["CODEL_CE_THRESHOLD"]
    )


class Delays:
    """A queue's delay as an engine of PIE or PI2 knows it. It outlives a change of policy (pie.md)."""

    def __init__(self) -> None:
        #: cycle of the event, order, ns, whether the engine saw it without doubt
        self.events: list[tuple[int, int, int, bool]] = [(-1, 0, 0, True)]

    def add(self, at: int, ns: int, certain: bool) -> None:
        """An event at the engine."""
        insort(self.events, (at, len(self.events), min(ns, (1 << 32) - 1), certain))

    def at(self, cycle: int) -> set[int]:
        """What the delay may be for a tick of that time."""
        found: set[int] = set()
        for at, _, ns, certain in reversed(self.events):
            if at <= cycle:
                found.add(ns)
                if certain:
                    break
        return found

    def between(self, first: int, last: int) -> list[int]:
        """Delays of events in those cycles."""
        return [ns for at, _, ns, _ in self.events if first <= at <= last]


@dataclass
class Place:
    """What of a queue outlives its policy."""

    number: int
    pie: Delays
    pi2: Delays
    #: the time of its last departure, or of the last arrival that RED's family took and that found it empty, ns
    #: (ewma.md)
    idle_since: int = 0


class Model:
    """A queue's policy: drop-tail, and what the others share."""

    policy = DROP_TAIL
    decides = False
    commit_at = FAST_COMMIT
    #: when the next tick is due, ns; None without deadline
    due: tuple[int, int] | None = None

    def __init__(self, words: Mapping[str, int], place: Place, started: tuple[int, int]) -> None:
        """`started`: first and last time in ns at which the configuration may have been taken over."""
        self.place = place
        self.seen: Counter[str] = Counter()
        #: its state is not known: a departure came while its configuration was taken over
        self.unknown = False
        self.commits: deque[tuple[int, int, bool, bool]] = deque()
        self.renew(words, started)

    def renew(self, words: Mapping[str, int], started: tuple[int, int]) -> None:
        """Other parameters; the state stays."""
        self.words, self.setup, self.due = dict(words), Setup.of(words), None

    def arrival(self, r: Record) -> list[Ruling]:
        """The answer; several if the time of a tick's effect leaves it open."""
        return [Ruling(*_plain(drop_tail.verdict()))]

    def committed(self, r: Record, selected: bool, dropped: bool) -> None:
        """What became of the arrival."""
        self.commits.append((r.at, r.length, selected, dropped))

    def departure(self, d: Record, held_bytes: int, held_packets: int) -> tuple[int, int]:
        """Action and cause, of a policy that decides at departure."""
        return 0, 0

    def emptied(self) -> None:
        """A packet that the policy was not asked about left the queue empty, or the policy's drop did."""

    def tick(self, t: Tick) -> None:
        """Compares a tick."""
        raise Mismatch("there is a tick")

    def end(self, cycle: int) -> None:
        """The policy's time ends with that cycle: no tick is missing."""
        late = PATIENCE * 32 // 5
        if self.due is not None and cycle * 32 // 5 > self.due[1] + late:
            raise Mismatch(f"a tick due at {self.due[1]} ns is missing")


def _plain(v: Any) -> tuple[int, int, int, int, int, int]:
    return v.action, v.cause, v.average, v.count, v.probability, v.idle_slots


class DtEcnModel(Model):
    """No state."""

    policy = DT_ECN

    def arrival(self, r: Record) -> list[Ruling]:
        held = (r.held_bytes, r.held_packets, r.held_frames)
        return [Ruling(*_plain(dt_ecn.verdict(r.length, held, self.setup.unit, r.ecn, self.words["DTECN_THRESHOLD"])))]


class RedModel(Model):
    """red, isred and ared."""

    def __init__(self, words: Mapping[str, int], place: Place, started: tuple[int, int]) -> None:
        self.ewma, self.red, self.rise = Ewma(), Red(), Rise()
        super().__init__(words, place, started)

    def renew(self, words: Mapping[str, int], started: tuple[int, int]) -> None:
        super().renew(words, started)
        self.policy = self.setup.policy
        self.max_p = MaxP()
        self.stored: deque[tuple[int, int]] = deque([(-1, self.ewma.average)], maxlen=64)
        self.written: tuple[int, Any] | None = None
        if self.policy == ISRED:
            self.isred = isred_params(words)
        if self.policy == ARED:
            self.ared = ared_params(words)
            #: bounds of when the interval began; the later one is not known before an arrival
            self.begun: tuple[int, int | None] = (started[0], None)
            #: the cycle of the first arrival for which a tick is due
            self.owed: int | None = None

    def arrival(self, r: Record) -> list[Ruling]:
        at = decided(r)
        while self.commits and self.commits[0][0] + COMMIT <= at + TAKES_COUNT:
            self.red.commit(*self.commits.popleft()[1:])
        if self.written and at + 3 > self.written[0]:
            self.max_p.slopes, self.written = self.written[1], None
        quantity = (r.held_bytes, r.held_packets, r.held_frames)[self.setup.unit]
        params = self.max_p.live(self.setup.red)
        before = self.ewma.average
        self.ewma.left(self.place.idle_since)
        step = self.ewma.request(r.time, r.held_packets, quantity, params)
        average, slots = step.average, step.idle_slots
        self.place.idle_since = self.ewma.idle_since
        self.seen["after idle time"] += slots > 0
        rise = None
        if self.policy == ISRED and self.rise.arrival(r.time, quantity, before, average, self.isred):
            rise = self.isred
            self.seen["rapid"] += 1
        self.stored.append((at + ARED_STORES, average))
        if self.policy == ARED:
            self._asks(r)
        verdict = self.red.take(average, r.held_packets, r.length, r.ecn, r.draw, params, slots, rise)
        return [Ruling(*_plain(verdict))]

    def committed(self, r: Record, selected: bool, dropped: bool) -> None:
        self.commits.append((decided(r), r.length, selected, dropped))

    def _asks(self, r: Record) -> None:
        """An arrival: the interval begins, or it brings a tick if one is over."""
        self.end(r.at)
        first, last = self.begun
        if last is None:
            self.begun = (first, r.time + PATIENCE * 32 // 5)
        elif self.owed is None and r.time >= last + self.ared.interval_ns:
            self.owed = r.at

    def end(self, cycle: int) -> None:
        super().end(cycle)
        if self.policy == ARED and self.owed is not None and cycle > self.owed + PATIENCE:
            raise Mismatch(f"the arrival of cycle {self.owed} came an interval after the last tick, and there is none")

    def tick(self, t: Tick) -> None:
        if self.policy != ARED:
            return super().tick(t)
        average = next(a for at, a in reversed(self.stored) if at <= t.at)
        if self.written:
            self.max_p.slopes, self.written = self.written[1], None
        old = self.max_p.max_p(self.setup.red)
        new = self.max_p.tick(average, self.setup.red, self.ared)
        word = [n[0] | n[1] << 24 for n in (new.slope, new.gentle_slope)]
        same("tick", t.words, (new.max_p, average >> 11, *word))
        least = self.begun[0] + self.ared.interval_ns
        if t.time < least:
            raise Mismatch(f"a tick at {t.time} ns, not due before {least}")
        if not any(t.at - PATIENCE <= at <= t.at for at, _ in self.stored):
            raise Mismatch("a tick without an arrival before it")
        self.begun, self.owed = (t.time, t.time), None
        self.written = (t.at + ARED_WRITES, new)
        self.seen["rises" if new.max_p > old else "falls" if new.max_p < old else "stays"] += 1


def _due(due: tuple[int, int] | None, t: Tick) -> tuple[int, int]:
    """Whether a tick comes in time; the bounds of its deadline."""
    late = PATIENCE * 32 // 5
    if due is None:
        raise Mismatch("a tick of a queue without deadline")
    if not due[0] <= t.time <= due[1] + late:
        raise Mismatch(f"a tick at {t.time} ns, due at {due[0]} to {due[1]}")
    return max(due[0], t.time - late), min(due[1], t.time)


class FnModel(Model):
    """The pool's part of a queue is its own (the scenes place the windows apart)."""

    policy = FN
    commit_at = SLOW_COMMIT

    def __init__(self, words: Mapping[str, int], place: Place, started: tuple[int, int]) -> None:
        self.fn = Fn()
        self.window: tuple[int, int] | None = None
        super().__init__(words, place, started)

    def renew(self, words: Mapping[str, int], started: tuple[int, int]) -> None:
        super().renew(words, started)
        self.params = fn_params(words)
        window = words["FN_WINDOW"], words["FN_HALF_T2"]
        if self.window not in (None, window):
            self.fn.restart()
        self.window = window

    def arrival(self, r: Record) -> list[Ruling]:
        while self.commits and self.commits[0][0] + SLOW_COMMIT <= r.at + FN_TAKES_COUNT:
            self.fn.commit(*self.commits.popleft()[1:])
        verdict = self.fn.request(r.time, r.held_bytes, r.length, r.ecn, r.draw, self.params)
        self.seen["certain"] += verdict.certain
        self.seen["accelerating"] += self.fn.lead.mantissa != 0
        return [Ruling(*_plain(verdict))]


class PiModel(Model, ABC):
    """Ticks and delay of PIE and PI2."""

    def __init__(self, words: Mapping[str, int], place: Place, started: tuple[int, int]) -> None:
        self.now = self.make()
        self.before = self.now
        self.visible = -1
        #: ticks that changed nothing, but did not put the queue to sleep: a delay must have come meanwhile
        self.awakened: list[tuple[int, int, list[Delays]]] = []
        super().__init__(words, place, started)

    @abstractmethod
    def make(self) -> Any:
        """The golden model."""

    def renew(self, words: Mapping[str, int], started: tuple[int, int]) -> None:
        super().renew(words, started)
        interval = effective(words[f"{NAMES[self.policy].upper()}_INTERVAL"])
        self.interval = interval
        self.due = (started[0] + interval, started[1] + interval)
        self.asleep_at: int | None = None

    def candidates(self, r: Record) -> list[Any]:
        """States that the request may have seen: a tick counts from the cycle of its record on."""
        if r.at + 1 >= self.visible:
            return [self.now]
        return [self.before] if r.at + 1 < self.visible - TRACED else [self.now, self.before]

    @abstractmethod
    def _delays(self, at: int) -> tuple[set[int], list[Delays]]:
        """The delays that a tick whose record is of cycle `at` may have found, and where they come from."""

    def roused(self, at: int, ns: int) -> None:
        """A departure left a delay behind, at that cycle."""
        if self.asleep_at is not None and ns and at > self.asleep_at - TRACED:
            time = at * 32 // 5
            self.due, self.asleep_at = (time + self.interval, time + self.interval + 64), None
            self.seen["roused"] += 1

    def tick(self, t: Tick) -> None:
        choices, sources = self._delays(t.at)
        if t.words[2] not in choices:
            raise Mismatch(f"the tick's delay is {t.words[2]}, expected {sorted(choices)}")
        self.seen["tick delay known" if len(choices) == 1 else "tick delay in a window"] += 1
        self.before, self.now, self.visible = self.now, deepcopy(self.now), t.seen
        told = bool(t.words[1] >> self.asleep_bit & 1)
        idle = self.update(t.words[2])
        if told and not idle:
            raise Mismatch("asleep, but the tick changed something")
        if idle and not told:
            self.awakened.append((t.at, t.seen, sources))
        same("tick", t.words, self.state(t.words[2], told))
        deadline = _due(self.due, t)
        self.due = None if told else (deadline[0] + self.interval, deadline[1] + self.interval)
        self.asleep_at = t.seen if told else None
        self.seen["asleep"] += told

    asleep_bit = 0

    @abstractmethod
    def update(self, delay: int) -> bool:
        """The golden model's tick; whether nothing changed."""

    @abstractmethod
    def state(self, delay: int, asleep: bool) -> tuple[int, int, int, int]:
        """The record's words."""

    def end(self, cycle: int) -> None:
        super().end(cycle)
        for first, last, sources in self.awakened:
            if not any(ns for s in sources for ns in s.between(first - 2, last + 2)):
                raise Mismatch(f"the tick of cycle {first} changed nothing, and the queue did not fall asleep")
        self.awakened.clear()


class PieModel(PiModel):
    """PIE."""

    policy = PIE
    asleep_bit = 17

    def make(self) -> Pie:
        return Pie()

    def renew(self, words: Mapping[str, int], started: tuple[int, int]) -> None:
        super().renew(words, started)
        self.params = pie_params(words)

    def arrival(self, r: Record) -> list[Ruling]:
        answers = [s.decide(r.held_bytes, r.ecn, r.draw, self.params) for s in self.candidates(r)]
        return [Ruling(v.action, v.cause, 0, v.flags, v.probability) for v in answers]

    def _delays(self, at: int) -> tuple[set[int], list[Delays]]:
        return self.place.pie.at(at), [self.place.pie]

    def update(self, delay: int) -> bool:
        return bool(self.now.update(delay, self.params))

    def state(self, delay: int, asleep: bool) -> tuple[int, int, int, int]:
        p = self.now
        self.seen["p > 0"] += p.p > 0
        return (p.p >> 16, p.p & 0xFFFF | p.calm << 16 | asleep << 17, delay, p.burst)


class Pi2Model(PiModel):
    """PI2: a classic queue, alone or in a pair, or an L queue."""

    policy = PI2
    decides = True
    asleep_bit = 18
    #: the other queue of its pair; whoever configures the queues sets it
    pair: Pi2Model | None = None

    def make(self) -> Pi2:
        return Pi2()

    def renew(self, words: Mapping[str, int], started: tuple[int, int]) -> None:
        super().renew(words, started)
        self.params = pi2_params(words)
        if self.params.low_latency:
            self.due = None

    def arrival(self, r: Record) -> list[Ruling]:
        if not self.params.low_latency:
            answers = [decide_classic(s, r.ecn, r.draw, self.params.ecn) for s in self.candidates(r)]
        elif self.pair is None:
            answers = [decide_low_latency(None, r.ecn, r.draw)]
        else:
            answers = [decide_low_latency(s, r.ecn, r.draw) for s in self.pair.candidates(r)]
        return [Ruling(v.action, v.cause, v.classic << 11, v.flags, v.probability) for v in answers]

    def departure(self, d: Record, held_bytes: int, held_packets: int) -> tuple[int, int]:
        return leave(d.sojourn, held_packets, d.ecn, self.params) if not d.exempt else (0, 0)

    def _delays(self, at: int) -> tuple[set[int], list[Delays]]:
        own = self.place.pi2
        if self.pair is None:
            return own.at(at), [own]
        other = self.pair.place.pi2
        return {max(a, b) for a in own.at(at) for b in other.at(at)}, [own, other]

    def roused(self, at: int, ns: int) -> None:
        if self.params.low_latency:
            if self.pair is not None:
                self.pair.roused(at, ns)
        else:
            super().roused(at, ns)

    def tick(self, t: Tick) -> None:
        if self.params.low_latency:
            raise Mismatch("a tick of an L queue")
        super().tick(t)

    def update(self, delay: int) -> bool:
        return bool(self.now.update(delay, self.params))

    def state(self, delay: int, asleep: bool) -> tuple[int, int, int, int]:
        s = self.now
        self.seen["p > 0"] += s.base > 0
        self.seen["overload"] += s.over_coupled
        flags = s.over_classic << 16 | s.over_coupled << 17 | asleep << 18
        return (s.base >> 16, s.base & 0xFFFF | flags, delay, s.classic)


class CodelModel(Model):
    """CoDel. Not examined (drop, front) are packets that are discarded for another reason."""

    policy = CODEL
    decides = True

    def __init__(self, words: Mapping[str, int], place: Place, started: tuple[int, int]) -> None:
        self.codel = Codel()
        super().__init__(words, place, started)

    def renew(self, words: Mapping[str, int], started: tuple[int, int]) -> None:
        super().renew(words, started)
        self.params = codel_params(words)

    def departure(self, d: Record, held_bytes: int, held_packets: int) -> tuple[int, int]:
        packet = Departing(d.time, d.sojourn, held_bytes, d.ecn, d.exempt)
        ruling = self.codel.depart(packet, self.params)
        self.seen["dropping"] += self.codel.dropping
        self.seen["count > 1"] += self.codel.count > 1
        return (ruling.action, ruling.cause) if not d.exempt else (0, 0)

    def emptied(self) -> None:
        self.codel.emptied()


MODELS: tuple[type[Model], ...] = (
    Model, RedModel, DtEcnModel, RedModel, FnModel, RedModel, PieModel, CodelModel, Pi2Model,
)  # fmt: skip
"""By policy number."""

# ---- what the core's tests configure

FASTEST = 0x3FFFF
"""MANTISSA of the largest gain, exponent 0: 238 per second, so that PIE and PI2 arrive within a millisecond"""

ON_BYTES: dict[str, Any] = {"limit_bytes": 60_000}
ON_RED: dict[str, Any] = ON_BYTES | {
    "min": 4_000, "max": 24_000, "probability": 0.2, "weight": 0.05, "bandwidth": "2Gbit", "gentle": True,
}  # fmt: skip
ON_PACKETS: dict[str, Any] = {
    "unit": "packets", "limit_packets": 60, "min": 4, "max": 30, "probability": 0.3, "weight": 0.1,
    "bandwidth": "2Gbit", "avpkt": 500,
}  # fmt: skip
ON_PIE: dict[str, Any] = ON_BYTES | {"target": "20us", "tupdate": "12us", "burst": "40us", "mark_ecnth": 0.3}
ON_PIE_RAW = {"PIE_ALPHA": FASTEST, "PIE_BETA": FASTEST}
ON_PI2: dict[str, Any] = ON_BYTES | {"target": "20us", "tupdate": "12us"}
ON_PI2_RAW = {"PI2_ALPHA": FASTEST, "PI2_BETA": FASTEST}
ON_CODEL: dict[str, Any] = ON_BYTES | {"target": "20us", "interval": "60us"}
ON_FN: dict[str, Any] = ON_BYTES | {"window": 64, "t": "50us", "qopt": 8_000}

Case = tuple[str, dict[str, Any], dict[str, int]]
CASES: dict[str, Case] = {
    "dt-ecn bytes": ("dt-ecn", ON_BYTES | {"utilisation": "30%"}, {}),
    "dt-ecn packets": ("dt-ecn", {"unit": "packets", "limit_packets": 50, "utilisation": "30%"}, {}),
    "isred certain": ("isred", ON_RED | {"slope": "3e7", "ecn": True}, {}),
    "isred chance": (
        "isred",
        ON_PACKETS | {"slope": "1e5", "mode": "chance", "spread": "uniform-wait", "source": "q"},
        {},
    ),
    "isred gain": (
        "isred",
        ON_RED | {"slope": "1e7", "mode": "gain", "gain": 3, "bytemode": "after", "source": "q"},
        {},
    ),
    "fn linear": ("fn", ON_FN | {"ecn": True}, {}),
    "fn quadratic": ("fn", ON_FN | {"quadratic": True, "spread": "geometric", "bytemode": True, "window": 200}, {}),
    "ared bytes": ("ared", ON_RED | {"interval": "100us", "ecn": True}, {}),
    "ared often": ("ared", ON_PACKETS | {"top": 0.9, "bottom": 0.05, "alpha": 0.05, "beta": 0.7}, {"ARED_INTERVAL": 0}),
    "pie drop": ("pie", ON_PIE, ON_PIE_RAW),
    "pie ecn": ("pie", ON_PIE | {"ecn": True, "bypass": 6_000}, ON_PIE_RAW),
    "codel drop": ("codel", ON_CODEL, {}),
    "codel ecn": ("codel", ON_CODEL | {"ecn": True, "ce_threshold": "80us", "maxpacket": 500, "target": "40us"}, {}),
    "pi2 drop": ("pi2", ON_PI2 | {"ecn": False}, ON_PI2_RAW),
    "pi2 ecn": ("pi2", ON_PI2 | {"p_cmax": 0.15}, ON_PI2_RAW),
}
REACHED: dict[str, tuple[str, ...]] = {
    "dt-ecn": ("mark forced", "accept forced", "drop overflow"),
    "isred certain": ("mark early", "drop early", "rapid", "after idle time"),
    "isred chance": ("drop early", "rapid", "after idle time"),
    "isred gain": ("drop early", "rapid", "after idle time"),
    "fn linear": ("mark early", "drop early", "accept early", "mark forced", "certain"),
    "fn quadratic": ("drop early", "drop forced", "accelerating"),
    "ared": ("drop early", "rises", "falls", "stays"),
    "pie drop": ("drop early", "asleep", "roused"),
    "pie ecn": ("drop early", "mark early", "accept early"),
    "codel drop": ("at departure: drop forced", "count > 1"),
    "codel ecn": ("at departure: mark forced", "at departure: drop forced", "at departure: accept forced"),
    "pi2 drop": ("drop early", "asleep", "roused"),
    "pi2 ecn": ("drop early", "mark early", "accept early", "overload"),
}
"""What a case must have met, by policy or case."""

LINE: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "drop-tail": ({}, {}),
    "red": ({"min": 50_000, "max": 400_000, "ecn": True}, {}),
    "dt-ecn": ({"utilisation": "5%"}, {}),
    "isred": ({"min": 50_000, "max": 400_000, "ecn": True}, {}),
    "fn": ({"ecn": True, "qopt": 20_000, "t": "50us"}, {}),
    "ared": ({"min": 50_000, "max": 400_000, "ecn": True}, {"ARED_INTERVAL": 0}),
    "pie": ({"ecn": True, "target": "20us", "burst": 0, "mark_ecnth": 1}, ON_PIE_RAW | {"PIE_INTERVAL": 0}),
    "codel": ({"ecn": True, "target": "20us", "interval": "100us"}, {}),
    "pi2": ({"target": "20us", "p_cmax": 1}, ON_PI2_RAW | {"PI2_INTERVAL": 0}),
}
"""A standing queue that the policy acts upon by marks, and with ticks as often as there can be."""

__all__ = [
    "CASES",
    "Case",
    "DROP",
    "FASTEST",
    "LINE",
    "MARK",
    "MODELS",
    "Mismatch",
    "Model",
    "NAMES",
    "ON_BYTES",
    "ON_PACKETS",
    "ON_PI2",
    "ON_PI2_RAW",
    "ON_PIE",
    "ON_PIE_RAW",
    "ON_RED",
    "Place",
    "REACHED",
    "Record",
    "Tick",
    "cycle_of",
]

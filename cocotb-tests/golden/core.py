"""A whole core at the level of events: every decision derived again from what was sent and when things happened.

Written from docs/architecture.md and docs/modules. The trace records say when a request or grant happened and what
the hardware used and decided; the model takes from them only the times. All else (classification, q, average, m,
count, p, draw, verdict, order, sojourn, bytes on the wire, counters) it derives itself and compares bit for bit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

from . import drop_tail, frame
from .counters import Counters
from .ewma import Ewma
from .lfsr import Lfsr
from .oracle import Natural, OracleEwma, OracleRed, saturated
from .params import ONE36, RedParams
from .red import ACCEPT, DROP, MARK, NONE, Red, Verdict
from .shaper import Gcra

OVERFLOW, LINK_DOWN, FRONT = 3, 4, 5
CELL_BYTES = 64
DROP_TAIL, RED = 0, 1
BYTES, PACKETS, FRAMES = range(3)
INGRESS_OVERFLOW = 4

# arrival-decision.md, Timing: r and g are the cycles of a request's s0 and of a grant
SEES_LEAVE = 5
SEES_REFUND = 14
COMMIT = 12
TAKES_COUNT = 5
#: RED decides by this much later about an arrival that finds its queue empty
AFTERWARDS = 12
#: from a request's s0, decisions are under way for so many cycles; an arrival that is not asked about and finds none
#: under way is linked by so much earlier
UNDER_WAY, QUICK = 10, 8
INTERVAL = 4
# core.md: from s0 to where the queue is ready, with a verdict
LINKED = 13
# head-drop.md: a link or a departure counts for the limits from these cycles after its s0 or grant on
OVER_LINK, OVER_LEAVE = 13, 4
#: a queue that has been linked this much longer is ready for the scheduler without doubt
SURELY = 8

#: an arrival waits no longer than this: 32 in the FIFO, four cycles each, and a configuration that is taken over
WAITS = 250


class Mismatch(AssertionError):
    """Hardware and model disagree."""


@dataclass(frozen=True)
class Record:
    """A trace record, decoded (architecture.md, Trace). `at` is its cycle, recovered from the time."""

    departure: bool
    time: int
    at: int
    queue: int
    action: int
    cause: int
    ecn: int
    exempt: bool
    length: int
    number: int
    held_bytes: int
    held_packets: int
    held_frames: int
    policy: int = 0
    unit: int = 0
    average: int = 0
    count: int = 0
    probability: int = 0
    draw: int = 0
    idle_slots: int = 0
    marked: bool = False
    sojourn: int = 0
    seen: int = 0

    @classmethod
    def decode(cls, data: int, cycle_of: Callable[[int], int], seen: int = 0) -> Record:
        """From the 384 bits of `trace_data`; `seen` is the cycle of `trace_valid`.

        The one decoder that is written by hand, so that it does not err with TraceRecord.scala, from which all others
        are generated."""
        w = [data >> 32 * n & 0xFFFFFFFF for n in range(12)]
        kind = w[1] >> 20 & 3
        if kind > 1:
            raise Mismatch(f"trace record of kind {kind}")
        time = w[0] | (w[1] & 0xFFFF) << 32
        common = Record(
            bool(kind), time, cycle_of(time), w[1] >> 16 & 15, w[1] >> 22 & 3, w[1] >> 24 & 15, w[1] >> 28 & 3,
            bool(w[1] >> 30 & 1), w[2] & 0x3FFF, w[11], w[3], w[4] & 0xFFFF, w[4] >> 16, seen=seen,
        )  # fmt: skip
        if kind:
            return replace(common, marked=bool(w[2] >> 14 & 1), sojourn=w[5] | (w[6] & 0xFFFF) << 32)
        return replace(
            common, policy=w[2] >> 16 & 15, unit=w[2] >> 20 & 3, average=w[5] << 11 | w[6] >> 21, count=w[7] & 0xFFFF,
            probability=(w[1] >> 31) << 32 | w[8], draw=w[9] & 0xFFFFFF, idle_slots=w[10] & 0x3FFFFF,
        )  # fmt: skip


def decided(r: Record) -> int:
    """The cycle from which RED's decision about an arrival counts: as if its s0 were then."""
    return r.at + (AFTERWARDS if r.held_packets == 0 else 0)


def quick(arrivals: Iterable[Record], defers: Container[int], under_way: Callable[[Record], int]) -> set[int]:
    """Numbers of the arrivals that the limits alone let pass, at once: RED's family (`defers`) decides about them
    afterwards, and no decision is under way (arrival-decision.md). `under_way`: for how long one is, from s0."""
    found, until = set(), -1
    for r in arrivals:
        deferred = r.policy in defers and r.held_packets == 0
        if deferred and r.at > until:
            found.add(r.number)
        until = max(until, r.at + under_way(r) + (AFTERWARDS if deferred else 0))
    return found


@dataclass(frozen=True)
class Setup:
    """A queue's live configuration. The defaults are those after reset (architecture.md, Queue block)."""

    policy: int = DROP_TAIL
    unit: int = BYTES
    strict: bool = False
    limit_bytes: int = (1 << 21) - 1
    limit_packets: int = 65535
    reserve_cells: int = 0
    quantum: int = 9216
    drop_front: bool = False
    red: RedParams = field(default_factory=RedParams)

    @classmethod
    def of(cls, words: Mapping[str, int]) -> Setup:
        """What register words mean, with the clamps of csr.md. Registers that are not named hold 0, or their reset."""

        def scaled(name: str) -> tuple[int, int]:
            word = words.get(name, 0)
            return word & 0x3FFFF, word >> 24 & 0x3F

        policy, flags = words.get("POLICY", 0), words.get("RED_FLAGS", 0)
        unit, spread = policy >> 8 & 3, flags & 3
        (idle, slope), (gentle, mean) = (
            (scaled("RED_IDLE_RATE"), scaled("RED_SLOPE")),
            (scaled("RED_GENTLE_SLOPE"), scaled("RED_MEAN")),
        )
        weight = words.get("RED_WEIGHT_LO", 0) | (words.get("RED_WEIGHT_HI", 0) & 31) << 32
        red = RedParams(
            weight=min(weight, ONE36), decay=words.get("RED_DECAY_LO", 0) | (words.get("RED_DECAY_HI", 0) & 1023) << 32,
            idle_mantissa=idle[0], idle_exponent=idle[1], minimum=words.get("RED_MIN", 0),
            maximum=words.get("RED_MAX", 0), slope_mantissa=slope[0], slope_exponent=slope[1],
            gentle_mantissa=gentle[0], gentle_exponent=gentle[1], max_p=words.get("RED_MAXP", 0),
            mean_mantissa=mean[0], mean_exponent=mean[1], spread=2 if spread == 3 else spread,
            byte_mode=min(flags >> 2 & 3, 2), gentle=bool(flags >> 4 & 1), ecn=bool(flags >> 5 & 1),
            hard_drop=bool(flags >> 6 & 1), no_drop=bool(flags >> 7 & 1), exempt_first=bool(flags >> 8 & 1),
        )  # fmt: skip
        return cls(
            policy & 15, 0 if unit == 3 else unit, bool(policy >> 16 & 1),
            words.get("LIMIT_BYTES", (1 << 21) - 1) & 0x1FFFFF, words.get("LIMIT_PACKETS", 65535) & 0xFFFF,
            words.get("RESERVE_CELLS", 0), max(9216, words.get("QUANTUM", 9216) & 0xFFFFF),
            bool(policy >> 12 & 1), red,
        )  # fmt: skip


@dataclass(frozen=True)
class CoreSetup:
    """Configuration of the core that the model needs."""

    shared_cells: int
    shaper: Gcra | None = None
    fixed_draw: int | None = None


@dataclass(frozen=True)
class Change:
    """A queue's new configuration, taken over in some cycle from `first` to `last`."""

    first: int
    last: int
    queue: int
    setup: Setup


@dataclass(frozen=True)
class Sent:
    """A frame on `s_axis`: its end (frame.GOOD, …) and the cycles of its first three beats and its last."""

    data: bytes
    end: int
    size: int
    beats: tuple[int, ...]
    last: int
    meta: frame.Meta | None


class Oracle:
    """The papers' RED in double precision on the same draws (golden/oracle.py), for one queue."""

    def __init__(self) -> None:
        self.ewma, self.red = OracleEwma(), OracleRed()
        self.error = 0.0
        self.compared = self.tied = self.different = 0
        self.pending: deque[tuple[int, int, bool, bool]] = deque()

    def judge(self, r: Record, quantity: int, slots: int, verdict: Verdict, params: RedParams) -> None:
        """Compares one decision. The oracle keeps its own average; hardware's selection is `verdict.selected`."""
        natural = Natural.of(params)
        while self.pending and self.pending[0][0] + COMMIT <= decided(r) + TAKES_COUNT:
            _, _, selected, dropped = self.pending.popleft()
            if selected or dropped:
                self.red.count = len(self.pending)
                self.red.count_bytes = sum(length for _, length, _, _ in self.pending)
        self.ewma.average *= (1.0 - natural.w) ** slots
        average = self.ewma.update(float(quantity), natural, None)
        # red.md: 2^-23/w, and what a step over idle time may be off by (A_idle: 2^-33 of the average)
        self.error = min(self.error * (1.0 - natural.w) + 2.0**-23 + (average + 1.0) * 2.0**-33, 2.0**-10)
        u = r.draw / (1 << 24)
        ruling = self.red.judge(average, r.held_packets, r.length, u, natural, self.error + 2.0**-22)
        size = (self.red.count, self.red.count_bytes, r.length, u, natural)
        if ruling.tied or saturated(*size):
            self.tied += 1
            # where the bound does not decide, the oracle follows the hardware
            self.red.in_band = verdict.region != 0
            if verdict.region:
                self.red.count, self.red.count_bytes = verdict.count, verdict.used_bytes
        else:
            self.compared += 1
            self.different += ruling.selected != verdict.selected

    def settle(self, r: Record, selected: bool, dropped: bool) -> None:
        """The fate of an arrival."""
        self.pending.append((decided(r), r.length, selected, dropped))


@dataclass
class QueueState:
    """What a queue's decisions depend on."""

    setup: Setup
    ewma: Ewma = field(default_factory=Ewma)
    red: Red = field(default_factory=Red)
    oracle: Oracle = field(default_factory=Oracle)
    commits: deque[tuple[int, int, bool, bool]] = field(default_factory=deque)

    def change(self, setup: Setup) -> None:
        """New configuration; a change of policy or unit clears the average."""
        if (setup.policy, setup.unit) != (self.setup.policy, self.setup.unit):
            self.ewma.clear()
            self.red.clear()
            counts = (self.oracle.compared, self.oracle.tied, self.oracle.different)
            self.oracle = Oracle()
            self.oracle.compared, self.oracle.tied, self.oracle.different = counts
        self.setup = setup

    def decide(self, r: Record, held: tuple[int, int, int]) -> Verdict:
        """The policy's verdict."""
        if self.setup.policy == DROP_TAIL:
            return drop_tail.verdict()
        while self.commits and self.commits[0][0] + COMMIT <= decided(r) + TAKES_COUNT:
            self.red.commit(*self.commits.popleft()[1:])
        params, quantity = self.setup.red, held[self.setup.unit]
        step = self.ewma.request(r.time, held[1], quantity, params)
        average, slots = step.average, step.idle_slots
        verdict = self.red.take(average, held[1], r.length, r.ecn, r.draw, params, slots)
        self.oracle.judge(r, quantity, slots, verdict, params)
        return verdict

    def commit(self, r: Record, selected: bool, dropped: bool) -> None:
        """What became of the request."""
        if self.setup.policy != DROP_TAIL:
            self.commits.append((decided(r), r.length, selected, dropped))
            self.oracle.settle(r, selected, dropped)


@dataclass
class Report:
    """What a check compared, and what it derived."""

    arrivals: int = 0
    departures: int = 0
    values: int = 0
    idle: int = 0
    ingress_overflow: int = 0
    oracle: int = 0
    ties: int = 0
    grants_determined: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    #: lags of q after a departure that explain every record
    after_lags: set[tuple[int, int]] = field(default_factory=set)
    frames: list[bytes] = field(default_factory=list)
    counters: Counters = field(default_factory=lambda: Counters(1))
    decisions: list[tuple[Record, int]] = field(default_factory=list)

    def __str__(self) -> str:
        outcomes = ", ".join(f"{name} {n}" for name, n in sorted(self.outcomes.items()))
        return (
            f"{self.arrivals} arrivals, {self.departures} departures, {self.values} values compared bit for bit; "
            f"{outcomes}; after idle time {self.idle}; oracle: {self.oracle} verdicts agree, {self.ties} ties; "
            f"{self.grants_determined} grants in a determined order; ingress overflow {self.ingress_overflow}"
        )


class Backlog:
    """What the queues hold, as a function of the cycle: lists of (cycle, bytes, packets, cells) changes."""

    def __init__(self) -> None:
        self.cycles: dict[str, list[int]] = {"enter": [], "refund": [], "leave": []}
        self.sums: dict[str, list[tuple[int, int]]] = {name: [(0, 0)] for name in self.cycles}

    def add(self, what: str, cycle: int, length: int) -> None:
        """Notes an event, in order of cycles."""
        self.cycles[what].append(cycle)
        total, packets = self.sums[what][-1]
        self.sums[what].append((total + length, packets + 1))

    def until(self, what: str, cycle: int) -> tuple[int, int]:
        """Bytes and packets of events up to and including `cycle`."""
        return self.sums[what][bisect_right(self.cycles[what], cycle)]

    def held(self, enter: int, refund: int, leave: int) -> tuple[int, int]:
        """Bytes and packets held, with the events of each kind up to a cycle."""
        (eb, ep), (rb, rp), (lb, lp) = (
            self.until("enter", enter), self.until("refund", refund), self.until("leave", leave),
        )  # fmt: skip
        return eb - rb - lb, ep - rp - lp


def cells_of(length: int) -> int:
    """Cells of a frame."""
    return -(-length // CELL_BYTES)


class Core:
    """The model. One `check` covers the time from a reset to the next, with the buffer empty at both ends or not."""

    def __init__(
        self, queues: int, descriptors: int, setups: Sequence[Setup], core: CoreSetup, seed: int | None,
        time_of: Callable[[int], int], verdict: int = 10,
    ) -> None:  # fmt: skip
        """`verdict`: cycles from t0 to the verdict. arrival-decision.md says 10, RED or not; a build without RED was measured
        to take 5, and the refund and the link come as much earlier."""
        self.early = 10 - verdict
        self.queues, self.descriptors, self.core, self.time_of = queues, descriptors, core, time_of
        self.states = [[QueueState(setup)] for setup in setups]
        self.lfsr = Lfsr() if seed is None else Lfsr(seed)
        self.lfsr.fixed = core.fixed_draw
        self.report = Report(counters=Counters(queues))
        self.backlog = [Backlog() for _ in range(queues)]
        self.cells = [Backlog() for _ in range(queues)]
        self.report.after_lags = {(enter, refund) for enter in range(-3, 9) for refund in range(-3, 16)}

    # ---- arrivals and frames

    def match(self, sent: Sequence[Sent], arrivals: Sequence[Record]) -> list[Sent]:
        """The frame of each arrival; good frames in between had no room and end as ingress overflow."""
        good = [s for s in sent if s.end == frame.GOOD]
        matched: list[Sent] = []
        at = 0
        for r in arrivals:
            while at < len(good) and not self._fits(good[at], r):
                at += 1
                self.report.ingress_overflow += 1
            if at == len(good):
                raise Mismatch(f"arrival {r.number} (queue {r.queue}, {r.length} bytes) is no frame that was sent")
            matched.append(good[at])
            at += 1
        lost = {id(s) for s in good} - {id(s) for s in matched}
        self.report.ingress_overflow = len(lost)
        for s in sent:
            self.report.counters.ingress(INGRESS_OVERFLOW if id(s) in lost else s.end, s.size)
        return matched

    @staticmethod
    def _fits(s: Sent, r: Record) -> bool:
        meta = s.meta
        return meta is not None and s.last < r.at <= s.last + WAITS and (meta.length, meta.queue, meta.ecn, meta.exempt) == (
            r.length, r.queue, r.ecn, r.exempt,
        )  # fmt: skip

    # ---- the check

    def check(self, sent: Sequence[Sent], records: Iterable[Record], changes: Sequence[Change] = ()) -> Report:
        """Derives everything again; raises Mismatch at the first difference."""
        records = list(records)
        arrivals = sorted((r for r in records if not r.departure), key=lambda r: r.number)
        departures = [r for r in records if r.departure]
        for n, r in enumerate(arrivals):
            self._same(r, "arrival number", r.number, n)
            if n and r.at - arrivals[n - 1].at < INTERVAL:
                raise Mismatch(f"arrivals {n - 1} and {n} are {r.at - arrivals[n - 1].at} cycles apart")
        self.quick = quick(arrivals, (RED,), lambda r: UNDER_WAY - self.early)
        frames = self.match(sent, arrivals)
        for backlog, cells, q in zip(self.backlog, self.cells, range(self.queues), strict=True):
            for r in departures:
                if r.queue == q:
                    backlog.add("leave", r.at, r.length)
                    cells.add("leave", r.at, cells_of(r.length))
        left = deque(departures)
        pending = sorted(changes, key=lambda c: c.first)
        for r in arrivals:
            while left and left[0].at < r.at:
                d = left.popleft()
                for state in self.states[d.queue]:
                    state.ewma.left(d.time)
            self._arrival(r, pending)
        for group in self.states:
            self.report.oracle += group[0].oracle.compared
            self.report.ties += group[0].oracle.tied
            if group[0].oracle.different:
                raise Mismatch(f"the oracle disagrees in {group[0].oracle.different} verdicts outside of its bound")
        self._departures(arrivals, departures, frames)
        return self.report

    def _linked(self, r: Record, after: int) -> int:
        """The cycle that is `after` cycles after an arrival's s0 if it is linked when a verdict would have come."""
        return r.at + after - (QUICK if r.number in self.quick else self.early)

    def _same(self, r: Record, what: str, got: object, expected: object) -> None:
        self.report.values += 1
        if got != expected:
            kind = "departure" if r.departure else "arrival"
            raise Mismatch(f"{kind} {r.number} of queue {r.queue}, cycle {r.at}: {what} is {got}, expected {expected}")

    def _arrival(self, r: Record, changes: list[Change]) -> None:
        backlog = self.backlog[r.queue]
        held_bytes, held_packets = backlog.held(
            r.at - 1, r.at - SEES_REFUND + COMMIT, r.at - SEES_LEAVE
        )  # fmt: skip
        held = (held_bytes, held_packets, held_packets)
        self._same(r, "q (bytes, packets, frames)", (r.held_bytes, r.held_packets, r.held_frames), held)
        self._same(r, "draw", r.draw, self.lfsr.draw())

        due = [c for c in changes if c.queue == r.queue and c.first <= r.at]
        for c in due:
            changed = []
            for state in self.states[r.queue]:
                new = deepcopy(state)
                new.change(c.setup)
                changed.append(new)
            keep = [] if c.last < r.at else self.states[r.queue]
            self.states[r.queue] = changed + [s for s in keep if s.setup not in [n.setup for n in changed]]
            if c.last < r.at:
                changes.remove(c)
        several = len(self.states[r.queue]) > 1
        kept, failures = [], []
        for state in self.states[r.queue]:
            trial = deepcopy(state) if several else state
            values = self.report.values
            try:
                outcome = self._outcome(r, trial, held)
            except Mismatch as mismatch:
                failures.append(mismatch)
                self.report.values = values
                continue
            kept.append((trial, outcome))
        if not kept:
            raise failures[0] if not several else Mismatch(f"no configuration explains it: {failures}")
        self.states[r.queue] = [state for state, _ in kept]
        verdict = kept[0][1]
        self.report.idle += r.idle_slots > 0
        if r.cause != OVERFLOW:
            for changes_of, amount in ((backlog, r.length), (self.cells[r.queue], cells_of(r.length))):
                changes_of.add("enter", r.at, amount)
                if r.action == DROP:
                    changes_of.add("refund", r.at + COMMIT - self.early, amount)
        self.report.arrivals += 1
        self.report.counters.arrival(r.queue, r.length, r.ecn, r.action, r.cause)
        names = {0: "accepted", 1: "marked", 2: "dropped"}
        causes = ("", " early", " forced", " overflow")
        self.report.outcomes[names[r.action] + causes[r.cause]] += 1
        self.report.decisions.append((r, verdict.region))

    def _outcome(self, r: Record, state: QueueState, held: tuple[int, int, int]) -> Verdict:
        """Compares one decision with what a state of the queue says; updates the state."""
        setup = state.setup
        self._same(r, "policy, unit", (r.policy, r.unit), (setup.policy, setup.unit))
        verdict = state.decide(r, held)
        evidence = (verdict.average, verdict.count, verdict.probability, verdict.idle_slots)
        self._same(r, "average, count, p, m", (r.average, r.count, r.probability, r.idle_slots), evidence)
        action, cause, overridden = verdict.action, verdict.cause, False
        if r.exempt and verdict.selected:
            action, cause, overridden = ACCEPT, NONE, True
        held_bytes, held_packets = (0, 0) if setup.drop_front else (r.held_bytes, r.held_packets)
        limited = held_bytes + r.length > setup.limit_bytes or held_packets >= setup.limit_packets
        if not limited:
            limited = self._short_of_cells(r, setup) or self._short_of_descriptors(r)
        if limited:
            action, cause = DROP, OVERFLOW
        self._same(r, "action, cause", (r.action, r.cause), (action, cause))
        state.commit(r, verdict.selected and not overridden, action == DROP)
        return verdict

    def _short_of_cells(self, r: Record, setup: Setup) -> bool:
        """Whether the share of cells is used up."""
        own = self.cells[r.queue].held(r.at - 1, r.at - SEES_REFUND + COMMIT, r.at - SEES_LEAVE)[0]
        over = max(0, own - setup.reserve_cells)
        more = max(0, own + cells_of(r.length) - setup.reserve_cells) - over
        return more > 0 and self._shared(r, setup) + more > self.core.shared_cells

    def _shared(self, r: Record, setup: Setup) -> int:
        """Cells that all queues use beyond their reserves."""
        shared = 0
        for q in range(self.queues):
            held = self.cells[q].held(r.at - 1, r.at - SEES_REFUND + COMMIT, r.at - SEES_LEAVE)[0]
            reserve = self.states[q][0].setup.reserve_cells if q != r.queue else setup.reserve_cells
            shared += max(0, held - reserve)
        return shared

    def _short_of_descriptors(self, r: Record) -> bool:
        """Whether there is no descriptor; within the time that one takes to be on offer again the record decides."""
        early = late = 0
        for q in range(self.queues):
            early += self.backlog[q].held(r.at - 1, r.at - 1, r.at - 1)[1]
            late += self.backlog[q].held(r.at - 1, r.at - 12, r.at - 16)[1]
        if early >= self.descriptors:
            return True
        return late >= self.descriptors and (r.action, r.cause) == (DROP, OVERFLOW)

    # ---- departures

    def _departures(self, arrivals: Sequence[Record], departures: Sequence[Record], frames: Sequence[Sent]) -> None:
        waiting: list[deque[Record]] = [deque() for _ in range(self.queues)]
        for r in arrivals:
            if r.action != DROP:
                waiting[r.queue].append(r)
        order = Order(self.queues, waiting, lambda r: self._linked(r, LINKED))
        shaper = deepcopy(self.core.shaper)
        start = departures[0].time if departures else 0
        last = -INTERVAL
        for r in departures:
            if r.at - last < INTERVAL:
                raise Mismatch(f"grants in cycles {last} and {r.at}")
            last = r.at
            if not waiting[r.queue]:
                raise Mismatch(f"departure of arrival {r.number} from queue {r.queue}, which is empty")
            if r.cause == FRONT:
                self._front(r, arrivals, departures)
                order.left(r)
            else:
                self.report.grants_determined += order.granted(r, [s[0].setup for s in self.states])
            if r.action != DROP and shaper is not None:
                now = (r.time - start) & (1 << 48) - 1
                if not shaper.allowed(now):
                    raise Mismatch(f"departure of arrival {r.number}: granted before the shaper allows it")
                shaper.charge(now, r.length)
            head = waiting[r.queue].popleft()
            self._same(r, "arrival number", r.number, head.number)
            self._same(r, "length, ecn", (r.length, r.ecn), (head.length, head.ecn))
            self._same(r, "sojourn", r.sojourn, (r.time - head.time) & (1 << 48) - 1)
            self._same(r, "marked", r.marked, head.action == MARK)
            if r.at < self._linked(head, LINKED):
                raise Mismatch(f"departure of arrival {r.number}: granted {r.at - head.at} cycles after the request")
            discarded = r.cause in (LINK_DOWN, FRONT)
            self._same(r, "action, cause", (r.action, r.cause),
                       (DROP, r.cause) if discarded else (MARK if head.action == MARK else ACCEPT, NONE)
                       if r.action else (ACCEPT, NONE))  # fmt: skip
            self._after(r)
            self.report.departures += 1
            self.report.counters.departure(r.queue, r.length, r.sojourn, discarded, r.cause)
            self.report.outcomes["front" if r.cause == FRONT else "discarded" if discarded else "sent"] += 1
            if not discarded:
                s = frames[r.number]
                assert s.meta is not None
                self.report.frames.append(frame.mark(s.data, s.meta) if r.marked else s.data)

    def _front(self, r: Record, arrivals: Sequence[Record], departures: Sequence[Record]) -> None:
        """A drop from the front: what was linked and had not left exceeded a limit of its queue."""
        setup = self.states[r.queue][0].setup
        if not setup.drop_front:
            raise Mismatch(f"departure of arrival {r.number}: queue {r.queue} does not drop from its front")
        linked = [a for a in arrivals if a.queue == r.queue and a.action != DROP and self._linked(a, OVER_LINK) <= r.at]
        left = [d for d in departures if d.queue == r.queue and d.at + OVER_LEAVE <= r.at]
        held = sum(a.length for a in linked) - sum(d.length for d in left)
        if held <= setup.limit_bytes and len(linked) - len(left) <= setup.limit_packets:
            raise Mismatch(f"departure of arrival {r.number}, cycle {r.at}: dropped from the front, but only {held} bytes "
                           f"in {len(linked) - len(left)} packets are queued")  # fmt: skip

    def _after(self, r: Record) -> None:
        """q after the departure: one pair of lags explains all."""
        backlog = self.backlog[r.queue]
        got = (r.held_bytes, r.held_packets)
        fits = {
            lags for lags in self.report.after_lags if backlog.held(r.at + lags[0], r.at + lags[1], r.at) == got
        }  # fmt: skip
        self.report.values += 1
        if not fits:
            seen = sorted({backlog.held(r.at + a, r.at + b, r.at) for a, b in self.report.after_lags})
            raise Mismatch(
                f"departure of arrival {r.number}, cycle {r.at}: q after it is {got}, expected one of {seen}"
            )
        self.report.after_lags = fits
        self._same(r, "frames after", r.held_frames, r.held_packets)


class Order:
    """Strict priority and DWRR (scheduler.md). Within a few cycles of a link it is not certain whether a queue is ready,
    or was empty when a packet left: all states that may be are followed, and a grant has to fit one of them."""

    def __init__(self, queues: int, waiting: Sequence[deque[Record]], linked: Callable[[Record], int]) -> None:
        self.queues, self.waiting, self.linked = queues, waiting, linked
        #: turn, deficits
        self.states: set[tuple[int, tuple[int, ...]]] = {(0, (0,) * queues)}

    def granted(self, r: Record, setups: Sequence[Setup]) -> bool:
        """Checks a grant and follows it; whether the rule determined it among several queues."""
        ready = [bool(w) and self.linked(w[0]) <= r.at for w in self.waiting]
        surely = [bool(w) and self.linked(w[0]) + SURELY <= r.at for w in self.waiting]
        strict = [s.strict for s in setups]
        for q in range(self.queues):
            if strict[q] and surely[q] and q != r.queue and (q < r.queue or not strict[r.queue]):
                raise Mismatch(
                    f"departure of arrival {r.number}, cycle {r.at}: queue {r.queue} before strict queue {q}"
                )
        before = self.states
        if not strict[r.queue]:
            rivals = [surely[q] and not strict[q] for q in range(self.queues)]
            self.states = {after for s in before for after in self._follow(s, r, rivals, setups[r.queue].quantum)}
        if not self.states:
            raise Mismatch(f"departure of arrival {r.number}, cycle {r.at}: queue {r.queue} is not the next; "
                           f"turn and deficits: {sorted(before)}, ready: {surely}")  # fmt: skip
        self.left(r)
        return ready == surely and sum(ready) > 1 and len(before) == 1

    def _follow(self, state: tuple[int, tuple[int, ...]], r: Record, rivals: Sequence[bool],
                quantum: int) -> list[tuple[int, tuple[int, ...]]]:  # fmt: skip
        """The state after the grant, or none if the grant is against the rule."""
        turn, deficits = state
        changed = list(deficits)
        if r.queue != turn or deficits[turn] <= 0:
            if rivals[turn] and deficits[turn] > 0:
                return []
            between = range(turn + 1, turn + 1 + (r.queue - turn - 1) % self.queues)
            if any(rivals[q % self.queues] for q in between):
                return []
            turn = r.queue
            changed[turn] += quantum
        if r.action != DROP:
            changed[r.queue] -= r.length
        return [(turn, tuple(changed))]

    def left(self, r: Record) -> None:
        """A queue that is empty after its last packet has left has deficit 0."""
        rest = self.waiting[r.queue]
        following = self.linked(rest[1]) if len(rest) > 1 else None
        if following is not None and following <= r.at:
            return
        zero = {(t, (*d[: r.queue], 0, *d[r.queue + 1 :])) for t, d in self.states}
        certain = following is None or following > r.at + SURELY
        self.states = zero if certain else self.states | zero

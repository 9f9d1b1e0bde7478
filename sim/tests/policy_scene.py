"""Traffic through a core in the cycle model, and the check of all that its trace tells (policy_models)."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import weir
from golden import frame as wire
from golden.core import AFTERWARDS, FRONT, LINK_DOWN, OVER_LEAVE, OVERFLOW, QUICK, Backlog, Setup, quick
from golden.lfsr import Lfsr
from policy_models import (
    ARED,
    DEPARTED,
    DROP,
    EMPTIED,
    FAST_COMMIT,
    ISRED,
    MARK,
    MODELS,
    NAMES,
    PI2,
    PIE,
    RED,
    REFUSED,
    REQUESTED,
    Delays,
    Mismatch,
    Model,
    Place,
    Record,
    Tick,
    cycle_of,
    same,
)  # fmt: skip
from weir_sim import Core, native
from weir_sim.frames import udp_frame

QUEUES = 4
#: policies that decide afterwards about an arrival that finds its queue empty
DEFERS = (RED, ISRED, ARED)
#: the parts of FN's pool that the queues have here
WINDOW = 1024
#: an apply is done this many cycles after its write at the earliest: it copies every word
COPIES = 70
#: StoredWords copies the words of a queue after its decisions have settled; the write of APPLY takes effect before
#: `csr_write` returns
SETTLES = 12
#: arrival-decision.md: a request sees departures, refunds (by their commit) that are that much older, and all earlier requests
SEES_LEAVE, SEES_COMMIT = 5, 2
#: a grant's departure comes 3 cycles later (queues.md) and sees q as a request does; its record sees q 2 cycles later
DEPARTS, RECORDS = 3, 5
#: an arrival of a request is in q four cycles after its s0 (arrival-decision.md: it enters at t2, seen a cycle later), with a refund that comes two after it
ENTERS, REFUNDED = 4, 2

SIZES = (60, 64, 65, 128, 300, 590, 1000, 1514)


@dataclass(frozen=True)
class Change:
    """A configuration: written by cycle `written`, in use by cycle `last`."""

    queue: int
    first: int
    written: int
    last: int
    words: dict[str, int]


class Refused(NamedTuple):
    """The refund of an arrival that its policy dropped left its queue empty: the cycle of `emptied`."""

    at: int
    queue: int


@dataclass
class Report:
    """What was compared."""

    arrivals: Counter[str] = field(default_factory=Counter)
    departures: Counter[str] = field(default_factory=Counter)
    ticks: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    uncompared: int = 0
    first_decisions: int = 0
    frames: int = 0

    def __str__(self) -> str:
        def text(c: Counter[str]) -> str:
            return ", ".join(f"{k} {n}" for k, n in sorted(c.items()) if n)

        return (
            f"arrivals: {text(self.arrivals)}; departures: {text(self.departures)}; ticks: {text(self.ticks)}; "
            f"{self.frames} frames; {text(self.outcomes)}; {text(self.seen)}; first decisions {self.first_decisions}; "
            f"departures during a change {self.uncompared}"
        )


class Scene:
    """A core with four queues, preset full unless told, with trace, a shaped egress; the queues by DSCP modulo 4."""

    def __init__(self, seed: int, rate: float = 2e9, **core: Any) -> None:
        self.rng = Random(seed)
        self.core = Core(**({"egress": "mac"} | core))
        self.address = _addresses()
        device = self.core.device
        #: cycles by which the verdicts of fast policies come earlier than in a build with RED, FN or jumbo frames (arrival-decision.md)
        late = device.capabilities.features >> 17 & 1 or {"red", "fn"} & set(device.capabilities.policies)
        self.early = 0 if late else 5
        self.lfsr = Lfsr(seed)
        device.seed(seed)
        device.dscp_map([d % QUEUES for d in range(64)])
        if rate:
            device.shape(rate=rate, burst=3000)
        device.trace_enable()
        self.capabilities = device.capabilities
        self.sent: list[bytes] = []
        self.changes: list[Change] = []
        self.words: list[npt.NDArray[np.uint32]] = []
        self.times: list[npt.NDArray[np.uint64]] = []
        self.out: list[bytes] = []
        self.current: list[dict[str, int]] = [{} for _ in range(QUEUES)]
        self.at = 0

    # ---- what happens

    def write(self, queue: int, name: str, value: int) -> None:
        """A register of a queue."""
        self.core.csr_write(self.address[name] + queue * self.address["STRIDE"], value)

    def configure(self, queue: int, policy: str, raw: Mapping[str, int] | None = None, **natural: Any) -> None:
        """Writes a queue's words and applies them. `raw` replaces words of libweir: what it would refuse."""
        words = weir.convert_queue(policy, self.capabilities, **natural) | dict(raw or {})
        if "FN_WINDOW" in words:
            words["FN_WINDOW"] |= queue * WINDOW << 16
        for name, value in words.items():
            self.write(queue, name, value)
        first = cycle_of(self.core.now_ns)
        written = cycle_of(self.apply(queue))
        self.changes.append(Change(queue, first, written, cycle_of(self.core.now_ns), words))
        self.current[queue] = words

    def apply(self, queue: int) -> int:
        """Applies what has been written, and waits until it is in use; answers the time of the write."""
        self.write(queue, "APPLY", 1)
        written = self.core.now_ns
        while self.core.csr_read(self.address["STATUS"]) >> 4 & 1:
            pass
        return written

    def send(self, frame: bytes, at_ns: int = 0) -> None:
        """A frame on the line."""
        self.sent.append(frame)
        self.core.send(frame, at_ns)

    def frame(self, length: int, queue: int, ecn: int) -> bytes:
        """A frame with its number inside; few are to a protected group address."""
        data = udp_frame(length, queue + 4 * self.rng.randrange(16), ecn, len(self.sent))
        return bytes.fromhex("0180c2000003") + data[6:] if self.rng.random() < 0.02 else data

    def traffic(self, count: int, load: float, rate: float, queues: tuple[int, ...] = (0, 1, 2, 3),
                sizes: tuple[int, ...] = SIZES, idle: float = 0.06) -> None:  # fmt: skip
        """Bursts at 10 Gbit/s and pauses, `load` times the rate in the mean, now and then a long pause."""
        rng = self.rng
        self.at = max(self.at, self.core.now_ns + 200)
        left = count
        while left:
            burst = min(left, rng.choice((1, 1, 2, 5, 10, 30, 60)))
            favourite = rng.choice(queues)
            total = 0
            for _ in range(burst):
                queue = favourite if rng.random() < 0.5 else rng.choice(queues)
                length = rng.choice(sizes) if rng.random() < 0.7 else rng.randrange(60, max(sizes) + 1)
                self.send(self.frame(length, queue, rng.randrange(4)), self.at)
                total += length + 24
            self.at += int(total * 8e9 / rate / load * rng.uniform(0.5, 1.5))
            if rng.random() < idle:
                self.at += rng.choice((2_000, 30_000, 200_000))
            left -= burst

    def run_until_decided(self, queue: int) -> None:
        """Runs until an arrival of the queue has been decided since its last configuration."""
        since = max((c.last for c in self.changes if c.queue == queue), default=0)
        while self.core.pending:
            self.collect()
            for words in reversed(self.words):
                mine = words[(words[:, 1] >> 16 & 63) == queue]
                if len(mine) and cycle_of(int(mine[-1][0])) > since:
                    return
                if len(words) and cycle_of(int(words[0][0])) < since:
                    break
            self.core.run_until(self.core.now_ns + 2_000)

    def collect(self) -> None:
        """Takes what has come out."""
        words, times = self.core.trace_words()
        self.words.append(words)
        self.times.append(times)
        self.out += [f.data for f in self.core.recv()]

    def finish(self) -> Report:
        """Runs until nothing is left, and checks everything."""
        self.core.egress = "mac"
        self.core.run_idle()
        self.core.run_cycles(200)
        self.collect()
        return Check(self).run()


def _addresses() -> dict[str, int]:
    """Addresses of the registers that are used: those of queue 0, their stride, and STATUS."""
    blocks = json.loads((native.root() / "build" / "rtl" / "weir_regs.json").read_text())["blocks"]
    core, queue = blocks[0], next(b for b in blocks if b["stride"])
    found = {r["name"]: queue["base"] + r["offset"] for r in queue["registers"]}
    status = next(r["offset"] for r in core["registers"] if r["name"] == "STATUS")
    return found | {"STRIDE": queue["stride"], "STATUS": status}


class Check:
    """Derives everything again that the trace of a scene tells."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.report = Report()
        self.arrivals: list[Record] = []
        self.departures: list[Record] = []
        self.ticks: list[Tick] = []
        for words, times in zip(scene.words, scene.times, strict=True):
            for row, ns in zip(words.astype("<u4"), times.tolist(), strict=True):
                self._record(row, cycle_of(ns))
        self.arrivals.sort(key=lambda r: r.number)
        self.places = [Place(q, Delays(), Delays()) for q in range(QUEUES)]
        self.models = [Model({}, place, (0, 0)) for place in self.places]
        self.waiting: list[deque[Record]] = [deque() for _ in range(QUEUES)]
        #: a queue's changes: the departures that its policy may have seen while one was made
        self.zones: list[list[tuple[Change, int, int]]] = [[] for _ in range(QUEUES)]
        self.unsure = [False] * QUEUES
        self.fresh = [False] * QUEUES

    def _record(self, row: npt.NDArray[np.uint32], seen: int) -> None:
        told = weir.decode_trace(row.tolist())
        if told.kind == "tick":
            state: Any = told.state
            self.ticks.append(Tick(cycle_of(told.time_ns), told.time_ns, told.queue, told.policy, state, seen))
        else:
            r = Record.decode(int.from_bytes(row.tobytes(), "little"), cycle_of, seen)
            (self.departures if r.departure else self.arrivals).append(r)

    # ---- all of it

    def run(self) -> Report:
        self._inputs()
        self._backlogs()
        changes = [(c.written + 20, 0, c) for c in self.scene.changes]
        policies = [0] * QUEUES
        for c in self.scene.changes:
            new = c.words["POLICY"] & 15
            self.zones[c.queue].append((c, policies[c.queue], new))
            policies[c.queue] = new
        events: list[tuple[int, int, Any]] = [
            *changes, *((e.at, 1, e) for e in self.refused), *((r.at, 2, r) for r in self.arrivals),
            *((d.at, 3, d) for d in self.departures), *((t.at, 4, t) for t in self.ticks),
        ]  # fmt: skip
        events.sort(key=lambda e: e[:2])
        for _, kind, event in events:
            try:
                (self._change, self._refused, self._arrival, self._departure, self._tick)[kind](event)
            except Mismatch as mismatch:
                model = self.models[event.queue]
                raise Mismatch(
                    f"{mismatch}\n{event}\nqueue {event.queue} runs {NAMES[model.policy]}: {model.words}"
                ) from None
        for model in self.models:
            self._leave(model, cycle_of(self.scene.core.now_ns))
        self._outputs()
        left = self.report.departures.total()
        assert 20 * self.report.uncompared <= max(left, 20), (
            f"{self.report.uncompared} of {left} departures are not compared"
        )
        return self.report

    def _leave(self, model: Model, cycle: int) -> None:
        model.end(cycle)
        for name, n in model.seen.items():
            self.report.seen[f"{NAMES[model.policy]} {name}"] += n
        model.seen.clear()

    def _inputs(self) -> None:
        """Every frame became an arrival, in order, with the next draw."""
        same("arrivals", [r.number for r in self.arrivals], list(range(len(self.scene.sent))))
        table = [d % QUEUES for d in range(64)]
        for r, data in zip(self.arrivals, self.scene.sent, strict=True):
            meta = wire.classify(data, 0, table)
            same(
                f"arrival {r.number}",
                (r.queue, r.length, r.ecn, r.exempt),
                (meta.queue, meta.length, meta.ecn, meta.exempt),
            )
            same(f"draw of arrival {r.number}", r.draw, self.scene.lfsr.draw())
        for a, b in pairwise(self.arrivals):
            if b.at - a.at < 4:
                raise Mismatch(f"arrivals {a.number} and {b.number} are decided in cycles {a.at} and {b.at}")
        self.quick = quick(self.arrivals, DEFERS, lambda r: self._slow_or_fast(r) - 2)
        commits = [r.at + self._commit_at(r) for r in self.arrivals]
        afterwards = [
            r.at + FAST_COMMIT + AFTERWARDS for r in self.arrivals if r.policy in DEFERS and r.held_packets == 0
        ]
        for x, y in pairwise(sorted(commits + afterwards)):
            if y - x < 2:
                raise Mismatch(f"commits in cycles {x} and {y}")

    def _backlogs(self) -> None:
        """q of every record."""
        self.backlogs = [Backlog() for _ in range(QUEUES)]
        self.linked = [Backlog() for _ in range(QUEUES)]
        late: list[list[tuple[int, int, bool]]] = [[] for _ in range(QUEUES)]
        self.refused: list[Refused] = []
        for r in self.arrivals:
            if r.cause == OVERFLOW:  # what a limit refuses never enters q
                continue
            self.backlogs[r.queue].add("enter", r.at, r.length)
            late[r.queue].append((r.at + self._commit_at(r), r.length, r.action == DROP))
        for q, commits in enumerate(late):
            for at, length, dropped in sorted(commits):
                if dropped:
                    self.backlogs[q].add("refund", at, length)
                else:
                    self.linked[q].add("enter", at + 1, length)
        for d in self.departures:
            self.backlogs[d.queue].add("leave", d.at, d.length)
        left = {(d.queue, d.at + DEPARTS) for d in self.departures}
        for q, commits in enumerate(late):
            for at, _, dropped in commits:
                # at the engines two cycles later; with a departure in the same cycle, that one's record tells
                empty = self.backlogs[q].held(at - REFUNDED, at, at - DEPARTS)[1] == 0
                if dropped and empty and (q, at) not in left:
                    self.refused.append(Refused(at + REFUSED, q))
        for r in self.arrivals:
            held = self.backlogs[r.queue].held(r.at - 1, r.at - SEES_COMMIT, r.at - SEES_LEAVE)
            same(f"q at arrival {r.number}", (r.held_bytes, r.held_packets, r.held_frames), (*held, held[1]))
        for d in self.departures:
            at = d.at + RECORDS
            held = self.backlogs[d.queue].held(at - ENTERS, at - SEES_COMMIT, d.at)
            same(f"q after departure {d.number}", (d.held_bytes, d.held_packets, d.held_frames), (*held, held[1]))

    def _commit_at(self, r: Record) -> int:
        """Cycles from s0 to the commit."""
        return FAST_COMMIT - QUICK if r.number in self.quick else self._slow_or_fast(r)

    def _slow_or_fast(self, r: Record) -> int:
        at = MODELS[r.policy].commit_at
        return at if at != FAST_COMMIT else at - self.scene.early

    def _outputs(self) -> None:
        """What left is what was granted, in that order, marked where it was to be."""
        sent, table = self.scene.sent, [d % QUEUES for d in range(64)]
        expected = []
        for d in self.departures:
            if d.action != DROP:
                data = sent[d.number]
                expected.append(wire.mark(data, wire.classify(data, 0, table)) if d.marked else data)
        same("frames out", len(self.scene.out), len(expected))
        for n, (got, want) in enumerate(zip(self.scene.out, expected, strict=True)):
            same(f"frame {n}", got, want)
        same("packets left", [len(w) for w in self.waiting], [0] * QUEUES)
        self.report.frames = len(expected)

    # ---- one event each

    def _change(self, c: Change) -> None:
        q, old = c.queue, self.models[c.queue]
        setup = Setup.of(c.words)
        started = (c.written * 32 // 5, c.last * 32 // 5)
        cleared = (setup.policy, setup.unit) != (old.setup.policy, old.setup.unit)
        if cleared:
            self._leave(old, c.first)
            self.models[q] = MODELS[setup.policy](c.words, self.places[q], started)
            self.fresh[q] = True
        else:
            old.end(c.first)
            old.renew(c.words, started)
            old.unknown = old.unknown or self.unsure[q]
        self.unsure[q] = False
        for a, model in enumerate(self.models):
            if model.policy == PI2:
                model.pair = self._partner(a)  # type: ignore[attr-defined]

    def _partner(self, q: int) -> Model | None:
        """The other queue of a pair (pi2.md)."""
        mine: Any = self.models[q]
        if mine.params.coupled >= QUEUES:
            return None
        other: Any = self.models[mine.params.coupled]
        good = other is not mine and other.policy == PI2 and other.params.coupled == q
        return other if good and other.params.low_latency != mine.params.low_latency else None

    def _zone(self, q: int, at: int) -> tuple[Change, int, int] | None:
        """The change that is being made to a queue in that cycle."""
        return next((z for z in self.zones[q] if z[0].first - DEPARTED <= at <= z[0].last + DEPARTED), None)

    def _arrival(self, r: Record) -> None:
        q, model = r.queue, self.models[r.queue]
        zone = self._zone(q, r.at)
        if zone and zone[0].written + SETTLES < r.at < zone[0].written + COPIES:
            raise Mismatch("an arrival is decided while the configuration of its queue is copied")
        same("policy, unit", (r.policy, r.unit), (model.setup.policy, model.setup.unit))
        rulings = model.arrival(r)
        got = (r.average, r.count, r.probability, r.idle_slots)
        setup = model.setup
        held_bytes, held_packets = (0, 0) if setup.drop_front else (r.held_bytes, r.held_packets)
        limited = held_bytes + r.length > setup.limit_bytes or held_packets >= setup.limit_packets
        expected = []
        for v in rulings:
            action, cause = (0, 0) if r.exempt else (v.action, v.cause)
            if limited:
                action, cause = DROP, OVERFLOW
            expected.append((action, cause, v.average, v.count, v.probability, v.slots))
        if (r.action, r.cause, *got) not in expected:
            same("action, cause, average, count, p, m", (r.action, r.cause, *got), expected[0])
        ruling = rulings[expected.index((r.action, r.cause, *got))]
        model.committed(r, ruling.cause != 0 and not r.exempt, r.action == DROP)
        if r.held_packets == 0 and model.policy in (PIE, PI2):
            (self.places[q].pie if model.policy == PIE else self.places[q].pi2).add(r.at + REQUESTED, 0, True)
        if r.action != DROP:
            self.waiting[q].append(r)
        self.report.first_decisions += self.fresh[q]
        self.fresh[q] = False
        self.report.arrivals[NAMES[model.policy]] += 1
        name = ("accept", "mark", "drop")[r.action] + ("", " early", " forced", " overflow")[r.cause]
        self.report.outcomes[f"{NAMES[model.policy]} {name}"] += 1

    def _departure(self, d: Record) -> None:
        q, model = d.queue, self.models[d.queue]
        if not self.waiting[q]:
            raise Mismatch("a departure of an empty queue")
        head = self.waiting[q].popleft()
        same(
            "number, length, ecn, exempt",
            (d.number, d.length, d.ecn, d.exempt),
            (head.number, head.length, head.ecn, head.exempt),
        )
        same("sojourn", d.sojourn, d.time - head.time)
        zone = self._zone(q, d.at + DEPARTED)
        asked = self.backlogs[q].held(d.at + DEPARTS - ENTERS, d.at + DEPARTS - SEES_COMMIT, d.at)
        name = NAMES[model.policy]
        marked = head.action == MARK
        if d.cause in (FRONT, LINK_DOWN):
            if d.cause == FRONT:
                self._front(d, zone)
            same("action, marked", (d.action, d.marked), (DROP, marked))
            if d.held_packets == 0:
                model.emptied()
            self.report.outcomes[f"{name} {'front' if d.cause == FRONT else 'link down'}"] += 1
        else:
            self._shown(d, zone, asked)
            decides = MODELS[zone[1]].decides or MODELS[zone[2]].decides if zone else model.decides
            if zone and decides:
                self._unsure(d, zone[0])
            elif model.unknown and model.decides:
                self.report.uncompared += 1
            else:
                action, cause = model.departure(d, *asked)
                expected = DROP if action == DROP else MARK if marked or action == MARK else 0
                # one that was marked at arrival is not marked again (departure-decision.md)
                shown = 0 if marked and action == MARK else cause
                same(
                    "action, cause, marked", (d.action, d.cause, d.marked), (expected, shown, marked or action == MARK)
                )
                if model.decides:
                    self.report.outcomes[
                        f"{name} at departure: {('accept', 'mark', 'drop')[action]}{' forced' if cause else ''}"
                    ] += 1
            self.report.departures[name] += 1
        self.places[q].idle_since = d.time
        if d.held_packets == 0:
            for delays in (self.places[q].pie, self.places[q].pi2):
                delays.add(d.at + EMPTIED, 0, True)

    def _refused(self, e: Refused) -> None:
        """A queue became empty with no departure in that cycle."""
        place = self.places[e.queue]
        self.models[e.queue].emptied()
        for delays in (place.pie, place.pi2):
            delays.add(e.at, 0, True)
        self.report.seen["emptied by a policy's drop"] += 1

    def _unsure(self, d: Record, change: Change) -> None:
        """A departure while a deciding policy comes, goes, or gets other parameters: which words it saw is not told.
        It leaves a trace in the state, unless the state starts anew after it."""
        self.report.uncompared += 1
        model, at = self.models[d.queue], d.at + DEPARTED
        before = at < change.written + 20
        old, new = next((z[1], z[2]) for z in self.zones[d.queue] if z[0] is change)
        if not before:
            model.unknown = model.unknown or old == new or at >= change.written + COPIES
        elif old == new:
            self.unsure[d.queue] = True
            model.unknown = True

    def _shown(self, d: Record, zone: tuple[Change, int, int] | None, asked: tuple[int, int]) -> None:
        """The delay that PIE and PI2 learn from a departure."""
        q, place = d.queue, self.places[d.queue]
        runs = zone[1:] if zone else (self.models[q].policy,)
        for policy, delays in ((PIE, place.pie), (PI2, place.pi2)):
            if policy in runs:
                delays.add(d.at + DEPARTED, d.sojourn if asked[1] else 0, set(runs) == {policy})
                model: Any = self.models[q]
                if asked[1] and model.policy == policy:
                    model.roused(d.at + EMPTIED, d.sojourn)

    def _front(self, d: Record, zone: tuple[Change, int, int] | None) -> None:
        """A drop from the front was needed: what was linked and had not left exceeded a limit."""
        setup = self.models[d.queue].setup
        least = [setup] if not zone else [setup, Setup.of(zone[0].words)]
        if not any(s.drop_front for s in least):
            raise Mismatch("the queue does not drop from its front")
        linked = self.linked[d.queue].until("enter", d.at)
        left = self.backlogs[d.queue].until("leave", d.at - OVER_LEAVE)
        held, packets = linked[0] - left[0], linked[1] - left[1]
        if all(held <= s.limit_bytes and packets <= s.limit_packets for s in least):
            raise Mismatch(f"dropped from the front, but {held} bytes in {packets} packets are within the limits")

    def _tick(self, t: Tick) -> None:
        model = self.models[t.queue]
        same("policy of the tick", t.policy, model.policy)
        model.tick(t)
        self.report.ticks[NAMES[model.policy]] += 1

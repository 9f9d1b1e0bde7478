"""The `board` preset in the cycle model: one decision at a time, each against the golden models (serial-decision.md)."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections import Counter, deque
from itertools import pairwise
from typing import Any

import pytest

from golden import drop_tail, dt_ecn
from golden.core import OVERFLOW, SEES_LEAVE, Record, Setup
from golden.ewma import Ewma
from golden.red import DROP, MARK, Red
from policy_models import DROP_TAIL, DT_ECN, ON_PACKETS, ON_RED, RED, cycle_of
from policy_scene import COPIES, QUEUES, SETTLES, Change, Scene
from weir_sim import native
from weir_sim.frames import udp_frame

PRESET = "board"
#: 64-cell blocks of the shared buffer, the sentinel of the free list left out
CELLS, CELL = 1023, 64
#: cycles of 125 MHz that a minimum frame takes on a line of 1 Gbit/s: 84 bytes, one a cycle
MINIMUM = 84
#: the slowest line that the configuration of RED's idle time is of, in cycles for a byte (6.4 ns each in the model)
RATE = 1e9
#: s0 of one arrival to that of the next: request, verdict of the shortest program, commit, and what it changed in q
LEAST = 7

#: four such queues fit the buffer, so that no frame is lost before its decision
BYTES = ON_RED | {"limit_bytes": 12_000, "min": 1_500, "max": 5_000}
PACKETS = ON_PACKETS | {"limit_packets": 12, "min": 1, "max": 5}
RED_FORMS: tuple[dict[str, Any], ...] = (
    BYTES,
    BYTES | {"ecn": True, "spread": "geometric"},
    BYTES | {"ecn": True, "harddrop": True, "spread": "uniform-wait", "gentle": False},
    BYTES | {"ecn": True, "nodrop": True, "bytemode": "before", "avpkt": 300},
    BYTES | {"bytemode": "after", "spread": "uniform-wait", "avpkt": 200},
    BYTES | {"weight": 1, "exempt_first": False},
    PACKETS | {"ecn": True},
    PACKETS | {"unit": "frames", "spread": "geometric", "max": 3},
)
FORMS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("red", form) for form in RED_FORMS),
    ("dt-ecn", {"limit_bytes": 12_000, "utilisation": "30%"}),
    ("dt-ecn", {"unit": "packets", "limit_packets": 12, "utilisation": "30%"}),
    ("drop-tail", {"limit_bytes": 9_000}),
    ("drop-tail", {"limit_packets": 10}),
)


@pytest.fixture(scope="module", autouse=True)
def model() -> None:
    """The cycle model of the preset."""
    place = native.library(PRESET, False).parent
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        build = native.root() / "sim" / "model" / "build.py"
        command = [sys.executable, str(build), "--plain", "--preset", PRESET, "--out", str(place)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr


class Queue:
    """What a queue has decided, and what it holds."""

    def __init__(self) -> None:
        self.setup = Setup()
        self.words: dict[str, int] = {}
        self.held = [0, 0, 0]
        """bytes, packets, cells"""
        self.waiting: deque[Record] = deque()
        self.idle_since = 0
        self.clear()

    def clear(self) -> None:
        """Another policy or unit."""
        self.ewma, self.red = Ewma(), Red()

    def changes(self, length: int, sign: int) -> None:
        """A packet enters or leaves."""
        for n, amount in enumerate((length, 1, -(-length // CELL))):
            self.held[n] += sign * amount

    def decide(self, r: Record) -> Any:
        """The policy's answer, and its state brought up to date, but for the commit."""
        held = (self.held[0], self.held[1], self.held[1])
        if self.setup.policy == DROP_TAIL:
            return drop_tail.verdict()
        if self.setup.policy == DT_ECN:
            return dt_ecn.verdict(r.length, held, self.setup.unit, r.ecn, self.words["DTECN_THRESHOLD"])
        assert self.setup.policy == RED
        self.ewma.left(self.idle_since)
        step = self.ewma.request(r.time, held[1], held[self.setup.unit], self.setup.red)
        self.idle_since = self.ewma.idle_since
        return self.red.take(step.average, held[1], r.length, r.ecn, r.draw, self.setup.red, step.idle_slots, None)


class Serial(Scene):
    """Scene, for a core that decides about one arrival after the other."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, RATE, preset=PRESET)

    def line(self, count: int, idle: float, sizes: tuple[int, ...] = (60, 61, 65, 200, 590, 1514)) -> None:
        """Frames as a line of 1 Gbit/s brings them, 84 cycles for 84 bytes, now and then after a pause."""
        self.at = max(self.at, self.core.now_ns + 200)
        for _ in range(count):
            length = self.rng.choice(sizes)
            self.send(self.frame(length, self.rng.randrange(QUEUES), self.rng.randrange(4)), self.at)
            self.at += (max(length, 60) + 24) * 32 // 5
            if self.rng.random() < idle:
                self.at += self.rng.choice((900, 20_000, 300_000))

    def records(self) -> list[Record]:
        """What has been collected."""
        rows = (row for words in self.words for row in words)
        return [Record.decode(int.from_bytes(row.astype("<u4").tobytes(), "little"), cycle_of) for row in rows]

    def check(self) -> Counter[str]:
        """Runs until nothing is left; every decision is derived again. What was seen, by policy and outcome."""
        self.core.egress = "mac"
        self.core.run_idle()
        self.core.run_cycles(200)
        self.collect()
        records = self.records()
        arrivals = sorted((r for r in records if not r.departure), key=lambda r: r.number)
        departures = deque(r for r in records if r.departure)
        assert [r.number for r in arrivals] == list(range(len(self.sent)))
        assert all(b.at - a.at >= LEAST for a, b in pairwise(arrivals))
        changes = deque(self.changes)
        queues = [Queue() for _ in range(QUEUES)]
        seen: Counter[str] = Counter()
        lfsr = self.lfsr
        for r in arrivals:
            while departures and departures[0].at + SEES_LEAVE <= r.at:
                self._leave(queues, departures.popleft())
            while changes and changes[0].written + SETTLES < r.at:
                assert changes[0].written + COPIES < r.at, "a decision while a configuration is copied"
                self._change(queues, changes.popleft())
                seen["applied"] += 1
            assert r.draw == lfsr.draw(), r
            self._arrival(queues, r, seen)
        for d in departures:
            self._leave(queues, d)
        assert not any(q.waiting for q in queues)
        assert len(self.out) == sum(r.action != DROP for r in arrivals)
        return seen

    @staticmethod
    def _change(queues: list[Queue], c: Change) -> None:
        q, setup = queues[c.queue], Setup.of(c.words)
        if (setup.policy, setup.unit) != (q.setup.policy, q.setup.unit):
            q.clear()
        q.setup, q.words = setup, c.words

    @staticmethod
    def _leave(queues: list[Queue], d: Record) -> None:
        q = queues[d.queue]
        head = q.waiting.popleft()
        assert (d.number, d.length, d.marked) == (head.number, head.length, head.action == MARK), (d, head)
        q.changes(d.length, -1)
        q.idle_since = d.time

    def _arrival(self, queues: list[Queue], r: Record, seen: Counter[str]) -> None:
        q, data = queues[r.queue], self.sent[r.number]
        assert r.length == len(data)
        assert (r.policy, r.unit) == (q.setup.policy, q.setup.unit), r
        assert (r.held_bytes, r.held_packets, r.held_frames) == (q.held[0], q.held[1], q.held[1]), (r, q.held)
        shared = sum(max(0, x.held[2] - x.setup.reserve_cells) for x in queues)
        verdict = q.decide(r)
        action, cause = (0, 0) if r.exempt else (verdict.action, verdict.cause)
        if (
            r.held_bytes + r.length > q.setup.limit_bytes
            or r.held_packets >= q.setup.limit_packets
            or shared - (-r.length // CELL) > CELLS
        ):
            action, cause = DROP, OVERFLOW
        got = (r.action, r.cause, r.average, r.count, r.probability, r.idle_slots)
        want = (action, cause, verdict.average, verdict.count, verdict.probability, verdict.idle_slots)
        assert got == want, f"{got}, expected {want}: {r}; {q.setup}"
        if q.setup.policy == RED:
            q.red.commit(r.length, verdict.cause != 0 and not r.exempt, action == DROP)
        if action != DROP:
            q.changes(r.length, 1)
            q.waiting.append(r)
        name = ("drop-tail", "red", "dt-ecn")[r.policy]
        seen[f"{name} {('accept', 'mark', 'drop')[action]}{('', ' early', ' forced', ' overflow')[cause]}"] += 1
        seen["idle"] += r.idle_slots > 0


@pytest.mark.parametrize("seed", range(6))
def test_every_decision_is_that_of_the_golden_models(seed: int) -> None:
    """Every form of every policy, changed under traffic; overload, pauses, packets to protected addresses."""
    scene = Serial(seed)
    forms = list(FORMS) if seed % 2 else list(FORMS[::-1])
    for queue in range(QUEUES):
        policy, natural = forms[(queue + 2 * seed) % len(forms)]
        scene.configure(queue, policy, **natural)
    for part in range(6):
        scene.core.device.shape(rate=RATE * (0.5, 0.9, 0.3)[part % 3], burst=3000)
        scene.line(250, (0.0, 0.05)[part % 2])
        scene.core.run_until(scene.core.now_ns + (scene.at - scene.core.now_ns) // 2)
        policy, natural = scene.rng.choice(forms)
        scene.configure(part % QUEUES, policy, **natural)
    seen = scene.check()
    print(f"seed {seed}: {dict(seen)}")
    assert seen["applied"] == QUEUES + 6
    assert seen["idle"] > 20
    assert sum(n for what, n in seen.items() if "early" in what) > 50


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_a_line_of_minimum_frames_keeps_its_rate(form: int) -> None:
    """1 Gbit/s of frames of 64 bytes, at 125 MHz: none is lost before its decision, also behind idle time."""
    scene = Serial(form)
    policy, natural = FORMS[form]
    if natural.get("unit") is None:  # as large for frames of 60 bytes
        natural = natural | {"limit_bytes": 2_000} | ({"min": 150, "max": 700} if policy == "red" else {})
    for queue in range(QUEUES):
        scene.configure(queue, policy, **natural)
    scene.core.device.shape(rate=RATE * 0.4, burst=3000)
    scene.line(400, 0.02, (60,))
    scene.core.run_until(scene.at)
    print(scene.check())
    scene.core.device.snapshot()
    assert scene.core.device.core_counters().ingress_overflow.packets == 0


def test_frames_behind_each_other_wait_in_the_fifo() -> None:
    """What comes at 10 Gbit/s waits, up to 32 arrivals; what does not fit is told as overflow of the ingress."""
    scene = Serial(1)
    for queue in range(QUEUES):
        scene.configure(queue, "red", **(ON_RED | {"bytemode": "before"}))
    at = scene.core.now_ns + 1000
    for n in range(80):
        scene.core.send(udp_frame(60, n % QUEUES, 0, n), at)
    scene.core.run_idle()
    device = scene.core.device
    device.snapshot()
    decided = sum(device.counters(q).arrivals.packets for q in range(QUEUES))
    assert 33 <= decided < 80
    assert device.core_counters().ingress_overflow.packets == 80 - decided


def test_what_the_policy_drops_is_given_back() -> None:
    """More drops than there are cells or descriptors; the buffer takes its full number of packets after them."""
    scene = Serial(2)
    drops = {"weight": 1, "min": 60, "max": 120, "limit_bytes": 9_000, "bandwidth": "1Gbit", "probability": 1}
    scene.configure(0, "red", **drops)
    scene.core.device.shape(rate=RATE * 0.05, burst=3000)
    scene.at = scene.core.now_ns + 1000
    for _ in range(1500):
        scene.send(scene.frame(60, 0, 0), scene.at)
        scene.at += 84 * 32 // 5
    scene.core.run_until(scene.at + 10_000)
    scene.configure(0, "drop-tail", limit_packets=CELLS + 1)
    scene.core.device.shape(rate=1e6, burst=3000)
    scene.at = scene.core.now_ns + 1000
    for _ in range(CELLS + 40):
        scene.send(scene.frame(60, 0, 0), scene.at)
        scene.at += 84 * 32 // 5
    scene.core.run_until(scene.at + 10_000)
    device = scene.core.device
    device.snapshot()
    counters = device.counters(0)
    assert counters.early.packets + counters.forced.packets > CELLS + 1
    assert CELLS - 4 <= device.live(0).packets <= CELLS


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_decisions_of_a_backlog_follow_each_other_as_the_page_says(form: int) -> None:
    """Cycles from s0 to s0 while arrivals wait, without idle time (serial-decision.md, Timing)."""
    scene = Serial(form)
    policy, natural = FORMS[form]
    if policy == "red" and natural.get("unit") is None:
        natural = natural | {"min": 300, "max": 3_000, "weight": 0.5, "probability": 0.05}
    for queue in range(QUEUES):
        scene.configure(queue, policy, **natural)
    scene.core.device.shape(rate=RATE / 5, burst=3000)
    at = scene.core.now_ns + 1000
    for _ in range(40):
        for n in range(20):
            scene.send(scene.frame(60, scene.rng.randrange(QUEUES), scene.rng.randrange(4)), at + n * 68)
        at += 20 * 90 * 32 // 5
    scene.core.run_until(at)
    scene.collect()
    arrivals = sorted((r for r in scene.records() if not r.departure), key=lambda r: r.number)
    between = [b.at - a.at for a, b in pairwise(arrivals) if not a.idle_slots]
    longest = max(cycles for cycles in between if cycles < 2 * MINIMUM)
    least, most = (
        (60, 84) if "bytemode" in natural else {"drop-tail": (7, 14), "dt-ecn": (17, 20), "red": (48, 66)}[policy]
    )
    assert least <= longest <= most

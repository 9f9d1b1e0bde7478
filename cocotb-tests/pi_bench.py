"""What the benches of PIE and PI2 share: ports, configuration, time, and the rules that every tick must keep."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter, deque
from dataclasses import dataclass
from random import Random
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from golden.pi import TIME, Deadlines, Gain
from policy_bench import leave_without_effect

SEED = int(os.environ["WEIR_SEED"])
QUEUES = 4
CYCLE_NS = 6
#: of `c.fastLatency` in the unit's build
LATENCY = 10
#: cycles after which a deadline that has passed must have its tick begun, ticks of the other queues included
PATIENCE = QUEUES * 140
#: cycles after the last event in which `busy` must fall: two rounds, after a tick that came to nothing
SETTLES = 2 * 5 * QUEUES + 10 + 62


@dataclass(frozen=True)
class Request:
    """`PolicyRequest`, what these policies read of it."""

    queue: int
    bytes: int
    packets: int
    ecn: int
    draw: int


@dataclass(frozen=True)
class Departure:
    """`PolicyDeparture`, what these policies read of it."""

    queue: int
    sojourn: int
    packets: int
    ecn: int = 0


def any_bits(rng: Random, bits: int) -> int:
    """Any register value, the ends often."""
    top = (1 << bits) - 1
    return rng.choice(
        [0, 1, top, top - 1, 1 << bits - 1, rng.getrandbits(bits), rng.getrandbits(rng.randrange(1, bits + 1))]
    )


def any_gain(rng: Random) -> Gain:
    """Any bit pattern."""
    return Gain(any_bits(rng, 18), any_bits(rng, 6))


class PiBench(ABC):
    """Drives one cycle after the other and keeps what both policies have in common.

    Within a cycle: request, departure, emptied, applied, clear; delays follow a cycle later. A subclass keeps the models.
    """

    policy = 0

    def __init__(self, dut: Any, seed: int, models: list[Any], params: list[Any]) -> None:
        """`models` and `params`: a golden model and its registers for each queue."""
        self.dut = dut
        self.rng = Random(seed)
        self.models = models
        self.params = params
        self.level = [0.5] * QUEUES
        self.now = self.rng.getrandbits(40)
        self.n = 0
        self.selected = (1 << QUEUES) - 1
        self.deadlines: list[Deadlines] = [m.deadlines for m in models]
        self.due_since: list[int | None] = [None] * QUEUES
        self.held = [0] * QUEUES
        self.held_since = [-100] * QUEUES
        self.requested = [-100] * QUEUES
        self.writes: deque[tuple[int, int, int]] = deque()
        self.expected: deque[tuple[int, Any, tuple[int, ...]]] = deque()
        self.log: dict[int, int] = {}
        self.history: dict[int, list[int]] = {}
        self.story: deque[str] = deque(maxlen=20)
        self.before: list[int] = [0] * QUEUES
        self.appeared: set[int] = set()
        self.event = 0
        self.tick_cycle = 0
        self.seen: Counter[object] = Counter()

    # ---- for the subclass

    def delays(self) -> list[int]:
        """Each queue's delay in the models."""
        return [m.delay.ns for m in self.models]

    def interval(self, queue: int) -> int:
        """The queue's interval register."""
        return int(self.params[queue].interval)

    @abstractmethod
    def on_request(self, request: Request) -> tuple[int, ...]:
        """The verdict: action, cause, average, count, probability, idleSlots."""

    @abstractmethod
    def on_departure(self, departure: Departure) -> None:
        """A packet has left."""

    @abstractmethod
    def on_emptied(self, queue: int) -> None:
        """A queue is empty."""

    @abstractmethod
    def on_tick(self, queue: int, delays: list[int]) -> tuple[int, ...] | None:
        """The record's words of a tick that found these delays."""

    @abstractmethod
    def on_clear(self, queue: int) -> None:
        """The queue's state starts anew."""

    @abstractmethod
    def words(self, queue: int) -> dict[int, int]:
        """The queue's words by offset, from the models' parameters."""

    def ticks(self, queue: int) -> bool:
        """Whether the queue has ticks at all."""
        return True

    def sample_more(self) -> None:  # noqa: B027 (optional)
        """Compare outputs that only this policy has."""

    # ---- one cycle

    async def start(self) -> None:
        """Clock and reset with every input at 0."""
        dut = self.dut
        for name in INPUTS:
            getattr(dut, name).value = 0
        dut.selected.value = self.selected
        dut.copying.value = 1
        Clock(dut.clk, 2, "ns").start()
        await self.reset()
        for queue in range(QUEUES):
            self.held[queue] = 1
            self.writes.extend((queue, at // 4, data) for at, data in self.words(queue).items())
        while self.writes:
            await self.cycle()
        self.held = [0] * QUEUES
        await self.cycle(applied=(1 << QUEUES) - 1, clear=(1 << QUEUES) - 1)

    async def reset(self) -> None:
        """The models must be new as well."""
        self.dut.rst.value = 1
        for _ in range(3):
            await FallingEdge(self.dut.clk)
        self.dut.rst.value = 0

    def _sample(self) -> None:
        dut = self.dut
        due = bool(self.expected) and self.expected[0][0] == self.n
        assert int(dut.verdict_valid.value) == due, f"cycle {self.n}: verdict_valid, expected {due}"
        if due:
            _, request, wanted = self.expected.popleft()
            p = "verdict_payload_"
            got = tuple(
                int(getattr(dut, p + name).value)
                for name in (
                    "action",
                    "cause",
                    "evidence_average",
                    "evidence_count",
                    "evidence_probability",
                    "evidence_idleSlots",
                )
            )
            assert got == wanted, f"cycle {self.n}: {got}, expected {wanted}; {request}"
            self.seen["action", wanted[0], "cause", wanted[1], "ecn", request.ecn] += 1
        if int(dut.tick_valid.value):
            self._tick()
        self._check_times()
        self.sample_more()

    def _tick(self) -> None:
        dut = self.dut
        queue, at = int(dut.tick_payload_queue.value), int(dut.tick_payload_nowNs.value)
        assert int(dut.tick_payload_policy.value) == self.policy
        assert at in self.log, f"cycle {self.n}: a tick of {at}, which no recent cycle had"
        # the delay is taken two cycles after the time
        cycle = self.log[at] + 2
        delays, self.tick_cycle = self.history[cycle], cycle
        deadline, interval = self.deadlines[queue], self.interval(queue)
        assert deadline.due(at, interval), (
            f"cycle {self.n}: queue {queue} ticked at {at}, due {deadline.deadline(interval)}\n"
            + "\n".join(x for x in self.story)
        )
        # in the cycle of an apply's first word it may still count
        assert not self.held[queue] or self.n == self.held_since[queue] + 1, (
            f"cycle {self.n}: a tick of a queue that is being configured"
        )
        late = (at - deadline.deadline(interval)) % TIME >= max(interval, 4096)
        self.seen["late ticks"] += late
        deadline.taken(at, interval)
        self.due_since[queue] = None
        self.story.append(f"{self.n} tick {queue} at {at} base {deadline.base}")
        wanted = self.on_tick(queue, delays)
        got = tuple(int(getattr(dut, f"tick_payload_words_{i}").value) for i in range(4))
        assert got == wanted, f"cycle {self.n}: tick of queue {queue}: {got}, expected {wanted}"
        self.seen["ticks"] += 1
        self.seen["cycles of a tick"] = max(self.seen["cycles of a tick"], self.n - cycle)
        self.event = self.n

    def _check_times(self) -> None:
        """Ticks come in time; `wake` is the earliest deadline whenever `busy` is low."""
        active = [q for q in range(QUEUES) if self.selected >> q & 1 and self.ticks(q) and self.deadlines[q].awake]
        for q in range(QUEUES):
            if q in active and not self.held[q] and self.deadlines[q].due(self.now, self.interval(q)):
                if self.due_since[q] is None:
                    self.due_since[q] = self.n
                waited = self.n - (self.due_since[q] or 0)
                assert waited <= PATIENCE, f"cycle {self.n}: queue {q} has been due for {waited} cycles"
            else:
                self.due_since[q] = None
        busy = int(self.dut.busy.value)
        if busy:
            idle = self.n - self.event
            some_due = any(since is not None for since in self.due_since)
            assert some_due or idle <= SETTLES, f"cycle {self.n}: busy {idle} cycles after the last event"
            return
        if any(self.held):
            return
        assert int(self.dut.wake_valid.value) == bool(active), f"cycle {self.n}: wake_valid, awake: {active}"
        if active:
            wake = int(self.dut.wake_payload.value)
            deadlines = [self.deadlines[q].deadline(self.interval(q)) for q in active]
            first = min(deadlines, key=lambda d: (d - self.now + (TIME >> 1)) % TIME)
            assert wake == first, f"cycle {self.n}: wake {wake}, expected {first}"
        self.seen["wake compared"] += 1

    def _delays(self, request: Request | None, departure: Departure | None, emptied: int | None) -> None:
        """What happened a cycle ago to the delays."""
        if request is not None and request.packets == 0:
            self.on_emptied(request.queue)
        if departure is not None:
            if departure.sojourn and departure.packets and departure.queue != emptied:
                self.appeared.add(departure.queue)
                self.event = self.n
                self.on_departure(departure)
            else:
                self.on_emptied(departure.queue)
        if emptied is not None:
            self.on_emptied(emptied)

    last: tuple[Request | None, Departure | None, int | None] = (None, None, None)

    async def cycle(
        self,
        request: Request | None = None,
        departure: Departure | None = None,
        emptied: int | None = None,
        applied: int = 0,
        clear: int = 0,
    ) -> None:
        """Drive this cycle's inputs, let the models follow, compare the next cycle's outputs."""
        dut = self.dut
        dut.nowNs.value = self.now
        self.before = self.delays()
        self.log[self.now] = self.n
        self.history[self.n] = self.before
        if len(self.log) > 400:
            del self.log[next(iter(self.log))]
            self.history.pop(self.n - 400, None)
        self.appeared.clear()
        leave_without_effect(dut)
        dut.request_valid.value = request is not None
        if request is not None:
            dut.request_payload_queue.value = request.queue
            dut.request_payload_nowNs.value = self.now
            dut.request_payload_bytes.value = request.bytes
            dut.request_payload_packets.value = request.packets
            dut.request_payload_empty.value = request.packets == 0
            dut.request_payload_ecn.value = request.ecn
            dut.request_payload_draw.value = request.draw
            self.requested[request.queue] = self.n
            self.expected.append((self.n + LATENCY, request, self.on_request(request)))
        dut.departure_valid.value = departure is not None
        if departure is not None:
            dut.departure_payload_queue.value = departure.queue
            dut.departure_payload_nowNs.value = self.now
            dut.departure_payload_sojournNs.value = departure.sojourn
            dut.departure_payload_packets.value = departure.packets
            dut.departure_payload_ecn.value = departure.ecn
        dut.emptied.value = 0 if emptied is None else 1 << emptied
        self._delays(*self.last)
        self.last = (request, departure, emptied)
        dut.config_valid.value = bool(self.writes)
        if self.writes:
            queue, word, data = self.writes.popleft()
            dut.config_payload_queue.value = queue
            dut.config_payload_word.value = word
            dut.config_payload_data.value = data
        dut.applied.value, dut.clear.value = applied, clear
        for q in range(QUEUES):
            if clear >> q & 1:
                self.on_clear(q)
            if (applied | clear) >> q & 1:
                self.deadlines[q].start(self.now)
                self.story.append(f"{self.n} apply {q} {self.now}")
                self.event = self.n
                self.due_since[q] = None
        await FallingEdge(dut.clk)
        self.n += 1
        self.now = (self.now + CYCLE_NS) % TIME
        self._sample()

    async def rest(self, cycles: int) -> None:
        """Nothing but time."""
        for _ in range(cycles):
            await self.cycle()


INPUTS = [
    "nowNs", "config_valid", "config_payload_queue", "config_payload_word", "config_payload_data", "selected", "copying",
    *(f"unit_{q}" for q in range(QUEUES)), "applied", "clear", "left_valid", "left_payload_queue",
    "left_payload_nowNs", "emptied", "request_valid", "request_payload_queue",
    "request_payload_policy", "request_payload_nowNs", "request_payload_length", "request_payload_bytes",
    "request_payload_packets", "request_payload_frames", "request_payload_empty", "request_payload_ecn",
    "request_payload_draw", "commit_valid", "commit_payload_queue", "commit_payload_length",
    "commit_payload_acts",
    "departure_valid", "departure_payload_queue", "departure_payload_nowNs", "departure_payload_sojournNs",
    "departure_payload_length", "departure_payload_ecn", "departure_payload_exempt", "departure_payload_bytes",
    "departure_payload_packets",
]  # fmt: skip

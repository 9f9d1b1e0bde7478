"""Bench of Ewma alone: average, differences to the thresholds and idle slots four cycles after each request."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from golden.ewma import SLOTS_MAX, Average, Ewma, idle_factor, idle_slots
from golden.params import ONE36, RedParams
from policy_bench import (
    CYCLE_NS,
    QUEUES,
    SEED,
    STYLES,
    TIME,
    ConfigFlow,
    Counter,
    Request,
    Stimulus,
    Style,
    preload_params,
    red_words,
    reset,
)

LATENCY = 4
FIELDS = ("length", "bytes", "packets", "frames", "ecn", "draw")


def _signed(value: int, bits: int) -> int:
    return value & (1 << bits) - 1


class Bench:
    """The RTL and four golden averages side by side. Within a cycle: request, clear."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut = dut
        self.rng = Random(seed)
        self.models = [Ewma() for _ in range(QUEUES)]
        self.params = [RedParams() for _ in range(QUEUES)]
        self.units = [0] * QUEUES
        self.now, self.n = 0, 0
        self.expected: deque[tuple[int, Request, Average]] = deque()
        self.seen: Counter[str] = Counter()

    async def start(self) -> None:
        """Reset with every input at 0."""
        dut = self.dut
        for signal in (dut.request_valid, dut.request_payload_policy, dut.clear):
            signal.value = 0
        self.config = ConfigFlow(dut)
        self._request(Request(0, 0, 0, 0, 0, 0, 0, 0))
        await reset(dut)
        for q in range(QUEUES):
            await self.configure(q, self.params[q], 0)

    def _sample(self) -> None:
        dut = self.dut
        if self.expected and self.expected[0][0] == self.n:
            _, request, want = self.expected.popleft()
            params = self.params[request.queue]
            low, high = params.minimum << 11, params.maximum << 11
            got = tuple(
                int(s.value) for s in (dut.average, dut.belowMinimum, dut.belowMaximum, dut.belowDouble, dut.idleSlots)
            )
            wanted = (
                want.average,
                _signed(want.average - low, 44),
                _signed(want.average - high, 44),
                _signed(want.average - 2 * high, 45),
                want.idle_slots,
            )
            assert got == wanted, f"cycle {self.n}: {got}, expected {wanted}; {request}; {params}"
            self.seen["updates"] += 1
            self.seen["decayed"] += want.idle_slots > 0
            self.seen["at once"] += request.empty and not want.idle_slots
            self.seen["saturated"] += want.idle_slots == SLOTS_MAX

    def _request(self, request: Request) -> None:
        """The request's ports and, as IdleDecay gives it, the factor; any if the queue is not empty."""
        dut, rng, q = self.dut, self.rng, request.queue
        for field in FIELDS:
            getattr(dut, f"request_payload_{field}").value = getattr(request, field)
        dut.request_payload_queue.value, dut.request_payload_nowNs.value = q, request.now_ns
        dut.request_payload_empty.value, dut.request_payload_policy.value = request.empty, rng.getrandbits(4)
        dut.quantity.value = request.quantity(self.units[q])
        dut.factor_slots.value, dut.factor_retained.value = rng.getrandbits(22), rng.getrandbits(36)
        if request.empty:
            # by the logarithm: from none to more than 2^22 slots
            idle = int(2 ** (48 * rng.random())) - 1 if rng.random() < 0.9 else 0
            self.models[q].left((request.now_ns - idle) % TIME)
            slots = idle_slots(idle, self.params[q])
            dut.factor_slots.value = slots
            if self.params[q].weight != ONE36:  # nothing is retained with w = 1, whatever the factor
                dut.factor_retained.value = idle_factor(slots, self.params[q])

    async def cycle(self, request: Request | None = None, clear: int = 0) -> None:
        """Drive the inputs of this cycle, go on to the next and compare its outputs. `clear`: a bit a queue."""
        dut = self.dut
        dut.request_valid.value = request is not None
        if request is not None:
            q = request.queue
            self._request(request)
            want = self.models[q].request(
                request.now_ns, request.packets, request.quantity(self.units[q]), self.params[q]
            )
            self.expected.append((self.n + LATENCY, request, want))
        dut.clear.value = clear
        for q in range(QUEUES):
            if clear >> q & 1:
                self.models[q].clear()
        await FallingEdge(dut.clk)
        self.n += 1
        self.now = (self.now + CYCLE_NS) % TIME
        self._sample()

    async def drain(self) -> None:
        """Let everything in flight end."""
        for _ in range(LATENCY + 2):
            await self.cycle()
        for q in range(QUEUES):
            assert int(getattr(self.dut, f"live_{q}").value) == self.models[q].average

    async def configure(self, queue: int, params: RedParams, unit: int) -> None:
        """Registers of a queue; nothing may be in flight."""
        self.params[queue], self.units[queue] = params, unit
        await self.config.write(queue, red_words(params, self.rng), self.cycle)

    async def phase(self, style: Style, requests: int) -> None:
        """One set of registers, `requests` requests in the style's manner."""
        rng = self.rng
        stimulus = Stimulus(style, rng)
        if style.start_ns is not None:
            self.now = style.start_ns
        for q in range(QUEUES):
            await self.configure(q, preload_params(stimulus.params[q]), stimulus.units[q])
            await self.cycle(replace(stimulus.request(q, self.now), packets=1))
            await self.drain()
            await self.configure(q, stimulus.params[q], stimulus.units[q])
        wait = 0
        while requests:
            if rng.random() < style.jump:
                self.now = (self.now + int(2 ** (47 * rng.random()))) % TIME
            request = None
            if wait <= 0:
                request = stimulus.request(rng.choice(style.queues), self.now)
                requests -= 1
                wait = rng.choice(style.gaps)
            wait -= 1
            await self.cycle(request, 1 << rng.choice(style.queues) if rng.random() < 0.003 else 0)
        await self.drain()


async def _run(dut: Any, name: str, phases: int, requests: int) -> Bench:
    bench = Bench(dut, SEED * 1000 + sorted(STYLES).index(name))
    await bench.start()
    for _ in range(phases):
        await bench.phase(STYLES[name], requests)
    dut._log.info(f"{dict(bench.seen)}")
    assert bench.seen["updates"] >= phases * requests
    return bench


@cocotb.test()
async def updates_every_4_cycles(dut: Any) -> None:
    await _run(dut, "mixed_queues_every_4_cycles", 30, 200)


@cocotb.test()
async def updates_of_one_queue_every_4_cycles(dut: Any) -> None:
    """The hardest: each update needs the one before it."""
    await _run(dut, "one_queue_every_4_cycles", 30, 200)


@cocotb.test()
async def idle_queues_decay(dut: Any) -> None:
    for name in ("empty_queues_close", "one_empty_queue_every_4_cycles", "empty_queues"):
        bench = await _run(dut, name, 20, 200)
        assert bench.seen["decayed"] > 500 and bench.seen["at once"] > 100 and bench.seen["saturated"]


@cocotb.test()
async def any_register_value(dut: Any) -> None:
    bench = await _run(dut, "hostile_registers", 80, 100)
    assert bench.seen["decayed"]

"""Bench of Ewma alone: average, differences to the thresholds and idle slots four cycles after each request."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from golden.ewma import SLOTS_MAX, Average, Ewma
from golden.params import RedParams
from policy_bench import (
    CYCLE_NS,
    HINT_CYCLES,
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


def _signed(value: int, bits: int) -> int:
    return value & (1 << bits) - 1


class Bench:
    """The RTL and four golden averages side by side. Within a cycle: request, emptied, forget, withdraw, applied, hint, clear."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut = dut
        self.rng = Random(seed)
        self.models = [Ewma() for _ in range(QUEUES)]
        self.params = [RedParams() for _ in range(QUEUES)]
        self.units = [0] * QUEUES
        self.now, self.n = 0, 0
        self.expected: deque[tuple[int, Request, Average]] = deque()
        self.hints: list[list[int]] = [[] for _ in range(QUEUES)]
        self.stalled = [False] * QUEUES
        self.seen: Counter[str] = Counter()

    async def start(self) -> None:
        """Reset with every input at 0."""
        dut = self.dut
        for signal in (
            dut.hint_valid,
            dut.hint_payload,
            dut.withdraw,
            dut.forget,
            dut.emptied,
            dut.applied,
            dut.nowNs,
            dut.request_valid,
            dut.clear,
            dut.quantity,
            dut.request_payload_queue,
            dut.request_payload_nowNs,
            dut.request_payload_packets,
            dut.request_payload_empty,
        ):
            signal.value = 0
        self.config = ConfigFlow(dut)
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
            self.seen["saturated"] += want.idle_slots == SLOTS_MAX
        stall = int(dut.stall.value)
        for q in range(QUEUES):
            self.stalled[q] = bool(stall >> q & 1)
            if self.stalled[q]:
                assert self.hints[q], f"cycle {self.n}: stall({q}) without a hint that is not stale"
                age = self.n - self.hints[q][0]
                assert age <= HINT_CYCLES, f"cycle {self.n}: stall({q}) {age} cycles after its hint"

    async def cycle(
        self,
        request: Request | None = None,
        hint: int | None = None,
        emptied: int = 0,
        clear: int = 0,
        withdraw: bool = False,
        applied: int = 0,
        forget: bool = False,
    ) -> None:
        """Drive the inputs of this cycle, go on to the next and compare its outputs. A bit a queue: `emptied`, `clear`,
        `applied`."""
        dut = self.dut
        dut.nowNs.value = self.now
        dut.request_valid.value = request is not None
        if request is not None:
            q = request.queue
            quantity = request.quantity(self.units[q])
            dut.request_payload_queue.value = q
            dut.request_payload_nowNs.value = request.now_ns
            dut.request_payload_packets.value = request.packets
            dut.request_payload_empty.value = request.empty
            dut.quantity.value = quantity
            self.expected.append(
                (
                    self.n + LATENCY,
                    request,
                    self.models[q].request(request.now_ns, request.packets, quantity, self.params[q]),
                )
            )
            self.hints[q].clear()
        dut.emptied.value, dut.withdraw.value, dut.applied.value = emptied, withdraw, applied
        dut.forget.value = forget
        for q, model in enumerate(self.models):
            if forget:
                self.seen["forgotten"] += len(self.hints[q])
                model.forget()
                self.hints[q].clear()
            if emptied >> q & 1:
                model.emptied(self.now)
                self.hints[q].clear()
            if withdraw and model.withdraw():
                self.hints[q].pop()
                self.seen["withdrawn"] += 1
            if model.again and hint is None:
                model.compute_again(self.now, self.params[q])
                self.hints[q] = [self.n]
                self.seen["computed again"] += 1
            if applied >> q & 1:
                model.applied()
                self.hints[q] = [self.n] if self.hints[q] else []
            if hint not in (None, q):
                model.other_hint()
        dut.hint_valid.value = hint is not None
        if hint is not None:
            dut.hint_payload.value = hint
            if self.models[hint].again:
                self.hints[hint].clear()
                self.seen["joined"] += 1
            self.models[hint].hint(self.now, self.params[hint])
            self.hints[hint].append(self.n)
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
        for _ in range(HINT_CYCLES + 6):
            await self.cycle()
        for q in range(QUEUES):
            assert int(getattr(self.dut, f"live_{q}").value) == self.models[q].average

    async def configure(self, queue: int, params: RedParams, unit: int) -> None:
        """Registers of a queue; nothing may be in flight."""
        self.params[queue], self.units[queue] = params, unit
        await self.config.write(queue, red_words(params, self.rng), self.cycle)

    def _emptied(self, style: Style, request: Request | None) -> int:
        """Queues that become empty in a cycle: none, one, or two."""
        rng = self.rng
        if rng.random() >= style.emptied:
            return 0
        emptied = 1 << rng.choice(style.queues) | (1 << rng.choice(style.queues) if rng.random() < 0.3 else 0)
        if request is not None and request.packets == 0:
            emptied &= ~(1 << request.queue)
        return emptied

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
                if request.packets == 0 and self.stalled[request.queue]:
                    self.seen["stalled"] += 1
                    request = None
            if request is not None:
                requests -= 1
                wait = rng.choice(style.gaps)
            wait -= 1
            hint = rng.choice(style.queues) if rng.random() < style.hints else None
            emptied = self._emptied(style, request)
            clear = 1 << rng.choice(style.queues) if rng.random() < 0.003 else 0
            await self.cycle(request, hint, emptied, clear)
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
    # the same queue is the hardest: each update needs the one before it


@cocotb.test()
async def updates_of_one_queue_every_4_cycles(dut: Any) -> None:
    await _run(dut, "one_queue_every_4_cycles", 30, 200)


@cocotb.test()
async def idle_queues_decay(dut: Any) -> None:
    bench = await _run(dut, "empty_queues", 40, 200)
    assert bench.seen["decayed"] > 500 and bench.seen["saturated"] and bench.seen["stalled"]


@cocotb.test()
async def any_register_value(dut: Any) -> None:
    bench = await _run(dut, "hostile_registers", 80, 100)
    assert bench.seen["decayed"]


@cocotb.test()
async def time_wraps(dut: Any) -> None:
    bench = await _run(dut, "time_wraps", 40, 100)
    assert bench.seen["decayed"]


@cocotb.test()
async def hints_in_every_cycle(dut: Any) -> None:
    """Hints of random queues without a pause; the oldest that is not stale counts."""
    bench = Bench(dut, SEED)
    await bench.start()
    style = Style(gaps=(4, 5, 9, 14, 30), empty=0.7, hints=1.0, emptied=0.05, jump=0.05)
    for _ in range(20):
        await bench.phase(style, 100)
    assert bench.seen["decayed"] > 100


@cocotb.test()
async def applies_and_frames_that_do_not_come(dut: Any) -> None:
    """Words change with hints of the queue before, during and after it; frames take their hints back. Meanwhile the
    other queues go on. A request never uses old words, nor the header of a frame that did not come."""
    bench = Bench(dut, SEED)
    await bench.start()
    rng, style = bench.rng, Style(empty=0.8, hints=0.2, emptied=0.03)
    for _ in range(25):
        stimulus = Stimulus(style, rng)
        for q in range(QUEUES):
            await bench.configure(q, preload_params(stimulus.params[q]), stimulus.units[q])
            await bench.cycle(replace(stimulus.request(q, bench.now), packets=1))
            await bench.drain()
            await bench.configure(q, stimulus.params[q], stimulus.units[q])
        writes: deque[tuple[int, int]] = deque()
        changing, since, wait, open_ = -1, 0, 0, False
        for n in range(1500):
            if rng.random() < 0.05:
                bench.now = (bench.now + int(2 ** (rng.choice((12, 20, 40)) * rng.random()))) % TIME
            applied = 0
            if changing < 0 and rng.random() < 0.02 and n < 1400:
                changing, since = rng.randrange(QUEUES), n
                new = Stimulus(style, rng).params[changing]
                writes.extend(sorted(red_words(new, rng).items()))
            bench.config.idle()
            if changing >= 0 and n > since + LATENCY and writes:
                word, data = writes.popleft()
                dut.config_valid.value, dut.config_payload_queue.value = 1, changing
                dut.config_payload_word.value, dut.config_payload_data.value = word // 4, data
            elif changing >= 0 and n > since + LATENCY:
                applied, bench.params[changing] = 1 << changing, new
            request = None
            if wait <= 0:
                request = stimulus.request(rng.randrange(QUEUES), bench.now)
                if request.queue == changing or request.packets == 0 and bench.stalled[request.queue]:
                    request = None
                else:
                    wait = rng.choice((4, 5, 9, 30))
            wait -= 1
            hint = rng.randrange(QUEUES) if rng.random() < (0.5 if applied else style.hints) else None
            withdraw = open_ and rng.random() < (0.3 if hint is not None or applied else 0.05)
            forget = rng.random() < 0.01
            await bench.cycle(request, hint, bench._emptied(style, request), 0, withdraw, applied, forget)
            open_ = hint is not None or open_ and not withdraw
            if applied:
                changing = -1
        await bench.drain()
    seen = bench.seen
    dut._log.info(f"{dict(seen)}")
    assert (
        min(seen["decayed"], seen["withdrawn"], seen["computed again"], seen["forgotten"]) > 100 and seen["joined"] > 20
    )


@cocotb.test()
async def an_apply_counts_for_a_frame_that_is_coming_in(dut: Any) -> None:
    """One slot a ns before the apply, one in 16 ns after it; w = 1/2. At the apply the hint is in each of its stages, or
    done. What is expected is arithmetic: 1024, halved for every 16 ns since the queue became empty, and for the request."""
    bench = Bench(dut, SEED)
    await bench.start()
    fast = RedParams(weight=1 << 35, decay=1 << 36, idle_mantissa=1, idle_exponent=0)
    slow = replace(fast, idle_mantissa=1 << 12, idle_exponent=16)
    words = sorted(red_words(slow, bench.rng).items())
    writes = [words[0], *words]
    for age in range(1, len(writes) + 1):
        q = age % QUEUES
        await bench.configure(q, preload_params(fast), 0)
        await bench.cycle(Request(q, bench.now, 64, 1024, 1, 1, 0, 0))
        await bench.drain()
        await bench.configure(q, fast, 0)
        begin = bench.now
        await bench.cycle(emptied=1 << q)
        for n, (word, data) in enumerate(writes):
            dut.config_valid.value, dut.config_payload_queue.value = 1, q
            dut.config_payload_word.value, dut.config_payload_data.value = word // 4, data
            await bench.cycle(hint=q if len(writes) - n == age else None)
        bench.config.idle()
        bench.params[q] = slow
        await bench.cycle(applied=1 << q)
        idle = bench.now - begin
        assert bench.stalled[q], "the arrival has to wait"
        while bench.stalled[q]:
            await bench.cycle()
        await bench.cycle(Request(q, bench.now, 64, 0, 0, 0, 0, 0))
        await bench.drain()
        assert int(getattr(dut, f"live_{q}").value) >> 22 == 1024 >> 1 + (idle >> 4) > 0
    assert len(writes) > HINT_CYCLES

"""Bench of IdleDecay alone: the factor of every request that finds its queue empty, 12 cycles later, bit for bit."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from golden.ewma import SLOTS_MAX, idle_factor, idle_slots, idle_time
from golden.params import RedParams, adversarial, decay_of, plausible
from policy_bench import CYCLE_NS, DECAY_CYCLES, QUEUES, SEED, TIME, ConfigFlow, Counter, red_words, reset

PAYLOAD = {
    "policy": 4, "length": 14, "bytes": 21, "packets": 16, "frames": 16, "ecn": 2, "draw": 24,
}  # fmt: skip
"""what a request says besides its queue, its time and whether it found the queue empty, in bits: without effect here"""


def _any_registers(rng: Random) -> RedParams:
    """Registers as a host writes them, extreme ones, or any bits of those that matter; the weight does not."""
    kind = rng.randrange(3)
    if kind < 2:
        params = plausible(rng, 1 << 18) if kind else adversarial(rng)
    else:
        params = RedParams(
            decay=rng.getrandbits(rng.randrange(1, 43)),
            idle_mantissa=rng.getrandbits(18),
            idle_exponent=rng.getrandbits(6),
        )
    return replace(params, weight=min(params.weight, (1 << 36) - 1))


class Bench:
    """The RTL, and since when each queue has been idle. A packet never leaves a queue in the cycle of a request that
    finds it empty, nor in the cycle before."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = Random(SEED)
        self.params = [RedParams()] * QUEUES
        self.since = [0] * QUEUES
        #: what began the idle time, the cycle of the last departure and of the last request
        self.cause = ["reset"] * QUEUES
        self.left_at, self.asked_at = [-100] * QUEUES, [-100] * QUEUES
        self.now, self.n = 0, 0
        self.expected: deque[tuple[int, tuple[int, int]]] = deque()
        self.seen: Counter[object] = Counter()

    async def start(self) -> None:
        """Reset, then the registers of every queue."""
        dut = self.dut
        for signal in (dut.left_valid, dut.request_valid):
            signal.value = 0
        self.config = ConfigFlow(dut)
        await reset(dut)
        for q in range(QUEUES):
            await self.configure(q, _any_registers(self.rng))

    async def configure(self, queue: int, params: RedParams) -> None:
        """Registers of a queue; nothing of it may be in flight."""
        self.params[queue] = params
        await self.config.write(queue, red_words(params, self.rng), self.cycle)

    async def cycle(
        self, left: tuple[int, int] | None = None, request: tuple[int, int] | None = None, empty: bool = True
    ) -> None:
        """One cycle. `left`, `request`: queue and time."""
        dut, rng = self.dut, self.rng
        dut.left_valid.value, dut.request_valid.value = left is not None, request is not None
        q, at = request or (rng.randrange(QUEUES), rng.getrandbits(48))
        dut.request_payload_queue.value, dut.request_payload_nowNs.value = q, at
        dut.request_payload_empty.value = empty
        for name, width in PAYLOAD.items():
            getattr(dut, f"request_payload_{name}").value = rng.getrandbits(width)
        if request is not None and empty:
            assert self.n - self.left_at[q] > 1
            idle = idle_time(self.since[q], at)
            slots = idle_slots(idle, self.params[q])
            factor = idle_factor(slots, self.params[q])
            self.expected.append((self.n + DECAY_CYCLES, (slots, factor)))
            self._cover(q, at, slots, factor)
            self.since[q], self.cause[q], self.asked_at[q] = at, "request", self.n
        q, at = left or (rng.randrange(QUEUES), rng.getrandbits(48))
        dut.left_payload_queue.value, dut.left_payload_nowNs.value = q, at
        if left is not None:
            self.since[q], self.cause[q], self.left_at[q] = at, "left", self.n
        await FallingEdge(dut.clk)
        self.n += 1
        self.now = (self.now + CYCLE_NS) % TIME
        if self.expected and self.expected[0][0] == self.n:
            want = self.expected.popleft()[1]
            got = int(dut.factor_slots.value), int(dut.factor_retained.value)
            assert got == want, f"cycle {self.n}: (slots, retained) = {got}, expected {want}"

    def _cover(self, q: int, at: int, slots: int, factor: int) -> None:
        seen = self.seen
        seen["requests"] += 1
        seen["since", self.cause[q]] += 1
        seen["wraps"] += at < self.since[q]
        seen["saturated"] += slots == SLOTS_MAX
        seen["decays"] += slots > 0 and factor > 0
        seen["vanishes"] += factor == 0
        for p in range(QUEUES):
            if self.asked_at[p] > self.n - 4:
                seen["close", p == q, self.n - self.asked_at[p]] += 1

    async def drain(self) -> None:
        """Let everything in flight end."""
        for _ in range(DECAY_CYCLES + 1):
            await self.cycle()
        assert not self.expected

    async def play(self, cycles: int, queues: list[int], requests: float, leaves: float, jump: float) -> None:
        """Departures and requests of `queues` at random; now and then another queue's registers change meanwhile."""
        rng = self.rng
        for n in range(cycles):
            if rng.random() < jump:
                self.now = (self.now + int(2 ** (47 * rng.random()))) % TIME
            left = request = None
            if rng.random() < leaves:
                # granted a while ago; any time for a queue that is not looked at
                left = rng.randrange(QUEUES), (self.now - rng.randrange(200)) % TIME
            empty = rng.random() < 0.9
            if rng.random() < requests:
                q = rng.choice(queues)
                if not empty or (self.n - self.left_at[q] > 1 and (left is None or left[0] != q)):
                    request = q, self.now
            await self.cycle(left, request, empty)
            others = [q for q in range(QUEUES) if self.n - self.asked_at[q] > DECAY_CYCLES]
            if others and n % 50 == 49:
                await self._change(rng.choice(others), queues)
        await self.drain()

    async def _change(self, queue: int, queues: list[int]) -> None:
        """New registers of a queue while the others go on."""
        new = _any_registers(self.rng)
        going = [q for q in queues if q != queue]
        words = sorted(red_words(new, self.rng).items())
        for offset, data in [*words, (0, None)]:
            self.config.idle()
            if data is not None:
                self.dut.config_valid.value, self.dut.config_payload_queue.value = 1, queue
                self.dut.config_payload_word.value, self.dut.config_payload_data.value = offset // 4, data
            q = self.rng.choice(going) if going else None
            await self.cycle(request=(q, self.now) if q is not None and self.n - self.left_at[q] > 1 else None)
        self.params[queue] = new


@cocotb.test()
async def any_registers_a_request_a_cycle(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for _ in range(60):
        await bench.play(200, [0, 1, 2, 3], requests=1.0, leaves=0.3, jump=0.1)
        for q in range(QUEUES):
            await bench.configure(q, _any_registers(bench.rng))
    seen = bench.seen
    dut._log.info(f"{dict(seen)}")
    assert min(seen["since", "left"], seen["since", "request"], seen["decays"], seen["vanishes"]) > 500
    assert seen["saturated"] > 100
    for same in (False, True):
        for apart in (1, 2, 3):
            assert seen["close", same, apart] > 200, (same, apart)


@cocotb.test()
async def one_queue_and_two(dut: Any) -> None:
    """Requests of the same queue in neighbouring cycles, and of two; departures of all."""
    bench = Bench(dut)
    await bench.start()
    for queues in ([2], [0, 3], [1, 2]):
        for requests, leaves in ((1.0, 0.05), (0.3, 0.3), (0.05, 0.6)):
            for _ in range(8):
                await bench.play(150, queues, requests, leaves, jump=0.1)
    assert min(bench.seen["since", "left"], bench.seen["since", "request"]) > 500


@cocotb.test()
async def time_wraps(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for _ in range(40):
        bench.now = TIME - bench.rng.randrange(600)
        await bench.play(200, [0, 1, 2, 3], requests=0.4, leaves=0.3, jump=0.0)
    assert bench.seen["wraps"] > 100


@cocotb.test()
async def idle_times_from_zero_to_the_whole_range(dut: Any) -> None:
    """The edges of all powers of two, each with a light, a middle and a heavy weight."""
    bench = Bench(dut)
    await bench.start()
    weights = [1 << 20, 137438953, 1 << 35, (1 << 36) - 1]
    for index, weight in enumerate(weights):
        await bench.configure(index, replace(plausible(bench.rng, 1 << 18), weight=weight, decay=decay_of(weight)))
    idles = sorted({(1 << k) + d for k in range(49) for d in (-1, 0, 1)} - {1 << 48, (1 << 48) + 1})
    for idle in idles:
        for q in range(QUEUES):
            await bench.cycle(left=(q, bench.now))
        bench.now = (bench.now + idle - QUEUES * CYCLE_NS) % TIME
        await bench.cycle()
        for q in range(QUEUES):
            await bench.cycle(request=(q, (bench.since[q] + idle) % TIME))
    await bench.drain()
    assert bench.seen["decays"] > 50 and bench.seen["saturated"] and bench.seen["vanishes"]


@cocotb.test()
async def halves_for_each_slot(dut: Any) -> None:
    """w = 1/2 and a slot of 16 ns: after m slots 2^-(m+1) is left, of all ones. A request that found the queue empty
    begins the idle time anew, whatever left before."""
    bench = Bench(dut)
    await bench.start()
    half = RedParams(weight=1 << 35, decay=1 << 36, idle_mantissa=1 << 12, idle_exponent=16)
    await bench.configure(1, half)
    for slots in range(36):
        for rest in (0, 15):
            start = bench.rng.getrandbits(48)
            await bench.cycle(left=(1, start - 1000 & TIME - 1))
            await bench.cycle()
            await bench.cycle(request=(1, start))
            await bench.drain()
            await bench.cycle(request=(1, (start + 16 * slots + rest) % TIME))
            for _ in range(DECAY_CYCLES - 1):
                await bench.cycle()
            got = int(dut.factor_slots.value), int(dut.factor_retained.value)
            assert got == (slots, (1 << 36) - 1 >> slots + 1)


@cocotb.test()
async def a_reset_forgets_departures_and_keeps_the_registers(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for _ in range(20):
        await bench.play(40, [0, 1, 2, 3], requests=0.5, leaves=0.5, jump=0.1)
        dut.rst.value = 1
        await bench.cycle(left=(bench.rng.randrange(QUEUES), bench.now))
        dut.rst.value = 0
        bench.since, bench.cause = [0] * QUEUES, ["reset"] * QUEUES
        await bench.cycle()
        for q in range(QUEUES):
            await bench.cycle(request=(q, bench.now))
        await bench.drain()
    assert bench.seen["since", "reset"] >= 80

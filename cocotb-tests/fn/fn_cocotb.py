"""Bench of Fn: every verdict against the golden Fn, bit for bit and to the cycle."""

from __future__ import annotations

import os
from collections import Counter, deque
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from fn_stimulus import BASES, hostile, plausible
from golden.fn import COUNT_MAX, DROP, ENTRIES, MARK, NONE, PERIOD, TIME, Fn, FnParams, Verdict
from policy_bench import leave_without_effect

SEED = int(os.environ["WEIR_SEED"])
QUEUES = 4
#: parameters whose change empties the window
RESTARTING = ("size", "base", "half_t2_mantissa", "half_t2_exponent")
LATENCY = 20
COUNT_STAGE = 12
QUANTITY_MAX = (1 << 21) - 1
REQUEST_PORTS = {
    "queue": "queue",
    "now_ns": "nowNs",
    "length": "length",
    "held": "bytes",
    "ecn": "ecn",
    "draw": "draw",
}
EVIDENCE = ("action", "cause", "evidence_average", "evidence_count", "evidence_probability", "evidence_idleSlots")


@dataclass(frozen=True)
class Request:
    """The fields of `PolicyRequest` that FN reads."""

    queue: int
    now_ns: int
    length: int
    held: int
    ecn: int
    draw: int


def words(params: FnParams) -> dict[int, int]:
    """The configuration words, by register offset / 4."""
    flags = (params.quadratic, params.uniform, params.byte_mode, params.ecn)
    return {
        0x080 // 4: sum(int(f) << n for n, f in enumerate(flags)),
        0x084 // 4: params.size | params.base << 16,
        0x088 // 4: params.t_mantissa | params.t_exponent << 24,
        0x08C // 4: params.room & 0xFFFFFFFF,
        0x090 // 4: params.room >> 32,
        0x094 // 4: params.mean_mantissa | params.mean_exponent << 24,
        0x098 // 4: params.half_t2_mantissa | params.half_t2_exponent << 24,
    }


class Bench:
    """Runs model and RTL side by side, one call of `cycle` a clock cycle."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut = dut
        self.rng = Random(seed)
        self.n = 0
        self.now = self.rng.getrandbits(48)
        self.params = [FnParams() for _ in range(QUEUES)]
        self.forget()
        self.seen: Counter[object] = Counter()
        self.request_ports = {name: getattr(dut, f"request_payload_{port}") for name, port in REQUEST_PORTS.items()}
        self.verdict_ports = [getattr(dut, f"verdict_payload_{name}") for name in EVIDENCE]

    def forget(self) -> None:
        """The models after a reset; nothing is in flight."""
        pool = [(0, 0)] * ENTRIES
        self.models = [Fn(pool) for _ in range(QUEUES)]
        self.counting: deque[tuple[int, Request]] = deque()
        self.expected: deque[tuple[int, Request, Verdict]] = deque()
        self.commit: tuple[Request, bool, bool] | None = None
        self.held: tuple[Request, bool, bool] | None = None
        self.requested = [-100] * QUEUES

    async def start(self) -> None:
        """Reset with every input at 0, then a first apply of every queue."""
        dut = self.dut
        for handle in (
            *self.request_ports.values(),
            *(getattr(dut, f"commit_payload_{n}") for n in ("queue", "length", "acts")),
            *(getattr(dut, f"config_payload_{n}") for n in ("queue", "word", "data")),
            *(getattr(dut, f"request_payload_{n}") for n in ("policy", "packets", "frames")),
            *(getattr(dut, f"{n}_valid") for n in ("request", "commit", "config", "left", "departure")),
            dut.clear,
            dut.applied,
            dut.nowNs,
        ):
            handle.value = 0
        dut.selected.value = (1 << QUEUES) - 1  # requests come from queues that run the policy
        dut.copying.value = 1
        Clock(dut.clk, 2, "ns").start()
        dut.rst.value = 1
        for _ in range(3):
            await FallingEdge(dut.clk)
        dut.rst.value = 0
        for q in range(QUEUES):
            await self.apply(q, FnParams(), clear=True)

    # ---- one cycle

    def _sample(self) -> None:
        due = bool(self.expected) and self.expected[0][0] == self.n
        valid = self.dut.verdict_valid.value
        assert int(valid) == due, f"cycle {self.n}: verdict_valid={valid}, expected {due}"
        self.commit = None
        if not due:
            return
        _, request, want = self.expected.popleft()
        got = tuple(int(port.value) for port in self.verdict_ports)
        wanted = (want.action, want.cause, want.average, want.count, want.probability, want.idle_slots)
        assert got == wanted, (
            f"cycle {self.n}: (action, cause, average, count, probability, fill) = {got}, expected {wanted}; "
            f"{request}; {self.params[request.queue]}; {want}"
        )
        self._cover(request, want)
        kind = self.rng.random()
        if kind < 0.05:
            self.commit = (request, False, False)
        elif kind < 0.10:
            self.commit = (request, want.selected and self.rng.random() < 0.5, True)
        else:
            self.commit = (request, want.selected, want.action == DROP)

    def _cover(self, request: Request, want: Verdict) -> None:
        params, seen = self.params[request.queue], self.seen
        seen["verdicts"] += 1
        seen["action", want.action, want.cause] += 1
        seen["variant", params.quadratic, params.uniform, params.byte_mode, want.selected] += 1
        seen["band"] += 0 < want.probability < 1 << 32
        seen["spread"] += params.uniform and want.count > 0 and not want.certain
        seen["lead"] += params.quadratic and self.models[request.queue].lead.mantissa != 0
        seen["window full"] += want.idle_slots == params.entries

    async def cycle(self, request: Request | None = None) -> None:
        """Drive this cycle's inputs, let the models follow, go on to the next cycle and compare its outputs."""
        dut = self.dut
        leave_without_effect(dut)
        dut.request_valid.value = request is not None
        if request is not None:
            for name, port in self.request_ports.items():
                port.value = getattr(request, name)
            self.counting.append((self.n + COUNT_STAGE, request))
            self.requested[request.queue] = self.n
        if self.counting and self.counting[0][0] == self.n:
            _, r = self.counting.popleft()
            verdict = self.models[r.queue].request(r.now_ns, r.held, r.length, r.ecn, r.draw, self.params[r.queue])
            self.expected.append((self.n - COUNT_STAGE + LATENCY, r, verdict))
        # the verdict's cycle is n, its commit's the next
        dut.commit_valid.value = self.held is not None
        dut.commit_payload_acts.value = self.held is not None and (self.held[1] or self.held[2])
        if self.held is not None:
            r, selected, dropped = self.held
            dut.commit_payload_queue.value = r.queue
            dut.commit_payload_length.value = r.length
            self.models[r.queue].commit(r.length, selected, dropped)
        self.held = self.commit
        await FallingEdge(dut.clk)
        self.n += 1
        self._sample()

    async def wait(self, cycles: int) -> None:
        """Cycles without a request."""
        for _ in range(cycles):
            await self.cycle()

    async def apply(self, queue: int, params: FnParams, clear: bool = False) -> None:
        """Copy a settled queue's words as an apply does; other queues may go on only between calls."""
        while self.n - self.requested[queue] <= LATENCY + 1:
            await self.cycle()
        dut, old = self.dut, self.params[queue]
        for word, data in words(params).items():
            dut.config_valid.value = 1
            dut.config_payload_queue.value = queue
            dut.config_payload_word.value = word
            # bits that no field has may hold anything
            spare = {0x084 // 4: 0xF000E000, 0x080 // 4: 0xFFFFFFF0, 0x090 // 4: 0xFFFFFF00}.get(word, 0xC0FC0000)
            dut.config_payload_data.value = data | (self.rng.getrandbits(32) & spare if word != 0x08C // 4 else 0)
            await self.cycle()
        dut.config_valid.value = 0
        dut.applied.value = 1 << queue
        dut.clear.value = int(clear) << queue
        await self.cycle()
        dut.applied.value = 0
        dut.clear.value = 0
        await self.wait(2)
        self.params[queue] = params
        if clear:
            self.models[queue].clear()
        elif any(getattr(old, name) != getattr(params, name) for name in RESTARTING):
            self.models[queue].restart()

    # ---- stimuli

    def arrival(self, queue: int, spread_ns: int, adverse: float) -> Request:
        """An arrival some time after the last one; the queue is near where P becomes positive."""
        rng, params, model = self.rng, self.params[queue], self.models[queue]
        gap = rng.choice([0, 1, spread_ns, rng.randrange(2 * spread_ns + 1), rng.randrange(2 * spread_ns + 1)])
        if rng.random() < adverse:
            gap = rng.choice([0, (1 << 32) - 1, 1 << 32, rng.getrandbits(47), rng.getrandbits(rng.randrange(1, 40))])
        self.now = (self.now + gap) % TIME
        length = rng.choice([60, 64, 590, 1514, 1064, 9216, 14, rng.randrange(14, 9217)])
        if rng.random() < adverse:
            length = rng.choice([0, 16383, 1])
        target = params.room_bytes
        if model.sum_time:
            target -= params.time_constant * model.sum_bytes / model.sum_time
        near = float(target) + rng.choice([0, 1, -1, 30, 3000, -3000, 60000]) * rng.random()
        held = rng.choice([near, near, near, 0, rng.randrange(QUANTITY_MAX + 1), QUANTITY_MAX, params.room / 16])
        held = int(min(max(held, 0), QUANTITY_MAX))
        draw = rng.choice(
            [0, 1, 0xFFFFFF, rng.getrandbits(24), rng.getrandbits(24), rng.getrandbits(rng.randrange(1, 24))]
        )
        return Request(queue, self.now, length, held, rng.randrange(4), draw)

    async def phase(
        self,
        arrivals: int,
        gaps: tuple[int, ...] = (4,),
        queues: tuple[int, ...] = (0, 1, 2, 3),
        spread_ns: int = 1000,
        adverse: float = 0.0,
    ) -> None:
        """Arrivals at random with these distances in cycles."""
        for _ in range(arrivals):
            await self.cycle(self.arrival(self.rng.choice(queues), spread_ns, adverse))
            await self.wait(self.rng.choice(gaps) - 1)
        await self.wait(LATENCY + 3)
        assert not self.expected and not self.counting

    async def configure(self, make: Any, **changes: Any) -> None:
        """New registers for every queue."""
        for q in range(QUEUES):
            params = replace(make(self.rng, q), **changes)
            await self.apply(q, params, clear=self.rng.random() < 0.3)


@cocotb.test()
async def one_queue_every_4_cycles(dut: Any) -> None:
    bench = Bench(dut, SEED)
    await bench.start()
    for _ in range(12):
        await bench.configure(plausible)
        await bench.phase(500, queues=(2,))
    assert bench.seen["band"] > 1000 and bench.seen["spread"] > 300, bench.seen


@cocotb.test()
async def mixed_queues_every_4_cycles(dut: Any) -> None:
    bench = Bench(dut, SEED + 1)
    await bench.start()
    for _ in range(20):
        await bench.configure(plausible)
        await bench.phase(600)
    assert bench.seen["band"] > 3000 and bench.seen["spread"] > 800, bench.seen
    for action in (MARK, DROP):
        assert bench.seen["action", action, 1] > 200 and bench.seen["action", action, 2] > 100, bench.seen
    assert bench.seen["action", 0, 1] > 50, "selected packets with CE"
    for quadratic in (False, True):
        for uniform in (False, True):
            for byte_mode in (False, True):
                for selected in (False, True):
                    assert bench.seen["variant", quadratic, uniform, byte_mode, selected] > 30, bench.seen


@cocotb.test()
async def random_gaps(dut: Any) -> None:
    bench = Bench(dut, SEED + 2)
    await bench.start()
    for _ in range(20):
        await bench.configure(plausible)
        await bench.phase(
            150,
            gaps=(4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 17, 25),
            queues=bench.rng.choice([(1,), (0, 3), (0, 1, 2, 3)]),
        )
    assert bench.seen["band"] > 700, bench.seen


@cocotb.test()
async def hostile_registers_and_arrivals(dut: Any) -> None:
    """Any bit pattern, overlapping windows, gaps of 0 to half the range, lengths 0 and 16383, time wraps."""
    bench = Bench(dut, SEED + 3)
    await bench.start()
    for _ in range(40):
        await bench.configure(hostile)
        await bench.phase(200, gaps=(4, 4, 4, 9), adverse=0.2, spread_ns=bench.rng.choice([1, 1000, 1 << 30]))
    assert bench.seen["verdicts"] >= 8000


@cocotb.test()
async def time_wraps(dut: Any) -> None:
    bench = Bench(dut, SEED + 4)
    await bench.start()
    for _ in range(10):
        await bench.configure(plausible)
        bench.now = TIME - bench.rng.randrange(1, 40000)
        await bench.phase(150)
        assert bench.now < 1 << 40, "time has wrapped"


@cocotb.test()
async def the_acceleration_is_used_a_fixed_number_of_packets_later(dut: Any) -> None:
    """All queues are measured within 16 cycles, with requests every 4 cycles; then one queue alone."""
    bench = Bench(dut, SEED + 5)
    await bench.start()
    for size in (1, 16, 128, 129, 300, 1024):
        await bench.configure(plausible, quadratic=True, size=size)
        for _ in range(3 * max(size, PERIOD) // 32 + 10):
            spread = bench.rng.choice([300, 1000, 3000])
            for _ in range(32):
                for q in range(QUEUES):
                    await bench.cycle(bench.arrival(q, spread, 0.0))
                    await bench.wait(3)
        await bench.phase(400, queues=(3,))
    assert bench.seen["lead"] > 5000, bench.seen


@cocotb.test()
async def of_rates_that_are_far_apart_the_larger_is_left(dut: Any) -> None:
    """A window of one packet, with rates that differ by more places than their difference has bits."""
    bench = Bench(dut, SEED + 9)
    await bench.start()
    rng = bench.rng
    for _ in range(12):
        await bench.configure(plausible, quadratic=True, size=1)
        for turn in range(8):
            gap = 1 << rng.randrange(18, 32) if turn % 2 else 1
            for _ in range(PERIOD):
                now = (bench.now + gap) % TIME
                request = bench.arrival(1, 0, 0.0)
                bench.now = now
                await bench.cycle(replace(request, now_ns=now, length=rng.randrange(14, 16384)))
                await bench.wait(3)
        await bench.wait(LATENCY + 3)
    assert bench.seen["lead"] > 5000, bench.seen


@cocotb.test()
async def the_largest_window_runs_round(dut: Any) -> None:
    bench = Bench(dut, SEED + 6)
    await bench.start()
    for size, base in ((4096, 0), (4096, 4095), (8191, 77), (2000, 3000), (0, 4095), (1, 5)):
        for q in range(QUEUES):
            await bench.apply(q, replace(plausible(bench.rng, q), size=size, base=base), clear=q == 2)
        await bench.phase(9000 if size >= ENTRIES and base == 4095 else 4500, queues=(2,))
    assert bench.seen["window full"] > 5000, bench.seen


@cocotb.test()
async def changes_of_the_window_restart_it_and_others_do_not(dut: Any) -> None:
    bench = Bench(dut, SEED + 7)
    await bench.start()
    await bench.configure(plausible, quadratic=True, size=64)
    for turn in range(60):
        await bench.phase(bench.rng.choice([1, 2, 40, 150, 300, 600]), queues=bench.rng.choice([(0,), (0, 1)]))
        old = bench.params[0]
        kept = replace(plausible(bench.rng, 0), quadratic=True, **{name: getattr(old, name) for name in RESTARTING})
        changed = [
            kept,
            replace(kept, size=old.size % 64 + 1),
            replace(kept, base=old.base ^ 1),
            replace(kept, half_t2_mantissa=old.half_t2_mantissa ^ 1),
            replace(kept, half_t2_exponent=old.half_t2_exponent ^ 1),
            kept,
        ][turn % 6]
        last = bench.models[0].last
        await bench.apply(0, changed, clear=turn % 6 == 5)
        assert bench.models[0].last == (last if turn % 6 == 0 else None)
    for _ in range(4):
        # a restart while the acceleration is being computed
        await bench.phase(2 * PERIOD + 1 - bench.models[0].since, queues=(0,))
        while bench.models[0].since:
            await bench.cycle(bench.arrival(0, 1000, 0.0))
            await bench.wait(14)
        await bench.apply(0, replace(bench.params[0], size=bench.params[0].size % 64 + 1, quadratic=True))
        await bench.phase(3 * PERIOD + 20, queues=(0,))


@cocotb.test()
async def the_count_saturates(dut: Any) -> None:
    """P is small and the draw is the largest: nothing is selected for 66000 packets."""
    bench = Bench(dut, SEED + 8)
    await bench.start()
    params = FnParams(uniform=False, size=4, base=BASES[1], t_mantissa=1 << 17, t_exponent=32, room=16 * 10000)
    await bench.apply(1, params, clear=True)
    for _ in range(65700):
        bench.now = (bench.now + 1000) % TIME
        bench.rng.seed(1)  # the commit is the verdict's
        await bench.cycle(Request(1, bench.now, 1000, 0, 0, 0xFFFFFF))
        await bench.wait(3)
    assert bench.models[1].count == COUNT_MAX
    await bench.wait(LATENCY + 3)
    assert bench.seen["action", 0, NONE] > 65000
    await bench.apply(1, replace(params, uniform=True))
    bench.rng.seed(2)
    await bench.phase(50, queues=(1,))


@cocotb.test()
async def reset_forgets_everything(dut: Any) -> None:
    bench = Bench(dut, SEED + 9)
    await bench.start()
    await bench.configure(plausible, quadratic=True)
    await bench.phase(900)
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    bench.forget()
    for q in range(QUEUES):
        assert int(getattr(dut, f"live_{q}").value) == 0
        await bench.apply(q, replace(bench.params[q], uniform=True), clear=True)
    await bench.phase(900)
    for q in range(QUEUES):
        assert int(getattr(dut, f"live_{q}").value) == bench.models[q].live

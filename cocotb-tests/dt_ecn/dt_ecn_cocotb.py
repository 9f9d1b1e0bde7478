"""Bench of DtEcn: every verdict, with its evidence, against the golden model, `LATENCY` cycles after its request."""

from __future__ import annotations

import os
from collections import Counter, deque
from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from golden import dt_ecn
from golden.red import Verdict
from policy_bench import LINGER, leave_without_effect

SEED = int(os.environ["WEIR_SEED"])
QUEUES = 4
LATENCY = 10
THRESHOLD = 0x070
EVIDENCE = ("average", "count", "probability", "idleSlots")


class Bench:
    """The RTL and the golden model, a request in any cycle."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = Random(SEED)
        self.units = [0] * QUEUES
        self.thresholds = [0] * QUEUES
        self.expected: deque[tuple[int, Verdict]] = deque()
        self.n = 0
        self.seen: Counter[object] = Counter()
        self.ports = [dut.verdict_payload_action, dut.verdict_payload_cause]
        self.ports += [getattr(dut, f"verdict_payload_evidence_{name}") for name in EVIDENCE]

    async def start(self) -> None:
        """Reset, then the register of every queue."""
        dut = self.dut
        for valid in (
            dut.request_valid,
            dut.config_valid,
            dut.commit_valid,
            dut.departure_valid,
            dut.left_valid,
            dut.clear,
            dut.applied,
        ):
            valid.value = 0
        dut.selected.value = (1 << QUEUES) - 1
        dut.copying.value = 1
        Clock(dut.clk, 2, "ns").start()
        dut.rst.value = 1
        for _ in range(3):
            await FallingEdge(dut.clk)
        dut.rst.value = 0
        for q in range(QUEUES):
            await self.configure(q)

    async def configure(self, q: int) -> None:
        """Another threshold and unit; bits that do not exist and other registers' words at random."""
        dut, rng = self.dut, self.rng
        self.units[q] = rng.randrange(4)
        top = rng.choice([1 << 22, 1 << 21, 1 << 16, 100, 3])
        self.thresholds[q] = rng.choice([0, top - 1, rng.randrange(top), rng.randrange(top)])
        getattr(dut, f"unit_{q}").value = self.units[q]
        dut.config_valid.value = 1
        dut.config_payload_queue.value = q
        for word in (THRESHOLD // 4, rng.choice([0x06C // 4, 0x074 // 4])):
            dut.config_payload_word.value = word
            right = word == THRESHOLD // 4
            dut.config_payload_data.value = (
                self.thresholds[q] | rng.getrandbits(10) << 22 if right else rng.getrandbits(32)
            )
            await self.cycle(None)
        dut.config_valid.value = 0

    async def cycle(self, q: int | None) -> None:
        """One cycle, with a request to `q` or none."""
        dut, rng = self.dut, self.rng
        leave_without_effect(dut)
        dut.request_valid.value = q is not None
        if q is not None:
            threshold, length, ecn = (
                self.thresholds[q],
                rng.choice([60, 1514, rng.randrange(1 << 14)]),
                rng.randrange(4),
            )
            widths = (21, 16, 16)
            near = threshold + rng.choice([-1, 0, 1, -length, -length - 1, -length + 1, -2])
            held = [
                min(max(near, 0), (1 << w) - 1)
                if rng.random() < 0.6
                else rng.choice([0, (1 << w) - 1, rng.getrandbits(w)])
                for w in widths
            ]
            dut.request_payload_queue.value = q
            dut.request_payload_length.value = length
            dut.request_payload_bytes.value, dut.request_payload_packets.value, dut.request_payload_frames.value = held
            dut.request_payload_ecn.value = ecn
            unit = self.units[q]
            want = dt_ecn.verdict(length, (held[0], held[1], held[2]), unit, ecn, threshold)
            self.expected.append((self.n + LATENCY, want))
            self.seen["verdicts"] += 1
            self.seen["above", unit, ecn, bool(want.cause)] += 1
            after = held[0 if unit == 3 else unit] + (length if unit in (0, 3) else 1)
            self.seen["edge", unit, after - threshold] += abs(after - threshold) <= 1
        await FallingEdge(dut.clk)
        self.n += 1
        due = bool(self.expected) and self.expected[0][0] == self.n
        assert int(dut.verdict_valid.value) == due, f"cycle {self.n}"
        if due:
            want = self.expected.popleft()[1]
            got = tuple(int(port.value) for port in self.ports)
            assert got == (want.action, want.cause, want.average, want.count, want.probability, want.idle_slots), want


@cocotb.test()
async def every_verdict_is_the_models(dut: Any) -> None:
    """Back to back, every fourth cycle and at random, with configurations in between."""
    bench = Bench(dut)
    await bench.start()
    rng = bench.rng
    for gaps in ((1,), (4,), (4, 5, 9, 1, 2)):
        for _ in range(100):
            for _ in range(100):
                for _ in range(rng.choice(gaps) - 1):
                    await bench.cycle(None)
                await bench.cycle(rng.randrange(QUEUES))
            await bench.configure(rng.randrange(QUEUES))
    dut._log.info("%s", dict(bench.seen))
    for unit in range(4):
        for ecn in range(4):
            for above in (False, True):
                assert bench.seen["above", unit, ecn, above] > 50
        assert all(bench.seen["edge", unit, d] > 20 for d in (-1, 0, 1))


@cocotb.test()
async def a_unit_that_rested_takes_a_configuration(dut: Any) -> None:
    """No queue has selected it for longer than it lingers; then every queue does, with other thresholds."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(20):
        dut.selected.value, dut.copying.value = 0, 0
        for _ in range(bench.rng.choice([600, 512, 513, 514, 515, 516])):
            await bench.cycle(None)
        dut.copying.value = 1
        await bench.cycle(None)
        for q in range(QUEUES):
            await bench.configure(q)
        dut.selected.value = (1 << QUEUES) - 1
        await bench.cycle(None)
        dut.copying.value = 0
        for _ in range(50):
            await bench.cycle(bench.rng.randrange(QUEUES))
        for _ in range(LATENCY):
            await bench.cycle(None)


async def _awake(bench: Bench) -> int:
    """Cycles until it rests: `turning` is what it tells while it counts them."""
    for cycles in range(2 * LINGER):
        await bench.cycle(None)
        if not int(bench.dut.turning.value):
            return cycles
    raise AssertionError("it does not rest")


@cocotb.test()
async def rests_long_after_the_last_reason_to_be_awake(dut: Any) -> None:
    """A queue that has selected it, each of them, or words that are copied; a reason that comes again begins anew."""
    bench = Bench(dut)
    await bench.start()
    rng = bench.rng
    reasons = [(0, 1), *((1 << q, 0) for q in range(QUEUES)), (9, 1)]
    for _ in range(4):
        for selected, copying in reasons:
            for lasts in (1, rng.choice([2, 50, LINGER, LINGER + 60])):
                dut.selected.value, dut.copying.value = selected, copying
                for _ in range(lasts):
                    await bench.cycle(None)
                if selected:
                    for _ in range(5):
                        await bench.cycle(rng.choice([q for q in range(QUEUES) if selected >> q & 1]))
                    for _ in range(LATENCY):
                        await bench.cycle(None)
                dut.selected.value, dut.copying.value = 0, 0
                if rng.random() < 0.5:
                    for _ in range(rng.randrange(LINGER - 2)):
                        await bench.cycle(None)
                        assert int(dut.turning.value), "it does not linger"
                    dut.selected.value, dut.copying.value = selected, copying
                    await bench.cycle(None)
                    dut.selected.value, dut.copying.value = 0, 0
                cycles = await _awake(bench)
                assert LINGER <= cycles <= LINGER + 2, f"{selected=} {copying=}: rests after {cycles} cycles"


@cocotb.test()
async def shows_nothing_while_it_rests(dut: Any) -> None:
    """Neither verdicts of requests that are not its queues', nor that anything moves."""
    bench = Bench(dut)
    await bench.start()
    dut.selected.value, dut.copying.value = 0, 0
    await _awake(bench)
    dut.request_valid.value = 1
    for _ in range(100):
        dut.request_payload_queue.value = bench.rng.randrange(QUEUES)
        await FallingEdge(dut.clk)
        for port in (
            dut.verdict_valid,
            dut.departureVerdict_valid,
            dut.busy,
            dut.wake_valid,
            dut.tick_valid,
            dut.turning,
        ):
            assert not int(port.value)

"""Bench of Lfsr: draws against the golden model, seeds, the fixed value. Started by test_lfsr.py."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from golden.lfsr import RESET_STATE, Lfsr

SEED = int(os.environ["WEIR_SEED"])


class Bench:
    """Drives at the falling edge: what is set in a cycle is taken at its end."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        # `next` is a keyword of SystemVerilog: the generator numbers it
        self.next = dut.next_1
        self.model = Lfsr()

    async def start(self) -> None:
        dut = self.dut
        for signal in (dut.seed_valid, dut.seed_payload, dut.fixed, dut.fixedDraw, self.next):
            signal.value = 0
        dut.rst.value = 1
        Clock(dut.clk, 2, "ns").start()
        for _ in range(3):
            await FallingEdge(dut.clk)
        dut.rst.value = 0
        for _ in range(2):
            await FallingEdge(dut.clk)

    async def take(self, gap: int = 0) -> None:
        """One draw after `gap` idle cycles."""
        for _ in range(gap):
            self.next.value = 0
            await FallingEdge(self.dut.clk)
        assert int(self.dut.draw.value) == self.model.peek()
        self.model.draw()
        self.next.value = 1
        await FallingEdge(self.dut.clk)
        self.next.value = 0

    async def seed(self, value: int) -> None:
        """Load a seed; the first draw may be taken from the fourth cycle after it."""
        self.dut.seed_valid.value = 1
        self.dut.seed_payload.value = value
        await FallingEdge(self.dut.clk)
        self.dut.seed_valid.value = 0
        self.dut.seed_payload.value = 0xDEADBEEF
        for _ in range(3):
            await FallingEdge(self.dut.clk)
        self.model.seed(value)


@cocotb.test()
async def draws_equal_the_model_from_reset(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    assert bench.model.state == RESET_STATE
    rng = Random(SEED)
    for _ in range(2000):
        await bench.take(rng.choice([0, 0, 3, 7, 20]))


@cocotb.test()
async def draw_holds_until_it_is_taken(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    for _ in range(50):
        assert int(dut.draw.value) == bench.model.peek()
        await FallingEdge(dut.clk)
    await bench.take()


@cocotb.test()
async def seeds_start_again_and_zero_is_replaced(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    rng = Random(SEED)
    for value in (1, 0, 1 << 63, (1 << 64) - 1, 0, RESET_STATE, *(rng.getrandbits(64) for _ in range(20))):
        await bench.seed(value)
        for _ in range(70):
            await bench.take(rng.choice([0, 0, 3]))


@cocotb.test()
async def of_seeds_in_successive_cycles_the_last_counts(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    rng = Random(SEED)
    for earlier in ((5, 0), (0, 5), (5, 7, 0), (0, 0), (5,)):
        for value in (0, rng.getrandbits(64)):
            dut.seed_valid.value = 1
            for before in earlier:
                dut.seed_payload.value = before
                await FallingEdge(dut.clk)
            await bench.seed(value)
            for _ in range(20):
                await bench.take(rng.choice([0, 0, 3]))


@cocotb.test()
async def fixed_value_answers_while_the_state_advances(dut: Any) -> None:
    bench = Bench(dut)
    await bench.start()
    rng = Random(SEED)
    for value in (0, 0xFFFFFF, 0x800000, rng.getrandbits(24)):
        bench.model.fixed = value
        dut.fixed.value = 1
        dut.fixedDraw.value = value
        await FallingEdge(dut.clk)
        await FallingEdge(dut.clk)
        for _ in range(rng.randrange(1, 40)):
            await bench.take(rng.choice([0, 3]))
        bench.model.fixed = None
        dut.fixed.value = 0
        await FallingEdge(dut.clk)
        await FallingEdge(dut.clk)
        for _ in range(10):
            await bench.take(rng.choice([0, 3]))

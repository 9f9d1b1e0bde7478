"""The host's trace FIFO against a queue in Python, cycle by cycle."""

from __future__ import annotations

import os
import random
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

SEED = int(os.environ.get("WEIR_SEED", "1"), 0)
DEPTH = 64
WORDS = 12


class Bench:
    """The model: a record is there 2 cycles after its push; it is read from 2 cycles after its pop on, and its slot is free after the next one."""

    def __init__(self, dut, salt: object) -> None:
        self.dut = dut
        self.random = random.Random(f"{SEED}/{salt}")
        self.cycle = 0
        self.last_push = -9
        self.slots = 0
        self.stored: deque[tuple[int, int]] = deque()
        self.held: int | None = None
        #: words of the held record that `data` has to be now
        self.shown: list[int] | None = None
        self.compared = 0
        self.payload = 0
        self.lost_next = False
        self.lost = self.popped = 0

    async def start(self) -> None:
        dut = self.dut
        dut.rst.value = 1
        dut.io_push_valid.value = 0
        dut.io_pop.value = 0
        dut.io_odd.value = 0
        dut.io_clear.value = 0
        cocotb.start_soon(Clock(dut.clk, 6400, "ps").start())
        for _ in range(3):
            await FallingEdge(dut.clk)
        dut.rst.value = 0

    def level(self) -> int:
        return sum(1 for ready, _ in self.stored if ready <= self.cycle)

    async def step(self, push: bool = False, pop: bool = False, clear: bool = False) -> None:
        """Checks the outputs of this cycle, sets its inputs, waits for the next."""
        dut = self.dut
        assert int(dut.io_level.value) == self.level()
        assert int(dut.io_lost.value) == self.lost_next
        if self.shown is not None:
            assert data(dut) == self.shown
            self.compared += 1

        odd = self.random.random() < 0.5
        dut.io_odd.value = odd
        self.shown = (
            None if self.held is None or clear else [self.held >> 32 * n & 0xFFFFFFFF for n in range(odd, WORDS, 2)]
        )
        dut.io_pop.value = pop
        dut.io_clear.value = clear
        dut.io_push_valid.value = push
        self.lost_next = False
        # the payload stands for the cycle after a push that is taken, and may be anything in all others
        if self.cycle - self.last_push != 1:
            self.payload = self.random.getrandbits(32 * WORDS)
            dut.io_push_payload.value = self.payload
        freed = 0
        if pop and self.level() and not clear:
            freed = self.held is not None
            self.held = self.stored.popleft()[1]
            self.popped += 1
        if push:
            if clear:
                pass
            elif self.slots == DEPTH or self.cycle - self.last_push == 1:
                self.lost_next = True
                self.lost += 1
            else:
                self.slots += 1
                self.stored.append((self.cycle + 2, self.payload))
                self.last_push = self.cycle
        self.slots -= freed
        if clear:
            self.stored.clear()
            self.slots = 0
            self.held = None
            self.last_push = -9
        self.cycle += 1
        await FallingEdge(dut.clk)


def data(dut) -> list[int]:
    return [int(getattr(dut, f"io_data_{i}").value) for i in range(WORDS // 2)]


async def traffic(bench: Bench, cycles: int, push: float, pop: float, gap: int = 2) -> None:
    since = 9
    for _ in range(cycles):
        since += 1
        pushes = since >= gap and bench.random.random() < push
        if pushes:
            since = 0
        await bench.step(pushes, bench.random.random() < pop)


@cocotb.test()
async def records_come_out_whole_and_in_order(dut):
    bench = Bench(dut, "order")
    await bench.start()
    for push, pop in ((0.2, 0.3), (0.05, 0.8), (1.0, 0.05), (0.1, 1.0), (0.6, 0.6)):
        await traffic(bench, 3000, push, pop)
    assert bench.popped > 1000 and bench.lost > 100 and bench.compared > 10000


@cocotb.test()
async def takes_a_record_every_two_cycles_until_full(dut):
    bench = Bench(dut, "burst")
    await bench.start()
    await traffic(bench, 2 * DEPTH, 1.0, 0.0)
    assert bench.lost == 0 and bench.slots == DEPTH
    await traffic(bench, 20, 1.0, 0.0)
    assert bench.lost == 10 and bench.level() == DEPTH
    await traffic(bench, 2 * DEPTH, 0.0, 1.0)
    assert bench.popped == DEPTH and bench.level() == 0
    # the record that was popped last still has its slot
    await traffic(bench, 2 * DEPTH, 1.0, 0.0)
    assert bench.lost == 11 and bench.slots == DEPTH and bench.level() == DEPTH - 1


@cocotb.test()
async def overflow_loses_the_newest_and_tells(dut):
    bench = Bench(dut, "overflow")
    await bench.start()
    await traffic(bench, 4000, 1.0, 0.1)
    assert bench.lost > 500


@cocotb.test()
async def a_pop_of_nothing_does_nothing(dut):
    bench = Bench(dut, "nothing")
    await bench.start()
    await traffic(bench, 50, 0.0, 1.0)
    assert bench.popped == 0
    await traffic(bench, 500, 0.1, 1.0)


@cocotb.test()
async def records_in_consecutive_cycles_are_lost_and_told(dut):
    bench = Bench(dut, "consecutive")
    await bench.start()
    await traffic(bench, 500, 0.8, 1.0, gap=1)
    assert bench.lost > 50 and bench.popped > 20


@cocotb.test()
async def clear_empties_at_any_moment(dut):
    bench = Bench(dut, "clear")
    await bench.start()
    for _ in range(200):
        await traffic(bench, bench.random.randrange(60), 0.7, 0.5)
        await bench.step(bench.random.random() < 0.5 and bench.cycle - bench.last_push > 1, False, True)
        assert bench.level() == 0

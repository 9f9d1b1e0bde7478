"""FreeList against a list: the free cells in order, the last of them the sentinel that is never handed out."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from axis import seeded, start

CELLS = 2048
LONGEST = 144
PARTS = {"rollback": ("first", "cells"), "free": ("first", "last", "cells")}
#: cycles in which a cell is on offer again, if there is one: a read, plus a rollback or an empty list before
PATIENCE = 6


class Bench:
    """Takes, rolls back and frees chains at random and compares every cell that is offered."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.rng = dut, seeded(name)
        self.free = deque(range(CELLS))
        self.taking: list[int] = []
        self.held: list[list[int]] = []
        self.waited = 0
        self.lookups: deque[tuple[int, int]] = deque()
        self.asked: tuple[int, int] | None = None
        self.wanted = False
        self.compared = 0
        #: cells that could be taken at the end of a cycle and of the one before
        self.counts = [CELLS - 1] * 2

    async def start(self) -> Bench:
        zero = dict.fromkeys(("take", "rollback_valid", "free_valid", "lookup_valid"), 0)
        for kind, parts in PARTS.items():
            zero |= {f"{kind}_payload_{part}": 0 for part in parts}
        await start(self.dut, **zero, lookup_payload=0)
        return self

    def chain(self, kind: str, cells: list[int] | None) -> None:
        """Drives `rollback` or `free` for the next cycle."""
        dut = self.dut
        getattr(dut, f"{kind}_valid").value = int(cells is not None)
        if cells is not None:
            values = {"first": cells[0], "last": cells[-1], "cells": len(cells)}
            for part in PARTS[kind]:
                getattr(dut, f"{kind}_payload_{part}").value = values[part]

    async def step(self, take: float, give: float, back: float, longest: int = LONGEST) -> None:
        """One cycle. Actions are decided on what is offered in this cycle and happen in it."""
        dut, rng = self.dut, self.rng
        await RisingEdge(dut.clk)
        # `available` and `cell` come from registers: what the edge shows was offered in the cycle before
        available = bool(dut.available.value)
        assert int(dut.count.value) == self.counts.pop(0), "counts what was free two cycles ago"
        if available:
            assert len(self.free) > 1, "the sentinel is on offer"
            assert dut.known.value == 1
        elif dut.known.value == 1:
            assert len(self.free) == 1, "says that no cell is free"
        if available and dut.take.value == 1:
            cell = self.free.popleft()
            assert int(dut.cell_1.value) == cell, f"offers {int(dut.cell_1.value)}, expected {cell}"
            self.taking.append(cell)
            self.compared += 1
            self.waited = 0
        elif len(self.free) > 1 and not available:
            self.waited += 1
            assert self.waited <= PATIENCE or not self.swept, f"no cell on offer for {self.waited} cycles"
        else:
            self.waited = 0
        if dut.rollback_valid.value == 1:
            self.free.extendleft(reversed(self.rolled))
        if dut.free_valid.value == 1:
            self.free.extend(self.freed)
        self.counts.append(len(self.free) - 1)
        if dut.next_valid.value == 1 and self.lookups:
            asked, expected = self.lookups.popleft()
            assert int(dut.next_payload.value) == expected, f"link of {asked} is {int(dut.next_payload.value)}"
            self.compared += 1
        if dut.lookup_valid.value == 1 and dut.lookup_ready.value == 1:
            assert self.asked is not None
            self.lookups.append(self.asked)
            self.asked = None
            dut.lookup_valid.value = 0
        elif dut.lookup_valid.value == 0:
            chains = [c for c in self.held[:8] if len(c) > 1]
            if chains and rng.random() < 0.5:
                chosen = rng.choice(chains)
                at = rng.randrange(len(chosen) - 1)
                self.asked = (chosen[at], chosen[at + 1])
                dut.lookup_payload.value, dut.lookup_valid.value = chosen[at], 1
        self.chain("rollback", None)
        self.chain("free", None)
        dut.take.value = 0
        wants = False
        if self.taking and rng.random() < back:
            self.rolled, self.taking = self.taking, []
            self.chain("rollback", self.rolled)
        elif self.taking and rng.random() < 1 / rng.randrange(1, longest + 1):
            self.held.append(self.taking)
            self.taking = []
        elif rng.random() < take and len(self.taking) < LONGEST:
            wants = True
        if self.held and rng.random() < give:
            chosen = rng.randrange(len(self.held))
            busy = {asked for asked, _ in self.lookups} | ({self.asked[0]} if self.asked else set())
            if not busy & set(self.held[chosen]):
                self.freed = self.held.pop(chosen)
                self.chain("free", self.freed)
        await FallingEdge(dut.clk)
        if wants and dut.available.value == 1:  # `take` only with `available`
            dut.take.value = 1
        self.wanted = wants

    async def reset(self) -> None:
        """For one edge, in the midst of everything: all cells are free again, in order."""
        for name in ("take", "rollback_valid", "free_valid", "lookup_valid"):
            getattr(self.dut, name).value = 0
        self.dut.rst.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0
        self.__init__(self.dut, f"after {self.compared}")  # type: ignore[misc]

    @property
    def swept(self) -> bool:
        return bool(self.dut.swept.value)


async def until_swept(bench: Bench) -> None:
    """The sweep takes as many cycles as there are cells."""
    for _ in range(CELLS + 20):
        await RisingEdge(bench.dut.clk)
        if bench.swept:
            return
    raise AssertionError("the sweep does not end")


@cocotb.test()
@cocotb.parametrize(give=[0.05, 0.3, 0.02], back=[0.0, 0.02])
async def hands_out_every_cell_in_order_of_freeing(dut: Any, give: float, back: float) -> None:
    bench = await Bench(dut, f"order {give} {back}").start()
    await until_swept(bench)
    for _ in range(6000):
        await bench.step(take=0.6, give=give, back=back)
    assert bench.compared > 500, bench.compared


@cocotb.test()
async def starts_anew_after_a_reset_of_one_edge(dut: Any) -> None:
    """Also during the sweep, and with a lookup, a read or a chain under way."""
    bench = await Bench(dut, "resets").start()
    for n in range(30):
        for _ in range(bench.rng.randrange(1, 500 if n % 3 else 3000)):
            await bench.step(take=0.8, give=0.2, back=0.05, longest=20)
        await bench.reset()
    await until_swept(bench)
    for _ in range(1000):
        await bench.step(take=0.8, give=0.2, back=0.05, longest=20)
    assert bench.compared > 100


@cocotb.test()
async def gives_all_cells_and_takes_them_back(dut: Any) -> None:
    bench = await Bench(dut, "all").start()
    for _ in range(2):
        for _ in range(40 * CELLS):
            await bench.step(take=1.0, give=0.0, back=0.0)
            if len(bench.free) == 1:
                break
        assert len(bench.free) == 1, "not all cells were handed out"
        for _ in range(20):
            await bench.step(take=1.0, give=0.0, back=0.0)
        assert not bench.dut.available.value, "a cell is on offer, but none is free"
        assert bench.dut.known.value
        assert int(dut.count.value) == 0
        for _ in range(40 * CELLS):
            await bench.step(take=0.0, give=1.0, back=0.0)
            if not bench.held:
                break
            if bench.taking:
                bench.held.append(bench.taking)
                bench.taking = []
        if bench.taking:
            bench.held.append(bench.taking)
            bench.taking = []
        for _ in range(30):
            await bench.step(take=0.0, give=1.0, back=0.0)
        assert not bench.held and int(dut.count.value) == CELLS - 1


@cocotb.test()
async def hands_out_a_cell_every_second_cycle(dut: Any) -> None:
    """While chains are freed and links are looked up."""
    bench = await Bench(dut, "rate").start()
    await until_swept(bench)
    for n in range(5000):
        await bench.step(take=float(n % 2 == 0), give=0.4, back=0.0, longest=20)
        if bench.wanted:
            assert dut.available.value == 1 or len(bench.free) < 2, f"nothing on offer in cycle {n}"

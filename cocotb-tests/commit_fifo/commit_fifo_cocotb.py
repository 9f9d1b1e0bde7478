"""CommitFifo against two lists: what may go, in order, and what waits for the end of its jumbo frame."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from axis import seeded, start

DEPTH = 1024
FIELDS = {"meta_length": 14, "meta_queue": 2, "meta_ecn": 2, "meta_exempt": 1, "chain_first": 11, "chain_cells": 8}
WAIT = 30
"""bits of the sum of spacings"""


class Bench:
    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.rng = dut, seeded(name)
        self.open: list[tuple[tuple[int, ...], int]] = []
        """what the jumbo frame has so far: fields, and the sum of spacings"""
        self.sure: deque[tuple[tuple[int, ...], tuple[bool, int] | None]] = deque()
        """what may go; of a jumbo frame's packet: it is the first, and the sum"""
        self.popped = self.direct = self.cycle = self.quiet = 0
        self.held: deque[int] = deque([0] * 3, maxlen=3)

    async def start(self) -> Bench:
        await start(
            self.dut,
            push_valid=0,
            pushInner=0,
            pushWaitNs=0,
            commit=0,
            rollback=0,
            ready=1,
            push_payload_transit_header=0,
            push_payload_transit_member=0,
        )
        return self

    async def step(self, push: str = "", end: str = "", ready: bool = True) -> None:
        """One cycle; `push` is "plain" or "inner", `end` "commit" or "rollback"."""
        dut, rng = self.dut, self.rng
        values, wait = tuple(rng.getrandbits(w) for w in FIELDS.values()), rng.getrandbits(WAIT)
        dut.pushWaitNs.value = wait
        dut.push_valid.value, dut.pushInner.value = int(bool(push)), int(push == "inner")
        for name, value in zip(FIELDS, values, strict=True):
            getattr(dut, f"push_payload_{name}").value = value
        dut.commit.value, dut.rollback.value, dut.ready.value = int(end == "commit"), int(end == "rollback"), int(ready)
        await FallingEdge(dut.clk)
        self.held.append(len(self.sure) + len(self.open))  # `room` is as of two cycles ago
        if dut.room.value == 0:
            assert max(self.held) > DEPTH - 8, f"no room with {max(self.held)} of {DEPTH} held"
        if push == "plain":
            self.sure.append((values, None))
        if dut.pop_valid.value == 1:
            assert ready, "gives an arrival that is not taken"
            got = tuple(int(getattr(dut, f"pop_payload_{name}").value) for name in FIELDS)
            assert self.sure, f"gives {got}, but nothing may go"
            expected, inner = self.sure.popleft()
            assert got == expected and int(dut.popInner.value) == (inner is not None)
            if inner:
                assert (int(dut.popFirst.value) == 1, int(dut.popWaitNs.value)) == inner
            self.popped += 1
            self.direct += int(push == "plain" and got == values)
        elif self.sure and ready:
            self.quiet += 1
            assert self.quiet <= 4, "what may go does not go"
        if dut.pop_valid.value == 1 or not ready or not self.sure:
            self.quiet = 0
        if push == "inner":
            self.open.append((values, wait))
        if end == "commit":
            self.sure.extend((v, (n == 0, w)) for n, (v, w) in enumerate(self.open))
        if end:
            self.open.clear()
        await RisingEdge(dut.clk)
        self.cycle += 1

    async def drain(self) -> None:
        for _ in range(5 * len(self.sure) + 10):
            await self.step()
        assert not self.sure and not self.dut.busy.value


@cocotb.test()
async def passes_frames_at_once_when_nothing_waits(dut: Any) -> None:
    bench = await Bench(dut, "direct").start()
    for n in range(200):
        await bench.step(push="plain" if n % 3 == 0 else "")
    assert bench.popped == bench.direct == 67


@cocotb.test()
@cocotb.parametrize(cycles=[1, 2, 3, 4, 5, 9])
async def a_frame_does_not_pass_one_that_waits_alone(dut: Any, cycles: int) -> None:
    """One waits for ArrivalDecision for some cycles, and as it goes, or before, another comes."""
    bench = await Bench(dut, f"alone {cycles}").start()
    for ready in (False, True):
        await bench.step(push="plain", ready=False)
        for _ in range(cycles):
            await bench.step(ready=False)
        await bench.step(push="plain", ready=ready)
        await bench.drain()


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3, 4])
async def lets_packets_go_when_their_jumbo_frame_is_good(dut: Any, seed: int) -> None:
    bench = await Bench(dut, f"jumbo {seed}").start()
    rng = bench.rng
    for _ in range(60):
        pace = rng.choice((0.0, 0.3, 0.9))
        for _ in range(rng.choice((0, 1, 3, 30, 200))):
            for _ in range(rng.choice((1, 3, 4))):
                await bench.step(ready=rng.random() > pace)
            if len(bench.sure) + len(bench.open) < DEPTH - 8:
                await bench.step(push="inner", ready=rng.random() > pace)
        await bench.step(ready=rng.random() > pace)
        await bench.step(end=rng.choice(("commit", "commit", "rollback")), ready=rng.random() > pace)
        for _ in range(rng.randrange(4)):
            if len(bench.sure) < DEPTH - 8:
                await bench.step(push="plain", ready=rng.random() > pace)
            await bench.step(ready=rng.random() > pace)
    await bench.drain()
    assert bench.popped > 500


@cocotb.test()
async def says_when_it_is_full(dut: Any) -> None:
    """Filled with packets that may not go, up to the last place that `room` promises; then all of them leave."""
    bench = await Bench(dut, "full").start()
    for end in ("rollback", "commit"):
        count = 0
        while dut.room.value == 1:
            await bench.step(push="inner", ready=False)
            count += 1
            assert count <= DEPTH
        assert count >= DEPTH - 8
        await bench.step(ready=False)
        await bench.step(end=end, ready=False)
        await bench.drain()
    assert bench.popped == count


@cocotb.test()
async def gives_one_in_three_cycles(dut: Any) -> None:
    """ArrivalDecision takes one in four."""
    bench = await Bench(dut, "rate").start()
    for _ in range(300):
        await bench.step(push="inner")
    await bench.step()
    await bench.step(end="commit")
    first = bench.cycle
    while bench.sure:
        await bench.step()
    assert bench.cycle - first <= 3 * 300 + 3

"""Spacing against sixteen lists: the order in each lane, when each packet is due, and when it goes (docs/modules/spacing.md)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from axis import seeded, start

LANES, PLACES, TIME = 16, 1024 - 16, 1 << 48
FIELDS = {"meta_length": 14, "meta_queue": 2, "meta_ecn": 2, "chain_first": 11, "chain_cells": 8}
ENTRY, LOOK = 6, 6
"""Cycles from an arrival to its lane, from there to its departure; lanes are looked at in turn every second cycle."""


FIRST_NS = 45
"""7 cycles of 6.4 ns, from a first packet's time to where it would go if it were due then: the others are due that much later"""


@dataclass
class Held:
    values: tuple[int, ...]
    came: int
    """cycle"""
    wait: int
    lane: int
    origin: Held | None
    """the first packet of its jumbo frame"""
    at: int | None = None
    """its own time of arrival, three cycles after it came"""

    @property
    def due(self) -> int:
        first = self.origin or self
        assert first.at is not None
        return (first.at + self.wait + (FIRST_NS if self.origin or self.wait else 0)) % TIME


def since(a: int, b: int) -> int:
    """a − b, modulo 2^48."""
    return (a - b + TIME // 2) % TIME - TIME // 2


class Bench:
    def __init__(self, dut: Any, name: str, limit: int = 1_000_000) -> None:
        self.dut, self.rng, self.limit = dut, seeded(name), limit
        self.lanes: list[deque[Held]] = [deque() for _ in range(LANES)]
        self.lane_of: dict[tuple[int, ...], int] = {}
        self.now = self.rng.getrandbits(48)
        self.cycle = 0
        self.recent: deque[Held] = deque()
        self.frame: Held | None = None
        self.gone: list[tuple[Held, int, int]] = []
        """what went, in which cycle, at what time"""
        self.lane_writes: deque[tuple[int, int, int]] = deque()
        self.index = 0
        self.early = self.passed = 0
        self.hurry = False
        """packets may go before they are due"""

    async def start(self) -> Bench:
        await start(self.dut, nowNs=self.now, enable=0, limitNs=self.limit, scarce=0, together=0, push_valid=0, lane_valid=0,
                    popReady=1)  # fmt: skip
        for _ in range(LANES):
            await RisingEdge(self.dut.clk)  # the lanes are made empty
        return self

    @property
    def count(self) -> int:
        return sum(map(len, self.lanes))

    async def step(self, lane: int | None = None, wait: int | None = None, first: bool = False, ready: bool = True,
                   enable: bool = True, scarce: bool = False, together: bool = False, pass_ns: int | None = None) -> bool:  # fmt: skip
        """One cycle; with `lane` an arrival if the unit takes one, of a jumbo frame with `wait`. Whether it was taken."""
        dut, rng = self.dut, self.rng
        self.now = (self.now + (rng.choice((6, 7)) if pass_ns is None else pass_ns)) % TIME
        dut.nowNs.value = self.now
        for name, value in (("popReady", ready), ("enable", enable), ("scarce", scarce), ("together", together)):
            getattr(dut, name).value = int(value)
        dut.lane_valid.value = 0
        if self.lane_writes and self.lane_writes[0][0] <= self.cycle:
            _, dut.lane_payload_index.value, dut.lane_payload_lane.value = self.lane_writes.popleft()
            dut.lane_valid.value = 1
        dut.push_valid.value = 0
        await FallingEdge(dut.clk)
        takes = lane is not None and dut.push_ready.value == 1
        values = tuple(rng.getrandbits(width) for width in FIELDS.values())
        if takes:
            dut.push_valid.value = 1
            for name, value in zip(FIELDS, values, strict=True):
                getattr(dut, f"push_payload_arrival_{name}").value = value
            # not IP is lane 0, whatever the table of lanes says
            dut.push_payload_arrival_meta_ipVersion.value = rng.choice((1, 2)) if lane else 0
            dut.push_payload_arrival_flow.value = self.index
            for name, value in (("transit_header", 0), ("transit_member", 0), ("held", 0)):
                getattr(dut, f"push_payload_arrival_{name}").value = value
            dut.push_payload_inner.value = int(wait is not None)
            dut.push_payload_first.value = int(first)
            dut.push_payload_waitNs.value = rng.getrandbits(30) if wait is None else wait
            self.lane_writes.append((self.cycle + 2, self.index, lane or rng.randrange(LANES)))
            self.index = (self.index + 1) % 2048
        await RisingEdge(dut.clk)  # values are those before the edge
        passes = takes and dut.active.value == 0
        if takes and not passes:
            unknown = not first and self.frame is None
            own = Held(values, self.cycle, 0 if wait is None or unknown else min(wait, self.limit), lane or 0, None)
            if wait is not None and not first:
                own.origin = self.frame
            if first:
                self.frame = own
            self.recent.append(own)
            self.lanes[lane or 0].append(own)
            self.lane_of[values] = lane or 0
        while self.recent and self.recent[0].came + 3 <= self.cycle:
            self.recent.popleft().at = self.now
        if dut.pop_valid.value == 1:
            self.take(values if passes else None, ready)
        else:
            assert not passes, "an arrival that has nothing to wait for does not pass"
        self.cycle += 1
        return takes

    def take(self, passing: tuple[int, ...] | None, ready: bool) -> None:
        """What goes in this cycle."""
        dut = self.dut
        got = tuple(int(getattr(dut, f"pop_payload_{name}").value) for name in FIELDS)
        assert ready, "gives an arrival that is not taken"
        if passing is not None:
            assert got == passing and int(dut.pop_payload_held.value) == 0
            self.passed += 1
            return
        assert got in self.lane_of, f"{got} never came, or went before"
        lane = self.lanes[self.lane_of.pop(got)]
        own = lane.popleft()
        assert own.values == got, "the order of a lane has changed"
        assert dut.pop_payload_held.value == 1
        assert own.at is not None
        length, cells = got[0], got[4]
        assert int(dut.pop_payload_transit_bytes.value) == length and int(dut.pop_payload_transit_cells.value) == cells
        assert not (dut.pop_payload_transit_header.value == 1 or dut.pop_payload_transit_member.value == 1)
        early = since(self.now, own.due) < 0
        assert not early or self.hurry, f"goes {since(own.due, self.now)} ns before it is due"
        # what is due between the comparison and this cycle counts as early
        self.early += int(dut.early.value)
        assert int(dut.early.value) == 1 or not early
        if self.gone:
            assert self.cycle - self.gone[-1][1] >= 3, "two go within three cycles"
        self.gone.append((own, self.cycle, self.now))

    async def drain(self, cycles: int, **settings: Any) -> None:
        for _ in range(cycles):
            if not self.count:
                break
            await self.step(**settings)
        assert not self.count, f"{self.count} are still held after {cycles} cycles"
        for _ in range(4):
            await self.step(**settings)
        assert self.dut.held.value == 0


@cocotb.test()
async def is_wires_when_off(dut: Any) -> None:
    bench = await Bench(dut, "off").start()
    for n in range(300):
        await bench.step(
            lane=n % 16, wait=n * 1000 if n % 2 else None, first=n % 4 == 1, enable=False, ready=n % 5 != 0
        )
    assert bench.passed == 240 and not dut.held.value


@cocotb.test()
@cocotb.parametrize(lanes=[1, 2, 5, 16])
async def packets_leave_with_the_spacing_that_their_table_says(dut: Any, lanes: int) -> None:
    """Sparse jumbo frames: each packet goes within the time in which its lane has a turn after it is due."""
    bench = await Bench(dut, f"spacing {lanes}").start()
    await bench.step()
    for _ in range(12):
        wait = 0
        for n in range(bench.rng.randrange(2, 12)):
            while not await bench.step(lane=15 - bench.rng.randrange(lanes), wait=wait, first=n == 0):
                pass
            wait += bench.rng.choice((0, 64, 640, 1216, 12_800))
            await bench.step()
            await bench.step()
        await bench.drain(30_000)
    before = longest = 0
    for own, cycle, _ in bench.gone:
        due = own.came + 3 + -(-max(0, since(own.due, own.at)) // 6)  # no later than this many cycles of 6 ns
        first = max(due, own.came + ENTRY + LOOK, before + 3)
        longest = max(longest, cycle - first)
        before = cycle
    assert len(bench.gone) > 50 and bench.early == 0
    assert longest <= 2 * lanes + 2 * LOOK, f"{longest} cycles late"


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3])
async def keeps_order_under_any_load(dut: Any, seed: int) -> None:
    """All lanes, single packets between jumbo frames, stalls, hostile waits; nothing goes early, nothing is lost."""
    bench = await Bench(dut, f"load {seed}", limit=(20_000, 1_000, 0)[seed - 1]).start()
    rng = bench.rng
    pushed = 0
    await bench.step()
    for _ in range(60):
        stall = rng.choice((0.0, 0.0, 0.5))
        wait = 0
        for n in range(rng.choice((1, 2, 10, 40))):
            wait = min(wait + rng.choice((0, 0, 64, 500, 1 << 20, (1 << 30) - 1)), (1 << 30) - 1)
            inner = rng.random() < 0.8
            taken = False
            if bench.count < 600:
                taken = await bench.step(lane=rng.randrange(LANES), wait=wait if inner or n == 0 else None, first=n == 0,
                                         ready=rng.random() >= stall)  # fmt: skip
            pushed += taken
            if n == 0 and not taken:
                break
            for _ in range(rng.choice((2, 3, 9))):
                await bench.step(ready=rng.random() >= stall)
        if bench.count > 500:
            for _ in range(4000):
                await bench.step()
    await bench.drain(200_000)
    assert len(bench.gone) == pushed > 300


@cocotb.test()
@cocotb.parametrize(cause=["off", "scarce", "places", "together"])
async def lets_all_go_when_it_must(dut: Any, cause: str) -> None:
    """Nothing waits for its time when it is switched off, cells or places run out, or a frame in transit is next; order holds."""
    bench = await Bench(dut, f"hurry {cause}", limit=(1 << 30) - 1).start()
    rng = bench.rng
    await bench.step()
    enough = 200 if cause != "places" else 3 * 1024 // 4
    for n in range(enough):
        while not await bench.step(lane=rng.randrange(LANES), wait=n << 18, first=n == 0):
            pass
        await bench.step()
        await bench.step()
    held = bench.count
    assert held >= (enough - 2 if cause != "places" else enough - 12)
    for _ in range(40):
        await bench.step()
    if cause == "places":
        bench.hurry = True
        before = len(bench.gone)
        for _ in range(3000):
            await bench.step(lane=rng.randrange(LANES), wait=1 << 29)
        assert len(bench.gone) - before > 3000 // 5 and bench.early > 500 and bench.count <= PLACES
        return
    assert bench.count >= held - 2
    bench.hurry = True
    settings = {"off": {"enable": False}, "scarce": {"scarce": True}, "together": {"together": True}}[cause]
    began = bench.cycle
    await bench.drain(5 * held + 100, **settings)
    assert bench.cycle - began <= 4 * held + 60, "one in three or four cycles"
    assert bench.early >= held - 2
    if cause != "scarce":
        assert dut.active.value == 0
        await bench.step(lane=3, wait=5, first=True, **settings)
        assert bench.passed == 1, "what comes next passes"


@cocotb.test()
async def what_finds_no_room_goes_early_only_while_it_must(dut: Any) -> None:
    """In a hurry it goes in the first cycle with room, however long it stood there; when that has passed it waits until it is due."""
    bench = await Bench(dut, "hurried, no room").start()
    await bench.step()
    for n in range(12):
        assert await bench.step(lane=5, wait=900_000 if n else 0, first=not n)
        await bench.step()
    for _ in range(40):
        await bench.step()
    assert len(bench.gone) == 1
    for n in range(1, 11):
        for _ in range(40 + n):
            await bench.step(ready=False, scarce=True)
        if n % 2:
            for _ in range(2):
                await bench.step(ready=False)
            for _ in range(40):
                await bench.step()
            assert len(bench.gone) == 1 + n // 2, "goes early"
        else:
            bench.hurry = True
            await bench.step(scarce=True)
            assert len(bench.gone) == 1 + n // 2, "does not go at once"
            for _ in range(2):
                await bench.step(ready=False, scarce=True)
            for _ in range(2):
                await bench.step(ready=False)
            bench.hurry = False


@cocotb.test()
async def a_lane_passes_one_in_four_cycles(dut: Any) -> None:
    """While fifteen others wait."""
    bench = await Bench(dut, "rate", limit=(1 << 30) - 1).start()
    await bench.step()
    for lane in range(1, 16):
        while not await bench.step(lane=lane, wait=(1 << 29) * (lane > 1), first=lane == 1):
            pass
        for _ in range(3):
            await bench.step()
    for n in range(120):
        while not await bench.step(lane=0):
            pass
        if n % 3 == 2:
            await bench.step()
    held = [g for g in bench.gone if g[0].wait == 0]
    began = bench.cycle
    for _ in range(700):
        await bench.step()
    held = [g for g in bench.gone if g[0].wait == 0]
    assert len(held) == 121, len(held)
    last = max(cycle for _, cycle, _ in held)
    rate = (last - began) / max(1, sum(cycle > began for _, cycle, _ in held))
    assert rate <= 5, f"one in {rate:.1f} cycles"


@cocotb.test()
@cocotb.parametrize(lanes=[2, 3, 5, 16], interval=[1, 4])
async def every_lane_has_its_turn(dut: Any, lanes: int, interval: int) -> None:
    """All lanes full of what is due: none waits much longer than its share, in whichever cycles ArrivalDecision takes one."""
    bench = await Bench(dut, f"turns {lanes} {interval}", limit=(1 << 30) - 1).start()
    await bench.step()
    for n in range(20 * lanes):
        while not await bench.step(lane=n % lanes, wait=900_000 if n < lanes else None, first=n == 0, pass_ns=0):
            pass
        await bench.step(pass_ns=0)
    assert not bench.gone
    await bench.step(pass_ns=2_000_000, ready=False)
    while bench.count:
        await bench.step(ready=bench.cycle % interval == 0)
    began = bench.gone[0][1]
    for lane in range(lanes):
        times = [began, *(cycle for own, cycle, _ in bench.gone if own.lane == lane)]
        longest = max(b - a for a, b in zip(times, times[1:], strict=False))
        assert len(times) == 21 and longest <= 2 * lanes * max(3, interval) + 16, (
            f"lane {lane} waits for {longest} cycles"
        )
    assert bench.gone[-1][1] - began <= max(3, interval) * 20 * lanes + 16, (
        "one in three cycles, or as Admit takes them"
    )


@cocotb.test()
async def a_packet_whose_frame_began_before_is_due_at_once(dut: Any) -> None:
    """Spacing is switched on between the packets of a frame, again after frames that came with it on."""
    bench = await Bench(dut, "between", limit=(1 << 30) - 1).start()
    for turn in range(3):
        assert await bench.step(lane=2, wait=0, first=True, enable=False)
        assert bench.passed == turn + 1
        await bench.step()
        bench.frame = None
        for _ in range(3):
            assert await bench.step(lane=2, wait=1 << 29)
            await bench.drain(40)
        assert await bench.step(lane=2, wait=0, first=True)
        await bench.drain(40)
        for _ in range(8):
            await bench.step(enable=False)
    assert len(bench.gone) == 12 and bench.early == 0


@cocotb.test()
async def tells_when_it_wakes(dut: Any) -> None:
    """Quiet with packets inside: `wake` is the earliest time at which one is due, also across the wrap of time."""
    bench = await Bench(dut, "wake").start()
    bench.now = TIME - 20_000
    await bench.step()
    for round_ in range(30):
        dues = []
        for n in range(bench.rng.randrange(1, 6)):
            while not await bench.step(
                lane=bench.rng.randrange(LANES), wait=bench.rng.randrange(5000, 900_000) * (n > 0), first=n == 0
            ):
                pass
            await bench.step()
        for _ in range(300):
            await bench.step(pass_ns=0)
        assert dut.busy.value == 0
        while bench.count:
            dues = [lane[0].due for lane in bench.lanes if lane]
            assert dut.wake_valid.value == 1
            wake = int(dut.wake_payload.value)
            assert wake == min(dues, key=lambda d: since(d, bench.now)), f"round {round_}"
            await bench.step(pass_ns=since(wake, bench.now))
            before = bench.count
            for _ in range(300):
                await bench.step(pass_ns=0)
            assert bench.count < before, "what was due at `wake` does not go"
    assert bench.early == 0 and len(bench.gone) > 60

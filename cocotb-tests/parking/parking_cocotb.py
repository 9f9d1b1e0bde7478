"""Parking against a plain model: which group goes to its queue, when, and that nothing overtakes what came before it."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from axis import seeded, start

QUEUES, CLASSES, IDS = 4, 16, 2048
LATEST_NS, LATEST_BUSY_NS = 100, 130
"""how long after its timer a group closes at most, and with packets put in every second cycle, which all go first"""


class Bench:
    """Puts, parks and closes, as FlowGroups gives them, and what comes of them."""

    jfet = (200, 1000, 7000, 0)
    """timer of each queue, ns"""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.rng, self.cycle = dut, seeded(name), 0
        self.now_ns = self.rng.getrandbits(48)
        self.parked: dict[tuple[int, int], tuple[int, int]] = {}
        """by queue and class, the oldest first: id, deadline"""
        self.order: list[deque[int]] = [deque() for _ in range(QUEUES)]
        """what has certainly closed, or was put, of each queue: it goes in this order"""
        self.stale: list[set[int]] = [set() for _ in range(QUEUES)]
        """groups that closeAll has found, and that go before `order`"""
        self.blocked = False
        self.demanded = 0
        """the queues whose groups were demanded in the cycle before"""
        self.timed: list[float] = []
        """how long after its deadline each group was closed, ns"""
        self.appended = self.waited = 0
        self.ids = deque(self.rng.sample(range(IDS), IDS))

    async def start(self) -> Bench:
        await start(self.dut, close_valid=0, park_valid=0, put_valid=0, closeAll=0, demand=0, nowNs=self.now_ns)
        return self

    async def step(self, *, put: tuple[int, int | None] | None = None, close_all: int = 0, demand: int = 0) -> None:
        """One cycle. `put`: a packet of a queue and a class: it closes the class's group and is parked, or goes to the queue (-1)."""
        dut = self.dut
        dut.close_valid.value = dut.park_valid.value = dut.put_valid.value = 0
        dut.closeAll.value, dut.demand.value = close_all, demand
        self.now_ns = (self.now_ns + self.rng.choice((6, 6, 6, 7, 7))) % (1 << 48)
        dut.nowNs.value = self.now_ns
        before = dict(self.parked)
        parks = None
        if put:
            queue, klass = put
            number = self.ids.popleft()
            held = self.parked.get((queue, klass)) if klass is not None else None
            if held:
                dut.close_valid.value, dut.close_payload_queue.value, dut.close_payload_klass.value = 1, queue, klass
                if held[0] not in self.stale[queue]:  # else it is on its way out
                    self.order[queue].append(held[0])
                    del self.parked[queue, klass]
            if klass is not None and self.rng.random() < 0.8 and not self.blocked:
                deadline = (self.now_ns + self.jfet[queue]) % (1 << 48)
                dut.park_valid.value, dut.park_payload_place_queue.value, dut.park_payload_place_klass.value = (
                    1,
                    queue,
                    klass,
                )
                dut.park_payload_id.value, dut.park_payload_deadline.value = number, deadline
                parks = ((queue, klass), (number, deadline))
            else:
                dut.put_valid.value, dut.put_payload_queue.value, dut.put_payload_id.value = 1, queue, number
                self.order[queue].append(number)
        await RisingEdge(dut.clk)
        self.cycle += 1
        self._compare(before)
        self.demanded = demand
        for (q, _), (number, _) in self.parked.items():
            if close_all >> q & 1:
                self.stale[q].add(number)
        if parks:
            self.parked[parks[0]] = parks[1]
        self.blocked = bool(int(dut.closing.value)) or bool(close_all)

    def _compare(self, before: dict[tuple[int, int], tuple[int, int]]) -> None:
        """What the unit did in the cycle that has ended."""
        dut = self.dut
        assert int(dut.parked.value) == sum(1 << CLASSES * q + k for q, k in before), f"cycle {self.cycle}"
        leaves = None
        if not (int(dut.put_valid.value) or int(dut.close_valid.value)):
            assert dut.leaves_valid.value == dut.leaving_valid.value, f"cycle {self.cycle}"
            if int(dut.leaves_valid.value):
                assert dut.leaves_payload_queue.value == dut.leaving_payload_queue.value, f"cycle {self.cycle}"
                assert dut.leaves_payload_klass.value == dut.leaving_payload_klass.value, f"cycle {self.cycle}"
        if int(dut.leaving_valid.value):
            leaves = (int(dut.leaving_payload_queue.value), int(dut.leaving_payload_klass.value))
            oldest = next(place for place in self.parked if place[0] == leaves[0])
            assert leaves == oldest, f"cycle {self.cycle}: {leaves} leaves before {oldest}"
            number, deadline = self.parked.pop(leaves)
            after = (self.now_ns - deadline + (1 << 47)) % (1 << 48) - (1 << 47)
            if number not in self.stale[leaves[0]]:
                assert not any(self.stale) and not any(self.order), f"cycle {self.cycle}: {number} overtakes"
                assert after >= 0 or self.demanded >> leaves[0] & 1, (
                    f"cycle {self.cycle}: closed {-after} ns before its timer ended"
                )
                if after >= 0:
                    self.timed.append(after)
                self.order[leaves[0]].append(number)
        if int(dut.append_valid.value):
            queue, number = int(dut.append_payload_queue.value), int(dut.append_payload_id.value)
            if number in self.stale[queue]:
                self.stale[queue].remove(number)
            else:
                assert not self.stale[queue], f"cycle {self.cycle}: {number} overtakes what closeAll closes"
                assert self.order[queue].popleft() == number, f"cycle {self.cycle}"
            self.ids.append(number)
            self.appended += 1
        else:
            assert leaves is None


@cocotb.test()
@cocotb.parametrize(rate=[0.02, 0.2, 1.0], resets=[0.0, 0.003], demands=[0.0, 0.3])
async def everything_goes_once_and_in_order(dut: Any, rate: float, resets: float, demands: float) -> None:
    """Puts as often as they may come, timers of 0 to 7000 ns, closeAll at random, demands."""
    bench = await Bench(dut, f"order {rate} {resets} {demands}").start()
    rng = bench.rng
    last, last_any = [-9] * QUEUES, -9
    packets = 0
    for _ in range(12000):
        put = None
        queue = rng.randrange(QUEUES)
        if (
            bench.cycle - last[queue] >= 4
            and bench.cycle - last_any >= 2
            and rng.random() < rate
            and len(bench.ids) > 50
        ):
            put = (queue, rng.choice((None, rng.randrange(CLASSES), rng.randrange(3))))
            last[queue] = last_any = bench.cycle
            packets += 1
        close_all = rng.randrange(16) if rng.random() < resets else 0
        demand = rng.randrange(16) if rng.random() < demands * rng.random() else 0
        await bench.step(put=put, close_all=close_all, demand=demand)
    for _ in range(1500):
        await bench.step()
    assert not bench.parked and not any(bench.order) and not any(bench.stale) and not int(dut.busy.value)
    worst = max(bench.timed, default=0)
    cocotb.log.info("%d appended, %d by their timers, up to %.0f ns late", bench.appended, len(bench.timed), worst)
    # 12000 cycles, 4 queues, two or more cycles between two: 230 ± 15 at the lowest rate
    assert bench.appended == packets > 150
    if not resets:
        assert len(bench.timed) > 20 and worst <= (LATEST_BUSY_NS if rate == 1.0 else LATEST_NS)


@cocotb.test()
async def a_put_passes_in_its_own_cycle(dut: Any) -> None:
    """And a group closes in the third cycle after its deadline."""
    bench = await Bench(dut, "cycle").start()
    for n in range(40):
        await bench.step(put=(n % QUEUES, None))
        assert int(dut.append_valid.value) and bench.appended == n + 1
        await bench.step()
    bench.jfet = (300,) * QUEUES
    while not bench.parked:
        await bench.step(put=(0, 5))
        for _ in range(4):
            await bench.step()
    while bench.parked:
        await bench.step()
    assert len(bench.timed) == 1 and bench.timed[0] <= 21


@cocotb.test()
async def sixteen_timers_end_one_behind_the_other(dut: Any) -> None:
    """All classes of all queues are parked as fast as they may come; each closes within 100 ns of its timer's end."""
    bench = await Bench(dut, "sixteen").start()
    bench.jfet = (2000,) * QUEUES
    for klass in range(CLASSES):
        for queue in range(QUEUES):
            await bench.step(put=(queue, klass))
            await bench.step()
    for _ in range(1000):
        await bench.step()
    cocotb.log.info("%d groups, up to %.0f ns late", len(bench.timed), max(bench.timed))
    assert len(bench.timed) > 40 and max(bench.timed) <= LATEST_NS


@cocotb.test()
@cocotb.parametrize(groups=[1, 2], gap=[0, 1, 2, 3])
async def close_all_finds_what_was_just_parked(dut: Any, groups: int, gap: int) -> None:
    """A packet that is put behind it leaves behind the groups, with no timer near its end."""
    bench = await Bench(dut, f"parked {groups} {gap}").start()
    bench.jfet = (1_000_000,) * QUEUES
    found = 0
    for n in range(24):
        queue = n % QUEUES
        for klass in range(groups):
            await bench.step(put=(queue, klass))
            if klass + 1 < groups:
                for _ in range(3):
                    await bench.step()
        for _ in range(gap):
            await bench.step()
        await bench.step(close_all=1 << queue)
        found += len(bench.stale[queue])
        await bench.step()
        await bench.step(put=(queue, None))
        for _ in range(20):
            await bench.step()
        assert not bench.stale[queue] and not bench.order[queue]
    assert found > 12


@cocotb.test()
@cocotb.parametrize(gap=[1, 2, 3])
async def close_all_of_a_queue_without_groups_changes_nothing(dut: Any, gap: int) -> None:
    """Also just after its last group has left: what is put in the same cycle passes."""
    bench = await Bench(dut, f"left {gap}").start()
    bench.jfet = (100,) * QUEUES
    left = 0
    for n in range(24):
        queue = n % QUEUES
        await bench.step(put=(queue, 3))
        left += bool(bench.parked)
        while bench.parked:
            await bench.step()
        for _ in range(gap - 1):
            await bench.step()
        appended = bench.appended
        await bench.step(put=(queue, None), close_all=1 << queue)
        assert bench.appended == appended + 1 and not int(dut.closing.value)
        for _ in range(8):
            await bench.step()
    assert left > 12

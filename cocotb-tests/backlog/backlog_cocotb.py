"""Backlog against sums: bytes, packets, frames and cells of each queue, shared cells, empty, emptied, peaks."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from axis import seeded, start

QUEUES = 4
INTERVAL = 4
#: decisions of the two classes of latency: refunds of one fall between those of the other, two cycles apart or more
LATENCIES = (11, 21)
#: an event's effect on `fill` comes after one and the same number of cycles, at most this
SLOWEST = 5
KINDS = ("enter", "refund", "leave")
Event = tuple[int, int, int, int, int]


def drive(dut: Any, kind: str, event: tuple[int, int] | None) -> None:
    """An event in the next cycle: queue, length."""
    getattr(dut, f"{kind}_valid").value = int(event is not None)
    getattr(dut, f"{kind}s").value = 0 if event is None else 1 << event[0]
    if event is not None:
        getattr(dut, f"{kind}_payload_queue").value = event[0]
        getattr(dut, f"{kind}_payload_length").value = event[1]
        getattr(dut, f"{kind}_payload_cells").value = -(-event[1] // 64)
        getattr(dut, f"{kind}_payload_packets").value = 1


class Bench:
    """Enters, refunds and leaves at random; keeps the sums of every cycle."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.rng = dut, seeded(name)
        self.sums = [[0, 0, 0] for _ in range(QUEUES)]
        self.past: deque[list[list[int]]] = deque(maxlen=SLOWEST + 1)
        self.last = dict.fromkeys(KINDS, -INTERVAL)
        self.pending: dict[int, tuple[int, int]] = {}
        self.inside: list[deque[int]] = [deque() for _ in range(QUEUES)]
        self.frames = [0] * QUEUES
        self.members: list[deque[bool]] = [deque() for _ in range(QUEUES)]
        """of the packets inside: it has joined a group"""
        self.joined_at = -8
        self.cycle = 0
        self.lags = {(enter, refund, leave) for enter in range(1, 6) for refund in range(1, 6) for leave in range(1, 6)}
        self.events: list[tuple[int, str, int, int]] = []
        self.emptied: list[tuple[int, int]] = []
        self.expected_emptied: list[tuple[int, int]] = []
        self.reserve = [0] * QUEUES
        #: what enters is told a cycle after what goes in the same cycle: queue, length
        self.entering: tuple[int, int] | None = None

    async def start(self, reserve: list[int]) -> Bench:
        self.reserve = reserve
        zero = (
            {f"{kind}_valid": 0 for kind in KINDS}
            | {f"reserve_{q}": reserve[q] for q in range(QUEUES)}
            | {"enters": 0, "refunds": 0, "leaves": 0}
        )
        await start(self.dut, **zero, snapshot=0, joined_valid=0, leaveFirst=1)
        return self

    def value(self, queue: int, lags: tuple[int, int, int]) -> tuple[int, int, int]:
        """Bytes, packets and cells with the events that are `lags` cycles old."""
        bytes_, packets, cells = self.sums[queue]
        for at, kind, q, length in reversed(self.events):
            if at < self.cycle - 8:
                break
            if q == queue and at > self.cycle - lags[KINDS.index(kind)]:
                sign = -1 if kind == "enter" else 1
                bytes_, packets, cells = bytes_ + sign * length, packets + sign, cells + sign * -(-length // 64)
        return bytes_, packets, cells

    async def step(self, enter: float, drop: float, leave: float, queues: int) -> None:
        """One cycle: checks what it shows, decides about the next."""
        dut, rng = self.dut, self.rng
        await RisingEdge(dut.clk)
        self.cycle += 1
        recent = (bool(self.events) and self.events[-1][0] > self.cycle - 8) or self.joined_at > self.cycle - 8
        for q in range(QUEUES):
            got = tuple(int(getattr(dut, f"fill_{q}_{name}").value) for name in ("bytes", "packets", "cells"))
            assert int(dut.empty.value) >> q & 1 == (got[1] == 0), f"cycle {self.cycle}, queue {q}: {got}"
            if not recent:
                assert int(getattr(dut, f"fill_{q}_frames").value) == self.frames[q], f"cycle {self.cycle}, queue {q}"
            if recent:
                self.lags = {lags for lags in self.lags if self.value(q, lags) == got}
                assert self.lags, f"cycle {self.cycle}, queue {q}: {got} fits no lag, sums {self.sums[q]}"
            else:
                assert got == tuple(self.sums[q]), f"cycle {self.cycle}, queue {q}: {got} is not {self.sums[q]}"
        if not recent:
            shared = sum(max(0, s[2] - r) for s, r in zip(self.sums, self.reserve, strict=True))
            assert int(dut.sharedUsed.value) == shared
            held = sum(s[1] for s in self.sums)
            assert int(dut.held.value) == held
            assert int(dut.grouped.value) == held - sum(self.frames)
        emptied = int(dut.emptied.value)
        self.emptied += [(self.cycle, q) for q in range(QUEUES) if emptied >> q & 1]
        drive(dut, "enter", self.entering)
        self.entering = None
        for kind in ("refund", "leave"):
            drive(dut, kind, None)
        dut.joined_valid.value = 0
        at = self.cycle + 1
        gone: set[int] = set()
        if at - self.last["enter"] >= INTERVAL and rng.random() < enter:
            q, length = rng.randrange(queues), rng.choice((14, 64, 65, 1514, 9216, rng.randrange(14, 9217)))
            due = at + LATENCIES[q % 2]
            if self.sums[q][0] + length < 1 << 20 and not {due - 1, due, due + 1} & set(self.pending):
                self._do(at, "enter", q, length)
                self.pending[due] = q, length
        if at in self.pending:
            q, length = self.pending.pop(at)
            if rng.random() < drop:
                self._do(at, "refund", q, length)
                gone.add(q)
            else:
                self.inside[q].append(length)
                self.members[q].append(False)
                if rng.random() < 0.5:
                    self.members[q][-1] = True
                    self.frames[q] -= 1
                    self.joined_at = at
                    dut.joined_valid.value, dut.joined_payload.value = 1, q
        if at - self.last["leave"] >= INTERVAL and rng.random() < leave:
            choices = [q for q in range(QUEUES) if self.inside[q]]
            if choices:
                q = rng.choice(choices)
                dut.leaveFirst.value = first = int(not self.members[q].popleft())
                self.frames[q] += 1 - first
                self._do(at, "leave", q, self.inside[q].popleft())
                gone.add(q)
        self.expected_emptied += [(at, q) for q in sorted(gone) if self.sums[q][1] == 0]

    def _do(self, at: int, kind: str, queue: int, length: int) -> None:
        if kind == "enter":
            self.entering = queue, length
        else:
            drive(self.dut, kind, (queue, length))
        self.events.append((at, kind, queue, length))
        self.last[kind] = at
        sign = 1 if kind == "enter" else -1
        self.frames[queue] += sign
        s = self.sums[queue]
        s[0], s[1], s[2] = s[0] + sign * length, s[1] + sign, s[2] + sign * -(-length // 64)


@cocotb.test()
@cocotb.parametrize(enter=[0.9, 0.3, 0.05], drop=[0.0, 0.3], leave=[0.2, 0.9], queues=[1, 4])
async def adds_up(dut: Any, enter: float, drop: float, leave: float, queues: int) -> None:
    """All events of one cycle at once, at any distance; one set of lags explains every cycle."""
    bench = Bench(dut, f"sums {enter} {drop} {leave} {queues}")
    await bench.start([bench.rng.choice((0, 10, 1000)) for _ in range(QUEUES)])
    for _ in range(900):
        await bench.step(enter, drop, leave, queues)
    for _ in range(800):
        await bench.step(0.0, drop, 0.9, queues)
    assert all(s == [0, 0, 0] for s in bench.sums) or bench.inside
    cocotb.log.info("lags of enter, refund, leave: %s", sorted(bench.lags))


#: a change is seen in `fill`, and `emptied` with it, two cycles after its own; the bench sees a cycle at its end
EMPTIED = 3


def check_emptied(bench: Bench) -> None:
    assert bench.emptied == [(at + EMPTIED - 1, q) for at, q in bench.expected_emptied]


@cocotb.test()
async def tells_when_a_departure_or_a_refund_leaves_a_queue_empty(dut: Any) -> None:
    bench = await Bench(dut, "emptied").start([0] * QUEUES)
    for _ in range(6000):
        await bench.step(0.04, 0.5, 0.9, QUEUES)
    for _ in range(40):
        await bench.step(0.0, 0.0, 0.9, QUEUES)
    check_emptied(bench)
    last = {"refund": 0, "leave": 0, "both": 0}
    happened: dict[tuple[int, int], set[str]] = {}
    for at, kind, q, _ in bench.events:
        happened.setdefault((at, q), set()).add(kind)
    for at, q in bench.expected_emptied:
        kinds = happened[at, q]
        last["both" if len(kinds) == 2 else kinds.pop()] += 1
    cocotb.log.info("emptied by %s", last)
    assert last["refund"] > 50 and last["leave"] > 50


async def _play(bench: Bench, script: list[list[tuple[str, int]]]) -> None:
    """The events of each cycle, as (kind, queue), all of 100 bytes; then a few cycles of nothing."""
    for events in [*script, *[[] for _ in range(EMPTIED + 2)]]:
        await bench.step(0.0, 0.0, 0.0, QUEUES)
        for kind, q in events:
            bench._do(bench.cycle + 1, kind, q, 100)
        left = {q for kind, q in events if kind != "enter"}
        bench.expected_emptied += [(bench.cycle + 1, q) for q in sorted(left) if bench.sums[q][1] == 0]


@cocotb.test()
async def a_refused_arrival_was_the_last_of_its_queue(dut: Any) -> None:
    """A packet leaves while an arrival is pending, which then is refused: only the refund leaves the queue empty."""
    for wait in range(6):
        bench = await Bench(dut, f"refused {wait}").start([0] * QUEUES)
        nothing: list[list[tuple[str, int]]] = [[] for _ in range(4)]
        pause: list[list[tuple[str, int]]] = [[] for _ in range(wait)]
        await _play(
            bench, [[("enter", 2)], *nothing, [("enter", 2)], *nothing, [("leave", 2)], *pause, [("refund", 2)]]
        )
        check_emptied(bench)
        assert [q for _, q in bench.emptied] == [2]


@cocotb.test()
async def two_queues_become_empty_in_one_cycle(dut: Any) -> None:
    """One by a departure, one by a refund; and one queue by both, once; and none if one more enters with them."""
    bench = await Bench(dut, "two").start([0] * QUEUES)
    nothing: list[list[tuple[str, int]]] = [[] for _ in range(4)]
    await _play(bench, [[("enter", 1)], *nothing, [("enter", 3)], *nothing, [("leave", 1), ("refund", 3)]])
    assert [q for _, q in bench.emptied] == [1, 3] and bench.emptied[0][0] == bench.emptied[1][0]
    await _play(bench, [[("enter", 0)], *nothing, [("enter", 0)], *nothing, [("leave", 0), ("refund", 0)]])
    assert [q for _, q in bench.emptied] == [1, 3, 0]
    await _play(
        bench, [[("enter", 2)], *nothing, [("enter", 2)], *nothing, [("leave", 2), ("refund", 2), ("enter", 2)]]
    )
    assert [q for _, q in bench.emptied] == [1, 3, 0]
    check_emptied(bench)


@cocotb.test()
async def remembers_the_peak_since_the_snapshot(dut: Any) -> None:
    bench = await Bench(dut, "peak").start([0] * QUEUES)
    for _ in range(5):
        peaks = [(0, 0)] * QUEUES
        for _ in range(20):  # so that nothing is on its way at the snapshot
            await bench.step(0.0, 0.0, 0.0, QUEUES)
        dut.snapshot.value = 1
        await bench.step(0.0, 0.0, 0.0, QUEUES)
        dut.snapshot.value = 0
        for n in range(300):
            peaks = [(max(p[0], s[0]), max(p[1], s[1])) for p, s in zip(peaks, bench.sums, strict=True)]
            await bench.step(0.3 * (n < 200), 0.2, 0.5, QUEUES)
            peaks = [(max(p[0], s[0]), max(p[1], s[1])) for p, s in zip(peaks, bench.sums, strict=True)]
        for _ in range(10):
            await bench.step(0.0, 0.0, 0.0, QUEUES)
        for q in range(QUEUES):
            got = (int(getattr(dut, f"peakBytes_{q}").value), int(getattr(dut, f"peakPackets_{q}").value))
            assert got[0] <= peaks[q][0] + 9216 and got[0] >= bench.sums[q][0]
            # events of one cycle may be added in any order, so a peak may miss or catch one of them
            assert abs(got[1] - peaks[q][1]) <= 1, f"queue {q}: {got}, expected about {peaks[q]}"

"""TraceMerge: every record comes out once, in order by source, two cycles apart, at the densest times that the core has."""

from __future__ import annotations

from collections import deque
from itertools import cycle
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from axis import seeded, start

DEPARTURE = {
    "time": 48, "sojournNs": 48, "queue": 2, "discard": 1, "cause": 3, "ecn": 2, "exempt": 1, "mark": 1, "length": 14,
    "sequence": 32, "bytes": 21, "packets": 16, "frames": 16,
}  # fmt: skip
RECORD = 384
PATIENCE = 20
"""cycles that a departure may wait"""


def departure_words(v: dict[str, int]) -> int:
    """The record of a departure, by docs/architecture.md, Trace."""
    action = 2 if v["discard"] else v["mark"]
    flags = v["exempt"] << 30 | v["ecn"] << 28 | v["cause"] << 24 | action << 22 | 1 << 20 | v["queue"] << 16
    words = [
        v["time"] & 0xFFFFFFFF, flags | v["time"] >> 32, v["mark"] << 14 | v["length"], v["bytes"],
        v["frames"] << 16 | v["packets"], v["sojournNs"] & 0xFFFFFFFF, v["sojournNs"] >> 32, 0, 0, 0, 0, v["sequence"],
    ]  # fmt: skip
    return sum(word << 32 * n for n, word in enumerate(words))


class Bench:
    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.rng = dut, seeded(name)
        self.now = 0
        #: records that are to come, with the cycle in which they came in
        self.arrivals: deque[tuple[int, int]] = deque()
        self.departures: deque[tuple[int, int]] = deque()
        self.ticks: deque[int] = deque()
        self.payload_stands = False
        self.record: tuple[int, int] | None = None
        self.longest = self.came = 0

    async def start(self) -> Bench:
        await start(self.dut, arrival_valid=0, arrives=0, departure_valid=0, tick_valid=0)
        return self

    async def step(self, arrives: bool = False, wanted: bool = True, departs: bool = False, tick: bool = False) -> None:
        """One cycle. An arrival's payload stands for two."""
        dut, rng = self.dut, self.rng
        dut.arrives.value, dut.arrival_valid.value = int(arrives), int(arrives and wanted)
        if arrives or not self.payload_stands:
            payload = rng.getrandbits(RECORD)
            dut.arrival_payload.value = payload
            if arrives and wanted:
                self.arrivals.append((payload, self.now))
        self.payload_stands = arrives
        dut.departure_valid.value = int(departs)
        fields = {name: rng.getrandbits(width) for name, width in DEPARTURE.items()}
        for name, value in fields.items():
            getattr(dut, f"departure_payload_{name}").value = value
        if departs:
            self.departures.append((departure_words(fields), self.now))
        if tick and not self.ticks:
            self.ticks.append(rng.getrandbits(RECORD))
            dut.tick_payload.value = self.ticks[0]
            dut.tick_valid.value = 1
        await FallingEdge(dut.clk)
        self.observe()
        taken = dut.tick_valid.value == 1 and dut.tick_ready.value == 1
        await RisingEdge(dut.clk)
        if taken:
            dut.tick_valid.value = 0
        self.now += 1

    def observe(self) -> None:
        dut = self.dut
        payload = int(dut.record_payload.value)
        if self.record and self.record[0] == self.now - 1:
            assert payload == self.record[1], "the record does not stand in the cycle after"
        if dut.record_valid.value == 0:
            return
        assert not self.record or self.now - self.record[0] >= 2, "records in successive cycles"
        self.record = (self.now, payload)
        self.came += 1
        if self.arrivals and payload == self.arrivals[0][0]:
            assert 1 <= self.now - self.arrivals.popleft()[1] <= 2
        elif self.departures and payload == self.departures[0][0]:
            waited = self.now - self.departures.popleft()[1]
            self.longest = max(self.longest, waited)
            assert waited <= PATIENCE, f"a departure waited {waited} cycles"
        else:
            assert self.ticks and payload == self.ticks.popleft(), f"cycle {self.now}: {payload:#x} is not to come"

    async def drain(self) -> None:
        for _ in range(60):
            await self.step()
        assert not self.arrivals and not self.departures and not self.ticks, "records are missing"


@cocotb.test()
@cocotb.parametrize(
    gaps=["3,5", "4", "5", "6", "4,5", "3,6", "2,6", "2,2,2,2,2,14", "7,5,4", "8"], wanted=[0.0, 0.5, 1.0]
)
async def keeps_up_with_arrivals_and_a_departure_every_fourth_cycle(dut: Any, gaps: str, wanted: float) -> None:
    """Arrivals at these distances, one in four cycles on average or fewer; each phase against the departures."""
    bench = await Bench(dut, f"dense {gaps} {wanted}").start()
    rng = bench.rng
    for phase in range(4):
        distances = cycle(int(n) for n in gaps.split(","))
        due = phase
        for n in range(1200):
            arrives = n == due
            if arrives:
                due += next(distances)
            await bench.step(arrives, rng.random() < wanted, n % 4 == 0, rng.random() < 0.02)
        await bench.drain()
    assert bench.came > 4 * 300
    cocotb.log.info("a departure waited %d cycles at most", bench.longest)


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3])
async def keeps_order_at_any_times(dut: Any, seed: int) -> None:
    """Arrivals two cycles apart or more, no more than one in four cycles and four more; departures four apart or more."""
    bench = await Bench(dut, f"any {seed}").start()
    rng = bench.rng
    credit, arrived, departed = 4.0, -9, -9
    for n in range(12000):
        if n % 300 == 0:
            busy, leaves, wanted = rng.random(), rng.random(), rng.choice((0.0, 0.5, 1.0))
        credit = min(4.0, credit + 0.25)
        arrives = n - arrived >= 2 and credit >= 1 and rng.random() < busy
        if arrives:
            arrived = n
            credit -= 1
        departs = n - departed >= 4 and rng.random() < leaves
        if departs:
            departed = n
        await bench.step(arrives, rng.random() < wanted, departs, rng.random() < 0.05)
    await bench.drain()
    assert bench.came > 2000

"""Shares of the buffer: what all queues use together, and what a queue keeps for itself."""

from __future__ import annotations

from typing import Any

import cocotb

from core_bench import Bench, ip_frame, random_stall


@cocotb.test()
@cocotb.parametrize(shared=[0, 20, 60], reserve=[(0, 0), (30, 0), (10, 25)])
async def drops_when_the_shared_cells_are_used_up(dut: Any, shared: int, reserve: tuple[int, int]) -> None:
    """Reserves are a queue's own; beyond them all queues share."""
    bench = await Bench(dut, f"shared {shared} {reserve}").start()
    rng = bench.rng
    await bench.map_dscp([d % 2 for d in range(64)])
    await bench.core_write(SHARED_CELLS=shared)
    for q, cells in enumerate(reserve):
        await bench.configure_raw(
            q, {"POLICY": 0, "LIMIT_BYTES": 100000, "LIMIT_PACKETS": 60000, "RESERVE_CELLS": cells, "QUANTUM": 9216}
        )
    bench.stall = random_stall(rng, 0.85)
    for _ in range(180):
        bench.send(ip_frame(rng, rng.choice((60, 64, 65, 300, 900)), dscp=rng.randrange(64)), gap=rng.choice((0, 4)))
    report = await bench.check()
    assert report.outcomes["dropped overflow"] > 20
    assert report.ingress_overflow == 0


@cocotb.test()
async def keeps_a_queues_reserve_for_it(dut: Any) -> None:
    """No shared cells at all: a flood of queue 1, every frame of which is dropped, costs queue 0 nothing."""
    bench = await Bench(dut, "reserve").start()
    rng = bench.rng
    await bench.map_dscp([d % 2 for d in range(64)])
    await bench.core_write(SHARED_CELLS=0)
    words = {"POLICY": 0, "LIMIT_BYTES": 100000, "LIMIT_PACKETS": 60000, "QUANTUM": 9216}
    await bench.configure_raw(0, {**words, "RESERVE_CELLS": 100})
    await bench.configure_raw(1, {**words, "RESERVE_CELLS": 0})
    for n in range(200):
        bench.send(ip_frame(rng, 60, dscp=int(n % 4 != 0)))
    await bench.drain()
    arrivals = [r for r in bench.decoded() if not r.departure]
    lost = [r.number for r in arrivals if r.queue == 0 and r.action == 2]
    assert not lost, f"{len(lost)} of 50 arrivals within the reserve of queue 0 are dropped: {lost[:10]}"
    assert all(r.action == 2 for r in arrivals if r.queue == 1)

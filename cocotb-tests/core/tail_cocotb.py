"""Preset tail: Drop-Tail only, one queue, 64 descriptors for 255 cells."""

from __future__ import annotations

from typing import Any

import cocotb

from core_bench import CORE, Bench, BusError, ip_frame, random_stall


@cocotb.test()
async def drops_when_there_is_no_descriptor(dut: Any) -> None:
    bench = await Bench(dut, "descriptors").start()
    assert (bench.queues, bench.cells, bench.descriptors) == (1, 256, 64)
    for stall in (1.0, 0.9):
        bench.stall = random_stall(bench.rng, stall)
        for _ in range(160):
            bench.send(ip_frame(bench.rng, bench.rng.randrange(60, 120)), gap=bench.rng.choice((0, 4)))
        while bench.jobs:
            await bench.cycles(50)
        if stall == 1.0:
            await bench.cycles(60)
            held = await bench.read(CORE["HELD_PACKETS"])
            assert 62 <= held <= 64, held
        bench.stall = lambda _: False
        await bench.drain()
    report = await bench.check()
    assert report.outcomes["dropped overflow"] > 50 and report.ingress_overflow == 0


@cocotb.test()
async def has_no_red(dut: Any) -> None:
    bench = await Bench(dut, "no red").start()
    assert bench.features & 0xFFFF == 1
    await bench.write(bench.at(0, "POLICY"), 1, expect=2)
    try:
        await bench.read(bench.at(0, "RED_MIN"))
    except BusError:
        pass
    else:
        raise AssertionError("RED's registers answer")
    for _ in range(50):
        bench.send(ip_frame(bench.rng, 64))
    report = await bench.check()
    assert report.departures == 50

"""A core without a trace beside the preset tail, which differs in nothing else: the same frames at the same cycles."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import cocotb

from core_bench import CORE, Bench, BusError, ip_frame, random_stall

TRACE = [CORE["TRACE_CTRL"], CORE["TRACE_LEVEL"], CORE["TRACE_POP"], *(CORE["TRACE_DATA"] + 4 * n for n in range(12))]


@cocotb.test()
async def sends_frames_at_the_cycles_of_a_core_with_a_trace(dut: Any) -> None:
    """Writes what leaves, and when; pytest compares it with the other core's."""
    bench = await Bench(dut, "untraced", start_ns=1000).start()
    await bench.configure(0, "drop-tail", limit=6000)
    told = []
    for stall in (0.0, 0.3, 0.9):
        # what follows starts at the same time and in the same state in both cores, whatever the registers took
        while bench.cycle % 1000:
            await bench.cycles(1)
        start, sent = bench.cycle, len(bench.received)
        bench.stall = random_stall(bench.rng, stall)
        for _ in range(150):
            bench.send(ip_frame(bench.rng, bench.rng.randrange(60, 400)), gap=bench.rng.choice((0, 3, 30)))
        while bench.jobs:
            await bench.cycles(50)
        bench.stall = lambda _: False
        await bench.drain()
        told += [(f.first - start, f.last - start, bytes(f.data).hex()) for f in bench.received[sent:]]
    traced = bench.features >> 16 & 1
    assert bool(bench.records) == bool(traced)
    await bench.snapshot()
    at = bench.at(0, "COUNTERS")
    arrived = [await bench.read64(at + 16 * n) for n in range(4)]
    dropped, out = await bench.read64(at + 16 * 6), await bench.read64(at + 16 * 9)
    assert sum(arrived) == 450 and dropped > 20 and out == len(told) == 450 - dropped
    assert await bench.read64(CORE["TRACE_LOST"]) == (max(0, len(bench.records) - 16) if traced else 0)
    Path(os.environ["CORE_TOLD"]).write_text(json.dumps(told))


@cocotb.test()
async def trace_registers_are_unmapped_where_there_is_none(dut: Any) -> None:
    bench = await Bench(dut, "no trace").start()
    if bench.features >> 16 & 1:
        return
    for address in TRACE:
        await bench.write(address, 1, expect=2)
        try:
            value = await bench.read(address)
        except BusError:
            continue
        raise AssertionError(f"{address:#06x} reads {value:#x}")
    bench.send(ip_frame(bench.rng, 100))
    await bench.drain()
    assert len(bench.received) == 1 and not bench.records

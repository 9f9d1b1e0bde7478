"""Every way in which a frame can end, on four queues at once, each counted once; gaps, stalls, exhaustion."""

from __future__ import annotations

from collections import Counter
from typing import Any

import cocotb

from axi_bench import AxiBench, any_frame, four_queues
from core_bench import CORE, random_stall
from golden.core import Report, Setup

#: what queues 0 to 2 share beyond their reserves; queue 3 may take the whole buffer
SHARED_CELLS = 90


async def set_up(bench: AxiBench) -> list[Setup]:
    """Queue 0 drops early and has a limit in bytes, 1 is forced to drop, 2 has a limit in packets, 3 none."""
    await bench.core_write(SHARED_CELLS=SHARED_CELLS, MAX_FRAME=9000)
    await bench.configure(0, "red", limit_bytes=2000, min=100, max=2000, weight=0.05, probability=0.9)
    await bench.configure(1, "red", limit_bytes=20000, min=300, max=900, weight=0.5, probability=0.1, reserve=10)
    await bench.configure(2, "drop-tail", limit_packets=8)
    await bench.configure(3, "drop-tail", limit_bytes=64 * (bench.cells - 1), reserve=bench.cells - 1)
    return [change.setup for change in bench.changes[-4:]]


def offend(bench: AxiBench, count: int) -> None:
    """Frames for all queues and, among them, bad ones, runts, ones that are too long, broken tkeep. Neighbours differ in
    length: when some end for want of cells, the records tell which did not."""
    rng = bench.rng
    lengths = [60, 64, 65, *rng.sample(range(66, 700), 57)] * (count // 60 + 1)
    for n in range(count):
        kind, gap = rng.randrange(12), rng.choice((0, 0, 2, 9))
        if kind == 0:
            bench.send(any_frame(rng, rng.randrange(14, 600)), gap, tuser=1)
        elif kind == 1:
            bench.send(rng.randbytes(rng.randrange(1, 14)), gap)
        elif kind == 2 and rng.random() < 0.3:
            bench.send(any_frame(rng, rng.choice((9001, 9008, 9217))), gap)
        elif kind == 3:
            data = any_frame(rng, rng.randrange(700, 900))
            keeps = [0xFF] * (-(-len(data) // 8))
            keeps[rng.randrange(len(keeps))] = rng.choice((0, 5, 0x7F, 0xFE))
            bench.send(data, gap, keeps=keeps)
        else:
            bench.send(any_frame(rng, lengths[n]), gap)


def limits(report: Report, setups: list[Setup]) -> Counter[str]:
    """Which limit each overflow was of, from what the records say was held."""
    found: Counter[str] = Counter()
    for r, _ in report.decisions:
        setup = setups[r.queue]
        if r.cause == 3:
            over = r.held_bytes + r.length > setup.limit_bytes
            found["bytes" if over else "packets" if r.held_packets >= setup.limit_packets else "cells"] += 1
    return found


@cocotb.test()
async def counts_every_cause_of_a_loss_once(dut: Any) -> None:
    """Early, forced, overflow by bytes, packets and cells, link down, bad, runt, oversize, no cell: all in one run, with
    gaps in the source and stalls of the sink; the identities while packets are held, and at the end."""
    bench = await four_queues(dut, "causes")
    rng = bench.rng
    setups = await set_up(bench)
    bench.pause = random_stall(rng, 0.15)
    bench.stall = random_stall(rng, 0.9)
    offend(bench, 300)
    await bench.until_sent()
    # the link goes down and comes back under traffic
    for _ in range(4):
        offend(bench, 25)
        await bench.cycles(rng.randrange(100, 900))
        dut.link_up.value = 0
        await bench.cycles(rng.randrange(20, 900))
        dut.link_up.value = 1
    await bench.until_sent()
    # queue 3 takes the whole buffer, and there is no cell for anybody
    bench.pause = None
    bench.stall = lambda _: True
    free = await bench.read(CORE["FREE_CELLS"])
    for _ in range(free // 141 + 1):
        bench.send(any_frame(rng, rng.randrange(8960, 9001), range(3, 64, 4)), gap=4)
    offend(bench, 60)
    for _ in range(4):
        bench.send(any_frame(rng, rng.randrange(6000, 9000)), gap=4)
    await bench.until_sent()
    await bench.cycles(100)
    assert await bench.read(CORE["FREE_CELLS"]) < 144
    packets, size = await bench.identity()
    assert packets > 14 and size > 64 * bench.cells * 3 // 4
    bench.stall = random_stall(rng, 0.2)
    offend(bench, 100)
    report = await bench.check()
    outcomes = report.outcomes
    for name in ("dropped early", "dropped forced", "dropped overflow", "discarded", "sent"):
        assert outcomes[name] > 0, (name, outcomes)
    found = limits(report, setups)
    assert all(found[name] > 0 for name in ("bytes", "packets", "cells")), found
    assert report.ingress_overflow > 0
    for name in ("BAD", "RUNT", "OVERSIZE", "INGRESS_OVERFLOW"):
        assert bench.counted[f"{CORE[name]:#06x}"][0] > 0, name


@cocotb.test()
@cocotb.parametrize((("gap", "stall"), [(0.0, 0.7), (0.4, 0.0), (0.3, 0.6)]))
async def compares_exactly_with_gaps_and_stalls(dut: Any, gap: float, stall: float) -> None:
    """Four queues under different policies, bursts of all sizes: order, bytes, counters and records."""
    bench = await four_queues(dut, f"gaps {gap} {stall}")
    rng = bench.rng
    await bench.reseed(rng.getrandbits(64))
    for q in range(bench.queues):
        limit = rng.choice((4000, 9000, 20000))
        natural: dict[str, Any] = {"limit_bytes": limit, "strict": rng.random() < 0.2,
                                   "quantum": rng.choice((9216, 12000, 40000))}  # fmt: skip
        policy = rng.choice(("drop-tail", "red", "red"))
        if policy == "red":
            natural |= {"min": limit // 8, "max": limit // 2, "weight": rng.choice((1, 0.1, 0.002)),
                        "probability": rng.choice((0.1, 0.5)), "ecn": rng.random() < 0.7,
                        "spread": rng.choice(("geometric", "uniform", "uniform-wait"))}  # fmt: skip
        await bench.configure(q, policy, **natural)
    if stall:
        bench.stall = random_stall(rng, stall)
    if gap:
        bench.pause = random_stall(rng, gap)
    for _ in range(220):
        bench.send(any_frame(rng, rng.choice((60, 64, 65, rng.randrange(34, 300), rng.randrange(34, 1519)))),
                   gap=rng.choice((0, 0, 0, 3, 40)))  # fmt: skip
    report = await bench.check()
    assert report.arrivals == 220 and report.ingress_overflow == 0

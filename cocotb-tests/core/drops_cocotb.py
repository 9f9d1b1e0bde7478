"""Every cause of drop, each counted once with its packets and bytes; exhaustion and recovery."""

from __future__ import annotations

from typing import Any

import cocotb

from core_bench import CORE, QUEUE_COUNTERS, Bench, ip_frame, random_stall

GROUP = bytes.fromhex("0180c2000000")


def counter(bench: Bench, queue: int, name: str) -> tuple[int, int]:
    """A queue's counter as it was checked last."""
    return bench.counted[f"{bench.at(queue, 'COUNTERS') + 16 * QUEUE_COUNTERS.index(name):#06x}"]


async def refill(bench: Bench) -> None:
    """Fills the buffer to its last cell and empties it: no cell was lost. Checks everything."""
    bench.stall = lambda _: True
    room = bench.cells - 1
    while room > 0:
        cells = min(room, 100)
        bench.send(bench.rng.randbytes(64 * cells), gap=2)
        room -= cells
    bench.send(bench.rng.randbytes(64 * 4), gap=0)
    while bench.jobs:
        await bench.cycles(20)
    await bench.cycles(60)
    # the two packets that the egress has read may have given their cells back
    bench.stall = lambda _: False


@cocotb.test()
async def counts_bad_runt_and_oversize_frames_once(dut: Any) -> None:
    bench = await Bench(dut, "ends").start()
    rng = bench.rng
    await bench.core_write(MAX_FRAME=400)
    for _ in range(150):
        kind = rng.randrange(5)
        if kind == 0:
            bench.send(rng.randbytes(rng.randrange(1, 500)), tuser=1)
        elif kind == 1:
            bench.send(rng.randbytes(rng.randrange(1, 14)))
        elif kind == 2:
            bench.send(rng.randbytes(rng.choice((401, 402, 408, 409, rng.randrange(401, 3000)))))
        elif kind == 3:
            data = rng.randbytes(rng.randrange(9, 200))
            keeps = [0xFF] * (-(-len(data) // 8))
            keeps[rng.randrange(len(keeps))] = rng.choice((0, 5, 0x7F, 0xFE))
            bench.send(data, keeps=keeps)
        else:
            bench.send(rng.randbytes(rng.choice((399, 400, 14, 15, rng.randrange(14, 401)))), gap=rng.choice((0, 5)))
    report = await bench.check()
    for name in ("BAD", "RUNT", "OVERSIZE"):
        assert bench.counted[f"{CORE[name]:#06x}"][0] > 10, name
    assert report.departures > 10
    await bench.core_write(MAX_FRAME=60000)
    bench.send(rng.randbytes(9217))
    bench.send(rng.randbytes(9216))
    await bench.drain()
    assert len(bench.received[-1].data) == 9216


@cocotb.test()
async def drops_at_the_limit_in_bytes_to_the_byte(dut: Any) -> None:
    bench = await Bench(dut, "bytes").start()
    await bench.configure(0, "drop-tail", limit_bytes=3000)
    for stall in (0.95, 0.6):
        bench.stall = random_stall(bench.rng, stall)
        for _ in range(250):
            bench.send(ip_frame(bench.rng, bench.rng.randrange(60, 700)), gap=bench.rng.choice((0, 2)))
        await bench.drain()
    # exactly the limit fits, one byte more does not
    bench.stall = lambda _: True
    for length in (1000, 1000, 1000, 1000, 500, 501, 500):
        bench.send(ip_frame(bench.rng, length), gap=30)
    while bench.jobs:
        await bench.cycles(30)
    bench.stall = lambda _: False
    await bench.check()
    assert counter(bench, 0, "OVERFLOW")[0] > 50


@cocotb.test()
async def drops_at_the_limit_in_packets(dut: Any) -> None:
    bench = await Bench(dut, "packets").start()
    await bench.configure(0, "drop-tail", limit_packets=7)
    bench.stall = random_stall(bench.rng, 0.9)
    for _ in range(300):
        bench.send(ip_frame(bench.rng, bench.rng.randrange(60, 200)), gap=bench.rng.choice((0, 2, 9)))
    await bench.check()
    assert counter(bench, 0, "OVERFLOW")[0] > 50


@cocotb.test()
async def ends_frames_as_ingress_overflow_when_no_cell_is_free(dut: Any) -> None:
    """Exhausts the buffer again and again; it recovers, and all cells come home."""
    bench = await Bench(dut, "exhaust").start()
    rng = bench.rng
    for round_ in range(4):
        bench.stall = (lambda _: True) if round_ % 2 == 0 else random_stall(rng, 0.9)
        sizes = list(range(60, 60 + 64)) if round_ < 2 else [rng.randrange(100, 2000) for _ in range(40)]
        rng.shuffle(sizes)
        for size in sizes * (3 if round_ < 2 else 1):
            bench.send(rng.randbytes(size), gap=rng.choice((0, 0, 3)))
        while bench.jobs:
            await bench.cycles(100)
        bench.stall = lambda _: False
        await bench.drain()
        await bench.until_free()
    await refill(bench)
    report = await bench.check()
    assert report.ingress_overflow > 20
    assert bench.counted[f"{CORE['INGRESS_OVERFLOW']:#06x}"][0] == report.ingress_overflow


@cocotb.test()
async def ends_frames_as_ingress_overflow_when_the_admission_fifo_is_full(dut: Any) -> None:
    """Frames of two beats, back to back: faster than a decision every four cycles."""
    bench = await Bench(dut, "tiny").start()
    rng = bench.rng
    for n in range(400):
        bench.send(rng.randbytes(14 + n % 3))
    for _ in range(20):
        bench.send(rng.randbytes(64))
    await bench.drain()
    for n in range(100):
        bench.send(rng.randbytes(14 + n % 3), gap=4)
    await bench.drain()
    await bench.snapshot()
    lost = await bench.read(CORE["INGRESS_OVERFLOW"])
    arrivals = sum(1 for r in bench.decoded() if not r.departure)
    assert lost > 0 and lost + arrivals == 520 == await bench.read(CORE["RX"])
    assert arrivals == len(bench.received) == await bench.read(CORE["TX"])
    await bench.until_free()


@cocotb.test()
async def drains_into_counted_drops_while_the_link_is_down(dut: Any) -> None:
    """A frame that has begun is finished; what was granted while the link was down is counted, not sent."""
    bench = await Bench(dut, "down").start()
    rng = bench.rng
    await bench.map_dscp([d % bench.queues for d in range(64)])
    for _ in range(6):
        bench.stall = random_stall(rng, 0.6)
        for _ in range(30):
            bench.send(ip_frame(rng, rng.randrange(60, 600), dscp=rng.randrange(64)))
        await bench.cycles(rng.randrange(200, 1500))
        dut.link_up.value = 0
        await bench.cycles(rng.randrange(50, 1500))
        dut.link_up.value = 1
        await bench.drain()
    # one at a time: a discarded packet is not waited for. What counts those that are counts modulo four
    for _ in range(4):
        dut.link_up.value = 0
        await bench.cycles(5)
        bench.send(ip_frame(rng, 60))
        await bench.drain()
        dut.link_up.value = 1
        await bench.cycles(5)
        bench.send(ip_frame(rng, 60))
        await bench.drain()
    report = await bench.check()
    assert report.outcomes["discarded"] > 20 and report.outcomes["sent"] > 20
    dut.link_up.value = 0
    await bench.cycles(5)
    assert await bench.read(CORE["STATUS"]) & 1 == 0
    dut.link_up.value = 1


@cocotb.test()
async def never_drops_group_addresses_by_policy(dut: Any) -> None:
    """01-80-C2-00-00-0x: RED selects all, takes none; the hard limit does."""
    bench = await Bench(dut, "exempt").start()
    rng = bench.rng
    await bench.configure(0, "red", limit_bytes=4000, min=64, max=200, weight=1)
    bench.stall = random_stall(rng, 0.8)
    for _ in range(300):
        data = bytearray(ip_frame(rng, rng.randrange(60, 300), ecn=rng.randrange(4)))
        if rng.random() < 0.5:
            data[:6] = GROUP[:5] + bytes([rng.randrange(16)])
        bench.send(bytes(data), gap=rng.choice((0, 5, 20)))
    report = await bench.check()
    exempt = [r for r, _ in report.decisions if r.exempt]
    assert len(exempt) > 100 and all((r.action, r.cause) in ((0, 0), (2, 3)) for r in exempt)
    assert any(r.cause == 3 for r in exempt)
    assert report.outcomes["dropped forced"] > 20


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3])
async def survives_registers_that_make_no_sense(dut: Any, seed: int) -> None:
    """min > max, weight 0, limit 0, quantum 0, shares above the buffer, queues that do not exist: no hang, no cell
    lost, every identity; decisions still as the model says."""
    bench = await Bench(dut, f"nonsense {seed}").start()
    rng = bench.rng
    await bench.map_dscp([rng.randrange(16) for _ in range(64)])
    await bench.core_write(
        SHARED_CELLS=rng.choice((0xFFFF, 0x7FFF, 300)), DEFAULT_QUEUE=rng.choice((1, 9, 0xFFFFFFFF)),
        MAX_FRAME=rng.choice((0xFFFFFFFF, 1500)), SHAPER_BURST=rng.choice((0, 0xFFFFFFFF)),
        SHAPER_COST_LO=rng.choice((1, 100, 0xFFFF)), SHAPER_OVERHEAD=rng.choice((0x8000, 0, 0x3FFF07FF)),
    )  # fmt: skip
    for q in range(bench.queues):

        def any_word() -> int:
            return rng.choice((0, 1, 0xFFFFFFFF, rng.getrandbits(32)))

        words = {
            "POLICY": 1 | rng.randrange(4) << 8 | rng.randrange(2) << 16,
            "LIMIT_BYTES": rng.choice((0, 0xFFFFFFFF, 3000, 1 << 20)), "LIMIT_PACKETS": rng.choice((0, 1, 0xFFFFFFFF)),
            "RESERVE_CELLS": rng.choice((0, 200, 0x7FFF)), "QUANTUM": rng.choice((0, 1, 0xFFFFFFFF)),
            "RED_FLAGS": any_word(), "RED_WEIGHT_LO": any_word(), "RED_WEIGHT_HI": any_word(),
            "RED_DECAY_LO": any_word(), "RED_DECAY_HI": any_word(), "RED_IDLE_RATE": any_word(),
            "RED_MIN": any_word(), "RED_MAX": any_word(), "RED_SLOPE": any_word(), "RED_GENTLE_SLOPE": any_word(),
            "RED_MAXP": any_word(), "RED_MEAN": any_word(),
        }  # fmt: skip
        await bench.configure_raw(q, words)
    bench.stall = random_stall(rng, 0.6)
    for _ in range(4):
        for _ in range(60):
            bench.send(ip_frame(rng, rng.choice((14, 60, 65, 500, 1400)), rng.randrange(64), rng.randrange(4)),
                       gap=rng.choice((0, 2, 40)))  # fmt: skip
        await bench.drain(200000)
        await bench.until_free()
    report = await bench.check()
    assert report.arrivals + report.ingress_overflow > 100

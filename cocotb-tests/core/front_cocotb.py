"""Drop from front: a full queue takes the arrival and drops from its head until it fits, no more and no less."""

from __future__ import annotations

from typing import Any

import cocotb

from core_bench import QUEUE_COUNTERS, Bench, ip_frame, random_stall

FRONT = 5


def words(limit_bytes: int = 100000, limit_packets: int = 60000, front: bool = True) -> dict[str, int]:
    """Drop-Tail, dropping from the front if `front`."""
    return {"POLICY": int(front) << 12, "LIMIT_BYTES": limit_bytes, "LIMIT_PACKETS": limit_packets, "QUANTUM": 9216}


def fronts(bench: Bench) -> list[Any]:
    return [r for r in bench.decoded() if r.departure and r.cause == FRONT]


@cocotb.test()
@cocotb.parametrize(limit=[(3000, 60000), (100000, 7), (4000, 20)], stall=[0.9, 0.6])
async def drops_from_the_head_until_the_arrival_fits(dut: Any, limit: tuple[int, int], stall: float) -> None:
    """Random lengths into two queues, one with and one without; every drop was needed (golden/core.py)."""
    bench = await Bench(dut, f"front {limit} {stall}").start()
    rng = bench.rng
    await bench.map_dscp([d % 2 for d in range(64)])
    await bench.configure_raw(0, words(*limit))
    await bench.configure_raw(1, words(*limit, front=False))
    bench.stall = random_stall(rng, stall)
    for _ in range(300):
        bench.send(
            ip_frame(rng, rng.choice((60, 64, 65, 300, 900, 1500)), dscp=rng.randrange(64)), gap=rng.choice((0, 4))
        )
    report = await bench.check()
    assert report.outcomes["front"] > 20 and report.outcomes["dropped overflow"] > 20
    arrivals = [r for r in bench.decoded() if not r.departure]
    assert not any(r.action == 2 for r in arrivals if r.queue == 0), "every arrival of the queue fits alone"
    counter = f"{bench.at(0, 'COUNTERS') + 16 * QUEUE_COUNTERS.index('FRONT'):#06x}"
    assert bench.counted[counter][0] == report.outcomes["front"]


@cocotb.test()
async def a_long_frame_displaces_many_short_ones_while_frames_keep_coming(dut: Any) -> None:
    """9216 bytes into a queue full of 64-byte frames: 144 heads go, a head every four cycles while nothing can be
    sent, and no frame is lost at the ingress.
    """
    bench = await Bench(dut, "burst").start()
    rng = bench.rng
    await bench.configure_raw(0, words(limit_bytes=9216))
    bench.stall = lambda _: True
    for _ in range(100):
        bench.send(ip_frame(rng, 64), gap=2)
    bench.send(ip_frame(rng, 9216), gap=2)
    for _ in range(30):
        bench.send(ip_frame(rng, 64), gap=2)
    while bench.jobs:
        await bench.cycles(30)
    await bench.cycles(300)
    bench.stall = lambda _: False
    report = await bench.check()
    assert report.ingress_overflow == 0
    drops = fronts(bench)
    # two frames had been granted before; the long one and the first after it clear the rest
    assert [r.number for r in drops] == list(range(2, 101))
    gaps = [b.at - a.at for a, b in zip(drops, drops[1:97], strict=False)]
    assert set(gaps) == {4}, sorted(set(gaps))
    assert report.departures == 131 and len(bench.received) == 131 - 99


@cocotb.test()
async def what_fits_into_no_queue_is_dropped_at_the_tail(dut: Any) -> None:
    """An arrival longer than the limit displaces nothing."""
    bench = await Bench(dut, "longer").start()
    await bench.configure_raw(0, words(limit_bytes=1000))
    bench.stall = lambda _: True
    for length in (400, 400, 400, 400, 1001, 1000):
        bench.send(ip_frame(bench.rng, length), gap=40)
    while bench.jobs:
        await bench.cycles(30)
    await bench.cycles(300)
    bench.stall = lambda _: False
    report = await bench.check()
    drops = fronts(bench)
    assert report.outcomes["dropped overflow"] == 1
    assert [r.number for r in drops] == [2, 3]

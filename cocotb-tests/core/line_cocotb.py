"""Line rate with a standing queue: 84 byte times a minimum frame, in and out together, nothing lost without a verdict.

Half the buffer or more is held all the time, and the free list is out of order before it begins. Sizes come one after
the other in the same run, each as the line delivers it: 24 byte times beside the frame.
"""

from __future__ import annotations

import random
from typing import Any

import cocotb

from axi_bench import AxiBench, any_frame, four_queues, lowest_held
from core_bench import random_stall


def sizes(rng: random.Random) -> list[list[int]]:
    """Frames' lengths without FCS, in the order in which they are sent: 64, 65, 1518, random, 9216 bytes."""
    return [
        [60] * 330 + [64] * 330,
        [65] * 400,
        [1514, 1518] * 20,
        [rng.choice((rng.randrange(14, 130), rng.randrange(14, 1519), rng.randrange(14, 9217))) for _ in range(30)],
        [9216] * 5,
        [60] * 100,
    ]


def at_line_rate(bench: AxiBench, start: int) -> None:
    """The source has kept its promise: the frames from number `start` on came with 24 byte times between them."""
    frames = bench.sent[start:]
    cycles = frames[-1].last - frames[0].beats[0] + 1
    assert cycles <= sum(s.size + 24 for s in frames) // 8 + 2, f"{cycles} cycles for {len(frames)} frames"


@cocotb.test()
@cocotb.parametrize(queues=[1, 4], policy=["drop-tail", "red"])
async def loses_nothing_at_line_rate_with_half_the_buffer_held(dut: Any, queues: int, policy: str) -> None:
    bench = await four_queues(dut, f"line {queues} {policy}", queues)
    rng = bench.rng
    await bench.shape("10Gbit", 1538)
    await bench.shuffle()
    for q in range(queues):
        if policy == "red":
            # the standing queue's average lies between the thresholds
            share = 64 * (bench.cells - 1) // queues
            await bench.configure(q, "red", limit_bytes=min(2, queues) * share, min=share // 8, max=share, weight=0.02,
                                  probability=0.02, spread=rng.choice(("geometric", "uniform")), ecn=True)  # fmt: skip
    await bench.hold(bench.cells * 3 // 4, lambda: rng.choice((60, 64, 65, 590, 1514, 1514)))
    await bench.identity()
    lengths = sizes(rng)
    rng.shuffle(lengths)
    start = len(bench.sent)
    bench.line([any_frame(rng, n) for group in lengths for n in group])
    bench.stall = lambda _: False
    lowest = await lowest_held(bench)
    assert lowest >= bench.cells // 2, f"only {lowest} cells were held"
    report = await bench.check()
    at_line_rate(bench, start)
    assert report.ingress_overflow == 0 and report.outcomes["dropped overflow"] == 0
    if policy == "red":
        assert report.outcomes["marked early"] > 0 and report.outcomes["dropped early"] > 0
    else:
        assert report.departures == len(bench.sent)


@cocotb.test()
@cocotb.parametrize(policy=["drop-tail", "red"])
async def takes_twice_what_the_egress_is_shaped_to(dut: Any, policy: str) -> None:
    """2:1 with the buffer more than half full all the time: each loss is a verdict or a limit of its queue."""
    bench = await four_queues(dut, f"overload {policy}")
    rng = bench.rng
    await bench.shape("5Gbit", 3000)
    await bench.shuffle(60)
    share = 64 * bench.cells // 5
    for q in range(bench.queues):
        natural: dict[str, Any] = {"limit_bytes": share}
        if policy == "red":
            natural |= {"min": share // 2, "max": share, "weight": 0.05, "probability": 0.2, "ecn": q % 2 == 0}
        await bench.configure(q, policy, **natural)
    await bench.hold(bench.cells * 3 // 4, lambda: rng.choice((60, 65, 590, 1514)))
    await bench.identity()
    start = len(bench.sent)
    bench.line([any_frame(rng, rng.choice((60, 64, 65, 590, 1514))) for _ in range(640)])
    bench.stall = random_stall(rng, 0.1)
    lowest = await lowest_held(bench)
    assert lowest >= bench.cells // 2, f"only {lowest} cells were held"
    bench.stall = lambda _: False
    report = await bench.check()
    at_line_rate(bench, start)
    assert report.ingress_overflow == 0
    lost = report.outcomes["dropped overflow"] + report.outcomes["dropped early"] + report.outcomes["dropped forced"]
    assert lost > 40
    if policy == "red":
        assert report.outcomes["dropped early"] > 10 and report.outcomes["marked early"] > 10

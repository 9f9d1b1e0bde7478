"""Resets of both kinds at random moments, with traffic in all four queues."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from axi_bench import AxiBench, any_frame, four_queues
from core_bench import Received, random_stall
from golden import frame as wire

MAP = [d % 4 for d in range(64)]


async def set_up(bench: AxiBench) -> None:
    """Two queues under RED, one of them strict."""
    await bench.map_dscp(MAP)
    await bench.configure(0, "red", limit_bytes=20000, min=1000, max=15000, weight=0.1, ecn=True, strict=True)
    await bench.configure(2, "red", limit_bytes=9000, min=500, max=2000, weight=0.5)
    await bench.configure(3, "drop-tail", limit_bytes=12000, quantum=20000)


def burst(bench: AxiBench, frames: int) -> list[bytes]:
    rng = bench.rng
    made = [any_frame(rng, rng.choice((60, 64, 65, 150, 700, 1514))) for _ in range(frames)]
    for data in made:
        bench.send(data, gap=rng.choice((0, 0, 6)))
    return made


def begins(frame: bytes, part: bytes) -> bool:
    """Whether `part` is the beginning of the frame as it was or as it is marked."""
    return part in (frame[: len(part)], wire.mark(frame, wire.classify(frame, 0, MAP))[: len(part)])


def whole_or_closed(received: list[Received], known: list[bytes]) -> None:
    """No partial frame without tuser, none that was not sent, none twice."""
    rest = list(known)
    for r in received:
        data = bytes(r.data)
        found = next((f for f in rest if (r.closed or len(f) == len(data)) and begins(f, data)), None)
        assert found is not None, f"{len(data)} bytes that are no frame, {'closed' if r.closed else 'whole'}"
        rest.remove(found)


@cocotb.test()
@cocotb.parametrize(soft=[False, True])
async def starts_anew_after_a_reset_at_any_moment(dut: Any, soft: bool) -> None:
    """What leaves is whole or closed by tuser; no cell is lost; what follows is as after power-up, to the bit."""
    bench = await four_queues(dut, f"restart {soft}")
    rng = bench.rng
    closed = 0
    for n in range(5):
        bench.received.clear()
        bench.sink_frames()
        await set_up(bench)
        # a queue as it is: `changes` end with the epoch, the configuration does not end with a soft reset
        setups = list(bench.setups)
        for change in bench.changes:
            setups[change.queue] = change.setup
        bench.stall = random_stall(rng, rng.choice((0.0, 0.5, 0.9)))
        bench.pause = random_stall(rng, 0.3) if n % 2 else None
        known = burst(bench, 40)
        await bench.cycles(rng.randrange(30, 2500))
        bench.withdraw()
        if soft:
            await bench.soft_reset()
        else:
            dut.rst.value = 1
            for _ in range(rng.choice((1, 1, 2, 5))):
                await RisingEdge(dut.clk)
            dut.rst.value = 0
            await RisingEdge(dut.clk)
        bench.pause = None
        await bench.until_wire_idle()
        bench.stall = lambda _: False
        await bench.cycles(80)
        await bench.drain()
        whole_or_closed(bench.received, known)
        assert not bench.open and sum(r.closed for r in bench.received) <= (0 if soft else 1)
        closed += sum(r.closed for r in bench.received)
        sink = bench.sink_frames()
        assert [user for _, user in sink] == [r.closed for r in bench.received], "the sink saw other ends of frames"
        if soft:
            await bench.soft_reset()  # what came in behind the first reset is gone as well
            bench.epoch()
            bench.setups = setups
            await bench.reseed(rng.getrandbits(64))
            await bench.until_free()
        else:
            await bench.defaults()
            await set_up(bench)
        bench.stall = random_stall(rng, 0.5)
        burst(bench, 30)
        report = await bench.check(counters=n % 3 == 0)
        assert report.arrivals == 30 and report.ingress_overflow == 0
    cocotb.log.info("%d frames were closed", closed)

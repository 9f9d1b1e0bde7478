"""Resets at any moment: frames are whole or closed, no cell is lost, what follows is perfect."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from core_bench import CORE, Bench, ip_frame, random_stall


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.6])
async def closes_the_open_frame_at_a_reset_at_any_moment(dut: Any, stall: float) -> None:
    """`rst` with traffic in both directions. The receiver gets whole frames and frames closed by tlast and tuser;
    the ingress is discarded to the next tlast; then configuration is at its defaults and all frames come through."""
    bench = await Bench(dut, f"rst {stall}").start()
    rng = bench.rng
    closed = torn_ingress = 0
    for round_ in range(25):
        if stall:
            bench.stall = random_stall(rng, stall)
        await bench.configure(0, "red", limit_bytes=9000, min=1000, max=3000, weight=0.1, ecn=True)
        frames = [ip_frame(rng, rng.choice((60, 64, 150, 700, 1500)), ecn=rng.randrange(4)) for _ in range(12)]
        for data in frames:
            bench.send(data, gap=rng.choice((0, 0, 6)))
        await bench.cycles(rng.randrange(30, 900))
        bench.jobs.clear()  # the frame on the wire goes on to its end
        was_sent = {bytes(s.data) for s in bench.sent}
        dut.rst.value = 1
        for _ in range(rng.choice((1, 1, 2, 5))):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        wire_busy = bench.on_the_wire
        # frames that follow: the torn one ends first
        await bench.cycles(2)
        torn_ingress += wire_busy
        await bench.until_wire_idle()
        await bench.cycles(30)
        bench.stall = lambda _: False
        await bench.cycles(60)
        known = was_sent | {bytes(d) for d in frames}
        for r in bench.received:
            if r.closed:
                closed += 1
                assert any(d[: len(r.data)] == bytes(r.data) for d in known) or bench.marked_prefix(r.data, known)
            else:
                assert bytes(r.data) in known or bench.marked_prefix(r.data, known), "a partial frame without a mark"
        assert sum(r.closed for r in bench.received) <= 1
        assert not bench.open
        # defaults are back
        assert await bench.read(bench.at(0, "POLICY")) == 0
        assert await bench.read(bench.at(0, "LIMIT_BYTES")) == 0x1FFFFF
        assert await bench.read(CORE["GENERATION"]) == 0
        assert await bench.read(CORE["FREE_CELLS_MIN"]) == bench.cells - 1, "cells that were held before the reset"
        await bench.defaults()
        for _ in range(6):
            bench.send(ip_frame(rng, rng.randrange(60, 300)))
        report = await bench.check(counters=round_ % 12 == 0)
        assert report.departures == 6
    assert closed >= 3, closed
    cocotb.log.info("%d frames closed, %d torn at the ingress", closed, torn_ingress)


@cocotb.test()
async def finishes_the_frame_at_a_reset_by_register(dut: Any) -> None:
    """CTRL.RESET: the frame being sent is whole, configuration stays, counters start at 0, cells are free."""
    bench = await Bench(dut, "soft").start()
    rng = bench.rng
    words = await bench.configure(0, "red", limit_bytes=9000, min=1000, max=3000, weight=0.1)
    setup = bench.changes[-1].setup
    for round_ in range(15):
        bench.stall = random_stall(rng, rng.choice((0.0, 0.4, 0.8)))
        for _ in range(25):
            bench.send(
                ip_frame(rng, rng.choice((60, 64, 150, 700, 1500)), ecn=rng.randrange(4)), gap=rng.choice((0, 6))
            )
        await bench.cycles(rng.randrange(30, 900))
        bench.jobs.clear()
        await bench.soft_reset()
        await bench.until_wire_idle()
        bench.stall = lambda _: False
        await bench.cycles(60)
        known = {bytes(s.data) for s in bench.sent}
        for r in bench.received:
            assert not r.closed and (bytes(r.data) in known or bench.marked_prefix(r.data, known))
        assert not bench.open
        await bench.drain()
        await bench.soft_reset()  # what came in behind the first reset is gone as well
        for name in ("POLICY", "LIMIT_BYTES", "RED_MIN", "RED_WEIGHT_LO", "RED_FLAGS"):
            assert await bench.read(bench.at(0, name)) == words[name], name
        bench.epoch()
        bench.setups[0] = setup
        await bench.reseed(rng.getrandbits(64))
        await bench.until_free()
        for _ in range(8):
            bench.send(ip_frame(rng, rng.randrange(60, 300)), gap=rng.choice((0, 9)))
        report = await bench.check(counters=round_ % 7 == 0)
        assert report.arrivals == 8


@cocotb.test()
async def fills_the_whole_buffer_after_resets(dut: Any) -> None:
    """Every cell can be used, whatever was in the buffer when the reset came."""
    bench = await Bench(dut, "refill").start()
    rng = bench.rng
    for soft in (False, True, False):
        bench.stall = lambda _: True
        for _ in range(40):
            bench.send(rng.randbytes(rng.randrange(60, 700)))
        await bench.cycles(rng.randrange(500, 1500))
        bench.jobs.clear()
        if soft:
            bench.stall = lambda _: False
            await bench.soft_reset()
            await bench.until_wire_idle()
            await bench.drain()
            await bench.soft_reset()
            bench.epoch()
            await bench.reseed(3)
        else:
            dut.rst.value = 1
            await RisingEdge(dut.clk)
            dut.rst.value = 0
            await bench.until_wire_idle()
            bench.stall = lambda _: False
            await bench.cycles(60)
            await bench.defaults()
        await bench.until_free()
        bench.stall = lambda _: True
        for _ in range(3):
            bench.send(rng.randbytes(9216), gap=4)
        for n in range(20):
            bench.send(rng.randbytes(64 * 20 - n), gap=4)
        while bench.jobs:
            await bench.cycles(50)
        await bench.cycles(50)
        # what is left is less than a frame takes; frames of one cell fill it to the last
        for n in range(2 * bench.cells):
            bench.send(rng.randbytes(14 + n % 40), gap=12)
            await bench.cycles(40)
            if not await bench.read(CORE["FREE_CELLS"]):
                break
        assert await bench.read(CORE["FREE_CELLS"]) == 0, "not every cell can be used"
        for n in range(3):
            bench.send(rng.randbytes(54 + n), gap=12)
        await bench.cycles(100)
        bench.stall = lambda _: False
        report = await bench.check()
        assert report.ingress_overflow > 0

"""Weir as NetFPGA's output queues: destinations, copies, back-pressure, overload, registers, reset."""

from __future__ import annotations

import logging
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from axis import seeded
from convention import OUTPUTS, Sent, Sink, Source, check, outputs_of

MAGIC = 0x57454952  # "WEIR"
ID, PORTS, NOWHERE, DROPPED = 0x00, 0x04, 0x08, 0x0C
OWN = OUTPUTS << 16
CTRL, STATUS, HELD_PACKETS = 0x020, 0x024, 0x108
RESETTING = 2
FIFO_BYTES = 1024 * 32


class Bench:
    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.rng = dut, seeded(name)
        self.source = Source(dut, self.rng)
        self.sinks = [Sink(dut, n) for n in range(OUTPUTS)]

    @classmethod
    async def make(cls, dut: Any, name: str) -> Bench:
        bench = cls(dut, name)
        logging.getLogger(f"cocotb.{dut._name}.s_axi").setLevel(logging.WARNING)
        for signal in ("tdata", "tkeep", "tuser", "tlast", "tvalid"):
            getattr(dut, f"s_axis_{signal}").value = 0
        dut.axis_resetn.value = 0
        bench.bus = AxiLiteMaster(
            AxiLiteBus.from_prefix(dut, "s_axi"), dut.axis_aclk, dut.axis_resetn, reset_active_level=False
        )
        Clock(dut.axis_aclk, 5, "ns").start()
        for sink in bench.sinks:
            cocotb.start_soon(sink.run())
        await ClockCycles(dut.axis_aclk, 5)
        dut.axis_resetn.value = 1
        assert await bench.read(0) == MAGIC  # the first access waits for the sweeps after reset
        return bench

    async def read(self, address: int) -> int:
        answer = await self.bus.read(address, 4)
        assert answer.resp == AxiResp.OKAY, hex(address)
        return int.from_bytes(answer.data, "little")

    async def held(self, output: int) -> int:
        """Packets in a core."""
        return await self.read(output << 16 | HELD_PACKETS)

    def frame(self, length: int, destination: int) -> Sent:
        macs = b"\x02\0\0\0\0\2\x02\0\0\0\0\1\x88\xb6"
        return Sent((macs + self.rng.randbytes(length))[:length], destination, 1 << self.rng.randrange(8))

    async def until(self, done: Any, cycles: int) -> None:
        for _ in range(cycles):
            if done():
                return
            await RisingEdge(self.dut.axis_aclk)
        raise AssertionError("takes too long")


def expected(frames: list[Sent]) -> list[list[bytes]]:
    return [[f.data for f in frames if n in outputs_of(f.destination)] for n in range(OUTPUTS)]


@cocotb.test()
@cocotb.parametrize(gaps=[0, 1], stalls=[0, 1])
async def frames_go_where_their_destination_says(dut: Any, gaps: int, stalls: int) -> None:
    """Every destination field, none and several ports among them; all lengths around beats and words, and a jumbo frame."""
    bench = await Bench.make(dut, f"destinations {gaps} {stalls}")
    rng = bench.rng
    if gaps:
        bench.source.gap = lambda: rng.choice((0, 0, 0, 1, 3))
    if stalls:
        for sink in bench.sinks:
            sink.ready = lambda: rng.random() < 0.5
    lengths = [*range(14, 100), 1514, 9216] + [rng.randrange(60, 1515) for _ in range(60)]
    rng.shuffle(lengths)
    frames = []
    fields = list(range(256))
    rng.shuffle(fields)
    for n, length in enumerate(lengths):
        frames.append(bench.frame(length, 0 if n % 20 == 7 else fields[n]))
        # so slowly that no output is asked for more than it takes
        await bench.source.send(frames[-1], pause=(length + 24) // 8 + 8)
    wanted = expected(frames)
    await bench.until(lambda: all(len(s.frames) == len(w) for s, w in zip(bench.sinks, wanted, strict=True)), 40000)
    await ClockCycles(dut.axis_aclk, 200)
    for n, sink in enumerate(bench.sinks):
        check(sink, n, wanted[n])
        assert await bench.read(OWN + DROPPED + 4 * n) == 0
    assert await bench.read(OWN + NOWHERE) == sum(not outputs_of(f.destination) for f in frames) > 5
    assert bench.source.refused == 0


@cocotb.test()
async def a_frame_for_everybody_is_copied_to_everybody(dut: Any) -> None:
    bench = await Bench.make(dut, "copies")
    frames = [bench.frame(length, 0x55 | 0x80) for length in (60, 61, 1514, 9216)]
    for frame in frames:
        await bench.source.send(frame)
    await bench.until(lambda: all(len(s.frames) == len(frames) for s in bench.sinks), 8000)
    for n, sink in enumerate(bench.sinks):
        check(sink, n, [f.data for f in frames])


@cocotb.test()
async def an_output_that_does_not_take_holds_nobody_else_and_waits_in_its_core(dut: Any) -> None:
    """At most two frames are behind the core, where no policy sees them, and two that it has granted are on their way."""
    bench = await Bench.make(dut, "held")
    bench.sinks[1].ready = lambda: False
    slow = [bench.frame(300, 0x04) for _ in range(20)]
    fast = [bench.frame(300, 0x10) for _ in range(20)]
    for one, other in zip(slow, fast, strict=True):
        await bench.source.send(one, pause=30)
        await bench.source.send(other, pause=30)
    await bench.until(lambda: len(bench.sinks[2].frames) == 20, 5000)
    check(bench.sinks[2], 2, [f.data for f in fast])
    assert not bench.sinks[1].frames
    assert int(dut.output_1_upsizer.collect_waiting.value) == 2
    assert 20 - 4 <= await bench.held(1) < 20
    bench.sinks[1].ready = lambda: True
    await bench.until(lambda: len(bench.sinks[1].frames) == 20, 5000)
    check(bench.sinks[1], 1, [f.data for f in slow])


@cocotb.test()
async def an_output_takes_the_line_rate_of_ten_gigabit(dut: Any) -> None:
    """Minimum frames 10.5 cycles apart, 14.88 Mpps at 156.25 MHz, then long ones: none is lost, and the last leaves in time."""
    bench = await Bench.make(dut, "rate")
    frames = [bench.frame(60, 0x40) for _ in range(600)] + [bench.frame(1514, 0x40) for _ in range(60)]
    begun = bench.sinks[3].cycle
    for n, frame in enumerate(frames):
        cycles = (len(frame.data) + 24) / 8
        await bench.source.send(frame, pause=int(cycles * (n + 1)) - int(cycles * n) - -(-len(frame.data) // 32))
    await bench.until(lambda: len(bench.sinks[3].frames) == len(frames), 2000)
    check(bench.sinks[3], 3, [f.data for f in frames])
    assert await bench.read(OWN + DROPPED + 12) == 0
    line = sum(len(f.data) + 24 for f in frames) / 8
    assert bench.sinks[3].frames[-1][2] - begun < line + 600


@cocotb.test()
async def what_an_output_cannot_take_is_dropped_whole_and_counted(dut: Any) -> None:
    """Four times as much as a core takes, with another output at its ease."""
    bench = await Bench.make(dut, "overload")
    frames = []
    for n in range(160):
        frames.append(bench.frame(1000 + n, 0x01 if n % 16 else 0x40))
        await bench.source.send(frames[-1])
    wanted = expected(frames)
    await ClockCycles(dut.axis_aclk, 14000)
    check(bench.sinks[3], 3, wanted[3])
    got = [data for data, _, _ in bench.sinks[0].frames]
    dropped = await bench.read(OWN + DROPPED)
    left = iter(wanted[0])
    assert all(any(data == other for other in left) for data in got), "out of order, or not what was sent"
    # what came in less what a core takes meanwhile, 64 of 256 bits, less what the FIFO holds, in frames of some 1100 bytes
    total = sum(map(len, wanted[0]))
    assert len(got) + dropped == len(wanted[0]) and abs(dropped - (total * 3 / 4 - FIFO_BYTES) / 1080) < 12
    assert await bench.held(0) == 0 and bench.source.refused == 0


@cocotb.test()
async def registers_of_every_core_and_the_own_ones_are_there(dut: Any) -> None:
    bench = await Bench.make(dut, "registers")
    for n in range(OUTPUTS):
        assert await bench.read(n << 16) == MAGIC
    assert await bench.read(OWN + ID) == int.from_bytes(b"WNOQ", "big")
    assert await bench.read(OWN + PORTS) == OUTPUTS
    for address in (OWN + 4 * 8, OWN + 2, (OUTPUTS + 1) << 16, 7 << 16 | 0xFFFC):
        assert (await bench.bus.read(address, 4)).resp == AxiResp.SLVERR, hex(address)
    for address in (OWN, OWN + NOWHERE, 6 << 16):
        assert (await bench.bus.write(address, b"1234")).resp == AxiResp.SLVERR, hex(address)
    assert (await bench.bus.read(2 << 16 | 0xFFFC, 4)).resp == AxiResp.SLVERR


@cocotb.test()
async def a_reset_amid_frames_leaves_nothing_of_them(dut: Any) -> None:
    """At moments while a jumbo frame goes through each part of the way; the next frame is whole."""
    bench = await Bench.make(dut, "reset")
    for moment in (100, 700, 1700, 2300, 2700, *(bench.rng.randrange(50, 3000) for _ in range(4))):
        task = cocotb.start_soon(bench.source.send(bench.frame(9000, 0x05)))
        await ClockCycles(dut.axis_aclk, moment)
        task.cancel()
        dut.s_axis_tvalid.value = 0
        dut.axis_resetn.value = 0
        await ClockCycles(dut.axis_aclk, 5)
        for sink in bench.sinks:
            sink.frames.clear()
        dut.axis_resetn.value = 1
        assert await bench.read(0) == MAGIC and await bench.held(0) == 0
        await ClockCycles(dut.axis_aclk, 300)
        assert not any(sink.frames for sink in bench.sinks), moment
        frame = bench.frame(777, 0x05)
        await bench.source.send(frame)
        await bench.until(lambda: len(bench.sinks[0].frames) == len(bench.sinks[1].frames) == 1, 3000)
        check(bench.sinks[0], 0, [frame.data])
        check(bench.sinks[1], 1, [frame.data])


@cocotb.test()
async def a_reset_by_register_empties_one_core(dut: Any) -> None:
    """CTRL.RESET while packets wait: those that have been granted leave whole, the others are gone, and no other core notices."""
    bench = await Bench.make(dut, "register reset")
    frames = [bench.frame(300, 0x05) for _ in range(20)]
    for sink in bench.sinks[:2]:
        sink.ready = lambda: False
    for frame in frames:
        await bench.source.send(frame, pause=60)
    await ClockCycles(dut.axis_aclk, 500)
    for output in (0, 1):
        assert await bench.held(output) >= 20 - 4
    assert (await bench.bus.write(CTRL, b"\1\0\0\0")).resp == AxiResp.OKAY
    for sink in bench.sinks[:2]:
        sink.ready = lambda: True
    await bench.until(lambda: len(bench.sinks[1].frames) == len(frames), 5000)
    assert await bench.read(STATUS) & RESETTING == 0 and await bench.held(0) == 0
    assert 1 <= len(bench.sinks[0].frames) <= 4
    check(bench.sinks[0], 0, [f.data for f in frames[: len(bench.sinks[0].frames)]])
    check(bench.sinks[1], 1, [f.data for f in frames])
    frame = bench.frame(777, 0x01)
    await bench.source.send(frame)
    await bench.until(lambda: bench.sinks[0].frames and bench.sinks[0].frames[-1][0] == frame.data, 3000)

"""FrameCloser: passes frames, and closes exactly the frames that a reset tears off."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from axis import Item, Sink, Source, axis_fields, beats_of, cycle, frames_of, seeded, start

LATENCY = 1
CLOSING = {"tdata": 0, "tkeep": 1, "tlast": 1, "tuser": 1}


class Bench:
    """A source that is reset with the unit, and a receiver that is not."""

    def __init__(self, dut: Any, name: str, gap: float = 0.0, stall: float = 0.0) -> None:
        self.dut, self.rng, self.gap, self.stall = dut, seeded(name), gap, stall

    async def start(self) -> Bench:
        dut = self.dut
        self.source = Source(
            dut.clk, dut.s_axis_tvalid, dut.s_axis_tready, axis_fields(dut, "s_axis"), self.rng, self.gap
        )
        self.sink = Sink(
            dut.clk, dut.rst, dut.m_axis_tvalid, dut.m_axis_tready, axis_fields(dut, "m_axis"), self.rng, self.stall
        )
        await start(dut)
        return self

    def send(self, frames: int, longest: int = 100) -> None:
        for _ in range(frames):
            frame = self.rng.randbytes(self.rng.randrange(1, longest + 1))
            self.source.queue.extend(beats_of(frame, self.rng, tuser=self.rng.randrange(2)))

    async def reset(self, cycles: int) -> None:
        """Resets the unit and its source; the source is silent meanwhile."""
        self.dut.rst.value = 1
        self.source.clear()
        await ClockCycles(self.dut.clk, cycles)
        self.dut.rst.value = 0

    async def idle(self) -> None:
        while not self.source.idle or int(self.dut.busy.value):
            await RisingEdge(self.dut.clk)
        await RisingEdge(self.dut.clk)

    @property
    def taken(self) -> list[Item]:
        return [item for _, item in self.sink.taken]

    @property
    def given(self) -> list[Item]:
        return [item for _, item in self.source.sent]


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.4], stall=[0.0, 0.4, 0.8])
async def passes_frames_unchanged(dut: Any, gap: float, stall: float) -> None:
    bench = await Bench(dut, f"pass {gap} {stall}", gap, stall).start()
    bench.send(200)
    bench.send(1, 9216)
    await bench.idle()
    assert len(bench.taken) > 200
    assert bench.taken == bench.given


@cocotb.test()
async def sends_a_beat_per_cycle_one_cycle_later(dut: Any) -> None:
    bench = await Bench(dut, "rate").start()
    bench.send(40)
    await bench.idle()
    into = [at for at, _ in bench.source.sent]
    assert into == list(range(into[0], into[0] + len(into)))
    assert [at for at, _ in bench.sink.taken] == [at + LATENCY for at in into]


@cocotb.test()
@cocotb.parametrize(cycles=[1, 2, 5], beats=range(5), wait=[0.0, 1.0])
async def closes_an_open_frame_with_one_bad_beat(dut: Any, cycles: int, beats: int, wait: float) -> None:
    """The receiver has `beats` beats of a frame of five and then, or not, refuses the next one."""
    bench = await Bench(dut, f"close {cycles} {beats} {wait}").start()
    bench.sink.stall = 1.0
    await ClockCycles(dut.clk, 2)
    bench.source.queue.extend(beats_of(bytes(range(40)), bench.rng)[: 5 if wait else beats])
    taken = 0
    while taken < beats:
        bench.sink.stall = 0.0
        await RisingEdge(dut.clk)
        bench.sink.stall = 1.0
        await RisingEdge(dut.clk)
        taken = len(bench.taken)
    await ClockCycles(dut.clk, 8)
    assert len(bench.taken) == beats
    assert int(dut.m_axis_tvalid.value) == int(wait)
    bench.sink.taken.clear()
    await bench.reset(cycles)
    bench.sink.stall = 0.3
    bench.source.sent.clear()
    bench.send(3)
    await bench.idle()
    assert bench.taken == ([CLOSING] if beats else []) + bench.given


@cocotb.test()
async def closes_once_though_resets_follow_each_other(dut: Any) -> None:
    """The closing beat waits for the receiver; more resets come; one closing beat is taken in the end."""
    bench = await Bench(dut, "again").start()
    bench.source.queue.extend(beats_of(bytes(40), bench.rng)[:2])
    await ClockCycles(dut.clk, 10)
    assert len(bench.taken) == 2
    bench.sink.stall = 1.0
    await ClockCycles(dut.clk, 2)
    for cycles in (1, 1, 3, 2):
        await bench.reset(cycles)
        await ClockCycles(dut.clk, cycles + 1)
        assert int(dut.m_axis_tvalid.value) and int(dut.busy.value)
    bench.sink.stall = 0.0
    bench.sink.taken.clear()
    bench.source.sent.clear()
    bench.send(2)
    await bench.idle()
    assert bench.taken == [CLOSING, *bench.given]


@cocotb.test()
async def says_nothing_after_a_reset_between_frames(dut: Any) -> None:
    bench = await Bench(dut, "between").start()
    for cycles in (1, 2, 3):
        bench.send(2)
        await bench.idle()
        bench.sink.taken.clear()
        await bench.reset(cycles)
        await ClockCycles(dut.clk, 10)
        assert not bench.taken and not int(dut.busy.value)


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.4], stall=[0.0, 0.4, 0.8])
async def gives_the_receiver_whole_or_closed_frames_at_any_moment_of_reset(dut: Any, gap: float, stall: float) -> None:
    bench = await Bench(dut, f"moments {gap} {stall}", gap, stall).start()
    closed = clean = 0
    for _ in range(150):
        bench.send(8, 60)
        await ClockCycles(dut.clk, bench.rng.randrange(1, 60))
        await bench.reset(bench.rng.randrange(1, 4))
        await RisingEdge(dut.clk)  # what the receiver took up to now belongs to the time before
        before, first_part = bench.taken, bench.given
        bench.sink.taken.clear()
        bench.source.sent.clear()
        assert before == first_part[: len(before)]
        is_open = bool(before) and not before[-1]["tlast"]
        bench.send(2, 60)
        await bench.idle()
        assert bench.taken == ([CLOSING] if is_open else []) + bench.given
        assert all(frame[-1]["tlast"] for frame in frames_of(bench.sink.taken))
        closed, clean = closed + is_open, clean + (not is_open)
        bench.sink.taken.clear()
        bench.source.sent.clear()
    assert closed > 20 and clean > 2, (closed, clean, cycle())


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.6], stall=[0.0, 0.6])
async def is_busy_while_a_beat_is_inside_or_a_frame_open_at_a_reset(dut: Any, gap: float, stall: float) -> None:
    """From the first cycle after a reset on, in which the next frame may already come."""
    bench = await Bench(dut, f"busy {gap} {stall}", gap, stall).start()
    seen = {"closing": 0, "only a beat that waits": 0, "idle": 0}

    async def watch() -> None:
        inside, is_open, closing = 0, False, False
        while True:
            await RisingEdge(dut.clk)
            given, taken = (
                int(valid.value) and int(ready.value)
                for valid, ready in ((dut.s_axis_tvalid, dut.s_axis_tready), (dut.m_axis_tvalid, dut.m_axis_tready))
            )
            if not int(dut.rst.value):
                if inside or closing:
                    assert int(dut.busy.value), f"{inside} beats inside, {closing=}"
                elif not int(dut.s_axis_tvalid.value):
                    assert not int(dut.busy.value)
                    seen["idle"] += 1
                seen["closing"] += closing and not int(dut.m_axis_tvalid.value)
                seen["only a beat that waits"] += inside > 0 and not int(dut.m_axis_tvalid.value)
            if taken:
                is_open = not int(dut.m_axis_tlast.value)
            inside += given - int(taken and not closing)
            closing = closing and not taken
            if int(dut.rst.value):
                inside, closing = 0, is_open

    cocotb.start_soon(watch())
    for _ in range(60):
        bench.send(6, 60)
        await ClockCycles(dut.clk, bench.rng.randrange(1, 40))
        if bench.rng.random() < 0.5:
            await bench.idle()
        await bench.reset(bench.rng.randrange(1, 4))
        bench.send(1, 20)
        await bench.idle()
    assert all(n > 5 for n in seen.values()), seen

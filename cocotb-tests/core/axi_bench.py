"""The core between the sources and sinks of cocotbext-axi, with four queues and a standing queue.

`AxiBench` is `core_bench.Bench` whose frames come from an AxiStreamSource and go to an AxiStreamSink. A monitor looks
at both ports as `Bench` does, so that the model gets the cycles of the beats; what the sink received is compared with
the model as well. Reset does not reach source and sink: a MAC goes on with its frame.
"""

from __future__ import annotations

import logging
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from core_bench import CORE, MASK48, QUEUE_COUNTERS, Bench, Job, Receiver, ip_frame
from golden.core import Report

#: cycles from `send_nowait` of an idle source to the first beat
SOURCE = 2


def axi_frame(job: Job) -> AxiStreamFrame:
    """A job's beats as cocotbext-axi wants them: lists with an entry a byte."""
    data = b"".join(d.to_bytes(8, "little") for d, _, _, _ in job.beats)
    keep = [k >> n & 1 for _, k, _, _ in job.beats for n in range(8)]
    user = [u for _, _, _, u in job.beats for _ in range(8)]
    return AxiStreamFrame(data, tkeep=keep, tuser=user)


class AxiBench(Bench):
    """A bench on cocotbext-axi's streams."""

    source: AxiStreamSource
    sink: AxiStreamSink
    #: frames that the source has, the one on the wire first
    given: deque[Job]
    #: the cycle in which the next frame may begin; none while a gap's frame is on the wire
    due: int | None

    def epoch(self) -> None:
        """Forgets what was observed, the sink's frames too."""
        super().epoch()
        self.sink_frames()

    def sink_frames(self) -> list[tuple[bytes, bool]]:
        """What the sink has received since the last call, and whether its last beat had tuser."""
        frames = []
        while not self.sink.empty():
            frame = self.sink.recv_nowait(compact=False)
            data = bytes(b for b, k in zip(frame.tdata, frame.tkeep, strict=True) if k)
            frames.append((data, bool(frame.tuser[-1])))
        return frames

    async def _cycles(self) -> None:
        dut = self.dut
        for prefix in ("s_axis", "m_axis"):
            logging.getLogger(f"cocotb.{dut._name}.{prefix}").setLevel(logging.WARNING)
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk)
        self.sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.clk)
        edge = RisingEdge(dut.clk)
        s_valid, s_last, s_ready = dut.s_axis_tvalid, dut.s_axis_tlast, dut.s_axis_tready
        trace_valid, trace_data, now, rst = dut.trace_valid, dut.trace_data, dut.now_ns, dut.rst
        receiver = Receiver(dut, self.received)
        given = self.given = deque()
        beats: list[int] = []
        self.due = 0
        while True:
            await edge
            self.cycle += 1
            c = self.cycle
            self.idle_cycles += 1
            if receiver.step(c, rst.value == 1):
                self.idle_cycles = 0
            self.open = receiver.inside
            if s_valid.value == 1:
                assert s_ready.value == 1, f"cycle {c}: s_axis_tready is low"
                beats.append(c)
                if s_last.value == 1:
                    job = given.popleft()
                    assert len(beats) == len(job.beats), f"cycle {c}: the source sent {len(beats)} beats"
                    self._note(job, beats)
                    beats = []
                    if not given and self.due is None:
                        self.due = c + 1 + job.gap
            if trace_valid.value == 1:
                self.records.append((c, int(trace_data.value)))
                self.idle_cycles = 0
            # the next cycle
            now.value = time = self.offset + 32 * (c + 1) // 5 & MASK48
            self._times[time] = c + 1
            self.sink.pause = bool(self.stall(c + 1))
            self.source.pause = self.pause is not None and bool(self.pause(c + 1))
            if self.jobs and self.due is not None and c + SOURCE >= self.due and len(given) < 2:
                job = self.jobs.popleft()
                self.source.send_nowait(axi_frame(job))
                given.append(job)
                self.due = None if job.gap else 0
            self.on_the_wire = bool(given)
            if given:
                self.idle_cycles = 0

    def check_frames(self, report: Report) -> None:
        """What the monitor saw and what the sink received, against the model."""
        super().check_frames(report)
        frames = self.sink_frames()
        assert not any(user for _, user in frames)
        assert [data for data, _ in frames] == report.frames, "the sink's frames differ"

    # ---- a standing queue

    async def until_sent(self) -> None:
        """Until all frames have been on the wire."""
        while self.jobs or self.on_the_wire:
            await self.cycles(20)

    def withdraw(self) -> None:
        """Takes back all frames but the one on the wire, which goes on to its end."""
        self.jobs.clear()
        for _ in range(self.source.count()):
            self.given.pop()
        self.source.clear()
        if not self.given:
            self.due = 0

    async def shuffle(self, frames: int = 150) -> None:
        """Frames of many sizes in all queues, which leave in another order: the free list is out of order after it."""
        stall = self.stall
        self.stall = lambda c: c // 64 % 3 == 0
        for _ in range(frames):
            self.send(any_frame(self.rng, self.rng.choice((60, 64, 65, 200, 590, 1514))))
        await self.drain()
        self.stall = stall

    async def hold(self, cells: int, length: Callable[[], int]) -> int:
        """Fills the queues with about this many cells while the receiver waits; returns the cells."""
        self.stall = lambda _: True
        held = 0
        while held < cells:
            size = length()
            held += -(-size // 64)
            self.send(any_frame(self.rng, size))
        await self.until_sent()
        await self.cycles(60)
        return held

    # ---- identities

    async def identity(self) -> tuple[int, int]:
        """rx = tx + dropped + held in packets and bytes, read while packets wait and nothing is in flight; those held."""
        await self.snapshot()
        held = [0, 0]
        left = [0, 0]
        arrivals = [0, 0]
        for q in range(self.queues):
            held[0] += await self.read(self.at(q, "LIVE_PACKETS"))
            held[1] += await self.read(self.at(q, "LIVE_BYTES"))
            for name in (*QUEUE_COUNTERS[:7], "LINK_DOWN"):
                address = self.at(q, "COUNTERS") + 16 * QUEUE_COUNTERS.index(name)
                into = arrivals if name.startswith("IN_") else left
                for n in range(2):
                    into[n] += await self.read64(address + 8 * n)
        for n, what in enumerate(("packets", "bytes")):
            core = {name: await self.read64(CORE[name] + 8 * n) for name in (
                "RX", "TX", "BAD", "RUNT", "OVERSIZE", "INGRESS_OVERFLOW")}  # fmt: skip
            ends = core["BAD"] + core["RUNT"] + core["OVERSIZE"] + core["INGRESS_OVERFLOW"]
            assert core["RX"] == ends + arrivals[n], f"{what}: {core}, arrivals {arrivals[n]}"
            assert arrivals[n] == left[n] + core["TX"] + held[n], f"{what}: {core}, dropped {left[n]}, held {held[n]}"
        return held[0], held[1]


def any_frame(rng: random.Random, length: int, dscps: Sequence[int] = range(64)) -> bytes:
    """An IP frame of any codepoint and one of these DSCPs."""
    return ip_frame(rng, length, rng.choice(dscps), rng.randrange(4))


async def four_queues(dut: Any, name: str, queues: int = 4) -> AxiBench:
    """A bench whose DSCPs lead to the first `queues` queues in turn."""
    bench = await AxiBench(dut, name).start()
    assert bench.queues == 4, "these benches are for four queues"
    await bench.map_dscp([d % queues for d in range(64)])
    return bench


async def lowest_held(bench: AxiBench, every: int = 150) -> int:
    """Runs until all frames are on the wire; the fewest cells that were in use meanwhile."""
    lowest = bench.cells
    while bench.jobs:
        await bench.cycles(every)
        lowest = min(lowest, bench.cells - 1 - await bench.read(CORE["FREE_CELLS"]))
    return lowest

"""Feeds JumboPack and watches what leaves."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from axis import Sink, Source, bytes_of, cycle, frames_of, seeded, start
from jumbo_pack_stimulus import Job

GROUP = ("grouped", "count", "packets", "outerBytes", "averageLength", "ecn", "tags", "l3", "tick", "transit", "gone",
         "removed")  # fmt: skip


class Bench:
    """Sends jobs through JumboPack.

    Args:
        gap: share of cycles in which words pause.
        stall: share of cycles in which the sink does.
        late: share of cycles in which an offer of a group or of an entry is put off.
        steady: words are there in every cycle: no cycle without a beat inside a frame.
    """

    def __init__(
        self, dut: Any, name: str, gap: float = 0.0, stall: float = 0.0, late: float = 0.0, steady: bool = False
    ) -> None:
        self.dut, self.rng, self.steady = dut, seeded(name), steady
        self.gap, self.stall, self.late = gap, stall, late
        self.waiting: deque[tuple[int, Job]] = deque()
        self.needed = 0
        self.jobs: list[Job] = []
        # what was taken; frames that have left, and their entries
        self.groups_in = self.entries_in = self.done = self.spent = 0
        # jumbo frames of the L3 form so far
        self.identification = 0

    async def start(self) -> Bench:
        dut = self.dut
        fields = {name: getattr(dut, f"group_payload_{name}") for name in GROUP}
        # JumboPack takes the numbers of the wire format with the group; without one they are random.
        fields |= {name: getattr(dut, f"config_{name}") for name in ("etherType", "protocol")}
        self.groups = Source(dut.clk, dut.group_valid, dut.group_ready, fields, self.rng, self.late)
        fields = {name: getattr(dut, f"entry_payload_{name}") for name in ("length", "spacing")}
        self.entries = Source(dut.clk, dut.entry_valid, dut.entry_ready, fields, self.rng, self.late)
        fields = {name: getattr(dut, f"word_payload_{name}") for name in ("data", "first", "last", "lastBytes", "half")}
        self.words = Source(dut.clk, dut.word_valid, dut.word_ready, fields, self.rng, self.gap)
        fields = {name: getattr(dut, f"beat_payload_{name}") for name in ("tdata", "tkeep", "tlast", "tuser")}
        self.sink = Sink(dut.clk, dut.rst, dut.beat_valid, dut.beat_ready, fields, self.rng, self.stall)
        await start(dut)
        cocotb.start_soon(self._offer())
        cocotb.start_soon(self._watch())
        return self

    def send(self, jobs: Iterable[Job]) -> None:
        """Queues frames; a group is offered once all its entries have been taken."""
        for job in jobs:
            self.jobs.append(job)
            self.entries.queue.extend(job.entries)
            self.words.queue.extend(job.words)
            self.needed += len(job.entries)
            self.waiting.append((self.needed, job))
            self.identification += job.l3

    async def _offer(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            while self.waiting and len(self.entries.sent) >= self.waiting[0][0]:
                self.groups.queue.append(self.waiting.popleft()[1].group)

    async def _watch(self) -> None:
        """`done` comes once, the cycle after each last beat; each beat was told of by `leaves` before, and with the last by `left`; no
        gap inside a frame; `busy` while something is inside."""
        dut = self.dut
        ended = inside = False
        told: deque[int] = deque()
        while True:
            await RisingEdge(dut.clk)
            if int(dut.rst.value):
                ended = inside = False
                told.clear()
                continue
            assert int(dut.done.value) == ended, f"done is {dut.done.value} in cycle {cycle()}"
            valid = bool(int(dut.beat_valid.value))
            assert valid or not inside or not self.steady, f"a gap inside a frame in cycle {cycle()}"
            if valid or ended or self.groups_in > self.done or self.entries_in > self.spent:
                assert int(dut.busy.value), f"not busy in cycle {cycle()}"
            self.groups_in += int(dut.group_valid.value) and int(dut.group_ready.value)
            self.entries_in += int(dut.entry_valid.value) and int(dut.entry_ready.value)
            ended = False
            if valid and int(dut.beat_ready.value):
                ended = bool(int(dut.beat_payload_tlast.value))
                inside = not ended
                assert told and told.popleft() == ended, (
                    f"a beat that was not told of, or of another kind, in cycle {cycle()}"
                )
            if int(dut.leaves.value):
                told.append(int(dut.left.value))
            else:
                assert not int(dut.left.value), f"a frame has left without a beat in cycle {cycle()}"
            if ended and self.jobs:  # a test forgets them just before a reset
                self.spent += len(self.jobs[self.done].entries)
                self.done += 1

    async def receive(self, patience: int = 3000) -> None:
        """Waits until all frames have left, and checks them."""
        seen, still = 0, 0
        while self.done < len(self.jobs):
            await ClockCycles(self.dut.clk, 10)
            still = 0 if len(self.sink.taken) > seen else still + 10
            seen = len(self.sink.taken)
            assert still < patience, f"nothing has left for {still} cycles after {seen} beats"
        await ClockCycles(self.dut.clk, 8)
        assert not int(self.dut.busy.value)
        assert self.groups.idle and self.entries.idle and self.words.idle
        self.check()

    def check(self) -> None:
        """What left, frame by frame."""
        frames = frames_of(self.sink.taken)
        assert not any(item["tuser"] for _, item in self.sink.taken)
        for number, (job, beats) in enumerate(zip(self.jobs, frames, strict=True)):
            for beat in beats:
                size = beat["tkeep"].bit_count()
                assert beat["tkeep"] == (1 << size) - 1 and (size == 8 or beat["tlast"])
                assert beat["tdata"] >> 8 * size == 0, "bytes beyond the frame are not 0"
            got = bytes_of(beats)
            if got != job.sent:
                at = next((n for n, (a, b) in enumerate(zip(got, job.sent, strict=False)) if a != b), -1)
                low = max(at - 8, 0)
                what = {name: value for name, value in job.group.items() if job.group["grouped"]}
                raise AssertionError(
                    f"frame {number} {what}: {len(got)} bytes for {len(job.sent)}, differ at {at}:\n"
                    f" got  {got[low : at + 40].hex()}\n want {job.sent[low : at + 40].hex()}"
                )
        assert self.done == len(self.jobs)

    def forget(self) -> None:
        """After a reset: nothing that was sent counts. To be called at an edge."""
        for source in (self.groups, self.entries, self.words):
            source.clear()
            source.sent.clear()
        self.waiting.clear()
        self.jobs.clear()
        self.sink.taken.clear()
        self.needed = self.identification = self.groups_in = self.entries_in = self.done = self.spent = 0

"""A running core with everything around it: a MAC that sends, a receiver, a host on the register bus, the trace port.

One coroutine does every cycle's work: it samples at an edge and drives for the next. Cycle c ends with edge c; time is
floor(32 c / 5) ns (156.25 MHz) from a start, plus what `skip` jumped over.
"""

from __future__ import annotations

import logging
import os
import random
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

import weir
from axis import beats_of, seeded
from golden import frame as wire
from golden.core import Change, Core, CoreSetup, Record, Report, Sent, Setup
from golden.shaper import Gcra

for name in ("cocotb.regression", "cocotb.test"):
    logging.getLogger(name).setLevel(logging.INFO)

MASK48 = (1 << 48) - 1
Q_BASE, Q_STRIDE = 0x1000, 0x400

CORE = {
    "MAGIC": 0x000, "FEATURES": 0x008, "PARAMS": 0x00C, "CELLS": 0x010, "DESCRIPTORS": 0x014, "CTRL": 0x020,
    "STATUS": 0x024, "GENERATION": 0x028, "SNAPSHOT": 0x02C, "SCRATCH": 0x030, "CORE_APPLY": 0x034,
    "MAX_FRAME": 0x040, "SHARED_CELLS": 0x044, "DEFAULT_QUEUE": 0x048, "SHAPER_COST_LO": 0x04C,
    "SHAPER_COST_HI": 0x050, "SHAPER_BURST": 0x054, "SHAPER_OVERHEAD": 0x058, "LFSR_FIXED": 0x05C,
    "TRACE_CTRL": 0x060, "DSCP_MAP": 0x080, "LFSR_SEED_LO": 0x0C0, "LFSR_SEED_HI": 0x0C4, "TRACE_LEVEL": 0x0C8,
    "TRACE_POP": 0x0CC, "TRACE_DATA": 0x0D0, "FREE_CELLS": 0x100, "FREE_CELLS_MIN": 0x104, "HELD_PACKETS": 0x108,
    "THROTTLED": 0x10C, "UPTIME": 0x118, "RX": 0x200, "TX": 0x210, "BAD": 0x220, "RUNT": 0x230, "OVERSIZE": 0x240,
    "INGRESS_OVERFLOW": 0x250, "TRACE_LOST": 0x260,
}  # fmt: skip
QUEUE = {
    "POLICY": 0x000, "LIMIT_BYTES": 0x004, "LIMIT_PACKETS": 0x008, "RESERVE_CELLS": 0x00C, "QUANTUM": 0x010,
    "RED_FLAGS": 0x014, "RED_WEIGHT_LO": 0x018, "RED_WEIGHT_HI": 0x01C, "RED_DECAY_LO": 0x020, "RED_DECAY_HI": 0x024,
    "RED_IDLE_RATE": 0x028, "RED_MIN": 0x02C, "RED_MAX": 0x030, "RED_SLOPE": 0x034, "RED_GENTLE_SLOPE": 0x038,
    "RED_MAXP": 0x03C, "RED_MEAN": 0x040, "APPLY": 0x0FC, "LIVE_BYTES": 0x100, "LIVE_PACKETS": 0x104,
    "LIVE_FRAMES": 0x108, "LIVE_CELLS": 0x10C, "LIVE_AVERAGE": 0x110, "PEAK_BYTES": 0x114, "PEAK_PACKETS": 0x118,
    "NODROP": 0x1F0, "COUNTERS": 0x200, "SOJOURN": 0x300,
}  # fmt: skip
QUEUE_COUNTERS = (
    "IN_NOT_ECT", "IN_ECT1", "IN_ECT0", "IN_CE", "EARLY", "FORCED", "OVERFLOW", "MARKED", "ALREADY_CE", "OUT",
    "LINK_DOWN", "FRONT", "HEAD_DROPPED", "HEAD_MARKED", "PARTIAL", "HEAD_ALREADY_CE",
)  # fmt: skip
CLOSING = (0, 1, 1, 1)


class BusError(AssertionError):
    """SLVERR."""


@dataclass
class Job:
    """A frame that waits for its turn on the wire."""

    beats: list[tuple[int, int, int, int]]
    data: bytes
    gap: int
    tuser: int


@dataclass
class Received:
    """A frame on `m_axis` as the receiver took it, and the cycles of its first and last beat."""

    data: bytearray = field(default_factory=bytearray)
    first: int = 0
    last: int = 0
    tuser: int = 0
    closed: bool = False


class Receiver:
    """Watches `m_axis`: what is offered stays, tvalid stays inside a frame, tkeep is contiguous, only resets close."""

    def __init__(self, dut: Any, received: list[Received]) -> None:
        self.valid, self.ready = dut.m_axis_tvalid, dut.m_axis_tready
        self.signals = (dut.m_axis_tdata, dut.m_axis_tkeep, dut.m_axis_tlast, dut.m_axis_tuser)
        self.received = received
        self.inside = False
        self._held: tuple[int, ...] | None = None
        self._current: Received | None = None
        self._after_reset = False

    def step(self, c: int, reset: bool) -> bool:
        """The edge of a cycle; whether a beat was on offer."""
        if self._after_reset:
            self._held = None  # reset withdraws an offer
        valid = self.valid.value == 1
        if valid:
            beat = tuple(int(s.value) for s in self.signals)
            self._check(c, beat)
            self._held = beat
            if self.ready.value == 1:
                self._held = None
                self._take(c, beat)
        else:
            excused = reset or self._after_reset
            assert self._held is None or excused, f"cycle {c}: m_axis_tvalid fell while tready was low"
            assert not self.inside or excused, f"cycle {c}: m_axis_tvalid fell inside a frame"
            self._held = None
        self._after_reset = reset
        return valid

    def _check(self, c: int, beat: tuple[int, ...]) -> None:
        assert self._held is None or beat == self._held, f"cycle {c}: m_axis changed while tready was low"
        assert beat[1] == 0xFF or (beat[2] and beat[1] in (1, 3, 7, 15, 31, 63, 127)), (
            f"cycle {c}: tkeep {beat[1]:#x}, tlast {beat[2]}"
        )
        assert beat[3] == 0 or beat == CLOSING, f"cycle {c}: tuser in a beat that does not close a frame"

    def _take(self, c: int, beat: tuple[int, ...]) -> None:
        if self._current is None:
            self._current = Received(first=c)
            assert beat != CLOSING, f"cycle {c}: a closing beat, but no frame is open"
        if beat[3]:
            self._current.closed = True
        else:
            self._current.data += beat[0].to_bytes(8, "little")[: beat[1].bit_count()]
        self.inside = not beat[2]
        if beat[2]:
            self._current.last, self._current.tuser = c, beat[3]
            self.received.append(self._current)
            self._current = None


class Bench:
    """The core under test. `stall(cycle)` says whether the receiver waits; `pause(cycle)` whether the sender does."""

    def __init__(self, dut: Any, name: str, start_ns: int | None = None) -> None:
        self.dut, self.name = dut, name
        self.rng = seeded(name)
        self.cycle = 0
        self.offset = self.rng.choice([0, MASK48 - 20000, self.rng.getrandbits(48)]) if start_ns is None else start_ns
        self._times: dict[int, int] = {}
        self._offsets: list[tuple[int, int]] = [(0, self.offset)]
        self.jobs: deque[Job] = deque()
        self.sent: list[Sent] = []
        self.records: list[tuple[int, int]] = []
        self.received: list[Received] = []
        self.stall: Callable[[int], bool] = lambda _: False
        self.pause: Callable[[int], bool] | None = None
        self.max_frame = 9216
        self.default_queue = 0
        self.dscp = [0] * 64
        self.changes: list[Change] = []
        self.first_error: AssertionError | None = None
        self.idle_cycles = 0
        self.open = False
        self.on_the_wire = False
        self.watch_quiet: Callable[[], None] | None = None
        self.checked = 0

    # ---- time

    def time_of(self, cycle: int) -> int:
        """now_ns of a cycle."""
        offset = next(o for c, o in reversed(self._offsets) if c <= max(cycle, 0))
        return (offset + 32 * cycle // 5) & MASK48

    def cycle_of(self, time: int) -> int:
        """The cycle that had this time; the time of a record must be one."""
        if time not in self._times:
            raise AssertionError(f"time {time} in a record was never on now_ns")
        return self._times[time]

    def skip(self, ns: int) -> None:
        """Time jumps from the next cycle on."""
        self.offset += ns
        self._offsets.append((self.cycle + 1, self.offset))

    # ---- running

    async def start(self) -> Bench:
        """Clock, reset, sizes from the registers, trace on."""
        dut = self.dut
        for name in (
            "s_axis_tvalid", "s_axis_tdata", "s_axis_tkeep", "s_axis_tlast", "s_axis_tuser", "m_axis_tready",
            "csr_awaddr", "csr_awprot", "csr_awvalid", "csr_wdata", "csr_wstrb", "csr_wvalid", "csr_bready",
            "csr_araddr", "csr_arprot", "csr_arvalid", "csr_rready", "now_ns",
        ):  # fmt: skip
            getattr(dut, name).value = 0
        dut.link_up.value = 1
        dut.rst.value = 1
        Clock(dut.clk, 10, "ns").start()
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        dut.m_axis_tready.value = 1  # the test before may have left a frame open, which is closed now
        for _ in range(8):
            await RisingEdge(dut.clk)
        dut.m_axis_tready.value = 0
        cocotb.start_soon(self._run())
        params = await self.read(CORE["PARAMS"])
        self.queues = params & 0xFF
        self.cells = await self.read(CORE["CELLS"])
        self.descriptors = await self.read(CORE["DESCRIPTORS"])
        self.features = await self.read(CORE["FEATURES"])
        self.capabilities = weir.Capabilities(
            (0, 1, 0), self.features, self.queues, 64, self.cells, 64, self.descriptors, 156250000, 1e10, 1e10
        )
        await self.defaults()
        return self

    async def defaults(self) -> None:
        """What the model has to know after `rst`; turns the trace on and waits for the free list."""
        self.setups = [Setup() for _ in range(self.queues)]
        self.core = CoreSetup(self.cells - 1)
        self.seed: int | None = None
        self.max_frame, self.default_queue, self.dscp = 9216, 0, [0] * 64
        self.epoch()
        if self.features >> 16 & 1:
            await self.write(CORE["TRACE_CTRL"], 0xFF07)
            await self.write(CORE["CORE_APPLY"], 1)
        await self.until_free()

    def epoch(self) -> None:
        """Forgets what was observed: the core starts anew."""
        self.sent.clear()
        self.records.clear()
        self.received.clear()
        self.changes.clear()
        self.checked = 0

    async def cycles(self, n: int) -> None:
        """Waits for n edges."""
        edge = RisingEdge(self.dut.clk)
        for _ in range(n):
            await edge
        self.raise_errors()

    def raise_errors(self) -> None:
        """Raises what the monitors saw."""
        if self.first_error is not None:
            raise self.first_error

    async def drain(self, limit: int = 60000) -> None:
        """Until everything has been sent, and nothing has moved for a while and no packet is held."""
        edge = RisingEdge(self.dut.clk)
        for _ in range(limit):
            await edge
            if self.idle_cycles > 80 and not self.jobs:
                self.raise_errors()
                if not await self.read(CORE["HELD_PACKETS"]) and self.idle_cycles > 80:
                    return
                self.idle_cycles = 40
        self.raise_errors()
        raise AssertionError(
            f"still busy after {limit} cycles: {len(self.jobs)} frames to send, "
            f"{await self.read(CORE['HELD_PACKETS'])} packets held"
        )

    async def _run(self) -> None:
        try:
            await self._cycles()
        except AssertionError as error:
            self.first_error = error

    async def _cycles(self) -> None:
        dut = self.dut
        edge = RisingEdge(dut.clk)
        m_ready_out, trace_valid, trace_data = dut.m_axis_tready, dut.trace_valid, dut.trace_data
        s_valid, s_data, s_keep, s_last, s_user = (
            dut.s_axis_tvalid, dut.s_axis_tdata, dut.s_axis_tkeep, dut.s_axis_tlast, dut.s_axis_tuser,
        )  # fmt: skip
        s_ready, now = dut.s_axis_tready, dut.now_ns
        receiver = Receiver(dut, self.received)
        ready = 0
        job: Job | None = None
        position = wait = 0
        beats: list[int] = []
        driving = False
        while True:
            await edge
            self.cycle += 1
            c = self.cycle
            reset = dut.rst.value == 1
            if receiver.step(c, reset):
                self.idle_cycles = 0
            self.open = receiver.inside
            assert s_ready.value == 1, f"cycle {c}: s_axis_tready is low"
            if trace_valid.value == 1:
                self.records.append((c, int(trace_data.value)))
                self.idle_cycles = 0
            self.idle_cycles += 1
            if self.watch_quiet is not None:
                self.watch_quiet()
            # the next cycle
            time = self.offset + 32 * (c + 1) // 5 & MASK48
            now.value = time
            self._times[time] = c + 1
            if self.stall(c + 1):
                if ready:
                    m_ready_out.value = ready = 0
            elif not ready:
                m_ready_out.value = ready = 1
            if job is None and wait <= 0 and self.jobs:
                job = self.jobs.popleft()
                position, beats = 0, []
            wait -= 1
            if job is not None and not (self.pause is not None and self.pause(c + 1)):
                data, keep, last, user = job.beats[position]
                s_data.value, s_keep.value, s_last.value, s_user.value = data, keep, last, user
                if not driving:
                    s_valid.value = 1
                    driving = True
                beats.append(c + 1)
                position += 1
                self.idle_cycles = 0
                if position == len(job.beats):
                    self._note(job, beats)
                    wait = job.gap
                    job = None
            elif driving:
                s_valid.value = 0
                driving = False
            self.on_the_wire = job is not None
            if job is not None:
                self.idle_cycles = 0

    def _note(self, job: Job, beats: list[int]) -> None:
        end, size = wire.judge([(keep, user) for _, keep, _, user in job.beats], self.max_frame)
        meta = wire.classify(job.data, self.default_queue, self.dscp) if end == wire.GOOD else None
        self.sent.append(Sent(job.data, end, size, tuple(beats[:3]), beats[-1], meta))

    # ---- frames

    def send(self, data: bytes, gap: int = 0, tuser: int = 0, keeps: Sequence[int] | None = None) -> None:
        """Queues a frame; `gap` idle cycles follow it. `keeps` replaces the tkeep of its beats."""
        beats = [(b["tdata"], b["tkeep"], b["tlast"], b["tuser"]) for b in beats_of(data, self.rng, tuser)]
        if keeps is not None:
            beats = [(d, k, last, u) for (d, _, last, u), k in zip(beats, keeps, strict=True)]
            # a last beat may have become shorter or longer, which is a good frame
            data = b"".join(d.to_bytes(8, "little")[: k.bit_count()] for d, k, _, _ in beats)
        self.jobs.append(Job(beats, data, gap, tuser))

    def line(self, frames: Sequence[bytes]) -> None:
        """Frames with 10GbE spacing: preamble, FCS and gap are 24 byte times."""
        owed = 0
        for data in frames:
            owed += len(data) + 24
            used = -(-len(data) // 8)
            gap = owed // 8 - used
            owed -= 8 * (used + gap)
            self.send(data, gap)

    # ---- registers

    async def write(self, address: int, value: int, expect: int = 0) -> None:
        """An AXI4-Lite write; all its signals at once."""
        dut = self.dut
        edge = RisingEdge(dut.clk)
        dut.csr_awaddr.value, dut.csr_wdata.value, dut.csr_wstrb.value = address, value, 0xF
        dut.csr_awvalid.value = dut.csr_wvalid.value = dut.csr_bready.value = 1
        address_open = data_open = True
        for _ in range(20000):
            await edge
            if address_open and dut.csr_awready.value == 1:
                dut.csr_awvalid.value, address_open = 0, False
            if data_open and dut.csr_wready.value == 1:
                dut.csr_wvalid.value, data_open = 0, False
            if dut.csr_bvalid.value == 1:
                dut.csr_bready.value = 0
                if int(dut.csr_bresp.value) != expect:
                    raise BusError(f"write of {value:#x} to {address:#06x} answered {int(dut.csr_bresp.value)}")
                return
        raise AssertionError(f"write to {address:#06x} hangs")

    async def read(self, address: int) -> int:
        """An AXI4-Lite read."""
        dut = self.dut
        edge = RisingEdge(dut.clk)
        dut.csr_araddr.value, dut.csr_arvalid.value, dut.csr_rready.value = address, 1, 1
        address_open = True
        for _ in range(20000):
            await edge
            if address_open and dut.csr_arready.value == 1:
                dut.csr_arvalid.value, address_open = 0, False
            if dut.csr_rvalid.value == 1:
                dut.csr_rready.value = 0
                if int(dut.csr_rresp.value):
                    raise BusError(f"read of {address:#06x} answered {int(dut.csr_rresp.value)}")
                return int(dut.csr_rdata.value)
        raise AssertionError(f"read of {address:#06x} hangs")

    async def read64(self, address: int) -> int:
        """A pair of registers."""
        return await self.read(address) | await self.read(address + 4) << 32

    @staticmethod
    def at(queue: int, name: str) -> int:
        """Address of a queue's register."""
        return Q_BASE + Q_STRIDE * queue + QUEUE[name]

    async def configure_raw(self, queue: int, words: Mapping[str, int]) -> None:
        """Writes a queue's registers and applies them; traffic may run meanwhile."""
        for name, value in words.items():
            await self.write(self.at(queue, name), value)
        first = self.cycle
        await self.write(self.at(queue, "APPLY"), 1)
        for _ in range(2000):
            if not await self.read(CORE["STATUS"]) >> 4 & 1:
                break
        else:
            raise AssertionError("APPLY_BUSY stays high")
        setup = Setup.of(words)
        self.changes.append(Change(first, self.cycle + 2, queue, setup))

    async def configure(self, queue: int, policy: str, **natural: Any) -> dict[str, int]:
        """A queue in natural units, by libweir."""
        words = weir.convert_queue(policy, self.capabilities, **natural)
        await self.configure_raw(queue, words)
        return words

    async def core_write(self, **registers: int) -> None:
        """Core registers by name, then CORE_APPLY. The buffer must be empty."""
        for name, value in registers.items():
            await self.write(CORE[name], value)
        await self.write(CORE["CORE_APPLY"], 1)
        fields = {}
        if "SHARED_CELLS" in registers:
            fields["shared_cells"] = registers["SHARED_CELLS"]
        if "LFSR_FIXED" in registers:
            word = registers["LFSR_FIXED"]
            fields["fixed_draw"] = word & 0xFFFFFF if word >> 31 else None
        self.core = CoreSetup(**{**self.core.__dict__, **fields})
        self.max_frame = min(registers.get("MAX_FRAME", self.max_frame), 9216)
        if "DEFAULT_QUEUE" in registers:
            self.default_queue = registers["DEFAULT_QUEUE"] if registers["DEFAULT_QUEUE"] < self.queues else 0

    async def map_dscp(self, dscp: Sequence[int]) -> None:
        """DSCP → queue, raw; queues that do not exist mean queue 0."""
        for n in range(8):
            word = sum((dscp[8 * n + k] & 15) << 4 * k for k in range(8))
            await self.write(CORE["DSCP_MAP"] + 4 * n, word)
        await self.write(CORE["CORE_APPLY"], 1)
        self.dscp = [q if q < self.queues else 0 for q in dscp]

    async def shape(self, rate: str | float, burst: int = 1538, overhead: int = 24, mpu: int = 60) -> dict[str, int]:
        """The shaper in natural units, by libweir; with an empty buffer."""
        r = weir.convert_shaper(rate, burst, overhead, mpu, self.capabilities)
        await self.core_write(
            SHAPER_COST_LO=r["cost"] & 0xFFFFFFFF,
            SHAPER_COST_HI=r["cost"] >> 32,
            SHAPER_BURST=r["burst"],
            SHAPER_OVERHEAD=r["mpu"] << 16 | r["overhead"] & 0xFFFF,
        )
        gcra = Gcra(r["cost"], r["burst"], r["overhead"], r["mpu"]) if r["cost"] else None
        self.core = CoreSetup(self.core.shared_cells, gcra, self.core.fixed_draw)
        return r

    async def reseed(self, seed: int) -> None:
        """Loads the LFSR."""
        await self.write(CORE["LFSR_SEED_LO"], seed & 0xFFFFFFFF)
        await self.write(CORE["LFSR_SEED_HI"], seed >> 32)
        self.seed = seed

    async def until_free(self, limit: int = 20000) -> None:
        """Until all cells are free: none is lost."""
        free = -1
        for _ in range(limit // 10):
            free = await self.read(CORE["FREE_CELLS"])
            if free == self.cells - 1:
                return
        raise AssertionError(f"{free} of {self.cells - 1} cells are free")

    async def until_quiet(self, limit: int = 400) -> None:
        """Until `quiet` is high."""
        for _ in range(limit):
            await RisingEdge(self.dut.clk)
            if self.dut.quiet.value == 1:
                return
        raise AssertionError("not quiet")

    async def until_wire_idle(self, limit: int = 4000) -> None:
        """Until the sender is between frames with nothing to send."""
        for _ in range(limit):
            await RisingEdge(self.dut.clk)
            if not self.on_the_wire and not self.jobs:
                return
        raise AssertionError("the sender is stuck")

    def marked_prefix(self, data: bytes | bytearray, known: Iterable[bytes]) -> bool:
        """Whether this is a known frame, or the beginning of one, with its congestion mark."""
        for whole in known:
            if len(whole) >= len(data) and whole[:14] == bytes(data[:14]):
                meta = wire.classify(whole, 0, [0] * 64)
                if wire.mark(whole, meta)[: len(data)] == bytes(data):
                    return True
        return False

    async def soft_reset(self) -> None:
        """CTRL.RESET, until it is done. The model starts anew with the configuration as it is."""
        await self.write(CORE["CTRL"], 1)
        for _ in range(4000):
            if not await self.read(CORE["STATUS"]) >> 1 & 1:
                break
        else:
            raise AssertionError("RESETTING stays high")

    # ---- checks

    def decoded(self) -> list[Record]:
        """All records."""
        return [Record.decode(data, self.cycle_of, seen) for seen, data in self.records]

    async def check(self, counters: bool = True, closed: bool = False) -> Report:
        """Drains, and compares everything since the epoch: records, frames, counters, identities, cells."""
        await self.drain()
        setups = list(self.setups)
        model = Core(
            self.queues,
            self.descriptors,
            setups,
            self.core,
            self.seed,
            self.time_of,
            10 if self.features & 2 else 5,
        )
        report = model.check(self.sent, self.decoded(), self.changes)
        self.check_frames(report)
        await self.until_free()
        for q in range(self.queues):
            for name in ("LIVE_BYTES", "LIVE_PACKETS", "LIVE_FRAMES", "LIVE_CELLS"):
                value = await self.read(self.at(q, name))
                assert value == 0, f"{name} of queue {q} is {value} with nothing held"
        if counters:
            await self.check_counters(report)
        cocotb.log.info("%s: %s", self.name, report)
        return report

    def check_frames(self, report: Report) -> None:
        """Every frame that was granted, byte for byte and in order; no other."""
        got = [bytes(r.data) for r in self.received]
        for n, (mine, theirs) in enumerate(zip(got, report.frames, strict=False)):
            assert mine == theirs, f"frame {n}: {len(mine)} bytes differ from the {len(theirs)} expected"
        assert len(got) == len(report.frames), f"{len(got)} frames came out, {len(report.frames)} were granted"
        assert not any(r.closed or r.tuser for r in self.received)

    async def snapshot(self) -> None:
        """Copies the counters."""
        await self.write(CORE["SNAPSHOT"], 1)

    async def check_counters(self, report: Report) -> None:
        """Every counter against the model's, and the identities of architecture.md."""
        await self.snapshot()
        words = report.counters.words()
        self.counted: dict[str, tuple[int, int]] = {}
        for address in sorted(words):
            if address in (0x10C, 0x110, 0x118, 0x11C) or 0x260 <= address < 0x270:
                continue
            if address >= Q_BASE and address & 4 and address & 0x3FF >= 0x300:
                continue
            value = await self.read(address)
            assert value == words[address], f"counter {address:#06x} is {value}, expected {words[address]}"
            report.values += 1
            if address < Q_BASE or address & 0x3FF < 0x300:
                self._note_counter(address, value)
        await self.identities()

    def _note_counter(self, address: int, value: int) -> None:
        base, part = address & ~15, address >> 2 & 3
        key = f"{base:#06x}"
        packets, size = self.counted.get(key, (0, 0))
        if part < 2:
            packets |= value << 32 * part
        else:
            size |= value << 32 * (part - 2)
        self.counted[key] = (packets, size)

    async def identities(self) -> None:
        """rx = bad + runt + oversize + ingress overflow + arrivals; arrivals = drops + tx + link down + held."""

        def pair(address: int) -> tuple[int, int]:
            return self.counted[f"{address:#06x}"]

        def queue(name: str) -> list[tuple[int, int]]:
            return [pair(self.at(q, "COUNTERS") + 16 * QUEUE_COUNTERS.index(name)) for q in range(self.queues)]

        for n in range(2):
            arrivals = sum(p[n] for name in QUEUE_COUNTERS[:4] for p in queue(name))
            ends = sum(pair(CORE[name])[n] for name in ("BAD", "RUNT", "OVERSIZE", "INGRESS_OVERFLOW"))
            causes = ("EARLY", "FORCED", "OVERFLOW", "LINK_DOWN", "FRONT", "HEAD_DROPPED")
            drops = sum(p[n] for name in causes for p in queue(name))
            assert pair(CORE["RX"])[n] == ends + arrivals
            assert arrivals == drops + pair(CORE["TX"])[n]
            sent = ("OUT", "HEAD_MARKED", "HEAD_ALREADY_CE")
            assert sum(p[n] for name in sent for p in queue(name)) == pair(CORE["TX"])[n]


def random_stall(rng: random.Random, probability: float) -> Callable[[int], bool]:
    """A receiver that waits in runs: each cycle with this probability, changing its mind every few cycles."""
    state = {"until": 0, "stall": False}

    def stall(cycle: int) -> bool:
        if cycle >= state["until"]:
            state["until"] = cycle + rng.choice((1, 1, 1, 2, 3, 8))
            state["stall"] = rng.random() < probability
        return bool(state["stall"])

    return stall


def ip_frame(rng: random.Random, length: int, dscp: int = 0, ecn: int = 0) -> bytes:
    """An IPv4 frame of a length of 34 bytes or more; shorter ones are not IP."""
    head = rng.randbytes(12) + b"\x08\x00" + bytes([0x45, dscp << 2 | ecn]) + rng.randbytes(18)
    head = bytes([head[0] & 0xFE]) + head[1:]
    return (head + rng.randbytes(max(0, length - len(head))))[:length]


def seed_of_run() -> int:
    """WEIR_SEED."""
    return int(os.environ.get("WEIR_SEED", "1"), 0)

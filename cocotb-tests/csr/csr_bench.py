"""What surrounds `CsrUnit` in its benches: the host's bus with stalls, a counter unit, a core that applies."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

import csr_contract as contract

OKAY, SLVERR = 0, 2
QUEUE_BASE, QUEUE_STRIDE = 0x1000, 0x400
CORE = {r.name: r for r in contract.core()}
QUEUE = {r.name: r for r in contract.queue()}
LIVE_WIDTHS = {"bytes": 21, "packets": 16, "frames": 16, "cells": 15, "average": 43, "peakBytes": 21, "peakPackets": 16}


@dataclass(frozen=True)
class Build:
    """What the unit was generated for, told by pytest."""

    queues: int
    cells: int
    descriptors: int
    #: records of the host's trace FIFO; 0: there is no trace
    trace_depth: int
    #: jumbo frames are built
    jumbo: int
    #: numbers of the policies that are built
    policies: frozenset[int]

    @staticmethod
    def of_environment() -> Build:
        """From `CSR_BUILD`, as pytest wrote it."""
        sizes, _, policies = os.environ["CSR_BUILD"].partition(":")
        return Build(*(int(v) for v in sizes.split(",")), frozenset(int(n) for n in policies.split(",")))

    def core_registers(self) -> list[contract.Register]:
        """Registers of block 0 in this build."""
        return [r for r in CORE.values() if (self.jumbo or not r.jumbo) and (self.trace_depth or not r.trace)]

    def queue_registers(self) -> list[contract.Register]:
        """Registers of a queue's block in this build."""
        return [
            r for r in QUEUE.values() if (not r.policies or r.policies & self.policies) and (self.jumbo or not r.jumbo)
        ]

    def all_registers(self) -> Iterator[tuple[int, contract.Register]]:
        """Every register with its address."""
        for r in self.core_registers():
            yield r.offset, r
        for q in range(self.queues):
            for r in self.queue_registers():
                yield at(r.name, q), r

    def reset(self, r: contract.Register) -> int:
        """Value after reset."""
        return self.cells - 1 if isinstance(r.reset, str) else r.reset


def at(name: str, queue: int | None = None) -> int:
    """Address of a register of block 0, or of a queue's block."""
    return CORE[name].offset if queue is None else QUEUE_BASE + QUEUE_STRIDE * queue + QUEUE[name].offset


def counter_value(address: int, epoch: int = 0) -> int:
    """What the bench's counter unit holds at an address."""
    return (address * 0x9E3779B1 + epoch * 0x85EBCA6B + 1) & 0xFFFFFFFF


class Bench:
    """A running unit. All waits are bounded: a hang is a failed test."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.build = Build.of_environment()
        self.rng = random.Random(int(os.environ["WEIR_SEED"]))
        self.stall = float(os.environ["CSR_STALL"])
        self.counter_error = False
        pulses = ("softReset", "snapshot", "seed_valid", *(("tracePop",) if self.build.trace_depth else ()))
        self.pulses: dict[str, int] = dict.fromkeys(pulses, 0)
        self.violations: list[str] = []
        #: the peaks as they were at the last snapshot, or in a reset of the data path
        self.peaks: dict[str, int] = {}
        #: per queue: words of its configuration as they were copied
        self.words: dict[int, dict[int, int]] = {q: {} for q in range(self.build.queues)}

    @classmethod
    async def start(cls, dut: Any) -> Bench:
        """Clock, reset, inputs at random, agents running."""
        bench = cls(dut)
        cocotb.start_soon(Clock(dut.clk, 6400, unit="ps").start())
        dut.rst.value = 1
        dut.applyReady.value = (1 << bench.build.queues) - 1
        for name in ("resetting", "quiet", "snapshotBusy", "counters_ready", "counters_error", "counters_rdata"):
            getattr(dut, name).value = 0
        bench.randomize_live()
        bus = AxiLiteBus.from_prefix(dut, "csr")
        bench.master = AxiLiteMaster(bus, dut.clk, dut.rst)
        write, read = bench.master.write_if, bench.master.read_if
        bench.channels = {
            "aw": write.aw_channel, "w": write.w_channel, "b": write.b_channel,
            "ar": read.ar_channel, "r": read.r_channel,
        }  # fmt: skip
        for channel in bench.channels.values():
            channel.log.setLevel("ERROR")
        bench.set_stalls(bench.stall)
        await bench.cycles(4)
        dut.rst.value = 0
        agents = [bench._count_pulses, bench._watch_protocol, bench._answer_counters, bench._collect_words]
        if bench.build.trace_depth:
            agents.append(bench._read_trace)
        for agent in agents:
            cocotb.start_soon(agent())
        await bench.cycles(2)
        await bench.settle()
        return bench

    async def cycles(self, n: int) -> None:
        """Waits for `n` clock edges."""
        for _ in range(n):
            await RisingEdge(self.dut.clk)

    def set_stalls(self, probability: float) -> None:
        """Gaps in requests and stalls of responses, each cycle with this probability."""

        def pauses(seed: int) -> Iterator[bool]:
            rng = random.Random(seed)
            while True:
                yield rng.random() < probability

        for channel in self.channels.values():
            channel.clear_pause_generator()
            channel.pause = False
            if probability:
                channel.set_pause_generator(pauses(self.rng.getrandbits(32)))

    def randomize_live(self) -> None:
        """New values of everything that the registers show."""
        dut, rng = self.dut, self.rng
        self.live = {"statusLinkUp": rng.getrandbits(1), "now": rng.getrandbits(48), "heldPackets": rng.getrandbits(16)}
        self.live |= {name: rng.randrange(self.build.cells) for name in ("freeCells", "freeCellsMin")}
        if self.build.trace_depth:
            self.live["traceLevel"] = rng.randint(1, self.build.trace_depth)
            self.trace = [rng.getrandbits(32) for _ in range(12)]
        for q in range(self.build.queues):
            self.live |= {f"live_{q}_{name}": rng.getrandbits(width) for name, width in LIVE_WIDTHS.items()}
        for name, value in self.live.items():
            getattr(dut, name).value = value

    def shown(self, name: str, queue: int | None) -> int:
        """What a read-only register has to show, from the inputs and the build."""
        live, b = self.live, self.build
        if queue is not None:
            part, _, what = name.partition("_")
            if part == "PEAK":
                return self.peaks.get(f"live_{queue}_peak{what.title()}", 0)
            return live[f"live_{queue}_{what.lower()}"] >> (11 if name == "LIVE_AVERAGE" else 0)
        if name.startswith("TRACE_DATA"):
            return self.trace[int(name.removeprefix("TRACE_DATA"))]
        if name == "TRACE_LEVEL":
            return live["traceLevel"]
        return {
            "MAGIC": 0x57454952, "VERSION": 0x000200,
            "FEATURES": 3 * b.jumbo << 17 | (b.trace_depth > 0) << 16 | sum(1 << n for n in b.policies),
            "PARAMS": 64 << 8 | b.queues, "CELLS": b.cells, "DESCRIPTORS": b.descriptors, "CLOCK_HZ": 156250000,
            "CELL_BYTES": 64, "STATUS": live["statusLinkUp"], "GENERATION": 0, "NOW_LO": live["now"] & 0xFFFFFFFF,
            "NOW_HI": live["now"] >> 32, "FREE_CELLS": live["freeCells"],
            "FREE_CELLS_MIN": self.peaks.get("freeCellsMin", b.cells - 1), "HELD_PACKETS": live["heldPackets"],
        }[name]  # fmt: skip

    # Accesses of the host.

    async def send(self, channel: str, **fields: int) -> None:
        """A request on one channel, with any address and strobe."""
        await self.channels[channel].send(self.channels[channel]._transaction_obj(**fields))

    async def response(self, channel: str) -> Any:
        """The next response, B or R."""
        return await with_timeout(self.channels[channel].recv(), 20, "us")

    async def raw_write(self, address: int, value: int, strobe: int = 0xF) -> int:
        """Writes; returns BRESP."""
        if self.rng.random() < 0.5:
            await self.send("aw", awaddr=address, awprot=self.rng.getrandbits(3))
            await self.send("w", wdata=value, wstrb=strobe)
        else:
            await self.send("w", wdata=value, wstrb=strobe)
            await self.cycles(self.rng.randrange(4))
            await self.send("aw", awaddr=address, awprot=self.rng.getrandbits(3))
        return int((await self.response("b")).bresp)

    async def raw_read(self, address: int) -> tuple[int, int]:
        """Reads; returns the data and RRESP."""
        await self.send("ar", araddr=address, arprot=self.rng.getrandbits(3))
        answer = await self.response("r")
        return int(answer.rdata), int(answer.rresp)

    async def write(self, address: int, value: int) -> None:
        """A write that has to succeed."""
        resp = await self.raw_write(address, value)
        assert resp == OKAY, f"write of {value:#x} to {address:#06x} answered {resp}"

    async def read(self, address: int) -> int:
        """A read that has to succeed."""
        data, resp = await self.raw_read(address)
        assert resp == OKAY, f"read of {address:#06x} answered {resp}"
        return data

    async def settle(self) -> None:
        """Waits until nothing is in progress any more."""
        for _ in range(2000):
            await RisingEdge(self.dut.clk)
            if not int(self.dut.busy.value):
                return
        raise AssertionError("busy stays high")

    def finish(self) -> None:
        """To be called at the end of each test."""
        assert not self.violations, "\n".join(self.violations)

    # Agents.

    async def _count_pulses(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            for name in self.pulses:
                self.pulses[name] += int(getattr(self.dut, name).value)
            if int(self.dut.snapshot.value) or int(self.dut.resetting.value):
                self.peaks = {
                    name: value for name, value in self.live.items() if "peak" in name or name == "freeCellsMin"
                }

    async def _collect_words(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            if int(dut.config_valid.value):
                queue = int(dut.config_payload_queue.value)
                if not int(dut.apply.value) >> queue & 1:
                    self.violations.append(f"a word of queue {queue} is copied, and the queue is not held")
                self.words[queue][int(dut.config_payload_word.value)] = int(dut.config_payload_data.value)

    async def _watch_protocol(self) -> None:
        """AXI4-Lite: a response stands still until its handshake; no more responses than requests."""
        dut, held, owed = self.dut, {"b": None, "r": None}, {"aw": 0, "w": 0, "ar": 0}
        while True:
            await RisingEdge(dut.clk)
            await ReadOnly()
            for channel in owed:
                if getattr(dut, f"csr_{channel}valid").value == 1 and getattr(dut, f"csr_{channel}ready").value == 1:
                    owed[channel] += 1
            for channel, payload in (("b", ("bresp",)), ("r", ("rresp", "rdata"))):
                valid = getattr(dut, f"csr_{channel}valid").value == 1
                now = tuple(int(getattr(dut, f"csr_{p}").value) for p in payload) if valid else None
                if held[channel] is not None and now != held[channel]:
                    self.violations.append(
                        f"{channel.upper()} changed from {held[channel]} to {now} before its handshake"
                    )
                taken = valid and getattr(dut, f"csr_{channel}ready").value == 1
                held[channel] = None if taken else now
                if taken:
                    for request in ("ar",) if channel == "r" else ("aw", "w"):
                        owed[request] -= 1
                        if owed[request] < 0:
                            self.violations.append(
                                f"a response on {channel.upper()} without a request on {request.upper()}"
                            )

    async def _read_trace(self) -> None:
        """The trace's memory: even or odd words of the record a cycle after they are asked for, and only then."""
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            for n, word in enumerate(self.trace[int(dut.traceOdd.value) :: 2]):
                getattr(dut, f"traceData_{n}").value = word

    async def _answer_counters(self) -> None:
        """The counter unit: answers after a random time; `epoch` changes its values, `counter_error` refuses."""
        dut = self.dut
        self.epoch, self.counter_reads = 0, []
        while True:
            await RisingEdge(dut.clk)
            if not int(dut.counters_valid.value):
                continue
            address = 4 * int(dut.counters_address.value)
            if int(dut.counters_write.value):
                self.violations.append(f"write of {address:#06x} on the counter bus")
            self.counter_reads.append(address)
            await self.cycles(self.rng.randrange(30) if self.stall else 0)
            dut.counters_rdata.value = counter_value(address, self.epoch)
            dut.counters_error.value = int(self.counter_error)
            dut.counters_ready.value = 1
            await RisingEdge(dut.clk)
            dut.counters_ready.value = 0
            dut.counters_rdata.value = self.rng.getrandbits(32)
            await RisingEdge(dut.clk)
            if int(dut.counters_valid.value) and 4 * int(dut.counters_address.value) == address:
                self.violations.append("counters_valid stays after counters_ready")

"""What the benches of both MACs share: clocks, the core's side on cocotbext-axi, frames that are right and wrong.

The line's side is a source and a sink of cocotbext-eth. FCS are of zlib, everything else of IEEE 802.3 by hand.
"""

from __future__ import annotations

import logging
import random
import zlib
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

#: causes of MacStatistics, by index
RECEIVED = ("good", "bad_fcs", "error", "runt", "oversize", "lost")
SENT = ("whole", "aborted", "underrun")
#: the longest frame without FCS
LONGEST = 9216


def fcs(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little")


def padded(payload: bytes) -> bytes:
    """A frame as it is on the line, without FCS."""
    return payload + bytes(max(0, 60 - len(payload)))


class MacBench:
    """A MAC between a line and a core. `line_ps`, `core_ps`: periods of their clocks."""

    #: the clock that comes with what is received
    rx_clock = "rx_clk"

    def __init__(self, dut: Any, rng: random.Random, line_ps: int, core_ps: int, rx_ps: int | None = None) -> None:
        self.dut, self.rng = dut, rng
        self.line_ps, self.core_ps, self.rx_ps = line_ps, core_ps, rx_ps or line_ps
        for name in ("m_axis", "s_axis", "gmii_rxd", "gmii_txd", "xgmii_rxd", "xgmii_txd", "rgmii_rxd", "rgmii_txd"):
            logging.getLogger(f"cocotb.{dut._name}.{name}").setLevel(logging.WARNING)

    async def start(self) -> None:
        dut = self.dut
        dut.statistics_snapshot.value = 0
        Clock(dut.clk, self.core_ps, "ps").start()
        Clock(getattr(dut, self.rx_clock), self.rx_ps, "ps").start()
        Clock(dut.tx_clk, self.line_ps, "ps").start()
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk)
        self.sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.clk, dut.rst)
        await self.reset()

    async def reset(self) -> None:
        """Resets all three domains, released with their clocks."""
        clocks = {"tx_rst": "tx_clk", "rx_rst": self.rx_clock, "rst": "clk"}
        for reset in clocks:
            getattr(self.dut, reset).value = 1
        await Timer(8 * self.core_ps + 8 * self.line_ps, "ps")
        for reset, clock in clocks.items():
            await RisingEdge(getattr(self.dut, clock))
            getattr(self.dut, reset).value = 0
        await Timer(16 * self.core_ps, "ps")

    async def bytes_of_line(self, count: int) -> None:
        """The time of so many bytes, at the slower of the clocks' rates."""
        await Timer(count * self.byte_ps + 40 * (self.core_ps + self.line_ps), "ps")

    byte_ps: int
    line_source: Any

    def good(self, payload: bytes) -> None:
        """A frame from the line as it should be."""
        raise NotImplementedError

    def send(self, payload: bytes, bad: bool = False) -> None:
        """A frame from the core; `bad`: tuser on its last beat."""
        beats = (len(payload) + 7) // 8
        user = [0] * (8 * (beats - 1)) + [int(bad)] * (len(payload) - 8 * (beats - 1))
        self.source.send_nowait(AxiStreamFrame(payload, tuser=user))

    def taken(self) -> list[tuple[bytes, bool]]:
        """Frames that the core's side has been given since the last call, and their `tuser`."""
        frames = []
        while not self.sink.empty():
            frame = self.sink.recv_nowait(compact=False)
            data = bytes(b for b, k in zip(frame.tdata, frame.tkeep, strict=True) if k)
            assert list(frame.tkeep) == sorted(frame.tkeep, reverse=True), "tkeep has holes"
            assert not any(frame.tuser[: (len(frame.tdata) - 1) // 8 * 8]), "tuser before the last beat"
            frames.append((data, bool(frame.tuser[-1])))
        return frames

    async def wait_now_and_then(self) -> None:
        """The core, which is promised never to wait, does while frames come from the line: they are lost as a whole or closed as bad, and
        counted, never mixed up."""
        frames = [self.rng.randbytes(self.rng.choice([60, 61, 200, 1514])) for _ in range(120)]
        for frame in frames:
            self.good(frame)
        while not self.line_source.idle():
            self.sink.pause = self.rng.random() < 0.6
            await Timer(self.rng.randrange(1, 160) * 8 * self.byte_ps, "ps")
        self.sink.pause = False
        await self.bytes_of_line(2000)
        taken = self.taken()
        place = 0
        for data, bad in taken:
            match = [n for n in range(place, len(frames)) if frames[n].startswith(data[:-1] if bad else data)]
            assert match and (bad or frames[match[0]] == data), f"a frame of {len(data)} bytes, tuser {bad}"
            place = match[0] + 1
        counts = await self.statistics()
        whole, cut = sum(not bad for _, bad in taken), sum(bad for _, bad in taken)
        assert counts["good"] == len(frames) and counts["lost"] == len(frames) - whole and cut > 0
        assert whole > 10 and len(frames) - whole - cut > 10, f"{whole} whole, {cut} cut of {len(frames)}"

    async def statistics(self) -> dict[str, int]:
        """A snapshot of all counters."""
        dut = self.dut
        await RisingEdge(dut.clk)
        dut.statistics_snapshot.value = 1
        await RisingEdge(dut.clk)
        dut.statistics_snapshot.value = 0
        await RisingEdge(dut.clk)
        for _ in range(100):
            if not int(dut.statistics_busy.value):
                break
            await RisingEdge(dut.clk)
        else:
            raise AssertionError("the snapshot does not end")
        counts = {name: int(getattr(dut, f"statistics_received_{n}").value) for n, name in enumerate(RECEIVED)}
        counts |= {name: int(getattr(dut, f"statistics_sent_{n}").value) for n, name in enumerate(SENT)}
        counts["received_bytes"] = int(dut.statistics_receivedBytes.value)
        counts["sent_bytes"] = int(dut.statistics_sentBytes.value)
        return counts

    def check_statistics(self, counts: dict[str, int], **expected: int) -> None:
        """Every counter is as named, and 0 if it is not."""
        assert counts == {name: expected.get(name, 0) for name in counts}, counts


class Arrivals:
    """Frames from the line, good and wrong, and what becomes of them on the core's side and in the counters."""

    def __init__(self, bench: MacBench) -> None:
        self.bench = bench
        self.expected: list[tuple[bytes, bool]] = []
        self.counts = dict.fromkeys(("good", "bad_fcs", "error", "runt", "oversize", "received_bytes"), 0)

    def good(self, length: int = 60) -> None:
        """Sends one of so many bytes without FCS."""
        frame = self.bench.rng.randbytes(length)
        self.bench.good(frame)
        self.arrives(frame)

    def arrives(self, frame: bytes) -> None:
        """One that was sent is good."""
        self.expected.append((frame, False))
        self.counts["good"] += 1
        self.counts["received_bytes"] += len(frame) + 4

    def wrong(self, frame: bytes | None, *causes: str) -> None:
        """One that was sent is given as bad, or not at all (None), and counted under each cause."""
        if frame is not None:
            self.expected.append((frame, True))
        for cause in causes:
            self.counts[cause] += 1

    async def check(self) -> None:
        """Once all have come."""
        taken = self.bench.taken()
        assert len(taken) == len(self.expected)
        for n, (got, wanted) in enumerate(zip(taken, self.expected, strict=True)):
            assert got == wanted, (
                f"frame {n}: {len(got[0])} bytes, tuser {got[1]}; expected {len(wanted[0])}, {wanted[1]}"
            )
        self.bench.check_statistics(await self.bench.statistics(), **self.counts)


def lengths_of_every_kind(rng: random.Random) -> list[int]:
    """Lengths without FCS: all from 60 to 140, so every remainder of 8 at several sizes, some more, the longest."""
    return [*range(60, 141), *(rng.randrange(141, 1600) for _ in range(12)), 1514, 9209, 9215, LONGEST]

"""The top of a board, with two RGMII models for its PHYs; the PLL's clocks are driven here.

A frame goes from one port to the other through a core that nobody has configured: Drop-Tail.
"""

from __future__ import annotations

import logging
import os
import random
import zlib
from collections.abc import Awaitable
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer
from cocotbext.eth import GmiiFrame, RgmiiSink, RgmiiSource

from axis import seeded

BOARD = os.environ.get("WEIR_BOARD", "colorlight-5a-75b")
LINE_PS, CORE_PS = 8000, 16000
PREAMBLE = bytes([0x55] * 7 + [0xD5])
LONGEST = {"ecp5-versa": 9216, "colorlight-5a-75b": 8000}[BOARD]
"""bytes of frames that may follow each other without a pause: one leaves while the next one comes"""


def fcs(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little")


class Bench:
    """`between[n]`: gaps in bytes at the output of port n."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut, self.rng = dut, rng
        self.between: list[list[int]] = [[], []]

    @classmethod
    async def make(cls, dut: Any, name: str, rx_ps: tuple[int, int] = (LINE_PS, LINE_PS)) -> Bench:
        bench = cls(dut, seeded(f"{BOARD} {name}"))
        for port in ("rxd", "txd"):
            for n in range(2):
                logging.getLogger(f"cocotb.{dut._name}.eth{n}_{port}").setLevel(logging.WARNING)
        for pin in ("clk25", "clk100", "bypass"):
            if hasattr(dut, pin):
                getattr(dut, pin).value = 0
        for pin in ("button_n", "rst_n", "uart_rxd"):
            if hasattr(dut, pin):
                getattr(dut, pin).value = 1
        pll = dut.clocks_generator
        # the resets begin at once, which needs an edge where a bit has two values only
        for lock in (1, 0):
            pll.lock.value = lock
            await Timer(1, "ps")
        Clock(pll.os, CORE_PS, "ps").start()
        bench.lines = [Clock(pll.op, LINE_PS, "ps")]
        bench.lines += [Clock(getattr(dut, f"eth{n}_rxc"), rx_ps[n], "ps") for n in range(2)]
        for clock in bench.lines:
            clock.start()
        pins = [
            {p: getattr(dut, f"eth{n}_{p}") for p in ("rxd", "rx_ctl", "rxc", "txd", "tx_ctl", "txc")} for n in (0, 1)
        ]
        bench.sources = [RgmiiSource(p["rxd"], p["rx_ctl"], p["rxc"]) for p in pins]
        bench.sinks = [RgmiiSink(p["txd"], p["tx_ctl"], p["txc"]) for p in pins]
        await Timer(20 * CORE_PS, "ps")
        pll.lock.value = 1
        await Timer(20 * CORE_PS, "ps")
        for sink in bench.sinks:
            sink.clear()
        for n in range(2):
            cocotb.start_soon(bench._watch(n))
        return bench

    async def _watch(self, n: int) -> None:
        control, clock = getattr(self.dut, f"eth{n}_tx_ctl"), getattr(self.dut, f"eth{n}_txc")
        gap, first, before = 0, True, 0
        while True:
            await RisingEdge(clock)
            enable = int(control.value)
            if enable and not before:
                if not first:
                    self.between[n].append(gap)
                first = False
            gap = 0 if enable else gap + 1
            before = enable

    def send(self, port: int, payload: bytes, wrong: int = 0, error: int | None = None) -> None:
        """A frame into a port; `wrong` is xored with its FCS, with its byte `error` comes the PHY's error signal."""
        data = PREAMBLE + payload + bytes(b ^ wrong for b in fcs(payload))
        flags = None if error is None else [int(n == len(PREAMBLE) + error) for n in range(len(data))]
        self.sources[port].send_nowait(GmiiFrame(data, flags))

    async def between_frames(self, work: Awaitable[Any]) -> Any:
        """Lets the clocks of the lines stand still meanwhile, whose models take most of the time."""
        for clock in self.lines:
            clock.stop()
        result = await work
        for clock in self.lines:
            clock.start()
        return result

    async def drained(self, to_port_0: int, to_port_1: int) -> None:
        """Until the sources are empty and so many frames have left; if they do not, as long as two of the longest take."""
        for source in self.sources:
            await source.wait()
        for _ in range(2 * LONGEST // 200):
            if (self.sinks[0].count(), self.sinks[1].count()) == (to_port_0, to_port_1):
                break
            await Timer(200 * LINE_PS, "ps")
        # nothing comes behind
        await Timer(400 * LINE_PS, "ps")

    def received(self, port: int) -> list[tuple[bytes, bool]]:
        """Frames that left a port, and whether they were spoiled."""
        frames = []
        sink = self.sinks[port]
        while not sink.empty():
            frame = sink.recv_nowait(compact=False)
            data = bytes(frame.data)
            start = data.index(0xD5) + 1
            broken = any(frame.error or [])
            assert (data[-4:] == fcs(data[start:-4])) is not broken
            frames.append((data[start:-4], broken))
        return frames

    async def bypass(self, on: bool) -> None:
        """By the switch of the board; the rest that the button has to have is cut short."""
        if BOARD == "ecp5-versa":
            self.dut.bypass.value = int(on)
            await Timer(10 * CORE_PS, "ps")
            return
        for level in (0, 1) if int(self.dut.switch_bypass.value) != on else ():
            self.dut.button_n.value = level
            await Timer(6 * CORE_PS, "ps")
            self.dut.switch_rest.value = (1 << 20) - 6
            await Timer(20 * CORE_PS, "ps")
        assert int(self.dut.switch_bypass.value) == on


@cocotb.test()
async def forwards_both_ways_without_a_host(dut: Any) -> None:
    """Frames of every remainder of 8 and the longest, in both directions at once, unchanged and in order."""
    bench = await Bench.make(dut, "both ways")
    frames = []
    for port in range(2):
        lengths = [*range(60, 77), 1514, LONGEST, *(bench.rng.randrange(60, 1515) for _ in range(10)), 60]
        frames.append([bench.rng.randbytes(n) for n in lengths])
        for frame in frames[port]:
            bench.send(port, frame)
    await bench.drained(len(frames[1]), len(frames[0]))
    for port in range(2):
        assert bench.received(1 - port) == [(frame, False) for frame in frames[port]], f"from port {port}"


@cocotb.test()
async def minimum_frames_pass_at_line_rate_both_ways(dut: Any) -> None:
    """64 bytes and gaps of 12, 1.488 million a second each way; out with the same gaps."""
    bench = await Bench.make(dut, "line rate")
    frames = [[bench.rng.randbytes(60) for _ in range(250)] for _ in range(2)]
    for port in range(2):
        for frame in frames[port]:
            bench.send(port, frame)
    await bench.drained(len(frames[1]), len(frames[0]))
    for port in range(2):
        assert bench.received(1 - port) == [(frame, False) for frame in frames[port]], f"from port {port}"
        assert bench.between[1 - port] == [12] * 249


@cocotb.test()
async def a_bad_frame_stops_in_the_core_and_passes_the_bypass_as_bad(dut: Any) -> None:
    """Bad by its FCS or by the PHY's word. Without the bypass, with it, and without it again; a switch between frames loses nothing."""
    bench = await Bench.make(dut, "bypass")
    for on in (False, True, False):
        await bench.bypass(on)
        expected: list[list[tuple[bytes, bool]]] = [[], []]
        for port in range(2):
            for n in range(12):
                frame, bad = bench.rng.randbytes(bench.rng.choice([60, 61, 300])), n % 3 == 1
                if bad and n % 2:
                    bench.send(port, frame, error=bench.rng.randrange(len(frame)))
                else:
                    bench.send(port, frame, wrong=0xFF if bad else 0)
                if on or not bad:
                    expected[port].append((frame, bad))
        await bench.drained(len(expected[1]), len(expected[0]))
        for port in range(2):
            assert bench.received(1 - port) == expected[port], f"bypass {on}, from port {port}"


@cocotb.test()
@cocotb.parametrize(around=[False, True])
async def clocks_100_ppm_apart_do_not_tear_frames(dut: Any, around: bool) -> None:
    """One line slower than the board by more than 100 ppm, one faster; long frames without a pause."""
    bench = await Bench.make(dut, f"ppm {around}", (8002, 7998))
    if around:
        await bench.bypass(True)
    frames = [[bench.rng.randbytes(n) for n in (LONGEST, LONGEST, 60, 1514)] for _ in range(2)]
    for port in range(2):
        for frame in frames[port]:
            bench.send(port, frame)
    await bench.drained(len(frames[1]), len(frames[0]))
    for port in range(2):
        assert bench.received(1 - port) == [(frame, False) for frame in frames[port]], f"from port {port}"


@cocotb.test()
async def switching_the_bypass_inside_frames_tears_none(dut: Any) -> None:
    """Frames arrive whole or, if they were in a core when its link went down, not at all."""
    bench = await Bench.make(dut, "switch")
    frames = [[bench.rng.randbytes(bench.rng.choice([60, 200, 1514])) for _ in range(60)] for _ in range(2)]
    for port in range(2):
        for frame in frames[port]:
            bench.send(port, frame)
    on = False
    while not all(source.idle() for source in bench.sources):
        await Timer(bench.rng.randrange(50, 3000) * LINE_PS, "ps")
        on = not on
        await bench.bypass(on)
    await bench.bypass(False)
    await bench.drained(0, 0)
    for port in range(2):
        arrived = bench.received(1 - port)
        assert not any(broken for _, broken in arrived)
        left = list(frames[port])
        for frame, _ in arrived:
            assert frame in left, f"a frame of {len(frame)} bytes was not sent, or came twice"
            left.remove(frame)
        assert len(left) <= 30

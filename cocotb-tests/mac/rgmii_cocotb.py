"""The 1 Gb/s MAC at the pins of an RGMII, with the cells of a device between: RgmiiSource, RgmiiSink and a monitor of its own.

What is expected is of RGMII 2.0: the low nibble and the enable at the rising edge, the high nibble and enable xor error at the falling one.
"""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, First, RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotbext.eth import GmiiFrame, RgmiiSink, RgmiiSource

from axis import seeded
from mac_bench import LONGEST, Arrivals, MacBench, fcs, padded

LINE_PS, CORE_PS = 8000, 16000
PREAMBLE = bytes([0x55] * 7 + [0xD5])
#: RGMII 2.0 at the transmitter: a clock without delay is no further from the data's edges; a delayed one no closer
SKEW_PS, SETUP_PS, HOLD_PS = 500, 1200, 1200


class Bench(MacBench):
    """`sent_gaps`, `received_gaps`: bytes between the frames at the pins."""

    byte_ps = LINE_PS
    rx_clock = "rgmii_rxc"

    @classmethod
    async def make(cls, dut: Any, name: str) -> Bench:
        bench = cls(dut, seeded(f"rgmii {name}"), LINE_PS, CORE_PS)
        bench.line_source = RgmiiSource(dut.rgmii_rxd, dut.rgmii_rx_ctl, dut.rgmii_rxc)
        bench.line_sink = RgmiiSink(dut.rgmii_txd, dut.rgmii_tx_ctl, dut.rgmii_txc)
        bench.sent_gaps: list[int] = []
        bench.received_gaps: list[int] = []
        if hasattr(dut, "delay_clk"):
            dut.delay_rst.value = 0
            Clock(dut.delay_clk, 5000, "ps").start()
        if hasattr(dut, "tx_clk90"):
            dut.tx_clk90.value = 0
            cocotb.start_soon(bench._shifted())
        await bench.start()
        # what the registers at the pins held before
        bench.line_sink.clear()
        cocotb.start_soon(bench._watch("tx", bench.sent_gaps))
        cocotb.start_soon(bench._watch("rx", bench.received_gaps))
        return bench

    async def _shifted(self) -> None:
        """A quarter of a cycle behind tx_clk, which begins now."""
        await Timer(LINE_PS // 4, "ps")
        Clock(self.dut.tx_clk90, LINE_PS, "ps").start()

    async def _watch(self, side: str, gaps: list[int]) -> None:
        """The gaps of one direction; what is sent begins with a whole preamble and has no error between frames."""
        clock, control, data = (getattr(self.dut, f"rgmii_{side}{name}") for name in ("c", "_ctl", "d"))
        rises, falls = RisingEdge(clock), FallingEdge(clock)
        gap, first, place = 0, True, 0
        while True:
            await rises
            if not int(control.value):
                gap, place = gap + 1, 0
                if side == "tx":
                    await falls
                    assert not int(control.value), "an error between frames"
                continue
            if gap:
                if not first:
                    gaps.append(gap)
                first, gap = False, 0
            if side == "tx" and place < 8:
                low = int(data.value)
                await falls
                assert low | int(data.value) << 4 == PREAMBLE[place], f"byte {place} of the preamble"
                place += 1

    def raw(self, data: bytes, error: list[int] | None = None) -> None:
        """Bytes after the preamble as they are."""
        flags = None if error is None else [0] * len(PREAMBLE) + error
        self.line_source.send_nowait(GmiiFrame(PREAMBLE + data, flags))

    def good(self, payload: bytes) -> None:
        self.raw(payload + fcs(payload))

    def sent(self) -> list[tuple[bytes, list[int]]]:
        """Frames that left, without preamble and FCS, and which of their bytes had an error; if one had, the FCS is inverted."""
        frames = []
        while not self.line_sink.empty():
            frame = self.line_sink.recv_nowait(compact=False)
            data = bytes(frame.data)
            # the sink leaves out the first byte if the clock's edge is the data's; _watch has looked at it
            start = data.index(0xD5) + 1
            errors = [n - start for n, error in enumerate(frame.error or []) if error]
            payload, check = data[start:-4], data[-4:]
            right = fcs(payload)
            assert check == (bytes(b ^ 0xFF for b in right) if errors else right), "FCS"
            frames.append((payload, errors))
        return frames

    async def done(self, sending: int = 0) -> None:
        """Until all is out of the sources; the last frame of the core's has so many bytes."""
        await self.line_source.wait()
        await self.source.wait()
        await self.bytes_of_line(sending + 200)


@cocotb.test()
async def frames_of_every_remainder_and_the_longest_pass_both_ways(dut: Any) -> None:
    bench = await Bench.make(dut, "both ways")
    frames = [bench.rng.randbytes(n) for n in (*range(60, 77), 1514, LONGEST)]
    for frame in frames:
        bench.good(frame)
        bench.send(frame)
    await bench.done(LONGEST)
    assert bench.taken() == [(frame, False) for frame in frames]
    assert bench.sent() == [(frame, []) for frame in frames]
    total = sum(len(frame) + 4 for frame in frames)
    bench.check_statistics(
        await bench.statistics(), good=len(frames), received_bytes=total, whole=len(frames), sent_bytes=total
    )


@cocotb.test()
async def minimum_frames_pass_at_line_rate_both_ways(dut: Any) -> None:
    """64 bytes and gaps of 12 in and out."""
    bench = await Bench.make(dut, "line rate")
    frames = [bench.rng.randbytes(60) for _ in range(60)]
    for frame in frames:
        bench.good(frame)
        bench.send(frame)
    await bench.done(300)
    assert bench.taken() == [(frame, False) for frame in frames]
    assert bench.sent() == [(frame, []) for frame in frames]
    assert bench.received_gaps == bench.sent_gaps == [12] * 59


@cocotb.test()
async def marks_what_is_wrong_and_counts_it(dut: Any) -> None:
    """Bits in error in every lane of both nibbles, the error signal at one byte, runts, a frame too long; good frames between are untouched.

    Gaps are a byte long.
    """
    bench = await Bench.make(dut, "wrong")
    bench.line_source.ifg = 1
    rng = bench.rng
    arrivals = Arrivals(bench)
    arrivals.good()
    for bit in (0, 9, 18, 27, 36, 45, 54, 63, 60 * 8, 63 * 8 + 7):  # one bit of the frame or of its FCS
        frame = rng.randbytes(60)
        wrong = bytearray(frame + fcs(frame))
        wrong[bit // 8] ^= 1 << bit % 8
        bench.raw(bytes(wrong))
        arrivals.wrong(bytes(wrong[:-4]), "bad_fcs")
    arrivals.good()
    for at in (0, 1, 7, 30, 63, 64, 67):  # an error in a frame of 64 bytes, 4 of FCS, with its data as sent
        frame = rng.randbytes(64)
        bench.raw(frame + fcs(frame), [int(n == at) for n in range(68)])
        arrivals.wrong(frame, "error")
        arrivals.good()
    for length in (5, 12, 32, 63):  # with FCS
        frame = rng.randbytes(length - 4)
        bench.raw(frame + fcs(frame))
        arrivals.wrong(frame, "runt")
    for length in (1, 4):  # nothing is left without FCS
        bench.raw(rng.randbytes(length))
        arrivals.wrong(None, "runt", "bad_fcs")
    arrivals.good()
    frame = rng.randbytes(LONGEST + 1)
    bench.good(frame)
    arrivals.wrong(frame, "oversize")
    arrivals.good(61)
    await bench.done()
    assert set(bench.received_gaps) == {1}
    await arrivals.check()


@cocotb.test()
async def aborts_what_the_core_marks_as_bad(dut: Any) -> None:
    """tuser on the last beat: an error at its last byte, which padding may follow, and an inverted FCS; the frames around are whole."""
    bench = await Bench.make(dut, "abort")
    expected: list[tuple[bytes, list[int]]] = []
    for n, length in enumerate([1, 8, 59, 60, 61, 62, 63, 64, 65, 66, 67, 300]):
        for bad in (n % 2 == 0, n % 2 == 1):
            frame = bench.rng.randbytes(length)
            bench.send(frame, bad)
            expected.append((padded(frame), [length - 1] if bad else []))
    await bench.done(400)
    assert bench.sent() == expected
    sent_bytes = sum(len(frame) + 4 for frame, errors in expected if not errors)
    bench.check_statistics(await bench.statistics(), whole=12, aborted=12, sent_bytes=sent_bytes)


@cocotb.test()
async def what_a_phy_says_between_frames_is_no_frame(dut: Any) -> None:
    """In-band status (link up, 125 MHz, full duplex) in both nibbles; a false carrier, which is error without enable and 0E."""
    bench = await Bench.make(dut, "between")
    frames = [bench.rng.randbytes(60) for _ in range(4)]
    for n, frame in enumerate(frames):
        bench.good(frame)
        await bench.line_source.wait()
        for cycle in range(20):
            carrier = n % 2 and 8 <= cycle < 12
            await FallingEdge(dut.rgmii_rxc)
            dut.rgmii_rxd.value = 0xE if carrier else 0xD
            dut.rgmii_rx_ctl.value = 0
            await RisingEdge(dut.rgmii_rxc)
            dut.rgmii_rxd.value = 0x0 if carrier else 0xD
            dut.rgmii_rx_ctl.value = int(carrier)
        await FallingEdge(dut.rgmii_rxc)
        dut.rgmii_rx_ctl.value = 0
    await bench.done()
    assert bench.taken() == [(frame, False) for frame in frames]
    bench.check_statistics(await bench.statistics(), good=4, received_bytes=4 * 64)


@cocotb.test()
async def the_clock_that_is_sent_has_its_edges_where_rgmii_wants_them(dut: Any) -> None:
    """With the data's, if the PHY delays it, or where the cell delays it, which its model does not; else amid the nibbles."""
    bench = await Bench.make(dut, "edges")
    for length in (60, 100):
        bench.send(bench.rng.randbytes(length))
    await RisingEdge(dut.rgmii_tx_ctl)
    clocks: list[int] = []
    changes: list[int] = []

    async def note(signals: list[Any], times: list[int]) -> None:
        while True:
            await First(*(signal.value_change for signal in signals))
            times.append(int(get_sim_time("ps")))

    cocotb.start_soon(note([dut.rgmii_txc], clocks))
    cocotb.start_soon(note([dut.rgmii_txd, dut.rgmii_tx_ctl], changes))
    await bench.bytes_of_line(200)
    assert {b - a for a, b in zip(clocks, clocks[1:], strict=False)} == {LINE_PS // 2}
    inside = [change for change in changes if clocks[0] < change < clocks[-1]]
    assert len(inside) > 250
    for change in inside:
        before = max(edge for edge in clocks if edge <= change)
        hold, setup = change - before, before + LINE_PS // 2 - change
        if hasattr(dut, "tx_clk90"):
            assert hold >= HOLD_PS and setup >= SETUP_PS, (hold, setup)
        else:
            assert min(hold, setup) <= SKEW_PS, (hold, setup)


@cocotb.test()
async def latencies_are_those_of_the_page(dut: Any) -> None:
    """Those of the MAC; out a cycle more. In two: the byte whose low nibble an edge takes is the MAC's at the second one after that."""
    bench = await Bench.make(dut, "latency")
    bench.send(bytes(60))
    bench.good(bytes(60))
    at: dict[str, int] = {}
    for cycle in range(400):
        await RisingEdge(dut.tx_clk)
        if int(dut.parts_mac.transmit.s_axis_tvalid.value):
            at.setdefault("beat", cycle)
        if int(dut.rgmii_tx_ctl.value):
            at.setdefault("preamble", cycle)
        if int(dut.rgmii_rx_ctl.value):
            at["byte"] = cycle
        if int(dut.parts_mac.receive.m_axis_tvalid.value) and int(dut.parts_mac.receive.m_axis_tlast.value):
            at.setdefault("last", cycle)
    assert at["preamble"] - at["beat"] == 3 + 1
    assert at["last"] - at["byte"] == 5 + 2


@cocotb.test()
async def the_delays_are_ready_when_they_are_calibrated(dut: Any) -> None:
    if not hasattr(dut, "delay_clk"):
        return
    await Bench.make(dut, "ready")
    assert int(dut.delay_ready.value)
    dut.delay_rst.value = 1
    await Timer(60, "ns")
    assert not int(dut.delay_ready.value)
    dut.delay_rst.value = 0
    await Timer(60, "ns")
    assert int(dut.delay_ready.value)

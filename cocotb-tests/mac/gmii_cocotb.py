"""The 1 Gb/s MAC between GmiiSource, GmiiSink and the streams of cocotbext-axi."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, Timer
from cocotbext.eth import GmiiFrame, GmiiSink, GmiiSource

from axis import seeded
from mac_bench import LONGEST, Arrivals, MacBench, fcs, lengths_of_every_kind, padded

LINE_PS = 8000
PREAMBLE = bytes([0x55] * 7 + [0xD5])
#: periods of the core's clock: as slow as eight bytes a word allow with 20 ppm to spare, the boards', faster than the line
CORES = {"slowest": 63998, "board": 16000, "fast": 6400}


class Bench(MacBench):
    byte_ps = LINE_PS

    @classmethod
    async def make(cls, dut: Any, name: str, core: str = "board", rx_ps: int = LINE_PS) -> Bench:
        bench = cls(dut, seeded(f"gmii {name} {core}"), LINE_PS, CORES[core], rx_ps)
        bench.line_source = GmiiSource(dut.gmii_rxd, dut.gmii_rx_er, dut.gmii_rx_dv, dut.rx_clk)
        bench.line_sink = GmiiSink(dut.gmii_txd, dut.gmii_tx_er, dut.gmii_tx_en, dut.tx_clk)
        bench.between: list[int] = []
        await bench.start()
        cocotb.start_soon(bench._watch())
        return bench

    async def _watch(self) -> None:
        """`between` has the gaps in bytes; no error signal outside a frame; the preamble is whole."""
        gap, first, before, place = 0, True, 0, 0
        while True:
            await RisingEdge(self.dut.tx_clk)
            enable = int(self.dut.gmii_tx_en.value)
            assert enable or not int(self.dut.gmii_tx_er.value), "gmii_tx_er between frames"
            if enable and not before:
                if not first:
                    self.between.append(gap)
                first, place = False, 0
            if enable and place < 8:
                assert int(self.dut.gmii_txd.value) == PREAMBLE[place], f"byte {place} of the preamble"
                place += 1
            gap = 0 if enable else gap + 1
            before = enable

    async def watch_received(self, gaps: list[int]) -> None:
        """`gaps` gets the bytes between the frames that come."""
        gap: int | None = None
        while True:
            await RisingEdge(self.dut.rx_clk)
            if not int(self.dut.gmii_rx_dv.value):
                gap = None if gap is None else gap + 1
            else:
                if gap:
                    gaps.append(gap)
                gap = 0

    def raw(self, data: bytes, error: list[int] | None = None, preamble: bytes = PREAMBLE) -> None:
        """Bytes after the preamble as they are."""
        flags = None if error is None else [0] * len(preamble) + error
        self.line_source.send_nowait(GmiiFrame(preamble + data, flags))

    def good(self, payload: bytes) -> None:
        self.raw(payload + fcs(payload))

    def sent(self) -> list[tuple[bytes, bool]]:
        """Frames that left, without preamble and FCS, and whether they were spoiled: an error byte and an inverted FCS."""
        frames = []
        while not self.line_sink.empty():
            frame = self.line_sink.recv_nowait(compact=False)
            data = bytes(frame.data)
            # the sink leaves out the first byte; _watch has looked at it
            assert data[:7] == PREAMBLE[1:]
            payload, check = data[7:-4], data[-4:]
            broken = any(frame.error or [])
            right = fcs(payload)
            assert check == (bytes(b ^ 0xFF for b in right) if broken else right), "FCS"
            frames.append((payload, broken))
        return frames


@cocotb.test()
@cocotb.parametrize(core=list(CORES))
async def receives_frames_of_every_length(dut: Any, core: str) -> None:
    bench = await Bench.make(dut, "receives", core)
    frames = [bench.rng.randbytes(n) for n in lengths_of_every_kind(bench.rng)]
    for frame in frames:
        bench.good(frame)
    await bench.line_source.wait()
    await bench.bytes_of_line(64)
    assert bench.taken() == [(frame, False) for frame in frames]
    bench.check_statistics(
        await bench.statistics(), good=len(frames), received_bytes=sum(len(frame) + 4 for frame in frames)
    )


@cocotb.test()
@cocotb.parametrize(core=list(CORES))
async def sends_frames_of_every_length(dut: Any, core: str) -> None:
    """Short ones are padded with zeros to 60 bytes; gaps are 12 bytes."""
    bench = await Bench.make(dut, "sends", core)
    lengths = [*range(1, 60), *lengths_of_every_kind(bench.rng)]
    bench.rng.shuffle(lengths)
    frames = [bench.rng.randbytes(n) for n in lengths]
    for frame in frames:
        bench.send(frame)
    await bench.source.wait()
    await bench.bytes_of_line(LONGEST + 600)
    assert bench.sent() == [(padded(frame), False) for frame in frames]
    bench.check_statistics(
        await bench.statistics(), whole=len(frames), sent_bytes=sum(len(padded(frame)) + 4 for frame in frames)
    )
    if core != "slowest":
        assert set(bench.between) == {12}, bench.between


@cocotb.test()
async def forwards_minimum_frames_at_line_rate_both_ways(dut: Any) -> None:
    """84 bytes a frame: 8 of preamble, 64 with FCS, a gap of 12; in and out at once, none is lost."""
    bench = await Bench.make(dut, "line rate")
    frames = [bench.rng.randbytes(60) for _ in range(300)]
    for frame in frames:
        bench.good(frame)
        bench.send(frame)
    await bench.line_source.wait()
    await bench.bytes_of_line(400)
    assert bench.taken() == [(frame, False) for frame in frames]
    assert bench.sent() == [(frame, False) for frame in frames]
    assert bench.between == [12] * 299


@cocotb.test()
async def marks_what_is_wrong_and_counts_it(dut: Any) -> None:
    """Bad FCS, runts, frames too long, error signals, no delimiter; good frames between are untouched.

    Gaps are a byte long.
    """
    bench = await Bench.make(dut, "wrong")
    bench.line_source.ifg = 1
    gaps: list[int] = []
    cocotb.start_soon(bench.watch_received(gaps))
    rng = bench.rng
    arrivals = Arrivals(bench)
    arrivals.good()
    for bit in range(0, 8 * 69, 23):  # one bit of the frame or of its FCS
        frame = rng.randbytes(65)
        wrong = bytearray(frame + fcs(frame))
        wrong[bit // 8] ^= 1 << bit % 8
        bench.raw(bytes(wrong))
        arrivals.wrong(bytes(wrong[:-4]), "bad_fcs")
        arrivals.good(rng.randrange(60, 80))
    for length in range(5, 64):  # with FCS
        frame = rng.randbytes(length - 4)
        bench.raw(frame + fcs(frame))
        arrivals.wrong(frame, "runt")
    for length in range(1, 5):  # nothing is left without FCS
        bench.raw(rng.randbytes(length))
        arrivals.wrong(None, "runt", "bad_fcs")
    arrivals.good()
    for length in (9217, 9224):
        frame = rng.randbytes(length)
        bench.raw(frame + fcs(frame))
        arrivals.wrong(frame, "oversize")
        arrivals.good()
    for at in (0, 7, 8, 30, 63, 64, 67):  # an error in a frame of 64 bytes, 4 of FCS, with its data as sent
        frame = rng.randbytes(64)
        bench.raw(frame + fcs(frame), [int(n == at) for n in range(68)])
        arrivals.wrong(frame, "error")
        arrivals.good()
    for preamble in (PREAMBLE[:7], PREAMBLE[:4] + b"\x15" + PREAMBLE[5:]):  # no delimiter; a byte that is no preamble
        bench.raw(bytes(64), preamble=preamble)
        arrivals.good()
    for length in (0, 1, 6, 20):  # preambles of any length
        frame = rng.randbytes(60)
        bench.raw(frame + fcs(frame), preamble=bytes([0x55] * length + [0xD5]))
        arrivals.arrives(frame)
    arrivals.good()
    await bench.line_source.wait()
    await bench.bytes_of_line(64)
    assert set(gaps) == {1}
    await arrivals.check()


@cocotb.test()
async def a_second_start_inside_a_frame_is_data(dut: Any) -> None:
    """GMII has no character for a start. A preamble begins a frame behind a byte without enable, which ends the torn one as bad."""
    bench = await Bench.make(dut, "restart")
    bench.line_source.ifg = 1
    expected = []
    for cut in range(64, 73):
        torn, whole = bench.rng.randbytes(cut), bench.rng.randbytes(61)
        inner = PREAMBLE + whole + fcs(whole)
        bench.raw(torn + inner)  # the FCS of the inner frame is not that of the outer one
        expected.append((torn + inner[:-4], True))
        bench.good(torn + inner)
        expected.append((torn + inner, False))
        bench.raw(torn)
        expected.append((torn[:-4], True))
        bench.good(whole)
        expected.append((whole, False))
    await bench.line_source.wait()
    await bench.bytes_of_line(64)
    assert bench.taken() == expected
    good = [frame for frame, bad in expected if not bad]
    bench.check_statistics(
        await bench.statistics(), good=18, bad_fcs=18, received_bytes=sum(len(frame) + 4 for frame in good)
    )


@cocotb.test()
async def loses_whole_frames_when_the_core_waits(dut: Any) -> None:
    bench = await Bench.make(dut, "wait")
    await bench.wait_now_and_then()


@cocotb.test()
async def aborts_what_the_core_marks_as_bad(dut: Any) -> None:
    """tuser on the last beat: an error byte and an inverted FCS; the frames around are whole."""
    bench = await Bench.make(dut, "abort")
    expected = []
    for length in [*range(1, 90), 1514]:
        frame = bench.rng.randbytes(length)
        bad = bench.rng.random() < 0.5
        bench.send(frame, bad)
        expected.append((padded(frame), bad))
    await bench.source.wait()
    await bench.bytes_of_line(3000)
    assert bench.sent() == expected
    whole = [frame for frame, bad in expected if not bad]
    bench.check_statistics(
        await bench.statistics(),
        whole=len(whole),
        aborted=len(expected) - len(whole),
        sent_bytes=sum(len(frame) + 4 for frame in whole),
    )


@cocotb.test()
async def an_underrun_aborts_the_frame_and_only_that(dut: Any) -> None:
    """A source that stops for longer than the FIFO has words."""
    bench = await Bench.make(dut, "underrun")
    for length in (300, 700, 3000):
        frame, after = bench.rng.randbytes(length), bench.rng.randbytes(60)
        bench.send(frame)
        bench.send(after)
        await Timer(24 * CORES["board"], "ps")
        bench.source.pause = True
        await Timer(1000 * LINE_PS, "ps")
        bench.source.pause = False
        await bench.source.wait()
        await bench.bytes_of_line(4000)
        (torn, broken), (whole, ok) = bench.sent()
        assert broken and not ok and whole == after
        assert len(torn) < length and frame.startswith(torn[:-1])
    bench.check_statistics(await bench.statistics(), whole=3, aborted=3, underrun=3, sent_bytes=3 * 64)


@cocotb.test()
async def reset_in_the_middle_of_frames_leaves_nothing_behind(dut: Any) -> None:
    bench = await Bench.make(dut, "reset")
    for _ in range(10):
        for _ in range(2):
            bench.good(bench.rng.randbytes(200))
        await Timer(bench.rng.randrange(10, 400) * LINE_PS, "ps")
        await bench.reset()
        await bench.line_source.wait()
        await bench.bytes_of_line(64)
        bench.sink.clear()
        for length in (60, 61):
            frame = bench.rng.randbytes(length)
            bench.good(frame)
            bench.send(frame)
            await bench.line_source.wait()
            await bench.bytes_of_line(200)
            assert bench.taken()[-1] == (frame, False)
            assert bench.sent() == [(padded(frame), False)]


@cocotb.test()
async def latencies_are_those_of_the_page(dut: Any) -> None:
    """Three cycles from the first beat to the preamble, five from the last byte to the last beat."""
    bench = await Bench.make(dut, "latency")
    bench.send(bytes(60))
    bench.good(bytes(60))
    at: dict[str, int] = {}
    for cycle in range(400):
        await RisingEdge(dut.tx_clk)
        if int(dut.transmit.s_axis_tvalid.value):
            at.setdefault("beat", cycle)
        if int(dut.gmii_tx_en.value):
            at.setdefault("preamble", cycle)
        if int(dut.gmii_rx_dv.value):
            at["byte"] = cycle
        if int(dut.receive.m_axis_tvalid.value) and int(dut.receive.m_axis_tlast.value):
            at.setdefault("last", cycle)
    assert at["preamble"] - at["beat"] == 3
    assert at["last"] - at["byte"] == 5

"""The 10 Gb/s MAC between XgmiiSource, XgmiiSink and the streams of cocotbext-axi."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, Timer
from cocotbext.eth import XgmiiFrame, XgmiiSink, XgmiiSource

from axis import seeded
from mac_bench import LONGEST, Arrivals, MacBench, fcs, lengths_of_every_kind, padded

LINE_PS = 6400
START, TERMINATE, ERROR, IDLE = 0xFB, 0xFD, 0xFE, 0x07
PREAMBLE = bytes([0x55] * 7 + [0xD5])
#: the core's clock against the line's: the same frequency, 312 ppm less, a third more
CORES = {"same": 6400, "slow": 6402, "fast": 4800}


class Bench(MacBench):
    byte_ps = LINE_PS // 8

    @classmethod
    async def make(cls, dut: Any, name: str, core: str = "same") -> Bench:
        bench = cls(dut, seeded(f"xgmii {name} {core}"), LINE_PS, CORES[core])
        bench.line_source = XgmiiSource(dut.xgmii_rxd, dut.xgmii_rxc, dut.rx_clk)
        bench.line_sink = XgmiiSink(dut.xgmii_txd, dut.xgmii_txc, dut.tx_clk)
        dut.xgmii_rxd.value, dut.xgmii_rxc.value = int("07" * 8, 16), 0xFF
        bench.between: list[int] = []
        await bench.start()
        cocotb.start_soon(bench._watch())
        return bench

    async def watch_received(self, gaps: list[int]) -> None:
        """`gaps` gets the bytes between the frames that come, terminate included."""
        gap: int | None = None
        while True:
            await RisingEdge(self.dut.rx_clk)
            data, control = int(self.dut.xgmii_rxd.value), int(self.dut.xgmii_rxc.value)
            for lane in range(8):
                byte = data >> 8 * lane & 0xFF
                if not control >> lane & 1:
                    continue
                if byte == TERMINATE:
                    gap = 1
                elif byte == START and gap is not None:
                    gaps.append(gap)
                elif byte == IDLE and gap is not None:
                    gap += 1

    async def _watch(self) -> None:
        """Between frames there are idles only, and a start is in lane 0 or 4; `between` has the gaps, terminate included."""
        inside, gap, first = False, 0, True
        while True:
            await RisingEdge(self.dut.tx_clk)
            data, control = int(self.dut.xgmii_txd.value), int(self.dut.xgmii_txc.value)
            for lane in range(8):
                byte, is_control = data >> 8 * lane & 0xFF, control >> lane & 1
                if inside:
                    if is_control and byte == TERMINATE:
                        inside, gap = False, 1
                    else:
                        assert not is_control or byte == ERROR, f"control character {byte:02x} inside a frame"
                elif is_control and byte == START:
                    assert lane in (0, 4), f"start in lane {lane}"
                    if not first:
                        self.between.append(gap)
                    inside, first = True, False
                else:
                    assert is_control and byte == IDLE, f"{byte:02x} between frames"
                    gap += 1

    def raw(self, data: bytes, control: list[int] | None = None) -> None:
        """Bytes after the preamble as they are."""
        flags = None if control is None else [0] * 8 + control
        self.line_source.send_nowait(XgmiiFrame(PREAMBLE + data, flags))

    def good(self, payload: bytes) -> None:
        self.raw(payload + fcs(payload))

    def sent(self) -> list[tuple[bytes, bool]]:
        """Frames that left, without preamble and FCS, and whether they were ended with an error character."""
        frames = []
        while not self.line_sink.empty():
            frame = self.line_sink.recv_nowait(compact=False)
            data = bytes(frame.data)
            assert data[:8] == PREAMBLE
            # the sink ends a frame at its first control character and keeps it, if it is not a terminate
            broken = bool(frame.ctrl and frame.ctrl[-1])
            if broken:
                assert data[-1] == ERROR
            else:
                assert data[-4:] == fcs(data[8:-4]), "FCS"
            frames.append((data[8:-1] if broken else data[8:-4], broken))
        return frames


@cocotb.test()
@cocotb.parametrize(core=list(CORES), lane=["any", "4"])
async def receives_frames_of_every_length(dut: Any, core: str, lane: str) -> None:
    bench = await Bench.make(dut, "receives", core)
    bench.line_source.force_offset_start = lane == "4"
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
async def gaps_of_five_bytes_are_enough_to_receive(dut: Any, core: str) -> None:
    """Five to eight, the least that lets a frame start in lane 0 or 4; of good and bad frames with every place of the terminate."""
    bench = await Bench.make(dut, "short gaps", core)
    bench.line_source.ifg = 5
    bench.line_source.enable_dic = False
    gaps: list[int] = []
    cocotb.start_soon(bench.watch_received(gaps))
    lengths = [bench.rng.choice([*range(60, 76), 200]) for _ in range(200)]
    expected = []
    for n, length in enumerate(lengths):
        frame, bad = bench.rng.randbytes(length), n % 5 == 4
        bench.raw(frame + bytes(b ^ bad for b in fcs(frame)))
        expected.append((frame, bad))
    await bench.line_source.wait()
    await bench.bytes_of_line(64)
    assert bench.taken() == expected
    # with preamble, FCS and gap a frame is a multiple of four bytes
    assert gaps == [5 + -(length + 12 + 5) % 4 for length in lengths[:-1]]
    assert set(gaps) == {5, 6, 7, 8}
    good = [frame for frame, bad in expected if not bad]
    bench.check_statistics(
        await bench.statistics(), good=len(good), bad_fcs=40, received_bytes=sum(len(frame) + 4 for frame in good)
    )


@cocotb.test()
@cocotb.parametrize(core=list(CORES))
async def sends_frames_of_every_length(dut: Any, core: str) -> None:
    """Short ones are padded with zeros to 60 bytes; gaps are 12 bytes on average, 9 to 15 each."""
    bench = await Bench.make(dut, "sends", core)
    lengths = [*range(1, 60), *lengths_of_every_kind(bench.rng)]
    bench.rng.shuffle(lengths)
    frames = [bench.rng.randbytes(n) for n in lengths]
    for frame in frames:
        bench.send(frame)
    await bench.source.wait()
    await bench.bytes_of_line(LONGEST)
    assert bench.sent() == [(padded(frame), False) for frame in frames]
    bench.check_statistics(
        await bench.statistics(), whole=len(frames), sent_bytes=sum(len(padded(frame)) + 4 for frame in frames)
    )
    if core != "slow":
        assert min(bench.between) >= 9 and max(bench.between) <= 15, bench.between
        # a deficit of at most 3 is left at the end
        assert -3 <= sum(bench.between) - 12 * len(bench.between) <= 3, sum(bench.between) / len(bench.between)


@cocotb.test()
async def forwards_minimum_frames_at_line_rate_both_ways(dut: Any) -> None:
    """84 bytes a frame at the port, 64 with FCS and a gap of 12 on average, in and out at once; none is lost."""
    bench = await Bench.make(dut, "line rate")
    frames = [bench.rng.randbytes(60) for _ in range(500)]
    for frame in frames:
        bench.good(frame)
        bench.send(frame)
    await bench.line_source.wait()
    await bench.bytes_of_line(200)
    assert bench.taken() == [(frame, False) for frame in frames]
    assert bench.sent() == [(frame, False) for frame in frames]
    assert bench.between == [12] * 499


@cocotb.test()
async def gaps_of_odd_frames_are_12_on_average(dut: Any) -> None:
    """Frames of every remainder of 4 by themselves: the deficit idle count over a long run."""
    bench = await Bench.make(dut, "gaps")
    for length in range(61, 69):
        frames = [bench.rng.randbytes(length) for _ in range(60)]
        for frame in frames:
            bench.send(frame)
        await bench.source.wait()
        await bench.bytes_of_line(400)
        gaps = bench.between[-59:]
        bench.between.clear()
        assert bench.sent() == [(frame, False) for frame in frames]
        assert abs(sum(gaps) - 12 * 59) <= 3, f"{length} bytes: {sum(gaps) / 59} on average"


@cocotb.test()
@cocotb.parametrize(core=list(CORES))
async def marks_what_is_wrong_and_counts_it(dut: Any, core: str) -> None:
    """Bad FCS, runts, frames too long, error characters, no terminate, no delimiter; good frames between are untouched."""
    bench = await Bench.make(dut, "wrong", core)
    rng = bench.rng
    arrivals = Arrivals(bench)
    arrivals.good()
    for bit in range(0, 8 * 69, 23):  # one bit of the frame or of its FCS
        frame = bytearray(rng.randbytes(65))
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
    for at in (0, 7, 8, 30, 63, 64, 67):  # an error character in a frame of 64 bytes, 4 of FCS
        frame = rng.randbytes(64)
        data = bytearray(frame + fcs(frame))
        data[at] = ERROR
        bench.raw(bytes(data), [int(n == at) for n in range(68)])
        arrivals.wrong(bytes(data[:-4]), "error", "bad_fcs")
        arrivals.good()
    for length in range(64, 73):  # an idle where the terminate should be
        frame = rng.randbytes(length - 4)
        bench.raw(frame + fcs(frame) + bytes([IDLE]), [0] * length + [1])
        arrivals.wrong(frame, "error")
        arrivals.good()
    for wrong_sfd in (0x55, 0xD4):
        bench.line_source.send_nowait(XgmiiFrame(PREAMBLE[:7] + bytes([wrong_sfd]) + rng.randbytes(64)))
        arrivals.good()
    await bench.line_source.wait()
    await bench.bytes_of_line(64)
    await arrivals.check()


@cocotb.test()
async def a_start_inside_a_frame_ends_it_as_bad(dut: Any) -> None:
    bench = await Bench.make(dut, "restart")
    rng = bench.rng
    for cut in range(64, 73):
        torn, whole = rng.randbytes(cut), rng.randbytes(61)
        # the rest of the word in front of the second start is data
        torn += rng.randbytes(-(8 + len(torn)) % 4)
        inner = bytes([START]) + PREAMBLE[1:] + whole + fcs(whole)
        bench.raw(torn + inner, [0] * len(torn) + [1] + [0] * (len(inner) - 1))
        await bench.line_source.wait()
        await bench.bytes_of_line(64)
        (first, bad), second = bench.taken()
        # if the start is not in the lane of the frame before, half a word of the torn frame goes with it
        assert bad and first in (torn[:-4], torn[:-8]), f"torn after {len(torn)} bytes"
        assert second == (whole, False)


@cocotb.test()
async def aborts_what_the_core_marks_as_bad(dut: Any) -> None:
    """tuser on the last beat: error characters instead of the FCS; the frames around are whole."""
    bench = await Bench.make(dut, "abort")
    expected = []
    for length in [*range(1, 90), 1514]:
        frame = bench.rng.randbytes(length)
        bad = bench.rng.random() < 0.5
        bench.send(frame, bad)
        expected.append((padded(frame), bad))
    await bench.source.wait()
    await bench.bytes_of_line(2000)
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
    for length in (200, 700, 3000):
        frame, after = bench.rng.randbytes(length), bench.rng.randbytes(60)
        bench.send(frame)
        bench.send(after)
        await Timer(length // 16 * LINE_PS, "ps")
        bench.source.pause = True
        await Timer(700 * LINE_PS, "ps")
        bench.source.pause = False
        await bench.source.wait()
        await bench.bytes_of_line(4000)
        (torn, broken), (whole, ok) = bench.sent()
        assert broken and not ok and whole == after
        assert len(torn) < length + 8 and frame.startswith(torn[:-8])
    bench.check_statistics(await bench.statistics(), whole=3, aborted=3, underrun=3, sent_bytes=3 * 64)


@cocotb.test()
async def loses_whole_frames_when_the_core_waits(dut: Any) -> None:
    bench = await Bench.make(dut, "wait")
    await bench.wait_now_and_then()


@cocotb.test()
async def reset_in_the_middle_of_frames_leaves_nothing_behind(dut: Any) -> None:
    bench = await Bench.make(dut, "reset")
    for _ in range(20):
        for _ in range(3):
            bench.good(bench.rng.randbytes(200))
        await Timer(bench.rng.randrange(10, 90) * LINE_PS, "ps")
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
@cocotb.parametrize(length=[60, 61, 64, 65])
async def latencies_are_those_of_the_page(dut: Any, length: int) -> None:
    """Nine cycles from the first beat to the start character; eight or nine from the terminate to the last beat."""
    bench = await Bench.make(dut, f"latency {length}")
    bench.send(bytes(length))
    bench.good(bytes(length))
    at: dict[str, int] = {}
    for cycle in range(120):
        await RisingEdge(dut.tx_clk)
        sent, received = int(dut.xgmii_txd.value), int(dut.xgmii_rxd.value)
        if int(dut.transmit.s_axis_tvalid.value):
            at.setdefault("beat", cycle)
        if START in sent.to_bytes(8, "little")[::4] and int(dut.xgmii_txc.value):
            at.setdefault("start", cycle)
        if int(dut.xgmii_rxc.value) & ~1 and TERMINATE in received.to_bytes(8, "little") and "terminate" not in at:
            at["terminate"] = cycle
        if int(dut.receive.m_axis_tvalid.value) and int(dut.receive.m_axis_tlast.value):
            at.setdefault("last", cycle)
    assert at["start"] - at["beat"] == 9
    # a last word with more than four bytes takes a cycle more
    assert at["last"] - at["terminate"] == 8 + ((length + 4) % 8 > 4)

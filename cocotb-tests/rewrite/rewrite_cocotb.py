"""Rewrite against golden/frame.py, and its checksums against a full ones' complement sum."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

import traffic
from axis import Item, Sink, Source, axis_fields, beats_of, bytes_of, cycle, frames_of, seeded, start
from golden.frame import CE, ECT0, ECT1, NOT_ECT, Meta, classify, header_sum, mark

LATENCY = 2
MAP = [0] * 64
INFO = ("mark", "ecn", "ipVersion", "ipOffset")


class Bench:
    """Sends frames with marks into Rewrite and collects what leaves."""

    def __init__(self, dut: Any, name: str, gap: float = 0.0, stall: float = 0.0) -> None:
        self.dut, self.rng, self.gap, self.stall = dut, seeded(name), gap, stall

    async def start(self) -> Bench:
        dut = self.dut
        fields = {name: getattr(dut, f"input_payload_{name}") for name in ("data", "keep", "first", "last")}
        fields |= {name: getattr(dut, f"input_payload_info_{name}") for name in INFO}
        self.source = Source(dut.clk, dut.input_valid, dut.input_ready, fields, self.rng, self.gap)
        self.sink = Sink(
            dut.clk, dut.rst, dut.m_axis_tvalid, dut.m_axis_tready, axis_fields(dut, "m_axis"), self.rng, self.stall
        )
        await start(dut)
        return self

    def send(self, frame: bytes, meta: Meta, marked: bool) -> None:
        """Queues a frame. What the side information says after the first beat is random."""
        for number, beat in enumerate(beats_of(frame, self.rng)):
            item = {"data": beat["tdata"], "keep": beat["tkeep"], "last": beat["tlast"], "first": int(number == 0)}
            info = {"mark": int(marked), "ecn": meta.ecn, "ipVersion": meta.ip_version, "ipOffset": meta.ip_offset}
            if number:
                info = {name: self.rng.getrandbits(1 if name == "mark" else 2) for name in INFO}
            self.source.queue.append(item | info)

    async def receive(self) -> list[bytes]:
        """Waits until everything has left; the frames that left."""
        while not self.source.idle:
            await ClockCycles(self.dut.clk, 10)
        while int(self.dut.busy.value):
            await RisingEdge(self.dut.clk)
        await RisingEdge(self.dut.clk)
        frames: list[list[Item]] = frames_of(self.sink.taken)
        assert len(self.sink.taken) == len(self.source.sent)
        assert not any(item["tuser"] for _, item in self.sink.taken)
        return [bytes_of(frame) for frame in frames]


def ip_frame(rng: random.Random, tags: int, v6: bool, ecn: int, checksum: int | None = None) -> bytes:
    """An IP frame; with `checksum`, IPv4 whose (then most likely wrong) checksum has this value."""
    packet = (traffic.ipv6 if v6 else traffic.ipv4)(rng, ecn)
    body = bytearray(bytes(packet))
    if checksum is not None:
        body[10:12] = checksum.to_bytes(2, "big")
    ethertype = b"\x86\xdd" if v6 else b"\x08\x00"
    stack = b"".join(rng.choice((b"\x81\x00", b"\x88\xa8")) + rng.randbytes(2) for _ in range(tags))
    return rng.randbytes(12) + stack + ethertype + bytes(body) + rng.randbytes(rng.randrange(60))


def check(frame: bytes, meta: Meta, marked: bool, out: bytes) -> None:
    """One frame: as the golden model says, and with a checksum exactly as right or wrong as before."""
    want = mark(frame, meta) if marked else frame
    detail = "".join(f"\n {name:4} {data[:48].hex()}" for name, data in (("in", frame), ("out", out), ("want", want)))
    assert out == want, f"{meta} marked={marked}{detail}"
    if meta.ip_version == 1:
        assert header_sum(out, meta) == header_sum(frame, meta)
    if meta.ip_version and marked and meta.ecn != NOT_ECT:
        assert classify(out, 0, MAP).ecn == CE


async def run_frames(bench: Bench, frames: Sequence[bytes], marked: Sequence[bool]) -> list[Meta]:
    metas = [classify(frame, 0, MAP) for frame in frames]
    for frame, meta, mark_it in zip(frames, metas, marked, strict=True):
        bench.send(frame, meta, mark_it)
    out = await bench.receive()
    for frame, meta, mark_it, got in zip(frames, metas, marked, out, strict=True):
        check(frame, meta, mark_it, got)
    return metas


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.4], stall=[0.0, 0.4, 0.8])
async def marks_ect_frames_and_passes_all_others_unchanged(dut: Any, gap: float, stall: float) -> None:
    bench = await Bench(dut, f"mark {gap} {stall}", gap, stall).start()
    frames = [traffic.frame(bench.rng) for _ in range(300)]
    frames += [bench.rng.randbytes(length) for length in (1, 7, 8, 9, 13, 14, 9216)]
    bench.rng.shuffle(frames)
    marked = [bench.rng.random() < 0.7 for _ in frames]
    frames = [frame if len(frame) >= 14 else frame + bytes(14) for frame in frames]
    metas = await run_frames(bench, frames, marked)
    changed = {(m.ip_version, m.ip_offset, m.ecn) for m, mk in zip(metas, marked, strict=True) if mk and m.ip_version}
    assert len(changed) >= 20


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.5])
async def keeps_right_checksums_right(dut: Any, stall: float) -> None:
    """Every ECN codepoint, tag count and version; scapy's checksums verify before and after."""
    bench = await Bench(dut, f"right {stall}", 0.0, stall).start()
    frames = [
        ip_frame(bench.rng, tags, v6, ecn)
        for tags in range(3)
        for v6 in (False, True)
        for ecn in (NOT_ECT, ECT1, ECT0, CE)
        for _ in range(12)
    ]
    metas = [classify(frame, 0, MAP) for frame in frames]
    assert all(header_sum(f, m) == 0 for f, m in zip(frames, metas, strict=True) if m.ip_version == 1)
    await run_frames(bench, frames, [True] * len(frames))


@cocotb.test()
async def keeps_wrong_checksums_equally_wrong(dut: Any) -> None:
    """Both ends of the range, where the subtraction wraps, and values between."""
    bench = await Bench(dut, "wrong").start()
    values = [
        *range(8),
        *range(0xFFF8, 0x10000),
        0x00FF,
        0x0100,
        0x0101,
        0xFF00,
        *(bench.rng.randrange(65536) for _ in range(60)),
    ]
    frames = [
        ip_frame(bench.rng, tags, False, ecn, value) for value in values for tags in range(3) for ecn in (ECT1, ECT0)
    ]
    await run_frames(bench, frames, [True] * len(frames))


@cocotb.test()
async def keeps_right_checksums_right_where_they_wrap(dut: Any) -> None:
    """The identification field is chosen so that the right checksum is 0, 1, 2, 0xFFFE: the wrap of RFC 1624."""
    bench = await Bench(dut, "wrap").start()
    frames = []
    for wanted in (0, 1, 2, 3, 0xFFFD, 0xFFFE):
        for ecn in (ECT1, ECT0):
            for tags in range(3):
                frame = bytearray(ip_frame(bench.rng, tags, False, ecn, wanted))
                start_at = 14 + 4 * tags
                frame[start_at + 4 : start_at + 6] = bytes(2)
                rest = header_sum(bytes(frame), classify(bytes(frame), 0, MAP))
                frame[start_at + 4 : start_at + 6] = ((0xFFFF - rest) % 0xFFFF).to_bytes(2, "big")
                assert header_sum(bytes(frame), classify(bytes(frame), 0, MAP)) == 0
                frames.append(bytes(frame))
    await run_frames(bench, frames, [True] * len(frames))


@cocotb.test()
async def sends_a_beat_per_cycle_two_cycles_later(dut: Any) -> None:
    bench = await Bench(dut, "rate").start()
    await run_frames(bench, [traffic.frame(bench.rng) for _ in range(60)], [True] * 60)
    into = [at for at, _ in bench.source.sent]
    assert into == list(range(into[0], into[0] + len(into)))
    assert [at for at, _ in bench.sink.taken] == [at + LATENCY for at in into]


@cocotb.test()
async def holds_all_it_can_while_the_sink_stalls_and_loses_nothing(dut: Any) -> None:
    bench = await Bench(dut, "stall").start()
    bench.sink.stall = 1.0
    await ClockCycles(dut.clk, 3)
    frame = ip_frame(bench.rng, 0, False, ECT0)
    meta = classify(frame, 0, MAP)
    bench.send(frame, meta, True)
    await ClockCycles(dut.clk, 20)
    assert len(bench.source.sent) == LATENCY and not bench.sink.taken
    bench.sink.stall = 0.0
    (out,) = await bench.receive()
    check(frame, meta, True, out)


@cocotb.test()
async def starts_anew_after_a_reset_in_a_frame(dut: Any) -> None:
    bench = await Bench(dut, "reset", 0.2, 0.2).start()
    for _ in range(60):
        for _ in range(3):
            frame = traffic.frame(bench.rng)
            bench.send(frame, classify(frame, 0, MAP), True)
        await ClockCycles(dut.clk, bench.rng.randrange(1, 60))
        bench.source.clear()
        dut.rst.value = 1
        await ClockCycles(dut.clk, bench.rng.randrange(1, 3))
        dut.rst.value = 0
        await RisingEdge(dut.clk)
        assert not int(dut.busy.value)
        bench.source.sent.clear()
        bench.sink.taken.clear()
        frames = [ip_frame(bench.rng, bench.rng.randrange(3), False, ECT1) for _ in range(2)]
        await run_frames(bench, frames, [True, False])
        bench.source.sent.clear()
        bench.sink.taken.clear()
    assert cycle() > 1000

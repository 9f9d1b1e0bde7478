"""Ingress against golden/frame.py: verdicts, classification, words and their cycles; resets and discards."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge, Timer

import traffic
from axis import PERIOD_NS, Item, Source, axis_fields, beats_of, bytes_of, cycle, seeded, start
from golden.frame import BAD, BYTES_MAX, GOOD, MAX_FRAME, OVERSIZE, RUNT, classify, judge

LATENCY = 2
TAG_TYPES = (b"\x81\x00", b"\x88\xa8")


@dataclass
class Config:
    """The configuration ports; all of them change between frames in some tests."""

    max_frame: int
    default_queue: int
    dscp_queue: list[int]

    @staticmethod
    def random(rng: random.Random, max_frame: int = MAX_FRAME) -> Config:
        return Config(max_frame, rng.randrange(4), [rng.randrange(4) for _ in range(64)])

    def drive(self, dut: Any) -> None:
        dut.config_maxFrame.value = self.max_frame
        dut.config_defaultQueue.value = self.default_queue
        for dscp, queue in enumerate(self.dscp_queue):
            getattr(dut, f"config_dscpQueue_{dscp}").value = queue


@dataclass
class Received:
    """What Ingress said about one frame."""

    words: list[tuple[int, Item]]
    end: tuple[int, Item]


class Bench:
    """Drives Ingress and collects its outputs in frames."""

    def __init__(self, dut: Any, name: str, gap: float = 0.0) -> None:
        self.dut, self.rng = dut, seeded(name)
        self.config = Config.random(self.rng)
        self.received: list[Received] = []
        self.words: list[tuple[int, Item]] = []
        self.silenced: set[int] = set()
        self.gap = gap

    async def start(self) -> Bench:
        self.config.drive(self.dut)
        self.source = Source(
            self.dut.clk,
            self.dut.s_axis_tvalid,
            self.dut.s_axis_tready,
            axis_fields(self.dut, "s_axis"),
            self.rng,
            self.gap,
        )
        await start(self.dut, discard=0)
        cocotb.start_soon(self._monitor())
        return self

    async def _monitor(self) -> None:
        dut = self.dut
        word = {name: getattr(dut, f"word_payload_{name}") for name in ("data", "first", "index", "last")}
        end = {
            name: getattr(dut, f"end_payload_{name}")
            for name in (
                "kind",
                "bytes",
                "meta_length",
                "meta_queue",
                "meta_ecn",
                "meta_ipVersion",
                "meta_ipOffset",
                "meta_exempt",
            )
        }
        before = False
        while True:
            await RisingEdge(dut.clk)
            assert int(dut.s_axis_tready.value) == 1
            if int(dut.word_valid.value):
                self.words.append((cycle(), {name: int(signal.value) for name, signal in word.items()}))
            if int(dut.end_valid.value):
                self.received.append(
                    Received(self.words, (cycle(), {name: int(signal.value) for name, signal in end.items()}))
                )
                self.words = []
            if before:
                assert not any(int(v.value) for v in (dut.word_valid, dut.end_valid))
            before = bool(int(dut.rst.value) or int(dut.discard.value))
            if before:
                self.silenced.add(cycle())
                self.words = []

    async def idle(self) -> None:
        """Waits until everything has been sent and has come out."""
        while not self.source.idle:
            await ClockCycles(self.dut.clk, 10)
        await ClockCycles(self.dut.clk, LATENCY + 3)
        assert not self.words, "words without an end"

    def send(self, frames: Iterable[bytes], tuser: int = 0) -> None:
        for frame in frames:
            self.source.queue.extend(beats_of(frame, self.rng, tuser))

    async def run_and_check(self, frames: Sequence[bytes], config: Config | None = None) -> None:
        """Sends frames and compares everything that comes out."""
        self.send(frames)
        await self.idle()
        sent = split(self.source.sent)
        assert [bytes_of([item for _, item in beats]) for beats in sent] == list(frames)
        self.check(sent, config)

    def check(self, sent: Sequence[Sequence[tuple[int, Item]]], config: Config | None = None) -> None:
        """Compares what has come out with what should have, frame by frame; forgets both."""
        config = config or self.config
        assert len(self.received) == len(sent), f"{len(self.received)} ends for {len(sent)} frames"
        for beats, received in zip(sent, self.received, strict=True):
            check_frame(beats, received, config)
        self.received.clear()
        self.source.sent.clear()


def split(sent: Sequence[tuple[int, Item]]) -> list[list[tuple[int, Item]]]:
    """Beats that were sent, by frame."""
    frames: list[list[tuple[int, Item]]] = [[]]
    for item in sent:
        frames[-1].append(item)
        if item[1]["tlast"]:
            frames.append([])
    assert not frames.pop(), "the last frame is open"
    return frames


def written(beats: Sequence[tuple[int, Item]], max_frame: int) -> list[tuple[int, bool]]:
    """Numbers of the beats that complete a word that is written, and whether it is the last word."""
    limit = min(max_frame, MAX_FRAME)
    words = []
    for number, (_, beat) in enumerate(beats):
        size = (beat["tkeep"].bit_count() or 8) if beat["tlast"] else 8
        if 8 * number + size <= limit and (number % 2 == 1 or beat["tlast"]):
            words.append((number, bool(beat["tlast"])))
    return words


def check_frame(beats: Sequence[tuple[int, Item]], received: Received, config: Config) -> None:
    """Compares one frame: its end and its words, and the cycles of both."""
    cycles = [at for at, _ in beats]
    kind, arrived = judge([(b["tkeep"], b["tuser"]) for _, b in beats], config.max_frame)
    end_cycle, end = received.end
    assert end["kind"] == kind and end["bytes"] == arrived, f"{end}, expected kind {kind} and {arrived} bytes"
    assert end_cycle == cycles[-1] + LATENCY

    words = written(beats, config.max_frame)
    assert len(received.words) == len(words), f"{len(received.words)} words, expected {len(words)}"
    assert 16 * len(words) < MAX_FRAME + 16
    if kind == OVERSIZE:
        assert not any(last for _, last in words)
    for place, ((number, last), (at, word)) in enumerate(zip(words, received.words, strict=True)):
        assert at == cycles[number] + LATENCY
        assert word["first"] == (place == 0) and word["last"] == last
        assert word["index"] == place % 4

    if kind == GOOD:
        frame = bytes_of([b for _, b in beats])
        assert b"".join(w["data"].to_bytes(16, "little") for _, w in received.words)[: len(frame)] == frame
        meta = classify(frame, config.default_queue, config.dscp_queue)
        got = (
            end["meta_length"],
            end["meta_queue"],
            end["meta_ecn"],
            end["meta_ipVersion"],
            end["meta_ipOffset"],
            end["meta_exempt"],
        )
        want = (meta.length, meta.queue, meta.ecn, meta.ip_version, meta.ip_offset, meta.exempt)
        assert got == want, f"{frame[:40].hex()}: {got}, expected {want}"


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.3, 0.8])
async def classifies_frames_of_every_kind(dut: Any, gap: float) -> None:
    bench = await Bench(dut, f"classify {gap}", gap).start()
    kinds = set()
    for _ in range(8):
        config = Config.random(bench.rng)
        config.drive(dut)
        await ClockCycles(dut.clk, 2)
        frames = [traffic.frame(bench.rng) for _ in range(150)]
        metas = [classify(frame, config.default_queue, config.dscp_queue) for frame in frames]
        kinds |= {(m.ip_version, m.ip_offset, m.ecn) for m in metas} | {m.exempt for m in metas}
        await bench.run_and_check(frames, config)
    assert len(kinds) >= 2 + 1 + 2 * 3 * 4, f"the traffic misses kinds: {sorted(map(str, kinds))}"


@cocotb.test()
async def takes_a_header_that_is_cut_short_for_no_header(dut: Any) -> None:
    bench = await Bench(dut, "cut").start()
    rng = bench.rng
    frames = []
    for _ in range(4):
        for packet in (traffic.ipv4(rng), traffic.ipv6(rng)):
            whole = bytes(traffic.ethernet(rng) / packet) + rng.randbytes(40)
            frames += [whole[:length] for length in range(14, min(len(whole), 100))]
    await bench.run_and_check(frames)


@cocotb.test()
async def accepts_every_header_length_of_ipv4_from_five(dut: Any) -> None:
    bench = await Bench(dut, "ihl").start()
    frames = []
    for tags in (b"", b"\x81\x00\x00\x01", b"\x88\xa8\x00\x01\x81\x00\x00\x02"):
        for first in range(256):
            for ethertype in (b"\x08\x00", b"\x86\xdd"):
                head = bytes(12) + tags + ethertype + bytes([first, bench.rng.randrange(256)])
                end = len(head) - 2 + (40 if ethertype == b"\x86\xdd" else 4 * (first & 15))
                for beyond in (-1, 0, 1) if first >> 4 == 4 else [bench.rng.choice((-1, 0, 1))]:
                    frames.append(head + bench.rng.randbytes(max(0, end + beyond - len(head))))
    await bench.run_and_check(frames)


@cocotb.test()
async def maps_every_dscp(dut: Any) -> None:
    bench = await Bench(dut, "dscp").start()
    for _ in range(4):
        config = Config.random(bench.rng)
        config.drive(dut)
        await ClockCycles(dut.clk, 2)
        frames = []
        for traffic_class in range(256):
            v6 = (6 << 28 | traffic_class << 20).to_bytes(4, "big") + bench.rng.randbytes(36)
            v4 = bytes([0x45, traffic_class]) + bench.rng.randbytes(18)
            frames += [bytes(12) + b"\x08\x00" + v4, bytes(12) + b"\x81\x00\x00\x01\x86\xdd" + v6]
        await bench.run_and_check(frames, config)


@cocotb.test()
async def exempts_sixteen_group_addresses_and_no_other(dut: Any) -> None:
    bench = await Bench(dut, "exempt").start()
    base = int("0180c2000000", 16)
    addresses = [base + n for n in range(17)] + [base ^ (1 << bit) for bit in range(48)]
    await bench.run_and_check([a.to_bytes(6, "big") + bench.rng.randbytes(54) for a in addresses])


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.5])
async def packs_frames_of_every_length(dut: Any, gap: float) -> None:
    bench = await Bench(dut, f"lengths {gap}", gap).start()
    lengths = [*range(1, 200), *(bench.rng.randrange(1, 9301) for _ in range(20)), 9215, 9216, 9217, 9300, 1, 14, 13]
    frames = [bench.rng.randbytes(length) for length in lengths]
    bench.rng.shuffle(frames)
    await bench.run_and_check(frames)


@cocotb.test()
async def gives_a_word_per_cycle_for_frames_of_one_beat(dut: Any) -> None:
    bench = await Bench(dut, "one beat").start()
    frames = [bench.rng.randbytes(bench.rng.randrange(1, 9)) for _ in range(300)]
    bench.send(frames)
    await bench.idle()
    cycles = [received.end[0] for received in bench.received]
    assert cycles == list(range(cycles[0], cycles[0] + 300))
    assert all(received.words and received.end[1]["kind"] == RUNT for received in bench.received)
    bench.check(split(bench.source.sent))


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.5])
async def takes_a_broken_tkeep_or_tuser_for_a_bad_frame(dut: Any, gap: float) -> None:
    bench = await Bench(dut, f"broken {gap}", gap).start()
    rng = bench.rng
    for _ in range(400):
        beats = beats_of(rng.randbytes(rng.randrange(1, 120)), rng, tuser=int(rng.random() < 0.2))
        if rng.random() < 0.6:
            beats[rng.choice((0, -1, rng.randrange(len(beats))))]["tkeep"] = rng.randrange(256)
        bench.source.queue.extend(beats)
    for keep in range(256):  # every tkeep on a last beat and on another one
        beats = beats_of(rng.randbytes(24), rng)
        beats[2]["tkeep"] = keep
        bench.source.queue.extend(beats)
        beats = beats_of(rng.randbytes(24), rng)
        beats[1]["tkeep"] = keep
        bench.source.queue.extend(beats)
    await bench.idle()
    sent = split(bench.source.sent)
    kinds = [judge([(b["tkeep"], b["tuser"]) for _, b in beats], MAX_FRAME)[0] for beats in sent]
    assert kinds.count(BAD) > 300 and kinds.count(GOOD) > 50 and RUNT in kinds
    bench.check(sent)


@cocotb.test()
async def names_the_first_cause_of_bad_runt_oversize(dut: Any) -> None:
    bench = await Bench(dut, "cause").start()
    config = Config.random(bench.rng, max_frame=64)
    config.drive(dut)
    await ClockCycles(dut.clk, 2)
    expected = []
    for length, tuser, kind in (
        (65, 1, BAD),
        (13, 1, BAD),
        (13, 0, RUNT),
        (14, 0, GOOD),
        (64, 0, GOOD),
        (65, 0, OVERSIZE),
        (72, 0, OVERSIZE),
        (9300, 1, BAD),
        (1, 0, RUNT),
    ):
        bench.send([bench.rng.randbytes(length)], tuser)
        expected.append(kind)
    await bench.idle()
    assert [received.end[1]["kind"] for received in bench.received] == expected
    bench.check(split(bench.source.sent), config)


@cocotb.test()
@cocotb.parametrize(max_frame=[64, 65, 71, 72, 73, 79, 80, 1514, 1518, 9215, 9216, 9217, 16383])
async def writes_nothing_beyond_the_longest_frame(dut: Any, max_frame: int) -> None:
    bench = await Bench(dut, f"oversize {max_frame}").start()
    config = Config.random(bench.rng, max_frame)
    config.drive(dut)
    await ClockCycles(dut.clk, 2)
    limit = min(max_frame, MAX_FRAME)
    lengths = [limit + n for n in range(-18, 35)] if limit < 2000 else [limit - 1, limit, limit + 1, limit + 84]
    await bench.run_and_check([bench.rng.randbytes(length) for length in lengths], config)


@cocotb.test()
@cocotb.parametrize(max_frame=[64, 68, 72, 80, 9216])
async def writes_no_last_word_without_bytes_beyond_the_longest_frame(dut: Any, max_frame: int) -> None:
    """A frame of whole beats and a last one with no byte at all: bad, and no longer than it was."""
    bench = await Bench(dut, f"no bytes {max_frame}").start()
    config = Config.random(bench.rng, max_frame)
    config.drive(dut)
    await ClockCycles(dut.clk, 2)
    for beats in range(max_frame // 8 - 3, max_frame // 8 + 4):
        frame = beats_of(bench.rng.randbytes(8 * beats), bench.rng)
        frame[-1]["tkeep"] = 0
        bench.source.queue.extend(frame)
    await bench.idle()
    assert all(received.end[1]["kind"] == BAD for received in bench.received)
    bench.check(split(bench.source.sent), config)


@cocotb.test(skip=os.environ.get("WAVES", "0") not in ("", "0"))  # too long for a dump
@cocotb.parametrize(keep=[0xFF, 0x00])
async def survives_a_frame_without_an_end(dut: Any, keep: int) -> None:
    """2^21 beats, of 8 bytes or of none: words stop at the limit, the count of bytes saturates."""
    beats = 1 << 21
    Config.random(seeded("endless")).drive(dut)
    dut.s_axis_tvalid.value = 0
    await start(dut, discard=0, s_axis_tdata=0, s_axis_tkeep=keep, s_axis_tlast=0, s_axis_tuser=0)
    words = 0

    async def count() -> None:
        nonlocal words
        while True:
            await RisingEdge(dut.word_valid)
            words += 1

    cocotb.start_soon(count())
    dut.s_axis_tvalid.value = 1
    await Timer(beats * PERIOD_NS, "ns")
    assert words == MAX_FRAME // 16
    dut.s_axis_tkeep.value = 0xFF
    dut.s_axis_tlast.value = 1
    await RisingEdge(dut.clk)
    dut.s_axis_tvalid.value = 0
    await RisingEdge(dut.end_valid)
    assert int(dut.end_payload_kind.value) == (OVERSIZE if keep else BAD)
    assert int(dut.end_payload_bytes.value) == (BYTES_MAX if keep else 8)
    assert words == MAX_FRAME // 16


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.4])
async def takes_a_configuration_as_of_the_beats_that_need_it(dut: Any, gap: float) -> None:
    """Default queue: at the first beat. Longest frame: a cycle before. DSCP map: a cycle after the DSCP's beat."""
    bench = await Bench(dut, f"configuration {gap}", gap).start()
    rng = bench.rng
    configs = [Config.random(rng, max_frame) for max_frame in (64, 100, 200, 9216)]
    in_effect = {}
    now = bench.config

    async def change() -> None:
        nonlocal now
        while True:
            await RisingEdge(dut.clk)
            in_effect[cycle()] = now
            if rng.random() < 0.3:
                now = rng.choice(configs)
                now.drive(dut)

    cocotb.start_soon(change())
    await ClockCycles(dut.clk, 2)
    bench.send([traffic.frame(rng) for _ in range(400)])
    await bench.idle()
    sent = split(bench.source.sent)
    assert len(bench.received) == len(sent)
    for beats, received in zip(sent, bench.received, strict=True):
        cycles = [at for at, _ in beats]
        frame = bytes_of([b for _, b in beats])
        deciding = min(len(beats) - 1, 2 if frame[12:14] in TAG_TYPES else 1)
        check_frame(
            beats,
            received,
            Config(
                in_effect[cycles[0] - 1].max_frame,
                in_effect[cycles[0]].default_queue,
                in_effect[cycles[deciding] + 1].dscp_queue,
            ),
        )


@cocotb.test()
@cocotb.parametrize(signal=["rst", "discard"], gap=[0.0, 0.4])
async def drops_the_frames_that_a_reset_or_discard_meets_and_no_other(dut: Any, signal: str, gap: float) -> None:
    bench = await Bench(dut, f"{signal} {gap}", gap).start()
    rng = bench.rng
    bench.send([traffic.frame(rng) if rng.random() < 0.8 else rng.randbytes(rng.randrange(1, 14)) for _ in range(600)])
    lengths = (1, 2, 3, 40)
    while not bench.source.idle:
        await ClockCycles(dut.clk, rng.randrange(1, 60))
        getattr(dut, signal).value = 1
        await ClockCycles(dut.clk, rng.choice(lengths))
        getattr(dut, signal).value = 0
    await bench.idle()
    whole, torn = [], 0
    for beats in split(bench.source.sent):
        if any(at in bench.silenced for at in range(beats[0][0], beats[-1][0] + LATENCY)):
            torn += 1
        else:
            whole.append(beats)
    assert torn > 50 and len(whole) > 100
    bench.check(whole)


@cocotb.test()
async def receives_the_frame_after_a_torn_one_whole(dut: Any) -> None:
    """A reset at one beat of a frame after the other, and the next frame right behind it."""
    bench = await Bench(dut, "torn").start()
    rng = bench.rng
    for at in range(7):
        torn, whole = rng.randbytes(64), traffic.frame(rng)
        bench.send([torn, whole])
        while len(bench.source.sent) < at:
            await RisingEdge(dut.clk)
        dut.rst.value = 1
        await RisingEdge(dut.clk)
        dut.rst.value = 0
        await bench.idle()
        sent = split(bench.source.sent)
        met = [
            beats for beats in sent if not any(t in bench.silenced for t in range(beats[0][0], beats[-1][0] + LATENCY))
        ]
        assert met == [sent[1]]
        bench.check(met)


@cocotb.test()
async def is_busy_while_a_frame_is_open_or_inside(dut: Any) -> None:
    bench = await Bench(dut, "busy", gap=0.7).start()
    await ClockCycles(dut.clk, 5)
    assert not int(dut.busy.value)
    busy: list[tuple[int, int]] = []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clk)
            busy.append((cycle(), int(dut.busy.value)))

    cocotb.start_soon(watch())
    await bench.run_and_check([traffic.frame(bench.rng) for _ in range(40)])
    bench.send([bytes(range(60))])
    await bench.idle()
    (beats,) = split(bench.source.sent)
    expected = range(beats[0][0] + 1, beats[-1][0] + LATENCY + 1)
    seen = [at for at, value in busy if value and at >= beats[0][0]]
    assert seen == list(expected)
    assert not int(dut.busy.value)

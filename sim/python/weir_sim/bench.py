"""`weir-sim bench`: the core and the model against their goals."""

from __future__ import annotations

import importlib
import json
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from weir.ctl.text import number

from . import described, native, progress, trace
from .core import Core
from .errors import UsageError
from .files import Outputs
from .frames import ECT0, udp_frame
from .jumbo.link import wire_bytes
from .jumbo.wire import MAX_FRAME, MAX_SUM, build, dissect, header_checksum

BYTE_NS = 0.8
SPLIT_LENGTHS = (20, 24, 28, 32, 46, 50, 51, 100, 576, 1500)
"""inner lengths of split rows: 28 is what an arrival every four cycles can be fed with; 46 is an unpadded minimum frame,
51 the first that takes two cells"""
MERGES = (
    (46, 1, 9216),
    (46, 200, 9216),
    (46, 200, 140),
    (46, 200, 240),
    (28, 200, 9216),
    (100, 64, 9216),
    (1486, 64, 9216),
)
"""merge rows: inner length, flows, largest jumbo frame; 140 and 240 bytes are two and four packets of 46"""
CLASS_MERGES = (46, 28, 1500)
"""inner lengths of rows of merging by class; 28 is the shortest with ports, whose frames are padded as those of 46 are"""
CLASSES = 16
JFET = "50us"
"""in which some twelve minimum frames come for each class of each queue, at line rate"""
MRED_LENGTHS = (28, 46, 100, 1500)
MRED_MERGE_LENGTHS = (46, 576)
LOCAL_EXPERIMENT = b"\x88\xb5"
"""EtherType (IEEE 802)"""
SPLIT_GOAL = 46
"""the shortest packet of which jumbo frames at line rate have to be taken"""
EGRESS_GOAL = ">= 99.9"
"""share of the line's time, in %, in which frames leave while some wait"""
LINE_RATE = 10e9
QUEUES = 4
FRAMES = 20_000
"""frames of a line-rate row; long frames are fewer, for at most FRAME_BYTES in all"""
FRAME_BYTES = 6_000_000

SIZES: tuple[tuple[str, int], ...] = (("64-byte", 60), ("65-byte", 65), ("1518-byte", 1518), ("9216-byte", 9216),
                                      ("random-size", 0))  # fmt: skip
"""Name and length without FCS; 60 is the Ethernet minimum of 64 with FCS, 84 byte times on the line. 65 takes two
cells. 0 is 60 to 1518 at random."""


DESCRIBED = {policy.name: policy for policy in described.policies()}
PLAIN = ("drop-tail", "red")
"""Policies that are measured with every size, with one queue and four, and with overload"""
POLICIES: dict[str, dict[str, Any]] = {n: dict(p.bench) for n, p in DESCRIBED.items() if n not in PLAIN} | {
    "drop-front": {}
}
"""The others, with settings that make them act on the standing queue; what they select is marked, so that the line
stays full."""

DROPPING: dict[str, dict[str, Any]] = {"codel": {"target": "1us", "interval": "2us", "maxpacket": 100}}
"""So that CoDel drops packet after packet."""
DEPARTING = {n: DROPPING.get(n, {}) for n, p in DESCRIBED.items() if p.at_departure}
"""Policies that decide at departure."""
FAST = 10
"""cycles that a verdict takes at most, but of policies that say more (docs/policies.md)"""
TO_RECORD = 6
"""cycles from a verdict to its record at the trace port"""

POLICY_ROWS = ((SIZES[0], 1, False), (SIZES[0], QUEUES, False), (SIZES[4], QUEUES, False), (SIZES[0], QUEUES, True))
"""Of each of POLICIES: size, queues, overload."""


class BenchError(Exception):
    """A measurement is not of the case it is named for."""


@dataclass(frozen=True)
class Row:
    """A figure, as build/bench.json has it."""

    name: str
    value: float
    unit: str
    goal: str
    how: str

    @property
    def reached(self) -> bool | None:
        """Whether the goal is met; None if there is none."""
        words = self.goal.split()
        if not words:
            return None
        if words[0] == ">=":
            return self.value >= float(words[1])
        if words[0] in ("<=", "within"):
            return abs(self.value) <= float(words[1])
        return self.value == float(words[0])


def _lengths(size: int, count: int, rng: np.random.Generator) -> list[int]:
    return [size] * count if size else rng.integers(60, 1519, count).tolist()


def _frames(lengths: Sequence[int], queues: int, rng: np.random.Generator, ecn: int = ECT0) -> bytes:
    dscps = rng.integers(0, queues, len(lengths)).tolist()
    return b"".join(udp_frame(n, dscp, ecn, i) for i, (n, dscp) in enumerate(zip(lengths, dscps, strict=True)))


def _core(preset: str, egress: str = "mac") -> Core:
    core = Core(preset, egress=egress)
    queues = core.device.capabilities.queues
    core.device.dscp_map([dscp % queues for dscp in range(64)])
    core.device.trace_enable()
    return core


def _shuffle(core: Core, rng: np.random.Generator) -> None:
    """Fills the buffer through all queues with random sizes and drains it, twice: the free list is in disorder."""
    queues = core.device.capabilities.queues
    cells = core.device.capabilities.cells
    for _ in range(2):
        core.egress = "stopped"
        lengths = rng.integers(60, 3000, cells * 64 // 1800).tolist()
        core.send_many(_frames(lengths, queues, rng), lengths, [0] * len(lengths))
        core.run_until(core.line_free_ns + 2000)
        core.egress = "ready"
        core.run_idle()
    core.egress = "mac"
    core.recv_many()
    core.trace_words()


def model_speed(preset: str, frames: int) -> list[Row]:
    """Cycles a second: under full load in both directions, and with much idle time."""
    rows = []
    core_name = "" if preset == "full" else f", core {preset}"
    rng = np.random.default_rng(1)
    for name, size, policy in (("minimum frames, RED", 60, "red"), ("1518-byte frames, RED", 1518, "red"),
                               ("minimum frames, Drop-Tail", 60, "drop-tail")):  # fmt: skip
        core = _core(preset)
        core.device.queue_replace(0, policy=policy)
        count = max(frames * 60 // (size + 20), 100) * 2
        lengths = [size] * count
        core.send_many(_frames(lengths, 1, rng), lengths, [core.now_ns] * count)
        cycles, start = core.evaluated, time.process_time()
        core.run_until(core.line_free_ns)
        speed = (core.evaluated - cycles) / (time.process_time() - start) / 1e6
        rows.append(Row(f"model speed, {name}{core_name}", round(speed, 3), "Mcycle/s", ">= 2",
                        f"preset {preset}, line rate in and out, {core.evaluated - cycles} cycles, trace kept; CPU time of one core"))  # fmt: skip # noqa: E501
    core = _core(preset)
    core.device.queue_replace(0, policy="red")
    count = 1000
    lengths = [1518] * count
    begin = core.now_ns
    core.send_many(_frames(lengths, 1, rng), lengths, [begin + i * 1_000_000 for i in range(count)])
    cycles, evaluated, start = core.cycles, core.evaluated, time.process_time()
    core.run_until(begin + count * 1_000_000)
    elapsed = time.process_time() - start
    rows.append(Row(f"model speed, a frame every ms{core_name}", round((core.cycles - cycles) / elapsed / 1e6, 1), "Mcycle/s", "",
                    f"idle time skipped: {core.evaluated - evaluated} of {core.cycles - cycles} cycles evaluated"))  # fmt: skip # noqa: E501
    return rows


def _cycle(ns: int) -> int:
    """The cycle that begins at `ns` (exact: it begins at floor(6.4 k))."""
    return -(-ns * 5 // 32)


def latency(preset: str) -> list[Row]:
    """Latencies with avg > 0 after a long idle time."""
    core = _core(preset, "ready")
    # A slot of 8 ms and a small weight: the average lives through a second of idle time.
    core.device.queue_replace(
        0, policy="red", limit="900KB", min="300KB", max="900KB", weight="0.002", bandwidth="1Mbit"
    )
    rng = np.random.default_rng(1)
    lengths = [1518] * 400
    core.egress = "stopped"
    core.send_many(_frames(lengths, 1, rng), lengths, [0] * len(lengths))
    core.run_until(core.line_free_ns + 1000)
    core.egress = "ready"
    core.run_idle()
    core.recv_many()
    core.trace_words()
    first_bit, recorded, averages, idle = [], [], [], []
    for pause_ns in (1_000_000_000, 300_000_000, 10_000_000, 1_000_000, 100_000):
        at = core.now_ns + pause_ns
        core.send(udp_frame(64), at)
        core.run_until(at + 10_000)
        (frame,) = core.recv()
        words, times = core.trace_words()
        records = trace.decode(words)
        (arrival,) = np.flatnonzero(records["kind"] == trace.ARRIVAL)
        start = -(-at * 5 // 4)  # on the line, in byte times
        first_bit.append(_cycle(frame.first_ns) - -(-start // 8))
        recorded.append(_cycle(int(times[arrival])) - _cycle(int(records["time_ns"][arrival])))
        averages.append(float(records["avg"][arrival]))
        idle.append(int(records["idle_slots"][arrival]))
    if min(averages) <= 0 or max(idle) <= 0:
        raise BenchError(f"latency: avg {min(averages)}, {max(idle)} idle slots; the case asks for both above 0")
    return [
        Row("first bit in to first bit out", max(first_bit), "cycles", "<= 30",
            f"64-byte frame, empty queue, RED, 0.1 ms to 1 s idle before it; avg {min(averages):.0f} to "
            f"{max(averages):.0f} bytes, up to {max(idle)} idle slots; the longest of {len(first_bit)}"),
        Row("request to trace record, red, long idle", max(recorded), "cycles", "",
            "the same frames, accepted before: the decision, made afterwards, and its record's way to the trace port"),
    ]  # fmt: skip


def decisions(preset: str, policy: str) -> list[Row]:
    """How long a policy takes to decide about a packet that nothing precedes, and the time between decisions under
    pressure; packets wait in the queue."""
    core = _core(preset, "stopped")
    core.line = "raw"
    _configure(core, policy)
    waiting = 8
    core.send_many(bytes(64 * waiting), [64] * waiting, [core.now_ns + 1000] * waiting)
    core.run_until(core.line_free_ns + 1_000_000)
    core.trace_words()
    core.send(udp_frame(64), core.now_ns)
    core.run_until(core.line_free_ns + 1000)
    words, times = core.trace_words()
    records = trace.decode(words)
    (arrival,) = np.flatnonzero(records["kind"] == trace.ARRIVAL)
    recorded = _cycle(int(times[arrival])) - _cycle(int(records["time_ns"][arrival]))
    count = 24
    core.send_many(bytes(16 * count), [16] * count, [core.now_ns + 1000] * count)
    core.run_until(core.line_free_ns + 1000)
    short = core.trace()
    requests = np.sort(short["time_ns"][short["kind"] == trace.ARRIVAL])
    if len(requests) != count:
        raise BenchError(f"decision interval, {policy}: {len(requests)} of {count} frames were decided")
    interval = (_cycle(int(requests[-1])) - _cycle(int(requests[0]))) / (count - 1)
    latency = max(FAST, DESCRIBED[policy].latency if policy in DESCRIBED else 0)
    return [
        Row(f"request to trace record, {policy}", recorded, "cycles", f"<= {latency + TO_RECORD}",
            f"a 64-byte frame, 1 ms after others that wait: {latency} cycles to the verdict at most, "
            f"{TO_RECORD} from there to the trace port"),
        Row(f"decision interval at arrival, one queue, {policy}", round(interval, 3), "cycles", "<= 4",
            f"mean over {count} frames of 16 bytes, two beats each, without gaps"),
    ]  # fmt: skip


def departures(preset: str, policy: str) -> list[Row]:
    """The time between two decisions at departure while the queue holds packets: where one is dropped, the next follows at once."""
    core = _core(preset, "stopped")
    core.device.queue_replace(0, policy=policy, **DEPARTING[policy])
    count = 2000
    size = 60 if policy == "codel" else 17
    core.send_many(udp_frame(60)[:size] * count, [size] * count, [core.now_ns] * count)
    core.run_until(core.line_free_ns + 1000)
    start = core.now_ns
    core.egress = "ready"
    core.run_idle()
    records = core.trace()
    records = records[(records["kind"] == trace.DEPARTURE) & (records["time_ns"] > start)]
    gaps = np.diff([_cycle(int(ns)) for ns in records["time_ns"]])
    dropped = records["action"][:-1] == trace.DROP
    if policy == "codel":
        gaps = gaps[dropped]
    if len(gaps) < 30:
        raise BenchError(f"decision interval at departure, {policy}: {len(gaps)} decisions")
    return [
        Row(f"decision interval at departure, {policy}", int(gaps.max()), "cycles", "<= 10",
            f"the longest of {len(gaps)} " + ("behind a packet that was dropped" if policy == "codel" else "of 17-byte frames, 3 beats each")
            + "; a minimum frame lasts 10.5 on a line of 10 Gb/s"),
    ]  # fmt: skip


def _configure(core: Core, policy: str, **limits: int) -> None:
    for q in range(core.device.capabilities.queues):
        settings: dict[str, Any] = dict(limits)
        settings |= DESCRIBED[policy].bench if policy in DESCRIBED else {}
        core.device.queue_replace(q, policy=policy, **settings)


def _limits(size: int, cells: int, descriptors: int) -> dict[str, int]:
    """A limit that leaves a tenth of the buffer free, so that a drop is one of the limit and not of the buffer.

    For random sizes in bytes: a limit in packets would take long frames more often than short ones, because during
    a long one it is likelier that a frame leaves, and the queue would outgrow the cells. With at most one cell a
    packet begun in vain, 3/4 of the bytes fit.
    """
    if not size:
        return {"limit_bytes": cells * 64 * 3 // 4}
    return {"limit_packets": min(cells * 9 // 10 // -(-size // 64), descriptors * 9 // 10)}


def _egress_use(out: Any, start: int, end: int) -> tuple[Any, float]:
    """Times of the frames that left from `start` to `end`, and the share of the time between the first and the last that they took."""
    inside = (out.first_ns >= start) & (out.first_ns < end)
    times = out.first_ns[inside]
    wire = sum(map(wire_bytes, out.lengths[inside][:-1].tolist())) * BYTE_NS
    return times, wire / float(times[-1] - times[0]) if len(times) > 1 else 0.0


def line_rate(preset: str, label: str, size: int, queues: int, policy: str, overload: bool, frames: int) -> list[Row]:
    """Back-to-back frames in, and out at the same time, over a standing queue of half the buffer and a shuffled
    free list; with `overload` into an egress shaped to half the rate, from a queue that is at its limit.

    Rates come from the times of the frames themselves: reading counters takes simulated time, in which frames leave.
    """
    rng = np.random.default_rng(size * 100 + queues)
    core = _core(preset)
    cells = core.device.capabilities.cells
    descriptors = core.device.capabilities.descriptors
    each = -(-size // 64) if size else 13
    _configure(core, policy)
    _shuffle(core, rng)
    limits = _limits(size, cells, descriptors)
    if overload:  # else what comes in goes out, whichever queue it is in
        limits = {key: max(value // queues, 1) for key, value in limits.items()}
    _configure(core, policy, **limits)
    full = cells * 9 // 10 if size else cells * 3 // 4
    fill = min(full // each, descriptors * 9 // 10) if overload else min(cells * 6 // 10 // each, descriptors * 3 // 4)
    lengths = _lengths(size, fill, rng)
    core.egress = "stopped"
    core.send_many(_frames(lengths, queues, rng), lengths, [0] * fill)
    core.run_until(core.line_free_ns + 3000)
    if overload:
        core.device.shape(rate=5e9)
    core.recv_many()
    core.trace_words()
    before = core.stats()

    count = max(min(frames, FRAME_BYTES // (size or 789)), 100)
    lengths = _lengths(size, count, rng)
    start = core.now_ns + 2000
    core.send_many(_frames(lengths, queues, rng, ECT0), lengths, [start] * count)
    end = core.line_free_ns
    core.egress = "mac"
    held = []
    for step in range(9):
        core.run_until(start + (end - start) * step // 8)
        held.append(cells - core.device.core_live().free_cells)
    core.run_idle()
    final = core.stats()
    frames_out = core.recv_many()
    records = core.trace()

    times, share = _egress_use(frames_out, start, end)
    span = float(times[-1] - times[0])
    offered = count / (end - start) * 1e3
    sent = (len(times) - 1) / span * 1e3
    recent = records[records["time_ns"] >= start]
    dropped = int((recent["action"] == trace.DROP).sum())
    marked = int(((recent["kind"] == trace.DEPARTURE) & (recent["action"] == trace.MARK)).sum())
    drops = sum(c.packets for q in final.queues for c in (q.early, q.forced, q.overflow, q.front, q.head_dropped))
    lost = final.core.ingress_overflow.packets - before.core.ingress_overflow.packets
    lost += final.core.bad.packets + final.core.runt.packets + final.core.oversize.packets
    lost += core.ingress_stalls + core.underruns
    missing = final.core.rx.packets - final.core.tx.packets - drops - final.core.ingress_overflow.packets

    faults = []
    if min(held) < cells // 2:
        faults.append(f"only {min(held)} of {cells} cells stood")
    if missing:
        faults.append(f"{missing} frames are unaccounted for")
    if before.core.ingress_overflow.packets:
        faults.append("the buffer overflowed before the measurement")
    if overload and not dropped:
        faults.append("the overload did not reach the limit")
    if share > 1.0005:
        faults.append(f"{share:.4f} of the line's rate went out")
    name = f"{label} frames, {queues} queue{'s' if queues > 1 else ''}, {policy}"
    if overload:
        name += ", 2:1 overload"
    how = (
        f"{count} frames at {offered:.3f} Mpps in and {sent:.3f} Mpps out at the same time; {dropped} dropped by verdict "
        f"or limit, {marked} marked; at least {min(held)} of {cells} cells held, free list shuffled"
    )
    if faults:
        return [Row(f"lost at ingress: {name}", -1, "frames", "0", f"NOT MEASURED: {'; '.join(faults)}. {how}")]
    rows = [Row(f"lost at ingress: {name}", lost, "frames", "0", how)]
    if not overload:
        rows.append(Row(f"egress use: {name}", round(100 * share, 3), "%", EGRESS_GOAL,
                        f"wire time of the {len(times)} frames that left while frames came in, of the time; {sent:.3f} Mpps"))  # fmt: skip # noqa: E501
    return rows


def _packet_frame(length: int, dscp: int) -> bytes:
    """A frame with an IPv4 packet of `length` bytes, from 20 on, of a protocol without ports."""
    head = struct.pack(">BBHHHBBH4s4s", 0x45, dscp << 2 | ECT0, length, 0, 0, 64, 59, 0, b"\n\0\0\1", b"\n\0\0\2")
    head = head[:10] + header_checksum(head).to_bytes(2, "big") + head[12:]
    return bytes(range(2, 14)) + b"\x08\x00" + head + bytes(length - 20)


def split_rate(preset: str, inner: int, packets: int, mode: str = "split") -> list[Row]:
    """Jumbo frames of packets of `inner` bytes, as long as they get, back to back, into a core that splits them, over a
    standing queue of half the buffer at its limit and a shuffled free list; minimum frames leave meanwhile.

    `mode` is "split", or "transit": they stay together."""
    rng = np.random.default_rng(inner)
    core = _core(preset)
    capabilities = core.device.capabilities
    core.device.jumbo(mode)
    _configure(core, "drop-tail")
    _shuffle(core, rng)
    each = -(-(inner + 14) // 64)
    count = min((MAX_FRAME - 20) // (inner + 4), MAX_SUM // inner)
    half = min(capabilities.cells // 2 // each, capabilities.descriptors // 2)
    _configure(core, "drop-tail", limit_packets=max(half // capabilities.queues, 1))
    number = max(packets // count, 20)
    jumbos = []
    for n in range(number):
        jumbos.append(build([_packet_frame(inner, n % capabilities.queues)] * count, [0] * count))
    core.egress = "stopped"
    for jumbo in jumbos[: half // count + capabilities.queues]:
        core.send(jumbo, max(core.now_ns, core.line_free_ns) + 4000)
    core.run_until(core.line_free_ns + 10_000)
    before = core.stats().core
    held = capabilities.cells - core.device.core_live().free_cells
    core.egress = "mac"
    start = max(core.now_ns, core.line_free_ns) + 2000
    core.send_many(b"".join(jumbos), [len(j) for j in jumbos], [start] * number)
    elapsed = core.line_free_ns - start
    core.run_idle()
    after = core.stats().core
    _, used = _egress_use(core.recv_many(), start, start + elapsed)
    lost = after.ingress_overflow.packets - before.ingress_overflow.packets
    lost += after.malformed.packets + core.ingress_stalls + core.underruns
    taken = after.rx.packets - before.rx.packets - lost
    how = (
        f"{number} jumbo frames of {count} packets in {elapsed / 1e3:.0f} us, {taken / elapsed * 1e3:.2f} M packets/s taken; "
        f"{held} of {capabilities.cells} cells held at the start, free list shuffled"
    )
    goal = "0" if inner >= SPLIT_GOAL else ""
    share = Row(f"{mode}, {inner}-byte packets, of line rate", round(100 * taken / (number * count), 2), "%", "", how)
    # whole frames that do not fit below the limit leave room
    measured = held >= capabilities.cells // (3 if mode == "split" else 5)
    if not before.ingress_overflow.packets and measured:
        egress = Row(
            f"egress use: {mode}, {inner}-byte packets", round(100 * used, 3), "%", EGRESS_GOAL if goal else "", how
        )
        return [Row(f"lost at ingress: {mode}, {inner}-byte packets", lost, "frames", goal, how), share, egress]
    return [Row(f"lost at ingress: {mode}, {inner}-byte packets", -1, "frames", goal, f"NOT MEASURED: {how}")]


@dataclass(frozen=True)
class _Taken:
    """What became of jumbo frames in transit at line rate."""

    how: str
    lost: int
    used: float
    """share of the line's time that frames took"""
    faults: list[str]


def _jumbo_frames(inner: int, queues: int, number: int) -> tuple[list[bytes], int]:
    """Jumbo frames of packets of `inner` bytes, as long as they get, to the queues in turn; packets of each."""
    count = min((MAX_FRAME - 20) // (inner + 4), MAX_SUM // inner)
    kinds = [build([_packet_frame(inner, q)] * count, [0] * count) for q in range(queues)]
    return [kinds[n % queues] for n in range(number)], count


def _built_of(out: Any, protocol: int) -> int:
    """Packets of that IPv4 protocol that left in jumbo frames."""
    ends = np.cumsum(out.lengths)
    frames = (out.data[end - length : end].tobytes() for end, length in zip(ends, out.lengths, strict=True))
    return sum(ip[9] == protocol for frame in frames if (jumbo := dissect(frame)) for ip in jumbo.packets)


def _mred(core: Core, inner: int, packets: int, link: float, beside: int) -> _Taken:
    """Jumbo frames back to back into queues of RED that are filled up to their band, whose link has that rate; between two of them
    `beside` packets that are merged."""
    device, capabilities = core.device, core.device.capabilities
    limit = capabilities.cells * 64 * 3 // 4 // capabilities.queues * inner // (64 * -(-(inner + 14) // 64))
    band = {"limit_bytes": limit, "min": limit // 3, "max": limit * 3 // 4, "probability": 0.1, "weight": 0.25}
    number = max(packets // max(MAX_SUM // inner, 1), 60)
    jumbos, count = _jumbo_frames(inner, capabilities.queues, number)
    core.egress = "stopped"
    for jumbo in jumbos[: limit // 2 * capabilities.queues // (count * (inner + 14))]:
        core.send(jumbo, max(core.now_ns, core.line_free_ns) + 4000)
    core.run_until(core.line_free_ns + 10_000)
    for queue in range(capabilities.queues):
        device.queue_replace(queue, "red", **band)
        device.mred(queue, 0.1, 0.6)
        device.merge(queue, "flow" if beside else "off")
    if link < LINE_RATE:
        device.shape(rate=link)
    before = core.stats()
    core.egress = "mac"
    start = max(core.now_ns, core.line_free_ns) + 2000
    singles = [_flow_frame(inner, n, n % capabilities.queues) for n in range(2 * capabilities.queues)]
    frames = [f for n, jumbo in enumerate(jumbos) for f in (jumbo, *(singles[k % len(singles)] for k in range(beside)))]
    core.send_many(b"".join(frames), [len(f) for f in frames], [start] * len(frames))
    elapsed = core.line_free_ns - start
    core.run_until(core.line_free_ns)
    held = capabilities.cells - device.core_live().free_cells
    core.run_idle()
    after = core.stats()
    out = core.recv_many()
    _, used = _egress_use(out, start, start + elapsed)
    merged = _built_of(out, 17) if beside else 0
    partial = sum(q.partial.packets for q in after.queues)
    whole = sum(c.packets for q in after.queues for c in (q.early, q.forced))
    beyond = sum(q.overflow.packets for q in after.queues)
    missing = (
        after.core.rx.packets - after.core.tx.packets - partial - whole - beyond - after.core.ingress_overflow.packets
    )
    lost = after.core.ingress_overflow.packets - before.core.ingress_overflow.packets
    lost += after.core.malformed.packets + core.ingress_stalls + core.underruns
    how = (
        f"{number} jumbo frames of {count} packets back to back, {beside} packets that may be merged behind each, in {elapsed / 1e3:.0f} us, "
        f"{number * (count + beside) / elapsed * 1e3:.2f} M packets/s; {merged} merged; "
        f"{partial} packets dropped by MRED, {whole} by RED's own decision, {beyond} at the limit; {core.underruns} underruns; "
        f"{held} of {capabilities.cells} cells held at the end, free list shuffled; link at {link / 1e9:g} Gbit/s"
    )
    faults = [f"{missing} packets are unaccounted for"] if missing else []
    # without overload the drops shorten the queue to the band's lower end, where few are dropped
    least = number * count // (20 if beside else 10) if link < LINE_RATE else 10 if beside else 50
    if partial < least:
        faults.append(f"fewer than {least} packets were dropped by MRED")
    if merged < number * beside // 10:
        faults.append(f"fewer than {number * beside // 10} packets were merged")
    if before.core.ingress_overflow.packets:
        faults.append("the buffer overflowed before the measurement")
    return _Taken(how, lost, used, faults)


def mred_rate(preset: str, inner: int, packets: int, link: float, beside: int = 0) -> list[Row]:
    """Jumbo frames in transit, back to back, over a shuffled free list into queues of RED with MRED whose link has the rate `link`: half
    the line's, or the line's. Between two of them `beside` packets, which are merged by flow.

    Packets are dropped out of frames that wait while others come and leave. At the ingress nothing may be lost but by verdict or limit.
    """
    core = _core(preset)
    core.device.jumbo("transit")
    _configure(core, "drop-tail")
    _shuffle(core, np.random.default_rng(inner))
    taken = _mred(core, inner, packets, link, beside)
    overload = link < LINE_RATE
    name = f"transit with MRED{' and merging' if beside else ''}, {inner}-byte packets" + (
        ", 2:1 overload" if overload else ""
    )
    lost = Row(f"lost at ingress: {name}", taken.lost, "frames", "0", taken.how)
    if taken.faults:
        return [replace(lost, value=-1, how=f"NOT MEASURED: {'; '.join(taken.faults)}. {taken.how}")]
    if overload:
        return [lost]
    goal = EGRESS_GOAL if inner >= SPLIT_GOAL else ""
    return [lost, Row(f"egress use: {name}", round(100 * taken.used, 3), "%", goal, taken.how)]


def _flow_frame(length: int, flow: int, dscp: int, network: int = 0) -> bytes:
    """A frame with a UDP packet of `length` bytes, from 28 on, of that flow, to 10.0.`network`.2."""
    destination = bytes((10, 0, network, 2))
    head = struct.pack(">BBHHHBBH4s4s", 0x45, dscp << 2 | ECT0, length, 0, 0, 64, 17, 0, b"\n\0\0\1", destination)
    head = head[:10] + header_checksum(head).to_bytes(2, "big") + head[12:]
    udp = struct.pack(">HHHH", 1000 + flow, 2000, length - 20, 0)
    return bytes(range(2, 14)) + b"\x08\x00" + head + udp + bytes(length - 28)


def merge_rate(
    preset: str, inner: int, flows: int, max_bytes: int, frames: int, mode: str = "flow", alone: float = 0.0
) -> list[Row]:
    """Packets of `flows` flows at line rate into four queues that merge, over a standing queue of half the buffer and a
    shuffled free list; what waits leaves at the same time. The queue shrinks, as jumbo frames carry more than comes in.

    `mode` "class": those of 16 classes, which are told by the destination, wait for JFET. `alone`: a share of all frames that is
    not IP and never merged; they wait in the first queue."""
    rng = np.random.default_rng(inner + flows)
    core = _core(preset)
    capabilities = core.device.capabilities
    _configure(core, "drop-tail")
    _shuffle(core, rng)
    if mode == "class":
        core.device.match({n: (f"10.0.{n}.0/24", n) for n in range(CLASSES)}, "bypass")
    for queue in range(capabilities.queues):
        core.device.merge(queue, mode, max_bytes=max_bytes, jfet=JFET)
    each = -(-(inner + 14) // 64)
    fill = min(capabilities.cells // 2 // each, capabilities.descriptors // 2)
    unmerged = bytes(range(2, 14)) + LOCAL_EXPERIMENT + bytes(inner)

    def some(count: int) -> tuple[bytes, list[int]]:
        numbers = rng.integers(0, flows, count).tolist()
        single = (rng.random(count) < alone).tolist()
        return b"".join(
            unmerged if lone else _flow_frame(inner, n, n % QUEUES, n // QUEUES % CLASSES)
            for n, lone in zip(numbers, single, strict=True)
        ), [inner + 14] * count

    before = core.stats().core
    core.egress = "stopped"
    data, lengths = some(fill)
    core.send_many(data, lengths, [0] * fill)
    core.run_until(core.line_free_ns + 5000)
    filled = core.stats().core
    core.recv_many()
    core.trace_words()
    start = core.now_ns + 2000
    count = max(min(frames, fill), 100)
    data, lengths = some(count)
    core.egress = "mac"
    core.send_many(data, lengths, [start] * count)
    end = core.line_free_ns
    core.run_idle()
    after = core.stats().core
    out = core.recv_many()
    _, share = _egress_use(out, start, end)
    lost = after.ingress_overflow.packets - before.ingress_overflow.packets + core.ingress_stalls + core.underruns
    lost += fill + count - after.tx.packets + before.tx.packets
    merged = after.merged.packets - before.merged.packets
    built = after.jumbo_out.packets - before.jumbo_out.packets
    name = f"merge, {inner}-byte packets, {flows} flows, up to {max_bytes} bytes"
    if alone:
        name += f", {alone:.0%} of frames alone"
    if mode == "class":
        name = f"merge by class, {inner}-byte packets, {CLASSES} classes a queue"
    how = (
        f"{count} frames at {count / (end - start) * 1e3:.2f} Mpps in while {fill + count} packets left in {len(out.lengths)} frames; "
        f"{merged / max(built, 1):.1f} packets a jumbo frame, {after.evicted - before.evicted} groups evicted; {core.underruns} underruns; "
        f"{fill * each} of {capabilities.cells} cells held at the start, free list shuffled"
    )
    faults = ["the buffer overflowed before"] if filled.ingress_overflow.packets else []
    if 2 * merged < (fill + count) * (1 - alone):
        faults.append(f"only {merged} packets were merged")
    if faults:
        return [Row(f"lost: {name}", -1, "frames", "0", f"NOT MEASURED: {'; '.join(faults)}. {how}")]
    return [
        Row(f"lost: {name}", lost, "frames", "0", how),
        Row(f"egress use: {name}", round(100 * share, 3), "%", EGRESS_GOAL if inner >= SPLIT_GOAL else "", how),
    ]


def split_and_merge_rate(preset: str, inner: int, packets: int) -> list[Row]:
    """Jumbo frames of packets of 24 flows, as long as they get, back to back into a core that splits them and merges the packets by
    flow, over a standing queue of a third of the buffer and a shuffled free list; what it makes of them leaves at the same time."""
    rng = np.random.default_rng(inner)
    core = _core(preset)
    core.device.jumbo("split")
    _configure(core, "drop-tail")
    _shuffle(core, rng)
    capabilities = core.device.capabilities
    for queue in range(capabilities.queues):
        core.device.merge(queue, "flow")
    each = -(-(inner + 14) // 64)
    count = min((MAX_FRAME - 20) // (inner + 4), MAX_SUM // inner)
    first = min(capabilities.cells // 3 // each, capabilities.descriptors // 3) // count + 1
    number = first + max(packets // count, 20)
    jumbos = []
    for n in range(number):
        flows = rng.integers(0, 6, count).tolist()
        jumbos.append(build([_flow_frame(inner, flow, n % capabilities.queues) for flow in flows], [0] * count))
    core.egress = "stopped"
    before = core.stats().core
    for jumbo in jumbos[:first]:
        core.send(jumbo, max(core.now_ns, core.line_free_ns) + 4000)
    core.run_until(core.line_free_ns + 10_000)
    held = capabilities.cells - core.device.core_live().free_cells
    core.egress = "mac"
    start = max(core.now_ns, core.line_free_ns) + 2000
    core.send_many(b"".join(jumbos[first:]), [len(j) for j in jumbos[first:]], [start] * (number - first))
    end = core.line_free_ns
    core.run_idle()
    after, out = core.stats().core, core.recv_many()
    _, share = _egress_use(out, start, end)
    lost = after.ingress_overflow.packets - before.ingress_overflow.packets + after.malformed.packets
    lost += core.ingress_stalls + core.underruns + number * count - after.tx.packets + before.tx.packets
    merged = after.merged.packets - before.merged.packets
    name = f"split and merge, {inner}-byte packets"
    how = (
        f"{number - first} jumbo frames of {count} packets of 24 flows back to back in {(end - start) / 1e3:.0f} us; {merged} of "
        f"{number * count} packets merged again, {len(out.lengths)} frames out; {core.underruns} underruns; {held} of "
        f"{capabilities.cells} cells held at the start, free list shuffled"
    )
    if 2 * merged < number * count:
        return [
            Row(f"lost: {name}", -1, "packets", "0", f"NOT MEASURED: less than half of the packets were merged. {how}")
        ]
    goal = inner >= SPLIT_GOAL
    return [
        Row(f"lost: {name}", lost, "packets", "0" if goal else "", how),
        Row(f"egress use: {name}", round(100 * share, 3), "%", EGRESS_GOAL if goal else "", how),
    ]


def accuracy() -> list[Row]:
    """The figures of cocotb-tests/accuracy."""
    for path in (native.root() / "cocotb-tests", native.root() / "cocotb-tests" / "accuracy"):
        if str(path) not in sys.path:
            sys.path.insert(0, str(path))
    figures = importlib.import_module("figures")
    return [Row(f["name"], f["value"], f["unit"], f["goal"], f["how"])
            for f in (*figures.ewma_figures(), *figures.drop_rate_figures())]  # fmt: skip


def jobs(preset: str, quick: bool) -> list[tuple[str, Callable[[], list[Row]]]]:
    """Everything that is measured, in order."""
    frames = FRAMES // 10 if quick else FRAMES
    work: list[tuple[str, Callable[[], list[Row]]]] = [
        ("model speed", lambda: model_speed(preset, frames)),
        ("model speed, core red", lambda: model_speed("red", frames)),
        ("model speed, core network", lambda: model_speed("network", frames)),
        ("latency", lambda: latency(preset)),
    ]
    for policy in (*PLAIN, *POLICIES):
        work.append((f"decisions, {policy}", partial(decisions, preset, policy)))
    for policy in DEPARTING:
        work.append((f"decisions at departure, {policy}", partial(departures, preset, policy)))
    for policy in PLAIN:
        for overload in (False, True):
            for queues in (1, QUEUES):
                for label, size in SIZES:
                    job = partial(line_rate, preset, label, size, queues, policy, overload, frames)
                    work.append((f"{label}, {queues} queues, {policy}", job))
    for policy in POLICIES:
        for (label, size), queues, overload in POLICY_ROWS:
            job = partial(line_rate, preset, label, size, queues, policy, overload, frames)
            work.append((f"{label}, {queues} queues, {policy}", job))
    for inner in SPLIT_LENGTHS:
        work.append((f"split, {inner}-byte packets", partial(split_rate, preset, inner, frames)))
    for inner in SPLIT_LENGTHS:
        work.append((f"transit, {inner}-byte packets", partial(split_rate, preset, inner, frames, "transit")))
    for inner, flows, most in MERGES:
        work.append((f"merge, {inner}-byte packets", partial(merge_rate, preset, inner, flows, most, frames)))
    for alone in (0.25, 0.75):
        job = partial(merge_rate, preset, SPLIT_GOAL, 200, MAX_FRAME, frames, alone=alone)
        work.append((f"merge, {SPLIT_GOAL}-byte packets among single frames", job))
    for inner in CLASS_MERGES:
        job = partial(merge_rate, preset, inner, 1000, MAX_FRAME, frames, "class")
        work.append((f"merge by class, {inner}-byte packets", job))
    for inner in MRED_LENGTHS:
        work.append((f"split and merge, {inner}-byte packets", partial(split_and_merge_rate, preset, inner, frames)))
    for inner in MRED_LENGTHS:
        # the line takes packets of 28 bytes as fast as they come: without overload there is no queue
        for link in (LINE_RATE / 2, LINE_RATE) if inner >= SPLIT_GOAL else (LINE_RATE / 2,):
            work.append((f"transit with MRED, {inner}-byte packets", partial(mred_rate, preset, inner, frames, link)))
    for inner in MRED_MERGE_LENGTHS:
        for link in (LINE_RATE / 2, LINE_RATE):
            work.append(
                (
                    f"transit with MRED and merging, {inner}-byte packets",
                    partial(mred_rate, preset, inner, frames, link, 10),
                )
            )
    if not quick:
        work.append(("accuracy", accuracy))
    return work


def run(path: Path, preset: str, quick: bool, only: str = "") -> int:
    """Measures everything, or the jobs whose name contains `only`, prints it and writes the JSON.

    A goal that is missed is printed as such and listed at the end; it is a result. The answer is 1 if something could
    not be measured as it is named.
    """
    work = [(name, job) for name, job in jobs(preset, quick) if only in name]
    if not work:
        raise UsageError(f"bench: no job has '{only}' in its name")
    with Outputs() as outputs:
        return _run(work, path, outputs.open(path))


def _run(work: Sequence[tuple[str, Callable[[], list[Row]]]], path: Path, file: BinaryIO) -> int:
    rows: list[Row] = []
    failed: list[str] = []
    with progress.bar(len(work)) as bar:
        for name, job in work:
            bar.set_description(name)
            try:
                measured = job()
            except BenchError as error:
                failed.append(str(error))
                bar.write(f"NOT MEASURED: {error}")
                measured = []
            bar.update()
            for row in measured:
                rows.append(row)
                verdict = {True: "reached", False: "MISSED", None: ""}[row.reached]
                bar.write(f"{row.name:<62} {row.value:>10g} {row.unit:<9} {row.goal:<10} {verdict}")
    keys = ("name", "value", "unit", "goal", "how")
    table = [{key: getattr(row, key) for key in keys} for row in rows]
    file.write((json.dumps(table, indent=2) + "\n").encode())
    failed += [f"{row.name}: {row.how}" for row in rows if "NOT MEASURED" in row.how]
    missed = [row for row in rows if row.reached is False]
    print(f"{len(rows)} figures, {len(missed)} missed, {len(failed)} not measured; how each was measured: {path}")
    for row in missed:
        print(f"missed: {row.name}: {number(float(f'{row.value:.6g}'))} {row.unit}, goal {row.goal}")
    return 1 if failed else 0

"""`weir-sim bench`: the core and the model against their goals."""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from . import native, trace
from .core import Core
from .files import Outputs
from .frames import ECT0, NOT_ECT, udp_frame

CYCLE_NS = 6.4
BYTE_NS = 0.8
QUEUES = 4
FRAMES = 20_000
"""frames of a line-rate row; long frames are fewer, for at most FRAME_BYTES in all"""
FRAME_BYTES = 6_000_000

SIZES: tuple[tuple[str, int], ...] = (("64-byte", 60), ("65-byte", 65), ("1518-byte", 1518), ("9216-byte", 9216),
                                      ("random-size", 0))  # fmt: skip
"""Name and length without FCS; 60 is the Ethernet minimum of 64 with FCS, 84 byte times on the line. 65 takes two
cells. 0 is 60 to 1518 at random."""


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
        lengths = rng.integers(60, 3000, cells * 64 // 1500).tolist()
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
    rng = np.random.default_rng(1)
    for name, size, policy in (("minimum frames, RED", 60, "red"), ("1518-byte frames, RED", 1518, "red"),
                               ("minimum frames, Drop-Tail", 60, "drop-tail")):  # fmt: skip
        core = _core(preset)
        core.device.queue_replace(0, policy=policy)
        count = max(frames * 60 // (size + 20), 100) * 2
        lengths = [size] * count
        core.send_many(_frames(lengths, 1, rng), lengths, [core.now_ns] * count)
        cycles, start = core.evaluated, time.perf_counter()
        core.run_until(core.line_free_ns)
        speed = (core.evaluated - cycles) / (time.perf_counter() - start) / 1e6
        rows.append(Row(f"model speed, {name}", round(speed, 3), "Mcycle/s", ">= 2",
                        f"preset {preset}, line rate in and out, {core.evaluated - cycles} cycles, trace kept, one core"))  # fmt: skip # noqa: E501
    core = _core(preset)
    core.device.queue_replace(0, policy="red")
    count = 1000
    lengths = [1518] * count
    begin = core.now_ns
    core.send_many(_frames(lengths, 1, rng), lengths, [begin + i * 1_000_000 for i in range(count)])
    cycles, evaluated, start = core.cycles, core.evaluated, time.perf_counter()
    core.run_until(begin + count * 1_000_000)
    elapsed = time.perf_counter() - start
    rows.append(Row("model speed, a frame every ms", round((core.cycles - cycles) / elapsed / 1e6, 1), "Mcycle/s", "",
                    f"idle time skipped: {core.evaluated - evaluated} of {core.cycles - cycles} cycles evaluated"))  # fmt: skip # noqa: E501
    return rows


def latency(preset: str) -> list[Row]:
    """Latencies with avg > 0 after a second of idle time, and the shortest time between two decisions."""
    core = _core(preset, "ready")
    core.device.queue_replace(0, policy="red", limit="400KB", min="30KB", max="90KB", weight="0.01")
    lengths = [1518] * 400
    rng = np.random.default_rng(1)
    core.egress = "stopped"
    core.send_many(_frames(lengths, 1, rng), lengths, [0] * len(lengths))
    core.run_until(core.line_free_ns + 1000)
    core.egress = "ready"
    core.run_idle()
    core.recv_many()
    core.trace_words()
    first_bit, decision, averages = [], [], []
    for i in range(20):
        at = core.now_ns + 1_000_000_000 // (i + 1) ** 3
        before = core.now_ns
        core.send(udp_frame(64), at)
        core.run_until(at + 10_000)
        assert core.now_ns > before
        (frame,) = core.recv()
        words, times = core.trace_words()
        records = trace.decode(words)
        (arrival,) = np.flatnonzero(records["kind"] == trace.ARRIVAL)
        sent = -(-at * 5 // 32)
        first_bit.append(-(-frame.first_ns * 5 // 32) - sent)
        decision.append(round((int(times[arrival]) - int(records["time_ns"][arrival])) / CYCLE_NS))
        averages.append(float(records["avg"][arrival]))
    rows = [
        Row("first bit in to first bit out", max(first_bit), "cycles", "<= 40",
            f"64-byte frame, empty queue, RED, after 1 s to 0.1 ms of idle time; avg before {max(averages):.0f} bytes"),
        Row("decision latency, RED", max(decision) - 1, "cycles", "<= 10",
            "request in Admit to verdict (the trace record at its commit, less one cycle), same frames"),
    ]  # fmt: skip

    core = _core(preset, "ready")
    core.line = "raw"
    for q in range(core.device.capabilities.queues):
        core.device.queue_replace(q, policy="red", limit="200KB")
    lengths = [42, 42] * 12
    core.send_many(_frames(lengths, core.device.capabilities.queues, rng), lengths, [core.now_ns + 1000] * len(lengths))
    core.run_idle()
    short = core.trace()
    requests = np.sort(short["time_ns"][short["kind"] == trace.ARRIVAL])
    seen = round(float(np.diff(requests).min()) / CYCLE_NS)
    rows.append(Row("shortest decision interval seen, any queues", seen, "cycles", "",
                    "42-byte frames without gaps (6 beats each) over all queues; the line allows no shorter one"))  # fmt: skip # noqa: E501
    return rows


def _configure(core: Core, policy: str, limit_packets: int) -> None:
    for q in range(core.device.capabilities.queues):
        settings: dict[str, Any] = {"limit_packets": limit_packets}
        if policy == "red":
            settings |= {"min": "50KB", "max": "150KB", "probability": 0.1, "ecn": True}
        core.device.queue_replace(q, policy=policy, **settings)


def line_rate(preset: str, label: str, size: int, queues: int, policy: str, overload: bool, frames: int) -> list[Row]:
    """Back-to-back frames in, and out at the same time, over a standing queue of half the buffer and a shuffled
    free list; with `overload` into an egress shaped to half the rate."""
    rng = np.random.default_rng(size * 100 + queues)
    core = _core(preset)
    cells = core.device.capabilities.cells
    descriptors = core.device.capabilities.descriptors
    mean = size or 789
    each = -(-mean // 64) if size else 13
    fill = min(cells * 11 // 20 // each + 1, descriptors * 3 // 4)
    _configure(core, policy, descriptors)
    _shuffle(core, rng)
    # Limits apart, the buffer must hold: all queues together keep a tenth of it free.
    _configure(core, policy, max(min(cells * 9 // 10 // each, descriptors * 9 // 10) // queues - 150 // each, 1))
    count = max(min(frames, FRAME_BYTES // mean), 100)
    lengths = _lengths(size, fill, rng)
    core.egress = "stopped"
    core.send_many(_frames(lengths, queues, rng), lengths, [0] * fill)
    core.run_until(core.line_free_ns + 3000)
    if overload:
        core.device.shape(rate=5e9)
    core.recv_many()
    core.trace_words()
    before = core.stats()
    held = core.device.core_live()

    lengths = _lengths(size, count, rng)
    start = core.now_ns + 100
    core.send_many(_frames(lengths, queues, rng, ECT0 if policy == "red" else NOT_ECT), lengths, [start] * count)
    end = core.line_free_ns
    core.egress = "mac"
    lowest = cells
    for step in range(1, 9):
        core.run_until(start + (end - start) * step // 8)
        lowest = min(lowest, cells - core.device.core_live().free_cells)
    after = core.stats()
    records = core.trace()
    arrivals = records["kind"] == trace.ARRIVAL
    dropped = int((arrivals & (records["action"] == trace.DROP)).sum())
    lost = after.core.ingress_overflow.packets - before.core.ingress_overflow.packets + core.ingress_stalls
    lost += after.core.bad.packets + after.core.runt.packets + after.core.oversize.packets
    seconds = (end - start) * 1e-9
    offered = (after.frames_in - before.frames_in) / seconds / 1e6
    out = (after.frames_out - before.frames_out) / seconds / 1e6
    core.run_idle()
    final = core.stats()
    drops = sum(c.packets for q in final.queues for c in (q.early, q.forced, q.overflow))
    whole = final.core.rx.packets == final.core.tx.packets + drops + final.core.ingress_overflow.packets
    if not whole or core.underruns:
        lost += abs(final.core.rx.packets - final.core.tx.packets - drops) + core.underruns
    name = f"{label} frames, {queues} queue{'s' if queues > 1 else ''}, {policy}"
    if overload:
        name += ", 2:1 overload"
    how = (
        f"{count} frames: {offered:.2f} Mpps in, {out:.2f} Mpps out, {dropped} dropped by verdict or limit; "
        f"{cells - held.free_cells} of {cells} cells held at the start, {lowest} at least; free list shuffled"
    )
    return [Row(f"lost at ingress: {name}", lost, "frames", "0", how)] + (
        [] if overload else [Row(f"sent: {name}", round(out, 3), "Mpps",
                                 f">= {0.995 / ((mean if size else np.mean(lengths)) + 24) / BYTE_NS * 1e3:.3f}",
                                 "of the line's rate, 99.5 % asked for: the window cuts a frame at each end")]
    )  # fmt: skip


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
        ("latency", lambda: latency(preset)),
    ]
    for policy in ("drop-tail", "red"):
        for overload in (False, True):
            for queues in (1, QUEUES):
                for label, size in SIZES:
                    job = partial(line_rate, preset, label, size, queues, policy, overload, frames)
                    work.append((f"{label}, {queues} queues, {policy}", job))
    if not quick:
        work.append(("accuracy", accuracy))
    return work


def run(path: Path, preset: str, quick: bool) -> int:
    """Measures everything, prints it and writes the JSON. 0 if every goal is reached, else 1."""
    rows: list[Row] = []
    work = jobs(preset, quick)
    with tqdm(work, leave=False, disable=not sys.stderr.isatty()) as bar:
        for name, job in bar:
            bar.set_description(name)
            for row in job():
                rows.append(row)
                verdict = {True: "reached", False: "MISSED", None: ""}[row.reached]
                tqdm.write(f"{row.name:<62} {row.value:>10g} {row.unit:<9} {row.goal:<10} {verdict}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with Outputs() as outputs:
        keys = ("name", "value", "unit", "goal", "how")
        table = [{key: getattr(row, key) for key in keys} for row in rows]
        outputs.open(path).write((json.dumps(table, indent=2) + "\n").encode())
    missed = sum(row.reached is False for row in rows)
    print(f"{len(rows)} figures, {missed} missed; how each was measured: {path}")
    return 1 if missed else 0

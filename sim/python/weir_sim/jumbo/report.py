"""`weir-sim jumbo-report`: what merging would do to the traffic of a capture. A software model: no RTL runs here."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from weir.ctl import text

from .. import progress
from ..errors import IdentityError, out_of_range
from ..files import Outputs
from ..intake import Intake
from ..pcap import CaptureError, PcapWriter, read_capture
from .elision import ELIDED, elide
from .formulas import eq1_cost, largest_merge_factor, processing_gain
from .link import Sent, serve, wire_bytes
from .merge import Arrival, ClassMerger, FlowMerger, Limits, Merger, by_destination
from .packet import u16
from .wire import Jumbo, Malformed, dissect, split

LONGEST_NS = 1 << 62
"""time that a capture may span"""
LAST_NS = (1 << 32) * 1_000_000_000
"""times that a pcap file cannot have, in the year 2106"""


@dataclass(frozen=True)
class Options:
    """What is modelled. Rates in bit/s, times in ns."""

    source: Path
    merge: str = "flow"
    link_rate: int = 10_000_000_000
    speedup: float = 1.0
    jfet_ns: int = 100_000
    prefix: tuple[int, int] = (24, 64)
    limits: Limits = field(default_factory=Limits)
    json: Path | None = None
    write: Path | None = None
    reorder: bool = False

    def __post_init__(self) -> None:
        if not (0 < self.speedup < float("inf")):
            raise out_of_range("--speedup", text.number(self.speedup), "above 0; 1 keeps the capture's times")
        if not 1000 <= self.link_rate <= 10**12:
            raise out_of_range("--link-rate", text.rate(self.link_rate), "1kbit to 1000Gbit")
        if not 0 <= self.jfet_ns <= 10**10:
            raise out_of_range("--jfet", text.time(self.jfet_ns / 1000), "0 to 10s")
        for option, bits, most in zip(("--prefix", "--prefix6"), self.prefix, (32, 128), strict=True):
            if not 0 <= bits <= most:
                raise out_of_range(option, str(bits), f"0 to {most} bits")


def elided(plain: bytes, short: bytes, jumbo: Jumbo) -> dict[str, int]:
    """Packets without headers and bytes saved of a frame that was elided."""
    at = len(jumbo.ethernet) + 2 + 20 * jumbo.l3
    table = range(at + 6, at + 6 + 4 * jumbo.count, 4)
    flagged = sum(u16(short, entry) & ELIDED > 0 for entry in table)
    return {"packets": flagged, "bytes": len(plain) - len(short)}


def _delays(ns: array[int]) -> dict[str, float]:
    """Mean, nearest-rank percentiles and extremes, µs."""
    times = np.sort(np.frombuffer(ns, np.int64)) / 1000

    def rank(share: float) -> float:
        return float(times[max(int(np.ceil(share * len(times))) - 1, 0)])

    return {"mean": float(times.mean()), "min": float(times[0]), "p50": rank(0.5), "p99": rank(0.99),
            "max": float(times[-1])}  # fmt: skip


class _Model:
    """Counts on both sides of the merger."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.capture = read_capture(options.source)
        self.intake = Intake(self.capture, options.reorder, options.limits.form, ports=True)
        self.packets = self.bytes = self.joinable = self.joinable_bytes = 0
        self.barred: Counter[str] = Counter()
        self.inside = Counter({"frames": 0, "packets": 0, "dropped_packets": 0, "bytes": 0, "malformed": 0})
        self.first_ns = self.last_end_ns = 0
        self.frames = self.joinable_frames = self.eq1 = 0
        self.link_before = self.link_after = self.link_joined = 0
        self.sizes: Counter[int] = Counter()
        self.elided = Counter({"packets": 0, "bytes": 0})
        self.alone_ends = array("q")
        """by packet: when it would have left without merging"""
        self.merged, self.unmerged, self.added = array("q"), array("q"), array("q")

    def look(self, frame: bytes) -> None:
        """Counts a jumbo frame that is in the capture."""
        try:
            jumbo = dissect(frame, self.options.limits.form)
        except Malformed:
            self.inside["malformed"] += 1
            return
        if jumbo is not None:
            self.inside.update(frames=1, packets=len(jumbo.packets), bytes=len(frame),
                               dropped_packets=jumbo.count - len(jumbo.packets))  # fmt: skip

    def arrivals(self) -> Iterator[Arrival]:
        """Reads the capture; on the way, sends each frame over a link of its own, unmerged."""
        options, form = self.options, self.options.limits.form
        free = 0
        with progress.of_bytes(self.capture.size) as bar:
            for number, packet in enumerate(self.intake):
                if number == 0:
                    self.first_ns = packet.time_ns
                if number % 1000 == 0:
                    bar.update(self.capture.position - bar.n)
                passed = packet.time_ns - self.first_ns
                if passed >= LONGEST_NS * min(options.speedup, 1):
                    raise CaptureError(f"{self.capture.name}: packet {number + 1} is too late: its time cannot be told")
                now = passed if options.speedup == 1 else int(passed / options.speedup)
                arrival = Arrival.of(now, packet.data, form, number)
                self.look(arrival.frame)
                self.packets += 1
                self.bytes += packet.length
                if arrival.packet is None:
                    self.barred["it is not IP"] += 1
                elif arrival.packet.barred:
                    self.barred[arrival.packet.barred] += 1
                else:
                    self.joinable += 1
                    self.joinable_bytes += len(arrival.packet.ip)
                self.link_before += wire_bytes(packet.length)
                free = max(free, now * options.link_rate) + 8 * 10**9 * wire_bytes(packet.length)
                self.alone_ends.append(free // options.link_rate)
                yield arrival

    def sent(self, item: Sent, frame: bytes) -> None:
        """Counts a frame that has left, and splits it again."""
        members = item.members
        if len(members) > 1:
            jumbo = dissect(frame, self.options.limits.form)
            if jumbo is None or split(jumbo) != ([m.frame for m in members], 0, 0):
                raise IdentityError(f"frame {self.frames + 1} does not split into its packets: a fault of the model")
            self.elided.update(elided(frame, elide(frame, self.options.limits.form), jumbo))
            self.eq1 -= eq1_cost(len(members), jumbo.l3)
            self.link_joined += sum(wire_bytes(len(m.frame)) for m in members) - wire_bytes(item.length)
        self.frames += 1
        self.joinable_frames += members[0].packet is not None and members[0].packet.may_join
        self.sizes[len(members)] += 1
        self.link_after += wire_bytes(item.length)
        self.last_end_ns = item.end_ns
        for member in members:
            alone = self.alone_ends[member.number]
            self.merged.append(item.end_ns - member.time_ns)
            self.unmerged.append(alone - member.time_ns)
            self.added.append(item.end_ns - alone)

    def result(self) -> dict[str, Any]:
        """What the JSON file holds; IdentityError if packets are missing."""
        o, limits = self.options, self.options.limits
        if sum(n * times for n, times in self.sizes.items()) != self.packets:
            raise IdentityError(f"{self.packets} packets came and {len(self.merged)} left: a fault of the model")
        mean = self.joinable / self.joinable_frames if self.joinable_frames else 1.0
        packet_bytes = self.joinable_bytes // self.joinable if self.joinable else 0
        most = largest_merge_factor(packet_bytes, limits) if packet_bytes else 1
        expected = (most + 1) / 2
        return {
            "model": "software model on a capture, open loop; no RTL",
            "source": o.source.name,
            "options": {
                "merge": o.merge, "form": "l3" if limits.form.l3 else "l2", "link_rate": o.link_rate,
                "speedup": o.speedup, "jfet_us": o.jfet_ns / 1000, "prefix": list(o.prefix),
                "max_bytes": limits.max_bytes, "max_sum": limits.max_sum, "max_count": limits.max_count,
            },
            "capture": {
                "packets": self.packets, "bytes": self.bytes, "cut": self.intake.cut, "opaque": self.intake.opaque,
                "backwards": self.intake.backwards, "joinable": self.joinable, "barred": dict(sorted(self.barred.items())),
                "jumbo": dict(self.inside) | {"cut": self.intake.jumbo},
            },
            "frames": {"before": self.packets, "after": self.frames, "saved": self.packets - self.frames},
            "link_bytes": {
                "before": self.link_before, "after": self.link_after, "saved": self.link_before - self.link_after,
            },
            "header_bytes_saved": {"eq1": self.eq1, "measured": self.link_joined},
            "elided": dict(self.elided),
            "merge_factor": {
                "mean": self.packets / self.frames, "mean_joinable": mean,
                "distribution": {str(n): self.sizes[n] for n in sorted(self.sizes)},
            },
            "delay_us": {
                "merged": _delays(self.merged), "unmerged": _delays(self.unmerged), "added": _delays(self.added),
            },
            "gain": {
                "packet_bytes": packet_bytes, "largest_merge_factor": most,
                "closed_form": {"merge_factor": expected, "search": processing_gain(expected, 1),
                                "grouping": processing_gain(expected, 0)},
                "measured": {"merge_factor": mean, "grouping": processing_gain(mean, 0)},
            },
        }  # fmt: skip


def report(options: Options) -> tuple[dict[str, Any], list[str]]:
    """Runs the model over a capture and writes the files that are asked for.

    Returns:
        What the JSON file holds, and notes about the capture.

    Raises:
        CaptureError: the capture cannot be read. IdentityError: the model is at fault.
    """
    model, limits = _Model(options), options.limits
    merger: Merger = FlowMerger(limits)
    if options.merge == "class":
        merger = ClassMerger(limits, options.jfet_ns, by_destination(*options.prefix))
    with Outputs() as outputs:
        table = outputs.open(options.json) if options.json else None
        writer = PcapWriter(outputs.open(options.write)) if options.write else None
        identification = 0
        for item in serve(model.arrivals(), merger, options.link_rate, limits):
            frame = item.frame(limits, identification)
            identification += len(item.members) > 1
            model.sent(item, frame)
            if writer:
                at = model.first_ns + item.start_ns
                if at >= LAST_NS:
                    raise CaptureError(
                        f"{model.capture.name}: a frame would leave beyond the year 2106: no pcap file has its time"
                    )
                writer.write(at, frame)
        result = model.result()
        if table:
            table.write((json.dumps(result, indent=2) + "\n").encode())
    return result, model.intake.notes()

"""Replays a capture through a core."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

import weir
from weir import trace_csv
from weir.ctl import text

from . import plot, progress, trace
from .core import Core
from .errors import IdentityError, out_of_range
from .files import Outputs
from .intake import Intake
from .jumbo.packet import JumboFormat
from .jumbo.wire import Malformed, dissect
from .native import ModelError
from .pace import LATE_NS, model_time
from .pcap import BEYOND, Capture, CaptureError, Packet, PcapWriter, read_capture

LINE_RATE = 10e9
"""bit/s of both sides of the core"""
CHUNK = 256
"""packets that are handled at a time"""
STEP_NS = {True: 1_000_000_000, False: 1_000_000}
"""simulated time between two looks at the progress, and at Ctrl-C, with and without skipping of idle time"""
SETTLE_NS = 1000
"""time between the configuration and the first packet"""
DROPS = ("early", "forced", "overflow", "front", "partial", "bad", "oversize", "malformed", "runt", "ingress_overflow",
         "link_down", "not_ect_under_ce")  # fmt: skip
"""Causes of drop in the statistics. `forced`: the policy, certainly or at departure; `overflow`: the hard limit, the
share of cells, or no descriptor; `front`: from the head of a queue over its limit; `ingress_overflow`: no cell free while
the frame came in; `malformed`: jumbo frames, whole; `not_ect_under_ce`: packets of a jumbo frame that was marked on its way and
that do not know ECN; `partial`: packets of jumbo frames in transit that waited (MRED)."""
QUEUE_DROPS = ("early", "forced", "overflow", "front", "partial", "head_dropped", "link_down")
"""Counters of a queue's drops."""

Count = dict[str, int]


@dataclass(frozen=True)
class Options:
    """What a replay does. Values of `settings` are texts as `tc` takes them; libweir reads them."""

    source: Path
    target: Path
    policy: str
    settings: Mapping[str, str] = field(default_factory=dict)
    link_rate: float = LINE_RATE
    speedup: float = 1.0
    seed: int = 1
    stats: Path | None = None
    trace: Path | None = None
    plot: Path | None = None
    wave: Path | None = None
    preset: str = "full"
    skip: bool = True
    jumbo: str = "opaque"
    merge: str = "off"
    form: str = "l2"
    """of the jumbo frames that are built"""
    max_bytes: int = 0
    max_sum: int = 0
    max_count: int = 0
    jfet: str = "100us"
    spacing: str = ""
    """how long packets that are split may wait for their spacing; empty: they do not"""
    mred: tuple[float, float] | None = None
    """shares of packets that a jumbo frame in transit loses at min and at max; None: what RED selects goes as a whole"""
    match: Mapping[int, tuple[str, int | str]] = field(default_factory=dict)
    match_default: int | str = 0
    reorder: bool = False
    """put the packets in the order of their times first"""


@dataclass
class Result:
    """What a replay found. `stats` is what the statistics file holds."""

    stats: dict[str, Any]
    notes: list[str]


@dataclass
class _Tally:
    """Counts made from frames and trace records alone, without the core's registers."""

    sent: Count = field(default_factory=lambda: {"packets": 0, "bytes": 0})
    received: Count = field(default_factory=lambda: {"packets": 0, "bytes": 0})
    marked: Count = field(default_factory=lambda: {"packets": 0, "bytes": 0})
    dropped: dict[str, Count] = field(
        default_factory=lambda: {
            name: {"packets": 0, "bytes": 0} for name in ("early", "forced", "overflow", "front", "partial")
        }
    )
    sojourns: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    together: set[int] = field(default_factory=set)
    """jumbo frames in transit that were marked when they came"""
    unpacked: Count | None = None
    """packets of the frames that were received; None if jumbo frames may have come in"""

    def add(self, records: trace.Records) -> None:
        arrival, departure = records["kind"] == trace.ARRIVAL, records["kind"] == trace.DEPARTURE
        lengths = records["length"].astype(np.int64)
        # in a record of departure, a cause of the policy says that it did this there, and not at the arrival
        dropped, cause = records["action"] == trace.DROP, records["cause"]
        by_policy = (cause == trace.EARLY) | (cause == trace.FORCED)
        in_place = departure & (cause == trace.PARTIAL)
        # a jumbo frame in transit is one arrival; which of its packets were marked shows when they leave
        together = records["packets"] > 0
        packets = np.maximum(records["packets"].astype(np.int64), 1)
        marks = records["action"] == trace.MARK
        self.together.update(records["seq"][arrival & marks & together].tolist())
        late = departure & (records["marked"] == 1) & ~by_policy & ~in_place
        late &= np.isin(records["seq"], list(self.together))
        cases = {
            "marked": (arrival & ~together | departure & by_policy | in_place) & marks | late,
            "early": arrival & dropped & (cause == trace.EARLY),
            "forced": arrival & dropped & (cause == trace.FORCED) | departure & dropped & by_policy,
            "overflow": arrival & dropped & (cause == trace.OVERFLOW),
            "front": departure & dropped & (cause == trace.FRONT),
            "partial": departure & dropped & (cause == trace.PARTIAL),
        }
        for name, chosen in cases.items():
            count = self.marked if name == "marked" else self.dropped[name]
            count["packets"] += int(packets[chosen].sum())
            count["bytes"] += int(lengths[chosen].sum())
        left = departure & ~dropped
        self.sojourns.append(records["sojourn_ns"][left])


def _count(value: weir.Count) -> Count:
    return {"packets": value.packets, "bytes": value.bytes}


def _sum(counts: list[Count]) -> Count:
    return {key: sum(c[key] for c in counts) for key in ("packets", "bytes")}


def _delay(sojourns: list[npt.NDArray[np.uint64]]) -> dict[str, float]:
    """Mean and nearest-rank percentiles of the sojourn times."""
    all_ns = np.sort(np.concatenate(sojourns)) if sojourns else np.empty(0, np.uint64)
    if not len(all_ns):
        return {"packets": 0, "mean_ns": 0.0, "p50_ns": 0, "p99_ns": 0, "max_ns": 0}

    def rank(share: float) -> int:
        return int(all_ns[max(int(np.ceil(share * len(all_ns))) - 1, 0)])

    return {
        "packets": len(all_ns), "mean_ns": round(float(all_ns.mean()), 3), "p50_ns": rank(0.5), "p99_ns": rank(0.99),
        "max_ns": int(all_ns[-1]),
    }  # fmt: skip


def _check_identity(stats: dict[str, Any], tally: _Tally, core: Core) -> None:
    """Every packet and byte is accounted for, by the registers, by the frames, and in both the same."""
    dropped = _sum(list(stats["dropped"].values()))
    seen = core.stats()
    for key in ("packets", "bytes"):
        rx, tx, out = stats["rx"][key], stats["tx"][key], tally.received[key]
        checks = {
            f"rx {rx} = tx {tx} + dropped {dropped[key]}": rx == tx + dropped[key],
            f"rx_frames {stats['rx_frames'][key]} = sent {tally.sent[key]}": stats["rx_frames"][key] == tally.sent[key],
            f"tx_frames {stats['tx_frames'][key]} = received {out}": stats["tx_frames"][key] == out,
            f"marked {stats['marked'][key]} = traced {tally.marked[key]}": stats["marked"][key] == tally.marked[key],
        }
        if tally.unpacked is not None:
            checks[f"tx {tx} = packets in what was received {tally.unpacked[key]}"] = tx == tally.unpacked[key]
        for q in stats["queues"]:
            gone = q["out"][key] + sum(q[name][key] for name in QUEUE_DROPS)
            checks[f"queue {q['queue']}: in {q['in'][key]} = out + dropped {gone}"] = q["in"][key] == gone
        for name, count in tally.dropped.items():
            counted = stats["dropped"][name][key]
            checks[f"dropped.{name} {counted} = traced {count[key]}"] = counted == count[key]
        for claim, holds in checks.items():
            if not holds:
                raise IdentityError(f"{key} do not add up: {claim} does not hold")
    if seen.frames_in != stats["rx_frames"]["packets"] or core.ingress_stalls or core.underruns:
        raise IdentityError(
            f"ports: {seen.frames_in} frames in, {core.ingress_stalls} beats refused, {core.underruns} gaps in frames"
        )


def _statistics(core: Core, tally: _Tally) -> dict[str, Any]:
    """The part of the statistics that comes from the core's counters."""
    now = core.stats()
    queues = []
    for number, q in enumerate(now.queues):
        queues.append({
            "queue": number,
            "in": _sum([_count(c) for c in (q.in_not_ect, q.in_ect0, q.in_ect1, q.in_ce)]),
            "in_not_ect": _count(q.in_not_ect), "in_ect0": _count(q.in_ect0), "in_ect1": _count(q.in_ect1),
            "in_ce": _count(q.in_ce), "early": _count(q.early), "forced": _count(q.forced),
            "overflow": _count(q.overflow), "marked": _count(q.marked), "already_ce": _count(q.already_ce),
            "nodrop": _count(q.nodrop), "head_already_ce": _count(q.head_already_ce),
            "out": _count(q.out), "link_down": _count(q.link_down), "front": _count(q.front), "partial": _count(q.partial),
            "head_dropped": _count(q.head_dropped), "head_marked": _count(q.head_marked), "sojourn_log2_ns": list(q.sojourn),
        })  # fmt: skip
    dropped = {name: {"packets": 0, "bytes": 0} for name in DROPS}

    def of_queues(*names: str) -> Count:
        return _sum([q[name] for q in queues for name in names])  # type: ignore[misc]

    for name in ("early", "overflow", "front", "partial", "link_down"):
        dropped[name] = of_queues(name)
    dropped["forced"] = of_queues("forced", "head_dropped")
    for name in ("bad", "oversize", "runt", "ingress_overflow", "malformed"):
        dropped[name] = _count(getattr(now.core, name))
    dropped["not_ect_under_ce"] = _count(now.core.split_discarded)
    return {
        "rx": _count(now.core.rx), "tx": _count(now.core.tx), "rx_frames": _count(now.core.rx_wire),
        "tx_frames": _count(now.core.tx_wire), "jumbo_in": _count(now.core.jumbo_in), "jumbo_out": _count(now.core.jumbo_out),
        "merged": _count(now.core.merged), "evicted": now.core.evicted, "hurried": now.core.hurried, "marked": of_queues("marked", "head_marked"),
        "dropped": dropped, "delay": _delay(tally.sojourns), "queues": queues, "throttled_ns": now.core.throttled_ns,
    }  # fmt: skip


def _inside(frame: bytes, form: JumboFormat) -> tuple[int, int]:
    """Packets in a frame, and the bytes of their own frames; (0, 0) if it is a jumbo frame that does not say the truth."""
    try:
        jumbo = dissect(frame, form)
    except Malformed:
        return 0, 0
    if jumbo is None:
        return 1, len(frame)
    header = len(jumbo.ethernet) + 2
    return len(jumbo.packets), sum(header + len(packet) for packet in jumbo.packets)


class Replay:
    """One replay, from the options to the result."""

    def __init__(self, options: Options, capture: Capture, wave: Path | None) -> None:
        self.options = options
        self.form = JumboFormat(l3=options.form == "l3")
        self.capture = capture
        self.intake = Intake(
            capture, options.reorder, None if options.jumbo == "opaque" else self.form, options.merge != "off"
        )
        if not 64e3 <= options.link_rate <= LINE_RATE:
            raise out_of_range("--link-rate", text.rate(options.link_rate), "64kbit to 10Gbit")
        self.core = Core(options.preset, wave=wave, egress="mac", skip=options.skip)
        device = self.core.device
        device.seed(options.seed)
        if options.link_rate < LINE_RATE:
            device.shape(rate=options.link_rate)
        device.jumbo(options.jumbo, form=options.form, spacing=options.spacing or 0)
        self.config = device.queue_replace(0, policy=options.policy, **options.settings)
        self.mred = device.mred(0, *options.mred) if options.mred else None
        device.match(options.match, options.match_default)
        self.merge = device.merge(0, options.merge, options.max_bytes, options.max_sum, options.max_count, options.jfet)
        device.trace_enable()
        self.start_ns = self.core.now_ns + SETTLE_NS
        self.first_ns = 0
        self.late_ns = 0
        self.tally = _Tally()
        if options.merge != "off" or options.jumbo == "transit":
            self.tally.unpacked = {"packets": 0, "bytes": 0}
        unit = trace_csv.UNITS.index(str(self.config["unit"]))
        self.queues = {0: (trace_csv.POLICIES.index(str(self.config["policy"])), unit)}
        self.history = plot.History(0, unit)

    def model_time(self, capture_ns: int) -> int:
        """When a packet captured at `capture_ns` reaches the core; CaptureError if its clock does not go so far."""
        return model_time(self.capture.name, capture_ns - self.first_ns, self.options.speedup, self.start_ns)

    def send(self, packets: list[Packet]) -> int:
        """Puts packets on the line; answers the time of the last."""
        data = bytearray()
        for packet in packets:
            opaque = self.options.jumbo != "transit" and self.tally.unpacked is not None
            if opaque and _inside(packet.data, self.form)[0] != 1:
                self.tally.unpacked = None
            data += packet.data
        times = [self.model_time(packet.time_ns) for packet in packets]
        self.core.send_many(data, [packet.length for packet in packets], times)
        self.tally.sent["packets"] += len(packets)
        self.tally.sent["bytes"] += len(data)
        self.late_ns = max(self.late_ns, self.core.line_free_ns - times[-1])
        return times[-1]

    def until(self, ns: int) -> Iterator[float]:
        """Runs to a time in steps; answers after each how much of the way is done."""
        begin = self.core.now_ns
        while self.core.now_ns < ns:
            self.core.run_until(min(ns, self.core.now_ns + STEP_NS[self.options.skip]))
            yield (self.core.now_ns - begin) / (ns - begin)

    def until_idle(self) -> Iterator[None]:
        """Runs in steps until all has left or was dropped."""
        before = -1
        while not self.core.run_idle(self.core.now_ns + STEP_NS[self.options.skip]):
            if self.core.now_ns == before:
                raise ModelError("the core does not become idle")
            before = self.core.now_ns
            yield

    def collect(self, writer: PcapWriter, csv: Callable[[trace.Records], None] | None) -> None:
        """Takes what the core has put out."""
        many = self.core.recv_many()
        shift = self.first_ns - self.start_ns
        view = memoryview(many.data.tobytes())
        offset = 0
        for length, ns in zip(many.lengths.tolist(), many.first_ns.tolist(), strict=True):
            frame = view[offset : offset + length]
            writer.write(ns + shift, frame)
            offset += length
            if self.tally.unpacked is not None:
                packets, size = _inside(bytes(frame), self.form)
                self.tally.unpacked["packets"] += packets
                self.tally.unpacked["bytes"] += size
        self.tally.received["packets"] += len(many.lengths)
        self.tally.received["bytes"] += offset
        records = self.core.trace()
        self.tally.add(records)
        if self.options.plot:
            self.history.add(records)
        if csv:
            shifted = records.copy()
            # a policy's tick may come before the first packet
            shifted["time_ns"] = np.maximum(shifted["time_ns"], np.uint64(self.start_ns)) - np.uint64(self.start_ns)
            trace.tell_policies(shifted, self.queues)
            csv(shifted)

    def run(self, outputs: Outputs) -> None:
        """Reads, sends and collects everything."""
        options = self.options
        chunk = list(islice(self.intake, CHUNK))
        self.first_ns = chunk[0].time_ns
        if not 0 <= self.first_ns < 10**9 << 32:
            when = "before 1970" if self.first_ns < 0 else BEYOND
            raise CaptureError(f"{self.capture.name}: the time of the first packet is {when}, which pcap cannot say")
        writer = PcapWriter(outputs.open(options.target))
        csv = None
        if options.trace:
            file = outputs.open(options.trace)
            trace.write_csv_header(file)

            def csv(records: trace.Records) -> None:
                trace.write_csv(file, records)

        done = 0
        with progress.of_bytes(self.capture.size) as bar:
            while chunk:
                last, ahead = self.send(chunk), self.capture.position
                for share in self.until(last):
                    bar.update(done + int(share * (ahead - done)) - bar.n)
                done = ahead
                self.collect(writer, csv)
                chunk = list(islice(self.intake, CHUNK))
            for _ in self.until_idle():
                bar.update(0)
            self.collect(writer, csv)

    def result(self) -> Result:
        """Statistics and notes; IdentityError if they do not add up."""
        options = self.options
        stats: dict[str, Any] = {
            "source": options.source.name,
            "policy": options.policy,
            "set": dict(options.settings),
            "link_rate": options.link_rate,
            "speedup": options.speedup,
            "seed": options.seed,
            "preset": options.preset,
            "merge": options.merge,
            **({"merge_limits": self.merge | {"form": options.form}} if options.merge != "off" else {}),
            "jumbo": options.jumbo,
            **({"mred": self.mred} if self.mred else {}),
            "snapped": self.intake.cut,
            "snapped_opaque": self.intake.opaque,
            "duration_ns": self.core.now_ns - self.start_ns,
            "cycles": self.core.cycles,
            "cycles_evaluated": self.core.evaluated,
            **_statistics(self.core, self.tally),
        }
        _check_identity(stats, self.tally, self.core)
        stats["identity"] = "rx = tx + dropped, in packets and bytes, by registers and by frames"
        notes = self.intake.notes()
        if self.late_ns > LATE_NS:
            notes.append(
                f"the 10 Gbit/s line into the core was full: packets came up to {self.late_ns / 1e6:.1f} ms late"
            )
        return Result(stats, notes)

    def draw(self, file: BinaryIO, kind: str) -> None:
        """Writes the plot."""
        rate = self.options.link_rate
        title = f"{self.options.policy} into {text.rate(rate)}/s: {self.options.source.name}"
        subtitle = "   ".join(f"{key} {value}" for key, value in self.options.settings.items())
        thresholds: list[tuple[str, float]] = []
        policy = str(self.config["policy"])
        for name in ("min", "max", "threshold"):
            if name in self.config:
                thresholds.append((name, float(self.config[name])))
        if "qopt" in self.config and self.history.unit == 0:
            thresholds.append(("qopt", float(self.config["qopt"])))
        limit = "limit_bytes" if self.history.unit == 0 else "limit_packets"
        if {"limit", limit} & set(self.options.settings):
            thresholds.append(("limit", float(self.config[limit])))
        shown = weir.policy_of(policy).plot
        plot.draw(
            file, self.history, title, subtitle, thresholds, shown == "average", plot.below(shown, self.config), kind
        )


def replay(options: Options, capture: Capture | None = None) -> Result:
    """Replays a capture and writes the files that `options` asks for: all of them, or on any error none.

    Args:
        options: what is done.
        capture: what was opened from `options.source` and not read from yet; None: it is opened here.

    Raises:
        CaptureError: the capture cannot be read.
        weir.WeirError: a parameter is refused.
        UsageError: the link rate is out of range.
        IdentityError: packets are unaccounted for.
        ModelError: the cycle model is not built.
    """
    capture = capture or read_capture(options.source)  # told before anything is started if it cannot be read
    with Outputs() as outputs:
        # all of them now: what cannot be written is told before the run, not after it
        stats = outputs.open(options.stats) if options.stats else None
        picture = outputs.open(options.plot) if options.plot else None
        run = Replay(options, capture, outputs.path(options.wave) if options.wave else None)
        run.run(outputs)
        if options.wave:
            run.core.end_wave()
        result = run.result()
        if stats:
            stats.write((json.dumps(result.stats, indent=2) + "\n").encode())
        if picture and options.plot:
            run.draw(picture, plot.kind(options.plot))
    return result

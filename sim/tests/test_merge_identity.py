"""Merged by one core and split by another, every flow is what it was: WEIR_SOAK=<seconds> goes on with further traffic."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from captures import EPOCH_NS, pcap
from jumbo_frames import MACS, TAG, TAGS, ipv4, ipv6, spread
from jumbo_frames import traffic as mixed_traffic
from weir_sim.cli import main
from weir_sim.core import Core
from weir_sim.jumbo.packet import JumboFormat
from weir_sim.jumbo.wire import dissect
from weir_sim.pcap import read_capture
from weir_sim.replay import Options, replay

CAPTURE = Path(__file__).parents[1] / "demo" / "capture.pcap"
SOAK = int(os.environ.get("WEIR_SOAK", "0"))
LEAST_TOGETHER = 0.2
"""share of the packets of each kind of traffic that travel in jumbo frames"""
CASES = 4
"""of the test that goes on for WEIR_SOAK seconds in all"""
ROUNDS = 14
"""with random traffic, without WEIR_SOAK"""
PASSES = 4
"""of the same traffic through cores with other settings, with WEIR_SOAK"""
MATCHES: tuple[tuple[str, int | str], ...] = (
    ("10.0.1.2/32", 3),
    ("fd00:2::/32", 15),
    ("10.0.2.0&255.0.255.0", 3),
    ("10.0.3.0/24", "bypass"),
    ("10.0.0.0/16", 7),
    ("fd00::/16", 0),
)
"""rules for the destinations of `spread`: two networks in one class, others alone, one that is never merged"""
EDGES = (20, 21, 27, 28, 29, 35, 36, 49, 50, 51, 52, 113, 114, 115, 576, 1500, 4470, 4474, 4478, 8936, 8940, 8960, 9194)
"""lengths at which something changes: the shortest, what fills one cell, two cells, a jumbo frame, half of one"""


def most(l3: bool) -> int:
    """Packets of the largest jumbo frame: 9216 bytes with 20 a packet and 4 for its entry."""
    return (9216 - 14 - 20 * l3 - 6) // 24


EXTENSIONS = (0, 43, 44, 50, 51, 60, 135, 139, 140)


@dataclass(frozen=True)
class Known:
    """What the bytes of a frame tell an observer; nothing here is shared with what merges."""

    place: bytes
    """addresses, and the queue"""
    flow: bytes | None
    """protocol and ports, wherever the IP length says that the packet ends; None behind what hides them"""
    protocol: int


def seen(frame: bytes) -> Known | None:
    """A frame's flow; None if it is not IP."""
    at = 12
    while at < 20 and frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    kind, ip = frame[at : at + 2], frame[at + 2 :]
    if kind == b"\x08\x00" and ip and ip[0] >> 4 == 4 and 20 <= 4 * (ip[0] & 15) <= len(ip):
        place, hidden = ip[12:20] + bytes([ip[1] >> 2 & 3]), ip[0] != 0x45 or ip[6] & 31 or ip[7]
        protocol, ports = ip[9], ip[20:24]
    elif kind == b"\x86\xdd" and len(ip) >= 40 and ip[0] >> 4 == 6:
        place, hidden = ip[8:40] + bytes([ip[1] >> 6]), ip[6] in EXTENSIONS
        protocol, ports = ip[6], ip[40:44]
    else:
        return None
    ported = protocol in (6, 17) and len(ports) == 4
    return Known(place, None if hidden else bytes([protocol]) + ports * ported, protocol)


def orders(frames: Sequence[bytes], known: dict[bytes, Known | None] | None = None) -> dict[object, list[bytes]]:
    """What must stay in order: the frames of each flow in its queue, those among them whose ports are not known; and what is not IP.

    A later fragment, or a packet behind options, may be of any flow between its addresses: it is in the list of each. `known` keeps what
    has been seen, for the next time.
    """
    known = {} if known is None else known
    for frame in frames:
        if frame not in known:
            known[frame] = seen(frame)
    rows = [(frame, known[frame]) for frame in frames]
    flows: dict[bytes, set[bytes | None]] = {}
    for _, k in rows:
        if k:
            flows.setdefault(k.place, set()).add(k.flow)
    found: dict[object, list[bytes]] = {}
    for frame, k in rows:
        for flow in (flows[k.place] if k.flow is None else [k.flow]) if k else [None]:
            found.setdefault((k and k.place, flow), []).append(frame)
    return found


def pieces(frames: Sequence[bytes], packets: Sequence[int], cells: int) -> Iterator[slice]:
    """Runs of frames that need at most so many cells, when each holds so many packets."""
    start = held = 0
    for n, frame in enumerate(frames):
        need = len(frame) // 64 + packets[n] + 1
        if held + need > cells:
            yield slice(start, n)
            start, held = n, 0
        held += need
    yield slice(start, len(frames))


def merger(rng: random.Random, l3: bool, mode: str, rates: Sequence[str]) -> Core:
    """A core that merges in all its queues, with limits and times of chance (queue 0, where most kinds of traffic are, has time
    to merge); `mode` class: most of its queues by class."""
    core = Core(egress="mac", line="raw")
    device = core.device
    device.jumbo("opaque", form="l3" if l3 else "l2")
    device.dscp_map([d % 4 for d in range(64)])
    if mode == "class":
        device.match(
            {n: rule for n, rule in enumerate(MATCHES) if rng.random() < 0.9}, rng.choice((0, 0, 5, 5, "bypass"))
        )
    for queue in range(4):
        device.queue_replace(queue, "drop-tail")
        how = rng.choice(("flow", "class", "class", "class")) if mode == "class" else "flow"
        device.merge(queue, how, rng.choice((0, 0, 1500, 4000)), rng.choice((0, 0, 3000)), rng.choice((0, 0, 6)),
                     rng.choice(("20us", "200us", "1ns") if queue else ("20us", "200us")))  # fmt: skip
    device.shape(rng.choice(rates))
    core.keep(trace=False)
    return core


def merged(core: Core, frames: list[bytes]) -> list[bytes]:
    """What leaves a core that merges."""
    cells = core.device.capabilities.cells
    out = []
    for piece in pieces(frames, [0] * len(frames), cells // 2 - 100):
        # as much as fits into the buffer: nothing may be lost
        while core.pending or core.device.core_live().free_cells < cells // 2:
            core.run_until(core.now_ns + 20_000)
        some = frames[piece]
        core.send_many(b"".join(some), [len(f) for f in some], [core.now_ns + 1000] * len(some))
        out += [f.data for f in core.recv()]
    core.run_idle()
    out += [f.data for f in core.recv()]
    stats = core.stats().core
    assert stats.tx.packets == len(frames) and core.underruns == core.ingress_stalls == 0
    return out


def split(core: Core, frames: list[bytes], packets: list[int]) -> list[bytes]:
    """What leaves a core that splits: at line rate, but where short packets need more than their time on the line."""
    core.device.jumbo("split")
    core.keep(trace=False)
    out: list[bytes] = []
    for piece in pieces(frames, packets, core.device.capabilities.cells // 2):
        at, times = core.now_ns + 500, []
        for frame, count in zip(frames[piece], packets[piece], strict=True):
            times.append(at)
            at += 33 * (count + 1) if len(frame) < 50 * count else 0
        core.send_many(b"".join(frames[piece]), [len(f) for f in frames[piece]], times)
        core.run_idle()
        out += [f.data for f in core.recv()]
    assert core.underruns == core.ingress_stalls == 0 and core.stats().core.malformed.packets == 0
    return out


class Traffic:
    """Frames, and the orders that they must keep."""

    def __init__(self, frames: list[bytes]) -> None:
        self.frames = frames
        self.known: dict[bytes, Known | None] = {}
        self.expected = orders(frames, self.known)


@dataclass
class Total:
    """What has been compared."""

    packets: int = 0
    frames: int = 0
    """between the cores"""
    sizes: Counter[int] = field(default_factory=Counter)
    """frames between the cores by their packets"""
    cycles: int = 0
    """of both cores, without those that were skipped"""
    inner: Counter[str] = field(default_factory=Counter)
    """packets in jumbo frames behind tags, and of IPv6"""

    def __add__(self, other: Total) -> Total:
        return Total(self.packets + other.packets, self.frames + other.frames, self.sizes + other.sizes,
                     self.cycles + other.cycles, self.inner + other.inner)  # fmt: skip

    @property
    def together(self) -> float:
        """Share of the packets that travelled in jumbo frames."""
        return sum(size * times for size, times in self.sizes.items() if size > 1) / self.packets

    def __str__(self) -> str:
        return (
            f"{self.packets} packets in {self.frames} frames: merge factor {self.packets / self.frames:.2f}, {self.together:.1%} "
            f"in jumbo frames, {len(self.sizes)} sizes up to {max(self.sizes)}; {self.cycles / 1e6:.0f} million cycles"
        )

    def compare(self, core: Core, traffic: Traffic, between: list[bytes], l3: bool, name: str) -> None:
        """Splits what left the core that merged, and compares flow by flow, byte for byte."""
        form = JumboFormat(l3=l3)
        jumbos = [dissect(frame, form) for frame in between]
        counts = [len(jumbo.packets) if jumbo else 1 for jumbo in jumbos]
        for jumbo in filter(None, jumbos):
            self.inner["tagged"] += len(jumbo.packets) * (len(jumbo.ethernet) > 12)
            self.inner["IPv6"] += sum(ip[0] >> 4 == 6 for ip in jumbo.packets)
        splitter = Core(egress="ready", line="10gbe")
        assert orders(split(splitter, between, counts), traffic.known) == traffic.expected, name
        self.packets += len(traffic.frames)
        self.frames += len(between)
        self.sizes.update(counts)
        self.cycles += core.evaluated + splitter.evaluated


def every_size(total: Total, l3: bool, mode: str) -> None:
    """MAX_COUNT from 2 up to what a frame can hold, with one flow that waits: groups of exactly that many."""
    core = Core(egress="stopped", line="raw")
    core.keep(trace=False)
    core.device.jumbo("opaque", form="l3" if l3 else "l2")
    frames: list[bytes] = []
    between: list[bytes] = []
    for size in range(2, most(l3) + 1):
        core.device.merge(0, mode, max_count=size, jfet="100us")
        # what leaves before a group is full: by flow many groups, by class, where they wait for their time, next to nothing
        ahead = 600 if mode == "flow" else 60
        some = [ipv4(20, 0, number=len(frames) + n) for n in range(size + ahead)]
        core.egress = "stopped"
        core.send_many(b"".join(some), [34] * len(some), [core.now_ns + 500] * len(some))
        core.run_until(core.line_free_ns + 3000)
        core.egress = "ready"
        core.run_idle()
        left = [f.data for f in core.recv()]
        jumbo = dissect(max(left, key=len), JumboFormat(l3=l3))
        assert jumbo and len(jumbo.packets) == size, (size, jumbo)
        frames += some
        between += left
    assert core.underruns == core.ingress_stalls == 0
    total.compare(core, Traffic(frames), between, l3, "every size")


# ---- traffic; none of it is of the jumbo protocol, which a splitter takes for malformed jumbo frames


def _jumbo_protocol(frame: bytes) -> bool:
    known = seen(frame)
    return known is not None and len(known.place) == 9 and known.protocol == 253


def _same(rng: random.Random, count: int) -> list[bytes]:
    """One flow of minimum frames."""
    return [ipv4(46, 0, number=n) for n in range(count)]


def _several(rng: random.Random, count: int) -> list[bytes]:
    """Many flows of a few lengths."""
    flows = rng.randrange(2, 60)
    return [
        ipv4(rng.choice((20, 28, 46, 576)), rng.randrange(flows), ecn=rng.randrange(4), number=n) for n in range(count)
    ]


def _mixed(rng: random.Random, count: int) -> list[bytes]:
    """Tags, IPv6, fragments, options, trailers, protocols, what is not IP."""
    frames = [
        frame for _, frame in mixed_traffic(rng, count, longest=rng.choice((100, 1500)), sixes=rng.choice((0.0, 0.4)))
    ]
    return [f for f in frames if not _jumbo_protocol(f)]


def _edges(rng: random.Random, count: int) -> list[bytes]:
    """Lengths at which a packet takes another cell, or a jumbo frame is full, behind any tags."""
    flows = [(n, rng.choice(TAGS), rng.random() < 0.3) for n in range(rng.randrange(1, 5))]
    lengths = rng.sample(EDGES, rng.randrange(2, 9))
    frames = []
    for number in range(count // 4):  # long ones take long
        flow, tags, six = rng.choice(flows)
        length = rng.choice(lengths) if rng.random() < 0.9 else rng.randrange(20, 120)
        make = ipv6 if six else ipv4
        frames.append(make(max(length, 40 if six else 20), flow, number=number, tags=tags))
    return frames


def _fragments(rng: random.Random, count: int) -> list[bytes]:
    """Datagrams in fragments, IPv4 and IPv6 (a header of 8 bytes), between whole packets of the same flows."""
    frames, number = [], 0
    while len(frames) < count:
        flow, six, number = rng.randrange(4), rng.random() < 0.2, number + 1
        if rng.random() < 0.95:
            frames.append((ipv6 if six else ipv4)(rng.randrange(60, 200), flow, number=number))
            continue
        for part in range(rng.randrange(2, 5)):
            if six:
                frames.append(ipv6(rng.randrange(60, 200), flow, number=number + part, protocol=44))
            else:
                frames.append(ipv4(200, flow, number=number, fragment=0x2000 + 23 * part))
    return frames


def _lies(rng: random.Random, count: int) -> list[bytes]:
    """Frames that are not what they look like: lengths that disagree, a third tag, headers cut off, the jumbo EtherType inside."""
    frames = []
    for number in range(count):
        frame = ipv4(rng.randrange(40, 300), rng.randrange(3), number=number)
        odd = rng.randrange(120)
        if odd == 0:
            frame = ipv4(60, 1, number=number, claimed=rng.choice((0, 19, 59, 61, 65535)))
        elif odd == 1:
            frame = ipv6(80, 1, number=number, claimed=rng.choice((40, 79, 81, 65535)))
        elif odd == 2:
            frame = ipv4(60, 1, number=number, tags=3 * TAG)
        elif odd == 3:
            frame = frame[: rng.randrange(14, 34)]
        elif odd == 4:
            frame = MACS + rng.choice((b"\x08\x00", b"\x86\xdd")) + rng.randbytes(rng.randrange(3, 90))
        elif odd == 5:
            frame = ipv4(60, 1, number=number)[:38] + b"\x88\xb5\x00\x02" * 9
        frames.append(frame)
    return [f for f in frames if not _jumbo_protocol(f)]


KINDS: tuple[Callable[[random.Random, int], list[bytes]], ...] = (
    _same,
    _several,
    _mixed,
    _mixed,
    _edges,
    _fragments,
    _lies,
)


def one_round(kinds: dict[str, Total], seed: int, l3: bool, mode: str, merges: bool = True) -> None:
    """Traffic of a kind through cores with settings of chance, and back; without `merges` the first core has merging off."""
    rng = random.Random(f"identity {l3} {mode} {seed}")
    kind = KINDS[seed % len(KINDS)]
    frames = kind(rng, 20_000 if SOAK else 2000)
    if mode == "class":
        frames = [spread(frame) for frame in frames]
    short = sum(map(len, frames)) < 200 * len(frames)
    traffic = Traffic(frames)
    total = kinds.setdefault(kind.__name__.removeprefix("_"), Total())
    for _ in range(PASSES if SOAK else 1):
        core = merger(rng, l3, mode, ("2Gbit", "8Gbit", "9Gbit") if short else ("8Gbit", "9Gbit"))
        for queue in () if merges else range(4):
            core.device.merge(queue, "off")
        total.compare(core, traffic, merged(core, frames), l3, f"seed {seed}")


def enough_travelled_together(kinds: dict[str, Total], l3: bool) -> Total:
    """At least half of the packets of random traffic in jumbo frames, some of every kind; returns the sum."""
    total = sum(kinds.values(), Total())
    assert total.together >= 0.5, str(total)
    for name, of_kind in kinds.items():
        assert of_kind.together >= LEAST_TOGETHER, f"{name}: {of_kind}"
    assert total.inner["tagged"] >= total.packets / 100, total.inner
    assert l3 or total.inner["IPv6"] >= total.packets / 100, total.inner
    return total


@pytest.mark.timeout(600 + SOAK)
@pytest.mark.parametrize("mode", ["flow", "class"])
@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
def test_merge_then_split_is_the_identity(l3: bool, mode: str, record_property: Callable[[str, object], None]) -> None:
    """Random traffic of every kind, merged and split, is what it was; what travelled together is told, and is enough."""
    end, seed, kinds = time.process_time() + SOAK / CASES, 0, dict[str, Total]()
    while seed < ROUNDS or time.process_time() < end:
        one_round(kinds, seed, l3, mode)
        seed += 1
        if SOAK:
            print(f"{'l3' if l3 else 'l2'} {mode}, seeds 0 to {seed - 1}: {sum(kinds.values(), Total())}", flush=True)
    shares = ", ".join(f"{name} {total.together:.0%}" for name, total in kinds.items())
    record_property("summary", f"seeds 0 to {seed - 1}: {enough_travelled_together(kinds, l3)}; together: {shares}")


@pytest.mark.parametrize("mode", ["flow", "class"])
@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
def test_groups_of_every_size_are_split_again(
    l3: bool, mode: str, record_property: Callable[[str, object], None]
) -> None:
    """From 2 packets up to what a jumbo frame can hold."""
    total = Total()
    every_size(total, l3, mode)
    record_property("summary", str(total))
    assert set(total.sizes) >= set(range(2, most(l3) + 1))


@pytest.mark.parametrize("mode", ["flow", "class"])
def test_a_core_that_never_merges_is_found_out(mode: str) -> None:
    """It loses nothing and keeps every order; but it is not what the identity is about."""
    kinds: dict[str, Total] = {}
    for seed in range(len(KINDS)):
        one_round(kinds, seed, False, mode, merges=False)
    assert all(total.sizes.keys() == {1} for total in kinds.values())
    with pytest.raises(AssertionError, match="merge factor 1.00, 0.0% in jumbo frames"):
        enough_travelled_together(kinds, False)


@pytest.mark.parametrize("length", [0, 20, 23])
@pytest.mark.parametrize("make", [ipv4, ipv6])
def test_a_packet_whose_length_hides_its_ports_keeps_its_place(make: Callable[..., bytes], length: int) -> None:
    """The ports of such a packet are there for all who look; captures of hosts with segmentation offload have lengths of 0."""
    claimed = length if make is ipv4 else 40 + length // 8
    frames = [make(100, number=n, claimed=claimed if n == 5 else None) for n in range(10)]
    core = Core(egress="stopped", line="raw")
    core.device.merge(0, "flow")
    core.send_many(b"".join(frames), [len(f) for f in frames], [core.now_ns + 500] * 10)
    core.run_until(core.line_free_ns + 3000)
    core.egress = "ready"
    core.run_idle()
    left = [f.data for f in core.recv()]
    sizes = [len(jumbo.packets) if (jumbo := dissect(f)) else 1 for f in left]
    # the first ones were on their way before anything waited
    assert sizes[-2:] == [1, 4] and sizes[-3] > 1 and sum(sizes) == 10
    assert split(Core(egress="ready", line="10gbe"), left, sizes) == frames


@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
@pytest.mark.parametrize("mode", ["flow", "class"])
def test_a_capture_of_real_traffic(tmp_path: Path, l3: bool, mode: str) -> None:
    """weir-sim replay --merge flow or class, then --split: flow by flow byte for byte; the statistics add up."""
    middle, out = tmp_path / "merged.pcap", tmp_path / "split.pcap"
    options = Options(CAPTURE, middle, "drop-tail", {}, 1e9, 150.0, merge=mode, form="l3" if l3 else "l2", jfet="100us")
    stats = replay(options).stats
    again = replay(Options(middle, out, "drop-tail", jumbo="split")).stats
    before, after = ([p.data for p in read_capture(path)] for path in (CAPTURE, out))
    assert orders(before) == orders(after)
    assert stats["jumbo_out"]["packets"] == again["jumbo_in"]["packets"] > 50
    assert stats["tx"] == again["tx"] and stats["tx_frames"] == again["rx_frames"]
    assert stats["merged"]["packets"] > stats["tx"]["packets"] / 2


def test_limits_hold_and_nothing_is_merged_without(tmp_path: Path) -> None:
    """No frame above the limit leaves; with merging off all frames leave as they came."""
    source, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    frames = [ipv4(200, n % 3, number=n) for n in range(600)]
    source.write_bytes(pcap([(EPOCH_NS + 100 * n, f) for n, f in enumerate(frames)]))
    replay(Options(source, out, "drop-tail", {}, 1e8, merge="flow", max_bytes=1000, max_count=3))
    sizes = [len(p.data) for p in read_capture(out)]
    assert max(sizes) <= 1000 and max(sizes) > 600
    replay(Options(source, out, "drop-tail", {}, 1e8))
    assert [p.data for p in read_capture(out)] == frames


def test_the_command_merges_by_class_lets_pass_and_splits_a_capture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """weir-sim replay --merge class --match, --transit and --split, one behind the other, on real traffic."""
    merged, passed, out = (tmp_path / f"{name}.pcap" for name in ("merged", "passed", "split"))
    steps: tuple[tuple[Path, Path, tuple[str, ...]], ...] = (
        (CAPTURE, merged, ("--link-rate", "1Gbit", "--speedup", "150", "--merge", "class", "--jfet", "100us",
                           "--match", "10.0.0.0/8=1", "--match-default", "2")),
        (merged, passed, ("--transit",)),
        (passed, out, ("--split",)),
    )  # fmt: skip
    stats = []
    for source, target, options in steps:
        told = tmp_path / f"{target.stem}.json"
        code = main(["replay", str(source), str(target), "--policy", "drop-tail", *options, "--stats", str(told)])
        assert code == 0, capsys.readouterr().err
        stats.append(json.loads(told.read_text()))
    frames = [[p.data for p in read_capture(path)] for path in (CAPTURE, merged, passed, out)]
    assert frames[1] == frames[2]
    assert orders(frames[0]) == orders(frames[3])
    built = [s["jumbo_out"]["packets"] for s in stats[:2]] + [s["jumbo_in"]["packets"] for s in stats[1:]]
    assert built == 4 * [built[0]] and built[0] > 50
    assert all(s["tx"] == stats[0]["rx"] for s in stats)
    assert stats[1]["merged"] == stats[0]["merged"] and stats[0]["merged"]["packets"] > stats[0]["tx"]["packets"] / 4

"""Merged by one core and split by another, every flow is what it was: WEIR_SOAK=<seconds> goes on with further traffic."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from captures import EPOCH_NS, pcap
from jumbo_frames import ipv4, traffic
from weir_sim.core import Core
from weir_sim.jumbo.packet import JumboFormat, parse_packet
from weir_sim.jumbo.wire import dissect
from weir_sim.pcap import read_capture
from weir_sim.replay import Options, replay

CAPTURE = Path(__file__).parents[1] / "demo" / "capture.pcap"
SOAK = int(os.environ.get("WEIR_SOAK", "0"))


def flows(frames: list[bytes]) -> dict[object, list[bytes]]:
    """Frames by flow and queue, in order; those of no flow, and those that are not IP, by themselves."""
    found: dict[object, list[bytes]] = {}
    for frame in frames:
        packet = parse_packet(frame)
        key = (packet.flow or packet.pair, packet.dscp % 4) if packet else None
        found.setdefault(key, []).append(frame)
    return found


def merged(frames: list[bytes], l3: bool, rate: str, seed: int) -> list[bytes]:
    """What leaves a core that merges in all its queues."""
    core = Core(egress="mac", line="raw")
    device = core.device
    device.jumbo("opaque", form="l3" if l3 else "l2")
    device.dscp_map([d % 4 for d in range(64)])
    rng = random.Random(seed)
    for queue in range(4):
        device.queue_replace(queue, "drop-tail")
        device.merge(queue, "flow", rng.choice((0, 0, 1500, 4000)), rng.choice((0, 0, 3000)), rng.choice((0, 0, 6)))
    device.shape(rate)
    core.keep(trace=False)
    start = core.now_ns + 1000
    room = device.capabilities.cells - 200
    sent, out = 0, []
    while sent < len(frames):
        # as much as fits into the buffer: nothing may be lost
        held, take = 0, sent
        while take < len(frames) and held < room // 2:
            held += -(-len(frames[take]) // 64)
            take += 1
        chunk = frames[sent:take]
        core.send_many(b"".join(chunk), [len(f) for f in chunk], [start] * len(chunk))
        sent = take
        while room - (device.capabilities.cells - device.core_live().free_cells) < room // 2 or core.pending:
            core.run_until(core.now_ns + 20_000)
        out += [f.data for f in core.recv()]
    core.run_idle()
    out += [f.data for f in core.recv()]
    stats = core.stats().core
    assert stats.tx.packets == len(frames) and core.underruns == core.ingress_stalls == 0
    return out


def split(frames: list[bytes]) -> list[bytes]:
    """What leaves a core that splits."""
    core = Core(egress="ready", line="10gbe")
    core.device.jumbo("split")
    core.keep(trace=False)
    out: list[bytes] = []
    for n in range(0, len(frames), 64):
        chunk = frames[n : n + 64]
        core.send_many(b"".join(chunk), [len(f) for f in chunk], [core.now_ns + 500] * len(chunk))
        core.run_idle()
        out += [f.data for f in core.recv()]
    assert core.underruns == core.ingress_stalls == 0 and core.stats().core.malformed.packets == 0
    return out


def compare(frames: list[bytes], l3: bool, rate: str, seed: int) -> tuple[int, int, Counter[int]]:
    """Merge, split, compare: packets, frames between the cores, packets a frame."""
    between = merged(frames, l3, rate, seed)
    sizes: Counter[int] = Counter()
    form = JumboFormat(l3=l3)
    for frame in between:
        jumbo = dissect(frame, form)
        sizes[len(jumbo.packets) if jumbo else 1] += 1
    assert flows(split(between)) == flows(frames)
    return len(frames), len(between), sizes


def batch(rng: random.Random, count: int) -> list[bytes]:
    """Traffic of one of several kinds; without packets of the jumbo protocol, which a splitter takes for malformed jumbo frames."""
    kind = rng.randrange(4)
    if kind == 0:
        return [ipv4(46, 0, number=n) for n in range(count)]
    if kind == 1:
        several = rng.randrange(2, 60)
        return [
            ipv4(rng.choice((20, 28, 46, 576)), rng.randrange(several), ecn=rng.randrange(4), number=n)
            for n in range(count)
        ]
    frames = [frame for _, frame in traffic(rng, count, longest=rng.choice((100, 1500)), sixes=rng.choice((0.0, 0.4)))]
    return [f for f in frames if not ((p := parse_packet(f)) and p.version == 4 and p.ip[9] == 253)]


@pytest.mark.timeout(600 + SOAK)
@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
def test_merge_then_split_is_the_identity(l3: bool) -> None:
    """At least half of the packets travel in jumbo frames, and groups of every size up to 40 occur."""
    end, seed = time.monotonic() + SOAK / 2, 0
    packets = between = 0
    sizes: Counter[int] = Counter()
    while seed < 4 or time.monotonic() < end:
        rng = random.Random(f"identity {l3} {seed}")
        if seed == 0:
            # one flow whose groups are closed by every limit in turn
            frames = [ipv4(46, n // 900 % 2, number=n) for n in range(3000)]
        else:
            frames = batch(rng, 2500 if not SOAK else 20_000)
        n, m, some = compare(frames, l3, rng.choice(("1Gbit", "3Gbit", "8Gbit")), seed)
        packets, between, seed = packets + n, between + m, seed + 1
        sizes += some
    together = sum(size * times for size, times in sizes.items() if size > 1)
    print(f"{packets} packets in {between} frames: merge factor {packets / between:.2f}, {together / packets:.0%} in jumbo frames, "
          f"{len(sizes)} sizes up to {max(sizes)}")  # fmt: skip
    assert together >= packets / 2


def test_every_group_size_occurs() -> None:
    """MAX_COUNT from 2 to 64 with one flow that waits: groups of exactly that many."""
    core = Core(egress="stopped", line="raw")
    core.keep(trace=False)
    seen = set()
    for size in range(2, 65):
        core.device.merge(0, "flow", max_count=size)
        core.egress = "stopped"
        frames = [ipv4(46, 0, number=n) for n in range(3 * size + 8)]
        core.send_many(b"".join(frames), [60] * len(frames), [core.now_ns + 500] * len(frames))
        core.run_until(core.line_free_ns + 3000)
        core.egress = "ready"
        core.run_idle()
        counts = [len(j.packets) if (j := dissect(f)) else 1 for f in [f.data for f in core.recv()]]
        assert max(counts) == size and sum(counts) == len(frames), (size, counts)
        seen |= set(counts)
    assert seen >= set(range(2, 65))


@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
def test_a_capture_of_real_traffic(tmp_path: Path, l3: bool) -> None:
    """weir-sim replay --merge flow, then --split: flow by flow byte for byte; the statistics add up."""
    middle, out = tmp_path / "merged.pcap", tmp_path / "split.pcap"
    options = Options(CAPTURE, middle, "drop-tail", {}, 1e9, 150.0, merge="flow", form="l3" if l3 else "l2")
    stats = replay(options).stats
    again = replay(Options(middle, out, "drop-tail", jumbo="split")).stats
    before, after = ([p.data for p in read_capture(path)] for path in (CAPTURE, out))
    assert flows(before) == flows(after)
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

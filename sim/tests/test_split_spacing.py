"""Packets of jumbo frames that are split wait for the spacing that their table tells (docs/modules/spacing.md)."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from captures import EPOCH_NS, pcap
from jumbo_frames import ipv4, traffic
from test_merge_identity import orders
from weir_sim.cli import main
from weir_sim.core import Core
from weir_sim.jumbo.packet import JumboFormat, parse_packet
from weir_sim.jumbo.wire import build, dissect
from weir_sim.jumbo.wire import split as opened
from weir_sim.pcap import read_capture
from weir_sim.replay import Options, replay
from weir_sim.trace import ARRIVAL

CYCLE_NS = 6.4


def lateness_ns(lanes: int) -> float:
    """The longest time from when a packet is due to when it goes: its lane's turn, a look, and ArrivalDecision's interval."""
    return (2 * lanes + 5 + 4) * CYCLE_NS


def splitter(limit: str | int = "1ms", **options: str) -> Core:
    """A core that splits, with spacing unless the limit is 0."""
    core = Core(**options)  # type: ignore[arg-type]
    core.device.jumbo("split", spacing=limit)
    core.device.trace_enable()
    return core


def arrival_times(core: Core) -> list[int]:
    """When each packet came to its queue, ns."""
    records = core.trace()
    return [int(t) for t in records["time_ns"][records["kind"] == ARRIVAL]]


@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
@pytest.mark.parametrize("tick", [1, 6, 10])
def test_packets_arrive_with_the_spacing_of_the_table(l3: bool, tick: int) -> None:
    """One flow, one lane: each gap of the table comes back within a look at the lane."""
    core, rng, form = splitter(), random.Random(f"table {l3} {tick}"), JumboFormat(l3=l3, tick=tick)
    for _ in range(12):
        gaps = [0, *(rng.randrange(2, 40) << max(tick, 5) for _ in range(rng.randrange(1, 20)))]
        times = [sum(gaps[: n + 1]) for n in range(len(gaps))]
        core.send(
            build([ipv4(rng.randrange(46, 300), 0, number=n) for n in range(len(times))], times, form),
            core.now_ns + 500,
        )
        core.run_idle()
        came = arrival_times(core)
        assert len(came) == len(times)
        ticked = [(t >> tick) - (times[0] >> tick) << tick for t in times]
        errors = [c - came[0] - t for c, t in zip(came, ticked, strict=True)]
        assert max(map(abs, errors)) <= lateness_ns(1), errors
    assert core.stats().core.hurried == 0


def test_spacings_of_packets_that_were_dropped_still_count() -> None:
    """Entries of length 0, the first among them, as DDF leaves them."""
    core, times = splitter(), [0, 1024, 4096, 8192, 12_800]
    frame = bytearray(build([ipv4(46, 0, number=n) for n in range(5)], times, JumboFormat()))
    table, first = 14 + 6, 14 + 6 + 4 * 5
    for gone in (0, 2):
        frame[table + 4 * gone : table + 4 * gone + 2] = bytes(2)
    del frame[first + 2 * 46 : first + 3 * 46]
    del frame[first : first + 46]
    core.send(bytes(frame), core.now_ns + 500)
    core.run_idle()
    came = arrival_times(core)
    # the frame's own beginning is not to be seen: what is left keeps its distances
    for (a, b), gap in zip(pairwise(came), (8192 - 1024, 12_800 - 8192), strict=True):
        assert abs(b - a - gap) <= lateness_ns(1)


def test_merging_and_splitting_cores_give_the_arrivals_back() -> None:
    """JumboGen's both edges: merged by class for 50 us, split with spacing; within a group each packet has the same delay."""
    entry = Core(egress="mac", line="raw")
    entry.device.merge(0, "class", jfet="50us")
    rng, when, frames, at = random.Random(5), {}, [], entry.now_ns + 1000
    for n in range(1500):
        at += int(rng.expovariate(1 / 3000)) + 300
        frames.append(ipv4(rng.randrange(60, 300), rng.randrange(8), number=n))
        when[frames[-1]] = at
        entry.send(frames[-1], at)
    entry.run_idle()
    between = entry.recv()
    groups = [opened(j).frames for f in between if (j := dissect(f.data)) is not None]
    assert sum(map(len, groups)) > 1400 and len(groups) > 60

    core = splitter("500us", egress="mac")
    for frame in between:
        core.send(frame.data, core.now_ns + 2000 + frame.first_ns)
    core.run_idle()
    left = {f.data: f.first_ns for f in core.recv()}
    assert core.stats().core.hurried == 0 and len(left) == len(frames)
    spreads = []
    for group in groups:
        delays = [left[f] - when[f] for f in group]
        spreads.append(max(delays) - min(delays))
    # the tick at both ends, a look at eight lanes, and the packet before it on the wire
    bound = 2 * 64 + lateness_ns(8) + 330 * 0.8
    assert max(spreads) <= bound, f"{max(spreads)} ns, bound {bound:.0f}"
    print(f"{len(groups)} groups, delay within one differs by at most {max(spreads)} ns (bound {bound:.0f})")
    plain = Core(egress="mac")
    plain.device.jumbo("split")
    for frame in between:
        plain.send(frame.data, plain.now_ns + 2000 + frame.first_ns)
    plain.run_idle()
    now = {f.data: f.first_ns for f in plain.recv()}
    without = [max(now[f] - when[f] for f in g) - min(now[f] - when[f] for f in g) for g in groups]
    assert sorted(without)[len(without) // 2] > 20_000, "without spacing the packets of a group leave together"


def jumbo_traffic(rng: random.Random, count: int) -> list[bytes]:
    """Jumbo frames and single packets of the same flows, spacings up to the limit of the format."""
    frames: list[bytes] = []
    packets = [f for _, f in traffic(rng, count, longest=600, sixes=0.3)]
    packets = [f for f in packets if not ((p := parse_packet(f)) and p.version == 4 and p.ip[9] == 253)]
    while packets:
        size = rng.choice((1, 1, 2, 5, 12))
        chosen, packets = packets[:size], packets[size:]
        form = JumboFormat(tick=rng.randrange(17))
        gaps = [rng.choice((0, 1, rng.randrange(65536))) << form.tick for _ in chosen]
        try:
            frames.append(build(chosen, [sum(gaps[: n + 1]) for n in range(len(chosen))], form))
        except ValueError:
            frames += chosen
    return frames


def inside(frames: list[bytes]) -> list[bytes]:
    """The packets' frames, in order."""
    found: list[bytes] = []
    for frame in frames:
        jumbo = dissect(frame)
        found += opened(jumbo).frames if jumbo else [frame]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_no_flow_changes_its_order_and_nothing_is_lost(seed: int) -> None:
    """Jumbo frames and single packets mixed, the limit changed and spacing switched on and off under traffic, transit between."""
    rng = random.Random(f"order {seed}")
    core = splitter(rng.choice(("2us", "50us", "1ms")), egress=rng.choice(("ready", "mac")))
    frames, sent = jumbo_traffic(rng, 2500), 0
    held = 0
    while sent < len(frames):
        chunk = frames[sent : sent + rng.randrange(1, 40)]
        core.send_many(b"".join(chunk), [len(f) for f in chunk], [core.now_ns + 200] * len(chunk))
        sent += len(chunk)
        core.run_until(core.now_ns + rng.randrange(30_000))
        waiting = core.device.core_live().held_packets
        held = max(held, waiting)
        if rng.random() < 0.2:
            core.device.jumbo("split", spacing=rng.choice((0, "1ns", "3us", "200us", "1s", "1s")))
        if waiting > 200:
            core.run_until(core.now_ns + 400_000)
    core.run_idle()
    out = [f.data for f in core.recv()]
    stats = core.stats().core
    assert orders(out) == orders(inside(frames))
    assert stats.tx.packets == stats.rx.packets == len(out) and stats.malformed.packets == 0
    assert core.device.core_live().held_packets == 0 and held > 20


def test_frames_in_transit_pass_when_nothing_is_held() -> None:
    """The mode changes between split with spacing and transit: no flow changes its order, no frame is torn."""
    rng = random.Random(8)
    core = splitter("1ms")
    frames: list[bytes] = []
    for n in range(150):
        if n % 2:
            core.device.jumbo("transit")
        else:
            core.device.jumbo("split", spacing="100us")
        count = rng.randrange(2, 12)
        packets = [ipv4(46, k % 3, number=100 * n + k) for k in range(count)]
        jumbo = build(packets, [k << 10 for k in range(count)], JumboFormat())
        single = ipv4(200, n % 3, number=100 * n + 50)
        frames += [jumbo, single]
        core.send(jumbo, core.now_ns + 200)
        core.send(single, core.now_ns + 200)
        core.run_until(core.now_ns + rng.choice((1000, 20_000)))
    core.run_idle()
    out = [f.data for f in core.recv()]
    kept = sum(dissect(f) is not None for f in out)
    assert kept == 75
    assert orders(inside(out)) == orders(inside(frames))


def test_hurries_before_anything_is_lost() -> None:
    """More than there are places for, with spacings of a second: all goes, and is counted."""
    core = splitter("1s")
    form = JumboFormat(tick=16)
    frames = [
        build([ipv4(46, k % 40, number=100 * n + k) for k in range(60)], [k << 24 for k in range(60)], form)
        for n in range(40)
    ]
    core.send_many(b"".join(frames), [len(f) for f in frames], [core.now_ns + 500] * len(frames))
    core.run_until(core.line_free_ns + 30_000)
    stats, live = core.stats().core, core.device.core_live()
    assert 700 < live.held_packets < 1008
    assert stats.rx.packets == 2400 == stats.tx.packets + live.held_packets
    assert stats.hurried >= 2400 - 1008
    core.run_idle()
    stats = core.stats().core
    assert stats.tx.packets == 2400 and stats.ingress_overflow.packets == 0
    assert orders([f.data for f in core.recv()]) == orders(inside(frames))


def test_no_packet_waits_longer_than_the_limit() -> None:
    """A table that says seconds."""
    core = splitter("5us")
    core.send(
        build([ipv4(46, 0, number=n) for n in range(4)], [0, 2 << 16, 1 << 30, 1 << 31], JumboFormat(tick=16)),
        core.now_ns + 500,
    )
    core.run_idle()
    came = arrival_times(core)
    assert [abs(t - came[0] - 5000) <= lateness_ns(1) + 2 * 32 for t in came[1:]] == [True] * 3
    assert core.stats().core.hurried == 0, "what the limit cuts off is not early"


def test_a_reset_frees_what_is_held() -> None:
    core = splitter("1s")
    free = core.device.core_live().free_cells
    frame = build([ipv4(46, n, number=n) for n in range(30)], [n << 24 for n in range(30)], JumboFormat(tick=16))
    core.send(frame, core.now_ns + 500)
    core.run_until(core.line_free_ns + 5000)
    assert core.device.core_live().held_packets > 20
    core.device.reset()
    core.run_until(core.now_ns + 200_000)
    live = core.device.core_live()
    assert live.held_packets == 0 and live.free_cells == free
    core.recv()
    core.send(frame, core.now_ns + 500)
    core.device.jumbo("split")
    core.run_idle()
    assert [f.data for f in core.recv()] == inside([frame])


def test_idle_time_is_skipped_and_changes_nothing() -> None:
    results = []
    for skip in (True, False):
        core = Core(skip=skip)
        core.device.jumbo("split", spacing="1ms")
        start, before = core.now_ns + 1000, core.evaluated
        for n in range(3):
            core.send(build([ipv4(46, k, number=10 * n + k) for k in range(4)], [k * 30_000 for k in range(4)], JumboFormat(tick=8)),
                      start + 40_000 * n)  # fmt: skip
        core.run_idle()
        results.append(([(f.data, f.first_ns - start) for f in core.recv()], core.evaluated - before))
    assert results[0][0] == results[1][0]
    assert results[0][1] < results[1][1] / 4, "most of the time is skipped"


def test_held_packets_are_not_merged_again() -> None:
    """A queue that merges: what was held travels alone, and its flow keeps its order."""
    core = splitter("10us", egress="stopped")
    core.device.merge(0, "flow")
    packets = [ipv4(46, 0, number=n) for n in range(20)]
    core.send(build(packets, [0] * 20, JumboFormat()), core.now_ns + 500)
    core.run_until(core.now_ns + 30_000)
    core.egress = "ready"
    core.run_idle()
    assert [f.data for f in core.recv()] == packets


def test_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """weir-sim replay --split --spacing; without --split the option is refused."""
    source, target = tmp_path / "in.pcap", tmp_path / "out.pcap"
    times = [0, 10_240, 51_200, 60_160]
    packets = [ipv4(100, 0, number=n) for n in range(4)]
    source.write_bytes(pcap([(EPOCH_NS, build(packets, times, JumboFormat()))]))
    stats = replay(Options(source, target, "drop-tail", jumbo="split", spacing="1ms")).stats
    assert stats["tx"]["packets"] == 4 and stats["hurried"] == 0
    out = list(read_capture(target))
    assert [p.data for p in out] == packets
    assert max(abs(p.time_ns - out[0].time_ns - t) for p, t in zip(out, times, strict=True)) <= lateness_ns(1)
    assert main(["replay", str(source), str(target), "--policy", "drop-tail", "--spacing", "1ms"]) == 2
    assert "--spacing is for packets of jumbo frames that are split; add --split" in capsys.readouterr().err

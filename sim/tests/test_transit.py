"""Jumbo frames that pass a core as groups: what leaves against `golden.transit`, byte for byte, and every decision's queue."""

from __future__ import annotations

import random
import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from golden.transit import ECT, Mred, MredModel, Selection, Unit, Waiting, unit
from jumbo_frames import alike, ipv4
from test_merge import SETTINGS, cycle_of
from weir_sim.core import Core
from weir_sim.jumbo.ecn import CE, header_checksum, with_ecn
from weir_sim.jumbo.packet import JumboFormat
from weir_sim.jumbo.wire import MAX_FRAME, MAX_SUM, build, dissect, frame_bytes, split
from weir_sim.trace import ARRIVAL, DEPARTURE, DROP, EARLY, FORCED, MARK, OVERFLOW, PARTIAL

Rng = random.Random


def fitting(frames: list[bytes], l3: bool) -> list[bytes]:
    """As many of the frames as one jumbo frame takes."""
    tags = (len(frames[0]) - len(alike_ip(frames[0])) - 14) // 4
    room, inner = MAX_FRAME - frame_bytes(tags, 0, 0, l3), 0
    for n, frame in enumerate(frames):
        inner += len(alike_ip(frame))
        if inner > MAX_SUM or inner + 4 * (n + 1) > room:
            return frames[:n]
    return frames


def alike_ip(frame: bytes) -> bytes:
    """The IP packet of a frame of `jumbo_frames`."""
    at = 12
    while frame[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    return frame[at + 2 :]


def any_jumbo(rng: Rng, longest: int = 300, count: int | None = None) -> bytes:
    """A jumbo frame of either form as another node may send it: packets dropped before, an outer header of its own."""
    l3 = rng.random() < 0.5
    count = count or rng.choice((1, 2, 3, 8, 40, 448))
    frames = fitting(alike(rng, count, version=4 if l3 or rng.random() < 0.6 else 6, longest=longest), l3)
    gaps = [rng.randrange(4000) for _ in frames]
    dropped = {n for n in range(len(frames)) if rng.random() < 0.3} if rng.random() < 0.4 else set[int]()
    if rng.random() < 0.3:
        dropped |= set(range(rng.randrange(len(frames))))
    if len(dropped) == len(frames):
        dropped.pop()
    times = [sum(gaps[: n + 1]) for n in range(len(frames))]
    frame = bytearray(build(frames, times, JumboFormat(l3=l3, tick=rng.randrange(10)), rng.getrandbits(16), dropped))
    jumbo = dissect(bytes(frame))
    assert jumbo
    start = len(jumbo.ethernet) + 2
    if l3 and rng.random() < 0.5:  # a router has changed it
        frame[start + 1] = rng.randrange(256)
        frame[start + 8] = rng.randrange(256)
        frame[start + 6] &= 0xBF
        frame[start + 10 : start + 12] = bytes(2)
        frame[start + 10 : start + 12] = header_checksum(bytes(frame[start : start + 20])).to_bytes(2, "big")
    if rng.random() < 0.3:  # the average is nobody's business
        at = start + 20 * l3 + 2
        frame[at : at + 2] = rng.randbytes(2)
    return bytes(frame) + bytes(max(0, 60 - len(frame)))


def empty_jumbo(rng: Rng, entries: int) -> bytes:
    """A jumbo frame all of whose packets were dropped."""
    table = b"".join(struct.pack(">HH", 0, rng.randrange(1 << 16)) for _ in range(entries))
    frame = rng.randbytes(5) + b"\0" + rng.randbytes(6) + b"\x88\xb5" + struct.pack(">HHBB", entries, 50, 16, 6) + table
    return frame + bytes(max(0, 60 - len(frame)))


def lying(rng: Rng, frame: bytes) -> bytes:
    """A jumbo frame with some bytes changed, cut, or longer."""
    data = bytearray(frame)
    for _ in range(rng.choice((1, 1, 2, 5))):
        data[rng.randrange(12, min(len(data), 12 + 90))] = rng.randrange(256)
    cut = rng.randint(14, len(data)) if rng.random() < 0.2 else len(data)
    return (bytes(data[:cut]) + rng.randbytes(rng.choice((0, 0, 0, 1, 8))))[:9216]


def other(rng: Rng) -> bytes:
    """A frame that is no jumbo frame."""
    return ipv4(rng.choice((20, 46, rng.randrange(20, 1500))), rng.randrange(5), ecn=rng.randrange(4), dscp=rng.randrange(64),
                number=rng.getrandbits(16))  # fmt: skip


@dataclass
class Seen:
    """What a run has shown."""

    sent: list[Unit]
    rejected: list[Unit]
    arrivals: list[Any]
    counters: list[Any] = field(default_factory=list)
    core: Any = None
    taken: list[int] = field(default_factory=list)
    """k of every selection that was carried out"""


def check(core: Core, units: list[Unit], slow: set[int], mred: dict[int, Mred] | None = None) -> Seen:
    """Derives all that must have left from the trace; compares it, and `q` of each decision, with what was seen."""
    records = [r for r in core.trace() if r["kind"] in (ARRIVAL, DEPARTURE)]
    arrivals = sorted((r for r in records if r["kind"] == ARRIVAL), key=lambda r: int(r["seq"]))
    assert [int(r["seq"]) for r in arrivals] == list(range(len(units))), (
        f"{len(arrivals)} decisions, {len(units)} arrivals"
    )
    changes: dict[int, list[tuple[int, int, int]]] = {q: [] for q in range(4)}
    """when a queue's bytes and packets change, as decisions see it"""
    fifo: dict[int, list[int]] = {q: [] for q in range(4)}
    rejected = []
    for n, (u, r) in enumerate(zip(units, arrivals, strict=True)):
        queue, cycle = int(r["queue"]), cycle_of(int(r["time_ns"]))
        assert queue == (u.dscp or 0) % 4
        assert (int(r["length"]), int(r["ecn"])) == (sum(u.lengths), u.ecn), f"arrival {n}"
        assert int(r["packets"]) == (len(u.lengths) if u.jumbo else 0)
        if r["cause"] == OVERFLOW:  # what a limit refuses never enters q
            rejected.append(u)
            continue
        changes[queue].append((cycle + 1, sum(u.lengths), len(u.lengths)))
        if r["action"] == DROP:
            rejected.append(u)
            changes[queue].append((cycle + 14 + 10 * (queue in slow), -sum(u.lengths), -len(u.lengths)))
            continue
        fifo[queue].append(n)
        if r["action"] == MARK:
            u.outer_ce = u.ecn in ECT
            u.ce = {i for i, ecn in enumerate(u.ecns) if ecn in ECT}
    sent = []
    walking: list[int] = []
    """places of the packets that are still to leave with the group that leaves"""
    leaving = due = 0
    models = {q: MredModel(m) for q, m in (mred or {}).items()}
    for u, r in zip(units, arrivals, strict=True):
        cycle, queue = cycle_of(int(r["time_ns"])), int(r["queue"])
        if queue in models and u.jumbo and r["action"] != DROP:
            models[queue].waiting.append(Waiting(u, cycle + 13 + 4 * len(u.lengths), pays=r["action"] != MARK))
            if r["cause"] == PARTIAL:
                assert u.jumbo.count > 1
                models[queue].pending.append(Selection(cycle + 12, float(r["avg"])))
        assert r["cause"] != PARTIAL or queue in models
    records = [r for r in records if r["kind"] == DEPARTURE]
    for i, r in enumerate(records):
        n, queue, cycle = int(r["seq"]), int(r["queue"]), cycle_of(int(r["time_ns"]))
        u = units[n]
        if r["cause"] == PARTIAL and r["action"] == DROP:
            place = models[queue].removed(u)
            assert int(r["length"]) == u.lengths[place]
            changes[queue].append((cycle + 5, -u.lengths[place], -1))
            continue
        if not walking:
            for model in models.values():
                while model.waiting and not model.waiting[0].unit.live:
                    model.waiting.pop(0)
            while not units[fifo[queue][0]].live:
                fifo[queue].pop(0)
            assert n == fifo[queue].pop(0), f"arrival {n} left before its turn"
            walking, leaving = list(u.live), n
            if u.jumbo and queue in models:
                own = [x for x in records[i:] if int(x["seq"]) == n][: len(walking)]
                front = [j for j, x in enumerate(own) if x["cause"] == PARTIAL]
                # packets that came with CE show no mark of theirs
                marked = 1 + max(front) if front else 0
                models[queue].departs(u, cycle - 4, marked)
        else:
            assert n == leaving, "a group has not left as a whole"
            assert cycle == due, f"packet {walking[0]} of {n} left in cycle {cycle}, not {due}"
        due = cycle + 4
        place = walking.pop(0)
        assert int(r["length"]) == u.lengths[place]
        changes[queue].append((cycle + 5, -u.lengths[place], -1))
        if r["action"] == DROP:
            u.gone.add(place)
        elif r["cause"] in (EARLY, FORCED, PARTIAL):
            if r["action"] == MARK:
                assert u.ecns[place] in ECT
                u.ce.add(place)
            u.outer_ce |= u.ecn in ECT and r["cause"] != PARTIAL
        assert int(r["marked"]) == (place in u.ce) or u.jumbo is None
        if not walking:
            assert u.jumbo is None or r["action"] != DROP or not u.live
            if u.live:
                sent.append(u)
    for model in models.values():
        model.settle()
    for queue in fifo:
        assert not any(units[n].live for n in fifo[queue])
    for queue, list_ in changes.items():
        list_.sort()
        at = held = packets = 0
        for n, r in enumerate(arrivals):
            if int(r["queue"]) != queue:
                continue
            cycle = cycle_of(int(r["time_ns"]))
            while at < len(list_) and list_[at][0] <= cycle:
                held, packets, at = held + list_[at][1], packets + list_[at][2], at + 1
            assert (int(r["q_bytes"]), int(r["q_packets"])) == (held, packets), f"arrival {n}"
    out = iter(core.recv())
    for u in sent:
        frame = next(out).data
        expected = u.sent()
        assert frame == expected, f"{len(u.lengths)} packets, {len(frame)} bytes, not {len(expected)}"
    assert next(out, None) is None
    return Seen(sent, rejected, arrivals, taken=[k for m in models.values() for k in m.taken])


def run(frames: list[bytes], rate: str, policies: tuple[str, ...] = ("drop-tail",), line: str = "raw", gap_ns: int = 0,
        settings: dict[str, Any] | None = None, mred: dict[int, Mred] | None = None) -> Seen:  # fmt: skip
    """Frames into a core in transit whose queues are served at `rate`; `policies` of queue 0, 1, ..., again from the first."""
    core = Core(egress="mac", line=line)
    device = core.device
    names = [policies[queue % len(policies)] for queue in range(4)]
    for queue, name in enumerate(names):
        device.queue_replace(queue, **({"policy": name} | SETTINGS[name] | (settings or {})))
    for queue, m in (mred or {}).items():
        device.mred(queue, m.low, m.high)
    device.dscp_map([d % 4 for d in range(64)])
    device.shape(rate)
    device.jumbo("transit")
    device.trace_enable()
    for frame in frames:
        core.send(frame, max(core.now_ns + 1000, core.line_free_ns + gap_ns if gap_ns else 0))
    core.run_idle()
    stats, live = core.stats(), device.core_live()
    assert core.underruns == 0 and core.ingress_stalls == 0
    assert live.held_packets == 0 and live.free_cells == device.capabilities.cells - 1
    for q in range(4):
        now = device.live(q)
        assert (now.bytes, now.packets, now.frames) == (0, 0, 0)
    assert stats.core.ingress_overflow.packets == 0
    units = [u for f in frames if (u := unit(f))]
    seen = check(core, units, {q for q in range(4) if names[q] == "fn"}, mred)
    arrived = sum(len(u.lengths) for u in units), sum(sum(u.lengths) for u in units)
    malformed = stats.core.malformed
    assert (stats.core.rx.packets - malformed.packets, stats.core.rx.bytes - malformed.bytes) == arrived
    assert (stats.core.rx_wire.packets, stats.core.rx_wire.bytes) == (len(frames), sum(map(len, frames)))
    left = [(u.lengths[n], u.jumbo is not None) for u in seen.sent for n in u.live]
    assert (stats.core.tx.packets, stats.core.tx.bytes) == (len(left), sum(n for n, _ in left))
    assert stats.core.merged.packets == sum(jumbo for _, jumbo in left)
    assert stats.core.jumbo_out.packets == sum(u.jumbo is not None for u in seen.sent)
    assert (stats.core.tx_wire.packets, stats.core.tx_wire.bytes) == (stats.frames_out, stats.bytes_out)
    counted = [sum(getattr(q, name).packets for q in stats.queues) for name in
               ("early", "forced", "overflow", "front", "head_dropped", "out", "partial")]  # fmt: skip
    assert sum(counted) == arrived[0]
    assert stats.core.split_discarded.packets == 0
    seen.counters, seen.core = list(stats.queues), core
    return seen


@pytest.mark.parametrize("seed", range(6))
def test_any_jumbo_frame(seed: int) -> None:
    """Both forms, tags, IPv4 and IPv6, entries of length 0, outer headers of any kind, other frames between; four queues."""
    rng = Rng(seed)
    frames = [other(rng) if rng.random() < 0.4 else any_jumbo(rng, rng.choice((60, 300, 1500))) for _ in range(150)]
    seen = run(frames, "2Gbit")
    sizes = Counter(len(u.lengths) for u in seen.sent if u.jumbo)
    assert sum(sizes.values()) > 60 and max(sizes) > 60 and not seen.rejected


@pytest.mark.parametrize("seed", range(4))
def test_lies_are_dropped_whole(seed: int) -> None:
    """Bytes are changed at random: a frame passes as the model says or is dropped; those behind it are unharmed."""
    rng = Rng(50 + seed)
    frames = []
    for _ in range(150):
        frame = any_jumbo(rng)
        frames.append(lying(rng, frame) if rng.random() < 0.7 else frame)
        if rng.random() < 0.1:
            frames.append(empty_jumbo(rng, rng.choice((1, 5, 448))))
    seen = run(frames, "9Gbit", gap_ns=3000)
    assert seen.core.stats().core.malformed.packets > 20


@pytest.mark.parametrize(
    "policies",
    [("red",), ("codel", "drop-tail"), ("codel-drop", "red"), ("pi2", "codel"), ("drop-front", "drop-tail"), ("fn", "red"),
     ("drop-front", "fn", "codel", "red")],
    ids="-".join,
)  # fmt: skip
def test_policies_decide_about_jumbo_frames(policies: tuple[str, ...]) -> None:
    """One decision each, with marks and drops of the whole; slow and fast policies; drop from front takes whole groups."""
    rng = Rng(11)
    frames = []
    while len(frames) < 300:
        frame = other(rng) if rng.random() < 0.3 else any_jumbo(rng, rng.choice((60, 300)), rng.choice((2, 10, 60)))
        u = unit(frame)
        if u and set(u.ecns) != {CE}:  # nobody sees that such a frame is marked at the departure
            frames.append(frame)
    seen = run(frames, "600Mbit", policies)
    rejected = sum(u.jumbo is not None for u in seen.rejected)
    ce = sum(u.jumbo is not None and bool(u.ce) for u in seen.sent)
    print(f"{len(seen.sent)} sent, {rejected} jumbo frames rejected, {ce} marked")
    assert rejected + ce + sum(q.head_dropped.packets + q.front.packets for q in seen.counters) > 20


@pytest.mark.parametrize(
    "limit", [{"limit": "6000"}, {"limit": "200KB", "limit_packets": 40}], ids=["bytes", "packets"]
)
def test_limits_hold_for_the_whole(limit: dict[str, Any]) -> None:
    """A jumbo frame that does not fit is dropped whole; exactly those whose bytes or packets pass the limit."""
    rng = Rng(3)
    frames = [other(rng) if rng.random() < 0.4 else any_jumbo(rng, 200, rng.choice((1, 5, 30))) for _ in range(200)]
    seen = run(frames, "500Mbit", settings=limit)
    assert sum(u.jumbo is not None for u in seen.rejected) > 10
    for r in seen.arrivals:
        over = (
            r["q_bytes"] + r["length"] > 6000
            if "limit_packets" not in limit
            else r["q_packets"] + max(1, r["packets"]) > 40
        )
        assert (r["action"] == DROP) == over


def test_a_full_buffer_loses_whole_frames() -> None:
    """Frames of 20-byte packets until the cells are gone: whole frames are lost and counted, nothing leaks, later ones pass."""
    rng = Rng(4)
    core = Core(egress="stopped", line="10gbe")
    device = core.device
    device.jumbo("transit")
    device.queue_replace(0, policy="drop-tail")
    count = 380
    frames = [build([ipv4(20, number=n)] * count, range(count)) for n in range(60)]
    start = core.now_ns + 1000
    for n, frame in enumerate(frames):
        core.send(frame, start + n * 20_000)
    core.run_until(core.line_free_ns + 20_000)
    stats, each = core.stats(), count + -(-(20 + 4 * count) // 64)
    taken = 60 - stats.core.ingress_overflow.packets
    # the words of two have been read ahead
    assert 0 <= taken - (device.capabilities.cells - 1) // each <= 2
    assert stats.core.rx.packets == taken * count + (60 - taken)
    core.egress = "ready"
    core.run_idle()
    assert [f.data for f in core.recv()] == frames[:taken]
    for _ in range(20):
        core.send(any_jumbo(rng), core.line_free_ns + 3000)
    core.run_idle()
    assert len(core.recv()) == 20
    live = device.core_live()
    assert (live.held_packets, live.free_cells) == (0, device.capabilities.cells - 1)


@pytest.mark.parametrize("seed", range(2))
def test_split_behind_transit_is_split(seed: int) -> None:
    """What a core in transit lets through gives the same packets behind it as without it, marks of the outer header included."""
    rng = Rng(20 + seed)
    frames = [any_jumbo(rng, rng.choice((60, 300))) for _ in range(100)]
    seen = run(frames, "3Gbit")
    assert not seen.rejected
    for u in seen.sent:
        first, second = dissect(u.frame), dissect(u.sent())
        assert first and second and split(first) == split(second) and first.entries == second.entries
        assert (first.average, first.tick, first.count) == (second.average, second.tick, second.count)


@pytest.mark.parametrize("seed", range(4))
def test_resets_and_link_losses_in_the_middle(seed: int) -> None:
    """A reset by register, an apply or the link going down at any moment: all is counted, no cell is lost, frames pass again."""
    rng = Rng(seed)
    core = Core(egress="mac", line="raw")
    device = core.device
    device.dscp_map([d % 4 for d in range(64)])
    policies = ("drop-tail", "codel", "drop-front", "red")
    for queue, name in enumerate(policies):
        device.queue_replace(queue, **({"policy": name} | SETTINGS[name]))
    device.mred(3, 0.1, 0.6)
    device.jumbo("transit")
    device.shape("2Gbit")
    held = 0
    for turn in range(15):
        start = core.now_ns + 500
        for _ in range(60):
            core.send(other(rng) if rng.random() < 0.3 else any_jumbo(rng, rng.choice((60, 300))), start)
        core.run_until(core.line_free_ns - rng.randrange(20_000))
        core.run_cycles(rng.randrange(400))
        held += device.core_live().held_packets > 50
        what = rng.randrange(3)
        if what == 0:
            core.set_link(False)
            core.run_cycles(rng.randrange(1, 3000))
            core.set_link(True)
        elif what == 1:
            device.reset()
        else:
            queue = rng.randrange(4)
            name = rng.choice(("drop-tail", "codel", "red", "fn"))
            device.queue_replace(queue, **({"policy": name} | SETTINGS[name]))
            if name == "red":
                device.mred(queue, rng.random() / 2, 0.5 + rng.random() / 2)
        core.run_idle()
        live, stats = device.core_live(), core.stats()
        assert (live.held_packets, live.free_cells) == (0, device.capabilities.cells - 1), f"turn {turn}"
        assert core.underruns == core.ingress_stalls == 0 and stats.core.malformed.packets == 0
        for q in range(4):
            assert (device.live(q).bytes, device.live(q).packets, device.live(q).frames) == (0, 0, 0)
        for frame in core.recv():
            if not frame.bad:
                dissect(frame.data)
        gone = [sum(getattr(q, n).packets for n in ("early", "forced", "overflow", "front", "head_dropped", "out", "link_down", "partial"))
                for q in stats.queues]  # fmt: skip
        came = [sum(getattr(q, n).packets for n in ("in_not_ect", "in_ect0", "in_ect1", "in_ce")) for q in stats.queues]
        assert gone == came and stats.core.rx.packets == sum(came) + stats.core.ingress_overflow.packets
    assert held > 4


LIMIT = {"limit": "400KB", "min": 20000, "max": 80000, "probability": 0.5, "weight": 0.02}


def any_load(rng: Rng, number: int, count: int, ecn: bool) -> list[bytes]:
    """Jumbo frames of `count` packets at most and other frames. With `ecn` each jumbo frame is ECT, all its packets, or is not."""
    frames = []
    while len(frames) < number:
        frame = other(rng) if rng.random() < 0.3 else any_jumbo(rng, 120, rng.choice((2, 5, count)))
        u = unit(frame)
        assert u
        if not ecn or u.jumbo is None or u.ecn == 0 or {u.ecn, *u.ecns} <= set(ECT):
            frames.append(frame)
        elif u.jumbo and u.jumbo.ecn is None:  # packets that are ECT in the L2 form
            head, tail = frame[: u.header], frame[u.header :]
            packets = b"".join(with_ecn(p, rng.choice(ECT)) for p in u.jumbo.packets)
            frames.append(head + packets + tail[len(packets) :])
    return frames


@pytest.mark.parametrize("ecn", [0, 1], ids=["drop", "mark"])
@pytest.mark.parametrize("shares", [(0.025, 0.5), (0.3, 0.3), (1.0, 1.0), (0.0, 0.1)], ids=str)
def test_packets_that_wait_pay_for_jumbo_frames_that_come(shares: tuple[float, float], ecn: int) -> None:
    """MRED: each share, from the front of the jumbo frame nearest the head, dropped or marked in place; entries, lengths and checksums follow."""
    rng = Rng(7 + ecn)
    mred = {q: Mred(*shares, 20e3, 80e3, bool(ecn)) for q in (0, 1, 3)}
    seen = run(any_load(rng, 500, 30, bool(ecn)), "700Mbit", ("red",), settings=LIMIT | {"ecn": ecn}, mred=mred)
    partial = sum(q.partial.packets for q in seen.counters)
    marked = sum(q.head_marked.packets for q in seen.counters)
    print(
        f"{len(seen.taken)} selections, {partial} packets dropped, {marked} marked in place, shares {sorted(set(seen.taken))}"
    )
    assert len(seen.taken) > 10 and partial > 10 and bool(marked) == bool(ecn)
    assert all(q.partial.packets == 0 for n, q in enumerate(seen.counters) if n not in mred)


def test_long_jumbo_frames_pay_and_nothing_else_changes() -> None:
    """Frames of up to 9216 bytes lose packets; behind their headers, and in the frames that follow, every byte is what came."""
    rng = Rng(9)
    mred = {q: Mred(0.1, 0.4, 20e3, 80e3, False) for q in range(4)}
    frames = [other(rng) if rng.random() < 0.2 else any_jumbo(rng, 1500, 12) for _ in range(500)]
    seen = run(frames, "4Gbit", ("red",), gap_ns=4000, settings=LIMIT | {"ecn": 0}, mred=mred)
    paid = [u for u in seen.sent if u.jumbo and u.jumbo.l3 and u.gone]
    print(
        f"{len(seen.taken)} selections, {len(paid)} frames of the L3 form that paid, up to {max(len(u.sent()) for u in paid)} bytes"
    )
    assert sum(len(u.sent()) > 4200 for u in paid) > 10


@pytest.mark.parametrize("rate", ["4Gbit", "8Gbit"])
def test_packets_are_merged_beside_jumbo_frames_that_pay_in_transit(rate: str) -> None:
    """Merging, transit and MRED in one core: what is left of each flow is in order, nothing comes twice, all is accounted for."""
    rng = Rng(rate)
    core = Core(egress="mac", line="10gbe")
    device = core.device
    device.jumbo("transit")
    device.dscp_map([d % 4 for d in range(64)])
    device.shape(rate)
    for queue in range(4):
        device.queue_replace(queue, "red", limit_bytes=150_000, min=10_000, max=60_000, probability=0.2, weight=0.25)
        device.mred(queue, 0.1, 0.6)
        device.merge(queue, "flow")
    sent: list[bytes] = []
    for n in range(600):
        queue = n % 4
        if rng.random() < 0.3:
            inner = [ipv4(100, 50 + queue, protocol=6, dscp=queue, number=80 * n + k) for k in range(80)]
            sent.append(build(inner, [0] * len(inner)))
        else:
            sent += [ipv4(rng.choice((46, 200)), 3 * queue + n % 3, dscp=queue, number=n * 32 + k) for k in range(30)]
    core.send_many(b"".join(sent), [len(f) for f in sent], [core.now_ns + 1000] * len(sent))
    core.run_idle()
    stats = core.stats()
    assert core.underruns == core.ingress_stalls == 0 and stats.core.ingress_overflow.packets == 0
    assert device.core_live().free_cells == device.capabilities.cells - 1
    counted = [getattr(q, name).packets for q in stats.queues for name in ("early", "forced", "overflow", "partial")]
    assert stats.core.rx.packets == stats.core.tx.packets + sum(counted)
    assert sum(q.partial.packets for q in stats.queues) > 200

    def inside(frame: bytes) -> list[bytes]:
        jumbo = dissect(frame)
        assert (
            jumbo is None or len({ip[9] for ip in jumbo.packets}) == 1
        )  # what is merged is not mixed with what passes
        return split(jumbo).frames if jumbo else [frame]

    frames = [inside(f.data) for f in core.recv()]
    left = [f for of_frame in frames for f in of_frame]
    assert len(left) == stats.core.tx.packets
    assert sum(len(f) for f in frames if len(f) > 1 and f[0][23] == 17) > 2000
    came: dict[bytes, list[bytes]] = {}
    for frame in sent:
        for f in inside(frame):
            came.setdefault(f[22:24] + f[26:38], []).append(f)  # TTL, protocol, addresses, ports
    assert 0 < len(came) < 100
    flows = {flow: iter(frames_of) for flow, frames_of in came.items()}
    assert all(wanted in flows[wanted[22:24] + wanted[26:38]] for wanted in left)

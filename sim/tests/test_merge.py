"""The core merges packets that wait into jumbo frames: the frames that leave against `golden.merge`, byte for byte."""

from __future__ import annotations

import ipaddress
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from golden.core import QUICK
from golden.merge import FlowTable, Group, Limits, Member, MergeModel, Rule, marked, toeplitz
from jumbo_frames import ipv4, ipv6, spread, traffic
from weir_sim.core import Core
from weir_sim.frames import NOT_ECT, udp_frame
from weir_sim.jumbo.packet import JumboFormat, parse_packet, u16
from weir_sim.jumbo.wire import build, dissect, header_checksum, spacings, split
from weir_sim.trace import ARRIVAL, DEPARTURE, DROP

JUMBO, CORE_APPLY = 0x064, 0x034
SLOTS = 1024
"""places of flows in preset full"""
LINK = 13
"""cycles from the time of a decision's request to its link, in a build with RED; FN ten more"""


APPENDED = 3
"""cycles from the one in which a class's timer has ended to the first in which its group may be granted"""
ACCURACY_NS = 100
"""of the timers"""


def cycle_of(time_ns: int) -> int:
    """The cycle that begins at that time (floor(32 k / 5) ns)."""
    return -(-5 * time_ns // 32)


def configure(core: Core, form: JumboFormat, limits: dict[int, Limits]) -> None:
    """Turns merging on. The form by register: libweir has no tick of 1 ns."""
    core.csr_write(JUMBO, form.l3 << 4 | form.tick << 8)
    core.csr_write(CORE_APPLY, 1)
    for queue, limit in limits.items():
        mode = {"mode": "flow"} if limit.jfet_ns is None else {"mode": "class", "jfet": f"{limit.jfet_ns}ns"}
        core.device.merge(queue, max_bytes=limit.max_bytes, max_sum=limit.max_sum, max_count=limit.max_count, **mode)


@dataclass
class Outcome:
    """What was seen."""

    groups: list[Group]
    factor: float
    """packets that were sent for each frame"""
    sizes: Counter[int]
    in_groups: float
    """share of the packets that travelled in jumbo frames"""
    dropped: int
    """packets at their departure"""
    counters: list[Any] = field(default_factory=list)
    """of the queues"""


def expected_frame(members: list[Member], left: list[bool], form: JumboFormat, number: int) -> bytes:
    """The jumbo frame of a group of which some packets were dropped at the departure: their entries have length 0."""
    stay = [m for m, k in zip(members, left, strict=True) if k]
    frame = build([m.frame for m in stay], [m.time_ns for m in stay], form, number)
    if all(left):
        return frame
    packets = [p for m in members if (p := parse_packet(m.frame, form))]
    lengths = [len(p.ip) for p in packets]
    start = len(packets[0].ethernet)
    content = start + 20 * form.l3
    gaps = spacings([m.time_ns for m in members], form.tick)
    table = b"".join(
        (length * k).to_bytes(2, "big") + gap.to_bytes(2, "big")
        for length, k, gap in zip(lengths, left, gaps, strict=True)
    )
    head = bytearray(frame[:content])
    if form.l3:
        head[start + 2 : start + 4] = (u16(frame, start + 2) + 4 * left.count(False)).to_bytes(2, "big")
        head[start + 10 : start + 12] = bytes(2)
        head[start + 10 : start + 12] = header_checksum(bytes(head[start:])).to_bytes(2, "big")
    counts = len(members).to_bytes(2, "big") + (sum(lengths) // len(members)).to_bytes(2, "big")
    return bytes(head) + counts + frame[content + 4 : content + 6] + table + frame[content + 6 + 4 * sum(left) :]


def next_of(waiting: list[Group], cycle: int, seq: int) -> Group:
    """The group that a queue of classes gives at a grant: it has closed, and none that certainly closed before it waits."""
    group = next(g for g in waiting if g.seqs[0] == seq)
    waiting.remove(group)
    earliest, _ = closing(group)
    assert cycle >= earliest, f"packet {seq} was granted in cycle {cycle}, its group closes in {earliest}"
    for other in waiting:
        assert closing(other)[1] >= earliest, (
            f"packet {seq} was granted before {other.seqs[0]}, whose group closed before"
        )
    return group


def closing(group: Group) -> tuple[int, int]:
    """The first cycle in which a group may be granted, and the last."""
    if group.closes is not None and (group.deadline_ns is None or 32 * group.closes // 5 < group.deadline_ns):
        return group.closes + 1, group.closes + 8
    if group.deadline_ns is None:
        return group.opened + 1, group.opened + 8
    return cycle_of(group.deadline_ns) + APPENDED, cycle_of(group.deadline_ns + ACCURACY_NS)


def check(core: Core, frames: list[bytes], form: JumboFormat, limits: dict[int, Limits], slow: Iterable[int] = (),
          decides: Iterable[int] = (), rules: Sequence[Rule] = (), unmatched: int | None = 0) -> Outcome:  # fmt: skip
    """Derives every frame that must have left from the trace and the frames, and compares all of them.

    `slow`: queues of FN; `decides`: queues whose policy decides at the departure.
    """
    model = MergeModel(form, [limits.get(q) for q in range(4)])
    records = core.trace()
    queues = {int(r["seq"]): int(r["queue"]) for r in records if r["kind"] == ARRIVAL}
    classed = {q for q, limit in limits.items() if limit.jfet_ns is not None}
    table = FlowTable(form.protocol, SLOTS, classed, rules, unmatched)
    found = [table.look_up(f, queues[seq]) for seq, f in enumerate(frames)]
    events: list[tuple[int, int, int, Any]] = []
    for r in records:
        seq, queue, time = int(r["seq"]), int(r["queue"]), int(r["time_ns"])
        if r["kind"] == ARRIVAL:
            if r["action"] != DROP:
                # what finds its queue empty may be linked with the limits' answer, if nothing merges there (arrival-decision.md)
                quick = QUICK if queue not in limits and r["q_packets"] == 0 else 0
                events.append((cycle_of(time) + LINK + 10 * (queue in slow) - quick, 0, seq, r))
        elif r["kind"] == DEPARTURE:
            events.append((cycle_of(time), 1, seq, r))
    # what is linked in the cycle of a grant is part of what is granted
    events.sort(key=lambda e: e[:2])
    fifo: dict[int, list[Group]] = {q: [] for q in range(4)}
    groups: list[Group] = []
    left: dict[int, bool] = {}
    walking: list[int] = []
    due = last = 0
    for cycle, leaves, seq, r in events:
        queue = int(r["queue"])
        if not leaves:
            group = model.link(cycle, queue, found[seq], Member(frames[seq], int(r["time_ns"])), seq)
            if group:
                fifo[queue].append(group)
            continue
        if walking:
            assert seq == walking.pop(0), f"packet {seq} left in cycle {cycle}"
            waits = queue in decides and seq == groups[-1].seqs[1]
            assert cycle == due or (waits and due < cycle < due + 30), f"packet {seq} left in cycle {cycle}, not {due}"
        else:
            assert cycle >= last + 4
            group = next_of(fifo[queue], cycle, seq) if queue in classed else fifo[queue].pop(0)
            assert seq == group.seqs[0], f"packet {seq} was granted, not {group.seqs[0]}"
            group.granted = cycle
            groups.append(group)
            walking = group.seqs[1:]
        due, last = cycle + 4, cycle
        left[seq] = bool(r["action"] != DROP)
        member = groups[-1].members[groups[-1].seqs.index(seq)]
        if r["marked"] and left[seq]:
            member.frame = marked(member.frame)
    assert not walking and not any(fifo.values())
    number = 0
    out = iter(core.recv())
    for group in groups:
        members, kept = group.members, [left[s] for s in group.seqs]
        group.sent = sum(kept)
        if not any(kept):
            continue
        frame = next(out)
        if len(members) == 1:
            assert frame.data == members[0].frame
            continue
        expected = expected_frame(members, kept, form, number)
        assert frame.data == expected, f"{len(members)} packets, {len(frame.data)} bytes"
        number += form.l3
        assert len(frame.data) <= limits[group.queue].max_bytes
        jumbo = dissect(frame.data, form)
        assert jumbo
        if jumbo.ecn != 3:
            assert split(jumbo).frames == [m.frame for m, k in zip(members, kept, strict=True) if k]
    assert next(out, None) is None
    sizes = Counter(len(g.members) for g in groups)
    packets = sum(n * k for n, k in sizes.items())
    dropped = sum(not k for k in left.values())
    return Outcome(groups, packets / max(1, len(groups)), sizes, 1 - sizes[1] / max(1, packets), dropped)


SETTINGS: dict[str, dict[str, Any]] = {
    "drop-tail": {"limit": "200KB"},
    "drop-front": {"policy": "drop-tail", "limit": "12KB", "front": 1},
    "red": {"limit": "200KB", "min": "10KB", "max": "60KB", "probability": 0.2, "ecn": 1},
    "codel": {"limit": "200KB", "target": "10us", "interval": "40us", "ecn": 1},
    "codel-drop": {"policy": "codel", "limit": "200KB", "target": "10us", "interval": "40us"},
    "pi2": {"limit": "200KB", "target": "20us", "tupdate": "16us", "ecn": 1},
    "fn": {"limit": "200KB", "window": 64, "t": "100us", "ecn": 1},
}


def written(rule: Rule) -> tuple[str, int | str]:
    """A rule as `Device.match` takes it."""
    size = 4 if rule.version == 4 else 8
    parts = [v.to_bytes(size, "big") + bytes(8) * (size == 8) for v in (rule.value, rule.mask)]
    return "&".join(str(ipaddress.ip_address(p)) for p in parts), "bypass" if rule.klass is None else rule.klass


def run(rng: random.Random, frames: list[bytes], form: JumboFormat, limits: dict[int, Limits], rate: str,
        policies: tuple[str, ...] = ("drop-tail",), line: str = "raw", rules: Sequence[Rule] = (),
        unmatched: int | None = 0) -> Outcome:  # fmt: skip
    """Frames at line rate into a core whose queues are served at `rate`; `policies` of queue 0, 1, ..., again from the first."""
    core = Core(egress="mac", line=line)
    device = core.device
    names = [policies[queue % len(policies)] for queue in range(4)]
    for queue, name in enumerate(names):
        device.queue_replace(queue, **({"policy": name} | SETTINGS[name]))
    device.dscp_map([d % 4 for d in range(64)])
    device.shape(rate)
    configure(core, form, limits)
    device.match({n: written(rule) for n, rule in enumerate(rules)}, "bypass" if unmatched is None else unmatched)
    device.trace_enable()
    for frame in frames:
        core.send(frame, core.now_ns + 1000)
    core.run_idle()
    stats, live = core.stats(), device.core_live()
    assert core.underruns == 0 and core.ingress_stalls == 0
    assert stats.core.ingress_overflow.packets == 0
    assert live.held_packets == 0 and live.free_cells == device.capabilities.cells - 1
    slow = [q for q in range(4) if names[q] == "fn"]
    decides = [q for q in range(4) if names[q].startswith(("codel", "pi2"))]
    seen = check(core, frames, form, limits, slow, decides, rules, unmatched)
    built = [g for g in seen.groups if len(g.members) > 1 and g.sent]
    assert stats.core.jumbo_out.packets == len(built)
    assert stats.core.merged.packets == sum(g.sent for g in built)
    assert (stats.core.tx_wire.packets, stats.core.tx_wire.bytes) == (stats.frames_out, stats.bytes_out)
    seen.counters = list(stats.queues)
    return seen


def test_the_hash_is_the_published_one() -> None:
    """Rows of Microsoft's verification suite."""
    for source, destination, hashed in (
        ("66.9.149.187:2794", "161.142.100.80:1766", 0x51CCC178),
        ("199.92.111.2:14230", "65.69.140.83:4739", 0xC626B0EA),
        ("24.19.198.95:12898", "12.22.207.184:38024", 0x5C2B394A),
    ):
        (a, p), (b, q) = source.split(":"), destination.split(":")
        data = bytes(map(int, a.split("."))) + bytes(map(int, b.split(".")))
        assert toeplitz(data + int(p).to_bytes(2, "big") + int(q).to_bytes(2, "big")) == hashed


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
def test_any_traffic(seed: int, l3: bool) -> None:
    """Everything that a merger has to tell apart, four queues, one of them without merging."""
    rng = random.Random(seed)
    form = JumboFormat(l3=l3, tick=rng.choice((0, 6, 16)))
    limits = {
        q: Limits(*rng.choice(((9216, 8960, 448), (1500, 8960, 448), (9216, 3000, 448), (9216, 8960, 5))))
        for q in (0, 2, 3)
    }
    frames = [frame for _, frame in traffic(rng, 3000, longest=600)]
    seen = run(rng, frames, form, limits, "1Gbit", ("drop-tail", "red"))
    print(f"merge factor {seen.factor:.2f}, {seen.in_groups:.0%} in groups, largest {max(seen.sizes)}")
    assert seen.in_groups > 0.3


def test_one_flow() -> None:
    """A flow at line rate into a slower link: nearly all of its packets travel in groups, of every size up to the limit."""
    rng = random.Random(1)
    frames = [ipv4(46, 0, number=n) for n in range(4000)]
    seen = run(rng, frames, JumboFormat(), {0: Limits()}, "2Gbit")
    print(f"merge factor {seen.factor:.2f}, {seen.in_groups:.0%} in groups, largest {max(seen.sizes)}")
    assert seen.in_groups > 0.9


@pytest.mark.parametrize(
    "policies",
    [("codel", "drop-tail"), ("codel-drop", "red"), ("pi2", "codel"), ("drop-front", "drop-tail"), ("fn", "red"),
     ("drop-front", "fn", "codel", "red")],
    ids="-".join,
)  # fmt: skip
def test_policies_decide_about_groups(policies: tuple[str, ...]) -> None:
    """Marks and drops at the departure hold for the whole group; drop from front takes whole groups; slow and fast policies."""
    rng = random.Random(7)
    form = JumboFormat(l3=rng.random() < 0.5)
    frames = [frame for _, frame in traffic(rng, 2500, longest=300)]
    seen = run(rng, frames, form, {q: Limits() for q in range(4)}, "600Mbit", policies)
    print(f"merge factor {seen.factor:.2f}, {seen.in_groups:.0%} in groups, {seen.dropped} dropped at departure")
    assert seen.in_groups > 0.2
    if policies[0].startswith(("codel", "drop-front")):
        assert seen.dropped > 5


def test_no_cell_is_lost_when_short_frames_end_one_behind_the_other() -> None:
    """One-word frames behind a long one, strict, while another queue drops from its front: all cells come back."""
    for seed in range(6):
        rng = random.Random(seed)
        core = Core(egress="stopped", line="raw")
        device = core.device
        device.queue_replace(0, policy="drop-tail", limit="500KB", strict=1)
        device.queue_replace(1, policy="drop-tail", limit="4000", front=1)
        device.dscp_map([1] * 64)
        if seed % 2:
            device.merge(1, "flow")
        for _ in range(30):
            for size in (rng.randrange(600, 1500), 14, 14, 14):
                core.send(bytes(range(12)) + b"\x12\x34" + bytes(size - 14))
        for n in range(130):
            core.send(ipv4(20, n % 5, number=n))
        core.run_until(core.line_free_ns + 2000)
        for n in range(400):
            for k in range(1 if rng.random() < 0.3 else 10):
                core.send(ipv4(1500 if k == 0 else 20, n % 5, number=n))
        for _ in range(10):
            core.egress = "ready"
            core.run_cycles(rng.randrange(100, 1500))
        core.run_idle()
        live = device.core_live()
        assert (live.held_packets, live.free_cells) == (0, device.capabilities.cells - 1), f"seed {seed}"
        assert core.stats().queues[1].front.packets > 100


@pytest.mark.parametrize("length", [8191, 8192, 8231, 8232, 8940])
@pytest.mark.parametrize("make", [ipv4, ipv6])
def test_a_long_packet_is_of_its_flow(make: Callable[..., bytes], length: int) -> None:
    """A packet for which its group has no room closes it, however long it is: what comes later does not join before it."""
    core = Core(egress="stopped", line="raw")
    core.device.merge(0, "flow", max_bytes=4000)
    before = [ipv4(1000, 9, number=n) for n in range(6)]
    frames = [make(52, 0, number=1), make(length, 0, number=2), make(1500, 0, number=3), make(60, 0, number=4)]
    for frame in before + frames:
        core.send(frame)
    core.run_until(core.line_free_ns + 5000)
    core.egress = "ready"
    core.run_idle()
    left = [jumbo.packets if (jumbo := dissect(f)) else [f[14:]] for f in (f.data for f in core.recv())]
    assert [[len(p) for p in packets] for packets in left[-3:]] == [[52], [length], [1500, 60]]


@pytest.mark.parametrize("rest", [(2,), (0,), (1, 2, 3)], ids=["ect", "not-ect", "any"])
def test_the_first_packet_does_not_speak_for_its_group(rest: tuple[int, ...]) -> None:
    """Groups whose first packet came CE, behind CoDel: the others are marked, or dropped if they are Not-ECT; CE packets are not counted as marked."""
    rng = random.Random(3)
    frames = [ipv4(200, n // 8 % 3, ecn=3 if n % 8 == 0 else rng.choice(rest), number=n) for n in range(3000)]
    seen = run(rng, frames, JumboFormat(), {0: Limits(9216, 8960, 8)}, "1Gbit", ("codel",))
    assert seen.in_groups > 0.8
    counters = seen.counters[0]
    changed = sum(
        (p.ecn == 3) - (parse_packet(frames[s]).ecn == 3)  # type: ignore[union-attr]
        for g in seen.groups
        for m, s in zip(g.members, g.seqs, strict=True)
        if (p := parse_packet(m.frame))
    )
    assert counters.head_marked.packets == changed
    if rest == (0,):
        assert counters.head_dropped.packets > 100 and changed == 0
    else:
        assert changed > 100


def test_evictions_are_counted_in_the_queue_of_the_group() -> None:
    """Packets that wait and take a slot from each other are counted, each once; those that do not wait are not."""
    for waits, expected in ((False, 0), (True, 19)):
        core = Core(egress="stopped" if waits else "ready", line="10gbe")
        device = core.device
        device.dscp_map([d % 4 for d in range(64)])
        for queue in range(4):
            device.merge(queue, "flow")
        for n in range(3):  # what is prefetched does not wait
            core.send(bytes(12) + b"\x12\x34" + bytes(400 + n))
        core.run_until(core.line_free_ns + 2000)
        for n in range(20):
            core.send(ipv4(46, 0, dscp=n % 2, number=n), core.line_free_ns + 2000)
        core.run_until(core.line_free_ns + 3000)
        core.egress = "ready"
        core.run_idle()
        assert core.stats().core.evicted == expected


def test_a_frame_has_one_tick() -> None:
    """The tick changes while a long group departs: its header and its spacings are in the same unit."""
    core = Core(egress="stopped", line="10gbe")
    device = core.device
    device.merge(0, "flow")
    for n in range(3):
        core.send(bytes(12) + b"\x12\x34" + bytes(1000 + n))
    for n in range(300):
        core.send(ipv4(20, 0, number=n), core.line_free_ns + 1000)
    core.run_until(core.line_free_ns + 2000)
    core.egress = "ready"
    for tick in (10, 3, 8, 6):
        device.jumbo("opaque", tick=tick)
        core.run_cycles(150)
    core.run_idle()
    jumbo = next(j for f in core.recv() if (j := dissect(f.data)))
    gaps = {e.spacing for e in jumbo.entries[1:]}
    step = 1000 + 84 * 0.8
    assert all(abs(gap * 2**jumbo.tick - step) <= 2**jumbo.tick + 7 for gap in gaps), (jumbo.tick, gaps)


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(s, marks=[pytest.mark.long, pytest.mark.full]) for s in (3, 4, 5))]
)
def test_resets_and_link_losses_in_the_middle_of_groups(seed: int) -> None:
    """A reset by register or the link going down while groups depart: every packet is counted, no cell is lost, and merging goes on."""
    rng = random.Random(seed)
    core = Core(egress="mac", line="raw")
    device = core.device
    device.dscp_map([d % 4 for d in range(64)])
    policies = ("drop-tail", "codel", "drop-front", "red")
    for queue, name in enumerate(policies):
        device.queue_replace(queue, **({"policy": name} | SETTINGS[name]))
        device.merge(queue, "flow")
    device.shape("2Gbit")
    built = walks = 0
    for turn in range(12):
        frames = [frame for _, frame in traffic(rng, 400, longest=rng.choice((60, 600)))]
        start = core.now_ns + 500
        for frame in frames:
            core.send(frame, start)
        core.run_until(core.line_free_ns - rng.randrange(20_000))
        core.run_cycles(rng.randrange(400))
        if rng.random() < 0.5:
            walks += device.core_live().held_packets > 20
            core.set_link(False)
            core.run_cycles(rng.randrange(1, 3000))
            core.set_link(True)
            core.run_idle()
        elif rng.random() < 0.8:
            walks += device.core_live().held_packets > 20
            built += core.stats().core.jumbo_out.packets
            device.reset()
            core.run_idle()
        core.run_idle()
        stats, live = core.stats(), device.core_live()
        assert (live.held_packets, live.free_cells) == (0, device.capabilities.cells - 1), f"turn {turn}"
        assert core.underruns == core.ingress_stalls == 0
        for q in range(4):
            assert (device.live(q).bytes, device.live(q).packets, device.live(q).frames) == (0, 0, 0)
        for frame in core.recv():
            if not frame.bad:
                dissect(frame.data, JumboFormat(protocol=252))  # of 253 there are packets that are none
    assert built + stats.core.jumbo_out.packets > 20 and walks > 2


@pytest.mark.parametrize("mode", ["flow", "class"])
def test_limits_change_under_traffic(mode: str) -> None:
    """Limits of size, sum and count go up and down at random moments: what waits is closed, so the packets of a jumbo frame came under
    the same limits and keep within them; none is lost, none passes another of its flow."""
    rng = random.Random(mode)
    core = Core(egress="mac")
    device = core.device
    device.shape("2Gbit")
    device.match({}, 0)
    device.trace_enable(departures=False)
    lengths = (60, 90, 200, 600)
    epochs: list[tuple[int, int, Limits]] = []
    sent: list[bytes] = []

    def change() -> None:
        limits = Limits(
            rng.choice((300, 1500, 4000, 9216)), rng.choice((400, 2000, 8960)), rng.choice((2, 3, 10, 100, 448))
        )
        before = core.now_ns
        device.merge(0, mode, limits.max_bytes, limits.max_sum, limits.max_count, "30us" if mode == "class" else 0)
        epochs.append((before, core.now_ns, limits))

    records, at = [], core.now_ns
    change()
    for _ in range(120):
        while at < core.now_ns + 150_000:
            at += rng.choice((0, 0, 0, rng.randrange(8000)))
            frame = bytearray(udp_frame(rng.choice(lengths), 0, NOT_ECT, len(sent)))
            frame[34:36] = (1000 + rng.randrange(3)).to_bytes(2, "big")
            sent.append(bytes(frame))
            core.send(sent[-1], at)
        core.run_until(core.now_ns + rng.randrange(20_000, 150_000))
        change()
        records.append(core.trace())
    core.run_idle()
    came = np.concatenate([*records, core.trace()])["time_ns"]
    assert core.stats().core.ingress_overflow.packets == 0 and len(came) == len(sent)
    number = {frame[14:]: n for n, frame in enumerate(sent)}
    last: dict[bytes, int] = {}
    full: Counter[str] = Counter()
    count = 0
    for frame in core.recv():
        jumbo = dissect(frame.data)
        packets = [number[bytes(p)] for p in (jumbo.packets if jumbo else [frame.data[14:]])]
        for n in packets:
            assert last.get(flow := sent[n][34:36], -1) < n
            last[flow] = n
        count += len(packets)
        if jumbo is None:
            continue
        first, final, size = came[packets[0]], came[packets[-1]], sum(len(p) for p in jumbo.packets)
        # what comes during a change is under the limits before or behind it
        ends = [end for _, end, _ in epochs[1:]] + [core.now_ns]
        under = [
            limits for (begin, _, limits), end in zip(epochs, ends, strict=True) if first >= begin and final <= end
        ]
        assert under, f"{len(packets)} packets that came from {first} to {final} ns share a frame"
        kept = [
            x for x in under if len(frame.data) <= x.max_bytes and size <= x.max_sum and len(packets) <= x.max_count
        ]
        assert kept, f"{len(packets)} packets, {size} of {len(frame.data)} bytes, with {under}"
        full["bytes"] += len(frame.data) + max(lengths) > kept[0].max_bytes
        full["sum"] += size + max(lengths) > kept[0].max_sum
        full["count"] += len(packets) == kept[0].max_count
    print(f"{mode}: {full}")
    assert count == len(sent) and min(full.values()) > 20


RULES = (
    Rule(4, 0x0A000102, 0xFFFFFFFF, 3),
    Rule(6, 0xFD00_0002 << 32, 0xFFFF_FFFF << 32, 15),
    Rule(4, 0x0A000200, 0xFF00FF00, None),
    Rule(4, 0x0A000000, 0xFFFFFC00, 3),
    Rule(6, 0xFD00_0003 << 32, 0xFFFF_FFFF << 32, None),
    Rule(6, 0xFD00_0000 << 32, 0xFF00_0000 << 32, 9),
)
"""IPv4 and IPv6, bypasses, rules behind others that are more special, a mask with a hole"""


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
def test_classes(seed: int, l3: bool) -> None:
    """Groups by class beside groups by flow and a queue without merging: the frames, and the times at which groups close."""
    rng = random.Random(seed)
    form = JumboFormat(l3=l3, tick=rng.choice((0, 6, 16)))
    sizes = ((9216, 8960, 448), (1500, 8960, 448), (9216, 3000, 448), (9216, 8960, 5))
    limits = {q: Limits(*rng.choice(sizes), jfet_ns=jfet) for q, jfet in ((0, 20_000), (2, 700), (3, None))}
    frames = [spread(frame) for _, frame in traffic(rng, 3000, longest=600)]
    unmatched = (0, None)[seed % 2]
    seen = run(
        rng, frames, form, limits, ("1Gbit", "8Gbit")[seed // 2], ("drop-tail", "red"), rules=RULES, unmatched=unmatched
    )
    print(f"merge factor {seen.factor:.2f}, {seen.in_groups:.0%} in groups, largest {max(seen.sizes)}")
    assert seen.in_groups > 0.2


def test_a_class_closes_when_its_timer_ends() -> None:
    """Over an idle link every group leaves within 100 ns of the end of its timer, whatever comes at that moment."""
    core = Core(egress="mac", line="raw")
    device = core.device
    device.match({n: (f"10.{n}.0.0/16", n) for n in range(16)}, "bypass")
    device.dscp_map([d % 4 for d in range(64)])
    limits = {q: Limits(jfet_ns=j) for q, j in enumerate((1, 500, 5003, 40_000))}
    configure(core, JumboFormat(), limits)
    device.trace_enable()
    rng, frames = random.Random(4), []
    for n in range(1500):
        frame = bytearray(ipv4(46, 0, dscp=rng.randrange(4), number=n))
        frame[31] = rng.randrange(18)
        frames.append(bytes(frame))
        core.send(frames[-1], core.line_free_ns + (0 if n % 100 < 16 else rng.randrange(3000)))
    core.run_idle()
    rules = [Rule(4, 0x0A000000 + (n << 16), 0xFFFF0000, n) for n in range(16)]
    groups = check(core, frames, JumboFormat(), limits, rules=rules, unmatched=None).groups
    timed = [
        g
        for g in groups
        if g.deadline_ns is not None and (g.closes is None or 32 * g.closes // 5 > g.deadline_ns + 200)
    ]
    late = []
    for group in timed:
        before = max(
            (g.granted for g in groups if g.granted and group.granted and g.granted < group.granted), default=0
        )
        if before is not None and group.granted and before < cycle_of(group.deadline_ns) - 300:  # type: ignore[operator]
            late.append(32 * group.granted / 5 - group.deadline_ns)  # type: ignore[operator]
    print(
        f"{len(timed)} groups closed by the timer; {len(late)} over an idle link, {min(late):.1f} to {max(late):.1f} ns after its end"
    )
    assert len(late) > 20 and 0 <= min(late) and max(late) <= 100


@pytest.mark.parametrize("seed", range(5))
def test_no_change_of_the_configuration_reorders_a_flow(seed: int) -> None:
    """Modes, timers, the match table, form and tick change under traffic: every packet leaves once, whole, each flow in order."""
    rng = random.Random(seed)
    core = Core(egress="mac", line="10gbe")
    device = core.device
    device.dscp_map([d % 2 for d in range(64)])
    device.queue_replace(1, policy="drop-tail", limit="1000KB")
    device.shape("3Gbit")
    frames = [spread(ipv4(rng.randrange(20, 300), rng.randrange(12), dscp=rng.randrange(2), number=n,
                          fragment=rng.choice((0,) * 20 + (5,)))) for n in range(4000)]  # fmt: skip
    for frame in frames:
        core.send(frame)
    while core.now_ns < core.line_free_ns:
        core.run_cycles(rng.randrange(20, 1300))
        queue, what = rng.randrange(2), rng.randrange(4)
        if what == 0:
            device.merge(queue, rng.choice(("off", "flow", "class", "class")), jfet=rng.choice(("1ns", "2us", "30us")))
        elif what == 1:
            rules = rng.sample(RULES, rng.randrange(4))
            device.match({n: written(rule) for n, rule in enumerate(rules)}, rng.choice((0, 7, "bypass")))
        elif what == 2:
            device.jumbo("opaque", form=rng.choice(("l2", "l3")), tick=rng.randrange(1, 16))
        else:
            core.csr_write(0x300 + 4 * rng.randrange(64), rng.getrandbits(32))
    core.run_idle()
    stats, live = core.stats(), device.core_live()
    assert not any(getattr(q, n).packets for q in stats.queues for n in ("early", "forced", "overflow"))
    assert (live.held_packets, live.free_cells) == (0, device.capabilities.cells - 1)
    out: list[bytes] = []
    for frame in core.recv():
        jumbo = dissect(frame.data)
        out += split(jumbo).frames if jumbo else [frame.data]
    assert Counter(out) == Counter(frames)
    for key in {(f[15], f[26:38]) for f in frames}:
        sent = [f for f in frames if (f[15], f[26:38]) == key]
        assert [f for f in out if (f[15], f[26:38]) == key] == sent
    built = stats.core.jumbo_out.packets
    print(f"{built} jumbo frames of {stats.core.merged.packets} packets")
    assert built > 100


@pytest.mark.parametrize("egress", ["mac", "stopped"])
@pytest.mark.parametrize("seed", range(3))
def test_drop_from_front_takes_parked_groups(seed: int, egress: str) -> None:
    """A queue over its limit with nothing but parked groups: the oldest goes to the head and is sent, or dropped if the line is busy; nothing hangs."""
    rng = random.Random(seed)
    core = Core(egress=egress, line="10gbe")
    device = core.device
    device.queue_replace(0, policy="drop-tail", limit="6000", front=1)
    device.match({n: (f"10.{n}.0.0/16", n) for n in range(16)})
    device.merge(0, "class", jfet="1s")
    for n in range(600):
        frame = bytearray(ipv4(rng.randrange(46, 400), 0, number=n))
        frame[31] = rng.randrange(16)
        core.send(bytes(frame))
    core.run_until(core.line_free_ns + 5000)
    live = device.live(0)
    dropped = core.stats().queues[0].front.packets
    print(f"{dropped} dropped, {live.packets} packets parked in {live.frames} groups")
    assert 0 < live.bytes <= 6000 and 1 < live.frames <= 16
    left = core.stats().frames_out
    assert (left > 50 and dropped == 0) if egress == "mac" else (left == 0 and dropped > 200)
    start = core.now_ns
    core.egress = "mac"
    core.run_idle()
    assert core.now_ns - start > 990_000_000, "the timers have not been waited for"
    assert core.stats().frames_out > 0 and device.core_live().held_packets == 0
    assert device.core_live().free_cells == device.capabilities.cells - 1

"""The core merges packets that wait into jumbo frames: the frames that leave against `golden.merge`, byte for byte."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from golden.merge import FlowTable, Group, Limits, Member, MergeModel, marked, toeplitz
from jumbo_frames import ipv4, traffic
from weir_sim.core import Core
from weir_sim.jumbo.packet import JumboFormat, parse_packet
from weir_sim.jumbo.wire import build, dissect, split
from weir_sim.trace import ARRIVAL, DROP, MARK

JUMBO, CORE_APPLY, MERGE, APPLY = 0x064, 0x034, 0x0EC, 0x0FC
SLOTS = 1024
"""places of flows in preset full"""
LINK = 13
"""cycles from the time of a decision's request to its link, in a build with RED; FN ten more"""


def cycle_of(time_ns: int) -> int:
    """The cycle that begins at that time (floor(32 k / 5) ns)."""
    return -(-5 * time_ns // 32)


def configure(core: Core, form: JumboFormat, limits: dict[int, Limits]) -> None:
    """Turns merging on."""
    core.csr_write(JUMBO, form.l3 << 4 | form.tick << 8)
    core.csr_write(CORE_APPLY, 1)
    for queue, limit in limits.items():
        base = 0x1000 + 0x400 * queue
        for n, value in enumerate((1, limit.max_bytes, limit.max_sum, limit.max_count)):
            core.csr_write(base + MERGE + 4 * n, value)
        core.csr_write(base + APPLY, 1)


@dataclass
class Outcome:
    """What was seen."""

    groups: list[Group]
    factor: float
    """packets that were sent for each frame"""
    sizes: Counter[int]
    in_groups: float
    """share of the packets that travelled in jumbo frames"""


def check(
    core: Core, frames: list[bytes], form: JumboFormat, limits: dict[int, Limits], slow: Iterable[int] = ()
) -> Outcome:
    """Derives every frame that must have left from the trace and the frames, and compares all of them."""
    model = MergeModel(form, [limits.get(q) for q in range(4)])
    table = FlowTable(form.protocol, SLOTS)
    found = [table.look_up(f) for f in frames]
    events: list[tuple[int, int, int, int]] = []
    for r in core.trace():
        seq, queue, time = int(r["seq"]), int(r["queue"]), int(r["time_ns"])
        if r["kind"] == ARRIVAL:
            if r["action"] != DROP:
                events.append((cycle_of(time) + LINK + 10 * (queue in slow), 0, seq, r))
        else:
            events.append((cycle_of(time), 1, seq, r))
    # what is linked in the cycle of a grant is part of what is granted
    events.sort(key=lambda e: e[:2])
    fifo: dict[int, list[Group]] = {q: [] for q in range(4)}
    groups: list[Group] = []
    walking: list[int] = []
    due = 0
    for cycle, leaves, seq, r in events:
        queue = int(r["queue"])
        if not leaves:
            member = Member(marked_if(frames[seq], r["action"] == MARK), int(r["time_ns"]), int(r["ecn"]))
            group = model.link(cycle, queue, found[seq], member, seq)
            if group:
                fifo[queue].append(group)
        elif walking:
            assert (seq, cycle) == (walking.pop(0), due), f"packet {seq} left in cycle {cycle}, not {due}"
            due += 4
        else:
            group = fifo[queue].pop(0)
            assert seq == group.seqs[0], f"packet {seq} was granted, not {group.seqs[0]}"
            group.granted = cycle
            groups.append(group)
            walking, due = group.seqs[1:], cycle + 4
    assert not walking and not any(fifo.values())
    number = 0
    out = core.recv()
    for group, frame in zip(groups, out, strict=True):
        members = group.members
        if len(members) == 1:
            assert frame.data == members[0].frame
            continue
        expected = build([m.frame for m in members], [m.time_ns for m in members], form, number)
        assert frame.data == expected, f"{len(members)} packets, {len(frame.data)} bytes"
        number += form.l3
        limit = limits[group.queue]
        assert len(frame.data) <= limit.max_bytes
        jumbo = dissect(frame.data, form)
        assert jumbo
        if not any(parse_packet(m.frame, form).ecn == 3 for m in members):  # type: ignore[union-attr]
            assert split(jumbo).frames == [m.frame for m in members]
    sizes = Counter(len(g.members) for g in groups)
    packets = sum(n * k for n, k in sizes.items())
    return Outcome(groups, packets / max(1, len(groups)), sizes, 1 - sizes[1] / max(1, packets))


def marked_if(frame: bytes, marks: bool) -> bytes:
    """The frame, with CE if it was marked."""
    return marked(Member(frame, 0, 0)) if marks else frame


def run(rng: random.Random, frames: list[bytes], form: JumboFormat, limits: dict[int, Limits], rate: str,
        policies: tuple[str, ...] = ("drop-tail",), line: str = "raw") -> Outcome:  # fmt: skip
    """Frames at line rate into a core whose queues are served at `rate`."""
    core = Core(egress="mac", line=line)
    device = core.device
    for queue in range(4):
        policy = policies[queue % len(policies)]
        more = {"min": "10KB", "max": "60KB", "probability": 0.2, "ecn": 1} if policy == "red" else {}
        device.queue_replace(queue, policy=policy, limit="200KB", **more)
    device.dscp_map([d % 4 for d in range(64)])
    device.shape(rate)
    configure(core, form, limits)
    device.trace_enable()
    for frame in frames:
        core.send(frame, core.now_ns + 1000)
    core.run_idle()
    stats = core.stats()
    assert core.underruns == 0 and core.ingress_stalls == 0
    assert stats.core.ingress_overflow.packets == 0
    return check(core, frames, form, limits)


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

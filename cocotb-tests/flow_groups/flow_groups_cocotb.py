"""FlowGroups against golden/merge.py: which links join, and what their groups then are."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from axis import seeded, start
from golden.merge import CLASSES, Found, Group, Limits, Member, MergeModel
from weir_sim.jumbo.packet import JumboFormat, parse_packet

QUEUES, SLOTS = 4, 256
LOOK, DELAY = 4, 1
"""cycles from a look to its link, and from that to what is put or parked; the link goes on a cycle later"""
KINDS = ("none", "unknown", "barred", "joinable")


@dataclass
class Arrival:
    """A packet on its way through the unit."""

    index: int
    queue: int
    found: Found
    frame: bytes
    time_ns: int
    id: int

    @property
    def tags(self) -> int:
        return self.found.packet.tags if self.found.packet else 0


class Bench:
    """Tags, looks, links and grants as the core gives them; `at` is the cycle in which an input is valid."""

    def __init__(self, dut: Any, name: str, form: JumboFormat, limits: list[Limits | None]) -> None:
        self.dut, self.rng, self.form = dut, seeded(name), form
        self.model = MergeModel(form, limits)
        self.cycle = 0
        self.fifo: list[deque[Group]] = [deque() for _ in range(QUEUES)]
        self.ids: dict[int, list[int]] = {}
        """numbers of the packets of a group, by its id()"""
        self.looks: dict[int, Arrival] = {}
        self.links: dict[int, Arrival] = {}
        self.expected: tuple[Arrival, Group, bool] | None = None
        self.leaves: tuple[Arrival, Group, bool] | None = None
        """what was put or parked, or joined, a cycle ago: its link goes on now"""
        self.joined = self.opened = self.at_last = self.evicted = 0
        self.largest = 0
        self.parked: dict[int, Group] = {}
        """groups of classes, by slot"""
        self.acts: tuple[int, int] = (0, 0)
        """whether the expected link closes and parks a group"""
        self.late = self.left = 0

    async def start(self) -> Bench:
        config: dict[str, int] = {}
        for q, limit in enumerate(self.model.limits):
            by_class = limit is not None and limit.jfet_ns is not None
            config |= {f"config_{q}_classes": int(by_class), f"config_{q}_jfetNs": (limit.jfet_ns or 0) if limit else 0,
                       f"config_{q}_flow": int(limit is not None and not by_class), f"config_{q}_maxBytes": limit.max_bytes if limit else 0,
                       f"config_{q}_maxSum": limit.max_sum if limit else 0, f"config_{q}_maxCount": limit.max_count if limit else 0}  # fmt: skip
        await start(self.dut, tag_valid=0, look_valid=0, linked_valid=0, linked_payload_transit=0, grant_valid=0,
                    applied=0, nowNs=0,                    parked=0, closing=0, leaving_valid=0, l3=int(self.form.l3),
                    tick=self.form.tick, **config)  # fmt: skip
        for _ in range(SLOTS + QUEUES * CLASSES + 8):
            await self.step()
        return self

    async def step(self) -> None:
        """One cycle: compares what the unit says, then drives what is planned for the next."""
        dut = self.dut
        await RisingEdge(dut.clk)
        self.cycle += 1
        self._compare()
        at = self.cycle + 1
        dut.tag_valid.value = dut.grant_valid.value = dut.leaving_valid.value = 0
        dut.nowNs.value = 32 * at // 5
        dut.parked.value = sum(1 << slot - SLOTS for slot in self.parked)
        look, link = self.looks.pop(at, None), self.links.pop(at, None)
        dut.look_valid.value, dut.linked_valid.value = int(look is not None), int(link is not None)
        if look:
            dut.look_payload_index.value, dut.look_payload_queue.value = look.index, look.queue
            dut.look_payload_length.value, dut.look_payload_tags.value = len(look.frame), look.tags
            dut.look_payload_nowNs.value = look.time_ns
        if link:
            packet = link.found.packet
            dut.linked_payload_queue.value, dut.linked_payload_id.value = link.queue, link.id
            dut.linked_payload_descriptor_length.value = len(link.frame)
            ecn = packet.ecn if packet else 0
            dut.linked_payload_descriptor_ecn.value = ecn
            dut.linked_payload_group_ect.value, dut.linked_payload_group_ce.value = int(ecn in (1, 2)), int(ecn == 3)
            dut.linked_payload_group_notEct.value = int(ecn == 0)
            dut.linked_payload_descriptor_ipVersion.value = {4: 1, 6: 2}[packet.version] if packet else 0
            dut.linked_payload_descriptor_ipOffset.value = link.tags
        went = self.links.pop(-(at - DELAY), None)
        if went:
            self._decide(at, went)
        elif self.parked and self.rng.random() < 0.004:
            slot = self.rng.choice(sorted(self.parked))
            dut.leaving_valid.value, dut.leaving_payload_queue.value = 1, (slot - SLOTS) // CLASSES
            dut.leaving_payload_klass.value = slot % CLASSES
            self._leaves(slot, at)
            self.left += 1
        if link:
            self.links[-at] = link

    def _decide(self, at: int, link: Arrival) -> None:
        """What the model says of a link that goes on in that cycle; grants of earlier cycles are known."""
        slot, held = link.found.slot, self.parked.get(link.found.slot) if link.found.classed else None
        known = link.found.kind in ("barred", "joinable")
        group = self.model.link(at, link.queue, link.found, Member(link.frame, link.time_ns), link.index)
        self.acts = (0, 0)
        if link.found.classed and known and group is not None:
            self.late += held is not None and held.deadline_ns is not None and 32 * (at - 1) // 5 >= held.deadline_ns
            self.acts = (int(held is not None), int(group.deadline_ns is not None))
            if held:
                self._leaves(slot, at)
            if group.deadline_ns is not None:
                self.parked[slot] = group
        joins = group is None
        if group is None:
            group = self.model.open[link.found.slot][1]
            self.ids[id(group)].append(link.id)
            self.joined += 1
            self.largest = max(self.largest, len(group.members))
        else:
            if not self.acts[1]:
                self.fifo[link.queue].append(group)
            self.ids[id(group)] = [link.id]
            self.opened += 1
        self.expected = link, group, joins

    def _leaves(self, slot: int, at: int) -> None:
        """A class's group goes to its queue in that cycle."""
        group = self.parked.pop(slot)
        group.granted = at
        self.fifo[group.queue].append(group)

    def _compare(self) -> None:
        dut = self.dut
        self.evicted += int(dut.evicted.value)
        assert int(dut.passing_valid.value) == int(self.expected is not None), f"cycle {self.cycle}"
        assert int(dut.link_valid.value) == int(self.leaves is not None), f"cycle {self.cycle}"
        if self.leaves:
            self._compare_link(*self.leaves)
        self.leaves = self.expected
        acts = (int(dut.close_valid.value), int(dut.park_valid.value))
        assert acts == (self.acts if self.expected else (0, 0)), f"cycle {self.cycle}: closes, parks {acts}"
        if self.expected is None:
            assert not int(dut.put_valid.value)
            return
        link, group, joins = self.expected
        self.expected = None
        assert (int(dut.passing_payload_queue.value), int(dut.passing_payload_id.value)) == (link.queue, link.id)
        assert int(dut.put_valid.value) == int(not joins and not acts[1]), f"cycle {self.cycle}"
        if acts[1]:
            deadline = group.deadline_ns
            place = (link.queue, link.found.slot % CLASSES, link.id, deadline)
            assert place == tuple(
                int(getattr(dut, f"park_payload_{n}").value) for n in ("place_queue", "place_klass", "id", "deadline")
            )
        if acts[0]:
            assert int(dut.close_payload_queue.value) == link.queue
            assert int(dut.close_payload_klass.value) == link.found.slot % CLASSES

    def _compare_link(self, link: Arrival, group: Group, joins: bool) -> None:
        """The link that goes on, with its group."""
        dut = self.dut
        got = {name: int(getattr(dut, f"link_payload_{name}").value) for name in ("queue", "id", "joins")}
        assert got == {"queue": link.queue, "id": link.id, "joins": int(joins)}, f"cycle {self.cycle}: {got}"
        frames = [m.frame for m in group.members]
        size = {"packets": len(frames), "bytes": sum(map(len, frames))}
        codes = {p.ecn if (p := parse_packet(f)) else 0 for f in (frames if joins else [link.frame])}
        size |= {"ect": int(bool(codes & {1, 2})), "ce": int(3 in codes), "notEct": int(0 in codes)}
        if not joins:
            size |= {"packets": 1, "bytes": len(link.frame)}
        assert {name: int(getattr(dut, f"link_payload_group_{name}").value) for name in size} == size, (
            f"cycle {self.cycle}"
        )
        if joins:
            ids = self.ids[id(group)]
            assert int(dut.link_payload_group_l3.value) == int(self.form.l3)
            assert int(dut.link_payload_head.value) == ids[0] and int(dut.link_payload_before.value) == ids[-2]

    def tag(self, index: int, found: Found) -> None:
        """In the next cycle."""
        dut = self.dut
        dut.tag_valid.value, dut.tag_payload_index.value = 1, index
        dut.tag_payload_tag_kind.value = KINDS.index(found.kind)
        dut.tag_payload_tag_slot.value = max(found.slot, 0)
        dut.tag_payload_tag_number.value = max(found.number, 0)
        dut.tag_payload_tag_epoch.value = 0

    def grant(self, queue: int) -> None:
        """In the next cycle."""
        at = self.cycle + 1
        self.dut.grant_valid.value, self.dut.grant_payload_queue.value = 1, queue
        group = self.fifo[queue].popleft()
        group.granted = at
        self.at_last += self.expected is not None and self.expected[1] is group and self.expected[2]


def packet_of(rng: Any, flow: int, v6: bool, length: int) -> bytes:
    """A frame with an IP packet of that length; which flow it is of is said by its tag."""
    tags = (b"", b"\x81\x00\x00\x05", b"\x88\xa8\x00\x01\x81\x00\x00\x05")[flow % 3]
    ecn = rng.randrange(4)
    if v6:
        head = (
            (6 << 28 | ecn << 20).to_bytes(4, "big")
            + (max(length, 40) - 40).to_bytes(2, "big")
            + b"\x3b\x40"
            + bytes(32)
        )
        return bytes(12) + tags + b"\x86\xdd" + head + bytes(max(length, 40) - 40)
    head = bytes((0x45, ecn)) + length.to_bytes(2, "big") + bytes(4) + b"\x40\x3b" + bytes(10)
    return bytes(12) + tags + b"\x08\x00" + head + bytes(length - 20)


@cocotb.test()
@cocotb.parametrize(l3=[False, True], tick=[0, 6, 16], grants=[0.02, 0.25], classes=[False, True])
async def joins_what_fits(dut: Any, l3: bool, tick: int, grants: float, classes: bool) -> None:
    """Flows in few slots, four queues of which one does not merge, links two to many cycles apart, grants at any moment."""
    jfets = (3000, 400) if classes else (None, None)
    limits = [Limits(), Limits(600, 8960, 448, jfets[0]), None, Limits(9216, 900, 7, jfets[1])]
    bench = await Bench(
        dut, f"joins {l3} {tick} {grants}" + " classes" * classes, JumboFormat(l3=l3, tick=tick), limits
    ).start()
    rng = bench.rng
    now_ns = rng.getrandbits(47)
    last = dict.fromkeys(range(QUEUES), 0)
    last_any = granted = 0
    flows = [(rng.randrange(6), number, rng.random() < 0.3) for number in range(8)]
    for n in range(9000):
        await bench.step()
        at = bench.cycle + 1
        now_ns += rng.choice((6, 6, 7, rng.randrange(1 << (tick + 4))))
        if rng.random() < 0.004:
            now_ns += rng.choice((65534, 65535, 65536, 65537)) << tick
        slot, number, v6 = rng.choice(flows)
        queue = number % QUEUES if rng.random() < 0.9 else rng.randrange(QUEUES)
        if at - last[queue] >= 4 and at - last_any >= 2 and rng.random() < 0.6:
            kind = rng.choice((3,) * 12 + (2, 1, 0))
            frame = packet_of(rng, number, v6, rng.choice((20, 46, rng.randrange(20, 300), rng.randrange(20, 1500))))
            classed = classes and queue in (1, 3)
            if classed:
                slot, kind = SLOTS + CLASSES * queue + slot % 3 * 5, kind if kind != 1 else 2
            found = Found(
                KINDS[kind],
                slot if kind >= 2 else -1,
                number if kind >= 2 else -1,
                parse_packet(frame),
                classed and kind >= 2,
            )
            arrival = Arrival(n % 2048, queue, found, frame, now_ns % (1 << 48), rng.randrange(2048))
            last[queue] = last_any = at
            bench.tag(arrival.index, found)
            bench.looks[at + 1] = arrival
            if rng.random() < 0.95:  # else the packet is dropped
                bench.links[at + 1 + LOOK] = arrival
        choices = [q for q in range(QUEUES) if bench.fifo[q]]
        if choices and at - granted >= 4 and rng.random() < grants:
            granted = at
            bench.grant(rng.choice(choices))
    cocotb.log.info("%d joined, %d opened, %d in the cycle of the grant, %d evicted, largest %d",
                    bench.joined, bench.opened, bench.at_last, bench.evicted, bench.largest)  # fmt: skip
    assert bench.joined > 100 and bench.opened > 200 and bench.evicted > (5 if classes else 20)
    if grants < 0.1:
        assert bench.largest >= (5 if classes else 7)
    if classes:
        cocotb.log.info("%d came late, %d left", bench.late, bench.left)
        assert bench.late > 8 and bench.left > 3


@cocotb.test()
async def closes_when_the_configuration_changes(dut: Any) -> None:
    """APPLY closes the groups of its queue, a change of form or tick all; a packet of no flow those of its queue."""
    form = JumboFormat()
    bench = await Bench(dut, "closes", form, [Limits()] * QUEUES).start()
    frame = packet_of(bench.rng, 0, False, 46)
    packet = parse_packet(frame)

    async def put(queue: int, kind: str = "joinable") -> bool:
        """A packet of the queue's own flow; whether it joined."""
        found = Found(kind, queue, queue, packet)
        bench.tag(queue, found)
        arrival = Arrival(queue, queue, found, frame, 1000, bench.rng.randrange(2048))
        bench.looks[bench.cycle + 2] = arrival
        bench.links[bench.cycle + 2 + LOOK] = arrival
        before = bench.joined
        for _ in range(LOOK + 8):
            await bench.step()
        return bench.joined > before

    def close(queues: range | tuple[int, ...]) -> None:
        for _, group in bench.model.open.values():
            group.closed |= group.queue in queues

    assert [await put(q) for q in range(QUEUES)] == [False] * 4
    assert [await put(q) for q in range(QUEUES)] == [True] * 4
    dut.applied.value = 0b0100
    close((2,))
    await bench.step()
    dut.applied.value = 0
    assert [await put(q) for q in range(QUEUES)] == [True, True, False, True]
    for pin, value in ((dut.tick, 7), (dut.tick, 6)):
        pin.value = value
        close(range(QUEUES))
        for _ in range(12):
            await bench.step()
        assert [await put(q) for q in range(QUEUES)] == [False] * 4
    assert not await put(1, "unknown")
    assert [await put(q) for q in range(QUEUES)] == [True, False, True, True]
    assert not await put(3, "none")
    assert [await put(q) for q in range(QUEUES)] == [True] * 4

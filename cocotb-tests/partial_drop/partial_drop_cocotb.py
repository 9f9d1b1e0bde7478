"""PartialDrop against docs/modules/transit.md, "MRED with DDF": which jumbo frame pays, and with how many
packets, dropped or marked."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from axis import seeded, start

QUEUES, IDS = 4, 2048
ONE = 1 << 32
LATE = 3
"""selections that come when `room` has been seen low: one more has gone out as it fell"""
FOUND, DEPARTS, SLOTS = 3, 3, 4
"""cycles from a step to what it finds, from a grant to its departure, from a slot to the next"""
VOID = 8
"""cycles after which a selection that finds nothing is gone for certain"""
WORDS = {"RED_FLAGS": 0x14, "RED_MIN": 0x2C, "MRED_LO": 0xA0, "MRED_HI": 0xA4, "MRED_SLOPE": 0xA8}
ECN_FLAG, HARDDROP_FLAG = 5, 6
GROUP = ("packets", "bytes", "ect", "ce", "notEct", "l3", "transit", "front", "removed")


@dataclass(frozen=True)
class Config:
    """Of a queue: shares as words of UQ0.32, `min` as one of UQ21.11, slope as mantissa and exponent."""

    low: int
    high: int
    min: int
    mantissa: int
    exponent: int
    ecn: bool
    hard_drop: bool

    def share(self, average: int, packets: int) -> int:
        """k of so many packets; the slope is in units of 2^-17."""
        above = max(average - self.min, 0)
        f = self.low + int(Fraction(above * self.mantissa, 1 << self.exponent) * (1 << 32 - 17 - 11))
        return min(max(ceil(Fraction(min(f, self.high) * packets, ONE)), 1), packets)


@dataclass
class Group:
    """A jumbo frame in transit that waits; its packets in order, as id and length of the own frame."""

    id: int
    packets: deque[tuple[int, int]]
    ecn: int
    tags: int
    flags: dict[str, int]
    front: int = 0
    removed: int = 0
    listed: bool = True

    @property
    def size(self) -> dict[str, int]:
        """As Queues keeps it."""
        own = {
            "packets": len(self.packets),
            "bytes": sum(n for _, n in self.packets),
            "front": self.front,
            "removed": self.removed,
        }
        return self.flags | own


@dataclass
class Work:
    """A selection that is being carried out."""

    queue: int
    average: int
    forced: bool
    group: Group | None = None
    marks: bool = False
    left: int = -1
    """packets to be dropped; unknown before the look"""
    finds: dict[int, dict[str, int]] = field(default_factory=dict)


class Bench:
    """Groups come, are granted one after the other, and selections are carried out between the grants."""

    def __init__(self, dut: Any, name: str, configs: Sequence[Config], longest: int) -> None:
        self.dut, self.rng, self.configs, self.longest = dut, seeded(f"partial {name}"), configs, longest
        self.fifo: list[deque[Group]] = [deque() for _ in range(QUEUES)]
        self.free = list(range(IDS))
        self.waiting: deque[Work] = deque()
        """selections in PartialDrop, the one that is being carried out first"""
        self.departing: dict[int, tuple[int, Group]] = {}
        self.heads: dict[int, tuple[int, int]] = {}
        """that are loaded in a cycle"""
        self.cycle = self.slot_at = self.nothing = 0
        self.dropped = self.marked = self.dead = self.void = self.arrived = 0
        self.at_head = 0
        self.shares: set[int] = set()
        self.ready = 1
        self.changed = [0] * QUEUES
        """cycle in which a group came to a queue, was granted, or was written back"""
        self.port = [0] * QUEUES
        """heads of the queues, as PartialDrop sees them"""

    async def start(self) -> Bench:
        dut = self.dut
        await start(dut, config_valid=0, selection_valid=0, append_valid=0, departs_valid=0, slot=0, found_valid=0, update_ready=1,
                    loaded_valid=0, **{f"heads_{q}": 0 for q in range(QUEUES)})  # fmt: skip
        for q, c in enumerate(self.configs):
            flags = c.ecn << ECN_FLAG | c.hard_drop << HARDDROP_FLAG
            words = {"RED_FLAGS": flags, "RED_MIN": c.min, "MRED_LO": c.low, "MRED_HI": c.high,
                     "MRED_SLOPE": c.mantissa | c.exponent << 24}  # fmt: skip
            for name, data in words.items():
                dut.config_valid.value, dut.config_payload_queue.value = 1, q
                dut.config_payload_word.value, dut.config_payload_data.value = WORDS[name] // 4, data
                await RisingEdge(dut.clk)
        dut.config_valid.value = 0
        await RisingEdge(dut.clk)
        return self

    def group(self) -> Group:
        """Any jumbo frame."""
        rng, tags = self.rng, self.rng.randrange(3)
        count = rng.choice((1, 2, 3, rng.randrange(1, self.longest + 1)))
        most = min(200, 8960 // count)
        ids = [self.free.pop(rng.randrange(len(self.free))) for _ in range(count + 1)]
        packets = deque((n, 14 + 4 * tags + rng.randrange(20, most + 1)) for n in ids[1:])
        return Group(
            ids[0],
            packets,
            rng.randrange(4),
            tags,
            {n: rng.getrandbits(1) for n in GROUP if n not in ("packets", "bytes", "front", "removed")},
        )

    def listed(self, q: int) -> list[Group]:
        """Those that pay, the nearest to the head first."""
        return [g for g in self.fifo[q] if g.listed]

    def may_come(self, q: int) -> bool:
        """A group to the queue: not while a selection finds nothing there, which may be void already or not."""
        finds_nothing = any(w.queue == q and w.group is None for w in self.waiting) and not self.listed(q)
        return len(self.free) > self.longest + 1 and self.cycle not in self.heads and not finds_nothing

    async def step(self, select: Work | None, append: int | None, grants: float) -> None:
        """A cycle: a selection may come, a group to a queue; one may be granted."""
        dut, rng = self.dut, self.rng
        # ---- what comes in this cycle
        dut.selection_valid.value = int(select is not None)
        if select:
            dut.selection_payload_queue.value, dut.selection_payload_average.value = select.queue, select.average
            dut.selection_payload_forced.value = int(select.forced)
        dut.append_valid.value = int(append is not None)
        if append is not None:
            group = self.group()
            dut.append_payload_queue.value, dut.append_payload_id.value = append, group.id
            if not self.fifo[append]:
                self.heads[self.cycle] = (append, group.id)
        leaves = self.departing.pop(self.cycle, None)
        dut.departs_valid.value = int(leaves is not None)
        if leaves:
            dut.departs_payload_queue.value, dut.departs_payload_id.value = leaves[0], leaves[1].id
        loads = self.heads.pop(self.cycle, None)
        dut.loaded_valid.value = int(loads is not None)
        if loads:
            dut.loaded_payload_queue.value, dut.loaded_payload_id.value = loads
        work = self.waiting[0] if self.waiting else None
        found = work.finds.pop(self.cycle, None) if work else None
        dut.found_valid.value = int(found is not None)
        for name, value in (found or {}).items():
            getattr(dut, f"found_payload_{name}").value = value
        self.ready = rng.randrange(2)
        dut.update_ready.value = self.ready
        await FallingEdge(dut.clk)
        # ---- a slot every four cycles: a step that is wanted, or a grant
        held, gives = int(dut.held.value), False
        if self.cycle >= self.slot_at:
            choices = [q for q in range(QUEUES) if self.fifo[q] and not held >> q & 1]
            if choices and rng.random() < grants:
                self._grant(rng.choice(choices))
            elif int(dut.wants.value) and rng.random() < 0.7:
                gives = True
                self.slot_at = self.cycle + SLOTS
        dut.slot.value = int(gives)
        await RisingEdge(dut.clk)
        self._check(gives, held)
        if select:
            self.waiting.append(select)
        if append is not None:
            self.fifo[append].append(group)
            self.arrived += 1
            self.changed[append] = self.cycle
            if self.fifo[append][0] is group and loads != (
                append,
                group.id,
            ):  # the one before it was granted in this cycle
                self.heads[self.cycle + DEPARTS] = (append, group.id)
        if leaves:
            leaves[1].listed = False
            self.free += [leaves[1].id, *(n for n, _ in leaves[1].packets)]
        if loads:
            getattr(dut, f"heads_{loads[0]}").value = self.port[loads[0]] = loads[1]
        self.cycle += 1

    def _grant(self, q: int) -> None:
        group = self.fifo[q].popleft()
        self.slot_at = self.cycle + SLOTS
        self.departing[self.cycle + DEPARTS] = (q, group)
        group.listed = False
        self.changed[q] = self.cycle
        if self.fifo[q]:
            self.heads[self.cycle + DEPARTS] = (q, self.fifo[q][0].id)

    def _check(self, gives: bool, held: int) -> None:
        """What PartialDrop said in this cycle."""
        dut = self.dut
        work = self.waiting[0] if self.waiting else None
        finds = work is None or work.group is not None or bool(self.listed(work.queue))
        self.nothing = 0 if finds else self.nothing + 1
        if self.nothing > VOID:
            work = self._next()
        active = work is not None and work.group is not None
        assert int(dut.settled.value) == (1 << QUEUES) - 1 - (1 << work.queue if work and active else 0), (
            f"cycle {self.cycle}: settled"
        )
        at_head = bool(work and work.group and self.port[work.queue] == work.group.id)
        assert held == (1 << work.queue if at_head and work else 0), f"cycle {self.cycle}: holds {held:04b}"
        self.at_head += at_head
        for q in range(QUEUES):
            if self.cycle > self.changed[q] + DEPARTS + 2:
                assert int(dut.able.value) >> q & 1 == bool(self.listed(q)), (
                    f"cycle {self.cycle}: able {int(dut.able.value):04b}"
                )
        assert int(dut.step_valid.value) == int(gives)
        if gives:
            while work and not (work.group or self.listed(work.queue)):  # void
                work = self._next()
            assert work, "a step for nobody"
            assert int(dut.step_payload_queue.value) == work.queue
            assert int(dut.step_payload_looks.value) == int(work.group is None), f"cycle {self.cycle}: looks"
            (self._look if work.group is None else self._drop)(work)
        if int(dut.update_valid.value):
            assert not int(dut.departs_valid.value), "written as a group departs"
            if self.ready:
                self._update()

    def _next(self) -> Work | None:
        """The first selection is void: the one behind it."""
        self.waiting.popleft()
        self.void, self.nothing = self.void + 1, 0
        return self.waiting[0] if self.waiting else None

    def _look(self, work: Work) -> None:
        """The jumbo frame nearest the head pays, with k of the packets that are not marked."""
        config = self.configs[work.queue]
        work.group = group = self.listed(work.queue)[0]
        assert int(self.dut.step_payload_id.value) == group.id, f"cycle {self.cycle}: not the first"
        ect = config.ecn and group.ecn != 0 and not (work.forced and config.hard_drop)
        work.marks = group.removed == 0 if group.front else ect
        work.left = config.share(work.average, len(group.packets) - work.marks * group.front)
        self.shares.add(work.left)
        work.finds[self.cycle + FOUND] = self._found(group, group.packets[0][0], group.ecn, 0)

    def _found(self, group: Group, following: int, ecn: int, length: int) -> dict[str, int]:
        """What Queues reads of a group, or of a packet, whose group is not read then."""
        size = group.size if not length else {n: self.rng.getrandbits(1) for n in GROUP}
        return {"descriptor_ecn": ecn, "descriptor_ipOffset": group.tags if not length else self.rng.randrange(3), "next": following,
                "descriptor_length": length or self.rng.getrandbits(11), **{f"group_{n}": v for n, v in size.items()}}  # fmt: skip

    def _drop(self, work: Work) -> None:
        """The first of its packets goes; the group dies with the last."""
        group = work.group
        assert group and not work.marks and work.left > 0, f"cycle {self.cycle}: a step too many"
        number, length = group.packets.popleft()
        dut = self.dut
        assert int(dut.step_payload_id.value) == number, f"cycle {self.cycle}: not the first packet"
        assert int(dut.step_payload_dies.value) == int(not group.packets), f"cycle {self.cycle}: dies"
        following = group.packets[0][0] if group.packets else self.rng.randrange(IDS)
        work.finds[self.cycle + FOUND] = self._found(group, following, self.rng.randrange(4), length)
        group.front += 1
        group.removed += length - 14 - 4 * group.tags
        work.left -= 1
        self.dropped += 1
        self.free.append(number)

    def _update(self) -> None:
        """The group is written back."""
        work, dut = self.waiting.popleft(), self.dut
        group = work.group
        assert group and not work.finds, "written before all was found"
        if work.marks:
            group.front += work.left
            self.marked += work.left
            work.left = 0
        assert work.left == 0, f"cycle {self.cycle}: {work.left} packets too few"
        got = {n: int(getattr(dut, f"update_payload_group_{n}").value) for n in GROUP}
        assert got == {n: group.size[n] for n in GROUP}, f"cycle {self.cycle}: {got}, not {group.size}"
        assert int(dut.update_payload_id.value) == group.id
        if group.packets:
            assert int(dut.update_payload_next.value) == group.packets[0][0]
        if len(group.packets) == work.marks * group.front:
            group.listed = False
        self.changed[work.queue] = self.cycle
        self.dead += not group.packets


def any_config(rng: Any, number: int, ecn: bool) -> Config:
    """Shares at the ends of their range, whole numbers of packets, and any; a band of 2^0 to 2^20."""
    shares = ((0, 0), (ONE - 1, ONE - 1), (ONE // 2, ONE // 2), (ONE // 4, 3 * (ONE // 4)))
    low, high = shares[number] if number < len(shares) else sorted((rng.randrange(ONE), rng.randrange(ONE)))
    exponent = rng.randrange(4, 26)
    return Config(
        low,
        high,
        rng.randrange(1 << 26),
        rng.randrange(1 << 17, 1 << 18),
        exponent,
        ecn,
        rng.random() < 0.5,
    )


@cocotb.test()
@cocotb.parametrize(case=[(0, 4), (1, 4), (2, 40), (3, 40), (4, 300), (5, 9)], grants=[0.01, 0.04])
async def the_jumbo_frame_nearest_the_head_pays(dut: Any, case: tuple[int, int], grants: float) -> None:
    """Each share, averages below, in and above the band; groups come and go; several selections wait."""
    number, longest = case
    rng = seeded(f"partial configs {number}")
    configs = [any_config(rng, number + 4 * (q == 3), ecn=q == 0 or rng.random() < 0.5) for q in range(QUEUES)]
    bench = await Bench(dut, f"{case} {grants}", configs, longest).start()
    rng = bench.rng
    last = burst = late = 0
    for n in range(8_000):
        select = append = None
        q = rng.randrange(QUEUES)
        burst = max(burst - 1, 0) or 60 * (rng.random() < 0.001)
        late = 0 if int(dut.room.value) else late
        # decisions are two cycles apart or more; some come when `room` is low already
        if n >= last + 2 and late < LATE and (burst or rng.random() < 0.03):
            last, late = n, late + (not int(dut.room.value))
            c = configs[q]
            band = Fraction((c.high - c.low) << c.exponent, c.mantissa << 4)
            average = c.min + rng.choice(
                (
                    0,
                    1,
                    -1,
                    int(band),
                    int(band) + 1,
                    int(band * Fraction(rng.random() * 1.2)),
                    -rng.randrange(c.min + 1),
                )
            )
            select = Work(q, min(max(average, 0), ONE - 1), rng.random() < 0.5)
        r = rng.randrange(QUEUES)
        if rng.random() < 0.04 and bench.may_come(r):
            append = r
        await bench.step(select, append, grants)
    cocotb.log.info("%d groups, %d dropped, %d marked, %d died, %d void; held in %d cycles, shares %s", bench.arrived, bench.dropped,
                    bench.marked, bench.dead, bench.void, bench.at_head, sorted(bench.shares))  # fmt: skip
    assert bench.dropped + bench.marked > 100

"""Queues against lists: order, descriptors, the cycle of a departure, ready and empty."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from axis import seeded, start

QUEUES, IDS = 4, 2048
LATENCY = 3
INTERVAL = 4
FIELDS = {
    "chain_first": 11, "chain_last": 11, "chain_cells": 8, "length": 14, "ecn": 2, "mark": 1, "ipVersion": 2,
    "ipOffset": 2, "stampNs": 48, "sequence": 32, "exempt": 1, "header": 1, "member": 1,
}  # fmt: skip
SIZE = {"packets": 9, "bytes": 14, "ect": 1, "ce": 1, "notEct": 1, "l3": 1, "transit": 1, "front": 9, "removed": 14}
IDLE = {
    **dict.fromkeys(
        ("link_valid", "append_valid", "grant_valid", "groups_step_valid", "groups_update_valid", "hold", "barred"), 0
    ),
    "link_payload_joins": 0,
    "link_payload_transit": 0,
}
"""inputs of a unit to which nothing happens; its packets are not in transit"""
PARTIAL = 6
"""the cause of what is dropped or marked of a jumbo frame in transit"""


@dataclass
class Group:
    """Packets that depart one behind the other: numbers and descriptors."""

    packets: list[tuple[int, dict[str, int]]]
    size: dict[str, int] = field(default_factory=dict)


@dataclass
class Expected:
    """A departure."""

    cycle: int
    queue: int
    discard: int
    cause: int
    number: int
    descriptor: dict[str, int]
    first: bool
    last: bool
    group: Group


def values(dut: Any, prefix: str, names: Iterable[str]) -> dict[str, int]:
    """Fields of a port."""
    return {name: int(getattr(dut, f"{prefix}_{name}").value) for name in names}


def departure(dut: Any) -> dict[str, int]:
    """What a departure says but for descriptor, group and time."""
    names = ("queue", "discard", "id", "cause", "first", "last", "sent", "refused", "dies", "dead")
    return values(dut, "departure_payload", names)


@cocotb.test()
@cocotb.parametrize(link=[0.25, 0.9, 0.5], grant=[0.3, 0.9], queues=[1, 4], joins=[0.0, 0.6], behind=[False, True])
async def keeps_every_queue_in_order(
    dut: Any, link: float, grant: float, queues: int, joins: float, behind: bool
) -> None:
    """Links, joins and grants at random and as often as they may come; every descriptor comes out as it went in.

    A join may come in the cycle of its group's grant. Some groups are parked: they are appended later, and may be joined meanwhile.
    `hold` is high now and then. `behind`: links come a cycle later than they would with their appends, as FlowGroups gives them.
    """
    rng, bar = seeded(f"order {link} {grant} {queues} {joins}"), seeded("bars")
    await start(dut, **IDLE)
    model: list[deque[Group]] = [deque() for _ in range(QUEUES)]
    free = deque(rng.sample(range(IDS), IDS))
    expected: deque[Expected] = deque()
    linked = granted = -INTERVAL
    came = (0, 0, 0)
    times, left = {}, {}
    """`nowNs` of cycles; what the cycle before said of a packet that departs"""
    touched = [0] * QUEUES
    departures = same_cycle = next_cycle = last_moment = largest = appended = 0
    parked: list[tuple[int, Group]] = []
    """queue and group"""
    hold = walking = 0
    held = -9
    holds = [0]
    """in each cycle"""
    barred = bars = counts = queue_leaves = 0
    loads: tuple[int, int] | None = None
    """a queue and its head from the next cycle on"""
    loaded = 0
    waits: dict[str, int] = {}
    """a link of the next cycle"""
    for cycle in range(4000):
        await RisingEdge(dut.clk)
        ready, empty = int(dut.ready.value), int(dut.empty.value)
        walking = int(dut.walking.value)
        # the queue of a grant in the cycle before may still seem to be one
        but = 15 ^ (1 << came[0] if granted == cycle - 1 else 0)
        assert int(dut.candidates.value) & but == ready & ~barred & but, f"cycle {cycle}: candidates"
        barred, bars = bars, bar.getrandbits(QUEUES)
        dut.barred.value = bars
        assert int(dut.departs.value) == queue_leaves, f"cycle {cycle}: the queue of a departure"
        if dut.departure_valid.value == 1:
            assert expected, f"cycle {cycle}: a departure without a grant"
            due = expected.popleft()
            assert due.first or not holds[cycle - LATENCY], f"cycle {cycle}: a departure in spite of hold"
            if due.first or cycle - held > 8:
                assert cycle == due.cycle, f"cycle {cycle}: a departure that was due in {due.cycle}"
            else:
                assert cycle >= due.cycle
            own = {"queue": due.queue, "discard": due.discard, "first": due.first}
            assert departure(dut) == {"id": due.number, "cause": due.cause, "last": due.last, "sent": not due.discard,
                                      "refused": 0, "dies": 0, "dead": 0, **own}, f"cycle {cycle}"  # fmt: skip
            assert int(dut.departure_payload_grantNs.value) == times[cycle - LATENCY], f"cycle {cycle}"
            if due.first:
                assert values(dut, "departure_payload_group", SIZE) == due.group.size, f"cycle {cycle}"
            assert counts != due.descriptor["header"] and queue_leaves == 1 << due.queue, f"cycle {cycle}"
            assert values(dut, "departure_payload_descriptor", FIELDS) == due.descriptor, f"cycle {cycle}"
            assert left == {**due.descriptor, **own, "cause": due.cause, "dead": 0}, f"cycle {cycle}"
            free.append(due.number)
            departures += 1
            if expected and not expected[0].first:
                expected[0].cycle = cycle + INTERVAL
        elif cycle - held > 8:
            assert not expected or cycle < expected[0].cycle, f"cycle {cycle}: no departure"
        counts = int(dut.leavesCounts.value)
        queue_leaves = int(dut.leaving_valid.value) << int(dut.leaving_payload_queue.value)
        if queue_leaves:
            left = values(dut, "reading_descriptor", FIELDS) | values(
                dut, "leaving_payload", ("queue", "discard", "first")
            )
            left |= values(dut, "reading", ("cause", "dead"))
        assert loads is None or int(getattr(dut, f"groups_heads_{loads[0]}").value) == loads[1], f"cycle {cycle}"
        loads = None
        if dut.groups_loaded_valid.value == 1:
            loads = int(dut.groups_loaded_payload_queue.value), int(dut.groups_loaded_payload_id.value)
            assert model[loads[0]][0].packets[0][0] == loads[1], f"cycle {cycle}: the next head"
            loaded += 1
        for q in range(QUEUES):
            if cycle > touched[q] + INTERVAL:
                assert (ready >> q & 1) == bool(model[q]), f"cycle {cycle}: ready of queue {q} with {len(model[q])}"
                head = model[q][0].packets[0][0] if model[q] else None
                assert head in (None, int(getattr(dut, f"groups_heads_{q}").value)), f"cycle {cycle}: head of queue {q}"
                assert (empty >> q & 1) != bool(model[q]), f"cycle {cycle}: empty of queue {q} with {len(model[q])}"
        # the next cycle, cycle + 1
        times[cycle + 1] = rng.getrandbits(48)
        dut.nowNs.value = times[cycle + 1]
        dut.grant_valid.value = dut.append_valid.value = 0
        comes = {"link_valid": 0, "link_payload_joins": 0}
        appends: tuple[int, Group] | None = None
        if hold or rng.random() < 0.01:
            hold = rng.random() < 0.8
        # a step may have been kept back a moment ago
        dut.hold.value = hold = int(hold and joins > 0)
        held = cycle if hold else held
        holds.append(hold)
        choices = [q for q in range(queues) if ready >> q & 1 and model[q] and touched[q] < cycle]
        popped = None
        if (
            cycle + 1 - granted >= INTERVAL
            and choices
            and not walking
            and not (expected and not expected[0].first)
            and rng.random() < grant
        ):
            queue, discard, cause = rng.choice(choices), rng.randrange(2), rng.getrandbits(3)
            dut.grant_valid.value, dut.grant_payload_queue.value = 1, queue
            dut.grant_payload_discard.value, dut.grant_payload_cause.value = discard, cause
            popped = model[queue].popleft()
            granted = touched[queue] = cycle + 1
            came = (queue, discard, cause)
        # a link to a queue whose last group goes, or has gone in the cycle before
        recent = granted >= cycle and not model[came[0]]
        last = recent and rng.random() < 0.5
        if cycle + 1 - linked >= INTERVAL and free and (last or rng.random() < link):
            queue, number = rng.randrange(queues), free.popleft()
            if last:
                queue = came[0]
            descriptor = {name: rng.getrandbits(width) for name, width in FIELDS.items()}
            open_groups = list(model[queue]) + ([popped] if popped is not None and queue == came[0] else [])
            open_groups += [g for q, g in parked if q == queue]
            open_groups = [g for g in open_groups if len(g.packets) < 448]
            comes |= {"link_valid": 1, "link_payload_queue": queue, "link_payload_id": number}
            comes |= {f"link_payload_descriptor_{name}": value for name, value in descriptor.items()}
            if open_groups and rng.random() < joins:
                group = rng.choice(open_groups[-2:])
                comes |= {"link_payload_joins": 1, "link_payload_head": group.packets[0][0]}
                comes["link_payload_before"] = group.packets[-1][0]
                last_moment += group is popped
            else:
                group = Group([])
                if joins and not last and rng.random() < 0.3:
                    parked.append((queue, group))
                else:
                    appends = queue, group
            group.packets.append((number, descriptor))
            group.size = {name: rng.getrandbits(width) for name, width in SIZE.items()}
            group.size |= {"packets": len(group.packets), "transit": 0}
            comes |= {f"link_payload_group_{name}": value for name, value in group.size.items()}
            largest = max(largest, len(group.packets))
            linked = cycle + 1
        now, waits = (waits, comes) if behind else (comes, waits)
        for name, value in now.items():
            getattr(dut, name).value = value
        if appends is None and parked and rng.random() < 0.2:
            appends = parked.pop(rng.randrange(len(parked)))
            appended += 1
        if appends is not None:
            queue, group = appends
            emptied = recent and queue == came[0] and not model[queue]
            same_cycle += emptied and popped is not None
            next_cycle += emptied and popped is None
            model[queue].append(group)
            touched[queue] = cycle + 1
            dut.append_valid.value, dut.append_payload_queue.value = 1, queue
            dut.append_payload_id.value = group.packets[0][0]
        if popped is not None:
            for n, (number, descriptor) in enumerate(popped.packets):
                expected.append(Expected(cycle + 1 + LATENCY + INTERVAL * n, *came, number, descriptor, n == 0,
                                         n == len(popped.packets) - 1, popped))  # fmt: skip
    assert departures > 100 and loaded > 10, (departures, loaded)
    if grant > link and not joins:
        assert same_cycle > 0 and next_cycle > 0, (same_cycle, next_cycle)
    if joins and link >= 0.5:
        assert last_moment > 1 and largest > 2 and appended > 20, (last_moment, largest, appended)


class Transit:
    """Jumbo frames in transit, one at a time: their links, steps and updates, as ArrivalDecision and PartialDrop give them."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.rng = dut, seeded(name)
        self.departures: list[dict[str, int]] = []
        self.found: list[dict[str, int]] = []

    async def step(self, cycles: int = 1, **inputs: int) -> None:
        """Drives inputs for a cycle; notes what leaves and what steps find."""
        for name, value in inputs.items():
            getattr(self.dut, name).value = value
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)
            for name in ("link_valid", "append_valid", "grant_valid", "groups_step_valid"):
                getattr(self.dut, name).value = 0
            if self.dut.departure_valid.value == 1:
                mark = int(self.dut.departure_payload_descriptor_mark.value)
                self.departures.append(departure(self.dut) | {"mark": mark})
            if self.dut.groups_found_valid.value == 1:
                self.found.append(
                    {"next": int(self.dut.groups_found_payload_next.value)}
                    | values(self.dut, "groups_found_payload_descriptor", FIELDS)
                    | {f"group_{name}": v for name, v in values(self.dut, "groups_found_payload_group", SIZE).items()}
                )

    async def link(self, queue: int, number: int, descriptor: dict[str, int], **others: int) -> None:
        self.dut.link_valid.value = 1
        named = {f"link_payload_descriptor_{name}": value for name, value in descriptor.items()}
        named |= {f"link_payload_{name}": value for name, value in others.items()}
        await self.step(link_payload_queue=queue, link_payload_id=number, **named)
        await self.step(3)

    async def look(self, queue: int, number: int, looks: int, dies: int = 0) -> dict[str, int]:
        """A step, and what it finds three cycles later."""
        await self.step(groups_step_valid=1, groups_step_payload_queue=queue, groups_step_payload_id=number, groups_step_payload_looks=looks,
                        groups_step_payload_dies=dies)  # fmt: skip
        await self.step(LATENCY - 1)
        assert not self.found
        await self.step(2)
        return self.found.pop()

    async def update(self, number: int, follower: int, size: dict[str, int]) -> None:
        """Also while a link comes: then it waits."""
        dut = self.dut
        dut.groups_update_payload_id.value, dut.groups_update_payload_next.value, dut.groups_update_valid.value = (
            number,
            follower,
            1,
        )
        for name, value in size.items():
            getattr(dut, f"groups_update_payload_group_{name}").value = value
        if self.rng.random() < 0.5:
            spare = {name: self.rng.getrandbits(width) for name, width in FIELDS.items()}
            dut.link_payload_joins.value, dut.link_valid.value = 0, 1
            await self.step(link_payload_id=IDS - 1, **{f"link_payload_descriptor_{n}": v for n, v in spare.items()})
            assert dut.groups_update_ready.value == 0
        await self.step()
        assert dut.groups_update_ready.value == 1
        unasked = {f"groups_update_payload_group_{name}": self.rng.getrandbits(width) for name, width in SIZE.items()}
        await self.step(2, groups_update_valid=0, **unasked)


@cocotb.test()
async def drops_and_marks_packets_of_a_jumbo_frame_in_transit(dut: Any) -> None:
    """docs/modules/transit.md: the header opens the group and is none of its packets; those at its front are dropped
    by steps, or marked as they leave if they are ECT; with none left the group is dead, and its header leaves at a
    grant as discarded."""
    await start(dut, **IDLE)
    bench = Transit(dut, "transit")
    rng, seen = bench.rng, set()
    for _ in range(250):
        queue, count = rng.randrange(QUEUES), rng.randrange(1, 7)
        header, *numbers = rng.sample(range(IDS - 1), count + 1)
        descriptors = {n: {name: rng.getrandbits(width) for name, width in FIELDS.items()} for n in (header, *numbers)}
        size = {name: rng.getrandbits(width) for name, width in SIZE.items()}
        size |= {"packets": count, "transit": 1, "front": 0, "removed": 0}
        group = {f"group_{name}": value for name, value in size.items()}
        await bench.link(queue, header, descriptors[header], joins=0, transit=0, **group)
        for before, number in zip((header, *numbers), numbers, strict=False):
            other = {f"group_{name}": rng.getrandbits(width) for name, width in SIZE.items()}
            await bench.link(
                queue, number, descriptors[number], joins=1, transit=1, head=header, before=before, **other
            )
        await bench.step(append_valid=1, append_payload_queue=queue, append_payload_id=header)
        await bench.step(4)
        assert await bench.look(queue, header, 1) == {"next": numbers[0], **descriptors[header], **group}
        assert not bench.departures
        front, marks = rng.randrange(count + 1), rng.random() < 0.5
        if not marks:
            for n, number in enumerate(numbers[:front]):
                found = await bench.look(queue, number, 0, dies=int(n == count - 1))
                assert {name: found[name] for name in FIELDS} == descriptors[number]
                assert n == count - 1 or found["next"] == numbers[n + 1]
                left = bench.departures.pop()
                assert {name: left[name] for name in ("queue", "id", "discard", "cause", "last", "sent", "dies", "dead")} == {
                    "queue": queue, "id": number, "discard": 1, "cause": PARTIAL, "last": 0, "sent": 0,
                    "dies": int(n == count - 1), "dead": 0,
                }  # fmt: skip
            size |= {"packets": count - front, "removed": front * 60}
        size["front"] = front
        if front:
            rest = (*numbers, numbers[-1])[0 if marks else front]
            await bench.update(header, rest, size)
        discard, cause = rng.randrange(2), rng.randrange(PARTIAL)
        await bench.step(
            grant_valid=1, grant_payload_queue=queue, grant_payload_discard=discard, grant_payload_cause=cause
        )
        await bench.step(4 * count + 8)
        dead = size["packets"] == 0
        own = {"queue": queue, "cause": cause, "dies": 0, "dead": int(dead), "discard": int(discard or dead),
               "sent": int(not discard and not dead), "refused": int(dead and not discard)}  # fmt: skip
        leave = [header, *([] if dead else numbers if marks else numbers[front:])]
        expected = []
        for n, number in enumerate(leave):
            mark = descriptors[number]["mark"]
            marked = marks and 0 < n <= front and not discard and descriptors[number]["ecn"] in (1, 2)
            expected.append(own | {"id": number, "first": int(n == 0), "last": int(n == len(leave) - 1),
                                   "mark": int(mark or marked), "cause": PARTIAL if marked and not mark else cause})  # fmt: skip
            seen.add((marked, mark, discard, dead))
        assert bench.departures == expected
        bench.departures.clear()
    assert len(seen) > 6, seen


@cocotb.test()
async def makes_an_empty_queue_ready_in_the_next_cycle(dut: Any) -> None:
    await start(dut, **IDLE)
    for queue in range(QUEUES):
        dut.link_valid.value, dut.link_payload_queue.value, dut.link_payload_id.value = 1, queue, queue
        dut.append_valid.value, dut.append_payload_queue.value, dut.append_payload_id.value = 1, queue, queue
        await RisingEdge(dut.clk)
        dut.link_valid.value = dut.append_valid.value = 0
        assert int(dut.ready.value) >> queue & 1 == 0
        await RisingEdge(dut.clk)
        assert int(dut.ready.value) >> queue & 1 == 1 and int(dut.empty.value) >> queue & 1 == 0
        for _ in range(4):
            await RisingEdge(dut.clk)

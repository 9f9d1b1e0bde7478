"""Queues against lists: order, descriptors, the cycle of a departure, ready and empty."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from axis import seeded, start
from harness import run_bench

QUEUES, IDS = 4, 2048
LATENCY = 3
INTERVAL = 4
IDLE = {
    **dict.fromkeys(("link_valid", "append_valid", "grant_valid", "step_valid", "update_valid", "hold", "barred"), 0),
    **{
        f"link_payload_{name}": 0
        for name in ("joins", "transit", "last", "group_transit", "group_front", "group_removed")
    },
}
"""inputs of a unit to which nothing happens; its packets are not in transit"""
FIELDS = {
    "chain_first": 11, "chain_last": 11, "chain_cells": 8, "length": 14, "ecn": 2, "mark": 1, "ipVersion": 2,
    "ipOffset": 2, "stampNs": 48, "sequence": 32,
}  # fmt: skip


@dataclass
class Group:
    """Packets that depart one behind the other: numbers and descriptors."""

    packets: list[tuple[int, dict[str, int]]]
    bytes: int = 0
    ect: int = 0


@dataclass
class Expected:
    """A departure."""

    cycle: int
    queue: int
    discard: int
    number: int
    descriptor: dict[str, int]
    first: bool
    last: bool
    group: Group


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
    came = (0, 0)
    touched = [0] * QUEUES
    departures = same_cycle = next_cycle = last_moment = largest = appended = 0
    parked: list[tuple[int, Group]] = []
    """queue and group"""
    hold = walking = 0
    held = -9
    holds = [0]
    """in each cycle"""
    barred = bars = counts = queue_leaves = 0
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
            payload = {name: int(getattr(dut, f"departure_payload_{name}").value)
                       for name in ("queue", "discard", "id", "first", "last", "sent")}  # fmt: skip
            assert payload == {"queue": due.queue, "discard": due.discard, "id": due.number, "first": due.first,
                               "last": due.last, "sent": not due.discard}, f"cycle {cycle}"  # fmt: skip
            if due.first:
                group = (int(dut.departure_payload_group_packets.value), int(dut.departure_payload_group_bytes.value),
                         int(dut.departure_payload_group_ect.value))  # fmt: skip
                assert group == (len(due.group.packets), due.group.bytes, due.group.ect)
            assert counts != due.descriptor["header"] and queue_leaves == 1 << due.queue, f"cycle {cycle}"
            for name, value in due.descriptor.items():
                assert int(getattr(dut, f"departure_payload_descriptor_{name}").value) == value, name
            free.append(due.number)
            departures += 1
            if expected and not expected[0].first:
                expected[0].cycle = cycle + INTERVAL
        elif cycle - held > 8:
            assert not expected or cycle < expected[0].cycle, f"cycle {cycle}: no departure"
        counts = int(dut.leavesCounts.value)
        queue_leaves = int(dut.leaving_valid.value) << int(dut.leaving_payload_queue.value)
        for q in range(QUEUES):
            if cycle > touched[q] + INTERVAL:
                assert (ready >> q & 1) == bool(model[q]), f"cycle {cycle}: ready of queue {q} with {len(model[q])}"
                assert (empty >> q & 1) != bool(model[q]), f"cycle {cycle}: empty of queue {q} with {len(model[q])}"
        # the next cycle, cycle + 1
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
            queue, discard = rng.choice(choices), rng.randrange(2)
            dut.grant_valid.value, dut.grant_payload_queue.value, dut.grant_payload_discard.value = 1, queue, discard
            popped = model[queue].popleft()
            granted = touched[queue] = cycle + 1
            came = (queue, discard)
        # a link to a queue whose last group goes, or has gone in the cycle before
        recent = granted >= cycle and not model[came[0]]
        last = recent and rng.random() < 0.5
        if cycle + 1 - linked >= INTERVAL and free and (last or rng.random() < link):
            queue, number = rng.randrange(queues), free.popleft()
            if last:
                queue = came[0]
            descriptor = {name: rng.getrandbits(width) for name, width in FIELDS.items()}
            descriptor["header"] = descriptor["sequence"] & 1
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
            group.bytes, group.ect = rng.randrange(1 << 14), rng.randrange(2)
            comes |= {"link_payload_group_packets": len(group.packets), "link_payload_group_bytes": group.bytes}
            comes["link_payload_group_ect"] = group.ect
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
    assert departures > 100, departures
    if grant > link and not joins:
        assert same_cycle > 0 and next_cycle > 1, (same_cycle, next_cycle)
    if joins and link >= 0.5:
        assert last_moment > 1 and largest > 2 and appended > 20, (last_moment, largest, appended)


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


@pytest.mark.timeout(120)
def test_queues() -> None:
    run_bench("Queues", "test_queues")

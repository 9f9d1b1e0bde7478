"""JumboList against lists: appended at the end, out with the departure or when told, known two cycles later."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from axis import seeded, start

QUEUES, IDS = 4, 2048


@cocotb.test()
@cocotb.parametrize(load=[0.2, 0.5, 0.9])
async def keeps_the_order(dut: Any, load: float) -> None:
    """Groups come and go at random; departures of groups that are not in the list change nothing."""
    rng = seeded(f"list {load}")
    await start(dut, append_valid=0, departs_valid=0, remove_valid=0)
    lists: list[list[int]] = [[] for _ in range(QUEUES)]
    quiet = [0] * QUEUES
    free = list(range(IDS))
    rng.shuffle(free)
    since = longest = 0
    for _ in range(20_000):
        dut.append_valid.value = dut.departs_valid.value = dut.remove_valid.value = 0
        since += 1
        changed: list[tuple[int, str, int]] = []
        if rng.random() < load and len(free) > 40:
            q = rng.randrange(QUEUES)
            number = free.pop()
            dut.append_valid.value, dut.append_payload_queue.value, dut.append_payload_id.value = 1, q, number
            changed.append((q, "append", number))
        q = rng.randrange(QUEUES)
        if since >= 4 and rng.random() < 0.5:
            since = 0
            mine = lists[q][0] if lists[q] and rng.random() < 0.8 else rng.choice(free)
            dut.departs_valid.value, dut.departs_payload_queue.value, dut.departs_payload_id.value = 1, q, mine
            if lists[q] and mine == lists[q][0]:
                changed.append((q, "leave", mine))
        elif lists[q] and quiet[q] >= 3 and rng.random() < 0.1:
            dut.remove_valid.value, dut.remove_payload.value = 1, q
            changed.append((q, "leave", lists[q][0]))
            since = 0
        await RisingEdge(dut.clk)
        for n in range(QUEUES):
            quiet[n] += 1
        for n, what, number in changed:
            if what == "leave":
                lists[n].pop(0)
                free.insert(0, number)
                quiet[n] = 0
        for n, what, number in changed:
            if what == "append":
                lists[n].append(number)
        await FallingEdge(dut.clk)
        any_, known = int(dut.any.value), int(dut.known.value)
        for n, waiting in enumerate(lists):
            longest = max(longest, len(waiting))
            assert any_ >> n & 1 == bool(waiting)
            assert not known >> n & 1 or waiting, "there is none"
            if waiting and quiet[n] >= 2:
                assert known >> n & 1, f"queue {n} has waited {quiet[n]} cycles"
            if known >> n & 1:
                assert int(getattr(dut, f"first_{n}").value) == waiting[0]
    assert longest > 3

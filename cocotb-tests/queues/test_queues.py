"""Queues against lists: order, descriptors, the cycle of a departure, ready and empty."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from axis import seeded, start
from harness import run_bench

QUEUES, IDS = 4, 2048
LATENCY = 3
INTERVAL = 4
FIELDS = {
    "chain_first": 11, "chain_last": 11, "chain_cells": 8, "length": 14, "ecn": 2, "mark": 1, "ipVersion": 2,
    "ipOffset": 2, "stampNs": 48, "sequence": 32,
}  # fmt: skip


@cocotb.test()
@cocotb.parametrize(link=[0.25, 0.9, 0.5], grant=[0.3, 0.9], queues=[1, 4])
async def keeps_every_queue_in_order(dut: Any, link: float, grant: float, queues: int) -> None:
    """Links and grants at random and as often as they may come; every descriptor comes out as it went in."""
    rng = seeded(f"order {link} {grant} {queues}")
    await start(dut, link_valid=0, grant_valid=0)
    model: list[deque[tuple[int, dict[str, int]]]] = [deque() for _ in range(QUEUES)]
    free = deque(rng.sample(range(IDS), IDS))
    expected: deque[tuple[int, int, int, int, dict[str, int]]] = deque()
    linked = granted = -INTERVAL
    touched = [0] * QUEUES
    departures = same_cycle = 0
    for cycle in range(4000):
        await RisingEdge(dut.clk)
        ready, empty = int(dut.ready.value), int(dut.empty.value)
        if dut.departure_valid.value == 1:
            assert expected, f"cycle {cycle}: a departure without a grant"
            at, queue, discard, number, descriptor = expected.popleft()
            assert cycle == at + LATENCY, f"departure {cycle - at} cycles after its grant"
            assert int(dut.departure_payload_queue.value) == queue
            assert int(dut.departure_payload_discard.value) == discard
            assert int(dut.departure_payload_id.value) == number, f"cycle {cycle}, queue {queue}: wrong group"
            for name, value in descriptor.items():
                assert int(getattr(dut, f"departure_payload_descriptor_{name}").value) == value, name
            free.append(number)
            departures += 1
        else:
            assert not expected or cycle < expected[0][0] + LATENCY, f"cycle {cycle}: no departure"
        for q in range(QUEUES):
            if cycle > touched[q] + INTERVAL:
                assert (ready >> q & 1) == bool(model[q]), f"cycle {cycle}: ready of queue {q} with {len(model[q])}"
                assert (empty >> q & 1) != bool(model[q]), f"cycle {cycle}: empty of queue {q} with {len(model[q])}"
        # the next cycle, cycle + 1
        dut.grant_valid.value = dut.link_valid.value = 0
        choices = [q for q in range(queues) if ready >> q & 1 and model[q] and touched[q] < cycle]
        popped = None
        if cycle + 1 - granted >= INTERVAL and choices and rng.random() < grant:
            queue, discard = rng.choice(choices), rng.randrange(2)
            dut.grant_valid.value, dut.grant_payload_queue.value, dut.grant_payload_discard.value = 1, queue, discard
            number, descriptor = model[queue].popleft()
            expected.append((cycle + 1, queue, discard, number, descriptor))
            granted = touched[queue] = cycle + 1
            popped = queue
        last = popped is not None and not model[popped] and rng.random() < 0.5
        if cycle + 1 - linked >= INTERVAL and free and (last or rng.random() < link):
            queue, number = rng.randrange(queues), free.popleft()
            if popped is not None and last:
                queue = popped
            same_cycle += queue == popped and not model[queue]
            descriptor = {name: rng.getrandbits(width) for name, width in FIELDS.items()}
            dut.link_valid.value, dut.link_payload_queue.value, dut.link_payload_id.value = 1, queue, number
            for name, value in descriptor.items():
                getattr(dut, f"link_payload_descriptor_{name}").value = value
            model[queue].append((number, descriptor))
            linked = touched[queue] = cycle + 1
    assert departures > 100, departures
    if grant > link:
        assert same_cycle > 1, same_cycle


@cocotb.test()
async def makes_an_empty_queue_ready_in_the_next_cycle(dut: Any) -> None:
    await start(dut, link_valid=0, grant_valid=0)
    for queue in range(QUEUES):
        dut.link_valid.value, dut.link_payload_queue.value, dut.link_payload_id.value = 1, queue, queue
        await RisingEdge(dut.clk)
        dut.link_valid.value = 0
        assert int(dut.ready.value) >> queue & 1 == 0
        await RisingEdge(dut.clk)
        assert int(dut.ready.value) >> queue & 1 == 1 and int(dut.empty.value) >> queue & 1 == 0
        for _ in range(4):
            await RisingEdge(dut.clk)


@pytest.mark.timeout(120)
def test_queues() -> None:
    run_bench("Queues", "test_queues")

"""The order in which four queues send: strict priority and DWRR against a model of the order, under backlog."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb

from axi_bench import AxiBench, any_frame, four_queues
from core_bench import random_stall

QUANTA = (9216, 9217, 12000, 30000, 65536)
MASKS = [0b0000, 0b0100, 0b1010]


def order_of(waiting: list[deque[int]], quanta: list[int], strict: int) -> list[int]:
    """Queues in the order in which their packets leave, if all of them wait: strict ones first, the lowest number before
    the others; then DWRR as Shreedhar and Varghese have it with a deficit that may be overdrawn, in rounds from queue 1
    (the turn was queue 0's, which had emptied)."""
    order: list[int] = []
    rest = [deque(w) for w in waiting]
    for q, w in enumerate(rest):
        if strict >> q & 1:
            order += [q] * len(w)
            w.clear()
    deficits = [0] * len(rest)
    at = 1
    while any(rest):
        q = at % len(rest)
        at += 1
        if not rest[q]:
            continue
        deficits[q] += quanta[q]
        while rest[q] and deficits[q] > 0:
            deficits[q] -= rest[q].popleft()
            order.append(q)
        if not rest[q]:
            deficits[q] = 0
    return order


async def set_up(bench: AxiBench, strict: int) -> list[int]:
    quanta = [bench.rng.choice(QUANTA) for _ in range(bench.queues)]
    for q in range(bench.queues):
        await bench.configure(q, "drop-tail", strict=bool(strict >> q & 1), quantum=quanta[q])
    return quanta


@cocotb.test()
@cocotb.parametrize(strict=MASKS)
async def empties_a_backlog_in_the_order_of_the_paper(dut: Any, strict: int) -> None:
    """Everything waits before the receiver takes anything: the order is determined to the packet."""
    bench = await four_queues(dut, f"paper {strict}")
    rng = bench.rng
    quanta = await set_up(bench, strict)
    bench.stall = lambda _: True
    # the egress reads ahead: packets of queue 0, one by one, until it has no room
    for _ in range(6):
        bench.send(any_frame(rng, 200, range(0, 64, 4)), gap=80)
    await bench.until_sent()
    await bench.cycles(120)
    ahead = sum(r.departure for r in bench.decoded())
    assert 0 < ahead < 6
    budget = bench.cells - 40
    while budget > 150:
        size = rng.choice((60, 65, 590, 1514, 1514, 4000, 9216) if budget > 1000 else (60, 300, 590))
        budget -= -(-size // 64)
        bench.send(any_frame(rng, size), gap=2)
    await bench.until_sent()
    await bench.cycles(60)
    waiting: list[deque[int]] = [deque() for _ in range(bench.queues)]
    for r in bench.decoded():
        if not r.departure:
            waiting[r.queue].append(r.length)
    for _ in range(ahead):
        waiting[0].popleft()
    expected = order_of(waiting, quanta, strict)
    bench.stall = lambda _: False
    report = await bench.check()
    got = [r.queue for r in bench.decoded() if r.departure][ahead:]
    first = next((n for n, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b), None)
    assert first is None, (
        f"grant {first}: got {got[max(0, first - 3) :][:9]}, expected {expected[max(0, first - 3) :][:9]}"
    )
    assert report.ingress_overflow == 0 and report.departures == len(bench.sent)


@cocotb.test()
@cocotb.parametrize(strict=[0b0000, 0b0001, 0b1100])
async def serves_four_queues_in_order_while_they_fill_and_empty(dut: Any, strict: int) -> None:
    """Arrivals go on meanwhile, queues run empty and come back: every grant as the rule says."""
    bench = await four_queues(dut, f"changing {strict}")
    rng = bench.rng
    await bench.shape("6Gbit", 3000)
    await set_up(bench, strict)
    bench.stall = random_stall(rng, 0.1)
    for _ in range(5):
        bench.line([any_frame(rng, rng.choice((60, 300, 1514))) for _ in range(30)])
        lone = range(rng.randrange(4), 64, 4)
        bench.line([any_frame(rng, rng.choice((60, 590, 3000)), lone) for _ in range(8)])
        bench.jobs[-1].gap += rng.choice((0, 500, 3000))
    report = await bench.check()
    assert report.departures == len(bench.sent) == 190
    assert report.grants_determined > 60, report.grants_determined

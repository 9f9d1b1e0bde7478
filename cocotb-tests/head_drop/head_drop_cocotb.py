"""HeadDrop against sums: `over` follows what is linked and has left by one cycle."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from axis import seeded, start

QUEUES = 4


@cocotb.test()
@cocotb.parametrize(traffic=["grows", "shrinks", "every cycle"])
async def tells_what_is_over_a_limit(dut: Any, traffic: str) -> None:
    """Links and departures at random, limits that move between them, queues with and without drop from front; some descriptors are headers of
    jumbo frames, which do not count.
    """
    rng = seeded(f"trim {traffic}")
    fields = ("limitBytes", "limitPackets", "dropFront")
    rest = {
        f"config_{q}_{name}": 0
        for q in range(QUEUES)
        for name in ("policy", "unit", "strict", "reserveCells", "quantum")
    }
    limits = {q: [40000, 30, 1] for q in range(QUEUES)}
    set_ = {f"config_{q}_{name}": limits[q][n] for q in range(QUEUES) for n, name in enumerate(fields)}
    await start(
        dut,
        link_valid=0,
        departure_valid=0,
        leaving_valid=0,
        linked=0,
        link_payload_descriptor_header=0,
        departure_payload_descriptor_header=0,
        **rest,
        **set_,
    )
    held: list[list[tuple[int, bool]]] = [[] for _ in range(QUEUES)]
    """length, header"""
    now = [list(limits[q]) for q in range(QUEUES)]
    seen = {"bytes": 0, "packets": 0, "off": 0}
    due = [0, 0]
    coming: int | None = None
    """queue of the next cycle's departure"""
    next_link: tuple[int, int, bool] | None = None
    """the next cycle's link: queue, length, header"""
    next_moves = False
    for cycle in range(6000):
        await RisingEdge(dut.clk)
        expected = due.pop(0)
        if cycle > 2:
            assert int(dut.over.value) == expected, f"cycle {cycle}: {int(dut.over.value):04b}, expected {expected:04b}"
        # what happens in this cycle is told in the next
        queue, link = coming, next_link
        moves, next_moves = next_moves, rng.random() < 0.02
        coming = next_link = None
        links = not next_moves and rng.random() < {"grows": 0.3, "shrinks": 0.2, "every cycle": 0.9}[traffic]
        leave = not next_moves and rng.random() < {"grows": 0.2, "shrinks": 0.3, "every cycle": 0.9}[traffic]
        dut.link_valid.value = dut.departure_valid.value = dut.leaving_valid.value = dut.linked.value = 0
        staying = [len(h) - (q == queue) for q, h in enumerate(held)]
        if link:
            q, length, header = link
            dut.link_valid.value, dut.link_payload_queue.value, dut.linked.value = 1, q, 0 if header else 1 << q
            dut.link_payload_descriptor_length.value = length
            dut.link_payload_descriptor_header.value = header
            held[q].append((length, header))
        if links:
            q, length = rng.randrange(QUEUES), rng.choice([14, 64, 1514, 9216, rng.randrange(14, 9217)])
            if sum(bytes_ for bytes_, _ in held[q]) + length < 1 << 21:
                next_link = (q, length, rng.random() < 0.1)
        if queue is not None:
            dut.departure_valid.value, dut.departure_payload_queue.value = 1, queue
            length, header = held[queue].pop(0)
            dut.departure_payload_descriptor_length.value = length
            dut.departure_payload_descriptor_header.value = header
        if leave:
            q = rng.randrange(QUEUES)
            if staying[q]:
                header = held[q][0][1]
                dut.leaving_valid.value, dut.leaving_payload.value, coming = int(not header), q, q
        if moves:
            q = rng.randrange(QUEUES)
            n = rng.randrange(3)
            now[q][n] = [
                rng.choice([0, 64, 20000, 100000, (1 << 21) - 1]),
                rng.choice([0, 1, 20, 65535]),
                rng.randrange(2),
            ][n]
            getattr(dut, f"config_{q}_{fields[n]}").value = now[q][n]
        due.append(0)
        for q in range(QUEUES):
            counts = [bytes_ for bytes_, header in held[q] if not header]
            over_bytes, over_packets = sum(counts) > now[q][0], len(counts) > now[q][1]
            seen["bytes"] += over_bytes
            seen["packets"] += over_packets
            seen["off"] += (over_bytes or over_packets) and not now[q][2]
            if now[q][2] and (over_bytes or over_packets):
                due[-1] |= 1 << q
    assert min(seen.values()) > 100, seen

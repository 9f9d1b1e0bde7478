"""Hard limits against an event simulation of limit and shaper, packet for packet.

The simulation is arithmetic on what was sent: a decision follows the frame's last beat by a constant, the queue is a FIFO
served by GCRA (ITU-T I.371), and an arrival is refused if it would take what is held above a limit. The constants are those of
docs/modules/core.md, arrival-decision.md and shaper.md, in cycles of 6.4 ns.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import NamedTuple

import pytest

from weir_sim import Core, trace
from weir_sim.frames import NOT_ECT, udp_frame

SHORT, LONG = 64, 1514
OVERHEAD = 24
RATE = 5e9
#: SHAPER_COST of 5 Gb/s: 1.6 ns a byte in UQ17.19
COST = Fraction(round(Fraction(8, 5) * 2**19), 2**19)
#: between requests, and between grants
INTERVAL = 4
#: from a request to the earliest grant of its packet; a request sees the grants that are so much older
LINKED, SEES_LEAVE = 14, 5
#: shaper.md, Timing: from a grant to the shaper's charge; from the cycle whose time allows a frame to its grant
CHARGED, ALLOWED = 3, 4


class Frame(NamedTuple):
    """A frame on the line: not before that time in ns, length in bytes."""

    at_ns: int
    length: int


class Outcome(NamedTuple):
    """Cycle of a decision, bytes and packets that the queue held, and whether the frame was accepted."""

    cycle: int
    bytes: int
    packets: int
    accepted: bool


def line(rng: Random, count: int, kind: str) -> Iterator[Frame]:
    """Frames of 64 or 1514 bytes, as likely, on a line of 10 Gb/s (0.8 ns a byte)."""
    at = 0.0
    for n in range(count):
        length = rng.choice((SHORT, LONG))
        yield Frame(int(at), length)
        time = (length + OVERHEAD) * 0.8
        if kind == "poisson":  # 8 Gb/s offered
            time += rng.expovariate(1 / (time / 4))
        elif kind == "bursts" and n % 90 == 89:  # 7.5 Gb/s in all
            time += 20_000
        at += time


def cycle(ns: Fraction) -> int:
    """The first cycle whose `now`, in whole ns, is not before that time."""
    return -(math.ceil(ns) * -5 // 32)


def now(cycle: int) -> int:
    """What `now` tells in that cycle."""
    return cycle * 32 // 5


def simulate(frames: Sequence[Frame], limit_bytes: int, limit_packets: int) -> tuple[list[Outcome], list[int]]:
    """What a queue decides that drops beyond its limits, and that the shaper serves; cycles of its grants."""
    outcomes, grants = [], []
    queue: deque[tuple[int, int]] = deque()  # earliest grant, length
    held_bytes = held_packets = free = 0
    grant = request = -INTERVAL
    theoretical = Fraction(0)  # arrival time of GCRA, ns
    for at_ns, length in (*frames, Frame(frames[-1].at_ns + 10**9, SHORT)):  # the last finds nothing
        start = max(-(-at_ns * 5 // 4), free)  # bytes
        free = start + length + OVERHEAD
        first = -(-start // 8)
        last = first + -(-length // 8) - 1
        # with jumbo frames what comes is realigned to words of 16 bytes, one a cycle
        request = max(last + 6, first + 9 + -(-length // 16), request + INTERVAL)
        while queue:
            at = max(queue[0][0], cycle(theoretical) + ALLOWED, grant + INTERVAL)
            if at + SEES_LEAVE > request:
                break
            grant, size = at, queue.popleft()[1]
            grants.append(grant)
            theoretical = max(theoretical, Fraction(now(grant + CHARGED))) + (size + OVERHEAD) * COST
            held_bytes, held_packets = held_bytes - size, held_packets - 1
        accepted = held_bytes + length <= limit_bytes and held_packets < limit_packets
        outcomes.append(Outcome(request, held_bytes, held_packets, accepted))
        if accepted:
            queue.append((request + LINKED, length))
            held_bytes, held_packets = held_bytes + length, held_packets + 1
    return outcomes[:-1], grants


LIMITS = {
    "64 KB": (65536, 16384),
    "4000 bytes": (4000, 16384),
    "40 packets": (500_000, 40),
    "17 packets, 20000 bytes": (20000, 17),
}


@pytest.mark.parametrize("kind", ["line rate", "poisson", "bursts"])
@pytest.mark.parametrize("limits", LIMITS)
def test_drops_what_arithmetic_drops(kind: str, limits: str) -> None:
    """Also q of every decision, the cycle of every grant, and the peak, which no refused packet raises."""
    limit_bytes, limit_packets = LIMITS[limits]
    frames = list(line(Random(f"{kind} {limits}"), 6000, kind))
    core = Core("full")
    core.device.queue_replace(0, policy="drop-tail", limit_bytes=limit_bytes, limit_packets=limit_packets)
    core.device.shape(RATE, burst=0)
    core.device.trace_enable()
    base = core.now_ns // 32 * 32 + 3200  # a cycle begins there
    for at_ns, length in frames:
        core.send(udp_frame(length, 0, NOT_ECT), at_ns=base + at_ns)
    core.run_idle()
    live = core.device.state().live[0]
    records = core.trace()
    arrivals = records[records["kind"] == trace.ARRIVAL]
    got = [
        Outcome(
            cycle(Fraction(int(r["time_ns"]) - base)), int(r["q_bytes"]), int(r["q_packets"]), r["action"] != trace.DROP
        )
        for r in arrivals
    ]
    expected, grants = simulate(frames, limit_bytes, limit_packets)
    assert got == expected
    departures = records[records["kind"] == trace.DEPARTURE]
    assert [cycle(Fraction(int(ns) - base)) for ns in departures["time_ns"]] == grants
    refused = sum(not o.accepted for o in expected)
    assert refused > 1000 and core.stats().queues[0].overflow.packets == refused
    assert (
        live.peak_bytes == max(o.bytes + frames[n].length for n, o in enumerate(expected) if o.accepted) <= limit_bytes
    )
    assert live.peak_packets == max(o.packets + 1 for o in expected if o.accepted) <= limit_packets

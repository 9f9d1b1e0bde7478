"""A bottleneck with Reno-like senders, in discrete events: what a policy does to a queue's delay.

A packet arrives, the policy decides, the link serves in order; an acknowledgement comes back a base round-trip time after the departure.
A sender halves its window at most once a round trip. Losses are known at the time an acknowledgement would have come.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from typing import Protocol

SEGMENT = 1500


class Queue(Protocol):
    """What the bottleneck asks a policy."""

    def arrive(self, now_ns: int, queued_bytes: int) -> bool:
        """Whether the packet is congestion marked or dropped: True."""

    def depart(self, now_ns: int, sojourn_ns: int, packets: int) -> None:
        """A packet leaves `packets` behind."""


@dataclass
class Result:
    """Delays in ns of packets that left after the warm-up, and how busy the link was then."""

    delays: list[int] = field(default_factory=list)
    sent: int = 0
    dropped: int = 0
    utilisation: float = 0.0

    @property
    def mean_ms(self) -> float:
        """Mean queue delay in ms."""
        return sum(self.delays) / len(self.delays) / 1e6

    def percentile_ms(self, share: float) -> float:
        """Queue delay that a share of the packets does not exceed, ms."""
        return sorted(self.delays)[int(share * (len(self.delays) - 1))] / 1e6


def simulate(
    policy: Queue,
    flows: int,
    rate_bps: float,
    rtt_ns: int,
    seconds: float,
    constant_bps: float = 0.0,
    seed: int = 1,
    limit: int = 2000,
) -> Result:
    """Run `flows` senders and a constant stream of `constant_bps` over a link; the first 40 % is warm-up."""
    rng = Random(seed)
    service = int(SEGMENT * 8e9 / rate_bps)
    events: list[tuple[int, int, str, int]] = []
    window, flying, halved = [2.0] * flows, [0] * flows, [0] * flows
    waiting: deque[tuple[int, int]] = deque()
    result, serial, serving = Result(), 0, False
    end, warm = int(seconds * 1e9), int(seconds * 4e8)

    def at(time: int, kind: str, flow: int) -> None:
        nonlocal serial
        serial += 1
        heappush(events, (time, serial, kind, flow))

    def send(now: int, flow: int) -> None:
        while flying[flow] < int(window[flow]):
            flying[flow] += 1
            at(now + rng.randrange(1, 200_000), "arrive", flow)

    for flow in range(flows):
        at(rng.randrange(int(1e9)), "start", flow)
    if constant_bps:
        at(0, "constant", -1)
    while events:
        now, _, kind, flow = heappop(events)
        if now > end:
            break
        if kind == "start":
            send(now, flow)
        elif kind == "constant":
            at(now + int(SEGMENT * 8e9 / constant_bps * (0.5 + rng.random())), "constant", -1)
            at(now, "arrive", -1)
        elif kind == "arrive":
            if policy.arrive(now, len(waiting) * SEGMENT) or len(waiting) >= limit:
                result.dropped += now > warm
                if flow >= 0:
                    at(now + rtt_ns, "loss", flow)
            else:
                waiting.append((now, flow))
                if not serving:
                    serving = True
                    at(now + service, "depart", -1)
        elif kind == "depart":
            came, owner = waiting.popleft()
            policy.depart(now, now - came, len(waiting))
            if now > warm:
                result.delays.append(now - came)
                result.sent += 1
            if owner >= 0:
                at(now + rtt_ns, "ack", owner)
            serving = bool(waiting)
            if serving:
                at(now + service, "depart", -1)
        else:
            flying[flow] -= 1
            if kind == "ack":
                window[flow] += 1 / window[flow]
            elif now - halved[flow] > rtt_ns:
                window[flow], halved[flow] = max(1.0, window[flow] / 2), now
            send(now, flow)
    result.utilisation = result.sent * service / (end - warm)
    return result

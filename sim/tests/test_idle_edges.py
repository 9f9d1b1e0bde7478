"""When a queue becomes empty, and which words the decay over its idle time uses: the moments at which two things meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from golden.core import Record
from policy_scene import Check, Scene
from weir_sim import Core, trace
from weir_sim.frames import udp_frame

RED: dict[str, Any] = {"min": 2_000, "max": 24_000, "weight": 0.01, "avpkt": 500, "limit_bytes": 60_000}
SLOT_NS = {"2Gbit": 2_000, "200Mbit": 20_000}
"""Idle slots of RED's `avpkt`, in ns"""

ONE: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "red": (RED | {"bandwidth": "2Gbit"}, {}),
    "pie": ({"target": "20us", "tupdate": "12us"}, {}),
    "pi2": ({"target": "20us", "tupdate": "12us"}, {}),
}
"""Policies whose state shows when the queue became empty."""


HALF: dict[str, Any] = {"target": "1us", "tupdate": "12us", "alpha": 40, "beta": 0, "p_cmax": 0.5}
"""PI2 that drops about every second packet for a while after its queue was long."""


def _round(scene: Scene, at_ns: int, second_ns: int | None) -> int:
    """The line is kept busy, then a packet waits in queue 0 for the shaper; a second comes at `second_ns`, a third later.
    Answers when the next round may begin."""
    for _ in range(4):
        scene.send(scene.frame(1514, 3, 0), at_ns)
    scene.send(scene.frame(64, 0, 0), at_ns + 6_000)
    if second_ns is not None:
        scene.send(scene.frame(64, 0, 0), second_ns)
    scene.send(scene.frame(64, 0, 0), at_ns + 60_000)
    return at_ns + 400_000


def _first(records: list[Record], after_ns: int) -> Record:
    return next(r for r in records if r.queue == 0 and r.time >= after_ns)


@pytest.mark.parametrize("policy", ONE)
def test_an_arrival_that_a_limit_refuses_does_not_end_idle_time(policy: str) -> None:
    """A second packet comes while the first leaves, and is refused (the limit is one packet): for RED, idle time begins as the first leaves; PIE and
    PI2 have no delay from then on (policy_scene compares both)."""
    natural, raw = ONE[policy]
    scene, starts = _meets(policy, raw, limit_packets=1, **natural)
    report = scene.finish()
    print(f"{policy}: {report}")
    assert report.outcomes[f"{policy} drop overflow"] >= 6 and not report.seen["emptied by a policy's drop"]
    if policy == "red":
        _bounds(Check(scene), starts)


def test_a_queue_is_empty_when_its_policy_drops_the_last_arrival() -> None:
    """A second packet is in the queue until its drop is known, and the first has left meanwhile."""
    scene, _ = _meets("pi2", {}, rounds=4, standing=200, **HALF)
    report = scene.finish()
    print(report)
    assert report.seen["emptied by a policy's drop"] >= 6


def _meets(
    policy: str, raw: dict[str, int], rounds: int = 1, standing: int = 0, **natural: Any
) -> tuple[Scene, list[int]]:
    """The second packet of a round is decided in each cycle around that in which the first leaves; where rounds begin. Before them
    so many long packets stand in the queue."""
    scene = Scene(5, 4e8)
    scene.configure(0, policy, raw, **natural)
    at = begin = scene.core.now_ns + 10_000
    at = _round(scene, at, None)
    scene.core.run_until(at)
    scene.collect()
    check = Check(scene)
    leaves = _first(check.departures, begin).time - begin
    decided = _first(check.arrivals, begin).time - begin - 6_000
    starts = []
    for _ in range(standing):
        scene.send(scene.frame(1514, 0, 0), at)
    at += standing * 40_000
    for cycles in [*range(-16, 12)] * rounds:
        starts.append(at)
        at = _round(scene, at, at + leaves - decided + cycles * 32 // 5)
    scene.core.run_until(at)
    return scene, starts


def _bounds(check: Check, starts: list[int]) -> None:
    """m of each third packet whose second was refused, by division alone: since the first's departure."""
    refused = 0
    for start in starts:
        first, second, third = (r for r in check.arrivals if r.queue == 0 and start <= r.time < start + 390_000)
        left = next(d for d in check.departures if d.number == first.number).time
        if second.action != 2:
            continue
        refused += 1
        # the second began idle time anew if it found the queue empty
        since = max(left, second.time if second.held_packets == 0 else 0)
        assert third.idle_slots == (third.time - since) // SLOT_NS["2Gbit"], (first, second, third)
    assert refused >= 6


@pytest.mark.parametrize("seed", [1, 2])
def test_a_header_before_an_apply_decays_the_average_with_the_new_words(seed: int) -> None:
    """Parameters change while a frame to an idle queue is coming in: m counts slots of the new length."""
    scene = Scene(seed, 0)
    rng, rates = scene.rng, list(SLOT_NS)
    scene.configure(0, "red", bandwidth=rates[0], **RED)
    expected: list[int] = []
    for n in range(1, 25):
        at = scene.core.now_ns + 1_000
        for _ in range(12):
            scene.send(scene.frame(1514, 0, 0), at)
        at += 400_000
        scene.send(scene.frame(9_000, 0, 0), at)
        scene.core.run_until(at + rng.randrange(1_500))
        scene.configure(0, "red", bandwidth=rates[n % 2], **RED)
        assert scene.core.now_ns < at + 7_000, "the frame has to be coming in still"
        expected.append(SLOT_NS[rates[n % 2]])
        scene.core.run_until(at + 20_000)
    report = scene.finish()
    print(report)
    large = [r for r in Check(scene).arrivals if r.length == 9_000]
    assert [r.held_packets for r in large] == [0] * len(expected)
    departures = Check(scene).departures
    for r, slot_ns in zip(large, expected, strict=True):
        left = max(d.time for d in departures if d.time < r.time)
        assert r.idle_slots == (r.time - left) // slot_ns > 0


class Turns:
    """When an arrival goes to its decision (arrival-decision.md, Timing), in cycles: RED in every queue, none merges."""

    def __init__(self) -> None:
        self.last = -99
        self.commits: list[int] = []
        self.deferred: list[int] = []
        self.latest: dict[int, int] = {}

    def may(self, at: int, ready: int, queue: int, empty: bool) -> bool:
        """Whether one may go in that cycle which finds its queue so; `ready`: its flow is known."""
        if at < self.last + 4 or any(abs(at + 12 - c) < 2 for c in self.commits):
            return False
        if empty:
            return at >= ready or self.idle(at)
        late = at < self.latest.get(queue, -99) + 16
        return at >= ready and not late and all(abs(at - d - 12) >= 4 for d in self.deferred)

    def idle(self, at: int) -> bool:
        """No decision is under way."""
        return all(c < at + 2 for c in self.commits)

    def goes(self, at: int, queue: int, empty: bool) -> None:
        """One has gone."""
        if not (empty and self.idle(at)):
            self.commits.append(at + 12)
        if empty:
            self.commits.append(at + 24)
            self.deferred.append(at)
            self.latest[queue] = at
        self.last, self.commits, self.deferred = at, self.commits[-8:], self.deferred[-8:]


@pytest.mark.parametrize("queues", [1, 4])
@pytest.mark.parametrize("slot", ["1Gbit", "10Gbit"])
def test_an_idle_queue_takes_minimum_frames_at_line_rate(queues: int, slot: str) -> None:
    """84 byte times a frame in, and out as fast as they come, so that the queues are empty time and again: RED decides
    about many arrivals afterwards, each of which takes two turns of four cycles. 8 are less than the 10.5 of a frame,
    so few wait. Every arrival goes when the rules let it, and none waits where they would let it whatever it found.
    """
    core = Core("full", egress="ready")
    core.device.dscp_map([d % queues for d in range(64)])
    core.device.trace_enable()
    for q in range(4):
        core.device.queue_replace(
            q, policy="red", limit="900KB", min="30KB", max="90KB", avpkt=64, bandwidth=slot, weight=0.01
        )
    # bursts of 50 frames, 6.4 us (1000 cycles) from one to the next
    count, burst = 20_000, 50
    index = np.arange(count)
    base = -(-core.now_ns // 32) * 32 + 3_200  # a cycle begins there
    begins = base + index // burst * 6_400
    frames = b"".join(udp_frame(60, n % queues, 0, n) for n in range(count))
    core.send_many(frames, [60] * count, begins.tolist())
    core.run_until(core.line_free_ns + 10_000)
    records = core.trace()
    arrivals = np.sort(records[records["kind"] == trace.ARRIVAL], order="seq")
    assert len(arrivals) == count and (arrivals["action"] == trace.ACCEPT).all()
    # with one queue a frame meets the one before it, but for the first ones of a burst
    assert (arrivals["q_packets"] == 0).sum() >= count // burst * (1 if queues == 1 else 20)
    assert (arrivals["idle_slots"] > 0).any()
    # core.md: a frame of eight beats may go 13 cycles after its first, 12 if its flow need not be known
    ready = index // burst * 1_000 + -(-(index % burst) * 84 // 8) + 13
    went = -((arrivals["time_ns"].astype(np.int64) - base) * -5 // 32)
    turns, waits = Turns(), 0
    for at, by, queue, held in zip(
        went.tolist(), ready.tolist(), arrivals["queue"], arrivals["q_packets"], strict=True
    ):
        assert at >= by - 1 and turns.may(at, by, queue, held == 0), f"cycle {at}, ready in {by}, {held} packets"
        for earlier in range(max(by, turns.last + 4), at):
            waits += 1
            assert not all(turns.may(earlier, by, queue, empty) for empty in (False, True)), (
                f"{at} instead of {earlier}"
            )
        turns.goes(at, queue, held == 0)
    assert waits > (0 if queues == 1 else 1_000)
    # who is ready when another goes: of 32 places in the FIFO
    assert max(np.searchsorted(ready, went, "right") - index) <= 4

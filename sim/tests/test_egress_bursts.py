"""What the egress does while many packets are dropped from the heads of queues: drop from front, and CoDel's own drops.

The core's cycle model, 64-byte frames (84 byte times on a line of 10 Gb/s, 10.5 cycles). Egress "mac" takes frames at the
line's rate, "ready" takes a beat in every cycle, so that a frame takes 8 cycles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from weir_sim import Core, trace
from weir_sim.frames import NOT_ECT, udp_frame

Ints = npt.NDArray[np.int64]
SHORT, LONG = 60, 9216
HEADS = LONG // SHORT
"""short frames that the long one displaces, if none of them is sent"""
LINE = {"mac": 10.5, "ready": 8.0}
"""cycles of a short frame"""


def cycle(ns: npt.NDArray[Any]) -> Ints:
    """The cycle that begins at a time (exact: it begins at floor(6.4 k))."""
    return -(-ns.astype(np.int64) * 5 // 32)


@dataclass(frozen=True)
class Burst:
    """Cycles of the drops from the front, and of the first beats of frames, all and those that left during the drops."""

    drops: Ints
    frames: Ints
    during: Ints

    @property
    def gaps(self) -> Ints:
        """Cycles from frame to frame during the drops."""
        return np.diff(self.during)


def burst(egress: str, other: bool, policy: str = "drop-tail", front: bool = True) -> Burst:
    """A long frame comes to a queue full of short ones, and more short ones after it, while the egress sends: frames of
    another, strict queue, or those of the same one. Without `front` the long frame fits, and nothing is dropped."""
    core = Core("full", egress="stopped")
    device = core.device
    device.dscp_map({1: 1})
    settings: dict[str, Any] = {"target": "4s", "interval": "4s"} if policy == "codel" else {}
    device.queue_replace(0, policy=policy, front=front, limit_bytes=LONG if front else 1 << 18, **settings)
    device.queue_replace(1, policy="drop-tail", strict=True)
    device.trace_enable(arrivals=False)

    def send(count: int, length: int, queue: int) -> None:
        core.send_many(udp_frame(length, queue, NOT_ECT) * count, [length] * count, [core.now_ns] * count)

    if other:
        send(3 * HEADS, SHORT, 1)
    send(HEADS, SHORT, 0)
    send(1, LONG, 0)
    core.run_until(core.line_free_ns - 500)
    core.egress = egress
    core.run_until(core.line_free_ns)
    send(40, SHORT, 0)
    core.run_idle()
    out, records = core.recv_many(), core.trace()
    drops = cycle(records["time_ns"][(records["kind"] == trace.DEPARTURE) & (records["cause"] == trace.FRONT)])
    frames = cycle(out.first_ns[out.lengths == SHORT])
    assert core.stats().core.ingress_overflow.packets == 0 and core.underruns == 0
    if not front:
        assert drops.size == 0
        return Burst(drops, frames, frames[:HEADS])
    # the long frame's own: those of the frames after it come one by one
    drops = drops[: int(np.argmax(np.append(np.diff(drops), 1 << 30) > 40)) + 1]
    # from the frame that was leaving when they began to the first that was granted after them
    during = frames[np.searchsorted(frames, drops[0]) - 1 : np.searchsorted(frames, drops[-1]) + 2]
    return Burst(drops, frames, during)


@pytest.mark.parametrize("egress", LINE)
@pytest.mark.parametrize("other", [True, False], ids=["another-queue", "the-same-queue"])
def test_the_egress_never_waits_for_drops_from_the_front(egress: str, other: bool) -> None:
    calm, busy = burst(egress, other, front=False), burst(egress, other)
    print(
        f"{busy.drops.size} drops in {busy.drops[-1] - busy.drops[0]} cycles; gaps {set(busy.gaps.tolist())}, else {set(calm.gaps.tolist())}"
    )
    assert busy.drops.size > 50 and busy.during.size > 50
    # as close as they ever are: 10 and 11 cycles by turns, or 8
    assert set(calm.gaps.tolist()) == set(busy.gaps.tolist()) == {int(LINE[egress]), -int(-LINE[egress] // 1)}
    # a frame takes 8 cycles or more to send and 4 to grant, a drop 4 and a wait for what is granted to be counted
    assert busy.drops[-1] - busy.drops[0] <= 12 * busy.drops.size


def _of_flow(frame: bytes, port: int) -> bytes:
    """The frame from another port; without a checksum of UDP."""
    return frame[:34] + port.to_bytes(2, "big") + frame[36:40] + bytes(2) + frame[42:]


@pytest.mark.parametrize(
    ("groups", "length"),
    [((183,), 46), ((100, 183), 46), ((140, 183), 46), ((30, 30, 30, 183), 46), ((60,) * 5, 46), ((286,), 28)],
    ids=str,
)
def test_the_egress_never_waits_for_groups_dropped_from_the_front(groups: tuple[int, ...], length: int) -> None:
    """Whole jumbo frames of short packets, which take four cycles a packet to discard, beside 64-byte frames of a strict queue.

    What is granted keeps the line busy meanwhile, but is 96 frames at most: the longest group of 28-byte packets takes longer.
    """
    core = Core("full", egress="stopped")
    device = core.device
    device.dscp_map({1: 1})
    device.queue_replace(0, policy="drop-tail", front=True, limit_bytes=(14 + length) * sum(groups) + 20)
    device.merge(0, "flow", max_bytes=9216)
    device.queue_replace(1, policy="drop-tail", strict=True)
    device.trace_enable(arrivals=False)

    def send(frame: bytes, count: int) -> None:
        core.send_many(frame * count, [len(frame)] * count, [core.now_ns] * count)
        core.run_until(core.line_free_ns + 50)

    send(udp_frame(SHORT, 1, NOT_ECT), 400)
    for port, count in enumerate(groups):
        send(_of_flow(udp_frame(14 + length, 0, NOT_ECT), 1000 + port), count)
    core.run_until(core.line_free_ns + 2000)
    held = device.live(0)
    core.egress = "mac"
    # the last frames sent, the longest arrival comes while others of the strict queue wait
    send(udp_frame(9000, 0, NOT_ECT), 1)
    send(udp_frame(SHORT, 1, NOT_ECT), 60)
    core.run_idle()
    out, records = core.recv_many(), core.trace()
    assert (held.packets, held.frames) == (sum(groups), len(groups))
    front = (records["kind"] == trace.DEPARTURE) & (records["cause"] == trace.FRONT)
    drops = cycle(records["time_ns"][front])
    idle = np.diff(cycle(out.first_ns)) - np.maximum(10.5, (out.lengths[:-1] + 24) / 8)
    print(f"{drops.size} drops in {drops.max() - drops.min()} cycles; the line idle for {idle.max()} cycles at most")
    assert drops.size >= sum(groups) - 183 and drops.size >= 150
    # and 32 cycles for what comes before and after
    assert idle.max() < (1 if length > 28 else 4 * max(groups) - 96 * LINE["mac"] + 32)
    # four cycles a packet, and as much of the line's time to make good for it
    assert drops.max() - drops.min() <= 8 * drops.size
    assert core.stats().core.ingress_overflow.packets == 0 and core.underruns == 0


@pytest.mark.parametrize(("policy", "departure"), [("codel", 7), ("pi2", 8)])
def test_a_queue_that_decides_at_departure_keeps_the_line_beside_drops_from_its_front(
    policy: str, departure: int
) -> None:
    """A departure of such a queue takes 7 cycles, its answer included, or 8 (PI2): what is left of 10.5 is for drops of 4."""
    busy = burst("mac", other=False, policy=policy)
    used = 10.5 * busy.gaps.size / busy.gaps.sum()
    print(
        f"{busy.drops.size} drops in {busy.drops[-1] - busy.drops[0]} cycles; gaps {set(busy.gaps.tolist())}: {used:.3f} of the line"
    )
    assert busy.drops.size > 30
    assert set(busy.gaps.tolist()) == {10, 11}
    # what is left of a frame's time fits no drop each time: no more than twice what all of it would take
    assert busy.drops[-1] - busy.drops[0] <= 2 * 4 * 10.5 / (10.5 - departure) * busy.drops.size


@pytest.mark.parametrize("interval", ["10us", "2us"])
def test_codel_in_its_loop_sends_a_frame_every_7_cycles_for_each_packet_it_looks_at(interval: str) -> None:
    """RFC 8289's deque() takes packets until one is sent; here each is a departure of 7 cycles. A frame that k drops precede takes
    7 (k + 1) cycles, or its time on the line if that is more: the line is idle only for what the drops take beyond it.
    """
    core = Core("full", egress="stopped")
    core.device.queue_replace(0, policy="codel", target="1us", interval=interval, maxpacket=100)
    core.device.trace_enable(arrivals=False)
    count = 3000
    core.send_many(udp_frame(SHORT, 0, NOT_ECT) * count, [SHORT] * count, [core.now_ns] * count)
    core.run_until(core.line_free_ns + 1000)
    core.egress = "mac"
    core.run_idle()
    out, records = core.recv_many(), core.trace()
    dropped = records["action"] == trace.DROP
    sent = np.flatnonzero(~dropped)
    before = np.diff(sent) - 1
    frames = cycle(out.first_ns)
    assert frames.size == sent.size and dropped.sum() > 50 and frames.size > 100
    least = np.maximum(10.5, 7.0 * (before + 1))
    time, used = frames[-1] - frames[0], 10.5 * before.size
    print(
        f"{interval}: {dropped.sum()} dropped, {frames.size} sent, up to {before.max()} drops before one; {used / time:.3f} of the line, bound {used / least.sum():.3f}"
    )
    assert before.max() >= 1
    assert time <= least.sum() + 12

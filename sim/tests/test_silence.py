"""What each policy's state does while nothing comes, at the first packet after that, and at a link that comes back
(docs/policies.md, In silence). Time is skipped, so that hours cost what microseconds do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from policy_models import ON_BYTES, ON_CODEL, ON_FN, ON_PI2, ON_PI2_RAW, ON_PIE, ON_PIE_RAW, ON_RED
from policy_scene import Scene
from weir_sim import trace
from weir_sim.frames import udp_frame

RATE = 2e9
SECOND = 1_000_000_000
#: the last is beyond the half of the range of time, 2^47 ns
SILENCES = (20 * SECOND, 3600 * SECOND, 40 * 3600 * SECOND)
INTERVAL_NS = 60_000
"""CoDel's, in CODEL"""

POLICIES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "drop-tail": (ON_BYTES, {}),
    "dt-ecn": (ON_BYTES | {"utilisation": "30%"}, {}),
    "red": (ON_RED | {"ecn": True}, {}),
    "isred": (ON_RED | {"slope": "3e7", "ecn": True}, {}),
    "ared": (ON_RED | {"interval": "100us", "ecn": True}, {}),
    "fn": (ON_FN | {"ecn": True}, {}),
    "pie": (ON_PIE, ON_PIE_RAW),
    "codel": (ON_CODEL, {}),
    "pi2": (ON_PI2 | {"ecn": False}, ON_PI2_RAW),
}
DROPS, MARKS = trace.DROP, trace.MARK


def busy(scene: Scene, policy: str) -> None:
    """A millisecond of one and a half times the rate into queue 0, in which the policy comes to act; then the queue drains."""
    natural, raw = POLICIES[policy]
    scene.configure(0, policy, raw, **natural)
    for n in range(400):
        scene.send(udp_frame(1000, 0, 2, n), scene.core.now_ns + 500 + int(n * 1024 * 8e9 / RATE / 1.5))
    scene.core.run_until(scene.core.line_free_ns)
    scene.core.run_until(scene.core.now_ns + 300_000)
    assert scene.core.device.live(0).packets == 0


def burst(scene: Scene, count: int = 12) -> int:
    """Frames of 500 bytes back to back, fewer than any threshold; answers when they come."""
    at = scene.core.now_ns + 500
    for n in range(count):
        scene.send(udp_frame(500, 0, 2, n), at)
    scene.core.run_until(scene.core.line_free_ns)
    scene.core.run_until(scene.core.now_ns + 300_000)
    return at


def records(scene: Scene) -> trace.Records:
    """What the trace told until now."""
    scene.collect()
    return trace.decode(np.concatenate(scene.words))


def acted(rows: trace.Records) -> int:
    """Packets that were marked or dropped, at arrival or departure."""
    return int(np.isin(rows["action"], (DROPS, MARKS)).sum())


@pytest.mark.parametrize("silence", SILENCES, ids=("20 s", "1 h", "40 h"))
@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_is_held_against_the_packets_after_a_silence(policy: str, silence: int) -> None:
    """Whatever a busy time has left: a burst below every threshold passes. All decisions and ticks are compared with the golden models."""
    scene = Scene(1, RATE)
    busy(scene, policy)
    before = records(scene)
    assert acted(before) > 5
    scene.core.run_until(scene.core.now_ns + silence)
    begin = burst(scene)
    after = records(scene)
    after = after[after["time_ns"] >= begin % (1 << 48)]
    assert (after["kind"] == trace.ARRIVAL).sum() == 12 and acted(after) == 0
    scene.finish()


@pytest.mark.parametrize("policy", POLICIES)
def test_a_silent_core_comes_to_rest(policy: str) -> None:
    """An hour of silence takes the core fewer than 30,000 cycles more than ten seconds of it."""
    spent = []
    for silence in (10 * SECOND, 3600 * SECOND):
        scene = Scene(1, RATE)
        busy(scene, policy)
        before = scene.core.evaluated
        scene.core.run_until(scene.core.now_ns + silence)
        spent.append(scene.core.evaluated - before)
    assert spent[1] - spent[0] < 30_000, spent


@pytest.mark.parametrize("silence", SILENCES[:2], ids=("20 s", "1 h"))
def test_adaptive_red_does_not_wind_up(silence: int) -> None:
    """Floyd, Gummadi & Shenker 2001: max_p + min(0.01, max_p/4) above the target, 0.9·max_p below it. A visit above the target
    leaves 0.06; after the silence there is one step down, not one up for each interval; within the band p is its share of that."""
    scene = Scene(1, 0, egress="stopped")
    core = scene.core
    scene.configure(0, "ared", limit_bytes=60_000, min=5_000, max=15_000, weight=1, probability=0.05, avpkt=1000,
                    interval="100us", bandwidth="1Gbit", exempt_first=False)  # fmt: skip

    def frames(count: int) -> None:
        for n in range(count):
            scene.send(udp_frame(1000, 0, 2, n), core.now_ns + 500)
        core.run_until(core.line_free_ns + 5_000)

    frames(14)
    core.run_until(core.now_ns + 120_000)
    frames(1)
    core.egress = "ready"
    core.run_until(core.now_ns + silence)
    core.egress = "stopped"
    frames(13)
    rows = records(scene)
    ticks = rows[rows["kind"] == trace.TICK]["state0"] / 2.0**32
    assert ticks == pytest.approx([0.06, 0.06 * 0.9], rel=1e-6)
    last = rows[rows["kind"] == trace.ARRIVAL][-1]
    assert 8_000 < last["avg"] < 12_000 and last["p"] == pytest.approx(0.054 * (last["avg"] - 5_000) / 10_000, rel=1e-4)
    scene.finish()


@pytest.mark.parametrize("policy", ["red", "isred", "ared"])
@pytest.mark.parametrize("silence", SILENCES, ids=("20 s", "1 h", "40 h"))
def test_the_average_of_an_idle_queue_decays_to_nothing(policy: str, silence: int) -> None:
    """(1 − w)^m of it is left, m slots of 2 µs: less than 2^-22 byte from a millisecond on."""
    scene = Scene(1, RATE)
    busy(scene, policy)
    before = records(scene)
    assert before[before["kind"] == trace.ARRIVAL]["avg"][-1] > 4_000
    scene.core.run_until(scene.core.now_ns + silence)
    begin = burst(scene, 1)
    after = records(scene)
    row = after[(after["kind"] == trace.ARRIVAL) & (after["time_ns"] >= begin)]
    assert row["avg"].tolist() == [0.0]


@pytest.mark.parametrize(("policy", "asleep"), [("pie", 17), ("pi2", 18)])
def test_a_probability_decays_to_0_and_sleeps(policy: str, asleep: int) -> None:
    """Without delay p falls by 1/64 a tick (pie), by α·target (pi2): 12 µs each. The last tick finds 0, and no more follow; PIE's burst allowance is whole again."""
    scene = Scene(1, RATE)
    busy(scene, policy)
    scene.core.run_until(scene.core.now_ns + 20 * SECOND)
    rows = records(scene)
    ticks = rows[rows["kind"] == trace.TICK]
    assert ticks["state0"].max() > 0
    last = ticks[-1]
    assert last["state0"] == 0 and last["state1"] & 0xFFFF == 0 and last["state1"] >> asleep & 1
    if policy == "pie":
        assert last["state3"] == 40_000
    count = len(ticks)
    scene.core.run_until(scene.core.now_ns + 3600 * SECOND)
    rows = records(scene)
    assert int((rows["kind"] == trace.TICK).sum()) == count


@pytest.mark.parametrize("silence", SILENCES, ids=("20 s", "1 h", "40 h"))
def test_codel_begins_again_with_a_whole_interval(silence: int) -> None:
    """It was dropping; after the silence nothing is dropped before the delay has been above the target for an interval, and the second
    drop comes an interval after the first (RFC 8289: count is 1 again after more than 16 intervals)."""
    scene = Scene(1, RATE)
    busy(scene, "codel")
    scene.core.run_until(scene.core.now_ns + silence)
    begin = scene.core.now_ns
    for n in range(400):
        scene.send(udp_frame(1000, 0, 2, n), begin + 500 + int(n * 1024 * 8e9 / RATE / 1.5))
    scene.core.run_idle()
    rows = records(scene)
    left = rows[(rows["kind"] == trace.DEPARTURE) & (rows["time_ns"] >= begin)]
    above = left["time_ns"][left["sojourn_ns"] >= 20_000][0]
    drops = left["time_ns"][left["action"] == trace.DROP][:2].astype(np.int64)
    assert 0 <= drops[0] - above - INTERVAL_NS < 10_000 and 0 <= drops[1] - drops[0] - INTERVAL_NS < 10_000


@pytest.mark.parametrize("silence", SILENCES[:2], ids=("20 s", "1 h"))
def test_fn_takes_the_silence_into_its_window(silence: int) -> None:
    """R = ΔB/Δt over the last 64 packets, with the silence among their times, 2^32 ns of it at most; it is out of the window 64 packets later."""
    scene = Scene(1, RATE)
    busy(scene, "fn")
    scene.core.run_until(scene.core.now_ns + silence)
    begin = scene.core.now_ns + 500
    for n in range(70):
        scene.send(udp_frame(1000, 0, 2, n), begin + 4_096 * n)
    scene.core.run_idle()
    rows = records(scene)
    after = rows[(rows["kind"] == trace.ARRIVAL) & (rows["time_ns"] >= begin)]
    gap = min(silence, (1 << 32) - 1)
    rate = after["avg"] / 2.0**20
    assert rate[0] == pytest.approx(64_000 / gap, rel=1e-3)
    assert rate[63] < 2 * 64_000 / gap and rate[64] == pytest.approx(1000 / 4096, rel=1e-3)
    assert acted(after) == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_a_link_that_comes_back_finds_the_policy_as_new(policy: str) -> None:
    """It goes down under load, the load goes on for a while, and it stays down for an hour. What came meanwhile is counted as LINK_DOWN; the
    burst after it passes."""
    scene = Scene(1, RATE)
    busy(scene, policy)
    core = scene.core
    for n in range(300):
        scene.send(udp_frame(1000, 0, 2, n), core.now_ns + 500 + int(n * 1024 * 8e9 / RATE / 1.5))
    core.run_until(core.now_ns + 200_000)
    core.set_link(False)
    core.run_until(core.line_free_ns + 100_000)
    before = core.stats()
    assert before.queues[0].link_down.packets > 100 and core.device.live(0).packets == 0
    core.run_until(core.now_ns + 3600 * SECOND)
    core.set_link(True)
    begin = burst(scene)
    after = core.stats()
    sent = after.core.tx.packets - before.core.tx.packets
    rows = records(scene)
    assert sent == 12 and acted(rows[rows["time_ns"] >= begin]) == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_a_link_that_comes_up_under_load_finds_the_policy_as_without_a_queue(policy: str) -> None:
    """One and a half times the rate all the time; the link is down for 1.5 ms of it, in which the queue drains at once.
    All decisions and ticks are compared with the golden models."""
    scene = Scene(1, RATE)
    core = scene.core
    natural, raw = POLICIES[policy]
    scene.configure(0, policy, raw, **natural)
    begin = core.now_ns + 500
    for n in range(1500):
        scene.send(udp_frame(1000, 0, 2, n), begin + int(n * 1024 * 8e9 / RATE / 1.5))
    down, up = begin + 1_000_000, begin + 2_500_000
    core.run_until(down)
    core.set_link(False)
    core.run_until(up)
    core.set_link(True)
    scene.finish()
    rows = trace.decode(np.concatenate(scene.words))
    lost = (rows["kind"] == trace.DEPARTURE) & (rows["cause"] == trace.LINK_DOWN)
    assert lost.sum() == core.stats().queues[0].link_down.packets > 300
    before, after = rows[~lost & (rows["time_ns"] < down)], rows[~lost & (rows["time_ns"] >= up)]
    assert acted(before) > 5 and acted(after) > 5
    came = after[after["kind"] == trace.ARRIVAL]
    if policy != "pi2":  # whose p' falls by α·target a tick, not to 0 in this time
        assert acted(came[:10]) == 0  # a packet in three stays: q is below every minimum
    if policy == "ared":
        ticks = rows[rows["kind"] == trace.TICK]
        p = ticks["state0"] / 2.0**32
        dark = (ticks["time_ns"] >= down + 100_000) & (ticks["time_ns"] < up)
        # 0.9 an interval of 100 us, down to 0.01
        falls = p[np.flatnonzero(dark)] / p[np.flatnonzero(dark) - 1]
        assert len(falls) >= 12 and falls == pytest.approx(0.9, rel=1e-6)
        band = came[(came["avg"] > 4_500) & (came["avg"] < 23_500)]
        latest = p[np.searchsorted(ticks["time_ns"], band["time_ns"]) - 1]
        told = band["time_ns"] - ticks["time_ns"][np.searchsorted(ticks["time_ns"], band["time_ns"]) - 1] > 200
        share = (band["avg"] - 4_000) / 20_000
        assert told.sum() > 50 and band["p"][told] == pytest.approx((latest * share)[told], rel=1e-3)

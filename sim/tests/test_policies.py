"""Every policy in the whole core, in the cycle model: its decisions against the golden models, changes under traffic,
line rate, and drop from front."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest

from golden.policy_page import USERS
from policy_models import (
    CASES,
    LINE,
    MODELS,
    NAMES,
    ON_BYTES,
    ON_PACKETS,
    ON_PI2,
    ON_PI2_RAW,
    ON_PIE,
    ON_PIE_RAW,
    ON_RED,
    REACHED,
    Case,
    cycle_of,
)
from policy_scene import QUEUES, Check, Report, Scene
from weir_sim import trace
from weir_sim.frames import udp_frame

LOADS = (1.3, 1.3, 2.5, 0.6)
RATE = 2e9


def reached(report: Report, case: str, policy: str) -> None:
    """The case has met what it is for."""
    for name in (case, policy):
        for what in REACHED.get(name, ()):
            assert report.outcomes[f"{policy} {what}"] + report.seen[f"{policy} {what}"], f"{what}: {report}"


def test_every_policy_of_libweir_is_here() -> None:
    """A policy that is added later needs its golden model, cases, and a load at line rate."""
    assert len(MODELS) == len(NAMES)
    assert {policy for policy, _, _ in CASES.values()} | {"drop-tail", "red"} == set(LINE) == set(NAMES)


@pytest.mark.parametrize("case", CASES)
def test_decides_in_the_core_as_the_golden_model_does(case: str) -> None:
    """The policy in one queue, three others beside it; bursts, pauses, overload into a shaped egress."""
    seed = 1 + list(CASES).index(case)
    policy, natural, raw = CASES[case]
    scene = Scene(seed, RATE)
    own = seed % QUEUES
    others = scene.rng.sample([c for c, (p, _, _) in CASES.items() if p != policy], QUEUES - 1)
    scene.configure(own, policy, raw, **natural)
    for queue, other in zip([q for q in range(QUEUES) if q != own], others, strict=True):
        name, values, words = CASES[other]
        scene.configure(queue, name, words, **values)
    for load in LOADS:
        scene.traffic(600, load, RATE, (own, own, *range(QUEUES)))
    scene.core.run_until(scene.at)
    scene.core.run_until(scene.core.now_ns + 1_000_000)
    scene.traffic(300, 2.0, RATE, (own, own, *range(QUEUES)))
    report = scene.finish()
    print(f"{case}: {report}")
    reached(report, case, policy)


COUPLED: dict[str, Any] = ON_PI2 | {"p_cmax": 0.3, "coupling_factor": 2}


@pytest.mark.parametrize("classic", [0, 3])
def test_a_coupled_pair_decides_as_the_golden_model_does(classic: int) -> None:
    """A classic queue and an L queue that name each other; the L queue's step, coupled marks, overload."""
    scene = Scene(40 + classic, RATE)
    low = 2 if classic == 0 else 1
    others = [q for q in range(QUEUES) if q not in (classic, low)]
    scene.configure(low, "pi2", ON_PI2_RAW, low_latency=True, coupled=classic, step_thresh="15us", **COUPLED)
    scene.configure(classic, "pi2", ON_PI2_RAW, coupled=low, **COUPLED)
    for queue, case in zip(others, ("codel ecn", "fn linear"), strict=True):
        name, natural, raw = CASES[case]
        scene.configure(queue, name, raw, **natural)
    for load in LOADS:
        scene.traffic(600, load, RATE, (classic, low, *range(QUEUES)))
    scene.core.run_until(scene.at + 1_000_000)
    scene.traffic(300, 2.0, RATE, (low, low, *range(QUEUES)))
    report = scene.finish()
    print(f"pair: {report}")
    for what in ("drop early", "mark early", "at departure: mark forced", "asleep", "roused", "overload"):
        assert report.outcomes[f"pi2 {what}"] + report.seen[f"pi2 {what}"], f"{what}: {report}"


def test_ticks_of_two_engines_in_one_cycle_leave_two_records() -> None:
    """ared and pie with the shortest intervals: each engine's records come, whole and in its order."""
    scene = Scene(1, RATE)
    scene.configure(0, "ared", {"ARED_INTERVAL": 0}, **CASES["ared often"][1])
    for queue in (1, 2, 3):
        scene.configure(queue, "pie", ON_PIE_RAW | {"PIE_INTERVAL": 0}, **ON_PIE)
    scene.traffic(1800, 1.5, RATE, idle=0)
    scene.finish()


def walk(nodes: list[str], rng: Random) -> list[str]:
    """A closed walk that takes every ordered pair once, a node with itself included (Hierholzer)."""
    left = {a: rng.sample(nodes, len(nodes)) for a in nodes}
    stack, path = [nodes[0]], []
    while stack:
        if left[stack[-1]]:
            stack.append(left[stack[-1]].pop())
        else:
            path.append(stack.pop())
    return path[::-1]


def configure_at_random(scene: Scene, queue: int, policy: str) -> None:
    """A case of the policy, or plain drop-tail and RED, with drop from front or not."""
    rng = scene.rng
    cases: list[Case] = [c for c in CASES.values() if c[0] == policy]
    cases += [("drop-tail", ON_BYTES, {})] * (policy == "drop-tail")
    cases += [("red", ON_RED | {"ecn": True}, {}), ("red", ON_PACKETS, {})] * (policy == "red")
    name, natural, raw = rng.choice(cases)
    natural = natural | {"front": rng.random() < 0.5}
    if "limit_bytes" in natural:
        natural["limit_bytes"] = rng.choice((25_000, 60_000))
    scene.configure(queue, name, raw, **natural)


def missing(scene: Scene) -> int:
    """rx - (tx + dropped + held) in packets, when nothing is in flight."""
    now, held = scene.core.stats(), scene.core.device.core_live().held_packets
    names = ("early", "forced", "overflow", "front", "head_dropped")
    dropped = sum(getattr(q, name).packets for q in now.queues for name in names)
    assert now.core.rx.packets == len(scene.sent)
    assert now.core.ingress_overflow.packets == scene.core.ingress_stalls == scene.core.underruns == 0
    return now.core.rx.packets - now.core.tx.packets - dropped - held


def identity(scene: Scene) -> int:
    """rx = tx + dropped + held with the egress stopped; answers what is held."""
    core = scene.core
    core.egress = "stopped"
    core.run_until(max(core.line_free_ns, core.now_ns) + 10_000)
    assert missing(scene) == 0
    return int(core.device.core_live().held_packets)


@pytest.mark.parametrize("lead", range(QUEUES))
def test_policies_change_under_traffic(lead: int) -> None:
    """One queue takes every ordered pair of policies, the others change as well, and so do parameters and drop from
    front. No packet is lost or doubled, order is kept, and each policy begins in its first state."""
    scene = Scene(60 + lead, rate := 6e9)
    rng = scene.rng
    ways = {q: walk(NAMES, rng) for q in range(QUEUES)}
    scene.traffic(2600, 1.3, rate, (lead, *range(QUEUES)), idle=0)
    changes: list[tuple[str, str]] = []
    for step in range(1, len(ways[lead])):
        for queue in rng.sample((lead, (lead + 1 + step % (QUEUES - 1)) % QUEUES), 2):
            way = ways[queue]
            at = sum(1 for c in scene.changes if c.queue == queue) + 1
            scene.core.run_until(scene.core.now_ns + rng.choice((0, 100, rng.randrange(1_000), rng.randrange(20_000))))
            scene.run_until_decided(queue)
            configure_at_random(scene, queue, way[at % len(way)])
            if queue == lead:
                changes.append((way[at - 1], way[at]))
    assert set(changes) == {(a, b) for a in NAMES for b in NAMES}
    assert scene.core.pending, "the traffic has to last"
    held = identity(scene)
    report = scene.finish()
    print(f"{len(scene.changes)} changes, {held} held: {report}")
    assert held and report.first_decisions >= len(scene.changes) * 3 // 4
    assert sum(n for name, n in report.outcomes.items() if name.endswith(" front")) > 20


def swap(scene: Scene, queue: int, policy_word: int) -> None:
    """Applies another POLICY word; the queue's other words stay."""
    scene.write(queue, "POLICY", policy_word)
    scene.apply(queue)


@pytest.mark.parametrize(
    "policy",
    [
        "pi2",
        "codel",
    ],
)
def test_no_packet_is_lost_when_a_policy_that_decides_at_departure_comes(policy: str) -> None:
    """Queue 0 sends and changes between drop-tail and the policy; queue 1 drops from its head between its grants."""
    scene = Scene(1, 0, egress="stopped")
    core = scene.core
    scene.configure(0, policy)
    deciding = scene.current[0]["POLICY"]
    scene.configure(0, "drop-tail")
    count = 3000
    for number in range(count):
        scene.send(scene.frame(60, number & 1, 2))
    core.run_until(core.line_free_ns + 5_000)
    core.egress = "ready"
    scene.configure(1, "drop-tail", front=True, limit_packets=5)
    changes = 0
    while core.device.live(1).packets > 20:
        swap(scene, 0, deciding)
        swap(scene, 0, 0)
        changes += 1
    core.run_idle()
    free, identity_ok = core.device.core_live().free_cells, missing(scene) == 0
    print(
        f"{policy}: {changes} changes, {missing(scene)} packets and {core.device.capabilities.cells - 1 - free} cells missing"
    )
    assert changes > 20
    assert identity_ok and free == core.device.capabilities.cells - 1


def test_a_restart_of_codel_forgets_everything_at_any_moment() -> None:
    """From a state that drops all the time to one with an interval of 4 s: nothing may be dropped after the restart."""
    scene = Scene(3, 0, egress="stopped")
    core = scene.core
    scene.configure(0, "codel", target="1us", interval="1us")
    for _ in range(5000):
        scene.send(scene.frame(60, 0, 2))
    core.run_until(core.line_free_ns + 5_000)
    core.egress = "ready"
    calm: list[tuple[int, int]] = []
    policy = scene.current[0]["POLICY"]
    while core.device.live(0).packets > 300:
        core.run_cycles(200 + scene.rng.randrange(18))
        scene.write(0, "CODEL_INTERVAL", 4_000_000_000)
        scene.write(0, "POLICY", policy | 1 << 8)
        scene.apply(0)
        first = core.now_ns
        core.run_cycles(200)
        calm.append((first, core.now_ns))
        scene.write(0, "CODEL_INTERVAL", 1_000)
        swap(scene, 0, policy)
    core.run_idle()
    records = core.trace()
    drops = records["time_ns"][(records["kind"] == trace.DEPARTURE) & (records["action"] == trace.DROP)].tolist()
    wrong = [t for t in drops if any(first <= t < last for first, last in calm)]
    print(f"{len(calm)} restarts, {len(drops)} drops, {len(wrong)} of them after a restart")
    assert len(calm) > 40 and len(drops) > 40
    assert not wrong


@pytest.mark.parametrize("bit", [0, 1])
@pytest.mark.parametrize("policy", NAMES[1:])
def test_what_the_library_refuses_does_no_harm(policy: str, bit: int) -> None:
    """Every parameter 0, or all ones: T, Ws, the room that has mu in it, slope, intervals, targets, gains, thresholds.
    Decisions stay those of the golden model, no packet and no cell is lost, other queues go on, the core comes to rest."""
    scene = Scene(90, RATE)
    raw = {}
    for name, address in scene.address.items():
        if NAMES.index(policy) in USERS.get(name.split("_")[0], ()):
            scene.write(0, name, bit * 0xFFFF_FFFF)
            raw[name] = scene.core.csr_read(address)  # what there is of it
    assert raw
    if policy == "fn":
        raw["FN_WINDOW"] &= 0x1FFF  # no place in the part of another queue
    scene.configure(0, policy, raw, **ON_BYTES)
    scene.configure(1, "red", **ON_RED)
    scene.traffic(500, 1.5, RATE, (0, 0, 1, 2))
    report = scene.finish()
    assert missing(scene) == scene.core.device.core_live().held_packets == 0
    assert scene.core.device.core_live().free_cells == scene.capabilities.cells - 1
    assert scene.core.stats().queues[1].out.packets > 50, report


# ---- line rate

WIRE_64 = 84 * 0.8
"""ns of a 64-byte frame (60 without FCS) on the line: 14.88 Mpps"""


@pytest.mark.parametrize("policy", [*LINE, "codel dropping"])
def test_line_rate_of_minimum_frames_in_and_out(policy: str) -> None:
    """Frames back to back in and out at once, over a queue of half the buffer's packets, all four queues."""
    name, drops = policy.split()[0], policy != policy.split()[0]
    natural, raw = LINE[name]
    if drops:
        natural = {"target": "20us", "interval": "20us"}
    scene = Scene(7, 0, egress="stopped")
    core = scene.core
    for queue in range(QUEUES):
        scene.configure(queue, name, raw, **natural)
    standing, count = 6000, 3000
    ecn = 0 if drops else 2
    data = b"".join(udp_frame(60, n % QUEUES, ecn, n) for n in range(standing + count))
    core.send_many(data[: 60 * standing], [60] * standing, [0] * standing)
    core.run_until(core.line_free_ns + 5_000)
    core.trace_words()
    start = core.now_ns + 1_000
    core.send_many(data[60 * standing :], [60] * count, [start] * count)
    end = core.line_free_ns
    core.egress = "mac"
    core.run_until(end)
    frames = core.recv_many()
    records = core.trace()
    times = frames.first_ns[(frames.first_ns >= start + 1_000) & (frames.first_ns < end)]
    sent = (len(times) - 1) / float(times[-1] - times[0])
    offered = count / (end - start)
    arrivals = records[records["kind"] == trace.ARRIVAL]
    heads = (records["kind"] == trace.DEPARTURE) & (records["action"] == trace.DROP)
    marks = int((records["action"] == trace.MARK).sum())
    lost = core.stats().core.ingress_overflow.packets + core.ingress_stalls + core.underruns
    print(
        f"{policy}: in {offered * 1e3:.3f} Mpps, out {sent * 1e3:.3f} Mpps ({100 * sent * WIRE_64:.2f} %), lost at ingress "
        f"{lost}, {marks} marked, {int((arrivals['action'] == trace.DROP).sum())} dropped at arrival, {int(heads.sum())} at departure"
    )
    assert lost == 0
    assert offered * WIRE_64 > 0.999 and sent * WIRE_64 < 1.001
    if drops:
        # departure-decision.md: a dropped head costs an interval of grants at most, 7 cycles
        cost = (float(times[-1] - times[0]) - (len(times) - 1) * WIRE_64) / 6.4 / int(heads.sum())
        print(f"{policy}: {cost:.2f} cycles of the egress for each dropped head")
        assert cost <= 7
    else:
        assert sent * WIRE_64 > 0.999
    assert int(arrivals["q_packets"].min()) > 100
    assert bool(heads.sum()) == drops and (drops or name == "drop-tail" or marks)


def test_every_queue_goes_round_all_policies_at_line_rate() -> None:
    """Minimum frames back to back for all of the time, and every few microseconds a queue gets its next policy. The scene compares each decision,
    each frame that leaves and each tick; here all that the counters say meanwhile and after it, and that the ingress never waits."""
    scene = Scene(77, 8e9)
    core, rng = scene.core, scene.rng
    count, rounds, start = 15_000, 3, core.now_ns + 1_000
    for _ in range(count):
        scene.sent.append(scene.frame(60, rng.randrange(QUEUES), rng.randrange(4)))
    core.send_many(b"".join(scene.sent), [60] * count, [start] * count)
    end = core.line_free_ns
    assert (end - start) / count < 1.001 * WIRE_64
    ways = [NAMES[2 * q :] + NAMES[: 2 * q] for q in range(QUEUES)]
    before = core.stats().core
    for step in range(rounds * len(NAMES)):
        for queue in range(QUEUES):
            scene.run_until_decided(queue)
            configure_at_random(scene, queue, ways[queue][step % len(NAMES)])
        if step % 3:
            continue
        now = core.stats().core
        held = core.device.core_live().held_packets
        assert now.rx.packets > before.rx.packets and now.tx.packets > before.tx.packets and held <= now.rx.packets
        assert now.ingress_overflow.packets == core.ingress_stalls == 0
        before = now
    last = core.now_ns
    assert last < end, f"the line is empty {last - end} ns before the last change"
    identity(scene)
    report = scene.finish()
    stats, records = core.stats(), scene_records(scene)
    for queue, own in enumerate(stats.queues):
        mine = records[records["queue"] == queue]
        came, left = mine[mine["kind"] == trace.ARRIVAL], mine[mine["kind"] == trace.DEPARTURE]
        dropped = came["action"] == trace.DROP
        got = {
            "in": sum(getattr(own, f"in_{codepoint}").packets for codepoint in ("not_ect", "ect1", "ect0", "ce")),
            "early": own.early.packets, "forced": own.forced.packets, "overflow": own.overflow.packets,
            "front": own.front.packets, "head": own.head_dropped.packets, "sent": own.out.packets + own.head_marked.packets,
        }  # fmt: skip
        front = left["cause"] == trace.FRONT
        assert got == {
            "in": len(came),
            **{name: int((dropped & (came["cause"] == cause)).sum())
               for name, cause in (("early", trace.EARLY), ("forced", trace.FORCED), ("overflow", trace.OVERFLOW))},
            "front": int(front.sum()), "head": int(((left["action"] == trace.DROP) & ~front).sum()),
            "sent": int((left["action"] != trace.DROP).sum()),
        }  # fmt: skip
    assert missing(scene) == 0 and stats.core.tx.packets == len(scene.out)
    changes = len(scene.changes)
    print(f"{changes} changes in {(last - start) / 1e3:.0f} us, {(last - start) / 1e3 / changes:.2f} us each: {report}")
    assert changes == rounds * len(NAMES) * QUEUES and set(report.arrivals) == set(NAMES)


def scene_records(scene: Scene) -> trace.Records:
    """What the scene's trace told."""
    return trace.decode(np.concatenate(scene.words))


def gaps_of_a_burst(policies: tuple[str, ...], frames: list[bytes], seed: int, preset: str = "full") -> list[int]:
    """Cycles from request to request of frames that come without gaps on `line` raw, over standing queues."""
    scene = Scene(seed, 0, line="raw", egress="stopped", preset=preset)
    core = scene.core
    for queue, policy in enumerate(policies):
        natural, raw = LINE[policy]
        scene.configure(queue, policy, raw, **natural)
    for number in range(4 * QUEUES):
        core.send(udp_frame(60, number % QUEUES, 2), core.now_ns + 200 * number)
    core.run_until(core.now_ns + 10_000)
    core.trace_words()
    core.send_many(b"".join(frames), [len(f) for f in frames], [core.now_ns + 1_000] * len(frames))
    core.run_until(core.now_ns + 10_000)
    records = core.trace()
    requests = sorted(records["time_ns"][records["kind"] == trace.ARRIVAL].tolist())
    assert len(requests) == len(frames)
    return [cycle_of(b) - cycle_of(a) for a, b in pairwise(requests)]


@pytest.mark.parametrize("policy", LINE)
def test_a_burst_is_decided_every_four_cycles(policy: str) -> None:
    """Frames of two beats: all but the first wait, and each is decided four cycles after the one before it."""
    gaps = gaps_of_a_burst((policy,) * QUEUES, [bytes(16)] * 24, 9)
    print(f"{policy}: {sum(gaps) / len(gaps):.2f} cycles from decision to decision, {max(gaps)} at most")
    assert set(gaps) == {4}


@pytest.mark.parametrize("policy", sorted(set(LINE) - {"fn"}))
def test_a_burst_of_two_latencies_keeps_up_with_the_line(policy: str) -> None:
    """FN beside a fast policy, any mixture: a decision every 4 cycles; a fast arrival out of step waits up to 3 more, for
    a slow commit that would be next to its own (arrival-decision.md)."""
    rng = Random(policy)
    found: list[int] = []
    for seed in range(4):
        # two beats each, to queue 0; so IP frames of five beats find ten waiting, and for a while they all wait
        frames = [bytes(16)] * 20 + [udp_frame(42, rng.randrange(QUEUES), 2)[:34] for _ in range(28)]
        gaps = gaps_of_a_burst(("fn", policy, policy, "fn"), frames, seed)
        assert max(gaps[30:]) <= 7
        found += gaps[:30]
    print(f"{policy} beside fn: {sum(found) / len(found):.2f} cycles from decision to decision, {max(found)} at most")
    assert set(found) == {4}


@pytest.mark.parametrize("seed", range(3))
def test_commits_two_cycles_apart_lose_no_cell_and_no_record(seed: int) -> None:
    """FN and others mixed on a line without gaps: arrivals refused two cycles apart, heads dropped and frames sent meanwhile."""
    rng = Random(seed)
    scene = Scene(seed, 0, line="raw", egress="ready")
    core = scene.core
    core.device.shape(rate=2e9)
    scene.configure(0, "fn", limit_bytes=64, qopt=10, t=10)
    scene.configure(1, "drop-tail", limit_bytes=64)
    scene.configure(2, "drop-tail", front=True, limit_bytes=300)
    scene.configure(3, "drop-tail", front=True, limit_packets=2)
    sent = 0
    for _ in range(40):
        frames = []
        for _ in range(rng.randrange(20, 60)):
            frames.append(udp_frame(42, rng.choice((0, 1, 2, 3)), 2)[:34] if rng.random() < 0.97
                          else udp_frame(rng.randrange(100, 280), rng.choice((2, 3)), 2))  # fmt: skip
        core.send_many(b"".join(frames), [len(f) for f in frames], [core.now_ns + 500] * len(frames))
        core.run_until(core.line_free_ns + rng.randrange(600))
        sent += len(frames)
    core.run_idle()
    records = core.trace()
    arrivals, departures = records[records["kind"] == trace.ARRIVAL], records[records["kind"] == trace.DEPARTURE]
    assert sorted(arrivals["seq"].tolist()) == list(range(int(arrivals["seq"].min()), int(arrivals["seq"].max()) + 1))
    kept = arrivals[arrivals["action"] != trace.DROP]["seq"].tolist()
    assert sorted(departures["seq"].tolist()) == sorted(kept), "each packet that was accepted leaves one record"
    refused = int((arrivals["action"] == trace.DROP).sum())
    heads = int((departures["cause"] == trace.FRONT).sum())
    print(f"{sent} frames, {refused} refused, {heads} heads dropped, {len(departures) - heads} sent")
    assert refused > sent // 8 and heads > 20 and len(departures) - heads > 100
    assert core.device.core_live().free_cells == core.device.capabilities.cells - 1


# ---- drop from front


@pytest.mark.parametrize("limit", [{"limit_bytes": 10_000}, {"limit_bytes": 40_000}, {"limit_packets": 20}])
@pytest.mark.parametrize("load", [1.5, 3.0])
def test_what_a_queue_that_drops_from_its_front_delivers_is_younger(limit: dict[str, int], load: float) -> None:
    """The same frames at the same times, from the tail and from the front; that each drop was needed is checked for
    each (policy_scene)."""
    sojourn, sent = {}, {}
    for front in (False, True):
        scene = Scene(11, 2e9)
        for queue in range(QUEUES):
            scene.configure(queue, "drop-tail", front=front, **limit)
        scene.at = 100_000
        scene.traffic(600, load, 2e9)
        report = scene.finish()
        assert bool(report.outcomes["drop-tail front"]) == front != bool(report.outcomes["drop-tail drop overflow"])
        delivered = [d for d in Check(scene).departures if d.action != trace.DROP]
        sojourn[front], sent[front] = sum(d.sojourn for d in delivered) / len(delivered), len(delivered)
    name, value = next(iter(limit.items()))
    print(f"{name} {value}, load {load}: tail {sojourn[False] / 1e3:.1f} us of {sent[False]} packets, "
          f"front {sojourn[True] / 1e3:.1f} us of {sent[True]}")  # fmt: skip
    assert sojourn[True] < (0.99 if load < 2 else 0.9) * sojourn[False]
    assert sent[True] > 0.8 * sent[False]

"""Jumbo frames in transit and MRED in the ns-3 coupling: every record, byte and time of the RTL against the golden model in C++."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest

import weir
from golden.transit import ECT, rebuilt, unit
from jumbo_frames import ipv4
from ns3_programs import run
from weir_sim.jumbo.packet import JumboFormat
from weir_sim.jumbo.wire import build
from weir_sim.trace import DROP, MARK, OVERFLOW, PARTIAL

FORM = JumboFormat(l3=True, tick=12)
RED = {"unit": "frames", "limit": 60, "min": 3, "max": 9, "probability": 0.2, "weight": 0.1, "avpkt": 1500}
BYTES = {"limit": 30_000, "min": 2_000, "max": 6_000, "probability": 0.5, "weight": 0.2, "avpkt": 500}
PACKETS = {"unit": "packets", "limit": 60, "min": 5, "max": 40, "probability": 0.5, "weight": 0.2, "avpkt": 100}
RISE = {"unit": "packets", "limit": 60, "min": 3, "max": 12, "probability": 0.1, "weight": 0.02, "avpkt": 500}
MRED = {"mred": "0.1:0.6"}
#: policy, rate, settings and traffic, what has to have happened when the link is busy
CASES: dict[str, tuple[str, float, dict[str, Any], set[str]]] = {
    "red": ("red", 1e7, RED | {"jumbo": 0.6}, {"early", "overflow"}),
    "red-ecn": ("red", 1.5e6, RED | {"ecn": "on", "jumbo": 0.8}, {"whole marked"}),
    "mred": ("red", 1.5e6, RED | MRED, {"selections", "cuts", "dead", "overflow"}),
    "mred-mix": ("red", 1e8, RED | MRED | {"jumbo": 0.6}, {"selections", "cuts", "early"}),
    "mred-ecn": ("red", 1e7, RED | MRED | {"ecn": "on", "jumbo": 0.8}, {"selections", "cuts", "marks"}),
    "mred-ect": ("red", 1.5e6, RED | MRED | {"ecn": "on", "ecn-of": 2}, {"selections", "marks"}),
    "mred-harddrop": ("red", 1e7, RED | MRED | {"ecn": "on", "harddrop": "on", "ecn-of": 1}, {"cuts", "marks"}),
    "mred-bytes": ("red", 1e8, BYTES | MRED | {"gentle": "on", "spread": "uniform-wait", "longest": 400}, {"cuts"}),
    "mred-short": ("red", 1e8, PACKETS | {"mred": "0.1:1", "longest": 60, "jumbo": 0.5, "most": 31}, {"cuts", "dead"}),
    "mred-entries": ("red", 1e8, RED | MRED | {"entries": "on", "longest": 120, "ecn": "on"}, {"cuts", "marks"}),
    "mred-dead": ("red", 1e8, RED | {"mred": "1:1", "probability": 1, "longest": 60, "most": 4}, {"dead"}),
    "mred-isred": ("isred", 1e7, RISE | MRED | {"slope": 300, "spread": "uniform-wait"}, {"cuts"}),
    "drop-tail": ("drop-tail", 1e8, {"unit": "packets", "limit": 20, "jumbo": 0.5}, {"overflow"}),
    "dt-ecn": ("dt-ecn", 1e7, {"unit": "frames", "limit": 60, "threshold": 6}, {"whole marked"}),
}


@dataclass(frozen=True)
class Record:
    """What the tests need of a trace record."""

    departs: bool
    number: int
    action: int
    cause: int
    packets: int
    average: float
    slots: int

    @classmethod
    def of(cls, line: str) -> Record:
        """From twelve words."""
        r = weir.decode_trace([int(x) for x in line.split()])
        action, cause = weir.trace_choices("action").index(r.action), weir.trace_choices("cause").index(r.cause)
        return cls(r.kind == "departure", r.number, action, cause, r.members, r.average, r.idle_slots)


def check(
    policy: str, rate: float, load: float, seed: int, settings: dict[str, Any], frames: int, core: str = "full"
) -> list[Record]:
    """A run of transit_check: RTL and golden model gave the same; its records."""
    words = [w for item in settings.items() for w in item]
    done = run("transit_check", policy, rate, frames, load, seed, *words, "core", core, "print", "on")
    *lines, first, rtl, golden = done.stdout.splitlines()
    print(f"{policy} {rate:g} bit/s, load {load}, seed {seed}, {core}: {first}")
    records = [Record.of(line) for line in lines]
    assert rtl == golden
    assert int(first.split()[0]) == frames
    assert int(first.split()[4]) == len(records) > frames
    return records


def events(records: list[Record]) -> Counter[str]:
    """What happened how often."""
    seen: Counter[str] = Counter()
    packets = {r.number: r.packets for r in records if not r.departs}
    gone: Counter[int] = Counter()
    for r in records:
        spared = not r.departs and r.cause == PARTIAL
        seen["selections"] += spared
        seen["cuts"] += r.departs and (r.action, r.cause) == (DROP, PARTIAL)
        seen["marks"] += r.departs and (r.action, r.cause) == (MARK, PARTIAL)
        seen["overflow"] += r.cause == OVERFLOW
        seen["early"] += not r.departs and r.action == DROP and r.cause in (1, 2)
        seen["idle"] += not r.departs and r.slots > 0
        seen["whole marked"] += not r.departs and r.action == MARK and r.packets > 0
        gone[r.number] += r.departs and (r.action, r.cause) == (DROP, PARTIAL)
    seen["dead"] = sum(n == packets[number] for number, n in gone.items() if n)
    return seen


@pytest.mark.parametrize("load", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("name", CASES)
def test_frames_in_transit_are_predicted(name: str, load: float) -> None:
    """12 words of every record, and of every frame that leaves its time, packets and bytes."""
    policy, rate, settings, wanted = CASES[name]
    core = "network-jumbo" if policy in ("red", "drop-tail") and load != 1 else "full"
    rng = random.Random(f"{name}{load}")
    seen: Counter[str] = Counter()
    for _ in range(2 if load == 3 else 1):
        seen += events(check(policy, rate, load, rng.randrange(1, 1 << 30), settings, 500, core))
    print(dict(seen))
    assert load < 3 or all(seen[what] > 0 for what in wanted), seen


def test_a_full_fifo_of_selections_is_predicted() -> None:
    """The longest tables back to back, all selected: each costs longer than it comes, so that RED's own decision holds for some."""
    settings = PACKETS | {"limit": 9000, "min": 3, "max": 2000, "probability": 1, "weight": 1, "mred": "1:1"}
    traffic = {"shortest": 34, "longest": 34, "least": 31, "most": 31, "pause": 2}
    seen = events(check("red", 1e8, 3000, 3, settings | traffic, 500))
    assert seen["early"] > 10 and seen["dead"] > 300 and seen["selections"] > 300


@pytest.mark.parametrize("load", [0.3, 1.0])
def test_idle_time_of_frames_in_transit_is_predicted_to_the_ns(load: float) -> None:
    """Slots of 1.28 ns, so that m tells one ns."""
    check("red", 1e8, load, 8, RED | MRED | {"avpkt": 16, "bandwidth": 1e11, "jumbo": 0.6}, 1000, "network-jumbo")


#: Most of what comes to an empty queue is refused, the next frames are close behind, and a slot of idle time is 1.28 ns.
REFUSED = {
    "unit": "packets",
    "limit": 8,
    "min": 1,
    "max": 3,
    "probability": 1,
    "weight": 0.2,
    "avpkt": 16,
    "bandwidth": 1e11,
}
BEHIND: dict[str, tuple[str, float, dict[str, Any]]] = {
    "short-behind-long": ("red", 0.1, REFUSED | {"jumbo": 0.5, "most": 31, "longest": 48}),
    "long": ("red", 1e5, REFUSED | {"jumbo": 0.9, "least": 20, "most": 31, "longest": 42}),
    "mred": ("red", 0.5, REFUSED | {"mred": "1:1", "jumbo": 0.6, "longest": 200}),
    "isred": ("isred", 1.0, REFUSED | {"slope": 300, "jumbo": 0.5, "least": 4, "most": 4, "longest": 300}),
    "drop-tail": ("drop-tail", 0.5, {"limit": 1000, "jumbo": 0.8, "longest": 300}),
}


@pytest.mark.parametrize("name", BEHIND)
def test_idle_time_behind_refused_frames_is_predicted_to_the_ns(name: str) -> None:
    """An average that is told of several frames before the first of them is asked for, in queues that are often empty."""
    policy, load, settings = BEHIND[name]
    seen: Counter[str] = Counter()
    for core in ("full",) if policy == "isred" else ("full", "network-jumbo"):
        for seed in (18, 20, 90):
            seen += events(check(policy, 1e8, load, seed, settings | {"pause": 2}, 400, core))
    print(dict(seen))
    assert seen["overflow"] > 100 and (policy == "drop-tail" or seen["idle"] > 100)


@dataclass
class Frame:
    """A jumbo frame that waits."""

    number: int
    left: int
    marked: int = 0
    pays: bool = True


def share(average: float, low: float, high: float, packets: int) -> int:
    """k of docs/modules/transit.md in floating point, thresholds of RED."""
    f = low + (high - low) * (average - RED["min"]) / (RED["max"] - RED["min"])
    return min(max(math.ceil(min(max(f, low), high) * packets - 1e-6), 1), packets)


@pytest.mark.parametrize("marks", [False, True], ids=["drops", "marks"])
@pytest.mark.parametrize("low,high", [(0.1, 0.6), (0.025, 0.5), (0.3, 0.3), (0.2, 1.0)])
def test_each_selection_takes_its_share(low: float, high: float, marks: bool) -> None:
    """Who pays and how much, from the averages in the records and the order of the frames alone."""
    settings = RED | {"mred": f"{low}:{high}"} | ({"ecn": "on", "ecn-of": 2} if marks else {})
    records = check("red", 1.5e6, 1.3, round(1000 * high) + marks, settings, 1000, "network-jumbo")
    waiting: list[Frame] = []
    planned: list[int] = []
    shares: Counter[int] = Counter()
    in_place: Counter[int] = Counter()
    for r in records:
        if not r.departs:
            if r.cause == PARTIAL:
                victim = next(f for f in waiting if f.pays and f.left > f.marked)
                k = share(r.average, low, high, victim.left - victim.marked)
                shares[k] += 1
                if marks:
                    victim.marked += k
                else:
                    victim.left -= k
                    planned += [victim.number] * k
            if r.action != DROP:
                waiting.append(Frame(r.number, r.packets, pays=r.action != MARK))
        elif r.action == DROP:
            assert r.cause == PARTIAL and r.number == planned.pop(0)
        else:
            assert not planned, "packets that should have been dropped"
            waiting = [f for f in waiting if f.left]
            in_place[r.number] += r.action == MARK and r.cause == PARTIAL
            waiting[0].left -= 1
            assert r.number == waiting[0].number
            if waiting[0].left == 0:
                assert in_place[r.number] == waiting[0].marked
    print(f"{sum(shares.values())} selections, k {dict(sorted(shares.items()))}")
    assert sum(shares.values()) > 30 and len(shares) > 1


def test_jumbo_frames_leave_with_the_bytes_of_the_wire_format() -> None:
    """The model in C++ against golden.transit, which is written from docs/jumbo.md: cut, marked in place, marked as a whole."""
    rng = random.Random(5)
    lines, expected = [], []
    for n in range(200):
        count = rng.randrange(1, 32)
        inner = [ipv4(rng.randrange(20, 300), 3, ecn=rng.randrange(4), number=i) for i in range(count)]
        dropped = {i for i in range(1, len(inner)) if rng.random() < 0.2}
        frame = build(inner, sorted(rng.randrange(1 << 24) for _ in inner), FORM, n, dropped)
        u = unit(frame)
        assert u and u.jumbo
        live = len(u.lengths)
        gone, front, whole = rng.choice(((rng.randrange(live), 0, 0), (0, rng.randrange(live + 1), 0), (0, 0, 1)))
        ce = {i for i in range(live) if u.ecns[i] in ECT and (whole or i < front)}
        lines.append(f"rebuild {gone} {front} {whole} {frame.hex()}")
        expected.append(rebuilt(frame, u.jumbo, bool(whole), ce, set(range(gone))).hex())
    assert run("jumbo_check", text="\n".join(lines) + "\n").stdout.splitlines() == expected


@pytest.mark.parametrize(
    "policy,settings,why",
    [
        ("red", RED | {"merge": "on"}, "merge and transit are both on"),
        ("red", RED | MRED | {"opaque": "on"}, "mred is on and transit is off"),
        ("drop-tail", MRED, "mred is on with policy 'drop-tail': allowed are red, isred and ared"),
        ("red", RED | {"mred": "0.7:0.6"}, "mred high 0.6 is out of range: allowed is 0.7 (low) to 1"),
        ("red", RED | {"mred": "-0.1:0.6"}, "mred low -0.1 is out of range: allowed is 0 to 1"),
        ("red", RED | {"most": 60, "longest": 60}, "entries: the golden model covers up to 31"),
        (
            "red",
            RED | {"least": 31, "most": 31, "shortest": 34, "longest": 42},
            "packets of fewer than 28 bytes behind others",
        ),
        ("red", RED | {"jumbo": 0.5, "type": "88b5"}, "in the L3 form and without VLAN tags"),
        ("red", RED | {"jumbo": 0.5, "type": "8100"}, "in the L3 form and without VLAN tags"),
        ("fn", {"limit_bytes": 60_000}, "covers drop-tail, dt-ecn, red and isred"),
    ],
)
def test_what_is_not_covered_is_refused(policy: str, settings: dict[str, Any], why: str) -> None:
    """One line that names the value and what is allowed."""
    words = [w for item in settings.items() for w in item]
    done = run("transit_check", policy, "1e7", 300, 1, 1, *words, code=1)
    assert why in done.stderr and done.stderr.count("\n") == 1 and not done.stdout

"""The golden model in C++: its policies are those of Python, and it predicts every trace record of the RTL."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import weir
from golden import dt_ecn, fn, isred
from golden.core import Setup
from golden.ewma import Ewma
from golden.fn import Fn
from golden.red import Red
from ns3_programs import run
from policy_models import fn_params, isred_params

RED = {"limit": 60_000, "min": 5_000, "max": 15_000, "probability": 0.1, "weight": 0.02, "avpkt": 500}
PACKETS = {"unit": "packets", "limit": 30, "min": 3, "max": 12, "probability": 0.1, "weight": 0.02, "avpkt": 500}
FN = {"limit_bytes": 60_000, "window": 64, "t": "2ms", "qopt": 9_000, "mean": 1064, "capacity": 1e8}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("drop-tail", {"unit": "packets", "limit": 20}),
    ("dt-ecn", {"unit": "packets", "limit": 30, "utilisation": 30}),
    ("dt-ecn", {"limit": 30_000, "threshold": 9_000}),
    ("red", RED),
    ("red", RED | {"ecn": True, "gentle": True, "spread": "uniform-wait", "bytemode": "after"}),
    ("red", RED | {"ecn": True, "nodrop": True, "spread": "geometric", "bytemode": "before"}),
    ("red", PACKETS | {"gentle": True, "spread": "uniform-wait", "harddrop": True, "ecn": True}),
    ("red", PACKETS | {"weight": 1}),
    ("isred", PACKETS | {"slope": 300, "spread": "uniform-wait"}),
    ("isred", PACKETS | {"slope": 1500, "mode": "chance", "source": "q", "spread": "uniform-wait"}),
    ("isred", RED | {"slope": 200_000, "mode": "gain", "gain": 3}),
    ("fn", FN),
    ("fn", FN | {"ecn": True, "bytemode": True, "window": 1}),
    ("fn", FN | {"quadratic": True, "spread": "geometric", "window": 200}),
]
NAMES = [f"{policy}-{n}" for n, (policy, _) in enumerate(CASES)]


class Reference:
    """The Python golden models behind one call."""

    def __init__(self, words: dict[str, int]) -> None:
        self.words, self.setup = words, Setup.of(words)
        self.ewma, self.red, self.rise, self.fn = Ewma(), Red(), isred.Rise(), Fn()
        self.fates: deque[tuple[int, bool, bool]] = deque()

    def request(self, ns: int, length: int, ecn: int, draw: int, idle: int, held: tuple[int, int]) -> tuple[int, ...]:
        setup, policy = self.setup, self.setup.policy
        quantity = held[0] if setup.unit == 0 else held[1]
        if policy == 0:
            return (0,) * 6
        if policy == 2:
            v: Any = dt_ecn.verdict(length, (*held, held[1]), setup.unit, ecn, self.words["DTECN_THRESHOLD"])
        elif policy == 4:
            v = self.fn.request(ns, held[0], length, ecn, draw, replace(fn_params(self.words), base=0))
        else:
            before = self.ewma.average
            self.ewma.left(ns - idle)
            step = self.ewma.request(ns, held[1], quantity, setup.red)
            average, slots = step.average, step.idle_slots
            rise = None
            params = isred_params(self.words)
            if policy == 3 and self.rise.arrival(ns, quantity, before, average, params):
                rise = params
            v = self.red.take(average, held[1], length, ecn, draw, setup.red, slots, rise)
        return v.action, v.cause, v.average, v.count, v.probability, v.idle_slots

    def commit(self, length: int, selected: bool, dropped: bool) -> None:
        if self.setup.policy == 4:
            self.fn.commit(length, selected, dropped)
        elif self.setup.policy in (1, 3):
            self.red.commit(length, selected, dropped)


def requests(rng: Random, count: int) -> list[tuple[int, int, int, int, int, int, int]]:
    """Arrivals that find a queue that wanders between empty and full."""
    ns, packets, found = 5_000, 0.0, []
    for _ in range(count):
        ns += rng.choice((6, 70, 900, 12_000, 80_000, 2_000_000))
        packets = min(40.0, max(0.0, packets + rng.uniform(-3, 3.05)))
        held, length = int(packets), rng.choice((54, 64, 500, 1064, 1500, 9216))
        idle = rng.choice((0, 5, 900, 4_000, 40_000, 5_000_000, 6_000_000_000)) if held == 0 else 0
        found.append((ns, length, rng.randrange(4), rng.getrandbits(24), idle, held * rng.randrange(60, 1200), held))
    return found


@pytest.mark.parametrize("lag", [0, 3])
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_policies_are_those_of_the_python_models(case: tuple[str, dict[str, Any]], lag: int) -> None:
    """The same requests, commits `lag` requests late: action, cause, average, count, p and m are equal."""
    words = weir.convert_queue(case[0], None, **case[1])
    arrivals = requests(Random(f"{case}{lag}"), 4000)
    text = "".join(f"word {n} {v}\n" for n, v in words.items()) + f"lag {lag}\ngo\n"
    text += "".join(" ".join(map(str, a)) + "\n" for a in arrivals)
    got = [tuple(map(int, line.split())) for line in run("policy_check", text=text).stdout.splitlines()]
    reference, fates = Reference(words), deque[tuple[int, bool, bool]]()
    outcomes = set()
    for n, a in enumerate(arrivals):
        while len(fates) > lag:
            reference.commit(*fates.popleft())
        expected = reference.request(*a[:5], (a[5], a[6]))
        assert got[n] == expected, f"request {n}: {a}"
        fates.append((a[1], expected[1] != 0, expected[0] == 2))
        outcomes.add(expected[:2])
    assert len(got) == len(arrivals)
    assert len(outcomes) > (case[0] != "drop-tail"), outcomes


@pytest.mark.parametrize("above", [0.02, 0.5])
def test_mark_p_turns_marks_into_drops(above: float) -> None:
    """All else stays as it is without: ns-2's `mark_p_` decides what is done with a packet that RED has selected."""
    words = weir.convert_queue("red", None, **(RED | {"ecn": True, "gentle": True}))
    arrivals = "".join(" ".join(map(str, a)) + "\n" for a in requests(Random(9), 4000))
    text = "".join(f"word {n} {v}\n" for n, v in words.items())
    plain, changed = (
        [[int(w) for w in line.split()] for line in run("policy_check", text=t + "go\n" + arrivals).stdout.splitlines()]
        for t in (text, text + f"word MARK_P {math.ceil(above * 2**32)}\n")
    )
    mark, drop = 1, 2
    turned = 0
    for before, after in zip(plain, changed, strict=True):
        turns = before[1] != 0 and before[4] >= math.ceil(above * 2**32) and before[0] != drop
        assert after == [drop if turns else before[0], *before[1:]]
        turned += turns and before[0] == mark
    assert 50 < turned < sum(v[0] == mark for v in plain)


@pytest.mark.parametrize(
    ("policy", "settings", "value", "why"),
    [
        ("red", RED | {"ecn": "on"}, "0.1", "mark_p is not 1: the golden model alone has it"),
        ("red", RED | {"ecn": "on"}, "0", "mark_p 0.000000 is out of range: allowed is above 0 and up to 1"),
        ("red", RED | {"ecn": "on"}, "2", "mark_p 2.000000 is out of range"),
        ("red", RED | {"ecn": "on"}, "nan", "mark_p nan is out of range"),
        ("red", RED, "0.1", "which is of policy red with ecn on, and without nodrop and mred"),
        (
            "red",
            RED | {"ecn": "on", "nodrop": "on"},
            "0.1",
            "which is of policy red with ecn on, and without nodrop and mred",
        ),
        ("drop-tail", {}, "0.1", "which is of policy red with ecn on, and without nodrop and mred"),
    ],
)
def test_mark_p_where_it_is_not_is_refused(policy: str, settings: dict[str, Any], value: str, why: str) -> None:
    """One line: with the RTL, out of range, where nothing is marked, and where it would mean something else."""
    words = [w for item in settings.items() for w in item]
    done = run("port_check", policy, "1e7", 10, 1, 1, "core", "network", "mark-p", value, *words, code=1)
    assert why in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(("load", "core"), [(0.2, "network"), (0.9, "full"), (0.9, "network"), (3.0, "network")])
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_every_record_of_the_rtl_is_predicted(case: tuple[str, dict[str, Any]], load: float, core: str) -> None:
    """Random frames, tiny ones back to back among them: time, q, average, count, p, draw, m, verdict, sojourn time."""
    settings = [str(w) for name, value in case[1].items() for w in (name, "on" if value is True else value)]
    rng = Random(f"{case}{load}")
    # the slopes of ISRED are those at which rises of the average begin to be rapid at 10 Mbit/s
    rate = "1e7" if case[0] == "isred" else rng.choice(("1e6", "1e7", "1e8"))
    done = run("port_check", case[0], rate, 2500, load, rng.randrange(1, 1 << 30), "core", core, *settings)
    first, rtl, golden = done.stdout.splitlines()
    print(f"{case[0]} {rate} bit/s, load {load}, {core}: {first}")
    assert rtl == golden
    assert int(first.split()[0]) == 2500 and int(first.split()[4]) >= 2500


@pytest.mark.parametrize(("overhead", "mpu"), [(24, 60), (24, 0), (-14, 60), (0, 84)])
def test_what_a_frame_takes_of_the_link_is_predicted(overhead: int, mpu: int) -> None:
    """Frames of 54 bytes and more: the RTL and the golden model leave each at the same ns."""
    words = ["overhead", overhead, "mpu", mpu, "limit", 20_000]
    done = run("port_check", "drop-tail", "1e8", 2000, 3, 7, "core", "network", *words)
    first, rtl, golden = done.stdout.splitlines()
    assert rtl == golden and int(first.split()[4]) >= 2000


@pytest.mark.parametrize("rate", ["9.7e7", "6.1e7", "3.3e7", "7.9e6"])
def test_a_grant_is_predicted_to_the_cycle_at_any_rate(rate: str) -> None:
    """A frame is charged at its departure. How that cycle's time is rounded to ns decides the cycle of the next grant,
    unless the price of a byte is a multiple of 16 ns, as at powers of ten."""
    words = ["limit", 20_000]
    first, rtl, golden = run(
        "port_check", "drop-tail", rate, 2000, 0.9, 7, "core", "network", *words
    ).stdout.splitlines()
    assert rtl == golden and int(first.split()[4]) >= 2000


FINE = {"avpkt": 16, "bandwidth": 1e11}
"""An idle slot of 1.28 ns: m tells a difference of one ns in idle time nearly always, which slots of packets tell once in 100 000 times."""


@pytest.mark.parametrize("limit", [70, 2_000, 60_000], ids=["refused", "short", "long"])
@pytest.mark.parametrize("load", [0.1, 0.7, 2.0])
@pytest.mark.parametrize("policy", ["red", "isred"])
def test_idle_time_is_predicted_to_the_ns(policy: str, load: float, limit: int) -> None:
    """From the cycle in which the queue is empty, by a departure or by the refusal of all that came, to the frame's header."""
    settings = RED | FINE | {"limit": limit, "min": 30, "max": 60 if limit == 70 else 1_500}
    settings |= {"slope": 200_000} if policy == "isred" else {}
    rate = 10.0 ** Random(f"{policy}{load}{limit}").choice((7, 8))
    words = [str(w) for name, value in settings.items() for w in (name, value)]
    first, rtl, golden = run(
        "port_check", policy, rate, 2000, load, limit + 1, "core", "network", *words
    ).stdout.splitlines()
    print(f"{policy}, {rate:g} bit/s, load {load}: {first}")
    assert rtl == golden and int(first.split()[4]) >= 2000


#: Bytes of frames back to back at 0; ns at which others, back to back too, come at first; how often, a cycle later each time; their bytes;
#: limit, bytes.
SWEEPS: dict[str, tuple[list[int], int, int, list[int], int]] = {
    "behind-long": ([60, 1500], 4_000, 620, [60], 60_000),
    "two-behind-short": ([60, 200], 4_000, 620, [60, 60], 60_000),
    "two-behind": ([60, 500], 4_000, 620, [300, 64], 60_000),
    "refused": ([60, 60], 4_500, 500, [500, 200, 60, 60], 130),
    "behind-refused": ([200, 200], 0, 300, [60, 200, 60], 130),
}


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("policy", ["drop-tail", "dt-ecn", "red", "isred", "fn"])
@pytest.mark.parametrize("merge", [False, True], ids=["", "merge"])
def test_a_request_in_any_cycle_around_that_in_which_the_queue_empties(policy: str, sweep: str, merge: bool) -> None:
    """Frames that meet the queue a cycle later each time, while what was there leaves or is refused. Of random frames one in
    100,000 is requested in the cycle before the queue is seen to be empty."""
    before, begin, count, meets, limit = SWEEPS[sweep]
    small = limit < 1_000
    settings: dict[str, Any] = {
        "drop-tail": {"limit": limit},
        "dt-ecn": {"limit": limit, "threshold": 60 if small else 9_000},
        "fn": FN | {"limit_bytes": limit, "qopt": 100 if small else 9_000},
    }.get(policy, RED | FINE | {"limit": limit, "min": 30, "max": 60 if small else 1_500})
    settings |= ({"slope": 200_000} if policy == "isred" else {}) | ({"merge": 1} if merge else {})
    lines = [
        (400_000 * k + at, size)
        for k in range(count)
        for at, sizes in ((0, before), (begin + round(6.4 * k), meets))
        for size in sizes
    ]
    words = [w for item in settings.items() for w in item]
    cores = {"dt-ecn": ("full",), "isred": ("full",), "fn": ("network",)}.get(policy, ("network", "network-jumbo"))
    text = "".join(f"{ns} {size} 0\n" for ns, size in lines)
    for core in ("full",) if merge else cores:
        first, rtl, golden = run(
            "port_check", policy, "1e8", "-", 1, 1, "core", core, *words, text=text
        ).stdout.splitlines()
        assert rtl == golden and int(first.split()[0]) == len(lines)


def test_the_first_draws_are_those_of_the_lfsr() -> None:
    """FN's module and the other golden models have the constants that the C++ ones repeat."""
    assert (fn.PERIOD, fn.ENTRIES, isred.APART_NS) == (128, 4096, 1 << 36)

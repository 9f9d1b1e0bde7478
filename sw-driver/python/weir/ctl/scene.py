"""The self-test's arrivals: known frames at known times, in three parts.

In the first nothing leaves: the shaper lets the first frame go and then holds the rest, so that every decision follows from the
arrivals alone: q, the average, the draws of the seeded LFSR. Its hash is that of the golden models, which a test computes from the
arrivals (sw-driver/tests/test_selftest.py). In the others the line is too slow for the traffic, so that averages, rates, delays and
ticks count; a test has every decision of them derived again by the golden models (sim/tests/test_selftest_scene.py).
None of the hashes is only a record of what hardware has done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

SEED = 0x5EED0F3E17
ARRIVALS = 600
GAP_NS = 2000
"""Between two frames: more than the longest takes on the line and the decision after it."""

#: What each queue runs; DSCP 8·n goes to queue n.
QUEUES: tuple[tuple[str, dict[str, str]], ...] = (
    ("red", {"limit": "80000b", "min": "2000b", "max": "40000b", "probability": "0.3", "weight": "0.02", "ecn": "on",
             "exempt_first": "off"}),
    ("red", {"limit": "90000b", "min": "1000b", "max": "16000b", "probability": "0.2", "weight": "0.03", "gentle": "on",
             "spread": "uniform-wait"}),
    ("dt-ecn", {"limit": "50000b", "threshold": "20000b"}),
    ("drop-tail", {"limit": "30000b"}),
)  # fmt: skip
EXPECTED = "93022da5da1acd54644b007ca6fc387070b6cbb4d1625473cecdfaa2ca7612e5"


class Part(NamedTuple):
    """Queues on a line that is too slow, and the hash of what becomes of the frames."""

    queues: tuple[tuple[str, dict[str, str]], ...]
    expected: str


_BAND = {
    "limit": "60000b",
    "min": "2000b",
    "max": "24000b",
    "probability": "0.2",
    "weight": "0.05",
    "bandwidth": "6mbit",
    "exempt_first": "off",
}
_LIMIT = {"limit": "60000b"}
RATE = "24mbit"
"""of the line of the other parts"""
SLOW_GAP_NS = 200_000
"""between two frames of the other parts: 32 Mbit/s in the mean"""
START_NS = 2_000_000
"""when the queues of the other parts take over their words again, one after the other, so that ticks have a known beginning"""
PARTS = (
    Part((
        ("isred", _BAND | {"slope": "100000", "mode": "gain", "gain": "3", "ecn": "on"}),
        ("fn", _LIMIT | {"window": "32", "t": "10ms", "qopt": "6000b", "capacity": "6mbit", "ecn": "on"}),
        ("ared", _BAND | {"min": "500b", "max": "8000b", "interval": "2ms", "ecn": "on", "gentle": "on"}),
        ("pie", _LIMIT | {"target": "3ms", "tupdate": "1ms", "alpha": "1", "beta": "10", "burst": "5ms", "ecn": "on"}),
    ), "916489b69bc5f9013ce4e8eed0ea721fb1b9c0a863d41c25df959ae7f9529a82"),
    Part((
        ("codel", _LIMIT | {"target": "2ms", "interval": "8ms", "ecn": "on"}),
        ("pi2", _LIMIT | {"target": "3ms", "tupdate": "1ms", "alpha": "10", "beta": "40", "ecn": "on"}),
        ("fn", _LIMIT | {"window": "64", "t": "5ms", "qopt": "6000b", "capacity": "6mbit", "quadratic": "on", "spread": "geometric"}),
        ("drop-tail", {"limit": "15000b", "front": "on"}),
    ), "990a65fbaa0933e631bd50dc448790c057297e4570a93fdb58e8982e79db9938"),
)  # fmt: skip


class Arrival(NamedTuple):
    """A frame of the scene."""

    queue: int
    length: int
    ecn: int


def arrivals() -> Iterator[Arrival]:
    """The frames, from a linear congruential generator (Numerical Recipes)."""
    state = SEED & 0xFFFFFFFF
    for _ in range(ARRIVALS):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        yield Arrival(state >> 30, 64 + (state >> 16 & 0x3FFF) % 1451, (0, 1, 2, 3)[state >> 14 & 3])


def digest(verdicts: Iterable[tuple[int, str, str]]) -> str:
    """SHA-256 of (queue, action, cause) of each arrival, in order."""
    text = "".join(f"{queue} {action} {cause}\n" for queue, action, cause in verdicts)
    return hashlib.sha256(text.encode()).hexdigest()

"""The self-test's arrivals: known frames at known times, to queues that nothing leaves.

The shaper lets the first frame go and then holds the rest, so that every decision follows from the arrivals alone: q, the
average, the draws of the seeded LFSR. The verdicts' hash below is that of the golden models, which a test computes
(sw-driver/tests/test_selftest.py); it is not a record of what hardware has done.
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
    ("red", {"limit": "80000b", "min": "2000b", "max": "40000b", "probability": "0.3", "weight": "0.02", "ecn": "on"}),
    ("red", {"limit": "90000b", "min": "1000b", "max": "16000b", "probability": "0.2", "weight": "0.03", "gentle": "on",
             "spread": "uniform-wait"}),
    ("dt-ecn", {"limit": "50000b", "threshold": "20000b"}),
    ("drop-tail", {"limit": "30000b"}),
)  # fmt: skip
EXPECTED = "93022da5da1acd54644b007ca6fc387070b6cbb4d1625473cecdfaa2ca7612e5"


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

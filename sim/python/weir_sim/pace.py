"""Simulated time: that of a capture's packets, and one that follows the clock."""

from __future__ import annotations

import time
from collections.abc import Callable

from .pcap import CaptureError

CLOCK_NS = 1 << 48
"""the core's clock begins anew then"""
LATE_NS = 1_000_000
"""a packet that waits longer than this for the 10 Gbit/s line is worth a note"""


def model_time(source: str, after_ns: int, speedup: float, start_ns: int = 0) -> int:
    """When a packet reaches the core, in ns, that was captured `after_ns` after the first, which comes at `start_ns`.

    Raises:
        CaptureError: the core's clock does not go so far.
    """
    passed = after_ns / speedup
    if start_ns + passed >= CLOCK_NS:
        raise CaptureError(
            f"{source}: a packet comes {passed / 3.6e12:,.0f} h after the first: the core's clock has 48 bits of ns, "
            f"78 h; give --speedup, or a part of the capture"
        )
    return start_ns + round(passed)


def line_ns(length: int) -> float:
    """How long a frame of so many bytes without FCS takes the 10 Gbit/s line: 24 more, and 84 at least."""
    return 0.8 * (max(length, 60) + 24)


class Pace:
    """Simulated time is to run `slow` times slower than real time.

    A model that is behind by more than `most_s` of real time is let off: what it is behind is added to `lost_s`, and time
    goes on from what it has reached. `worst_s` is the most that it ever was behind.
    """

    def __init__(self, slow: float, now_ns: int, most_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._slow, self._most_s, self._clock = slow, most_s, clock
        self._begun = clock()
        self._real, self._simulated = self._begun, now_ns
        self.lost_s = 0.0
        self.worst_s = 0.0

    @property
    def elapsed_s(self) -> float:
        """Real time since the beginning."""
        return self._clock() - self._begun

    def due(self) -> int:
        """How far simulated time should be, in ns."""
        return self._simulated + int((self._clock() - self._real) * 1e9 / self._slow)

    def real_s(self, simulated_ns: int) -> float:
        """The real time that so much of simulated time takes."""
        return simulated_ns * self._slow / 1e9

    def reached(self, now_ns: int) -> None:
        """Takes note of how far the model has come."""
        behind = self.real_s(self.due() - now_ns)
        self.worst_s = max(self.worst_s, behind)
        if behind > self._most_s:
            self.lost_s += behind
            self._real, self._simulated = self._clock(), now_ns

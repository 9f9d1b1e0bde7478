"""Simulated time that follows the clock, and what it loses when the model cannot keep up."""

from __future__ import annotations

import time
from collections.abc import Callable


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

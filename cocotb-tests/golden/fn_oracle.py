"""An independent oracle of FN in double precision, as the paper writes it: rates by division, P by division.

Sources: Kadhum and Hassan (APCC 2009) equation 3; docs/modules/fn.md for the quadratic form, byte and uniform mode. It shares
no arithmetic with `fn.py`: it keeps the window as a list, and time as an unbounded number of ns.

`Ruling.tied` says that u is closer to p_a than the error bound of docs/modules/fn.md.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from .fn import PERIOD, FnParams

UNIT = 2.0**-17


@dataclass(frozen=True)
class Ruling:
    """The oracle's answer; `projected` is the queue in T without any action, less Qopt, in bytes."""

    selected: bool
    tied: bool
    p: float
    p_a: float
    bound: float
    rate: float
    projected: float


class OracleFn:
    """One queue, one arrival at a time: `judge`, then `settle` before the next."""

    def __init__(self, params: FnParams) -> None:
        self.t = float(params.time_constant)
        self.half_t2 = float(params.half_t2)
        self.room = float(params.room_bytes)
        self.size_reciprocal = float(params.size_reciprocal)
        self.entries = params.entries
        self.quadratic, self.uniform, self.byte_mode = params.quadratic, params.uniform, params.byte_mode
        self.window: deque[tuple[int, int]] = deque(maxlen=self.entries)
        self.total_bytes = self.total_time = 0
        self.last: int | None = None
        self.count = 0
        self.arrived = 0
        self.measured = 0
        self.measured_at = 0
        self.measured_rate: float | None = None
        #: accelerations by the number of the packet that they were measured at: a, and the bound of its error
        self.accelerations: dict[int, tuple[float, float]] = {}
        self.acceleration = (0.0, 0.0)

    def _enter(self, now: int, length: int) -> None:
        gap = min(now - self.last, (1 << 32) - 1) if self.last is not None else 0
        self.last = now
        if len(self.window) == self.entries:
            old = self.window[0]
            self.total_time -= old[0]
            self.total_bytes -= old[1]
        self.window.append((gap, length))
        self.total_time += gap
        self.total_bytes += length

    def _accelerate(self, rate: float, now: int) -> None:
        """a = (R_i - R_{i-1})/(t_i - t_{i-1}), used PERIOD packets after it was measured."""
        self.arrived += 1
        self.acceleration = self.accelerations.pop(self.arrived - PERIOD, self.acceleration)
        if self.arrived - self.measured < max(self.entries, PERIOD):
            return
        span = now - self.measured_at
        a, error = 0.0, 0.0
        if self.measured_rate is not None and math.isfinite(rate) and span > 0:
            a = (rate - self.measured_rate) / span
            error = 8 * UNIT * (rate + self.measured_rate) / span
        self.accelerations[self.arrived] = (a, error)
        self.measured, self.measured_at = self.arrived, now
        self.measured_rate = rate if math.isfinite(rate) else None

    def judge(self, now: int, held: int, length: int, u: float) -> Ruling:
        """FN's decision for an arrival at `now` (ns, unbounded) that found `held` bytes."""
        if self.last is None:
            self.last = self.measured_at = now
            self.count = 0
            return Ruling(False, False, 0.0, 0.0, 0.0, 0.0, 0.0)
        self._enter(now, length)
        rate = self.total_bytes / self.total_time if self.total_time else math.inf
        self._accelerate(rate, now)
        a, error_a = self.acceleration if self.quadratic else (0.0, 0.0)
        arriving = rate * self.t + a * self.half_t2
        projected = held + arriving - self.room
        lead = abs(a) * self.half_t2
        error = 2 * UNIT * (lead if math.isinf(arriving) else rate * self.t + lead) + error_a * self.half_t2
        if math.isinf(arriving):
            p, error_p, tied = 1.0, 2 * UNIT, False
        elif arriving <= error:
            # A <= 0 is P = 0; closer to 0 than the error it may be anything
            p, error_p, tied = 0.0, 0.0, self.quadratic and arriving > -error
        else:
            p = (arriving - (self.room - held)) / arriving
            relative = error / arriving
            error_p, tied = max(1 - p, 0.0) * (2 * UNIT + 1.2 * relative) + UNIT, relative > 0.1
        if held >= self.room and arriving > 0:
            p, error_p = 1.0, 0.0
        ruling = self._spread(min(p, 1.0), error_p, length, u)
        tied = tied or ruling.tied
        return Ruling(ruling.selected, tied, p, ruling.p_a, ruling.bound, rate, projected)

    def _spread(self, p: float, error_p: float, length: int, u: float) -> Ruling:
        used = self.count
        edge = p != 1.0 and abs(p) <= error_p
        if p <= 0:
            self.count = 0
            return Ruling(False, edge, p, 0.0, error_p, 0.0, 0.0)
        self.count += 1
        size = min(1.0, length * self.size_reciprocal) if self.byte_mode else 1.0
        p_b = p * size
        spacing = used if self.uniform else 0
        weight = size * (1 + u * spacing)
        total = error_p * weight + p * 2.0**-20 * (2 + u * spacing) + 2.0**-40
        left = 1 - spacing * p_b
        p_a = p_b / left if left > 0 else 1.0
        tied = abs(u * left - p_b) <= total
        bound = total / left if left > 0 else total
        return Ruling(u < p_a, tied or edge, p, min(p_a, 1.0), bound, 0.0, 0.0)

    def settle(self, selected: bool, dropped: bool) -> None:
        """The fate of the arrival: an action or any drop starts the count again."""
        if selected or dropped:
            self.count = 0

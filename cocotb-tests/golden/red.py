"""RED's decision, bit for bit (docs/modules/red.md). One `Red` is one queue."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from .isred import CERTAIN, WITHOUT_WAIT, IsredParams
from .params import BYTES_AFTER, BYTES_OFF, GEOMETRIC, UNIFORM, UNIFORM_WAIT, RedParams

ACCEPT, MARK, DROP = 0, 1, 2
NONE, EARLY, FORCED = 0, 1, 2
NOT_ECT, ECT1, ECT0, CE = 0, 1, 2, 3
OUTSIDE, BAND, ABOVE = 0, 1, 2

ONE = 1 << 32
COUNT_MAX = (1 << 16) - 1
COUNT_BYTES_MAX = (1 << 24) - 1


def saturate(value: int, bits: int) -> int:
    """All ones if `value` does not fit `bits`."""
    return min(value, (1 << bits) - 1)


@dataclass(frozen=True)
class Verdict:
    """The policy's answer with its evidence. `region` and `used_bytes` are for tests only."""

    action: int
    cause: int
    average: int
    count: int
    probability: int
    idle_slots: int = 0
    region: int = OUTSIDE
    used_bytes: int = 0
    exempt: bool = False

    @property
    def selected(self) -> bool:
        """The packet was selected, by chance or by force."""
        return self.cause != NONE


def region(average: int, params: RedParams) -> int:
    """Where the average (UQ21.22) lies."""
    if average < params.minimum << 11:
        return OUTSIDE
    top = params.maximum << (12 if params.gentle else 11)
    return ABOVE if average >= top else BAND


def probability(average: int, params: RedParams) -> int:
    """p_b inside the band, UQ1.32."""
    if average < params.maximum << 11:
        x1 = average - (params.minimum << 11) >> 7
        return min(ONE, params.slope_mantissa * x1 >> params.slope_exponent)
    x2 = average - (params.maximum << 11) >> 7
    return min(ONE, (params.gentle_mantissa * x2 >> params.gentle_exponent) + params.max_p)


def size(length: int, params: RedParams) -> int:
    """κ: what a packet of `length` bytes counts, UQ14.20."""
    if params.byte_mode == BYTES_OFF:
        return 1 << 20
    return saturate(length * params.mean_mantissa >> params.mean_exponent, 34)


def chosen(p: int, count: int, count_bytes: int, length: int, draw: int, params: RedParams) -> bool:
    """The band's test: is this packet selected by chance?"""
    kappa = size(length, params)
    if params.byte_mode == BYTES_AFTER:
        h = saturate(count_bytes * params.mean_mantissa >> params.mean_exponent, 36)
    elif params.byte_mode != BYTES_OFF:
        h = (1 << 36) - 1 if count * (kappa >> 18) >= 3 << 16 else count * kappa
    else:
        h = count << 20
    g = kappa if params.spread == GEOMETRIC else saturate(kappa + (draw * h >> 24), 36)
    waits = params.spread >= UNIFORM_WAIT
    omega = 2 if waits else 1
    if waits and p * h < 1 << 52:
        return False
    return draw * omega << 28 < p * g


def dropped_early(
    p: int, count: int, count_bytes: int, length: int, draw: int, params: RedParams, rise: IsredParams
) -> bool:
    """ISRED's edrop(): is this packet of a rapid rise selected?"""
    if rise.mode == CERTAIN:
        return True
    if rise.mode == WITHOUT_WAIT:
        spread = UNIFORM if params.spread >= UNIFORM_WAIT else params.spread
        return chosen(p, count, count_bytes, length, draw, replace(params, spread=spread))
    g = saturate(size(length, params) * rise.gain_mantissa >> rise.gain_exponent, 36)
    return draw << 28 < p * g


def answer(cause: int, ecn: int, params: RedParams) -> int:
    """The action for a packet selected for `cause` (the page's table)."""
    if cause == NONE:
        return ACCEPT
    marking = params.ecn and not (cause == FORCED and params.hard_drop)
    if marking and ecn in (ECT0, ECT1):
        return MARK
    if marking and ecn == CE:
        return ACCEPT
    if params.no_drop and params.ecn and not (cause == FORCED and params.hard_drop):
        return ACCEPT
    return DROP


class Red:
    """Counters of one queue. `take` at t4 of a request, `commit` when its fate is known."""

    def __init__(self) -> None:
        self.fresh = True
        self.count = 0
        self.count_bytes = 0
        self._taken: deque[int] = deque()

    def clear(self) -> None:
        """The average was cleared: start again. What was taken before stays to be committed."""
        self.fresh = True
        self.count = 0
        self.count_bytes = 0

    def take(
        self,
        average: int,
        packets: int,
        length: int,
        ecn: int,
        draw: int,
        params: RedParams,
        idle_slots: int = 0,
        rise: IsredParams | None = None,
    ) -> Verdict:
        """Decide about an arrival of `length` bytes that found `packets` packets; `rise` if ISRED found it rapid."""
        where = region(average, params)
        self._taken.append(length)
        if where == OUTSIDE:
            self.fresh = True
            return Verdict(ACCEPT, NONE, average, 0, 0, idle_slots)
        first = where == BAND and self.fresh
        if first:
            self.count = int(params.exempt_first)
            self.count_bytes = length if params.exempt_first else 0
            self.fresh = False
        else:
            self.count = min(self.count + 1, COUNT_MAX)
            self.count_bytes = min(self.count_bytes + length, COUNT_BYTES_MAX)
        exempt = first and params.exempt_first
        if where == ABOVE:
            p, hit, cause = ONE, True, FORCED
        else:
            p = probability(average, params)
            cause = EARLY
            if rise is not None and average < params.maximum << 11:
                hit = dropped_early(p, self.count, self.count_bytes, length, draw, params, rise)
                p = ONE if rise.mode == CERTAIN else p
            else:
                hit = chosen(p, self.count, self.count_bytes, length, draw, params) and not exempt
        if not hit or packets < 2:
            cause = NONE
        return Verdict(
            answer(cause, ecn, params), cause, average, self.count, p, idle_slots, where, self.count_bytes, exempt
        )

    def commit(self, length: int, selected: bool, dropped: bool) -> None:
        """What really happened to the oldest request without a commit."""
        oldest = self._taken.popleft()
        if oldest != length:
            raise ValueError(f"commit of {length} bytes, but the oldest request has {oldest}")
        if selected or dropped:
            self.count = min(len(self._taken), COUNT_MAX)
            self.count_bytes = min(sum(self._taken), COUNT_BYTES_MAX)

"""Independent oracles in double precision: ISRED as its paper writes it, adaptive RED as ns-2 and Floyd 2001 do.

Sources: Chhabra, Kshirsagar & Zadgaonkar 2013, figure 1 (rate = (avg − pavg)/(ctime − ptime), with its division);
Floyd, Gummadi & Shenker 2001, figure 2 (AIMD of max_p), the range kept as a clamp. They share no arithmetic with `isred.py`
and `ared.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from .ared import AredParams
from .isred import CERTAIN, QUEUE, WITHOUT_WAIT, IsredParams
from .oracle import FLOAT, Natural, OracleRed, Ruling
from .params import GEOMETRIC, UNIFORM, UNIFORM_WAIT


@dataclass(frozen=True)
class RateRuling:
    """Whether the rise is rapid, and whether it is too close to call."""

    rapid: bool
    tied: bool


class OracleIsred:
    """Figure 1 of the paper for one queue; time in seconds since the start, never wrapped."""

    def __init__(self) -> None:
        self.pavg = 0.0
        self.pq = 0.0
        self.ptime: float | None = None

    def arrival(self, ctime: float, q: float, avg: float, params: IsredParams) -> RateRuling:
        """rate > slope?"""
        source, before = (q, self.pq) if params.source == QUEUE else (avg, self.pavg)
        slope = float(params.slope) * 1e9
        ruling = RateRuling(False, False)
        if self.ptime is not None:
            elapsed = ctime - self.ptime
            if elapsed >= 2.0**36 * 1e-9:
                ruling = RateRuling(False, abs(elapsed - 2.0**36 * 1e-9) < 1e-8)
            elif elapsed == 0.0:
                ruling = RateRuling(source > before, False)
            else:
                rate = (source - before) / elapsed
                error = (abs(source) + abs(before)) * 2.0**-50 / elapsed + 1e-6 * abs(rate)
                ruling = RateRuling(rate > slope, abs(rate - slope) <= error)
        self.pavg, self.pq, self.ptime = avg, q, ctime
        return ruling


def edrop(
    red: OracleRed, params: IsredParams, average: float, packets: int, length: int, u: float, natural: Natural
) -> Ruling:
    """RED's decision with the test of the mode in place of RED's; only for a rapid rise between min and max."""
    from dataclasses import replace

    spread = {UNIFORM_WAIT: UNIFORM}.get(natural.spread, natural.spread)
    if params.mode > WITHOUT_WAIT:
        spread = GEOMETRIC
    # the first packet of the band is not exempt here, but counted as RED counts it
    first = not red.in_band
    ruling = red.judge(average, packets, length, u, replace(natural, spread=spread))
    if packets < 2:
        return Ruling(False, 0.0, ruling.p_b, 0.0, False)
    if params.mode == CERTAIN:
        return Ruling(True, 1.0, 1.0, 0.0, False)
    if first and natural.exempt_first:
        return _again(red, average, packets, length, u, replace(natural, spread=spread), params, ruling)
    return _gained(ruling, natural, params, length, u)


def _again(
    red: OracleRed,
    average: float,
    packets: int,
    length: int,
    u: float,
    natural: Natural,
    params: IsredParams,
    was: Ruling,
) -> Ruling:
    """The same packet without the exemption: the count it has is the one it enters the band with."""
    red.count -= 1
    red.count_bytes -= length
    ruling = red.judge(average, packets, length, u, natural)
    return _gained(ruling, natural, params, length, u)


def _gained(ruling: Ruling, natural: Natural, params: IsredParams, length: int, u: float) -> Ruling:
    if params.mode <= WITHOUT_WAIT:
        return ruling
    size = 1.0 if natural.byte_mode == 0 else length * natural.mean_reciprocal
    gain = min(float(params.gain) * size, 2.0**16)
    p = ruling.p_b * gain
    # ε_p of the page times gain, and g truncated at 2^-20
    error = (natural.slope * 2.0**-15 + 2.0**-32) * gain + ruling.p_b * (2.0**-20 * float(params.gain) + 2.0**-20)
    error += FLOAT * p
    return Ruling(u < p, min(p, 1.0), ruling.p_b, error, abs(u - p) <= error)


class OracleAred:
    """max_p by additive increase and multiplicative decrease, kept in [bottom, top]."""

    def __init__(self, max_p: float) -> None:
        self.max_p = max_p

    def interval(self, avg: float, params: AredParams) -> tuple[float, float]:
        """One interval; returns max_p and an upper bound of what truncation takes from it."""
        low, high = params.low / 2048, params.high / 2048
        bottom, top = params.bottom / 2**32, params.top / 2**32
        if avg > high:
            if self.max_p < top:
                self.max_p = min(self.max_p + min(params.increase / 2**32, self.max_p / 4), top)
        elif avg < low and self.max_p > bottom:
            self.max_p = max(self.max_p * (params.decrease / 2**32), bottom)
        return self.max_p, 2.0**-32

"""PIE in double precision, as RFC 8033 writes it in Appendix A, with the cap of Appendix B and the 250 ms rule.

It shares no arithmetic with `pie.py`: seconds, probabilities and gains in 1/s.
"""

from __future__ import annotations

from dataclasses import dataclass

from .pie import PieParams


@dataclass(frozen=True)
class Natural:
    """PIE in natural units: seconds, 1/s, bytes."""

    interval: float
    target: float
    alpha: float
    beta: float
    burst: float
    ecn_max: float
    bypass: int
    ecn: bool

    @classmethod
    def of(cls, raw: PieParams) -> Natural:
        """What the registers stand for."""
        return cls(
            max(raw.interval, 4096) / 1e9,
            raw.target / 1e9,
            float(raw.alpha.per_ns) * 1e9,
            float(raw.beta.per_ns) * 1e9,
            raw.burst / 1e9,
            raw.ecn_max / 2**32,
            raw.bypass,
            raw.ecn,
        )


class OraclePie:
    """Appendix A's variables."""

    def __init__(self, natural: Natural) -> None:
        self.n = natural
        self.drop_prob = 0.0
        self.qdelay_old = 0.0
        self.burst_allowance = natural.burst

    def calculate_drop_prob(self, current_qdelay: float) -> None:
        """Every T_UPDATE."""
        n = self.n
        p = n.alpha * (current_qdelay - n.target) + n.beta * (current_qdelay - self.qdelay_old)
        if self.drop_prob < 0.000001:
            p /= 2048
        elif self.drop_prob < 0.00001:
            p /= 512
        elif self.drop_prob < 0.0001:
            p /= 128
        elif self.drop_prob < 0.001:
            p /= 32
        elif self.drop_prob < 0.01:
            p /= 8
        elif self.drop_prob < 0.1:
            p /= 2
        elif p > 0.02:
            p = 0.02
        if current_qdelay > 0.25:
            p += 0.02
        self.drop_prob = min(max(self.drop_prob + p, 0.0), 1.0)
        if current_qdelay == 0.0 and self.qdelay_old == 0.0:
            self.drop_prob *= 1 - 1 / 64
        calm = current_qdelay < n.target / 2 and self.qdelay_old < n.target / 2
        # a p that fixed point cannot tell from 0 is 0
        if self.drop_prob < 2.0**-49 and calm:
            self.burst_allowance = n.burst
        else:
            self.burst_allowance = max(0.0, self.burst_allowance - n.interval)
        self.qdelay_old = current_qdelay

    def probability(self, queued: int) -> float:
        """With which an arrival that found `queued` bytes is selected."""
        n = self.n
        if self.burst_allowance > 0.0 or queued <= n.bypass:
            return 0.0
        if self.qdelay_old < n.target / 2 and self.drop_prob < 0.2:
            return 0.0
        return self.drop_prob

    def marks(self) -> bool:
        """ECT packets are marked, not dropped."""
        return self.n.ecn and self.drop_prob <= self.n.ecn_max

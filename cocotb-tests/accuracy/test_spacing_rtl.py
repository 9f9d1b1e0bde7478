"""The spacing of marks that leave the RTL while a policy's state is held: chi-square at 99.9 % against the exact law.

Adaptive RED, ISRED's mode 2, PIE, PI2 and the coupled L queue, at three probabilities each. A core in the cycle model gets
as many frames as its link takes, so that its queue stays as long as it is; then the average (a weight of 2^-36) or the
controller's p (gains of 0) is held where it is. The law follows from that state, as the trace tells it, by the paper or
the RFC alone. The marks are the CE codepoints of the frames that leave.

The same spacings have to be rejected for a p that is 10 % lower or higher, and for other ways of spreading marks: for PIE also
the de-randomisation of RFC 8033, 5.4, which it does not do. A p off by 10 % is missed with a probability below 10^-3.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from math import ceil

import numpy as np
import numpy.typing as npt
import pytest

from golden.pi import Gain
from spacing import LAWS, MEAN, Ints, chance_to_miss, rejected
from weir_sim import Core, native, trace
from weir_sim.frames import ECT0, ECT1, udp_frame

MARKS = 7000
"""spacings of a sequence, at least"""
POINTS = (0.07, 0.11, 0.16)
"""p; at larger ones a law has too few spacings"""
LENGTH = 60
BACKLOG = 2000
"""frames"""
FULL = (1 << 32) - 1
CHUNK = 20_000
"""frames that are sent at a time"""
MEASURED = 0xA5
"""last byte of the frames whose marks count"""

MIN, MAX = 20_000, 220_000
"""thresholds of the average, bytes"""
UNIFORM, UNIFORM_WAIT = 1, 2
"""RED_FLAGS.SPREAD"""


def scaled(value: float) -> int:
    """A register of 18 bits of mantissa and 6 of exponent, rounded."""
    exponent = 0
    while exponent < 63 and value * 2 ** (exponent + 1) < 1 << 18:
        exponent += 1
    return int(value * 2**exponent) | exponent << 24


class Bench:
    """A core whose link takes as many frames as arrive."""

    def __init__(self) -> None:
        self.core = Core("full", egress="stopped")
        self.core.device.seed(20)
        self.core.device.dscp_map({1: 1})
        blocks = json.loads((native.root() / "build" / "rtl" / "weir_regs.json").read_text())["blocks"]
        queues = next(block for block in blocks if block["stride"])
        self._stride = queues["stride"]
        self._measured = 0
        self._address = {r["name"]: queues["base"] + r["offset"] for r in queues["registers"]}

    def write(self, queue: int = 0, **words: int) -> None:
        """Registers of a queue, and their apply."""
        for name, value in (words | {"APPLY": 1}).items():
            self.core.csr_write(self._address[name] + queue * self._stride, value)
        self.core.run_cycles(200)

    def send(self, count: int, queue: int = 0, last: int = 0) -> None:
        """Frames back to back at the line's rate; ECT(1) to queue 1. They are in the core when this returns."""
        one = np.frombuffer(udp_frame(LENGTH, queue, ECT1 if queue else ECT0), np.uint8).copy()
        one[-1] = last
        self.core.send_many(np.tile(one, count), [LENGTH] * count, [self.core.now_ns] * count)
        self.core.run_until(self.core.line_free_ns)

    def traced(self, kind: int) -> npt.NDArray[np.void]:
        """Records of a kind since the last call."""
        records = self.core.trace()
        return records[records["kind"] == kind]

    def measure(self, marks: int, spacing: float, queue: int = 0) -> None:
        """Sends what has `marks` marks at a mean spacing, a tenth more: those that count."""
        self.core.egress = "mac"
        self._measured = ceil(marks * 1.1 * spacing)
        for at in range(0, self._measured, CHUNK):
            self.send(min(CHUNK, self._measured - at), queue, MEASURED)

    def spacings(self) -> Ints:
        """Of the marks among the frames that count. All of them leave: a drop would go unseen."""
        self.core.run_until(self.core.now_ns + 2 * BACKLOG * 100)
        frames = self.core.recv_many()
        assert (frames.lengths == LENGTH).all()
        data = frames.data.reshape(-1, LENGTH)
        data = data[data[:, -1] == MEASURED]
        assert len(data) == self._measured
        return np.diff(np.flatnonzero(data[:, 15] & 3 == 3))


def red_family(words: dict[str, int], probability: Callable[[float], float], times: float) -> tuple[Ints, float]:
    """Spacings at an average that is held, and `probability` of that average in bytes."""
    bench = Bench()
    common = {"RED_MIN": MIN << 11, "RED_MAX": MAX << 11, "LIMIT_PACKETS": 16383, "LIMIT_BYTES": 1 << 20}
    bench.write(**(common | {"RED_WEIGHT_LO": 0, "RED_WEIGHT_HI": 16} | words))
    bench.send(BACKLOG)  # the average is what an arrival finds
    bench.write(RED_WEIGHT_LO=1, RED_WEIGHT_HI=0)
    bench.core.device.trace_enable(departures=False, ticks=False)
    bench.send(2 * (1 << 14) // LENGTH)  # so far above the average that it rises by 2^-22 bytes an arrival
    (held,) = {round(a) for a in bench.traced(trace.ARRIVAL)["avg"].tolist()}
    assert 0.45 < (held - MIN) / (MAX - MIN) < 0.55
    p = probability(held)
    bench.core.device.trace_enable(False)
    bench.measure(MARKS, times / p)
    bench.core.device.trace_enable(departures=False, ticks=False)
    bench.send(10)
    assert np.abs(bench.traced(trace.ARRIVAL)["avg"] - held).max() < 1
    return bench.spacings(), p


def ared(p: float, spread: int, times: float) -> tuple[Ints, float]:
    """Adaptive RED at a max_p that its ticks leave alone, the average being between LOW and HIGH; p_b by Floyd & Jacobson 1993."""
    max_p = 2 * p
    words = {
        "POLICY": 5, "RED_FLAGS": spread | 1 << 5, "RED_MAXP": int(max_p * 2**32), "RED_SLOPE": scaled(max_p / (MAX - MIN) * 2**17),
        "ARED_INTERVAL": 100_000, "ARED_LOW": (MIN + 80_000) << 11, "ARED_HIGH": (MIN + 120_000) << 11,
        "ARED_BOTTOM": 1 << 20, "ARED_TOP": FULL, "ARED_INCREASE": 1 << 28, "ARED_DECREASE": 1 << 31,
        "ARED_BAND": scaled(2**17 / (MAX - MIN)),
    }  # fmt: skip
    return red_family(words, lambda average: max_p * (average - MIN) / (MAX - MIN), times)


def isred(p: float) -> tuple[Ints, float]:
    """Mode 2, every arrival being of a rise: min(1, gain p_b). RED itself would spread them uniformly, with wait."""
    gain = dict(zip(POINTS, (0.5, 3.0, 2.5), strict=True))[p]
    max_p = 2 * p / gain
    words = {
        "POLICY": 3, "RED_FLAGS": UNIFORM_WAIT | 1 << 5, "RED_MAXP": int(max_p * 2**32), "RED_SLOPE": scaled(max_p / (MAX - MIN) * 2**17),
        "ISRED_CTRL": 2, "ISRED_SLOPE": 0, "ISRED_GAIN": scaled(gain),
    }  # fmt: skip
    return red_family(words, lambda average: gain * max_p * (average - MIN) / (MAX - MIN), 1)


def ticked(bench: Bench) -> list[float]:
    """p of PIE, or p' of PI2, after each tick since the last call."""
    states = bench.traced(trace.TICK)[["state0", "state1"]].tolist()
    return [(high << 16 | low & 0xFFFF) / 2**48 for high, low in states]


def held_p(bench: Bench, policy: str, least: float) -> float:
    """Raises p of PIE or p' of PI2 by a queue that stands until it is `least`, and holds it there; returns it."""
    alpha = Gain.of(Fraction(int(least * 1000)))
    bench.core.device.trace_enable(arrivals=False, departures=False)
    bench.write(**{f"{policy}_ALPHA": alpha.mantissa | alpha.exponent << 24})
    bench.send(BACKLOG)
    bench.core.egress = "mac"
    while max(ticked(bench), default=0.0) < least:
        bench.send(150)
    bench.write(**{f"{policy}_ALPHA": 0})
    ticked(bench)
    bench.send(500)
    bench.core.egress = "stopped"
    (held,) = set(ticked(bench))
    return held


def still_held(bench: Bench, p: float) -> bool:
    """Whether no tick since has moved p, or p'."""
    states = ticked(bench)
    return len(states) > 10 and set(states) == {p}


def controlled(policy: str, words: dict[str, int], least: float, square: bool) -> tuple[Ints, float]:
    """Spacings at p, or p'^2, of a queue with a controller that is held."""
    bench = Bench()
    bench.write(**(words | {f"{policy}_INTERVAL": 10_000, f"{policy}_TARGET": 1000, f"{policy}_BETA": 0}))
    state = held_p(bench, policy, least)
    p = state**2 if square else state
    bench.send(BACKLOG)
    bench.measure(MARKS, 1 / p)
    assert still_held(bench, state)
    return bench.spacings(), p


LIMITS = {"LIMIT_PACKETS": 16383, "LIMIT_BYTES": 1 << 20}


def pie(p: float) -> tuple[Ints, float]:
    """RFC 8033, Appendix A: u < p."""
    words = {"POLICY": 6, "PIE_CTRL": 1, "PIE_BURST": 0, "PIE_ECN_MAX": FULL, "PIE_BYPASS": 0}
    return controlled("PIE", LIMITS | words, p, square=False)


def pi2(p: float) -> tuple[Ints, float]:
    """RFC 9332, A.1: p_C = p'^2."""
    words = {"POLICY": 8, "PI2_CTRL": 1, "PI2_STEP": FULL, "PI2_COUPLING": 2 << 12, "PI2_MAX": FULL}
    return controlled("PI2", LIMITS | words, p**0.5, square=True)


def coupled(p: float) -> tuple[Ints, float]:
    """RFC 9332, A.1: p_CL = k p', k = 2; queue 0 is the classic queue, queue 1 the L queue."""
    bench = Bench()
    classic = {"POLICY": 8, "PI2_INTERVAL": 10_000, "PI2_TARGET": 1000, "PI2_BETA": 0, "PI2_STEP": FULL,
               "PI2_COUPLING": 2 << 12, "PI2_MAX": FULL}  # fmt: skip
    bench.write(1, **LIMITS, **classic, PI2_CTRL=2 | 0 << 4, PI2_ALPHA=0)
    bench.write(0, **LIMITS, **classic, PI2_CTRL=1 | 1 << 4)
    state = held_p(bench, "PI2", p / 2)
    bench.send(BACKLOG, 1)
    bench.measure(MARKS, 1 / (2 * state), 1)
    assert still_held(bench, state)
    return bench.spacings(), 2 * state


CASES: dict[str, tuple[Callable[[float], tuple[Ints, float]], str]] = {
    "ared-uniform": (lambda p: ared(p / 2, UNIFORM, MEAN["uniform"]), "uniform"),
    "ared-wait": (lambda p: ared(p, UNIFORM_WAIT, MEAN["uniform-wait"]), "uniform-wait"),
    "isred-gain": (isred, "geometric"),
    "pie": (pie, "geometric"),
    "pi2": (pi2, "geometric"),
    "coupled": (coupled, "geometric"),
}
"""name: spacings and p of its state, its law"""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("point", POINTS, ids=lambda p: f"p={p}")
def test_the_marks_fit_the_law_of_the_state_and_no_other(name: str, point: float) -> None:
    sequence, law = CASES[name]
    gaps, p = sequence(point)
    assert gaps.size > MARKS
    assert not rejected(gaps, law, p)
    for wrong in (0.9 * p, 1.1 * p):
        assert chance_to_miss(law, p, wrong, MARKS) < 1e-3
        assert rejected(gaps, law, wrong), wrong
    for other in set(LAWS) - {"fn-uniform", law}:
        # also with the p that gives the mean that was seen
        for claimed in (p, MEAN[other] / gaps.mean()):
            assert rejected(gaps, other, claimed), (other, claimed)

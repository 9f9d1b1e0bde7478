"""Rate and spacing of what the RTL marks where the probability changes from packet to packet: byte modes, FN's quadratic form.

Frames of two lengths, or that come faster and faster (or slower), at three operating points each. The law of each packet is
computed from the times and lengths of the frames as they are sent, by Floyd & Jacobson 1993, ns-2's red.cc or the FN paper
(docs/modules: red, fn), and `given` says how the marks are tested against it: their number within 3 sigma, of all packets and
of each length, their spacing by chi-square at 99.9 %. p off by 10 %, another way of spreading, lengths that do not count and an
acceleration that does not count are to be rejected by one of the two at least; the chance to miss one, computed from the
laws, is below 10^-3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from given import HAZARDS, Claim, chances_to_miss, fit
from held_core import DROPPED, LENGTH, MARKED, MAX, MIN, Bench, scaled
from spacing import Floats, Ints

LONG = 2 * LENGTH
"""length of the other frames, and the mean packet of the byte modes"""
POINTS = (0.07, 0.11, 0.16)
MARKS = {False: 6500, True: 3000}
"""marks at least of independent draws, of spread ones; of the latter a tenth more or less of p leaves more traces"""
FEWER = 2000
"""are enough to tell the laws apart"""
SIZE = 4096
"""FN's window"""


@dataclass(frozen=True)
class Marked:
    """Numbers of the packets that were marked, the law, and laws that it must not be taken for."""

    numbers: Ints
    law: Claim
    others: dict[str, Claim]


def red_bytes(bench: Bench, p: float, law: str) -> Marked:
    """RED at an average that is held; p is p_b of a packet of the mean length."""
    flags = {
        "after": 1 | 1 << 2,
        "after-wait": 2 | 1 << 2,
        "before": 1 | 2 << 2,
        "before-wait": 2 | 2 << 2,
        "geometric-bytes": 2 << 2,
    }[law]
    times = {"after-wait": 1.5, "before-wait": 1.5, "geometric-bytes": 1.0}.get(law, 0.5)
    p = p if times >= 1 else p / 2
    words = {"POLICY": 1, "RED_FLAGS": flags | 1 << 5, "RED_MAXP": int(2 * p * 2**32), "RED_MEAN": scaled(2**20 / LONG),
             "RED_SLOPE": scaled(2 * p / (MAX - MIN) * 2**17)}  # fmt: skip
    held = bench.hold_average(**words)
    real = 2 * p * (held - MIN) / (MAX - MIN)
    # of packets of a mean of 3/4
    lengths = np.random.default_rng(2).choice([LENGTH, LONG], int(MARKS[times != 1] * 1.25 * times / (0.75 * real)))
    found = bench.outcomes(lengths)
    assert bench.average_is_still(held) and not (found == DROPPED).any()
    claim = Claim(law, np.full(lengths.size, real), lengths / LONG)
    flat = Claim(law, claim.p, np.full(lengths.size, 0.75))
    return Marked(np.flatnonzero(found == MARKED), claim, {"packets": flat})


def rates(at_ns: Ints, lengths: Ints) -> Floats:
    """Bytes per ns over the last SIZE packets; 0 before."""
    sums = np.cumsum(lengths)
    found = np.zeros(at_ns.size)
    found[SIZE:] = (sums[SIZE:] - sums[:-SIZE]) / (at_ns[SIZE:] - at_ns[:-SIZE])
    return found


def accelerations(at_ns: Ints, rate: Floats) -> Floats:
    """(R_i - R_{i-1})/(t_i - t_{i-1}) of the last two rates that are a window apart; 0 before."""
    ends = np.arange(SIZE, at_ns.size, SIZE)
    found = np.zeros(at_ns.size)
    for before, end in zip(ends, ends[1:], strict=False):
        found[end:] = (rate[end] - rate[before]) / float(at_ns[end] - at_ns[before])
    return found


def fn(bench: Bench, p: float, uniform: bool, byte_mode: bool, growth: float) -> Marked:
    """FN, linear for a growth of 0: P = (A - mu T - (Qopt - Q))/A, A = R T + a T^2/2, Qopt and Q next to nothing.

    `growth` is what the rate grows by in T, of what it was; p is P at the first packet that counts."""
    first, packets_in_t = 3 * SIZE if growth else SIZE + 1, 80_000
    # more packets are needed of independent draws, until the rate has grown by more
    gap = (118 if byte_mode else 68) + (14 if growth else 0) + (30 if growth and byte_mode and not uniform else 0)
    t_ns = packets_in_t * gap
    count = first + int(3 * MARKS[uniform] / p)
    along = np.arange(count) / packets_in_t
    if growth:
        along = (np.sqrt(np.maximum(1 + 2 * growth * along, 0)) - 1) / growth
    at_ns = (t_ns * along).astype(np.int64)
    lengths = np.full(count, LENGTH)
    if byte_mode and growth:
        lengths[1::2] = LONG  # in turn: else the rates differ by their lengths, and not by the acceleration
    elif byte_mode:
        lengths = np.random.default_rng(2).choice([LENGTH, LONG], count)
    rate = rates(at_ns, lengths)
    more = accelerations(at_ns, rate) * t_ns / 2 if growth else np.zeros(count)
    mu = float(((1 - p) * (rate + more))[first])
    bench.core.device.queue_replace(
        0, policy="fn", limit_bytes=1 << 19, window=SIZE, t=t_ns / 1e3, qopt=0, capacity=mu * 8e9, mean=LONG,
        quadratic=bool(growth), spread="uniform" if uniform else "geometric", bytemode=byte_mode, ecn=True,
    )  # fmt: skip
    with np.errstate(divide="ignore"):
        chance, linear = (np.clip(1 - mu / r, 0, 1) for r in (rate + more, rate))
    # as many packets as have the marks
    each = chance * (lengths / LONG if byte_mode else 1) * (2 if uniform else 1)
    count = int(np.searchsorted(np.cumsum(each[first:]), 1.25 * MARKS[uniform])) + first
    assert count < lengths.size and (np.diff(at_ns[:count]) > (lengths[: count - 1] + 24) * 0.8).all()
    found = bench.outcomes(lengths[:count], at_ns[:count] + 1000)
    assert not (found == DROPPED).any()
    law = {
        (False, False): "geometric",
        (True, False): "fn-uniform",
        (False, True): "geometric-bytes",
        (True, True): "fn-bytes",
    }
    claim = Claim(law[uniform, byte_mode], chance[:count], lengths[:count] / LONG)
    others = {"packets": replace(claim, size=np.full(count, 0.75))} if byte_mode else {}
    if growth:
        others["linear"] = replace(claim, p=linear[:count])
    numbers = np.flatnonzero(found == MARKED)
    return Marked(numbers[numbers >= first], claim, others)


GROWTH = {0.07: 0.2, 0.11: 0.1, 0.16: -0.05}


def quadratic(uniform: bool, byte_mode: bool) -> Callable[[Bench, float], Marked]:
    return lambda bench, p: fn(bench, p, uniform, byte_mode, GROWTH[p])


CASES: dict[str, Callable[[Bench, float], Marked]] = {
    "red-before": lambda bench, p: red_bytes(bench, p, "before"),
    "red-after": lambda bench, p: red_bytes(bench, p, "after"),
    "red-after-wait": lambda bench, p: red_bytes(bench, p, "after-wait"),
    "fn-geometric-bytes": lambda bench, p: fn(bench, p * 4 / 3, False, True, 0.0),
    "fn-uniform-bytes": lambda bench, p: fn(bench, p, True, True, 0.0),
    "fn-quadratic-geometric": quadratic(False, False),
    "fn-quadratic-uniform": quadratic(True, False),
    "fn-quadratic-uniform-bytes": quadratic(True, True),
    "fn-quadratic-geometric-bytes": quadratic(False, True),
    "red-before-wait": lambda bench, p: red_bytes(bench, p, "before-wait"),
    "red-geometric-bytes": lambda bench, p: red_bytes(bench, p * 4 / 3, "geometric-bytes"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("point", POINTS, ids=lambda p: f"p={p}")
def test_what_is_marked_fits_the_law_of_its_arrivals_and_no_other(name: str, point: float) -> None:
    marked = CASES[name](Bench(200 + 3 * list(CASES).index(name) + POINTS.index(point)), point)
    law, numbers = marked.law, marked.numbers
    found = fit(numbers, law, law.size)
    print(f"{name}: {numbers.size} marks, chi-square {found.chi_square:.1f}, rate off by {found.deviation:.2f} sigma")
    marks = MARKS["geometric" not in law.law]
    assert numbers.size > marks
    assert not found.rate_rejected and not found.spacing_rejected
    horizon = int(min(30 / (0.5 * law.p[numbers[0]]), 1000))
    starts = np.linspace(numbers[0], law.p.size - horizon - 2, 60).astype(int)
    for factor in (0.9, 1.1):
        wrong = fit(numbers, law.times(factor), law.size)
        assert max(chances_to_miss(law, law.times(factor), starts, horizon, marks)) < 1e-3
        assert wrong.rate_rejected and wrong.spacing_rejected, (factor, wrong)
    others = {other: replace(law, law=other) for other in HAZARDS if other != law.law}
    for key, claim in (others | marked.others).items():
        wrong = fit(numbers[: FEWER + 1], claim, law.size)
        miss = chances_to_miss(law, claim, starts, horizon, FEWER)
        assert min(miss) < 1e-3
        assert wrong.rate_rejected or wrong.spacing_rejected, (key, wrong)

"""ISRED against RED on the same arrivals: those of the ISRED paper's scenario (seed 003, figure 2) around t = 10 s.

ns-3 simulates the scenario with RED as its bottleneck (2 TCP sources, 30 more from 10 s to 10.1 s; 0.7 Mb/s, limit 30, RED
5/15/0.1/0.002, slope 25) and writes down when each packet came to the queue, those that were dropped too. This list goes
into a core with RED and into one with ISRED, which are the RTL, with the same seed. What the sources would have done after another
decision is left out: the policy is the only difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ns3_programs import experiment
from weir_sim import Core, trace
from weir_sim.frames import NOT_ECT, udp_frame

SEEDS = (1, 2, 3)
JOIN_NS, END_NS = 10_000_000_000, 12_000_000_000
RATE = 0.7e6
RED: dict[str, Any] = {"unit": "packets", "limit": 30, "min": 5, "max": 15, "probability": 0.1, "weight": 0.002, "avpkt": 500,
                       "bandwidth": RATE, "spread": "uniform-wait", "gentle": False}  # fmt: skip


@cache
def arrivals(seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Times in ns and lengths in bytes of what comes to the queue of RED until 12 s."""
    run = experiment(
        "isred", queue="golden", policy="red", gentle="off", sources=32, seed=seed, duration=END_NS / 1e9, arrivals="on"
    )
    times, lengths = np.array(run["arrivals"]["time_ns"]), np.array(run["arrivals"]["length"])
    assert times.size == run["results"]["arrived"] and lengths.sum() == run["results"]["arrived_bytes"]
    assert (np.diff(times) >= 0).all() and (times >= JOIN_NS).sum() > 500
    return times, lengths


@dataclass(frozen=True)
class Actions:
    """Times, in ns of the scenario, at which arrivals were dropped."""

    early: npt.NDArray[np.int64]
    forced: npt.NDArray[np.int64]
    overflow: npt.NDArray[np.int64]
    decided: int

    def until(self, end_ns: int) -> int:
        """Drops by chance or edrop() from the others' start on."""
        return int(((self.early >= JOIN_NS) & (self.early < end_ns)).sum())


@cache
def replayed(seed: int, policy: str, mode: str = "certain", slope: float = 25) -> Actions:
    """What the RTL does with these arrivals."""
    times, lengths = arrivals(seed)
    core = Core("full", egress="mac")
    core.device.seed(seed)
    core.device.shape(rate=RATE, burst=1538, overhead=0, mpu=0)
    core.device.queue_replace(0, policy=policy, **(RED if policy == "red" else RED | {"slope": slope, "mode": mode}))
    core.device.trace_enable(departures=False, ticks=False)
    begin = core.now_ns + 1000
    core.send_many(
        b"".join(udp_frame(max(n, 42), 0, NOT_ECT) for n in lengths.tolist()), np.maximum(lengths, 42), times + begin
    )
    core.run_idle()
    records = core.trace()
    assert len(records) == times.size
    # each frame is decided when it is wholly in: less than 4 us after it began
    late = records["time_ns"].astype(np.int64) - begin - times
    assert 0 < late.min() and late.max() < 4000, "the arrivals are those of the scenario"

    def dropped(cause: int) -> npt.NDArray[np.int64]:
        return times[(records["action"] == trace.DROP) & (records["cause"] == cause)]

    return Actions(dropped(trace.EARLY), dropped(trace.FORCED), dropped(trace.OVERFLOW), len(records))


@pytest.mark.parametrize("seed", SEEDS)
def test_isred_acts_earlier_than_red_on_the_same_arrivals(seed: int) -> None:
    red, isred = replayed(seed, "red"), replayed(seed, "isred")
    assert red.decided == isred.decided
    first = [a.early[a.early >= JOIN_NS][[0, 4]] for a in (isred, red)]
    print(
        f"seed {seed}: first and fifth drop of ISRED {first[0] - JOIN_NS} ns, of RED {first[1] - JOIN_NS} ns after 10 s"
    )
    assert 2 * (first[0][0] - JOIN_NS) < first[1][0] - JOIN_NS, "in less than half of RED's time"
    assert first[0][1] + 300_000_000 < first[1][1]
    # at every moment ISRED has acted at least as often, in the first half second at least five times as often
    assert all(isred.until(t) >= red.until(t) for t in range(JOIN_NS, JOIN_NS + 1_000_000_000, 1_000_000))
    half = JOIN_NS + 500_000_000
    assert isred.until(half) >= 5 * max(1, red.until(half))


@pytest.mark.parametrize("seed", SEEDS)
def test_overflow_nearly_disappears(seed: int) -> None:
    """Figures 4 and 5."""
    assert replayed(seed, "red").overflow.size > 50
    assert replayed(seed, "isred").overflow.size <= 2


@pytest.mark.parametrize("mode", ["chance", "gain"])
def test_the_other_modes_act_no_later_but_less(mode: str) -> None:
    half = JOIN_NS + 500_000_000
    red, some, certain = (
        sum(replayed(n, *p).until(half) for n in SEEDS) for p in (("red",), ("isred", mode), ("isred",))
    )
    assert red < some < certain


@pytest.mark.parametrize("seed", SEEDS[:1])
def test_only_the_slope_makes_the_difference(seed: int) -> None:
    """With a slope that no rise reaches ISRED is RED, drop by drop."""
    red, isred = replayed(seed, "red"), replayed(seed, "isred", slope=1e6)
    for ours, theirs in ((red.early, isred.early), (red.forced, isred.forced), (red.overflow, isred.overflow)):
        assert (ours == theirs).all()

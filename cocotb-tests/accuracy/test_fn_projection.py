"""FN in the RTL acts only when the projected queue exceeds its target: q + (R - mu) T > Qopt (paper, section III); in the quadratic
form q + (R - mu) T + a T^2/2 > Qopt (docs/modules/fn.md).

The draw is held at 0, so that whatever has a chance is marked. R and a, and with them the projection, are computed from the times, lengths
and backlogs of the arrivals alone, in doubles.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from weir_sim import Core, trace
from weir_sim.frames import ECT0, udp_frame

MU = 5e9
DELAY = 128
"""packets from the one at which an acceleration is measured to the one that finds it, and the least between two"""
LFSR_FIXED = 0x05C


def accelerations(rate: npt.NDArray[np.float64], times: npt.NDArray[np.float64], every: int) -> npt.NDArray[np.float64]:
    """Of the last two rates that were measured, `every` packets apart, as each packet finds it (docs/modules/fn.md)."""
    found = np.zeros(times.size)
    for now in range(2 * every, times.size, every):
        before = now - every
        found[now + DELAY :] = (rate[now] - rate[before]) / (times[now] - times[before])
    return found


@pytest.mark.parametrize(
    ("window", "t_us", "qopt", "quadratic"),
    [
        (1, 10, 5_000, False),
        (64, 10, 5_000, False),
        (64, 80, 20_000, False),
        (1000, 80, 5_000, False),
        (64, 800, 50_000, True),
        (256, 800, 50_000, True),
    ],
)
def test_fn_marks_when_the_projected_queue_exceeds_qopt_and_only_then(
    window: int, t_us: int, qopt: int, quadratic: bool
) -> None:
    core, rng = Core("full", egress="mac"), np.random.default_rng(window + t_us)
    core.device.shape(rate=MU, overhead=0)
    core.device.queue_replace(
        0, policy="fn", limit_bytes=500_000, window=window, t=t_us, qopt=qopt, capacity=MU, quadratic=quadratic,
        spread="geometric", ecn=True,
    )  # fmt: skip
    core.csr_write(LFSR_FIXED, 1 << 31)
    core.device.trace_enable(departures=False, ticks=False)
    count = 3000
    lengths = rng.choice([64, 594, 1514], count)
    # phases of 50 to 300 packets, each at a rate of its own
    phase = np.repeat(np.arange(count), rng.integers(50, 300, count))[:count]
    gaps = lengths * 8e9 / (MU * rng.choice([0.2, 0.5, 0.9, 1.1, 1.5], count)[phase]) * rng.uniform(0.8, 1.2, count)
    at = core.now_ns + 1000 + np.cumsum(gaps).astype(np.int64)
    core.send_many(b"".join(udp_frame(n, 0, ECT0) for n in lengths.tolist()), lengths, at)
    core.run_idle()
    records = core.trace()
    assert len(records) == count and (records["length"] == lengths).all()

    times, sums = records["time_ns"].astype(float), np.append(0.0, np.cumsum(lengths.astype(float)))
    last = np.arange(1, count)
    first = np.maximum(last - window, 0)
    rate = np.zeros(count)
    rate[1:] = (sums[last + 1] - sums[first + 1]) / (times[last] - times[first])
    t_ns = t_us * 1e3
    growth = accelerations(rate, times, max(window, DELAY)) * t_ns**2 / 2 if quadratic else np.zeros(count)
    arriving = rate * t_ns + growth
    beyond = np.where(arriving > 0, records["q_bytes"] + arriving - MU / 8e9 * t_ns - qopt, -np.inf)
    slack = 2.0**-14 * (rate * t_ns + np.abs(growth)) + 1
    if quadratic:
        # of the difference of two rates, over the time of a window
        slack += 2.0**-13 * rate.max() * t_ns**2 / 2 / (times[window:] - times[:-window]).min()
    certain = (np.abs(beyond) > slack) & (np.abs(arriving) > slack)
    marked = records["action"] == trace.MARK
    assert not marked[0], "one packet is no rate"
    wrong = certain & (marked != (beyond > 0))
    wrong[0] = False
    linear = records["q_bytes"] + (rate - MU / 8e9) * t_ns > qopt
    print(
        f"{marked.sum()} of {count} marked, {(~certain).sum()} too near to tell, {(linear != marked).sum()} other than without a"
    )
    assert not wrong.any(), (np.flatnonzero(wrong)[:5], beyond[wrong][:5])
    assert 300 < marked.sum() < count - 300 and certain.mean() > (0.9 if quadratic else 0.97)
    assert not quadratic or (linear != marked).sum() > 100

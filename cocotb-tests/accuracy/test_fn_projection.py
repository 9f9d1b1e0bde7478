"""FN in the RTL acts only when the projected queue exceeds its target: q + (R - mu) T > Qopt (paper, section III).

The draw is held at 0, so that whatever has a chance is marked. R, and with it the projection, is computed from the times, lengths and
backlogs of the arrivals alone, in doubles.
"""

from __future__ import annotations

import numpy as np
import pytest

from weir_sim import Core, trace
from weir_sim.frames import ECT0, udp_frame

MU = 5e9
LFSR_FIXED = 0x05C


@pytest.mark.parametrize(
    ("window", "t_us", "qopt"), [(1, 10, 5_000), (64, 10, 5_000), (64, 80, 20_000), (1000, 80, 5_000)]
)
def test_fn_marks_when_the_projected_queue_exceeds_qopt_and_only_then(window: int, t_us: int, qopt: int) -> None:
    core, rng = Core("full", egress="mac"), np.random.default_rng(window + t_us)
    core.device.shape(rate=MU, overhead=0)
    core.device.queue_replace(
        0, policy="fn", limit_bytes=500_000, window=window, t=t_us, qopt=qopt, capacity=MU, spread="geometric", ecn=True
    )
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
    rate = (sums[last + 1] - sums[first + 1]) / (times[last] - times[first])
    t_ns = t_us * 1e3
    beyond = records["q_bytes"][1:] + (rate - MU / 8e9) * t_ns - qopt
    certain = np.abs(beyond) > 2.0**-14 * rate * t_ns + 1
    marked = records["action"] == trace.MARK
    assert not marked[0], "one packet is no rate"
    wrong = certain & (marked[1:] != (beyond > 0))
    print(f"{marked.sum()} of {count} marked, {(~certain).sum()} too near to tell")
    assert not wrong.any(), (np.flatnonzero(wrong)[:5], beyond[wrong][:5])
    assert 300 < marked.sum() < count - 300 and certain.mean() > 0.97

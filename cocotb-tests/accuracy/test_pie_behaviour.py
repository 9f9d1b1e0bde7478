"""What PIE does to a queue: its delay stays near the target at every load. The golden model at a simulated bottleneck."""

from __future__ import annotations

from dataclasses import replace

import pytest

from golden.bottleneck import Result, simulate
from golden.lfsr import Lfsr
from golden.pie import DEFAULTS, Pie, PieParams
from golden.red import DROP, NOT_ECT

RATE = 20e6
RTT = 50_000_000
TARGET_MS = 15.0


class Managed:
    """PIE with its ticks at their deadlines, time jumping from event to event."""

    def __init__(self, params: PieParams) -> None:
        self.params, self.model, self.source = params, Pie(), Lfsr(5)
        self.model.deadlines.start(0)

    def _ticks(self, now: int) -> None:
        deadlines, interval = self.model.deadlines, self.params.interval
        while deadlines.due(now, interval):
            at = deadlines.deadline(interval)
            deadlines.taken(at, interval)
            self.model.tick(self.model.delay.ns, self.model.delay.ns == 0, self.params)

    def arrive(self, now_ns: int, queued_bytes: int) -> bool:
        self._ticks(now_ns)
        if queued_bytes == 0:
            self.model.delay.empty()
        return self.model.decide(queued_bytes, NOT_ECT, self.source.draw(), self.params).action == DROP

    def depart(self, now_ns: int, sojourn_ns: int, packets: int) -> None:
        self._ticks(now_ns)
        self.model.departure(sojourn_ns, packets, now_ns)


class Unmanaged:
    """Drops at its limit only."""

    def arrive(self, now_ns: int, queued_bytes: int) -> bool:
        return False

    def depart(self, now_ns: int, sojourn_ns: int, packets: int) -> None:
        pass


LOADS = {"5 flows": (5, 0.0), "20 flows": (20, 0.0), "50 flows": (50, 0.0), "20 % overload without response": (0, 1.2)}


def _run(name: str, params: PieParams = DEFAULTS) -> Result:
    flows, constant = LOADS[name]
    return simulate(Managed(params), flows, RATE, RTT, 60.0, constant * RATE)


@pytest.mark.parametrize("name", LOADS)
def test_the_delay_stays_near_the_target(name: str) -> None:
    result = _run(name)
    print(
        f"{name}: mean {result.mean_ms:.1f} ms, 95 % {result.percentile_ms(0.95):.1f} ms, link {result.utilisation:.3f}"
    )
    assert 0.6 * TARGET_MS < result.mean_ms < 1.4 * TARGET_MS
    assert result.percentile_ms(0.95) < 3 * TARGET_MS
    assert result.utilisation > 0.93


def test_the_target_is_what_sets_the_delay() -> None:
    result = _run("20 flows", replace(DEFAULTS, target=40_000_000))
    assert 0.6 * 40 < result.mean_ms < 1.4 * 40


@pytest.mark.parametrize("name", LOADS)
def test_without_it_the_delay_is_the_buffers(name: str) -> None:
    flows, constant = LOADS[name]
    assert simulate(Unmanaged(), flows, RATE, RTT, 60.0, constant * RATE, limit=300).mean_ms > 4 * TARGET_MS


def test_overload_without_response_is_dropped_at_its_excess() -> None:
    result = _run("20 % overload without response")
    assert abs(result.dropped / (result.dropped + result.sent) - 1 / 6) < 0.01

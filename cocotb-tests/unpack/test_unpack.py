"""Unpack: jumbo frames split into their packets, all other frames passed on; against weir_sim's model of the wire format."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(900)
def test_splits_jumbo_frames() -> None:
    run_bench("Unpack", "bench_split")


@pytest.mark.timeout(900)
def test_unpack_under_pressure() -> None:
    run_bench("Unpack", "bench_pressure")


@pytest.mark.timeout(900)
def test_rate_and_latency() -> None:
    run_bench("Unpack", "bench_rate")

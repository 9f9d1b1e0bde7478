"""The units that merge packets, each against its model."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
def test_flow_table() -> None:
    run_bench("FlowTable", "bench_flow_table")


@pytest.mark.timeout(300)
def test_flow_groups() -> None:
    run_bench("FlowGroups", "bench_flow_groups")


@pytest.mark.timeout(300)
def test_sums() -> None:
    run_bench("Sums", "bench_sums")


@pytest.mark.timeout(300)
def test_mark_words() -> None:
    run_bench("MarkWords", "bench_mark_words")


@pytest.mark.timeout(300)
def test_parking() -> None:
    run_bench("Parking", "bench_parking")

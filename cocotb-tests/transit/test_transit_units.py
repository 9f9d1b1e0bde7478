"""The units of jumbo frames that stay together, each by itself."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
def test_patch() -> None:
    run_bench("TransitPatch", "bench_patch")


@pytest.mark.timeout(300)
def test_list() -> None:
    run_bench("JumboList", "bench_list")


@pytest.mark.timeout(300)
def test_partial() -> None:
    run_bench("Partial", "bench_partial")

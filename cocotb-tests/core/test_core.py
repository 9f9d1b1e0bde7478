"""The whole core, from stream to stream, on the presets small and tail."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
@pytest.mark.parametrize("bench", ["frames", "drops", "cells", "policy", "reset", "egress", "trace", "front"])
def test_core(bench: str) -> None:
    run_bench("core", f"bench_{bench}", preset="small")


@pytest.mark.timeout(300)
def test_core_without_red() -> None:
    run_bench("core", "bench_tail", preset="tail")

"""The whole core, from stream to stream, on the presets small and tail; ten-gig with its four queues.

WEIR_SOAK=<seconds> lengthens each case on four queues: further seeds until the time is over.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
@pytest.mark.parametrize("bench", ["frames", "drops", "cells", "policy", "reset", "egress", "trace", "front"])
def test_core(bench: str) -> None:
    run_bench("core", f"{bench}_cocotb", preset="small")


@pytest.mark.timeout(300)
def test_core_without_red() -> None:
    run_bench("core", "tail_cocotb", preset="tail")


@pytest.mark.timeout(300)
def test_core_without_a_trace(tmp_path: Path) -> None:
    """It forwards as the preset tail does, which has one."""
    for name, unit, preset in (("traced", "core", "tail"), ("untraced", "CoreUntraced", None)):
        run_bench(unit, "untraced_cocotb", preset=preset, env={"CORE_TOLD": tmp_path / name})
    assert (tmp_path / "traced").read_text() == (tmp_path / "untraced").read_text()


@pytest.mark.timeout(300 + int(os.environ.get("WEIR_SOAK", "0")))
@pytest.mark.parametrize(
    ("bench", "seed"),
    [
        pytest.param("line", 1, marks=pytest.mark.slow(60)),
        ("order", 1),
        ("causes", 1),
        ("restart", 1),
        ("hostile", 1),
        *(
            pytest.param(bench, 2, marks=[pytest.mark.long, pytest.mark.full])
            for bench in ("causes", "restart", "hostile")
        ),
    ],
)
def test_core_with_four_queues(bench: str, seed: int) -> None:
    end = time.monotonic() + int(os.environ.get("WEIR_SOAK", "0"))
    run_bench("core", f"{bench}_cocotb", preset="ten-gig", seeds=[seed])
    while time.monotonic() < end:
        seed += 1000
        run_bench("core", f"{bench}_cocotb", preset="ten-gig", seeds=[seed])

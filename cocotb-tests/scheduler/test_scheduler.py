"""Runs scheduler_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(120)
def test_scheduler() -> None:
    run_bench("Scheduler", "scheduler_cocotb")

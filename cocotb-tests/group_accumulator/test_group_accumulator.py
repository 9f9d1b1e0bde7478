"""Runs group_accumulator_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
def test_group_accumulator() -> None:
    run_bench("GroupAccumulator", "group_accumulator_cocotb")

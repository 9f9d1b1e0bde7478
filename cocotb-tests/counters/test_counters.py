"""Runs counters_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.slow(50)
def test_counters() -> None:
    run_bench(
        "Counters",
        "counters_cocotb",
        seeds=(1, 2, 3),
        internals=[
            "CounterBank*.counters_ram",
            "Counters.core_*_live",
            "CounterAccumulator.update_ram",
            "CounterAccumulator.held_*",
        ],
    )

"""Runs counters_cocotb.py on both forms of Counters."""

from __future__ import annotations

import pytest

from harness import run_bench

INTERNALS = {
    "TallyCounters": [
        "CounterBank*.counters_ram",
        "TallyCounters.core_*_live",
        "CounterAccumulator.update_ram",
        "CounterAccumulator.held_*",
    ],
    "RowCounters": ["RowCounters.counters_ram"],
}


@pytest.mark.slow(50)
@pytest.mark.parametrize("unit", INTERNALS)
def test_counters(unit: str) -> None:
    run_bench(unit, "counters_cocotb", seeds=(1, 2, 3), env={"WEIR_COUNTERS": unit}, internals=INTERNALS[unit])

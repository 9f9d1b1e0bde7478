"""Pi2: RTL against the golden model, bit for bit."""

from __future__ import annotations

import pytest

from harness import run_bench

CASES = [
    "mixed_queues_every_4_cycles",
    "random_gaps",
    "hostile_registers",
    "time_wraps",
    "queues_of_other_policies_have_neither_ticks_nor_partners",
]


@pytest.mark.parametrize("case", CASES)
def test_pi2(case: str) -> None:
    run_bench("Pi2", "pi2_cocotb", testcase=case, seeds=[1])

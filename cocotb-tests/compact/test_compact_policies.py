"""CompactPolicies: programs on the engine against the golden Ewma, Red and DT-ECN, bit for bit."""

from __future__ import annotations

import pytest

from harness import run_bench

CASES = [
    "decisions_of_four_queues",
    "hostile_registers",
    "empty_queues",
    "time_wraps",
    "every_exponent",
    "the_count_of_bytes_saturates",
    "reset_at_any_time_starts_anew",
    "a_slope_far_too_steep_is_probability_one",
]


@pytest.mark.parametrize("case", CASES)
def test_compact_policies(case: str) -> None:
    run_bench("CompactPolicies", "compact_policies_cocotb", testcase=case, seeds=[1])

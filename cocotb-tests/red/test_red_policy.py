"""RedPolicy: RTL against the golden Ewma and Red, bit for bit, verdict 10 or 22 cycles after the request."""

from __future__ import annotations

import pytest

from harness import run_bench

CASES = [
    "one_queue_every_4_cycles",
    "mixed_queues_every_4_cycles",
    "random_gaps",
    "one_queue_random_gaps",
    "empty_queues",
    "empty_queues_close",
    "hostile_registers",
    "time_wraps",
    "the_counts_saturate",
    "count_times_size_saturates_from_three_quarters_on",
    "a_cleared_average_starts_from_zero",
    "a_slope_far_too_steep_is_probability_one",
    "words_that_come_during_a_reset_are_kept",
    "reset_forgets_everything",
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("unit", ["RedPolicy", "RedFamily"])
def test_red_policy(unit: str, case: str) -> None:
    """Alone, and in a build with the whole family."""
    run_bench(unit, "red_policy_cocotb", testcase=case, seeds=[1])

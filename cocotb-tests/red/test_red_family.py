"""RedFamily: RED, ISRED and adaptive RED in one unit against the golden models, bit for bit."""

from __future__ import annotations

import pytest

from harness import run_bench

CASES = [
    "policies_side_by_side_every_4_cycles",
    "isred_every_4_cycles",
    "isred_random_gaps",
    "ared_random_gaps",
    "empty_queues",
    "empty_queues_close",
    "hostile_registers",
    "time_wraps",
    "a_tick_comes_with_the_first_arrival_after_an_interval",
    "max_p_stays_in_silence",
    "a_change_of_policy_keeps_nothing",
    "a_saturated_g_of_red_does_not_leak_into_mode_2",
    "times_and_slopes_have_ends",
    "queues_have_intervals_of_their_own_where_time_wraps",
    "every_apply_moment_of_a_tick_is_safe",
    "every_request_moment_of_a_tick_is_seen_whole",
    "reset_starts_the_interval_anew",
    "a_queue_that_is_not_selected_does_not_tick",
]


@pytest.mark.parametrize("case", CASES)
def test_red_family(case: str) -> None:
    run_bench("RedFamily", "red_family_cocotb", testcase=case, seeds=[1])

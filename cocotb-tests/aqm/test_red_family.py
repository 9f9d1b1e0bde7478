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
    "hostile_registers",
    "time_wraps",
    "ticks_come_at_the_interval_and_rest_when_nothing_can_change",
    "an_arrival_within_the_interval_keeps_the_grid",
    "ticks_that_were_missed_are_not_made_up_for",
    "a_change_of_policy_keeps_nothing",
    "a_saturated_g_of_red_does_not_leak_into_mode_2",
    "times_and_slopes_have_ends",
    "the_earliest_deadline_is_told_where_time_wraps",
    "every_apply_moment_of_a_tick_is_safe",
    "every_request_moment_of_a_tick_is_seen_whole",
    "reset_starts_the_deadlines_anew",
    "an_idle_core_has_no_deadline",
]


@pytest.mark.parametrize("case", CASES)
def test_red_family(case: str) -> None:
    run_bench("RedFamily", "bench_red_family", testcase=case, seeds=[1])

"""Fn: RTL against the golden model, bit for bit, verdict 20 cycles after the request."""

from __future__ import annotations

import pytest

from harness import run_bench

CASES = [
    "one_queue_every_4_cycles",
    "mixed_queues_every_4_cycles",
    "random_gaps",
    "hostile_registers_and_arrivals",
    "time_wraps",
    "the_acceleration_is_used_a_fixed_number_of_packets_later",
    "of_rates_that_are_far_apart_the_larger_is_left",
    "the_largest_window_runs_round",
    "changes_of_the_window_restart_it_and_others_do_not",
    "the_count_saturates",
    "reset_forgets_everything",
]


@pytest.mark.parametrize("case", CASES)
def test_fn(case: str) -> None:
    run_bench("Fn", "fn_cocotb", testcase=case, seeds=[1])

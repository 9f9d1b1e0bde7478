"""Pie: RTL against the golden model, bit for bit; the golden model against the RFC in double precision; its behaviour."""

from __future__ import annotations

import pytest

from harness import run_bench

CASES = [
    "mixed_queues_every_4_cycles",
    "one_queue_every_4_cycles",
    "random_gaps",
    "hostile_registers",
    "time_wraps",
    "a_queue_without_delay_falls_asleep",
    "applies_around_a_deadline",
    "reset_forgets_everything",
    "queues_of_other_policies_have_no_ticks",
    "a_delay_that_a_queue_left_behind_keeps_it_awake",
    "default_parameters_over_a_minute",
]


@pytest.mark.parametrize("case", CASES)
def test_pie(case: str) -> None:
    run_bench("Pie", "pie_cocotb", testcase=case, seeds=[1])

"""Lfsr: RTL against the golden model. Its quality as a random source: accuracy/test_lfsr_quality.py."""

from __future__ import annotations

import pytest

from harness import run_bench

CASES = [
    "draws_equal_the_model_from_reset",
    "draw_holds_until_it_is_taken",
    "seeds_start_again_and_zero_is_replaced",
    "of_seeds_in_successive_cycles_the_last_counts",
    "fixed_value_answers_while_the_state_advances",
]


@pytest.mark.parametrize("case", CASES)
def test_lfsr(case: str) -> None:
    run_bench("Lfsr", "lfsr_cocotb", testcase=case, seeds=[1, 2])

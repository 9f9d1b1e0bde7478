"""Ewma: RTL against the golden model, bit for bit, four cycles after the request."""

from __future__ import annotations

import pytest

from harness import run_bench

CASES = [
    "updates_every_4_cycles",
    "updates_of_one_queue_every_4_cycles",
    "idle_queues_decay",
    "any_register_value",
]


@pytest.mark.parametrize("case", CASES)
def test_ewma(case: str) -> None:
    run_bench("Ewma", "ewma_cocotb", testcase=case, seeds=[1, 2])

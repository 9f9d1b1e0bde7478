"""Ewma: RTL against the golden model, bit for bit, four cycles after the request."""

from __future__ import annotations

import pytest

from golden.ewma import SLOTS_MAX, TIME_MASK, Ewma, idle_slots, idle_time
from golden.params import RedParams, decay_of
from harness import run_bench

CASES = [
    "updates_every_4_cycles",
    "updates_of_one_queue_every_4_cycles",
    "idle_queues_decay",
    "any_register_value",
    "time_wraps",
    "hints_in_every_cycle",
    "applies_and_frames_that_do_not_come",
    "an_apply_counts_for_a_frame_that_is_coming_in",
]
HALF = RedParams(weight=1 << 35, decay=decay_of(1 << 35), idle_mantissa=1, idle_exponent=0)


@pytest.mark.parametrize("case", CASES)
def test_ewma(case: str) -> None:
    run_bench("Ewma", "bench_ewma", testcase=case, seeds=[1, 2])


def test_time_differences_are_modular() -> None:
    assert idle_time(TIME_MASK, 4) == 5
    assert idle_time(0, (1 << 48) - 1) == (1 << 48) - 1


def test_slots_saturate_below_the_largest_so_that_one_more_fits() -> None:
    assert idle_slots(SLOTS_MAX - 1, HALF) == SLOTS_MAX - 1
    assert idle_slots(1 << 47, HALF) == SLOTS_MAX == (1 << 22) - 2


def test_the_oldest_hint_that_is_not_stale_counts() -> None:
    model = Ewma()
    model.request(0, 1, 1024, RedParams())
    model.emptied(100)
    model.hint(102, HALF)
    model.hint(109, HALF)
    assert model.request(110, 0, 0, HALF).idle_slots == 2
    assert model.average == 1024 * (1 << 22) >> 3
    assert model.request(120, 0, 0, HALF).idle_slots == 0, "the second hint came before a request"


def test_a_request_that_finds_the_queue_empty_starts_idle_time() -> None:
    model = Ewma()
    model.emptied(100)
    model.request(150, 0, 0, HALF)
    model.hint(157, HALF)
    assert model.request(160, 0, 0, HALF).idle_slots == 7

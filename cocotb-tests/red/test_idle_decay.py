"""IdleDecay: RTL against the golden model, bit for bit, twelve cycles after the request."""

from __future__ import annotations

import pytest

from golden.ewma import SLOTS_MAX, TIME_MASK, Ewma, idle_slots, idle_time
from golden.params import RedParams, decay_of
from harness import run_bench

CASES = [
    "any_registers_a_request_a_cycle",
    "one_queue_and_two",
    "time_wraps",
    "idle_times_from_zero_to_the_whole_range",
    "halves_for_each_slot",
    "a_reset_forgets_departures_and_keeps_the_registers",
]
HALF = RedParams(weight=1 << 35, decay=decay_of(1 << 35), idle_mantissa=1, idle_exponent=0)


@pytest.mark.parametrize("case", CASES)
def test_idle_decay(case: str) -> None:
    run_bench("IdleDecay", "idle_decay_cocotb", testcase=case, seeds=[1, 2])


def test_time_differences_are_modular() -> None:
    assert idle_time(TIME_MASK, 4) == 5
    assert idle_time(0, (1 << 48) - 1) == (1 << 48) - 1


def test_slots_saturate_below_the_largest_so_that_one_more_fits() -> None:
    assert idle_slots(SLOTS_MAX - 1, HALF) == SLOTS_MAX - 1
    assert idle_slots(1 << 47, HALF) == SLOTS_MAX == (1 << 22) - 2


def test_a_departure_starts_idle_time() -> None:
    model = Ewma()
    model.request(0, 1, 1024, RedParams())
    model.left(100)
    assert model.request(102, 0, 0, HALF).idle_slots == 2
    assert model.average == 1024 * (1 << 22) >> 3


def test_a_request_that_finds_the_queue_empty_starts_idle_time() -> None:
    model = Ewma()
    model.left(100)
    model.request(150, 0, 0, HALF)
    assert model.request(157, 0, 0, HALF).idle_slots == 7
    model.request(158, 1, 64, HALF)
    assert model.request(160, 0, 0, HALF).idle_slots == 3, "one that finds a packet does not"

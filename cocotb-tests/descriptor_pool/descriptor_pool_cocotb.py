"""DescriptorPool against a set: no descriptor is handed out twice, none is lost."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from axis import seeded, start

DESCRIPTORS = 2048
#: cycles in which one that was given back is on offer
PATIENCE = 12


@cocotb.test()
@cocotb.parametrize(take=[0.9, 0.3], give=[0.02, 0.3, 0.9])
async def never_hands_out_one_that_is_in_use(dut: Any, take: float, give: float) -> None:
    """Nor does it ever tell another count than that of those that are left."""
    rng = seeded(f"use {take} {give}")
    await start(dut, take_ready=0, give_valid=0)
    used: list[int] = []
    taken = waited = both = 0
    free = DESCRIPTORS
    for cycle in range(5000):
        await RisingEdge(dut.clk)
        assert int(dut.count.value) == free, f"cycle {cycle}: {free} are free"
        goes = int(dut.take_valid.value) and int(dut.take_ready.value)
        comes = int(dut.give_valid.value)
        free, both = free + comes - goes, both + (comes and goes)
        if dut.take_valid.value == 1:
            waited = 0
            if dut.take_ready.value == 1:
                number = int(dut.take_payload.value)
                assert number not in used and number < DESCRIPTORS, f"cycle {cycle}: {number} is in use"
                used.append(number)
                taken += 1
        else:
            waited += len(used) < DESCRIPTORS
            assert waited < PATIENCE, f"cycle {cycle}: {DESCRIPTORS - len(used)} are free, none is on offer"
        dut.take_ready.value = int(rng.random() < take)
        dut.give_valid.value = 0
        if used and rng.random() < give:
            dut.give_valid.value = 1
            dut.give_payload.value = used.pop(rng.randrange(len(used)))
    assert taken > 500 and both > 5


@cocotb.test()
async def hands_out_all_of_them_twice(dut: Any) -> None:
    rng = seeded("all")
    await start(dut, take_ready=0, give_valid=0)
    for _ in range(2):
        used: list[int] = []
        dut.take_ready.value = 1
        for _ in range(10 * DESCRIPTORS):
            await RisingEdge(dut.clk)
            if dut.take_valid.value == 1 and dut.take_ready.value == 1:
                used.append(int(dut.take_payload.value))
            if len(used) == DESCRIPTORS:
                break
        assert sorted(used) == list(range(DESCRIPTORS))
        for _ in range(PATIENCE):
            await RisingEdge(dut.clk)
            assert dut.take_valid.value == 0, "one more than there are"
        assert int(dut.count.value) == 0
        dut.take_ready.value = 0
        for number in rng.sample(used, DESCRIPTORS):
            dut.give_valid.value, dut.give_payload.value = 1, number
            await RisingEdge(dut.clk)
        dut.give_valid.value = 0
        for _ in range(PATIENCE):
            await RisingEdge(dut.clk)
        assert int(dut.count.value) == DESCRIPTORS

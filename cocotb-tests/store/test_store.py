"""Store against a list model: words into cells, chains, what is taken back, what is counted."""

from __future__ import annotations

from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from axis import seeded, start
from harness import run_bench

GOOD, BAD, RUNT, OVERSIZE, OVERFLOW = range(5)
META = {"length": 14, "queue": 2, "ecn": 2, "ipVersion": 2, "ipOffset": 2, "exempt": 1}


@cocotb.test()
@cocotb.parametrize(shortage=[0.0, 0.05, 0.3], full=[0.0, 0.2], spacing=[1, 2])
async def stores_good_frames_and_takes_back_the_others(dut: Any, shortage: float, full: float, spacing: int) -> None:
    """Cells come from a list in the order 0, 1, …; a rollback makes its cells the next ones again."""
    rng = seeded(f"store {shortage} {full} {spacing}")
    await start(dut, word_valid=0, end_valid=0, available=1, cell_1=0, room=1)
    next_cell = 0
    taken: list[int] = []
    written: dict[tuple[int, int], int] = {}
    seen: dict[str, list[tuple[int, ...]]] = {"arrival": [], "event": [], "rollback": []}
    cycle = 0
    ends: list[tuple[int, int]] = []

    async def step(available: bool) -> None:
        """Ends the cycle: notes what happened in it."""
        nonlocal next_cell, cycle
        await RisingEdge(dut.clk)
        cycle += 1
        if dut.write_valid.value == 1:
            place = int(dut.write_payload_cell.value), int(dut.write_payload_index.value)
            written[place] = int(dut.write_payload_data.value)
        if dut.rollback_valid.value == 1:
            first, last, cells = (int(getattr(dut, f"rollback_payload_{p}").value) for p in ("first", "last", "cells"))
            seen["rollback"].append((first, last, cells))
        if dut.take.value == 1:
            assert dut.available.value == 1, "takes a cell that is not there"
            taken.append(next_cell)
            next_cell = (next_cell + 1) % 2048
        if dut.rollback_valid.value == 1:
            assert taken and taken[-1] == seen["rollback"][-1][1] and seen["rollback"][-1][0] in taken
            while taken and taken[-1] != seen["rollback"][-1][0]:
                taken.pop()
            next_cell = taken.pop()
        if dut.arrival_valid.value == 1:
            parts = [f"meta_{name}" for name in META] + ["chain_first", "chain_last", "chain_cells"]
            seen["arrival"].append((cycle, *(int(getattr(dut, f"arrival_payload_{p}").value) for p in parts)))
        if dut.event_valid.value == 1:
            seen["event"].append((cycle, int(dut.event_payload_end.value), int(dut.event_payload_bytes.value)))
        dut.cell_1.value = next_cell
        dut.available.value = int(available)

    for _ in range(500):
        words = rng.choice((1, 1, 4, 5, 8, 9, rng.randrange(1, 60)))
        kind = rng.choice((GOOD, GOOD, GOOD, BAD, RUNT, OVERSIZE))
        silent = kind == OVERSIZE and rng.random() < 0.5
        size = rng.getrandbits(24)
        meta = {name: rng.getrandbits(width) for name, width in META.items()}
        data = [rng.getrandbits(128) for _ in range(words)]
        first = next_cell
        seen["arrival"].clear(), seen["event"].clear(), seen["rollback"].clear()
        lost = False
        mine: list[int] = []
        asked = 0
        for n, value in enumerate(data):
            last = n == words - 1 and not silent
            available = rng.random() >= shortage
            dut.available.value, dut.cell_1.value = int(available), next_cell
            dut.word_valid.value, dut.word_payload_data.value = 1, value
            dut.word_payload_first.value, dut.word_payload_last.value = int(n == 0), int(last)
            dut.word_payload_cellStart.value, dut.word_payload_index.value = int(n % 4 == 0), n % 4
            if n % 4 == 0 and not lost:
                if available:
                    mine.append(next_cell)
                else:
                    lost = True
                asked += 1
            if last:
                room = end_of_frame(dut, rng, kind, size, meta, full)
                asked_at = cycle + 1
            before = next_cell
            await step(True)
            dut.word_valid.value = dut.end_valid.value = 0
            assert not lost or next_cell in (before, first), "a lost frame takes a cell"
            for _ in range(spacing - 1):
                await step(True)
        if silent:
            room = end_of_frame(dut, rng, kind, size, meta, full)
            asked_at = cycle + 1
            await step(True)
            dut.end_valid.value = 0
        for _ in range(3):
            await step(True)
        dut.room.value = 1
        ends.append((kind, asked_at))
        outcome = OVERFLOW if kind == GOOD and (lost or not room) else kind
        events = [(end, size_) for _, end, size_ in seen["event"]]
        if lost and kind != GOOD:
            assert events in ([(kind, size)], [(OVERFLOW, size)]), f"{events}, a lost frame of kind {kind}"
        else:
            assert events == [(outcome, size)], f"{events}, expected {(outcome, size)}"
        if outcome == GOOD:
            chain = (mine[0], mine[-1], len(mine))
            assert [a[1:] for a in seen["arrival"]] == [(*meta.values(), *chain)]
            assert seen["arrival"][0][0] == asked_at + 1, "one cycle after its end"
            assert not seen["rollback"]
            for n, value in enumerate(data):
                assert written[mine[n // 4], n % 4] == value, f"word {n} of {words}"
        else:
            assert not seen["arrival"]
            assert next_cell == first, f"cells from {first} to {next_cell} are lost"
            # the word that ends a frame that is not kept may, but need not, take a cell
            chains = [mine] + ([mine[:-1]] if not silent and words % 4 == 1 else [])
            allowed = [[(chain[0], chain[-1], len(chain))] if chain else [] for chain in chains]
            assert seen["rollback"] in allowed, f"{seen['rollback']}, expected one of {allowed}"
    assert not int(dut.busy.value)


def end_of_frame(dut: Any, rng: Any, kind: int, size: int, meta: dict[str, int], full: float) -> bool:
    """Drives `end`; whether the admission FIFO has room."""
    room = bool(rng.random() >= full)
    dut.room.value = int(room)
    dut.end_valid.value, dut.end_payload_kind.value, dut.end_payload_bytes.value = 1, kind, size
    for name, value in meta.items():
        getattr(dut, f"end_payload_meta_{name}").value = value
    return room


@pytest.mark.timeout(120)
def test_store() -> None:
    run_bench("Store", "test_store")

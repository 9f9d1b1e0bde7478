"""Trace records as CSV: one form for weirctl and weir-sim, and departures with the policy of their queue."""

from __future__ import annotations

import csv
import io
import random

import numpy as np
import pytest

import weir
from fake_core import POLICIES, FakeCore, RegisterFile
from weir import trace_csv
from weir.ctl import trace as ctl
from weir_sim import trace as sim


def words(kind: int, rng: random.Random) -> list[int]:
    """A record of a kind, all other bits at random but those of an action or ECN that no core writes."""
    found = [rng.getrandbits(32) for _ in range(12)]
    found[1] = found[1] & ~(0xF << 20) | kind << 20 | rng.randrange(3) << 22
    return found


def test_weirctl_and_weir_sim_write_the_same_lines() -> None:
    """Each by its own decoder: libweir's and that of numpy."""
    rng = random.Random(51)
    records = [words(n % 3, rng) for n in range(3000)]
    file = io.BytesIO()
    sim.write_csv_header(file)
    sim.write_csv(file, sim.decode(np.array(records, np.uint32)))
    ours = [trace_csv.line(*trace_csv.cells(weir.decode_trace(record))) for record in records]
    assert file.getvalue().decode().splitlines() == [trace_csv.HEADER, *ours]
    assert {len(line.split(",")) for line in ours} == {len(trace_csv.COLUMNS)}


def test_a_line_says_what_the_record_says() -> None:
    """By hand from docs/architecture.md, Trace: a mark of 1514 bytes, ECT(0), avg 40000.5, p 1/8, u 1/2."""
    arrival = [5, 2 << 16 | 0 << 20 | 1 << 22 | 1 << 24 | 2 << 28, 1514 | 1 << 16, 41000, 30 | 29 << 16,
               (40000 << 11) + (1 << 10), 0, 3, 1 << 29, 1 << 23, 7, 99]  # fmt: skip
    (row,) = csv.DictReader([trace_csv.HEADER, trace_csv.line(*trace_csv.cells(weir.decode_trace(arrival)))])
    assert {key: value for key, value in row.items() if value} == {
        "time_ns": "5", "kind": "arrival", "queue": "2", "action": "mark", "cause": "early", "ecn": "ect0", "length": "1514",
        "q_bytes": "41000", "q_packets": "30", "q_frames": "29", "avg": "40000.5", "count": "3", "p": "0.125", "u": "0.5",
        "idle_slots": "7", "seq": "99", "unit": "bytes", "policy": "red",
    }  # fmt: skip


@pytest.fixture
def device(register_map: RegisterFile) -> tuple[FakeCore, weir.Device]:
    core = FakeCore(register_map, policies=POLICIES)
    return core, weir.Device(core)


def test_departures_have_the_policy_of_their_queue(device: tuple[FakeCore, weir.Device]) -> None:
    """The record has none: it is the one that the latest arrival says, before that the one that is configured."""
    core, opened = device
    opened.queue_replace(0, "codel")
    opened.queue_replace(1, "red", unit="packets", min=5, max=15, limit=20)
    arrival, departure = (
        (lambda q, p, u: [0, q << 16, p << 16 | u << 20, *[0] * 9]),
        (lambda q: [0, q << 16 | 1 << 20, *[0] * 10]),
    )
    core.records.extend(
        [departure(0), departure(1), arrival(1, 6, 2), departure(1), departure(0), arrival(0, 4, 0), departure(0)]
    )
    found = [r for r in ctl.records(opened, 7, False) if r.kind == "departure"]
    assert [(r.queue, trace_csv.POLICIES[r.policy], trace_csv.UNITS[r.unit]) for r in found] == [
        (0, "codel", "bytes"), (1, "red", "packets"), (1, "pie", "frames"), (0, "codel", "bytes"), (0, "fn", "bytes"),
    ]  # fmt: skip

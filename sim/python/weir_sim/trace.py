"""Trace records (docs/architecture.md, Trace) as numpy arrays and as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from weir.trace_csv import COLUMNS, HEADER, STATE, line

Words = npt.NDArray[np.uint32]
Records = npt.NDArray[np.void]

ARRIVAL, DEPARTURE, TICK = 0, 1, 2
ACCEPT, MARK, DROP = 0, 1, 2
NONE, EARLY, FORCED, OVERFLOW, LINK_DOWN, FRONT, PARTIAL = range(7)
RECORD = np.dtype([
    ("time_ns", np.uint64), ("kind", np.uint8), ("queue", np.uint8), ("action", np.uint8), ("cause", np.uint8),
    ("ecn", np.uint8), ("exempt", np.uint8), ("marked", np.uint8), ("length", np.uint16), ("packets", np.uint16), ("policy", np.uint8),
    ("unit", np.uint8), ("q_bytes", np.uint32), ("q_packets", np.uint16), ("q_frames", np.uint16),
    ("avg", np.float64), ("count", np.uint16), ("p", np.float64), ("u", np.float64), ("idle_slots", np.uint32),
    ("sojourn_ns", np.uint64), ("seq", np.uint32), *((name, np.uint32) for name in STATE),
])  # fmt: skip
"""Fields of a decoded record. `avg` is the average in the queue's unit (red, isred, ared), the arrival rate in bytes per
2^20 ns (fn), p_C times 2^21 (pi2), else 0; `p` and `u` are probabilities; `count` and `idle_slots` are what the policy's
page says (fn: `idle_slots` is the packets in its window); `packets` those of an arrival that is a jumbo frame in transit, 0 of others. What a kind of record
does not have (avg, count, p, u, idle_slots of a departure; sojourn_ns and marked of an arrival; all but the time, the
queue, the policy and its state of a tick) is 0."""


def decode(words: Words) -> Records:
    """Decodes raw records.

    Args:
        words: array of shape (n, 12), 32-bit words as the trace port gives them.

    Returns:
        array of n elements of type RECORD.
    """
    w = words.astype(np.uint64)
    r = np.zeros(len(w), RECORD)
    r["time_ns"] = w[:, 0] | (w[:, 1] & 0xFFFF) << np.uint64(32)
    r["queue"] = w[:, 1] >> 16 & 0xF
    r["kind"] = w[:, 1] >> 20 & 3
    r["action"] = w[:, 1] >> 22 & 3
    r["cause"] = w[:, 1] >> 24 & 0xF
    r["ecn"] = w[:, 1] >> 28 & 3
    tick = r["kind"] == TICK
    r["length"] = np.where(tick, 0, w[:, 2] & 0x3FFF)
    r["packets"] = np.where(r["kind"] == ARRIVAL, w[:, 2] >> 22 & 0x1FF, 0)
    r["policy"] = np.where(r["kind"] == DEPARTURE, 0, w[:, 2] >> 16 & 0xF)
    r["unit"] = np.where(r["kind"] == ARRIVAL, w[:, 2] >> 20 & 3, 0)
    r["q_bytes"] = np.where(tick, 0, w[:, 3])
    r["q_packets"] = np.where(tick, 0, w[:, 4] & 0xFFFF)
    r["q_frames"] = np.where(tick, 0, w[:, 4] >> 16)
    r["seq"] = np.where(tick, 0, w[:, 11])
    for word, name in enumerate(STATE, 3):
        r[name] = np.where(tick, w[:, word], 0)
    arrival = r["kind"] == ARRIVAL
    r["exempt"] = np.where(arrival, w[:, 1] >> 30 & 1, 0)
    r["marked"] = np.where(arrival | tick, 0, w[:, 2] >> 14 & 1)
    r["avg"] = np.where(arrival, (w[:, 5] << np.uint64(11) | w[:, 6] >> np.uint64(21)) / 2.0**22, 0)
    r["count"] = np.where(arrival, w[:, 7] & 0xFFFF, 0)
    r["p"] = np.where(arrival, (w[:, 8] | (w[:, 1] >> np.uint64(31)) << np.uint64(32)) / 2.0**32, 0)
    r["u"] = np.where(arrival, (w[:, 9] & 0xFFFFFF) / 2.0**24, 0)
    r["idle_slots"] = np.where(arrival, w[:, 10] & 0x3FFFFF, 0)
    r["sojourn_ns"] = np.where(arrival | tick, 0, w[:, 5] | (w[:, 6] & 0xFFFF) << np.uint64(32))
    return r


def tell_policies(records: Records, queues: Mapping[int, tuple[int, int]]) -> None:
    """Departures say no policy and no unit: writes those of their queues, by number, into the records."""
    for queue, (policy, unit) in queues.items():
        chosen = (records["kind"] == DEPARTURE) & (records["queue"] == queue)
        records["policy"][chosen], records["unit"][chosen] = policy, unit


def write_csv_header(file: BinaryIO) -> None:
    """Writes the line of column names."""
    file.write(f"{HEADER}\n".encode())


def write_csv(file: BinaryIO, records: Records) -> None:
    """Writes records as lines of weir.trace_csv."""
    fields = [records[name].tolist() for name in COLUMNS]
    file.write("".join(f"{line(*cells)}\n" for cells in zip(*fields, strict=True)).encode())

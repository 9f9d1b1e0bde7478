"""Trace records (docs/architecture.md, Trace) as numpy arrays and as CSV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

import weir
from weir.trace_csv import ACTIONS, CAUSES, COLUMNS, HEADER, KINDS, STATE, line

Words = npt.NDArray[np.uint32]
Records = npt.NDArray[np.void]

ARRIVAL, DEPARTURE, TICK = map(KINDS.index, ("arrival", "departure", "tick"))
ACCEPT, MARK, DROP = map(ACTIONS.index, ("accept", "mark", "drop"))
NONE, EARLY, FORCED, OVERFLOW, LINK_DOWN, FRONT, PARTIAL = map(
    CAUSES.index, ("none", "early", "forced", "overflow", "link_down", "front", "partial")
)
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
    kind = _value(w, next(f for f in weir.trace_fields() if f.name == "kind"))
    for field in weir.trace_fields():
        fraction = 24 if field.name == "draw" else field.fraction
        value = _value(w, field)
        r[_OURS.get(field.name, field.name)] = np.where(
            np.isin(kind, field.kinds), value / 2.0**fraction if fraction else value, 0
        )
    for word, name in enumerate(STATE, 3):
        r[name] = np.where(kind == TICK, w[:, word], 0)
    return r


_OURS = {"bytes": "q_bytes", "packets": "q_packets", "frames": "q_frames", "average": "avg", "draw": "u", "number": "seq",
         "members": "packets"}  # fmt: skip
"""Fields of trace records that RECORD has under another name."""


def _value(words: npt.NDArray[np.uint64], field: weir.TraceField) -> npt.NDArray[np.uint64]:
    """A field of records whose words are the last axis."""
    value, above = np.zeros(len(words), np.uint64), 0
    for word, high, low in field.parts:
        part = words[:, word] >> np.uint64(low) & np.uint64((1 << (high - low + 1)) - 1)
        value |= part << np.uint64(above)
        above += high - low + 1
    return value


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

"""Trace records, and where their fields are: libweir's table, generated from TraceRecord.scala."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from ._config import _all, policy_of
from ._ffi import WeirError, ffi, lib, text


@dataclass(frozen=True)
class TraceRecord:
    """One decision (kind "arrival"), departure or tick; q is before an arrival, after a departure.

    `average_raw` is UQ21.22 and `p_raw` UQ1.32, `average` and `p` the same as numbers; `draw` is u * 2^24. The fields
    from `policy` to `idle_slots` belong to arrivals, `marked` and `sojourn_ns` to departures; they are 0 otherwise.
    Of kind "tick" are the records of a policy's periodic work: only `time_ns`, `queue`, `policy` and `state` count.
    """

    time_ns: int
    queue: int
    kind: str
    action: str
    cause: str
    ecn: int
    exempt: bool
    length: int
    bytes: int
    packets: int
    frames: int
    policy: int
    unit: int
    members: int
    average_raw: int
    average: float
    p_raw: int
    p: float
    count: int
    draw: int
    idle_slots: int
    marked: bool
    sojourn_ns: int
    number: int
    state: tuple[int, ...]


_NAMES = tuple(field.name for field in fields(TraceRecord))


@dataclass(frozen=True)
class TraceField:
    """Where a field of trace records is: `parts` are (word, high bit, low bit), the lowest first.

    `kinds` are the numbers of the kinds of record that have it, `fraction` the bits behind the binary point, `choices`
    the names of its values.
    """

    name: str
    kinds: tuple[int, ...]
    parts: tuple[tuple[int, int, int], ...]
    fraction: int
    choices: tuple[str, ...]
    help: str


def _field(f: Any) -> TraceField:
    return TraceField(
        text(f.name),
        tuple(n for n in range(4) if f.kinds >> n & 1),
        tuple((p.word, p.high, p.low) for p in f.parts[0 : f.part_count]),
        f.fraction,
        tuple(filter(None, text(f.choices).split("|"))),
        text(f.help),
    )


@cache
def trace_fields() -> tuple[TraceField, ...]:
    """Every field of trace records but the state that ticks of a policy tell."""
    return tuple(map(_field, _all(lib.weir_trace_field_at)))


@cache
def state_fields(policy: str) -> tuple[TraceField, ...]:
    """What ticks of a policy tell besides. Raises WeirError."""
    return tuple(map(_field, _all(lib.weir_state_field_at, policy_of(policy).id)))


@cache
def trace_choices(field: str) -> tuple[str, ...]:
    """Names of a field's values."""
    return next(f.choices for f in trace_fields() if f.name == field)


def _record(r: Any) -> TraceRecord:
    values = {name: getattr(r, name) for name in _NAMES}
    for name in ("kind", "action", "cause"):
        names, value = trace_choices(name), values[name]
        values[name] = names[value] if value < len(names) else str(value)
    for name in ("exempt", "marked"):
        values[name] = bool(values[name])
    values["state"] = tuple(r.state)
    return TraceRecord(**values)


def decode_trace(words: Sequence[int]) -> TraceRecord:
    """A record from its 12 words, word 0 first."""
    if len(words) != lib.WEIR_RECORD_WORDS:
        raise WeirError(-1, f"a trace record of {len(words)} words is out of range: it has {lib.WEIR_RECORD_WORDS}")
    record = ffi.new("struct weir_trace_record *")
    lib.weir_trace_decode(ffi.new("uint32_t[]", list(words)), record)
    return _record(record)

"""Trace records as CSV, for `weirctl trace --csv` and `weir-sim replay --trace` (docs/weirctl.md, Trace as CSV)."""

from __future__ import annotations

from typing import Any

import weir


def _names(field: str) -> tuple[str, ...]:
    """Names of a field's values, numbers for those without."""
    (found,) = (f for f in weir.trace_fields() if f.name == field)
    width = sum(high - low + 1 for _, high, low in found.parts)
    return (*found.choices, *map(str, range(len(found.choices), 1 << width)))


KINDS, ACTIONS, CAUSES, ECNS, UNITS = map(_names, ("kind", "action", "cause", "ecn", "unit"))
_ARRIVAL, _TICK = KINDS.index("arrival"), KINDS.index("tick")
_NAMES = {policy.id: policy.name for policy in weir.policies()}
POLICIES = tuple(_NAMES.get(n, str(n)) for n in range(16))
STATE = ("state0", "state1", "state2", "state3")
COLUMNS = (
    "time_ns", "kind", "queue", "action", "cause", "ecn", "length", "q_bytes", "q_packets", "q_frames", "avg",
    "count", "p", "u", "idle_slots", "sojourn_ns", "seq", "unit", "policy", *STATE,
)  # fmt: skip
HEADER = ",".join(COLUMNS)


def line(time_ns: int, kind: int, queue: int, action: int, cause: int, ecn: int, length: int, q_bytes: int,
         q_packets: int, q_frames: int, avg: float, count: int, p: float, u: float, idle_slots: int, sojourn_ns: int,
         seq: int, unit: int, policy: int, *state: int) -> str:  # fmt: skip
    """A record's cells in the order of COLUMNS: names for kind, action, cause, ecn, unit and policy, numbers for the rest.
    Cells that a kind of record does not have are empty."""
    if kind == _TICK:
        return f"{time_ns},{KINDS[kind]},{queue},,,,,,,,,,,,,,,,{POLICIES[policy]},{','.join(map(str, state))}"
    if kind == _ARRIVAL:
        own = f"{avg:.10g},{count},{p:.10g},{u:.10g},{idle_slots},"
    else:
        own = f",,,,,{sojourn_ns}"
    return (
        f"{time_ns},{KINDS[kind]},{queue},{ACTIONS[action]},{CAUSES[cause]},{ECNS[ecn]},{length},{q_bytes},"
        f"{q_packets},{q_frames},{own},{seq},{UNITS[unit]},{POLICIES[policy]},,,,"
    )


def cells(record: weir.TraceRecord) -> tuple[Any, ...]:
    """A record's numbers in the order of COLUMNS, for `line`."""
    r = record
    return (
        r.time_ns, KINDS.index(r.kind), r.queue, ACTIONS.index(r.action), CAUSES.index(r.cause), r.ecn, r.length,
        r.bytes, r.packets, r.frames, r.average, r.count, r.p, r.draw / (1 << 24), r.idle_slots, r.sojourn_ns,
        r.number, r.unit, r.policy, *r.state,
    )  # fmt: skip

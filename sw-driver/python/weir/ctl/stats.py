"""`weirctl stats`: counters as a table, as JSON, again and again; and in tc's words for `weirctl -s queue show`."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import weir

from . import text
from .context import Context
from .words import Words, seconds, whole

HELP = """\
weirctl stats [N]                          counters of all queues or of one, and of the core
weirctl stats --watch [SECONDS] [--count N]    again and again, N times, with what has happened since, per second of device time
weirctl -j stats                           everything as JSON: packets and bytes, histograms, live values

marked is what this core has marked CE. Packets that came CE and were selected are a row of their own: tc's `marked`, in
`weirctl -s queue show`, is both.
"""

#: Rows of the table: title, counters that are added up.
ROWS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("arrived", ("in_not_ect", "in_ect0", "in_ect1", "in_ce")),
    ("  not ECT", ("in_not_ect",)),
    ("  CE already", ("in_ce",)),
    ("sent", ("out",)),
    ("marked", ("marked", "head_marked")),
    ("selected, CE already", ("already_ce", "head_already_ce")),
    ("selected, let pass", ("nodrop",)),
    ("dropped early", ("early",)),
    ("dropped, forced", ("forced",)),
    ("dropped, overflow", ("overflow",)),
    ("dropped at the front", ("front",)),
    ("dropped out of jumbo frames", ("partial",)),
    ("dropped at departure", ("head_dropped",)),
    ("dropped, link down", ("link_down",)),
)
MARKED = ("marked", "head_marked")
#: tc's words (tc-red(8)): marks, early and certain drops by the policy, drops by the queue's limit, others. Linux counts a
#: selected packet as marked if it is CE when it leaves, also if it came so.
TC_MARKED = (*MARKED, "already_ce", "head_already_ce")
EARLY = ("early", "forced", "partial", "head_dropped")
PDROP = ("overflow", "front")
OTHER = ("link_down",)


def added(counters: weir.QueueCounters, names: Sequence[str]) -> weir.Count:
    """The sum of some counters."""
    counts = [getattr(counters, name) for name in names]
    return weir.Count(sum(c.packets for c in counts), sum(c.bytes for c in counts))


#: From, and below what, the packets of a bin waited, in ns; the last bin has no upper end.
Bounds = tuple[int, int | None]


def quantile(histogram: Sequence[int], share: float) -> Bounds | None:
    """The bin that has this share of the packets below its end; None without packets."""
    need, total = sum(histogram) * share, 0
    for b, packets in enumerate(histogram):
        total += packets
        if packets and total >= need:
            return 1 << b if b else 0, 2 << b if b + 1 < len(histogram) else None
    return None


def delay(bounds: Bounds | None) -> str:
    """The same for people: what it is below; of the last bin, where it begins."""
    if bounds is None:
        return "-"
    least, end = bounds
    return f"≥ {math.floor(least / 1e8) / 10:g}s" if end is None else f"< {text.about_ns(end)}"


def _numbers(counters: Any) -> Iterator[int]:
    for part in counters.values() if isinstance(counters, dict) else counters:
        if isinstance(part, int):
            yield part
        else:
            yield from _numbers(part)


def _rising(state: weir.State) -> Iterator[int]:
    """Every number of a state that falls by a reset alone."""
    core = {name: v for name, v in dataclasses.asdict(state.core).items() if name not in state.core.GAUGES}
    return _numbers((core, *(dataclasses.asdict(q) for q in state.queues)))


def began_anew(before: weir.State, after: weir.State) -> bool:
    """Whether a counter has gone back, as by a reset in between: then no difference of the two means anything."""
    return any(a > b for a, b in zip(_rising(before), _rising(after), strict=True))


def tc_lines(state: weir.State, queue: int) -> str:
    """What `tc -s qdisc show` says below a RED qdisc."""
    c, live = state.queues[queue], state.live[queue]
    marked, early, pdrop, other = (added(c, names).packets for names in (TC_MARKED, EARLY, PDROP, OTHER))
    dropped, overlimits = early + pdrop + other, marked + early + c.nodrop.packets
    return (
        f" Sent {c.out.bytes} bytes {c.out.packets} pkt (dropped {dropped}, overlimits {overlimits} requeues 0)\n"
        f" backlog {live.bytes}b {live.packets}p requeues 0\n"
        f"  marked {marked} early {early} pdrop {pdrop} other {other}"
    )


def describe(state: weir.State, queue: int) -> dict[str, Any]:
    """A queue's counters and live values, and the four words of tc."""
    c = state.queues[queue]
    words = {n: added(c, names).packets for n, names in
             (("marked", TC_MARKED), ("early", EARLY), ("pdrop", PDROP), ("other", OTHER))}  # fmt: skip
    return {"tc": words, "counters": dataclasses.asdict(c), "live": dataclasses.asdict(state.live[queue])}


def document(state: weir.State, queues: Sequence[int]) -> dict[str, Any]:
    """Everything, for JSON."""
    return {
        "time_ns": state.core_live.now_ns,
        "core": {**dataclasses.asdict(state.core), "live": dataclasses.asdict(state.core_live)},
        "queues": [{"queue": q, **describe(state, q)} for q in queues],
    }


def render(state: weir.State, queues: Sequence[int]) -> str:
    """The table: packets, and bytes below in the rows where they matter most."""
    rows = [["packets", *(f"queue {q}" for q in queues)]]
    for title, names in ROWS:
        counts = [added(state.queues[q], names) for q in queues]
        rows.append([title, *(f"{c.packets}" for c in counts)])
    for title, names in (("bytes arrived", ROWS[0][1]), ("bytes sent", ("out",))):
        rows.append([title, *(f"{added(state.queues[q], names).bytes}" for q in queues)])
    live = [state.live[q] for q in queues]
    rows.append(["waiting, packets", *(f"{v.packets}" for v in live)])
    rows.append(["waiting, bytes", *(f"{v.bytes}" for v in live)])
    rows.append(["peak, bytes", *(f"{v.peak_bytes}" for v in live)])
    rows.append(["average", *(f"{v.average:.1f}" for v in live)])
    rows += [[f"delay, {name}", *(delay(quantile(state.queues[q].sojourn, share)) for q in queues)]
             for name, share in (("median", 0.5), ("99 %", 0.99))]  # fmt: skip
    core, now = state.core, state.core_live
    lost = {
        n: getattr(core, n).packets
        for n in ("bad", "runt", "oversize", "malformed", "ingress_overflow", "split_discarded")
    }
    said = ", ".join(f"{n.replace('_', ' ')} {v}" for n, v in lost.items() if v) or "none refused"
    return (
        text.table(rows) + f"\n\ncore: received {core.rx.packets} packets ({said}), sent {core.tx.packets}; "
        f"{now.free_cells} cells free (least {now.free_cells_min}); link {'up' if now.link_up else 'DOWN'}; "
        f"held by the shaper {text.about_ns(core.throttled_ns)}"
        + (f"; {core.spaced} wait for their spacing" if core.spaced else "")
        + (f"; {core.trace_lost} trace records lost" if core.trace_lost else "")
    )


def rates(before: weir.State, after: weir.State, queues: Sequence[int]) -> str:
    """What happened between two states, per second of device time."""
    span = (after.core_live.now_ns - before.core_live.now_ns) % (1 << 48) / 1e9
    if began_anew(before, after):
        return "the counters began anew: a reset came in between"
    if span <= 0:
        return "no time has passed on the device"
    rows = [["per second", *(f"queue {q}" for q in queues)]]
    for title, names, in_bits in (("arrived", ROWS[0][1], True), ("sent", ("out",), True), ("marked", MARKED, False),
                                  ("dropped", EARLY + PDROP + OTHER, False)):  # fmt: skip
        cells = []
        for q in queues:
            a, b = added(after.queues[q], names), added(before.queues[q], names)
            more = f"{text.about((a.bytes - b.bytes) * 8 / span, 'bit')} " if in_bits else ""
            cells.append(more + text.about((a.packets - b.packets) / span, "p"))
        rows.append([title, *cells])
    rows.append(["waiting", *(f"{text.about_size(after.live[q].bytes)}" for q in queues)])
    return text.table(rows)


def run(context: Context, words: Words) -> int:
    """The verb."""
    device = context.device
    if words.peek() == "show":
        words.take("show")
    queues = [context.queue(words.take("queue"))] if words else list(range(device.capabilities.queues))
    words.end()
    pause = None if context.options.watch is None else seconds(context.options.watch, "--watch")
    count = None if context.options.count is None else whole(context.options.count, "--count", 1, 10**9)
    before = None
    while True:
        state = device.state()
        if context.options.json:
            context.json(document(state, queues))
        elif before is None:
            context.say(render(state, queues))
        else:
            context.say("\n" + rates(before, state, queues))
        if pause is None or (count is not None and (count := count - 1) <= 0):
            return 0
        before = state
        time.sleep(pause)

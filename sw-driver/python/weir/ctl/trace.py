"""`weirctl trace`: decisions, departures and ticks, one by one."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import weir
from weir import trace_csv

from . import text
from .context import Context
from .errors import Ended, Refusal
from .interrupt import interrupted_quits
from .words import Words, whole

HELP = """\
weirctl trace [N]                          the next 100 records, of all queues or of one
weirctl trace --count N | --follow         more, or without end
weirctl trace --csv | -j                   as CSV, or a JSON object a line
weirctl trace [N] --plot F.png             a picture (.svg, .pdf): queue, average, verdicts (1000 records; needs matplotlib)

The trace is on meanwhile, and afterwards as it was before. The device keeps a few records until they are read and
counts the others as lost (weirctl stats). Some small builds have no trace.
"""
_TRACE_CTRL = 0x060
_QUIET_S = 3.0
_ECNS = ("-", "ECT1", "ECT0", "CE")


@contextmanager
def _tracing(device: weir.Device, queue: int | None) -> Iterator[None]:
    device.trace_level()  # refuses a core without a trace
    before = device.register_read(_TRACE_CTRL)
    if not before & 1:
        for _ in device.trace():  # what an earlier trace has left
            pass
    device.trace_enable(queues=None if queue is None else [queue])
    try:
        yield
    finally:
        device.trace_enable(
            enable=bool(before & 1),
            queues=[q for q in range(device.capabilities.queues) if before >> (8 + q) & 1],
            arrivals=bool(before & 2),
            departures=bool(before & 4),
            ticks=bool(before & 8),
        )


def records(device: weir.Device, count: float, patient: bool) -> Iterator[weir.TraceRecord]:
    """Records as they come; ends after `count`, or when none has come for some time.

    Departures have the policy and the unit of their queue: those of its latest arrival, at first as it is configured.
    """
    quiet = time.monotonic()
    decided: dict[int, tuple[int, int]] = {}
    while count > 0:
        for record in device.trace():
            quiet = time.monotonic()
            if record.kind == "arrival":
                decided[record.queue] = record.policy, record.unit
            elif record.kind == "departure":
                if record.queue not in decided:
                    decided[record.queue] = _configured(device, record.queue)
                policy, unit = decided[record.queue]
                record = dataclasses.replace(record, policy=policy, unit=unit)
            yield record
            count -= 1
            if count <= 0:
                return
        if not patient and time.monotonic() - quiet > _QUIET_S:
            return
        time.sleep(0.01)


def _configured(device: weir.Device, queue: int) -> tuple[int, int]:
    """Numbers of a queue's policy and unit, as trace records have them."""
    shown = device.queue_show(queue)
    return weir.policy_of(shown["policy"]).id, trace_csv.UNITS.index(shown["unit"])


def line(r: weir.TraceRecord) -> str:
    """A record for people."""
    head = f"{r.time_ns / 1e3:14.3f}us  queue {r.queue}  {r.kind:<9}"
    if r.kind == "tick":
        return f"{head} state {' '.join(f'0x{word:08X}' for word in r.state)}"
    verdict = r.action if r.cause == "none" else f"{r.action} {r.cause}"
    body = f" {verdict:<14} {r.length:>4}b {_ECNS[r.ecn & 3]:<4} q {r.bytes}b {r.packets}p"
    if r.kind == "departure":
        return f"{head}{body} delay {text.about_ns(r.sojourn_ns)}"
    return f"{head}{body} avg {r.average:.1f} p {r.p:.5f} u {r.draw / (1 << 24):.5f} count {r.count}"


def run(context: Context, words: Words) -> int:
    """The verb."""
    options, device = context.options, context.device
    queue = context.queue(words.take("queue")) if words else None
    words.end()
    usual = 1000 if options.plot else 100
    count = usual if options.count is None else whole(options.count, "--count", 1, 10**9)
    if options.plot:
        return _plot(context, 0 if queue is None else queue, count)
    if options.csv:
        context.say(trace_csv.HEADER)
    seen = 0
    with _tracing(device, queue):
        for record in records(device, math.inf if options.follow else count, options.follow):
            seen += 1
            if options.csv:
                print(trace_csv.line(*trace_csv.cells(record)))
            elif options.json:
                print(json.dumps(dataclasses.asdict(record)))
            else:
                print(line(record))
    if seen < count and not options.follow:
        raise Ended(0, f"no more records for {_QUIET_S:g} s; is there traffic?")
    return 0


def _plot(context: Context, queue: int, count: int) -> int:
    try:
        with interrupted_quits("weirctl"):
            import numpy as np

            from weir_sim import plot, trace
            from weir_sim.errors import UsageError
            from weir_sim.files import Outputs, is_stdout
    except ImportError as error:
        raise Refusal(
            f"--plot needs weir_sim, numpy and matplotlib; in a clone: pip install '.[sim]' ({error})"
        ) from None
    place = Path(str(context.options.plot))
    if not place.resolve().parent.is_dir():
        raise Refusal(f"{place}: the directory does not exist")
    try:
        kind = plot.kind(place)
    except UsageError as error:
        raise Refusal(str(error)) from None
    device = context.device
    shown = device.queue_show(queue)
    policy = weir.policy_of(shown["policy"])
    with _tracing(device, queue):
        found = list(records(device, count, False))
    if not found:
        raise Ended(1, f"no records for {_QUIET_S:g} s, so no picture; is there traffic?")
    array = np.zeros(len(found), trace.RECORD)
    for i, name in enumerate(trace_csv.COLUMNS):
        array[name] = [trace_csv.cells(r)[i] for r in found]
    array["marked"] = [r.marked for r in found]
    unit = trace_csv.UNITS.index(shown["unit"])
    history = plot.History(queue, unit)
    history.add(array)
    thresholds = [(n, float(shown[n])) for n in ("min", "max", "threshold") if isinstance(shown.get(n), (int, float))]
    below = plot.below(policy.plot, shown)
    title = f"queue {queue}: {policy.name}"
    with_average = policy.plot == "average"
    with Outputs() as outputs:
        plot.draw(outputs.open(place), history, title, context.uri, thresholds, with_average, below, kind)
    if not is_stdout(place):  # no text into a picture
        context.say(f"{place}: {len(found)} records")
    return 0

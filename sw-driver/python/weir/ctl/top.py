"""`weirctl top`: all queues, live."""

from __future__ import annotations

import json
import os
import select
import shutil
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import weir

from . import stats, text
from .context import Context
from .words import Words, seconds, whole

HELP = """\
weirctl top [--interval SECONDS] [--count N]   limit, q, average, probability, rates, marks, drops, delay of all queues
weirctl -j top                                 a JSON object a line

limit is what the queue was given, q what waits: sizes count by 1024 here too (400KB). Rates are per second of device
time. p is RED's probability at the live average, before it is spread; other policies do not show theirs in a register
(weirctl trace does). Marks are what this core has marked CE, without packets that came CE. q or Ctrl-C ends. Without a
terminal, and with TERM=dumb, the pictures follow each other. A narrow terminal leaves packets, out, in, delay, policy
and limit out, in this order.
"""


def red_probability(shown: Mapping[str, Any], average: float) -> float | None:
    """RED's p_b at an average (algorithm of Floyd and Jacobson 1993, gentle by Floyd 2000); None for other policies.

    ARED moves max_p; its p is not known from its registers.
    """
    if shown["policy"] not in ("red", "isred"):
        return None
    low, high, most = shown["min"], shown["max"], shown["probability"]
    if average < low:
        return 0.0
    if average < high:
        return float(most * (average - low) / (high - low))
    if shown["gentle"] and average < 2 * high:
        return float(most + (1 - most) * (average - high) / high)
    return 1.0


def look(before: weir.State | None, now: weir.State, shown: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """One look at all queues, as `-j top` prints it. Rates are None at the first look and after a reset."""
    anew = before is not None and stats.began_anew(before, now)
    span = 0.0
    if before is not None and not anew:
        span = (now.core_live.now_ns - before.core_live.now_ns) % (1 << 48) / 1e9

    def rate(queue: int, names: Sequence[str], of: str, factor: int) -> float | None:
        if before is None or span <= 0:
            return None
        a, b = (getattr(stats.added(state.queues[queue], names), of) for state in (now, before))
        return float((a - b) * factor / span)

    queues = []
    for queue, configured in shown.items():
        live, recent = now.live[queue], now.queues[queue].sojourn
        if before is not None and not anew:
            recent = tuple(a - b for a, b in zip(recent, before.queues[queue].sojourn, strict=True))
        unit = configured["unit"]
        queues.append({
            "queue": queue, "policy": configured["policy"], "unit": unit,
            "limit": configured["limit_bytes" if unit == "bytes" else "limit_packets"], "bytes": live.bytes,
            "packets": live.packets, "average": live.average, "probability": red_probability(configured, live.average),
            "in_bit_s": rate(queue, stats.ROWS[0][1], "bytes", 8), "out_bit_s": rate(queue, ("out",), "bytes", 8),
            "marks_s": rate(queue, stats.MARKED, "packets", 1),
            "drops_s": rate(queue, stats.EARLY + stats.PDROP + stats.OTHER, "packets", 1),
            "delay_99_ns": stats.quantile(recent, 0.99),
        })  # fmt: skip
    core = now.core_live
    return {
        "time_ns": core.now_ns,
        "free_cells": core.free_cells,
        "link_up": core.link_up,
        "began_anew": anew,
        "queues": queues,
    }


#: Columns, and their usual widths, so that they do not come and go with the values.
_COLUMNS = {"": 8, "policy": 9, "limit": 6, "q": 6, "packets": 7, "avg": 6, "p": 6, "in": 7, "out": 7,
            "marks/s": 7, "drops/s": 7, "delay 99%": 9}  # fmt: skip
#: Columns that a narrow terminal does without, the first of them first.
_SPARED = ("packets", "out", "in", "delay 99%", "policy", "limit")
_GAP = 2


def _fitting(rows: list[list[str]], width: int | None) -> list[list[str]]:
    """The columns for which there is room."""
    widths = {n: max(usual, *(len(row[i]) for row in rows)) for i, (n, usual) in enumerate(_COLUMNS.items())}
    for name in _SPARED:
        if width is None or sum(widths.values()) + _GAP * (len(widths) - 1) <= width:
            break
        del widths[name]
    kept = [i for i, name in enumerate(_COLUMNS) if name in widths]
    return [[row[i] for i in kept] for row in rows]


def _or_dash(value: Any, shown: Callable[[Any], str]) -> str:
    return "-" if value is None else shown(value)


def _bits(value: float) -> str:
    return text.about(value, "bit")


def picture(seen: Mapping[str, Any], width: int | None = None) -> str:
    """The table for one look, in `width` columns."""
    rows = [list(_COLUMNS)]
    for q in seen["queues"]:
        in_bytes = q["unit"] == "bytes"
        average = text.about_size if in_bytes and q["policy"] != "fn" else text.about
        rows.append([
            f"queue {q['queue']}", q["policy"], text.about_size(q["limit"]) if in_bytes else f"{q['limit']}p",
            text.about_size(q["bytes"]), str(q["packets"]), average(round(q["average"], 1)),
            _or_dash(q["probability"], "{:.4f}".format), _or_dash(q["in_bit_s"], _bits), _or_dash(q["out_bit_s"], _bits),
            _or_dash(q["marks_s"], text.about), _or_dash(q["drops_s"], text.about), stats.delay(q["delay_99_ns"]),
        ])  # fmt: skip
    state = f"{seen['free_cells']} cells free, link {'up' if seen['link_up'] else 'DOWN'}"
    anew = "; the counters began anew" if seen["began_anew"] else ""
    return f"device time {seen['time_ns'] / 1e9:.6f} s, {state}{anew}\n\n{text.table(_fitting(rows, width))}"


@contextmanager
def _screen(real: bool) -> Iterator[None]:
    """The terminal's other screen, without a cursor and line by line input."""
    if not real:
        yield
        return
    old = termios.tcgetattr(sys.stdin)
    sys.stdout.write("\x1b[?1049h\x1b[?25l")
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, old)
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()


def _asked_to_end(real: bool, pause: float) -> bool:
    if not real:
        time.sleep(pause)
        return False
    ready, _, _ = select.select([sys.stdin], [], [], pause)
    return bool(ready) and os.read(sys.stdin.fileno(), 64)[:1] in (b"q", b"Q", b"")


def run(context: Context, words: Words) -> int:
    """The verb."""
    words.end()
    device, options = context.device, context.options
    pause = seconds(options.interval or options.watch or "1", "--interval")
    count = None if options.count is None else whole(options.count, "--count", 1, 10**9)
    dumb = os.environ.get("TERM") in (None, "", "dumb")
    real = not (dumb or options.json) and sys.stdin.isatty() and sys.stdout.isatty()
    before = None
    generation, shown = None, {}
    with _screen(real):
        while True:
            now = device.state()
            if now.core_live.generation != generation:
                generation = now.core_live.generation
                shown = {q: device.queue_show(q) for q in range(device.capabilities.queues)}
            size = shutil.get_terminal_size()
            seen = look(before, now, shown)
            drawn = picture(seen, size.columns if real else None)
            if options.json:
                context.say(json.dumps(seen))
            elif real:
                lines = [f"weirctl top  {context.uri}  (q ends)", *drawn.splitlines()]
                drawn = "\n".join(line[: size.columns] for line in lines[: size.lines - 1])
                sys.stdout.write("\x1b[H\x1b[2J" + drawn.replace("\n", "\r\n"))
                sys.stdout.flush()
            else:
                context.say(drawn + "\n")
            before = now
            if (count is not None and (count := count - 1) <= 0) or _asked_to_end(real, pause):
                return 0

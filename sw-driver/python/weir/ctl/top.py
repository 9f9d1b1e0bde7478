"""`weirctl top`: all queues, live."""

from __future__ import annotations

import os
import select
import shutil
import sys
import termios
import time
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import weir

from . import stats, text
from .context import Context
from .words import Words, seconds, whole

HELP = """\
weirctl top [--interval SECONDS] [--count N]   q, average, probability, rates, marks, drops and delay of every queue

Rates are per second of device time. p is RED's probability at the live average, before it is spread; other policies
do not show theirs in a register (weirctl trace does). q or Ctrl-C ends. Without a terminal, and with
TERM=dumb, the pictures follow each other. A narrow terminal leaves packets, out, in and delay out, in this order.
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


#: Columns, and their usual widths, so that they do not come and go with the values.
_COLUMNS = {"": 8, "policy": 9, "q": 6, "packets": 7, "avg": 6, "p": 6, "in": 7, "out": 7, "marks/s": 7, "drops/s": 7,
            "delay 99%": 9}  # fmt: skip
#: Columns that a narrow terminal does without, the first of them first.
_SPARED = ("packets", "out", "in", "delay 99%", "policy")
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


def picture(
    before: weir.State | None, now: weir.State, shown: Mapping[int, Mapping[str, Any]], width: int | None = None
) -> str:
    """The table for one look, in `width` columns."""
    rows = [list(_COLUMNS)]
    span = 0.0
    if before is not None:
        span = (now.core_live.now_ns - before.core_live.now_ns) % (1 << 48) / 1e9

    def rate(queue: int, names: tuple[str, ...], in_bits: bool) -> str:
        if before is None or span <= 0:
            return "-"
        a, b = stats.added(now.queues[queue], names), stats.added(before.queues[queue], names)
        return (
            text.about((a.bytes - b.bytes) * 8 / span, "bit") if in_bits else text.about((a.packets - b.packets) / span)
        )

    for queue, configured in shown.items():
        live, p = now.live[queue], red_probability(configured, now.live[queue].average)
        recent = now.queues[queue].sojourn
        if before is not None:
            recent = tuple(a - b for a, b in zip(recent, before.queues[queue].sojourn, strict=True))
        delay = stats.quantile(recent, 0.99) if min(recent) >= 0 else None
        rows.append([
            f"queue {queue}", configured["policy"], text.about(live.bytes, "B"), str(live.packets),
            text.about(round(live.average, 1)), "-" if p is None else f"{p:.4f}", rate(queue, stats.ROWS[0][1], True),
            rate(queue, ("out",), True), rate(queue, stats.MARKED, False),
            rate(queue, stats.EARLY + stats.PDROP + stats.OTHER, False), "-" if delay is None else f"< {text.about_ns(delay)}",
        ])  # fmt: skip
    core = now.core_live
    return (
        f"device time {core.now_ns / 1e9:.6f} s, {core.free_cells} cells free, link {'up' if core.link_up else 'DOWN'}\n\n"
        + text.table(_fitting(rows, width))
    )


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
    real = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
    before = None
    generation, shown = None, {}
    with _screen(real):
        while True:
            now = device.state()
            if now.core_live.generation != generation:
                generation = now.core_live.generation
                shown = {q: device.queue_show(q) for q in range(device.capabilities.queues)}
            size = shutil.get_terminal_size()
            drawn = picture(before, now, shown, size.columns if real else None)
            if real:
                lines = [f"weirctl top  {context.uri}  (q ends)", *drawn.splitlines()]
                drawn = "\n".join(line[: size.columns] for line in lines[: size.lines - 1])
                sys.stdout.write("\x1b[H\x1b[2J" + drawn.replace("\n", "\r\n"))
                sys.stdout.flush()
            else:
                context.say(drawn + "\n")
            before = now
            if (count is not None and (count := count - 1) <= 0) or _asked_to_end(real, pause):
                return 0

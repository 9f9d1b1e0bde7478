"""The picture of a replay: queue, average, thresholds and verdicts over time."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .trace import ARRIVAL, DROP, EARLY, FORCED, MARK, OVERFLOW, Records

BINS = 1600
"""Longer traces are drawn as the span of values in each of so many steps of time."""

COLOURS = {"q": "#7fb2dd", "avg": "#12395b", "threshold": "#8a8f98", "text": "#20262e"}


@dataclass(frozen=True)
class Verdict:
    """A lane of verdicts below the curves."""

    name: str
    colour: str
    action: int
    cause: int | None


VERDICTS = (
    Verdict("marked CE", "#2a9d6f", MARK, None),
    Verdict("early drop", "#e08a1e", DROP, EARLY),
    Verdict("forced drop", "#c8372d", DROP, FORCED),
    Verdict("overflow", "#5b2a86", DROP, OVERFLOW),
)

_QUANTITIES = ("q_bytes", "q_packets", "q_frames")


def _levels(records: Records) -> npt.NDArray[np.float64]:
    """The queue in its unit after each record: an arrival tells what it found, so what it adds is added here."""
    unit = records["unit"].astype(np.int64)
    found = np.choose(np.minimum(unit, 2), [records[name].astype(np.float64) for name in _QUANTITIES])
    queued = (records["kind"] == ARRIVAL) & (records["action"] != DROP)
    return found + np.where(queued, np.where(unit == 0, records["length"], 1), 0)


@dataclass
class History:
    """What the picture needs of a trace, collected piece by piece for one queue.

    `unit` is the queue's: 0 bytes, 1 packets, 2 frames.
    """

    queue: int
    unit: int
    _levels: list[tuple[npt.NDArray[Any], ...]] = field(default_factory=list)
    _arrivals: list[tuple[npt.NDArray[Any], ...]] = field(default_factory=list)

    def add(self, records: Records) -> None:
        """Takes what concerns this queue out of `records`."""
        mine = records[records["queue"] == self.queue].copy()
        mine["unit"] = self.unit
        order = np.argsort(mine["time_ns"], kind="stable")
        self._levels.append((mine["time_ns"][order], _levels(mine)[order]))
        arrivals = mine[mine["kind"] == ARRIVAL]
        self._arrivals.append(tuple(arrivals[name].copy() for name in ("time_ns", "avg", "action", "cause")))

    def levels(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Times in ns, and the queue from each of them on."""
        time, level = (np.concatenate(c) for c in zip(*self._levels, strict=True)) if self._levels else ([], [])
        return np.asarray(time, np.float64), np.asarray(level, np.float64)

    def arrivals(self) -> tuple[npt.NDArray[Any], ...]:
        """Times in ns, averages, actions and causes of all arrivals."""
        if not self._arrivals:
            return (np.empty(0),) * 4
        return tuple(np.concatenate(c) for c in zip(*self._arrivals, strict=True))


def _scale(largest: float, unit: int) -> tuple[float, str]:
    if unit != 0:
        return 1.0, ("packets", "frames")[unit - 1]
    if largest >= 20 * 1024 * 1024:
        return 1024.0 * 1024.0, "MiB"
    return (1024.0, "KiB") if largest >= 10 * 1024 else (1.0, "bytes")


def _time_scale(span_ns: float) -> tuple[float, str]:
    for factor, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if span_ns >= 2 * factor:
            return factor, name
    return 1.0, "ns"


def _bins(time: npt.NDArray[np.float64], start: float, span: float) -> tuple[Any, Any]:
    """The index of the first value in each step of time that has one, and the middle of that step in ns."""
    place = np.minimum(((time - start) * (BINS / span)).astype(np.int64), BINS - 1)
    first = np.flatnonzero(np.diff(place, prepend=-1))
    return first, (place[first] + 0.5) * (span / BINS)


def draw(
    path: str | os.PathLike[str],
    history: History,
    title: str,
    subtitle: str = "",
    thresholds: Sequence[tuple[str, float]] = (),
    with_average: bool = True,
) -> None:
    """Writes the picture of a queue as PNG.

    Args:
        path: the file to write.
        history: what happened at the queue.
        title: one line above the picture.
        subtitle: smaller text below it, broken into lines where needed.
        thresholds: horizontal lines, as (label, value in the queue's unit).
        with_average: draw the average as well; Drop-Tail has none.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    q_time, q = history.levels()
    time, average, action, cause = history.arrivals()
    time = time.astype(np.float64)
    start = q_time[0] if len(q_time) else 0.0
    span = max(q_time[-1] - start if len(q_time) else 0.0, 1.0)
    per_time, time_unit = _time_scale(span)
    largest = max([q.max(initial=1), *(value for _, value in thresholds)])
    per_q, q_unit = _scale(largest, history.unit)

    with plt.rc_context({
        "font.family": "DejaVu Sans", "font.size": 10, "axes.edgecolor": "#c5cad1", "axes.labelcolor": COLOURS["text"],
        "text.color": COLOURS["text"], "xtick.color": COLOURS["text"], "ytick.color": COLOURS["text"],
    }):  # fmt: skip
        figure, (top, lanes) = plt.subplots(
            2, 1, figsize=(11, 6), sharex=True, height_ratios=(5, 1.15), layout="constrained"
        )
        if len(q_time) > 4 * BINS:
            first, centre = _bins(q_time, start, span)
            # what held at the beginning of a bin counts in it
            before = np.maximum(first - 1, 0)
            low = np.minimum(np.minimum.reduceat(q, first), q[before])
            high = np.maximum(np.maximum.reduceat(q, first), q[before])
            top.fill_between(
                centre / per_time, low / per_q, high / per_q, color=COLOURS["q"], linewidth=0.8, label="queue",
                step="mid", zorder=2,
            )  # fmt: skip
        else:
            x = (q_time - start) / per_time
            top.step(x, q / per_q, where="post", color=COLOURS["q"], linewidth=1.1, label="queue", zorder=2)
        if len(time) > 4 * BINS:
            first, centre = _bins(time, start, span)
            sizes = np.diff(first, append=len(time))
            curve = (centre / per_time, np.add.reduceat(average, first) / sizes / per_q)
        else:
            curve = ((time - start) / per_time, average / per_q)
        if with_average:
            top.plot(*curve, color=COLOURS["avg"], linewidth=1.7, label="average", zorder=3)
        for label, value in thresholds:
            top.axhline(value / per_q, color=COLOURS["threshold"], linewidth=1, linestyle=(0, (5, 4)), zorder=1)
            top.annotate(
                label, (1.0, value / per_q), xycoords=("axes fraction", "data"), xytext=(5, 0),
                textcoords="offset points", va="center", fontsize=9, color="#5b616b",
            )  # fmt: skip
        top.set_ylim(0, largest / per_q * 1.06)
        top.set_xlim(0, span / per_time)
        top.set_ylabel(f"queue ({q_unit})")
        figure.suptitle(title, x=0.012, ha="left", fontsize=12, fontweight="bold")
        if subtitle:
            lines = "\n".join(textwrap.wrap(subtitle, 110))
            top.set_title(lines, loc="left", fontsize=9, color="#5b616b", pad=8)
        if len(time):
            top.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, fontsize=9, borderaxespad=0.2)
        names = []
        for row, verdict in enumerate(VERDICTS):
            chosen = action == verdict.action
            if verdict.cause is not None:
                chosen &= cause == verdict.cause
            count = int(chosen.sum())
            ticks = np.unique(((time[chosen] - start) * (BINS / span)).astype(np.int64)) * (span / BINS) / per_time
            lanes.vlines(ticks, row - 0.36, row + 0.36, color=verdict.colour, linewidth=0.9, alpha=0.9)
            names.append(f"{verdict.name}  {count:,}")
        lanes.set_yticks(range(len(VERDICTS)), names)
        for text, verdict in zip(lanes.get_yticklabels(), VERDICTS, strict=True):
            text.set_color(verdict.colour)
        lanes.set_ylim(len(VERDICTS) - 0.5, -0.5)
        lanes.set_xlabel(f"time ({time_unit})")
        for axes in (top, lanes):
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="x", color="#e7eaee", linewidth=0.8)
            axes.set_axisbelow(True)
            axes.tick_params(length=0)
        top.grid(axis="y", color="#eef0f3", linewidth=0.8)
        figure.savefig(path, dpi=130, format="png")
        plt.close(figure)

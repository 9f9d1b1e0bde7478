"""The picture of a replay: queue, average, thresholds and verdicts over time."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from .files import check_ending, is_stdout
from .trace import ACCEPT, ARRIVAL, DEPARTURE, DROP, EARLY, FORCED, FRONT, MARK, OVERFLOW, TICK, Records

BINS = 1600
"""Longer traces are drawn as the span of values in each of so many steps of time."""

COLOURS = {"q": "#7fb2dd", "avg": "#12395b", "below": "#5d7f2f", "threshold": "#8a8f98", "text": "#20262e"}


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
    Verdict("front drop", "#7a5c3a", DROP, FRONT),
)
RARE = ("front drop",)
"""Lanes that are drawn only if there is something in them."""


@dataclass(frozen=True)
class Below:
    """A curve below the queue, for policies without an average: "p", the probability at each arrival, or "sojourn", the
    time in the queue of each packet that left; `target_ns` is drawn as a line."""

    curve: str
    target_ns: float | None = None


def below(shown: str, config: Mapping[str, Any]) -> Below | None:
    """The curve of a policy that shows this (weir.Policy.plot), in a queue with this configuration."""
    if shown == "p":
        return Below("p")
    return Below("sojourn", float(config["target"]) * 1e3) if shown == "sojourn" else None


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
    _verdicts: list[tuple[npt.NDArray[Any], ...]] = field(default_factory=list)
    _departures: list[tuple[npt.NDArray[Any], ...]] = field(default_factory=list)

    def add(self, records: Records) -> None:
        """Takes what concerns this queue out of `records`."""
        mine = records[(records["queue"] == self.queue) & (records["kind"] != TICK)].copy()
        mine["unit"] = self.unit
        order = np.argsort(mine["time_ns"], kind="stable")
        self._levels.append((mine["time_ns"][order], _levels(mine)[order]))
        arrivals = mine[mine["kind"] == ARRIVAL]
        self._arrivals.append(tuple(arrivals[name].copy() for name in ("time_ns", "avg", "p")))
        at_departure = mine["kind"] == DEPARTURE
        # what a policy drops at departure is dropped for certain, whatever it calls it
        by_policy = at_departure & ((mine["cause"] == EARLY) | (mine["cause"] == FORCED))
        mine["cause"] = np.where(by_policy & (mine["action"] == DROP), FORCED, mine["cause"])
        # a departure without a cause of the policy may be of a packet that was marked at its arrival
        verdict = np.where(at_departure, by_policy | (mine["cause"] == FRONT), mine["action"] != ACCEPT)
        decided = mine[verdict & (mine["action"] != ACCEPT)]
        self._verdicts.append(tuple(decided[name].copy() for name in ("time_ns", "action", "cause")))
        left = mine[at_departure & (mine["action"] != DROP)]
        self._departures.append(tuple(left[name].copy() for name in ("time_ns", "sojourn_ns")))

    def levels(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Times in ns, and the queue from each of them on."""
        time, level = (np.concatenate(c) for c in zip(*self._levels, strict=True)) if self._levels else ([], [])
        return np.asarray(time, np.float64), np.asarray(level, np.float64)

    def arrivals(self) -> tuple[npt.NDArray[Any], ...]:
        """Times in ns, averages and probabilities of all arrivals."""
        return _joined(self._arrivals, 3)

    def verdicts(self) -> tuple[npt.NDArray[Any], ...]:
        """Times in ns, actions and causes of all marks and drops."""
        return _joined(self._verdicts, 3)

    def departures(self) -> tuple[npt.NDArray[Any], ...]:
        """Times in ns and sojourn times in ns of the packets that left."""
        return _joined(self._departures, 2)


def _joined(pieces: list[tuple[npt.NDArray[Any], ...]], columns: int) -> tuple[npt.NDArray[Any], ...]:
    if not pieces:
        return (np.empty(0),) * columns
    return tuple(np.concatenate(c) for c in zip(*pieces, strict=True))


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


def _chosen(verdict: Verdict, action: npt.NDArray[Any], cause: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    chosen: npt.NDArray[np.bool_] = action == verdict.action
    return chosen if verdict.cause is None else chosen & (cause == verdict.cause)


def _mean_curve(
    time: npt.NDArray[np.float64], value: npt.NDArray[Any], start: float, span: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Times in ns from `start` and values; of a long row, the means of steps of time."""
    if len(time) <= 4 * BINS:
        return time - start, value.astype(np.float64)
    first, centre = _bins(time, start, span)
    return centre, np.add.reduceat(value.astype(np.float64), first) / np.diff(first, append=len(time))


def _below(below: Below, history: History, start: float, span: float) -> tuple[Any, Any, str]:
    """The second curve: times in ns from `start`, values, and the label of the axis."""
    if below.curve == "p":
        time, _, value = history.arrivals()
        return *_mean_curve(time.astype(np.float64), value, start, span), "probability"
    time, sojourn = history.departures()
    return *_mean_curve(time.astype(np.float64), sojourn / 1e6, start, span), "sojourn (ms)"


def kind(place: str | os.PathLike[str]) -> str:
    """What a picture is to be, by the ending of its name: png, svg or pdf; png for a stream or a device.

    Raises:
        UsageError: the name has another ending.
    """
    path = Path(place)
    if is_stdout(path) or (path.exists() and not path.is_file()):
        return "png"
    check_ending(path, "picture")
    return path.suffix.lower().removeprefix(".")


def draw(
    place: str | os.PathLike[str] | IO[bytes],
    history: History,
    title: str,
    subtitle: str = "",
    thresholds: Sequence[tuple[str, float]] = (),
    with_average: bool = True,
    below: Below | None = None,
    kind: str = "png",
) -> None:
    """Writes the picture of a queue.

    Args:
        place: the file to write, or its path.
        history: what happened at the queue.
        title: one line above the picture.
        subtitle: smaller text below it, broken into lines where needed.
        thresholds: horizontal lines, as (label, value in the queue's unit).
        with_average: draw the average as well; only the RED family has one.
        below: a second curve below the queue.
        kind: png, svg or pdf.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    q_time, q = history.levels()
    time, average, probability = history.arrivals()
    time = time.astype(np.float64)
    verdict_time, action, cause = history.verdicts()
    verdicts = [v for v in VERDICTS if v.name not in RARE or bool(_chosen(v, action, cause).any())]
    start = q_time[0] if len(q_time) else 0.0
    span = max(q_time[-1] - start if len(q_time) else 0.0, 1.0)
    per_time, time_unit = _time_scale(span)
    largest = max([q.max(initial=1), *(value for _, value in thresholds)])
    per_q, q_unit = _scale(largest, history.unit)

    with plt.rc_context({
        "font.family": "DejaVu Sans", "font.size": 10, "axes.edgecolor": "#c5cad1", "axes.labelcolor": COLOURS["text"],
        "text.color": COLOURS["text"], "xtick.color": COLOURS["text"], "ytick.color": COLOURS["text"],
    }):  # fmt: skip
        heights = (5, 1.15) if below is None else (4, 1.6, 1.15)
        figure, axes_of = plt.subplots(
            len(heights), 1, figsize=(11, 6 if below is None else 7), sharex=True, height_ratios=heights,
            layout="constrained",
        )  # fmt: skip
        top, lanes = axes_of[0], axes_of[-1]
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
        if with_average:
            x, y = _mean_curve(time, average, start, span)
            top.plot(x / per_time, y / per_q, color=COLOURS["avg"], linewidth=1.7, label="average", zorder=3)
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
        if below is not None:
            x, y, label = _below(below, history, start, span)
            axes_of[1].plot(x / per_time, y, color=COLOURS["below"], linewidth=1.1)
            axes_of[1].set_ylabel(label)
            axes_of[1].set_ylim(0, None)
            if below.target_ns is not None:
                target = below.target_ns / 1e6
                axes_of[1].axhline(target, color=COLOURS["threshold"], linewidth=1, linestyle=(0, (5, 4)))
                axes_of[1].set_ylim(0, max(float(y.max(initial=0)), target) * 1.06)
        names = []
        for row, verdict in enumerate(verdicts):
            chosen = _chosen(verdict, action, cause)
            count = int(chosen.sum())
            ticks = (
                np.unique(((verdict_time[chosen].astype(np.float64) - start) * (BINS / span)).astype(np.int64))
                * (span / BINS)
                / per_time
            )
            lanes.vlines(ticks, row - 0.36, row + 0.36, color=verdict.colour, linewidth=0.9, alpha=0.9)
            names.append(f"{verdict.name}  {count:,}")
        lanes.set_yticks(range(len(verdicts)), names)
        for text, verdict in zip(lanes.get_yticklabels(), verdicts, strict=True):
            text.set_color(verdict.colour)
        lanes.set_ylim(len(verdicts) - 0.5, -0.5)
        lanes.set_xlabel(f"time ({time_unit})")
        for axes in axes_of:
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="x", color="#e7eaee", linewidth=0.8)
            axes.set_axisbelow(True)
            axes.tick_params(length=0)
        for axes in axes_of[:-1]:
            axes.grid(axis="y", color="#eef0f3", linewidth=0.8)
        figure.savefig(place, dpi=130, format=kind)
        plt.close(figure)

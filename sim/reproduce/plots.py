"""The report's figures, like those of the papers."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

COLOURS = ("#12395b", "#c8372d", "#2a9d6f", "#e08a1e", "#5b2a86", "#7a5c3a", "#c45ab3")


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _legend(figure: Any, axis: Any) -> None:
    """Beside the axes, so that it covers nothing; each name once."""
    handles, labels = axis.get_legend_handles_labels()
    known = dict(zip(labels, handles, strict=True))
    figure.legend(list(known.values()), list(known), loc="outside right upper", fontsize=8)


def over_time(series: dict[str, dict[str, Any]], title: str, path: Path) -> None:
    """Queue and average over time in packets, one panel a side on the same scale: 003's Figures 4 to 6 and 000's 6 and 7 (in jumbo
    frames), with min and max. 004's averages are in bytes; its Qopt is a line."""
    columns = 2 if len(series) > 4 else 1
    lines = -(-len(series) // columns)
    figure, grid = plt.subplots(
        lines, columns, figsize=(9 if columns == 1 else 12, 2.4 * lines), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )  # fmt: skip
    axes = list(grid.flat)
    for axis in axes[len(series) :]:
        axis.set_axis_off()
    known: dict[str, Any] = {}
    for axis, (side, run) in zip(axes, series.items(), strict=False):
        s, parameters = run["series"], run["parameters"]
        of_fn = run["experiment"] == "fn-red"
        averaged = any(s["average"])
        # a queue on its own may be darker than one behind its average
        axis.plot(s["time"], s["packets"], color="#7fb2dd" if averaged else "#2f6ea8", lw=0.7, label="queue")
        if averaged:
            unit = parameters["size"] if of_fn else 1
            axis.plot(s["time"], [a / unit for a in s["average"]], color=COLOURS[0], lw=1.3, label="average")
        if run["experiment"] in ("isred", "mred"):
            for name, style in (("min", ":"), ("max", "--")):
                axis.axhline(parameters[name], color=COLOURS[1], lw=1, ls=style, label=name)
        if of_fn:
            axis.axhline(parameters["qopt"] / parameters["size"], color=COLOURS[1], lw=1, ls="--", label="Qopt")
        axis.set_title(side, loc="left", fontsize=10)
        handles, labels = axis.get_legend_handles_labels()
        known |= dict(zip(labels, handles, strict=True))
    # they share their limits, which go by what has been drawn until the first is set
    for axis in grid[:, 0]:
        axis.set_ylim(bottom=0)
    frames = any(run["experiment"] == "mred" for run in series.values())
    for axis in grid[:, 0]:
        axis.set_ylabel("jumbo frames" if frames else "packets")
    for axis in grid[-1]:
        axis.set_xlabel("time, s")
    figure.legend(list(known.values()), list(known), loc="outside right upper", fontsize=8)
    figure.suptitle(title, fontsize=11)
    _save(figure, path)


def rates_over_time(series: dict[str, dict[str, Any]], title: str, path: Path) -> None:
    """Packets that are lost and that arrive in each second, a line a side: 003's Figures 3 and 7."""
    figure, axes = plt.subplots(2, 1, figsize=(9, 5.4), sharex=True, layout="constrained")
    for axis, name, label in (
        (axes[0], "drops_per_s", "lost, packets/s"),
        (axes[1], "arrivals_per_s", "arriving, packets/s"),
    ):
        for n, (side, run) in enumerate(series.items()):
            whole = int(run["parameters"]["duration"])  # the second in which a run ends is not one
            values = run["series"][name][:whole]
            values += [0] * (whole - len(values))  # nothing more after the last
            axis.stairs(values, range(whole + 1), baseline=None, color=COLOURS[n], lw=1.4, label=side)
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
        axis.grid(axis="y", alpha=0.3)
    axes[-1].set_xlabel("time, s")
    _legend(figure, axes[0])
    figure.suptitle(title, fontsize=11)
    _save(figure, path)


#: what the rows of a paper's table are, and how a metric is drawn against them: only numbers are joined by lines
ROWS = {"000": ("scenario", "bars"), "001": ("scenario", "points"), "002": ("size-load", "points"), "003": ("sources", "lines"),
        "004": ("window, packets", "lines")}  # fmt: skip


def against_rows(table: dict[str, Any], metric: str, label: str, path: Path) -> None:
    """A metric of each side against the rows, with its interval; what the paper prints is beside it (if the runs are as long as
    the paper's): 003's Figures 8 and 9, 000's 8 and 9 as bars."""
    figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
    rows = [r["row"] for r in table["rows"]]
    sides = list(dict.fromkeys(s for r in table["rows"] for s in r["sides"]))
    name, kind = ROWS[table["paper"]]
    step = 0.06 if kind == "lines" else 0.8 / len(sides)  # so that intervals do not cover each other
    for n, side in enumerate(sides):
        aside = step * (n - (len(sides) - 1) / 2)
        points: list[tuple[float, float, float]] = []
        printed: list[tuple[float, float]] = []
        for at, r in enumerate(table["rows"]):
            if side in r["sides"]:
                value = r["sides"][side]["measured"][r["sides"][side]["queue"]][metric]
                points.append((at + aside, value["mean"], value["half"] or 0.0))
                if metric in r["sides"][side]["printed"] and not table["shortened"]:
                    printed.append((at if kind == "lines" else at + aside, r["sides"][side]["printed"][metric]))
        colour = COLOURS[n % len(COLOURS)]
        x, y, half = ([p[i] for p in points] for i in range(3))
        if kind == "bars":
            axis.bar(x, y, 0.9 * step, yerr=half, color=colour, alpha=0.75, capsize=3, ecolor="black", label=side)
        else:
            line = "-" if kind == "lines" else "none"
            axis.errorbar(x, y, half, color=colour, ls=line, marker="o", ms=4, capsize=3, lw=1.4, label=side)
        if printed:
            x, y = ([p[i] for p in printed] for i in range(2))
            if kind == "bars":
                axis.plot(x, y, "D", ms=6, mfc="white", mec="black", zorder=3, label="printed")
            else:
                line = "--" if kind == "lines" else "none"
                axis.plot(x, y, ls=line, lw=1, marker="x", color=colour, label=f"{side}, printed")
    if kind != "lines":
        for at in range(len(rows) - 1):
            axis.axvline(at + 0.5, color="#dddddd", lw=0.8)
    if kind == "bars":
        axis.set_ylim(bottom=0)
    axis.set_xticks(range(len(rows)), rows)
    axis.set_xlabel("what is changed" if table["table"] == "control" else name)
    axis.set_ylabel(label)
    axis.set_title(textwrap.fill(f"{table['paper']}, {table['title']}", 80), fontsize=11)
    axis.grid(axis="y", alpha=0.3)
    _legend(figure, axis)
    _save(figure, path)


def against_size(
    original: dict[int, list[tuple[float, float, float]]],
    jfepm: dict[int, list[tuple[float, float, float]]],
    title: str,
    label: str,
    path: Path,
) -> None:
    """A metric against the packet size, a line a load, JFEPM dashed: 002's Figures 4.2 and 4.3."""
    figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
    loads = sorted({p[0] for points in original.values() for p in points})
    for n, load in enumerate(loads):
        for sizes, style, name in ((original, "-", f"load {load:g}"), (jfepm, "--", f"load {load:g}, JFEPM")):
            points = [
                (size + (6 if style == "--" else -6), *p[1:])
                for size, row in sizes.items()
                for p in row
                if p[0] == load
            ]
            if not points:
                continue  # of a control without JFEPM
            axis.errorbar([p[0] for p in points], [p[1] for p in points], [p[2] for p in points], ls=style, marker="o", ms=3,
                          capsize=3, lw=1.3, color=COLOURS[n % len(COLOURS)], label=name)  # fmt: skip
    axis.set_xticks(sorted(original))
    axis.set_xlabel("packet, bytes")
    axis.set_ylabel(label)
    axis.set_ylim(bottom=0)
    axis.set_title(title, fontsize=11)
    axis.grid(axis="y", alpha=0.3)
    axis.legend(fontsize=7, ncols=2)
    _save(figure, path)


def against_load(
    metrics: dict[str, tuple[dict[int, list[tuple[float, float, float]]], dict[int, list[tuple[float, float, float]]]]],
    title: str,
    path: Path,
) -> None:
    """Metrics against the load, a line a packet size, JFEPM dashed: 002's Figures 4.5 to 4.12 in two dimensions."""
    figure, axes = plt.subplots(1, len(metrics), figsize=(12, 4.2), layout="constrained")
    for axis, (label, sides) in zip(axes, metrics.items(), strict=True):
        for sizes, style, name in zip(sides, ("-", "--"), ("", ", JFEPM"), strict=True):
            for n, (size, points) in enumerate(sizes.items()):
                aside = 0.006 * (n - 1.5) + (0.003 if name else 0)
                x, y, half = ([p[i] for p in points] for i in range(3))
                axis.errorbar([ld + aside for ld in x], y, half, ls=style, marker="o", ms=3, capsize=2, lw=1.3, elinewidth=0.7,
                              color=COLOURS[n % len(COLOURS)], label=f"{size} bytes{name}")  # fmt: skip
        axis.set_xlabel("load")
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
        axis.grid(axis="y", alpha=0.3)
    _legend(figure, axes[0])
    figure.suptitle(title, fontsize=11)
    _save(figure, path)


def gains(lines: list[dict[str, Any]], title: str, path: Path) -> None:
    """Gain against the load, a line a packet size, of completion time and drops, in percent below: 002's tables as curves. A
    load at which the original drops nothing has no percentage."""
    figure, axes = plt.subplots(2, 2, figsize=(12, 7), sharex=True, layout="constrained")
    names = {"fct_mean_us": ("mean completion time", "µs"), "dropped": ("packets dropped", "packets")}
    for column, (of, (name, unit)) in enumerate(names.items()):
        for axis, by, label in ((axes[0][column], "gain_by_load", unit), (axes[1][column], "by_load", "%")):
            for n, line in enumerate(one for one in lines if one["of"] == of):
                loads = [float(load) for load in line[by]]
                values = list(line[by].values())
                aside = 0.008 * (n - 1.5)
                axis.errorbar([ld + aside for ld in loads], [v["mean"] for v in values], [v["half"] or 0 for v in values], marker="o", ms=4,
                              capsize=3, lw=1.3, elinewidth=0.8, color=COLOURS[n % len(COLOURS)], label=f"{line['size']} bytes")  # fmt: skip
            axis.axhline(0, color="black", lw=0.8)
            axis.set_ylabel(f"gain, {label}")
            axis.grid(axis="y", alpha=0.3)
        axes[0][column].set_title(name, fontsize=10)
        axes[1][column].set_xlabel("load")
    _legend(figure, axes[0][0])
    figure.suptitle(title, fontsize=11)
    _save(figure, path)


def over_grid(
    maps: dict[str, list[list[float]]], windows: Sequence[int], times: Sequence[int], title: str, path: Path
) -> None:
    """Values over window (rows) and time constant (columns), one panel each; what has not been run is white."""
    figure, axes = plt.subplots(1, len(maps), figsize=(6.5 * len(maps), 4.2), layout="constrained", squeeze=False)
    for axis, (label, values) in zip(axes[0], maps.items(), strict=True):
        image = axis.imshow(values, aspect="auto", cmap="viridis", origin="lower")
        figure.colorbar(image, ax=axis, label=label)
        axis.set_xticks(range(len(times)), [str(t) for t in times], rotation=45)
        axis.set_yticks(range(len(windows)), [str(w) for w in windows])
        axis.set_xlabel("T, ms")
        axis.set_ylabel("Ws, packets")
    figure.suptitle(title, fontsize=11)
    _save(figure, path)


def against_pairs(points: Mapping[int, Mapping[str, Any]], qopt: float, title: str, path: Path) -> None:
    """Utilisation and mean queue of RED's (k, 3k) against k, with their intervals."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for axis, metric, label in (
        (axes[0], "utilisation_percent", "utilisation, %"),
        (axes[1], "queue_bits_mean", "E(Q), bits"),
    ):
        values = [p[metric] for p in points.values()]
        axis.errorbar([*points], [v["mean"] for v in values], [v["half"] or 0 for v in values], marker="o", ms=4, capsize=3, lw=1.4,
                      color=COLOURS[0])  # fmt: skip
        axis.set_xlabel("k, packets")
        axis.set_ylabel(label)
        axis.grid(axis="y", alpha=0.3)
    axes[1].axhline(qopt, color=COLOURS[1], ls="--", lw=1, label="Qopt")
    axes[1].legend(fontsize=8)
    figure.suptitle(f"004, {title}", fontsize=11)
    _save(figure, path)

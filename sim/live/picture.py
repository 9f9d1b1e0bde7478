"""The picture of `make live`: queueing delay over time, a row for each policy, with marks and drops below, and goodput."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weir_sim import trace
from weir_sim.plot import COLOURS

if TYPE_CHECKING:
    from session import Result

MARK, DROP = "#2a9d6f", "#c8372d"


def draw(path: str | os.PathLike[str], results: Sequence[Result], about: str, seconds: float) -> None:
    """Writes the picture as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    most = max(float(np.max(r.recorder.departures()[1])) for r in results) * 1.08
    fastest = max(r.figures["goodput_mbit"] for r in results)
    with plt.rc_context({
        "font.family": "DejaVu Sans", "font.size": 10, "axes.edgecolor": "#c5cad1", "axes.labelcolor": COLOURS["text"],
        "text.color": COLOURS["text"], "xtick.color": COLOURS["text"], "ytick.color": COLOURS["text"],
    }):  # fmt: skip
        figure, axes = plt.subplots(len(results), 2, figsize=(12, 1.2 + 2.05 * len(results)), sharex="col", squeeze=False,
                                    width_ratios=(5, 1.3), layout="constrained")  # fmt: skip
        figure.suptitle("Real TCP through the RTL", x=0.012, ha="left", fontsize=13, fontweight="bold")
        for row, result in zip(axes, results, strict=True):
            _delay(row[0], result, most, seconds)
            _goodput(row[1], result, fastest)
        axes[0][0].annotate(about, (0, 1), xycoords="axes fraction", xytext=(0, 26), textcoords="offset points",
                            fontsize=9, color="#5b616b")  # fmt: skip
        axes[-1][0].set_xlabel("time (s)")
        axes[-1][1].set_xlabel("goodput (Mbit/s)")
        figure.savefig(path, dpi=130, format="png")
        plt.close(figure)


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#eef0f3", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)


def _delay(axes: Any, result: Result, most: float, seconds: float) -> None:
    times, delays, _ = result.recorder.departures()
    figures = result.figures
    axes.fill_between(times, delays, color=COLOURS["q"], alpha=0.35, linewidth=0, step="post")
    axes.step(times, delays, color=COLOURS["avg"], linewidth=0.7, where="post")
    mean = figures["delay_ms"]["mean"]
    axes.axhline(mean, color=COLOURS["threshold"], linewidth=1, linestyle=(0, (5, 4)))
    axes.annotate(f"{mean:.1f} ms\nmean", (1, mean), xycoords=("axes fraction", "data"), xytext=(4, 0),
                  textcoords="offset points", va="center", fontsize=9, color="#3b414b")  # fmt: skip
    lanes = (
        (trace.MARK, MARK, "marked CE", figures["marked"]),
        (trace.DROP, DROP, "dropped", sum(figures["dropped"].values())),
    )
    note = []
    for lane, (action, colour, name, count) in enumerate(lanes):
        at = result.recorder.actions(action)
        low = -most * (0.11 + 0.1 * lane)
        axes.vlines(at, low, low + most * 0.075, color=colour, linewidth=0.8)
        note.append((f"{name} {count}", colour))
    axes.set_title(result.case.title, loc="left", fontsize=11, fontweight="bold")
    for place, (text, colour) in enumerate(note):
        axes.annotate(text, (1, 1), xycoords="axes fraction", xytext=(-4 - 100 * (1 - place), 5),
                      textcoords="offset points", ha="right", fontsize=9, color=colour)  # fmt: skip
    axes.set_ylim(-most * 0.24, most)
    axes.set_xlim(0, seconds + 0.3)
    axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= most])
    axes.set_ylabel("queueing (ms)")
    _plain(axes)


def _goodput(axes: Any, result: Result, fastest: float) -> None:
    total, flows = result.figures["goodput_mbit"], result.figures["flows_mbit"]
    left = 0.0
    for number, flow in enumerate(flows):
        axes.barh(0, flow, left=left, height=0.55, color=COLOURS["q"] if number % 2 else "#5b9bd0")
        left += flow
    axes.annotate(f"{total:.2f}", (total, 0.36), ha="right", fontsize=10, fontweight="bold")
    axes.set_ylim(-0.6, 0.8)
    axes.set_xlim(0, fastest * 1.05)
    axes.set_yticks([])
    _plain(axes)
    axes.spines["left"].set_visible(False)

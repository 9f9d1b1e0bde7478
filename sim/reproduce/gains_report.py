"""The part of the report that only paper 002 has: its tables of gains over loads, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import plots
from datacenter import COLUMNS, GAINS, LOADS, SIZES, row_name
from verdicts import worded


def number(value: float | None) -> str:
    """Four digits; whole from a thousand on."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def gain_rows(gains: dict[str, Any]) -> list[str]:
    """Printed and measured gains of each size over its loads, then the claims about them."""
    head = ["gain in", "size"]
    for column in COLUMNS:
        head += [f"{column}, printed", column]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for line in gains["lines"]:
        cells = [GAINS[line["of"]], str(line["size"])]
        for n, measured in enumerate(line["measured"]):
            cells.append(number(line["printed"][str(n)]))
            spread = isinstance(measured, dict)
            cells.append(f"{number(measured['mean'])} ± {number(measured['half'])}" if spread else number(measured))
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "| claim | verdict | difference by row (95 % interval) |", "|---|---|---|"]
    for c in gains["claims"]:
        rows = "; ".join(
            f"{r}: {number(j['difference'])} ± {number(j['half'])} ({j['verdict']})" for r, j in c["rows"].items()
        )
        lines.append(f"| {c['text']} | **{worded(c)}** | {rows} |")
    return lines


def curves(table: dict[str, Any], metric: str, side: str) -> dict[int, list[tuple[float, float, float]]]:
    """Of each size (load, mean, half) of a metric, as far as it has been run."""
    rows = {r["row"]: r["sides"] for r in table["rows"]}
    found: dict[int, list[tuple[float, float, float]]] = {}
    for size in SIZES:
        for load in LOADS:
            one = rows.get(row_name(size, load), {}).get(side)
            if one:
                value = one["measured"][one["queue"]][metric]
                found.setdefault(size, []).append((load, value["mean"], value["half"] or 0.0))
    return found


def figures(folder: Path, table: dict[str, Any]) -> list[str]:
    """Draws Figures 4.2 and 4.3 (completion time and drops against the size, without JFEPM) and the gain against the load."""
    name = f"{table['paper']}-{table['table']}"
    lines: list[str] = []
    if len(curves(table, "dropped", "original")) < 2:
        return lines  # nothing to draw against
    for metric, text in (("fct_mean_us", "mean completion time, µs"), ("dropped", "packets dropped")):
        path = Path("report") / f"{name}-{metric}.png"
        plots.against_size(curves(table, metric, "original"), curves(table, metric, "jfepm"), f"002, {table['title']}", text,
                           folder / path)  # fmt: skip
        lines.append(f"![{text} against packet size]({path.name})")
    if table["gains"]:
        path = Path("report") / f"{name}-gain.png"
        plots.gains(table["gains"]["lines"], f"002, {table['title']}: gain of JFEPM", folder / path)
        lines.append(f"![gain against load and packet size]({path.name})")
    return lines

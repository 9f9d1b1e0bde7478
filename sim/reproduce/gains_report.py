"""The part of the report that only paper 002 has: its tables of gains over loads, and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import plots
from datacenter import COLUMNS, FLOWS, FOUR, GAINS, LOADS, PRINTED_TABLES, SIZES, row_name
from verdicts import worded


def number(value: float | None) -> str:
    """Four digits; whole from a thousand on."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def with_spread(value: dict[str, Any]) -> str:
    """mean ± half; nothing if no run has a value."""
    return number(value["mean"]) + (f" ± {number(value['half'])}" if value["half"] is not None else "")


def _cell(measured: Any) -> str:
    if measured is None:
        return "none"
    return with_spread(measured) if isinstance(measured, dict) else number(measured)


def gain_rows(gains: dict[str, Any]) -> list[str]:
    """Printed and measured gains of each size over its loads, then the claims about them."""
    head = ["gain in", "size"]
    for column in COLUMNS:
        head += [f"{column}, printed", column]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for line in gains["lines"]:
        cells = [GAINS[line["of"]], str(line["size"])]
        for n, measured in enumerate(line["measured"]):
            cells += [number(line["printed"][str(n)]), _cell(measured)]
        lines.append("| " + " | ".join(cells) + " |")
    lines = [*lines, "", *without(gains["lines"])] if gains["lines"] else []
    lines += ["| claim | verdict | difference by row (95 % interval) |", "|---|---|---|"]
    for c in gains["claims"]:
        rows = "; ".join(
            f"{r}: {number(j['difference'])} ± {number(j['half'])} ({j['verdict']})" for r, j in c["rows"].items()
        )
        lines.append(f"| {c['text']} | **{worded(c)}** | {rows} |")
    return lines


def without(lines: list[dict[str, Any]]) -> list[str]:
    """Which loads the percentages leave out."""
    of = [
        f"{GAINS[line['of']]} at {line['size']} bytes without {', '.join(f'{ld:g}' for ld in line['without'])}"
        for line in lines
        if line["without"]
    ]
    return [f"Loads at which the original has none in some seed have no percentage: {'; '.join(of)}.", ""] if of else []


def sweep_rows(table: dict[str, Any]) -> list[str]:
    """A line for each size and load: both sides, and the gain of the same seed."""
    lines = [
        "| size | load | FCT, original, µs | FCT, JFEPM, µs | gain, µs | gain, % | dropped, original | dropped, JFEPM | gain, packets | gain, % |",
        "|" + "---|" * 10,
    ]
    by = {(line["of"], line["size"]): line for line in table["gains"]["lines"]} if table["gains"] else {}
    for r in table["rows"]:
        size, load = r["row"].split("-")
        cells = [size, load]
        for of in GAINS:
            values = {side: s["measured"][s["queue"]][of] for side, s in r["sides"].items()}
            cells += [with_spread(values[side]) if side in values else "" for side in ("original", "jfepm")]
            line = by.get((of, int(size)))
            cells += [with_spread(line["gain_by_load"][load]), _cell(line["by_load"].get(load))] if line else ["", ""]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def curves(
    table: dict[str, Any], metric: str, side: str, loads: tuple[float, ...] = LOADS
) -> dict[int, list[tuple[float, float, float]]]:
    """Of each size (load, mean, half) of a metric, as far as it has been run."""
    rows = {r["row"]: r["sides"] for r in table["rows"]}
    found: dict[int, list[tuple[float, float, float]]] = {}
    for size in SIZES:
        for load in loads:
            one = rows.get(row_name(size, load), {}).get(side)
            value = one and one["measured"][one["queue"]][metric]
            if value and value["mean"] is not None:
                found.setdefault(size, []).append((load, value["mean"], value["half"] or 0.0))
    return found


def figures(folder: Path, table: dict[str, Any]) -> list[str]:
    """Figures 4.2 and 4.3 (completion time and drops against the size, without JFEPM); of the printed tables 4.5 to 4.12 too (against the load), and
    the gain against the load."""
    name = f"{table['paper']}-{table['table']}"
    lines: list[str] = []
    texts = {"fct_mean_us": "mean completion time, µs", "dropped": "packets dropped"}
    sides = {of: (curves(table, of, "original"), curves(table, of, "jfepm")) for of in texts}
    if len(sides["dropped"][0]) < 2:
        return lines  # nothing to draw against
    if table["table"] in {t.name for t in PRINTED_TABLES}:
        path = Path("report") / f"{name}-load.png"
        plots.against_load({texts[of]: both for of, both in sides.items()}, f"002, {table['title']}", folder / path)
        lines.append(f"![completion time and drops against load]({path.name})")
    if table["table"] != "control-long":
        for metric, text in texts.items():
            path = Path("report") / f"{name}-{metric}.png"
            original, jfepm = (curves(table, metric, side, FOUR) for side in ("original", "jfepm"))
            plots.against_size(original, jfepm, f"002, {table['title']}", text, folder / path)
            lines.append(f"![{text} against packet size]({path.name})")
    if table["gains"] and table["table"] not in {t.name for t in FLOWS}:
        path = Path("report") / f"{name}-gain.png"
        plots.gains(table["gains"]["lines"], f"002, {table['title']}: gain of JFEPM", folder / path)
        lines.append(f"![gain against load and packet size]({path.name})")
    return lines

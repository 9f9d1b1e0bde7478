"""The part of the report that only the sweeps of paper 004 have: which settings its rule chooses, and maps of (Ws, T)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fn_grid
import plots
from fn_grid import FORMS, METRICS, PRINTED_K, PRINTED_T, TIMES_MS, WINDOWS, Point, fn_row
from gains_report import number, with_spread


def _of_red(table: dict[str, Any]) -> bool:
    return table["table"] in (fn_grid.RED.name, fn_grid.RED_10.name)


def _measured(table: dict[str, Any], side: str) -> dict[str, dict[str, Any]]:
    """By row, as far as it has been run."""
    rows = {r["row"]: r["sides"][side] for r in table["rows"] if side in r["sides"]}
    return {row: s["measured"][s["queue"]] for row, s in rows.items()}


def _points(table: dict[str, Any], side: str) -> dict[str, Point]:
    return {row: Point.of(measured) for row, measured in _measured(table, side).items()}


def _pairs(table: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """What was measured of RED by k."""
    return {int(row[1:]): measured for row, measured in _measured(table, "red").items()}


def _red(table: dict[str, Any]) -> dict[int, Point]:
    return {k: Point.of(measured) for k, measured in _pairs(table).items()}


def _cells(measured: dict[str, Any] | None) -> list[str]:
    """Utilisation, loss and queue with their intervals."""
    return [with_spread(measured[m]) if measured else "" for m in METRICS[:3]]


def red_rows(table: dict[str, Any]) -> list[str]:
    """A line for each pair, and which one the rule chooses."""
    points = _red(table)
    chosen = fn_grid.red_reference(points)
    lines = ["| k | utilisation, % | loss, % of bits | E(Q), bits | |", "|---|---|---|---|---|"]
    for k, measured in _pairs(table).items():
        note = "; ".join(
            text
            for text, is_it in (("chosen by the rule", k == chosen), ("the paper's reference", k == PRINTED_K))
            if is_it
        )
        lines.append(f"| {k} | {' | '.join(_cells(measured))} | {note} |")
    return [*lines, "", "" if chosen else "No pair keeps E(Q) at or below Qopt: the rule chooses none."]


def fn_rows(table: dict[str, Any], red: dict[str, Any] | None) -> list[str]:
    """A line for each window and form: the T that the rule chooses, beside the printed one."""
    pairs = _red(red) if red else {}
    k = fn_grid.red_reference(pairs) or (PRINTED_K if PRINTED_K in pairs else None)
    if k is None:
        return ["The rule that chooses a T needs RED's sweep, which has not been run."]
    whose = (
        "which the rule chooses of RED's"
        if fn_grid.red_reference(pairs)
        else "the paper's, since none of RED's keeps E(Q) that small"
    )
    lines = [
        f"The rule: the highest utilisation with E(Q) ≤ {fn_grid.QOPT:,} bits and a loss below that of RED with k = {k}, {whose} ({number(pairs[k].loss)} %).",
        "",
        "| Ws | form | T, ms, printed | T, ms, chosen | utilisation, % | loss, % of bits | E(Q), bits |",
        "|---|---|---|---|---|---|---|",
    ]
    for window in WINDOWS:
        for form in FORMS:
            points = _points(table, form)
            of_window = {t: points[fn_row(window, t)] for t in TIMES_MS if fn_row(window, t) in points}
            if not of_window:
                continue
            t = fn_grid.chosen_time(of_window, pairs[k])
            printed = str(PRINTED_T[window]) if form == "fn" else ""
            lines.append(
                f"| {window} | {form} | {printed} | {t or 'none'} | {' | '.join(_cells(_measured(table, form)[fn_row(window, t)] if t else None))} |"
            )
    return lines


def rows(folder: Path, table: dict[str, Any]) -> list[str]:
    """What stands in the place of a table's rows."""
    if _of_red(table):
        return red_rows(table)
    of = next(t for t in fn_grid.TABLES if t.name == table["table"])
    other = folder / of.paper / f"{fn_grid.pairs_of(of).name}.json"
    return fn_rows(table, json.loads(other.read_text()) if other.exists() else None)


def figures(folder: Path, table: dict[str, Any]) -> list[str]:
    """Maps of utilisation and E(Q) over window and T, of each form; of RED both against k."""
    lines = []
    name = f"{table['paper']}-{table['table']}"
    if _of_red(table):
        path = Path("report") / f"{name}.png"
        plots.against_pairs(_pairs(table), fn_grid.QOPT, table["title"], folder / path)
        return [f"![utilisation and mean queue against k]({path.name})"]
    for form in FORMS:
        points = _points(table, form)
        if len(points) < 2:
            continue
        path = Path("report") / f"{name}-{form}.png"
        maps = {
            label: [[getattr(points[fn_row(ws, t)], what) if fn_row(ws, t) in points else float("nan") for t in TIMES_MS] for ws in WINDOWS]
            for what, label in (("utilisation", "utilisation, %"), ("queue", "E(Q), bits"))
        }  # fmt: skip
        plots.over_grid(maps, WINDOWS, TIMES_MS, f"004, {form}: {table['title']}", folder / path)
        lines.append(f"![utilisation and mean queue over Ws and T, {form}]({path.name})")
    return lines

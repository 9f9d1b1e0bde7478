#!/usr/bin/env python3
"""Makes a table of its runs, and the report of the tables: Markdown, HTML and figures.

report.py table FOLDER PAPER/TABLE [--quick]        report.py report FOLDER [--quick]
report.py keep FOLDER                               the report goes to docs/
report.py splice FOLDER PAPER/TABLE                 a table takes its place in the report of docs/, or gets one
report.py prune FOLDER                              tables that the plan has no longer leave the report of docs/
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import datacenter
import fn_grid
import gains_report
import grid_report
import plan
import plots
from experiment import Table
from gains_report import number, with_spread
from oneline import Parser
from plan import NOT_RUN, TABLES, Run
from report_html import as_html
from tables import Disagreement, Versions, cost, load, make
from verdicts import worded

ROOT = Path(__file__).resolve().parents[2]
KEPT = Path("docs", "reproduced")
"""report and values of the docs, in ROOT"""
PAPERS = {
    "000": "MRED with DDF against RED",
    "002": "JFEPM in a data center",
    "001": "Drop-Tail, DT-ECN and RED gateways",
    "003": "ISRED against RED",
    "004": "FN against RED",
}
UNITS = {"loss_percent": "loss, %", "loss_bits_percent": "loss, % of bits", "utilisation_percent": "utilisation, %",
         "queue_bits_mean": "E(Q), bits", "queue_bits_sd": "SD(Q), bits", "below_threshold": "Pr(Q ≤ Qopt)", "random_percent": "Random, %",
         "overflow_percent": "Overflow, %", "rate_mean": "E{r}, bit/s", "rate_sd": "SD{r}, bit/s", "arrived": "arrived",
         "dropped": "dropped", "overflow": "overflows", "mismatch": "queue and average apart, packets", "dropped_first": "dropped before 10 s", "average_sd": "SD of the average", "goodput_bytes": "goodput, bytes",
         "sent_bytes": "sent, bytes", "dropped_bytes": "dropped, bytes", "after_stop_s": "last byte behind its source's stop, s, at most",
         "fct_mean_us": "FCT, µs", "fct_p95_us": "FCT, 95 %, µs", "fct_p99_us": "FCT, 99 %, µs", "fct_small_us": "FCT, 2–67 kB, µs",
         "fct_middle_us": "FCT, 67–133 kB, µs", "fct_large_us": "FCT, 133–198 kB, µs", "dropped_uplink": "of them at ToR uplinks",
         "dropped_aggregation": "at aggregation", "dropped_host": "at ports to hosts", "dropped_split": "at splits", "jumbo_packets": "packets in jumbo frames",
         "unfinished": "flows without an end",
         "throughput_half_percent": "throughput at half, %", "throughput_percent": "throughput at the end, %", "loss_first_percent": "loss, first half, %",
         "loss_second_percent": "loss, second half, %", "average_first": "average, first half", "average_second": "average, second half",
         "partial": "packets cut out"}  # fmt: skip
FIGURES = {
    "isred": ("loss_percent", "overflow", "goodput_bytes"),
    "fn-red": ("utilisation_percent", "queue_bits_mean"),
    "gateways": ("sent_bytes", "dropped_bytes"),
    "mred": ("loss_second_percent", "throughput_percent"),
}


#: heading of the section that says what the tables are made of
VERSIONS = "## Made of"

#: sides of 003's Figures 3 and 7
RATES = ("red", "isred")


def value_rows(table: dict[str, Any]) -> list[str]:
    """A line for each row and side: printed and measured side by side."""
    metrics = list(
        dict.fromkeys(m for r in table["rows"] for s in r["sides"].values() for v in s["measured"].values() for m in v)
    )
    head = ["row", "side", "queue"]
    printed = {m for r in table["rows"] for s in r["sides"].values() for m in s["printed"]}
    for m in metrics:
        head += [f"{UNITS.get(m, m)}, printed"] if m in printed else []
        head.append(UNITS.get(m, m))
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for r in table["rows"]:
        for side, s in r["sides"].items():
            for queue, measured in s["measured"].items():
                if queue == "golden" and s["queue"] == "rtl":
                    continue  # the same trace, record for record
                cells = [r["row"], side, queue]
                for m in metrics:
                    cells += [number(s["printed"].get(m))] if m in printed else []
                    cells.append(with_spread(measured[m]) if m in measured else "")
                lines.append("| " + " | ".join(cells) + " |")
    return lines


def order_rows(table: dict[str, Any]) -> list[str]:
    """A line for each row and printed metric: its sides from the most to the least, as printed and as measured."""
    lines = ["| row | of | order, printed | order, measured |", "|---|---|---|---|"]
    for r in table["rows"]:
        for m in dict.fromkeys(m for s in r["sides"].values() for m in s["printed"]):
            printed = {side: (s["printed"][m], 0.0) for side, s in r["sides"].items()}
            values = {side: s["measured"][s["queue"]][m] for side, s in r["sides"].items()}
            measured = {side: (v["mean"], v["half"] or 0.0) for side, v in values.items()}
            lines.append(f"| {r['row']} | {UNITS.get(m, m)} | {ordered(printed)} | {ordered(measured)} |")
    return lines


def ordered(values: dict[str, tuple[float, float]]) -> str:
    """Names from the most to the least; `=` between two whose intervals (mean, half) overlap."""
    names = sorted(values, key=lambda name: -values[name][0])
    text = names[0]
    for above, name in itertools.pairwise(names):
        apart = values[above][0] - values[name][0] > values[above][1] + values[name][1]
        text += f" > {name}" if apart else f" = {name}"
    return text


def claim_rows(table: dict[str, Any]) -> list[str]:
    """A line for each claim, with the difference in each row."""
    lines = ["| claim | verdict | difference by row (95 % interval) |", "|---|---|---|"]
    for c in table["claims"]:
        rows = "; ".join(
            f"{r}: {number(j['difference'])} ± {number(j['half'])} ({j['verdict']})" for r, j in c["rows"].items()
        )
        rows += f". Left out: {', '.join(c['without'])}" if c.get("without") else ""
        lines.append(
            f"| {c['text']} ({c['a']} − {c['b']}, {UNITS.get(c['metric'], c['metric'])}) | **{worded(c)}** | {rows} |"
        )
    return lines


def cost_rows(table: dict[str, Any]) -> list[str]:
    """Wall time of RTL, golden model and ns-3's queue."""
    wall: dict[str, list[float]] = {}
    ratios = []
    for r in table["rows"]:
        for s in r["sides"].values():
            for queue, seconds in s["wall_s"].items():
                wall.setdefault(queue, []).append(seconds)
            if {"rtl", "ns3"} <= set(s["wall_s"]):
                ratios.append(s["wall_s"]["rtl"] / s["wall_s"]["ns3"])
    text = ", ".join(f"{q} {sum(v) / len(v):.2f} s a run" for q, v in wall.items())
    memory = max((s["memory_mib"] for r in table["rows"] for s in r["sides"].values()), default=0.0)
    ratio = f"; RTL against ns-3's own queue {sum(ratios) / len(ratios):.1f} × (goal 5)" if ratios else ""
    # a run that several rows are compared with counts once
    runs = {
        (side, seed, c["trace_hash"]): c
        for r in table["rows"]
        for side, s in r["sides"].items()
        for seed, c in s["core"].items()
    }
    records, cycles = (sum(c[name] for c in runs.values()) for name in ("records", "cycles"))
    agreed = (
        f"{records:,} records of the RTL, all equal to the golden model's ({cycles:,} cycles). "
        if records
        else "No run with the RTL. "
    )
    names = {"rtl": "the RTL's Verilog", "sources": "the programs' sources"}
    made_by = ", ".join(f"of {of} {table[name][:16]}…" for name, of in names.items() if table.get(name))
    made_by = f" SHA-256 {made_by}." if made_by else ""
    return [
        f"{agreed}Wall time: {text}{ratio}. Memory: at most {memory:.0f} MiB.{spent(table.get('cost', {}))}{made_by}"
    ]


def spent(cost: dict[str, dict[str, float]]) -> str:
    """A sentence of the runs and their processor time; empty for tables that do not tell."""
    by_queue = ", ".join(f"{queue} {of['runs']:.0f} in {of['cpu_s']:,.0f} s" for queue, of in cost.items())
    return f" Runs and their CPU time: {by_queue}." if cost else ""


def figures(folder: Path, table: dict[str, Any], of: Table) -> list[str]:
    """Draws a table's figures; their lines."""
    if of.program == "datacenter":
        return gains_report.figures(folder, table)
    if of in fn_grid.TABLES:
        return grid_report.figures(folder, table)
    lines = []
    name = f"{table['paper']}-{table['table']}"
    for metric in FIGURES[of.program]:
        path = Path("report") / f"{name}-{metric}.png"
        plots.against_rows(table, metric, UNITS.get(metric, metric), folder / path)
        lines.append(f"![{UNITS.get(metric, metric)}]({path.name})")
    every = of.program == "mred"  # its rows are two scenarios
    middle = len(table["rows"]) // 2
    for n, row in enumerate(table["rows"]):
        if of.golden_only or not (every or n == middle):
            continue
        series = {}
        for side, s in row["sides"].items():
            runs = load(folder, of, row["row"], side, s["queue"])
            if runs:
                series[f"{side}, {s['queue']}, seed {min(runs)}"] = runs[min(runs)]
        title = f"{table['paper']}, {of.title}, row {row['row']}"
        path = Path("report") / f"{name}-queue{'-' + row['row'] if every else ''}.png"
        plots.over_time(series, title, folder / path)
        lines.append(f"![queue over time]({path.name})")
        if of.program == "isred":
            path = Path("report") / f"{name}-rates.png"
            plots.rates_over_time({k: v for k, v in series.items() if k.split(",")[0] in RATES}, title, folder / path)
            lines.append(f"![packets that are lost and that arrive, each second]({path.name})")
    return lines


def commit() -> str:
    """The commit that the report is made from."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    dirty = subprocess.run(
        ["git", "-C", str(ROOT), "status", "--porcelain", "-uno"], capture_output=True, text=True, check=False
    )
    return (done.stdout.strip() or "unknown") + (", with changes" if dirty.stdout.strip() else "")


def missing_runs(folder: Path, table: Table, quick: bool) -> str:
    """Which of the paper's rows are not in the report."""
    there = [row for row in table.rows if any((folder / Run(table, row, side, q, s).file).exists()
             for side in table.sides for q in ("rtl", "golden") for s in table.seeds)]  # fmt: skip
    absent = [row for row in table.rows if row not in there]
    return f"Rows without a run: {', '.join(absent)}." if absent else ""


def section(folder: Path, of: Table, table: dict[str, Any], quick: bool) -> tuple[list[str], list[str]]:
    """Lines of a table: of the verdicts, and of its section."""
    summary = [f"| {of.paper} | {of.title} | {c['text']} | {worded(c)} |" for c in table["claims"]]
    body = [heading(of), ""]
    body += [
        f"Options: {', '.join(f'{k} {v}' for k, v in table['options'].items())}."
        + (" **Shorter than the paper's.**" if table["shortened"] else ""),
        "",
    ]
    body += [note for note in [*table["notes"], missing_runs(folder, of, quick)] if note] + [""]
    over_loads = table.get("gains")
    if over_loads:
        summary += [f"| {of.paper} | {of.title} | {c['text']} | {worded(c)} |" for c in over_loads["claims"]]
        body += [*gains_report.gain_rows(over_loads), ""]
    body += [*claim_rows(table), ""] if table["claims"] else []
    if of in fn_grid.TABLES:
        body += grid_report.rows(folder, table)
    else:
        body += [*gains_report.sweep_rows(table), ""] if of in datacenter.PRINTED_TABLES and over_loads else []
        body += value_rows(table)
    if of.program == "gateways" and not of.golden_only:
        body += ["", "The order of the queues; `=` where intervals overlap:", "", *order_rows(table)]
    made = [f"Made of commit {table['commit']}, {table['date']}."] if "commit" in table else []
    return summary, [*body, "", *cost_rows(table), *made, "", *figures(folder, table, of), ""]


def heading(of: Table) -> str:
    return f"## {of.paper}: {PAPERS[of.paper]}. {of.title}"


def versions(made: list[dict[str, Any]]) -> list[str]:
    """The section that says which tables are of the same programs and RTL, the version of most tables first."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for table in made:
        if table.get("sources"):
            groups.setdefault((table["sources"], table.get("rtl") or ""), []).append(table)
    lines = [VERSIONS, "", "Tables of the same programs and RTL, whenever they were made; papers 000 and 002 have another core than the others, and controls and sweeps none:", "",
             "| programs, SHA-256 | RTL's Verilog, SHA-256 | tables | commits | dates |", "|---|---|---|---|---|"]  # fmt: skip
    for (sources, rtl), group in sorted(groups.items(), key=lambda item: -len(item[1])):
        dates = sorted({t["date"] for t in group})
        cells = [
            f"{sources[:16]}…",
            f"{rtl[:16]}…" if rtl else "none",
            f"{len(group)} of {len(TABLES)}: " + ", ".join(f"{t['paper']} {t['table']}" for t in group),
            ", ".join(sorted({t["commit"] for t in group})),
            dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    silent = len(TABLES) - sum(len(group) for group in groups.values())
    return [*lines, "", *([f"Of {silent} tables it is not known, or they were not run.", ""] if silent else [])]


def with_versions(page: str, made: list[dict[str, Any]]) -> str:
    """The report's page with that section, before the verdicts."""
    lines = page.splitlines()
    end = lines.index("## Verdicts")
    begin = lines.index(VERSIONS) if VERSIONS in lines else end
    return "\n".join([*lines[:begin], *versions(made), *lines[end:]]) + "\n"


def report(folder: Path, quick: bool) -> None:
    """Markdown and HTML of all tables that are there."""
    lines = [
        "# The papers' experiments, measured",
        "",
        f"Made {datetime.now(UTC):%Y-%m-%d %H:%M} UTC of commit {commit()}.",
        "",
    ]
    lines += ["A **quick slice**: few rows, most of them shorter than in the papers; its verdicts say nothing about the papers."
              if quick else "How it is run, and the rule of the verdicts: `docs/reproduce.md`. What it shows: `docs/findings.md`.", "",
              "Every value is a mean over the seeds ± half of its 95 % interval. `rtl`: the bottleneck is the cycle model of the"
              " core, each of its decisions compared with the golden model. `golden`: the golden model alone. `ns3`: ns-3's own queue.", ""]  # fmt: skip
    summary, body = ["| paper | table | claim | verdict |", "|---|---|---|---|"], []
    there, made = [], []
    for of in TABLES:
        file = folder / of.paper / f"{of.name}.json"
        if not file.exists():
            body += [f"## {of.paper}: {of.title}", "", "Not run.", ""] if not quick else []
            continue
        there.append(of)
        made.append(json.loads(file.read_text()))
        verdicts, lines_of = section(folder, of, made[-1], quick)
        summary += verdicts
        body += lines_of
    lines += [spent(cost(folder, (run for run in plan.runs(quick) if run.table in there))).strip(), ""]
    lines += [*versions(made), "## Verdicts", "", *summary, "", *body, "## Not run", ""] + [
        f"- {k}: {v}." for k, v in NOT_RUN.items()
    ]
    text = "\n".join(lines) + "\n"
    target = folder / "report"
    target.mkdir(parents=True, exist_ok=True)
    (target / "report.md").write_text(text)
    (target / "index.html").write_text(as_html(text))


def keep(folder: Path) -> None:
    """Copies the report to the docs, with the tables as JSON."""
    text = (folder / "report" / "report.md").read_text()
    target = ROOT / KEPT
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for name in sorted(set(re.findall(r"\]\(([a-z0-9_-]+\.png)\)", text))):
        shutil.copy(folder / "report" / name, target)
    for of in TABLES:
        if (folder / of.paper / f"{of.name}.json").exists():
            keep_values(folder, of)
    (target / "report.md").write_text(text)


def spliced(text: str, of: Table, summary: list[str], body: list[str]) -> str:
    """The report with another section, and other verdicts, of a table that it has; or with those of one that it has not, behind
    the others of its paper.

    Raises:
        ValueError: the report has nothing of the table's paper
    """
    lines = text.splitlines()
    sections = [n for n, line in enumerate(lines) if line.startswith("## ")] + [len(lines)]
    verdicts = [n for n, line in enumerate(lines) if line.startswith(f"| {of.paper} | ")]
    of_table = [n for n in verdicts if lines[n].startswith(f"| {of.paper} | {of.title} |")]
    new = heading(of) not in lines
    if new:
        of_paper = [n for n in sections[:-1] if lines[n].startswith(f"## {of.paper}: ")]
        if not of_paper:
            raise ValueError(f"the report has nothing of paper {of.paper}")
        begin = end = sections[sections.index(of_paper[-1]) + 1]
    else:
        begin = lines.index(heading(of))
        end = next(n for n in sections if n > begin)
    lines[begin:end] = body
    at = of_table[0] if of_table else verdicts[-1] + 1
    for n in reversed(of_table):
        del lines[n]
    lines[at:at] = summary
    return "\n".join(lines) + "\n"


def in_order(text: str) -> str:
    """The report with the papers' sections and verdicts by paper, those of one paper in the plan's order, what the plan does not
    have behind them.
    """
    headings, rows = [heading(of) for of in TABLES], [f"| {of.paper} | {of.title} " for of in TABLES]

    def sort(lines: list[str], mark: str, known: list[str], name: Callable[[str], str]) -> None:
        """Sorts, among themselves, those of the lines that begin with the mark and a paper."""
        places = {line: n for n, line in enumerate(known)}
        there = [n for n, line in enumerate(lines) if re.match(rf"{re.escape(mark)}\d\d\d\b", line)]
        by_paper = sorted((lines[n] for n in there), key=lambda line: (name(line)[: len(mark) + 3], places.get(name(line), len(places))))  # fmt: skip
        for n, line in zip(there, by_paper, strict=True):
            lines[n] = line

    parts = re.split(r"^(?=## )", text, flags=re.M)
    sort(parts, "## ", headings, lambda part: part.split("\n", 1)[0])
    (verdicts,) = (n for n, part in enumerate(parts) if part.startswith("## Verdicts\n"))
    lines = parts[verdicts].splitlines(keepends=True)
    sort(lines, "| ", rows, lambda line: line.rsplit("|", 3)[0])
    parts[verdicts] = "".join(lines)
    return "".join(parts)


def pruned(text: str) -> str:
    """The report without sections and verdicts of tables that the plan does not have."""
    headings = {heading(of) for of in TABLES}
    verdicts = {f"| {of.paper} | {of.title} |" for of in TABLES}
    out, gone = [], False
    for line in text.splitlines():
        if line.startswith("## "):
            gone = bool(re.match(r"## \d\d\d: ", line)) and line not in headings
        verdict = re.match(r"\| \d\d\d \| [^|]* \|", line)
        if not gone and not (verdict and line.count("|") == 5 and verdict.group() not in verdicts):
            out.append(line)
    return "\n".join(out) + "\n"


def prune() -> None:
    """In the docs: the report, and the values and figures of such tables."""
    kept, known = ROOT / KEPT, {f"{of.paper}-{of.name}.json" for of in TABLES}
    for file in sorted(kept.glob("*.json")):
        if file.name not in known:
            file.unlink()
    text = in_order(pruned((kept / "report.md").read_text()))
    (kept / "report.md").write_text(text)
    for figure in sorted(kept.glob("*.png")):
        if f"]({figure.name})" not in text:
            figure.unlink()


def unfit(folder: Path, of: Table) -> str | None:
    """Why a table is not for the docs, in one line: runs of the plan that are not there, or a table that the plan has otherwise."""
    name = f"{of.paper} {of.name}"
    absent = plan.not_made(folder, [run for run in plan.runs(False) if run.table is of])
    if absent:
        return f"{name}: {len(absent)} runs of the plan are missing ({', '.join(absent[:3])}{', …' if len(absent) > 3 else ''}); run `make reproduce`"
    made = json.loads((folder / of.paper / f"{of.name}.json").read_text())
    keys = ("name", "text", "metric", "sign", "a", "b")
    planned = {
        "seeds": list(of.seeds),
        "rows": list(of.rows),
        "claims": [[getattr(claim, key) for key in keys] for claim in of.claims],
        "options": of.options,
    }
    its = {
        "seeds": made["seeds"],
        "rows": [row["row"] for row in made["rows"]],
        "claims": [[claim[key] for key in keys] for claim in made["claims"]],
        "options": made["options"],
    }
    other = [what for what, value in planned.items() if its[what] != value]
    return f"{name}: it has other {' and '.join(other)} than the plan; make the table again" if other else None


def refused(folder: Path, tables: Iterable[Table]) -> bool:
    """Says which of the tables that are there are not for the docs."""
    why = [unfit(folder, of) for of in tables if (folder / of.paper / f"{of.name}.json").exists()]
    for line in filter(None, why):
        print(f"report: {line}", file=sys.stderr)
    return any(why)


def keep_values(folder: Path, of: Table) -> None:
    """The table's values, and of each run of the RTL its cycles, records and the hash of its trace."""
    shutil.copy(folder / of.paper / f"{of.name}.json", ROOT / KEPT / f"{of.paper}-{of.name}.json")


def splice(folder: Path, of: Table) -> None:
    """The table, made again or new, in the report of the docs, and its JSON beside it."""
    (folder / "report").mkdir(exist_ok=True)
    summary, body = section(folder, of, json.loads((folder / of.paper / f"{of.name}.json").read_text()), quick=False)
    page = ROOT / KEPT / "report.md"
    keep_values(folder, of)
    made = [json.loads(file.read_text()) for file in sorted(page.parent.glob("*.json"))]
    page.write_text(in_order(with_versions(spliced(page.read_text(), of, summary, body), made)))
    for name in re.findall(r"\]\(([a-z0-9_-]+\.png)\)", "\n".join(body)):
        shutil.copy(folder / "report" / name, page.parent)


def main() -> int:
    parser = Parser("report", __doc__)
    parser.add_argument("what", choices=["table", "report", "keep", "splice", "prune"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("table", nargs="?", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--programs", type=Path, default=ROOT / "build" / "ns3" / "bin", help="whose runs they have to be"
    )
    a = parser.parse_args()
    if a.what == "keep":
        if refused(a.folder, TABLES):
            return 1
        keep(a.folder)
        return 0
    if a.what == "prune":
        prune()
        return 0
    if a.what == "report":
        report(a.folder, a.quick)
        return 0
    of = next((t for t in TABLES if f"{t.paper}/{t.name}" == a.table), None)
    if of is None:
        print(f"report: no table {a.table}", file=sys.stderr)
        return 2
    if a.what == "splice":
        if not (a.folder / of.paper / f"{of.name}.json").exists():
            print(f"report: {a.table} is not in {a.folder}; `run.py --table {a.table}` makes it", file=sys.stderr)
            return 1
        if refused(a.folder, [of]):
            return 1
        splice(a.folder, of)
        return 0
    try:
        now = Versions.of(a.programs / of.program, ROOT / "build" / "model")
        made = make(a.folder, of, a.quick, now) | {"commit": commit(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    except Disagreement as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    target = a.folder / of.paper / f"{of.name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(made, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

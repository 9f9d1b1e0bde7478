"""Makes a table's JSON of the results of its runs: printed and measured values, spread, verdicts, cost."""

from __future__ import annotations

import ctypes
import json
import math
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gains
import plan
from experiment import Claim, Table
from plan import Run, queues_of
from verdicts import Spread, claim_verdict, row_verdict


class Disagreement(Exception):
    """RTL and golden model differ, or a run does not tell."""


def metric(result: dict[str, Any], name: str) -> float:
    """A metric of a run by its name in the plan; not a number if the run has none (a mean of nothing)."""
    r = result["results"]
    if name == "loss_bits_percent":
        return 100.0 * float(r["dropped_bytes"]) / max(1.0, float(r["arrived_bytes"]))
    if name in ("queue_bits_mean", "queue_bits_sd"):
        return 8.0 * float(r[name.replace("bits", "bytes")])
    if name == "random_percent":
        return 100.0 * (float(r["early"]) + float(r["forced"])) / max(1.0, float(r["arrived"]))
    if name == "overflow_percent":
        return 100.0 * float(r["overflow"]) / max(1.0, float(r["arrived"]))
    if name == "mismatch":  # packets, over the points of the series
        points = list(zip(result["series"]["packets"], result["series"]["average"], strict=True))
        return math.fsum(abs(queue - average) for queue, average in points) / len(points) if points else math.nan
    if name == "dropped_first":
        return float(sum(result["series"]["drops_per_s"][: int(result["parameters"]["late"])]))
    if name == "after_stop_s":  # of the flows with a stop, the longest
        return max(result.get(name, []), default=math.nan)
    value = result[name] if name == "goodput_bytes" else r[name]
    return math.nan if value is None else float(value)


def tells(side: str, queue: str, name: str) -> bool:
    """Whether a run has that metric: ns-3's queues tell no average, and only FN measures a rate."""
    if name.startswith("average") or name == "mismatch":
        return queue != "ns3"
    return not (name.startswith("rate_") and (queue == "ns3" or side == "red"))


@dataclass(frozen=True)
class Versions:
    """What a run would be made by now: SHA-256 of the programs' sources, and of the Verilog by core. What is not known is not compared."""

    sources: str | None = None
    rtl: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Path, models: Path) -> Versions:
        """As the program and the cycle models below a folder say; of those that are there."""
        rtl = {}
        for library in sorted(models.glob("*/libweir_model.so")):
            model = ctypes.CDLL(str(library))
            model.weir_model_rtl.restype = ctypes.c_char_p
            rtl[library.parent.name] = model.weir_model_rtl().decode()
        said = ""
        if program.exists():
            done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False)
            said = done.stdout.strip() if done.returncode == 0 else ""
        return cls(said or None, rtl)

    def compare(self, run: Mapping[str, Any], file: Path) -> None:
        """Raises Disagreement if the run is of another version."""
        core = run.get("core") or {}
        of_rtl = self.rtl.get(str(run["parameters"].get("core"))) if "parameters" in run else None
        for what, its, now in (("sources", run.get("sources"), self.sources), ("RTL", core.get("rtl"), of_rtl)):
            if its and now and its != now:
                raise Disagreement(
                    f"{file}: of other {what}, SHA-256 {its[:16]}…, than what is built, {now[:16]}…;"
                    " run `make reproduce` (it is made again), or remove it"
                )


#: of a table whose runs are taken as they are
ANY = Versions()


def load(folder: Path, table: Table, row: str, side: str, queue: str, now: Versions = ANY) -> dict[int, dict[str, Any]]:
    """The runs that are there, by seed. Raises Disagreement if one is of another version than `now`."""
    found = {}
    for seed in table.seeds:
        file = folder / Run(table, row, side, queue, seed).file
        if file.exists():
            found[seed] = json.loads(file.read_text())
            now.compare(found[seed], file)
    return found


def same_trace(runs: dict[str, dict[int, dict[str, Any]]], where: str) -> int:
    """RTL and golden model of each seed: the same trace; every record of the RTL compared. Answers how many records.

    Raises:
        Disagreement: they differ, or a run of the RTL has none of the golden model beside it
    """
    records = 0
    for seed, run in runs.get("rtl", {}).items():
        core = run["core"]
        if core["compared"] != core["records"]:
            raise Disagreement(f"{where}, seed {seed}: {core['compared']} of {core['records']} records compared")
        other = runs.get("golden", {}).get(seed)
        if other is None:
            raise Disagreement(f"{where}, seed {seed}: no run of the golden model beside the RTL's")
        if other["core"]["trace_hash"] != core["trace_hash"]:
            raise Disagreement(f"{where}, seed {seed}: RTL and golden model have different traces")
        records += int(core["records"])
    return records


def spread(runs: dict[int, dict[str, Any]], name: str) -> dict[str, float | int | None]:
    """Mean and half width as JSON."""
    values = [v for v in (metric(r, name) for r in runs.values()) if not math.isnan(v)]
    if not values:
        return {"mean": None, "half": None, "seeds": 0}
    s = Spread.of(values)
    return {"mean": s.mean, "half": s.half if s.count > 1 else None, "seeds": s.count}


def one_row(
    folder: Path, table: Table, row: str, sides: tuple[str, ...], seeds: int, now: Versions
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A row's JSON, and the runs that count for it by side."""
    out: dict[str, Any] = {"row": row, "sides": {}}
    chosen: dict[str, Any] = {}
    printed = table.printed.get(row, {})
    for side in sides:
        runs = {q: load(folder, table, row, side, q, now) for q in queues_of(table, side)}
        records = same_trace(runs, f"{table.paper} {table.name}, {row}, {side}")
        present = {q: r for q, r in runs.items() if r}
        if not present:
            continue
        main = "rtl" if len(runs.get("rtl", {})) == seeds else "golden" if "golden" in present else "rtl"
        chosen[side] = runs[main]
        out["sides"][side] = {
            "queue": main, "records_compared": records,
            "measured": {q: {m: spread(r, m) for m in table.metrics if tells(side, q, m)} for q, r in present.items()},
            "printed": {m: printed[f"{side} {m}"] for m in table.metrics if f"{side} {m}" in printed},
            "wall_s": {q: sum(x["wall_s"] for x in r.values()) / len(r) for q, r in present.items()},
            "memory_mib": max(x["memory_kib"] for r in present.values() for x in r.values()) / 1024,
            "core": {str(s): r["core"] for s, r in runs.get("rtl", {}).items()},
            "sources": sorted({x["sources"] for r in present.values() for x in r.values() if "sources" in x}),
        }  # fmt: skip
    return out, chosen


def cost(folder: Path, runs: Iterable[Run]) -> dict[str, dict[str, float]]:
    """How many of these runs there are, and their processor time, s, by queue; one that several rows or tables have counts once."""
    out: dict[str, dict[str, float]] = {}
    for file, queue in sorted({(run.file, run.queue) for run in runs}):
        if (folder / file).exists():
            of = out.setdefault(queue, {"runs": 0, "cpu_s": 0.0})
            of["runs"] += 1
            of["cpu_s"] += json.loads((folder / file).read_text())["cpu_s"]
    return out


def one_version(found: set[str | None], what: str) -> str | None:
    """The SHA-256 that all have; nothing if none tells. Raises Disagreement if there are several."""
    if len(found) > 1:
        raise Disagreement(f"{what}: {len(found)} versions; remove the runs that are older")
    return next(iter(found), None)


def some_in_every_seed(runs: dict[str, dict[int, dict[str, Any]]], claim: Claim) -> bool:
    """Whether in each seed one of a claim's two sides has some; a seed that one side alone has is no part of the row."""
    a, b = runs[claim.a], runs[claim.b]
    return all(metric(a[s], claim.metric) > 0 or metric(b[s], claim.metric) > 0 for s in set(a) & set(b))


def make(folder: Path, table: Table, quick: bool, now: Versions = ANY) -> dict[str, Any]:
    """The table. Raises Disagreement."""
    rows, runs = [], {}
    sides = table.quick_sides if quick else tuple(table.sides)
    for row in table.quick_rows if quick else table.rows:
        made, chosen = one_row(folder, table, row, sides, len(table.seeds_of(quick)), now)
        if made["sides"]:
            rows.append(made)
            runs[row] = chosen
    claims = []
    for claim in table.claims:
        mine = [r for r in runs if (not claim.rows or r in claim.rows) and {claim.a, claim.b} <= set(runs[r])]
        if not mine:
            continue
        judged = {}
        without = [r for r in mine if claim.where_any and not some_in_every_seed(runs[r], claim)]
        for r in (r for r in mine if r not in without):
            a, b = ({s: metric(x, claim.metric) for s, x in runs[r][side].items()} for side in (claim.a, claim.b))
            verdict, difference = row_verdict(a, b, claim.sign)
            judged[r] = {"verdict": verdict, "difference": difference.mean if difference else None,
                         "half": difference.half if difference else None}  # fmt: skip
        claims.append({"name": claim.name, "text": claim.text, "a": claim.a, "b": claim.b, "metric": claim.metric,
                       "sign": claim.sign, "rows": judged, "rows_of_the_claim": len(claim.rows or table.rows) - len(without), "without": without, "verdict": claim_verdict([str(j["verdict"]) for j in judged.values()])})  # fmt: skip
    where, made_of = f"{table.paper} {table.name}", [s for row in rows for s in row["sides"].values()]
    shortened = {k: v for k, v in table.quick.items() if quick}
    over_loads = gains.gains(table, runs) if table.program == "datacenter" and runs else None
    return {"paper": table.paper, "table": table.name, "title": table.title, "options": table.options | shortened,
            "shortened": bool(shortened), "seeds": list(table.seeds_of(quick)), "rows": rows, "claims": claims, "notes": list(table.notes),
            "rows_of_the_paper": len(table.rows), "gains": over_loads,
            "rtl": one_version({c.get("rtl") for s in made_of for c in s["core"].values()}, f"{where}, RTL of its runs"),
            "sources": one_version({of for s in made_of for of in s["sources"]}, f"{where}, programs of its runs"), "cost": cost(folder, (run for run in plan.runs(quick) if run.table is table))}  # fmt: skip

#!/usr/bin/env python3
"""Whether the programs that are built give what the report was made of.

    python sim/reproduce/same.py [--table 003/table1] [--seeds 1] [--longest 20] [--every 10] [--jobs 2]

A table of the report is of the day on which it was made. Each of its runs with the RTL, of these seeds, is made again with the golden model of the programs that
are built, and has to give the same trace: every record of every arrival and departure has the same 12 words. Where the Verilog's SHA-256 is not the
report's, the run is made again with the RTL too, and has to give that trace. Of a table of the golden model alone each cell is made again with all its seeds, and its means have to be the
same. `--longest` leaves out what took longer, s a run; `--every` takes each so many. Exit code 1 if something differs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import plan
from experiment import Table
from oneline import Parser
from tables import Versions, spread

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build" / "ns3" / "bin"
REPORT = ROOT / "docs" / "reproduced"


@dataclass(frozen=True)
class Made:
    """What the report says of runs: of one with the RTL the hash of its trace and the SHA-256 of its RTL's Verilog; of a cell of the golden model, whose runs
    are one a seed, its values. `wall`: of a run of the golden model, s."""

    runs: tuple[plan.Run, ...]
    values: dict[str, Any]
    hash: str
    rtl: str
    wall: float

    @property
    def name(self) -> str:
        """Table, row, side; of one run the seed."""
        run = self.runs[0]
        return f"{run.table.paper} {run.table.name}, {run.row}, {run.side}" + (
            f", seed {run.seed}" if self.hash else ""
        )


def made(table: dict[str, Any], seeds: tuple[int, ...]) -> Iterator[Made]:
    """A table's runs with the RTL, each once, or its cells."""
    of = plan.table_of(table["paper"], table["table"])
    seen = set()
    for row in table["rows"]:
        for side, values in row["sides"].items():
            wall = values["wall_s"]["golden"]
            if of.golden_only:
                runs = tuple(plan.Run(of, row["row"], side, "golden", seed) for seed in of.seeds)
                yield Made(runs, values["measured"]["golden"], "", "", wall)
                continue
            for seed in seeds:
                run, core = plan.Run(of, row["row"], side, "golden", seed), values["core"].get(str(seed))
                if core and run.file not in seen:
                    seen.add(run.file)
                    yield Made((run,), {}, core["trace_hash"], core.get("rtl", ""), wall)


class Failed(Exception):
    """A run that ended with an error, its line."""


def result_of(run: plan.Run) -> dict[str, Any]:
    """What the program gives now."""
    options = [f"--{name}={value}" for name, value in run.options(False).items()]
    done = subprocess.run([PROGRAMS / run.table.program, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(done.stderr.strip())
    return dict(json.loads(done.stdout))


def differs(m: Made, now: Versions) -> str | None:
    """How it differs from what the programs give now, in a line."""
    try:
        return _differs(m, now)
    except Failed as failed:
        return f"{m.name}: {failed}"


def _differs(m: Made, now: Versions) -> str | None:
    results = {run.seed: result_of(run) for run in m.runs}
    if not m.hash:
        others = [name for name, value in m.values.items() if spread(results, name) != value]
        return f"{m.name}: other values than the report's: {', '.join(others)}" if others else None
    (result,) = results.values()
    if result["core"]["trace_hash"] != m.hash:
        return f"{m.name}: another trace than the report's"
    core = result["parameters"]["core"]
    if core not in now.rtl:
        return f"{m.name}: the same trace, but the cycle model {core}, whose RTL is compared, is not built; run `make model`"
    if now.rtl[core] == m.rtl:
        return None
    (run,) = m.runs
    again = result_of(replace(run, queue="rtl"))["core"]["trace_hash"]
    return f"{m.name}: another trace than the report's, of RTL that has changed" if again != m.hash else None


def lacks(file: Path, of: Table) -> str | None:
    """What there has to be first, in a line."""
    if not file.exists():
        return "it is not in the report"
    if not (PROGRAMS / of.program).exists():
        return "its program is not built; run `make ns3`"
    return None


def main() -> int:
    parser = Parser("same", __doc__)
    known = sorted(f"{t.paper}/{t.name}" for t in plan.TABLES)
    parser.add_argument("--table", action="append", choices=known, help="only this table; several times")
    parser.add_argument("--seeds", default="1", help="of the report's, like 1,2,3 (default %(default)s)")
    parser.add_argument("--longest", type=float, default=1e9, help="leave out what took longer, s a run")
    parser.add_argument("--every", type=int, default=1, help="take each so many of a table (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time (default %(default)s)")
    a = parser.parse_args()
    try:
        seeds = tuple(int(seed) for seed in a.seeds.split(","))
    except ValueError:
        parser.error(f"--seeds {a.seeds}: must be numbers of seeds, like 1,2,3")
    for name, value in (("jobs", a.jobs), ("every", a.every)):
        if value < 1:
            parser.error(f"--{name} {value}: must be 1 or more")
    chosen = {
        name: (REPORT / f"{name.replace('/', '-')}.json", plan.table_of(*name.split("/"))) for name in a.table or known
    }
    for name, (file, of) in chosen.items():
        why = lacks(file, of)
        if why:
            print(f"same: {name}: {why}", file=sys.stderr)
            return 1
    checked = failed = 0
    for name, (file, of) in chosen.items():
        now = Versions.of(PROGRAMS / of.program, ROOT / "build" / "model")
        all_of_it = list(made(json.loads(file.read_text()), seeds))
        short = [m for m in all_of_it[:: a.every] if m.wall <= a.longest]
        with ThreadPoolExecutor(a.jobs) as pool:
            found = [line for line in pool.map(lambda m, now=now: differs(m, now), short) if line]
        left_out = f", {len(all_of_it) - len(short)} others left out" if len(short) < len(all_of_it) else ""
        what = "cells have the same values" if of.golden_only else "runs have the same trace"
        print(f"{name}: {len(short) - len(found)} of {len(short)} {what}{left_out}", flush=True)
        print("".join(f"same: {line}\n" for line in found), end="", file=sys.stderr)
        checked, failed = checked + len(short), failed + len(found)
    print(f"{checked - failed} of {checked} are as in the report")
    if not checked:
        print("same: there was nothing to compare", file=sys.stderr)
    return 1 if failed or not checked else 0


if __name__ == "__main__":
    sys.exit(main())

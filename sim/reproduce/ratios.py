#!/usr/bin/env python3
"""Wall time of the experiments with the RTL in the loop against the same runs with ns-3's own queue: a Markdown table.

    python sim/reproduce/ratios.py [--runs 3] [--only 002]

Each run is made with ns-3's queue, and with the RTL (every record compared with the golden model) on threads of its own and in turns
with the simulator; medians. Nothing else should run meanwhile.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import datacenter
from oneline import Parser

PROGRAMS = Path(__file__).resolve().parents[2] / "build" / "ns3" / "bin"


@dataclass(frozen=True)
class Case:
    """A run of an experiment that ns-3 has a queue for."""

    paper: str
    what: str
    program: str
    options: tuple[str, ...]


CASES = (
    Case("003", "RED, 30 sources, 30 s", "isred", ("--policy=red", "--duration=30")),
    *(
        Case("004", f"RED, {rate} Mb/s, {traffic}, 20 s", "fn-red",
             ("--policy=red", "--duration=20", f"--rate={rate}e6", f"--traffic={traffic}"))
        for rate in (20, 10)
        for traffic in ("persistent", "sessions", "fed")
    ),
    *(
        Case("001", f"{gateway}, scenario {scenario}, 6 s", "gateways",
             (f"--gateway={gateway}", f"--scenario={scenario}", "--duration=6"))
        for gateway in ("drop-tail", "red", "red-ecn")
        for scenario in "AF"
    ),
    Case("000", "RED, 50 s", "mred", ("--side=red", "--duration=50")),
    *(
        Case("002", f"{size} bytes, load {load}", "datacenter",
             ("--merge=off", "--duration=0.015", "--warm=0.005", f"--size={size}", f"--load={load}"))
        for size in datacenter.SIZES
        for load in datacenter.FOUR
    ),
    *(
        Case("002", f"{tcp}, 1460 bytes, load {load}", "datacenter",
             ("--merge=off", "--duration=0.015", "--warm=0.005", "--size=1460", f"--load={load}", f"--tcp={tcp}"))
        for tcp in ("tahoe", "reno", "sack")
        for load in datacenter.FOUR
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """Of a run, s."""

    wall: float
    cpu: float


def run(case: Case, queue: str, thread: str) -> Cost:
    """One run; its own clock. Ends the program if it fails."""
    command = [str(PROGRAMS / case.program), *case.options, f"--queue={queue}"]
    command += [f"--thread={thread}"] if queue == "rtl" else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"ratios: {case.program}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    if queue == "rtl" and result["core"]["compared"] != result["core"]["records"]:
        sys.exit(
            f"ratios: {case.program}: {result['core']['compared']} of {result['core']['records']} records compared"
        )
    return Cost(result["wall_s"], result["cpu_s"])


def measure(case: Case, runs: int) -> tuple[Cost, Cost, Cost]:
    """Medians: ns-3's queue; RTL on threads of its own; RTL in turns."""
    kinds = (("ns3", "on"), ("rtl", "on"), ("rtl", "off"))
    costs = [[run(case, queue, thread) for queue, thread in kinds] for _ in range(runs)]
    ns3, threads, turns = (
        Cost(statistics.median(c[kind].wall for c in costs), statistics.median(c[kind].cpu for c in costs))
        for kind in range(len(kinds))
    )
    return ns3, threads, turns


def row(what: str, ns3: Cost, threads: Cost, turns: Cost) -> str:
    ratios = f"**{threads.wall / ns3.wall:.1f}** | {threads.cpu / ns3.cpu:.1f} | {turns.wall / ns3.wall:.1f}"
    return f"| {what} | {ns3.wall:.2f} s | {threads.wall:.2f} s | {turns.wall:.2f} s | {ratios} |"


def main() -> int:
    parser = Parser("ratios", __doc__)
    parser.add_argument("--runs", type=int, default=3, help="of which the median is taken (default %(default)s)")
    parser.add_argument("--only", choices=sorted({c.paper for c in CASES}), help="a paper")
    a = parser.parse_args()
    print(
        "| | ns-3's queue | RTL | RTL in turns | RTL / ns-3 | processor time | in turns / ns-3 |\n|---|---|---|---|---|---|---|"
    )
    whole: list[tuple[Cost, Cost, Cost]] = []
    for case in CASES:
        if a.only in (None, case.paper):
            costs = measure(case, a.runs)
            whole += [costs] if case.paper == "002" else []
            print(row(f"{case.paper}, {case.what}", *costs), flush=True)
    if whole:
        ns3, threads, turns = (Cost(sum(c[n].wall for c in whole), sum(c[n].cpu for c in whole)) for n in range(3))
        print(row("002, together", ns3, threads, turns))
    return 0


if __name__ == "__main__":
    sys.exit(main())

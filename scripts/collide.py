"""Shows that nothing depends on what a block RAM gives for an address that is written in the same cycle.

    .venv/bin/python scripts/collide.py [--list | --model] [-- arguments of pytest]

Verilog says "the old word"; the RAMs of an FPGA promise nothing without logic around them, so synthesis may add comparators, registers
and multiplexers to each. Here `synth_ecp5 -no-rw-check` leaves them out (`scripts/ecp5.py`), and this is why it may: in a copy
of the Verilog below build/collide/ such a read gives the old word inverted, and the benches have to pass all the same.

Needs what `make test` needs: build/rtl and libweir. `--list` names the RAMs that are changed. `--model` builds the cycle model of the preset
`full` of them too, for tests that use it (sim/tests).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RTL = ROOT / "build" / "rtl"
WORK = ROOT / "build" / "collide"

MODULE = re.compile(r"^module (\w+).*?^endmodule", re.M | re.S)
MEMORY = re.compile(r"^\s*(?:\(\*.*?\*\)\s*)?reg\s+(?:\[\d+:\d+\]\s+)?(\w+) \[0:\d+\];", re.M)
WRITE = r"if\((?P<enable>[^\n]*)\) begin\n\s*{memory}\[(?P<address>[^\n]+?)\] <= "
READ = r"(?P<indent>[ ]*)(?P<word>\w+) <= {memory}\[(?P<address>[^\n]+)\];"


class CollideError(Exception):
    """Verilog of a shape that is not known; the text says where."""


def collide_in(module: str, name: str) -> tuple[str, list[str]]:
    """A module's Verilog in which reads of what is written go wrong, and the names of its block RAMs."""
    changed: list[str] = []
    for memory in MEMORY.findall(module):
        writes = re.findall(rf"^\s*{memory}\[.*<=", module, re.M)
        reads = re.findall(rf"<= {memory}\[", module)
        if not writes or not reads:
            continue  # a ROM, or distributed RAM
        write = re.search(WRITE.format(memory=memory), module)
        if len(writes) != 1 or write is None:
            raise CollideError(f"{name}.{memory}: {len(writes)} writes; one is known, `if(...) begin {memory}[...] <=`")
        wrong = (
            rf"\g<indent>\g<word> <= ({write['enable']}) && ({write['address']}) == (\g<address>)"
            rf" ? ~{memory}[\g<address>] : {memory}[\g<address>];"
        )
        module, found = re.subn(READ.format(memory=memory), wrong, module)
        if found != len(reads):
            raise CollideError(f"{name}.{memory}: {found} of {len(reads)} reads are of a known shape")
        changed.append(f"{name}.{memory}")
    return module, changed


def collide(verilog: str) -> tuple[str, list[str]]:
    """All modules of a file.

    Raises:
        CollideError: a memory is written or read in another way than SpinalHDL's.
    """
    changed: list[str] = []

    def each(match: re.Match[str]) -> str:
        text, names = collide_in(match[0], match[1])
        changed.extend(names)
        return text

    return MODULE.sub(each, verilog), changed


def copies() -> set[str]:
    """Writes build/collide/rtl; returns the names of the RAMs."""
    sources = sorted(p for p in RTL.rglob("*.v") if "formal" not in p.relative_to(RTL).parts)
    if not sources:
        raise CollideError("build/rtl has no Verilog; `make rtl` writes it")
    rams: set[str] = set()
    for source in sources:
        try:
            text, changed = collide(source.read_text())
        except CollideError as error:
            raise CollideError(f"{source.relative_to(ROOT)}: {error}") from None
        rams |= {name.removeprefix(f"{source.stem}_") for name in changed}
        copy = WORK / "rtl" / source.relative_to(RTL)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists() or copy.read_text() != text:
            copy.write_text(text)
    for registers in RTL.glob("weir_regs.*"):
        shutil.copy(registers, WORK / "rtl")
    print(
        f"collide: {len(rams)} RAMs in {len(sources)} files give inverted words where a read meets a write", flush=True
    )
    return rams


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="only name the RAMs")
    parser.add_argument(
        "--model", action="store_true", help="build the cycle model `full` of the copies, and let tests use it"
    )
    parser.add_argument("pytest", nargs="*", help="arguments of pytest; cocotb-tests by default")
    a = parser.parse_args()
    try:
        rams = copies()
    except CollideError as error:
        print(f"collide: {error}", file=sys.stderr)
        return 1
    if a.list:
        print("\n".join(sorted(rams)))
        return 0
    environment = os.environ | {"WEIR_RTL": str(WORK / "rtl"), "WEIR_SIM": str(WORK / "sim")}
    if a.model:
        rtl, out = WORK / "rtl" / "full", WORK / "model" / "full"
        build = [sys.executable, "sim/model/build.py", "--preset", "full", "--rtl", str(rtl), "--out", str(out)]
        if subprocess.run(build, cwd=ROOT).returncode:
            return 1
        environment["WEIR_MODEL_DIR"] = str(WORK / "model")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *(a.pytest or ["cocotb-tests"])], cwd=ROOT, env=environment
    ).returncode


if __name__ == "__main__":
    sys.exit(main())

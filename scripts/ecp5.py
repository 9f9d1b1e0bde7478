"""What the open tools for the ECP5 leave to do between synthesis and placement.

A RAM's word that is read and written in one cycle is left to the RAM: Verilog says that the old one is read, which costs yosys a
comparator, a register and a multiplexer for every word of a block RAM. Nothing here depends on it, which `collide.py` shows.

ABC chooses LUTs for a delay in which yosys counts every wire as 0.3 ns. In a full device a wire takes three times that, and a path of nine LUTs is slower than a
carry chain that ABC thinks as slow; whatever is no slower than the slowest path may become deeper, if that saves LUTs. Here a wire
counts as 0.9 ns, and the logic is balanced by delay (`&syn2`, `&if -x`) before LUTs are chosen. That takes eight minutes for `ten-gig`; boards do without (`quick`), and leave multipliers as they are.

A flip-flop's reset and enable are one wire more for it, late ones often, and a tile has one reset: of fewer than nine flip-flops a reset becomes logic at their data, of fewer than three an enable.

yosys maps a product to a MULT18X18D without any of its registers. Where a flip-flop behind each bit of the product
does nothing but keep it, the multiplier's own output register does the same, without the way from one to the other.
A flip-flop with an enable or a reset stays: nextpnr does not write REG_OUTPUT_CE into the bitstream.

A distributed RAM of fewer than 16 words has address bits that are always 0. nextpnr brings that 0 to every such pin from one LUT for the
whole device, in `ten-gig` to 7 970 pins, through wires that others need. Those bits are 1 instead: on the read port, which is four LUTs, by
leaving the pins open, which LUTs' inputs are 1 for (nextpnr sets their multiplexers to it); on the write port, whose pins are no LUT's, from a LUT for each memory.

A reset of thousands of flip-flops takes wires that others need, and reaches the farthest ones late. It goes over a buffer for global wires
(DCCA), as clocks do; nextpnr does that of itself for clocks only. It counts no delay for global wires, so the way to the buffer should be short.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIRE_PS = 900
"""what ABC counts for a wire; yosys's own value is 300"""
ABC = "+&scorr;&sweep;&st;&syn2;&st;&if,-x,-K,6;&dch,-f;&if,{W},-C,16,-v;&mfs"
"""its steps; yosys writes the time of a wire for {W}"""
FEWEST_RESET, FEWEST_ENABLED = 9, 3
"""flip-flops that share a reset or an enable, if it is to be one"""
FLIP_FLOPS = " ".join(
    f"-cell ${kind} {init}"
    for kind, init in (
        ("_DFF_?_", "01"),
        ("_DFF_?P?_", "r"),
        ("_SDFF_?P?_", "r"),
        ("_DFFE_??_", "01"),
        ("_DFFE_?P??_", "r"),
        ("_SDFFE_?P??_", "r"),
    )
)
"""those of the ECP5, for `dfflegalize`"""

Cell = dict[str, Any]
PRODUCT_BITS = 36
LARGE_RESET, MOST_RESETS = 400, 3
"""A reset of so many flip-flops gets a global wire; so many resets at most. Eight of the device's 16 reach inputs that are not clocks."""


def synthesis(top: str, netlist: str = "", options: str = "", quick: bool = False) -> str:
    """yosys's commands for whatever becomes a netlist for an ECP5: `synth_ecp5` but for small resets and enables, and for how ABC chooses LUTs.

    They write `netlist`, if it is given, as JSON; `options` are further ones of `synth_ecp5`. `quick`: ABC as yosys has it, and resets and enables as they come.
    """
    common = f"synth_ecp5 -no-rw-check -top {top} {options}".rstrip()
    written = f" -json {netlist}" if netlist else ""
    if quick:
        return f"{common}{written}"
    return (
        f"{common} -run begin:map_ffs; dfflegalize -minsrst {FEWEST_RESET} -mince {FEWEST_ENABLED} {FLIP_FLOPS}; opt_clean; "
        f"{common} -run map_ffs:map_luts; check -latchonly -assert; abc9 -W {WIRE_PS} -script {ABC}; clean; {common}{written} -run map_cells:"
    )


def sizes(cells: Mapping[str, int]) -> dict[str, int]:
    """What a netlist takes of a device. A carry cell is two LUTs, a distributed RAM four and the two of its write port."""
    return {
        "lut4": cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0) + 6 * cells.get("TRELLIS_DPR16X4", 0),
        "ff": cells.get("TRELLIS_FF", 0),
        "ebr": cells.get("DP16KD", 0) + cells.get("PDPW16KD", 0),
        "dsp": cells.get("MULT18X18D", 0),
    }


def keeps_only(ff: Cell) -> bool:
    """Whether a TRELLIS_FF takes its input at every rising edge, and nothing else happens to it."""
    parameters = {name: str(value).strip() for name, value in ff["parameters"].items()}
    always = parameters.get("CEMUX", "1") == "1" and ff["connections"].get("CE", ["1"]) == ["1"]
    free = ff["connections"].get("LSR", ["0"]) in (["0"], ["x"], [])
    return always and free and parameters.get("CLKMUX", "CLK") == "CLK" and ff["connections"].get("M") is None


def absorb_in(module: dict[str, Any]) -> int:
    """Uses the output registers of a module's multipliers; returns of how many."""
    cells: dict[str, Cell] = module["cells"]
    loads: dict[int, list[str]] = {}
    for name, cell in cells.items():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] != "output":
                for bit in bits:
                    loads.setdefault(bit, []).append(name)
    outside = {b for port in module["ports"].values() if port["direction"] != "input" for b in port["bits"]}
    absorbed: list[str] = []
    changed = 0
    for cell in cells.values():
        if cell["type"] != "MULT18X18D" or "REG_OUTPUT_CLK" in cell["parameters"]:
            continue
        ports = [f"P{n}" for n in range(PRODUCT_BITS)]
        product = [(p, bit) for p in ports for bit in cell["connections"].get(p, []) if loads.get(bit)]
        behind = [loads[bit][0] for _, bit in product]
        ffs = [cells[ff] for ff in behind]
        alone = all(len(loads[bit]) == 1 and bit not in outside for _, bit in product)
        clocks = {ff["connections"].get("CLK", ["x"])[0] for ff in ffs}
        if not alone or len(clocks) != 1 or not all(ff["type"] == "TRELLIS_FF" and keeps_only(ff) for ff in ffs):
            continue
        cell["parameters"] |= {"REG_OUTPUT_CLK": "CLK0", "REG_OUTPUT_CE": "CE0", "REG_OUTPUT_RST": "RST0"}
        for port, net in {"CLK0": clocks.pop(), "CE0": "1", "RST0": "0"}.items():
            cell["connections"][port] = [net]
            cell["port_directions"][port] = "input"
        for (port, _), ff in zip(product, ffs, strict=True):
            cell["connections"][port] = ff["connections"]["Q"]
        absorbed += behind
        changed += 1
    for name in absorbed:
        del cells[name]
    return changed


def free_bit(module: dict[str, Any]) -> int:
    """A number that no net of the module has."""
    ends = [bits for cell in module["cells"].values() for bits in cell["connections"].values()]
    named = [one["bits"] for part in ("ports", "netnames") for one in module.get(part, {}).values()]
    return 1 + max((bit for bits in ends + named for bit in bits if not isinstance(bit, str)), default=1)


def add(
    module: dict[str, Any], name: str, kind: str, inputs: dict[str, Any], output: dict[str, int], **parameters: str
) -> None:
    """A cell with one output, and its net."""
    ((port, bit),) = output.items()
    module["cells"][name] = {
        "hide_name": 0,
        "type": kind,
        "parameters": parameters,
        "attributes": {},
        "port_directions": {**dict.fromkeys(inputs, "input"), port: "output"},
        "connections": {**{end: [of] for end, of in inputs.items()}, port: [bit]},
    }
    module["netnames"][name] = {"hide_name": 0, "bits": [bit], "attributes": {}}


def narrow_in(module: dict[str, Any]) -> int:
    """Takes the constant 0 out of the addresses of a module's distributed RAMs; returns of how many."""
    changed = 0
    ones: dict[tuple[Any, ...], int] = {}
    new = free_bit(module)
    for cell in list(module["cells"].values()):
        if cell["type"] != "TRELLIS_DPR16X4" or set(str(cell["parameters"].get("INITVAL", "x"))) - {"x"}:
            continue
        write, read = (cell["connections"][port] for port in ("WAD", "RAD"))
        idle = [n for n, bits in enumerate(zip(write, read, strict=True)) if bits == ("0", "0")]
        if not idle:
            continue
        memory = (*write, *cell["connections"]["WRE"])
        if memory not in ones:
            ones[memory] = new + len(ones)
            add(module, f"ram_one_{ones[memory]}", "LUT4", {}, {"Z": ones[memory]}, INIT="1" * 16)
        for n in idle:
            write[n], read[n] = ones[memory], "x"
        changed += 1
    return changed


def widen_in(module: dict[str, Any]) -> int:
    """Gives a module's large resets global wires; returns to how many."""
    cells: dict[str, Cell] = module["cells"]
    ffs = [cell for cell in cells.values() if cell["type"] == "TRELLIS_FF"]
    resets = Counter(bit for ff in ffs for bit in ff["connections"].get("LSR", ()) if not isinstance(bit, str))
    large = [bit for bit, loads in resets.most_common(MOST_RESETS) if loads >= LARGE_RESET]
    for n, reset in enumerate(large, start=free_bit(module)):
        add(module, f"global_reset_{n}", "DCCA", {"CLKI": reset}, {"CLKO": n})
        for ff in ffs:
            if ff["connections"].get("LSR") == [reset]:
                ff["connections"]["LSR"] = [n]
    return len(large)


@dataclass(frozen=True)
class Finished:
    """What `finish` changed: multipliers that have their output register now, RAMs without a constant in their addresses,
    resets that have a global wire.
    """

    multipliers: int
    rams: int
    resets: int


def finish(netlist: Path, multipliers: bool = True) -> Finished:
    """Does all three in a netlist that yosys wrote for `synth_ecp5 -json`, in place; without `multipliers` the last two."""
    design = json.loads(netlist.read_text())
    modules = [module for module in design["modules"].values() if "cells" in module]
    done = Finished(
        sum(map(absorb_in, modules)) if multipliers else 0, sum(map(narrow_in, modules)), sum(map(widen_in, modules))
    )
    netlist.write_text(json.dumps(design))
    return done

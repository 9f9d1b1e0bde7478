"""What the open tools for the ECP5 leave to do between synthesis and placement.

A RAM's word that is read and written in one cycle is left to the RAM (`SYNTHESIS`): Verilog says that the old one is read, which costs yosys a
comparator, a register and a multiplexer for every word of a block RAM. Nothing here depends on it, which `collide.py` shows.

yosys maps a product to a MULT18X18D without any of its registers. Where a flip-flop behind each bit of the product
does nothing but keep it, the multiplier's own output register does the same, without the way from one to the other.
A flip-flop with an enable or a reset stays: nextpnr does not write REG_OUTPUT_CE into the bitstream.

A distributed RAM of fewer than 16 words has address bits that are always 0. nextpnr brings that 0 to every such pin from one LUT for the
whole device, in `ten-gig` to 7 970 pins, through wires that others need. The pins take the lowest address bit instead, on both ports: each
word has a place of its own still, and the net is there already.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SYNTHESIS = "synth_ecp5 -no-rw-check"
"""yosys's command for whatever becomes a netlist for an ECP5"""

Cell = dict[str, Any]
PRODUCT_BITS = 36


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


def narrow_in(module: dict[str, Any]) -> int:
    """Takes the constant out of the addresses of a module's distributed RAMs; returns of how many."""
    changed = 0
    for cell in module["cells"].values():
        if cell["type"] != "TRELLIS_DPR16X4" or set(str(cell["parameters"].get("INITVAL", "x"))) - {"x"}:
            continue
        write, read = (cell["connections"][port] for port in ("WAD", "RAD"))
        idle = [n for n, bits in enumerate(zip(write, read, strict=True)) if bits == ("0", "0")]
        if not idle or any(isinstance(address[0], str) for address in (write, read)):
            continue
        for n in idle:
            write[n], read[n] = write[0], read[0]
        changed += 1
    return changed


@dataclass(frozen=True)
class Finished:
    """What `finish` changed: multipliers that have their output register now, RAMs without a constant in their addresses."""

    multipliers: int
    rams: int


def finish(netlist: Path) -> Finished:
    """Does both in a netlist that yosys wrote for `synth_ecp5 -json`, in place."""
    design = json.loads(netlist.read_text())
    modules = [module for module in design["modules"].values() if "cells" in module]
    done = Finished(sum(map(absorb_in, modules)), sum(map(narrow_in, modules)))
    netlist.write_text(json.dumps(design))
    return done

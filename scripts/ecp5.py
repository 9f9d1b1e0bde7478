"""An ECP5 with the open tools: yosys's commands, what a netlist takes of a device, and what boards need to route.

`make timing` of cores and units and `make area` take netlists as yosys writes them. The boards' are changed in two ways
(`ease`), without which the Versa's made no headway in nextpnr's router (docs/boards.md):

- A distributed RAM of fewer than 16 words has address bits that are always 0. nextpnr brings that 0 to every such pin
  from one LUT for the whole device. Here those bits are 1: on the read port, which is four LUTs, by leaving the pins
  open (nextpnr sets their multiplexers to 1), on the write port, whose pins are no LUT's, from a LUT for each memory.
- nextpnr gives global wires to clocks alone. A reset of many flip-flops gets one too, behind a DCCA. nextpnr counts no
  delay for global wires, so the clock needs time to spare.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LARGE_RESET, MOST_RESETS = 400, 3
"""flip-flops of a reset that gets a global wire, and how many do: eight of 16 global wires reach more than clocks"""


def synthesis(top: str, netlist: str = "", options: str = "") -> str:
    """yosys's commands for whatever becomes a netlist for an ECP5: written to `netlist`, if given, as JSON.

    A RAM's word that is read while it is written may be anything (`-no-rw-check`): nothing depends on it (collide.py).
    """
    written = f" -json {netlist}" if netlist else ""
    return f"synth_ecp5 -no-rw-check -top {top} {options}".rstrip() + written


def sizes(cells: Mapping[str, int]) -> dict[str, int]:
    """What a netlist takes of a device. A carry cell is two LUTs, a distributed RAM four and two for its write port."""
    return {
        "lut4": cells.get("LUT4", 0) + 2 * cells.get("CCU2C", 0) + 6 * cells.get("TRELLIS_DPR16X4", 0),
        "ff": cells.get("TRELLIS_FF", 0),
        "ebr": cells.get("DP16KD", 0) + cells.get("PDPW16KD", 0),
        "dsp": cells.get("MULT18X18D", 0),
    }


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
    ffs = [cell for cell in module["cells"].values() if cell["type"] == "TRELLIS_FF"]
    resets = Counter(bit for ff in ffs for bit in ff["connections"].get("LSR", ()) if not isinstance(bit, str))
    large = [bit for bit, loads in resets.most_common(MOST_RESETS) if loads >= LARGE_RESET]
    for n, reset in enumerate(large, start=free_bit(module)):
        add(module, f"global_reset_{n}", "DCCA", {"CLKI": reset}, {"CLKO": n})
        for ff in ffs:
            if ff["connections"].get("LSR") == [reset]:
                ff["connections"]["LSR"] = [n]
    return len(large)


def ease(netlist: Path) -> tuple[int, int]:
    """Does both in a netlist that yosys wrote for `synth_ecp5 -json`, in place; returns of how many RAMs and resets."""
    design = json.loads(netlist.read_text())
    modules = [module for module in design["modules"].values() if "cells" in module]
    done = sum(map(narrow_in, modules)), sum(map(widen_in, modules))
    netlist.write_text(json.dumps(design))
    return done

"""An ECP5 with the open tools as packaged: yosys's commands, and what a netlist takes of a device."""

from __future__ import annotations

from collections.abc import Mapping


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

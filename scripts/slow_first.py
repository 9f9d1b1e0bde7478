"""Routes the wires of slow paths before the others, which go around them.

nextpnr's router1 takes apart what is in the way of a wire at a price that does not depend on what that makes late. Of a routed `ten-gig` (499db40) the 419 inputs later
than 6.2 ns took 1.15 ns more than the means of their wires. Two runs instead of one:

1. of the placed design without the wires of fast paths (`without_fast`), which takes a minute for `ten-gig`;
2. of the whole design, with what the first run has found for the slow paths' nets in their attributes `ROUTING` (`give_wires`). Other wires of such a net branch off
   from what is there. They may be taken apart as any other: locked (nextpnr's strength 5) they left a `ten-gig` with some 400 wires that displaced each other until it was stopped.

In both each wire pays the full price (`at_full_price`). Otherwise a wire pays less the longer the path is that it is of, as a part of the longest one, both by estimates from before
routing: of a path two thirds as long as that a third, and the wires that it takes apart may pay as little. Of the first 40 000 wires of a `ten-gig` 8 910 took others apart, and 514 at the full price.

The first run's rules for slices and tiles are no stricter than the second's. A multiplexer, a carry chain or a distributed RAM stays one in it; WCK and WRE stay, for they hold the
tile's clock and reset (`stays_connected`); flip-flops of a slice, which need one enable, and of a tile, one reset, have it or have none.

What that comes to: docs/modules/core.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import paths
from refine import DIRECT, Cell, global_nets, top_of

BESIDE = (*DIRECT, "M", "WD", "WAD0", "WAD1", "WAD2", "WAD3", "WCK", "WRE")
"""inputs that make a LUT part of a multiplexer, a carry chain or a distributed RAM"""
CONTROLS = ("CE", "LSR")
"""inputs that flip-flops of a slice, or of a tile, have in common"""


class SlowFirstError(Exception):
    """The first run's design is not that of the second, or has not got the inputs."""


def slowest_inputs(slowest: Mapping[paths.Pin, float], above_ns: float, share: float) -> set[paths.Pin]:
    """The inputs with paths of more than `above_ns`, no more than `share` of all: the slowest of them. `slowest` is of `refine.Refined`."""
    late = sorted((ns, pin) for pin, ns in slowest.items() if ns > above_ns)
    return {pin for _, pin in late[max(0, len(late) - int(share * len(slowest))) :]}


def at_full_price(design: Mapping[str, Any]) -> None:
    """Has the router take wires apart for the same price whatever the criticality; the order of wires still goes by it.

    It is what `--no-tmdriv` does, but for a design's own settings, which nextpnr writes into it, and which count more than its command line.
    """
    top_of(design).setdefault("settings", {})["timing_driven"] = f"{0:032b}"


def stays_connected(cell: Cell, port: str) -> bool:
    """Whether an input stays however fast its paths are: a global buffer's, a multiplier's controls, without which nextpnr fails, and what is beside a LUT."""
    kind = cell["type"]
    if kind == "MULT18X18D":
        return port.startswith(("CLK", "CE", "RST"))
    return kind == "DCCA" or (kind == "TRELLIS_COMB" and port in BESIDE) or (kind == "TRELLIS_FF" and port == "DI")


def nets_of(module: Mapping[str, Any], slow: set[paths.Pin]) -> dict[paths.Pin, int]:
    """Their nets. Raises SlowFirstError if an input is not there, or has none."""
    nets = {}
    for name, port in slow:
        bits = module["cells"].get(name, {"connections": {}})["connections"].get(port)
        if not bits:
            raise SlowFirstError(f"the design has no wire to {port} of cell {name}")
        nets[name, port] = bits[0]
    return nets


def without_fast(design: Mapping[str, Any], slow: set[paths.Pin]) -> None:
    """Takes all inputs but `slow` from their nets, and but for those that stay; an enable and a reset stay at all flip-flops if it is slow at one. Raises SlowFirstError."""
    module = top_of(design)
    kept = global_nets(module)
    controls = {(port, bit) for (_, port), bit in nets_of(module, slow).items() if port in CONTROLS}
    for name, cell in module["cells"].items():
        for port, bits in cell["connections"].items():
            if not bits or cell["port_directions"][port] != "input" or (name, port) in slow or bits[0] in kept:
                continue
            if not stays_connected(cell, port) and (port, bits[0]) not in controls:
                cell["connections"][port] = []


def give_wires(design: Mapping[str, Any], routed: Mapping[str, Any], slow: set[paths.Pin]) -> int:
    """Gives the nets of `slow` the wires that they have in `routed`. Returns how many nets that are. Raises SlowFirstError if one of them has none there."""
    module, other = top_of(design), top_of(routed)
    wanted = set(nets_of(module, slow).values()) - global_nets(module)
    named = {wire["bits"][0]: name for name, wire in module["netnames"].items() if len(wire["bits"]) == 1}
    for bit in wanted:
        name = named.get(bit, f"{bit} without a name")
        found = other["netnames"].get(name, {"attributes": {}})["attributes"].get("ROUTING", "").strip()
        if not found:
            raise SlowFirstError(f"net {name} has no wires in the first run's design")
        module["netnames"][name]["attributes"]["ROUTING"] = found
    return len(wanted)

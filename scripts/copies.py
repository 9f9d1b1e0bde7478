"""Gives flip-flops whose loads are all over the device copies, one for each part of it, before nextpnr places the rest.

A wire across half of an LFE5UM5G-85F takes 3 ns and more. A flip-flop with a hundred loads in all corners has such a wire to most of
them, wherever it is. Its copies have the same inputs, and so the same value in every cycle; each can be near its own loads. nextpnr makes none.

Where the loads will be comes from the global placement of `floorplan.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecp5 import free_bit

Load = tuple[str, str, int]
"""cell, port, bit of the port"""
LOADS = 32
"""of a flip-flop, at most, if they are far from each other"""
NEAR = 24
"""tiles: columns and rows together that loads may extend over"""
Floats = NDArray[np.float64]


def parts(at: Floats) -> list[list[int]]:
    """Numbers of the places `at`, [load, 2], in groups that are few or near each other: cut in halves across the longer side."""
    done, todo = [], [np.arange(len(at))]
    while todo:
        group = todo.pop()
        size = np.ptp(at[group], axis=0)
        if len(group) <= LOADS or size.sum() <= NEAR:
            done.append([int(n) for n in group])
            continue
        ordered = group[np.argsort(at[group, int(size.argmax())], kind="stable")]
        todo += [ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]]
    return done


def spread(module: dict[str, Any], places: Mapping[str, tuple[float, float]]) -> int:
    """Makes the copies in a module of a netlist of yosys; `places` are those of its cells. Returns how many."""
    cells: dict[str, dict[str, Any]] = module["cells"]
    loads: dict[int, list[Load]] = {}
    for name, cell in cells.items():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] != "output":
                for n, bit in enumerate(bits):
                    if not isinstance(bit, str):
                        loads.setdefault(bit, []).append((name, port, n))
    outside = {bit for port in module["ports"].values() for bit in port["bits"]}
    new = first = free_bit(module)
    for name, cell in list(cells.items()):
        (bit,) = cell["connections"].get("Q", [None])
        if cell["type"] != "TRELLIS_FF" or bit in outside or len(loads.get(bit, ())) <= LOADS:
            continue
        at = np.array([places[load] for load, _, _ in loads[bit]], float)
        # the first part stays with the flip-flop
        for number, group in enumerate(parts(at)[1:], 1):
            twin = copy.deepcopy(cell)
            twin["connections"]["Q"] = [new]
            cells[f"{name}_copy{number}"] = twin
            module["netnames"][f"{name}_copy{number}"] = {"hide_name": 0, "bits": [new], "attributes": {}}
            for n in group:
                load, port, of = loads[bit][n]
                cells[load]["connections"][port][of] = new
            new += 1
    return new - first

"""Gives flip-flops and LUTs whose loads are all over the device copies, one for each part of it, before nextpnr places the rest.

A wire across half of an LFE5UM5G-85F takes 3 ns and more. A cell with a hundred loads in all corners has such a wire to most of
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
KINDS = {"LUT4": "Z", "TRELLIS_FF": "Q"}
"""cells that are copied, and their outputs: LUTs first, for copies of theirs are further loads of flip-flops"""
LOADS = 32
"""of one cell, at most, if they are far from each other"""
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


def spread(module: dict[str, Any], places: Mapping[str, tuple[float, float]], prefix: str = "") -> int:
    """Makes the copies of cells whose names begin with `prefix` in a module of a netlist of yosys; `places` are those of its
    cells. Returns how many.
    """
    cells: dict[str, dict[str, Any]] = module["cells"]
    at = dict(places)
    loads: dict[int, list[Load]] = {}

    def connect(name: str, cell: dict[str, Any]) -> None:
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] != "output":
                for n, bit in enumerate(bits):
                    if not isinstance(bit, str):
                        loads.setdefault(bit, []).append((name, port, n))

    for name, cell in cells.items():
        connect(name, cell)
    outside = {bit for port in module["ports"].values() for bit in port["bits"]}
    new = first = free_bit(module)
    for kind, output in KINDS.items():
        for name, cell in list(cells.items()):
            if cell["type"] != kind or not name.startswith(prefix) or not cell["connections"].get(output):
                continue
            (bit,) = cell["connections"][output]
            if bit in outside or len(loads.get(bit, ())) <= LOADS:
                continue
            ends = loads[bit]
            where = np.array([at[load] for load, _, _ in ends], float)
            # the first part stays with the cell itself
            own, *others = parts(where)
            loads[bit] = [ends[n] for n in own]
            for number, group in enumerate(others, 1):
                twin, twins = f"{name}_copy{number}", copy.deepcopy(cell)
                twins["connections"][output] = [new]
                cells[twin] = twins
                module["netnames"][twin] = {"hide_name": 0, "bits": [new], "attributes": {}}
                at[twin] = float(where[group, 0].mean()), float(where[group, 1].mean())
                for n in group:
                    load, port, of = ends[n]
                    cells[load]["connections"][port][of] = new
                loads[new] = [ends[n] for n in group]
                connect(twin, twins)
                new += 1
    return new - first

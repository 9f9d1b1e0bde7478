"""Puts the block RAMs and multipliers of a netlist for the LFE5UM5G-85F in their places, before nextpnr places the rest.

nextpnr's placers find a good place for everything and only then look for real sites for RAMs and multipliers, one after the other, the nearest that is free. Of
`ten-gig`, with 197 of 208 RAMs and a hundred wires at each, the last ones end far away: the wires of the whole core become
twice as long in that step, and what comes after it does not find back. Here all of them are given their sites at once.

1. A global placement of all cells (coloquinte, Gouvine), RAMs and multipliers anywhere.
2. Sites for RAMs, then for multipliers, such that the sum of what their wires get longer by is the least (an assignment problem).
3. Again from 1 with those where they are, until the wires do not become shorter by a percent.

Wires are measured as half the perimeter around a net's pins, in tiles. The RAMs' and multipliers' places are kept, as attributes
`BEL` of the netlist; those of the other cells tell where copies are worth it (`copies.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from coloquinte import CellOrientation, Circuit, Rectangle, Row
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment  # type: ignore[attr-defined]

from copies import spread

COLUMNS, ROWS = 126, 96
"""tiles of the device; the outermost hold its pins"""
BLOCKS = [*range(4, 59, 9), *range(69, 115, 9)]
"""first columns of what is nine tiles wide: four RAMs, or four multipliers"""
RAM_ROWS, MULTIPLIER_ROWS = (22, 46, 70, 82), (10, 34, 58)
SITES = {
    "DP16KD": [(x + 2 * n, y, f"X{x + 2 * n}/Y{y}/EBR{n}") for y in RAM_ROWS for x in BLOCKS for n in range(4)],
    "MULT18X18D": [
        (x + n, y, f"X{x + n}/Y{y}/MULT18_{n}") for y in MULTIPLIER_ROWS for x in BLOCKS for n in (0, 1, 4, 5)
    ],
}
"""column, row and nextpnr's name of each"""
BUFFER = 67, 0
"""column and row of the global wires' buffers that nextpnr takes"""
TILE = 24
"""units of area: a tile has eight LUT4 of 2 and eight flip-flops of 1"""
AREAS = {"LUT4": 2, "TRELLIS_FF": 1, "CCU2C": 5, "TRELLIS_DPR16X4": 14, "DP16KD": TILE, "MULT18X18D": TILE}
"""what is not here takes 1"""
CORE = "core."
"""names of the cells that may have copies begin with that: not those of what is around the core"""
LARGEST_NET = 600
"""pins; clocks and resets have wires of their own"""
ENOUGH = 0.99
"""a round that leaves more of the wires' length than this is the last"""
MOST_ROUNDS = 6
Floats = NDArray[np.float64]


class FloorplanError(Exception):
    """More cells than sites."""


@dataclass(frozen=True)
class Floorplan:
    """How many cells were given a site, the length of all wires, in tiles, with those anywhere and at their sites, and how many
    copies of cells were made.
    """

    cells: int
    free: float
    placed: float
    copies: int = 0


class Nets:
    """The nets of a netlist's cells, and the lengths of their wires for places of the cells."""

    def __init__(self, cells: list[dict[str, Any]]) -> None:
        of_net: dict[int, set[int]] = {}
        for n, cell in enumerate(cells):
            for bits in cell["connections"].values():
                for bit in bits:
                    if not isinstance(bit, str):
                        of_net.setdefault(bit, set()).add(n)
        self.pins = [np.array(sorted(pins)) for pins in of_net.values() if 1 < len(pins) <= LARGEST_NET]
        self.of_cell: dict[int, list[int]] = {}
        for number, pins in enumerate(self.pins):
            for n in pins:
                self.of_cell.setdefault(int(n), []).append(number)
        self._all = np.concatenate(self.pins) if self.pins else np.zeros(0, int)
        self._starts = np.cumsum([0, *(len(pins) for pins in self.pins[:-1])])

    def length(self, places: Floats) -> float:
        """Of all wires; `places`: [cell, 2]."""
        if not self.pins:
            return 0.0
        at = places[self._all]
        return float((np.maximum.reduceat(at, self._starts) - np.minimum.reduceat(at, self._starts)).sum())

    def growth(self, cell: int, places: Floats, sites: Floats) -> Floats:
        """What its wires get longer by with the cell at each of the sites, [site, 2], against its being left out."""
        total = np.zeros(len(sites))
        for number in self.of_cell.get(cell, ()):
            pins = self.pins[number]
            others = places[pins[pins != cell]]
            low, high = others.min(axis=0), others.max(axis=0)
            total += (np.maximum(low - sites, 0) + np.maximum(sites - high, 0)).sum(axis=1)
        return total


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What coloquinte prints is left out."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 1)
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def circuit_of(kinds: list[str], nets: Nets) -> Circuit:
    """The netlist as coloquinte has it; pins, of whose places nothing is known, are in the middle."""
    circuit = Circuit(len(kinds))
    circuit.cell_width = [AREAS.get(kind, 1) for kind in kinds]
    circuit.cell_height = [TILE] * len(kinds)
    start = [BUFFER if kind == "DCCA" else (COLUMNS // 2, ROWS // 2) for kind in kinds]
    circuit.cell_x, circuit.cell_y = ([at * TILE for at in axis] for axis in zip(*start, strict=True))
    hold(circuit, [kind in ("TRELLIS_IO", "DCCA") for kind in kinds])
    across = 2 * TILE, (COLUMNS - 2) * TILE
    circuit.rows = [
        Row(Rectangle(*across, y * TILE, (y + 1) * TILE), CellOrientation.N)
        for y in range(2, ROWS - 2)
        if y not in RAM_ROWS + MULTIPLIER_ROWS
    ]
    for pins in nets.pins:
        circuit.add_net(pins.tolist(), [0] * len(pins), [0] * len(pins))
    circuit.check()
    return circuit


def hold(circuit: Circuit, fixed: list[bool]) -> None:
    """These cells stay; they take no room from others."""
    circuit.cell_is_fixed = fixed
    circuit.cell_is_obstruction = [not f for f in fixed]


def place(cells: dict[str, dict[str, Any]], effort: int = 3) -> Floorplan:
    """Gives the cells of SITES their attribute BEL. `effort` is coloquinte's, 1 to 9."""
    return arrange(cells, effort)[0]


def arrange(cells: dict[str, dict[str, Any]], effort: int = 3) -> tuple[Floorplan, dict[str, tuple[float, float]]]:
    """The same; also returns column and row of all cells in the placement that the sites are of."""
    names = list(cells)
    kinds = [cells[name]["type"] for name in names]
    chosen = {kind: [n for n, k in enumerate(kinds) if k == kind] for kind in SITES}
    for kind, ones in chosen.items():
        if len(ones) > len(SITES[kind]):
            raise FloorplanError(f"{len(ones)} {kind}, and the device has {len(SITES[kind])}; a smaller core fits")
    movable = sum(map(len, chosen.values()))
    if not movable:
        return Floorplan(0, 0.0, 0.0), {}
    nets = Nets([cells[name] for name in names])
    circuit = circuit_of(kinds, nets)
    free, best, sites = 0.0, float("inf"), dict[int, str]()
    chosen_places = np.zeros((len(names), 2))
    for turn in range(MOST_ROUNDS):
        with quiet():
            circuit.place_global(effort)
        places = np.stack([circuit.cell_x, circuit.cell_y], axis=1) / TILE
        if turn == 0:
            free = nets.length(places)
        found: dict[int, str] = {}
        for kind, ones in chosen.items():
            if not ones:
                continue
            at = np.array([site[:2] for site in SITES[kind]], float)
            for n, site in zip(*linear_sum_assignment([nets.growth(n, places, at) for n in ones]), strict=True):
                places[ones[n]] = at[site]
                found[ones[n]] = SITES[kind][site][2]
        length = nets.length(places)
        if length < best:
            sites, chosen_places = found, places
        if length > ENOUGH * best:
            best = min(best, length)
            break
        best = length
        circuit.cell_x, circuit.cell_y = np.rint(places * TILE).astype(int).T.tolist()
        hold(circuit, [kind in SITES or kind in ("TRELLIS_IO", "DCCA") for kind in kinds])
    for n, bel in sites.items():
        cells[names[n]]["attributes"]["BEL"] = bel
    at_end = {name: (float(x), float(y)) for name, (x, y) in zip(names, chosen_places, strict=True)}
    return Floorplan(movable, free, best), at_end


def floorplan(netlist: Path, top: str) -> Floorplan:
    """The same in a netlist that yosys wrote for `synth_ecp5 -json`, in place, and copies of cells with far loads."""
    design = json.loads(netlist.read_text())
    module = design["modules"][top]
    plan, at = arrange(module["cells"])
    plan = replace(plan, copies=spread(module, at, CORE) if at else 0)
    netlist.write_text(json.dumps(design))
    return plan

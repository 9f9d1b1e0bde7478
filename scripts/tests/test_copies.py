"""Copies of flip-flops and LUTs: each load is driven by one of its cell's, and nothing else changes."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import copies

CORNERS = [(5.0, 5.0), (120.0, 5.0), (5.0, 90.0), (120.0, 90.0)]
Module = dict[str, Any]


def cell(kind: str, directions: dict[str, str], **connections: int | str) -> dict[str, Any]:
    return {
        "type": kind,
        "parameters": {"REGSET": "RESET"},
        "attributes": {},
        "port_directions": directions,
        "connections": {port: [bit] for port, bit in connections.items()},
    }


def star(loads: int, kind: str = "TRELLIS_FF") -> Module:
    """Net 10, from one cell, with LUTs as loads; the cell's inputs are nets 2 to 4, and its own output over the first LUT."""
    inputs = {"CLK": "input", "DI": "input", "LSR": "input", "CE": "input", "Q": "output"}
    cells = {"from": cell(kind, inputs, CLK=2, LSR=3, CE=4, DI=11, Q=10)}
    for n in range(loads):
        cells[f"to{n}"] = cell("LUT4", {"A": "input", "Z": "output"}, A=10, Z=11 + n)
    names = {"clk": {"hide_name": 0, "bits": [2], "attributes": {}}}
    return {"cells": cells, "ports": {"clk": {"direction": "input", "bits": [2]}}, "netnames": names}


def places(module: Module, at: list[tuple[float, float]]) -> dict[str, tuple[float, float]]:
    return {name: at[n % len(at)] for n, name in enumerate(module["cells"])}


def drivers(module: Module) -> dict[int, str]:
    return {
        bits[0]: name
        for name, c in module["cells"].items()
        for port, bits in c["connections"].items()
        if c["port_directions"][port] == "output"
    }


@pytest.mark.parametrize("count", [1, 32, 33, 100, 1000])
def test_parts_are_few_or_near_and_hold_each_place_once(count: int) -> None:
    at = np.random.default_rng(count).uniform((0, 0), (126, 96), (count, 2))
    parts = copies.parts(at)
    assert sorted(n for part in parts for n in part) == list(range(count))
    for part in parts:
        assert len(part) <= 32 or np.ptp(at[part], axis=0).sum() <= 24
    assert len(parts) == 1 if count <= 32 else len(parts) >= count / 32


def test_places_that_are_near_are_one_part() -> None:
    assert len(copies.parts(np.random.default_rng(1).uniform((50, 50), (62, 62), (500, 2)))) == 1


def test_each_load_has_a_flip_flop_with_the_same_inputs() -> None:
    module = star(100)
    before = copy.deepcopy(module)
    at = places(module, CORNERS)
    assert copies.spread(module, at) == 3
    source = before["cells"]["from"]
    twins = {name: c for name, c in module["cells"].items() if c["type"] == "TRELLIS_FF"}
    assert len(twins) == 4
    for twin in twins.values():
        assert {**twin, "connections": {**twin["connections"], "Q": [10]}} == source
    driven_by = drivers(module)
    assert len(driven_by) == 104
    corner: dict[str, set[tuple[float, float]]] = {}
    for n in range(100):
        load = module["cells"][f"to{n}"]
        corner.setdefault(driven_by[load["connections"]["A"][0]], set()).add(at[f"to{n}"])
        load["connections"]["A"] = [10]
    assert corner.keys() == twins.keys() and all(len(c) == 1 for c in corner.values())
    for name in twins.keys() - {"from"}:
        del module["cells"][name], module["netnames"][name]
    assert module == before


@pytest.mark.parametrize(
    "loads, kind, at",
    [(32, "TRELLIS_FF", CORNERS), (100, "DP16KD", CORNERS), (100, "TRELLIS_FF", [(60.0, 40.0), (66.0, 48.0)])],
)
def test_few_loads_near_loads_and_other_cells_stay_as_they_are(
    loads: int, kind: str, at: list[tuple[float, float]]
) -> None:
    module = star(loads, kind)
    before = copy.deepcopy(module)
    assert copies.spread(module, places(module, at)) == 0
    assert module == before


def test_what_a_port_shows_stays_as_it_is() -> None:
    module = star(100)
    module["ports"]["out"] = {"direction": "output", "bits": [10]}
    assert copies.spread(module, places(module, CORNERS)) == 0


def test_a_lut_between_a_flip_flop_and_its_loads_is_copied_too() -> None:
    """Thirty loads in each corner: of their LUT there are four then, and the flip-flop before those stays one."""
    module = star(0)
    cells = module["cells"]
    cells["gate"] = cell("LUT4", {"A": "input", "B": "input", "Z": "output"}, A=10, B=3, Z=500)
    for n in range(120):
        cells[f"to{n}"] = cell("LUT4", {"A": "input", "Z": "output"}, A=500, Z=501 + n)
    at = places(module, CORNERS)
    assert copies.spread(module, at) == 3
    gates = {name: c for name, c in cells.items() if name.startswith("gate")}
    assert len(gates) == 4 and all(c["connections"]["A"] + c["connections"]["B"] == [10, 3] for c in gates.values())
    driven_by = drivers(module)
    for n in range(120):
        assert driven_by[cells[f"to{n}"]["connections"]["A"][0]] in gates
    assert sum(c["type"] == "TRELLIS_FF" for c in cells.values()) == 1


def test_a_flip_flop_that_is_copied_may_be_a_load_of_another() -> None:
    """A chain of two, and constants and open pins among the loads."""
    module = star(100)
    cells = module["cells"]
    ports = {"CLK": "input", "DI": "input", "LSR": "input", "CE": "input", "Q": "output"}
    cells["second"] = cell("TRELLIS_FF", ports, CLK=2, LSR="0", CE="x", DI=10, Q=500)
    for n in range(100):
        cells[f"then{n}"] = cell("LUT4", {"A": "input", "B": "input", "Z": "output"}, A=500, B="1", Z=501 + n)
    assert copies.spread(module, places(module, CORNERS)) >= 6
    driven_by = drivers(module)
    for n in range(100):
        assert driven_by[cells[f"to{n}"]["connections"]["A"][0]].startswith("from")
        assert driven_by[cells[f"then{n}"]["connections"]["A"][0]].startswith("second")
    seconds = [c for name, c in cells.items() if name.startswith("second")]
    assert len(seconds) > 1
    for c in seconds:
        assert driven_by[c["connections"]["DI"][0]].startswith("from")
        assert (c["connections"]["LSR"], c["connections"]["CE"]) == (["0"], ["x"])

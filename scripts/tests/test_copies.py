"""Copies of flip-flops: each load is driven by one of its flip-flop's, and nothing else changes."""

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
    [(32, "TRELLIS_FF", CORNERS), (100, "LUT4", CORNERS), (100, "TRELLIS_FF", [(60.0, 40.0), (66.0, 48.0)])],
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

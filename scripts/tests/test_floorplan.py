"""Places of block RAMs and multipliers: each on a site of its own, near what it is connected to."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import floorplan

Cells = dict[str, dict[str, Any]]


def cell(kind: str, *bits: int) -> dict[str, Any]:
    return {"type": kind, "attributes": {}, "connections": {f"P{n}": [bit] for n, bit in enumerate(bits)}}


def islands(count: int, flip_flops: int = 40) -> Cells:
    """Groups that have no wire to each other: two RAMs and a multiplier, each with a wire to every flip-flop of its group."""
    cells: Cells = {}
    bits = itertools.count(2)
    for island in range(count):
        nets = [next(bits) for _ in range(flip_flops)]
        for n, net in enumerate(nets):
            cells[f"ff{island}.{n}"] = cell("TRELLIS_FF", net)
        for name, kind in (("ram0", "DP16KD"), ("ram1", "DP16KD"), ("product", "MULT18X18D")):
            cells[f"{name}.{island}"] = cell(kind, *nets)
    return cells


def places(cells: Cells) -> dict[str, tuple[int, int]]:
    found = {}
    for name, c in cells.items():
        if "BEL" in c["attributes"]:
            kind, bel = c["type"], c["attributes"]["BEL"]
            match = re.fullmatch(r"X(\d+)/Y(\d+)/(EBR|MULT18_)\d", bel)
            assert match and match[3] == {"DP16KD": "EBR", "MULT18X18D": "MULT18_"}[kind]
            found[name] = int(match[1]), int(match[2])
    return found


def test_every_ram_and_multiplier_has_a_site_of_its_own_and_nothing_else() -> None:
    cells = islands(12)
    plan = floorplan.place(cells)
    at = places(cells)
    assert plan.cells == len(at) == 36 and not any("ff" in name for name in at)
    assert len({(c["type"], c["attributes"]["BEL"]) for c in cells.values() if c["attributes"]}) == 36
    assert 0 < plan.placed < 36 * 40 * 60


def test_what_is_connected_is_near() -> None:
    cells = islands(12)
    floorplan.place(cells)
    at = places(cells)

    def distance(a: str, b: str) -> int:
        return abs(at[a][0] - at[b][0]) + abs(at[a][1] - at[b][1])

    own = [distance(f"ram0.{n}", f"ram1.{n}") for n in range(12)]
    other = [distance(f"ram0.{n}", f"ram1.{m}") for n in range(12) for m in range(12) if n != m]
    assert np.median(own) < np.median(other) / 2


def test_the_same_netlist_has_the_same_places() -> None:
    first, second = islands(6), islands(6)
    assert floorplan.place(first) == floorplan.place(second)
    assert places(first) == places(second)


def test_a_netlist_without_either_stays_as_it_is() -> None:
    cells = {"a": cell("LUT4", 2, 3), "b": cell("TRELLIS_FF", 2)}
    assert floorplan.place(cells) == floorplan.Floorplan(0, 0.0, 0.0)
    assert all(not c["attributes"] for c in cells.values())


def test_more_than_the_device_has_is_an_error() -> None:
    cells = {f"m{n}": cell("MULT18X18D", n + 2) for n in range(157)}
    with pytest.raises(floorplan.FloorplanError, match="157 MULT18X18D, and the device has 156"):
        floorplan.place(cells)
    assert not places(cells)


def test_the_device_has_208_rams_and_156_multipliers() -> None:
    for kind, count in (("DP16KD", 208), ("MULT18X18D", 156)):
        assert len({bel for _, _, bel in floorplan.SITES[kind]}) == len(floorplan.SITES[kind]) == count
        for x, y, bel in floorplan.SITES[kind]:
            assert bel.startswith(f"X{x}/Y{y}/")


def test_growth_is_what_the_wires_get_longer_by() -> None:
    rng = np.random.default_rng(1)
    cells = [cell("LUT4", *rng.choice(np.arange(2, 12), 4, replace=False).tolist()) for _ in range(8)]
    nets = floorplan.Nets(cells)
    at = rng.uniform(0, 90, (8, 2))
    sites = rng.uniform(0, 90, (20, 2))
    others = [{bit for bits in c["connections"].values() for bit in bits} for c in cells]
    alone = floorplan.Nets([{"connections": {}}, *cells[1:]]).length(at)
    for site, growth in zip(sites, nets.growth(0, at, sites), strict=True):
        there = at.copy()
        there[0] = site
        # a net of two cells has no length without the one
        shared = [bit for bit in others[0] if any(bit in o for o in others[1:])]
        assert shared and growth == pytest.approx(nets.length(there) - alone)


def test_a_flip_flop_with_loads_on_every_island_has_copies_but_not_one_around_the_core(tmp_path: Path) -> None:
    """Nets 2 and 3 are of two flip-flops, in and around the core; each has a load beside every RAM."""
    cells: dict[str, Any] = {}
    bits = itertools.count(10)
    for name, bit in (("core.far", 2), ("around", 3)):
        cells[name] = {**cell("TRELLIS_FF"), "port_directions": {"Q": "output"}, "connections": {"Q": [bit]}}
    for ram in range(60):
        nets = [next(bits) for _ in range(40)]
        cells[f"core.ram{ram}"] = {
            **cell("DP16KD", *nets),
            "port_directions": {f"P{n}": "output" for n in range(40)},
        }
        for n, net in enumerate(nets):
            kind = {"A": [2 + n % 2], "B": [net]} if n < 2 else {"B": [net]}
            cells[f"core.lut{ram}.{n}"] = {
                **cell("LUT4"),
                "port_directions": dict.fromkeys(kind, "input"),
                "connections": kind,
            }
    netlist = tmp_path / "netlist.json"
    netlist.write_text(json.dumps({"modules": {"top": {"cells": cells, "ports": {}, "netnames": {}}}}))
    plan = floorplan.floorplan(netlist, "top")
    after = json.loads(netlist.read_text())["modules"]["top"]["cells"]
    copies = {name for name in after if "_copy" in name}
    assert plan.cells == 60 and plan.copies == len(copies) == len(after) - len(cells) >= 1
    assert all(name.startswith("core.far") for name in copies)
    read = {name: after[name]["connections"]["A"][0] for name in after if "A" in after[name]["connections"]}
    of_far = {after[name]["connections"]["Q"][0] for name in copies | {"core.far"}}
    for name, bit in read.items():
        assert bit in of_far if cells[name]["connections"]["A"] == [2] else bit == 3

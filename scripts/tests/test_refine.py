"""The annealed placement: shorter, with every rule of slices and tiles kept, and nothing else of the design changed."""

from __future__ import annotations

import copy
import json
import random
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import refine
from floorplan import SITES

Design = dict[str, Any]
Spot = tuple[int, int, int]
"""column, row, place in the tile"""

SIDE = 12
"""tiles of the square that the cells lie in"""
MULTIPLIER_CONTROLS = [f"{kind}{n}" for kind in ("CLK", "CE", "RST") for n in range(4)]
CHAINS, LINKS = 6, 12
"""carry chains of so many cells, over two tiles each"""
PORTS = {
    "TRELLIS_COMB": (
        ["A", "B", "C", "D", "M", "F1", "FXA", "FXB", "FCI", "WD", "WAD0", "WCK", "WRE"],
        ["F", "OFX", "FCO"],
    ),
    "TRELLIS_FF": (["DI", "M", "CLK", "LSR", "CE"], ["Q"]),
    "TRELLIS_RAMW": (["A0"], ["WDO0", "WADO0"]),
    "DP16KD": (["ADA3", "CLKA"], ["DOA0"]),
    "MULT18X18D": (["A0"], ["P0"]),
    "DCCA": (["CLKI"], ["CLKO"]),
}


class Maker:
    """Cells in places, by chance, as nextpnr could have left them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.cells: dict[str, Any] = {}
        self.nets = 2
        self.global_nets = {"clk": 1}
        self.free = {(x, y) for x in range(20, 20 + SIDE) for y in range(12, 12 + SIDE)} - {
            (x, 23) for x in range(20, 20 + 2 * CHAINS)
        }

    def net(self) -> int:
        self.nets += 1
        return self.nets

    def cell(self, name: str, kind: str, bel: str, parameters: dict[str, str] | None = None, **nets: int | None) -> str:
        inputs, outputs = PORTS[kind]
        self.cells[name] = {
            "hide_name": 0,
            "type": kind,
            "parameters": parameters or {},
            "attributes": {"NEXTPNR_BEL": bel, "BEL_STRENGTH": "1"},
            "port_directions": {p: "input" for p in inputs} | {p: "output" for p in outputs},
            "connections": {p: [] if (bit := nets.get(p)) is None else [bit] for p in inputs + outputs},
        }
        return name

    def tile(self) -> tuple[int, int]:
        """One that nothing has been put in."""
        at = self.random.choice(sorted(self.free))
        self.free.discard(at)
        return at

    def design(self) -> Design:
        names = {
            name: {"hide_name": 0, "bits": [bit], "attributes": {"ECP5_IS_GLOBAL": "1"}}
            for name, bit in self.global_nets.items()
        }
        return {"creator": "test", "modules": {"top": {"cells": self.cells, "netnames": names}}}


def flip_flop(lsr: int, ce: int, **nets: int | None) -> dict[str, Any]:
    parameters = {"CLKMUX": "CLK", "LSRMUX": "LSR", "CEMUX": "CE", "GSR": "DISABLED"}
    return {"parameters": parameters, "CLK": 1, "LSR": lsr, "CE": ce, **nets}


def made(seed: int) -> Design:
    """A chain of LUTs and flip-flops of three control sets and four enables, multiplexers, a carry chain, a distributed RAM, block RAMs, a multiplier."""
    m = Maker(seed)
    resets, enables = [m.net() for _ in range(3)], [m.net() for _ in range(4)]
    m.cell("clock", "DCCA", "X67/Y0/TDCC0", CLKO=1)
    last = m.net()
    for n, bit in enumerate(resets + enables):
        x, y = m.tile()
        m.cell(f"source{n}", "TRELLIS_COMB", f"X{x}/Y{y}/SLICEA.K0", A=last, F=bit)
    for n in range(60):  # a LUT and its flip-flop, and a flip-flop by itself
        x, y = m.tile()
        s, direct, taken = m.random.choice("ABCD"), m.net(), m.net()
        reset, enable = m.random.choice(resets), m.random.choice(enables)
        following = m.net()
        m.cell(f"lut{n}", "TRELLIS_COMB", f"X{x}/Y{y}/SLICE{s}.K0", A=last, F=direct)
        m.cell(f"paired{n}", "TRELLIS_FF", f"X{x}/Y{y}/SLICE{s}.FF0", **flip_flop(reset, enable, DI=direct, Q=taken))
        m.cell(f"alone{n}", "TRELLIS_FF", f"X{x}/Y{y}/SLICE{s}.FF1", **flip_flop(reset, enable, M=taken, Q=following))
        last = following
    for n in range(10):  # a multiplexer of two LUTs
        x, y = m.tile()
        beside, out = m.net(), m.net()
        m.cell(f"upper{n}", "TRELLIS_COMB", f"X{x}/Y{y}/SLICEC.K1", A=last, F=beside)
        m.cell(f"lower{n}", "TRELLIS_COMB", f"X{x}/Y{y}/SLICEC.K0", B=last, F1=beside, M=last, OFX=out)
        last = out
    for c in range(CHAINS):
        carry: int | None = None
        for n in range(LINKS):
            carry_out = m.net()
            bel = f"X{20 + 2 * c + n // 8}/Y23/SLICE{'ABCD'[n % 8 // 2]}.K{n % 2}"
            m.cell(f"carry{c}_{n}", "TRELLIS_COMB", bel, {"MODE": "CCU2"}, A=last, FCI=carry, FCO=carry_out)
            carry = carry_out
        for n in range(4):  # in what is left of its second tile
            out = m.net()
            m.cell(f"guest{c}_{n}", "TRELLIS_COMB", f"X{21 + 2 * c}/Y23/SLICE{'CD'[n // 2]}.K{n % 2}", A=last, F=out)
            last = out
    x, y = m.tile()
    data, address = m.net(), m.net()
    m.cell("write", "TRELLIS_RAMW", f"X{x}/Y{y}/SLICEC.RAMW", A0=last, WDO0=data, WADO0=address)
    for n in range(4):
        out = m.net()
        bel = f"X{x}/Y{y}/SLICE{'AB'[n // 2]}.K{n % 2}"
        m.cell(f"word{n}", "TRELLIS_COMB", bel, {"MODE": "DPRAM"}, A=last, WD=data, WAD0=address, WCK=1, F=out)
    for n in range(2):
        m.cell(f"blocked{n}", "TRELLIS_COMB", f"X{x}/Y{y}/SLICEC.K{n}", {"MODE": "RAMW_BLOCK"})
    sites = m.random.sample(SITES["DP16KD"], 6)
    for n, (_, _, bel) in enumerate(sites):
        out = m.net()
        m.cell(f"ram{n}", "DP16KD", bel, ADA3=last, CLKA=1, DOA0=out)
        last = out
    m.cell("product", "MULT18X18D", SITES["MULT18X18D"][7][2], A0=last, P0=m.net())
    return m.design()


def delays(design: Design) -> str:
    """Of a LUT 0.2 ns, of a flip-flop and a RAM 0.5 from the clock; 0.1 before it."""
    text = ['(DELAYFILE (SDFVERSION "3.0")']
    for name, cell in design["modules"]["top"]["cells"].items():
        body = []
        inputs, outputs = ([p for p in ports if cell["connections"][p]] for ports in PORTS[cell["type"]])
        if cell["type"] == "TRELLIS_COMB":
            body = [
                f"(IOPATH {i} {o} (200:200:200) (200:200:200))" for i in inputs if i in "ABCDMF1FCI" for o in outputs
            ]
        elif cell["type"] == "DCCA" and inputs:
            body = ["(IOPATH CLKI CLKO (0:0:0) (0:0:0))"]
        elif cell["type"] in ("TRELLIS_FF", "DP16KD"):
            clock = "CLK" if cell["type"] == "TRELLIS_FF" else "CLKA"
            body = [f"(IOPATH {clock} {o} (500:500:500) (500:500:500))" for o in outputs]
            body += [f"(SETUPHOLD (posedge {i}) (posedge {clock}) (100:100:100) (0:0:0))" for i in inputs if i != clock]
        text.append(f'(CELL (CELLTYPE "{cell["type"]}") (INSTANCE {name}) {" ".join(body)})')
    return "\n".join(text) + ")"


def bel_of(cell: dict[str, Any]) -> str:
    """As nextpnr has written it, or as it is to be read."""
    bel: str = cell["attributes"].get("BEL") or cell["attributes"]["NEXTPNR_BEL"]
    return bel


def spots(design: Design) -> dict[str, tuple[str, Spot]]:
    """Of each cell that may move: what part of a slice it is, and where; of a RAM its site."""
    found = {}
    for name, cell in design["modules"]["top"]["cells"].items():
        bel = bel_of(cell)
        if at := re.fullmatch(r"X(\d+)/Y(\d+)/SLICE([A-D])\.(K|FF|RAMW)([01]?)", bel):
            found[name] = at[4], (int(at[1]), int(at[2]), 2 * "ABCD".index(at[3]) + int(at[5] or 0))
    return found


def faults(design: Design) -> list[str]:
    """The rules of slices and tiles that a placement breaks, as the family's data sheet has them: a tile's flip-flops have one clock and LSR, a slice's one enable."""
    cells = design["modules"]["top"]["cells"]
    at = spots(design)
    found = []
    bels = [bel_of(cell) for cell in cells.values()]
    found += [f"{bel} is taken twice" for bel in set(bels) if bels.count(bel) > 1]
    resets, enables = defaultdict(set), defaultdict(set)
    for name, (part, (x, y, z)) in at.items():
        nets = cells[name]["connections"]
        if part == "FF":
            resets[x, y].add((*nets["CLK"], *nets["LSR"]))
            enables[x, y, z // 2].add(tuple(nets["CE"]))
            if nets["DI"]:
                driver = next(n for n, c in cells.items() if c["connections"].get("F") == nets["DI"])
                found += [] if at[driver][1] == (x, y, z) else [f"{name} is not beside {driver}"]
        elif part == "K" and nets["F1"]:
            driver = next(n for n, c in cells.items() if c["connections"].get("F") == nets["F1"])
            found += [] if z % 2 == 0 and at[driver][1] == (x, y, z + 1) else [f"{name} is not below {driver}"]
    found += [f"two control sets in {tile}" for tile, sets in resets.items() if len(sets) > 1]
    found += [f"two enables in {tile}" for tile, sets in enables.items() if len(sets) > 1]
    for c in range(CHAINS):
        order = [(x * 8 + z, y) for _, (x, y, z) in (at[f"carry{c}_{n}"] for n in range(LINKS))]
        if order != [(order[0][0] + n, order[0][1]) for n in range(LINKS)] or order[0][0] % 8:
            found.append(f"carry chain {c} is {order}")
    ram = {name: spot for name, (_, spot) in at.items() if re.match("word|write|blocked", name)}
    if [(*ram["write"][:2], z) for z in (0, 1, 2, 3, 4, 4, 5)] != [ram[f"word{n}"] for n in range(4)] + [
        ram["write"],
        ram["blocked0"],
        ram["blocked1"],
    ]:
        found.append(f"the distributed RAM is {ram}")
    return found


def length(design: Design) -> int:
    """Half the perimeters around all nets but the clock, and those at a RAM or a multiplier, which stay."""
    pins = defaultdict(list)
    out = {1}
    for cell in design["modules"]["top"]["cells"].values():
        at = re.match(r"X(\d+)/Y(\d+)", bel_of(cell))
        assert at
        for bits in cell["connections"].values():
            for bit in bits:
                pins[bit].append((int(at[1]), int(at[2])))
            if cell["type"] in ("DP16KD", "MULT18X18D"):
                out.update(bits)
    return sum(
        max(axis) - min(axis) for bit, places in pins.items() if bit not in out for axis in zip(*places, strict=True)
    )


def refined(tmp_path: Path, design: Design, seed: int = 1, passes: int = 60, target_ns: float = 2.0) -> Design:
    placed, sdf, out = tmp_path / "placed.json", tmp_path / "placed.sdf", tmp_path / "refined.json"
    placed.write_text(json.dumps(design))
    sdf.write_text(delays(design))
    lines = refine.refine(placed, sdf, out, target_ns, passes, seed).said
    assert re.match(r"pass 0: slowest [\d.]+ ns", lines[0]) and lines[-1].startswith(f"pass {passes}: ")
    assert not list(tmp_path.glob("*.in")) and not list(tmp_path.glob("*.out"))
    result: Design = json.loads(out.read_text())
    return result


def without_places(design: Design) -> Design:
    stripped = copy.deepcopy(design)
    stripped["modules"]["top"]["netnames"].pop("unused_by_multipliers", None)
    for cell in stripped["modules"]["top"]["cells"].values():
        for attribute in ("NEXTPNR_BEL", "BEL", "BEL_STRENGTH"):
            cell["attributes"].pop(attribute, None)
        if cell["type"] == "MULT18X18D":
            for port in MULTIPLIER_CONTROLS:
                cell["connections"].pop(port, None)
                cell["port_directions"].pop(port, None)
    return stripped


@pytest.mark.parametrize("seed", range(3))
def test_wires_become_much_shorter_and_no_rule_is_broken(tmp_path: Path, seed: int) -> None:
    design = made(seed)
    assert not faults(design)
    result = refined(tmp_path, design, seed)
    assert not faults(result)
    assert without_places(result) == without_places(design)
    before, after = length(design), length(result)
    print(f"seed {seed}: {before} to {after} tiles")
    assert after < 0.6 * before
    cells = result["modules"]["top"]["cells"]
    for name in ("clock", "product", *(f"ram{n}" for n in range(6))):
        assert bel_of(cells[name]) == bel_of(design["modules"]["top"]["cells"][name])
    assert all("BEL" in cell["attributes"] and "NEXTPNR_BEL" not in cell["attributes"] for cell in cells.values())
    (unused,) = result["modules"]["top"]["netnames"]["unused_by_multipliers"]["bits"]
    assert all(cells["product"]["connections"][port] == [unused] for port in MULTIPLIER_CONTROLS)
    driven = [cell["connections"][port] for cell in cells.values() for port in PORTS[cell["type"]][1]]
    assert [unused] not in driven
    before_tiles = {spot[:2] for _, spot in spots(design).values()}
    assert {spot[:2] for _, spot in spots(result).values()} <= before_tiles, "a tile that nobody knows to have slices"


def row(timed: bool) -> tuple[Design, list[str]]:
    """Ten LUTs in a row, each with three wires from multipliers: on the left of the device to every second, on the right to the others.

    The row ends in a flip-flop, or nowhere, and then nothing of it is in time or late. Also the cells of the row.
    """
    m = Maker(4)
    m.cell("clock", "DCCA", "X67/Y0/TDCC0", CLKO=1)
    lsr, ce, last = m.net(), m.net(), m.net()
    x, y = m.tile()
    m.cell("begin", "TRELLIS_FF", f"X{x}/Y{y}/SLICEA.FF0", **flip_flop(lsr, ce, Q=last))
    sides = [sorted(site for site in SITES["MULT18X18D"] if (site[0] > 60) == right) for right in (False, True)]
    for n in range(10):
        x, y = m.tile()
        pulls = {port: m.net() for port in "BCD"}
        for port, bit in pulls.items():
            m.cell(f"pull{n}{port}", "MULT18X18D", sides[n % 2].pop(0)[2], P0=bit)
        out = m.net()
        m.cell(f"slow{n}", "TRELLIS_COMB", f"X{x}/Y{y}/SLICEB.K0", A=last, F=out, **pulls)
        last = out
    x, y = m.tile()
    if timed:
        m.cell("end", "TRELLIS_FF", f"X{x}/Y{y}/SLICEA.FF0", **flip_flop(lsr, ce, M=last))
    for n, (x, y) in enumerate(sorted(m.free)):  # so that all tiles are known to have slices
        m.cell(f"other{n}", "TRELLIS_COMB", f"X{x}/Y{y}/SLICED.K1", F=m.net())
    return m.design(), ["begin", *(f"slow{n}" for n in range(10))]


def test_a_slow_path_stays_together_though_its_other_wires_pull_it_apart(tmp_path: Path) -> None:
    def along(timed: bool) -> int:
        design, names = row(timed)
        result = spots(refined(tmp_path, design, passes=100, target_ns=2.0))
        return sum(
            abs(p - q)
            for a, b in zip(names, names[1:], strict=False)
            for p, q in zip(result[a][1][:2], result[b][1][:2], strict=True)
        )

    wanted, careless = along(timed=True), along(timed=False)
    print(f"{wanted} tiles, {careless} of a row that ends nowhere")
    assert wanted < careless / 3


def test_the_slowest_path_through_a_wire_is_that_of_all_wires_along_it(tmp_path: Path) -> None:
    design, names = row(timed=True)
    placed, sdf = tmp_path / "placed.json", tmp_path / "placed.sdf"
    placed.write_text(json.dumps(design))
    sdf.write_text(delays(design))
    result = refine.refine(placed, sdf, tmp_path / "refined.json", 2.0, 20, 1)
    along = {result.slowest[name, "A"] for name in names[1:]} | {result.slowest["end", "M"]}
    best = min(float(at[1]) for line in result.said if (at := re.search(r"slowest ([\d.]+) ns", line)))
    assert max(along) - min(along) < 1e-4 and max(along) <= best + 0.005
    assert max(along) > 0.5 + 10 * 0.2 + 0.1 + 11 * 0.2, "clock to output, ten LUTs, setup, eleven wires"
    assert {result.slowest[f"slow{n}", port] for n in range(10) for port in "BCD"} == {0.0}, "from no clock"


def test_a_reset_is_made_near_the_buffer_of_its_global_wire(tmp_path: Path) -> None:
    """Its LUT has three wires from multipliers at the other end of the device."""
    m = Maker(5)
    m.cell("clock", "DCCA", "X67/Y0/TDCC0", CLKO=1)
    other, ce, begins, made_of, reset = (m.net() for _ in range(5))
    m.global_nets["reset"] = reset
    m.cell("buffer", "DCCA", "X67/Y0/TDCC1", CLKI=made_of, CLKO=reset)
    x, y = m.tile()
    m.cell("begin", "TRELLIS_FF", f"X{x}/Y{y}/SLICEA.FF0", **flip_flop(other, ce, Q=begins))
    pulls = {port: m.net() for port in "BCD"}
    for (port, bit), site in zip(pulls.items(), sorted(SITES["MULT18X18D"], key=lambda s: -s[1]), strict=False):
        m.cell(f"pull{port}", "MULT18X18D", site[2], P0=bit)
    x, y = m.tile()
    m.cell("makes", "TRELLIS_COMB", f"X{x}/Y{y}/SLICEB.K0", A=begins, F=made_of, **pulls)
    for n in range(5):
        x, y = m.tile()
        m.cell(f"reset{n}", "TRELLIS_FF", f"X{x}/Y{y}/SLICEA.FF0", **flip_flop(reset, ce, M=begins))
    for n, (x, y) in enumerate(sorted(m.free)):
        m.cell(f"other{n}", "TRELLIS_COMB", f"X{x}/Y{y}/SLICED.K1", F=m.net())

    rows = [spots(refined(tmp_path, m.design(), seed, passes=100, target_ns=1.0))["makes"][1][1] for seed in (1, 2, 3)]
    print(f"rows {rows}, of {min(y for _, y in m.free)} to {max(y for _, y in m.free)}")
    assert max(rows) < 16


def test_a_seed_gives_one_result(tmp_path: Path) -> None:
    first, again, other = (spots(refined(tmp_path, made(1), seed, passes=5)) for seed in (7, 7, 8))
    assert first == again != other


def test_clusters_are_what_keeps_the_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without them the rules above are broken: they can be."""
    monkeypatch.setattr(refine.Problem, "clusters", lambda self: list(range(len(self.names))))
    placed, sdf = tmp_path / "placed.json", tmp_path / "placed.sdf"
    design = made(1)
    placed.write_text(json.dumps(design))
    sdf.write_text(delays(design))
    refine.refine(placed, sdf, tmp_path / "refined.json", 2.0, 20, 1)
    assert faults(json.loads((tmp_path / "refined.json").read_text()))


def moved(design: Design, name: str, bel: str) -> Design:
    design["modules"]["top"]["cells"][name]["attributes"]["NEXTPNR_BEL"] = bel
    return design


def test_bad_input_is_refused(tmp_path: Path) -> None:
    design = made(1)
    del design["modules"]["top"]["cells"]["lut3"]["attributes"]["NEXTPNR_BEL"]
    with pytest.raises(refine.RefineError, match=r"cell lut3 has no place: .*--no-route --write"):
        refined(tmp_path, design)
    bel = made(1)["modules"]["top"]["cells"]["lut4"]["attributes"]["NEXTPNR_BEL"]
    with pytest.raises(refine.RefineError, match="two cells are in one place"):
        refined(tmp_path, moved(made(1), "lut3", bel))
    flip_flops = [name for name in made(1)["modules"]["top"]["cells"] if name.startswith("alone")]
    cells = made(1)["modules"]["top"]["cells"]
    one = cells[flip_flops[0]]
    other = next(name for name in flip_flops if cells[name]["connections"]["LSR"] != one["connections"]["LSR"])
    at = re.sub(r"SLICE.\.FF.", "SLICED.FF0", one["attributes"]["NEXTPNR_BEL"])
    if at[:-1] == one["attributes"]["NEXTPNR_BEL"][:-1]:
        at = at.replace("SLICED", "SLICEA")
    with pytest.raises(refine.RefineError, match=r"breaks a rule at column \d+, row \d+"):
        refined(tmp_path, moved(made(1), other, at))
    assert not list(tmp_path.glob("refined.*")), "nothing half-written stays"
    with pytest.raises(refine.RefineError, match="the design has 2 modules"):
        refine.top_of({"modules": {"a": {}, "b": {}}})

"""Makes a placement that nextpnr has found for the ECP5 better, before it is routed: wires become shorter, those of slow paths most of all.

nextpnr solves a placement as a whole, puts each cell into the nearest place that may take it, and then swaps cells as long as that helps at once. In a device that is
full to seven tenths, and whose tiles have one control set each, that leaves cells far from where they were wanted: of `ten-gig` the wires are 320 000 tiles
before it and 500 000 after it. Here the placement is annealed: `refine.cpp` moves clusters of cells, some 10^8 times, and keeps what makes the sum of
wires and weighted delays smaller, at first also what makes it a little larger.

- A cluster is what has to keep its form: a flip-flop with the LUT that feeds it directly, LUTs of a wide multiplexer, a carry chain, a distributed RAM. It goes to
  places where nextpnr's own rules for slices and tiles allow it (`slices_compatible` in its ecp5/arch_place.cc). Block RAMs, multipliers and all else stay.
  Half of the moves of what is wider than a slice take its whole tiles along, whose flip-flops then keep their control sets.
- Delays are nextpnr's own, of its file of delays before routing, but for the wires, which change with each move: what a routed `ten-gig` has on average for as many columns and
  rows. nextpnr's own estimate (`predictDelay`) is 1.6 times that for nine by nine tiles, so that whatever is far apart counts too much, and a LUT more too little.
  Resets over global wires take no time, as nextpnr has it, but the wire to their buffer does.
  A wire weighs (path / target)^12, where the path is the slowest one through it, looked at anew in each pass. What it takes beyond its delay at the pass's
  beginning and a third of its path's slack weighs 8 more: otherwise cells of fast paths would go anywhere until the next pass, and their paths become slow.
  Weights count by their sum, which is half of the cost whether the target is met or not.
- Four moves of ten are aimed: at a cell of a wire that weighs much and takes long, and towards where its wires would be shortest by their weights, or along that one.
- nextpnr reads the result as a packed design whose cells all have an attribute `BEL`: it looks itself whether each may be there, and routes. (Read as placed,
  `--no-place`, cells would be bound before it knows what they are, and the router would permute inputs of carry cells and distributed RAMs.)
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import paths
from boards import PACKAGES

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(__file__).with_suffix(".cpp")
BUILD = ROOT / "build"
BUILDING = threading.Lock()
COMPILE = ["-std=c++17", "-O3", "-Wall", "-Wextra", "-Werror"]

BEL = re.compile(r"X(?P<x>\d+)/Y(?P<y>\d+)/(?:SLICE(?P<slice>[A-D])\.(?P<part>K|FF|RAMW)(?P<half>[01]?)|.*)")
KINDS = {"K": 0, "FF": 1, "RAMW": 2}
FIXED = 3
SLICES = "ABCD"
CARRY, LUT_RAM, MUX5, MUX6, CLOCK_INVERTED, WRITE_INVERTED, BLOCKED = (1 << n for n in range(7))
DIRECT = ("DI", "F1", "FXA", "FXB", "FCI")
"""inputs of slices with a wire of their own, from a cell that has to be beside them"""
CARRY_INPUTS = ("A", "B", "C", "D", "FCI")
INVERTED = ("INV", "0")
"""of a clock, an enable and WRE, as nextpnr's `assign_arch_info_for_cell` has it; of LSR the first alone"""
FLIP_FLOP_NS = 0.106
"""of a LUT to the flip-flop beside it, at speed 8, when routed (before, nextpnr counts none; and 0.318 to a multiplexer, which is none then)"""

Cell = dict[str, Any]


class RefineError(Exception):
    """The placement is none that can be made better, or the program failed."""


@dataclass(frozen=True)
class Refined:
    """What the program says, a line for some of its passes; and of each wire, by the input that it leads to, the slowest path through it, ns, 0 if there is none."""

    said: list[str]
    slowest: dict[paths.Pin, float]


@dataclass(frozen=True)
class Place:
    """Of a cell: its kind, and where it is; `z` is the place in the tile, two a slice."""

    kind: int
    x: int
    y: int
    z: int

    @classmethod
    def of(cls, name: str, cell: Cell, attribute: str) -> Place:
        """Where the attribute says that it is."""
        bel = cell["attributes"].get(attribute, "")
        at = BEL.fullmatch(bel)
        if not at:
            raise RefineError(f"cell {name} has no place: the design has to be placed by nextpnr (--no-route --write)")
        x, y = int(at["x"]), int(at["y"])
        if at["slice"]:
            return cls(KINDS[at["part"]], x, y, 2 * SLICES.index(at["slice"]) + int(at["half"] or 0))
        return cls(FIXED, x, y, 0)

    def bel(self) -> str:
        """nextpnr's name of a place in a slice."""
        part = next(part for part, kind in KINDS.items() if kind == self.kind)
        half = "" if part == "RAMW" else str(self.z % 2)
        return f"X{self.x}/Y{self.y}/SLICE{SLICES[self.z // 2]}.{part}{half}"


def net(cell: Cell, port: str) -> int | None:
    """The net at a port of one bit."""
    bits = cell["connections"].get(port)
    return bits[0] if bits else None


def global_nets(module: Mapping[str, Any]) -> set[int]:
    """Nets on global wires."""
    return {
        bit
        for wire in module["netnames"].values()
        if int(str(wire["attributes"].get("ECP5_IS_GLOBAL", "0")), 2)
        for bit in wire["bits"]
    }


def parameter(cell: Cell, name: str, default: str) -> str:
    return str(cell["parameters"].get(name, default)).strip()


def flags_of(cell: Cell) -> int:
    """What a LUT is besides a LUT."""
    mode = parameter(cell, "MODE", "LOGIC")
    flags = {"CCU2": CARRY, "DPRAM": LUT_RAM, "RAMW_BLOCK": BLOCKED}.get(mode, 0)
    if mode == "DPRAM":
        flags |= CLOCK_INVERTED if parameter(cell, "WCKMUX", "WCK") == "INV" else 0
        flags |= WRITE_INVERTED if parameter(cell, "WREMUX", "WRE") in INVERTED else 0
    flags |= MUX5 if net(cell, "F1") is not None else 0
    flags |= MUX6 if net(cell, "FXA") is not None or net(cell, "FXB") is not None else 0
    return flags


class Problem:
    """A placed design as `refine.cpp` reads it."""

    PLACE = "NEXTPNR_BEL"
    """the attribute of cells that has their places"""

    def __init__(self, module: dict[str, Any], delays: paths.Delays) -> None:
        self.cells: dict[str, Cell] = module["cells"]
        self.names = list(self.cells)
        self.number = {name: n for n, name in enumerate(self.names)}
        self.places = [Place.of(name, cell, self.PLACE) for name, cell in self.cells.items()]
        self.driver = {
            bits[0]: (name, port)
            for name, cell in self.cells.items()
            for port, bits in cell["connections"].items()
            if bits and cell["port_directions"][port] == "output"
        }
        self.global_wires = global_nets(module)
        self.loads = [
            (name, port, bits[0])
            for name, cell in self.cells.items()
            for port, bits in cell["connections"].items()
            if bits
            and cell["port_directions"][port] == "input"
            and bits[0] in self.driver
            and (bits[0] not in self.global_wires or port == "LSR")
        ]
        self.delays = self.as_read(delays)

    def as_read(self, delays: paths.Delays) -> paths.Delays:
        """The delays as nextpnr has them in a design that it reads packed: it knows the half of a slice that a carry cell is in from packing alone, and takes all of
        them for first halves then (`constr_z` in `getCellDelay` of its ecp5/arch.cc), which are the slower ones. A chain's carry takes twice as long by that."""
        slowest: dict[tuple[str, str], float] = {}
        carries = [
            name for name, cell in self.cells.items() if cell["type"] == "TRELLIS_COMB" and flags_of(cell) & CARRY
        ]
        for name in carries:
            for port in CARRY_INPUTS:
                for (_, output), ns in delays.arcs.get((name, port), []):
                    slowest[port, output] = max(ns, slowest.get((port, output), 0.0))
        arcs = dict(delays.arcs)
        for name in carries:
            for port in CARRY_INPUTS:
                if (name, port) in arcs:
                    arcs[name, port] = [(pin, slowest[port, pin[1]]) for pin, _ in arcs[name, port]]
        return replace(delays, arcs=arcs)

    def always(self, name: str, port: str, bit: int) -> float | None:
        """ns of a wire inside a slice, or a global one; None if it takes what its way does."""
        kind = self.cells[name]["type"]
        if port in DIRECT and kind in ("TRELLIS_COMB", "TRELLIS_FF"):
            return FLIP_FLOP_NS if port == "DI" else 0.0
        return 0.0 if self.cells[self.driver[bit][0]]["type"] == "TRELLIS_RAMW" or bit in self.global_wires else None

    def clusters(self) -> list[int]:
        """Of each cell the number of its cluster."""
        parents = list(range(len(self.names)))

        def root(n: int) -> int:
            while parents[n] != n:
                parents[n] = parents[parents[n]]
                n = parents[n]
            return n

        for name, port, bit in self.loads:
            kind = self.cells[name]["type"]
            driver = self.driver[bit][0]
            direct = port in DIRECT and kind in ("TRELLIS_COMB", "TRELLIS_FF")
            if direct or (kind == "TRELLIS_COMB" and self.cells[driver]["type"] == "TRELLIS_RAMW"):
                parents[root(self.number[name])] = root(self.number[driver])
        at = {(p.kind, p.x, p.y, p.z): n for n, p in enumerate(self.places) if p.kind < FIXED}
        for (kind, x, y, z), n in at.items():
            if kind == KINDS["RAMW"]:  # the LUTs of its slice are taken, without a wire that says so
                for blocked in (z, z + 1):
                    if (lut := at.get((KINDS["K"], x, y, blocked))) is not None:
                        parents[root(lut)] = root(n)
        numbers: dict[int, int] = {}
        return [numbers.setdefault(root(n), len(numbers)) for n in range(len(self.names))]

    def write(self, out: Path) -> None:
        """The numbers, in the order that refine.cpp has at its head."""
        clusters = self.clusters()
        controls: dict[Any, int] = {}
        enables: dict[Any, int] = {}
        lines: list[str] = []
        for name, place, cluster in zip(self.names, self.places, clusters, strict=True):
            cell = self.cells[name]
            flags = control = enable = takes_m = clock = lsr = 0
            fxa = -1
            if cell["type"] == "TRELLIS_COMB":
                flags = flags_of(cell)
                if (bit := net(cell, "FXA")) in self.driver:
                    fxa = self.number[self.driver[bit][0]]
            elif cell["type"] == "TRELLIS_FF":
                clock = parameter(cell, "CLKMUX", "CLK") in INVERTED
                lsr = parameter(cell, "LSRMUX", "LSR") == "INV"
                kind = parameter(cell, "SRMODE", "LSR_OVER_CE") == "ASYNC"
                control = controls.setdefault((net(cell, "CLK"), net(cell, "LSR"), clock, lsr, kind), len(controls))
                ce = parameter(cell, "CEMUX", "CE")
                key = (net(cell, "CE"), ce in ("0", "1"), ce in INVERTED, parameter(cell, "GSR", "ENABLED"))
                enable = enables.setdefault(key, len(enables))
                takes_m = net(cell, "M") is not None
            lines.append(
                f"{place.kind} {place.x} {place.y} {place.z} {cluster} {flags} {control} {enable} {takes_m:d} {clock:d} {lsr:d} {fxa}"
            )
        outputs: dict[paths.Pin, int] = {}
        wires: list[str] = []
        for name, port, bit in self.loads:
            driver, always = self.driver[bit], self.always(name, port, bit)
            between_luts = (
                self.cells[name]["type"] == "TRELLIS_COMB" and port in ("A", "B", "C", "D") and driver[1] == "F"
            )
            wires.append(
                f"{outputs.setdefault(driver, len(outputs))} {self.number[name]} {-1.0 if always is None else always} {between_luts:d} "
                + self.behind((name, port), outputs)
            )
        starts = (f"{self.number[cell]} {self.delays.starts.get((cell, port), -1)}" for cell, port in outputs)
        counts = f"{len(lines)} {len(outputs)} {len(wires)} {max(clusters, default=-1) + 1}"
        out.write_text("\n".join([counts, *lines, *starts, *wires]) + "\n")

    def behind(self, pin: paths.Pin, outputs: dict[paths.Pin, int]) -> str:
        """What follows an input: the ns that it has to be early before the clock or -1, how many outputs of its cell, and of each its number, in `outputs`, and the ns to it."""
        arcs, setup = self.delays.arcs.get(pin, []), self.delays.ends.get(pin)
        return f"{-1 if setup is None else max(setup, 0.0)} {len(arcs)} " + " ".join(
            f"{outputs.setdefault(output, len(outputs))} {ns}" for output, ns in arcs
        )

    def read(self, results: Path) -> dict[paths.Pin, float]:
        """Gives the cells their new places, all of them as constraints. Returns of each wire, by the input that it leads to, the slowest path through it, ns."""
        rows = results.read_text().splitlines()
        for name, place, row in zip(self.names, self.places, rows[: len(self.names)], strict=True):
            attributes = self.cells[name]["attributes"]
            attributes["BEL"] = attributes.pop("NEXTPNR_BEL")
            attributes.pop("BEL_STRENGTH", None)
            if place.kind != FIXED:
                x, y, z = map(int, row.split())
                attributes["BEL"] = Place(place.kind, x, y, z).bel()
        return {
            (name, port): float(ns) for (name, port, _), ns in zip(self.loads, rows[len(self.names) :], strict=True)
        }


def complete_multipliers(module: dict[str, Any]) -> None:
    """nextpnr looks for all clocks, enables and resets of a multiplier, and fails if it has not got one of them: those that are missing get a net that nothing drives."""
    bits = [bit for cell in module["cells"].values() for bits in cell["connections"].values() for bit in bits]
    unused = max((bit for bit in bits if isinstance(bit, int)), default=0) + 1
    for cell in module["cells"].values():
        if cell["type"] == "MULT18X18D":
            for port in (f"{kind}{n}" for kind in ("CLK", "CE", "RST") for n in range(4)):
                if not cell["connections"].get(port):
                    cell["connections"][port] = [unused]
                    cell["port_directions"][port] = "input"
    module["netnames"]["unused_by_multipliers"] = {"hide_name": 0, "bits": [unused], "attributes": {}}


def program(source: Path = SOURCE) -> Path:
    """The program of a source, built if that is newer; by one thread at a time."""
    with BUILDING:
        return built(source)


def built(source: Path) -> Path:
    out = BUILD / source.stem
    if not out.exists() or out.stat().st_mtime < source.stat().st_mtime:
        BUILD.mkdir(parents=True, exist_ok=True)
        new = out.with_name(f"{source.stem}.{os.getpid()}")
        command = [os.environ.get("CXX", "g++"), *COMPILE, "-o", str(new), str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            raise RefineError(f"{command[0]} is missing; it is in {PACKAGES['g++']}") from None
        if done.returncode != 0:
            raise RefineError(f"{source.name} cannot be compiled:\n{done.stderr}")
        new.replace(out)
    return out


def top_of(design: Mapping[str, Any]) -> dict[str, Any]:
    modules: dict[str, dict[str, Any]] = design["modules"]
    if len(modules) != 1:
        raise RefineError(f"the design has {len(modules)} modules: one that nextpnr has written has one")
    return next(iter(modules.values()))


def refine(
    placed: Path, sdf: Path, out: Path, target_ns: float, passes: int, seed: int, timeout_s: float = 7200
) -> Refined:
    """Reads a design that nextpnr has placed (`--no-route --write`) and its delays (`--sdf`) and writes the better placement, for `--no-pack`.

    `target_ns`: paths above it are what counts most, more than 0. A pass makes four moves for each cluster. The same seed gives the same result.
    Raises RefineError.
    """
    design = json.loads(placed.read_text())
    module = top_of(design)
    problem = Problem(module, paths.read(sdf))
    given, found = out.with_suffix(".in"), out.with_suffix(".out")
    try:
        problem.write(given)
        command = [str(program()), str(given), str(found), str(target_ns), str(passes), str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
        if done.returncode != 0:
            raise RefineError(done.stderr.strip() or f"refine failed ({done.returncode})")
        slowest = problem.read(found)
    except subprocess.TimeoutExpired:
        raise RefineError(f"refine took more than {timeout_s:.0f} s") from None
    finally:
        given.unlink(missing_ok=True)
        found.unlink(missing_ok=True)
    complete_multipliers(module)
    out.write_text(json.dumps(design))
    return Refined(done.stdout.splitlines(), slowest)

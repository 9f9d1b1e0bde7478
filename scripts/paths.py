"""The paths of a placed design that are too slow, from the delays that nextpnr writes (`--sdf`).

nextpnr names one path, the slowest. What has to be changed in a design is seen from all: here they are grouped by the blocks
they begin and end in, each group with its slowest path.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

Pin = tuple[str, str]
"""cell and port"""

CELL = re.compile(r'\(CELLTYPE "[^"]*"\)\s*\(INSTANCE ([^)]*)\)')
ARC = re.compile(r"\(IOPATH\s+(\S+)\s+(\S+)\s+\(([\d.:]+)\)")
SETUP = re.compile(r"\(SETUPHOLD\s+(?:\((?:posedge|negedge) (\S+)\)|(\S+))\s+\(posedge \S+\)\s+\(([-\d.:]+)\)")
WIRE = re.compile(r"\(INTERCONNECT\s+(\S+)\s+(\S+)\s+\(([\d.:]+)\)")
LEVELS = 3
"""of the core's instances that paths are grouped by"""
CLOCK = re.compile(r"CLK[AB0-3]?|WCK")


@dataclass(frozen=True)
class Delays:
    """Everything in ns: from a clock to outputs of cells, through cells and wires, before a clock at inputs of cells."""

    starts: dict[Pin, float]
    arcs: dict[Pin, list[tuple[Pin, float]]]
    ends: dict[Pin, float]


@dataclass(frozen=True)
class Group:
    """Paths that begin in one block and end in another, slower than wanted."""

    begin: str
    end: str
    paths: int
    slowest_ns: float
    pins: list[Pin]
    """of the slowest, from the clock's output on"""

    @property
    def cells(self) -> int:
        """Cells that it goes through between its flip-flops."""
        return len({cell for cell, _ in self.pins} - {self.pins[0][0], self.pins[-1][0]})


def _ns(triple: str) -> float:
    """The largest of min:typ:max, in ps in the file."""
    return max(map(float, triple.split(":"))) / 1000


def _pin(name: str) -> Pin:
    cell, _, port = name.replace("\\", "").rpartition("/")
    return cell, port


def read(sdf: Path) -> Delays:
    """The delays of an SDF file of nextpnr."""
    starts: dict[Pin, float] = {}
    arcs: dict[Pin, list[tuple[Pin, float]]] = defaultdict(list)
    ends: dict[Pin, float] = {}
    parts = CELL.split(sdf.read_text())
    for instance, body in zip(parts[1::2], parts[2::2], strict=True):
        cell = instance.strip().replace("\\", "")
        for port, output, delay in ARC.findall(body):
            if CLOCK.fullmatch(port):
                starts[cell, output] = max(_ns(delay), starts.get((cell, output), 0.0))
            else:
                arcs[cell, port].append(((cell, output), _ns(delay)))
        for edged, port, delay in SETUP.findall(body):
            ends[cell, edged or port] = _ns(delay)
        for begin, end, delay in WIRE.findall(body):
            arcs[_pin(begin)].append((_pin(end), _ns(delay)))
    return Delays(starts, arcs, ends)


def block(cell: str, levels: int | None = None) -> str:
    """The instance of the core that a cell belongs to, from its flattened name; no more than `levels` deep."""
    parts = re.sub(r"\$.*", "", cell).split(".")
    if parts[0] != "core":
        return "wrapper"
    return ".".join(parts[1:-1][:levels]) or "core"


def slow(delays: Delays, period_ns: float) -> list[Group]:
    """The groups of paths that take more than `period_ns`, the slowest first."""
    missing: Counter[Pin] = Counter(pin for targets in delays.arcs.values() for pin, _ in targets)
    at, before = dict(delays.starts), dict[Pin, Pin]()
    ready = [pin for pin in {*delays.arcs, *delays.starts} if not missing[pin]]
    while ready:
        pin = ready.pop()
        for target, delay in delays.arcs.get(pin, ()):
            if pin in at and at[pin] + delay > at.get(target, -1.0):
                at[target], before[target] = at[pin] + delay, pin
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    late = sorted(((at[pin] + setup, pin) for pin, setup in delays.ends.items() if pin in at), reverse=True)
    worst: dict[tuple[str, str], tuple[float, list[Pin]]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for ns, pin in late:
        if ns <= period_ns:
            break
        pins = [pin]
        while pins[-1] in before:
            pins.append(before[pins[-1]])
        ends = block(pins[-1][0], LEVELS), block(pin[0], LEVELS)
        counts[ends] += 1
        worst.setdefault(ends, (ns, pins[::-1]))
    return [Group(*ends, counts[ends], ns, pins) for ends, (ns, pins) in worst.items()]


def report(groups: list[Group], period_ns: float, most: int = 12) -> list[str]:
    """Lines for a person: the `most` slowest groups."""
    if not groups:
        return [f"no path takes more than {period_ns:.2f} ns"]
    lines = [
        f"{sum(g.paths for g in groups)} paths take more than {period_ns:.2f} ns:",
        "      ns  paths  cells  from, to",
    ]
    for g in groups[:most]:
        lines.append(f"  {g.slowest_ns:6.2f} {g.paths:6} {g.cells:6}  {g.begin} ({g.pins[0][0]}), {g.end}")
    if len(groups) > most:
        lines.append(f"  and {len(groups) - most} groups more")
    return lines

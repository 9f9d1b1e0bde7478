"""Where faults are found in the Verilog, how they get into it, and that a rename changes nothing."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import faults
import mutate
from faults import Design, Fault, equivalent, instrument

VERILOG = """module Toy (
  input  wire          a,
  input  wire [3:0]    b,
  output reg  [3:0]    c,
  output wire          d,
  input  wire          clk,
  input  wire          rst
);
  reg        [3:0]    e;
  wire                idle;

  assign idle = (((a && (b < 4'b0101)) || (! c[1])) && 1'b1);
  assign d = (|(idle ? e : c[3 : 0]));
  always @(posedge clk) begin
    if(rst) begin
      c <= 4'b0000;
    end else begin
      if(a) begin
        c <= (b + 4'b0001);
      end
    end
  end

  always @(posedge clk) begin
    e <= {c[2 : 0],a};
  end


endmodule
"""


@pytest.fixture
def toy(tmp_path: Path) -> Design:
    (tmp_path / "Toy.v").write_text(VERILOG)
    return Design(tmp_path / "Toy.v")


def changes(design: Design, **where: str) -> set[tuple[str, str]]:
    """Old and new text of the faults of a kind."""
    (module,) = design.modules("Toy", frozenset())
    found = {fault for seed in range(20) for fault in module.faults(faults.random.Random(seed))}
    return {(f.old, f.new) for f in found if f.kind == where["kind"]}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("condition", {("a", "(! (a))"), ("idle ? e : c[3 : 0]", "(! (idle)) ? e : c[3 : 0]")}),
        ("comparison", {("b < 4'b0101", "b <= 4'b0101")}),
        ("arithmetic", {("b + 4'b0001", "b - 4'b0001")}),
        (
            "assignment",
            {("c <= 4'b0000;", ""), ("c <= (b + 4'b0001);", ""), ("e <= {c[2 : 0],a};", "")},
        ),
        (
            "constant",
            {("4'b0101", "4'd4"), ("4'b0101", "4'd6"), ("c[1]", "c[0]"), ("c[1]", "c[2]"), ("1'b1", "1'd0"),
             ("4'b0000", "4'd1"), ("4'b0000", "4'd15"), ("4'b0001", "4'd0"), ("4'b0001", "4'd2"),
             ("c[2 : 0]", "c[3:1]")},
        ),
        ("operand", {("a", "1'd0"), ("b", "4'd0"), ("b", "c"), ("b", "e"), ("e", "4'd0"), ("e", "c"), ("idle", "1'd0")}),
    ],
)  # fmt: skip
def test_every_kind_is_found_by_construct(toy: Design, kind: str, expected: set[tuple[str, str]]) -> None:
    """The reset's condition is none of them, nor is a constant bit that would be outside of its vector."""
    assert changes(toy, kind=kind) == expected


def test_operators_of_logic_are_found_whatever_brackets_there_are(toy: Design) -> None:
    assert {re.sub(r"[ ()]", "", new) for _, new in changes(toy, kind="logic")} == {
        "a||b<4'b0101", "a&&b<4'b0101&&!c[1]", "a&&b<4'b0101||!c[1]||1'b1", "c[1]", "&idle?e:c[3:0]",
    }  # fmt: skip


def test_a_rename_moves_no_fault(toy: Design, tmp_path: Path) -> None:
    renamed = re.sub(r"\b([a-e]|idle|Toy)\b", r"new_\1", VERILOG)
    (tmp_path / "new_Toy.v").write_text(renamed)
    before = toy.faults("Toy", frozenset(), 15, 3)
    after = Design(tmp_path / "new_Toy.v").faults("new_Toy", frozenset(), 15, 3)
    assert [(f.kind, f.line, f.new) for f in after] == [
        (f.kind, f.line, re.sub(r"\b([a-e]|idle)\b", r"new_\1", f.new)) for f in before
    ]


def test_the_seed_chooses_and_each_fault_comes_once(toy: Design) -> None:
    first, again, second = (toy.faults("Toy", frozenset(), 12, seed) for seed in (1, 1, 2))
    assert first == again != second
    assert len(set(first)) == 12
    everything = toy.faults("Toy", frozenset(), 1000, 1)
    assert len(everything) == len(set(everything)) < 60


def test_faults_are_chosen_by_number_and_zero_changes_nothing(toy: Design) -> None:
    """One in another keeps its own number; what is left of the text with no number is the text."""
    chosen = toy.faults("Toy", frozenset(), 1000, 1)
    text = instrument(VERILOG, list(enumerate(chosen, 1)))
    for number in range(1, len(chosen) + 1):
        assert len(re.findall(rf"\bweir_mutant [!=]= {number}\b", text)) == 1
    for fault in chosen:
        text = instrument(VERILOG, [(7, fault)])
        declared = re.search(r"\n  integer weir_mutant;\n  initial .*;", text)
        assert declared is not None
        changed = f"((weir_mutant == 7) ? ({fault.new}) : ({fault.old}))"
        left_out = f"begin if(weir_mutant != 7) {fault.old} end"
        assert text.replace(declared[0], "").replace(changed if fault.new else left_out, fault.old) == VERILOG


def test_what_no_input_shows_is_proved_equivalent(toy: Design, tmp_path: Path) -> None:
    def fault(old: str, new: str) -> Fault:
        at = VERILOG.index(old)
        return Fault("constant", "Toy", 1, at, at + len(old), old, new)

    assert equivalent(VERILOG, fault("(! c[1])) && 1'b1", "(! c[1])) & 1'b1"), tmp_path)
    assert not equivalent(VERILOG, fault("4'b0101", "4'd6"), tmp_path)


def test_every_unit_has_faults_of_most_kinds() -> None:
    for unit in mutate.UNITS:
        chosen = mutate.faults_of(unit, 15, 1)
        kinds = Counter(fault.kind for fault in chosen)
        assert len(chosen) == 15 and len(kinds) >= 3, f"{unit}: {kinds}"


def test_modules_of_a_library_and_of_other_units_are_left_out() -> None:
    design = Design(mutate.RTL / "units" / "UartBridgeFast.v")
    assert {"Executor", "FrameEncoder"} < {module.name for module in design.modules("UartBridgeFast", frozenset())}
    assert "BufferCC" not in {module.name for module in design.modules("UartBridgeFast", frozenset())}
    assert "Executor" not in {module.name for module in design.modules("UartBridgeFast", frozenset({"Executor"}))}


def test_a_short_run_catches_a_fault(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The whole way on a small unit: two faults in its model, its bench with each."""
    monkeypatch.setattr(mutate, "WORK", mutate.WORK / "short")
    monkeypatch.setattr(mutate, "RESULTS", tmp_path / "mutation.json")
    assert mutate.main(["--units", "DescriptorPool", "--only", "1,2"]) == 0
    assert "DescriptorPool: 2 of 2 caught" in capsys.readouterr().out


def test_a_record_replaces_a_units_row_and_keeps_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "mutation.md"
    monkeypatch.setattr(mutate, "PAGE", page)
    page.write_text(
        "# Faults\n\n| unit | b |\n|---|---|\n| ArrivalDecision | 1 | 1 | 0 | 0 |\n| CellWriter | 9 | 9 | 0 | 0 |\n\nEnd\n"
    )
    mutate.record("CellWriter", mutate.Score(15, 12, 1, ["one", "two"]))
    mutate.record("Queues", mutate.Score(15, 15, 0, []))
    assert page.read_text() == (
        "# Faults\n\n| unit | b |\n|---|---|\n| ArrivalDecision | 1 | 1 | 0 | 0 |\n| Queues | 15 | 15 | 0 | 0 |\n"
        "| CellWriter | 15 | 12 | 1 | 2 |\n\nEnd\n"
    )

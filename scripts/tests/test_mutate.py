"""How mutants get into the Verilog, and what is refused."""

from __future__ import annotations

import re

import pytest

import mutate
from mutate import Mutant, PatternError

VERILOG = """module Toy (
  input  wire a,
  output reg  b
);
  wire c;

  assign c = (a && b);
  always @(posedge clk) begin
    if(c) begin
      b <= (! a);
    end
  end
endmodule

module Other (
  input  wire a
);
  assign c = (a && b);
endmodule
"""


def toy(old: str, new: str, module: str = "Toy") -> Mutant:
    return Mutant("Toy", f"{old} to {new}", old, new, module=module)


def test_mutants_are_chosen_by_number_and_zero_changes_nothing() -> None:
    chosen = [(1, toy("a && b", "a || b")), (4, toy("a && b", "a")), (7, toy("if(c)", "if(! c)"))]
    text = mutate.instrument(VERILOG, chosen)
    assert "  assign c = ((weir_mutant == 4) ? ((a)) : (((weir_mutant == 1) ? ((a || b)) : ((a && b)))));\n" in text
    assert "    if(((weir_mutant == 7) ? (! c) : (c))) begin\n" in text
    assert text.count("$value$plusargs") == 1
    assert text[text.index("module Other") :] == VERILOG[VERILOG.index("module Other") :]


def test_each_module_with_a_mutant_reads_the_choice() -> None:
    text = mutate.instrument(VERILOG, [(1, toy("! a", "a")), (2, toy("a && b", "a", "Other"))])
    assert re.findall(r"\);\n  integer weir_mutant;\n  initial", text) == [");\n  integer weir_mutant;\n  initial"] * 2


@pytest.mark.parametrize(
    ("mutant", "message"),
    [
        (toy("a || b", "a"), "0 lines"),
        (toy("a", "c"), "lines with"),
        (toy("assign c", "assign d"), "no line that can be changed"),
        (toy("end", "begin"), "lines with"),
        (toy("a && b", "a", "Third"), "no module Third"),
    ],
)
def test_a_pattern_that_is_not_one_expression_is_refused(mutant: Mutant, message: str) -> None:
    with pytest.raises(PatternError, match=message):
        mutate.instrument(VERILOG, [(1, mutant)])


def test_every_unit_has_three_mutants_of_their_own_name() -> None:
    for unit in mutate.UNITS:
        assert sum(m.unit == unit for m in mutate.MUTANTS) >= 3, unit
    assert len({(m.unit, m.name) for m in mutate.MUTANTS}) == len(mutate.MUTANTS)


def test_every_pattern_is_in_the_verilog() -> None:
    """An error whose line is gone would be left out of the next long run without anybody's notice."""
    assert mutate.main(["--list"]) == 0

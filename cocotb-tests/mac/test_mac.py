"""MACs of 10 and 1 Gb/s against the models of cocotbext-eth."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
def test_ten_gigabit_mac() -> None:
    run_bench("TenGigabitMac", "xgmii_cocotb", internals=["XgmiiTransmit.s_axis_t*", "XgmiiReceive.m_axis_t*"])


@pytest.mark.timeout(300)
def test_gigabit_mac() -> None:
    run_bench("GigabitMac", "gmii_cocotb", internals=["GmiiTransmit.s_axis_t*", "GmiiReceive.m_axis_t*"])


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("unit", "cells"),
    [
        ("RgmiiMacEcp5", "ecp5_cells.v"),
        ("RgmiiMac7Series", "xilinx_cells.v"),
        ("RgmiiMac7SeriesAligned", "xilinx_cells.v"),
        ("RgmiiMac7SeriesShared", "xilinx_cells.v"),
    ],
    ids=["RgmiiMacEcp5", "RgmiiMac7Series", "RgmiiMac7SeriesAligned", "RgmiiMac7SeriesShared"],
)
def test_rgmii_mac(unit: str, cells: str) -> None:
    run_bench(unit, "rgmii_cocotb", internals=["GmiiTransmit.s_axis_t*", "GmiiReceive.m_axis_t*"], cells=cells)

"""Tops of boards with RGMII models."""

from __future__ import annotations

import pytest

from harness import run_bench

INTERNALS = ["EHXPLLL.*", "*.switch_*"]


def _run(board: str, module: str, case: str | None = None) -> None:
    run_bench(board, module, case, board=board, env={"WEIR_BOARD": board}, internals=INTERNALS)


@pytest.mark.timeout(400)
def test_colorlight_5a_75b() -> None:
    _run("colorlight-5a-75b", "board_cocotb")


@pytest.mark.timeout(400)
def test_ecp5_versa() -> None:
    _run("ecp5-versa", "board_cocotb", "a_bad_frame_stops_in_the_core_and_passes_the_bypass_as_bad")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_ecp5_versa_with_every_case() -> None:
    _run("ecp5-versa", "board_cocotb")


@pytest.mark.timeout(600)
@pytest.mark.slow(40)
def test_colorlight_5a_75b_registers() -> None:
    _run("colorlight-5a-75b", "registers_cocotb")


@pytest.mark.timeout(600)
def test_ecp5_versa_registers() -> None:
    _run("ecp5-versa", "registers_cocotb")

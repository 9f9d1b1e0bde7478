"""Tops of boards with RGMII models."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(400)
def test_colorlight_5a_75b() -> None:
    run_bench(
        "colorlight-5a-75b",
        "bench_board",
        board="colorlight-5a-75b",
        env={"WEIR_BOARD": "colorlight-5a-75b"},
        internals=["EHXPLLL.*", "*.switch_*"],
    )


@pytest.mark.timeout(400)
def test_ecp5_versa() -> None:
    case = "a_bad_frame_stops_in_the_core_and_passes_the_bypass_as_bad"
    run_bench(
        "ecp5-versa",
        "bench_board",
        case,
        board="ecp5-versa",
        env={"WEIR_BOARD": "ecp5-versa"},
        internals=["EHXPLLL.*", "*.switch_*"],
    )

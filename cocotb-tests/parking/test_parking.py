"""Runs parking_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
def test_parking() -> None:
    run_bench("Parking", "parking_cocotb")

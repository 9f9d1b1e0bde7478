"""Runs transit_patch_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
def test_transit_patch() -> None:
    run_bench("TransitPatch", "transit_patch_cocotb")

"""Runs spacing_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(240)
def test_spacing() -> None:
    run_bench("Spacing", "spacing_cocotb", internals=["Spacing.active"])

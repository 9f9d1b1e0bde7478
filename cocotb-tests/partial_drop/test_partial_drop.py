"""Runs partial_drop_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
def test_partial_drop() -> None:
    run_bench("PartialDrop", "partial_drop_cocotb")

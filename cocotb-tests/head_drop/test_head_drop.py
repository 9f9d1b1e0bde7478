"""Runs head_drop_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(120)
def test_head_drop() -> None:
    run_bench("HeadDrop", "head_drop_cocotb")

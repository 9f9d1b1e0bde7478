"""Runs free_list_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(120)
def test_free_list() -> None:
    run_bench("FreeList", "free_list_cocotb")

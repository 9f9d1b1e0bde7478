"""Runs jumbo_list_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
def test_jumbo_list() -> None:
    run_bench("JumboList", "jumbo_list_cocotb")

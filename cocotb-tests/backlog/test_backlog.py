"""Runs backlog_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(120)
def test_backlog() -> None:
    run_bench("Backlog", "backlog_cocotb")

"""Runs commit_fifo_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(120)
def test_commit_fifo() -> None:
    run_bench("CommitFifo", "commit_fifo_cocotb")

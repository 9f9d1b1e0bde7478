"""Runs trace_fifo_cocotb.py."""

from __future__ import annotations

from harness import run_bench


def test_trace_fifo() -> None:
    run_bench("TraceFifo", "trace_fifo_cocotb", seeds=(1, 2, 3))

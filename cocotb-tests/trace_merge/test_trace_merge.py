"""Runs trace_merge_cocotb.py."""

from __future__ import annotations

from harness import run_bench


def test_trace_merge() -> None:
    run_bench("TraceMerge", "trace_merge_cocotb", seeds=(1, 2))

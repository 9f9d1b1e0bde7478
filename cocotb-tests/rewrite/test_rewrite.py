"""Runs rewrite_cocotb.py."""

from __future__ import annotations

from harness import run_bench


def test_rewrite() -> None:
    run_bench("Rewrite", "rewrite_cocotb")

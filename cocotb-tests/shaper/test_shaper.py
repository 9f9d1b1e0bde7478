"""Runs shaper_cocotb.py."""

from __future__ import annotations

from harness import run_bench


def test_shaper() -> None:
    run_bench("Shaper", "shaper_cocotb", seeds=(1, 2, 3))

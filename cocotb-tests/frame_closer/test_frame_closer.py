"""Runs frame_closer_cocotb.py."""

from __future__ import annotations

from harness import run_bench


def test_frame_closer() -> None:
    run_bench("FrameCloser", "frame_closer_cocotb")

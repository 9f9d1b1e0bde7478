"""Runs queues_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(120)
def test_queues() -> None:
    run_bench("Queues", "queues_cocotb")

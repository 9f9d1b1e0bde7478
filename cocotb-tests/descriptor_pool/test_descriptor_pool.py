"""Runs descriptor_pool_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(120)
def test_descriptor_pool() -> None:
    run_bench("DescriptorPool", "descriptor_pool_cocotb")

"""Runs flow_table_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
def test_flow_table() -> None:
    run_bench("FlowTable", "flow_table_cocotb")

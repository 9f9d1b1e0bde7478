"""Runs flow_groups_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
def test_flow_groups() -> None:
    run_bench("FlowGroups", "flow_groups_cocotb")

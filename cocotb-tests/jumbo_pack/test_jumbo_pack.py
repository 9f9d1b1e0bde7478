"""Runs jumbo_pack_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(600)
@pytest.mark.slow(65)
def test_jumbo_pack() -> None:
    run_bench("JumboPack", "jumbo_pack_cocotb")

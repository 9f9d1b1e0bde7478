"""JumboUnpack splits jumbo frames and passes all others on; against weir_sim's model of the wire format."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(900)
def test_splits_jumbo_frames() -> None:
    run_bench("JumboUnpack", "split_cocotb")


@pytest.mark.timeout(900)
def test_unpack_under_pressure() -> None:
    run_bench("JumboUnpack", "pressure_cocotb")


@pytest.mark.timeout(900)
def test_rate_and_latency() -> None:
    run_bench("JumboUnpack", "rate_cocotb")

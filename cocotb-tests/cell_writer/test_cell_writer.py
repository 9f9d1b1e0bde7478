"""Runs cell_writer_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(120)
def test_cell_writer() -> None:
    run_bench("CellWriter", "cell_writer_cocotb", env={"SPLITS": 1})


@pytest.mark.timeout(120)
def test_store_of_a_core_without_jumbo_frames() -> None:
    run_bench("CellWriterPlain", "cell_writer_cocotb", testcase="stores_good_frames_and_takes_back_the_others")

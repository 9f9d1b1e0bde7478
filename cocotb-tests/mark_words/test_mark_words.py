"""Runs mark_words_cocotb.py."""

from __future__ import annotations

import pytest

from harness import run_bench


@pytest.mark.timeout(300)
def test_mark_words() -> None:
    run_bench("MarkWords", "mark_words_cocotb")

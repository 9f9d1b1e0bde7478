"""Runs ingress_cocotb.py."""

from __future__ import annotations

from harness import run_bench


def test_ingress() -> None:
    run_bench("Ingress", "ingress_cocotb")

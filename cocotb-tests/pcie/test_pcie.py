"""A host's accesses over PCI Express."""

from __future__ import annotations

from harness import run_bench


def test_pcie_completer() -> None:
    run_bench("PcieCompleter", "pcie_completer_cocotb")


def test_access_crossing() -> None:
    run_bench("AccessCrossingUnit", "access_crossing_cocotb")

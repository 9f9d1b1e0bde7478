"""A host's accesses over PCI Express."""

from __future__ import annotations

from harness import run_bench


def test_pcie_completer() -> None:
    run_bench("PcieCompleter", "bench_pcie_completer")


def test_access_crossing() -> None:
    run_bench("AccessCrossingUnit", "bench_access_crossing")

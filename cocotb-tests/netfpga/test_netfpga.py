"""The module in the place of NetFPGA's output queues, and its register decoder."""

from __future__ import annotations

from harness import run_bench


def test_output_queues() -> None:
    run_bench("NetFpgaOutputQueues", "bench_output_queues", internals=["Widen*.collect_waiting"])


def test_axi_lite_split() -> None:
    run_bench("AxiLiteSplit", "bench_axi_lite_split", seeds=[1, 2])

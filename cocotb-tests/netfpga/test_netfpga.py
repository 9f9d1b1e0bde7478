"""The module in the place of NetFPGA's output queues, and its register decoder."""

from __future__ import annotations

from harness import run_bench


def test_output_queues() -> None:
    run_bench("NetFpgaOutputQueues", "output_queues_cocotb", internals=["AxisUpsizer*.collect_waiting"])


def test_axi_lite_demux() -> None:
    run_bench("AxiLiteDemux", "axi_lite_demux_cocotb", seeds=[1, 2])

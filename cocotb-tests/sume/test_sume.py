"""The top for NetFPGA-SUME, and the units that only it has."""

from __future__ import annotations

import pytest

from harness import run_bench


def test_si5324_setup() -> None:
    run_bench("Si5324Setup", "si5324_cocotb")


@pytest.mark.timeout(600)
def test_netfpga_sume() -> None:
    cells = [f"{cell}.*" for cell in ("MMCME2_BASE", "IOBUF", "weir_pcs_pma_shared", "weir_pcs_pma", "weir_pcie")]
    run_bench("NetFpgaSume", "sume_cocotb", cells="xilinx_cells.v",
              internals=[*cells, "NetFpgaSume.path_switch_*", "NetFpgaSume.start_heart", "BumpInTheWire*.clock_now"])  # fmt: skip

"""AXI4-Lite front and register file: each bench on a build with everything, on a small one and on the smallest, which has no
trace, with and without stalls of the host's bus."""

import pytest

import csr_contract
from harness import run_bench

# queues, cells, descriptors, trace depth (0: no trace), jumbo frames, as the presets ten-gig and tail say: the policies' numbers
EVERY = ",".join(map(str, sorted(csr_contract.numbers())))
UNITS = {
    "CsrUnit": f"4,2048,2048,64,1:{EVERY}",
    "CsrUnitFew": "1,256,64,16,0:0,4,7",
    "CsrUnitUntraced": "1,256,64,0,0:0",
}


@pytest.mark.parametrize("stall", [0, 0.6])
@pytest.mark.parametrize("bench", ["csr_access_cocotb", "csr_apply_cocotb", "csr_bus_cocotb"])
@pytest.mark.parametrize("unit", UNITS)
def test_csr(unit: str, bench: str, stall: float) -> None:
    """Runs one bench on one build."""
    run_bench(unit, bench, env={"CSR_BUILD": UNITS[unit], "CSR_STALL": stall})

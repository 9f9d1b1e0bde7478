"""Fields of the trace records that the model does not need."""

from __future__ import annotations

from typing import Any

import cocotb

from core_bench import Bench


@cocotb.test()
async def tells_protected_group_addresses_in_both_records(dut: Any) -> None:
    """architecture.md, Trace: a departure's word 1 has the same fields, bit 30 (exempt) among them."""
    bench = await Bench(dut, "exempt records").start()
    for n in range(8):
        bench.send(bytes.fromhex("0180c200000e" if n % 2 else "0280c200000e") + bench.rng.randbytes(60), gap=20)
    await bench.check(counters=False)
    records = bench.decoded()
    arrivals = {r.number: r.exempt for r in records if not r.departure}
    assert arrivals == {n: bool(n % 2) for n in range(8)}
    assert {r.number: r.exempt for r in records if r.departure} == arrivals, "departure records differ"

"""AxiLiteDemux between a master and two memories, with pauses on every channel."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiLiteRam, AxiResp

from axis import seeded, start

BLOCKS, OWN = 2, 5


def pauses(rng: random.Random, share: float) -> Iterator[bool]:
    while True:
        yield rng.random() < share


async def make(dut: Any, rng: random.Random, share: float) -> tuple[AxiLiteMaster, list[AxiLiteRam]]:
    for name in ("up", "down_0", "down_1"):
        logging.getLogger(f"cocotb.{dut._name}.{name}").setLevel(logging.WARNING)
    for n in range(OWN):
        getattr(dut, f"words_{n}").value = 0x1000 + n
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "up"), dut.clk, dut.rst)
    memories = [
        AxiLiteRam(AxiLiteBus.from_prefix(dut, f"down_{n}"), dut.clk, dut.rst, size=1 << 16) for n in range(BLOCKS)
    ]
    for end in (master, *memories):
        for channel in (end.write_if.aw_channel, end.write_if.w_channel, end.write_if.b_channel, end.read_if.ar_channel,
                        end.read_if.r_channel):  # fmt: skip
            channel.set_pause_generator(pauses(rng, share))
    await start(dut)
    return master, memories


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.3, 0.8])
async def every_access_reaches_its_block_and_its_answer_the_master(dut: Any, share: float) -> None:
    rng = seeded(f"split {share}")
    master, memories = await make(dut, rng, share)
    known: dict[int, int] = {}
    places = [block << 16 | 4 * rng.randrange(1 << 14) for block in range(BLOCKS) for _ in range(12)]
    own = BLOCKS << 16

    async def some(count: int) -> None:
        for _ in range(count):
            what = rng.randrange(6)
            address = rng.choice(places)
            if what < 2:
                value = rng.getrandbits(32)
                known[address] = value
                assert (await master.write(address, value.to_bytes(4, "little"))).resp == AxiResp.OKAY
            elif what < 4:
                if address in known:
                    answer = await master.read(address, 4)
                    assert answer.resp == AxiResp.OKAY and int.from_bytes(answer.data, "little") == known[address]
            elif what == 4:
                n = rng.randrange(OWN)
                answer = await master.read(own + 4 * n, 4)
                assert answer.resp == AxiResp.OKAY and int.from_bytes(answer.data, "little") == 0x1000 + n
            else:
                wrong = rng.choice((own + 4 * OWN, own + 0xFFFC, (BLOCKS + 1) << 16))
                assert (await master.read(wrong, 4)).resp == AxiResp.SLVERR
                assert (await master.read(own + 2, 2)).resp == AxiResp.SLVERR
                assert (await master.write(rng.choice((wrong, own)), b"abcd")).resp == AxiResp.SLVERR

    await some(300)
    for address, value in known.items():
        memory = memories[address >> 16]
        assert int.from_bytes(memory.read(address & 0xFFFF, 4), "little") == value


@cocotb.test()
async def reads_and_writes_go_on_beside_each_other(dut: Any) -> None:
    rng = seeded("beside")
    master, memories = await make(dut, rng, 0.3)
    memories[0].write(0x40, b"\x11\x22\x33\x44")

    async def writes() -> None:
        for n in range(60):
            assert (await master.write(1 << 16 | 4 * n, n.to_bytes(4, "little"))).resp == AxiResp.OKAY

    task = cocotb.start_soon(writes())
    for _ in range(60):
        assert (await master.read(0x40, 4)).data == b"\x11\x22\x33\x44"
    await task
    assert all(memories[1].read(4 * n, 4) == n.to_bytes(4, "little") for n in range(60))


@cocotb.test()
async def an_answer_that_waits_does_not_change(dut: Any) -> None:
    """An own word that counts on, read by a master that does not take the answer."""
    still = {f"up_{name}": 0 for name in ("awvalid", "wvalid", "bready", "arvalid", "rready")}
    for block in range(BLOCKS):
        still |= {f"down_{block}_{name}": 0 for name in ("awready", "wready", "bvalid", "arready", "rvalid")}
    await start(dut, **still, **{f"words_{n}": 0 for n in range(OWN)})
    dut.up_araddr.value = (BLOCKS << 16) + 4
    dut.up_arvalid.value = 1
    seen = []
    for n in range(30):
        await RisingEdge(dut.clk)
        dut.up_arvalid.value = 0 if n else 1
        dut.up_rready.value = 0
        dut.words_1.value = 0x2000 + n
        if dut.up_rvalid.value:
            seen.append(int(dut.up_rdata.value))
    assert len(seen) > 20 and len(set(seen)) == 1

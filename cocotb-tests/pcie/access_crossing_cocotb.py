"""AccessCrossing between clocks of any ratio: every access is carried out once, every one is answered, whatever stands still or is reset."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, Timer, with_timeout

from axis import seeded

NOBODY = 0xFFFFFFFF
HOST_PS = 4000
PATIENCE = 256


class Bus:
    """An AXI4-Lite slave of its own: answers late, and refuses what `refused` has. `log` has what was carried out."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut, self.rng = dut, rng
        self.words: dict[int, int] = {}
        self.refused: set[int] = set()
        self.log: list[tuple[bool, int, int]] = []
        self.late = 6
        self.deaf = False

    async def write(self) -> None:
        d = self.dut
        d.axi_awready.value, d.axi_wready.value, d.axi_bvalid.value = 0, 0, 0
        while True:
            await RisingEdge(d.bus_clk)
            if self.deaf or int(d.bus_rst.value) or not (int(d.axi_awvalid.value) and int(d.axi_wvalid.value)):
                continue
            await self._wait()
            address, data, strobe = (int(s.value) for s in (d.axi_awaddr, d.axi_wdata, d.axi_wstrb))
            # the address first or the data first
            first, second = (d.axi_awready, d.axi_wready)[:: self.rng.choice([1, -1])]
            for ready in (first, second):
                ready.value = 1
                await RisingEdge(d.bus_clk)
                ready.value = 0
                await self._wait()
            if int(d.bus_rst.value):
                continue
            if address not in self.refused:
                self.words[address] = data
            self.log.append((True, address, strobe))
            d.axi_bvalid.value, d.axi_bresp.value = 1, 2 * (address in self.refused)
            await self._taken(d.axi_bready)
            d.axi_bvalid.value = 0

    async def read(self) -> None:
        d = self.dut
        d.axi_arready.value, d.axi_rvalid.value = 0, 0
        while True:
            await RisingEdge(d.bus_clk)
            if self.deaf or int(d.bus_rst.value) or not int(d.axi_arvalid.value):
                continue
            await self._wait()
            address = int(d.axi_araddr.value)
            d.axi_arready.value = 1
            await RisingEdge(d.bus_clk)
            d.axi_arready.value = 0
            await self._wait()
            if int(d.bus_rst.value):
                continue
            self.log.append((False, address, 0))
            d.axi_rdata.value = self.words.setdefault(address, self.rng.getrandbits(32))
            d.axi_rvalid.value, d.axi_rresp.value = 1, 2 * (address in self.refused)
            await self._taken(d.axi_rready)
            d.axi_rvalid.value = 0

    async def _taken(self, ready: Any) -> None:
        while True:
            await RisingEdge(self.dut.bus_clk)
            if int(ready.value) or int(self.dut.bus_rst.value):
                return

    async def _wait(self) -> None:
        for _ in range(self.rng.randrange(self.late)):
            await RisingEdge(self.dut.bus_clk)


class Bench:
    def __init__(self, dut: Any, rng: random.Random, bus_ps: int) -> None:
        self.dut, self.rng, self.bus = dut, rng, Bus(dut, rng)
        self.bus_ps = bus_ps
        self.clock = Clock(dut.bus_clk, bus_ps, "ps")

    @classmethod
    async def make(cls, dut: Any, name: str, bus_ps: int = 6400) -> Bench:
        bench = cls(dut, seeded(f"crossing {name} {bus_ps}"), bus_ps)
        Clock(dut.clk, HOST_PS, "ps").start()
        bench.clock.start()
        dut.rst.value, dut.bus_rst.value, dut.access_valid.value = 1, 1, 0
        cocotb.start_soon(bench.bus.write())
        cocotb.start_soon(bench.bus.read())
        await Timer(10 * bus_ps + 10 * HOST_PS, "ps")
        dut.rst.value, dut.bus_rst.value = 0, 0
        await Timer(20 * bus_ps + 20 * HOST_PS, "ps")
        return bench

    async def access(self, address: int, data: int | None = None, strobe: int = 15) -> int:
        """One access; what was read."""
        d = self.dut
        d.access_valid.value, d.access_write.value = 1, data is not None
        d.access_address.value, d.access_strobe.value, d.access_wdata.value = address // 4, strobe, data or 0
        for _ in range(4 * PATIENCE):
            await RisingEdge(d.clk)
            if int(d.access_ready.value):
                break
        else:
            raise AssertionError(f"no answer within {4 * PATIENCE} cycles")
        value = int(d.access_rdata.value)
        d.access_valid.value = 0
        for _ in range(self.rng.randrange(4)):
            await RisingEdge(d.clk)
        return value

    def address(self) -> int:
        return 4 * self.rng.randrange(1 << 17)


@cocotb.test()
@cocotb.parametrize(bus_ps=[1700, 4000, 6400, 23000])
async def each_access_is_carried_out_once(dut: Any, bus_ps: int) -> None:
    """Reads give what was written, in the order of the host, whatever the ratio of the clocks; what is refused reads as all ones."""
    bench = await Bench.make(dut, "once", bus_ps)
    bench.bus.late = 3
    addresses = [bench.address() for _ in range(8)]
    bench.bus.refused = set(addresses[:2])
    expected: dict[int, int] = {}
    asked = []
    for _ in range(150):
        address = bench.rng.choice(addresses)
        if bench.rng.random() < 0.5:
            data, strobe = bench.rng.getrandbits(32), bench.rng.randrange(1, 16)
            await bench.access(address, data, strobe)
            expected[address] = data
            asked.append((True, address, strobe))
        else:
            value = await bench.access(address)
            asked.append((False, address, 0))
            assert value == (
                NOBODY if address in bench.bus.refused else expected.setdefault(address, bench.bus.words[address])
            )
    assert bench.bus.log == asked


@cocotb.test()
async def a_bus_that_does_not_answer_holds_nobody_up(dut: Any) -> None:
    """After 2^8 cycles all ones; then at once, until the late answer is there, which nobody gets. After it all is as before."""
    bench = await Bench.make(dut, "deaf")
    address, other = 0x100, 0x200
    bench.bus.words = {address: 1, other: 2}
    assert await bench.access(other) == 2
    for write in (False, True):
        bench.bus.deaf = True
        begin = cocotb.utils.get_sim_time("ps")
        assert await bench.access(address, 5 if write else None) == NOBODY
        took = (cocotb.utils.get_sim_time("ps") - begin) / HOST_PS
        assert PATIENCE - 2 <= took <= PATIENCE + 8
        for data in (None, 7):
            begin = cocotb.utils.get_sim_time("ps")
            assert await bench.access(other, data) == NOBODY
            assert (cocotb.utils.get_sim_time("ps") - begin) / HOST_PS <= 8
        bench.bus.deaf = False
        await Timer(100 * 6400, "ps")
        assert await bench.access(other) == 2, "a write that was answered at once must have no effect"
        assert (
            bench.bus.log == [(False, other, 0), (write, address, 15 * write), (False, other, 0)][-len(bench.bus.log) :]
        )
        bench.bus.log = bench.bus.log[-1:]
    assert bench.bus.words[address] == 5, "what was asked for stays asked for"


@cocotb.test()
async def a_clock_that_stands_still_holds_nobody_up(dut: Any) -> None:
    bench = await Bench.make(dut, "still")
    bench.bus.words = {0x40: 9}
    bench.clock.stop()
    assert await bench.access(0x40) == NOBODY
    assert await bench.access(0x44) == NOBODY
    bench.clock.start()
    await Timer(60 * 6400, "ps")
    assert await bench.access(0x40) == 9
    assert bench.bus.log == [(False, 0x40, 0)] * 2


@cocotb.test()
@cocotb.parametrize(side=["bus", "host", "both"])
async def a_reset_repeats_nothing_and_invents_nothing(dut: Any, side: str) -> None:
    """At every distance from the beginning of a write, once with each level of the request: it is carried out once or not at all."""
    bench = await Bench.make(dut, f"reset {side}")
    bus = bench.bus
    bus.late = 2
    for turn in range(120):
        address, data = bench.address(), bench.rng.getrandbits(32)
        bus.log.clear()
        writing = cocotb.start_soon(bench.access(address, data))
        await Timer(HOST_PS * (turn // 2) + 1, "ps")
        if side != "bus":
            writing.cancel()
            dut.access_valid.value, dut.rst.value = 0, 1
        if side != "host":
            dut.bus_rst.value = 1
        await Timer(bench.rng.randrange(4, 30) * 6400, "ps")
        dut.rst.value = dut.bus_rst.value = 0
        if side == "bus":
            await with_timeout(writing, 2 * PATIENCE * HOST_PS, "ps")
        await Timer(80 * 6400, "ps")
        assert bus.log in ([], [(True, address, 15)]), f"turn {turn}"
        bus.log.clear()
        bus.words[0x80] = turn
        assert await bench.access(0x80) == turn
        assert bus.log == [(False, 0x80, 0)], f"turn {turn}"
        if turn % 2:
            await bench.access(0x84)

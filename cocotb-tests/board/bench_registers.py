"""Registers of a board over the pins of its UART, at 1 Mbaud, while frames pass."""

from __future__ import annotations

import json
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, Timer, with_timeout

from bench_board import Bench
from golden.register_protocol import HELLO, READ, WRITE, frame
from harness import RTL

BIT_NS = 1000
CORE = {r["name"]: r["offset"] for r in json.loads((RTL / "weir_regs.json").read_text())["blocks"][0]["registers"]}


class Host:
    """Requests and their answers, bit by bit."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.number = dut, 0
        dut.uart_rxd.value = 1

    async def _byte(self) -> int:
        await FallingEdge(self.dut.uart_txd)
        await Timer(BIT_NS // 2, "ns")
        byte = 0
        for n in range(8):
            await Timer(BIT_NS, "ns")
            byte |= int(self.dut.uart_txd.value) << n
        await Timer(BIT_NS, "ns")
        assert int(self.dut.uart_txd.value), "no stop bit"
        return byte

    async def _answer(self) -> bytes:
        got = bytearray()
        while len(got) < 2 or got[-1] != 0x7E:
            got.append(await self._byte())
        return bytes(got)

    async def ask(self, op: int, core: int, address: int, *values: int) -> int:
        """One operation on one register: the value of a read. The answer has to be right to the last bit."""
        self.number += 1
        data = b"".join(value.to_bytes(4, "little") for value in values)
        answer = cocotb.start_soon(self._answer())
        for byte in frame(bytes([0x51, self.number, op | core << 4]) + address.to_bytes(2, "little") + b"\x01" + data):
            for bit in (0, *(byte >> n & 1 for n in range(8)), 1):
                self.dut.uart_rxd.value = bit
                await Timer(BIT_NS, "ns")
        got = await with_timeout(answer, 1, "ms")
        plain = got[1:-1].replace(b"\x7d\x5e", b"\x7e").replace(b"\x7d\x5d", b"\x7d")
        value = plain[2:-7]
        assert got == frame(bytes([0x41, self.number]) + value + b"\x01\x00\x00"), got.hex()
        return int.from_bytes(value, "little")

    async def read(self, core: int, name: str) -> int:
        return await self.ask(READ, core, CORE[name])

    async def write(self, core: int, name: str, value: int) -> None:
        await self.ask(WRITE, core, CORE[name], value)


@cocotb.test()
async def a_host_reaches_both_cores_and_each_alone(dut: Any) -> None:
    """Who they are, a register of each, and what each has received from its own port."""
    host = Host(dut)
    bench = await Bench.make(dut, "registers")
    counts = (7, 4)
    for core in range(2):
        assert await host.ask(HELLO, core, 0) == 0x57010400
        assert await host.read(core, "MAGIC") == 0x57454952
        assert await host.read(core, "CLOCK_HZ") == 62500000
        await host.write(core, "SCRATCH", 0x7E7D0000 + core)
    for port, count in enumerate(counts):
        for _ in range(count):
            bench.send(port, bench.rng.randbytes(100))
    for core in range(2):
        assert await host.read(core, "SCRATCH") == 0x7E7D0000 + core
    await bench.drained(counts[1], counts[0])
    for core, count in enumerate(counts):
        assert len(bench.received(1 - core)) == count
        await host.write(core, "SNAPSHOT", 1)
        assert await host.read(core, "RX_PACKETS_LO") == count
        assert await host.read(core, "TX_PACKETS_LO") == count


@cocotb.test()
async def what_a_host_configures_holds_for_one_direction(dut: Any) -> None:
    """Core 0 lets frames of 500 bytes pass, core 1 any."""
    host = Host(dut)
    bench = await Bench.make(dut, "configure")
    await host.write(0, "MAX_FRAME", 500)
    await host.write(0, "CORE_APPLY", 1)
    frames = [[bench.rng.randbytes(n) for n in (60, 500, 501, 1500, 300)] for _ in range(2)]
    for port in range(2):
        for data in frames[port]:
            bench.send(port, data)
    await bench.drained(5, 3)
    assert bench.received(0) == [(data, False) for data in frames[1]]
    assert bench.received(1) == [(data, False) for data in frames[0] if len(data) <= 500]

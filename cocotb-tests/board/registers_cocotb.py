"""Registers of a board over the pins of its UART, while frames pass: at 1 Mbaud, and at 115200 baud on the Colorlight's button."""

from __future__ import annotations

import json
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, Timer, with_timeout

from board_cocotb import BOARD, Bench
from golden.register_protocol import HELLO, READ, WRITE, frame
from harness import RTL

RXD, BAUD = {"ecp5-versa": ("uart_rxd", 1_000_000), "colorlight-5a-75b": ("button_n", 115_200)}[BOARD]
BIT_PS = 10**12 // BAUD
CORE = {r["name"]: r["offset"] for r in json.loads((RTL / "weir_regs.json").read_text())["blocks"][0]["registers"]}
#: operation, core, address, values to write
Operation = tuple[int, ...]


def read(core: int, name: str) -> Operation:
    return READ, core, CORE[name]


def write(core: int, name: str, value: int) -> Operation:
    return WRITE, core, CORE[name], value


class Host:
    """Requests and their answers, bit by bit."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.rxd, self.number = dut, getattr(dut, RXD), 0
        self.rxd.value = 1

    async def _byte(self) -> int:
        await FallingEdge(self.dut.uart_txd)
        await Timer(BIT_PS // 2, "ps")
        byte = 0
        for n in range(8):
            await Timer(BIT_PS, "ps")
            byte |= int(self.dut.uart_txd.value) << n
        await Timer(BIT_PS, "ps")
        assert int(self.dut.uart_txd.value), "no stop bit"
        return byte

    async def _answer(self) -> bytes:
        got = bytearray()
        while len(got) < 2 or got[-1] != 0x7E:
            got.append(await self._byte())
        return bytes(got)

    async def ask(self, *operations: Operation) -> list[int]:
        """One request: the values of its reads. The answer has to be right to the last bit."""
        self.number += 1
        request = bytes([0x51, self.number])
        words = 0
        for op, core, address, *values in operations:
            request += bytes([op | core << 4]) + address.to_bytes(2, "little") + b"\x01"
            request += b"".join(value.to_bytes(4, "little") for value in values)
            words += 1
        answer = cocotb.start_soon(self._answer())
        for byte in frame(request):
            for bit in (0, *(byte >> n & 1 for n in range(8)), 1):
                self.rxd.value = bit
                await Timer(BIT_PS, "ps")
        got = await with_timeout(answer, 1000 * BIT_PS, "ps")
        plain = got[1:-1].replace(b"\x7d\x5e", b"\x7e").replace(b"\x7d\x5d", b"\x7d")
        value = plain[2:-7]
        assert got == frame(bytes([0x41, self.number]) + value + words.to_bytes(2, "little") + b"\x00"), got.hex()
        return [int.from_bytes(value[n : n + 4], "little") for n in range(0, len(value), 4)]


@cocotb.test()
async def a_host_reaches_both_cores_and_each_alone(dut: Any) -> None:
    """Who they are, a register of each while frames pass, and what each has received from its own port."""
    host = Host(dut)
    bench = await Bench.make(dut, "registers")
    counts = (7, 4)
    for core in range(2):
        scratch = write(core, "SCRATCH", 0x7E7D0000 + core)
        names = ("MAGIC", "CLOCK_HZ")
        got = await bench.between_frames(host.ask((HELLO, core, 0), *(read(core, name) for name in names), scratch))
        assert got == [0x57010400, 0x57454952, 62500000]
    for port, count in enumerate(counts):
        for _ in range(count):
            bench.send(port, bench.rng.randbytes(100))
    assert await host.ask(*(read(core, "SCRATCH") for core in range(2))) == [0x7E7D0000, 0x7E7D0001]
    await bench.drained(counts[1], counts[0])
    for core, count in enumerate(counts):
        assert len(bench.received(1 - core)) == count
        snapshot = write(core, "SNAPSHOT", 1), read(core, "RX_PACKETS_LO"), read(core, "TX_PACKETS_LO")
        assert await bench.between_frames(host.ask(*snapshot)) == [count, count]


@cocotb.test()
async def what_a_host_configures_holds_for_one_direction(dut: Any) -> None:
    """Core 0 lets frames of 500 bytes pass, core 1 any."""
    host = Host(dut)
    bench = await Bench.make(dut, "configure")
    await bench.between_frames(host.ask(write(0, "MAX_FRAME", 500), write(0, "CORE_APPLY", 1)))
    frames = [[bench.rng.randbytes(n) for n in (60, 500, 501, 1500, 300)] for _ in range(2)]
    for port in range(2):
        for data in frames[port]:
            bench.send(port, data)
    await bench.drained(5, 3)
    assert bench.received(0) == [(data, False) for data in frames[1]]
    assert bench.received(1) == [(data, False) for data in frames[0] if len(data) <= 500]


@cocotb.test(skip=BOARD != "colorlight-5a-75b")
async def bytes_are_no_button_and_the_button_no_bytes(dut: Any) -> None:
    """Requests full of zeros leave the bypass alone; a button that is pressed, between two or in the midst of one, costs no more than that one."""
    host = Host(dut)
    bench = await Bench.make(dut, "button")
    rested = cocotb.start_soon(longest_rest(dut))

    async def press(bypass: bool) -> None:
        """Through all that the debouncing takes, but for the rest that is cut short."""
        await bench.bypass(bypass)
        await Timer(20 * BIT_PS, "ps")

    async def scene() -> None:
        zeros = write(1, "SCRATCH", 0)
        assert await host.ask(zeros, read(1, "SCRATCH")) == [0]
        # a zero is low for nine bits
        longest = await rested
        assert 9 * BIT_PS // 16000 - 8 < longest < 9 * BIT_PS // 16000 + 8, longest
        assert int(dut.switch_bypass.value) == 0
        await press(True)
        assert await host.ask(read(0, "MAGIC")) == [0x57454952]
        for bit in (0, 0, 1, 1):  # the begin of a flag, then the button
            host.rxd.value = bit
            await Timer(BIT_PS, "ps")
        await press(False)
        assert await host.ask(read(0, "MAGIC"), read(1, "SCRATCH")) == [0x57454952, 0]

    await bench.between_frames(scene())


async def longest_rest(dut: Any) -> int:
    """How long the button seemed to be pressed, in cycles, at most: in the time of 40 bytes."""
    longest = 0
    for _ in range(40 * 10 * 4):
        await Timer(BIT_PS // 4, "ps")
        longest = max(longest, int(dut.switch_rest.value))
    return longest

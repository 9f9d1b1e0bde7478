"""What surrounds `UartBridge` in its benches: a host that bangs bits, cores behind AXI4-Lite, the model of the page.

Both ends of the line keep their own time; nothing here runs once a cycle unless it has to.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.simtime import get_sim_time
from cocotb.triggers import Event, FallingEdge, First, RisingEdge, Timer

from axis import seeded
from golden.register_protocol import OK, SILENT, SLVERR, Server, frame

PERIOD_PS = 16000
#: cycles a bit, by the unit's parameters
FAST = os.environ.get("UART_FAST", "1") == "1"
BIT_PS = 128000 if FAST else 1000000
CORES, LONGEST, PATIENCE = (2, 256, 256) if FAST else (1, 1024, 65536)

#: where registers count the reads of such registers, refuse, answer too late, are ordinary again
POP, REFUSE, SLOW, AGAIN = 0x7000, 0x8000, 0xE000, 0xF000


@dataclass
class Registers:
    """The registers of all cores: what an access does, and a log of them."""

    log: list[tuple[int, int, int | None]] = field(default_factory=list)
    words: dict[tuple[int, int], int] = field(default_factory=dict)
    pops: int = 0

    def access(self, core: int, address: int, value: int | None) -> tuple[int, int]:
        """Status and value; registers that were not written have values of all sizes."""
        self.log.append((core, address, value))
        if REFUSE <= address < AGAIN:
            return (SILENT if address >= SLOW else SLVERR), 0
        if value is not None:
            self.words[core, address] = value
            return OK, 0
        if POP <= address < REFUSE:
            self.pops += 1
            return OK, self.pops
        size = (address >> 2) % 5
        return OK, self.words.get((core, address), (address * 2654435761 + core) % 256**size)

    def writes(self) -> list[tuple[int, int, int]]:
        return [(core, address, value) for core, address, value in self.log if value is not None]


class Core:
    """An AXI4-Lite slave with stalls, which watches the rules of a master."""

    def __init__(self, bench: Bench, number: int) -> None:
        self.bench, self.number = bench, number
        self.dut, self.rng = bench.dut, bench.rng
        #: at most so many cycles before and after a handshake
        self.stall = 0
        #: holds the response back until it is set
        self.gate: Event | None = None
        for name in ("awready", "wready", "bvalid", "arready", "rvalid", "bresp", "rresp", "rdata"):
            self.pin(name).value = 0
        self.tasks = [cocotb.start_soon(self._reads()), cocotb.start_soon(self._writes())]

    def pin(self, name: str) -> Any:
        return getattr(self.dut, f"axi_{self.number}_{name}")

    def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        for name in ("awready", "wready", "bvalid", "arready", "rvalid"):
            self.pin(name).value = 0

    async def _wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)

    def _some(self) -> int:
        return self.rng.randrange(self.stall + 1)

    async def _take(self, channel: str, payload: str) -> int:
        """The payload of a request channel; it has to stand still until it is taken."""
        valid = self.pin(f"{channel}valid")
        while not int(valid.value):
            await RisingEdge(valid)
        first = int(self.pin(payload).value)
        for _ in range(self._some()):
            await RisingEdge(self.dut.clk)
            assert int(valid.value) and int(self.pin(payload).value) == first, f"{channel} does not stand still"
        self.pin(f"{channel}ready").value = 1
        await RisingEdge(self.dut.clk)
        assert int(valid.value) and int(self.pin(payload).value) == first, f"{channel} does not stand still"
        self.pin(f"{channel}ready").value = 0
        await Timer(1, "ps")
        assert not int(valid.value), f"a second {channel} before the response"
        return first

    async def _respond(self, channel: str, status: int) -> None:
        await self._wait(self._some() if status != SILENT else PATIENCE + 20)
        if self.gate is not None:
            await self.gate.wait()
        self.pin(f"{channel}resp").value = 0 if status == OK else 2 + self.rng.randrange(2)
        self.pin(f"{channel}valid").value = 1
        await RisingEdge(self.dut.clk)
        while not int(self.pin(f"{channel}ready").value):
            await RisingEdge(self.dut.clk)
        self.pin(f"{channel}valid").value = 0

    async def _reads(self) -> None:
        while True:
            address = await self._take("ar", "araddr")
            assert not int(self.pin("awvalid").value) and not int(self.pin("wvalid").value)
            status, value = self.bench.registers.access(self.number, address, None)
            self.pin("rdata").value = value if status == OK else self.rng.getrandbits(32)
            await self._respond("r", status)

    async def _writes(self) -> None:
        while True:
            address_task = cocotb.start_soon(self._take("aw", "awaddr"))
            self.tasks.append(address_task)
            value = await self._take("w", "wdata")
            assert int(self.pin("wstrb").value) == 0xF
            address = await address_task
            self.tasks.remove(address_task)
            status, _ = self.bench.registers.access(self.number, address, value)
            await self._respond("b", status)


class Bench:
    """A running bridge, its cores, and a model with registers of its own."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.rng = dut, seeded(name)
        self.registers, self.expected = Registers(), Registers()
        self.model = Server(self.expected.access, CORES, LONGEST)
        self.bit_ps = BIT_PS
        #: bytes from the bridge with the time of their start bits, and of those without a stop bit
        self.heard: list[tuple[int, int]] = []
        self.came = Event()
        self.number = self.rng.randrange(256)

    @classmethod
    async def start(cls, dut: Any, name: str, stall: int = 0) -> Bench:
        bench = cls(dut, name)
        dut.uart_rxd.value = 1
        dut.rst.value = 1
        Clock(dut.clk, PERIOD_PS, "ps").start()
        await Timer(5 * PERIOD_PS, "ps")
        bench.cores = [Core(bench, n) for n in range(CORES)]
        for core in bench.cores:
            core.stall = stall
        assert int(dut.uart_txd.value) == 1
        dut.rst.value = 0
        cocotb.start_soon(bench._listen())
        await Timer(10 * PERIOD_PS, "ps")
        return bench

    async def reset(self, cycles: int) -> None:
        """Resets bridge and cores; their registers stay."""
        stall = self.cores[0].stall
        self.dut.rst.value = 1
        for core in self.cores:
            core.stop()
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)
        await Timer(1, "ps")
        self.dut.rst.value = 0
        self.cores = [Core(self, n) for n in range(CORES)]
        for core in self.cores:
            core.stall = stall

    async def _listen(self) -> None:
        """Bytes by the middles of their bits, as a host at the nominal speed hears them."""
        txd = self.dut.uart_txd
        while True:
            await FallingEdge(txd)
            begin = int(get_sim_time("ps"))
            await Timer(BIT_PS // 2, "ps")
            byte = int(txd.value)
            if byte:
                continue  # cut by a reset
            for n in range(8):
                await Timer(BIT_PS, "ps")
                byte |= int(txd.value) << n
            await Timer(BIT_PS, "ps")
            if int(txd.value):
                self.heard.append((begin, byte))
                self.came.set()

    async def say(self, data: Iterable[int], gap_bits: float = 0, stop: int = 1) -> None:
        """Bytes on the line; `stop` 0 makes bytes without a stop bit, followed by a bit of rest."""
        rxd = self.dut.uart_rxd
        for byte in data:
            bits = [0, *(byte >> n & 1 for n in range(8)), stop]
            start = 0
            for n in range(1, 11):
                if n == 10 or bits[n] != bits[start]:
                    rxd.value = bits[start]
                    await Timer((n - start) * self.bit_ps, "ps")
                    start = n
            rxd.value = 1
            rest = gap_bits + (0 if stop else 1)
            if rest:
                await Timer(int(rest * self.bit_ps), "ps")

    async def frame(self, wait_bits: int = 4000) -> bytes | None:
        """The next frame with its flags, or None if the line is silent for so long."""
        got = bytearray()
        while True:
            while self.heard:
                got.append(self.heard.pop(0)[1])
                if got[-1] == 0x7E and len(got) > 1:
                    return bytes(got)
            self.came.clear()
            late = Timer(wait_bits * BIT_PS, "ps")
            if await First(self.came.wait(), late) is late:
                assert not got, f"half a frame: {got.hex()}"
                return None

    async def exchange(self, body: bytes, kind: int = 0x51, number: int | None = None) -> bytes:
        """A request and its answer's payload, which have to be the model's; so do the accesses."""
        if number is None:
            self.number = number = (self.number + 1) & 0xFF
        request = frame(bytes([kind, number]) + body)
        (expected,) = self.model.hear(request)
        await self.say(request)
        answer = await self.frame()
        assert answer is not None, f"no answer to {request.hex()}"
        assert answer == expected, f"{request.hex()}: {answer.hex()} instead of {expected.hex()}"
        assert self.registers.log == self.expected.log, request.hex()
        return answer

    async def silent(self, wait_bits: int = 300) -> None:
        """Nothing comes from the bridge."""
        assert await self.frame(wait_bits) is None


def op(code: int, address: int, count: int = 1, *values: int, core: int = 0) -> bytes:
    """An operation; a write has its values."""
    data = b"".join(value.to_bytes(4, "little") for value in values)
    return bytes([code | core << 4, address & 0xFF, address >> 8, count]) + data


def write(address: int, *values: int, core: int = 0) -> bytes:
    return op(2, address, len(values), *values, core=core)


def random_body(rng: random.Random, longest: int = LONGEST, cores: int = CORES) -> bytes:
    """Operations that make a legal request, on registers of all kinds, no more than a line carries in a moment."""
    body = b""
    words = 0
    for _ in range(rng.randrange(1, 7)):
        code = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 3, 4])
        count = 1 if code in (0, 4) else rng.choice([1, 1, 2, 3, 4, 5, 8, 9, 17])
        address = rng.choice(
            [rng.randrange(0, 0x1000, 4)] * 6
            + [POP, REFUSE - 16, SLOW - 4, AGAIN - 4, 0xFFF0, 0xFFFC, rng.randrange(0x10000)]
        )
        values = [rng.choice([rng.getrandbits(32), 0x7E7D7E7D, 0]) for _ in range(count)] if code == 2 else []
        piece = op(code, address, count, *values, core=rng.randrange(cores))
        if len(body) + len(piece) + 6 <= longest:
            body += piece
            words += count
    return body or op(1, 0)

"""Si5324Setup against a model of an I2C device: what is written, at which times, and what happens when nobody answers."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from axis import seeded

CLOCK_NS = 250
START_CYCLES, SETTLE_CYCLES = 400, 300
#: the standard mode of the I2C specification (UM10204, table 10), ns
LOW, HIGH, START_HOLD, STOP_SETUP, FREE, DATA_SETUP = 4700, 4000, 4000, 4000, 4700, 250


class Device:
    """Watches the bus, acknowledges, and keeps the messages. `refuse`: bytes from the first on that it does not acknowledge."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut, self.rng = dut, rng
        self.messages: list[list[int]] = []
        self.current: list[int] | None = None
        self.refuse: set[int] = set()
        self.stretch = 0.0
        self.bytes = 0
        self.started: list[float] = []

    async def run(self) -> None:
        dut = self.dut
        pull_scl = pull_sda = False
        before = (True, True)
        bits: list[int] = []
        now = scl_at = sda_at = stop_at = start_at = -1e9
        held = 0
        acknowledging = 0
        while True:
            scl = not int(dut.scl_low.value) and not pull_scl
            sda = not int(dut.sda_low.value) and not pull_sda
            dut.scl.value, dut.sda.value = int(scl), int(sda)
            if (scl, sda) != before:
                was_scl, was_sda = before
                if scl and was_scl:
                    if was_sda:
                        assert now - stop_at >= FREE and now - scl_at >= START_HOLD, "start"
                        self.current, bits, start_at, acknowledging = [], [], now, 0
                        self.started.append(now)
                    else:
                        assert now - scl_at >= STOP_SETUP, "stop"
                        # the clock pulse of the stop itself looks like a bit
                        assert bits == [0], "a stop inside a byte"
                        assert self.current is not None
                        self.messages.append(self.current)
                        self.current, stop_at = None, now
                if scl and not was_scl:
                    assert now - scl_at >= LOW and now - sda_at >= DATA_SETUP, "SCL rises"
                    if self.current is not None and acknowledging != 1:
                        bits.append(int(sda))
                    scl_at = now
                if was_scl and not scl:
                    assert now - scl_at >= HIGH, "SCL falls"
                    assert start_at != now
                    scl_at = now
                    if acknowledging == 1:
                        acknowledging, pull_sda = 0, False
                    elif len(bits) == 8 and self.current is not None:
                        self.current.append(sum(bit << 7 - n for n, bit in enumerate(bits)))
                        bits = []
                        pull_sda = self.bytes not in self.refuse
                        acknowledging = 1
                        self.bytes += 1
                    if self.rng.random() < self.stretch:
                        pull_scl, held = True, self.rng.randrange(10, 200)
                if sda != was_sda:
                    sda_at = now
                before = (scl, sda)
            if pull_scl:
                held -= 1
                pull_scl = held > 0
            await RisingEdge(dut.clk)
            now += CLOCK_NS if now >= 0 else CLOCK_NS - now


async def make(dut: Any, name: str) -> Device:
    device = Device(dut, seeded(f"si5324 {name}"))
    Clock(dut.clk, CLOCK_NS, "ns").start()
    dut.rst.value, dut.scl.value, dut.sda.value = 1, 1, 1
    for _ in range(5):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    cocotb.start_soon(device.run())
    return device


async def done(dut: Any, most: int = 60000) -> int:
    for cycle in range(most):
        if int(dut.done.value):
            return cycle
        await RisingEdge(dut.clk)
    raise AssertionError(f"not done after {most} cycles")


def frequency(registers: dict[int, int]) -> float:
    """What the Si5324 makes of its crystal (Silicon Labs, Si53xx reference manual, register descriptions)."""

    def number(first: int) -> int:
        return (registers[first] & 0xF) << 16 | registers[first + 1] << 8 | registers[first + 2]

    n1 = ((registers[25] >> 5) + 4) * (number(31) + 1)
    n2 = ((registers[40] >> 5) + 4) * (number(40) + 1)
    n3 = ((registers[43] & 7) << 16 | registers[44] << 8 | registers[45]) + 1
    vco = 114.285e6 / n3 * n2
    assert 114.285e6 / n3 >= 2e3 and 4.85e9 <= vco <= 5.67e9
    return vco / n1


def registers_of(messages: list[list[int]]) -> dict[int, int]:
    """The first message turns the multiplexer; the others are of the Si5324."""
    assert messages[0] == [0x74 << 1, 1 << 4]
    registers: dict[int, int] = {}
    for address, first, *values in messages[1:]:
        assert address == 0x68 << 1
        registers.update({first + n: value for n, value in enumerate(values)})
    return registers


@cocotb.test()
@cocotb.parametrize(stretch=[0.0, 0.2])
async def the_device_is_told_to_make_156_25_mhz(dut: Any, stretch: float) -> None:
    device = await make(dut, f"plain {stretch}")
    device.stretch = stretch
    took = await done(dut)
    registers = registers_of(device.messages)
    assert frequency(registers) == 156.25e6
    # free run from the crystal, the first output on, the second off, no input powered down; the last write calibrates
    assert registers[0] & 0x40 and not registers[0] & 0x02
    assert registers[10] & 0x0C == 0x08 and registers[11] & 0x03 == 0
    assert [registers[n] for n in (43, 44, 45)] == [registers[n] for n in (46, 47, 48)]
    assert device.messages[-1] == [0x68 << 1, 136, 0x40]
    assert device.started[0] >= START_CYCLES * CLOCK_NS
    assert int(dut.refused.value) == 0
    # nothing comes behind
    n = len(device.messages)
    for _ in range(3 * START_CYCLES):
        await RisingEdge(dut.clk)
    assert len(device.messages) == n and int(dut.done.value)
    assert took >= START_CYCLES + SETTLE_CYCLES


@cocotb.test()
async def a_device_that_does_not_acknowledge_is_told_again(dut: Any) -> None:
    """Whichever byte it is: the message ends, all begins from the first one after the same wait, and it is counted."""
    device = await make(dut, "refused")
    total = 2 + sum(2 + n for n in (5, 2, 1, 3, 3, 6, 1))
    device.refuse = {0, 4, 9 + 12, 30 + total // 2}
    await done(dut, 200000)
    assert int(dut.refused.value) == 4
    whole = device.messages[-8:]
    assert frequency(registers_of(whole)) == 156.25e6
    assert sum(map(len, whole)) == total
    assert device.messages[0] == [0x74 << 1], "the message ends at the byte that was refused"
    restarts = [n for n, message in enumerate(device.messages) if message[0] == 0x74 << 1]
    assert len(restarts) == 5
    for n in restarts[1:]:
        assert device.started[n] - device.started[n - 1] >= START_CYCLES * CLOCK_NS


@cocotb.test()
async def nobody_on_the_bus_ends_nothing(dut: Any) -> None:
    """It asks again and again, is never done, and its count stops at 255."""
    device = await make(dut, "nobody")
    device.refuse = set(range(10000))
    for _ in range(400 * (START_CYCLES + 600)):
        await RisingEdge(dut.clk)
        if int(dut.refused.value) == 255 and len(device.messages) > 260:
            break
    assert int(dut.refused.value) == 255 and len(device.messages) > 260
    assert not int(dut.done.value)
    assert all(message == [0x74 << 1] for message in device.messages)

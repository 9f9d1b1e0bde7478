"""The top for NetFPGA-SUME: XGMII models in the place of the PCS/PMAs, a model of the PCI Express block with a root complex in its place.

A frame goes from one port of a pair to the other through a core that nobody has configured: Drop-Tail.
"""

from __future__ import annotations

import json
import logging
import random
import zlib
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, First, ReadOnly, RisingEdge, Timer, ValueChange, with_timeout
from cocotbext.axi import AxiStreamBus
from cocotbext.eth import XgmiiFrame, XgmiiSink, XgmiiSource
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.xilinx.us import UltraScalePcieDevice

from axis import seeded
from harness import RTL

LINE_PS, MANAGEMENT_PS = 6400, 8000
PORTS = 4
PREAMBLE = bytes([0x55] * 7 + [0xD5])
START, TERMINATE = 0xFB, 0xFD
LONGEST = 9216
CORE = {r["name"]: r["offset"] for r in json.loads((RTL / "weir_regs.json").read_text())["blocks"][0]["registers"]}
BOARD = 0x40000
ID, NUMBER, CONTROL, STATUS, SNAPSHOT, CLOCK, COUNTERS, STRIDE = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x14, 0x100, 0x40
NOBODY = 0xFFFFFFFF


def fcs(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "little")


class Bench:
    """`between[n]`: gaps in bytes, with the terminate character, at the output of port n."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut, self.rng = dut, rng
        self.between: list[list[int]] = [[] for _ in range(PORTS)]

    @classmethod
    async def make(cls, dut: Any, name: str, hosted: bool = False) -> Bench:
        bench = cls(dut, seeded(f"sume {name}"))
        dut.btn.value, dut.pcie_reset_n.value = 0, 1
        for n in range(PORTS):
            getattr(dut, f"sfp{n}_mod_detect").value = 0
            getattr(dut, f"sfp{n}_los").value = 0
            getattr(dut, f"sfp{n}_tx_fault").value = 0
        generator, first = dut.oscillator_generator, dut.lane_0
        # the resets begin at once, which needs an edge where a bit has two values only
        for level in (1, 0):
            generator.lock.value = level
            await Timer(1, "ps")
        for n in range(PORTS):
            getattr(dut, f"lane_{n}").lock.value = 0
        Clock(generator.clock, MANAGEMENT_PS, "ps").start()
        lanes = [getattr(dut, f"lane_{n}") for n in range(PORTS)]
        for lane in lanes:
            logging.getLogger(f"cocotb.{dut._name}.{lane._name}").setLevel(logging.WARNING)
        bench.sources = [XgmiiSource(lane.rxd, lane.rxc, first.clock) for lane in lanes]
        bench.sinks = [XgmiiSink(lane.txd, lane.txc, first.clock) for lane in lanes]
        for model in (*bench.sources, *bench.sinks):
            model.log.setLevel(logging.WARNING)
        for buffer in (dut.iobuf_1, dut.iobuf_2):
            buffer.other.value = 1
        await Timer(20 * MANAGEMENT_PS, "ps")
        generator.lock.value = 1
        cocotb.start_soon(bench._device())
        await with_timeout(FallingEdge(first.reset), 30, "ms")
        bench.clock = Clock(first.clock, LINE_PS, "ps")
        bench.clock.start()
        await Timer(20 * LINE_PS, "ps")
        for lane in lanes:
            lane.lock.value = 1
        await Timer(40 * LINE_PS, "ps")
        for sink in bench.sinks:
            sink.clear()
        for n in range(PORTS):
            cocotb.start_soon(bench._watch(n))
        if hosted:
            await bench._host()
        return bench

    async def _device(self) -> None:
        """Acknowledges each byte on I2C; `si5324_cocotb` looks at what they say. Its first byte is refused."""
        scl, sda = self.dut.iobuf_1, self.dut.iobuf_2
        refuse, edges, was = True, 0, (1, 1)
        while True:
            await First(ValueChange(scl.T), ValueChange(sda.T))
            await ReadOnly()
            now, change = (int(scl.T.value), int(sda.T.value)), None
            if was[0] and now[0] and was[1] and not now[1]:
                edges = 0
            if was[0] and not now[0]:
                edges += 1
                # the falling edge that ends a start counts too
                if edges % 9 == 0:
                    change, refuse = int(refuse), False
                elif edges % 9 == 1:
                    change = 1
            was = now
            if change is not None:
                await Timer(100, "ns")
                sda.other.value = change

    async def _host(self) -> None:
        block = self.dut.pcie_block
        self.rc = RootComplex()
        self.rc.log.setLevel(logging.WARNING)
        self.device = UltraScalePcieDevice(
            pcie_generation=1, pcie_link_width=8, user_clk_frequency=250e6, user_clk=block.clock, user_reset=block.reset,
            cq_bus=AxiStreamBus.from_prefix(block, "cq"), cc_bus=AxiStreamBus.from_prefix(block, "cc"),
        )  # fmt: skip
        for log in (self.device.log, self.device.cq_source.log, self.device.cc_sink.log):
            log.setLevel(logging.WARNING)
        self.device.functions[0].configure_bar(0, 1 << 19)
        self.rc.make_port().connect(self.device)
        await Timer(200, "ns")
        await self.rc.enumerate()
        device = self.rc.find_device(self.device.functions[0].pcie_id)
        await device.enable_device()
        self.bar = device.bar_window[0]

    async def read(self, address: int) -> int:
        return int(await self.bar.read_dword(address))

    async def write(self, address: int, value: int) -> None:
        await self.bar.write_dword(address, value)

    async def _watch(self, n: int) -> None:
        lane, clock = getattr(self.dut, f"lane_{n}"), self.dut.lane_0.clock
        gap, first, inside = 0, True, False
        while True:
            await RisingEdge(clock)
            control = int(lane.txc.value)
            if control == 0 and inside:
                continue
            data = int(lane.txd.value)
            for k in range(8):
                byte, special = data >> 8 * k & 0xFF, control >> k & 1
                if special and byte == START:
                    if not first:
                        self.between[n].append(gap)
                    first, inside = False, True
                elif special and byte == TERMINATE:
                    inside, gap = False, 1
                elif special and not inside:
                    gap += 1

    def send(self, port: int, payload: bytes, wrong: int = 0) -> None:
        """A frame into a port; `wrong` is xored with its FCS."""
        check = bytes(b ^ wrong for b in fcs(payload))
        self.sources[port].send_nowait(XgmiiFrame(PREAMBLE + payload + check))

    async def drained(self, counts: list[int]) -> None:
        """Until the sources are empty and so many frames have left each port; if they do not, as long as four of the longest take."""
        for source in self.sources:
            await source.wait()
        for _ in range(4 * LONGEST // 8 // 50):
            if [sink.count() for sink in self.sinks] == counts:
                break
            await Timer(50 * LINE_PS, "ps")
        await Timer(200 * LINE_PS, "ps")

    def received(self, port: int) -> list[tuple[bytes, bool]]:
        """Frames that left a port, and whether they were ended with an error."""
        frames = []
        while not self.sinks[port].empty():
            frame = self.sinks[port].recv_nowait(compact=False)
            data = bytes(frame.data)
            broken = bool(frame.ctrl and frame.ctrl[-1])
            assert data[:8] == PREAMBLE
            assert broken or data[-4:] == fcs(data[8:-4]), "FCS"
            frames.append((data[8:-1] if broken else data[8:-4], broken))
        return frames


def across(port: int) -> int:
    return port ^ 1


@cocotb.test()
async def forwards_on_all_ports_without_a_host(dut: Any) -> None:
    """Frames of every remainder of 8 and the longest, from all ports at once, unchanged and in order, within their pair."""
    bench = await Bench.make(dut, "all ports")
    assert [int(getattr(dut, f"sfp{n}_tx_disable").value) for n in range(PORTS)] == [0] * PORTS
    frames = []
    for port in range(PORTS):
        lengths = [*range(60, 77), 1514, LONGEST, *(bench.rng.randrange(60, 1515) for _ in range(10)), 60]
        frames.append([bench.rng.randbytes(n) for n in lengths])
        for frame in frames[port]:
            bench.send(port, frame)
    await bench.drained([len(frames[across(n)]) for n in range(PORTS)])
    for port in range(PORTS):
        assert bench.received(across(port)) == [(frame, False) for frame in frames[port]], f"from port {port}"


@cocotb.test()
async def minimum_frames_pass_at_line_rate_on_all_ports(dut: Any) -> None:
    """64 bytes and gaps of 12, 14.88 million a second from each port; out with the same gaps on average."""
    bench = await Bench.make(dut, "line rate")
    frames = [[bench.rng.randbytes(60) for _ in range(400)] for _ in range(PORTS)]
    for port in range(PORTS):
        for frame in frames[port]:
            bench.send(port, frame)
    await bench.drained([400] * PORTS)
    for port in range(PORTS):
        assert bench.received(across(port)) == [(frame, False) for frame in frames[port]], f"from port {port}"
        # the deficit idle count moves a start by up to 3 bytes
        assert set(bench.between[across(port)]) <= set(range(9, 16))
        assert abs(sum(bench.between[across(port)]) / 399 - 12) < 0.1


@cocotb.test()
async def bad_frames_stop_in_a_core_and_pass_the_bypass_as_bad(dut: Any) -> None:
    """The button switches both pairs, the register each by itself; a switch between frames loses nothing."""
    bench = await Bench.make(dut, "bypass", hosted=True)

    async def press() -> None:
        # the rest that the button has to have is cut short
        for level in (2, 0):
            dut.btn.value = level
            await Timer(6 * LINE_PS, "ps")
            dut.path_switch_rest.value = (1 << 20) - 6
            await Timer(20 * LINE_PS, "ps")

    for step, bypass in ((None, 0), ("press", 3), (1, 1), (2, 2), ("press", 0), ("press", 3), ("press", 0)):
        if step == "press":
            await press()
        elif step is not None:
            await bench.write(BOARD + CONTROL, int(step))
        assert await bench.read(BOARD + CONTROL) == bypass
        assert int(dut.led.value) >> 1 & 1 == (bypass != 0)
        expected: list[list[tuple[bytes, bool]]] = [[] for _ in range(PORTS)]
        for port in range(PORTS):
            for n in range(9):
                frame, bad = bench.rng.randbytes(bench.rng.choice([60, 61, 300])), n % 3 == 1
                bench.send(port, frame, wrong=0xFF if bad else 0)
                if bypass >> port // 2 & 1 or not bad:
                    expected[port].append((frame, bad))
        await bench.drained([len(expected[across(n)]) for n in range(PORTS)])
        for port in range(PORTS):
            assert bench.received(across(port)) == expected[port], f"{step}, from port {port}"


@cocotb.test()
async def a_host_reaches_the_four_cores_and_the_board(dut: Any) -> None:
    """Who they are, a register of each, what each has received from its own port, and its time."""
    bench = await Bench.make(dut, "registers", hosted=True)
    for core in range(PORTS):
        base = core << 16
        assert await bench.read(base + CORE["MAGIC"]) == 0x57454952
        assert await bench.read(base + CORE["CLOCK_HZ"]) == 156250000
        await bench.write(base + CORE["SCRATCH"], 0xABCD0000 + core)
    assert await bench.read(BOARD + ID) == int.from_bytes(b"WSUM", "big")
    assert await bench.read(BOARD + NUMBER) == PORTS
    assert await bench.read(BOARD + CLOCK) == 1, "the clock's device has refused its first byte"
    counts = (7, 4, 2, 9)
    for port, count in enumerate(counts):
        for _ in range(count):
            bench.send(port, bench.rng.randbytes(100))
        bench.send(port, bytes(60), wrong=1)
    await bench.drained([counts[across(n)] for n in range(PORTS)])
    await bench.write(BOARD + SNAPSHOT, 1)
    while await bench.read(BOARD + SNAPSHOT) & 1:
        pass
    for port, count in enumerate(counts):
        base = port << 16
        assert await bench.read(base + CORE["SCRATCH"]) == 0xABCD0000 + port
        await bench.write(base + CORE["SNAPSHOT"], 1)
        assert await bench.read(base + CORE["RX_PACKETS_LO"]) == count + 1
        assert await bench.read(base + CORE["TX_PACKETS_LO"]) == count
        words = [await bench.read(BOARD + COUNTERS + port * STRIDE + 4 * k) for k in range(13)]
        # good, bad FCS, error, runt, oversize, lost, bytes; sent, aborted, underruns, bytes
        assert words == [
            count,
            1,
            0,
            0,
            0,
            0,
            104 * count,
            0,
            counts[across(port)],
            0,
            0,
            104 * counts[across(port)],
            0,
        ]
    for address in (BOARD + 0x18, BOARD + COUNTERS + 13 * 4, BOARD + 0x7FFC, 0x50000, 0x7FFFC):
        assert await bench.read(address) == NOBODY, f"{address:#x}"
        await bench.write(address, 0)
    await bench.write(BOARD + ID, 0)
    assert await bench.read(BOARD + ID) == int.from_bytes(b"WSUM", "big")


@cocotb.test()
async def time_passes_as_on_the_wall(dut: Any) -> None:
    """156.25 MHz is 6.4 ns a cycle: not a nanosecond is lost."""
    await Bench.make(dut, "time")
    core, clock, total = dut.bump_0, dut.lane_0.clock, 0
    await RisingEdge(clock)
    begin = int(core.clock_now.value)
    for cycles in (1, 2, 3, 5, 8, 1000, 1001):
        for _ in range(cycles):
            await RisingEdge(clock)
        total += cycles
        assert abs(int(core.clock_now.value) - begin - 6.4 * total) < 1


@cocotb.test()
async def what_a_host_configures_holds_for_one_port(dut: Any) -> None:
    """Core 2 lets frames of 500 bytes pass, the others any."""
    bench = await Bench.make(dut, "configure", hosted=True)
    await bench.write(0x20000 + CORE["MAX_FRAME"], 500)
    await bench.write(0x20000 + CORE["CORE_APPLY"], 1)
    assert await bench.read(0x20000 + CORE["MAX_FRAME"]) == 500
    frames = [[bench.rng.randbytes(n) for n in (60, 500, 501, 1500, 300)] for _ in range(PORTS)]
    for port in range(PORTS):
        for data in frames[port]:
            bench.send(port, data)
    await bench.drained([5, 5, 5, 3])
    for port in range(PORTS):
        assert bench.received(across(port)) == [(d, False) for d in frames[port] if port != 2 or len(d) <= 500]


@cocotb.test()
async def a_port_whose_link_is_down_holds_nothing(dut: Any) -> None:
    """What is to leave there is dropped and counted; the other ports go on, and so does this one when it is up again."""
    bench = await Bench.make(dut, "link", hosted=True)
    dut.lane_1.lock.value = 0
    dut.sfp3_mod_detect.value, dut.sfp3_los.value, dut.sfp2_tx_fault.value = 1, 1, 1
    await Timer(40 * LINE_PS, "ps")
    # port 0: locked, present, signal; 1: not locked; 2: failed; 3: no module, no signal, and so not locked
    assert await bench.read(BOARD + STATUS) == 0x0F67
    assert [int(getattr(dut, f"sfp{n}_led").value) & 1 for n in range(PORTS)] == [1, 0, 1, 0]
    frames = [[bench.rng.randbytes(200) for _ in range(6)] for _ in range(PORTS)]
    for port in range(PORTS):
        for data in frames[port]:
            bench.send(port, data)
    await bench.drained([6, 0, 6, 0])
    assert [len(bench.received(port)) for port in range(PORTS)] == [6, 0, 6, 0]
    dut.lane_1.lock.value = 1
    await Timer(40 * LINE_PS, "ps")
    bench.send(0, frames[0][0])
    await bench.drained([0, 1, 0, 0])
    assert bench.received(1) == [(frames[0][0], False)]
    assert int(dut.sfp0_led.value) == 3 and int(dut.sfp1_led.value) == 3


@cocotb.test()
async def a_host_is_answered_while_the_ports_have_no_clock(dut: Any) -> None:
    """All ones; and when the clock is there, what the registers say."""
    bench = await Bench.make(dut, "no clock", hosted=True)
    await bench.write(CORE["SCRATCH"], 77)
    bench.clock.stop()
    assert await bench.read(CORE["MAGIC"]) == NOBODY
    assert await bench.read(BOARD + ID) == NOBODY
    bench.clock.start()
    await Timer(60 * LINE_PS, "ps")
    assert await bench.read(CORE["MAGIC"]) == 0x57454952
    assert await bench.read(CORE["SCRATCH"]) == 77


@cocotb.test()
async def an_empty_first_cage_concerns_its_neighbour_only(dut: Any) -> None:
    """The vendor's `resetdone` of the lane that makes the clocks falls with its signal; nothing else does."""
    bench = await Bench.make(dut, "cage 0", hosted=True)
    await bench.write(CORE["SCRATCH"], 99)
    dut.sfp0_mod_detect.value, dut.sfp0_los.value = 1, 1
    await Timer(60 * LINE_PS, "ps")
    assert await bench.read(CORE["SCRATCH"]) == 99
    assert await bench.read(BOARD + STATUS) == 0x7770
    frames = [bench.rng.randbytes(200) for _ in range(PORTS)]
    for port in (0, 1, 2, 3):
        bench.send(port, frames[port])
    await bench.drained([0, 1, 1, 1])
    assert [bench.received(port) for port in range(PORTS)] == [[], *([(frames[n], False)] for n in (0, 3, 2))]


@cocotb.test()
async def the_reset_button_begins_all_anew(dut: Any) -> None:
    """The clock's chip is told again, configuration is gone, and frames pass again; the light blinks fast meanwhile."""
    bench = await Bench.make(dut, "button 0", hosted=True)
    await bench.write(CORE["SCRATCH"], 5)
    dut.start_heart.value = 1 << 23
    await Timer(3 * MANAGEMENT_PS, "ps")
    assert int(dut.led.value) & 1 == 0, "once a second"
    dut.btn.value = 1
    await Timer(10 * MANAGEMENT_PS, "ps")
    assert int(dut.lane_0.reset.value) == 1 and int(dut.sfp_clk_reset.value) == int(dut.i2c_mux_reset.value) == 1
    dut.btn.value = 0
    await Timer(10 * MANAGEMENT_PS, "ps")
    dut.start_heart.value = 1 << 23 | 1 << 17
    await Timer(3 * MANAGEMENT_PS, "ps")
    assert int(dut.led.value) & 1 == 1, "eight times as fast"
    assert int(dut.sfp_clk_reset.value) == int(dut.i2c_mux_reset.value) == 0
    # without a reference the transceivers make no clock
    bench.clock.stop()
    assert await bench.read(BOARD + ID) == NOBODY
    await with_timeout(FallingEdge(dut.lane_0.reset), 30, "ms")
    bench.clock.start()
    await Timer(60 * LINE_PS, "ps")
    assert await bench.read(CORE["SCRATCH"]) != 5
    for model in (*bench.sources, *bench.sinks):
        model.clear()
    frame = bench.rng.randbytes(300)
    bench.send(2, frame)
    await bench.drained([0, 0, 0, 1])
    assert bench.received(3) == [(frame, False)]

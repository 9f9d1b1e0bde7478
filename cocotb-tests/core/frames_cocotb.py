"""What goes in comes out: lengths, rates, stalls, classification, marks on the wire."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource
from scapy.layers.inet import IP
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether

import traffic
from core_bench import CORE, Bench, ip_frame, random_stall
from golden import frame as wire


def batches(frames: list[bytes], size: int) -> list[list[bytes]]:
    """Frames in batches of at most `size` bytes of cells."""
    result: list[list[bytes]] = [[]]
    used = 0
    for data in frames:
        cells = -(-len(data) // 64) * 64
        if used + cells > size and result[-1]:
            result.append([])
            used = 0
        result[-1].append(data)
        used += cells
    return result


@cocotb.test()
@cocotb.parametrize((("gap", "stall"), [(0.0, 0.0), (0.3, 0.5), (0.0, 0.8)]))
async def passes_frames_of_every_length(dut: Any, gap: float, stall: float) -> None:
    """14 to 300 bytes and random ones to 9216, byte for byte and in order, source gaps × sink stalls."""
    bench = await Bench(dut, f"lengths {gap} {stall}").start()
    rng = bench.rng
    lengths = list(range(14, 301)) + [9216, 9215, 9153, 1518] + [rng.randrange(301, 9217) for _ in range(4)]
    rng.shuffle(lengths)
    if stall:
        bench.stall = random_stall(rng, stall)
    if gap:
        bench.pause = lambda _: rng.random() < gap
    for batch in batches([rng.randbytes(n) for n in lengths], 60 * (bench.cells - 16)):
        for data in batch:
            bench.send(data)
        await bench.drain()
    report = await bench.check()
    assert report.departures == len(lengths) and report.ingress_overflow == 0


@cocotb.test()
@cocotb.parametrize(queues=[1, 0], length=[60, 65])
async def forwards_minimum_frames_back_to_back_with_a_standing_queue(dut: Any, queues: int, length: int) -> None:
    """10GbE spacing in and out together, more than half the buffer held, after random sizes shuffled the free list."""
    bench = await Bench(dut, f"line {queues} {length}").start()
    rng = bench.rng
    queues = queues or bench.queues
    await bench.map_dscp([d % queues for d in range(64)])
    for batch in batches([rng.randbytes(rng.randrange(14, 600)) for _ in range(150)], 32 * bench.cells):
        bench.stall = random_stall(rng, 0.5)
        for data in batch:
            bench.send(data)
        await bench.drain()
    bench.stall = lambda _: False
    await bench.shape("10Gbit", 1538)
    held = bench.cells * 3 // 4
    start = len(bench.jobs)
    bench.stall = lambda _: True
    count = held // (1 if length <= 64 else 2)
    bench.line([ip_frame(rng, length, dscp=rng.randrange(64)) for _ in range(count + 1500)])
    while len(bench.jobs) > start + 1500:
        await bench.cycles(50)
    bench.stall = lambda _: False
    lowest = bench.cells
    while bench.jobs:
        await bench.cycles(100)
        lowest = min(lowest, bench.cells - 1 - await bench.read(CORE["FREE_CELLS"]))
    assert lowest >= bench.cells // 2 - 2, f"only {lowest} cells were held"
    report = await bench.check()
    assert report.ingress_overflow == 0 and report.outcomes["dropped overflow"] == 0
    assert report.departures == 150 + count + 1500


@cocotb.test()
@cocotb.parametrize(length=[60, 64])
async def forwards_minimum_frames_without_any_gap(dut: Any, length: int) -> None:
    """Eight cycles a frame, in and out."""
    bench = await Bench(dut, f"no gap {length}").start()
    for _ in range(1200):
        bench.send(ip_frame(bench.rng, length))
    report = await bench.check()
    assert report.departures == 1200
    outs = [r.last for r in bench.received]
    assert outs[-1] - outs[200] <= 8 * (len(outs) - 201) + 8, "not at line rate"


@cocotb.test()
async def takes_overload_at_line_rate(dut: Any) -> None:
    """2:1 into a shaped egress: random sizes, no frame is lost but by a limit or for want of cells."""
    bench = await Bench(dut, "overload").start()
    rng = bench.rng
    await bench.map_dscp([d % bench.queues for d in range(64)])
    for q in range(bench.queues):
        await bench.configure(q, "drop-tail", limit_bytes=5000)
    await bench.shape("5Gbit", 3000)
    bench.line([ip_frame(rng, rng.choice((60, 65, 64, 590, 1514)), dscp=rng.randrange(64)) for _ in range(500)])
    report = await bench.check()
    assert report.ingress_overflow == 0
    assert report.outcomes["dropped overflow"] > 100


@cocotb.test()
async def classifies_every_kind_of_frame(dut: Any) -> None:
    """DSCP, tags, IPv6, options, fragments, truncated and damaged headers, other protocols (scapy's)."""
    bench = await Bench(dut, "classify").start()
    rng = bench.rng
    for _ in range(4):
        await bench.drain()
        await bench.map_dscp([rng.randrange(16) for _ in range(64)])
        await bench.core_write(DEFAULT_QUEUE=rng.choice((0, 1, 1, 3)))
        for _ in range(120):
            bench.send(traffic.frame(rng), gap=rng.choice((0, 3, 10)))
    report = await bench.check()
    assert report.arrivals > 400 and {r.queue for r, _ in report.decisions} == set(range(bench.queues))


@cocotb.test()
@cocotb.parametrize(fixed=[0, None])
async def marks_on_the_wire(dut: Any, fixed: int | None) -> None:
    """All frames selected: ECT(0) and ECT(1) become CE, wrong checksums stay equally wrong, tags and IPv6 too."""
    bench = await Bench(dut, f"mark {fixed}").start()
    rng = bench.rng
    for q in range(bench.queues):
        await bench.configure(q, "red", limit=12000, min=200, max=3000, probability=0.9, weight=0.5, ecn=True)
    if fixed is not None:
        await bench.core_write(LFSR_FIXED=1 << 31 | fixed)
    bench.stall = random_stall(rng, 0.7)
    marked: set[tuple[int, int, int]] = set()
    for _ in range(8):
        for _ in range(40):
            bench.send(traffic.frame(rng), gap=rng.choice((0, 3)))
        await bench.drain()
    report = await bench.check()
    for r in bench.sent:
        if r.meta is not None:
            marked.add((r.meta.ip_version, r.meta.ip_offset, r.meta.ecn))
    assert report.outcomes["marked early"] + report.outcomes["marked forced"] > 20
    assert len(marked) > 15


@cocotb.test()
async def keeps_wrong_checksums_equally_wrong(dut: Any) -> None:
    """Every IPv4 header summed in full on both sides, with any checksum at all."""
    bench = await Bench(dut, "checksum").start()
    rng = bench.rng
    await bench.configure(0, "red", limit=12000, min=1, max=2, weight=1, ecn=True, probability=1)
    bench.stall = lambda c: c % 2 == 0
    for n in range(120):
        tags = rng.choice((b"", b"\x81\x00\x00\x05", b"\x88\xa8\x00\x07\x81\x00\x00\x05"))
        packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        if len(tags) == 4:
            packet /= Dot1Q(vlan=5)
        elif tags:
            packet /= Dot1AD(vlan=7) / Dot1Q(vlan=5)
        packet /= IP(src="10.0.0.1", dst="10.0.0.2", tos=rng.choice((1, 2)), chksum=rng.choice((0, 1, 2, 3, 0xFFFF, n)))
        bench.send(bytes(packet) + rng.randbytes(40))
    report = await bench.check()
    changed = 0
    for r, s in zip(bench.received, [s for s in bench.sent if s.meta], strict=False):
        if bytes(r.data) != s.data and s.meta is not None:
            changed += 1
    assert changed > 20 and report.departures == len(bench.received)
    assert report.departures == 120  # in == out, so frames can be paired one to one
    for r, s in zip(bench.received, bench.sent, strict=True):
        assert s.meta is not None
        after = wire.classify(bytes(r.data), 0, bench.dscp)
        assert wire.header_sum(s.data, s.meta) == wire.header_sum(bytes(r.data), after)


@cocotb.test()
async def works_with_the_streams_and_the_bus_of_cocotbext_axi(dut: Any) -> None:
    """An independent source, sink and AXI4-Lite master, with pauses."""
    dut.now_ns.value, dut.link_up.value = 0, 1
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.clk, dut.rst)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.clk, dut.rst)
    master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "csr"), dut.clk, dut.rst)
    for log in (source.log, sink.log, master.write_if.log, master.read_if.log):
        log.setLevel("WARNING")
    bench = Bench(dut, "cocotbext")
    rng = bench.rng
    dut.rst.value = 1
    Clock(dut.clk, 10, "ns").start()
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 20)
    assert await master.read_dword(0) == 0x57454952

    def pauses() -> Any:
        while True:
            yield rng.random() < 0.4

    source.set_pause_generator(pauses())
    sink.set_pause_generator(pauses())
    frames = [rng.randbytes(rng.randrange(14, 200)) for _ in range(60)]
    for data in frames:
        await source.send(AxiStreamFrame(data, tuser=0))
    for data in frames:
        got = await with_timeout(sink.recv(), 200, "us")
        assert bytes(got.tdata) == data
    await master.write_dword(0x02C, 1)
    assert await master.read_dword(0x200) == await master.read_dword(0x210) == 60

"""AXI4-Lite under stalls, and what writes start: snapshot, seed, trace; `busy`."""

from __future__ import annotations

import cocotb
from cocotb.triggers import RisingEdge

from csr_bench import OKAY, QUEUE_BASE, QUEUE_STRIDE, SLVERR, Bench, at

SCRATCH, MAGIC = 0x030, 0x57454952


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_stalled_write_response_does_not_hold_up_reads(dut):
    bench = await Bench.start(dut)
    bench.set_stalls(0)
    bench.channels["b"].pause = True
    await bench.cycles(2)
    for value in (1, 2):
        await bench.send("aw", awaddr=SCRATCH)
        await bench.send("w", wdata=value, wstrb=0xF)
    for _ in range(5):
        assert await bench.read(at("MAGIC")) == MAGIC
    bench.channels["b"].pause = False
    for _ in range(2):
        assert int((await bench.response("b")).bresp) == OKAY
    assert await bench.read(SCRATCH) == 2
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_stalled_read_response_does_not_hold_up_writes(dut):
    bench = await Bench.start(dut)
    bench.set_stalls(0)
    bench.channels["r"].pause = True
    await bench.cycles(2)
    await bench.send("ar", araddr=at("MAGIC"))
    await bench.cycles(20)
    await bench.send("ar", araddr=SCRATCH)
    for value in range(5):
        await bench.write(SCRATCH, value)
    bench.channels["r"].pause = False
    assert int((await bench.response("r")).rdata) == MAGIC
    assert int((await bench.response("r")).rdata) == 4
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def reads_and_writes_take_turns_when_both_wait(dut):
    bench = await Bench.start(dut)
    bench.set_stalls(0)
    order = []

    async def note() -> None:
        while True:
            await RisingEdge(dut.clk)
            for channel in "br":
                if int(getattr(dut, f"csr_{channel}valid").value) and int(getattr(dut, f"csr_{channel}ready").value):
                    order.append(channel)

    cocotb.start_soon(note())

    async def writes() -> None:
        for n in range(20):
            await bench.send("aw", awaddr=SCRATCH)
            await bench.send("w", wdata=n, wstrb=0xF)

    async def reads() -> None:
        for _ in range(20):
            await bench.send("ar", araddr=SCRATCH)

    senders = [cocotb.start_soon(writes()), cocotb.start_soon(reads())]
    for _ in range(20):
        await bench.response("b")
        await bench.response("r")
    for sender in senders:
        await sender
    middle = "".join(order[4:-4])
    assert "bb" not in middle and "rr" not in middle, middle
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def write_data_may_come_long_before_or_after_its_address(dut):
    bench = await Bench.start(dut)
    for n in range(20):
        first, second = (("aw", {"awaddr": SCRATCH}), ("w", {"wdata": n, "wstrb": 0xF}))[:: 1 if n % 2 else -1]
        await bench.send(first[0], **first[1])
        await bench.cycles(n)
        await bench.send(second[0], **second[1])
        assert int((await bench.response("b")).bresp) == OKAY
        assert await bench.read(SCRATCH) == n
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def random_accesses_are_answered_in_order_with_the_right_response(dut):
    bench = await Bench.start(dut)
    rng = bench.rng
    registers = dict(bench.build.all_registers())
    plain = [a for a, r in registers.items() if r.access == "rw" and r.name not in ("POLICY", "LFSR_SEED_HI")]
    words = {a: bench.build.reset(registers[a]) for a in plain}
    end = QUEUE_BASE + QUEUE_STRIDE * bench.build.queues
    for _ in range(1500):
        address = rng.choice(plain) if rng.random() < 0.7 else rng.randrange(end + 64)
        good = address in words
        if rng.random() < 0.5:
            if not good and address in registers and registers[address].access != "r":
                continue
            strobe = 0xF if rng.random() < 0.8 else rng.randrange(15)
            value = rng.getrandbits(32)
            resp = await bench.raw_write(address, value, strobe)
            assert resp == (OKAY if good and strobe == 0xF else SLVERR), hex(address)
            if resp == OKAY:
                words[address] = value & registers[address].mask
        else:
            data, resp = await bench.raw_read(address)
            assert resp == (OKAY if address in registers else SLVERR), hex(address)
            if good:
                assert data == words[address], hex(address)
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def cocotbext_axi_reads_and_writes_blocks_of_registers(dut):
    bench = await Bench.start(dut)
    data = bytes(bench.rng.randrange(256) for _ in range(32))
    written = await bench.master.write(at("DSCP_MAP0"), data)
    read = await bench.master.read(at("DSCP_MAP0"), 32)
    assert (written.resp, read.resp, bytes(read.data)) == (OKAY, OKAY, data)
    part = await bench.master.write(at("DSCP_MAP0") + 1, b"\xaa")
    assert part.resp == SLVERR
    assert bytes((await bench.master.read(at("DSCP_MAP0"), 32)).data) == data
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def snapshot_waits_while_one_is_being_taken(dut):
    bench = await Bench.start(dut)
    await bench.write(at("SNAPSHOT"), 0)
    assert bench.pulses["snapshot"] == 0
    await bench.write(at("SNAPSHOT"), 1)
    assert bench.pulses["snapshot"] == 1
    dut.snapshotBusy.value = 1
    late = cocotb.start_soon(bench.raw_write(at("SNAPSHOT"), 1))
    await bench.cycles(300)
    assert not late.done() and bench.pulses["snapshot"] == 1
    dut.snapshotBusy.value = 0
    assert await late == OKAY
    assert bench.pulses["snapshot"] == 2
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_high_word_loads_the_seed(dut):
    bench = await Bench.start(dut)
    seeds = []

    async def note() -> None:
        while True:
            await RisingEdge(dut.clk)
            if int(dut.seed_valid.value):
                seeds.append(int(dut.seed_payload.value))

    cocotb.start_soon(note())
    for n in range(1, 4):
        seed = bench.rng.getrandbits(64)
        await bench.write(at("LFSR_SEED_LO"), seed & 0xFFFFFFFF)
        assert len(seeds) == n - 1
        await bench.write(at("LFSR_SEED_HI"), seed >> 32)
        await bench.settle()
        assert seeds[n - 1 :] == [seed]
        assert await bench.read(at("LFSR_SEED_LO")) | await bench.read(at("LFSR_SEED_HI")) << 32 == seed
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def trace_pop_is_refused_when_there_is_no_record(dut):
    bench = await Bench.start(dut)
    if not bench.build.trace_depth:
        assert await bench.raw_write(at("TRACE_POP"), 1) == SLVERR
        assert await bench.raw_write(at("TRACE_POP"), 0) == SLVERR
        return
    dut.traceLevel.value = 1
    await bench.write(at("TRACE_POP"), 0)
    assert bench.pulses["tracePop"] == 0
    await bench.write(at("TRACE_POP"), 1)
    assert bench.pulses["tracePop"] == 1
    dut.traceLevel.value = 0
    assert await bench.raw_write(at("TRACE_POP"), 1) == SLVERR
    assert await bench.raw_write(at("TRACE_POP"), 0) == OKAY
    dut.traceLevel.value = bench.build.trace_depth
    assert await bench.read(at("TRACE_LEVEL")) == bench.build.trace_depth
    await bench.write(at("TRACE_POP"), 1)
    assert bench.pulses["tracePop"] == 2
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def busy_covers_accesses_and_pending_applies(dut):
    bench = await Bench.start(dut)
    bench.set_stalls(0)
    await bench.settle()
    bench.channels["r"].pause = True
    await bench.send("ar", araddr=SCRATCH)
    await bench.cycles(4)
    for _ in range(30):
        assert int(dut.busy.value)
        await bench.cycles(1)
    bench.channels["r"].pause = False
    await bench.response("r")
    await bench.settle()
    dut.applyReady.value = 0
    await bench.write(at("APPLY", 0), 1)
    for _ in range(30):
        await bench.cycles(1)
        assert int(dut.busy.value)
    dut.applyReady.value = 1
    await bench.settle()
    for _ in range(30):
        await bench.cycles(1)
        assert not int(dut.busy.value)
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def an_access_takes_the_documented_number_of_cycles(dut):
    bench = await Bench.start(dut)
    bench.set_stalls(0)
    cycles = {}

    def handshake(channel: str) -> bool:
        return all(int(getattr(dut, f"csr_{channel}{part}").value) for part in ("valid", "ready"))

    async def measure(response: str, *requests: str) -> None:
        start = n = 0
        while True:
            await RisingEdge(dut.clk)
            n += 1
            if any(handshake(channel) for channel in requests):
                start = n
            if handshake(response):
                cycles[response] = n - start

    cocotb.start_soon(measure("r", "ar"))
    cocotb.start_soon(measure("b", "aw", "w"))
    for _ in range(5):
        await bench.settle()
        await bench.write(SCRATCH, 1)
        await bench.read(SCRATCH)
        assert cycles == {"b": 7, "r": 7}
    bench.finish()

"""Every register of docs/architecture.md, one by one: reset value, access, width, and the holes between them."""

from __future__ import annotations

import cocotb

from csr_bench import OKAY, QUEUE_BASE, QUEUE_STRIDE, SLVERR, Bench, at, counter_value


def queue_of(address: int) -> int | None:
    return None if address < QUEUE_BASE else (address - QUEUE_BASE) // QUEUE_STRIDE


async def check_all(bench: Bench, written: dict[int, int] | None = None) -> None:
    """Reads everything that has no side effect: what was written, else the reset value or the live value."""
    for address, r in bench.build.all_registers():
        got = await bench.read(address)
        if r.access == "rw":
            want = (written or {}).get(address, bench.build.reset(r))
        elif r.access == "w":
            want = 0
        elif r.counter:
            want = counter_value(address)
        else:
            want = bench.shown(r.name, queue_of(address))
        assert got == want, f"{r.name} at {address:#06x} reads {got:#x}, not {want:#x}"


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def every_register_reads_as_documented_after_reset(dut):
    bench = await Bench.start(dut)
    await check_all(bench)
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def an_access_at_once_after_reset_finds_the_reset_values(dut):
    bench = await Bench.start(dut)
    stored = [(address, r) for address, r in bench.build.all_registers() if r.access == "rw" and r.name != "POLICY"]
    last = max(address for address, _ in stored if address < QUEUE_BASE)
    for n in range(12):
        address, r = next(s for s in stored if s[0] == last) if n % 2 else bench.rng.choice(stored)
        await bench.write(address, ~bench.build.reset(r) & r.mask)
        dut.rst.value = 1
        await bench.cycles(3)
        dut.rst.value = 0
        await bench.cycles(bench.rng.choice((1, 5, 40, 150)))
        got = await bench.read(address)
        assert got == bench.build.reset(r), f"{r.name} reads {got:#x}"
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def live_values_are_shown_as_they_are_and_peaks_as_of_the_snapshot(dut):
    bench = await Bench.start(dut)
    for snapshot in (False, True, False, True):
        bench.randomize_live()
        if snapshot:
            await bench.write(at("SNAPSHOT"), 1)
        for address, r in bench.build.all_registers():
            if r.access == "r" and not r.counter:
                assert await bench.read(address) == bench.shown(r.name, queue_of(address)), r.name
    for bit, name in ((1, "resetting"), (2, "quiet"), (3, "snapshotBusy")):
        getattr(dut, name).value = 1
        assert await bench.read(at("STATUS")) == 1 << bit | bench.live["statusLinkUp"], name
        getattr(dut, name).value = 0
    for address, r in bench.build.all_registers():
        if r.name in ("PEAK_BYTES", "PEAK_PACKETS", "FREE_CELLS_MIN"):
            assert await bench.read(address) == bench.shown(r.name, queue_of(address)), f"{r.name} after a reset"
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def writable_registers_keep_their_bits_and_no_others(dut):
    bench = await Bench.start(dut)
    written: dict[int, int] = {}
    for round_ in range(2):
        for address, r in bench.build.all_registers():
            if r.access != "rw":
                continue
            value = 0xFFFFFFFF if round_ == 0 else bench.rng.getrandbits(32)
            if r.name == "POLICY":
                value = value & ~0xF | bench.rng.choice(sorted(bench.build.policies))
            await bench.write(address, value)
            written[address] = value & r.mask
        await check_all(bench, written)
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def writes_to_read_only_registers_answer_slverr_and_change_nothing(dut):
    bench = await Bench.start(dut)
    for address, r in bench.build.all_registers():
        if r.access == "r":
            assert await bench.raw_write(address, bench.rng.getrandbits(32)) == SLVERR, r.name
    assert not bench.counter_reads
    assert not any(bench.pulses.values()), bench.pulses
    await check_all(bench)
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def every_unmapped_word_answers_slverr_and_changes_nothing(dut):
    bench = await Bench.start(dut)
    mapped = {address for address, _ in bench.build.all_registers()}
    end = QUEUE_BASE + QUEUE_STRIDE * bench.build.queues
    holes = [a for a in range(0, QUEUE_BASE + QUEUE_STRIDE, 4) if a not in mapped]
    others = [a for a in range(QUEUE_BASE + QUEUE_STRIDE, end, 4) if a not in mapped]
    holes += bench.rng.sample(others, min(60, len(others)))
    holes += [end, end + 0xFC, end + QUEUE_STRIDE - 4, 0x4000, 0x8000, 0x9000, 0xFFFC]
    holes += [bench.rng.randrange(end, 1 << 16, 4) for _ in range(60)]
    bench.set_stalls(0)
    for address in holes:
        assert await bench.raw_write(address, 0xFFFFFFFF) == SLVERR, f"write {address:#06x}"
        data, resp = await bench.raw_read(address)
        assert (data, resp) == (0, SLVERR), f"read {address:#06x}"
    assert not bench.counter_reads
    assert not any(bench.pulses.values()), bench.pulses
    bench.set_stalls(bench.stall)
    await check_all(bench)
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def misaligned_accesses_answer_slverr_and_change_nothing(dut):
    bench = await Bench.start(dut)
    for name in ("SCRATCH", "MAX_FRAME", "CTRL", "SNAPSHOT"):
        for low in (1, 2, 3):
            assert await bench.raw_write(at(name) + low, 0x55555555) == SLVERR
            assert await bench.raw_read(at(name) + low) == (0, SLVERR)
    assert not any(bench.pulses.values()), bench.pulses
    await check_all(bench)
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def partial_strobes_answer_slverr_and_change_nothing(dut):
    bench = await Bench.start(dut)
    for strobe in range(15):
        assert await bench.raw_write(at("SCRATCH"), 0xFFFFFFFF, strobe) == SLVERR
        assert await bench.raw_write(at("CTRL"), 1, strobe) == SLVERR
    assert not any(bench.pulses.values()), bench.pulses
    assert await bench.read(at("SCRATCH")) == 0
    await bench.write(at("SCRATCH"), 0x12345678)
    assert await bench.read(at("SCRATCH")) == 0x12345678
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_policy_that_is_not_built_is_refused(dut):
    bench = await Bench.start(dut)
    q = bench.build.queues - 1
    await bench.write(at("POLICY", q), 0x10100)
    for policy in sorted(set(range(16)) - bench.build.policies):
        assert await bench.raw_write(at("POLICY", q), 0x00200 | policy) == SLVERR, policy
        assert await bench.read(at("POLICY", q)) == 0x10100
    for policy in sorted(bench.build.policies):
        await bench.write(at("POLICY", q), 0x00200 | policy)
        assert await bench.read(at("POLICY", q)) == 0x00200 | policy
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def now_high_belongs_to_the_last_now_low(dut):
    bench = await Bench.start(dut)
    dut.now.value = 0x1234_FFFF_FFFF
    assert await bench.read(at("NOW_LO")) == 0xFFFFFFFF
    dut.now.value = 0x1235_0000_0000
    assert await bench.raw_write(at("NOW_LO"), 0) == SLVERR
    assert await bench.read(at("SCRATCH")) == 0
    assert await bench.read(at("NOW_HI")) == 0x1234
    assert await bench.read(at("NOW_LO")) == 0
    assert await bench.read(at("NOW_HI")) == 0x1235
    bench.finish()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def counters_come_from_the_counter_unit_with_its_errors(dut):
    bench = await Bench.start(dut)
    names = [r.name for r in bench.build.core_registers() if r.counter]
    addresses = [at(bench.rng.choice(names)) for _ in range(10)] + [at("SOJOURN31_HI", 0), at("OUT_BYTES_HI", 0)]
    for epoch, address in enumerate(addresses):
        bench.epoch = epoch
        assert await bench.read(address) == counter_value(address, epoch)
    assert bench.counter_reads == addresses
    bench.counter_error = True
    assert await bench.raw_read(addresses[0]) == (0, SLVERR)
    bench.counter_error = False
    assert (await bench.raw_read(addresses[0]))[1] == OKAY
    bench.finish()

"""The shaper against exact GCRA, cycle by cycle, with the lag that docs/modules/shaper.md states."""

from __future__ import annotations

import os
import random
from fractions import Fraction

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from golden.shaper import Gcra, cost_of

SEED = int(os.environ.get("WEIR_SEED", "1"), 0)
TIME = 1 << 48
LAG = 4
# with the ordinary step before or after it, still less than 2^48 ns in two cycles
MOST = TIME - (1 << 40)


class Bench:
    """Keeps an unwrapped time, drives it modulo 2^48, and compares `allowed` and `wake` in every cycle."""

    def __init__(self, dut, salt: object) -> None:
        self.dut = dut
        self.random = random.Random(f"{SEED}/{salt}")
        self.time = self.random.randrange(TIME)
        self.times: list[int] = []
        self.cycle = 0
        self.last_charge = -99
        self.checks = {True: 0, False: 0}
        self.quiet_until = 0

    async def start(self, cost: int, burst: int, overhead: int = 24, mpu: int = 60) -> None:
        dut = self.dut
        dut.rst.value = 1
        dut.io_charge_valid.value = 0
        dut.io_applied.value = 0
        self._configure(cost, burst, overhead, mpu)
        dut.io_now.value = self.time % TIME
        cocotb.start_soon(Clock(dut.clk, 6400, "ps").start())
        for _ in range(3):
            await FallingEdge(dut.clk)
        dut.rst.value = 0
        for _ in range(8):
            await self.step(6)

    def _configure(self, cost: int, burst: int, overhead: int, mpu: int) -> None:
        self.dut.io_cost.value = cost
        self.dut.io_burst.value = burst
        self.dut.io_overhead.value = overhead
        self.dut.io_mpu.value = mpu
        self.gcra = Gcra(cost, burst, overhead, mpu, self.time)
        self.quiet_until = self.cycle + 8

    async def step(self, passed: int, charge: int | None = None) -> None:
        """One cycle at the present time, with a charge if there is one; then the time goes on by `passed` ns."""
        dut = self.dut
        dut.io_now.value = self.time % TIME
        self.times.append(self.time)
        dut.io_charge_valid.value = charge is not None
        if charge is not None:
            dut.io_charge_payload.value = charge
            self.gcra.charge(self.time, charge)
            self.last_charge = self.cycle
        self.time += passed
        self.cycle += 1
        await FallingEdge(dut.clk)
        dut.io_applied.value = 0
        self.check()

    def check(self) -> None:
        """Outputs of the cycle that has begun; its inputs do not matter to them."""
        since = self.cycle - self.last_charge
        allowed = bool(int(self.dut.io_allowed.value))
        settled = bool(int(self.dut.io_settled.value))
        if self.cycle < self.quiet_until:
            return
        assert settled == (since > 5), f"settled {settled}, {since} cycles after a charge"
        if since < 5:
            assert allowed == (self.gcra.cost == 0), f"allowed {allowed}, {since} cycles after a charge"
            return
        at = self.times[self.cycle - (LAG if since > 5 else 5)]
        assert allowed == self.gcra.allowed(at), (
            f"allowed {allowed} at {at}, TAT {float(self.gcra.tat - at)} ns ahead, burst {self.gcra.burst_ns}"
        )
        self.checks[allowed] += 1
        if settled and not allowed:
            assert int(self.dut.io_wake.value) == self.gcra.wake() % TIME

    def allowed(self) -> bool:
        return bool(int(self.dut.io_allowed.value))

    async def apply(self, cost: int, burst: int, overhead: int, mpu: int) -> None:
        self._configure(cost, burst, overhead, mpu)
        self.dut.io_applied.value = 1
        await self.step(6)

    def passing(self) -> int:
        """ns of an ordinary cycle of 6.4 ns."""
        return (6, 6, 7, 6, 7)[self.cycle % 5]


async def greedy(bench: Bench, frames: int, lengths, skip: bool) -> tuple[Fraction, int]:
    """Sends as fast as allowed; ns that the frames are worth, and ns from the first grant to the one after the last."""
    worth = Fraction(0)
    start = None
    sent = 0
    while True:
        if bench.allowed():
            if start is None:
                start = bench.time
            if sent == frames:
                return worth, bench.time - start
            length = lengths()
            worth += bench.gcra.price(length)
            sent += 1
            await bench.step(bench.passing(), length)
            continue
        await bench.step(bench.passing())
        ahead = bench.gcra.wake() - bench.time
        if skip and ahead > 50 and int(bench.dut.io_settled.value):
            bench.time += ahead - bench.random.randrange(50)


def random_cost(r: random.Random) -> int:
    return r.choice((cost_of(10**10), cost_of(64000), cost_of(40 * 10**9), r.getrandbits(r.randrange(1, 37)), 1))


@cocotb.test()
async def agrees_with_exact_gcra_for_random_parameters_and_times(dut):
    bench = Bench(dut, "random")
    r = bench.random
    await bench.start(cost_of(10**9), 3000)
    for _ in range(120):
        scale = r.choice((0, 1 << r.randrange(33)))
        for _ in range(3):  # a charge under way would count after `applied`
            await bench.step(6)
        burst = r.randrange(scale + 1) if scale < 1 << 32 else (1 << 32) - 1
        overhead = r.choice((24, 0, -4, -32768, 32767, r.randrange(-2000, 2000)))
        await bench.apply(random_cost(r), burst, overhead, r.choice((60, 0, 1, 16383, r.randrange(16384))))
        big = 0
        for _ in range(200):
            price = max(1, int(bench.gcra.price(1000)))
            passed = r.choice((0, 6, 7, r.randrange(price + 1), r.randrange(price + 1) // 20))
            if bench.cycle - big > 8 and r.random() < 0.02:
                big, passed = bench.cycle, r.choice((MOST, TIME // 2, TIME // 2 + 1, r.randrange(MOST)))
            elif bench.cycle - big > 8 and r.random() < 0.1 and not bench.allowed():
                big, passed = bench.cycle, max(0, bench.gcra.wake() - bench.time - r.randrange(2))
            since = bench.cycle - bench.last_charge
            go = bench.allowed() and since >= 4 and bench.cycle > bench.quiet_until and r.random() < 0.5
            await bench.step(passed, r.choice((14, 60, 1514, 9216, 16383, r.randrange(16384))) if go else None)
    assert min(bench.checks.values()) > 2000, bench.checks


@cocotb.test()
@cocotb.parametrize(rate=[64_000, 1_000_000, 1_000_000_000, 10_000_000_000])
async def long_run_rate_is_within_1e_5(dut, rate):
    bench = Bench(dut, rate)
    r = bench.random
    per_byte = Fraction(8 * 10**9, rate)
    burst = int(2 * 9240 * per_byte)
    await bench.start(cost_of(rate), burst)
    await greedy(bench, 300, lambda: 9216, True)  # the burst is used up
    size = 0

    def lengths():
        nonlocal size
        length = r.choice((60, 1514, 9216))
        size += length + 24
        return length

    _, elapsed = await greedy(bench, 3000, lengths, True)
    error = abs(size * per_byte / elapsed - 1)
    dut._log.info("rate %d: relative error %.2e", rate, float(error))
    assert error < Fraction(1, 10**5), float(error)


@cocotb.test()
async def minimum_frames_at_line_rate_need_no_more_than_their_time(dut):
    """60 + 24 bytes in 67.2 ns: the grant loop of the bench is as fast as `allowed`."""
    bench = Bench(dut, "line")
    await bench.start(cost_of(10**10), 1000)
    worth, elapsed = await greedy(bench, 5000, lambda: 60, False)
    late = elapsed - (worth - 1000)  # the last grant is seen LAG to LAG + 1 cycles after TAT - burst
    assert 0 <= late <= 7 * (LAG + 1), float(late)


@cocotb.test()
async def no_burst_beyond_the_tolerance(dut):
    """After any idle time, frames worth at most burst + one frame go at one instant."""
    bench = Bench(dut, "burst")
    await bench.start(cost_of(10**8), 1_000_000, 0, 0)
    for idle in (0, 10**6, 10**12, TIME - 1):
        await bench.step(idle)
        bench.time = max(bench.time, int(bench.gcra.tat) + 1)
        for _ in range(8):
            await bench.step(0)
        sent = 0
        while bench.allowed():
            await bench.step(0, 1250)  # 100 us
            for _ in range(6):
                await bench.step(0)
            sent += 1
        assert sent == 11, sent
        bench.time += 10**7
        await bench.step(6)


@cocotb.test()
async def wakes_exactly_at_wake_and_not_a_nanosecond_before(dut):
    bench = Bench(dut, "wake")
    r = bench.random
    await bench.start(cost_of(10**9), 5000)
    tries = 0
    for _ in range(60):
        cost, burst = random_cost(r) or 1, r.randrange(1 << r.randrange(1, 20))
        await bench.apply(cost, burst, 24, 60)
        for _ in range(8):
            await bench.step(6)
        for _ in range(40):
            if not bench.allowed():
                break
            await bench.step(0, 9216)
            for _ in range(6):
                await bench.step(0)
        if bench.allowed():
            continue
        wake = bench.time + (int(dut.io_wake.value) - bench.time) % TIME
        tries += 1
        for at, expected in ((wake - 1, False), (wake, True)):
            bench.time = at
            for _ in range(8):
                await bench.step(0)
            assert bench.allowed() == expected
    assert tries > 30, tries


@cocotb.test()
async def time_wraps_at_2_to_the_48_unnoticed(dut):
    bench = Bench(dut, "wrap")
    bench.time = 5 * TIME - 40_000
    await bench.start(cost_of(10**9), 3000)
    _, elapsed = await greedy(bench, 50, lambda: 1514, False)
    assert bench.time > 5 * TIME and elapsed > 80_000


@cocotb.test()
async def negative_overhead_shortens_and_never_below_nothing(dut):
    bench = Bench(dut, "negative")
    await bench.start(cost_of(10**7), 0, -14, 0)
    await bench.step(6, 15)
    for _ in range(7):
        await bench.step(6)
    assert not bench.allowed() and bench.gcra.price(15) == 800
    bench.time += 10**6
    for _ in range(20):
        await bench.step(6, 14)
        for _ in range(5):
            await bench.step(6)
        assert bench.allowed()


#: mpu, overhead, length, and the bytes that are charged: 42 in 64 + 20 of Ethernet; tc's 84 is 60 + 24.
CHARGED = (
    (60, 24, 42, 84), (60, 24, 59, 84), (60, 24, 60, 84), (60, 24, 61, 85), (60, 24, 1514, 1538),
    (0, 24, 42, 66), (0, 24, 14, 38), (1, 24, 14, 38),
    (60, -14, 42, 46), (60, -60, 42, 0), (60, -61, 42, 0), (60, -61, 62, 1), (0, -14, 14, 0),
    (16383, 24, 14, 16407), (16383, 32767, 16382, 49150), (16383, -32768, 14, 0), (9216, 0, 9216, 9216),
)  # fmt: skip


@cocotb.test()
async def a_short_frame_is_charged_as_one_of_mpu_bytes(dut):
    """One frame with burst 0: the next may go after its bytes at 1 us each, and not a nanosecond before."""
    bench = Bench(dut, "mpu")
    await bench.start(1000 << 19, 0)
    for mpu, overhead, length, expected in CHARGED:
        await bench.apply(1000 << 19, 0, overhead, mpu)
        for _ in range(8):
            await bench.step(0)
        start = bench.time
        await bench.step(0, length)
        for at, allowed in ((start + 1000 * expected - 1, expected == 0), (start + 1000 * expected, True)):
            bench.time = max(at, start)
            for _ in range(8):
                await bench.step(0)
            assert bench.allowed() == allowed, (mpu, overhead, length, at - start)


@cocotb.test()
@cocotb.parametrize(mpu=[60, 0])
async def frames_of_42_bytes_fill_the_rate_and_no_more(dut, mpu):
    """1 Gb/s: 10^9 / (84 * 8) frames a second; without mpu 10^9 / (66 * 8), which is 84/66 = 1.27 of the line."""
    bench = Bench(dut, f"least {mpu}")
    await bench.start(cost_of(10**9), 1000, 24, mpu)
    await greedy(bench, 20, lambda: 42, False)  # the burst is used up
    _, elapsed = await greedy(bench, 3000, lambda: 42, False)
    expected = Fraction(10**9, (84 if mpu else 66) * 8)
    assert abs(3000 * Fraction(10**9, elapsed) / expected - 1) < Fraction(1, 10**4), (elapsed, expected)


@cocotb.test()
async def cost_0_is_always_allowed(dut):
    bench = Bench(dut, "off")
    await bench.start(0, 0, 32767)
    for cycle in range(400):
        await bench.step(6, 16383 if cycle % 4 == 0 else None)
        assert bench.allowed()


@cocotb.test()
async def new_parameters_never_lock_up(dut):
    """Whatever was charged before, a frame is allowed 5 cycles after `applied`."""
    bench = Bench(dut, "applied")
    r = bench.random
    await bench.start((1 << 36) - 1, (1 << 32) - 1, 32767)
    for turn in range(100):
        for _ in range(r.randrange(1, 30)):
            await bench.step(6, 16383 if bench.allowed() and bench.cycle - bench.last_charge >= 6 else None)
        for _ in range(r.randrange(6, 9)):
            await bench.step(0)
        await bench.apply(random_cost(r) or 5, 0 if turn % 2 else (1 << 32) - 1, r.choice((-20, 32767)), 60)
        for _ in range(4):
            await bench.step(0)
        assert bench.allowed(), f"turn {turn}"


@cocotb.test()
async def charges_beyond_what_is_allowed_saturate(dut):
    bench = Bench(dut, "saturate")
    await bench.start((1 << 36) - 1, (1 << 32) - 1, 32767)
    for _ in range(20):
        bench.quiet_until = bench.cycle + 99
        await bench.step(0, 16383)
        for _ in range(6):
            await bench.step(0)
        if _ > 1:
            assert not bench.allowed()
    await bench.step(1 << 34)
    for _ in range(6):
        await bench.step(0)
    assert bench.allowed()

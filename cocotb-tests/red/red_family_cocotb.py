"""Bench of the whole RED family: RED, ISRED and adaptive RED queues side by side in one unit.

Verdicts are compared as in red_policy_cocotb; each tick of adaptive RED with the golden model. It has to follow an arrival, an
interval or more after the tick before, and each such arrival has to be followed by one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import Timer

import red_policy_cocotb
from golden.ared import LEAST_NS, AredParams, MaxP
from golden.isred import AVERAGE, CERTAIN, GAIN, QUEUE, WITHOUT_WAIT, IsredParams, Rise
from golden.params import RedParams, scaled
from golden.red import BAND, Verdict
from policy_bench import (
    CYCLE_NS,
    QUEUES,
    SEED,
    STYLES,
    TIME,
    Request,
    Stimulus,
    Style,
    preload_params,
    scaled_word,
)
from red_policy_cocotb import LATENCY, RED

ISRED, ARED = 3, 5
ISRED_CTRL = 0x044
ARED_OFFSETS = {
    "interval": 0x050,
    "low": 0x054,
    "high": 0x058,
    "bottom": 0x05C,
    "top": 0x060,
    "increase": 0x064,
    "decrease": 0x068,
}
ARED_BAND, ARED_GENTLE = 0x06C, 0x074
#: cycles from the look at the average to the result; from an arrival's average to a tick that it brings about, by other queues' ticks
RESULT = 58
LATEST = (QUEUES + 1) * (RESULT + 6)


def isred_at_random(rng: Random, hostile: bool) -> IsredParams:
    """ISRED's registers: slopes around those that a random queue rises with, gains around 1."""
    if hostile:
        return IsredParams(rng.randrange(4), rng.randrange(2), *_any_scaled(rng), *_any_scaled(rng))
    return IsredParams(
        rng.choice([CERTAIN, WITHOUT_WAIT, GAIN, 3]),
        rng.randrange(2),
        rng.randrange(1 << 17, 1 << 18),
        rng.randrange(5, 45),
        rng.randrange(1 << 17, 1 << 18),
        rng.randrange(10, 21),
    )


def _any_scaled(rng: Random) -> tuple[int, int]:
    mantissa = rng.choice([0, 1, (1 << 18) - 1, rng.getrandbits(18), rng.getrandbits(rng.randrange(1, 18))])
    return mantissa, rng.choice([0, 63, rng.getrandbits(6)])


def ared_at_random(rng: Random, red: RedParams, hostile: bool) -> AredParams:
    """ARED's registers as a host would write them, or any."""
    if hostile:

        def word() -> int:
            return rng.choice([0, 1, 0xFFFFFFFF, rng.getrandbits(32), rng.getrandbits(rng.randrange(1, 32))])

        return AredParams(
            rng.choice([0, 1, LEAST_NS - 1, LEAST_NS, LEAST_NS + 1, rng.randrange(LEAST_NS, 80_000)]),
            *(word() for _ in range(6)),
            *_any_scaled(rng),
            *_any_scaled(rng),
        )
    band = max(red.maximum - red.minimum, 1)
    m, k = scaled((1 << 17) * (1 << 11) / _fraction(band))
    gm, gk = scaled((1 << 17) * (1 << 11) / _fraction(max(red.maximum, 1)))
    return AredParams(
        interval=rng.choice([0, 20_000, rng.randrange(LEAST_NS, 60_000)]),
        low=red.minimum + band * 4 // 10,
        high=red.minimum + band * 6 // 10,
        bottom=rng.choice([0, 42949673, rng.getrandbits(28)]),
        top=rng.choice([1 << 31, 0xFFFFFFFF, rng.getrandbits(32)]),
        increase=rng.choice([42949673, 0xFFFFFFFF, rng.getrandbits(30)]),
        decrease=rng.choice([3865470566, 1 << 31, 0xFFFFFFFF, 0]),
        band_mantissa=m,
        band_exponent=k,
        gentle_mantissa=gm,
        gentle_exponent=gk,
    )


def _fraction(value: int) -> Any:
    from fractions import Fraction

    return Fraction(value)


class Bench(red_policy_cocotb.Bench):
    """As the RED bench; `policies` says what each queue runs."""

    def __init__(self, dut: Any, seed: int) -> None:
        super().__init__(dut, seed)
        self.policies = [RED] * QUEUES
        self.isred = [IsredParams() for _ in range(QUEUES)]
        self.ared = [AredParams() for _ in range(QUEUES)]
        self.rises = [Rise() for _ in range(QUEUES)]
        self.max_p = [MaxP() for _ in range(QUEUES)]
        #: (first cycle in which it can be read, average), the last of each queue
        self.stored: list[deque[tuple[int, int]]] = [deque([(0, 0)], maxlen=32) for _ in range(QUEUES)]
        #: time that does not wrap, and the wrapping time of the last cycles
        self.elapsed = 0
        self.times: deque[int] = deque([0], maxlen=RESULT + 8)
        self.history: deque[int] = deque(maxlen=LATEST + 8)
        #: bounds of when the interval of each queue began; the later one is not known before an arrival has been looked at
        self.not_before = [0] * QUEUES
        self.no_later: list[int | None] = [None] * QUEUES
        #: cycles of averages whose arrivals have not been looked at for sure
        self.looks: list[deque[int]] = [deque() for _ in range(QUEUES)]
        self.copying = 1
        self.told: tuple[int, ...] | None = None
        self.renewing: set[int] = set()
        self.ticks: list[tuple[int, int, int]] = []

    # ---- hooks

    def policy(self, queue: int) -> int:
        return self.policies[queue]

    def words(self, queue: int) -> dict[int, int]:
        rng, i, a = self.rng, self.isred[queue], self.ared[queue]
        junk = rng.getrandbits(32)
        return {
            **super().words(queue),
            0: self.policies[queue] | junk & 0xFFFF_FFF0,
            ISRED_CTRL: i.mode | i.source << 2 | junk & 0xFFFF_FFF8,
            ISRED_CTRL + 4: scaled_word(i.slope_mantissa, i.slope_exponent) | junk & 0xC0FC_0000,
            ISRED_CTRL + 8: scaled_word(i.gain_mantissa, i.gain_exponent) | junk & 0xC0FC_0000,
            **{offset: getattr(a, name) for name, offset in ARED_OFFSETS.items()},
            ARED_BAND: scaled_word(a.band_mantissa, a.band_exponent) | junk & 0xC0FC_0000,
            0x070: junk,
            ARED_GENTLE: scaled_word(a.gentle_mantissa, a.gentle_exponent) | junk & 0xC0FC_0000,
            0x07C: junk,
        }

    def rise(self, request: Request, before: int, after: int) -> IsredParams | None:
        q = request.queue
        if self.policies[q] != ISRED:
            return None
        params = self.isred[q]
        rapid = self.rises[q].arrival(request.now_ns, request.quantity(self.units[q]), before, after, params)
        self.seen["rapid", rapid] += 1
        return params if rapid else None

    def live(self, queue: int) -> RedParams:
        adapted = self.policies[queue] == ARED
        return self.max_p[queue].live(self.params[queue]) if adapted else self.params[queue]

    def _cover(self, request: Request, want: Verdict) -> None:
        super()._cover(request, want)
        q = request.queue
        if self.policies[q] == ISRED and want.region == BAND:
            self.seen["isred", self.isred[q].mode, self.isred[q].source, want.selected] += 1
        if self.policies[q] == ARED and self.max_p[q].slopes is not None:
            self.seen["adapted", want.region] += 1

    # ---- adaptive RED

    def before_cycle(self, request: Request | None, clear: int) -> None:
        self.elapsed += (self.now - self.times[-1]) % TIME
        self.times.append(self.now)
        self.history.append(self.elapsed)
        renewing = self.renewing | {q for q in range(QUEUES) if clear >> q & 1}
        if self.told:
            dut = self.dut
            stands = (int(getattr(dut, f"tick_payload_words_{i}").value) for i in range(4))
            assert self.told == (int(dut.tick_payload_queue.value), *stands), (
                "what a tick tells stands for another cycle"
            )
            self.told = None
        if int(self.dut.tick_valid.value):
            self._tick(renewing)
        for q in renewing:
            self.max_p[q].renew()
            self.not_before[q], self.no_later[q] = self.elapsed, None
            self.looks[q].clear()
        for q in range(QUEUES):
            if clear >> q & 1:
                self.rises[q].clear()
                self.stored[q].append((self.n + 2, 0))
        if request is not None:
            known = self.place(request) + 4
            self.stored[request.queue].append((known, self.ewma[request.queue].average))
            if self.policies[request.queue] == ARED:
                self.looks[request.queue].append(known)
        for q in range(QUEUES):
            self._follow(q)

    def _follow(self, q: int) -> None:
        """What an arrival brings about has come by now: the begin of an interval, or a tick if an interval is over."""
        while self.looks[q] and self.n >= self.looks[q][0] + LATEST:
            cycle = self.looks[q].popleft()
            elapsed, begun = self.history[cycle - self.n - 1], self.no_later[q]
            if begun is None:
                self.no_later[q] = self.elapsed
            else:
                assert elapsed < begun + self.ared[q].interval_ns, f"cycle {cycle}: an arrival and no tick of queue {q}"

    def _tick(self, renewing: set[int]) -> None:
        dut = self.dut
        q = int(dut.tick_payload_queue.value)
        self.told = q, *(int(getattr(dut, f"tick_payload_words_{i}").value) for i in range(4))
        if q in renewing:
            return
        assert self.policies[q] == ARED, f"cycle {self.n}: a tick of queue {q}, policy {self.policies[q]}"
        assert int(dut.tick_payload_policy.value) == ARED
        looked = self.n - RESULT
        at = self.times[-1 - RESULT]
        assert int(dut.tick_payload_nowNs.value) == at
        average = next(a for cycle, a in reversed(self.stored[q]) if cycle <= looked)
        old = self.max_p[q].max_p(self.params[q])
        want = self.max_p[q].tick(average, self.params[q], self.ared[q])
        got = [int(getattr(dut, f"tick_payload_words_{i}").value) for i in range(4)]
        wanted = [want.max_p, average >> 11, scaled_word(*want.slope), scaled_word(*want.gentle_slope)]
        assert got == wanted, f"cycle {self.n}: tick of queue {q}: {got}, expected {wanted}; {old}; {self.ared[q]}"
        start = self.elapsed - (self.now - at) % TIME
        least = self.not_before[q] + self.ared[q].interval_ns
        assert start >= least, f"cycle {self.n}: queue {q} ticks at {start}, not {least}"
        look = looked - 3
        assert self.looks[q] and self.looks[q][0] <= look, f"cycle {self.n}: a tick of queue {q} without an arrival"
        self.seen["ticks"] += 1
        self.seen["rises" if want.max_p > old else "falls" if want.max_p < old else "stays"] += 1
        self.ticks.append((q, start, want.max_p))
        self.not_before[q] = self.no_later[q] = start
        self.looks[q] = deque(cycle for cycle in self.looks[q] if cycle > look)
        self.max_p[q].slopes = want

    async def renew(self, queues: set[int], clear: int = 0) -> None:
        """`applied`, with `clear` where the policy or unit has changed."""
        dut = self.dut
        void = int(dut.tick_valid.value) and int(dut.tick_payload_queue.value) in queues
        dut.applied.value = sum(1 << q for q in queues)
        dut.clear.value = clear
        self.renewing = queues
        if void:
            # the pulse comes in the cycle in which the tick would be written
            await Timer(500, "ps")
            assert not int(dut.tick_valid.value), f"cycle {self.n}: a tick of a queue that is being applied"
            self.seen["void ticks"] += 1
        await self.cycle(clear=clear)
        self.dut.applied.value = 0
        self.renewing = set()
        # the first request comes two cycles after
        await self.cycle()

    async def configure(self, queue: int, params: RedParams, unit: int) -> None:
        await self.apply(queue, params, unit, 0)

    async def apply(self, queue: int, params: RedParams, unit: int, clear: int) -> None:
        """A copy of the queue's words, and what ends it."""
        if not self.copying:
            self.dut.copying.value = 1
            await self.cycle()
        self.renewing = {queue}
        await super().configure(queue, params, unit)
        await self.renew({queue}, clear)
        self.dut.copying.value = self.copying

    def copy_now_and_then(self) -> None:
        """From now on `copying` is high while words are copied, no longer all the time."""
        self.copying = 0
        self.dut.copying.value = 0

    async def run_policy(
        self, queue: int, policy: int, params: RedParams, unit: int, isred: IsredParams, ared: AredParams
    ) -> None:
        """Apply another policy to a queue; nothing may be in flight."""
        changed = policy != self.policies[queue] or unit != self.units[queue]
        self.isred[queue], self.ared[queue], self.policies[queue] = isred, ared, policy
        await self.apply(queue, params, unit, 1 << queue if changed else 0)

    async def rest(self, cycles: int) -> None:
        """Cycles without a request."""
        for _ in range(cycles):
            await self.cycle()

    def jump(self, ns: int) -> None:
        """Time goes on by that much between two cycles."""
        self.now = (self.now + ns) % TIME

    # ---- phases

    async def family_phase(self, style: Style, requests: int, policies: tuple[int, ...]) -> None:
        """As `phase`, with a policy at random for each queue."""
        rng = self.rng
        stimulus = Stimulus(style, rng)
        if style.start_ns is not None:
            self.now = style.start_ns
            await self.renew(set(range(QUEUES)))
        for q in range(QUEUES):
            params = stimulus.params[q]
            await self.run_policy(
                q,
                rng.choice(policies),
                preload_params(params),
                stimulus.units[q],
                isred_at_random(rng, style.hostile),
                ared_at_random(rng, params, style.hostile),
            )
        for q in range(QUEUES):
            request = stimulus.request(q, self.now)
            await self.cycle(replace(request, packets=max(request.packets, 1)))
            await self.rest(4)
        await self.drain()
        for q in range(QUEUES):
            await self.configure(q, stimulus.params[q], stimulus.units[q])
        wait = 0
        while requests:
            request = None
            if rng.random() < style.jump:
                self.jump(int(2 ** (17 * rng.random())) if rng.random() < 0.95 else int(2 ** (38 * rng.random())))
            if wait <= 0:
                request = self._request(stimulus, style.queues)
            if request is not None:
                requests -= 1
                wait = rng.choice(style.gaps)
            wait -= 1
            # the first request comes two cycles after it
            clear = 1 << rng.choice(style.queues) if wait > 0 and rng.random() < 0.001 else 0
            await self.cycle(request, self._left(style, request), clear)
            if rng.random() < 0.002:
                # an apply of a queue without a decision in flight, whatever the others do
                await self.drain()
                q = rng.randrange(QUEUES)
                await self.configure(q, stimulus.params[q], stimulus.units[q])
        await self.drain()


ALL = (RED, ISRED, ARED)


async def _run(dut: Any, name: str, phases: int, requests: int, policies: tuple[int, ...] = ALL) -> Bench:
    style = STYLES[name]
    bench = Bench(dut, SEED * 1000 + 100 + sorted(STYLES).index(name))
    await bench.start()
    for _ in range(phases):
        await bench.family_phase(style, requests, policies)
    for key, n in sorted(bench.seen.items(), key=str):
        dut._log.info(f"{key}: {n}")
    assert bench.seen["verdicts"] >= phases * requests
    return bench


@cocotb.test()
async def policies_side_by_side_every_4_cycles(dut: Any) -> None:
    bench = await _run(dut, "mixed_queues_every_4_cycles", 60, 300)
    for mode in range(4):
        for source in range(2):
            assert bench.seen["isred", mode, source, True], (mode, source)
    for event in ("ticks", "rises", "falls", "stays", ("adapted", BAND)):
        assert bench.seen[event], event


@cocotb.test()
async def isred_every_4_cycles(dut: Any) -> None:
    bench = await _run(dut, "one_queue_every_4_cycles", 40, 300, (ISRED,))
    assert bench.seen["rapid", True] > 1000 and bench.seen["rapid", False] > 1000


@cocotb.test()
async def isred_random_gaps(dut: Any) -> None:
    bench = await _run(dut, "random_gaps", 40, 200, (ISRED,))
    assert bench.seen["rapid", True] > 500 and bench.seen["rapid", False] > 500


@cocotb.test()
async def ared_random_gaps(dut: Any) -> None:
    bench = await _run(dut, "random_gaps", 40, 300, (ARED,))
    assert bench.seen["ticks"] > 500 and bench.seen["adapted", BAND] > 500


@cocotb.test()
async def empty_queues(dut: Any) -> None:
    bench = await _run(dut, "empty_queues", 30, 200)
    assert bench.seen["decayed"] and bench.seen["ticks"]


@cocotb.test()
async def empty_queues_close(dut: Any) -> None:
    bench = await _run(dut, "empty_queues_close", 30, 200)
    assert bench.seen["decayed"] and bench.seen["ticks"]
    assert bench.seen["rapid", True] > 20 and bench.seen["rapid", False] > 100


@cocotb.test()
async def hostile_registers(dut: Any) -> None:
    bench = await _run(dut, "hostile_registers", 100, 150)
    assert bench.seen["rises"] and bench.seen["falls"] and bench.seen["rapid", True]


@cocotb.test()
async def time_wraps(dut: Any) -> None:
    bench = await _run(dut, "time_wraps", 40, 150)
    assert bench.seen["ticks"] and bench.seen["rapid", True]


RED_PARAMS = RedParams(minimum=5 << 11, maximum=15 << 11, max_p=0x1999_999A, gentle=True)
ARED_PARAMS = AredParams(
    interval=50_000,
    low=9 << 11,
    high=11 << 11,
    bottom=0x028F_5C29,
    top=1 << 31,
    increase=0x028F_5C29,
    decrease=0xE666_6666,
    band_mantissa=209715,
    band_exponent=4,
    gentle_mantissa=139810,
    gentle_exponent=4,
)


async def _ared(dut: Any) -> Bench:
    """Queue 1 runs ared with w = 1, in packets; the others RED."""
    bench = Bench(dut, SEED)
    await bench.start()
    await bench.run_policy(1, ARED, RED_PARAMS, 1, IsredParams(), ARED_PARAMS)
    return bench


async def _arrival(bench: Bench, packets: int) -> None:
    """An arrival at queue 1; w = 1, so that the average is the queue."""
    await bench.cycle(Request(1, bench.now, 1000, packets * 1000, packets, packets, 0, 0xFFFFFF))
    await bench.rest(15)


async def _tick_at_an_arrival(bench: Bench, packets: int) -> list[int]:
    """An arrival an interval after the last tick; what max_p became, nothing without a tick."""
    before = len(bench.ticks)
    await _arrival(bench, packets)
    await bench.rest(LATEST)
    return [max_p for _, _, max_p in bench.ticks[before:]]


@cocotb.test()
async def a_tick_comes_with_the_first_arrival_after_an_interval(dut: Any) -> None:
    """0.1 + min(0.01, 0.025) each, up to 0.5; then times 0.9 down to the bottom. Arrivals within the interval bring no tick."""
    bench = await _ared(dut)
    bench.copy_now_and_then()
    assert await _tick_at_an_arrival(bench, 14) == [], "the interval begins"
    expected = []
    p = 0x1999_999A
    for packets, up in [(14, True)] * 45 + [(6, False)] * 45:
        p = min(p + 0x028F_5C29, 1 << 31) if up else max(p * 0xE666_6666 >> 32, 0x028F_5C29)
        expected.append(p)
        begun = bench.no_later[1]
        assert begun is not None
        # when the first interval began is known to LATEST cycles
        bench.jump(begun + 50_000 - 2 * LATEST * CYCLE_NS - bench.elapsed)
        assert await _tick_at_an_arrival(bench, packets) == [], "too early"
        await bench.rest(LATEST)
        assert await _tick_at_an_arrival(bench, packets) == [p]
    assert expected[44] == 1 << 31 and expected[-1] == 0x028F_5C29


@cocotb.test()
async def max_p_stays_in_silence(dut: Any) -> None:
    """However long a silence behind a full queue lasts, no tick, nothing busy; the arrival after it brings one, of its own average."""
    bench = await _ared(dut)
    bench.copy_now_and_then()
    await _tick_at_an_arrival(bench, 14)
    p = 0x1999_999A
    for silence in (50_000, 20_000_000_000, 3_600_000_000_000, (1 << 47) - 1, 1 << 47, TIME - 60_000, TIME + 60_000):
        await _tick_at_an_arrival(bench, 14)
        bench.jump(60_000)
        p = min(p + 0x028F_5C29, 1 << 31)
        assert await _tick_at_an_arrival(bench, 14) == [p]
        ticks = len(bench.ticks)
        for _ in range(4):
            bench.jump(silence // 4)
            await bench.rest(LATEST)
            assert not int(dut.busy.value) and not int(dut.wake_valid.value)
        assert len(bench.ticks) == ticks
        p = p * 0xE666_6666 >> 32
        assert await _tick_at_an_arrival(bench, 6) == [p], "one tick, whatever the silence"


@cocotb.test()
async def a_change_of_policy_keeps_nothing(dut: Any) -> None:
    """red, isred and ared in every order: average, count, rate and max_p start anew, and so do the deadlines."""
    bench = Bench(dut, SEED)
    await bench.start()
    rng = bench.rng
    isred = IsredParams(CERTAIN, QUEUE, 1 << 17, 60)
    order = [ARED, RED, ISRED, ARED, ISRED, RED, ARED, RED, ISRED, ARED, RED]
    into = 0
    for step, policy in enumerate(order):
        params = replace(RED_PARAMS, slope_mantissa=1 << 17, slope_exponent=6, gentle_exponent=5)
        await bench.run_policy(1, policy, params, 1, isred, ARED_PARAMS)
        assert int(dut.live_1.value) == 0
        assert bench.red[1].fresh and bench.rises[1].last is None and bench.max_p[1].slopes is None
        await bench.rest(LATEST)
        for _ in range(30):
            await bench.cycle(
                Request(1, bench.now, 1000, 0, rng.randrange(2, 15), 0, rng.randrange(4), rng.getrandbits(24))
            )
            await bench.rest(rng.randrange(3, 12))
        # into a tick, which the next policy must not see
        if policy == ARED and step % 2:
            bench.jump(ARED_PARAMS.interval)
            await bench.cycle(Request(1, bench.now, 1000, 0, 10, 0, 0, 0))
            await bench.rest(LATENCY + 2 + 5 * step)
            into += 1
        await bench.rest(LATENCY + 2)
    assert bench.seen["verdicts"] == 30 * len(order) + into


@cocotb.test()
async def a_saturated_g_of_red_does_not_leak_into_mode_2(dut: Any) -> None:
    """κ and count so large that RED's g saturates, and a gain so small that mode 2 never selects."""
    bench = Bench(dut, SEED)
    await bench.start()
    params = replace(
        RED_PARAMS,
        slope_mantissa=1 << 17,
        slope_exponent=6,
        spread=1,
        byte_mode=2,
        mean_mantissa=(1 << 18) - 1,
    )
    await bench.run_policy(1, ISRED, params, 1, IsredParams(GAIN, QUEUE, 0, 0, 1, 40), AredParams())
    bench._fate = lambda want: (False, False)  # type: ignore[method-assign]
    for i in range(80):
        q = 10 + i % 2
        await bench.cycle(Request(1, bench.now, 9216, 9216 * q, q, q, 0, 0xFFFFFF))
        await bench.rest(11)
    assert bench.seen["isred", GAIN, QUEUE, False] >= 39 and bench.seen["isred", GAIN, QUEUE, True] >= 39


@cocotb.test()
async def times_and_slopes_have_ends(dut: Any) -> None:
    """2^36 ns after the last arrival there is no rate; slope·Δt with more bits than any rise is more than that."""
    bench = Bench(dut, SEED)
    await bench.start()
    gaps = (200, 1 << 35, (1 << 36) - 1, 1 << 36, (1 << 36) + 1, (1 << 36) + 200, (1 << 40) + 200, 1 << 47)
    for source in (AVERAGE, QUEUE):
        for mantissa, exponent in ((0, 0), (1, 0), (1, 30), (1 << 17, 0), (1 << 17, 33), (1 << 17, 44), (1 << 17, 63)):
            isred = IsredParams(CERTAIN, source, mantissa, exponent)
            await bench.run_policy(1, ISRED, RED_PARAMS, 1, isred, AredParams())
            for gap in gaps:
                await _arrival(bench, 6)
                bench.jump(gap - 16 * CYCLE_NS)
                await _arrival(bench, 14)
                bench.jump(1 << 20)
    assert bench.seen["rapid", True] > 20 and bench.seen["rapid", False] > 20


@cocotb.test()
async def queues_have_intervals_of_their_own_where_time_wraps(dut: Any) -> None:
    """Arrivals of three queues in one burst, before and after the wrap: each queue ticks when its own interval is over."""
    bench = Bench(dut, SEED)
    await bench.start()
    bench.copy_now_and_then()
    bursts = {1: 5, 2: 2, 3: 4}
    for q, n in bursts.items():
        ared = replace(ARED_PARAMS, interval=20_000 * n)
        await bench.run_policy(q, ARED, RED_PARAMS, 1, IsredParams(), ared)
    bench.jump((TIME - 60_000 - bench.now) % TIME)
    await bench.cycle()
    begun = bench.elapsed
    for burst in range(21):
        ticks = len(bench.ticks)
        for q in bursts:
            await bench.cycle(Request(q, bench.now, 1000, 14_000, 14, 14, 0, 0xFFFFFF))
            await bench.rest(3)
        await bench.rest(LATEST)
        due = [q for q, n in bursts.items() if burst and burst % n == 0]
        assert sorted(q for q, _, _ in bench.ticks[ticks:]) == due, burst
        bench.jump(begun + (burst + 1) * 20_500 - bench.elapsed)


@cocotb.test()
async def every_apply_moment_of_a_tick_is_safe(dut: Any) -> None:
    """`applied` in each cycle of a tick and behind it: the start values count again, a full interval passes."""
    bench = await _ared(dut)
    for offset in range(RESULT + 40):
        await _tick_at_an_arrival(bench, 14)
        bench.jump(60_000)
        await bench.cycle(Request(1, bench.now, 1000, 14_000, 14, 14, 0, 0xFFFFFF))
        await bench.rest(LATENCY + offset)
        await bench.renew({1})
    assert bench.seen["ticks"] > 20 and bench.seen["void ticks"]


@cocotb.test()
async def every_request_moment_of_a_tick_is_seen_whole(dut: Any) -> None:
    """An arrival in each cycle of a tick and behind it, with every verdict compared."""
    bench = await _ared(dut)
    await _tick_at_an_arrival(bench, 14)
    for offset in range(RESULT + 20):
        bench.jump(60_000)
        await bench.cycle(Request(1, bench.now, 1000, 14_000, 14, 14, 0, 0xFFFFFF))
        await bench.rest(4 + offset)
        await _tick_at_an_arrival(bench, 6 if offset % 2 else 14)
    assert bench.seen["ticks"] == RESULT + 20


@cocotb.test()
async def reset_starts_the_interval_anew(dut: Any) -> None:
    """A reset keeps the configuration, as a reset of the datapath does, and nothing else."""
    bench = await _ared(dut)
    await _tick_at_an_arrival(bench, 14)
    bench.jump(60_000)
    assert len(await _tick_at_an_arrival(bench, 14)) == 1
    await bench.reset()
    bench.max_p = [MaxP() for _ in range(QUEUES)]
    bench.renewing = set(range(QUEUES))
    await bench.cycle()
    bench.renewing = set()
    for q in range(QUEUES):
        bench.stored[q].append((bench.n, 0))
    bench.jump(60_000)
    assert await _tick_at_an_arrival(bench, 14) == [], "an interval begins"
    bench.jump(60_000)
    assert await _tick_at_an_arrival(bench, 14) == [0x1999_999A + 0x028F_5C29], "from the registers' max_p again"


@cocotb.test()
async def a_queue_that_is_not_selected_does_not_tick(dut: Any) -> None:
    bench = await _ared(dut)
    bench.copy_now_and_then()
    await _tick_at_an_arrival(bench, 14)
    bench.policies[1] = RED
    dut.selected.value = 0
    await bench.rest(4)
    bench.jump(60_000)
    assert await _tick_at_an_arrival(bench, 14) == [] and not int(dut.busy.value)

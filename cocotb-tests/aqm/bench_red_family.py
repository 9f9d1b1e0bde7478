"""Bench of the whole RED family: RED, ISRED and adaptive RED queues side by side in one unit.

Verdicts are compared as in bench_red_policy; each tick of adaptive RED with the golden model, its time with a window
of deadlines.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, Timer

import bench_red_policy
from bench_red_policy import COUNT_STAGE, LATENCY, RED
from golden.ared import LEAST_NS, AredParams, MaxP
from golden.ewma import Ewma
from golden.isred import AVERAGE, CERTAIN, GAIN, QUEUE, WITHOUT_WAIT, IsredParams, Rise
from golden.params import RedParams, scaled
from golden.red import BAND, Red, Verdict
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
#: cycles from the look at the average to the result, and to the end of a tick
RESULT, END = 58, 61
#: cycles in which a deadline is looked for again
SCAN = 2 * 7 * QUEUES + 6
#: a tick starts at most that many cycles after its deadline
LATEST = QUEUES * (END + SCAN) + SCAN


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


class Bench(bench_red_policy.Bench):
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
        #: bounds of the next deadline of each queue; no_later once it is sure that the unit has set it
        self.not_before = [0] * QUEUES
        self.no_later: list[int | None] = [None] * QUEUES
        #: cycles in which ticks could begin, and the last in which a queue's words were copied
        self.calm, self.disturbed = 0, 0
        #: from which of them on the deadline is set anew, in which it was found to have passed
        self.set_anew: list[int | None] = [0] * QUEUES
        self.due_since: list[int | None] = [None] * QUEUES
        self.resting = [False] * QUEUES
        self.copying = 1
        self.ending: tuple[int, int, bool] | None = None
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
        renewing = self.renewing | {q for q in range(QUEUES) if clear >> q & 1}
        # while words are copied, and until a scan after that is over, no tick begins
        if renewing:
            self.disturbed = self.n
        self.calm += self.n - self.disturbed > SCAN
        if self.ending is not None and self.n == self.ending[0] + END:
            self._end(renewing)
        if int(self.dut.tick_valid.value):
            self._tick(renewing)
        for q in renewing:
            self.max_p[q].renew()
            self.not_before[q] = self.elapsed + self.ared[q].interval_ns
            self.no_later[q], self.set_anew[q], self.due_since[q], self.resting[q] = None, self.calm, None, False
        for q in range(QUEUES):
            if clear >> q & 1:
                self.rises[q].clear()
                self.stored[q].append((self.n + 2, 0))
        if request is not None:
            self.stored[request.queue].append((self.n + 4, self.ewma[request.queue].average))
        for q in range(QUEUES):
            if self.policies[q] == ARED:
                self._follow(q)

    def _follow(self, q: int) -> None:
        """An arrival ends a rest; no tick is late."""
        if self.resting[q] and any(cycle == self.n + 1 for cycle, _ in self.stored[q]):
            self.resting[q], self.set_anew[q], self.no_later[q] = False, self.calm, None
            self.seen["revived"] += 1
        since = self.set_anew[q]
        if since is not None and self.calm >= since + LATEST:
            self.set_anew[q], self.no_later[q] = None, self.elapsed + self.ared[q].interval_ns
        bound = self.no_later[q]
        if bound is not None and not self.resting[q] and self.elapsed >= bound:
            if self.due_since[q] is None:
                self.due_since[q] = self.calm
            due = self.due_since[q]
            assert due is not None and self.calm - due <= LATEST, f"cycle {self.n}: no tick of queue {q}"

    def _tick(self, renewing: set[int]) -> None:
        dut = self.dut
        q = int(dut.tick_payload_queue.value)
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
        assert not self.resting[q], f"cycle {self.n}: queue {q} rests"
        start = self.elapsed - (self.now - at) % TIME
        assert start >= self.not_before[q], f"cycle {self.n}: queue {q} ticks at {start}, not {self.not_before[q]}"
        self.seen["ticks"] += 1
        self.seen["rises" if want.max_p > old else "falls" if want.max_p < old else "stays"] += 1
        self.ticks.append((q, start, want.max_p))
        self.not_before[q] += self.ared[q].interval_ns
        self.no_later[q], self.due_since[q] = None, None
        self.ending = (looked, q, want.max_p == old)
        self.max_p[q].slopes = want

    def _end(self, renewing: set[int]) -> None:
        """The tick's last cycle: the next deadline, or rest."""
        assert self.ending is not None
        looked, q, same = self.ending
        self.ending = None
        if q in renewing or self.set_anew[q] is not None:
            return
        touched = any(looked < cycle <= self.n + 1 for cycle, _ in self.stored[q])
        self.resting[q] = same and not touched
        self.seen["rests"] += self.resting[q]
        self.seen["touched"] += same and touched
        self.no_later[q] = self.elapsed + self.ared[q].interval_ns

    async def renew(self, queues: set[int], clear: int = 0) -> None:
        """`applied`, with `clear` where the policy or unit has changed."""
        dut = self.dut
        void = int(dut.tick_valid.value) and int(dut.tick_payload_queue.value) in queues
        dut.applied.value = sum(1 << q for q in queues)
        dut.clear.value = clear
        self.renewing = queues
        for q in queues:
            self.hints[q] = [self.n] if self.hints[q] else []
        if void:
            # the pulse comes in the cycle in which the tick would be written
            await Timer(500, "ps")
            assert not int(dut.tick_valid.value), f"cycle {self.n}: a tick of a queue that is being applied"
            self.seen["void ticks"] += 1
        await self.cycle(clear=clear)
        for q in queues:
            self.ewma[q].applied()
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
            # queues are applied one at a time where there are hints to be computed again
            for q in range(QUEUES):
                await self.cycle(emptied=q)
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
            while self.stalled[q]:
                await self.cycle()
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
                request = self._request(stimulus, rng.choice(style.queues))
            if request is not None:
                requests -= 1
                wait = rng.choice(style.gaps)
            wait -= 1
            hint = rng.choice(style.queues) if rng.random() < style.hints else None
            emptied = rng.choice(style.queues) if rng.random() < style.emptied else None
            if request is not None and request.queue == emptied and request.packets == 0:
                emptied = None
            # the first request comes two cycles after it
            clear = 1 << rng.choice(style.queues) if wait > 0 and rng.random() < 0.001 else 0
            await self.cycle(request, hint, emptied, clear)
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
    for event in ("ticks", "rises", "falls", "stays", "rests", "revived", ("adapted", BAND)):
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


def _wake(dut: Any) -> int | None:
    return int(dut.wake_payload.value) if int(dut.wake_valid.value) else None


@cocotb.test()
async def ticks_come_at_the_interval_and_rest_when_nothing_can_change(dut: Any) -> None:
    bench = await _ared(dut)
    bench.copy_now_and_then()
    await _arrival(bench, 14)
    await bench.rest(100)
    assert _wake(dut) is not None and not int(dut.busy.value)
    for _ in range(60):
        wake = _wake(dut)
        if wake is None:
            break
        assert 0 < (wake - bench.now) % TIME <= 50_000
        bench.jump((wake - bench.now) % TIME - 2 * CYCLE_NS)
        await bench.rest(LATEST)
    starts = [start for _, start, _ in bench.ticks]
    assert all(abs(b - a - 50_000) <= 4 * CYCLE_NS for a, b in zip(starts, starts[1:], strict=False)), starts
    # 0.1 + min(0.01, 0.025) each, up to 0.5; one more tick to see that nothing changes
    assert [p for _, _, p in bench.ticks][:2] == [0x1999_999A + 0x028F_5C29, 0x1999_999A + 2 * 0x028F_5C29]
    assert bench.ticks[-1][2] == bench.ticks[-2][2] == 1 << 31
    assert _wake(dut) is None and bench.resting[1], "an idle queue has no deadline in the end"
    # the first arrival, long after, sets a new one
    bench.jump(10_000_000)
    before = bench.now
    await _arrival(bench, 6)
    await bench.rest(LATEST)
    wake = _wake(dut)
    assert wake is not None and 50_000 <= (wake - before) % TIME <= 50_000 + LATEST * CYCLE_NS
    ticks = len(bench.ticks)
    for _ in range(60):
        wake = _wake(dut)
        if wake is None:
            break
        bench.jump((wake - bench.now) % TIME)
        await bench.rest(LATEST)
    assert _wake(dut) is None
    assert bench.ticks[-1][2] == ARED_PARAMS.bottom and len(bench.ticks) > ticks + 20


@cocotb.test()
async def an_arrival_within_the_interval_keeps_the_grid(dut: Any) -> None:
    bench = await _ared(dut)
    for _ in range(10):
        await _arrival(bench, 10)
        await bench.rest(LATEST)
        wake = _wake(dut)
        assert wake is not None
        bench.jump((wake - bench.now) % TIME - 3 * CYCLE_NS)
        await bench.rest(LATEST)
    starts = [start for _, start, _ in bench.ticks]
    assert len(starts) == 10 and bench.seen["stays"] == 10
    assert all(abs(b - a - 50_000) <= 4 * CYCLE_NS for a, b in zip(starts, starts[1:], strict=False)), starts


@cocotb.test()
async def ticks_that_were_missed_are_not_made_up_for(dut: Any) -> None:
    bench = await _ared(dut)
    await _arrival(bench, 14)
    bench.jump(1_000_000_000)
    await bench.rest(4 * LATEST)
    assert len(bench.ticks) == 1


@cocotb.test()
async def a_change_of_policy_keeps_nothing(dut: Any) -> None:
    """red, isred and ared in every order: average, count, rate and max_p start anew, and so do the deadlines."""
    bench = Bench(dut, SEED)
    await bench.start()
    rng = bench.rng
    isred = IsredParams(CERTAIN, QUEUE, 1 << 17, 60)
    order = [ARED, RED, ISRED, ARED, ISRED, RED, ARED, RED, ISRED, ARED, RED]
    for step, policy in enumerate(order):
        params = replace(RED_PARAMS, slope_mantissa=1 << 17, slope_exponent=6, gentle_exponent=5)
        await bench.run_policy(1, policy, params, 1, isred, ARED_PARAMS)
        assert int(dut.live_1.value) == 0
        assert bench.red[1].fresh and bench.rises[1].last is None and bench.max_p[1].slopes is None
        await bench.rest(LATEST)
        assert (_wake(dut) is not None) == (policy == ARED)
        for _ in range(30):
            await bench.cycle(
                Request(1, bench.now, 1000, 0, rng.randrange(2, 15), 0, rng.randrange(4), rng.getrandbits(24))
            )
            await bench.rest(rng.randrange(3, 12))
        # into a tick, which the next policy must not see
        if policy == ARED and step % 2:
            bench.jump((bench.not_before[1] - bench.elapsed) % TIME)
            await bench.rest(COUNT_STAGE + 9 * step)
        await bench.rest(LATENCY + 2)
    assert bench.seen["verdicts"] == 30 * len(order)


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
async def the_earliest_deadline_is_told_where_time_wraps(dut: Any) -> None:
    """Two deadlines behind the wrap, and one before it, which lies between them in the order of queues."""
    bench = Bench(dut, SEED)
    await bench.start()
    bench.copy_now_and_then()
    bench.jump((TIME - 60_000 - bench.now) % TIME)
    for q, interval in ((1, 100_000), (2, 40_000), (3, 90_000)):
        ared = replace(ARED_PARAMS, interval=interval)
        await bench.run_policy(q, ARED, RED_PARAMS, 1, IsredParams(), ared)
        await bench.cycle(Request(q, bench.now, 1000, 14_000, 14, 14, 0, 0xFFFFFF))
        await bench.rest(15)
    for n, left in enumerate((40_000, 40_000, 11_000)):
        await bench.rest(LATEST)
        wake = _wake(dut)
        assert wake is not None and len(bench.ticks) == n
        assert 0 < (wake - bench.now) % TIME <= left
        bench.jump((wake - bench.now) % TIME - 2 * CYCLE_NS)
    await bench.rest(LATEST)
    assert [q for q, _, _ in bench.ticks] == [2, 2, 3]


@cocotb.test()
async def every_apply_moment_of_a_tick_is_safe(dut: Any) -> None:
    """`applied` in each cycle of a tick and its scan: the start values count again, a full interval passes."""
    bench = await _ared(dut)
    for offset in range(0, END + 66):
        await _arrival(bench, 14)
        await bench.rest(LATEST)
        wake = _wake(dut)
        assert wake is not None
        bench.jump((wake - bench.now) % TIME)
        await bench.rest(offset)
        await bench.renew({1})
    assert bench.seen["ticks"] > 20 and bench.seen["void ticks"]


@cocotb.test()
async def every_request_moment_of_a_tick_is_seen_whole(dut: Any) -> None:
    """An arrival in each cycle around the write and the end of a tick, with every verdict compared."""
    bench = await _ared(dut)
    for offset in range(0, END + 56):
        # an average that leaves max_p as it is in every second tick: an arrival then ends or prevents a rest
        await _arrival(bench, 14 if offset % 2 else 10)
        await bench.rest(LATEST)
        wake = _wake(dut)
        assert wake is not None
        bench.jump((wake - bench.now) % TIME)
        await bench.rest(offset)
        await _arrival(bench, 14)
    assert bench.seen["touched"] and bench.seen["rests"] and bench.seen["rises"]


@cocotb.test()
async def reset_starts_the_deadlines_anew(dut: Any) -> None:
    """A reset keeps the configuration, as a reset of the datapath does, and nothing else."""
    bench = await _ared(dut)
    await _arrival(bench, 14)
    await bench.rest(100)
    wake = _wake(dut)
    assert wake is not None
    bench.jump((wake - bench.now) % TIME)
    await bench.rest(LATEST)
    assert len(bench.ticks) == 1
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    bench.ewma = [Ewma() for _ in range(QUEUES)]
    bench.red = [Red() for _ in range(QUEUES)]
    bench.max_p = [MaxP() for _ in range(QUEUES)]
    bench.renewing = set(range(QUEUES))
    await bench.cycle()
    bench.renewing = set()
    for q in range(QUEUES):
        bench.stored[q].append((bench.n, 0))
    for _ in range(10):
        await _arrival(bench, 14)
    await bench.rest(LATEST)
    wake = _wake(dut)
    assert wake is not None and 45_000 < (wake - bench.now) % TIME <= 50_000
    bench.jump((wake - bench.now) % TIME)
    await bench.rest(LATEST)
    assert bench.ticks[-1][2] == 0x1999_999A + 0x028F_5C29, "from the registers' max_p again"


@cocotb.test()
async def an_idle_core_has_no_deadline(dut: Any) -> None:
    """Queues of other policies never wake; a queue that is not selected does not tick."""
    bench = Bench(dut, SEED)
    await bench.start()
    bench.copy_now_and_then()
    await bench.rest(LATEST)
    assert _wake(dut) is None and not int(dut.busy.value)
    await bench.run_policy(1, ARED, RED_PARAMS, 1, IsredParams(), ARED_PARAMS)
    await bench.rest(LATEST)
    assert _wake(dut) is not None
    bench.policies[1] = RED
    dut.selected.value = 0
    await bench.rest(LATEST)
    assert _wake(dut) is None
    bench.jump(1_000_000)
    await bench.rest(LATEST)
    assert not int(dut.busy.value) and not bench.ticks

"""Bench of Pi2: every verdict at arrival and departure, every tick and deadline against the golden model."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import cocotb

from golden.pi import NS_MAX, TIME, Gain, effective
from golden.pi2 import Pi2, Pi2Params, decide_classic, decide_low_latency, leave, pairs
from pi_bench import LATENCY, QUEUES, SEED, Departure, PiBench, Request, any_bits, any_gain

DEPARTURE_LATENCY = 2


def words_of(params: Pi2Params, rng: Random) -> dict[int, int]:
    """The queue's words by offset; bits that do not exist are random."""

    def gain(value: Gain) -> int:
        return value.mantissa | value.exponent << 24 | rng.getrandbits(6) << 18 | rng.getrandbits(2) << 30

    control = params.ecn | params.low_latency << 1 | params.coupled << 4
    return {
        0x120: control | rng.getrandbits(2) << 2 | rng.getrandbits(24) << 8,
        0x124: params.interval,
        0x128: params.target,
        0x12C: gain(params.alpha),
        0x130: gain(params.beta),
        0x134: params.step,
        0x138: params.coupling | rng.getrandbits(16) << 16,
        0x13C: params.maximum,
    }


def plausible(rng: Random) -> Pi2Params:
    """RFC 9332's parameters, scaled to many speeds, with gains that move p' within a few ticks."""
    scale = Fraction(1, rng.choice([1, 10, 100, 1000]))
    boost = rng.choice([1, 10, 100])
    return Pi2Params(
        ecn=rng.random() < 0.7,
        interval=rng.choice([int(16_000_000 * scale), 4096, 5000]),
        target=int(15_000_000 * scale),
        alpha=Gain.of(Fraction(boost * 16, 100) / scale),
        beta=Gain.of(Fraction(boost * 3) / scale),
        step=rng.choice([int(1_000_000 * scale), 0, NS_MAX]),
        coupling=rng.choice([2 << 12, 1 << 12, rng.getrandbits(16)]),
        maximum=rng.choice([1 << 30, 1 << 31, NS_MAX, rng.getrandbits(32)]),
    )


def hostile(rng: Random) -> Pi2Params:
    """Any bit pattern."""
    return Pi2Params(
        rng.random() < 0.5, False, 0, any_bits(rng, 32) if rng.random() < 0.6 else 0, any_bits(rng, 32), any_gain(rng), any_gain(rng),
        any_bits(rng, 32), any_bits(rng, 16), any_bits(rng, 32),
    )  # fmt: skip


@dataclass(frozen=True)
class Style:
    """How a phase behaves."""

    gaps: tuple[int, ...] = (4,)
    departures: float = 0.06
    emptied: float = 0.002
    configure: float = 0.0007
    hostile: bool = False
    start_ns: int | None = None
    skip: float = 0.02


STYLES = {
    "mixed_queues_every_4_cycles": Style(),
    "random_gaps": Style(gaps=(4, 5, 7, 11, 30), departures=0.2, emptied=0.02),
    "hostile_registers": Style(gaps=(4, 4, 9), hostile=True, configure=0.003, skip=0.03),
    "time_wraps": Style(gaps=(4, 12), start_ns=TIME - 300_000, skip=0.002),
}


class Bench(PiBench):
    """Pi2 with one golden model a queue."""

    policy = 8

    def __init__(self, dut: Any, seed: int) -> None:
        super().__init__(dut, seed, [Pi2() for _ in range(QUEUES)], [Pi2Params() for _ in range(QUEUES)])
        self.partner: list[int | None] = [None] * QUEUES
        self.leaving: deque[tuple[int, tuple[int, int]]] = deque()

    def words(self, queue: int) -> dict[int, int]:
        return words_of(self.params[queue], self.rng)

    def ticks(self, queue: int) -> bool:
        return not self.params[queue].low_latency

    async def cycle(self, *args: Any, **kwargs: Any) -> None:
        # pairs follow an apply a cycle later than roles
        following = pairs(self.params, self.selected)
        self.partners_at[self.n] = self.partner
        self.partners_at.pop(self.n - 400, None)
        await super().cycle(*args, **kwargs)
        self.partner = following

    @property
    def partners_at(self) -> dict[int, list[int | None]]:
        """Pairs by cycle."""
        return self.__dict__.setdefault("_partners_at", {})  # type: ignore[no-any-return]

    def on_request(self, request: Request) -> tuple[int, ...]:
        q = request.queue
        if self.params[q].low_latency:
            partner = self.partner[q]
            v = decide_low_latency(None if partner is None else self.models[partner], request.ecn, request.draw)
            self.seen["L paired", partner is not None] += 1
        else:
            v = decide_classic(self.models[q], request.ecn, request.draw, self.params[q].ecn)
        self.seen["flags", v.flags, "action", v.action] += 1
        return v.action, v.cause, v.classic << 11, v.flags, v.probability, 0

    def on_departure(self, departure: Departure) -> None:
        q = departure.queue
        self.models[q].delay.departure(departure.sojourn, departure.packets)
        self.models[q].deadlines.rouse(self.now)
        partner = self.partner[q]
        if partner is not None:
            self.models[partner].deadlines.rouse(self.now)

    def on_leave(self, departure: Departure) -> None:
        verdict = leave(departure.sojourn, departure.packets, departure.ecn, self.params[departure.queue])
        self.seen["departure", verdict] += 1
        self.leaving.append((self.n + DEPARTURE_LATENCY, verdict))

    def sample_more(self) -> None:
        due = bool(self.leaving) and self.leaving[0][0] == self.n
        assert int(self.dut.departureVerdict_valid.value) == due
        if due:
            _, wanted = self.leaving.popleft()
            p = self.dut.departureVerdict_payload_action, self.dut.departureVerdict_payload_cause
            got = tuple(int(x.value) for x in p)
            assert got == wanted, f"cycle {self.n}: departure {got}, expected {wanted}"

    def on_emptied(self, queue: int) -> None:
        self.models[queue].delay.empty()

    def on_clear(self, queue: int) -> None:
        self.models[queue].clear()

    def on_tick(self, queue: int, delays: list[int]) -> tuple[int, ...]:
        begun = self.partners_at[self.tick_cycle][queue]
        delay = delays[queue] if begun is None else max(delays[queue], delays[begun])
        partner = self.partners_at[self.n - 1][queue]
        family = [queue] if partner is None else [queue, partner]
        none = all(self.before[q] == 0 and q not in self.appeared for q in family)
        tick = self.models[queue].tick(delay, none, self.params[queue])
        self.seen["coupled tick"] += begun is not None
        self.seen["L is later"] += delay != delays[queue]
        self.seen["falls asleep"] += tick.asleep
        self.seen["overload", tick.over_classic, tick.over_coupled] += 1
        return tick.words

    # ---- stimuli

    async def configure(self, queue: int, params: Pi2Params, clear: bool) -> None:
        """Hold the queue, write its words, apply; others go on. No departure meanwhile: its registers change."""
        while self.n - self.requested[queue] < LATENCY + 2:
            await self.traffic(Style(), hold=queue)
        self.held[queue], self.held_since[queue] = 1, self.n
        self.writes.extend((queue, at // 4, data) for at, data in words_of(params, self.rng).items())
        while self.writes:
            await self.traffic(Style(), hold=queue)
        self.held[queue] = 0
        changed = self.params[queue] != params
        await self.cycle(applied=1 << queue, clear=1 << queue if clear else 0)
        self.params[queue] = params
        # nor does the queue have a request in the cycle after `applied`
        await self.traffic(Style(), hold=queue)
        self.seen["applies"] += changed

    def roles(self, style: Style) -> list[Pi2Params]:
        """Four queues: two pairs, or a pair and two that are alone, or anything."""
        rng = self.rng
        make = hostile if style.hostile else plausible
        params = [make(rng) for _ in range(QUEUES)]
        if rng.random() < 0.2:
            return [replace(p, low_latency=rng.random() < 0.5, coupled=rng.randrange(16)) for p in params]
        order = rng.sample(range(QUEUES), QUEUES)
        for classic, low in (order[:2], order[2:]):
            params[low] = replace(params[low], low_latency=True, coupled=classic)
            params[classic] = replace(params[classic], coupled=low)
        return params

    def request(self, queue: int) -> Request:
        rng, model = self.rng, self.models[queue]
        partner = self.partner[queue]
        if self.params[queue].low_latency and partner is not None:
            model = self.models[partner]
        p = rng.choice([model.classic, model.coupled, model.either])
        edge = min(max((p >> 8) + rng.randrange(-1, 3), 0), 0xFFFFFF)
        draw = rng.choice([edge, edge, rng.getrandbits(24), 0, 0xFFFFFF])
        return Request(queue, 9999, 0 if rng.random() < 0.01 else 9, rng.randrange(4), draw)

    def departure(self, queue: int) -> Departure:
        rng, params = self.rng, self.params[queue]
        target = params.target if not params.low_latency else params.step & 0xFFFFFF
        if rng.random() < 0.1:
            self.level[queue] = rng.choice([0, 0.3, 0.5, 1, 1.01, 1.5, 3, 20])
        sojourn = int(target * self.level[queue]) + rng.randrange(-2, 3)
        if rng.random() < 0.05:
            sojourn = rng.choice([0, 1, NS_MAX, NS_MAX + 1, TIME - 1, params.step, params.step + 1])
        packets = rng.choice([0, 1, 2, 65535]) if rng.random() < 0.1 else 9
        return Departure(queue, max(0, sojourn), packets, rng.randrange(4))

    wait = 0
    gone = 0

    async def traffic(self, style: Style, hold: int | None = None) -> None:
        """One cycle with what may happen in it."""
        rng = self.rng
        self.wait -= 1
        self.gone -= 1
        request = departure = emptied = None
        queue = rng.randrange(QUEUES)
        if self.wait <= 0 and queue != hold and self.selected >> queue & 1:
            request, self.wait = self.request(queue), rng.choice(style.gaps)
        queue = rng.randrange(QUEUES)
        if self.gone <= 0 and rng.random() < style.departures and queue != hold and self.selected >> queue & 1:
            departure, self.gone = self.departure(queue), 4
            self.on_leave(departure)
        if rng.random() < style.emptied:
            emptied = rng.randrange(QUEUES)
        await self.cycle(request, departure, emptied)

    def skip(self) -> None:
        """Jump near the next deadline, sometimes far past it."""
        awake = [q for q in range(QUEUES) if self.deadlines[q].awake and self.ticks(q)]
        if not awake or any(self.due_since[q] is not None for q in awake):
            return
        q = self.rng.choice(awake)
        interval = effective(self.params[q].interval)
        jump = (self.deadlines[q].deadline(self.params[q].interval) - self.now) % TIME - self.rng.randrange(0, 200)
        if self.rng.random() < 0.1:
            jump += self.rng.choice([200, interval, interval + 200, interval * self.rng.randrange(1, 9)])
        if 0 < jump < TIME >> 1:
            self.now = (self.now + jump) % TIME
            self.event = self.n

    async def phase(self, style: Style, cycles: int) -> None:
        if style.start_ns is not None:
            self.now = style.start_ns
        for q, params in enumerate(self.roles(style)):
            await self.configure(q, params, clear=True)
        for _ in range(cycles):
            if self.rng.random() < style.skip:
                self.skip()
            if self.rng.random() < style.configure:
                q = self.rng.randrange(QUEUES)
                fresh = self.roles(style)[q]
                if self.rng.random() < 0.8:
                    fresh = replace(fresh, low_latency=self.params[q].low_latency, coupled=self.params[q].coupled)
                await self.configure(q, fresh, clear=self.rng.random() < 0.3)
            await self.traffic(style)
        await self.rest(LATENCY + 2)
        assert not self.expected


async def _run(dut: Any, name: str, phases: int, cycles: int) -> Bench:
    bench = Bench(dut, SEED * 1000 + sorted(STYLES).index(name))
    await bench.start()
    for _ in range(phases):
        await bench.phase(STYLES[name], cycles)
    for key, n in sorted(bench.seen.items(), key=str):
        dut._log.info(f"{key}: {n}")
    seen = bench.seen
    assert seen["ticks"] > phases * cycles / 1000 and seen["wake compared"] > 100
    assert seen["coupled tick"] and seen["L is later"] and seen["departure", (1, 2)]
    assert seen["falls asleep"] or name == "random_gaps"
    for action in (0, 1, 2):
        assert seen["flags", 0, "action", action], f"the classic queue never did {action}"
        assert seen["flags", 7, "action", action] or seen["flags", 5, "action", action], (
            f"the overloaded L queue never did {action}"
        )
    assert seen["flags", 1, "action", 1] and seen["flags", 1, "action", 2]
    return bench


@cocotb.test()
async def mixed_queues_every_4_cycles(dut: Any) -> None:
    bench = await _run(dut, "mixed_queues_every_4_cycles", 10, 6000)
    assert bench.seen["overload", False, True] and bench.seen["overload", True, True]


@cocotb.test()
async def random_gaps(dut: Any) -> None:
    await _run(dut, "random_gaps", 10, 6000)


@cocotb.test()
async def hostile_registers(dut: Any) -> None:
    await _run(dut, "hostile_registers", 8, 8000)


@cocotb.test()
async def time_wraps(dut: Any) -> None:
    await _run(dut, "time_wraps", 3, 40000)


@cocotb.test()
async def queues_of_other_policies_have_neither_ticks_nor_partners(dut: Any) -> None:
    """Also with the delay that they left behind, and with registers that name each other."""
    bench = Bench(dut, SEED)
    await bench.start()
    # what leaves, leaves a delay
    style = replace(STYLES["random_gaps"], emptied=0.0)
    for selected in (0b1111, 0b0111, 0b1011, 0b1101, 0b1110, 0b0101) * 3:
        dut.selected.value = bench.selected = selected
        bench.event = bench.n
        await bench.phase(style, 1000)
    assert bench.seen["ticks"] > 50 and bench.seen["coupled tick"]
    assert bench.seen["L paired", False] > 50 and bench.seen["L paired", True] > 50

"""Bench of Pie: every verdict, tick and deadline against the golden model."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import cocotb

from golden.pi import NS_MAX, TIME, Gain, effective
from golden.pie import DEFAULTS, Pie, PieParams
from pi_bench import CYCLE_NS, LATENCY, QUEUES, SEED, Departure, PiBench, Request, any_bits, any_gain
from policy_bench import LINGER

WORDS = {"ecn": 0x0B0, "interval": 0x0B4, "target": 0x0B8, "alpha": 0x0BC, "beta": 0x0C0, "burst": 0x0C4}
WORDS |= {"ecn_max": 0x0C8, "bypass": 0x0CC}


def words_of(params: PieParams, rng: Random) -> dict[int, int]:
    """The queue's words by offset; bits that do not exist are random."""

    def word(value: object, bits: int) -> int:
        if isinstance(value, Gain):
            return value.mantissa | value.exponent << 24 | rng.getrandbits(6) << 18 | rng.getrandbits(2) << 30
        return int(value) | rng.getrandbits(32) >> bits << bits  # type: ignore[call-overload, no-any-return]

    widths = {"ecn": 1, "bypass": 21}
    return {at: word(getattr(params, name), widths.get(name, 32)) for name, at in WORDS.items()}


def plausible(rng: Random) -> PieParams:
    """The RFC's parameters, scaled to links of many speeds, with gains that move p within a few ticks."""
    scale = Fraction(1, rng.choice([1, 10, 100, 1000]))
    boost = rng.choice([1, 1, 10, 100, 3000])
    target = int(15_000_000 * scale)
    return PieParams(
        ecn=rng.random() < 0.5,
        interval=rng.choice([int(15_000_000 * scale), 4096, 5000, 100_000]),
        target=target,
        alpha=Gain.of(Fraction(boost, 8) / scale),
        beta=Gain.of(Fraction(boost * 5, 4) / scale),
        burst=rng.choice([0, 5000, 10 * target]),
        ecn_max=rng.choice([(1 << 32) // 10, 1 << 31, NS_MAX]),
        bypass=rng.choice([0, 3000, 9216]),
    )


def hostile(rng: Random) -> PieParams:
    """Any bit pattern."""
    return PieParams(
        rng.random() < 0.5, any_bits(rng, 32) if rng.random() < 0.7 else 0, any_bits(rng, 32), any_gain(rng), any_gain(rng),
        any_bits(rng, 32), any_bits(rng, 32), any_bits(rng, 21),
    )  # fmt: skip


@dataclass(frozen=True)
class Style:
    """How a phase behaves: gaps between requests and departures, probabilities an event a cycle."""

    gaps: tuple[int, ...] = (4,)
    queues: tuple[int, ...] = (0, 1, 2, 3)
    departures: float = 0.05
    emptied: float = 0.002
    configure: float = 0.0007
    hostile: bool = False
    start_ns: int | None = None
    skip: float = 0.02


STYLES = {
    "mixed_queues_every_4_cycles": Style(),
    "one_queue_every_4_cycles": Style(queues=(2,), configure=0.0003),
    "random_gaps": Style(gaps=(4, 5, 7, 11, 30), departures=0.2, emptied=0.02),
    "hostile_registers": Style(gaps=(4, 4, 9), hostile=True, configure=0.003, skip=0.03),
    "time_wraps": Style(gaps=(4, 12), start_ns=TIME - 300_000, skip=0.002),
}


class Bench(PiBench):
    """Pie with one golden model a queue."""

    policy = 6

    def __init__(self, dut: Any, seed: int) -> None:
        super().__init__(dut, seed, [Pie() for _ in range(QUEUES)], [PieParams() for _ in range(QUEUES)])

    def on_request(self, request: Request) -> tuple[int, ...]:
        model = self.models[request.queue]
        v = model.decide(request.bytes, request.ecn, request.draw, self.params[request.queue])
        self.seen["flags", v.flags] += 1
        return v.action, v.cause, 0, v.flags, v.probability, 0

    def on_departure(self, departure: Departure) -> None:
        self.models[departure.queue].departure(departure.sojourn, departure.packets, self.now)

    def on_emptied(self, queue: int) -> None:
        self.models[queue].delay.empty()

    def on_clear(self, queue: int) -> None:
        self.models[queue].clear()

    def on_tick(self, queue: int, delays: list[int]) -> tuple[int, ...]:
        model, params, p = self.models[queue], self.params[queue], self.models[queue].p
        tick = model.tick(delays[queue], self.before[queue] == 0 and queue not in self.appeared, params)
        self.seen["p", len(str(int(1 / (p / 2**48)))) if p else "0"] += 1
        self.seen["falls asleep"] += tick.asleep
        self.seen["p is 1"] += tick.p == 2**48 - 1
        self.seen["250 ms"] += tick.delay > 250_000_000
        self.seen["burst left"] += 0 < tick.burst < params.burst
        return tick.words

    def words(self, queue: int) -> dict[int, int]:
        return words_of(self.params[queue], self.rng)

    # ---- stimuli

    async def configure(self, queue: int, params: PieParams, clear: bool) -> None:
        """Hold the queue, write its words, apply; others go on."""
        while self.n - self.requested[queue] < LATENCY + 2:
            await self.traffic(Style(queues=tuple(q for q in range(QUEUES) if q != queue)), hold=queue)
        self.held[queue], self.held_since[queue] = 1, self.n
        self.writes.extend((queue, at // 4, data) for at, data in words_of(params, self.rng).items())
        others = Style(queues=tuple(q for q in range(QUEUES) if q != queue))
        while self.writes:
            await self.traffic(others, hold=queue)
        self.params[queue] = params
        self.held[queue] = 0
        await self.cycle(applied=1 << queue, clear=1 << queue if clear else 0)

    def request(self, queue: int) -> Request:
        rng, p, params = self.rng, self.models[queue].p >> 16, self.params[queue]
        edge = min(max((p >> 8) + rng.randrange(-1, 3), 0), 0xFFFFFF)
        draw = rng.choice([edge, edge, rng.getrandbits(24), 0, 0xFFFFFF, rng.getrandbits(rng.randrange(1, 24))])
        held = rng.choice([0, params.bypass, params.bypass + 1, rng.getrandbits(21), (1 << 21) - 1])
        empty = rng.random() < 0.01
        return Request(queue, min(held, (1 << 21) - 1), 0 if empty else rng.randrange(1, 65536), rng.randrange(4), draw)

    def departure(self, queue: int) -> Departure:
        rng, target = self.rng, self.params[queue].target
        if rng.random() < 0.1:
            self.level[queue] = rng.choice([0, 0.3, 0.5, 1, 1.01, 1.5, 3, 20, 100])
        sojourn = int(target * self.level[queue]) + rng.randrange(-2, 3)
        if rng.random() < 0.05:
            sojourn = rng.choice(
                [0, 1, NS_MAX, NS_MAX + 1, TIME - 1, 250_000_000, 250_000_001, 2 * target, target // 2]
            )
        return Departure(
            queue, max(0, sojourn), rng.choice([0, 1, 2, 65535]) if rng.random() < 0.1 else 9, rng.randrange(4)
        )

    wait = 0
    gone = 0

    async def traffic(self, style: Style, hold: int | None = None) -> None:
        """One cycle with what may happen in it."""
        rng = self.rng
        self.wait -= 1
        self.gone -= 1
        request = departure = emptied = None
        if self.wait <= 0 and style.queues:
            queue = rng.choice(style.queues)
            if queue != hold and not self.held[queue]:
                request = self.request(queue)
                self.wait = rng.choice(style.gaps)
        if self.gone <= 0 and rng.random() < style.departures:
            departure, self.gone = self.departure(rng.randrange(QUEUES)), 4
        if rng.random() < style.emptied:
            emptied = rng.randrange(QUEUES)
        await self.cycle(request, departure, emptied)

    def skip(self) -> None:
        """Jump near the next deadline, sometimes far past it."""
        awake = [q for q in range(QUEUES) if self.deadlines[q].awake]
        if not awake or any(self.due_since[q] is not None for q in awake):
            return
        q = self.rng.choice(awake)
        interval = effective(self.params[q].interval)
        ahead = (self.deadlines[q].deadline(self.params[q].interval) - self.now) % TIME
        jump = ahead - self.rng.randrange(0, 200)
        if self.rng.random() < 0.1:
            jump = ahead + self.rng.choice([interval - 1, interval, interval + 1, interval * self.rng.randrange(1, 9)])
        if 0 < jump < TIME >> 1:
            self.now = (self.now + jump) % TIME
            self.event = self.n

    async def phase(self, style: Style, cycles: int) -> None:
        make = hostile if style.hostile else plausible
        if style.start_ns is not None:
            self.now = style.start_ns
        for q in range(QUEUES):
            await self.configure(q, make(self.rng), clear=True)
        for _ in range(cycles):
            if self.rng.random() < style.skip:
                self.skip()
            if self.rng.random() < style.configure:
                await self.configure(self.rng.randrange(QUEUES), make(self.rng), clear=self.rng.random() < 0.3)
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
    assert seen["ticks"] > phases * cycles / 500 and seen["wake compared"] > 100
    assert any(k[0] == "action" and k[1] == 2 for k in seen if isinstance(k, tuple))
    assert any(k[0] == "action" and k[1] == 1 for k in seen if isinstance(k, tuple))
    assert seen["late ticks"] or STYLES[name].skip < 0.01
    return bench


@cocotb.test()
async def mixed_queues_every_4_cycles(dut: Any) -> None:
    bench = await _run(dut, "mixed_queues_every_4_cycles", 12, 6000)
    for p in ("0", 1, 2, 3, 4, 5, 6, 7):
        assert bench.seen["p", p], f"no tick found p of the scale {p}"
    assert bench.seen["p is 1"] and bench.seen["250 ms"] and bench.seen["burst left"]


@cocotb.test()
async def one_queue_every_4_cycles(dut: Any) -> None:
    await _run(dut, "one_queue_every_4_cycles", 6, 6000)


@cocotb.test()
async def random_gaps(dut: Any) -> None:
    await _run(dut, "random_gaps", 10, 6000)


@cocotb.test()
async def hostile_registers(dut: Any) -> None:
    await _run(dut, "hostile_registers", 8, 8000)


@cocotb.test()
async def time_wraps(dut: Any) -> None:
    await _run(dut, "time_wraps", 3, 60000)


@cocotb.test()
async def a_queue_without_delay_falls_asleep(dut: Any) -> None:
    """From p = 1 the deadlines end; the next delay awakes, and so does an apply."""
    bench = Bench(dut, SEED)
    await bench.start()
    gains = PieParams(False, 4096, 1000, Gain.of(Fraction(1000)), Gain(0, 0), 20_000, 0, 0)
    for q in range(QUEUES):
        await bench.configure(q, gains, clear=True)
    for q in range(QUEUES):
        for _ in range(30):
            await bench.cycle(departure=Departure(q, NS_MAX if q else 1200, 1))
            await bench.rest(3)
            bench.skip()
    await bench.rest(3000)
    assert any(m.p for m in bench.models)
    for q in range(QUEUES):
        await bench.cycle(emptied=q)
    for _ in range(6000):
        bench.skip()
        await bench.rest(70)
        if not any(d.awake for d in bench.deadlines):
            break
    await bench.rest(100)
    assert not int(dut.wake_valid.value) and not int(dut.busy.value)
    assert bench.seen["falls asleep"] >= QUEUES and bench.seen["ticks"] > 4 * 30
    ticks = bench.seen["ticks"]
    bench.now = (bench.now + (1 << 47)) % TIME
    await bench.rest(100)
    await bench.cycle(departure=Departure(1, 0, 1))
    await bench.cycle(departure=Departure(2, 5, 0))
    await bench.rest(100)
    assert not int(dut.wake_valid.value) and bench.seen["ticks"] == ticks
    await bench.cycle(departure=Departure(3, 1, 1))
    await bench.rest(100)
    assert int(dut.wake_valid.value)
    await bench.rest(700)
    assert bench.seen["ticks"] == ticks + 1
    await bench.cycle(applied=1)
    await bench.rest(900)
    assert bench.seen["ticks"] >= ticks + 2


@cocotb.test()
async def applies_around_a_deadline(dut: Any) -> None:
    """In every cycle near a deadline, and of a tick: the deadlines start anew, a tick under way comes to nothing."""
    bench = Bench(dut, SEED)
    await bench.start()
    for q in range(QUEUES):
        await bench.configure(q, DEFAULTS, clear=True)
    for offset in range(-10, 100):
        q = offset % QUEUES
        await bench.cycle(departure=Departure(q, 20_000_000, 5))
        await bench.rest(100)
        deadline = bench.deadlines[q].deadline(DEFAULTS.interval)
        bench.now = (deadline - 20 * CYCLE_NS) % TIME
        bench.event = bench.n
        await bench.rest(19 + offset)
        bench.held[q], bench.held_since[q] = 1, bench.n
        bench.writes.extend((q, at // 4, data) for at, data in list(bench.words(q).items())[:1])
        await bench.cycle()
        bench.held[q] = 0
        await bench.cycle(applied=1 << q)
        await bench.rest(120)
    assert bench.seen["ticks"] > 20


@cocotb.test()
async def reset_forgets_everything(dut: Any) -> None:
    bench = await _run(dut, "random_gaps", 1, 5000)
    dut.rst.value = 1
    bench.expected.clear()
    await bench.reset()
    again = Bench(dut, SEED + 7)
    again.params = bench.params
    again.now = bench.now
    await again.rest(200)
    assert not int(dut.wake_valid.value) and not int(dut.busy.value)
    for q in range(QUEUES):
        await again.cycle(request=Request(q, 1 << 20, 100, 0, 0))
        await again.rest(3)
    await again.phase(STYLES["mixed_queues_every_4_cycles"], 3000)


@cocotb.test()
async def queues_of_other_policies_have_no_ticks(dut: Any) -> None:
    bench = Bench(dut, SEED)
    bench.selected = 0b0101
    await bench.start()
    await bench.phase(STYLES["random_gaps"], 3000)
    assert bench.seen["ticks"] > 10


@cocotb.test()
async def a_delay_that_a_queue_left_behind_keeps_it_awake(dut: Any) -> None:
    """The queue may still become empty, and that has to be seen; `turning` tells whether the unit rests."""
    bench = Bench(dut, SEED)
    await bench.start()
    for q in range(QUEUES):
        await bench.configure(q, DEFAULTS, clear=True)
    for q in range(QUEUES):
        dut.selected.value = bench.selected = (1 << QUEUES) - 1
        bench.event = bench.n
        await bench.rest(100)
        await bench.cycle(departure=Departure(q, 20_000, 5))
        dut.selected.value = bench.selected = dut.copying.value = 0
        bench.event = bench.n
        for _ in range(2 * LINGER):
            await bench.cycle()
            assert int(dut.turning.value), "it rests"
        await bench.cycle(emptied=q)
        for _ in range(LINGER):
            await bench.cycle()
            assert int(dut.turning.value), "it does not linger"
        await bench.rest(8)
        assert not int(dut.turning.value), "it does not rest"
        assert not any(m.delay.ns for m in bench.models)


@cocotb.test()
async def default_parameters_over_a_minute(dut: Any) -> None:
    """The RFC's parameters, ticks every 15 ms of 4000 intervals, time skipped as a simulator does."""
    bench = Bench(dut, SEED)
    await bench.start()
    for q in range(QUEUES):
        await bench.configure(q, DEFAULTS, clear=True)
    rng = bench.rng
    for i in range(1000):
        for q in range(QUEUES):
            sojourn = int(abs(rng.gauss(15e6, 8e6) if i % 200 < 120 else rng.gauss(5e6, 3e6)))
            await bench.cycle(Request(q, 20000, 20, rng.randrange(4), rng.getrandbits(24)), Departure(q, sojourn, 3))
            await bench.rest(4)
        wake = [d.deadline(DEFAULTS.interval) for d in bench.deadlines if d.awake]
        ahead = min((w - bench.now) % TIME for w in wake)
        if ahead < TIME >> 1:
            bench.now = (bench.now + max(0, ahead - CYCLE_NS)) % TIME
            bench.event = bench.n
        await bench.rest(300)
    assert bench.seen["ticks"] >= 4 * 990

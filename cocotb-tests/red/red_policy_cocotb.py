"""Bench of RedPolicy: every verdict against the golden Ewma and Red, bit for bit and to the cycle.

A request that finds its queue empty takes its place among the others `DECAY_CYCLES` later. Requests come as
`PolicyPorts` allows: `INTERVAL` from the one before; those that find something in their queue as far from each such
place, and behind those of their own queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from golden.ewma import SLOTS_MAX, Ewma
from golden.isred import IsredParams
from golden.params import BYTES_AFTER, BYTES_BEFORE, GEOMETRIC, UNIFORM, UNIFORM_WAIT, RedParams
from golden.red import ABOVE, BAND, DROP, EARLY, MARK, NONE, OUTSIDE, Red, Verdict
from policy_bench import (
    CYCLE_NS,
    DECAY_CYCLES,
    INTERVAL,
    POLICY,
    QUEUES,
    SEED,
    STYLES,
    TIME,
    ConfigFlow,
    Counter,
    Request,
    Stimulus,
    Style,
    edge_draw,
    leave,
    preload_params,
    record_params,
    red_words,
    reset,
)

LATENCY = 10
COUNT_STAGE = 4
SLOPE_STAGE = 2
#: policy number of RED
RED = 1
REQUEST_PORTS = {
    "queue": "queue",
    "now_ns": "nowNs",
    "length": "length",
    "bytes": "bytes",
    "packets": "packets",
    "frames": "frames",
    "empty": "empty",
    "ecn": "ecn",
    "draw": "draw",
}

#: ports without effect, in bits
UNUSED = {
    "emptied": QUEUES, "departure_valid": 1, "departure_payload_queue": 2, "departure_payload_nowNs": 48,
    "departure_payload_sojournNs": 48, "departure_payload_length": 14, "departure_payload_ecn": 2,
    "departure_payload_exempt": 1, "departure_payload_bytes": 21, "departure_payload_packets": 16,
}  # fmt: skip


@dataclass
class Taking:
    """A request until its t4; `t0` is the cycle of its place."""

    t0: int
    request: Request
    average: int
    slots: int
    rise: IsredParams | None = None
    params: RedParams | None = None


class Bench:
    """Runs models and RTL side by side, one call of `cycle` a clock cycle.

    Order within a cycle (docs/modules): commit, then the count of the request of four cycles ago, then clear.
    """

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut = dut
        self.rng, self.noise = Random(seed), Random(seed)
        self.params = [RedParams() for _ in range(QUEUES)]
        self.units = [0] * QUEUES
        self.now = 0
        self.n = 0
        self.forget()
        self.seen: Counter[object] = Counter()
        self.values: dict[str, set[int]] = {}
        self.unused = [(getattr(dut, name), width) for name, width in UNUSED.items()]
        self.request_ports = {name: getattr(dut, f"request_payload_{port}") for name, port in REQUEST_PORTS.items()}
        self.verdict_ports = [
            getattr(dut, f"verdict_payload_{name}")
            for name in (
                "action",
                "cause",
                "evidence_average",
                "evidence_count",
                "evidence_probability",
                "evidence_idleSlots",
            )
        ]

    def forget(self) -> None:
        """The models after a reset; nothing is in flight."""
        self.ewma = [Ewma() for _ in range(QUEUES)]
        self.red = [Red() for _ in range(QUEUES)]
        #: in the order of their places; of them those that found their queue empty, for as long as they matter
        self.taking: list[Taking] = []
        self.deferred: list[Taking] = []
        self.expected: deque[tuple[int, Request, Verdict]] = deque()
        self.commit: tuple[Request, bool, bool] | None = None
        #: the last place of each queue, the cycle of the last request and of each queue's last departure
        self.placed = [-100] * QUEUES
        self.requested = -100
        self.left_at = [-100] * QUEUES
        self.waiting: Request | None = None
        self.held: tuple[Request, bool, bool] | None = None

    async def reset(self) -> None:
        """A cycle of `rst`: the configuration stays, as with a reset of the datapath."""
        dut = self.dut
        dut.rst.value = 1
        dut.request_valid.value = dut.commit_valid.value = dut.left_valid.value = 0
        await FallingEdge(dut.clk)
        self.n += 1
        dut.rst.value = 0
        self.forget()

    async def start(self) -> None:
        """Reset with every input at 0."""
        dut = self.dut
        for signal in (
            dut.nowNs,
            dut.selected,
            dut.copying,
            dut.applied,
            dut.clear,
            dut.left_valid,
            dut.request_valid,
            dut.request_payload_policy,
            dut.commit_valid,
            dut.commit_payload_queue,
            dut.commit_payload_length,
            dut.commit_payload_acts,
            *(port for port, _ in self.unused),
            *self.request_ports.values(),
        ):
            signal.value = 0
        for q in range(QUEUES):
            getattr(dut, f"unit_{q}").value = 0
        self.config = ConfigFlow(dut)
        await reset(dut)
        dut.selected.value = (1 << QUEUES) - 1
        dut.copying.value = 1
        for q in range(QUEUES):
            await self.configure(q, self.params[q], 0)

    # ---- what policies other than RED add

    def policy(self, queue: int) -> int:
        """Number of the queue's policy."""
        return RED

    def words(self, queue: int) -> dict[int, int]:
        """Configuration words of the queue."""
        return {POLICY: self.policy(queue), **red_words(self.params[queue], self.rng)}

    def rise(self, request: Request, before: int, after: int) -> IsredParams | None:
        """What ISRED makes of an arrival that moved the average."""
        return None

    def live(self, queue: int) -> RedParams:
        """The parameters that an arrival is judged by."""
        return self.params[queue]

    def before_cycle(self, request: Request | None, clear: int) -> None:
        """Called with the inputs of a cycle."""

    # ---- one cycle

    def _sample(self) -> None:
        """Compare the outputs of this cycle."""
        dut = self.dut
        due = bool(self.expected) and self.expected[0][0] == self.n
        valid = dut.verdict_valid.value
        assert int(valid) == due, f"cycle {self.n}: verdict_valid={valid}, expected {due}"
        self.commit = None
        if due:
            _, request, want = self.expected.popleft()
            got = tuple(int(port.value) for port in self.verdict_ports)
            wanted = (want.action, want.cause, want.average, want.count, want.probability, want.idle_slots)
            assert got == wanted, (
                f"cycle {self.n}: (action, cause, average, count, probability, idleSlots) = {got}, "
                f"expected {wanted}; {request}; {self.params[request.queue]}; {want}"
            )
            self._cover(request, want)
            self.commit = (request, *self._fate(want))

    def _fate(self, want: Verdict) -> tuple[bool, bool]:
        """(selected, dropped) of the commit: mostly the verdict's, sometimes overridden."""
        kind = self.rng.random()
        if kind < 0.05:
            self.seen["protected"] += want.selected
            return False, False
        if kind < 0.10:
            self.seen["over the limit"] += not want.selected
            return want.selected and self.rng.random() < 0.5, True
        return want.selected, want.action == DROP

    def _cover(self, request: Request, want: Verdict) -> None:
        params = self.params[request.queue]
        seen = self.seen
        seen["verdicts"] += 1
        seen["region", want.region] += 1
        seen["action", want.action, want.cause] += 1
        if want.region == BAND:
            seen["spread", params.spread, "byte", params.byte_mode, want.selected] += 1
            seen["gentle slope"] += want.average >= params.maximum << 11
            seen["exempt"] += want.exempt
        seen["decayed"] += want.idle_slots > 0
        seen["slots saturated"] += want.idle_slots == SLOTS_MAX
        if want.selected:
            seen["selected", want.cause, request.ecn, params.ecn, params.hard_drop, params.no_drop] += 1

    def _drive_commit(self) -> None:
        dut = self.dut
        held = self.held
        dut.commit_valid.value = held is not None
        dut.commit_payload_acts.value = held is not None and (held[1] or held[2])
        if held is not None:
            request, selected, dropped = held
            dut.commit_payload_queue.value = request.queue
            dut.commit_payload_length.value = request.length
            self.red[request.queue].commit(request.length, selected, dropped)

    def place(self, request: Request) -> int:
        """The cycle from which a request that comes now takes the time of every other."""
        return self.n + (DECAY_CYCLES if request.empty else 0)

    def may_come(self, request: Request) -> bool:
        """It is legal in this cycle."""
        if self.n < self.requested + INTERVAL:
            return False
        q = request.queue
        if request.empty:
            return self.n > self.left_at[q] + 1
        return all(abs(self.n - d.t0) >= INTERVAL and (d.request.queue != q or self.n > d.t0) for d in self.deferred)

    def _take(self, request: Request) -> None:
        """A request: its ports, and the average that it leaves. Averages of a queue follow its requests' order."""
        assert self.may_come(request), f"cycle {self.n}: the bench breaks the order: {request}"
        dut, q, t0 = self.dut, request.queue, self.place(request)
        for name, port in self.request_ports.items():
            port.value = getattr(request, name)
        dut.request_payload_policy.value = self.policy(q)
        self._cover_place(request, t0)
        if request.empty:
            request = replace(request, bytes=0, frames=0)
        before = self.ewma[q].average
        step = self.ewma[q].request(request.now_ns, request.packets, request.quantity(self.units[q]), self.params[q])
        taking = Taking(t0, request, step.average, step.idle_slots, self.rise(request, before, step.average))
        self.taking.append(taking)
        self.taking.sort(key=lambda t: t.t0)
        if request.empty:
            self.deferred = [d for d in self.deferred if d.t0 + INTERVAL > self.n] + [taking]
        self.placed[q], self.requested = t0, self.n

    def _cover_place(self, request: Request, t0: int) -> None:
        """Its neighbours: by how much its place is behind theirs."""
        for other in self.taking:
            neighbour = t0 - other.t0, other.request.empty, other.request.queue == request.queue
            self.seen["empty" if request.empty else "filled", *neighbour] += 1

    async def cycle(self, request: Request | None = None, left: tuple[int, int] | None = None, clear: int = 0) -> None:
        """Drive the inputs of this cycle, let the models follow, go on to the next and compare its outputs. `left`:
        queue and time.

        A queue with a decision in flight is not cleared: ArrivalDecision lets it settle first (docs/modules/red.md).
        """
        dut = self.dut
        for taking in self.taking:
            if taking.t0 + SLOPE_STAGE == self.n:
                taking.params = self.live(taking.request.queue)
        self._drive_commit()
        for q in range(QUEUES):
            if request is not None and request.queue == q or self.n - self.placed[q] <= LATENCY + 1:
                clear &= ~(1 << q)
        dut.request_valid.value = request is not None
        if request is not None:
            self._take(request)
        for port, width in self.unused:
            port.value = self.noise.getrandbits(width)
        if left is None:
            leave(dut, None, self.now)
        else:
            leave(dut, *left)
            self.ewma[left[0]].left(left[1])
            self.left_at[left[0]] = self.n
        if self.taking and self.taking[0].t0 + COUNT_STAGE == self.n:
            taken = self.taking.pop(0)
            t = taken.request
            assert taken.params is not None
            verdict = self.red[t.queue].take(
                taken.average, t.packets, t.length, t.ecn, t.draw, taken.params, taken.slots, taken.rise
            )
            self.expected.append((taken.t0 + LATENCY, t, verdict))
        dut.clear.value = clear
        for q in range(QUEUES):
            if clear >> q & 1:
                self.ewma[q].clear()
                self.red[q].clear()
        self.before_cycle(request, clear)
        dut.nowNs.value = self.now
        held = self.commit
        await FallingEdge(dut.clk)
        self.n += 1
        self.now = (self.now + CYCLE_NS) % TIME
        self._sample()
        self.held = held

    async def drain(self) -> None:
        """Let everything in flight end."""
        for _ in range(LATENCY + DECAY_CYCLES + 6):
            await self.cycle()
        assert not self.expected and not self.taking
        for q in range(QUEUES):
            assert int(getattr(self.dut, f"live_{q}").value) == self.ewma[q].average

    async def configure(self, queue: int, params: RedParams, unit: int) -> None:
        """Registers of a queue; nothing may be in flight."""
        self.params[queue], self.units[queue] = params, unit
        getattr(self.dut, f"unit_{queue}").value = unit
        await self.config.write(queue, self.words(queue), self.cycle)
        record_params(self.values, params)
        self.values.setdefault("unit", set()).add(unit)

    # ---- phases

    async def preload(self, stimulus: Stimulus) -> None:
        """Set every average near its thresholds: one request with w = 1."""
        for q in range(QUEUES):
            await self.configure(q, preload_params(stimulus.params[q]), stimulus.units[q])
        for q in range(QUEUES):
            request = stimulus.request(q, self.now)
            await self.cycle(replace(request, packets=max(request.packets, 1)))
            for _ in range(INTERVAL):
                await self.cycle()
        await self.drain()
        for q in range(QUEUES):
            await self.configure(q, stimulus.params[q], stimulus.units[q])

    async def phase(self, style: Style, requests: int) -> None:
        """One set of registers, `requests` requests in the style's manner."""
        rng = self.rng
        stimulus = Stimulus(style, rng)
        if style.start_ns is not None:
            self.now = style.start_ns
        await self.preload(stimulus)
        wait = 0
        while requests:
            if rng.random() < style.jump:
                self.now = (self.now + int(2 ** (47 * rng.random()))) % TIME
            request = None
            if wait <= 0:
                request = self._request(stimulus, style.queues)
            if request is not None:
                requests -= 1
                wait = rng.choice(style.gaps)
            wait -= 1
            # the first request comes two cycles after it
            clear = 1 << rng.choice(style.queues) if wait > 0 and rng.random() < 0.001 else 0
            await self.cycle(request, self._left(style, request), clear)
        await self.drain()

    def _left(self, style: Style, request: Request | None) -> tuple[int, int] | None:
        """A departure, granted a while ago; not of a queue that is found empty."""
        queue = self.rng.choice(style.queues)
        if self.rng.random() >= style.left or (request is not None and request.empty and request.queue == queue):
            return None
        return queue, (self.now - self.rng.randrange(100)) % TIME

    def _request(self, stimulus: Stimulus, queues: Sequence[int]) -> Request | None:
        """The request that waits, or another of these queues; None while it may not come. Sometimes another goes
        first."""
        if self.waiting is None or self.rng.random() < 0.05:
            self.waiting = stimulus.request(self.rng.choice(queues), self.now)
        if not self.may_come(self.waiting):
            self.seen["waits"] += 1
            return None
        request, self.waiting = replace(self.waiting, now_ns=self.now), None
        queue = request.queue
        if self.rng.random() < 0.4:
            model, params = self.red[queue], self.live(queue)
            spare = Ewma()
            spare.average = self.ewma[queue].average
            average = spare.request(0, 1, request.quantity(self.units[queue]), params).average
            draw = edge_draw(
                self.rng, average, model.count + 1, model.count_bytes + request.length, request.length, params
            )
            if draw is not None:
                self.seen["edge draws"] += 1
                request = replace(request, draw=draw)
        return request


def _report(bench: Bench, dut: Any) -> None:
    for key, n in sorted(bench.seen.items(), key=str):
        dut._log.info(f"{key}: {n}")


async def _run(dut: Any, name: str, phases: int, requests: int) -> Bench:
    bench = Bench(dut, SEED * 1000 + sorted(STYLES).index(name))
    await bench.start()
    for _ in range(phases):
        await bench.phase(STYLES[name], requests)
    _report(bench, dut)
    seen = bench.seen
    assert seen["verdicts"] >= phases * requests
    for region in (OUTSIDE, BAND, ABOVE):
        assert seen["region", region] > 0
    for action in (MARK, DROP):
        assert seen["action", action, 1] and seen["action", action, 2]
    assert seen["edge draws"] and seen["protected"] and seen["over the limit"]
    for f in fields(RedParams):
        assert len(bench.values[f.name]) >= 2, f"{f.name} had one value only"
    return bench


@cocotb.test()
async def one_queue_every_4_cycles(dut: Any) -> None:
    await _run(dut, "one_queue_every_4_cycles", 50, 200)


@cocotb.test()
async def mixed_queues_every_4_cycles(dut: Any) -> None:
    bench = await _run(dut, "mixed_queues_every_4_cycles", 50, 200)
    for spread in range(3):
        for mode in range(3):
            for selected in (False, True):
                assert bench.seen["spread", spread, "byte", mode, selected] > 0, (spread, mode, selected)
    assert bench.seen["gentle slope"] and bench.seen["exempt"]


@cocotb.test()
async def random_gaps(dut: Any) -> None:
    await _run(dut, "random_gaps", 40, 200)


@cocotb.test()
async def one_queue_random_gaps(dut: Any) -> None:
    await _run(dut, "one_queue_random_gaps", 40, 200)


@cocotb.test()
async def empty_queues(dut: Any) -> None:
    bench = await _run(dut, "empty_queues", 40, 200)
    assert bench.seen["decayed"] and bench.seen["slots saturated"] and bench.seen["waits"]


@cocotb.test()
async def empty_queues_close(dut: Any) -> None:
    """Requests as close as they may come to places of those that found their queue empty: before and behind, of the
    same queue and of others."""
    seen = (await _run(dut, "empty_queues_close", 40, 200)).seen
    assert min(seen["empty", INTERVAL, True, same] for same in (False, True)) > 100
    assert min(seen["filled", INTERVAL, True, same] for same in (False, True)) > 20
    for before in range(INTERVAL, DECAY_CYCLES - INTERVAL + 1):
        assert seen["filled", -before, True, False] > 5, before
    seen = (await _run(dut, "one_empty_queue_every_4_cycles", 40, 200)).seen
    assert min(seen[kind, INTERVAL, True, True] for kind in ("empty", "filled")) > 100


@cocotb.test()
async def hostile_registers(dut: Any) -> None:
    await _run(dut, "hostile_registers", 120, 100)


@cocotb.test()
async def time_wraps(dut: Any) -> None:
    bench = await _run(dut, "time_wraps", 60, 100)
    assert bench.seen["decayed"]


@cocotb.test()
async def the_counts_saturate(dut: Any) -> None:
    """More than 2^16 arrivals in the band without a selection: count and countBytes stay at their largest."""
    bench = Bench(dut, SEED)
    await bench.start()
    base = RedParams(
        minimum=100 << 11,
        maximum=200 << 11,
        slope_mantissa=1,
        slope_exponent=10,
        spread=UNIFORM_WAIT,
        byte_mode=BYTES_AFTER,
        mean_mantissa=1 << 17,
        mean_exponent=10,
    )
    quiet = [base, replace(base, byte_mode=0), replace(base, spread=GEOMETRIC), base]
    for q in range(QUEUES):
        await bench.configure(q, quiet[q], 1)
    last = 0
    for i in range(65600):
        q = 1 if i % 16 else 0
        bench.rng.seed(1)  # _fate: keep the verdict
        await bench.cycle(Request(q, bench.now, 9216, 5000, 150, 10, 0, 0xFFFFFF))
        for _ in range(3):
            await bench.cycle()
        last = bench.red[1].count
    assert last >= 61000
    assert bench.red[0].count_bytes == (1 << 24) - 1
    for _ in range(5000):
        bench.rng.seed(1)
        await bench.cycle(Request(1, bench.now, 9216, 5000, 150, 10, 0, 0xFFFFFF))
        for _ in range(3):
            await bench.cycle()
    await bench.drain()
    assert bench.red[1].count == 65535
    assert bench.seen["action", 0, NONE] > 0


@cocotb.test()
async def count_times_size_saturates_from_three_quarters_on(dut: Any) -> None:
    """κ = 9216·(2^18 − 1), κ >> 18 = 9215, so 22 packets, 22·9215 >= 3·2^16, count as all ones: p = 75400 and the largest u select
    the 22nd, u·2^28·2^24 < p·(2^36 − 1). Exact products would select the 24th: p·(1 + 23)·κ < 2^52 < p·(1 + 24)·κ."""
    bench = Bench(dut, SEED)
    await bench.start()
    params = RedParams(
        minimum=100 << 11,
        maximum=200 << 11,
        slope_mantissa=377,
        slope_exponent=13,
        spread=UNIFORM,
        byte_mode=BYTES_BEFORE,
        mean_mantissa=(1 << 18) - 1,
    )
    await bench.configure(0, params, 1)
    selected = []
    for n in range(89):
        before = bench.seen["action", DROP, EARLY]
        bench.rng.seed(1)  # _fate: keep the verdict
        await bench.cycle(Request(0, bench.now, 9216, 5000, 150, 10, 0, 0xFFFFFF))
        await bench.drain()
        if bench.seen["action", DROP, EARLY] > before:
            selected.append(n)
    assert selected == [22, 44, 66, 88]  # the first has count 0, later ones 1 behind a drop


@cocotb.test()
async def a_cleared_average_starts_from_zero(dut: Any) -> None:
    bench = Bench(dut, SEED)
    await bench.start()
    for _ in range(20):
        stimulus = Stimulus(Style(gaps=(4,)), bench.rng)
        await bench.preload(stimulus)
        for age in (*range(14), *range(20, 28)):
            for q in range(QUEUES):
                await bench.cycle(bench._request(stimulus, [q]))
                for _ in range(3):
                    await bench.cycle()
            for _ in range(age):
                await bench.cycle()
            await bench.cycle(clear=bench.rng.randrange(1, 16))
            for _ in range(3):
                await bench.cycle()
        await bench.drain()
    assert bench.seen["verdicts"] >= 1000


@cocotb.test()
async def reset_forgets_everything(dut: Any) -> None:
    """At rest, and with a request that found its queue empty in each of its cycles."""
    bench = Bench(dut, SEED)
    await bench.start()
    await bench.phase(STYLES["mixed_queues_every_4_cycles"], 100)
    for age in range(LATENCY + DECAY_CYCLES + 3):
        await bench.cycle(Request(1, bench.now, 64, 0, 0, 0, 0, 0))
        for _ in range(age):
            await bench.cycle()
        await bench.reset()
        for q in range(QUEUES):
            assert int(getattr(dut, f"live_{q}").value) == 0
        await bench.drain()
        await bench.phase(STYLES["empty_queues_close"], 20)


@cocotb.test()
async def words_that_come_during_a_reset_are_kept(dut: Any) -> None:
    """CTRL.RESET resets the data path and not the configuration: an apply may go on through it."""
    bench = Bench(dut, SEED)
    await bench.start()
    await bench.phase(STYLES["mixed_queues_every_4_cycles"], 20)
    for hold in range(1, 12):
        stimulus = Stimulus(Style(gaps=(4,)), bench.rng)
        for q in range(QUEUES):
            dut.rst.value = 1
            await bench.configure(q, preload_params(stimulus.params[q]), stimulus.units[q])
            dut.rst.value = 0
            for _ in range(hold):
                await bench.cycle()
        bench.forget()
        for _ in range(20):
            for q in range(QUEUES):
                await bench.cycle(bench._request(stimulus, [q]))
                for _ in range(3):
                    await bench.cycle()
        await bench.drain()
    assert bench.seen["verdicts"] > 800 and bench.seen["action", DROP, EARLY]


@cocotb.test()
async def a_slope_far_too_steep_is_probability_one(dut: Any) -> None:
    """Written by hand, a slope may lead far above 1 within the band: 50 or 60 000 packets behind the minimum of 100, by all exponents.
    Where slope·excess >= 1 even the largest u selects, also if the product has nothing in its lower bits."""
    bench = Bench(dut, SEED)
    await bench.start()
    selected, expected = [], []
    for excess, exponent in product((50, 60_000), range(64)):
        params = RedParams(
            minimum=100 << 11,
            maximum=65_535 << 11,
            slope_mantissa=1 << 17,
            slope_exponent=exponent,
            spread=GEOMETRIC,
            byte_mode=0,
        )
        await bench.configure(0, params, 1)
        before = bench.seen["action", DROP, EARLY]
        for _ in range(3):
            bench.rng.seed(1)  # _fate: keep the verdict
            await bench.cycle(Request(0, bench.now, 1000, 150_000, 100 + excess, 10, 0, 0xFFFFFF))
            await bench.drain()
        selected.append(bench.seen["action", DROP, EARLY] - before)
        expected.append(3 if excess * params.slope >= 1 else 0)
    assert selected == expected and 10 < sum(map(bool, selected)) < 118

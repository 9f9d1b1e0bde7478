"""Bench of CompactPolicies: every decision against the golden models, bit for bit, one after the other.

The engine decides about one arrival at a time: a request comes when it is ready, its commit one cycle after the verdict,
and the models take both in that order. Stimuli are those of RED's bench.
"""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from golden import dt_ecn
from golden.ewma import SLOTS_MAX, Ewma
from golden.params import ONE36, UNIFORM_WAIT, RedParams
from golden.red import ABOVE, BAND, DROP, EARLY, MARK, OUTSIDE, Red, Verdict
from policy_bench import (
    CYCLE_NS,
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

RED, DT_ECN = 1, 2
DTECN_THRESHOLD = 0x070
#: cycles after which a program without an end is given up
MOST = 400
REQUEST_PORTS = {
    "queue": "queue", "now_ns": "nowNs", "length": "length", "bytes": "bytes", "packets": "packets", "frames": "frames",
    "empty": "empty", "ecn": "ecn", "draw": "draw",
}  # fmt: skip
VERDICT_PORTS = (
    "action", "cause", "evidence_average", "evidence_count", "evidence_probability", "evidence_idleSlots",
)  # fmt: skip
#: ports without effect, in bits
UNUSED = {
    "emptied": QUEUES, "departure_valid": 1, "departure_payload_queue": 2, "departure_payload_nowNs": 48,
    "departure_payload_sojournNs": 48, "departure_payload_length": 14, "departure_payload_ecn": 2,
    "departure_payload_exempt": 1, "departure_payload_bytes": 21, "departure_payload_packets": 16, "selected": QUEUES,
    "nowNs": 48,
}  # fmt: skip


class Bench:
    """Models and RTL side by side, a decision at a time."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut = dut
        self.rng = Random(seed)
        self.policies = [RED] * QUEUES
        self.params = [RedParams() for _ in range(QUEUES)]
        self.thresholds = [0] * QUEUES
        self.units = [0] * QUEUES
        self.now = 0
        self.forget()
        self.seen: Counter[object] = Counter()
        self.values: dict[str, set[int]] = {}
        #: longest times to the verdict and to the next request, by what was decided
        self.cycles: dict[tuple[str, ...], tuple[int, int]] = {}

    def forget(self) -> None:
        """The models after a reset."""
        self.ewma = [Ewma() for _ in range(QUEUES)]
        self.red = [Red() for _ in range(QUEUES)]

    async def cycle(self, n: int = 1) -> None:
        """Clock cycles."""
        for _ in range(n):
            await FallingEdge(self.dut.clk)
            self.now = (self.now + CYCLE_NS) % TIME

    async def start(self) -> None:
        """Reset with every input at 0, and configurations."""
        dut = self.dut
        for name in ("copying", "applied", "clear", "left_valid", "request_valid", "commit_valid"):
            getattr(dut, name).value = 0
        for name in ("commit_payload_queue", "commit_payload_length", "commit_payload_acts", "request_payload_policy"):
            getattr(dut, name).value = 0
        for name, width in UNUSED.items():
            getattr(dut, name).value = self.rng.getrandbits(width)
        for port in REQUEST_PORTS.values():
            getattr(dut, f"request_payload_{port}").value = 0
        for q in range(QUEUES):
            getattr(dut, f"unit_{q}").value = 0
        self.config = ConfigFlow(dut)
        await reset(dut)
        await self.rest()
        for q in range(QUEUES):
            await self.configure(q, RED, self.params[q], 0, 0)

    async def rest(self) -> None:
        """Until it takes a request."""
        for _ in range(QUEUES * MOST):
            if int(self.dut.ready.value):
                return
            await self.cycle()
        raise AssertionError("it does not become ready")

    async def reset(self) -> None:
        """A cycle of `rst` at any time: the configuration stays, as with a reset of the datapath."""
        self.dut.rst.value = 1
        self.dut.request_valid.value = self.dut.commit_valid.value = self.dut.left_valid.value = 0
        await self.cycle()
        self.dut.rst.value = 0
        self.forget()

    async def configure(
        self, queue: int, policy: int, params: RedParams, unit: int, threshold: int, clear: bool = False
    ) -> None:
        """An apply of a queue."""
        dut = self.dut
        self.policies[queue], self.params[queue], self.units[queue] = policy, params, unit
        self.thresholds[queue] = threshold
        await self.rest()
        dut.copying.value = 1
        await self.cycle()
        getattr(dut, f"unit_{queue}").value = unit
        words = {POLICY: policy | unit << 8, DTECN_THRESHOLD: threshold, **red_words(params, self.rng)}
        # of registers that no program reads
        words |= {offset: self.rng.getrandbits(32) for offset in (0x004, 0x044, 0x06C, 0x074, 0x07C, 0x0A8, 0x13C)}
        await self.config.write(queue, words, self.cycle)
        dut.applied.value = 1 << queue
        dut.clear.value = (1 << queue) if clear else 0
        dut.copying.value = 0
        await self.cycle()
        dut.applied.value = dut.clear.value = 0
        if clear:
            self.ewma[queue].clear()
            self.red[queue].clear()
        record_params(self.values, params)
        self.values.setdefault("unit", set()).add(unit)
        await self.rest()

    async def left(self, queue: int, at: int) -> None:
        """A packet granted then has left its queue: two cycles before a request that can tell."""
        leave(self.dut, queue, at)
        self.ewma[queue].left(at)
        await self.cycle()
        leave(self.dut, None, 0)
        await self.cycle()

    def _expected(self, r: Request) -> Verdict:
        """The models' answer."""
        q = r.queue
        if self.policies[q] == DT_ECN:
            held = (r.bytes, r.packets, r.frames)
            return dt_ecn.verdict(r.length, held, self.units[q], r.ecn, self.thresholds[q])
        step = self.ewma[q].request(r.now_ns, r.packets, r.quantity(self.units[q]), self.params[q])
        return self.red[q].take(step.average, r.packets, r.length, r.ecn, r.draw, self.params[q], step.idle_slots, None)

    async def decide(self, request: Request, departure: tuple[int, int] | None = None) -> Verdict:
        """A request, its verdict, which is compared, and its commit. A packet leaves some cycles after the request."""
        dut = self.dut
        await self.rest()
        q = request.queue
        want = self._expected(request)
        dut.request_valid.value = 1
        for name, port in REQUEST_PORTS.items():
            getattr(dut, f"request_payload_{port}").value = getattr(request, name)
        dut.request_payload_policy.value = self.policies[q]
        waited = 0
        leaves = self.rng.randrange(6, 40)
        while True:
            await self.cycle()
            dut.request_valid.value = 0
            waited += 1
            assert waited < MOST, f"no verdict: {request}; {want}"
            if int(dut.verdict_valid.value):
                break
            if waited >= 5:
                dut.request_payload_draw.value = self.rng.getrandbits(24)
                dut.request_payload_nowNs.value = self.rng.getrandbits(48)
            if departure is not None and waited == leaves:
                leave(dut, *departure)
                self.ewma[departure[0]].left(departure[1])
            elif waited == leaves + 1:
                leave(dut, None, 0)
        got = tuple(int(getattr(dut, f"verdict_payload_{name}").value) for name in VERDICT_PORTS)
        wanted = (want.action, want.cause, want.average, want.count, want.probability, want.idle_slots)
        assert got == wanted, (
            f"(action, cause, average, count, probability, idleSlots) = {got}, expected {wanted}; "
            f"{request}; policy {self.policies[q]}; {self.params[q]}; {want}"
        )
        await self._commit(request, want, waited, departure if waited <= leaves else None)
        return want

    async def _commit(self, request: Request, want: Verdict, waited: int, departure: tuple[int, int] | None) -> None:
        dut, q = self.dut, request.queue
        selected, dropped = self._fate(want)
        leave(dut, None, 0)
        await self.cycle()
        assert not int(dut.verdict_valid.value), "a verdict lasts a cycle"
        dut.commit_valid.value = 1
        dut.commit_payload_queue.value = q
        dut.commit_payload_length.value = request.length
        dut.commit_payload_acts.value = selected or dropped
        await self.cycle()
        dut.commit_valid.value = 0
        dut.commit_payload_acts.value = 0
        if self.policies[q] == RED:
            self.red[q].commit(request.length, selected, dropped)
            self._cover(request, want)
        if departure is not None:
            await self.left(*departure)
        self.seen["verdicts"] += 1
        took = waited + 2
        while not int(dut.ready.value):
            await self.cycle()
            took += 1
            assert took < MOST, "the program does not end"
        self._note(request, want, waited, took)
        if self.policies[q] == RED:
            assert int(getattr(dut, f"live_{q}").value) == self.ewma[q].average

    def _fate(self, want: Verdict) -> tuple[bool, bool]:
        """(selected, dropped) of the commit: mostly the verdict's, sometimes overridden."""
        kind = self.rng.random()
        if kind < 0.05:
            return False, False
        if kind < 0.10:
            return want.selected and self.rng.random() < 0.5, True
        return want.selected, want.action == DROP

    def _note(self, request: Request, want: Verdict, waited: int, took: int) -> None:
        """The longest time of each kind of decision."""
        params = self.params[request.queue]
        if self.policies[request.queue] == DT_ECN:
            kind: tuple[str, ...] = ("dt-ecn",)
        else:
            region = ("outside", "band", "forced")[want.region]
            if want.region == BAND and want.average >= params.maximum << 11:
                region = "gentle"
            mode = ("packets", "bytes after", "bytes before", "bytes before")[params.byte_mode]
            wait = "wait" if params.spread >= UNIFORM_WAIT else "no wait"
            idle = "idle" if want.idle_slots else "empty" if request.empty else "filled"
            kind = (idle, region, *((mode, wait) if region in ("band", "gentle") else ()))
        old = self.cycles.get(kind, (0, 0))
        self.cycles[kind] = max(old[0], waited), max(old[1], took)

    def _cover(self, request: Request, want: Verdict) -> None:
        params, seen = self.params[request.queue], self.seen
        seen["region", want.region] += 1
        seen["action", want.action, want.cause] += 1
        if want.region == BAND:
            seen["spread", min(params.spread, 2), "byte", min(params.byte_mode, 2), want.selected] += 1
            seen["gentle slope"] += want.average >= params.maximum << 11
            seen["exempt"] += want.exempt
        seen["decayed"] += want.idle_slots > 0
        seen["slots saturated"] += want.idle_slots == SLOTS_MAX
        seen["rate below 18"] += want.idle_slots > 0 and params.idle_exponent < 18
        seen["rate above 53"] += want.idle_slots > 0 and params.idle_exponent > 53
        seen["w = 1"] += params.weight == ONE36
        seen["w = 0"] += params.weight == 0

    # ---- phases

    def _hostile(self, params: RedParams) -> RedParams:
        """Sometimes w = 0, and an idle rate whose slots do not saturate although its exponent is small."""
        rng = self.rng
        if rng.random() < 0.1:
            params = replace(params, weight=0)
        if rng.random() < 0.3:
            params = replace(params, idle_mantissa=rng.randrange(1, 1 << rng.randrange(1, 19)),
                             idle_exponent=rng.randrange(64))  # fmt: skip
        return params

    async def phase(self, style: Style, requests: int) -> None:
        """One set of registers, `requests` requests in the style's manner."""
        rng = self.rng
        stimulus = Stimulus(style, rng)
        if style.start_ns is not None:
            self.now = style.start_ns
        if style.hostile:
            stimulus.params = [self._hostile(p) for p in stimulus.params]
        for q in range(QUEUES):
            policy = DT_ECN if rng.random() < 0.1 else RED
            threshold = rng.choice([0, (1 << 22) - 1, stimulus.quantity(q), rng.getrandbits(22)])
            changed = policy != self.policies[q] or stimulus.units[q] != self.units[q]
            await self.configure(q, RED, preload_params(stimulus.params[q]), stimulus.units[q], 0, changed)
            await self.decide(replace(stimulus.request(q, self.now), packets=2))
            await self.configure(q, policy, stimulus.params[q], stimulus.units[q], threshold, policy == DT_ECN)
        for _ in range(requests):
            if rng.random() < 20 * style.jump:
                self.now = (self.now + int(2 ** (47 * rng.random()))) % TIME
            q = rng.choice(style.queues)
            if rng.random() < 0.3:
                await self.left(rng.choice(style.queues), (self.now - rng.randrange(100)) % TIME)
                await self.cycle(rng.randrange(3))
            departure = (rng.choice(style.queues), self.now) if rng.random() < 0.3 else None
            await self.decide(self._draw(replace(stimulus.request(q, 0), now_ns=self.now)), departure)

    def _draw(self, request: Request) -> Request:
        """Often with a draw at the border."""
        q = request.queue
        if self.rng.random() > 0.4 or self.policies[q] != RED:
            return request
        model, params, spare = self.red[q], self.params[q], Ewma()
        spare.average = self.ewma[q].average
        average = spare.request(0, 1, request.quantity(self.units[q]), params).average
        draw = edge_draw(self.rng, average, model.count + 1, model.count_bytes + request.length, request.length, params)
        self.seen["edge draws"] += draw is not None
        return request if draw is None else replace(request, draw=draw)


async def _run(dut: Any, name: str, phases: int, requests: int) -> Bench:
    bench = Bench(dut, SEED * 1000 + sorted(STYLES).index(name))
    await bench.start()
    for _ in range(phases):
        await bench.phase(STYLES[name], requests)
    for key, n in sorted(bench.seen.items(), key=str):
        dut._log.info(f"{key}: {n}")
    for kind, (verdict, last) in sorted(bench.cycles.items()):
        dut._log.info(f"cycles of {' '.join(kind)}: {verdict} to the verdict, {last} to the next request")
    seen = bench.seen
    assert seen["verdicts"] >= phases * requests
    for region in (OUTSIDE, BAND, ABOVE):
        assert seen["region", region] > 0
    for action in (MARK, DROP):
        assert seen["action", action, 1] and seen["action", action, 2]
    assert seen["edge draws"]
    for f in fields(RedParams):
        assert len(bench.values[f.name]) >= 2, f"{f.name} had one value only"
    return bench


@cocotb.test()
async def decisions_of_four_queues(dut: Any) -> None:
    bench = await _run(dut, "mixed_queues_every_4_cycles", 60, 100)
    for spread in range(3):
        for mode in range(3):
            for selected in (False, True):
                assert bench.seen["spread", spread, "byte", mode, selected] > 0, (spread, mode, selected)
    assert bench.seen["gentle slope"] and bench.seen["exempt"]


@cocotb.test()
async def hostile_registers(dut: Any) -> None:
    seen = (await _run(dut, "hostile_registers", 160, 25)).seen
    assert seen["rate below 18"] > 20 and seen["rate above 53"] > 5 and seen["w = 0"] > 50 and seen["w = 1"] > 50


@cocotb.test()
async def empty_queues(dut: Any) -> None:
    seen = (await _run(dut, "empty_queues", 40, 60)).seen
    assert seen["decayed"] > 100 and seen["slots saturated"] > 10


@cocotb.test()
async def time_wraps(dut: Any) -> None:
    await _run(dut, "time_wraps", 10, 40)


@cocotb.test()
async def every_exponent(dut: Any) -> None:
    """Each scaled register with all exponents, and mantissas at the ends and at random; the idle rate also with 1."""
    bench = Bench(dut, SEED)
    await bench.start()
    rng = bench.rng
    for exponent in range(64):
        for mantissa in (1, (1 << 18) - 1, rng.randrange(1 << 17, 1 << 18)):
            base = RedParams(
                weight=ONE36 // 4, decay=rng.getrandbits(rng.randrange(20, 42)), minimum=10 << 11, maximum=1000 << 11,
                gentle=True, max_p=1 << 30, spread=rng.randrange(3), byte_mode=rng.randrange(3),
                slope_mantissa=mantissa, slope_exponent=exponent, gentle_mantissa=mantissa, gentle_exponent=exponent,
                mean_mantissa=mantissa, mean_exponent=exponent, idle_mantissa=mantissa, idle_exponent=exponent,
            )  # fmt: skip
            await bench.configure(0, RED, base, 1, 0, clear=True)
            for packets in (2, 5000, 5000, 700, 700, 0, 1200, 1500, 0, 0):
                bench.now = (bench.now + int(2 ** (rng.random() * 47))) % TIME
                length = rng.choice([60, 1514, rng.randrange(14, 9217)])
                held = (packets * 1000) % (1 << 21)
                await bench.decide(
                    bench._draw(Request(0, bench.now, length, held, packets, packets, 2, rng.getrandbits(24)))
                )
    assert bench.seen["region", BAND] > 200


@cocotb.test()
async def the_count_of_bytes_saturates(dut: Any) -> None:
    """p is 0 and nothing restarts the counts. The count of packets does not come to its end in so few decisions."""
    bench = Bench(dut, SEED)
    await bench.start()
    params = RedParams(minimum=1 << 11, maximum=1 << 25, spread=1, byte_mode=1, mean_mantissa=1, mean_exponent=10)
    await bench.configure(1, RED, params, 1, 0, clear=True)
    bench._fate = lambda want: (False, False)  # type: ignore[method-assign]
    for _ in range(1900):
        want = await bench.decide(Request(1, bench.now, 9216, 20_000, 20, 20, 0, 1))
    assert want.used_bytes == (1 << 24) - 1


@cocotb.test()
async def reset_at_any_time_starts_anew(dut: Any) -> None:
    bench = Bench(dut, SEED)
    await bench.start()
    await bench.phase(STYLES["mixed_queues_every_4_cycles"], 20)
    for age in range(0, 140, 3):
        await bench.rest()
        dut.request_valid.value = 1
        await bench.cycle()
        dut.request_valid.value = 0
        await bench.cycle(age)
        await bench.reset()
        await bench.rest()
        for q in range(QUEUES):
            assert int(getattr(dut, f"live_{q}").value) == 0
            for packets in (0, 3, 50):
                await bench.decide(
                    Request(q, bench.now, 700, 1000 * packets, packets, packets, 2, bench.rng.getrandbits(24))
                )


@cocotb.test()
async def a_slope_far_too_steep_is_probability_one(dut: Any) -> None:
    """As RED's bench has it: where slope·excess >= 1 even the largest u selects."""
    bench = Bench(dut, SEED)
    await bench.start()
    bench._fate = lambda want: (want.selected, want.action == DROP)  # type: ignore[method-assign]
    for excess in (50, 60_000):
        for exponent in range(64):
            params = RedParams(minimum=100 << 11, maximum=65_535 << 11, slope_mantissa=1 << 17, slope_exponent=exponent)
            await bench.configure(0, RED, params, 1, 0)
            want = await bench.decide(Request(0, bench.now, 1000, 150_000, 100 + excess, 10, 0, 0xFFFFFF))
            assert (want.action == DROP and want.cause == EARLY) == (excess * params.slope >= 1)

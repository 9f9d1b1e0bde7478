"""Bench of Codel: every verdict at departure against the golden model, one cycle after the departure."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from codel_stimulus import STYLES, Stimulus, Style, params_of
from golden.codel import COUNT_MAX, ENTERED, EPOCH, LOOP, TIME, Codel, CodelParams, Departing, Ruling, step
from golden.red import ACCEPT, DROP, MARK
from policy_bench import leave_without_effect

SEED = int(os.environ["WEIR_SEED"])
QUEUES = 4
CYCLE_NS = 6
#: departures are at least this many cycles apart
APART = 6
#: from the grant, whose time a departure carries, to the departure at the policy
GRANT_NS = 4 * CYCLE_NS
LATENCY = 10
REGISTERS = {"ecn": 0x0D8, "target": 0x0DC, "interval": 0x0E0, "mtu": 0x0E4, "ce_threshold": 0x0E8}


class Bench:
    """The RTL and four golden queues side by side."""

    def __init__(self, dut: Any, style: Style, seed: int) -> None:
        self.dut = dut
        self.style = style
        self.rng = Random(seed)
        self.models = [Codel() for _ in range(QUEUES)]
        self.params = [params_of(style, self.rng) for _ in range(QUEUES)]
        self.stimuli = [Stimulus(style, self.rng, p) for p in self.params]
        self.now = style.start_ns
        self.last = 0
        self.seen: Counter[object] = Counter()

    async def start(self) -> None:
        """Reset, then all registers of all queues."""
        dut = self.dut
        for valid in (
            dut.departure_valid,
            dut.emptied,
            dut.config_valid,
            dut.request_valid,
            dut.commit_valid,
            dut.left_valid,
            dut.clear,
            dut.applied,
            dut.selected,
        ):
            valid.value = 0
        dut.nowNs.value = self.now
        dut.copying.value = 1
        Clock(dut.clk, 2, "ns").start()
        await self.reset()
        for q in range(QUEUES):
            await self.configure(q, self.params[q])

    async def reset(self) -> None:
        """Three cycles of `rst`."""
        self.dut.rst.value = 1
        for _ in range(3):
            await FallingEdge(self.dut.clk)
        self.dut.rst.value = 0
        self.models = [Codel() for _ in range(QUEUES)]

    async def configure(self, q: int, params: CodelParams) -> None:
        """An apply of queue `q`: its words, one a cycle, with bits that do not exist set at random."""
        dut = self.dut
        for name, offset in REGISTERS.items():
            spare = {"ecn": 1, "mtu": 14}.get(name, 32)
            dut.config_valid.value = 1
            dut.config_payload_queue.value = q
            dut.config_payload_word.value = offset // 4
            dut.config_payload_data.value = int(getattr(params, name)) | self.rng.getrandbits(32) >> spare << spare
            await self.cycle()
        dut.config_valid.value = 0
        self.params[q] = params
        self.stimuli[q].params = params

    async def cycle(self, jump: int = 0) -> None:
        """One cycle in which nothing departs."""
        self.now = (self.now + CYCLE_NS + jump) % TIME
        self.dut.nowNs.value = self.now
        leave_without_effect(self.dut)
        await FallingEdge(self.dut.clk)
        assert not int(self.dut.departureVerdict_valid.value)

    async def depart(self, q: int, packet: Departing) -> Ruling:
        """A departure, now; returns after the cycle of its verdict."""
        dut = self.dut
        for model in self.models:
            model.sweep(self.now)
        want = self.models[q].depart(packet, self.params[q])
        dut.departure_valid.value = 1
        dut.departure_payload_queue.value = q
        dut.departure_payload_nowNs.value = packet.now_ns
        dut.departure_payload_sojournNs.value = packet.sojourn_ns
        dut.departure_payload_bytes.value = packet.bytes
        dut.departure_payload_ecn.value = packet.ecn
        dut.departure_payload_exempt.value = packet.exempt
        dut.departure_payload_length.value = self.rng.getrandbits(14)
        dut.departure_payload_packets.value = self.rng.getrandbits(16)
        self.now = (self.now + CYCLE_NS) % TIME
        dut.nowNs.value = self.now
        await FallingEdge(dut.clk)
        dut.departure_valid.value = 0
        dut.departure_payload_nowNs.value = self.rng.getrandbits(48)
        assert int(dut.departureVerdict_valid.value)
        assert int(dut.busy.value)
        got = (int(dut.departureVerdict_payload_action.value), int(dut.departureVerdict_payload_cause.value))
        assert got == (want.action, want.cause), f"queue {q}: {got}, expected {want}; {packet}; {self.params[q]}"
        self.seen["departures"] += 1
        self.seen[FATES[want.action]] += 1
        return want

    def cover(self, q: int, want: Ruling, packet: Departing) -> None:
        """What was met: phases, deadlines to the nanosecond."""
        model, params, seen = self.models[q], self.params[q], self.seen
        seen["dropping"] += model.dropping
        seen["entered"] += model.phase == ENTERED
        seen["loop"] += model.phase == LOOP
        seen["resumed"] += want.selected and model.count == model.lastcount > 1
        seen["threshold mark"] += want.action == MARK and not want.selected
        seen["marked"] += want.action == MARK and want.selected
        seen["exempt"] += packet.exempt
        seen["CE selected"] += want.selected and want.action == ACCEPT
        seen["largest count"] = max(seen["largest count"], model.count)
        seen["drop_next to the ns"] += want.selected and model.drop_before.age(packet.now_ns) == 0
        seen["one ns before drop_next"] += model.dropping and model.drop_next.age(packet.now_ns) == -1
        seen["sojourn is the target"] += packet.sojourn_ns == params.target
        seen["q is the MTU"] += packet.bytes == params.mtu

    async def run(self, departures: int) -> None:
        """Departures as the style says, with clears, emptied queues and applies between them."""
        rng = self.rng
        for _ in range(departures):
            q = rng.randrange(QUEUES) if rng.random() < 0.3 else self.last
            self.last = q
            cycles = rng.choice([APART, APART, APART, 7, 8, 12]) - 1
            ahead = (self.now + cycles * CYCLE_NS - GRANT_NS) % TIME
            rest = self.stimuli[q].rest(self.models[q], ahead)
            if rest:
                cycles, rest = 10, max(rest - (10 - cycles) * CYCLE_NS, 0)
            for n in range(cycles):
                await self._between(n, rest if n == APART else 0)
            packet = self.stimuli[q].departure((self.now - GRANT_NS) % TIME)
            self.cover(q, await self.depart(q, packet), packet)
            if rng.random() < 0.002:
                await self.cycle()
                p = rng.randrange(QUEUES)
                await self.configure(p, params_of(self.style, rng))

    async def _between(self, n: int, jump: int) -> None:
        """Cycle n + 2 of the last departure, and what may happen in it."""
        dut, rng = self.dut, self.rng
        event = rng.random()
        q = rng.randrange(QUEUES)
        if event < 0.0008 and n >= 1:
            dut.clear.value = 1 << q
            self.models[q].clear()
            self.seen["clear"] += 1
        elif event < 0.002 and n >= 1:
            dut.emptied.value = 1 << q
            self.models[q].emptied()
            self.seen["emptied"] += 1
        await self.cycle(jump)
        if jump:
            for model in self.models:
                model.sweep(self.now)
        dut.clear.value = 0
        dut.emptied.value = 0


FATES = {ACCEPT: "accept", MARK: "mark", DROP: "drop"}


def _style_test(name: str, departures: int) -> None:
    async def run(dut: Any) -> None:
        bench = Bench(dut, STYLES[name], SEED)
        await bench.start()
        await bench.run(departures)
        dut._log.info("%s: %s", name, dict(bench.seen))
        seen = bench.seen
        assert seen["drop"] > 100 or name == "marks"
        assert seen["mark"] > 100 or name in ("drops_only", "overload", "restless")
        if name in ("mixed", "drops_only", "exempt_packets"):
            for what in (
                "entered",
                "loop",
                "resumed",
                "drop_next to the ns",
                "one ns before drop_next",
                "clear",
                "emptied",
            ):
                assert seen[what] >= 3, f"{what}: {dict(seen)}"

    run.__name__ = run.__qualname__ = name
    globals()[name] = cocotb.test()(run)


for _name in STYLES:
    _style_test(_name, 15000)


async def _ready(dut: Any, style: Style, params: CodelParams) -> Bench:
    bench = Bench(dut, style, SEED)
    bench.params = [params] * QUEUES
    await bench.start()
    return bench


@cocotb.test()
async def reset_and_clear(dut: Any) -> None:
    """Both restart a queue in any state, also while the numbers of its last departure are still on their way."""
    params = CodelParams(target=10, interval=200, mtu=1000)
    bench = await _ready(dut, STYLES["overload"], params)
    for n in range(300):
        q = n % QUEUES
        for _ in range(bench.rng.randrange(8, 60)):
            for _ in range(APART - 1):
                await bench.cycle()
            await bench.depart(q, Departing(bench.now - GRANT_NS, 50, 5000))
        for _ in range(n % 5):
            await bench.cycle()
        if n % 3 == 0:
            await bench.reset()
            bench.dut.nowNs.value = bench.now
        else:
            dut.clear.value = 1 << q
            bench.models[q].clear()
            await bench.cycle()
            dut.clear.value = 0
    assert bench.seen["drop"] > 500


@cocotb.test()
async def the_count_saturates(dut: Any) -> None:
    """A queue that is 65585 drops behind: drop_next, the sum of every step from count 1 on, to the nanosecond."""
    params = CodelParams(target=0, interval=(1 << 32) - 1, mtu=0)
    bench = await _ready(dut, STYLES["overload"], params)
    model = bench.models[0]

    async def depart(after: int = 0, held: int = 5000) -> Ruling:
        await bench.cycle(after)
        for _ in range(APART - 2):
            await FallingEdge(dut.clk)
        return await bench.depart(0, Departing((bench.now - GRANT_NS) % TIME, 50, held))

    await depart()
    await depart(params.interval)
    assert model.dropping
    behind = sum(step(params.interval, min(k, COUNT_MAX)) for k in range(1, COUNT_MAX + 50))
    await depart(behind - 2 * CYCLE_NS * COUNT_MAX)
    while (await depart()).action == DROP:
        pass
    assert model.count == COUNT_MAX

    async def drops_to_the_ns() -> None:
        for early in (1, 0) * 3:
            for _ in range(APART):
                await bench.cycle()
            await depart(-(model.drop_next.age(bench.now + CYCLE_NS - GRANT_NS) or 0) - early)
            bench.seen["to the ns"] += (model.drop_before.age(bench.now - CYCLE_NS - GRANT_NS) == 0) and not early

    await drops_to_the_ns()
    assert bench.seen["to the ns"] >= 1, bench.seen
    # count has stood still for some drops, and so has its distance from lastcount, which the next dropping state begins with
    await depart(held=0)
    assert not model.dropping
    await depart()
    await depart(params.interval)
    assert model.dropping and model.count == COUNT_MAX - 1
    await depart()
    await drops_to_the_ns()
    assert bench.seen["to the ns"] >= 3, bench.seen


@cocotb.test()
async def a_drop_next_that_lies_ahead_is_recent(dut: Any) -> None:
    """An interval that becomes shorter ends a dropping state, and the next one begins before drop_next."""
    long, short = CodelParams(target=10, interval=1_000_000, mtu=1000), CodelParams(target=10, interval=2000, mtu=1000)
    bench = await _ready(dut, STYLES["drops_only"], long)

    async def depart(q: int, after: int = 0, sojourn: int = 50) -> Ruling:
        for n in range(APART - 1):
            await bench.cycle(0 if n else max(after, 0))
        return await bench.depart(q, Departing((bench.now - GRANT_NS) % TIME, sojourn, 5000))

    for q in range(QUEUES):
        model = bench.models[q]
        await depart(q)
        await depart(q, long.interval)
        while model.count < 5:
            await depart(q, -(model.drop_next.age(bench.now) or 0))
        await depart(q)  # it is early, so the loop ends and drop_next stands
        await bench.cycle()
        await bench.configure(q, short)
        await depart(q, sojourn=0)
        await depart(q)
        assert (model.drop_next.age(bench.now) or 0) < -10 * short.interval
        await depart(q, short.interval)
        assert model.dropping and model.count == 4
        before = bench.seen["drop"]
        for _ in range(40):
            await depart(q, bench.rng.randrange(short.interval // 2))
        assert bench.seen["drop"] > before + 5


@cocotb.test()
async def wake_is_the_next_epoch_also_of_a_first_above_time_alone(dut: Any) -> None:
    """Two epochs later the time is old and there is nothing to tell."""
    bench = await _ready(dut, STYLES["mixed"], CodelParams(target=10, interval=1000, mtu=1000))
    for q in range(QUEUES):
        for _ in range(2 * APART):
            await bench.cycle()
        assert not int(dut.wake_valid.value)
        await bench.depart(q, Departing((bench.now - GRANT_NS) % TIME, 50, 5000))
        assert bench.models[q].above and not bench.models[q].dropping
        for _ in range(2):
            for _ in range(APART):
                await bench.cycle()
            epoch = (bench.now // EPOCH + 1) * EPOCH % TIME
            assert int(dut.wake_valid.value) and int(dut.wake_payload.value) == epoch
            await bench.cycle((epoch - bench.now - CYCLE_NS) % TIME)
            for model in bench.models:
                model.sweep(bench.now)
        await bench.cycle()


@cocotb.test()
async def arrivals_are_accepted(dut: Any) -> None:
    """Whatever comes, the fast policies' latency later."""
    bench = await _ready(dut, STYLES["mixed"], CodelParams())
    dut.selected.value = 15  # otherwise the unit may rest
    due: set[int] = set()
    gap = 0
    for n in range(4000):
        gap -= 1
        dut.request_valid.value = gap <= 0
        if gap <= 0:
            gap = bench.rng.choice([4, 4, 4, 5, 9, 13])
            due.add(n + LATENCY)
        for name, width in (("queue", 2), ("length", 14), ("bytes", 21), ("packets", 16), ("ecn", 2), ("draw", 24)):
            getattr(dut, f"request_payload_{name}").value = bench.rng.getrandbits(width)
        assert int(dut.verdict_valid.value) == (n in due)
        for name in ("action", "cause", "evidence_average", "evidence_count", "evidence_probability"):
            assert not int(getattr(dut, f"verdict_payload_{name}").value)
        await FallingEdge(dut.clk)
    assert len(due) > 500


@cocotb.test()
async def a_rest_of_days(dut: Any) -> None:
    """Time goes from deadline to deadline; what is long past stays past. Then nothing ages any more."""
    params = CodelParams(target=10, interval=1000, mtu=1000)
    for rest_epochs in (1, 2, 3, 4, 6):
        for phase in range(3):
            bench = await _ready(dut, replace(STYLES["mixed"], start_ns=bench_start(rest_epochs, phase)), params)
            for n in range(400 + phase):
                for _ in range(APART - 1):
                    await bench.cycle()
                await bench.depart(1, Departing((bench.now - GRANT_NS) % TIME, 50 if n > 20 else 0, 5000))
            for _ in range(2 * APART):
                await bench.cycle()
            assert not int(dut.busy.value)
            for k in range(rest_epochs):
                valid, wake = int(dut.wake_valid.value), int(dut.wake_payload.value)
                assert valid == (k < 3) or (k == 2 and not valid), f"wake after {k} epochs: {valid}"
                target = wake if valid else (bench.now + EPOCH) % TIME
                assert 0 < (target - bench.now) % TIME <= EPOCH
                await bench.cycle((target - bench.now - CYCLE_NS) % TIME)
                for _ in range(5):
                    await bench.cycle()
                for model in bench.models:
                    model.sweep(bench.now)
            assert bench.models[1].count > 10
            for sojourn in (50, 50, 0, *[50] * 30):
                for _ in range(APART + 20):
                    await bench.cycle()
                await bench.depart(1, Departing((bench.now - GRANT_NS) % TIME, sojourn, 5000))
            assert bench.seen["drop"] > 10
            assert bench.models[1].dropping
            assert bench.models[1].lastcount == 1, "16 intervals are long past"


def bench_start(epochs: int, phase: int) -> int:
    """Anywhere in an epoch, also shortly before its end, where first_above_time lies in the next."""
    return (epochs * EPOCH + (3 * EPOCH // 4, EPOCH - 5000, 100)[phase]) % TIME

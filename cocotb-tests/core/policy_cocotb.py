"""RED in the core: random configurations by libweir, ECN, changes under traffic, against model and oracle."""

from __future__ import annotations

import random
from typing import Any

import cocotb

import weir
from core_bench import CORE, Bench, ip_frame, random_stall


def at_random(rng: random.Random) -> dict[str, Any]:
    """A RED configuration in natural units for a queue of some kilobytes or tens of packets."""
    unit = rng.choice(("bytes", "packets", "frames"))
    low, high = (rng.randrange(0, 2500), rng.randrange(300, 5000)) if unit == "bytes" else (
        rng.randrange(0, 12), rng.randrange(2, 30))  # fmt: skip
    natural: dict[str, Any] = {
        "unit": unit, "min": low, "max": low + high, "probability": rng.choice((0.02, 0.1, 0.3, 0.7, 1.0)),
        "weight": rng.choice((1.0, 0.5, 0.1, 0.02, 0.002, 2.0**-16)), "avpkt": rng.choice((64, 300, 1000)),
        "limit_bytes": rng.choice((4000, 6000)), "limit_packets": rng.choice((30, 50)),
        "spread": rng.choice(("geometric", "uniform", "uniform-wait")),
        "bytemode": rng.choice(("off", "off", "after", "before")), "gentle": rng.random() < 0.5,
        "ecn": rng.random() < 0.6, "harddrop": rng.random() < 0.3, "exempt_first": rng.random() < 0.5,
        "bandwidth": rng.choice(("10Gbit", "1Gbit", "100Mbit")),
    }  # fmt: skip
    if natural["ecn"] and rng.random() < 0.4:
        natural["nodrop"] = True
    return natural


async def configure(bench: Bench, queue: int, rng: random.Random) -> dict[str, Any]:
    """A random configuration that libweir takes."""
    while True:
        natural = at_random(rng)
        try:
            weir.convert_queue("red", bench.capabilities, **natural)
        except weir.WeirError:
            continue
        await bench.configure(queue, "red", **natural)
        return natural


def traffic(bench: Bench, count: int) -> None:
    """Bursts and pauses of IP frames with all codepoints."""
    rng = bench.rng
    burst = 0
    for _ in range(count):
        burst = burst - 1 if burst > 0 else rng.randrange(1, 30)
        gap = rng.choice((0, 0, 3)) if burst else rng.choice((0, 20, 200))
        length = rng.choice((60, 64, 65, 128, 300, rng.randrange(34, 700)))
        bench.send(ip_frame(rng, length, rng.randrange(64), rng.randrange(4)), gap)


@cocotb.test()
@cocotb.parametrize(seed=list(range(1, 9)))
async def decides_like_the_model_and_the_oracle(dut: Any, seed: int) -> None:
    """Random natural configurations, random traffic, stalls: every value of every record."""
    bench = await Bench(dut, f"red {seed}").start()
    rng = bench.rng
    await bench.map_dscp([d % bench.queues for d in range(64)])
    await bench.reseed(rng.getrandbits(64))
    for q in range(bench.queues):
        await configure(bench, q, rng)
    bench.stall = random_stall(rng, rng.choice((0.3, 0.5, 0.6)))
    traffic(bench, 450)
    report = await bench.check(counters=seed % 4 == 1)
    assert report.arrivals == 450 and report.ingress_overflow == 0


@cocotb.test()
async def treats_every_codepoint_as_it_should(dut: Any) -> None:
    """ECT(0), ECT(1) → CE; CE stays and is counted; Not-ECT is dropped, or not with nodrop; harddrop drops."""
    bench = await Bench(dut, "ecn").start()
    rng = bench.rng
    seen: set[tuple[str, int, int, int]] = set()
    for name, flags in {
        "plain": {}, "ecn": {"ecn": True}, "hard": {"ecn": True, "harddrop": True},
        "nodrop": {"ecn": True, "nodrop": True},
    }.items():  # fmt: skip
        for low, high, top in ((1, 2, 0.9), (1, 6000, 1.0)):
            await bench.drain()
            await bench.configure(0, "red", limit_bytes=14000, min=low, max=high, weight=1, probability=top,
                                  spread="geometric", **flags)  # fmt: skip
            start = len(bench.records)
            bench.stall = random_stall(rng, 0.75)
            for _ in range(60):
                bench.send(ip_frame(rng, rng.randrange(60, 250), ecn=rng.randrange(4)), gap=rng.choice((0, 3)))
            await bench.drain()
            for r in bench.decoded()[start:]:
                if not r.departure:
                    seen.add((name, r.ecn, r.action, r.cause))
    report = await bench.check()
    for cause in (1, 2):
        for name, ecn, action in (
            ("plain", 0, 2), ("plain", 2, 2), ("plain", 3, 2), ("ecn", 0, 2), ("ecn", 1, 1), ("ecn", 2, 1),
            ("ecn", 3, 0), ("nodrop", 0, 0), ("nodrop", 1, 1),
        ):  # fmt: skip
            assert (name, ecn, action, cause) in seen, (name, ecn, action, cause)
    assert ("hard", 1, 2, 2) in seen and ("hard", 1, 1, 1) in seen and ("hard", 3, 2, 2) in seen
    assert report.outcomes["accepted early"] + report.outcomes["accepted forced"] > 10
    assert bench.counted[f"{bench.at(0, 'NODROP'):#06x}"][0] > 2


@cocotb.test()
@cocotb.parametrize(seed=[1, 2, 3])
async def changes_configuration_under_traffic_as_a_whole(dut: Any, seed: int) -> None:
    """Each decision is that of the old or of the new configuration, and the change comes once."""
    bench = await Bench(dut, f"apply {seed}").start()
    rng = bench.rng
    await bench.map_dscp([d % bench.queues for d in range(64)])
    bench.stall = random_stall(rng, 0.5)
    generation = await bench.read(CORE["GENERATION"])
    for _ in range(12):
        traffic(bench, 40)
        queue = rng.randrange(bench.queues)
        if rng.random() < 0.2:
            await bench.configure(queue, "drop-tail", limit_bytes=rng.choice((2000, 9000)))
        else:
            await configure(bench, queue, rng)
        await bench.cycles(rng.randrange(300))
    assert await bench.read(CORE["GENERATION"]) == generation + 12
    await bench.check()


@cocotb.test()
async def draws_from_seed_and_fixed_value(dut: Any) -> None:
    """Seed 0 is the reset value; a fixed draw is answered while the register advances."""
    bench = await Bench(dut, "seed").start()
    for seed in (0, 1, bench.rng.getrandbits(64)):
        await bench.drain()
        await bench.soft_reset()
        bench.epoch()
        await bench.reseed(seed)
        traffic(bench, 30)
        await bench.check(counters=False)
    await bench.soft_reset()
    bench.epoch()
    await bench.reseed(5)
    await bench.core_write(LFSR_FIXED=1 << 31 | 0xABCDEF)
    traffic(bench, 30)
    await bench.check(counters=False)


@cocotb.test()
async def decays_over_idle_time(dut: Any) -> None:
    """Average above zero, then idle from no time to seconds (time jumps while the core is quiet)."""
    bench = await Bench(dut, "idle").start()
    rng = bench.rng
    await bench.configure(0, "red", limit_bytes=14000, min=100, max=12000, weight=0.05, avpkt=500,
                          bandwidth="100Mbit", probability=0.1)  # fmt: skip
    for idle in (0, 0, 100, 1000, 40000, 200000, 3000000, 2000000000, 1 << 46):
        bench.stall = lambda _: True
        for _ in range(14):
            bench.send(ip_frame(rng, 600), gap=2)
        while bench.jobs:
            await bench.cycles(20)
        bench.stall = lambda _: False
        await bench.drain()
        if idle > 100:
            await bench.until_quiet()
            bench.skip(idle)
        else:
            await bench.cycles(idle)
        await bench.cycles(3)
        bench.send(ip_frame(rng, 64), gap=60)
    report = await bench.check()
    decayed = {r.idle_slots for r, _ in report.decisions if r.idle_slots}
    assert len(decayed) > 4 and report.idle >= 5, decayed


@cocotb.test()
async def takes_over_a_configuration_under_traffic_that_never_pauses(dut: Any) -> None:
    """A decision of the queue is under way in every cycle, so its arrivals have to be held back."""
    bench = await Bench(dut, "busy apply").start()
    rng = bench.rng
    for _ in range(700):
        bench.send(ip_frame(rng, 60))
    for n in range(6):
        low = rng.randrange(64, 600)
        words = weir.convert_queue("red", bench.capabilities, limit_bytes=9000, min=low, max=3000, weight=rng.random(),
                                   bandwidth="10Gbit", ecn=n % 2 == 0)  # fmt: skip
        first = bench.cycle
        await bench.configure_raw(0, words)
        assert bench.cycle - first < 700, f"taken over after {bench.cycle - first} cycles"
        await bench.cycles(rng.randrange(100))
    assert bench.jobs, "the traffic has to last"
    report = await bench.check()
    assert report.arrivals == 700 and report.ingress_overflow == 0


@cocotb.test()
async def keeps_clear_of_a_decision_that_is_made_afterwards(dut: Any) -> None:
    """Arrivals of queue 0, idle and under RED, are accepted at once and decided about 12 cycles later; one of queue 1
    that would go within 4 cycles of that waits until then, and no other does (arrival-decision.md)."""
    bench = await Bench(dut, "decided afterwards").start()
    rng = bench.rng
    await bench.map_dscp([d % 2 for d in range(64)])
    await bench.configure(0, "red", limit_bytes=9000, min=1000, max=3000, weight=0.01, bandwidth="10Gbit")
    for n in range(120):
        bench.send(ip_frame(rng, 60, dscp=0), gap=60)
        bench.send(ip_frame(rng, 60, dscp=1), gap=n % 12)
    report = await bench.check()
    assert report.arrivals == 240
    arrivals = [r for r, _ in report.decisions]
    waits = [r.at - s.last for r, s in zip(arrivals, bench.sent, strict=True)]
    usual = waits[0]
    assert set(waits[::2]) == {usual}, "no arrival of queue 0 waits"
    for wait, first, second in zip(waits[1::2], bench.sent[::2], bench.sent[1::2], strict=True):
        apart = second.last - first.last
        assert wait == usual + (16 - apart if 9 <= apart <= 15 else 0), f"{apart} cycles apart: {wait}, usual {usual}"

"""What the benches of policies share: the clock, configuration words; stimuli for RED and its average."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from golden import red
from golden.params import ONE36, UNIFORM_WAIT, RedParams, adversarial, plausible

SEED = int(os.environ["WEIR_SEED"])
QUEUES = 4
TIME = 1 << 48
CYCLE_NS = 6
QUANTITY_MAX = (1 << 21) - 1
COUNT_MAX = 65535
#: cycles from a request that finds its queue empty to the factor of its idle time, and to its place among the others
DECAY_CYCLES = 12
#: cycles between requests
INTERVAL = 4
#: cycles from the last reason to be awake to the rest (policy.GatedEngine)
LINGER = 512

_NOISE = Random(SEED)

#: offsets in a queue's block (docs/policy-registers.md)
POLICY = 0x000
RED_FLAGS = 0x014
RED_WEIGHT = 0x018
RED_DECAY = 0x020
RED_IDLE_RATE = 0x028
RED_MIN = 0x02C
RED_MAX = 0x030
RED_SLOPE = 0x034
RED_GENTLE_SLOPE = 0x038
RED_MAXP = 0x03C
RED_MEAN = 0x040


@dataclass(frozen=True)
class Request:
    """`PolicyRequest`."""

    queue: int
    now_ns: int
    length: int
    bytes: int
    packets: int
    frames: int
    ecn: int
    draw: int

    def quantity(self, unit: int) -> int:
        """q in the queue's unit."""
        return (self.bytes, self.packets, self.frames)[unit]

    @property
    def empty(self) -> bool:
        """The queue holds no packet."""
        return self.packets == 0


@dataclass(frozen=True)
class Style:
    """How a phase of a bench behaves.

    gaps: cycles from a request to the next, drawn from these (4 is the least)
    queues: queues that are used
    empty: share of requests that find the queue empty
    left: probability in a cycle that a packet leaves its queue
    hostile: registers with any bit pattern instead of plausible ones
    jump: probability in a cycle that time jumps, by up to 2^47 ns
    """

    gaps: tuple[int, ...] = (4,)
    queues: tuple[int, ...] = (0, 1, 2, 3)
    empty: float = 0.05
    left: float = 0.02
    hostile: bool = False
    jump: float = 0.02
    start_ns: int | None = None


STYLES = {
    "one_queue_every_4_cycles": Style(queues=(2,)),
    "mixed_queues_every_4_cycles": Style(),
    "random_gaps": Style(gaps=(4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 17, 25)),
    "one_queue_random_gaps": Style(gaps=(4, 5, 6, 7, 8, 9, 10, 11, 12, 13), queues=(1,)),
    "empty_queues": Style(gaps=(4, 7, 12, 16, 24), empty=0.6, left=0.12, jump=0.15),
    "empty_queues_close": Style(gaps=(4, 4, 4, 5, 6, 7), empty=0.7, left=0.2, jump=0.005),
    "one_empty_queue_every_4_cycles": Style(queues=(3,), empty=0.8, left=0.1, jump=0.005),
    "hostile_registers": Style(gaps=(4, 4, 4, 9, 13), hostile=True, empty=0.2, left=0.06),
    "time_wraps": Style(gaps=(4, 12, 20), empty=0.5, left=0.1, start_ns=TIME - 3000, jump=0.001),
}


class Stimulus:
    """Draws registers and requests at random; keeps the queue near the thresholds so that they matter."""

    def __init__(self, style: Style, rng: Random) -> None:
        self.style = style
        self.rng = rng
        self.units = [rng.randrange(3) for _ in range(QUEUES)]
        self.params = [self._params(u) for u in self.units]
        self.level = [0] * QUEUES
        self.burst = [0] * QUEUES

    def _params(self, unit: int) -> RedParams:
        rng = self.rng
        span = rng.choice([1 << 18, 4000]) if unit == 0 else rng.choice([20, 500, 16000])
        params = adversarial(rng) if self.style.hostile else plausible(rng, span)
        if rng.random() < 0.1:
            # the values that Scala has no name for act as uniform and before (red.md)
            params = replace(params, spread=rng.randrange(4), byte_mode=rng.randrange(4))
        if rng.random() < 0.05:
            params = replace(params, slope_mantissa=0, max_p=0, gentle_mantissa=0)
        return params

    def quantity(self, queue: int) -> int:
        """A queue length: held for a while, near the thresholds or anywhere."""
        rng, params = self.rng, self.params[queue]
        if self.burst[queue] == 0:
            self.burst[queue] = rng.randrange(1, 30)
            low, high = params.minimum >> 11, params.maximum >> 11
            self.level[queue] = rng.choice(
                [
                    0,
                    low,
                    max(low - 1, 0),
                    high,
                    2 * high,
                    rng.randrange(low, high + 1) if low <= high else high,
                    rng.randrange(low, high + 1) if low <= high else low,
                    rng.randrange(0, 3 * max(low, high) + 2),
                    QUANTITY_MAX if rng.random() < 0.1 else low,
                ]
            )
        self.burst[queue] -= 1
        return min(self.level[queue], QUANTITY_MAX)

    def request(self, queue: int, now_ns: int) -> Request:
        """A request without regard to the draw."""
        rng = self.rng
        q = self.quantity(queue)
        empty = rng.random() < self.style.empty
        packets = 0 if empty else rng.choice([1, 2, 3, COUNT_MAX, rng.randrange(1, COUNT_MAX + 1)])
        unit = self.units[queue]
        if unit == 1:
            packets = 0 if empty else max(min(q, COUNT_MAX), 1)
        frames = min(q, COUNT_MAX) if unit == 2 else rng.randrange(COUNT_MAX + 1)
        held = q if unit == 0 else rng.randrange(QUANTITY_MAX + 1)
        if empty and not self.style.hostile:
            frames, held = 0, 0
        length = rng.choice([60, 64, 65, 1514, 9216, 14, rng.randrange(14, 9217), 16383 if self.style.hostile else 590])
        return Request(queue, now_ns, length, held, packets, frames, rng.randrange(4), self.draw())

    def draw(self) -> int:
        """Any draw; the ends and small ones often."""
        rng = self.rng
        small = rng.getrandbits(rng.randrange(1, 24))
        return rng.choice([0, 1, 0xFFFFFF, rng.getrandbits(24), rng.getrandbits(24), small])


def edge_draw(rng: Random, average: int, count: int, count_bytes: int, length: int, params: RedParams) -> int | None:
    """A draw at the border between selected and not, or None if there is none."""
    if red.region(average, params) != red.BAND:
        return None
    p = red.probability(average, params)

    def hit(draw: int) -> bool:
        return red.chosen(p, count, count_bytes, length, draw, params)

    if not hit(0) or hit(0xFFFFFF):
        return None
    low, high = 0, 0xFFFFFF
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if hit(middle) else (low, middle)
    return min(max(low + rng.randrange(-1, 3), 0), 0xFFFFFF)


def scaled_word(mantissa: int, exponent: int) -> int:
    """A Scaled number as its register holds it."""
    return exponent << 24 | mantissa


def red_words(params: RedParams, rng: Random | None = None) -> dict[int, int]:
    """RED's configuration words, by offset; with `rng` the bits that mean nothing are at random."""
    flags = (params.gentle, params.ecn, params.hard_drop, params.no_drop, params.exempt_first)
    words = {
        RED_FLAGS: params.spread | params.byte_mode << 2 | sum(flag << 4 + i for i, flag in enumerate(flags)),
        RED_WEIGHT: params.weight & 0xFFFFFFFF,
        RED_WEIGHT + 4: params.weight >> 32,
        RED_DECAY: params.decay & 0xFFFFFFFF,
        RED_DECAY + 4: params.decay >> 32,
        RED_IDLE_RATE: scaled_word(params.idle_mantissa, params.idle_exponent),
        RED_MIN: params.minimum,
        RED_MAX: params.maximum,
        RED_SLOPE: scaled_word(params.slope_mantissa, params.slope_exponent),
        RED_GENTLE_SLOPE: scaled_word(params.gentle_mantissa, params.gentle_exponent),
        RED_MAXP: params.max_p,
        RED_MEAN: scaled_word(params.mean_mantissa, params.mean_exponent),
    }
    if rng is not None:
        for offset in (RED_IDLE_RATE, RED_SLOPE, RED_GENTLE_SLOPE, RED_MEAN):
            words[offset] |= rng.getrandbits(32) & 0xC0FC0000
        words[RED_FLAGS] |= rng.getrandbits(32) & 0xFFFFFE00
        if params.weight == ONE36:
            # more than 2^36 is taken as 2^36
            words[RED_WEIGHT] = rng.getrandbits(32)
            words[RED_WEIGHT + 4] |= rng.getrandbits(4)
    return words


class ConfigFlow:
    """The `config` port of a policy unit: a queue's configuration words, one a cycle, as an apply copies them."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.idle()

    def idle(self) -> None:
        """No word in this cycle."""
        self.dut.config_valid.value = 0
        self.dut.config_payload_queue.value = 0
        self.dut.config_payload_word.value = 0
        self.dut.config_payload_data.value = 0

    async def write(
        self, queue: int, words: Mapping[int, int], cycle: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Write `words` (by byte offset in the queue's block) in order of offset; the cycle after has no request yet.

        `cycle` lets a clock cycle pass; without it this waits for the next falling edge itself.
        """

        async def passes() -> None:
            if cycle is None:
                await FallingEdge(self.dut.clk)
            else:
                await cycle()

        for offset, data in sorted(words.items()):
            self.dut.config_valid.value = 1
            self.dut.config_payload_queue.value = queue
            self.dut.config_payload_word.value = offset // 4
            self.dut.config_payload_data.value = data
            await passes()
        self.dut.config_valid.value = 0
        await passes()


def preload_params(params: RedParams) -> RedParams:
    """The same registers with w = 1: one request then sets the average."""
    return replace(params, weight=ONE36, decay=(1 << 42) - 1)


def record_params(seen: dict[str, set[int]], params: RedParams) -> None:
    """Note the values of every field."""
    for f in fields(params):
        seen.setdefault(f.name, set()).add(int(getattr(params, f.name)))


def leave(dut: Any, queue: int | None, now_ns: int) -> None:
    """Drive `left`: a packet of that queue, granted at that time, or none."""
    dut.left_valid.value = queue is not None
    dut.left_payload_queue.value = queue or 0
    dut.left_payload_nowNs.value = now_ns


def leave_without_effect(dut: Any) -> None:
    """Drive `left` of a unit that does not use it, at random."""
    leave(dut, _NOISE.choice((None, *range(QUEUES))), _NOISE.getrandbits(48))


async def reset(dut: Any) -> None:
    """Start the clock and reset; inputs must have been set."""
    Clock(dut.clk, 2, "ns").start()
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0


__all__ = [
    "COUNT_MAX",
    "CYCLE_NS",
    "ConfigFlow",
    "Counter",
    "DECAY_CYCLES",
    "INTERVAL",
    "POLICY",
    "QUEUES",
    "Request",
    "SEED",
    "STYLES",
    "Stimulus",
    "Style",
    "TIME",
    "UNIFORM_WAIT",
    "edge_draw",
    "leave",
    "leave_without_effect",
    "preload_params",
    "record_params",
    "red_words",
    "reset",
    "scaled_word",
]

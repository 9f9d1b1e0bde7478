"""Streams for benches: sources and sinks that pause at random, AXI4-Stream beats of 64 bits.

Values are driven after a rising edge and sampled at the next. A payload that is not valid is random.
"""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.simtime import get_sim_time
from cocotb.triggers import RisingEdge

PERIOD_NS = 10

Item = dict[str, int]


def seeded(name: str) -> random.Random:
    """The random numbers of a test: they depend on WEIR_SEED and the test's name."""
    seed = os.environ.get("WEIR_SEED", "1")
    return random.Random(f"{seed} {name}")


def cycle() -> int:
    """Number of the rising edge at which a value is sampled."""
    return int(get_sim_time("ns")) // PERIOD_NS


async def start(dut: Any, **inputs: int) -> None:
    """Starts the clock with these inputs and resets the unit."""
    for name, value in inputs.items():
        getattr(dut, name).value = value
    dut.rst.value = 1
    Clock(dut.clk, PERIOD_NS, "ns").start()
    for _ in range(4):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


def axis_fields(dut: Any, prefix: str) -> dict[str, Any]:
    """The payload signals of an AXI4-Stream."""
    return {name: getattr(dut, f"{prefix}_{name}") for name in ("tdata", "tkeep", "tlast", "tuser")}


def beats_of(frame: bytes, rng: random.Random, tuser: int = 0) -> list[Item]:
    """A frame in beats; bytes beyond its end, and tuser before it, are random or as given."""
    beats: list[Item] = []
    for at in range(0, len(frame), 8):
        part = frame[at : at + 8]
        last = at + 8 >= len(frame)
        data = int.from_bytes(part + rng.randbytes(8 - len(part)), "little")
        beats.append(
            {
                "tdata": data,
                "tkeep": (1 << len(part)) - 1,
                "tlast": int(last),
                "tuser": tuser if last else rng.randrange(2),
            }
        )
    return beats


def bytes_of(beats: Sequence[Mapping[str, int]]) -> bytes:
    """The frame in beats whose tkeep is contiguous."""
    return b"".join(b["tdata"].to_bytes(8, "little")[: b["tkeep"].bit_count()] for b in beats)


class Source:
    """Sends the items of `queue`; pauses before an item with probability `gap`."""

    def __init__(
        self, clk: Any, valid: Any, ready: Any, fields: Mapping[str, Any], rng: random.Random, gap: float = 0.0
    ) -> None:
        self.clk, self.valid, self.ready, self.fields = clk, valid, ready, fields
        self.rng, self.gap = rng, gap
        self.widths = {name: len(field) for name, field in fields.items()}
        self.queue: deque[Item] = deque()
        self.sent: list[tuple[int, Item]] = []
        self._current: Item | None = None
        self._sampled = -1
        valid.value = 0
        cocotb.start_soon(self._run())

    def clear(self) -> None:
        """Forgets everything that has not been taken, as a source that is reset does. To be called at an edge."""
        self._sample()
        self.queue.clear()
        self._current = None
        self.valid.value = 0

    @property
    def idle(self) -> bool:
        return not self.queue and self._current is None

    async def _run(self) -> None:
        while True:
            await RisingEdge(self.clk)
            self._sample()
            if self._current is None:
                if self.queue and self.rng.random() >= self.gap:
                    self._current = self.queue.popleft()
                    self._drive(self._current)
                    self.valid.value = 1
                else:
                    self._drive({name: self.rng.getrandbits(width) for name, width in self.widths.items()})
                    self.valid.value = 0

    def _sample(self) -> None:
        """Notes, once an edge, whether the item on the wire was taken."""
        if self._sampled == cycle():
            return
        self._sampled = cycle()
        if self._current is not None and int(self.valid.value) and int(self.ready.value):
            self.sent.append((cycle(), self._current))
            self._current = None

    def _drive(self, item: Item) -> None:
        for name, field in self.fields.items():
            field.value = item[name]


class Sink:
    """Takes items; stalls with probability `stall`. Checks that an item that is offered stays until it is taken."""

    def __init__(
        self,
        clk: Any,
        rst: Any,
        valid: Any,
        ready: Any,
        fields: Mapping[str, Any],
        rng: random.Random,
        stall: float = 0.0,
    ) -> None:
        self.clk, self.rst, self.valid, self.ready, self.fields = clk, rst, valid, ready, fields
        self.rng, self.stall = rng, stall
        self.taken: list[tuple[int, Item]] = []
        self.on_item: Callable[[Item], None] | None = None
        ready.value = 0
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        offered: Item | None = None
        was_reset = False
        while True:
            await RisingEdge(self.clk)
            reset = bool(int(self.rst.value))
            if was_reset:
                assert not int(self.valid.value), "valid in the cycle after a reset edge"
                offered = None
            if int(self.valid.value):
                item = {name: int(field.value) for name, field in self.fields.items()}
                assert offered is None or item == offered, f"changed while offered: {offered} to {item}"
                offered = item
                if int(self.ready.value):
                    self.taken.append((cycle(), item))
                    offered = None
                    if self.on_item is not None:
                        self.on_item(item)
            else:
                assert offered is None, f"withdrawn: {offered}"
            was_reset = reset
            self.ready.value = int(self.rng.random() >= self.stall)


def frames_of(items: Sequence[tuple[int, Item]], last: str = "tlast") -> list[list[Item]]:
    """Splits items that were taken into frames; the last one may be open."""
    frames: list[list[Item]] = [[]]
    for _, item in items:
        frames[-1].append(item)
        if item[last]:
            frames.append([])
    return frames if frames[-1] else frames[:-1]

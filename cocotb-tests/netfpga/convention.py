"""NetFPGA's convention for the stream of frames, as its public pages have it (docs/netfpga.md names them), and drivers for it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cocotb.triggers import RisingEdge

WORD = 32
ETHERNET, HOST = range(4), 4
OUTPUTS = 5


def outputs_of(destination: int) -> set[int]:
    """Where a frame goes: bits 0, 2, 4, 6 are the Ethernet ports, any odd bit the host."""
    chosen = {port for port in ETHERNET if destination >> (2 * port) & 1}
    return chosen | ({HOST} if destination & 0xAA else set())


@dataclass(frozen=True)
class Sent:
    """A frame, and the destination field that it came with."""

    data: bytes
    destination: int
    source: int = 1


def user_of(frame: Sent, rng: random.Random) -> int:
    """The 128 bits about a frame; what users may have in the others is random."""
    return rng.getrandbits(96) << 32 | frame.destination << 24 | frame.source << 16 | len(frame.data)


class Source:
    """Drives frames; `gap()` is the number of empty cycles before a beat."""

    def __init__(self, dut: Any, rng: random.Random, gap: Callable[[], int] = lambda: 0) -> None:
        self._dut, self._rng, self.gap = dut, rng, gap
        self.frames: deque[Sent] = deque()
        self.refused = 0

    async def _beat(self, **signals: int) -> None:
        dut = self._dut
        for _ in range(self.gap()):
            dut.s_axis_tvalid.value = 0
            await RisingEdge(dut.axis_aclk)
        dut.s_axis_tvalid.value = 1
        for name, value in signals.items():
            getattr(dut, f"s_axis_{name}").value = value
        await RisingEdge(dut.axis_aclk)
        while not dut.s_axis_tready.value:
            self.refused += 1
            await RisingEdge(dut.axis_aclk)

    async def send(self, frame: Sent, pause: int = 0) -> None:
        """Sends one frame, and then nothing for `pause` cycles. Beats after the first have no metadata."""
        for at in range(0, len(frame.data), WORD):
            part = frame.data[at : at + WORD]
            await self._beat(
                tdata=int.from_bytes(part + self._rng.randbytes(WORD - len(part)), "little"),
                tkeep=(1 << len(part)) - 1,
                tuser=user_of(frame, self._rng) if at == 0 else self._rng.getrandbits(128),
                tlast=int(at + WORD >= len(frame.data)),
            )
        self._dut.s_axis_tvalid.value = 0
        for _ in range(pause):
            await RisingEdge(self._dut.axis_aclk)


class Sink:
    """Takes frames of one output when `ready()`; keeps (data, first tuser, cycle of the last beat)."""

    def __init__(self, dut: Any, output: int, ready: Callable[[], bool] = lambda: True) -> None:
        self._dut, self._prefix, self.ready = dut, f"m_axis_{output}", ready
        self.frames: list[tuple[bytes, int, int]] = []
        self.cycle = 0

    def _signal(self, name: str) -> Any:
        return getattr(self._dut, f"{self._prefix}_{name}")

    async def run(self) -> None:
        data, user = bytearray(), None
        held: tuple[int, ...] | None = None
        self._signal("tready").value = 0
        while True:
            await RisingEdge(self._dut.axis_aclk)
            self.cycle += 1
            if not self._dut.axis_resetn.value:
                data, user, held = bytearray(), None, None
                continue
            valid, ready = bool(self._signal("tvalid").value), bool(self._signal("tready").value)
            if valid:
                beat = tuple(int(self._signal(name).value) for name in ("tdata", "tkeep", "tlast", "tuser"))
                assert held is None or beat == held, f"{self._prefix} changes while it waits"
                held = None if ready else beat
                if ready:
                    keep = beat[1].bit_count()
                    assert beat[1] == (1 << keep) - 1 and (beat[2] or keep == WORD), "tkeep"
                    data += beat[0].to_bytes(WORD, "little")[:keep]
                    user = beat[3] if user is None else user
                    if beat[2]:
                        self.frames.append((bytes(data), user, self.cycle))
                        data, user = bytearray(), None
            else:
                assert held is None, f"{self._prefix} takes a beat back"
            self._signal("tready").value = int(self.ready())


def check(sink: Sink, output: int, expected: list[bytes]) -> None:
    """Frames and what goes with them: the length of what leaves, this output's bit, nothing else."""
    assert [data for data, _, _ in sink.frames] == expected
    bit = 0x02 if output == HOST else 1 << (2 * output)
    for data, user, _ in sink.frames:
        assert user == bit << 24 | len(data), hex(user)

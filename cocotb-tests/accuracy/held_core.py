"""A core in the cycle model whose queue keeps its state while what leaves it is counted.

The core gets as many frames as its link takes, so that its queue stays as long as it is. Frames that count carry their
number; a frame that does not come out was dropped, one that comes out with CE was marked.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache

import numpy as np
import numpy.typing as npt

from golden.pi import Gain
from spacing import Ints
from weir_sim import Core, native, trace
from weir_sim.frames import ECT0, ECT1, udp_frame

LENGTH = 60
BACKLOG = 2000
"""frames"""
FULL = (1 << 32) - 1
CHUNK = 20_000
"""frames that are sent at a time"""
LIMITS = {"LIMIT_PACKETS": 16383, "LIMIT_BYTES": 1 << 20}
MIN, MAX = 20_000, 220_000
"""thresholds of the average, bytes"""
ACCEPTED, MARKED, DROPPED = 0, 1, 2


def scaled(value: float) -> int:
    """A register of 18 bits of mantissa and 6 of exponent, rounded."""
    exponent = 0
    while exponent < 63 and value * 2 ** (exponent + 1) < 1 << 18:
        exponent += 1
    return int(value * 2**exponent) | exponent << 24


@cache
def _registers() -> tuple[int, dict[str, int]]:
    blocks = json.loads((native.root() / "build" / "rtl" / "weir_regs.json").read_text())["blocks"]
    queues = next(block for block in blocks if block["stride"])
    return queues["stride"], {r["name"]: queues["base"] + r["offset"] for r in queues["registers"]}


def _starts(lengths: Ints) -> Ints:
    return np.cumsum(lengths) - lengths


class Bench:
    """A core, stopped, every frame of which is ECT(0), in queue 1 ECT(1)."""

    def __init__(self, seed: int) -> None:
        self.core = Core("full", egress="stopped")
        self.core.device.seed(seed)
        self.core.device.dscp_map({1: 1})
        self._stride, self._address = _registers()
        self._during: list[float] = []

    def write(self, queue: int = 0, **words: int) -> None:
        """Registers of a queue, and their apply."""
        for name, value in (words | {"APPLY": 1}).items():
            self.core.csr_write(self._address[name] + queue * self._stride, value)
        self.core.run_cycles(200)

    def send(self, count: int, queue: int = 0) -> None:
        """Frames that do not count, back to back at the line's rate. They are in the core when this returns."""
        one = np.frombuffer(udp_frame(LENGTH, queue, ECT1 if queue else ECT0), np.uint8).copy()
        one[-4:] = 0xFF
        self.core.send_many(np.tile(one, count), [LENGTH] * count, [self.core.now_ns] * count)
        self.core.run_until(self.core.line_free_ns)

    def traced(self, kind: int) -> npt.NDArray[np.void]:
        """Records of a kind since the last call."""
        records = self.core.trace()
        return records[records["kind"] == kind]

    def outcomes(self, lengths: Ints, at_ns: Ints | None = None, queue: int = 0) -> Ints:
        """What becomes of frames of these lengths, sent back to back or at these times from now on."""
        self.core.egress = "mac"
        begin = self.core.now_ns
        for first in range(0, lengths.size, CHUNK):
            part = slice(first, first + CHUNK)
            size = lengths[part]
            numbers = np.arange(first, first + size.size).astype(">u4")
            data, starts = np.empty(size.sum(), np.uint8), _starts(size)
            for length in set(size.tolist()):
                frames = np.tile(
                    np.frombuffer(udp_frame(length, queue, ECT1 if queue else ECT0), np.uint8), (size.size, 1)
                )
                frames[:, -4:] = numbers.view(np.uint8).reshape(-1, 4)
                chosen = size == length
                data[starts[chosen][:, None] + np.arange(length)] = frames[chosen]
            times = np.full(size.size, self.core.now_ns) if at_ns is None else begin + at_ns[part]
            self.core.send_many(data, size, times)
            self.core.run_until(self.core.line_free_ns)
        self._during = self.ticked()
        self.core.run_until(self.core.now_ns + 2 * BACKLOG * 100)
        out = self.core.recv_many()
        size = out.lengths.astype(np.int64)
        starts = _starts(size)
        tail = (starts + size)[:, None] - np.arange(4, 0, -1)
        number = np.ascontiguousarray(out.data[tail]).view(">u4").ravel().astype(np.int64)
        counted = number < lengths.size
        assert (size[counted] == lengths[number[counted]]).all()
        found = np.full(lengths.size, DROPPED)
        found[number[counted]] = np.where(out.data[starts[counted] + 15] & 3 == 3, MARKED, ACCEPTED)
        return found

    # ---- the RED family

    def hold_average(self, **words: int) -> int:
        """Configures queue 0, brings its average to what stands there, and holds it (a weight of 2^-36); the average."""
        common = LIMITS | {"RED_MIN": MIN << 11, "RED_MAX": MAX << 11, "RED_WEIGHT_LO": 0, "RED_WEIGHT_HI": 16}
        self.write(**(common | words))
        self.send(BACKLOG)  # the average is what an arrival finds
        self.write(RED_WEIGHT_LO=1, RED_WEIGHT_HI=0)
        self.core.device.trace_enable(departures=False, ticks=False)
        self.send(2 * (1 << 14) // LENGTH)  # so far above the average that it rises by 2^-22 bytes an arrival
        (held,) = {round(a) for a in self.traced(trace.ARRIVAL)["avg"].tolist()}
        assert 0.45 < (held - 20_000) / 200_000 < 0.55
        self.core.device.trace_enable(False)
        return held

    def average_is_still(self, held: int) -> bool:
        """Whether it has not moved by a byte."""
        self.core.device.trace_enable(departures=False, ticks=False)
        self.send(10)
        return bool(np.abs(self.traced(trace.ARRIVAL)["avg"] - held).max() < 1)

    # ---- PIE and PI2

    def ticked(self) -> list[float]:
        """p of PIE, or p' of PI2, after each tick since the last call."""
        states = self.traced(trace.TICK)[["state0", "state1"]].tolist()
        return [(high << 16 | low & 0xFFFF) / 2**48 for high, low in states]

    def hold_p(self, policy: str, least: float) -> float:
        """Raises p of PIE or p' of PI2 in queue 0 by a queue that stands until it is `least`, and holds it there (gains of 0);
        returns it."""
        alpha = Gain.of(Fraction(int(least * 1000)))
        self.core.device.trace_enable(arrivals=False, departures=False)
        self.write(**{f"{policy}_ALPHA": alpha.mantissa | alpha.exponent << 24})
        self.send(BACKLOG)
        self.core.egress = "mac"
        while max(self.ticked(), default=0.0) < least:
            self.send(150)
        self.write(**{f"{policy}_ALPHA": 0})
        self.ticked()
        self.send(500)
        self.core.egress = "stopped"
        (held,) = set(self.ticked())
        return held

    def p_is_still(self, p: float) -> bool:
        """Whether no tick has moved p, or p', while the frames that count came."""
        return len(self._during) > 10 and set(self._during) == {p}

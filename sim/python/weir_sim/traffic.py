"""Traffic for a model that is served: frames at random times, or a capture again and again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from .core import Core
from .errors import UsageError
from .frames import ECT0, ECT1, NOT_ECT, udp_frame
from .intake import Intake
from .jumbo.link import wire_bytes
from .jumbo.packet import JumboFormat
from .pcap import read_capture

SIZES = ((64, 7), (576, 4), (1514, 1))
"""The simple IMIX: lengths without FCS and how often each comes."""
CODEPOINTS = (NOT_ECT, ECT0, ECT0, ECT1)
MOST_BYTES = 64 << 20
"""Longest capture that is kept to be repeated."""


class Random:
    """Poisson arrivals of the simple IMIX at `rate` bit/s on the wire, a quarter Not-ECT; DSCP 0 and 46."""

    notes: Sequence[str] = ()

    def __init__(self, rate: float, seed: int = 1) -> None:
        if not 0 < rate <= 10e9:
            raise UsageError(f"traffic of {rate:g} bit/s is out of range: allowed is above 0 to 10Gbit; try 1Gbit")
        self._draw = random.Random(seed)
        lengths, weights = zip(*SIZES, strict=True)
        self._lengths, self._weights = lengths, weights
        mean = sum(wire_bytes(n) * w for n, w in SIZES) / sum(weights)
        self._gap_ns = mean * 8e9 / rate
        self._next_ns = 0.0
        self._number = 0

    def feed(self, core: Core, until_ns: int) -> None:
        self._next_ns = max(self._next_ns, core.now_ns)
        while self._next_ns < until_ns:
            length = self._draw.choices(self._lengths, self._weights)[0]
            dscp = self._draw.choice((0, 0, 0, 46))
            core.send(udp_frame(length, dscp, self._draw.choice(CODEPOINTS), self._number), int(self._next_ns))
            self._number += 1
            self._next_ns += self._draw.expovariate(1 / self._gap_ns)


class Capture:
    """The frames of a capture at its times, divided by `speedup`, from the beginning again when it has ended."""

    def __init__(self, path: Path, speedup: float = 1.0, reorder: bool = False) -> None:
        # a client may have jumbo frames split and packets merged at any time
        intake = Intake(read_capture(path), reorder, JumboFormat(), ports=True)
        packets = list(intake)
        self.notes = intake.notes()
        if sum(len(p.data) for p in packets) > MOST_BYTES:
            raise UsageError(f"{path}: more than {MOST_BYTES >> 20} MB; cut it with editcap or take a shorter one")
        first = packets[0].time_ns
        self._frames = [p.data for p in packets]
        self._times = [int((p.time_ns - first) / speedup) for p in packets]
        gaps = [b - a for a, b in pairwise(self._times)]
        self._period = self._times[-1] + (max(1, sum(gaps) // len(gaps)) if gaps else 1_000_000)
        self._start: int | None = None
        self._at = 0

    def feed(self, core: Core, until_ns: int) -> None:
        if self._start is None:
            self._start = core.now_ns
        while (time := self._start + self._times[self._at]) < until_ns:
            core.send(self._frames[self._at], time)
            self._at += 1
            if self._at == len(self._frames):
                self._at = 0
                self._start = max(self._start + self._period, core.now_ns)


def source(text: str, speedup: float, seed: int, reorder: bool = False) -> Random | Capture:
    """The traffic that a person names: a rate as tc writes it, or the path of a capture."""
    import weir

    if text == "-" or Path(text).exists():
        return Capture(Path(text), speedup, reorder)
    try:
        rate = weir.parse_rate(text)
    except weir.WeirError:
        raise UsageError(
            f"--traffic {text}: neither a capture nor a rate; write e.g. 2Gbit or the path of a pcap"
        ) from None
    return Random(rate, seed)

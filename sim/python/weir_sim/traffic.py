"""Traffic for a model that is served: frames at random times, or a capture again and again."""

from __future__ import annotations

import random
from array import array
from collections.abc import Sequence
from pathlib import Path

from weir.ctl import text

from .core import Core
from .errors import UsageError, out_of_range
from .frames import ECT0, ECT1, NOT_ECT, udp_frame
from .intake import Intake
from .jumbo.link import wire_bytes
from .jumbo.packet import JumboFormat
from .pace import LATE_NS, line_ns, model_time
from .pcap import read_capture
from .report import duration

SIZES = ((64, 7), (576, 4), (1514, 1))
"""The simple IMIX: lengths without FCS and how often each comes."""
CODEPOINTS = (NOT_ECT, ECT0, ECT0, ECT1)
MOST_BYTES = 64 << 20
"""Longest capture that is kept to be repeated: its frames in full, and RECORD_BYTES for each."""
RECORD_BYTES = 16


class Random:
    """Poisson arrivals of the simple IMIX at `rate` bit/s on the wire, a quarter Not-ECT; DSCP 0 and 46."""

    notes: Sequence[str] = ()

    def __init__(self, rate: float, seed: int = 1) -> None:
        if not 0 < rate <= 10e9:
            raise out_of_range("traffic of", text.rate(rate), "above 0 to 10Gbit; try 1Gbit")
        self._draw = random.Random(seed)
        lengths, weights = zip(*SIZES, strict=True)
        self._lengths, self._weights = lengths, weights
        mean = sum(wire_bytes(n) * w for n, w in SIZES) / sum(weights)
        self._gap_ns = mean * 8e9 / rate
        self._next_ns = 0.0
        self._number = 0

    def feed(self, core: Core, until_ns: int) -> None:
        """Sends what is due before a time, as far as the line takes it."""
        self._next_ns = max(self._next_ns, core.now_ns)
        while core.line_free_ns < until_ns and self._next_ns < until_ns:
            length = self._draw.choices(self._lengths, self._weights)[0]
            dscp = self._draw.choice((0, 0, 0, 46))
            core.send(udp_frame(length, dscp, self._draw.choice(CODEPOINTS), self._number), int(self._next_ns))
            self._number += 1
            self._next_ns += self._draw.expovariate(1 / self._gap_ns)


class Capture:
    """The frames of a capture at its times, divided by `speedup`, from the beginning again when it has ended.

    The rules of time are those of `weir-sim replay`: a packet that is earlier than the one before it follows that one,
    and a frame comes when the line is free. So that a pass ends before the next one begins, none is shorter than its
    frames are on the line. Not more than MOST_BYTES are kept, and not more than is due is sent ahead.
    """

    def __init__(self, path: Path, speedup: float = 1.0, reorder: bool = False) -> None:
        self._frames = bytearray()
        self._ends, self._times = array("Q"), array("Q")
        capture = read_capture(path)
        # a client may have jumbo frames split and packets merged at any time
        intake = Intake(capture, reorder, JumboFormat(), ports=True)
        first: int | None = None
        for packet in intake:
            first = packet.time_ns if first is None else first
            self._times.append(model_time(capture.name, packet.time_ns - first, speedup))
            self._frames += packet.data
            self._ends.append(len(self._frames))
            if len(self._frames) + RECORD_BYTES * len(self._ends) > MOST_BYTES:
                raise UsageError(
                    f"{path}: more than {MOST_BYTES >> 20} MB of frames; cut it with editcap or take a shorter one"
                )
        self.notes = intake.notes()
        self._period = self._measure()
        self._start: float | None = None
        self._at = 0

    def _measure(self) -> float:
        """The time from one pass to the next, in ns; notes what the line makes of the capture's times."""
        end = self._times[-1]
        natural = end + (max(1, end // (len(self._times) - 1)) if len(self._times) > 1 else 1_000_000)
        free = late = 0.0
        begin = 0
        for time, frame_end in zip(self._times, self._ends, strict=True):
            late = max(late, free - time)
            free = max(free, time) + line_ns(frame_end - begin)
            begin = frame_end
        if free > 1.01 * natural:  # below: times that are rounded
            self.notes.append(
                f"the capture is too fast for the 10 Gbit/s line into the core: it takes {duration(free)} instead of "
                f"{duration(end)} each time"
            )
        elif late > LATE_NS:
            self.notes.append(f"the 10 Gbit/s line into the core is full: packets come up to {late / 1e6:.1f} ms late")
        return max(natural, free)

    def feed(self, core: Core, until_ns: int) -> None:
        """Sends what is due before a time, as far as the line takes it."""
        if self._start is None:
            self._start = core.now_ns
        while core.line_free_ns < until_ns and (time := self._start + self._times[self._at]) < until_ns:
            begin = self._ends[self._at - 1] if self._at else 0
            core.send(bytes(self._frames[begin : self._ends[self._at]]), int(time))
            self._at += 1
            if self._at == len(self._ends):
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

"""Frames between the TAP devices of `weir-sim live` and a core, and a wire with a delay for the way back."""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable

from .core import Core
from .trace import Records, decode

MOST_BYTES = 65536
BATCH = 256
"""Frames that are read at a time."""


class Port:
    """A core between two TAP devices: `take` and `give` are called by one thread.

    `sent` and `received` are what has been read from one and written to the other, frames and bytes; `lost` are frames
    that the receiver's device did not take (it is down), `aborted` those that a reset of the core cut off, which a MAC
    would fail. With `traced` the trace goes there.
    """

    def __init__(self, source: int, target: int, traced: Callable[[Records], None] | None = None) -> None:
        self._source, self._target, self.traced = source, target, traced
        self.sent, self.sent_bytes, self.received, self.received_bytes = 0, 0, 0, 0
        self.lost, self.lost_bytes, self.aborted, self.aborted_bytes = 0, 0, 0, 0

    @property
    def descriptor(self) -> int:
        return self._source

    def take(self, core: Core, at_ns: int) -> None:
        frames: list[bytes] = []
        try:
            while len(frames) < BATCH:
                frames.append(os.read(self._source, MOST_BYTES))
        except BlockingIOError:
            pass
        if not frames:
            return
        data = b"".join(frames)
        self.sent += len(frames)
        self.sent_bytes += len(data)
        core.send_many(data, [len(frame) for frame in frames], [at_ns] * len(frames))

    def give(self, core: Core) -> None:
        many = core.recv_many()
        if len(many.lengths):
            data, end = many.data.tobytes(), 0
            for length, bad in zip(many.lengths.tolist(), many.bad.tolist(), strict=True):
                end += length
                self._write(data[end - length : end], bad)
        if self.traced is not None:
            words, _ = core.trace_words()
            if len(words):
                self.traced(decode(words))

    def _write(self, frame: bytes, bad: bool) -> None:
        if bad:
            self.aborted += 1
            self.aborted_bytes += len(frame)
            return
        try:
            os.write(self._target, frame)
        except OSError:
            self.lost += 1
            self.lost_bytes += len(frame)
            return
        self.received += 1
        self.received_bytes += len(frame)


class Wire(threading.Thread):
    """Moves frames from one TAP device to another, `delay_s` after they came, in order, until `stop`."""

    def __init__(self, source: int, target: int, delay_s: float) -> None:
        super().__init__(daemon=True)
        self._source, self._target, self._delay_s = source, target, delay_s
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._wake, self._bell = os.pipe()
        self.moved, self.moved_bytes, self.lost = 0, 0, 0

    def run(self) -> None:
        while True:
            timeout = max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None
            ready, _, _ = select.select([self._source, self._wake], [], [], timeout)
            if self._wake in ready:
                return
            now = time.monotonic()
            if ready:
                self._read(now + self._delay_s)
            while self._waiting and self._waiting[0][0] <= now:
                self._write(self._waiting.popleft()[1])

    def _read(self, due: float) -> None:
        try:
            for _ in range(BATCH):
                self._waiting.append((due, os.read(self._source, MOST_BYTES)))
        except BlockingIOError:
            pass

    def _write(self, frame: bytes) -> None:
        try:
            os.write(self._target, frame)
        except OSError:
            self.lost += 1
            return
        self.moved += 1
        self.moved_bytes += len(frame)

    def stop(self) -> None:
        """Ends the thread; what waits is gone."""
        os.close(self._bell)
        if self.is_alive():
            self.join()
        os.close(self._wake)

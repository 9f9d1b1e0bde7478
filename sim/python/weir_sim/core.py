"""A Weir core in the cycle model.

>>> core = Core()
>>> core.send(frame, at_ns=core.now_ns)
>>> core.run_idle()
>>> [(out.first_ns, out.data) for out in core.recv()]
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import native
from .native import ModelError, ffi
from .trace import Records, Words, decode

if TYPE_CHECKING:
    import weir

LINES = {"10gbe": 0, "raw": 1}
EGRESS = {"ready": 0, "mac": 1, "stopped": 2}
IDLE_LIMIT_NS = 1 << 50
NEVER = (1 << 64) - 1


class BusError(Exception):
    """A register access was answered with SLVERR, or not at all."""


class Frame(NamedTuple):
    """A frame that left the core."""

    data: bytes
    first_ns: int
    """time of its first beat"""
    last_ns: int
    """time of its last beat"""
    bad: bool
    """tuser of its last beat"""


@dataclass(frozen=True)
class Frames:
    """Frames that left the core, as arrays: `data` holds them one after the other."""

    data: npt.NDArray[np.uint8]
    lengths: npt.NDArray[np.uint32]
    first_ns: npt.NDArray[np.uint64]
    last_ns: npt.NDArray[np.uint64]
    bad: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Stats:
    """Counters of a core: what its registers say, and what the model saw at the ports."""

    core: weir.CoreCounters
    queues: list[weir.QueueCounters]
    frames_in: int
    bytes_in: int
    frames_out: int
    bytes_out: int


class Core:
    """One core with a clock of 6.4 ns. Cores of one process are independent of each other.

    Args:
        preset: the preset to run; its model must be built (`make model`).
        wave: path of a VCD file to write, or None. Needs the waveform build of the model.
        line: "10gbe" spaces frames like a wire (at least 60 bytes and 24 byte times around each), "raw" sends
            them back to back.
        egress: "ready" takes a beat in every cycle, "mac" paces frames like a 10GbE MAC, "stopped" takes none.
        skip: jump over idle time. Results are the same without, only later.

    Raises:
        ModelError: the model is not built, or the core does not come out of reset.
    """

    def __init__(
        self,
        preset: str = "full",
        *,
        wave: str | os.PathLike[str] | None = None,
        line: str = "10gbe",
        egress: str = "ready",
        skip: bool = True,
    ) -> None:
        self._lib: Any = native.load(preset, wave is not None)
        handle = self._lib.weir_model_create()
        if handle == ffi.NULL:
            raise ModelError("the core does not come out of reset")
        self._handle: Any = ffi.gc(handle, self._lib.weir_model_destroy)
        self._device: weir.Device | None = None
        self.preset = preset
        self.line = line
        self.egress = egress
        self._set(self._lib.WEIR_MODEL_SKIP, int(skip))
        if wave is not None and self._lib.weir_model_wave(self._handle, os.fsencode(wave)) < 0:
            raise ModelError(f"{os.fspath(wave)}: the waveform cannot be written")

    # ---- options ------------------------------------------------------------------------------------------

    def _set(self, option: int, value: int) -> None:
        if self._lib.weir_model_set(self._handle, option, value) != 0:
            raise ValueError(f"the model refuses {value} for its option {option}")

    def _get(self, number: int) -> int:
        return int(self._lib.weir_model_get(self._handle, number))

    @property
    def line(self) -> str:
        """Spacing of the frames on the ingress line: "10gbe" or "raw"."""
        return self._line

    @line.setter
    def line(self, value: str) -> None:
        if value not in LINES:
            raise ValueError(f"line is {' or '.join(LINES)}, not {value}")
        self._line = value
        self._set(self._lib.WEIR_MODEL_LINE, LINES[value])

    @property
    def egress(self) -> str:
        """What waits behind the egress: "ready", "mac" or "stopped"."""
        return self._egress

    @egress.setter
    def egress(self, value: str) -> None:
        if value not in EGRESS:
            raise ValueError(f"egress is {', '.join(EGRESS)}, not {value}")
        self._egress = value
        self._set(self._lib.WEIR_MODEL_EGRESS, EGRESS[value])

    def set_link(self, up: bool) -> None:
        """Drives `link_up`."""
        self._set(self._lib.WEIR_MODEL_LINK, int(up))

    def keep(self, frames: bool = True, trace: bool = True) -> None:
        """What is kept for `recv` and `trace`; the rest is only counted."""
        self._set(self._lib.WEIR_MODEL_KEEP, int(frames) | int(trace) << 1)

    # ---- time ---------------------------------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        """Time of the next cycle, in ns since the model was made."""
        return self._get(self._lib.WEIR_MODEL_NOW_NS)

    @property
    def next_ns(self) -> int | None:
        """Until then nothing happens unless something is sent or set: `now_ns` if something does, None if nothing will."""
        ns = self._get(self._lib.WEIR_MODEL_NEXT_NS)
        return None if ns == NEVER else ns

    @property
    def cycles(self) -> int:
        """Cycles since the model was made, skipped ones too."""
        return self._get(self._lib.WEIR_MODEL_CYCLES)

    @property
    def evaluated(self) -> int:
        """Cycles that were really simulated."""
        return self._get(self._lib.WEIR_MODEL_EVALUATED)

    def _check(self, status: int, what: str) -> None:
        if status == self._lib.WEIR_MODEL_MEMORY:
            raise MemoryError(what)
        if status == self._lib.WEIR_MODEL_ARGUMENT:
            raise ValueError(f"{what}: out of range")
        if status < 0:
            raise ModelError(f"{what}: the core does not finish")

    def run_until(self, ns: int) -> None:
        """Runs every cycle that begins before time `ns`."""
        if ns > self.now_ns:
            self._check(self._lib.weir_model_run_until(self._handle, ns), "run_until")

    def run_cycles(self, cycles: int) -> None:
        """Runs a number of cycles."""
        self._check(self._lib.weir_model_run_cycles(self._handle, cycles), "run_cycles")

    def run_idle(self, limit_ns: int | None = None) -> bool:
        """Runs until all that was sent has left or was dropped, or until time `limit_ns`; tells whether it is so.

        Without a limit a core that never becomes idle is a ModelError; with one the answer is False.
        """
        status = self._lib.weir_model_run_idle(self._handle, IDLE_LIMIT_NS if limit_ns is None else limit_ns)
        if status == self._lib.WEIR_MODEL_TIMEOUT and limit_ns is not None:
            return False
        self._check(status, "run_idle")
        return True

    # ---- frames -------------------------------------------------------------------------------------------

    def send(self, frame: bytes, at_ns: int = 0, bad: bool = False) -> None:
        """Puts a frame (without FCS, 1 to 65535 bytes) on the line: its first beat arrives at `at_ns`, or as soon
        after as the line is free. `bad` sets tuser on its last beat. Nothing runs yet."""
        self.send_many(frame, [len(frame)], [at_ns], [int(bad)])

    def send_many(
        self,
        data: bytes | bytearray | memoryview | npt.NDArray[np.uint8],
        lengths: Sequence[int] | npt.NDArray[np.integer[Any]],
        at_ns: Sequence[int] | npt.NDArray[np.integer[Any]],
        flags: Sequence[int] | npt.NDArray[np.integer[Any]] | None = None,
    ) -> None:
        """As `send` for many frames: `data` holds them one after the other, `lengths` and `at_ns` have an element
        for each, `flags` as well (1 is bad)."""
        size = np.ascontiguousarray(lengths, np.uint32)
        time = np.ascontiguousarray(at_ns, np.uint64)
        flag = None if flags is None else np.ascontiguousarray(flags, np.uint8)
        view = data.ravel() if isinstance(data, np.ndarray) else np.frombuffer(data, np.uint8)
        if len(time) != len(size) or (flag is not None and len(flag) != len(size)) or int(size.sum()) != len(view):
            raise ValueError("send_many: the arrays do not describe the same frames")
        status = self._lib.weir_model_send(
            self._handle,
            len(size),
            ffi.from_buffer("uint8_t[]", view) if len(view) else ffi.NULL,
            ffi.from_buffer("uint32_t[]", size),
            ffi.from_buffer("uint64_t[]", time),
            ffi.NULL if flag is None else ffi.from_buffer("uint8_t[]", flag),
        )
        self._check(status, "send: a frame has 1 to 65535 bytes")

    @property
    def pending(self) -> int:
        """Frames that were sent and are not yet wholly in the core."""
        return self._get(self._lib.WEIR_MODEL_PENDING)

    @property
    def line_free_ns(self) -> int:
        """When the line is free after all frames that were sent."""
        return self._get(self._lib.WEIR_MODEL_LINE_FREE_NS)

    @property
    def ingress_stalls(self) -> int:
        """Cycles in which the core refused a beat. A MAC cannot wait: this stays 0."""
        return self._get(self._lib.WEIR_MODEL_INGRESS_STALLS)

    @property
    def underruns(self) -> int:
        """Cycles in which an outgoing frame had a gap. A MAC fails such a frame: this stays 0."""
        return self._get(self._lib.WEIR_MODEL_UNDERRUNS)

    def recv_many(self) -> Frames:
        """All frames that came out since the last call, as arrays."""
        counts = ffi.new("size_t[2]")
        self._lib.weir_model_received(self._handle, counts, counts + 1)
        n = counts[0]
        frames = Frames(
            np.empty(counts[1], np.uint8), np.empty(n, np.uint32), np.empty(n, np.uint64), np.empty(n, np.uint64),
            np.empty(n, np.uint8),
        )  # fmt: skip
        self._lib.weir_model_recv(
            self._handle,
            ffi.from_buffer("uint8_t[]", frames.data),
            ffi.from_buffer("uint32_t[]", frames.lengths),
            ffi.from_buffer("uint64_t[]", frames.first_ns),
            ffi.from_buffer("uint64_t[]", frames.last_ns),
            ffi.from_buffer("uint8_t[]", frames.bad),
        )
        return frames

    def recv(self) -> list[Frame]:
        """All frames that came out since the last call."""
        many = self.recv_many()
        data = many.data.tobytes()
        ends = np.cumsum(many.lengths, dtype=np.int64).tolist()
        columns = zip(ends, many.lengths.tolist(), many.first_ns.tolist(), many.last_ns.tolist(), many.bad.tolist(),
                      strict=True)  # fmt: skip
        return [Frame(data[end - size : end], first, last, bool(bad)) for end, size, first, last, bad in columns]

    # ---- trace and registers ------------------------------------------------------------------------------

    def trace_words(self) -> tuple[Words, npt.NDArray[np.uint64]]:
        """Trace records since the last call as they are, an array of shape (n, 12), and the times at which they
        were on the trace port."""
        words = np.empty((self._lib.weir_model_traced(self._handle), 12), np.uint32)
        times = np.empty(len(words), np.uint64)
        self._lib.weir_model_trace(
            self._handle, ffi.from_buffer("uint32_t[]", words), ffi.from_buffer("uint64_t[]", times), len(words)
        )
        return words, times

    def trace(self) -> Records:
        """Trace records since the last call, decoded (`weir_sim.trace.RECORD`). There are some only if the core's
        trace is on: `core.device.trace_enable()`."""
        return decode(self.trace_words()[0])

    def csr_read(self, address: int) -> int:
        """Reads a register; simulated time passes. BusError if the core answers SLVERR."""
        value = ffi.new("uint32_t *")
        status = self._lib.weir_model_csr_read(self._handle, address, value)
        if status != 0:
            raise BusError(f"read of register 0x{address:04x}: {'SLVERR' if status > 0 else 'no answer'}")
        return int(value[0])

    def csr_write(self, address: int, value: int) -> None:
        """Writes a register; simulated time passes. BusError if the core answers SLVERR."""
        status = self._lib.weir_model_csr_write(self._handle, address, value)
        if status != 0:
            raise BusError(f"write of register 0x{address:04x}: {'SLVERR' if status > 0 else 'no answer'}")

    def reset(self) -> None:
        """Pulls `rst` and waits until the core is ready again."""
        self._check(self._lib.weir_model_reset(self._handle), "reset")

    @property
    def device(self) -> weir.Device:
        """libweir's view of this core: configuration, counters."""
        if self._device is None:
            import weir

            lib, handle = self._lib, self._handle
            context, read, write = (
                int(ffi.cast("uintptr_t", x)) for x in (handle, lib.weir_model_csr_read, lib.weir_model_csr_write)
            )
            self._device = weir.Device(weir.NativeBus(context, read, write, owner=handle))
        return self._device

    def stats(self) -> Stats:
        """Counters of this instant."""
        device = self.device
        device.snapshot()
        return Stats(
            core=device.core_counters(),
            queues=[device.counters(q) for q in range(device.capabilities.queues)],
            frames_in=self._get(self._lib.WEIR_MODEL_FRAMES_IN),
            bytes_in=self._get(self._lib.WEIR_MODEL_BYTES_IN),
            frames_out=self._get(self._lib.WEIR_MODEL_FRAMES_OUT),
            bytes_out=self._get(self._lib.WEIR_MODEL_BYTES_OUT),
        )

    def end_wave(self) -> None:
        """Ends the waveform; the file is complete then."""
        self._lib.weir_model_wave(self._handle, ffi.NULL)

"""A Weir core behind a register bus."""

from __future__ import annotations

import contextlib
import ipaddress
import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Protocol

from ._config import (
    Capabilities,
    Value,
    _capabilities,
    encoded,
    make_config,
    make_shaper,
    parse_time,
    set_config,
    show_config,
)
from ._ffi import WeirError, check, ffi, lib
from ._trace import TraceRecord, _record


class Bus(Protocol):
    """Register access from Python. Both raise when the core answers SLVERR or is gone."""

    def csr_read(self, address: int, /) -> int:
        """The 32-bit register at a byte address."""

    def csr_write(self, address: int, value: int, /) -> Any:
        """Writes the 32-bit register at a byte address."""


@dataclass(frozen=True)
class NativeBus:
    """Register access by C functions, as addresses; no Python runs for a register access.

    `read` is `int (*)(void *ctx, uint32_t address, uint32_t *value)`, `write` is
    `int (*)(void *ctx, uint32_t address, uint32_t value)`; both answer 0 when they worked. `owner` is kept alive as
    long as the device.
    """

    context: int
    read: int
    write: int
    owner: Any = None


@dataclass(frozen=True)
class Count:
    """A counter: packets and their bytes (original frames without FCS)."""

    packets: int
    bytes: int


@dataclass(frozen=True)
class QueueCounters:
    """Counters of a queue at the last snapshot. `sojourn[b]`: packets that left after 2^b to 2^(b+1) ns.

    `marked` is at arrival, `head_marked` and `head_dropped` by the policy at departure, `partial` dropped out of jumbo
    frames that wait, `front` dropped from the head of a queue over its limits. Selected and CE already are `already_ce`
    at arrival, `head_already_ce` at departure; `nodrop` are Not-ECT, selected at arrival and accepted. `out` is
    everything that was sent, `head_marked` and `head_already_ce` included.
    """

    in_not_ect: Count
    in_ect1: Count
    in_ect0: Count
    in_ce: Count
    early: Count
    forced: Count
    overflow: Count
    marked: Count
    already_ce: Count
    nodrop: Count
    out: Count
    link_down: Count
    front: Count
    head_dropped: Count
    head_marked: Count
    head_already_ce: Count
    partial: Count
    sojourn: tuple[int, ...]

    @property
    def arrivals(self) -> Count:
        """All arrivals, whatever their ECN codepoint."""
        parts = (self.in_not_ect, self.in_ect1, self.in_ect0, self.in_ce)
        return Count(sum(c.packets for c in parts), sum(c.bytes for c in parts))


@dataclass(frozen=True)
class CoreCounters:
    """Counters of the core at the last snapshot; `trace_lost` in records, `uptime` in clock cycles.

    `rx` counts each packet of a split jumbo frame, `rx_wire` frames as they came, `jumbo_in` those of them that were split;
    `split_discarded` are packets that were Not-ECT in a jumbo frame marked CE. `jumbo_out` counts jumbo frames that were
    built, `merged` what of `tx` left in them, `tx_wire` frames as they left; `evicted` are groups that were closed because
    another flow needed their place, `hurried` packets that went before they were due
    by their spacing: places or cells were short, or spacing was switched off.
    `queued` packets and `spaced` ones, which wait for their spacing, are those of that instant: GAUGES, which fall too.
    """

    rx: Count
    tx: Count
    bad: Count
    runt: Count
    oversize: Count
    ingress_overflow: Count
    malformed: Count
    jumbo_in: Count
    split_discarded: Count
    rx_wire: Count
    jumbo_out: Count
    merged: Count
    tx_wire: Count
    evicted: int
    hurried: int
    trace_lost: int
    throttled_ns: int
    uptime: int
    queued: int
    spaced: int

    GAUGES: ClassVar[tuple[str, ...]] = ("queued", "spaced")


@dataclass(frozen=True)
class QueueLive:
    """A queue as it stands; `average` in its unit, peaks between the last two snapshots."""

    bytes: int
    packets: int
    frames: int
    cells: int
    average: float
    peak_bytes: int
    peak_packets: int


@dataclass(frozen=True)
class CoreLive:
    """The core as it stands; `free_cells_min` between the last two snapshots, `generation` counts applies, `quiet`: nothing but
    register accesses has moved for 32 cycles, and no deadline is near."""

    now_ns: int
    free_cells: int
    free_cells_min: int
    held_packets: int
    generation: int
    link_up: bool
    resetting: bool
    quiet: bool


@dataclass(frozen=True)
class State:
    """Everything that is counted, and the peaks, of one instant; the other live values are of just after it."""

    core: CoreCounters
    core_live: CoreLive
    queues: tuple[QueueCounters, ...]
    live: tuple[QueueLive, ...]


@dataclass(frozen=True)
class LinkCounters:
    """What a line of the register protocol has carried; `repeated` requests had no good answer before."""

    requests: int
    repeated: int
    corrupted: int
    bytes_out: int
    bytes_in: int


def _count(c: Any) -> Count:
    return Count(c.packets, c.bytes)


_QUEUE_COUNTS = ("in_not_ect", "in_ect1", "in_ect0", "in_ce", "early", "forced", "overflow", "marked", "already_ce",
                 "nodrop", "out", "link_down", "front", "head_dropped", "head_marked", "head_already_ce", "partial")  # fmt: skip
_CORE_COUNTS = ("rx", "tx", "bad", "runt", "oversize", "ingress_overflow", "malformed", "jumbo_in", "split_discarded",
                "rx_wire", "jumbo_out", "merged", "tx_wire")  # fmt: skip


def _queue_counters(c: Any) -> QueueCounters:
    return QueueCounters(sojourn=tuple(c.sojourn), **{name: _count(getattr(c, name)) for name in _QUEUE_COUNTS})


def _core_counters(c: Any) -> CoreCounters:
    counts = {name: _count(getattr(c, name)) for name in _CORE_COUNTS}
    return CoreCounters(
        evicted=c.evicted,
        hurried=c.hurried,
        trace_lost=c.trace_lost,
        throttled_ns=c.throttled_ns,
        uptime=c.uptime,
        queued=c.queued,
        spaced=c.spaced,
        **counts,
    )


def _queue_live(c: Any) -> QueueLive:
    return QueueLive(c.bytes, c.packets, c.frames, c.cells, c.average, c.peak_bytes, c.peak_packets)


def _core_live(c: Any) -> CoreLive:
    return CoreLive(c.now_ns, c.free_cells, c.free_cells_min, c.held_packets, c.generation, bool(c.link_up),
                    bool(c.resetting), bool(c.quiet))  # fmt: skip


class Device:
    """A core, configured in natural units.

    `bus` is a URI ("unix:PATH", "uart:/dev/ttyUSB0@1000000", "pci:0000:01:00.0", "sim:full"; see weir_open() in weir.h),
    or has `csr_read(address) -> int` and `csr_write(address, value)`, which raise when an access fails, or is a
    NativeBus. Every method raises WeirError; nothing is written when a value is refused. What the bus raised is the
    error's `__cause__`. May be used from several threads. Usable as a context manager.
    """

    def __init__(self, bus: str | Bus | NativeBus) -> None:
        self._failed = threading.local()
        self._handle: Any = ffi.NULL
        handle = ffi.new("struct weir **")
        if isinstance(bus, str):
            self._check(lib.weir_open(_path(bus), handle))
            self._handle = handle[0]
            return
        c_bus = ffi.new("struct weir_bus *")
        if isinstance(bus, NativeBus):
            c_bus.ctx = ffi.cast("void *", bus.context)
            c_bus.read = ffi.cast("int (*)(void *, uint32_t, uint32_t *)", bus.read)
            c_bus.write = ffi.cast("int (*)(void *, uint32_t, uint32_t)", bus.write)
            self._keep: Any = bus
        else:
            c_bus.read, c_bus.write = self._keep = self._callbacks(bus)
        self._check(lib.weir_open_bus(c_bus, handle))
        self._handle = handle[0]

    def _callbacks(self, bus: Bus) -> tuple[Any, Any]:
        failed = self._failed

        def read(_context: Any, address: int, value: Any) -> int:
            try:
                value[0] = bus.csr_read(address)
            except BaseException as error:  # raised again by _check, in the caller's thread
                failed.error = error
                return -1
            return 0

        def write(_context: Any, address: int, value: int) -> int:
            try:
                bus.csr_write(address, value)
            except BaseException as error:
                failed.error = error
                return -1
            return 0

        return (
            ffi.callback("int (void *, uint32_t, uint32_t *)", read, error=-1),
            ffi.callback("int (void *, uint32_t, uint32_t)", write, error=-1),
        )

    def _check(self, status: int) -> int:
        error = getattr(self._failed, "error", None)
        self._failed.error = None
        if error is not None and not isinstance(error, Exception):
            raise error
        try:
            return check(status)
        except WeirError as refused:
            raise refused from error

    def _call(self, function: Any, *arguments: Any) -> int:
        if self._handle == ffi.NULL:
            raise WeirError(-6, "the device is closed; open it again")
        return self._check(function(self._handle, *arguments))

    def close(self) -> None:
        """Gives the handle back; the core keeps running as it is configured."""
        if self._handle != ffi.NULL:
            lib.weir_close(self._handle)
            self._handle = ffi.NULL

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    @property
    def capabilities(self) -> Capabilities:
        """What the core is built with."""
        c = ffi.new("struct weir_capabilities *")
        self._call(lib.weir_get_capabilities, c)
        return _capabilities(c)

    @contextmanager
    def lock(self) -> Iterator[Device]:
        """Keeps other threads, and other programs as far as the transport can, from the device meanwhile."""
        self._call(lib.weir_lock)
        try:
            yield self
        finally:
            self._call(lib.weir_unlock)

    def link_counters(self) -> LinkCounters:
        """What the line below unix: and uart: has carried."""
        c = ffi.new("struct weir_link_counters *")
        self._call(lib.weir_get_link_counters, c)
        return LinkCounters(c.requests, c.repeated, c.corrupted, c.bytes_out, c.bytes_in)

    # ---- queues

    def queue_check(self, queue: int, policy: str | int, **natural: Value) -> None:
        """Raises WeirError if `queue_replace` would refuse these values; writes nothing."""
        self._call(lib.weir_queue_check, _unsigned("queue", queue), make_config(policy, natural))

    def queue_replace(self, queue: int, /, policy: str | int, **natural: Value) -> dict[str, Any]:
        """Configures a queue: what is not named gets its default. Answers what the registers now say."""
        self._call(lib.weir_queue_apply, _unsigned("queue", queue), make_config(policy, natural))
        return self.queue_show(queue)

    def queue_change(self, queue: int, /, **natural: Value) -> dict[str, Any]:
        """Changes only what is named. Answers what the registers now say."""
        config = ffi.new("struct weir_queue_config *")
        with self.lock():
            self._call(lib.weir_queue_read, _unsigned("queue", queue), config)
            set_config(config, natural)
            self._call(lib.weir_queue_apply, queue, config)
            return self.queue_show(queue)

    def queue_show(self, queue: int) -> dict[str, Any]:
        """A queue's configuration in natural units, as read back from its registers."""
        config = ffi.new("struct weir_queue_config *")
        self._call(lib.weir_queue_read, _unsigned("queue", queue), config)
        return show_config(config)

    # ---- core

    def shape(self, rate: str | int | float, burst: Value = None, overhead: Value = None, mpu: Value = None) -> None:
        """Sets the shaper: rate in bit/s (0 or "off": unlimited), burst in bytes (default 1538). A frame is charged
        max(length, mpu) + overhead bytes: overhead -32768 to 32767 (default 24), mpu 0 to 16383 (default 60)."""
        self._call(lib.weir_shape, make_shaper(rate, burst, overhead, mpu))

    def shape_show(self) -> dict[str, float]:
        """The shaper's rate (bit/s, 0 is off), burst, overhead and mpu (bytes)."""
        shaper = ffi.new("struct weir_shaper *")
        self._call(lib.weir_shape_read, shaper)
        return {name: getattr(shaper, name) for name in ("rate", "burst", "overhead", "mpu")}

    def dscp_map(self, changes: Mapping[int, int] | Sequence[int] | None = None) -> list[int]:
        """The queue of each of the 64 DSCPs; a mapping {dscp: queue} changes some, a sequence of 64 all."""
        c = ffi.new("uint8_t[64]")
        self._call(lib.weir_get_dscp_map, c)
        if changes is not None:
            for dscp, queue in _dscp_items(changes):
                c[dscp] = queue
            self._call(lib.weir_set_dscp_map, c)
        return [int(q) for q in c]

    def default_queue(self, queue: int | None = None) -> int:
        """The queue of frames that are not IP; sets it if one is given."""
        c = ffi.new("unsigned int *")
        if queue is not None:
            self._call(lib.weir_set_default_queue, _unsigned("queue", queue))
        self._call(lib.weir_get_default_queue, c)
        return int(c[0])

    def max_frame(self, size: int | None = None) -> int:
        """The longest frame in bytes (64 to 9216); sets it if one is given."""
        c = ffi.new("unsigned int *")
        if size is not None:
            self._call(lib.weir_set_max_frame, _unsigned("max_frame", size))
        self._call(lib.weir_get_max_frame, c)
        return int(c[0])

    def jumbo(self, mode: str | None = None, ethertype: int = 0, protocol: int = 0, *, form: str = "l2",
              tick: int = 0, spacing: float | str = 0) -> dict[str, Any]:  # fmt: skip
        """What becomes of jumbo frames that arrive: mode "opaque" (frames like any other), "split", or "transit"
        (its packets stay together); sets it if one is given. `ethertype` of the L2 form (0: 0x88B5), `protocol` of the L3 form (146 to 254; 0: 253). `form` ("l2" or
        "l3") of the frames that are built, `tick` log2 of their spacing's unit in ns (1 to 16; 0: 6). `spacing`, of mode
        "split": packets wait for the spacing that their table says, so long at most, in microseconds or with a unit ("1ms"; 1ns
        to 1s); 0: they do not."""
        c = ffi.new("struct weir_jumbo *")
        if mode is not None:
            number = ffi.new("int *")
            self._check(lib.weir_parse_jumbo_mode(encoded(mode), number))
            c.mode, c.ethertype, c.protocol = (
                number[0],
                _unsigned("ethertype", ethertype),
                _unsigned("protocol", protocol),
            )
            if form not in ("l2", "l3"):
                raise ValueError(f"form is l2 or l3, not {form}")
            c.l3, c.tick = form == "l3", _unsigned("tick", tick)
            c.spacing = parse_time(spacing) if spacing else 0
            self._call(lib.weir_set_jumbo, c)
        self._call(lib.weir_get_jumbo, c)
        return {"mode": ("opaque", "split", "transit")[c.mode], "ethertype": c.ethertype, "protocol": c.protocol,
                "form": "l3" if c.l3 else "l2", "tick": c.tick, "spacing": c.spacing}  # fmt: skip

    def merge(self, queue: int, mode: str | None = None, max_bytes: int = 0, max_sum: int = 0,
              max_count: int = 0, jfet: float | str = 0) -> dict[str, Any]:  # fmt: skip
        """Which packets of a queue are merged into jumbo frames: mode "off", "flow" (those of one flow, whatever waits) or
        "class" (those of one class of `match`, for a time); sets it if one is given. `max_bytes` of the jumbo frame (64 to
        9216), `max_sum` of its IP packets (40 to 8960), `max_count` packets (2 to 448); 0: the largest. `jfet`, by class: from
        a group's first packet to its close, in microseconds or with a unit ("50us"; 1ns to 1s; 0: 100us). A change closes
        the groups that wait."""
        c = ffi.new("struct weir_merge *")
        number = _unsigned("queue", queue)
        if mode is not None:
            chosen = ffi.new("int *")
            self._check(lib.weir_parse_merge_mode(encoded(mode), chosen))
            c.mode = chosen[0]
            c.max_bytes, c.max_sum = _unsigned("max_bytes", max_bytes), _unsigned("max_sum", max_sum)
            c.max_count = _unsigned("max_count", max_count)
            c.jfet = parse_time(jfet) if jfet else 0
            self._call(lib.weir_set_merge, number, c)
        self._call(lib.weir_get_merge, number, c)
        return {
            "mode": ("off", "flow", "class")[c.mode],
            "max_bytes": c.max_bytes,
            "max_sum": c.max_sum,
            "max_count": c.max_count,
            **({"jfet": c.jfet} if c.mode == 2 else {}),
        }

    def match(self, rules: Mapping[int, tuple[str, int | str]] | None = None,
              unmatched: int | str = 0) -> tuple[dict[int, tuple[str, int | str]], int | str]:  # fmt: skip
        """The match table: rules by number, 0 to 15, the first that matches counts; sets all of it if rules are given. A rule is
        a destination ("10.1.0.0/16", "10.0.2.0&255.0.255.0", "2001:db8:1::/48"; of IPv6 the first 64 bits) and a class, 0 to 15,
        or "bypass": never merged. `unmatched`: the same of packets that no rule matches. A change closes all groups."""
        c = ffi.new("struct weir_match_table *")
        if rules is not None:
            c.unmatched = _class(unmatched)
            for n, (destination, number) in rules.items():
                if not 0 <= n < len(c.rules):
                    raise ValueError(f"rule {n} is out of range: allowed is 0 to {len(c.rules) - 1}; try 0")
                self._check(lib.weir_parse_match(encoded(destination), ffi.addressof(c.rules[n])))
                c.rules[n].group_class = _class(number)
            self._call(lib.weir_set_matches, c)
        self._call(lib.weir_get_matches, c)
        found = {
            n: (_destination(rule), _class_name(rule.group_class)) for n, rule in enumerate(c.rules) if rule.family
        }
        return found, _class_name(c.unmatched)

    def mred(
        self, queue: int, low: float | None = None, high: float | None = None, *, enable: bool = True
    ) -> dict[str, Any]:
        """MRED with DDF of a queue that runs red, isred or ared: the share of packets, from `low` at min to `high` at max (0 to 1), that
        the jumbo frame nearest the head loses in place of one in transit that is selected. Sets it if `low` and `high` are given, or
        `enable` is False; min and max are those of the queue, also when they change."""
        c = ffi.new("struct weir_mred *")
        number = _unsigned("queue", queue)
        if not enable or low is not None or high is not None:
            if enable and (low is None or high is None):
                raise ValueError("mred takes low and high")
            c.enable, c.low, c.high = enable, low or 0.0, high or 0.0
            self._call(lib.weir_set_mred, number, c)
        self._call(lib.weir_get_mred, number, c)
        return {"enable": bool(c.enable), "low": c.low, "high": c.high}

    def shared_cells(self) -> int:
        """Cells that the queues share beyond their reserves."""
        c = ffi.new("unsigned int *")
        self._call(lib.weir_get_shared_cells, c)
        return int(c[0])

    def seed(self, seed: int) -> None:
        """Seeds the random source (64 bits; the hardware takes its reset value for 0)."""
        if not 0 <= seed < 1 << 64:
            raise WeirError(-1, f"seed {seed} is out of range: allowed is 0 to {(1 << 64) - 1}; it has 64 bits")
        self._call(lib.weir_seed, seed)

    def fix_draw(self, draw: int | None) -> None:
        """Makes every draw answer `draw` (0 to 2^24-1, u * 2^24); None: random again."""
        if draw is not None and not 0 <= draw < 1 << 24:
            raise WeirError(-1, f"draw {draw} is out of range: allowed is 0 to {(1 << 24) - 1}; it is u * 2^24")
        self._call(lib.weir_fix_draw, -1 if draw is None else draw)

    def reset(self) -> None:
        """Datapath, queues and counters start anew; the configuration stays."""
        self._call(lib.weir_reset)

    # ---- counters

    def snapshot(self) -> None:
        """Copies all counters at one instant; `counters` and `core_counters` read the copy."""
        self._call(lib.weir_snapshot)

    def counters(self, queue: int) -> QueueCounters:
        """A queue's counters at the last snapshot."""
        c = ffi.new("struct weir_counters *")
        self._call(lib.weir_counters, _unsigned("queue", queue), c)
        return _queue_counters(c)

    def core_counters(self) -> CoreCounters:
        """The core's counters at the last snapshot."""
        c = ffi.new("struct weir_core_counters *")
        self._call(lib.weir_core_counters, c)
        return _core_counters(c)

    def live(self, queue: int) -> QueueLive:
        """A queue as it stands."""
        c = ffi.new("struct weir_live *")
        self._call(lib.weir_live, _unsigned("queue", queue), c)
        return _queue_live(c)

    def core_live(self) -> CoreLive:
        """The core as it stands."""
        c = ffi.new("struct weir_core_live *")
        self._call(lib.weir_core_live, c)
        return _core_live(c)

    def state(self, histograms: bool = True) -> State:
        """A snapshot of all counters and the live values, in two requests where the line below can."""
        c = ffi.new("struct weir_state *")
        self._call(lib.weir_snapshot_all, c, int(histograms))
        return State(
            _core_counters(c.core),
            _core_live(c.core_live),
            tuple(_queue_counters(q) for q in c.queue[0 : c.queues]),
            tuple(_queue_live(q) for q in c.live[0 : c.queues]),
        )

    # ---- trace

    def trace_enable(
        self,
        enable: bool = True,
        queues: Sequence[int] | None = None,
        arrivals: bool = True,
        departures: bool = True,
        ticks: bool = True,
    ) -> None:
        """Turns the trace on or off; `queues` are those to trace (default: all), `ticks` the periodic work of policies. This and the other calls
        for the trace raise WeirError (UNSUPPORTED) where the core has none (`capabilities.trace`)."""
        built = self.capabilities.queues
        mask = 0
        for queue in range(built) if queues is None else queues:
            if not 0 <= queue < built:
                raise WeirError(
                    -1, f"queue {queue} is out of range: allowed is 0 to {built - 1}; name those that exist"
                )
            mask |= 1 << queue
        kinds = (
            arrivals * lib.WEIR_TRACE_ARRIVALS | departures * lib.WEIR_TRACE_DEPARTURES | ticks * lib.WEIR_TRACE_TICKS
        )
        self._call(lib.weir_trace_control, int(enable), mask, kinds)

    def trace_level(self) -> int:
        """Records that wait in the host's FIFO."""
        c = ffi.new("unsigned int *")
        self._call(lib.weir_trace_level, c)
        return int(c[0])

    def trace_read(self) -> TraceRecord | None:
        """The next record, or None if none waits."""
        record = ffi.new("struct weir_trace_record *")
        return _record(record) if self._call(lib.weir_trace_read, record) else None

    def trace(self) -> Iterator[TraceRecord]:
        """The records that wait, until none is left."""
        records = ffi.new("struct weir_trace_record[16]")
        while n := self._call(lib.weir_trace_read_some, records, 16):
            yield from [_record(r) for r in records[0:n]]

    # ---- registers

    def register_read(self, address: int) -> int:
        """A register by its byte address."""
        value = ffi.new("uint32_t *")
        self._call(lib.weir_register_read, _unsigned("address", address), value)
        return int(value[0])

    def register_write(self, address: int, value: int) -> None:
        """Writes a register by its byte address, unchecked."""
        self._call(lib.weir_register_write, _unsigned("address", address), _unsigned("value", value))


def _path(uri: str) -> bytes:
    """A URI as the file system has it: a path in it may be no text."""
    with contextlib.suppress(UnicodeEncodeError):
        if "\0" not in uri:
            return os.fsencode(uri)
    return encoded(uri)


def _unsigned(name: str, value: int) -> int:
    if not 0 <= value < 1 << 32:
        raise WeirError(-1, f"{name} {value} is out of range: allowed is 0 to {(1 << 32) - 1}; it has 32 bits")
    return value


def _class(number: int | str) -> int:
    """A class as libweir takes it."""
    if number == "bypass":
        return -1
    if isinstance(number, str) or not 0 <= number < 1 << 31:
        raise WeirError(-1, f"class {number} is out of range: allowed is 0 to 15, or bypass; try 0")
    return number


def _class_name(number: int) -> int | str:
    return "bypass" if number < 0 else number


def _destination(rule: Any) -> str:
    """Destination of a rule, as `weir_parse_match` takes it."""
    size = 4 if rule.family == 4 else 16
    address, mask = (int.from_bytes(bytes(b)[:size], "big") for b in (rule.address, rule.mask))
    bits = bin(mask).count("1")
    if mask == ((1 << bits) - 1) << (8 * size - bits):
        return f"{ipaddress.ip_address((address & mask).to_bytes(size, 'big'))}/{bits}"
    return "&".join(str(ipaddress.ip_address(b.to_bytes(size, "big"))) for b in (address & mask, mask))


def _dscp_items(changes: Mapping[int, int] | Sequence[int]) -> Iterator[tuple[int, int]]:
    if isinstance(changes, Mapping):
        items = list(changes.items())
    else:
        if len(changes) != 64:
            raise WeirError(-1, f"a DSCP map of {len(changes)} queues is out of range: it has 64; or give a mapping")
        items = list(enumerate(changes))
    for dscp, queue in items:
        if not 0 <= dscp < 64:
            raise WeirError(-1, f"DSCP {dscp} is out of range: allowed is 0 to 63; it has 6 bits")
        if not 0 <= queue < 256 or math.isnan(queue):
            raise WeirError(-1, f"queue {queue} of DSCP {dscp} is out of range: allowed is 0 to 7; name a queue")
        yield dscp, queue

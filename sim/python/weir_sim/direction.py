"""What `weir-sim live` is asked for, and one direction of it: a core between two hosts, its server, and its counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weir.ctl import text

from . import host
from .core import Core
from .errors import IdentityError, UsageError, out_of_range
from .pace import Pace
from .serve import Options as ServerOptions
from .serve import Server
from .tap import Port

BEHIND_S = 0.05
"""Real time that the model may be behind."""
RESET_CYCLES = 5000
"""A reset takes longer; two snapshots differ by less."""
CONGESTION = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


@dataclass(frozen=True)
class Options:
    """What is between the hosts and what runs on them. Values of `settings` are texts as `tc` takes them."""

    preset: str = "aqm"
    socket: Path = Path("/tmp/weir")
    link_rate: float = 20e6
    policy: str = "drop-tail"
    settings: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.02
    slow: float = 1.0
    mtu: int = 1500
    congestion: str = "cubic"
    ecn: bool = True
    cores: int = 1
    serving: Sequence[str] = ()
    command: Sequence[str] = ()
    seconds: float | None = None

    def check(self) -> None:
        """Refuses what cannot be.

        Raises:
            UsageError: what is wrong, and what is allowed.
        """
        if not 64e3 <= self.link_rate <= 10e9:
            raise out_of_range("--link-rate", text.rate(self.link_rate), "64kbit to 10Gbit")
        if not 1 <= self.slow <= 1e6:
            raise out_of_range("--slow", text.number(self.slow), "1 (real time) to 1000000")
        if not 0 <= self.delay_s <= 10:
            raise out_of_range("--delay", text.time(round(self.delay_s * 1e6, 3)), "0 to 10s")
        if not 576 <= self.mtu <= 9000:
            raise out_of_range("--mtu", str(self.mtu), "576 to 9000 (IPv6 from 1280)")
        if self.seconds is not None and not 0 < self.seconds <= 86400:
            raise out_of_range("--seconds", text.number(self.seconds), "above 0 to 86400")
        if self.cores == 2 and self.delay_s:
            raise UsageError("--delay is of the wire back, which --cores 2 replaces: use --delay 0 with it")
        known = CONGESTION.read_text().split()
        if self.congestion not in known:
            raise UsageError(f"--congestion {self.congestion}: this kernel has {', '.join(known)}")


@dataclass(frozen=True)
class Ledger:
    """The same traffic, (frames, bytes), as the hosts' devices, the core's ports and the core's registers counted it.

    `registers` is what came in and what went out; None if the core was reset meanwhile, which clears its counters.
    """

    sent: tuple[int, int]
    ports: tuple[tuple[int, int], tuple[int, int]]
    registers: tuple[tuple[int, int], tuple[int, int]] | None
    received: tuple[int, int]

    def check(self) -> None:
        """Raises IdentityError where they differ."""
        devices = (self.sent, self.received)
        for what, counted in (("ports", self.ports), ("registers", self.registers)):
            if counted is not None and counted != devices:
                raise IdentityError(f"live: the hosts' devices count {devices[0]} frames and bytes sent and {devices[1]} "
                                    f"received, the core's {what} {counted[0]} in and {counted[1]} out")  # fmt: skip


class Direction:
    """A core from one host to the other, and its server for weirctl."""

    def __init__(self, options: Options, source: host.Host, target: host.Host, socket: Path) -> None:
        self.core = Core(options.preset, egress="mac")
        self.core.device.shape(options.link_rate)
        self.core.device.queue_replace(0, options.policy, **options.settings)
        self.port = Port(source.tap, target.tap)
        self._source, self._target = source, target
        self._before = (source.counters(), target.counters())
        self._age = self._since_reset()
        self.server = Server(
            self.core,
            ServerOptions(options.preset, socket, slow=options.slow, line=self.port, behind_s=BEHIND_S),
        )
        self.socket = socket

    @property
    def pace(self) -> Pace:
        """How simulated time follows the clock."""
        assert self.server.pace is not None
        return self.server.pace

    def drain(self) -> None:
        """Lets what is in the core out; the line is not looked at any more."""
        self.core.run_idle()
        self.port.give(self.core)

    def _since_reset(self) -> int:
        """Cycles that the core's clock of its own is behind the model's: constant until a reset sets it back."""
        self.core.device.snapshot()
        return self.core.evaluated - self.core.device.core_counters().uptime

    def ledger(self) -> Ledger:
        """What was counted since the beginning; `drain` first. Frames that the receiver's device refused count as received."""
        stats, port = self.core.stats(), self.port
        source, target = self._source.counters(), self._target.counters()
        sent, received = self._before[0], self._before[1]
        counted = (
            (stats.core.rx_wire.packets, stats.core.rx_wire.bytes),
            (stats.core.tx_wire.packets, stats.core.tx_wire.bytes),
        )
        return Ledger(
            (source.sent - sent.sent, source.sent_bytes - sent.sent_bytes),
            ((stats.frames_in, stats.bytes_in), (stats.frames_out - port.aborted, stats.bytes_out - port.aborted_bytes)),
            counted if self._since_reset() - self._age < RESET_CYCLES else None,
            (target.received - received.received + port.lost,
             target.received_bytes - received.received_bytes + port.lost_bytes),
        )  # fmt: skip

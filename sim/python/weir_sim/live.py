"""`weir-sim live`: two hosts with the real TCP of this kernel, and the RTL between them.

    client ──TAP──▶ core (cycle model) ──TAP──▶ server
           ◀─────── wire with a delay, or a second core ◀───

The hosts are network namespaces (`host.Host`); a core decides about one direction, as everywhere. Simulated time is real
time, or `slow` times slower: then the shaper's rate and the policies' times are in simulated time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from weir.ctl import text

from . import host
from .direction import Direction, Ledger, Options
from .netns import path
from .tap import Wire

CLIENT, SERVER = ("10.88.0.1", "fd88::1"), ("10.88.0.2", "fd88::2")
REPORT_S = 1.0


class Live:
    """The hosts, the core and the wire. `turn` has to be called again and again. Nothing is left behind at `close`."""

    def __init__(self, options: Options) -> None:
        options.check()
        self.options = options
        user = host.needs_user_namespace()
        self._hosts: list[host.Host] = []
        self._directions: list[Direction] = []
        self._wire: Wire | None = None
        self._second: _Second | None = None
        try:
            for number, (name, addresses) in enumerate((("client", CLIENT), ("server", SERVER)), 1):
                self._hosts.append(host.Host(name, _plan(options, number, addresses, user)))
            self.client, self.server = self._hosts
            self.there = self._direction(self.client, self.server, options.socket)
            if options.cores == 2:
                back = options.socket.with_name(options.socket.name + "-back")
                self._second = _Second(self._direction(self.server, self.client, back))
                self._second.start()
            else:
                self._wire = Wire(self.server.tap, self.client.tap, options.delay_s)
                self._wire.start()
        except BaseException:
            self.close()
            raise

    def _direction(self, source: host.Host, target: host.Host, socket: Path) -> Direction:
        self._directions.append(Direction(self.options, source, target, socket))
        return self._directions[-1]

    @property
    def directions(self) -> Sequence[Direction]:
        """The one that the client sends in, and with two cores the other."""
        return self._directions

    def turn(self) -> None:
        """Moves frames, serves weirctl, lets time pass."""
        self.there.server.turn()
        if self._second is not None and self._second.error is not None:
            raise self._second.error

    def environment(self) -> dict[str, str]:
        """What commands on the hosts find in their environment."""
        return {**os.environ, "WEIR_DEVICE": f"unix:{self.options.socket}", "WEIR_SERVER": SERVER[0],
                "PATH": path()}  # fmt: skip

    def finish(self) -> list[Ledger]:
        """Ends the traffic, empties the cores and answers what was counted in each direction."""
        if self._second is not None:
            self._second.stop()
        for direction in self._directions:
            direction.drain()
        return [direction.ledger() for direction in self._directions]

    def close(self) -> None:
        """Ends everything that was started."""
        if self._second is not None:
            self._second.stop()
        if self._wire is not None:
            self._wire.stop()
            self._wire = None
        for direction in self._directions:
            direction.server.close()
        self._directions.clear()
        for one in self._hosts:
            one.close()
        self._hosts.clear()

    def __enter__(self) -> Live:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Second(threading.Thread):
    """The second core's thread."""

    def __init__(self, direction: Direction) -> None:
        super().__init__(daemon=True)
        self._direction = direction
        self._stopping = False
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            while not self._stopping:
                self._direction.server.turn()
        except Exception as error:
            self.error = error

    def stop(self) -> None:
        self._stopping = True
        if self.is_alive():
            self.join()


def _plan(options: Options, number: int, addresses: tuple[str, str], user: bool) -> host.Plan:
    return host.Plan(
        mac=f"02:00:00:00:00:{number:02x}",
        addresses=(f"{addresses[0]}/24", *([f"{addresses[1]}/64"] if options.mtu >= 1280 else [])),
        mtu=options.mtu,
        congestion=options.congestion,
        # a SYN that is lost does not turn ECN off: what a flow does would hang on its first packet
        parameters=(("ipv4/tcp_ecn", "1"), ("ipv4/tcp_ecn_fallback", "0")) if options.ecn else (("ipv4/tcp_ecn", "0"),),
        user=user,
    )


def _welcome(live: Live, say: Callable[[str], None]) -> None:
    o = live.options
    back = "another core" if o.cores == 2 else f"a wire, {text.time(round(o.delay_s * 1e6, 3))}"
    say(
        f"client {CLIENT[0]} → core, preset {o.preset}, {o.policy}, {text.rate(o.link_rate)}/s → server {SERVER[0]}; back: {back}"
    )
    say(f"TCP {o.congestion}, ECN {'on' if o.ecn else 'off'}; " + (
        "simulated time is real time" if o.slow == 1 else
        f"simulated time is {text.number(o.slow)} times slower than real time: the link carries {text.about(o.link_rate / o.slow, 'bit/s')}"))  # fmt: skip
    for direction in live.directions:
        say(f"  weirctl -d unix:{direction.socket} queue show")
    if not o.command:
        say(f"  {' '.join(live.client.enter())} ping {SERVER[0]}")
        say(f"  {' '.join(live.server.enter())} iperf3 -s")


class _Report:
    """A line about the last second now and then, and a note whenever the model has lost time."""

    def __init__(self, live: Live, say: Callable[[str], None], each_s: float | None) -> None:
        self._live, self._say, self._each_s = live, say, each_s
        self._at = time.monotonic()
        self._bytes = (0, 0)
        self._lost = 0.0

    def look(self) -> None:
        now = time.monotonic()
        if now - self._at < REPORT_S:
            return
        port = self._live.there.port
        lost = sum(d.pace.lost_s for d in self._live.directions)
        if lost > self._lost:
            self._say(f"the model cannot keep up: {lost - self._lost:.2f} s of the last {now - self._at:.1f} s are lost, "
                      "and what the hosts see is not the core; lower --link-rate or raise --slow")  # fmt: skip
            self._lost = lost
        elif self._each_s is not None:
            rates = [(new - old) * 8e-6 / (now - self._at) for new, old in
                     zip((port.sent_bytes, port.received_bytes), self._bytes, strict=True)]  # fmt: skip
            self._say(f"{rates[0]:.2f} Mbit/s in, {rates[1]:.2f} out")
        self._at, self._bytes = now, (port.sent_bytes, port.received_bytes)


def summary(live: Live, ledgers: Sequence[Ledger]) -> list[str]:
    """What was counted, and how well simulated time kept up."""
    lines = []
    for direction, ledger in zip(live.directions, ledgers, strict=True):
        pace = direction.pace
        lines.append(f"{ledger.sent[0]:,} frames of the sender's device into the core, {ledger.received[0]:,} out of it "
                     "to the receiver's")  # fmt: skip
        lines.append(
            f"model: at most {pace.worst_s * 1e3:.1f} ms behind, {pace.lost_s:.2f} s of {pace.elapsed_s:.1f} s lost"
        )
        if ledger.registers is None:
            lines.append("the core was reset meanwhile: its registers do not tell about the time before, its ports do")
        if direction.port.aborted or direction.port.lost:
            lines.append(
                f"{direction.port.aborted} frames cut off by a reset, {direction.port.lost} refused by the device"
            )
    return lines


def run(options: Options, say: Callable[[str], None] = lambda line: print(line, flush=True)) -> int:
    """Runs until the command ends, the time is over, or it is interrupted. Answers the command's exit code."""
    with Live(options) as live:
        command: subprocess.Popen[bytes] | None = None
        code: int | None = None
        try:
            _welcome(live, say)
            report = _Report(live, say, REPORT_S if sys.stdout.isatty() and not options.command else None)
            out = (
                sys.stderr if options.command else sys.stdout
            )  # of a command on the client, standard output has nothing else
            for words in options.serving:
                live.server.start(["sh", "-c", words], env=live.environment(), stdin=subprocess.DEVNULL, stdout=out)
            if options.command:
                command = live.client.start(list(options.command), env=live.environment())
            end = None if options.seconds is None else time.monotonic() + options.seconds
            while code is None and (end is None or time.monotonic() < end):
                live.turn()
                report.look()
                code = None if command is None else command.poll()
        except KeyboardInterrupt:
            print("", file=sys.stderr)
        if command is not None and command.poll() is None:
            command.terminate()
        ledgers = live.finish()
        for line in summary(live, ledgers):
            say(line)
        for ledger in ledgers:
            ledger.check()
        return 0 if code is None else code if code >= 0 else 128 - code

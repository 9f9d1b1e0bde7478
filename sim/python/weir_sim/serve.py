"""`weir-sim serve`: a cycle model behind a UNIX socket or a pseudo-terminal, for libweir and weirctl."""

from __future__ import annotations

import os
import selectors
import socket
import stat
import sys
import time
import tty
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from . import protocol
from .core import BusError, Core
from .errors import UsageError
from .pace import Pace
from .protocol import SILENT, SLVERR, Answerer, Decoder, Op, Refused, encode

SLICE_NS = 10_000
"""Simulated time between two looks at the clients: a few ms of a busy core."""
LEAD_NS = 100_000
"""Traffic is on the line for so long ahead, because register accesses let time pass as well."""
BEHIND_S = 1.0
"""Real time that the model may be behind before time becomes what it has reached."""
GATHER_S = 0.001
"""Real time that frames of a line may wait for an event of the core, and that one step of the core may stand for."""
LOOK_S = 0.02
"""Longest wait for a line."""
HOLD_S = 5.0
"""A client that holds the device and says nothing for so long loses it."""
TURN_S = 0.2
"""How long the device is kept for a client that was answered BUSY; it asks again every few ms."""
MOST_WAITING = 1 << 20
"""Bytes that may wait for a client that does not read."""


class Source(Protocol):
    """Traffic: sends frames ahead of time."""

    def feed(self, core: Core, until_ns: int) -> None:
        """Sends what is due before a time."""


class Line(Protocol):
    """Real frames, in and out."""

    @property
    def descriptor(self) -> int:
        """Readable when frames wait to go in."""

    def take(self, core: Core, at_ns: int) -> None:
        """Sends what waits into the core, for a time."""

    def give(self, core: Core) -> None:
        """Takes what has left the core, frames and trace, away."""


@dataclass(frozen=True)
class Options:
    """What is served and how. `slow` is real time by simulated time; 0: time passes by register accesses alone.

    With a `line` the core's traffic is that of the line, and time, which then follows the clock closely, may be behind
    for `behind_s` before it is lost.
    """

    preset: str = "full"
    socket: Path | None = None
    pty: Path | None = None
    source: Source | None = None
    link_rate: float | None = None
    slow: float = 1000.0
    line: Line | None = None
    behind_s: float = BEHIND_S


class _Registers:
    def __init__(self, core: Core) -> None:
        self._core = core

    def read(self, address: int) -> int:
        try:
            return self._core.csr_read(address)
        except BusError as error:
            raise Refused(SLVERR if "SLVERR" in str(error) else SILENT) from None

    def write(self, address: int, value: int) -> None:
        try:
            self._core.csr_write(address, value)
        except BusError as error:
            raise Refused(SLVERR if "SLVERR" in str(error) else SILENT) from None


@dataclass(eq=False)
class _Client:
    """A connection, or the terminal: bytes in, bytes out."""

    descriptor: int
    answerer: Answerer | None = None
    decoder: Decoder = field(default_factory=Decoder)
    waiting: bytearray = field(default_factory=bytearray)
    connection: socket.socket | None = None
    lapsed: bool = False  # it held the device, and was silent for too long


class Server:
    """A core and its clients. `turn` has to be called again and again; one thread does it."""

    def __init__(self, core: Core, options: Options) -> None:
        self.core = core
        self._options = options
        self._selector = selectors.DefaultSelector()
        self._registers = _Registers(core)
        self._holder: _Client | None = None
        self._held_until = 0.0
        self._turns: list[_Client] = []  # who was answered BUSY, the first first
        self._turn_until = 0.0
        self._link: Path | None = None
        self._listener: socket.socket | None = None
        self._line: int | None = None
        core.keep(frames=options.line is not None, trace=False)
        self.pace = Pace(options.slow, core.now_ns, options.behind_s) if options.slow else None
        if options.line is not None:
            self._selector.register(options.line.descriptor, selectors.EVENT_READ, options.line)
        try:
            if options.socket is not None:
                self._listen(options.socket)
            if options.pty is not None:
                self._open_terminal(options.pty)
        except BaseException:
            self.close()
            raise

    # ---- places

    def _listen(self, path: Path) -> None:
        _free_place(path)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(str(path))
        except OSError as error:
            listener.close()
            raise UsageError(f"{path}: {error.strerror or error}") from None
        self._listener = listener
        self._listener.listen()
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, None)

    def _open_terminal(self, link: Path) -> None:
        if link.is_symlink() and os.readlink(link).startswith("/dev/pts/"):
            link.unlink()  # of a server that was killed
        self._line, self._far = os.openpty()  # the far end is kept open, or the line would end with its first client
        tty.setraw(self._far)
        os.set_blocking(self._line, False)
        try:
            link.symlink_to(os.ttyname(self._far))
        except FileExistsError:
            raise UsageError(f"{link}: is there already; choose another path") from None
        except OSError as error:
            raise UsageError(f"{link}: {error.strerror or error}") from None
        self._link = link
        self._add(_Client(self._line))

    def _add(self, client: _Client) -> None:
        client.answerer = Answerer(
            self._registers, lambda on: self._hold(client, on), lambda ops: self._admit(client, ops)
        )
        self._selector.register(client.descriptor, selectors.EVENT_READ, client)

    def _hold(self, client: _Client, on: bool) -> bool:
        client.lapsed = False
        if on:
            self._holder = client
        elif self._holder is client:
            self._let_go()
        return True

    def _admit(self, client: _Client, ops: Sequence[Op]) -> int:
        """Whether what a client asks for may be done now. Holding no longer needs nobody's leave."""
        held = [bool(op.address) for op in ops if op.kind == protocol.HOLD]
        if held and not any(held) and len(ops) == len(held):
            return protocol.OK
        if client.lapsed and not (held and ops[0].kind == protocol.HOLD):
            return protocol.LAPSED
        return protocol.OK if self._free(client) else protocol.BUSY

    def _let_go(self) -> None:
        self._holder = None
        self._turn_until = time.monotonic() + TURN_S

    def _free(self, client: _Client) -> bool:
        """Whether it is this client's turn. Who was answered BUSY comes first, or a client that holds again at once keeps it out."""
        if self._holder is client:
            return True
        if self._holder is None:
            while self._turns and self._turns[0] is not client and time.monotonic() > self._turn_until:
                del self._turns[0]  # it does not ask any more
                self._turn_until = time.monotonic() + TURN_S
            if not self._turns or self._turns[0] is client:
                del self._turns[:1]
                self._turn_until = time.monotonic() + TURN_S
                return True
        if client not in self._turns:
            self._turns.append(client)
        return False

    # ---- clients

    def _accept(self) -> None:
        assert self._listener is not None
        connection, _ = self._listener.accept()
        connection.setblocking(False)
        self._add(_Client(connection.fileno(), connection=connection))

    def _drop(self, client: _Client) -> None:
        if self._holder is client:
            self._let_go()
        if client in self._turns:
            self._turns.remove(client)
        self._selector.unregister(client.descriptor)
        if client.connection is not None:
            client.connection.close()

    def _read(self, client: _Client) -> None:
        try:
            data = os.read(client.descriptor, 4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data and client.connection is not None:
            self._drop(client)
            return
        assert client.answerer is not None
        for payload in client.decoder.feed(data):
            if self._holder is client:
                self._held_until = time.monotonic() + HOLD_S
            answer = client.answerer.answer(payload)
            if self._holder is client:
                self._held_until = time.monotonic() + HOLD_S
            if answer is not None:
                client.waiting += encode(answer)
        self._write(client)

    def _write(self, client: _Client) -> None:
        try:
            while client.waiting:
                del client.waiting[: os.write(client.descriptor, client.waiting)]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(client)
            return
        if len(client.waiting) > MOST_WAITING:
            self._drop(client)
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.waiting else 0)
        self._selector.modify(client.descriptor, events, client)

    # ---- time

    def turn(self) -> None:
        """Serves who wants something and lets some time pass."""
        if self._options.line is not None and self.pace is not None:
            self._turn_with_line(self._options.line, self.pace)
            return
        core, pace = self.core, self.pace
        due = core.now_ns if pace is None else pace.due()
        if self._options.source is not None:
            self._options.source.feed(core, core.now_ns + LEAD_NS)
        ahead = due - core.now_ns
        wait = 0.5 if pace is None else 0.0 if ahead > 0 else min(0.1, pace.real_s(-ahead) + 0.001)
        self._attend(wait)
        if pace is not None and ahead > 0:
            core.run_until(min(due, core.now_ns + SLICE_NS))
            pace.reached(core.now_ns)

    def _turn_with_line(self, line: Line, pace: Pace) -> None:
        """Waits for the line, a client, or the core's next event, and lets the core catch up.

        Frames that come when the core will act within GATHER_S wait for that, and frames that have come since the last step
        go in at the first event of the next one: a frame that goes in while another goes out costs the model half.
        """
        core = self.core
        next_ns = core.next_ns
        idle = LOOK_S if next_ns is None else min(LOOK_S, pace.real_s(next_ns - pace.due()))
        if self._attend(max(0.0, idle)) and next_ns is not None:
            gather = pace.real_s(next_ns - pace.due())
            if 0 < gather < GATHER_S:
                time.sleep(gather)
        due, begins = pace.due(), core.next_ns
        line.take(core, due if begins is None else min(due, max(begins, core.now_ns)))
        begins = core.next_ns
        core.run_until(due if begins is None else min(due, begins + int(1e9 * GATHER_S / self._options.slow)))
        line.give(core)
        pace.reached(core.now_ns)

    def _attend(self, wait: float) -> bool:
        """Waits at most so long for clients and serves them; tells whether the line has something."""
        if self._holder is not None and time.monotonic() > self._held_until:
            self._holder.lapsed = True
            self._let_go()
        found = False
        for key, events in self._selector.select(wait):
            if key.data is None:
                self._accept()
            elif not isinstance(key.data, _Client):
                found = True
            elif events & selectors.EVENT_READ:
                self._read(key.data)
            else:
                self._write(key.data)
        return found

    def close(self) -> None:
        """Lets the clients and the places go."""
        for key in list(self._selector.get_map().values()):
            if isinstance(key.data, _Client) and key.data.connection is not None:
                key.data.connection.close()
        self._selector.close()
        if self._listener is not None:
            self._listener.close()
            if self._options.socket is not None:
                self._options.socket.unlink(missing_ok=True)
        if self._line is not None:
            if self._link is not None:
                self._link.unlink(missing_ok=True)
            os.close(self._line)
            os.close(self._far)


def _free_place(path: Path) -> None:
    """Removes a socket that nobody serves any more; refuses what is something else."""
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the directory {path.parent} does not exist")
    if len(os.fsencode(path)) > 107:
        raise UsageError(f"{path}: a socket's path has at most 107 bytes; choose a shorter one")
    if not path.exists():
        return
    if not stat.S_ISSOCK(path.stat().st_mode):
        raise UsageError(f"{path}: is not a socket; choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
            return
    raise UsageError(f"{path}: another server is there; choose another path")


def run(options: Options, say: Callable[[str], None] = lambda line: print(line, flush=True)) -> int:
    """Serves until it is interrupted."""
    core = Core(options.preset, egress="mac")
    if options.link_rate is not None:
        core.device.shape(options.link_rate)
    server = Server(core, options)
    try:
        for name, place in (("unix", options.socket), ("uart", options.pty)):
            if place is not None:
                say(f"preset {options.preset} at {name}:{place}; try: weirctl -d {name}:{place} queue show")
        while True:
            server.turn()
    except KeyboardInterrupt:
        print("", file=sys.stderr)
        return 0
    finally:
        server.close()

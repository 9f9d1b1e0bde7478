"""A host for `weir-sim live`: a network namespace of its own with one Ethernet port, whose frames this process moves.

The port is a TAP device. A child process makes the namespace, opens the device in it, hands its descriptor over and
waits. When that child goes, all that was started in the namespace goes, and the namespace and the device with it: nothing is
left behind however this process ends, and nothing of the system's own network is touched. Without root a
user namespace gives the rights that this takes, where the system allows it.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import netns
from .errors import UsageError
from .netns import PORT, TUN, path

START_S = 20.0


@dataclass(frozen=True)
class Plan:
    """How a host's port is set up.

    `congestion` is TCP's congestion control ("": the system's default), `parameters` are sysctl names below
    /proc/sys/net and their values; `user` makes a user namespace as well.
    """

    mac: str
    addresses: tuple[str, ...]
    mtu: int = 1500
    congestion: str = ""
    parameters: tuple[tuple[str, str], ...] = ()
    user: bool = False


@dataclass(frozen=True)
class Counters:
    """What the kernel counted at a port: frames and bytes without FCS, of the host's point of view."""

    received: int
    received_bytes: int
    sent: int
    sent_bytes: int
    dropped: int


class Host:
    """A namespace with one port. `tap` is the descriptor of the port's far end: read what the host sends, write what
    it receives; it does not block. `pid` is the first process in the namespace."""

    def __init__(self, name: str, plan: Plan) -> None:
        self.name = name
        self._user = plan.user
        self._children: list[subprocess.Popen[bytes]] = []
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line = near
        with far:
            self._process = subprocess.Popen(
                [sys.executable, netns.__file__, str(far.fileno()), json.dumps(plan.__dict__)],
                pass_fds=[far.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        near.settimeout(START_S)
        try:
            text, descriptors, _, _ = socket.recv_fds(near, 4096, 1)
        except TimeoutError:
            text, descriptors = b"its namespace is not ready after 20 s", []
        if not descriptors:
            self.close()
            raise UsageError(f"live: {text.decode() or 'the process in its namespace ended'}")
        self.tap, self.pid = descriptors[0], int(text)
        os.set_blocking(self.tap, False)

    def enter(self) -> list[str]:
        """The words before a command that run it in the namespace."""
        words = ["nsenter", "-t", str(self.pid), "-n"]
        return [*words, "-U", "--preserve-credentials"] if self._user else words

    def start(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Starts a command in the namespace; `close` ends it and all that it has started, and so does the end of this process."""
        words = [*self.enter(), "-p", "--", "setpriv", "--pdeathsig", "KILL", "--", *command]
        child = subprocess.Popen(words, **options)
        self._children.append(child)
        return child

    def counters(self) -> Counters:
        """What the port has counted."""
        for line in Path(f"/proc/{self.pid}/net/dev").read_text().splitlines():
            port, _, numbers = line.partition(":")
            if port.strip() == PORT:
                n = [int(word) for word in numbers.split()]
                return Counters(n[1], n[0], n[9], n[8], n[3] + n[11])
        raise UsageError(f"live: the port {PORT} of {self.name} is gone")

    def close(self) -> None:
        """Ends what was started and the namespace with it."""
        for child in self._children:
            if child.poll() is None:
                child.kill()
            child.wait()
        self._children.clear()
        if hasattr(self, "tap"):
            os.close(self.tap)
            del self.tap
        self._line.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def needs_user_namespace() -> bool:
    """Whether this process needs a user namespace of its own: it is not root, or root without the right to make others.

    Raises:
        UsageError: a tool or the TAP device is missing.
    """
    for tool, package in (("ip", "iproute2"), ("nsenter", "util-linux"), ("setpriv", "util-linux")):
        if shutil.which(tool, path=path()) is None:
            raise UsageError(f"live: the command {tool} is missing; as root: apt-get install {package}")
    if not os.access(TUN, os.R_OK | os.W_OK):
        why = "may not be opened by this user" if os.path.exists(TUN) else "does not exist (modprobe tun)"
        raise UsageError(f"live: {TUN} {why}; run it as root, or ask for that right")
    effective = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff"))
    return not int(effective.split()[1], 16) >> 21 & 1  # CAP_SYS_ADMIN

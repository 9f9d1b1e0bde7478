"""The process in the namespace of a host of `weir-sim live`: makes it and its TAP device, hands the descriptor over, waits.

    python netns.py SOCKET PLAN

SOCKET is the number of a descriptor, PLAN the host's plan as JSON. Nothing but the standard library is needed, so that it
starts quickly; host.py starts it.

The namespaces are one for the network and one for processes. The first process of the latter does nothing but wait: when
it goes, the kernel ends all others in there, whatever they have started.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import ipaddress
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

TUN = "/dev/net/tun"
PORT = "eth0"
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_SET_INTERFACE, _TAP, _NO_PACKET_INFORMATION = 0x400454CA, 0x0002, 0x1000


class Refused(Exception):
    """The system does not allow something; the text says what and what to do."""


def path() -> str:
    """Where to look for commands: also where Debian keeps those of administrators."""
    return os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"


def _unshare(flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _become_root_inside(uid: int, gid: int) -> None:
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


def _ip(*words: str) -> None:
    environment = {**os.environ, "PATH": path()}
    done = subprocess.run(["ip", *words], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise Refused(f"ip {' '.join(words)}: {done.stderr.strip()}")


def _first_process(line: socket.socket) -> int:
    """Starts the first process of the namespace; it lasts as long as this one does."""
    near, far = os.pipe()
    pid = os.fork()
    if pid == 0:
        line.close()
        os.close(far)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever is orphaned in there is buried
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.read(near, 1)
        os._exit(0)
    os.close(near)
    return pid


def _make(plan: dict[str, Any], line: socket.socket) -> tuple[int, int]:
    """Makes the namespaces and the port; answers the first process and the port's descriptor."""
    uid, gid = os.getuid(), os.getgid()
    try:
        _unshare(_NEWNET | _NEWPID | (_NEWUSER if plan["user"] else 0))
        if plan["user"]:
            _become_root_inside(uid, gid)
    except OSError as error:
        raise Refused(f"no network namespace may be made here ({error.strerror}); run it as root") from None
    first = _first_process(line)
    tap = os.open(TUN, os.O_RDWR)
    try:
        fcntl.ioctl(tap, _SET_INTERFACE, struct.pack("16sH22x", PORT.encode(), _TAP | _NO_PACKET_INFORMATION))
    except OSError as error:
        raise Refused(f"no TAP device may be made here ({error.strerror}); run it as root") from None
    for name, value in plan["parameters"]:
        try:
            Path("/proc/sys/net", name).write_text(value)
        except OSError as error:
            raise Refused(f"/proc/sys/net/{name} does not take {value} ({error.strerror})") from None
    _ip("link", "set", "lo", "up")
    _ip("link", "set", PORT, "address", plan["mac"], "mtu", str(plan["mtu"]), "up")
    for address in plan["addresses"]:
        _ip("address", "add", address, "dev", PORT, "noprefixroute", *(["nodad"] if ":" in address else []))
        # A route may name any congestion control; the namespace's default only one that is open to everybody.
        network = str(ipaddress.ip_interface(address).network)
        _ip("route", "add", network, "dev", PORT, *(["congctl", plan["congestion"]] if plan["congestion"] else []))
    return first, tap


def _main() -> None:
    line = socket.socket(fileno=int(sys.argv[1]))
    try:
        first, tap = _make(json.loads(sys.argv[2]), line)
    except (Refused, OSError) as error:
        line.send(str(error).encode())
        return
    line.sendmsg([str(first).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [tap]))])
    os.close(tap)
    line.recv(1)  # until the other side is gone


if __name__ == "__main__":
    _main()

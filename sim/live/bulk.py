"""TCP flows and probes between the hosts of `weir-sim live`; `receive` on the server, `send` on the client.

    bulk.py receive
    bulk.py send --host 10.88.0.2 --flows 4 --seconds 10 [--stagger 0.1] [--congestion cubic]

`send` prints one JSON object: of each flow the bytes that the server got, when it got the first and the last of them, and
the sender's retransmissions; and the round trips of a small UDP packet: when each began, and how long it took in ms.
"""

from __future__ import annotations

import argparse
import json
import socket
import struct
import threading
import time
from typing import Any

PORT = 5001
PROBE_S = 0.02
BLOCK = bytes(64 * 1024)
TCP_INFO_RETRANSMITS = 100  # offset of tcpi_total_retrans in struct tcp_info, linux/tcp.h


def receive() -> None:
    """Counts what each flow brings and answers with it when the flow ends; sends probes back."""
    threading.Thread(target=_echo, daemon=True).start()
    listener = socket.create_server(("", PORT), backlog=64)
    while True:
        flow, _ = listener.accept()
        threading.Thread(target=_count, args=(flow,), daemon=True).start()


def _echo() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("", PORT))
        while True:
            data, sender = s.recvfrom(64)
            s.sendto(data, sender)


def _count(flow: socket.socket) -> None:
    total, first, last = 0, 0.0, 0.0
    with flow:
        while data := flow.recv(1 << 20):
            last = time.monotonic()
            first = first or last
            total += len(data)
        flow.sendall(json.dumps({"bytes": total, "first": first, "last": last}).encode())


class _Flow(threading.Thread):
    """A bulk flow: as much as TCP takes until a time."""

    def __init__(self, host: str, congestion: str | None, start: float, end: float) -> None:
        super().__init__()
        self._host, self._congestion, self._start, self._end = host, congestion, start, end
        self.result: dict[str, Any] = {}

    def run(self) -> None:
        time.sleep(max(0.0, self._start - time.monotonic()))
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
            if self._congestion:
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._congestion.encode())
            s.connect((self._host, PORT))
            s.settimeout(0.25)
            while time.monotonic() < self._end:
                try:
                    s.send(BLOCK)
                except TimeoutError:
                    continue
            name = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
            info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
            (again,) = struct.unpack_from("=I", info, TCP_INFO_RETRANSMITS)
            s.shutdown(socket.SHUT_WR)
            s.settimeout(50)
            self.result = {**json.loads(s.recv(256)), "retransmitted": again, "congestion": name}


def _probe(host: str, end: float) -> list[tuple[float, float]]:
    """Round trips: seconds since the beginning, and ms."""
    found: list[tuple[float, float]] = []
    begun = time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((host, PORT))
        s.settimeout(PROBE_S)
        while (now := time.monotonic()) < end:
            s.send(struct.pack("!d", now))
            while (left := now + PROBE_S - time.monotonic()) > 0:
                s.settimeout(left)
                try:
                    (sent,) = struct.unpack("!d", s.recv(64))
                except (TimeoutError, ConnectionRefusedError):
                    continue
                found.append((sent - begun, (time.monotonic() - sent) * 1e3))
    return found


def goodput_mbit(flows: list[dict[str, Any]]) -> float:
    """Of all flows together, from the first byte of any to the last of any."""
    seconds = max(flow["last"] for flow in flows) - min(flow["first"] for flow in flows)
    return float(sum(flow["bytes"] for flow in flows) * 8e-6 / seconds)


def send(host: str, flows: int, seconds: float, stagger: float, congestion: str | None) -> dict[str, Any]:
    """Runs the flows and the probes."""
    begun = time.monotonic()
    threads = [_Flow(host, congestion, begun + n * stagger, begun + seconds) for n in range(flows)]
    for thread in threads:
        thread.start()
    probes = _probe(host, begun + seconds)
    for thread in threads:
        thread.join()
    return {"flows": [thread.result for thread in threads], "probes": probes}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("role", choices=["send", "receive"])
    parser.add_argument("--host", default="10.88.0.2")
    parser.add_argument("--flows", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--stagger", type=float, default=0.1)
    parser.add_argument("--congestion")
    a = parser.parse_args()
    if a.role == "receive":
        receive()
    else:
        print(json.dumps(send(a.host, a.flows, a.seconds, a.stagger, a.congestion)))


if __name__ == "__main__":
    main()

"""The flows that scripts/record_capture.sh records. `receive` in one network namespace, `send` in the other.

The load rises, exceeds 10 Mb/s for about a second, and falls: bulk flows join every 100 ms, each paced by Linux
TCP itself (SO_MAX_PACING_RATE), beside requests with responses of many sizes and ping.
"""

from __future__ import annotations

import argparse
import random
import socket
import struct
import threading
import time
from dataclasses import dataclass

PORT = 5001
SO_MAX_PACING_RATE = 47  # asm-generic/socket.h; Python's socket module does not have it
MSS = 1448


@dataclass(frozen=True)
class Bulk:
    """A flow that sends as fast as its pacing allows."""

    host: str
    congestion: str
    start_s: float
    seconds: float
    bytes_per_s: int


# .2 and ::2 negotiate ECN, .3 and ::3 do not.
BULK = [
    Bulk("10.0.0.2", "cubic", 0.4, 1.6, 130_000),
    Bulk("10.0.0.3", "cubic", 0.5, 1.5, 130_000),
    Bulk("10.0.0.2", "reno", 0.6, 1.3, 130_000),
    Bulk("10.0.0.3", "reno", 0.7, 1.2, 130_000),
    Bulk("fd00::2", "cubic", 0.8, 1.0, 110_000),
    Bulk("fd00::3", "cubic", 0.9, 0.9, 110_000),
    Bulk("10.0.0.2", "cubic", 1.0, 0.7, 230_000),
    Bulk("10.0.0.3", "cubic", 1.1, 0.5, 230_000),
]
SECONDS = 3.0
# Sizes of the messages of a request/response flow, sent in this direction.
MESSAGES = [64, 120, 300, 700, 1200, 1448, 2500, 5000]


def connect(host: str, congestion: str, pacing: int | None = None) -> socket.socket:
    """A TCP connection to the receiver; `pacing` in bytes a second."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if pacing is not None:
        s.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, pacing)
        # No more than 100 ms of data wait in the socket, so that the flow ends when it should.
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, max(8 * MSS, pacing // 10))
    s.connect((host, PORT))
    return s


def bulk(flow: Bulk, epoch: float) -> None:
    time.sleep(max(0.0, epoch + flow.start_s - time.monotonic()))
    with connect(flow.host, flow.congestion, flow.bytes_per_s) as s:
        end = epoch + flow.start_s + flow.seconds
        while time.monotonic() < end:
            s.sendall(bytes(2 * MSS))


def dialogue(host: str, seed: int, epoch: float) -> None:
    """Messages of random sizes at random times; the receiver answers each with a few bytes."""
    choose = random.Random(seed)
    with connect(host, "cubic") as s:
        while time.monotonic() < epoch + SECONDS:
            size = choose.choice(MESSAGES)
            s.sendall(size.to_bytes(4, "big") + bytes(size - 4))
            if not s.recv(16):
                return
            time.sleep(choose.expovariate(1 / 0.1))


def ping(host: str, epoch: float) -> None:
    """An echo request with 56 bytes of data every 100 ms, as ping(8) sends it."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as s:
        sequence = 0
        while time.monotonic() < epoch + SECONDS:
            sequence += 1
            body = struct.pack("!HH", 1, sequence) + bytes(range(56))
            s.sendto(struct.pack("!BBH", 8, 0, internet_checksum(b"\x08\0" + body)) + body, (host, 0))
            time.sleep(0.1)


def internet_checksum(data: bytes) -> int:
    """RFC 1071, of an even number of bytes."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def send() -> None:
    epoch = time.monotonic()
    threads = [threading.Thread(target=bulk, args=(flow, epoch)) for flow in BULK]
    hosts = ["10.0.0.2", "10.0.0.3", "fd00::2", "fd00::3"]
    threads += [threading.Thread(target=dialogue, args=(host, n, epoch)) for n, host in enumerate(hosts)]
    threads.append(threading.Thread(target=ping, args=("10.0.0.3", epoch)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(0.2)


def serve(s: socket.socket) -> None:
    """Takes everything; answers when a message is complete (a bulk flow's zeros are messages of no length)."""
    waiting = 0
    with s:
        while data := s.recv(65536):
            if waiting <= 0:
                waiting = int.from_bytes(data[:4], "big")
                if waiting == 0:
                    continue
            waiting -= len(data)
            if waiting <= 0:
                s.sendall(b"received")


def receive() -> None:
    listener = socket.create_server(("", PORT), family=socket.AF_INET6, dualstack_ipv6=True, backlog=32)
    while True:
        s, _ = listener.accept()
        threading.Thread(target=serve, args=(s,), daemon=True).start()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("role", choices=["send", "receive"])
    if parser.parse_args().role == "send":
        send()
    else:
        receive()


if __name__ == "__main__":
    main()

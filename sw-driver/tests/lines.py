"""Lines of the register protocol for tests: a scripted server, and one that damages what it carries."""

from __future__ import annotations

import os
import socket
import threading
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fake_core import FakeCore, SlaveError
from weir_sim.protocol import SLVERR, Answerer, Decoder, Refused, encode

#: What becomes of an answer's frame on its way: the bytes that arrive. Gets the frame and its number from 0.
Mangle = Callable[[bytes, int], bytes]


class FakeRegisters:
    """A FakeCore as the protocol's server wants it."""

    def __init__(self, core: FakeCore) -> None:
        self._core = core

    def read(self, address: int) -> int:
        try:
            return self._core.csr_read(address)
        except SlaveError:
            raise Refused(SLVERR) from None

    def write(self, address: int, value: int) -> None:
        try:
            self._core.csr_write(address, value)
        except SlaveError:
            raise Refused(SLVERR) from None


class LineServer:
    """Serves a core on one descriptor; `hear` and `say` are what the line does to requests and answers."""

    def __init__(self, core: FakeCore, descriptor: int, hear: Mangle, say: Mangle) -> None:
        self.answerer = Answerer(FakeRegisters(core))
        self.decoder = Decoder()
        self.requests: list[bytes] = []
        self._descriptor, self._hear, self._say = descriptor, hear, say

    def run(self) -> None:
        heard, said = 0, 0
        waiting = b""
        while True:
            try:
                data = os.read(self._descriptor, 4096)
            except OSError:
                return
            if not data:
                return
            waiting += data
            while (end := waiting.find(b"\x7e", 1)) > 0:  # whole frames, so that each is damaged by itself
                frame, waiting = waiting[: end + 1], waiting[end + 1 :]
                for payload in self.decoder.feed(self._hear(frame, heard)):
                    self.requests.append(payload)
                    answer = self.answerer.answer(payload)
                    if answer is not None:
                        out = self._say(encode(answer), said)
                        said += 1
                        try:
                            os.write(self._descriptor, out)
                        except OSError:
                            return
                heard += 1


def same(frame: bytes, number: int) -> bytes:
    """A good line."""
    return frame


@contextmanager
def serial_line(core: FakeCore, hear: Mangle = same, say: Mangle = same) -> Iterator[tuple[str, LineServer]]:
    """A core behind a pseudo-terminal; the URI and the server."""
    near, far = os.openpty()
    tty.setraw(far)
    server = LineServer(core, near, hear, say)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield f"uart:{os.ttyname(far)}", server
    finally:
        os.close(far)
        thread.join(2)
        os.close(near)


@contextmanager
def scripted(path: Path, answers: Callable[[bytes], bytes | None]) -> Iterator[str]:
    """A server on a socket that answers each request's payload with any bytes; None closes the connection."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()

    def run() -> None:
        decoder = Decoder()
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            while data := connection.recv(4096):
                for payload in decoder.feed(data):
                    answer = answers(payload)
                    if answer is None:
                        return
                    connection.sendall(answer)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield f"unix:{path}"
    finally:
        listener.close()
        thread.join(2)

"""The server's side of the register protocol (docs/register-protocol.md): frames, and what answers them.

libweir has the client's side in C; this one is written from the page, so that each tests the other.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

FLAG: Final = 0x7E
ESCAPE: Final = 0x7D
TURN: Final = 0x20
REQUEST, REPEAT, ANSWER = 0x51, 0x52, 0x41
HELLO, READ, WRITE, READ_PACKED, HOLD = range(5)
OK, SLVERR, MALFORMED, SILENT, BUSY, LAPSED = range(6)
VERSION: Final = 1
MOST_REQUEST: Final = 1024
"""Bytes of a request with its CRC, without stuffing, that this server takes."""
MOST_WORDS: Final = 1024
GREETING: Final = 0x57 << 24 | VERSION << 16 | MOST_REQUEST

_OP_BYTES: Final = 4
_CRC_BYTES: Final = 4


class Registers(Protocol):
    """Register access; both raise `Refused`."""

    def read(self, address: int, /) -> int:
        """The register at a byte address."""

    def write(self, address: int, value: int, /) -> None:
        """Writes it."""


class Refused(Exception):
    """An access was answered with `status`: SLVERR, or SILENT when nobody answered."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def encode(payload: bytes) -> bytes:
    """A payload as the frame that is sent, flags and CRC included."""
    stuffed = bytearray([FLAG])
    for byte in payload + zlib.crc32(payload).to_bytes(_CRC_BYTES, "little"):
        if byte in (FLAG, ESCAPE):
            stuffed += bytes((ESCAPE, byte ^ TURN))
        else:
            stuffed.append(byte)
    stuffed.append(FLAG)
    return bytes(stuffed)


@dataclass
class Decoder:
    """Payloads out of the bytes of a line. What is no frame is counted in `corrupted` and left out."""

    longest: int = MOST_REQUEST
    corrupted: int = 0
    _bytes: bytearray = field(default_factory=bytearray)
    _escaped: bool = False
    _broken: bool = False
    _inside: bool = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The payloads that end in `data`."""
        for byte in data:
            if byte == FLAG:
                payload = self._end()
                if payload is not None:
                    yield payload
            else:
                self._take(byte)

    def _take(self, byte: int) -> None:
        self._inside = True
        if self._escaped:
            byte, self._escaped = byte ^ TURN, False
        elif byte == ESCAPE:
            self._escaped = True
            return
        if len(self._bytes) < self.longest:
            self._bytes.append(byte)
        else:
            self._broken = True

    def _end(self) -> bytes | None:
        whole, inside = bytes(self._bytes), self._inside
        good = not (self._broken or self._escaped) and len(whole) >= 2 + _CRC_BYTES
        self._bytes.clear()
        self._escaped = self._broken = self._inside = False
        if good and zlib.crc32(whole[:-_CRC_BYTES]) == int.from_bytes(whole[-_CRC_BYTES:], "little"):
            return whole[:-_CRC_BYTES]
        self.corrupted += inside
        return None


def pack(words: Sequence[int]) -> bytes:
    """Words with their leading zero bytes left out: for each four a byte of sizes, then their bytes."""
    packed = bytearray()
    for first in range(0, len(words), 4):
        codes, data = 0, bytearray()
        for k, word in enumerate(words[first : first + 4]):
            code = 0 if not word else 1 if word < 1 << 8 else 2 if word < 1 << 16 else 3
            codes |= code << 2 * k
            data += word.to_bytes((0, 1, 2, 4)[code], "little")
        packed.append(codes)
        packed += data
    return bytes(packed)


@dataclass(frozen=True)
class Op:
    """One operation of a request on `count` registers from `address` on."""

    kind: int
    address: int
    count: int
    values: tuple[int, ...] = ()


def operations(payload: bytes) -> list[Op] | None:
    """The operations of a request, or None if it is malformed."""
    at, words, found = 2, 0, []
    while at < len(payload):
        if len(payload) < at + _OP_BYTES:
            return None
        kind, count = payload[at], payload[at + 3]
        address = int.from_bytes(payload[at + 1 : at + 3], "little")
        at += _OP_BYTES
        size = 4 * count if kind == WRITE else 0
        if kind > HOLD or not count or len(payload) < at + size or (kind in (HELLO, HOLD) and count != 1):
            return None
        values = tuple(int.from_bytes(payload[at + k : at + k + 4], "little") for k in range(0, size, 4))
        found.append(Op(kind, address, count, values))
        at += size
        words += count
    return found if found and words <= MOST_WORDS else None


class Answerer:
    """Answers the requests of one client.

    `hold(on)` tells whether the client may keep the device to itself, `admit(ops)` whether its operations may be carried
    out: OK, BUSY or LAPSED.
    """

    def __init__(
        self,
        registers: Registers,
        hold: Callable[[bool], bool] = lambda on: True,
        admit: Callable[[Sequence[Op]], int] = lambda ops: OK,
    ) -> None:
        self._registers = registers
        self._hold = hold
        self._admit = admit
        self._last: tuple[int, int, int] | None = None  # number, words moved, status
        self.requests = 0
        self.repeated = 0

    def answer(self, payload: bytes) -> bytes | None:
        """The payload that answers one of a client, or None: it is no request."""
        if payload[0] not in (REQUEST, REPEAT):
            return None
        self.requests += 1
        number, ops = payload[1], operations(payload)
        if ops is None:
            return self._payload(number, b"", 0, MALFORMED)
        admitted = self._admit(ops)
        if admitted != OK:
            return self._payload(number, b"", 0, admitted)
        if payload[0] == REPEAT and self._last is not None and self._last[0] == number:
            self.repeated += 1
            data, _, _ = self._run(ops, self._last[1], writes=False)
            return self._payload(number, data, *self._last[1:])
        data, done, status = self._run(ops, MOST_WORDS, writes=True)
        self._last = (number, done, status)
        return self._payload(number, data, done, status)

    @staticmethod
    def _payload(number: int, data: bytes, done: int, status: int) -> bytes:
        return bytes((ANSWER, number)) + data + done.to_bytes(2, "little") + bytes([status])

    def _run(self, ops: Sequence[Op], most: int, writes: bool) -> tuple[bytes, int, int]:
        """Carries out `most` words of the operations; data, words moved, status. Without `writes` nothing is changed:
        that is the answer to a request that was carried out before."""
        data, done = bytearray(), 0
        for op in ops:
            words: list[int] = []
            status = OK
            for k in range(min(op.count, most - done)):
                try:
                    words.append(self._one(op, k, writes))
                except Refused as refused:
                    status = refused.status
                    break
            done += len(words)
            if op.kind == READ_PACKED:
                data += pack(words)
            elif op.kind in (HELLO, READ):
                data += b"".join(word.to_bytes(4, "little") for word in words)
            if status != OK or done >= most:
                return bytes(data), done, status
        return bytes(data), done, OK

    def _one(self, op: Op, k: int, writes: bool) -> int:
        if op.kind == HELLO:
            return GREETING
        if op.kind == HOLD:
            if writes and not self._hold(bool(op.address)):
                raise Refused(BUSY)
            return 0
        address = op.address + 4 * k
        if address > 0xFFFF:
            raise Refused(SLVERR)
        if op.kind == WRITE:
            if writes:
                self._registers.write(address, op.values[k])
            return 0
        return self._registers.read(address)

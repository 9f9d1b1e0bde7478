"""The server's side of docs/register-protocol.md, from its page alone: what a bridge answers to bytes, and what it accesses.

`weir_sim.protocol` is another such server, for use; the two are compared in cocotb-tests/uart/test_uart.py.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

FLAG, ESCAPE = 0x7E, 0x7D
OK, SLVERR, MALFORMED, SILENT = range(4)
HELLO, READ, WRITE, READ_PACKED, HOLD = range(5)

#: core, address, value to write or None; answers the status and the value
Access = Callable[[int, int, int | None], tuple[int, int]]


def crc32(data: bytes) -> int:
    """Reflected polynomial 0xEDB88320, begins with all ones, ends inverted."""
    crc = 0xFFFFFFFF
    for bit in (byte >> n & 1 for byte in data for n in range(8)):
        crc = crc >> 1 ^ 0xEDB88320 * (crc & 1 ^ bit)
    return crc ^ 0xFFFFFFFF


def stuffed(data: bytes) -> bytes:
    return data.replace(b"\x7d", b"\x7d\x5d").replace(b"\x7e", b"\x7d\x5e")


def frame(payload: bytes) -> bytes:
    return b"\x7e" + stuffed(payload + struct.pack("<I", crc32(payload))) + b"\x7e"


def payload_of(between: bytes, longest: int) -> bytes | None:
    """What was between two flags, or None if that is no frame."""
    plain, pieces = bytearray(), iter(between)
    for byte in pieces:
        if byte == ESCAPE:
            following = next(pieces, None)
            if following is None:
                return None
            byte = following ^ 0x20
        plain.append(byte)
    if not 6 <= len(plain) <= longest:
        return None
    payload, check = bytes(plain[:-4]), plain[-4:]
    return payload if crc32(payload) == int.from_bytes(check, "little") else None


def packed(words: list[int]) -> bytes:
    """Words in groups of four: a byte of sizes, two bits each, then the bytes that are not leading zeros (3 is 4 bytes)."""
    out = b""
    for group in (words[n : n + 4] for n in range(0, len(words), 4)):
        sizes = [next(code for code, size in enumerate((0, 1, 2, 4)) if word < 256**size) for word in group]
        out += bytes([sum(code << 2 * n for n, code in enumerate(sizes))])
        out += b"".join(word.to_bytes((0, 1, 2, 4)[code], "little") for word, code in zip(group, sizes, strict=True))
    return out


@dataclass(frozen=True)
class Word:
    """One word of a request: the operation it belongs to, by number, and what it is."""

    operation: int
    op: int
    core: int
    address: int
    value: int | None


def words_of(body: bytes, cores: int) -> list[Word] | None:
    """The words that a request moves, in order; None if it is malformed."""
    words: list[Word] = []
    operation = 0
    while body:
        if len(body) < 4:
            return None
        code, address, count = struct.unpack("<BHB", body[:4])
        op, core, data = code & 15, code >> 4, body[4 : 4 + 4 * count]
        if op > HOLD or core >= cores or count == 0 or (op in (HELLO, HOLD) and count > 1):
            return None
        if op == WRITE and len(data) < 4 * count:
            return None
        values = struct.unpack(f"<{count}I", data) if op == WRITE else [None] * count
        words += [Word(operation, op, core, address + 4 * n, value) for n, value in enumerate(values)]
        body = body[4 + (4 * count if op == WRITE else 0) :]
        operation += 1
    return words if 1 <= len(words) <= 1024 else None


@dataclass
class Server:
    """Answers one client."""

    access: Access
    cores: int = 1
    longest: int = 1024
    #: number, words done and status of the last request that was carried out
    last: tuple[int, int, int] | None = None
    _line: bytearray = field(default_factory=bytearray)

    def hear(self, data: bytes) -> Iterator[bytes]:
        """The frames that answer those which end in `data`."""
        for byte in data:
            if byte != FLAG:
                self._line.append(byte)
                continue
            payload = payload_of(bytes(self._line), self.longest)
            self._line.clear()
            answer = self.answer(payload) if payload is not None else None
            if answer is not None:
                yield frame(answer)

    def answer(self, payload: bytes) -> bytes | None:
        kind, number = payload[0], payload[1]
        if kind not in (0x51, 0x52):
            return None
        words = words_of(payload[2:], self.cores)
        if words is None:
            return struct.pack("<BBHB", 0x41, number, 0, MALFORMED)
        if kind == 0x52 and self.last is not None and self.last[0] == number:
            data, _, _ = self._carry_out(words[: self.last[1]], writes=False)
        else:
            data, done, status = self._carry_out(words, writes=True)
            self.last = (number, done, status)
        return struct.pack("<BB", 0x41, number) + data + struct.pack("<HB", *self.last[1:])

    def _carry_out(self, words: list[Word], writes: bool) -> tuple[bytes, int, int]:
        """Data, words done, status."""
        read: dict[int, list[int]] = {}
        done, status = 0, OK
        for word in words:
            value = 0
            if word.op == HELLO:
                value = 0x57 << 24 | 1 << 16 | self.longest
            elif word.op in (READ, READ_PACKED) or (word.op == WRITE and writes):
                if word.address > 0xFFFF or word.address % 4:
                    status = SLVERR
                else:
                    status, value = self.access(word.core, word.address, word.value)
                if status != OK:
                    break
            if word.op in (HELLO, READ, READ_PACKED):
                read.setdefault(word.operation, []).append(value)
            done += 1
        ops = {word.operation: word.op for word in words}
        data = b"".join(packed(v) if ops[n] == READ_PACKED else struct.pack(f"<{len(v)}I", *v) for n, v in read.items())
        return data, done, status

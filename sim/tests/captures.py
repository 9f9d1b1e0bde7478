"""Capture files made byte by byte, for tests."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

EPOCH_NS = 1_700_000_000_123_456_789

Row = tuple[int, bytes]


def pcap(rows: Iterable[Row], order: str = "<", nano: bool = False, link: int = 1, snap: int = 1 << 18) -> bytes:
    """A pcap file; a packet longer than `snap` is cut."""
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snap, link)]
    for time_ns, data in rows:
        fraction = time_ns % 10**9
        head = (time_ns // 10**9, fraction if nano else fraction // 1000, min(len(data), snap), len(data))
        out += [struct.pack(order + "IIII", *head), data[:snap]]
    return b"".join(out)


def snapped(time_ns: int, frame: bytes, snap: int) -> bytes:
    """A packet of a pcap file with nanoseconds, of which `snap` bytes were captured."""
    return struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, snap, len(frame)) + frame[:snap]


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    """A pcapng block."""
    body += bytes(-len(body) % 4)
    size = len(body) + 12
    return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)


def option(code: int, value: bytes, order: str = "<") -> bytes:
    """A pcapng option."""
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(order: str = "<") -> bytes:
    """A section header."""
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(order: str = "<", link: int = 1, resolution: int | None = None, offset: int | None = None,
              fcs: int | None = None) -> bytes:  # fmt: skip
    """An interface description; `resolution` is if_tsresol as in the file."""
    options = b""
    if resolution is not None:
        options += option(9, bytes([resolution]), order)
    if offset is not None:
        options += option(14, struct.pack(order + "q", offset), order)
    if fcs is not None:
        options += option(13, bytes([fcs]), order)
    return block(1, struct.pack(order + "HHI", link, 0, 0) + options + option(0, b"", order), order)


def enhanced(ticks: int, data: bytes, number: int = 0, order: str = "<", length: int | None = None,
             options: bytes = b"") -> bytes:  # fmt: skip
    """A packet with its time in ticks of its interface, and encoded options."""
    body = struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), length or len(data))
    return block(6, body + data + bytes(-len(data) % 4) + options, order)


def flags(word: int, order: str = "<") -> bytes:
    """The options of a packet with a comment and epb_flags."""
    return option(1, b"odd", order) + option(2, struct.pack(order + "I", word), order) + option(0, b"", order)


def pcapng(rows: Sequence[Row], order: str = "<") -> bytes:
    """A pcapng file of one section and one interface with nanoseconds."""
    return section(order) + interface(order, resolution=9) + b"".join(enhanced(t, d, order=order) for t, d in rows)


def small_rows(count: int = 3, step_ns: int = 1000) -> list[Row]:
    """A few frames of 60 bytes and more."""
    return [(EPOCH_NS + i * step_ns, bytes([2] * 12) + b"\x88\xb6" + bytes([i]) * (46 + i)) for i in range(count)]

"""Captures of Ethernet frames: pcap and pcapng in, pcap with nanoseconds out.

The reader is strict where a replay would otherwise be a lie: a file that ends inside a packet, a packet without a
time or of another link type is an error with one line of text. (The readers of scapy 2.8 end such a file as if it
were complete, and keep the interfaces of the first section of a pcapng file for the sections after it.)
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

ETHERNET = 1
LINK_NAMES = {
    0: "BSD loopback", 101: "raw IP", 105: "802.11", 113: "Linux cooked", 127: "802.11 radiotap", 228: "raw IPv4",
    229: "raw IPv6", 276: "Linux cooked v2",
}  # fmt: skip
MAX_PACKET = 1 << 18
MAX_FRAME = 65535
MAX_BLOCK = 1 << 24

_PCAP_MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_OPT_RESOLUTION, _OPT_FCS, _OPT_OFFSET = 9, 13, 14


class CaptureError(Exception):
    """A capture cannot be read; the text is one line that names the file."""


class Packet(NamedTuple):
    """A captured frame."""

    time_ns: int
    """time of capture, nanoseconds since 1970"""
    data: bytes
    """the frame without FCS, as far as it was captured"""
    length: int
    """bytes of the frame without FCS; more than `data` has if the capture was snapped"""


@dataclass(frozen=True)
class _Interface:
    link: int
    units: int
    """time stamp units a second"""
    offset_s: int
    fcs: int
    """bytes of FCS at the end of each packet"""


class _File:
    """A binary file that knows where it ends too early."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._file = file
        self.packets = 0

    def error(self, text: str) -> CaptureError:
        return CaptureError(f"{self.path}: {text}")

    def read(self, count: int, what: str) -> bytes:
        data = self._file.read(count)
        if len(data) != count:
            raise self.error(f"truncated: the file ends inside {what}; {self.packets} whole packets precede it")
        return data

    def read_or_end(self, count: int, what: str) -> bytes:
        """As `read`, or nothing at the end of the file."""
        data = self._file.read(count)
        if data and len(data) != count:
            raise self.error(f"truncated: the file ends inside {what}; {self.packets} whole packets precede it")
        return data


def _link_error(file: _File, link: int) -> CaptureError:
    name = f" ({LINK_NAMES[link]})" if link in LINK_NAMES else ""
    return file.error(f"link type {link}{name} is not Ethernet")


def _packet(file: _File, time_ns: int, data: bytes, length: int, fcs: int) -> Packet:
    length -= fcs
    data = data[: max(length, 0)]
    if length < 1:
        raise file.error(f"packet {file.packets} has no bytes")
    if length > MAX_FRAME:
        raise file.error(f"packet {file.packets} has {length} bytes; a frame can have at most {MAX_FRAME}")
    return Packet(time_ns, data, length)


def _read_pcap(file: _File, magic: bytes) -> Iterator[Packet]:
    order, scale = _PCAP_MAGICS[magic]
    major, _, _, _, _, network = struct.unpack(order + "HHiIII", file.read(20, "the file header"))
    if major != 2:
        raise file.error(f"pcap version {major} is not known; version 2 is")
    link = network & 0xFFFF
    fcs = (network >> 28) * 2 if network & (1 << 26) else 0
    if link != ETHERNET:
        raise _link_error(file, link)
    record = struct.Struct(order + "IIII")
    while head := file.read_or_end(16, f"the header of packet {file.packets + 1}"):
        seconds, fraction, captured, length = record.unpack(head)
        if captured > MAX_PACKET:
            raise file.error(f"corrupt: packet {file.packets + 1} claims {captured} captured bytes")
        data = file.read(captured, f"packet {file.packets + 1} of {captured} bytes")
        file.packets += 1
        yield _packet(file, seconds * 1_000_000_000 + fraction * scale, data, max(length, captured), fcs)


def _options(order: str, raw: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset + 4 <= len(raw):
        code, size = struct.unpack_from(order + "HH", raw, offset)
        if code == 0:
            return
        yield code, raw[offset + 4 : offset + 4 + size]
        offset += 4 + size + (-size % 4)


def _interface(file: _File, order: str, body: bytes) -> _Interface:
    if len(body) < 8:
        raise file.error("corrupt: an interface block is too short")
    units, offset_s, fcs = 1_000_000, 0, 0
    for code, value in _options(order, body[8:]):
        if code == _OPT_RESOLUTION and len(value) == 1:
            units = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == _OPT_OFFSET and len(value) == 8:
            (offset_s,) = struct.unpack(order + "q", value)
        elif code == _OPT_FCS and len(value) == 1:
            fcs = value[0]
    return _Interface(struct.unpack_from(order + "H", body)[0], units, offset_s, fcs)


def _read_pcapng(file: _File) -> Iterator[Packet]:
    order = ""
    interfaces: list[_Interface] = []
    head = _PCAPNG_MAGIC + file.read(4, "the section header")
    while head:
        if head[:4] == _PCAPNG_MAGIC:
            mark = file.read(4, "a section header")
            order = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}.get(mark, "")
            if not order:
                raise file.error("corrupt: a section header has no byte-order mark")
            interfaces = []
            kind, seen = _SECTION, 4
        else:
            kind, seen = struct.unpack(order + "I", head[:4])[0], 0
        (size,) = struct.unpack(order + "I", head[4:])
        if size < 12 + seen or size % 4 or size > MAX_BLOCK:
            raise file.error(f"corrupt: a block claims {size} bytes")
        what = f"packet {file.packets + 1}" if kind in (_ENHANCED, _SIMPLE, _OLD_PACKET) else "a block"
        body = file.read(size - 12 - seen, what)
        if struct.unpack(order + "I", file.read(4, what))[0] != size:
            raise file.error("corrupt: the two lengths of a block differ")

        if kind == _INTERFACE:
            interfaces.append(_interface(file, order, body))
        elif kind in (_ENHANCED, _OLD_PACKET):
            file.packets += 1
            if len(body) < 20:
                raise file.error(f"corrupt: the block of packet {file.packets} is too short")
            if kind == _ENHANCED:
                number, high, low, captured, length = struct.unpack_from(order + "IIIII", body)
            else:
                number, _, high, low, captured, length = struct.unpack_from(order + "HHIIII", body)
            if captured > len(body) - 20:
                raise file.error(f"corrupt: packet {file.packets} is longer than its block")
            if number >= len(interfaces):
                raise file.error(f"corrupt: packet {file.packets} names interface {number}, which is not described")
            port = interfaces[number]
            if port.link != ETHERNET:
                raise _link_error(file, port.link)
            time_ns = (high << 32 | low) * 1_000_000_000 // port.units + port.offset_s * 1_000_000_000
            yield _packet(file, time_ns, body[20 : 20 + captured], max(length, captured), port.fcs)
        elif kind == _SIMPLE:
            raise file.error(f"packet {file.packets + 1} has no time stamp (a Simple Packet Block)")
        head = file.read_or_end(8, "a block header")


def read_capture(path: str | os.PathLike[str]) -> Iterator[Packet]:
    """The packets of a pcap or pcapng file, in the order of the file, read as they are asked for.

    Both byte orders, micro- and nanoseconds, any `if_tsresol` (finer than a nanosecond is cut), several sections
    and interfaces.

    Raises:
        CaptureError: the file is missing, empty, truncated, corrupt or not of Ethernet.
    """
    place = Path(path)
    try:
        with open(place, "rb") as raw:
            file = _File(place, raw)
            magic = raw.read(4)
            if not magic:
                raise file.error("empty file")
            if magic in _PCAP_MAGICS:
                yield from _read_pcap(file, magic)
            elif magic == _PCAPNG_MAGIC:
                yield from _read_pcapng(file)
            elif len(magic) < 4:
                raise file.error("truncated: the file ends inside the file header; 0 whole packets precede it")
            else:
                raise file.error("not a pcap or pcapng capture")
            if not file.packets:
                raise file.error("the capture has no packets")
    except OSError as error:
        raise CaptureError(f"{place}: {error.strerror or error}") from None


BEYOND = "beyond the year 2106"


class PcapWriter:
    """Writes Ethernet frames to `file` as pcap with nanosecond times (magic 0xa1b23c4d)."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, MAX_PACKET, ETHERNET))

    def write(self, time_ns: int, data: bytes | memoryview) -> None:
        """Appends a frame; `time_ns` counts from 1970. CaptureError if it is before that, or beyond 2^32 s (the year 2106)."""
        seconds, fraction = divmod(time_ns, 1_000_000_000)
        if not 0 <= seconds < 1 << 32:
            raise CaptureError(
                f"a frame leaves at {seconds} s: {'before 1970' if seconds < 0 else BEYOND}, which pcap cannot say"
            )
        self._file.write(struct.pack("<IIII", seconds, fraction, len(data), len(data)))
        self._file.write(data)

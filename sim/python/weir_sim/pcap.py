"""Captures of Ethernet frames: pcap and pcapng in, pcap with nanoseconds out.

The reader is strict where a replay would otherwise be a lie: a packet without a time, of a link type that is not known,
or with lengths that contradict each other is an error with one line of text. docs/weir-sim.md, "Captures", says why no
library reads them.
"""

from __future__ import annotations

import io
import os
import shlex
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO, NamedTuple

from .files import BROKEN, is_trailing, open_input, uncompressed

ETHERNET = 1
RAW_IP = (12, 14, 101, 228, 229)
"""Link types without a link header: DLT_RAW as most systems and as OpenBSD number it, LINKTYPE_RAW, _IPV4, _IPV6."""
COOKED, COOKED2 = 113, 276
LINKS = frozenset((ETHERNET, COOKED, COOKED2, *RAW_IP))
LINK_NAMES = {0: "BSD loopback", 105: "802.11", 127: "802.11 radiotap"}
MACS = bytes.fromhex("020000000002 020000000001")
"""Destination and source of frames that are captured without an Ethernet header: locally administered."""
NOT_ETHERNET = {770: "frame relay", 778: "GRE", 803: "802.11 radiotap", 823: "GRE over IPv6", 824: "netlink"}
"""ARPHRD types whose protocol is not an EtherType."""
MAX_PACKET = 1 << 18
MAX_FRAME = 65535
MAX_BLOCK = 1 << 24

_PCAP_MAGICS = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_PACKERS = {b"BZh": "bzip2", b"\xfd7zX": "xz", b"\x04\x22\x4d\x18": "lz4"}
"""What begins so is compressed by a program of that name."""
_PCAPNG_MAGIC = b"\x0a\x0d\x0d\x0a"
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6
_OPT_FLAGS, _OPT_RESOLUTION, _OPT_FCS, _OPT_OFFSET = 2, 9, 13, 14


def many(packets: int) -> str:
    """A number of packets in words: 1 packet, 2,000 packets."""
    return f"{packets:,} packet" + "s" * (packets != 1)


class CaptureError(Exception):
    """A capture cannot be read; the text is one line that names the file."""


class _Ends(Exception):
    """The file ends too early; the text says where."""


class _Unreadable(Exception):
    """A packet has no Ethernet frame; the text says what it is instead."""


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
    """bytes of FCS at the end of each packet, unless the packet says otherwise"""


class Capture(Iterator[Packet]):
    """The packets of a pcap or pcapng file, in the order of the file, read as they are asked for.

    Both byte orders, micro- and nanoseconds, any `if_tsresol` (finer than a nanosecond is cut), several sections and
    interfaces, as such or compressed by gzip or zstd. The FCS is removed where the file says how long it is. Packets
    of raw IP and of Linux cooked captures get an Ethernet header with the addresses `MACS`. Packets of 0 bytes are
    left out, and so are those of raw IP and cooked captures that no Ethernet frame can carry. A file that ends inside a
    packet gives the packets before it.

    Args:
        place: a path, of a file or of a pipe; `-` is standard input.

    Raises:
        CaptureError: at the construction or later: the file is missing, empty, corrupt, of a link type that is not
            known, or ends before the first packet does.
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self._place = place
        self.name = "standard input" if os.fspath(place) == "-" else os.fspath(place)
        self.size: int | None = None
        """bytes of the file as it is stored; None of a pipe"""
        self.packets = 0
        """read so far"""
        self.empty = 0
        """of them, packets of 0 bytes"""
        self.foreign: Counter[str] = Counter()
        """of them, packets that cannot be Ethernet frames, by what they are"""
        self.ends = ""
        """where a file that ends too early ends"""
        self._raw: io.FileIO | None = None
        self._file: _File | None = None
        packets = self._read()
        self._packets = chain([next(packets)], packets)

    def __next__(self) -> Packet:
        return next(self._packets)

    @property
    def position(self) -> int:
        """Bytes of the file, as it is stored, that have been read; 0 of a pipe."""
        if self.size is None or self._raw is None:
            return 0
        return self.size if self._raw.closed else self._raw.tell()

    def notes(self) -> list[str]:
        """What a person should know, once everything has been read: one line each."""
        notes = []
        if self.ends:
            notes.append(
                f"{self.name} is truncated: it ends {self.ends}; what precedes that is used, {many(self._used)}"
            )
        if self._file and self._file.trailing:
            notes.append(f"{self.name}: bytes that follow the compressed data are left out")
        if left := self._left_out():
            notes.append(f"left out: {left}")
        return notes

    @property
    def _used(self) -> int:
        return self.packets - self.empty - self.foreign.total()

    def _left_out(self) -> str:
        kinds = {"0 bytes": self.empty, **dict(sorted(self.foreign.items()))}
        return ", ".join(f"{many(count)} of {kind}" for kind, count in kinds.items() if count)

    def error(self, text: str) -> CaptureError:
        """An error that names the file."""
        return CaptureError(f"{self.name}: {text}")

    def _read(self) -> Iterator[Packet]:
        try:
            with open_input(self._place) as raw:
                self._raw, self.size = raw, os.fstat(raw.fileno()).st_size if raw.seekable() else None
                file = self._file = _File(uncompressed(raw))
                magic = file.read_or_end(4, "the file header")
                if not magic:
                    raise self.error("empty file")
                if magic in _PCAP_MAGICS:
                    yield from _read_pcap(self, file, magic)
                elif magic == _PCAPNG_MAGIC:
                    yield from _read_pcapng(self, file)
                else:
                    packer = next((p for start, p in _PACKERS.items() if magic.startswith(start)), "")
                    if packer:
                        source = "" if os.fspath(self._place) == "-" else f" {shlex.quote(self.name)}"
                        raise self.error(
                            f"compressed by {packer}: unpack it first, {packer} -dc{source} | weir-sim … -"
                        )
                    raise self.error("not a pcap or pcapng capture")
        except _Ends as end:
            if not self._used:
                raise self.error(f"truncated: the file ends {end}, before it has a whole packet") from None
            self.ends = str(end)
        except OSError as error:
            raise self.error(error.strerror or str(error)) from None
        except BROKEN as error:
            raise self.error(f"corrupt: {error}") from None
        if not self._used:
            left = self._left_out()
            raise self.error("the capture has no packets" + (f" but {left}" if left else ""))


def read_capture(place: str | os.PathLike[str]) -> Capture:
    """The packets of a capture: see `Capture`."""
    return Capture(place)


class _File:
    """A binary file that knows where it ends too early."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._file = file
        self.trailing = False
        """whether it ended with bytes that follow its compressed data"""

    def read(self, count: int, what: str) -> bytes:
        data = self.read_or_end(count, what)
        if count and not data:
            raise _Ends(f"inside {what}")
        return data

    def read_or_end(self, count: int, what: str) -> bytes:
        """As `read`, or nothing at the end of the file."""
        try:
            data = self._file.read(count)
        except EOFError:
            raise _Ends("inside its compressed data") from None
        except (OSError, *BROKEN) as error:
            if not is_trailing(error):
                raise
            self.trailing = True
            data = b""
        if data and len(data) != count:
            raise _Ends(f"inside {what}")
        return data


def _u16(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big")


def _check_link(capture: Capture, link: int) -> None:
    if link not in LINKS:
        name = f" ({LINK_NAMES[link]})" if link in LINK_NAMES else ""
        raise capture.error(f"link type {link}{name} is not Ethernet, raw IP or Linux cooked")


def _ethertype(link: int, data: bytes, size: int) -> int:
    """The EtherType, or length, of the Ethernet header of a packet that was captured without one.

    `data` begins with the link header, if there is one; the payload behind it has `size` bytes.

    Raises:
        _Unreadable: no Ethernet frame has such a packet.
    """
    if link in RAW_IP:
        kind = {4: 0x0800, 6: 0x86DD}.get(data[0] >> 4)
        if kind is None:
            raise _Unreadable("raw IP, but neither IPv4 nor IPv6")
        return kind
    hardware, kind = (_u16(data, 2), _u16(data, 14)) if link == COOKED else (_u16(data, 8), _u16(data, 0))
    if hardware not in NOT_ETHERNET:
        if kind >= 0x600:
            return kind
        if kind in (1, 4) and size <= 1500:  # IEEE 802.3 without and with an LLC header
            return size
    raise _Unreadable(f"protocol 0x{kind:04x} of {NOT_ETHERNET.get(hardware, f'ARPHRD type {hardware}')}")


def _packet(capture: Capture, link: int, time_ns: int, data: bytes, length: int, fcs: int) -> Packet | None:
    """A packet, its link header made an Ethernet one; None if it has no bytes, or is no Ethernet frame's."""
    capture.packets += 1
    length = max(length, len(data)) - fcs
    if length < 1:
        capture.empty += 1
        return None
    data = data[:length]
    if link != ETHERNET:
        header = {COOKED: 16, COOKED2: 20}.get(link, 0)
        whole = len(data) >= max(header, 1)
        length = max(length - header, 0)
        try:
            kind = _ethertype(link, data, length).to_bytes(2, "big") if whole else b""
        except _Unreadable as what:
            capture.foreign[str(what)] += 1
            return None
        data, length = MACS + kind + data[header:], length + 14
    if length > MAX_FRAME:
        raise capture.error(
            f"packet {capture.packets} has {length} bytes as an Ethernet frame; {MAX_FRAME} are allowed at most"
        )
    return Packet(time_ns, data, length)


def _read_pcap(capture: Capture, file: _File, magic: bytes) -> Iterator[Packet]:
    order, scale = _PCAP_MAGICS[magic]
    major, _, _, _, _, network = struct.unpack(order + "HHiIII", file.read(20, "the file header"))
    if major != 2:
        raise capture.error(f"pcap version {major} is not known; version 2 is")
    link = network & 0xFFFF
    fcs = (network >> 28) * 2 if network & (1 << 26) else 0  # in words of 16 bits
    _check_link(capture, link)
    record = struct.Struct(order + "IIII")
    while head := file.read_or_end(16, f"the header of packet {capture.packets + 1}"):
        seconds, fraction, captured, length = record.unpack(head)
        if captured > MAX_PACKET:
            raise capture.error(f"corrupt: packet {capture.packets + 1} claims {captured} captured bytes")
        data = file.read(captured, f"packet {capture.packets + 1} of {captured} bytes")
        packet = _packet(capture, link, seconds * 1_000_000_000 + fraction * scale, data, length, fcs)
        if packet:
            yield packet


def _options(order: str, raw: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset + 4 <= len(raw):
        code, size = struct.unpack_from(order + "HH", raw, offset)
        if code == 0:
            return
        yield code, raw[offset + 4 : offset + 4 + size]
        offset += 4 + size + (-size % 4)


def _interface(capture: Capture, order: str, body: bytes) -> _Interface:
    if len(body) < 8:
        raise capture.error("corrupt: an interface block is too short")
    units, offset_s, fcs = 1_000_000, 0, 0
    for code, value in _options(order, body[8:]):
        if code == _OPT_RESOLUTION and len(value) == 1:
            units = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == _OPT_OFFSET and len(value) == 8:
            (offset_s,) = struct.unpack(order + "q", value)
        elif code == _OPT_FCS and len(value) == 1:
            # in bits; writers that took the draft's example "4" for its unit have bytes
            fcs = value[0] // 8 if value[0] >= 8 else value[0]
    return _Interface(struct.unpack_from(order + "H", body)[0], units, offset_s, fcs)


def _packet_fcs(order: str, options: bytes) -> int:
    """Bytes of FCS that a packet's flags tell; 0 if they do not."""
    if not options:
        return 0
    flags = (value for code, value in _options(order, options) if code == _OPT_FLAGS and len(value) == 4)
    return int(struct.unpack(order + "I", next(flags, bytes(4)))[0]) >> 5 & 15


def _read_pcapng(capture: Capture, file: _File) -> Iterator[Packet]:
    order = ""
    interfaces: list[_Interface] = []
    head = _PCAPNG_MAGIC + file.read(4, "the section header")
    while head:
        if head[:4] == _PCAPNG_MAGIC:
            mark = file.read(4, "a section header")
            order = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}.get(mark, "")
            if not order:
                raise capture.error("corrupt: a section header has no byte-order mark")
            interfaces = []
            kind, seen = _SECTION, 4
        else:
            kind, seen = struct.unpack(order + "I", head[:4])[0], 0
        (size,) = struct.unpack(order + "I", head[4:])
        if size < 12 + seen or size % 4 or size > MAX_BLOCK:
            raise capture.error(f"corrupt: a block claims {size} bytes")
        number = capture.packets + 1
        what = f"packet {number}" if kind in (_ENHANCED, _SIMPLE, _OLD_PACKET) else "a block"
        body = file.read(size - 12 - seen, what)
        if struct.unpack(order + "I", file.read(4, what))[0] != size:
            raise capture.error("corrupt: the two lengths of a block differ")

        if kind == _INTERFACE:
            interfaces.append(_interface(capture, order, body))
        elif kind in (_ENHANCED, _OLD_PACKET):
            if len(body) < 20:
                raise capture.error(f"corrupt: the block of packet {number} is too short")
            if kind == _ENHANCED:
                port, high, low, captured, length = struct.unpack_from(order + "IIIII", body)
            else:
                port, _, high, low, captured, length = struct.unpack_from(order + "HHIIII", body)
            if captured > len(body) - 20:
                raise capture.error(f"corrupt: packet {number} is longer than its block")
            if port >= len(interfaces):
                raise capture.error(f"corrupt: packet {number} names interface {port}, which is not described")
            of = interfaces[port]
            _check_link(capture, of.link)
            options = body[20 + captured + -captured % 4 :]
            fcs = _packet_fcs(order, options) or of.fcs
            time_ns = (high << 32 | low) * 1_000_000_000 // of.units + of.offset_s * 1_000_000_000
            packet = _packet(capture, of.link, time_ns, body[20 : 20 + captured], length, fcs)
            if packet:
                yield packet
        elif kind == _SIMPLE:
            raise capture.error(f"packet {number} has no time stamp (a Simple Packet Block)")
        head = file.read_or_end(8, "a block header")


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

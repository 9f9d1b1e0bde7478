"""Jumbo frames whose inner headers are left out where they can be foretold (docs/jumbo.md, "Header elision").

A software model: the hardware treats such a frame as malformed. `elide` and `restore` go between a plain jumbo frame
and the same frame with flag 0 set; `wire.dissect` takes the plain one.
"""

from __future__ import annotations

import struct

from .ecn import header_checksum
from .packet import TCP, JumboFormat, own_length, u16
from .wire import DEFAULT, MAX_COUNT, MAX_FRAME, MAX_PADDED, VERSION, Malformed, dissect, recognise

ELIDED_FRAME = 0x01
"""flag 0 of the jumbo header"""
ELIDED = 0x8000
"""bit of a table entry's length: the packet's headers are left out"""


def headers(packet: bytes) -> int:
    """Bytes of the IPv4 and TCP headers of a packet from which the next can be foretold; 0 if it is none.

    It is an unfragmented IPv4 packet without options whose length is its own, with a whole TCP header.
    """
    if len(packet) < 40 or packet[0] != 0x45 or packet[9] != TCP or u16(packet, 6) & 0x3FFF:
        return 0
    size = 20 + 4 * (packet[32] >> 4)
    return size if size >= 40 and size <= len(packet) == own_length(packet) else 0


def foretold(base: bytes, payload: bytes) -> bytes:
    """The packet that follows `base` in its TCP connection, with that payload.

    Its headers are those of `base` but for: total length; identification + 1; sequence number + payload of `base`;
    both checksums, which are right.

    Raises:
        ValueError: nothing can be foretold from `base`.
    """
    size = headers(base)
    if not size:
        raise ValueError("the packet before is not TCP behind an IPv4 header of 20 bytes")
    ip, tcp = bytearray(base[:20]), bytearray(base[20:size])
    struct.pack_into(">HH", ip, 2, size + len(payload), (u16(base, 4) + 1) & 0xFFFF)
    ip[10:12] = bytes(2)
    struct.pack_into(">H", ip, 10, header_checksum(bytes(ip)))
    sequence = int.from_bytes(base[24:28], "big") + len(base) - size
    struct.pack_into(">I", tcp, 4, sequence & 0xFFFFFFFF)
    tcp[16:18] = bytes(2)
    segment = bytes(tcp) + payload
    pseudo = base[12:20] + struct.pack(">HH", TCP, len(segment))
    checksum = header_checksum(pseudo + segment + bytes(len(segment) & 1))
    return bytes(ip) + segment[:16] + checksum.to_bytes(2, "big") + segment[18:]


def _outer(frame: bytes, start: int, l3: bool, size: int) -> bytes:
    """Everything in front of the jumbo header, for `size` bytes of jumbo header, table and packets."""
    if not l3:
        return frame[:start]
    ip = bytearray(frame[start : start + 20])
    struct.pack_into(">H", ip, 2, 20 + size)
    ip[10:12] = bytes(2)
    struct.pack_into(">H", ip, 10, header_checksum(bytes(ip)))
    return frame[:start] + bytes(ip)


def elide(frame: bytes, form: JumboFormat = DEFAULT) -> bytes:
    """The jumbo frame without the headers that can be foretold; the frame itself if there are none.

    `restore` gives `frame` back, bit for bit: this is tried here, and a frame of which it is not true stays as it is.

    Raises:
        Malformed: it is a jumbo frame and malformed. ValueError: it is none.
    """
    jumbo = dissect(frame, form)
    if jumbo is None:
        raise ValueError("not a jumbo frame")
    if any(not e.length for e in jumbo.entries):
        return frame
    table, bodies, before = [], [], b""
    for entry, packet in zip(jumbo.entries, jumbo.packets, strict=True):
        size = headers(before)
        told = size and len(packet) >= size and foretold(before, packet[size:]) == packet
        table.append(struct.pack(">HH", entry.length | (ELIDED if told else 0), entry.spacing))
        bodies.append(packet[size:] if told else packet)
        before = packet
    if not any(t[0] & 0x80 for t in table):
        return frame
    head = struct.pack(">HHBB", jumbo.count, jumbo.average, VERSION << 4 | ELIDED_FRAME, jumbo.tick)
    content = head + b"".join(table) + b"".join(bodies)
    elided = _outer(frame, len(jumbo.ethernet) + 2, jumbo.l3, len(content)) + content
    return elided if restore(elided, form) == frame else frame


def _require(ok: bool, reason: str) -> None:
    if not ok:
        raise Malformed(reason)


def restore(frame: bytes, form: JumboFormat = DEFAULT) -> bytes:
    """The plain jumbo frame of one with flag 0; any other frame as it is. What is left out is not checked further:
    `dissect` takes the answer.

    Raises:
        Malformed: flag 0 is set, and a packet cannot be rebuilt.
    """
    found = recognise(frame, form)
    if found is None:
        return frame
    start, l3 = found
    content = start + 20 * l3
    if len(frame) < content + 6 or l3 and frame[start] & 15 != 5 or not frame[content + 4] & ELIDED_FRAME:
        return frame
    if l3:
        _require(header_checksum(frame[start:content]) == 0, "the outer header's checksum is wrong")
        _require(start + u16(frame, start + 2) <= len(frame), "the outer total length does not fit the frame")
    count, average, flags, tick = struct.unpack_from(">HHBB", frame, content)
    _require(1 <= count <= MAX_COUNT, f"count {count} is not 1 to {MAX_COUNT}")
    at = content + 6 + 4 * count
    _require(len(frame) >= at, "it ends inside its table")
    table, packets, before = [], [], b""
    for length, spacing in struct.iter_unpack(">HH", frame[content + 6 : at]):
        left_out, length = bool(length & ELIDED), length & ~ELIDED
        size = headers(before) if left_out else 0
        _require(length > 0, "a packet was dropped, and the next cannot be foretold")
        _require(not left_out or size > 0, "a packet cannot be foretold from the one before it")
        _require(length >= size, "a packet is shorter than the headers that it left out")
        body = frame[at : at + length - size]
        _require(len(body) == length - size, "the lengths add up to more than there is")
        at += len(body)
        before = foretold(before, body) if left_out else body
        packets.append(before)
        table.append(struct.pack(">HH", length, spacing))
    _require(at == len(frame) or len(frame) <= MAX_PADDED, "the lengths add up to less than there is")
    _require(not l3 or start + u16(frame, start + 2) == at, "the outer total length is not that of the content")
    head = struct.pack(">HHBB", count, average, flags & ~ELIDED_FRAME, tick)
    plain = head + b"".join(table) + b"".join(packets)
    _require(content + len(plain) <= MAX_FRAME, f"the plain frame has more than {MAX_FRAME} bytes")
    return _outer(frame, start, l3, len(plain)) + plain

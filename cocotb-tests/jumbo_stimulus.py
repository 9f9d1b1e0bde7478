"""Jumbo frames byte by byte, well-formed and lying, and frames that look like them. Written from docs/jumbo.md."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from weir_sim.jumbo.wire import JumboFormat

NOT_ECT, ECT1, ECT0, CE = range(4)
FORM = JumboFormat()


def internet_checksum(data: bytes) -> int:
    """RFC 1071."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data)) % 0xFFFF
    return 0xFFFF - total if total else 0


def ip(rng: random.Random, version: int, length: int, ecn: int, protocol: int = 17) -> bytes:
    """A packet of random bytes whose length field is right; one IPv4 checksum in four is wrong, or at an end of its range."""
    traffic = rng.randrange(64) << 2 | ecn
    out = bytearray(rng.randbytes(length))
    if version == 6:
        out[0], out[1] = 0x60 | traffic >> 4, traffic << 4 & 0xF0 | rng.randrange(16)
        out[4:6] = (length - 40).to_bytes(2, "big")
        return bytes(out)
    ihl = rng.choice((5, 5, 5, rng.randrange(16)))
    out[0], out[1], out[9] = 0x40 | ihl, traffic, protocol
    out[2:4] = length.to_bytes(2, "big")
    out[10:12] = bytes(2)
    out[10:12] = internet_checksum(bytes(out[: min(max(ihl, 5) * 4, length) // 4 * 4])).to_bytes(2, "big")
    if rng.random() < 0.25:
        out[10:12] = rng.choice((0, 1, 2, 3, 0xFFFD, 0xFFFE, 0xFFFF, rng.randrange(65536))).to_bytes(2, "big")
    return bytes(out)


def tag_stack(rng: random.Random, tags: int) -> bytes:
    return b"".join(rng.choice((b"\x81\x00", b"\x88\xa8")) + rng.randbytes(2) for _ in range(tags))


def addresses(rng: random.Random) -> bytes:
    """Destination and source; one destination in ten is exempt, or nearly."""
    if rng.random() < 0.1:
        low = bytes.fromhex("0180c20000") + bytes([rng.randrange(32)])
        return low + rng.randbytes(6)
    return rng.randbytes(12)


@dataclass
class Parts:
    """A jumbo frame in parts that a lie can change before it is put together."""

    start: bytes
    l3: bool
    packets: list[bytes]
    lengths: list[int]
    """of the table, zeros for packets that are gone"""
    form: JumboFormat = FORM
    count: int | None = None
    version_flags: int = 0x10
    tick: int = 6
    ihl: int = 5
    traffic: int = 0
    fragment: int = 0x4000
    total_error: int = 0
    checksum_error: int = 0
    cut: int | None = None
    """bytes of the frame that are left"""
    trailer: bytes = b""
    seed: int = field(default=0)

    def bytes(self) -> bytes:
        rng = random.Random(self.seed)
        count = len(self.lengths) if self.count is None else self.count
        there = [length for length in self.lengths if length]
        content = struct.pack(">HHBB", count, sum(there) // max(1, len(self.lengths)), self.version_flags, self.tick)
        content += b"".join(struct.pack(">HH", length, rng.randrange(65536)) for length in self.lengths)
        content += b"".join(self.packets)
        if self.l3:
            outer = bytearray(
                struct.pack(">BBHHHBBH", 0x40 | self.ihl, self.traffic, (20 + len(content) + self.total_error) & 0xFFFF,
                            rng.randrange(65536), self.fragment, 64, self.form.protocol, 0) + rng.randbytes(8)
            )  # fmt: skip
            outer[10:12] = (internet_checksum(bytes(outer)) ^ self.checksum_error).to_bytes(2, "big")
            frame = self.start + b"\x08\x00" + bytes(outer) + content
        else:
            frame = self.start + self.form.ethertype.to_bytes(2, "big") + content
        frame += self.trailer
        return frame if self.cut is None else frame[: self.cut]

    @property
    def header_end(self) -> int:
        """Bytes up to the table."""
        return len(self.start) + 2 + 20 * self.l3 + 6


def parts(
    rng: random.Random,
    lengths: list[int],
    *,
    l3: bool | None = None,
    tags: int | None = None,
    version: int | None = None,
    form: JumboFormat = FORM,
    outer_ecn: int | None = None,
    inner_ecn: int | None = None,
) -> Parts:
    """A well-formed jumbo frame with these entries (0: dropped); what is not given is random."""
    l3 = rng.random() < 0.5 if l3 is None else l3
    tags = rng.randrange(3) if tags is None else tags
    shortest = min((length for length in lengths if length), default=20)
    version = rng.choice((4, 6) if shortest >= 40 else (4,)) if version is None else version
    start = addresses(rng) + tag_stack(rng, tags)
    protocol = rng.choice([p for p in (6, 17, form.protocol ^ 1) if p != form.protocol])
    packets = [
        ip(rng, version, length, rng.randrange(4) if inner_ecn is None else inner_ecn, protocol)
        for length in lengths
        if length
    ]
    if version == 6:  # the byte where IPv4 has its protocol may be anything
        packets = [p[:9] + bytes([rng.choice((form.protocol, p[9]))]) + p[10:] for p in packets]
    traffic = rng.randrange(64) << 2 | (rng.randrange(4) if outer_ecn is None else outer_ecn)
    return Parts(start, l3, packets, lengths, form, traffic=traffic, tick=rng.randrange(32), seed=rng.getrandbits(32))


def entries(rng: random.Random, count: int, longest: int, zeros: float = 0.1) -> list[int]:
    """Lengths of a table whose frame is not longer than 9216 bytes."""
    room = 9216 - 48 - 4 * count
    out = []
    for _ in range(count):
        most = min(longest, room)
        length = 0 if most < 20 or rng.random() < zeros else rng.randrange(20, most + 1)
        room -= length
        out.append(length)
    return out


def padded(frame: bytes, rng: random.Random, to: int = 60) -> bytes:
    """The frame as a MAC sends it: 60 bytes at least."""
    return frame + (rng.randbytes(to - len(frame)) if len(frame) < to else b"")


def _set_packet(parts: Parts, n: int, at: int, value: bytes) -> None:
    p = parts.packets[n]
    parts.packets[n] = p[:at] + value + p[at + len(value) :]


def _longer(parts: Parts, n: int) -> None:
    at = [i for i, length in enumerate(parts.lengths) if length][n]
    parts.lengths[at] += 1


def _short(parts: Parts, length: int) -> None:
    """A packet of that length that is right in all else."""
    shape = parts.packets[0]
    packet = bytearray(shape[:length])
    if length > 5:
        own = length if shape[0] >> 4 == 4 else (length - 40) & 0xFFFF
        at = 2 if shape[0] >> 4 == 4 else 4
        packet[at : at + 2] = own.to_bytes(2, "big")
    parts.lengths.append(length)
    parts.packets.append(bytes(packet))


def _own(parts: Parts, n: int, by: int) -> None:
    at = 2 if parts.packets[n][0] >> 4 == 4 else 4
    own = int.from_bytes(parts.packets[n][at : at + 2], "big")
    _set_packet(parts, n, at, ((own + by) & 0xFFFF).to_bytes(2, "big"))


def _version(parts: Parts, n: int, version: int) -> None:
    """Another version, with a length field that fits it where there is one."""
    p = parts.packets[n]
    _set_packet(parts, n, 0, bytes([version << 4 | p[0] & 15]))
    if version == 4:
        _set_packet(parts, n, 2, len(p).to_bytes(2, "big"))
        _set_packet(parts, n, 9, b"\x11")
    else:
        _set_packet(parts, n, 4, ((len(p) - 40) & 0xFFFF).to_bytes(2, "big"))


def _other(p: Parts) -> int:
    return 10 - (p.packets[0][0] >> 4)


def _nested(parts: Parts, n: int) -> None:
    for m in range(len(parts.packets)):
        _version(parts, m, 4)
    _set_packet(parts, n, 9, bytes([parts.form.protocol]))


Lie = Callable[[Parts, random.Random], object]

LIES: dict[str, Lie] = {
    "ends in the header": lambda p, r: setattr(p, "cut", p.header_end - r.randrange(1, 6)),
    "ends before the header": lambda p, r: setattr(p, "cut", p.header_end - 6),
    "ends in the table": lambda p, r: setattr(p, "cut", p.header_end + r.randrange(4 * len(p.lengths))),
    "ends in the packets": lambda p, r: setattr(p, "cut", len(p.bytes()) - r.randrange(1, sum(p.lengths))),
    "version 0": lambda p, r: setattr(p, "version_flags", 0x00),
    "version": lambda p, r: setattr(p, "version_flags", r.choice([v for v in range(16) if v != 1]) << 4),
    "flags": lambda p, r: setattr(p, "version_flags", 0x10 | r.choice((1, 2, 4, 8, r.randrange(1, 16)))),
    "tick": lambda p, r: setattr(p, "tick", r.choice((32, 64, 128, 255))),
    "count 0": lambda p, r: setattr(p, "count", 0),
    "count 0 and nothing else": lambda p, r: (p.lengths.clear(), p.packets.clear()),
    "count 449": lambda p, r: p.lengths.extend([0] * (449 - len(p.lengths))),
    "count of other bits": lambda p, r: setattr(p, "count", len(p.lengths) + (512 << r.randrange(7))),
    "count one more": lambda p, r: setattr(p, "count", len(p.lengths) + 1),
    "length 1": lambda p, r: _short(p, 1),
    "length 19": lambda p, r: _short(p, 19),
    "length 16384": lambda p, r: p.lengths.append(16384 << r.randrange(2)),
    "length 65535 first": lambda p, r: p.lengths.insert(0, 65535),
    "one byte more in the table": lambda p, r: _longer(p, r.randrange(len(p.packets))),
    "one byte more in the last": lambda p, r: _longer(p, -1),
    "a packet more in the table": lambda p, r: p.lengths.append(20),
    "many packets more": lambda p, r: p.lengths.extend([9000] * 40),
    "bytes behind": lambda p, r: setattr(p, "trailer", r.randbytes(r.choice((1, 2, 15, 16, 17, 200)))),
    "version 5": lambda p, r: _version(p, r.randrange(len(p.packets)), 5),
    "version 0 in a packet": lambda p, r: _version(p, 0, 0),
    "versions differ": lambda p, r: _version(p, r.randrange(1, len(p.packets)), _other(p)),
    "own length less": lambda p, r: _own(p, r.randrange(len(p.packets)), -1),
    "own length more": lambda p, r: _own(p, -1, 256),
    "nested": lambda p, r: _nested(p, r.randrange(len(p.packets))),
}

OUTER_LIES: dict[str, Lie] = {
    "IHL 6": lambda p, r: setattr(p, "ihl", 6),
    "IHL 15": lambda p, r: setattr(p, "ihl", 15),
    "MF": lambda p, r: setattr(p, "fragment", 0x2000),
    "offset": lambda p, r: setattr(p, "fragment", 1 << r.randrange(13)),
    "total length more": lambda p, r: setattr(p, "total_error", r.choice((1, 16, 256))),
    "total length less": lambda p, r: setattr(p, "total_error", -r.choice((1, 2, 20))),
    "total length far off": lambda p, r: setattr(p, "total_error", 32768),
    "checksum": lambda p, r: setattr(p, "checksum_error", 1 << r.randrange(16)),
}

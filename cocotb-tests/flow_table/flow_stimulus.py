"""Frames of few flows, of everything that the flow table has to tell apart."""

from __future__ import annotations

import random
import struct

TPIDS = (b"\x81\x00", b"\x88\xa8")


def frame(rng: random.Random, *, longest: int = 200, odd: float = 0.3) -> bytes:
    """An IP frame from a few values of every field, so that keys differ in one of them at a time; with probability
    `odd` one that may not join, or is of no flow, or not IP."""
    few = rng.randrange
    macs = bytes((2, 0, 0, 0, 0, few(2), 2, 0, 0, 0, 0, 8 + few(2)))
    tags = b"".join(rng.choice(TPIDS) + bytes((few(2), 100 + few(2))) for _ in range(rng.choice((0, 0, 1, 2))))
    traffic = rng.choice((0, 0x28)) | few(4)
    protocol = rng.choice((17, 17, 6, 6, 59, 1, 253))
    payload = bytes((few(2), 80 + few(2), 4, few(2))) + rng.randbytes(few(longest))
    payload = payload[: rng.choice((len(payload), len(payload), few(8)))]
    strange = rng.random() < odd
    kind = few(8) if strange else -1
    if kind == 0:
        macs = b"\x01\x80\xc2\x00\x00" + bytes((few(32),)) + macs[6:]
    if few(2):
        if kind == 1:
            protocol = rng.choice((0, 43, 44, 50, 51, 60, 135, 139, 140))
        claimed = len(payload) + (rng.choice((-3, -1, 1, 2, 60000)) if kind == 2 else 0)
        head = struct.pack(">IHBB", 6 << 28 | traffic << 20 | few(1 << 20), claimed & 0xFFFF, protocol, few(256))
        head += bytes((0xFD, *[0] * 14, few(3), 0xFD, few(2), *[0] * 13, few(3)))
        result = macs + tags + b"\x86\xdd" + head + payload
    else:
        options = bytes(4 * few(3)) if kind == 1 else b""
        fragment = rng.choice((0x2000, 0x4000, 1, 0x2005, 0x1FFF)) if kind == 3 else 0
        length = 20 + len(options) + len(payload) + (rng.choice((-30, -1, 1, 2, 60000)) if kind == 2 else 0)
        head = struct.pack(">BBHHHBBH", 0x45 + len(options) // 4, traffic, length & 0xFFFF, few(65536), fragment, few(256),
                           protocol, few(65536))  # fmt: skip
        head += bytes((10, 0, 0, few(3), 10, few(2), 1, few(3))) + options
        result = macs + tags + b"\x08\x00" + head + payload
    if kind == 4:
        result += bytes(1 + few(20))
    if kind == 5:
        result = result[: max(14, few(len(result)))]
    if kind == 6:
        result = macs + tags + b"\x08\x06" + rng.randbytes(few(46))
    return result

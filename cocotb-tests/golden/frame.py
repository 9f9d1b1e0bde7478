"""Frames: how the ingress judges and classifies them, and what marking does to them.

Written from docs/architecture.md (Classification, Words and rules) and RFC 1624. Frames are `bytes` without FCS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

GOOD, BAD, RUNT, OVERSIZE = range(4)

NOT_ECT, ECT1, ECT0, CE = range(4)

TAGS = (0x8100, 0x88A8)
IPV4, IPV6 = 0x0800, 0x86DD

MAX_FRAME = 9216
BYTES_MAX = (1 << 24) - 1


@dataclass(frozen=True)
class Meta:
    """What the core knows about a good frame. `ip_version` is 0, 1 (IPv4) or 2 (IPv6); `ip_offset` counts tags."""

    length: int
    queue: int
    ecn: int
    ip_version: int
    ip_offset: int
    exempt: bool

    @property
    def ip_start(self) -> int:
        """First byte of the IP header."""
        return 14 + 4 * self.ip_offset


def _u16(frame: bytes, at: int) -> int:
    return int.from_bytes(frame[at : at + 2], "big")


def classify(frame: bytes, default_queue: int, dscp_queue: Sequence[int]) -> Meta:
    """Classifies a good frame (14 bytes or more)."""
    exempt = frame[:5] == bytes.fromhex("0180c20000") and frame[5] >> 4 == 0
    start, tags = 14, 0
    while tags < 2 and len(frame) >= start and _u16(frame, start - 2) in TAGS:
        start, tags = start + 4, tags + 1
    if len(frame) > start + 1:
        kind, first, second = _u16(frame, start - 2), frame[start], frame[start + 1]
        ihl = first & 15
        if kind == IPV4 and first >> 4 == 4 and ihl >= 5 and len(frame) >= start + 4 * ihl:
            return Meta(len(frame), dscp_queue[second >> 2], second & 3, 1, tags, exempt)
        if kind == IPV6 and first >> 4 == 6 and len(frame) >= start + 40:
            traffic = ((first & 15) << 4) | second >> 4
            return Meta(len(frame), dscp_queue[traffic >> 2], traffic & 3, 2, tags, exempt)
    return Meta(len(frame), default_queue, NOT_ECT, 0, 0, exempt)


def judge(beats: Sequence[tuple[int, int]], max_frame: int) -> tuple[int, int]:
    """How a frame ends.

    Args:
        beats: (tkeep, tuser) of each beat, 8 bytes wide; the last is the frame's last.
        max_frame: MAX_FRAME in bytes.

    Returns:
        GOOD, BAD, RUNT or OVERSIZE, and the number of bytes that arrived.
    """
    arrived = sum(keep.bit_count() for keep, _ in beats)
    last_keep, last_user = beats[-1]
    whole = all(keep == 0xFF for keep, _ in beats[:-1]) and last_keep in [(1 << n) - 1 for n in range(1, 9)]
    if not whole or last_user & 1:
        end = BAD
    elif arrived < 14:
        end = RUNT
    elif arrived > min(max_frame, MAX_FRAME):
        end = OVERSIZE
    else:
        end = GOOD
    return end, min(arrived, BYTES_MAX)


def mark(frame: bytes, meta: Meta) -> bytes:
    """The frame with Congestion Experienced, if it is ECT; else unchanged."""
    if meta.ip_version == 0 or meta.ecn not in (ECT0, ECT1):
        return frame
    out = bytearray(frame)
    start = meta.ip_start
    if meta.ip_version == 2:
        out[start + 1] |= 0x30
        return bytes(out)
    out[start + 1] |= 0x03
    checksum, difference = _u16(frame, start + 10), CE - meta.ecn
    new = checksum - difference if checksum >= difference else checksum + 0xFFFF - difference
    out[start + 10 : start + 12] = new.to_bytes(2, "big")
    return bytes(out)


def header_sum(frame: bytes, meta: Meta) -> int:
    """Ones' complement sum of an IPv4 header, checksum included, modulo 0xFFFF: 0 means that it verifies."""
    start = meta.ip_start
    words = 2 * (frame[start] & 15)
    return sum(_u16(frame, start + 2 * n) for n in range(words)) % 0xFFFF

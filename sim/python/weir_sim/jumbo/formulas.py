"""What the papers say of the gain by jumbo frames, in closed form."""

from __future__ import annotations

from .merge import Limits
from .wire import frame_bytes

HEADER_BYTES = 38
"""H_p of the paper's Eq. 1 for Ethernet: preamble 8, header 14, FCS 4, gap 12"""


def eq1_cost(count: int, l3: bool) -> int:
    """Bytes that a jumbo frame of `count` packets costs: Eq. 1 of paper 000 as docs/jumbo.md corrects it."""
    return 20 * l3 + 6 + 4 * count - HEADER_BYTES * (count - 1)


def processing_gain(expected: float, k: float) -> float:
    """TPo/TPj of paper 002, section 4.4, for many hosts a rack: 14 / (4 + (10 + 3k)/E). k: cost of the search, 0 for O(1)."""
    return 14 / (4 + (10 + 3 * k) / expected)


def largest_merge_factor(packet_bytes: int, limits: Limits) -> int:
    """Mf of paper 002: packets of that length in a full jumbo frame; 1 or more."""
    room = limits.max_bytes - frame_bytes(0, 0, 0, limits.form.l3)
    return max(min(limits.max_sum // packet_bytes, room // (packet_bytes + 4), limits.max_count), 1)

"""Drop-Tail: the policy accepts everything; the queue's hard limit does the rest (docs/modules/arrival-decision.md)."""

from __future__ import annotations

from .red import ACCEPT, NONE, Verdict


def verdict() -> Verdict:
    """The answer to every arrival: accept, no cause, no evidence."""
    return Verdict(ACCEPT, NONE, 0, 0, 0)


def fits(length: int, held_bytes: int, held_packets: int, limit_bytes: int, limit_packets: int) -> bool:
    """Whether an arrival of `length` bytes stays within the hard limits (inclusive)."""
    return held_bytes + length <= limit_bytes and held_packets + 1 <= limit_packets

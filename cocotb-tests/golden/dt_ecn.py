"""DT-ECN, bit for bit (docs/modules/dt-ecn.md)."""

from __future__ import annotations

from .red import ACCEPT, ECT0, ECT1, FORCED, MARK, NONE, ONE, Verdict

BYTES, PACKETS, FRAMES = 0, 1, 2


def verdict(length: int, held: tuple[int, int, int], unit: int, ecn: int, threshold: int) -> Verdict:
    """The answer to an arrival of `length` bytes that finds `held` (bytes, packets, frames).

    Args:
        length: bytes of the arrival, below 2^14.
        held: the queue before it, in each unit.
        unit: 0 bytes, 1 packets, 2 frames; 3 is taken as 0.
        ecn: codepoint as it arrived.
        threshold: whole units, below 2^22.
    """
    unit = BYTES if unit == 3 else unit
    after = held[unit] + (length if unit == BYTES else 1)
    if after < threshold:
        return Verdict(ACCEPT, NONE, 0, 0, 0)
    return Verdict(MARK if ecn in (ECT0, ECT1) else ACCEPT, FORCED, 0, 0, ONE)

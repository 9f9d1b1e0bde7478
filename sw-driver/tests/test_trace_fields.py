"""The table of trace fields: each decoder that is made from it against the one that is written by hand."""

from __future__ import annotations

import random

import pytest

import weir
from golden.core import Record


def field(words: list[int], where: weir.TraceField) -> int:
    """By the table."""
    value, above = 0, 0
    for word, high, low in where.parts:
        value |= (words[word] >> low & (1 << (high - low + 1)) - 1) << above
        above += high - low + 1
    return value


#: a field of the table: what golden.core.Record calls it
HAND = {"time_ns": "time", "queue": "queue", "action": "action", "cause": "cause", "ecn": "ecn", "exempt": "exempt",
        "length": "length", "number": "number", "bytes": "held_bytes", "packets": "held_packets",
        "frames": "held_frames",
        "policy": "policy", "unit": "unit", "average": "average", "count": "count", "p": "probability", "draw": "draw",
        "idle_slots": "idle_slots", "marked": "marked", "sojourn_ns": "sojourn"}  # fmt: skip


@pytest.mark.parametrize("kind", [0, 1])
def test_fields_are_where_the_golden_decoder_finds_them(kind: int) -> None:
    rng = random.Random(52)
    for _ in range(300):
        words = [rng.getrandbits(32) for _ in range(12)]
        words[1] = words[1] & ~(3 << 20) | kind << 20
        theirs = Record.decode(sum(word << 32 * n for n, word in enumerate(words)), lambda time: 0)
        seen = 0
        for where in weir.trace_fields():
            if where.name in HAND and kind in where.kinds:
                assert field(words, where) == getattr(theirs, HAND[where.name]), where
                seen += 1
    assert seen == {0: 11 + 7, 1: 11 + 2}[kind]


def test_the_state_of_ticks_lies_in_its_four_words() -> None:
    """docs/modules/pie.md and pi2.md: p is UQ0.48 in words 3 and 4, its bits 15:0 in the lower half of word 4."""
    words = [0, 0, 0, 0x12345678, 0x5_9ABC, 7, 8, *[0xFFFFFFFF] * 5]
    found = {p: {f.name: field(words, f) for f in weir.state_fields(p)} for p in ("ared", "pie", "pi2")}
    assert found["pie"] == {"p": 0x1234_5678_9ABC, "calm": 1, "asleep": 0, "delay_ns": 7, "burst_ns": 8}
    assert found["pi2"] == {
        "base": 0x1234_5678_9ABC, "over_c": 1, "over_l": 0, "asleep": 1, "delay_ns": 7, "p_c": 8,
    }  # fmt: skip
    assert found["ared"] == {"max_p": 0x12345678, "average": 0x59ABC, "slope": 7, "gentle_slope": 8}
    assert not weir.state_fields("red")

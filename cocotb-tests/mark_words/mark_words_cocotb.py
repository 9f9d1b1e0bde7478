"""MarkWords against golden/frame.py."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

import traffic
from axis import seeded, start
from golden.frame import classify, header_sum, mark

MAP = [0] * 64


def ip_frame(rng: random.Random, tags: int, v6: bool, ecn: int) -> bytes:
    """An IP frame; IPv4 with any checksum, often one near the wrap."""
    body = bytearray(bytes((traffic.ipv6 if v6 else traffic.ipv4)(rng, ecn)))
    if not v6 and rng.random() < 0.5:
        body[10:12] = rng.choice((0, 1, 2, 0xFFFF, 0x0100, rng.getrandbits(16))).to_bytes(2, "big")
    stack = b"".join(rng.choice((b"\x81\x00", b"\x88\xa8")) + rng.randbytes(2) for _ in range(tags))
    return (
        rng.randbytes(12)
        + stack
        + (b"\x86\xdd" if v6 else b"\x08\x00")
        + bytes(body)
        + rng.randbytes(rng.randrange(60))
    )


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.4])
async def marks_as_rewrite_does(dut: Any, gap: float) -> None:
    """Frames of all kinds back to back and with gaps, marked or not: each word one cycle later, as the golden model says."""
    await start(dut, word_valid=0)
    rng = seeded(f"mark {gap}")
    changed = 0

    async def step() -> None:
        await RisingEdge(dut.clk)
        assert int(dut.marked_valid.value) == int(seen is not None)
        if seen is not None:
            want, bits = seen
            assert int(dut.marked_payload.value) & bits == want, (
                f"{int(dut.marked_payload.value):032x}, not {want:032x}"
            )

    seen: tuple[int, int] | None = None
    for _ in range(1500):
        frame = (
            ip_frame(rng, rng.randrange(3), rng.random() < 0.4, rng.randrange(4))
            if rng.random() < 0.9
            else rng.randbytes(rng.randrange(14, 90))
        )
        meta = classify(frame, 0, MAP)
        marked = rng.random() < 0.6
        want = mark(frame, meta) if marked else frame
        if meta.ip_version == 1:
            assert header_sum(want, meta) == header_sum(frame, meta)
        changed += want != frame
        for n in range(0, len(frame), 16):
            while True:
                pause = rng.random() < gap
                dut.word_valid.value = int(not pause)
                piece = frame[n : n + 16]
                dut.word_payload_data.value = int.from_bytes(piece + rng.randbytes(16 - len(piece)), "little")
                dut.word_payload_first.value = int(n == 0)
                for name, value in (
                    ("mark", int(marked)),
                    ("ecn", meta.ecn),
                    ("ipVersion", meta.ip_version),
                    ("ipOffset", meta.ip_offset),
                ):
                    getattr(dut, f"word_payload_info_{name}").value = value
                await step()
                seen = None if pause else (int.from_bytes(want[n : n + 16], "little"), (1 << 8 * len(piece)) - 1)
                if not pause:
                    break
    assert changed > 300

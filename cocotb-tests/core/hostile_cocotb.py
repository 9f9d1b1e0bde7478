"""Frames as nobody should send them: never a hang, never a partial frame, and what is wrong stays equally wrong."""

from __future__ import annotations

import random
from typing import Any

import cocotb

from axi_bench import four_queues
from core_bench import CORE, random_stall
from golden import frame as wire

TAGS = (b"", b"\x81\x00\x20\x05", b"\x88\xa8\x00\x07\x81\x00\x00\x05", b"\x81\x00\x00\x01\x81\x00\x00\x02",
        b"\x88\xa8\x00\x07\x88\xa8\x00\x08\x81\x00\x00\x05")  # fmt: skip

#: ECT more often than not
CODEPOINTS = (0, 1, 1, 2, 2, 3)


def ipv4(rng: random.Random, ihl: int = 5, version: int = 4) -> bytes:
    """A header with any checksum, options of any contents, a fragment's fields."""
    head = bytearray(rng.randbytes(max(20, 4 * ihl)))
    head[0] = version << 4 | ihl
    head[1] = head[1] & 0xFC | rng.choice(CODEPOINTS)
    head[6] = rng.choice((0, 0x40, 0x20, 0x3F, 0x1F))
    head[10:12] = rng.choice((b"\0\0", b"\0\1", b"\0\2", b"\xff\xff", b"\xff\xfe", rng.randbytes(2)))
    return bytes(head)


def ipv6(rng: random.Random, version: int = 6) -> bytes:
    head = bytearray(rng.randbytes(40))
    head[0] = version << 4 | head[0] & 15
    head[1] = head[1] & 0xCF | rng.choice(CODEPOINTS) << 4
    return bytes(head)


def hostile(rng: random.Random) -> bytes:
    """One frame: a header of some kind, right or wrong, cut short at any byte or followed by a payload."""
    addresses = bytes.fromhex("0180c200000e") if rng.random() < 0.1 else rng.randbytes(6)
    tags = rng.choice(TAGS)
    kind = rng.randrange(10)
    if kind < 4:
        body = b"\x08\x00" + ipv4(rng, rng.choice((5, 5, 6, 15, rng.randrange(5, 16))))
    elif kind == 4:
        body = b"\x08\x00" + ipv4(rng, rng.randrange(16), rng.choice((4, 4, 5, 6, 0)))
    elif kind < 7:
        body = b"\x86\xdd" + ipv6(rng, rng.choice((6, 6, 6, 4)))
    elif kind == 7:
        body = rng.choice((b"\x08\x06", b"\x88\xb5", b"\x08\x01", b"\x86\xdc", b"\x05\xdc")) + rng.randbytes(46)
    elif kind == 8:
        body = rng.choice((b"\x08\x00" + ipv6(rng), b"\x86\xdd" + ipv4(rng)))
    else:
        body = b"\x81\x00"  # a tag with nothing behind it
    data = addresses + rng.randbytes(6) + tags + body
    if rng.random() < 0.75:
        return data + rng.randbytes(rng.choice((0, 1, 8, 40, rng.randrange(300))))
    return data[: rng.randrange(14, len(data) + 1)]


@cocotb.test()
async def survives_frames_of_every_wrong_kind(dut: Any) -> None:
    """Runts, frames too long, bad ones, headers cut at any byte, in four queues that mark and drop; then all is still."""
    bench = await four_queues(dut, "hostile")
    rng = bench.rng
    for q, ecn in enumerate((True, True, True, False)):
        await bench.configure(q, "red", limit_bytes=12000, min=64, max=2000, weight=0.3, probability=0.9, ecn=ecn,
                              nodrop=q == 1)  # fmt: skip
    await bench.map_dscp([rng.choice((d % 4, d % 4, d % 4, rng.randrange(16))) for d in range(64)])
    await bench.core_write(DEFAULT_QUEUE=rng.randrange(4), MAX_FRAME=rng.choice((600, 1518)))
    for _ in range(2):
        bench.stall = random_stall(rng, 0.93)
        bench.pause = random_stall(rng, 0.2)
        for _ in range(200):
            data, gap = hostile(rng), rng.choice((0, 0, 2, 9))
            kind = rng.randrange(12)
            if kind == 0:
                bench.send(data[: rng.randrange(1, 14)], gap, tuser=rng.randrange(2))
            elif kind == 1:
                bench.send(data + rng.randbytes(bench.max_frame), gap, tuser=rng.randrange(2))
            elif kind == 2:
                bench.send(data, gap, tuser=1)
            else:
                bench.send(data, gap)
        await bench.drain()
    report = await bench.check()
    assert {r.queue for r, _ in report.decisions} == {0, 1, 2, 3}
    assert report.outcomes["marked early"] + report.outcomes["marked forced"] > 10
    for name in ("BAD", "RUNT", "OVERSIZE"):
        assert bench.counted[f"{CORE[name]:#06x}"][0] > 4, name
    kinds = {(s.meta.ip_version, s.meta.ip_offset) for s in bench.sent if s.meta is not None}
    assert kinds >= {(v, tags) for v in (1, 2) for tags in range(3)} | {(0, 0)}, kinds
    await bench.until_quiet()


@cocotb.test()
async def leaves_a_wrong_checksum_equally_wrong(dut: Any) -> None:
    """RFC 1624: the sum over a marked IPv4 header is what it was, whatever the checksum, the options and the tags; no
    other byte changes."""
    bench = await four_queues(dut, "checksums")
    rng = bench.rng
    for q in range(bench.queues):
        await bench.configure(q, "red", limit_bytes=12000, min=1, max=2, weight=1, ecn=True, nodrop=True)
    bench.stall = lambda c: c % 3 == 0
    for n in range(160):
        head = bytearray(ipv4(rng, rng.randrange(5, 16)))
        head[1] = rng.randrange(64) << 2 | rng.choice((1, 2))
        if n % 2:
            head[10:12] = rng.choice((0, 1, 2, 3, 0xFFFE, 0xFFFF)).to_bytes(2, "big")
        data = rng.randbytes(12) + TAGS[n % 4] + b"\x08\x00" + bytes(head) + rng.randbytes(rng.randrange(50))
        bench.send(data, gap=rng.choice((0, 3)))
    report = await bench.check()
    good = [s for s in bench.sent if s.end == wire.GOOD]
    changed = 0
    for r, departure in zip(bench.received, [d for d in bench.decoded() if d.departure], strict=True):
        sent, got = good[departure.number], bytes(r.data)
        meta = sent.meta
        assert meta is not None and meta.ip_version == 1
        start = meta.ip_start
        now = wire.classify(got, 0, bench.dscp)
        assert wire.header_sum(sent.data, meta) == wire.header_sum(got, now)
        same = [n for n in range(len(got)) if n not in (start + 1, start + 10, start + 11)]
        assert all(sent.data[n] == got[n] for n in same) and len(got) == len(sent.data)
        assert got[start + 1] in (sent.data[start + 1], sent.data[start + 1] | 3)
        changed += got != sent.data
    assert changed > 80 and report.departures == 160

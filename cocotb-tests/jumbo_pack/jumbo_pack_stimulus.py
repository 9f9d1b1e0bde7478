"""What JumboPack is given for a frame, and what has to leave: docs/modules/jumbo-pack.md, docs/jumbo.md."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from axis import Item
from golden.transit import unit
from weir_sim.jumbo import JumboFormat, build, parse_packet
from weir_sim.jumbo.wire import MAX_COUNT, MAX_FRAME, MAX_SUM, frame_bytes, outer_ecn, spacings

TAG_TYPES = (b"\x81\x00", b"\x88\xa8")


@dataclass
class Job:
    """A frame to be sent: the items of JumboPack's streams, and the bytes that have to leave."""

    group: Item
    words: list[Item]
    sent: bytes
    entries: list[Item] = field(default_factory=list)
    l3: bool = False


def words_of(frame: bytes, rng: random.Random) -> list[Item]:
    """A frame in words of 16 bytes; what does not count is random."""
    words = []
    for at in range(0, len(frame), 16):
        part = frame[at : at + 16]
        last = at + 16 >= len(frame)
        data = int.from_bytes(part + rng.randbytes(16 - len(part)), "little")
        size = len(part) % 16 if last else rng.randrange(16)
        half = int(last and 0 < size <= 8)
        words.append({"data": data, "first": int(at == 0), "last": int(last), "lastBytes": size, "half": half})
    return words


def single(frame: bytes, rng: random.Random) -> Job:
    """A frame that is sent as it is; all but `grouped` is random."""
    group = {
        "grouped": 0,
        "count": rng.getrandbits(9),
        "packets": rng.getrandbits(9),
        "outerBytes": rng.getrandbits(14),
        "averageLength": rng.getrandbits(14),
        "ecn": rng.getrandbits(2),
        "tags": rng.getrandbits(2),
        "l3": rng.getrandbits(1),
        "tick": rng.getrandbits(5),
        "transit": rng.getrandbits(1),
        "gone": rng.getrandbits(9),
        "removed": rng.getrandbits(14),
        "etherType": rng.getrandbits(16),
        "protocol": rng.getrandbits(8),
    }
    return Job(group, words_of(frame, rng), frame)


def ethernet(rng: random.Random, tags: int, v6: bool) -> bytes:
    """An Ethernet header that may join a group."""
    stack = b"".join(rng.choice(TAG_TYPES) + rng.randbytes(2) for _ in range(tags))
    return b"\x02" + rng.randbytes(11) + stack + (b"\x86\xdd" if v6 else b"\x08\x00")


def packet(rng: random.Random, length: int, v6: bool, dscp: int, protocol: int) -> bytes:
    """An IP packet of that length that may join; the checksum is random, JumboPack does not look at it."""
    inner = rng.choice([p for p in (6, 17, 89, 254) if p != protocol])
    traffic = dscp << 2 | rng.randrange(4)
    if v6:
        head = (6 << 28 | traffic << 20 | rng.getrandbits(20)).to_bytes(4, "big")
        head += (length - 40).to_bytes(2, "big") + bytes([inner, rng.randrange(256)])
        return head + rng.randbytes(length - 8)
    head = bytes([0x45, traffic]) + length.to_bytes(2, "big") + rng.randbytes(2)
    head += rng.choice((0x0000, 0x4000, 0x2000)).to_bytes(2, "big") + bytes([rng.randrange(256), inner])
    return head + rng.randbytes(length - 10)


def form_of(rng: random.Random, l3: bool) -> JumboFormat:
    """A form with other numbers now and then."""
    ethertype = rng.choice((0x88B5, 0x88B6, rng.randrange(0x8900, 0xFFFF)))
    return JumboFormat(l3, ethertype, rng.choice((253, 254, rng.randrange(90, 250))), rng.randrange(32))


def jumbo(
    rng: random.Random,
    lengths: Sequence[int],
    tags: int,
    l3: bool = False,
    v6: bool = False,
    dropped: frozenset[int] = frozenset(),
    identification: int = 0,
    sum_low: int | None = None,
) -> Job:
    """A group of packets of these IP lengths; those in `dropped` have an entry and no words.

    With `sum_low` the plain sum of the outer IPv4 header's fields has this value modulo 2^16.
    """
    form = form_of(rng, l3)
    header, dscp = ethernet(rng, tags, v6), rng.randrange(64)
    frames = [header + packet(rng, length, v6, dscp, form.protocol) for length in lengths]
    arrivals = [rng.getrandbits(20)]
    while len(arrivals) < len(frames):
        arrivals.append(arrivals[-1] + rng.randrange(rng.choice((2, 100, 65000))) * 2**form.tick)
    sent = build(frames, arrivals, form, identification, dropped)
    if sum_low is not None:
        first = min(set(range(len(frames))) - dropped)
        fields = list(struct.unpack_from(">10H", sent, len(header)))
        fields[9] = (fields[9] + sum_low - (sum(fields) - fields[5])) & 0xFFFF
        at = len(header) + 18
        frames[first] = frames[first][:at] + fields[9].to_bytes(2, "big") + frames[first][at + 2 :]
        sent = build(frames, arrivals, form, identification, dropped)
    left = [frame for n, frame in enumerate(frames) if n not in dropped]
    sums = [0 if n in dropped else length for n, length in enumerate(lengths)]
    assert len(sent) == frame_bytes(tags, len(frames), sum(sums), l3)
    ecn = outer_ecn([p.ecn for p in map(parse_packet, left) if p])
    group = {
        "grouped": 1,
        "count": len(frames),
        "packets": len(left),
        "outerBytes": len(sent),
        "averageLength": sum(lengths) // len(frames),
        "ecn": ecn if l3 else rng.getrandbits(2),
        "tags": tags,
        "l3": int(l3),
        "tick": form.tick,
        "transit": 0,
        "gone": rng.getrandbits(9),
        "removed": rng.getrandbits(14),
        "etherType": form.ethertype,
        "protocol": form.protocol,
    }
    gaps = spacings(arrivals, form.tick)
    entries = [{"length": length, "spacing": gap} for length, gap in zip(sums, gaps, strict=True)]
    return Job(group, [w for frame in left for w in words_of(frame, rng)], sent, entries, l3)


def transit(rng: random.Random, lengths: Sequence[int], tags: int, l3: bool, v6: bool = False,
            dropped: frozenset[int] = frozenset(), gone: int = 0) -> Job:  # fmt: skip
    """A jumbo frame that passes: it came without the packets in `dropped`, and `gone` of those that were left were dropped here, the first."""
    form = form_of(rng, l3)
    header, dscp = ethernet(rng, tags, v6), rng.randrange(64)
    frames = [header + packet(rng, length, v6, dscp, form.protocol) for length in lengths]
    came = build(frames, [rng.randrange(100) + 100 * n for n in range(len(frames))], form, rng.getrandbits(16), dropped)
    u = unit(came, form.ethertype, form.protocol)
    assert u and u.jumbo
    u.gone = set(range(gone))
    there = [frame for n, frame in enumerate(frames) if n not in dropped]
    left = there[gone:]
    group = single(b"", rng).group | {"grouped": 1, "transit": 1, "packets": len(left), "tags": tags, "l3": int(l3), "gone": gone,
                                      "removed": sum(map(len, there[:gone])) - gone * len(header)}  # fmt: skip
    words = [word for data in (came[: u.header], *left) for word in words_of(data, rng)]
    return Job(group, words, u.sent())


def lengths_within(rng: random.Random, count: int, pool: Sequence[int]) -> list[int]:
    """At most `count` lengths of a pool that fit into a jumbo frame of any form, at least one."""
    lengths = [rng.choice(pool)]
    while len(lengths) < min(count, MAX_COUNT):
        length = rng.choice(pool)
        if sum(lengths) + length > MAX_SUM or frame_bytes(2, len(lengths) + 1, sum(lengths) + length, True) > MAX_FRAME:
            break
        lengths.append(length)
    return lengths


def some_dropped(rng: random.Random, count: int) -> frozenset[int]:
    """Some packets of a group: none, few, or all but one."""
    share = rng.choice((0.0, 0.0, 0.1, 0.5, 1.0))
    kept = rng.randrange(count)
    return frozenset(n for n in range(count) if n != kept and rng.random() < share)


def any_job(rng: random.Random, identification: int) -> Job:
    """A single frame or a group of any kind, of moderate size."""
    if rng.random() < 0.4:
        return single(rng.randbytes(rng.choice((rng.randrange(14, 100), rng.randrange(14, 1600), 60))), rng)
    l3 = rng.random() < 0.5
    v6 = not l3 and rng.random() < 0.4
    low = 40 if v6 else 20
    pool = rng.choice((range(low, low + 30), range(low, 200), range(low, 1500), (low, 40, 1500)))
    lengths = lengths_within(rng, rng.choice((1, 2, 3, 8, 20)), pool)
    if rng.random() < 0.4:
        dropped = some_dropped(rng, len(lengths))
        gone = rng.choice((0, 0, rng.randrange(len(lengths) - len(dropped))))
        return transit(rng, lengths, rng.randrange(3), l3, v6, dropped, gone)
    return jumbo(rng, lengths, rng.randrange(3), l3, v6, some_dropped(rng, len(lengths)), identification)

"""Headers left out of jumbo frames: bytes by hand, what can be foretold and what not, and lies."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumbo_frames import MACS, TAGS, checksum, ipv4, ipv6
from weir_sim.jumbo import JumboFormat, Malformed, build, dissect, split
from weir_sim.jumbo.elision import elide, restore
from weir_sim.jumbo.report import elided

L2, L3 = JumboFormat(), JumboFormat(l3=True)
PSH_ACK, ACK, SYN = 0x18, 0x10, 0x02
STAMPS = bytes.fromhex("0101080a 00000001 00000002")

# By hand. IP: 4500 + 0029 + 0001 + 4000 + 4006 + 0a00 + 0001 + 0a00 + 0002 = d933, checksum 26cc; the second has
# identification 2: 26cb. TCP, A: pseudo header 0a00 + 0001 + 0a00 + 0002 + 0006 + 0015 = 141e; 03e8 + 07d0 + 0001 + 0002
# + 5010 + 1000 = 6bcb; payload aa00; sum 29ea with the carry, checksum d615. B: sequence number 1 more, payload 1100 more.
A = bytes.fromhex("45000029 00014000 400626cc 0a000001 0a000002 03e807d0 00000001 00000002 50101000 d6150000 aa")
B = bytes.fromhex("45000029 00024000 400626cb 0a000001 0a000002 03e807d0 00000002 00000002 50101000 c5140000 bb")
PLAIN = MACS + b"\x88\xb5" + bytes.fromhex("0002 0029 10 06  00290000 00290010") + A + B
SHORT = MACS + b"\x88\xb5" + bytes.fromhex("0002 0029 11 06  00290000 80290010") + A + b"\xbb"
# The outer header of the L3 form: total length 20 + 14 + 82 = 116, and 40 less.
# 4500 + 0074 + 0000 + 4000 + 40fd + 0a00 + 0001 + 0a00 + 0002 = da74, checksum 258b; 28 less: 25b3.
PLAIN_L3 = MACS + b"\x08\x00" + bytes.fromhex("45000074 00004000 40fd258b 0a000001 0a000002") + PLAIN[14:]
SHORT_L3 = MACS + b"\x08\x00" + bytes.fromhex("4500004c 00004000 40fd25b3 0a000001 0a000002") + SHORT[14:]


def tcp(payload: bytes = b"", *, sequence: int = 1, number: int = 1, ack: int = 7, flags: int = ACK, window: int = 512,
        options: bytes = b"", port: int = 1000, tos: int = 0, fragment: int = 0x4000, tags: bytes = b"") -> bytes:  # fmt: skip
    """A frame with a TCP segment, all checksums right."""
    addresses = bytes((10, 0, 0, 1, 10, 0, 0, 2))
    offset = 5 + len(options) // 4
    head = struct.pack(">HHIIBBH", port, 80, sequence & 0xFFFFFFFF, ack, offset << 4, flags, window)
    segment = head + bytes(4) + options + payload
    pseudo = addresses + struct.pack(">HH", 6, len(segment))
    total = checksum(pseudo + segment + bytes(len(segment) & 1))
    segment = segment[:16] + total.to_bytes(2, "big") + segment[18:]
    ip = struct.pack(">BBHHHBBH", 0x45, tos, 20 + len(segment), number & 0xFFFF, fragment, 64, 6, 0) + addresses
    ip = ip[:10] + checksum(ip).to_bytes(2, "big") + ip[12:]
    return MACS + tags + b"\x08\x00" + ip + segment


def saved(frames: list[bytes], form: JumboFormat = L2) -> tuple[int, int]:
    """Packets left without headers and bytes saved; the plain frame must come back, and split as before."""
    plain = build(frames, [0] * len(frames), form)
    short = elide(plain, form)
    assert restore(short, form) == plain
    jumbo = dissect(plain, form)
    assert jumbo is not None and split(jumbo).frames == frames
    if short != plain:
        with pytest.raises(Malformed):
            dissect(short, form)  # to the hardware
    counts = elided(plain, short, jumbo)
    return counts["packets"], counts["bytes"]


def test_the_bytes_by_hand() -> None:
    assert build([MACS + b"\x08\x00" + p for p in (A, B)], [0, 1024]) == PLAIN
    assert build([MACS + b"\x08\x00" + p for p in (A, B)], [0, 1024], L3) == PLAIN_L3
    for plain, short in ((PLAIN, SHORT), (PLAIN_L3, SHORT_L3)):
        assert elide(plain) == short and restore(short) == plain and restore(plain) == plain


def stream(sizes: list[int], **fixed: int) -> list[bytes]:
    """Segments of those sizes, one behind the other."""
    sequence, frames = 0xFFFFFF00, []
    for n, size in enumerate(sizes):
        frames.append(tcp(bytes([n]) * size, sequence=sequence, number=0xFFFE + n, **fixed))  # type: ignore[arg-type]
        sequence += size
    return frames


def test_a_stream_travels_with_one_header() -> None:
    # Sequence and identification wrap; an acknowledgement without payload; odd lengths.
    assert saved(stream([100, 200, 301, 0, 0, 1])) == (5, 5 * 40)
    assert saved(stream([1440] * 6)) == (5, 5 * 40)
    assert saved(stream([10, 20, 30]), L3) == (2, 80)
    frames = [tcp(b"ab", sequence=n * 2, number=n, options=STAMPS, tags=TAGS[2]) for n in range(4)]
    assert saved(frames) == (3, 3 * 52)


FIRST = tcp(b"ab", sequence=5, number=9)
NEXT: dict[str, tuple[bytes, bool]] = {
    "the next": (tcp(b"cd", sequence=7, number=10), True),
    "no payload": (tcp(sequence=7, number=10), True),
    "PSH": (tcp(b"cd", sequence=7, number=10, flags=PSH_ACK), False),
    "a retransmission": (tcp(b"ab", sequence=5, number=10), False),
    "a gap": (tcp(b"cd", sequence=8, number=10), False),
    "the same identification": (tcp(b"cd", sequence=7, number=9), False),
    "an identification skipped": (tcp(b"cd", sequence=7, number=11), False),
    "another acknowledgement": (tcp(b"cd", sequence=7, number=10, ack=8), False),
    "another window": (tcp(b"cd", sequence=7, number=10, window=511), False),
    "an option": (tcp(b"cd", sequence=7, number=10, options=STAMPS), False),
    "another port": (tcp(b"cd", sequence=7, number=10, port=1001), False),
    "CE": (tcp(b"cd", sequence=7, number=10, tos=3), False),
    "no DF": (tcp(b"cd", sequence=7, number=10, fragment=0), False),
    "UDP": (ipv4(42, number=10), False),
    "short": (ipv4(30, number=10, protocol=6), False),
}


@pytest.mark.parametrize("name", NEXT)
@pytest.mark.parametrize("form", [L2, L3])
def test_only_what_can_be_foretold_is_left_out(name: str, form: JumboFormat) -> None:
    following, foretold = NEXT[name]
    assert saved([FIRST, following], form) == ((1, 40) if foretold else (0, 0))


def test_any_other_bit_of_the_headers_makes_it_travel_whole() -> None:
    following = tcp(b"cd", sequence=7, number=10)
    for bit in range(8 * 14, 8 * 54):
        wrong = bytearray(following)
        wrong[bit // 8] ^= 0x80 >> bit % 8
        try:
            plain = build([FIRST, bytes(wrong)], [0, 0])
        except ValueError:  # it may not join at all: length, version, DSCP, offset
            continue
        assert elide(plain) == plain, bit
    flipped = following[:-1] + bytes([following[-1] ^ 1])  # payload that the checksum does not fit
    plain = build([FIRST, flipped], [0, 0])
    assert elide(plain) == plain


def test_others_are_no_base() -> None:
    for base in (ipv4(40, protocol=17), tcp(b"ab", fragment=0x2000, sequence=5, number=9), ipv4(39, protocol=6)):
        assert saved([base, tcp(b"cd", sequence=7, number=10)]) == (0, 0)
    bad_offset = bytearray(tcp(b"ab" * 4, sequence=5, number=9))
    for offset in (0x40, 0xF0):
        bad_offset[46] = offset
        assert saved([bytes(bad_offset), tcp(b"cd", sequence=13, number=10)]) == (0, 0)
    assert saved([ipv6(60), ipv6(60)]) == (0, 0)


def test_a_frame_with_a_dropped_packet_stays_plain() -> None:
    plain = build(stream([10, 20, 30]), [0] * 3, dropped=[1])
    assert elide(plain) == plain


def test_a_flow_goes_on_behind_a_stranger_only_with_a_header() -> None:
    one, other = stream([10, 20, 30]), ipv4(50)
    assert saved([one[0], other, one[1], one[2]]) == (1, 40)


def test_what_is_no_jumbo_frame() -> None:
    with pytest.raises(ValueError, match="not a jumbo frame"):
        elide(FIRST)
    with pytest.raises(Malformed):
        elide(PLAIN + b"\0")
    for frame in (b"", FIRST, MACS + b"\x88\xb5", PLAIN[:19], ipv6(60)):
        assert restore(frame) == frame


def patched(frame: bytes, at: int, data: str) -> bytes:
    new = bytes.fromhex(data)
    return frame[:at] + new + frame[at + len(new) :]


LIES = {
    "count 0": (patched(SHORT, 14, "0000"), "count 0"),
    "count 449": (patched(SHORT, 14, "01c1"), "count 449"),
    "table cut": (SHORT[:27], "ends inside its table"),
    "the first left out": (patched(SHORT, 20, "8029"), "cannot be foretold"),
    "dropped": (patched(SHORT, 20, "0000"), "dropped"),
    "dropped and left out": (patched(SHORT, 24, "8000"), "dropped"),
    "shorter than its headers": (patched(SHORT, 24, "8027"), "shorter than the headers"),
    "more than there is": (patched(SHORT, 24, "802a"), "more than there is"),
    "less than there is": (SHORT + b"\0", "less than there is"),
    "behind UDP": (patched(SHORT, 28 + 9, "11"), "cannot be foretold"),
    "behind a fragment": (patched(SHORT, 28 + 6, "2000"), "cannot be foretold"),
    "behind options": (patched(SHORT, 28, "46"), "cannot be foretold"),
    "behind another length": (patched(SHORT, 28 + 2, "002a"), "cannot be foretold"),
    "behind a short TCP header": (patched(SHORT, 28 + 32, "40"), "cannot be foretold"),
    "behind a TCP header cut short": (patched(SHORT, 28 + 32, "b0"), "cannot be foretold"),
    "outer checksum": (patched(SHORT_L3, 24, "25b4"), "checksum"),
    "outer total length": (patched(SHORT_L3, 16, "004d 0000 4000 40fd 25b2"), "does not fit"),
    "outer total length less": (patched(SHORT_L3, 16, "004b 0000 4000 40fd 25b4"), "not that of the content"),
    "too long": (
        MACS + b"\x88\xb5" + struct.pack(">HHBB", 230, 41, 0x11, 6) + struct.pack(">HH", 41, 0)
        + struct.pack(">HH", 0x8029, 0) * 229 + A + bytes(229), "more than 9216"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_told_apart(name: str) -> None:
    frame, words = LIES[name]
    with pytest.raises(Malformed, match=words):
        restore(frame)


def test_other_faults_are_left_to_dissect() -> None:
    for at, data in ((18, "21"), (18, "13"), (19, "20")):
        with pytest.raises(Malformed):
            dissect(restore(patched(SHORT, at, data)))


@given(st.integers(0, 1 << 32), st.booleans())
def test_streams_with_odd_packets_come_back(seed: int, l3: bool) -> None:
    rng = random.Random(seed)
    frames: list[bytes] = []
    expected, sequence, number, options = 0, rng.randrange(1 << 32), rng.randrange(1 << 16), rng.choice((b"", STAMPS))
    base = False
    for _ in range(rng.randrange(1, 20)):
        payload = rng.randbytes(rng.choice((0, 1, 2, rng.randrange(300))))
        kind = rng.random()
        if kind < 0.15:
            frames.append(ipv4(rng.randrange(20, 90), rng.randrange(3)))
            base = False
            continue
        frame = tcp(payload, sequence=sequence, number=number, options=options)
        sequence, number = sequence + len(payload), number + 1
        if kind < 0.3:  # a wrong checksum, of IP or TCP; the next is foretold with right ones
            at = rng.choice((24, 50))
            frame = frame[:at] + bytes([frame[at] ^ rng.randrange(1, 256)]) + frame[at + 1 :]
            base = True
        else:
            expected += base
            base = True
        frames.append(frame)
    assert saved(frames, JumboFormat(l3=l3)) == (expected, expected * (40 + len(options)))


@given(st.integers(0, 1 << 32))
def test_a_damaged_frame_is_refused_or_a_frame(seed: int) -> None:
    rng = random.Random(seed)
    frame = bytearray(
        elide(build(stream([rng.randrange(50) for _ in range(5)]), [0] * 5, JumboFormat(l3=rng.random() < 0.5)))
    )
    for _ in range(rng.randrange(1, 4)):
        frame[rng.randrange(len(frame))] = rng.randrange(256)
    try:
        plain = restore(bytes(frame[: rng.choice((len(frame), rng.randrange(len(frame) + 1)))]))
        dissect(plain)
    except Malformed:
        pass

"""Jumbo frames on the wire against docs/jumbo.md: bytes written by hand, every lie of a sender, ECN, checksums."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from jumbo_frames import MACS, TAG, TAGS, alike, checksum, ipv4, ipv6
from weir_sim.jumbo import JumboFormat, Malformed, build, dissect, parse_packet, split
from weir_sim.jumbo.ecn import combined_ecn, corrected_checksum, header_checksum, outer_ecn, with_ecn

NOT_ECT, ECT1, ECT0, CE = range(4)
L2, L3 = JumboFormat(), JumboFormat(l3=True)

# Written out by hand from docs/jumbo.md. Sum of the header's words of A without checksum: 4502 + 001d + 0001 + 4000
# + 4011 + 0a00 + 0001 + 0a00 + 0002 = d934, complement 26cb; of B: 001c and 0002 instead, the same sum.
IP_A = bytes.fromhex("4502001d 00014000 401126cb 0a000001 0a000002  03e807d0 00090000 aa")
IP_B = bytes.fromhex("4502001c 00024000 401126cb 0a000001 0a000002  03e807d0 00080000")
# Arrivals at 1000 and 2000 ns are ticks 15 and 31 of 64 ns. Average: floor((29 + 28) / 2) = 28.
JUMBO = bytes.fromhex("0002 001c 10 06  001d 0000 001c 0010") + IP_A + IP_B
HAND_L2 = MACS + TAG + b"\x88\xb5" + JUMBO
# Total length 20 + 6 + 8 + 57 = 91. 4502 + 005b + 0007 + 4000 + 40fd + 0a00 + 0001 + 0a00 + 0002 = da64.
HAND_L3 = MACS + b"\x08\x00" + bytes.fromhex("4502005b 00074000 40fd259b 0a000001 0a000002") + JUMBO


def test_builds_the_bytes_of_the_page() -> None:
    pair = [MACS + TAG + b"\x08\x00" + ip for ip in (IP_A, IP_B)]
    assert build(pair, [1000, 2000], L2) == HAND_L2
    pair = [MACS + b"\x08\x00" + ip for ip in (IP_A, IP_B)]
    assert build(pair, [1000, 2000], L3, identification=7) == HAND_L3
    assert build(pair, [1000, 2000], L3, identification=0x10007) == HAND_L3


def test_dissects_the_bytes_of_the_page() -> None:
    jumbo = dissect(HAND_L2)
    assert jumbo is not None
    assert (jumbo.ethernet, jumbo.l3, jumbo.ecn, jumbo.average, jumbo.tick) == (MACS + TAG, False, None, 28, 6)
    assert (jumbo.entries, jumbo.packets, jumbo.count) == (((29, 0), (28, 16)), (IP_A, IP_B), 2)
    jumbo = dissect(HAND_L3)
    assert jumbo is not None and (jumbo.ethernet, jumbo.l3, jumbo.ecn) == (MACS, True, ECT0)
    assert split(jumbo).frames == [MACS + b"\x08\x00" + ip for ip in (IP_A, IP_B)]


def test_two_small_packets_cost_four_bytes_less_as_the_paper_says() -> None:
    apart = sum(8 + len(MACS + b"\x08\x00" + ip) + 4 + 12 for ip in (IP_A, IP_B))
    assert 8 + len(HAND_L3) + 4 + 12 - apart == -4


def test_a_dropped_packet_keeps_its_entry_count_and_average() -> None:
    pair = [MACS + b"\x08\x00" + ip for ip in (IP_A, IP_B)]
    frame = build(pair, [1000, 2000], L2, dropped=[0])
    assert frame == MACS + b"\x88\xb5" + bytes.fromhex("0002 001c 10 06  0000 0000 001c 0010") + IP_B
    jumbo = dissect(frame)
    assert jumbo is not None and split(jumbo).frames == pair[1:] and jumbo.entries == ((0, 0), (28, 16))


def test_a_frame_of_dropped_packets_gives_nothing() -> None:
    jumbo = dissect(MACS + b"\x88\xb5" + bytes.fromhex("0002 001c 10 06  00000000 00000010") + bytes(32))
    assert jumbo is not None and split(jumbo) == ([], 0, 0)


lies: dict[str, tuple[bytes, str]] = {}


def lie(name: str, frame: bytes, words: str) -> None:
    lies[name] = (frame, words)


def patched(frame: bytes, at: int, data: str) -> bytes:
    new = bytes.fromhex(data)
    return frame[:at] + new + frame[at + len(new) :]


def outer(frame: bytes, at: int, data: str) -> bytes:
    """The L3 frame with other bytes in its outer header, and a right checksum."""
    frame = patched(patched(frame, 14 + at, data), 24, "0000")
    return patched(frame, 24, f"{checksum(frame[14:34]):04x}")


H2, H3 = 18, 34
lie("ends inside the header", HAND_L2[: H2 + 5], "ends inside its header")
lie("ends inside the table", HAND_L2[: H2 + 13], "ends inside its table")
lie("ends behind the outer header", outer(HAND_L3[:34], 2, "0014"), "ends inside its header")
lie("version 0", patched(HAND_L2, H2 + 4, "00"), "version 0")
lie("version 2", patched(HAND_L2, H2 + 4, "20"), "version 2")
for bit in range(4):
    lie(f"flag {bit}", patched(HAND_L2, H2 + 4, f"{0x10 | 1 << bit:02x}"), "flags")
lie("tick 32", patched(HAND_L2, H2 + 5, "20"), "tick 32")
lie("count 0", patched(HAND_L2, H2, "0000"), "count 0")
lie("count 449", MACS + b"\x88\xb5" + bytes.fromhex("01c1 0000 10 06") + bytes(4 * 449), "count 449")
lie("IHL 6", outer(HAND_L3, 0, "46"), "options")
lie("MF", outer(HAND_L3, 6, "2000"), "fragment")
lie("offset 1", outer(HAND_L3, 6, "4001"), "fragment")
lie("offset 4096", outer(HAND_L3, 6, "5000"), "fragment")
lie("total length one less", outer(HAND_L3, 2, "005a"), "total length is not that of the content")
lie("total length one more", outer(HAND_L3 + b"\0", 2, "005c"), "less than there is")
lie("total length beyond the frame", outer(HAND_L3, 2, "005c"), "does not fit the frame")
ONE_L3 = build([ipv4(20)], [0], L3)  # 64 bytes: room for 4 of padding
lie("total length into the padding", outer(ONE_L3 + bytes(4), 2, "0033"), "total length is not that of the content")
lie("total length without the end", outer(ONE_L3 + bytes(4), 2, "0031"), "total length is not that of the content")
lie("outer checksum", patched(HAND_L3, 24, "259c"), "checksum")
lie("a length of 1", patched(HAND_L2, H2 + 6, "0001"), "1 to 19")
lie("a length of 19", patched(HAND_L2, H2 + 10, "0013"), "1 to 19")
lie("lengths too long", patched(HAND_L2, H2 + 10, "001d"), "more than there is")
lie("lengths too short", patched(HAND_L2, H2 + 10, "001b"), "less than there is")
lie("one byte missing", HAND_L2[:-1], "more than there is")
lie("one byte too many", HAND_L2 + b"\0", "less than there is")
lie("version 5 inside", patched(HAND_L2, H2 + 14, "55"), "neither IPv4 nor IPv6")
lie("versions differ", patched(HAND_L2, H2 + 14 + 29, "65"), "differ")
lie("inner length one more", patched(HAND_L2, H2 + 14 + 2, "001e"), "own length")
lie("inner length one less", patched(HAND_L2, H2 + 14 + 29 + 2, "001b"), "own length")
lie("nested", patched(HAND_L2, H2 + 14 + 29 + 9, "fd"), "nested")
lie("IPv6 of 20 bytes", MACS + b"\x88\xb5" + bytes.fromhex("0001 0014 10 06  00140000 60") + bytes(19), "own length")


@pytest.mark.parametrize("name", lies)
def test_a_lie_is_told_apart(name: str) -> None:
    frame, words = lies[name]
    with pytest.raises(Malformed, match=words):
        dissect(frame)


def test_truths_beside_the_lies() -> None:
    for flags in ("0000", "8000"):  # DF is not looked at
        assert dissect(outer(HAND_L3, 6, flags)) is not None
    assert dissect(patched(HAND_L2, H2 + 5, "1f")) is not None
    assert dissect(patched(HAND_L2, H2 + 2, "ffff")) is not None  # nobody needs the average
    table = bytes.fromhex("01c0 0000 10 06") + bytes(4 * 448)
    assert dissect(MACS + b"\x88\xb5" + table) is not None


def test_only_small_frames_may_be_padded() -> None:
    small = build([ipv4(20, tags=TAGS[2]), ipv4(20, tags=TAGS[2])], [0, 0], L2)
    assert len(small) == 14 + 8 + 14 + 40
    with pytest.raises(Malformed, match="less than there is"):
        dissect(small + b"\0")
    one = build([ipv4(20)], [0], L2)
    for size in range(len(one), 69):
        jumbo = dissect(one + bytes(size - len(one)))
        assert jumbo is not None and split(jumbo).frames == [ipv4(20)]
    with pytest.raises(Malformed, match="less than there is"):
        dissect(one + bytes(69 - len(one)))
    one = build([ipv4(20)], [0], L3)
    assert len(one) == 64 and dissect(one + bytes(4)) is not None
    with pytest.raises(Malformed, match="less than there is"):
        dissect(one + bytes(5))


@pytest.mark.parametrize(
    "frame",
    [
        b"", MACS, MACS + b"\x88", MACS + b"\x08\x00", MACS + b"\x88\xb6" + JUMBO, MACS + b"\x08\x00" + IP_A,
        MACS + 3 * TAG + b"\x88\xb5" + JUMBO, MACS + b"\x81\x00", patched(HAND_L3, 23, "fe"), patched(HAND_L3, 14, "44"),
        patched(HAND_L3, 14, "65"), patched(HAND_L3, 12, "86dd"), HAND_L3[:33],
    ],
)  # fmt: skip
def test_other_frames_are_no_jumbo_frames(frame: bytes) -> None:
    assert dissect(frame) is None


def test_the_numbers_are_those_of_the_format() -> None:
    other = JumboFormat(ethertype=0x9000, protocol=254)
    pair = [ipv4(40), ipv4(50)]
    assert dissect(build(pair, [0, 0], other)) is None
    assert dissect(build(pair, [0, 0], other), other) is not None
    l3 = JumboFormat(l3=True, protocol=254)
    assert dissect(build(pair, [0, 0], l3)) is None and dissect(build(pair, [0, 0], l3), l3) is not None
    for wrong in ({"ethertype": 0x0800}, {"ethertype": 0x5FF}, {"protocol": 256}, {"tick": 32}, {"tick": -1}):
        with pytest.raises(ValueError, match="try"):
            JumboFormat(**wrong)  # type: ignore[arg-type]


SIX = ipv6(60)
BARRED = {
    "options": (ipv4(44, options=bytes(4)), "options", False),
    "later fragment": (ipv4(44, fragment=0x2001), "later fragment", False),
    "last fragment": (ipv4(44, fragment=0x00B9), "later fragment", False),
    "trailer": (ipv4(44, trailer=b"\0"), "not as long", True),
    "padding": (ipv4(28, trailer=bytes(18)), "not as long", True),
    "length 0": (ipv4(44, claimed=0), "not as long", False),
    "length 23": (ipv4(44, claimed=23, protocol=6), "not as long", False),
    "length 24": (ipv4(44, claimed=24, protocol=6), "not as long", True),
    "length 0 without ports": (ipv4(44, claimed=0, protocol=1), "not as long", True),
    "length 0 of a short frame": (ipv4(23, claimed=0), "not as long", True),
    "IPv6 length 0": (ipv6(60, claimed=40), "not as long", False),
    "IPv6 length 3": (ipv6(60, claimed=43), "not as long", False),
    "IPv6 length 4": (ipv6(60, claimed=44), "not as long", True),
    "too long": (ipv4(44, claimed=45), "not as long", True),
    "jumbo protocol": (ipv4(44, protocol=253), "jumbo protocol", True),
    "group": (ipv4(44, macs=bytes.fromhex("0180c200000f") + MACS[6:]), "01-80-C2", True),
    "IPv6 trailer": (ipv6(60, trailer=b"\0"), "not as long", True),
    **{f"IPv6 header {n}": (ipv6(60, protocol=n), "extension", False) for n in (0, 43, 44, 50, 51, 60, 135, 139, 140)},
}


@pytest.mark.parametrize("name", BARRED)
def test_who_may_not_join(name: str) -> None:
    frame, words, known = BARRED[name]
    packet = parse_packet(frame)
    assert packet is not None and not packet.may_join and packet.barred is not None and words in packet.barred
    assert (packet.flow is not None) == known and packet.frame == frame
    with pytest.raises(ValueError, match=r"packet 1 may not join"):
        build([ipv4(40), frame], [0, 0])


def test_what_is_known_of_a_packet() -> None:
    frame = ipv4(44, flow=2, ecn=CE, dscp=46, protocol=6, tags=TAGS[2], fragment=0x2000)  # a first fragment
    packet = parse_packet(frame)
    assert packet is not None and packet.may_join and (packet.version, packet.dscp, packet.ecn) == (4, 46, CE)
    assert packet.tags == 2 and packet.ethernet == frame[:22] and packet.ip == frame[22:]
    assert packet.flow == (bytes((10, 0, 0, 3)), bytes((10, 0, 1, 2)), 6, 1002, 2000)
    packet = parse_packet(ipv6(60, flow=1, ecn=ECT1, dscp=33, protocol=17))
    assert packet is not None and packet.flow is not None and (packet.dscp, packet.ecn) == (33, ECT1)
    assert packet.flow[2:] == (17, 1001, 2000) and packet.pair == packet.flow[:2]
    for frame, ports in ((ipv4(23, protocol=6), (0, 0)), (ipv4(24, protocol=6), (1000, 2000)),
                         (ipv4(44, protocol=1), (0, 0)), (ipv6(43), (0, 0)), (ipv4(22, trailer=b"\0"), (0, 0))):  # fmt: skip
        packet = parse_packet(frame)
        assert packet is not None and packet.flow is not None and packet.flow[3:] == ports
    assert parse_packet(SIX) is not None and parse_packet(SIX).may_join  # type: ignore[union-attr]
    assert not parse_packet(SIX, L3).may_join  # type: ignore[union-attr]
    assert parse_packet(ipv4(44, protocol=253), JumboFormat(protocol=1)).may_join  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "frame",
    [b"", MACS + b"\x08\x06" + bytes(28), MACS + 3 * TAG + ipv4()[12:], ipv4()[:33], ipv6(40)[:53], HAND_L2,
     MACS + b"\x88\x47" + bytes(4) + ipv4()[14:], patched(ipv4(), 14, "44"), patched(ipv4(), 12, "86dd"),
     patched(ipv6(), 12, "0800"), ipv4()[:14], patched(ipv4(20), 14, "46")],
)  # fmt: skip
def test_frames_that_are_not_ip(frame: bytes) -> None:
    assert parse_packet(frame) is None


def test_the_table_may_have_448_entries_of_dropped_packets() -> None:
    frames = [ipv4(20)] * 448
    frame = build(frames, [0] * 448, dropped=range(100))
    jumbo = dissect(frame)
    assert len(frame) == 14 + 6 + 4 * 448 + 20 * 348 and jumbo is not None and split(jumbo).frames == frames[100:]


def test_what_may_not_be_built() -> None:
    cases: list[tuple[Callable[[], bytes], str]] = [
        (lambda: build([], []), "1 to 448"),
        (lambda: build([ipv4()] * 2, [0]), "as many"),
        (lambda: build([ipv4(20)] * 449, [0] * 449), "1 to 448"),
        (lambda: build([ipv4(), ipv4(tags=TAG)], [0, 0]), "Ethernet headers"),
        (lambda: build([ipv4(), ipv6()], [0, 0]), "Ethernet headers"),
        (lambda: build([ipv4(), ipv4(dscp=1)], [0, 0]), "DSCP"),
        (lambda: build([SIX, SIX], [0, 0], L3), "IPv6"),
        (lambda: build([HAND_L2, HAND_L2], [0, 0]), "not IP"),
        (lambda: build([ipv4(), ipv4()], [64, 0]), "spacing"),
        (lambda: build([ipv4(), ipv4()], [0, 64 * 65536]), "spacing"),
        (lambda: build([ipv4(4587), ipv4(4602)], [0, 0]), "9217 bytes"),
        (lambda: build([ipv4(), ipv4()], [0, 0], dropped=[0, 1]), "all packets"),
    ]
    for make, words in cases:
        with pytest.raises(ValueError, match=words):
            make()
    assert len(build([ipv4(4587), ipv4(4601)], [0, 64 * 65535])) == 9216


@given(st.integers(0, 1 << 32), st.integers(1, 30), st.sampled_from([4, 6]), st.booleans(), st.integers(0, 31))
@example(1, 383, 4, False, 6)
def test_split_undoes_build(seed: int, count: int, version: int, l3: bool, tick: int) -> None:
    assume(version == 4 or not l3)
    rng = random.Random(seed)
    frames = alike(rng, count, version=version, longest=21 if count > 100 else 300)
    times, now = [], rng.randrange(1 << 50)
    for _ in frames:
        times.append(now)
        now += rng.randrange(65535 << tick)
    form = JumboFormat(l3=l3, tick=tick)
    assume(sum(map(len, frames)) < 9000 or count > 100)
    jumbo = dissect(build(frames, times, form), form)
    assert jumbo is not None and split(jumbo) == (frames, 0, 0)
    assert (jumbo.l3, jumbo.tick, [e.length for e in jumbo.entries]) == (l3, tick, [len(p) for p in jumbo.packets])
    # The spacings add up to what passed, within a tick.
    passed = sum(e.spacing for e in jumbo.entries) << tick
    assert abs(passed - (times[-1] - times[0])) < 1 << tick


@given(st.integers(0, 1 << 32), st.booleans())
def test_a_damaged_frame_is_refused_or_consistent(seed: int, l3: bool) -> None:
    rng = random.Random(seed)
    members = alike(rng, rng.randrange(1, 6))
    frame = bytearray(build(members, [0] * len(members), JumboFormat(l3=l3)))
    for _ in range(rng.randrange(1, 4)):
        frame[rng.randrange(len(frame))] = rng.randrange(256)
    damaged = bytes(frame[: rng.choice((len(frame), rng.randrange(len(frame) + 1)))])
    try:
        jumbo = dissect(damaged)
    except Malformed:
        return
    if jumbo is None:
        return
    head = b"".join(struct.pack(">HH", *entry) for entry in jumbo.entries)
    body = struct.pack(">HHBB", jumbo.count, jumbo.average, 0x10, jumbo.tick) + head + b"".join(jumbo.packets)
    start = len(jumbo.ethernet) + 2 + 20 * jumbo.l3
    assert damaged[start : start + len(body)] == body
    assert all(len(p) == (int.from_bytes(p[2:4], "big") if p[0] >> 4 == 4 else 40 + int.from_bytes(p[4:6], "big"))
               for p in jumbo.packets)  # fmt: skip


# RFC 6040, section 4.2, figure 4, row by row: inner; outer Not-ECT, ECT(0), ECT(1), CE.
RFC6040 = {
    NOT_ECT: (NOT_ECT, NOT_ECT, NOT_ECT, None),
    ECT0: (ECT0, ECT0, ECT1, CE),
    ECT1: (ECT1, ECT1, ECT1, CE),
    CE: (CE, CE, CE, CE),
}


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("inner", RFC6040)
@pytest.mark.parametrize("column", range(4))
def test_ecn_at_split_is_rfc_6040s(inner: int, column: int, version: int) -> None:
    outer_codepoint, expected = (NOT_ECT, ECT0, ECT1, CE)[column], RFC6040[inner][column]
    assert combined_ecn(inner, outer_codepoint) == expected
    if version == 6:  # the model takes IPv6 packets in the L3 form, though nobody may build it
        body = ipv6(60, ecn=inner)[14:]
        content = struct.pack(">HHBBHH", 1, 60, 0x10, 6, 60, 0) + body
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), 0, 0x4000, 64, 253, 0) + bytes(8)
        frame = MACS + b"\x08\x00" + head + content
    else:
        frame = build([ipv4(60, ecn=inner)], [0], L3)
    jumbo = dissect(outer(frame, 1, f"{outer_codepoint:02x}"))
    assert jumbo is not None
    frames, dropped, dropped_bytes = split(jumbo)
    if expected is None:
        assert (frames, dropped, dropped_bytes) == ([], 1, 74)
    else:
        make = ipv4 if version == 4 else ipv6
        assert (frames, dropped) == ([make(60, ecn=expected)], 0)  # with the checksum as if made so


def test_outer_ecn_is_the_least_capable() -> None:
    cases = {(NOT_ECT, CE): NOT_ECT, (ECT0, ECT1): ECT0, (ECT1, CE): ECT1, (CE, CE): ECT0, (ECT0, CE): ECT0,
             (ECT1, NOT_ECT): NOT_ECT, (ECT1,): ECT1}  # fmt: skip
    for members, expected in cases.items():
        assert outer_ecn(members) == expected
        jumbo = dissect(build([ipv4(ecn=e) for e in members], [0] * len(members), L3))
        assert jumbo is not None and jumbo.ecn == expected


def test_the_l2_form_leaves_ecn_alone() -> None:
    frames = [ipv4(ecn=e) for e in range(4)]
    jumbo = dissect(build(frames, [0] * 4, L2))
    assert jumbo is not None and split(jumbo) == (frames, 0, 0)


def test_checksum_correction_is_rfc_1624s() -> None:
    assert corrected_checksum(0xDD2F, 0x5555, 0x3285) == 0x0000  # the RFC's own example, section 4
    # Up by one or two: HC' = HC - d, with a borrow HC + 0xffff - d (docs/architecture.md).
    for before, d in ((ECT0, 1), (ECT1, 2)):
        for old in range(65536):
            expected = old - d if old >= d else old + 0xFFFF - d
            assert corrected_checksum(old, 0x4500 | before, 0x4503) == expected
    # Down by one, from ECT(0) to ECT(1): HC + 1 modulo 0xffff, and 0xffff, which no right header has, gives 1.
    for old in range(65536):
        expected = old + 1 if old < 0xFFFE else old - 0xFFFE
        assert corrected_checksum(old, 0x4502, 0x4501) == expected


def test_a_wrong_checksum_stays_equally_wrong() -> None:
    for before, after in ((ECT0, ECT1), (ECT0, CE), (ECT1, CE)):
        for wrong in range(0, 65536, 97):
            ip = patched(ipv4(40, ecn=before)[14:], 10, f"{wrong:04x}")
            total = sum(struct.unpack(">10H", ip[:20])) % 0xFFFF
            assert sum(struct.unpack(">10H", with_ecn(ip, after)[:20])) % 0xFFFF == total


def test_checksums_of_headers() -> None:
    assert header_checksum(IP_A[:20]) == 0 and header_checksum(IP_A[:10] + bytes(2) + IP_A[12:20]) == 0x26CB

"""Captures as tools take them in: frames of their true length, in the order of their times."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from captures import EPOCH_NS, pcap, small_rows, snapped
from jumbo_frames import TAG, TAGS, ipv4, ipv6
from weir_sim import intake, read_capture
from weir_sim.intake import Intake, has_headers, in_order
from weir_sim.jumbo import JumboFormat, build
from weir_sim.pcap import Packet

MACS = ipv4()[:12]
ARP = MACS + b"\x08\x06" + bytes(28)


@pytest.mark.parametrize(
    ("frame", "ip", "ports"),
    [
        (ipv4(100), 34, 38), (ipv4(100, protocol=6), 34, 38), (ipv4(100, protocol=1), 34, 34), (ipv6(100), 54, 58),
        (ipv6(100, protocol=6), 54, 58), (ipv6(100, protocol=58), 54, 54), (ipv4(100, tags=TAG), 38, 42),
        (ipv6(100, tags=TAGS[2]), 62, 66), (ipv4(100, options=bytes(8)), 42, 46), (ARP, 14, 14),
        (MACS + TAG + ARP[12:], 18, 18),
    ],
)  # fmt: skip
def test_headers_end_where_their_formats_say(frame: bytes, ip: int, ports: int) -> None:
    """Ethernet 14 bytes and 4 a tag, IPv4 20 and its options, IPv6 40, ports 4."""
    for wanted, end in ((False, ip), (True, ports)):
        assert not has_headers(Packet(0, frame[: end - 1], len(frame)), wanted)
        assert has_headers(Packet(0, frame[:end], len(frame)), wanted)


@pytest.mark.parametrize("frame", [b"", bytes(5), ipv4(100)[:20], MACS + b"\x08\x00\x45"])
def test_a_frame_that_was_captured_whole_is_never_opaque(tmp_path: Path, frame: bytes) -> None:
    assert has_headers(Packet(0, frame, len(frame)), True)


def taken(tmp_path: Path, content: bytes, **options: object) -> tuple[list[bytes], Intake]:
    (tmp_path / "x.pcap").write_bytes(content)
    found = Intake(read_capture(tmp_path / "x.pcap"), **options)  # type: ignore[arg-type]
    return [packet.data for packet in found], found


@pytest.mark.parametrize("l3", [False, True])
def test_a_jumbo_frame_in_part_is_opaque_where_jumbo_frames_are_read(tmp_path: Path, l3: bool) -> None:
    jumbo = build([ipv4(200, number=n) for n in range(3)], [0] * 3, JumboFormat(l3=l3))
    content = pcap([(0, jumbo)], nano=True) + snapped(1, jumbo, len(jumbo) - 1) + snapped(2, ipv4(200), 60)
    filled = [jumbo, jumbo[:-1] + b"\0", ipv4(200)[:60] + bytes(154)]
    frames, found = taken(tmp_path, content)
    assert frames == filled and (found.cut, found.opaque) == (2, 0)
    frames, found = taken(tmp_path, content, form=JumboFormat())
    assert frames == [jumbo, MACS + bytes(len(jumbo) - 12), filled[2]] and (found.cut, found.jumbo) == (2, 1)
    assert found.notes() == [
        "captured in part: 2 packets; the rest of each is zeros; opaque, neither IP nor jumbo frames: 1 packet, 0 cut inside "
        "headers and 1 inside a jumbo frame; capture with a longer snap length"
    ]


@pytest.mark.parametrize("snap", [0, 5, 12, 13, 33])
def test_a_frame_cut_inside_its_headers_keeps_addresses_and_length(tmp_path: Path, snap: int) -> None:
    frames, found = taken(tmp_path, pcap([], nano=True) + snapped(0, ipv4(100), snap))
    assert frames == [MACS[:snap] + bytes(114 - min(snap, 12))] and (found.cut, found.headless) == (1, 1)


def test_times_never_go_back(tmp_path: Path) -> None:
    times = [10, 5, 10, 30, 20, 40]
    (tmp_path / "x.pcap").write_bytes(pcap([(EPOCH_NS + t, bytes(60)) for t in times], nano=True))
    found = Intake(read_capture(tmp_path / "x.pcap"))
    assert [packet.time_ns - EPOCH_NS for packet in found] == [10, 10, 10, 30, 30, 40]
    assert found.notes() == [
        "earlier than one before them: 2 packets, by up to 10 ns; they follow it directly; give --reorder to put packets "
        "in their places"
    ]


def test_packets_within_the_window_are_sorted_and_equal_times_keep_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shuffled in blocks of 50 under a window of 50: what `sorted`, which is stable, gives."""
    monkeypatch.setattr(intake, "WINDOW_PACKETS", 50)
    rng = random.Random(4)
    packets = [Packet(n // 3, bytes([n % 251]), 1) for n in range(1000)]
    for start in range(0, 1000, 50):
        block = packets[start : start + 50]
        rng.shuffle(block)
        packets[start : start + 50] = block
    assert list(in_order(packets)) == sorted(packets, key=lambda packet: packet.time_ns) != packets


@pytest.mark.parametrize(("name", "most"), [("WINDOW_PACKETS", 100), ("WINDOW_BYTES", 6000)])
def test_the_window_is_bounded_and_what_exceeds_it_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    """The first packet comes after at most the window's packets (6000 bytes are 100 of 60) and one. 300 packets, the
    earliest last: 100 still wait then, so that 199 ns have passed."""
    monkeypatch.setattr(intake, name, most)
    read = 0

    def packets() -> object:
        nonlocal read
        for n in range(500):
            read += 1
            yield Packet(n, bytes(60), 60)

    next(in_order(packets()))  # type: ignore[arg-type]
    assert read == 101
    rows = [(EPOCH_NS + t, bytes(60)) for t in [*range(1, 300), 0]]
    (tmp_path / "x.pcap").write_bytes(pcap(rows, nano=True))
    found = Intake(read_capture(tmp_path / "x.pcap"), reorder=True)
    assert sum(1 for _ in found) == 300 and found.backwards == 1
    assert "1 packet, by up to 199 ns; they follow it directly; too far for --reorder" in found.notes()[0]
    assert found.notes()[0].endswith("sort the file with reordercap")


def test_notes_of_the_capture_come_first(tmp_path: Path) -> None:
    _, found = taken(tmp_path, pcap([(0, b""), *small_rows()], nano=True)[:-1])
    truncated, empty = found.notes()
    assert "is truncated: it ends inside packet 4 of 62 bytes; what precedes that is used, 2 packets" in truncated
    assert empty == "left out: 1 packet of 0 bytes"

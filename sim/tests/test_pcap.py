"""Reading and writing captures."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgWriter, PcapReader, RawPcapReader, wrpcap

from captures import EPOCH_NS, block, enhanced, interface, pcap, pcapng, section, small_rows
from weir_sim.pcap import CaptureError, PcapWriter, read_capture


def read(tmp_path: Path, content: bytes) -> list[tuple[int, bytes]]:
    path = tmp_path / "x.pcap"
    path.write_bytes(content)
    return [(p.time_ns, p.data) for p in read_capture(path)]


def refusal(tmp_path: Path, content: bytes) -> str:
    with pytest.raises(CaptureError) as caught:
        read(tmp_path, content)
    text = str(caught.value)
    assert text.startswith(str(tmp_path / "x.pcap")) and "\n" not in text
    return text


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
def test_pcap_of_both_byte_orders_and_resolutions(tmp_path: Path, order: str, nano: bool) -> None:
    rows = small_rows()
    scale = 1 if nano else 1000
    assert read(tmp_path, pcap(rows, order, nano)) == [(t // scale * scale, d) for t, d in rows]


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_of_both_byte_orders(tmp_path: Path, order: str) -> None:
    assert read(tmp_path, pcapng(small_rows(), order)) == small_rows()


@pytest.mark.parametrize(
    ("resolution", "ticks", "ns"),
    [(None, 1_700_000_000_000_001, 1_700_000_000_000_001_000), (3, 1_700_000_000_001, 1_700_000_000_001_000_000),
     (9, EPOCH_NS, EPOCH_NS), (12, 5_123_999, 5123), (0x80 | 10, 1025, 1_000_976_562), (0, 7, 7_000_000_000)],
)  # fmt: skip
def test_time_resolutions_of_pcapng(tmp_path: Path, resolution: int | None, ticks: int, ns: int) -> None:
    content = section() + interface(resolution=resolution) + enhanced(ticks, bytes(60))
    assert read(tmp_path, content) == [(ns, bytes(60))]


def test_time_offset_of_pcapng(tmp_path: Path) -> None:
    content = section() + interface(resolution=9, offset=1_000) + enhanced(5, bytes(60))
    assert read(tmp_path, content) == [(1_000_000_000_005, bytes(60))]


def test_sections_and_interfaces_of_pcapng_are_kept_apart(tmp_path: Path) -> None:
    content = (
        section("<") + interface("<", resolution=9) + interface("<", resolution=6)
        + enhanced(1_000, b"a" * 60, 0) + block(5, bytes(12)) + enhanced(2, b"b" * 61, 1)
        + section(">") + interface(">", resolution=3) + block(0x0BAD, bytes(8), ">") + enhanced(4, b"c" * 62, 0, ">")
    )  # fmt: skip
    assert read(tmp_path, content) == [(1_000, b"a" * 60), (2_000, b"b" * 61), (4_000_000, b"c" * 62)]


def test_interface_of_an_earlier_section_is_unknown(tmp_path: Path) -> None:
    content = section() + interface() + enhanced(1, bytes(60)) + section() + enhanced(1, bytes(60))
    assert "interface 0, which is not described" in refusal(tmp_path, content)


def test_files_of_scapy_are_read(tmp_path: Path) -> None:
    frames = [Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01", type=0x88B6) / (b"x" * n) for n in (46, 47, 1486)]
    for i, frame in enumerate(frames):
        frame.time = 1_700_000_000 + i * 0.25
    wrpcap(str(tmp_path / "a.pcap"), frames)
    with PcapNgWriter(str(tmp_path / "a.pcapng")) as writer:
        writer.write(frames)
    for name in ("a.pcap", "a.pcapng"):
        packets = list(read_capture(tmp_path / name))
        assert [p.data for p in packets] == [bytes(f) for f in frames]
        assert [p.time_ns for p in packets] == [1_700_000_000_000_000_000 + i * 250_000_000 for i in range(3)]


def test_written_capture_is_read_back_to_the_nanosecond(tmp_path: Path) -> None:
    path = tmp_path / "out.pcap"
    with path.open("wb") as file:
        writer = PcapWriter(file)
        for time_ns, data in small_rows():
            writer.write(time_ns, data)
    assert path.read_bytes()[:4] == bytes.fromhex("4d3cb2a1")
    assert [(p.time_ns, p.data) for p in read_capture(path)] == small_rows()
    seen = [(m.sec * 10**9 + m.usec, d) for d, m in RawPcapReader(str(path))]
    assert seen == small_rows()
    assert len(list(PcapReader(str(path)))) == 3


def test_snapped_packet_keeps_its_length(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([(0, b"y" * 1514)], snap=96))
    (packet,) = read_capture(path)
    assert (packet.data, packet.length) == (b"y" * 96, 1514)


def test_fcs_in_the_capture_is_removed(tmp_path: Path) -> None:
    content = section() + interface(fcs=4) + enhanced(0, b"z" * 64)
    assert read(tmp_path, content) == [(0, b"z" * 60)]
    old = bytearray(pcap([(0, b"z" * 64)]))
    old[20:24] = struct.pack("<I", 1 | 1 << 26 | 2 << 28)
    assert read(tmp_path, bytes(old)) == [(0, b"z" * 60)]


@pytest.mark.parametrize(
    "make", [lambda: pcap(small_rows(), nano=True), lambda: pcapng(small_rows())], ids=["pcap", "pcapng"]
)
def test_every_truncation_is_refused_or_a_whole_file(tmp_path: Path, make) -> None:  # type: ignore[no-untyped-def]
    content = make()
    whole = 0
    for cut in range(len(content)):
        try:
            packets = read(tmp_path, content[:cut])
        except CaptureError as error:
            assert any(word in str(error) for word in ("truncated", "empty file", "no packets")), (cut, str(error))
        else:
            whole += 1
            assert packets == small_rows()[: len(packets)]
    assert whole == 2  # a cut exactly behind the first and the second packet


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty file"),
        (b"\x1f\x8b\x08\x00" + bytes(100), "not a pcap or pcapng capture"),
        (b"GET / HTTP/1.1\r\n", "not a pcap or pcapng capture"),
        (b"\xd4\xc3", "truncated"),
        (pcap([]), "no packets"),
        (section() + interface(), "no packets"),
        (pcap([], link=113), "link type 113 (Linux cooked) is not Ethernet"),
        (pcap(small_rows(), link=105), "link type 105 (802.11) is not Ethernet"),
        (section() + interface(link=276) + enhanced(0, bytes(60)), "link type 276 (Linux cooked v2) is not Ethernet"),
        (section() + interface(link=999) + enhanced(0, bytes(60)), "link type 999 is not Ethernet"),
        (section() + interface() + block(3, struct.pack("<I", 60) + bytes(60)), "has no time stamp"),
        (section() + enhanced(0, bytes(60)), "interface 0, which is not described"),
        (pcap([(0, b"")]), "packet 1 has no bytes"),
        (pcap(small_rows())[:24] + struct.pack("<IIII", 0, 0, 1 << 30, 60), "claims 1073741824 captured bytes"),
        (pcap([(0, bytes(70000))]), "packet 1 has 70000 bytes"),
        (section() + struct.pack("<III", 1, 13, 0), "a block claims 13 bytes"),
        (section()[:-4] + bytes(4), "the two lengths of a block differ"),
        (struct.pack("<IIII", 0x0A0D0D0A, 28, 5, 5), "no byte-order mark"),
    ],
)  # fmt: skip
def test_unusable_capture_is_told_in_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    assert words in refusal(tmp_path, content)


def test_missing_file_and_directory_are_told(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=r"absent\.pcap: No such file or directory"):
        next(read_capture(tmp_path / "absent.pcap"))
    with pytest.raises(CaptureError, match="Is a directory"):
        next(read_capture(tmp_path))


def test_writer_has_nanosecond_magic_and_ethernet() -> None:
    file = io.BytesIO()
    PcapWriter(file).write(1_999_999_999, b"ab")
    assert file.getvalue() == struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1) + struct.pack(
        "<IIII", 1, 999_999_999, 2, 2) + b"ab"  # fmt: skip

"""Reading and writing captures."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import shutil
import struct
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from scapy.layers.inet import IP
from scapy.layers.l2 import CookedLinux, CookedLinuxV2, Ether
from scapy.utils import PcapNgWriter, PcapReader, RawPcapReader, wrpcap
from scapy.utils import PcapWriter as PcapWriterOfScapy

from captures import EPOCH_NS, block, enhanced, flags, interface, pcap, pcapng, section, small_rows
from jumbo_frames import ipv4, ipv6
from weir_sim.files import zstd
from weir_sim.pcap import CaptureError, PcapWriter, many, read_capture

Pack = Callable[[bytes], bytes]


def cooked(version: int, protocol: int, payload: bytes, hardware: int = 1) -> bytes:
    """A packet of LINKTYPE_LINUX_SLL or _SLL2, as their pages of tcpdump.org have them."""
    address = bytes.fromhex("0200000000990000")
    if version == 1:
        return struct.pack(">HHH8sH", 4, hardware, 6, address, protocol) + payload
    return struct.pack(">HHIHBB8s", protocol, 0, 3, hardware, 4, 6, address) + payload


IP4, IP6 = ipv4(50)[14:], ipv6(70)[14:]


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


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("of_interface", "of_packet", "left"),
    [
        (None, 4, 142), (None, 0, 146), (32, None, 142), (32, 0, 142), (32, 2, 144), (16, 4, 142), (4, None, 142), (0, None, 146),
        (8, None, 145), (120, None, 131), (None, 15, 131),
    ],
)  # fmt: skip
def test_fcs_is_removed_as_interface_and_packet_say(
    tmp_path: Path, order: str, of_interface: int | None, of_packet: int | None, left: int
) -> None:
    """draft-ietf-opsawg-pcapng: if_fcslen in bits (some writers: bytes), bits 5 to 8 of epb_flags in bytes, which win."""
    options = b"" if of_packet is None else flags(1 | 1 << 2 | of_packet << 5 | 1 << 9 | 0xFF << 24, order)
    content = section(order) + interface(order, resolution=9, fcs=of_interface)
    content += enhanced(5, b"z" * 146, order=order, options=options)
    assert read(tmp_path, content) == [(5, b"z" * left)]


def test_fcs_is_that_of_each_section_interface_and_packet(tmp_path: Path) -> None:
    content = section() + interface(fcs=32) + interface() + enhanced(0, bytes(147), 0) + enhanced(0, bytes(147), 1)
    content += enhanced(0, bytes(147), 1, options=flags(4 << 5)) + enhanced(0, bytes(147), 1)
    content += section(">") + interface(">") + interface(">", fcs=16) + enhanced(0, bytes(147), 0, ">")
    content += enhanced(0, bytes(147), 1, ">") + enhanced(0, bytes(147), 0, ">", options=flags(4 << 5, ">"))
    assert [len(data) for _, data in read(tmp_path, content)] == [143, 147, 143, 147, 147, 145, 143]


def test_fcs_of_an_obsolete_packet_block_is_removed(tmp_path: Path) -> None:
    body = struct.pack("<HHIIII", 0, 0xFFFF, 0, 7, 65, 65) + bytes(65 + 3) + flags(4 << 5)
    assert read(tmp_path, section() + interface(resolution=9) + block(2, body)) == [(7, bytes(61))]


@pytest.mark.parametrize(("captured", "kept"), [(150, 146), (148, 146), (146, 146), (96, 96)])
def test_fcs_counts_to_the_length_of_a_snapped_packet(tmp_path: Path, captured: int, kept: int) -> None:
    path = tmp_path / "x.pcapng"
    path.write_bytes(section() + interface() + enhanced(0, b"y" * captured, length=150, options=flags(4 << 5)))
    (packet,) = read_capture(path)
    assert (packet.data, packet.length) == (b"y" * kept, 146)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("word", "left"), [(1 << 26 | 2 << 28, 60), (2 << 28, 64), (1 << 26, 64), (1 << 26 | 1 << 28, 62)]
)
def test_fcs_of_a_pcap_file_is_in_words_of_16_bits(tmp_path: Path, order: str, word: int, left: int) -> None:
    """draft-ietf-opsawg-pcap: bits 28 to 31 of the link type, if bit 26 is set."""
    content = bytearray(pcap([(0, b"z" * 64)], order))
    content[20:24] = struct.pack(order + "I", 1 | word)
    assert read(tmp_path, bytes(content)) == [(0, b"z" * left)]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed; `make setup` tells how")
@pytest.mark.parametrize("order", ["<", ">"])
def test_fcs_lengths_are_those_of_tshark(tmp_path: Path, order: str) -> None:
    """Where tshark finds an FCS of 4 bytes behind the frame, and only there, this reader removes 4."""
    path = tmp_path / "x.pcapng"
    frame = bytes([2] * 12) + b"\x88\xb6" + bytes(132)
    path.write_bytes(
        section(order) + interface(order, fcs=32) + interface(order) + enhanced(1, frame, 0, order)
        + enhanced(2, frame, 1, order) + enhanced(3, frame, 1, order, options=flags(4 << 5, order))
    )  # fmt: skip
    fields = ("-T", "fields", "-e", "frame.len", "-e", "eth.fcs")
    told = subprocess.run(["tshark", "-r", path, *fields], capture_output=True, text=True, timeout=120).stdout
    lengths = [int(line.split("\t")[0]) - 4 * bool(line.split("\t")[1]) for line in told.splitlines()]
    assert lengths == [142, 146, 142] == [packet.length for packet in read_capture(path)]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(
    ("link", "data", "rest"),
    [
        (101, IP4, b"\x08\x00" + IP4), (101, IP6, b"\x86\xdd" + IP6), (12, IP4, b"\x08\x00" + IP4), (14, IP6, b"\x86\xdd" + IP6),
        (228, IP4, b"\x08\x00" + IP4), (229, IP6, b"\x86\xdd" + IP6),
        (113, cooked(1, 0x0800, IP4), b"\x08\x00" + IP4), (276, cooked(2, 0x0800, IP4), b"\x08\x00" + IP4),
        (113, cooked(1, 0x86DD, IP6, 772), b"\x86\xdd" + IP6), (276, cooked(2, 0x86DD, IP6, 65534), b"\x86\xdd" + IP6),
        (113, cooked(1, 0x8100, b"\0\x64\x08\0" + IP4), b"\x81\0\0\x64\x08\0" + IP4),
        (113, cooked(1, 4, b"BPDU" * 10), b"\0\x28" + b"BPDU" * 10), (276, cooked(2, 1, b"IPX" * 11), b"\0\x21" + b"IPX" * 11),
        (113, cooked(1, 0x0806, b""), b"\x08\x06"),
    ],
    ids=range(14),
)  # fmt: skip
def test_packets_without_ethernet_header_get_one(
    tmp_path: Path, order: str, link: int, data: bytes, rest: bytes
) -> None:
    frame = bytes.fromhex("020000000002 020000000001") + rest
    assert read(tmp_path, pcap([(0, data)], order, link=link)) == [(0, frame)]
    assert read(tmp_path, section(order) + interface(order, link=link) + enhanced(0, data, order=order)) == [(0, frame)]


def test_cooked_captures_of_scapy_are_read(tmp_path: Path) -> None:
    for link, layer in ((113, CookedLinux(proto=0x800)), (276, CookedLinuxV2(proto=0x800))):
        with PcapWriterOfScapy(str(tmp_path / "a.pcap"), linktype=link) as writer:
            writer.write(layer / IP(IP4))
        (packet,) = read_capture(tmp_path / "a.pcap")
        assert packet.data == ipv4(50) and packet.length == 64


@pytest.mark.parametrize(("link", "data", "header"), [(101, IP4, 0), (113, cooked(1, 0x800, IP4), 16),
                                                      (276, cooked(2, 0x800, IP4), 20)])  # fmt: skip
def test_a_snapped_packet_gets_an_ethernet_header_too(tmp_path: Path, link: int, data: bytes, header: int) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([(0, data)], link=link, snap=header + 30))
    (packet,) = read_capture(path)
    assert (packet.data, packet.length) == (ipv4(50)[:44], 64)
    path.write_bytes(pcap([(0, data)], link=link, snap=header // 2))
    (packet,) = read_capture(path)
    assert (packet.data, packet.length) == (ipv4(50)[:12], 64)


def test_packets_of_no_bytes_are_left_out_and_noted(tmp_path: Path) -> None:
    rows = small_rows()
    (tmp_path / "x.pcap").write_bytes(pcap([(EPOCH_NS, b""), rows[0], (EPOCH_NS, b""), *rows[1:]], nano=True))
    capture = read_capture(tmp_path / "x.pcap")
    assert [(p.time_ns, p.data) for p in capture] == rows and capture.notes() == ["left out: 2 packets of 0 bytes"]
    only_fcs = section() + interface(fcs=32) + enhanced(0, bytes(4)) + enhanced(0, bytes(5))
    assert read(tmp_path, only_fcs) == [(0, b"\0")]


def test_packets_that_no_ethernet_frame_has_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([(1000, IP4), (2000, bytes(60)), (3000, b""), (4000, IP6), (5000, bytes(60))], link=101))
    capture = read_capture(path)
    assert [(p.time_ns, p.data[14:]) for p in capture] == [(1000, IP4), (4000, IP6)]
    assert capture.notes() == ["left out: 1 packet of 0 bytes, 2 packets of raw IP, but neither IPv4 nor IPv6"]
    netlink, loop = cooked(1, 0x10, bytes(16), 824), cooked(1, 0x0C, bytes(16), 280)
    path.write_bytes(pcap([(0, netlink), (1000, cooked(1, 0x0800, IP4)), (2000, loop), (3000, netlink)], link=113))
    capture = read_capture(path)
    assert [(p.time_ns, p.data[14:]) for p in capture] == [(1000, IP4)]
    assert capture.notes() == [
        "left out: 1 packet of protocol 0x000c of ARPHRD type 280, 2 packets of protocol 0x0010 of netlink"
    ]


@pytest.mark.parametrize("more", [b"x", b"more of something else", bytes(3) + b"x", 70000 * b"more"], ids=len)
@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
@pytest.mark.parametrize("whole", [True, False])
def test_bytes_behind_the_compressed_data_are_left_out_and_noted(
    tmp_path: Path, pack: Pack, more: bytes, whole: bool
) -> None:
    """gzip itself says "trailing garbage ignored", and gives what precedes it."""
    path, rows = tmp_path / "x.pcap", [(n * 1000, random.Random(n).randbytes(1500)) for n in range(1200)]
    path.write_bytes(pack(pcap(rows)[: None if whole else -1]) + more)
    capture = read_capture(path)
    assert [(p.time_ns, p.data) for p in capture] == rows[: None if whole else -1]
    *cut, note = capture.notes()
    assert note == f"{path}: bytes that follow the compressed data are left out"
    assert cut == ([] if whole else [
        f"{path} is truncated: it ends inside packet 1200 of 1500 bytes; what precedes that is used, 1,199 packets"
    ])  # fmt: skip


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress, lambda c: gzip.compress(c[:99]) + gzip.compress(c[99:]),
                                  lambda c: zstd.compress(c[:99]) + zstd.compress(c[99:])],
                         ids=["gzip", "zstd", "gzip members", "zstd frames"])  # fmt: skip
@pytest.mark.parametrize("make", [lambda: pcap(small_rows(), nano=True), lambda: pcapng(small_rows())])
def test_compressed_captures_are_read(tmp_path: Path, pack: Pack, make: Callable[[], bytes]) -> None:
    assert read(tmp_path, pack(make())) == small_rows()


@pytest.mark.parametrize("tool", ["gzip", "zstd"])
def test_captures_that_the_tools_compressed_are_read(tmp_path: Path, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    packed = subprocess.run(
        [tool, "-c"], input=pcapng(small_rows()), capture_output=True, check=True, timeout=60
    ).stdout
    assert read(tmp_path, packed) == small_rows()


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_the_whole_packets_of_a_truncated_compressed_file_are_used(tmp_path: Path, pack: Pack) -> None:
    """Cut so that it ends inside the compressed data, anywhere: a prefix of the packets and one note, or one line."""
    rows = [(EPOCH_NS + n, random.Random(n).randbytes(500)) for n in range(1000)]
    packed, seen = pack(pcap(rows, nano=True)), set()
    for cut in range(0, len(packed), 19_999):
        (tmp_path / "x").write_bytes(packed[:cut])
        try:
            capture = read_capture(tmp_path / "x")
            packets = [(p.time_ns, p.data) for p in capture]
        except CaptureError as error:
            assert "truncated" in str(error) or "empty file" in str(error)
        else:
            assert packets == rows[: len(packets)] and len(packets) < len(rows) and len(capture.notes()) == 1
            seen.add(len(packets))
    assert len(seen) > 3


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
def test_damaged_compressed_data_is_told_in_one_line(tmp_path: Path, pack: Pack) -> None:
    packed = bytearray(pack(pcap([(EPOCH_NS, random.Random(1).randbytes(500)) for _ in range(100)])))
    packed[12:40] = bytes(28)
    refusal(tmp_path, bytes(packed))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress])
def test_a_pipe_is_read_however_it_is_filled(pack: Pack) -> None:
    """Byte by byte, and named as a shell names a process substitution."""
    content = pack(pcapng(small_rows()))
    reader, writer = os.pipe()

    def fill() -> None:
        with os.fdopen(writer, "wb", buffering=0) as file:
            for byte in content:
                file.write(bytes([byte]))

    thread = threading.Thread(target=fill)
    thread.start()
    capture = read_capture(f"/dev/fd/{reader}")
    assert [(p.time_ns, p.data) for p in capture] == small_rows()
    assert capture.size is None and capture.position == 0
    thread.join()
    os.close(reader)


def test_position_goes_from_the_beginning_to_the_size(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap.gz"
    path.write_bytes(gzip.compress(pcap([(0, random.Random(n).randbytes(1500)) for n in range(2000)])))
    capture = read_capture(path)
    assert capture.size == path.stat().st_size
    seen = [capture.position for _ in capture]
    assert seen[0] < seen[1000] < seen[-1] == capture.position == capture.size and seen == sorted(seen)


MAKES = (lambda: pcap(small_rows(), nano=True), lambda: pcapng(small_rows()))


@pytest.mark.parametrize("make", MAKES, ids=["pcap", "pcapng"])
def test_the_whole_packets_of_a_truncated_file_are_used(tmp_path: Path, make: Callable[[], bytes]) -> None:
    """Cut anywhere: what is whole, with one note; one line if that is nothing."""
    content = make()
    ends = [content.rindex(data) + len(data) for _, data in small_rows()]
    ends = [end + (-len(data) % 4 + 4) * (make is MAKES[1]) for end, (_, data) in zip(ends, small_rows(), strict=True)]
    path = tmp_path / "x.pcap"
    for cut in range(len(content)):
        path.write_bytes(content[:cut])
        whole = sum(end <= cut for end in ends)
        try:
            capture = read_capture(path)
            packets = [(p.time_ns, p.data) for p in capture]
        except CaptureError as error:
            assert whole == 0
            assert any(word in str(error) for word in ("truncated", "empty file", "no packets")), (cut, str(error))
        else:
            assert packets == small_rows()[:whole] and whole
            notes = capture.notes()
            assert len(notes) == (cut not in ends)
            assert all(
                note.startswith(f"{path} is truncated: it ends inside") and many(whole) in note for note in notes
            )


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty file"),
        (b"\x1f\x8b\x08\x00" + bytes(100), "corrupt"),
        (gzip.compress(b"hello, world", mtime=0), "not a pcap or pcapng capture"),
        (zstd.compress(b""), "empty file"),
        (bz2.compress(pcap(small_rows())), ": compressed by bzip2: unpack it first, bzip2 -dc "),
        (lzma.compress(pcap(small_rows())), ": compressed by xz: unpack it first, xz -dc "),
        (b"\x04\x22\x4d\x18" + bytes(20), ": compressed by lz4: unpack it first, lz4 -dc "),
        (b"GET / HTTP/1.1\r\n", "not a pcap or pcapng capture"),
        (b"\xd4\xc3", "truncated"),
        (pcap([]), "no packets"),
        (section() + interface(), "no packets"),
        (pcap([], link=113), "no packets"),
        (pcap(small_rows(), link=105), "link type 105 (802.11) is not Ethernet"),
        (section() + interface(link=999) + enhanced(0, bytes(60)), "link type 999 is not Ethernet, raw IP or Linux cooked"),
        (pcap([(0, bytes(60))], link=101), "the capture has no packets but 1 packet of raw IP, but neither IPv4 nor IPv6"),
        (pcap([(0, cooked(1, 0x0C, bytes(16), 280))], link=113), "the capture has no packets but 1 packet of protocol 0x000c of ARPHRD type 280"),
        (pcap([(0, cooked(2, 0x10, bytes(16), 824))], link=276), "the capture has no packets but 1 packet of protocol 0x0010 of netlink"),
        (pcap([(0, cooked(1, 4, bytes(1501)))], link=113), "the capture has no packets but 1 packet of protocol 0x0004"),
        (section() + interface() + block(3, struct.pack("<I", 60) + bytes(60)), "has no time stamp"),
        (section() + enhanced(0, bytes(60)), "interface 0, which is not described"),
        (pcap([(0, b"")]), "the capture has no packets but 1 packet of 0 bytes"),
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

"""The Wireshark dissector of jumbo frames, run in tshark."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from captures import EPOCH_NS, pcap
from jumbo_frames import MACS, TAG, TAGS, ipv4, ipv6
from test_jumbo_elision import stream
from test_jumbo_wire import lies
from weir_sim.jumbo import JumboFormat, build
from weir_sim.jumbo.ecn import header_checksum
from weir_sim.jumbo.elision import elide

SCRIPT = Path(__file__).parents[1] / "wireshark" / "weir_jumbo.lua"
L3 = JumboFormat(l3=True)


def lacks() -> str | None:
    """Why the dissector cannot be run here."""
    tshark = shutil.which("tshark")
    if tshark is None:
        return "tshark is not installed; on Debian as root: apt-get install tshark, or `make setup`"
    version = subprocess.run([tshark, "--version"], capture_output=True, text=True, timeout=60).stdout
    return None if "with Lua" in version else "this tshark is built without Lua"


REASON = lacks()
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")


def tshark(path: Path, *arguments: str) -> list[str]:
    """Its lines over a capture, and no complaint about the script."""
    done = subprocess.run(["tshark", "-r", str(path), "-X", f"lua_script:{SCRIPT}", *arguments],
                          capture_output=True, text=True, timeout=120)  # fmt: skip
    assert done.returncode == 0 and "lua" not in done.stderr.lower() and "error" not in done.stderr.lower(), done.stderr
    return done.stdout.splitlines()


def fields(path: Path, *names: str, options: tuple[str, ...] = ()) -> list[dict[str, str]]:
    """The named fields of each frame, several values of one joined by commas."""
    lines = tshark(path, "-T", "fields", *options, *(word for name in names for word in ("-e", name)))
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]


def capture(path: Path, frames: list[bytes], snap: int = 1 << 18) -> Path:
    path.write_bytes(pcap([(EPOCH_NS + n, frame) for n, frame in enumerate(frames)], nano=True, snap=snap))
    return path


def test_header_table_and_packets_are_shown(tmp_path: Path) -> None:
    four = [ipv4(40, 1, tags=TAG), ipv4(51, 2, tags=TAG), ipv4(60, 3, tags=TAG)]
    six = [ipv6(60, 1), ipv6(61, 2)]
    frames = [
        build(four, [0, 640, 1000], dropped=[1]),
        build(six, [0, 1 << 20], JumboFormat(tick=10)),
        build([ipv4(40, 1), ipv4(51, 2)], [0, 64], L3),
        ipv4(100, 3),
    ]
    names = ("weir_jumbo.count", "weir_jumbo.average", "weir_jumbo.version", "weir_jumbo.flags", "weir_jumbo.tick",
             "weir_jumbo.length", "weir_jumbo.spacing", "weir_jumbo.spacing_ns", "weir_jumbo.packets", "udp.srcport",
             "ip.len", "ipv6.plen", "weir_jumbo.malformed")  # fmt: skip
    rows = [tuple(row.values()) for row in fields(capture(tmp_path / "c.pcap", frames), *names)]
    assert rows == [
        ("3", "50", "1", "0x00", "6", "40,0,60", "0,10,5", "0,640,320", "2", "1001,1003", "40,60", "", ""),
        ("2", "60", "1", "0x00", "10", "60,61", "0,1024", "0,1048576", "2", "1001,1002", "", "20,21", ""),
        ("2", "45", "1", "0x00", "6", "40,51", "0,1", "0,64", "2", "1001,1002", "125,40,51", "", ""),
        ("", "", "", "", "", "", "", "", "", "1003", "100", "", ""),
    ]
    lines = tshark(tmp_path / "c.pcap", "-Y", "weir_jumbo")
    assert len(lines) == 3 and "WEIR" in lines[0] and "Jumbo frame: 2 of 3 packets, 118 bytes" in lines[0]


def test_every_lie_is_told_and_no_other_frame(tmp_path: Path) -> None:
    # Flag 0 says that headers are left out. What is wrong with the outer header is for the dissector of IPv4 to tell.
    outer = ("ends behind the outer header", "IHL 6", "MF", "offset 1", "offset 4096", "outer checksum",
             "total length beyond the frame")  # fmt: skip
    ours = {name: lie for name, lie in lies.items() if name not in ("flag 0", *outer)}
    one = build([ipv4(20)], [0])
    ours["69 bytes"] = (one + bytes(69 - len(one)), "less than there is")
    good = [
        build([ipv4(20, tags=TAGS[2])] * 2, [0, 0]),
        one + bytes(68 - len(one)),
        build([ipv4(20)], [0], L3) + bytes(4),
    ]
    path = capture(tmp_path / "c.pcap", [*(frame for frame, _ in ours.values()), *good])
    rows = fields(path, "_ws.col.Info", "weir_jumbo.malformed")
    assert len(rows) == len(ours) + len(good)
    for (name, (_, words)), row in zip(ours.items(), rows, strict=False):
        assert row["_ws.col.Info"].startswith("Malformed jumbo frame: ") and row["weir_jumbo.malformed"], name
        # of the outer total length it knows only that there is more than the content, or less
        assert words in row["_ws.col.Info"] or words.startswith("total length"), (name, row["_ws.col.Info"])
    for row in rows[len(ours) :]:
        assert row["_ws.col.Info"].startswith("Jumbo frame: ") and row["weir_jumbo.malformed"] == ""


def test_a_frame_captured_in_part_is_not_called_malformed(tmp_path: Path) -> None:
    frame = build([ipv4(40, 1), ipv4(400, 2)], [0, 0])
    row = fields(
        capture(tmp_path / "c.pcap", [frame], snap=100), "_ws.col.Info", "weir_jumbo.malformed", "udp.srcport"
    )[0]
    assert "captured in part" in row["_ws.col.Info"] and row["weir_jumbo.malformed"] == ""
    assert row["udp.srcport"] == "1001"


def test_headers_left_out_are_told(tmp_path: Path) -> None:
    frames = [elide(build([*stream([10, 20, 30]), ipv4(50)], [0] * 4, form)) for form in (JumboFormat(), L3)]
    names = ("weir_jumbo.flags.elided", "weir_jumbo.length", "weir_jumbo.elided", "weir_jumbo.packets", "tcp.srcport",
             "udp.srcport", "weir_jumbo.malformed")  # fmt: skip
    for row in fields(capture(tmp_path / "c.pcap", frames), *names):
        assert tuple(row.values()) == ("1", "50,60,70,50", "0,1,1,0", "4", "1000", "1000", "")
    first = build(stream([10, 20]), [0, 0])
    bad = first[:18] + b"\x11" + first[19:20] + b"\x80" + first[21:]  # the first cannot be left out
    assert "cannot be foretold" in fields(capture(tmp_path / "c.pcap", [bad]), "_ws.col.Info")[0]["_ws.col.Info"]


def test_the_numbers_are_preferences(tmp_path: Path) -> None:
    other = JumboFormat(ethertype=0x9001, protocol=254)
    frames = [
        build([ipv4(40), ipv4(50)], [0, 0], form) for form in (other, JumboFormat(l3=True, protocol=254), JumboFormat())
    ]
    path = capture(tmp_path / "c.pcap", frames)
    assert [row["weir_jumbo.count"] for row in fields(path, "weir_jumbo.count")] == ["", "", "2"]
    options = ("-o", f"weir_jumbo.ethertype:{0x9001}", "-o", "weir_jumbo.protocol:254")
    assert [row["weir_jumbo.count"] for row in fields(path, "weir_jumbo.count", options=options)] == ["2", "2", ""]


def test_checksums_of_the_outer_header_are_right_to_wireshark(tmp_path: Path) -> None:
    frame = build([ipv4(40, ecn=2), ipv4(50, ecn=2)], [0, 0], L3, identification=7)
    assert header_checksum(frame[14:34]) == 0 and frame[:12] == MACS
    row = fields(capture(tmp_path / "c.pcap", [frame]), "ip.checksum.status", options=("-o", "ip.check_checksum:TRUE"))[
        0
    ]
    assert row["ip.checksum.status"] == "1,1,1"

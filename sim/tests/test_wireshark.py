"""The Wireshark dissector of jumbo frames, run in tshark."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from captures import EPOCH_NS, enhanced, interface, pcap, section
from jumbo_frames import MACS, TAG, TAGS, ipv4, ipv6
from test_jumbo_elision import stream
from test_jumbo_wire import HAND_L2, HAND_L3, lies
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


def cut(path: Path, frames: list[tuple[bytes, int]]) -> Path:
    """A capture of frames, each as far as so many bytes of it."""
    records = [pcap([(EPOCH_NS, frame)], snap=snap) for frame, snap in frames]
    path.write_bytes(records[0][:24] + b"".join(record[24:] for record in records))
    return path


FORMS = {
    "L2": (HAND_L2, 18),
    "L3": (HAND_L3, 34),
    "headers left out": (elide(build([*stream([10, 20, 30]), ipv4(50)], [0] * 4)), 14),
    "headers left out, L3": (elide(build([*stream([10, 20, 30]), ipv4(50)], [0] * 4, L3)), 34),
    "IPv6": (build([ipv6(60, 1), ipv6(61, 2)], [0, 0]), 14),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_right_frame_is_right_wherever_the_capture_cut_it(tmp_path: Path, name: str) -> None:
    frame, outer = FORMS[name]
    snaps = range(outer + 1, len(frame) + 1)
    path = cut(tmp_path / "c.pcap", [(frame, snap) for snap in snaps])
    rows = fields(path, "_ws.col.Info", "weir_jumbo.malformed", "weir_jumbo.count", "weir_jumbo.packets")
    count = frame[outer + 1]
    for snap, row in zip(snaps, rows, strict=True):
        assert row["_ws.col.Info"].startswith("Jumbo frame") and row["weir_jumbo.malformed"] == "", (snap, row)
        assert ("captured in part" in row["_ws.col.Info"]) == (snap < len(frame)), (snap, row)
        assert row["weir_jumbo.count"] == (str(count) if snap >= outer + 2 else ""), snap
        if snap < outer + 6 + 4 * count:
            assert row["weir_jumbo.packets"] == "", snap  # nobody knows which of them were dropped
    assert rows[-1]["weir_jumbo.packets"] == str(count)


def test_what_was_captured_of_a_frame_is_shown(tmp_path: Path) -> None:
    frame = build([ipv4(40, 1), ipv4(400, 2)], [0, 640])
    names = ("weir_jumbo.length", "weir_jumbo.spacing", "udp.srcport", "_ws.col.Info")
    rows = fields(cut(tmp_path / "c.pcap", [(frame, 14 + 13), (frame, 100)]), *names)
    assert rows[0]["weir_jumbo.length"] == "40" and rows[0]["weir_jumbo.spacing"] == "0"  # one entry of the two
    assert rows[1]["weir_jumbo.length"] == "40,400" and rows[1]["weir_jumbo.spacing"] == "0,10"
    assert (
        rows[1]["udp.srcport"] == "1001" and "2 of 2 packets, 454 bytes (captured in part)" in rows[1]["_ws.col.Info"]
    )


LIES_CUT = {
    "version 0": 18 + 5, "version 2": 18 + 5, "flag 1": 18 + 5, "tick 32": 18 + 6, "count 0": 18 + 2, "count 449": 14 + 2,
    "ends inside the header": 18 + 1, "ends inside the table": 18 + 6, "a length of 1": 18 + 10, "a length of 19": 18 + 14,
    "lengths too long": 18 + 14, "lengths too short": 18 + 14, "one byte missing": 18 + 14, "one byte too many": 18 + 14,
    "version 5 inside": 18 + 15, "inner length one more": 18 + 14 + 4, "inner length one less": 18 + 14 + 29 + 4,
    "versions differ": 18 + 14 + 29 + 1, "nested": 18 + 14 + 29 + 10, "IPv6 of 20 bytes": 14 + 10 + 6,
}  # fmt: skip
"""How much of each frame has to be captured to tell."""


def test_a_lie_in_what_was_captured_is_told_and_not_before(tmp_path: Path) -> None:
    path = cut(tmp_path / "c.pcap", [(lies[name][0], n) for name, at in LIES_CUT.items() for n in (at, at - 1)])
    rows = fields(path, "_ws.col.Info", "weir_jumbo.malformed")
    for name, told, before in zip(LIES_CUT, rows[::2], rows[1::2], strict=True):
        assert lies[name][1] in told["_ws.col.Info"] and told["weir_jumbo.malformed"], (name, told)
        if not name.startswith("ends inside"):  # those are told by their length, of nothing captured even
            assert before["weir_jumbo.malformed"] == "", (name, before)


def test_an_fcs_is_no_part_of_a_frame(tmp_path: Path) -> None:
    one = build([ipv4(20)], [0])
    frames = [HAND_L2, HAND_L3, one + bytes(68 - len(one))]
    told = section() + interface(fcs=4) + b"".join(enhanced(0, frame + bytes(4)) for frame in frames)
    (tmp_path / "c.pcapng").write_bytes(told)
    rows = fields(tmp_path / "c.pcapng", "_ws.col.Info", "weir_jumbo.malformed")
    assert [row["weir_jumbo.malformed"] for row in rows] == [""] * 3
    assert all(row["_ws.col.Info"].startswith("Jumbo frame: ") for row in rows)


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

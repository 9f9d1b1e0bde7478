"""`weir-sim jumbo-report`: figures worked out by hand, the papers' own, and bad input."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from captures import EPOCH_NS, pcap, pcapng
from jumbo_frames import MACS, TAG, ipv4, ipv6, traffic
from test_cli import CAPTURES, refused
from test_jumbo_elision import stream
from weir_sim import cli, read_capture
from weir_sim.jumbo import JumboFormat, build, dissect, formulas, report
from weir_sim.jumbo.merge import Limits

US = 1000


def run(tmp_path: Path, rows: list[tuple[int, bytes]], *arguments: object, ng: bool = False) -> dict[str, Any]:
    """The JSON of a report; the rows' times count from the first packet's."""
    rows = [(EPOCH_NS + t, frame) for t, frame in rows]
    source, target = tmp_path / "in.pcap", tmp_path / "r.json"
    source.write_bytes(pcapng(rows) if ng else pcap(rows, nano=True))
    assert cli.main(["jumbo-report", str(source), "-j", str(target), *map(str, arguments)]) == 0
    result: dict[str, Any] = json.loads(target.read_text())
    return result


# At 8 Mbit/s a byte takes a microsecond. A leaves in 0 to 1038 us; then B and C together: 14 + 6 + 8 + 2000 + 24 = 2052.
# Unmerged they end at 1038, 2076 and 3114, merged at 1038, 3090 and 3090.
THREE = [(0, ipv4(1000)), (10 * US, ipv4(1000)), (20 * US, ipv4(1000))]


@pytest.mark.parametrize("ng", [False, True])
def test_figures_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str], ng: bool) -> None:
    result = run(tmp_path, THREE, "--link-rate", "8mbit", ng=ng)
    assert result["frames"] == {"before": 3, "after": 2, "saved": 1}
    assert result["link_bytes"] == {"before": 3114, "after": 3090, "saved": 24}
    assert result["header_bytes_saved"] == {"eq1": 24, "measured": 24}
    assert result["merge_factor"] == {"mean": 1.5, "mean_joinable": 1.5, "distribution": {"1": 1, "2": 1}}
    delay = result["delay_us"]
    assert delay["unmerged"] == {"mean": 2066, "min": 1038, "p50": 2066, "p99": 3094, "max": 3094}
    assert delay["merged"] == {"mean": 2396, "min": 1038, "p50": 3070, "p99": 3080, "max": 3080}
    assert delay["added"] == {"mean": 330, "min": -24, "p50": 0, "p99": 1014, "max": 1014}
    gain = result["gain"]
    assert (gain["packet_bytes"], gain["largest_merge_factor"], gain["closed_form"]["merge_factor"]) == (1000, 8, 4.5)
    assert gain["closed_form"]["search"] == pytest.approx(14 / (4 + 13 / 4.5))
    assert gain["measured"] == {"merge_factor": 1.5, "grouping": pytest.approx(14 / (4 + 10 / 1.5))}
    assert "software model" in result["model"]
    out = capsys.readouterr().out
    for words in (
        "software model            by flow, L2 form, 8Mbit/s",
        "24 measured; 24 by Eq. 1",
        "1.50; 1.50",
        "1 (33.3 %)",
    ):
        assert words in out


def test_packets_that_may_not_join_are_left_out_of_the_measured_gain(tmp_path: Path) -> None:
    rows = [*THREE, (30 * US, ipv4(1000, flow=1, trailer=b"\0")), (40 * US, ipv4(500, flow=2, options=bytes(4)))]
    result = run(tmp_path, rows, "--link-rate", "8mbit")
    assert result["merge_factor"]["mean"] == 5 / 4 and result["merge_factor"]["mean_joinable"] == 1.5
    assert result["gain"]["packet_bytes"] == 1000 and result["gain"]["measured"]["merge_factor"] == 1.5


def test_elided_headers_are_counted(tmp_path: Path) -> None:
    frames = [*stream([500, 500]), *stream([100, 100, 100], port=5)]
    rows = [(n, frame) for n, frame in enumerate(frames)]
    result = run(tmp_path, rows, "--link-rate", "8mbit")
    assert result["merge_factor"]["distribution"] == {"1": 2, "3": 1} and result["elided"] == {
        "packets": 2,
        "bytes": 80,
    }
    assert run(tmp_path, rows, "--link-rate", "8mbit", "--l3")["elided"] == {"packets": 2, "bytes": 80}
    assert run(tmp_path, THREE, "--link-rate", "8mbit")["elided"] == {"packets": 0, "bytes": 0}


def test_speedup_and_link_rate_count(tmp_path: Path) -> None:
    assert run(tmp_path, THREE, "--link-rate", "10Gbit")["frames"]["saved"] == 0
    fast = run(tmp_path, THREE, "--link-rate", "80mbit", "--speedup", "10")
    assert fast["frames"]["saved"] == 1 and fast["delay_us"]["added"]["max"] == pytest.approx(101.4)


def test_padding_and_tags_save_more_than_eq_1_says(tmp_path: Path) -> None:
    # Padded apart: 2 (60 + 24) bytes; together 14 + 20 + 6 + 8 + 56 + 24 = 128. Eq. 1: 20 + 6 + 8 - 38.
    result = run(tmp_path, [(0, ipv4(28)), (1, ipv4(28))], "--merge", "class", "--l3")
    assert result["header_bytes_saved"] == {"eq1": 4, "measured": 40}
    result = run(tmp_path, [(0, ipv4(100, tags=TAG)), (1, ipv4(100, tags=TAG))], "--merge", "class")
    assert result["header_bytes_saved"] == {"eq1": 24, "measured": 28}


def test_the_timer_is_the_added_delay_of_a_lone_packet(tmp_path: Path) -> None:
    result = run(tmp_path, [(0, ipv4(100))], "--merge", "class", "--jfet", "250us")
    assert result["delay_us"]["added"]["mean"] == pytest.approx(250) and result["options"]["jfet_us"] == 250
    one = [(0, ipv4(100)), (1000, ipv4(100, flow=1))]
    assert run(tmp_path, one, "--merge", "class")["frames"]["after"] == 1
    assert run(tmp_path, one, "--merge", "class", "--jfet", "1us")["frames"]["after"] == 2
    assert run(tmp_path, [(t, f.replace(bytes((10, 0, 1, 2)), bytes((10, 0, 1, 3 + (t > 0))))) for t, f in one],
               "--merge", "class", "--prefix", "32")["frames"]["after"] == 2  # fmt: skip


def test_jumbo_frames_of_the_capture_are_counted(tmp_path: Path) -> None:
    l3 = JumboFormat(l3=True)
    rows = [
        (0, build([ipv4(40), ipv4(50)], [0, 0])), (1, build([ipv4(40), ipv4(50)], [0, 0], l3)),
        (2, build([ipv4(40), ipv4(50)], [0, 0], dropped=[1])), (3, build([ipv4(40)] * 2, [0, 0]) + b"\0"),
        (4, ipv4(40)), (5, ipv6(60, trailer=b"\0")), (6, MACS + b"\x08\x06" + bytes(28)),
    ]  # fmt: skip
    capture = run(tmp_path, rows)["capture"]
    assert capture["jumbo"] == {"frames": 3, "packets": 5, "dropped_packets": 1, "malformed": 1, "cut": 0,
                                "bytes": len(rows[0][1]) + len(rows[1][1]) + len(rows[2][1])}  # fmt: skip
    assert capture["joinable"] == 1 and capture["barred"] == {
        "it is not IP": 4, "it is of the jumbo protocol": 1, "its frame is not as long as its IP length says": 1,
    }  # fmt: skip


@pytest.mark.parametrize("extra", [[], ["--l3"], ["--merge", "class"], ["--max-count", "3"], ["--max-bytes", "1518"]])
def test_what_leaves_can_be_written(tmp_path: Path, extra: list[str]) -> None:
    rows = [(n * 700, frame) for n, (_, frame) in enumerate(traffic(random.Random(3), 400))]
    out = tmp_path / "out.pcap"
    result = run(tmp_path, rows, "--link-rate", "1Gbit", "--write", out, *extra)
    sizes: dict[str, int] = {}
    form = JumboFormat()
    times, longest, identifications = [], 0, []
    for packet in read_capture(out):
        times.append(packet.time_ns)
        try:
            jumbo = dissect(packet.data, form)
        except ValueError:  # an odd packet of the jumbo protocol
            jumbo = None
        size = str(jumbo.count if jumbo else 1)
        longest = max(longest, packet.length if jumbo else 0)
        if jumbo and jumbo.l3:
            start = len(jumbo.ethernet) + 6
            identifications.append(int.from_bytes(packet.data[start : start + 2], "big"))
        sizes[size] = sizes.get(size, 0) + 1
    assert sizes == result["merge_factor"]["distribution"] and len(sizes) > 2
    assert identifications == list(range(len(identifications) if "--l3" in extra else 0))
    assert times == sorted(times) and times[0] >= EPOCH_NS
    assert result["options"]["form"] == ("l3" if "--l3" in extra else "l2")
    if "3" in extra:
        assert max(map(int, sizes)) == 3
    if "1518" in extra:
        assert 1400 < longest <= 1518


def test_the_papers_own_figures() -> None:
    # Paper 002, section 4.4, many hosts, k = 1: algorithms as printed there for 800, 1000, 1200 and 1460 bytes.
    for packet_bytes, gain in ((800, 2.27), (1000, 2.03), (1200, 1.93), (1460, 1.815)):
        most = formulas.largest_merge_factor(packet_bytes, Limits())
        assert most == 8960 // packet_bytes
        assert formulas.processing_gain((most + 1) / 2, 1) == pytest.approx(gain, abs=0.005)
    assert formulas.processing_gain(1, 0) == 1
    assert formulas.eq1_cost(2, True) == -4  # paper 000, section II.A
    assert formulas.largest_merge_factor(20, Limits()) == 383 and formulas.largest_merge_factor(9000, Limits()) == 1


def test_odd_captures_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "cut.pcap"
    source.write_bytes(pcap([(2000, ipv4(1000)), (1000, ipv4(1000))], nano=True, snap=60))
    assert cli.main(["jumbo-report", str(source)]) == 0
    err = capsys.readouterr().err
    assert "captured in part: 2 packets; the rest of each is zeros\n" in err
    assert "earlier than one before them: 1 packet, by up to 1 µs; they follow it directly; give --reorder" in err


@pytest.mark.parametrize("name", CAPTURES)
def test_unusable_capture_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    content, words = CAPTURES[name]
    (tmp_path / "in.pcap").write_bytes(content)
    line = refused(capsys, tmp_path, "jumbo-report", tmp_path / "in.pcap", "-j", tmp_path / "r.json", "--write",
                   tmp_path / "o.pcap")  # fmt: skip
    assert words in line and "in.pcap" in line


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--max-bytes", "63"], "--max-bytes 63 must be 64 to 9216"),
        (["--max-bytes", "9217"], "--max-bytes"),
        (["--max-count", "0"], "--max-count 0 must be 1 to 448"),
        (["--max-count", "449"], "--max-count"),
        (["--link-rate", "fast"], "--link-rate fast"),
        (["--link-rate", "0"], "--link-rate"),
        (["--speedup", "0"], "--speedup"),
        (["--speedup", "inf"], "--speedup"),
        (["--jfet", "soon"], "--jfet soon"),
        (["--jfet", "11s"], "--jfet 11s is out of range: allowed is 0 to 10s"),
        (["--prefix", "33"], "--prefix"),
        (["--prefix6", "-1"], "--prefix"),
        (["-j", "absent/r.json"], "the directory"),
        (["-j", "in.pcap"], "is also the capture"),
        (["-j", "x", "--write", "x"], "is also another output"),
    ],
)
def test_impossible_arguments_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], extra: list[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.pcap").write_bytes(pcap(THREE))
    monkeypatch.chdir(tmp_path)
    assert words in refused(capsys, tmp_path, "jumbo-report", "in.pcap", *extra)


def test_a_missing_capture_and_impossible_times_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, tmp_path, "jumbo-report", tmp_path / "absent")
    assert "absent: No such file or directory" in line
    source = tmp_path / "in.pcap"
    source.write_bytes(pcapng([(0, ipv4()), ((1 << 63) - 1, ipv4())]))
    assert "packet 2 is too late" in refused(capsys, tmp_path, "jumbo-report", source)
    source.write_bytes(pcap(THREE, nano=True))
    assert "packet 2 is too late" in refused(capsys, tmp_path, "jumbo-report", source, "--speedup", "1e-30")
    source.write_bytes(pcapng([(1 << 62, ipv4())]))
    assert "beyond the year 2106" in refused(capsys, tmp_path, "jumbo-report", source, "--write", tmp_path / "o.pcap")
    assert cli.main(["jumbo-report", str(source)]) == 0
    capsys.readouterr()
    source.write_bytes(pcap(THREE, nano=True))
    slow = ("--speedup", "4.5e-15", "--write", tmp_path / "o.pcap")
    assert "beyond the year 2106" in refused(capsys, tmp_path, "jumbo-report", source, *slow)


def test_a_model_that_loses_a_packet_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.pcap").write_bytes(pcap(THREE))
    good = report.split
    monkeypatch.setattr(report, "split", lambda jumbo: good(jumbo)._replace(frames=[]))
    line = refused(capsys, tmp_path, "jumbo-report", tmp_path / "in.pcap", "--link-rate", "8mbit", "-j",
                   tmp_path / "r.json", code=3)  # fmt: skip
    assert "does not split" in line

"""Replays on the real core: everything is accounted for, repeatable, and marked as the standards say."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from captures import EPOCH_NS, pcap, snapped
from jumbo_frames import TAGS, ipv4, ipv6
from weir_sim import cli, plot, replay, trace
from weir_sim.frames import ECT0, NOT_ECT, udp_frame
from weir_sim.jumbo.wire import JumboFormat, build, dissect
from weir_sim.pcap import read_capture
from weir_sim.replay import Options
from weir_sim.trace import RECORD, Records

RED = {"limit": "60KB", "min": "3KB", "max": "30KB", "probability": "0.3", "weight": "0.1", "ecn": "on"}


def traffic(count: int = 300) -> list[tuple[int, bytes]]:
    """Frames of many kinds at 2 Gbit/s or so: IPv4 and IPv6, tagged or not, ECT or not, and some that are no IP."""
    rows = []
    for number in range(count):
        payload = bytes([number & 255]) * (20 + number * 37 % 1300)
        ecn = (NOT_ECT, ECT0, 1, 3, ECT0)[number % 5]
        ethernet = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")
        if number % 7 == 0:
            ethernet /= Dot1Q(vlan=5)
        if number % 11 == 0:
            frame = bytes(ethernet / payload)
        elif number % 3 == 0:
            frame = bytes(ethernet / IPv6(dst="fd00::2", src="fd00::1", tc=ecn, nh=59) / payload)
        else:
            frame = bytes(ethernet / IP(dst="10.0.0.2", src="10.0.0.1", tos=ecn, id=number, proto=253) / payload)
        rows.append((EPOCH_NS + number * 3_000, frame))
    return rows


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.pcap"
    path.write_bytes(pcap(traffic(), nano=True))
    return path


def run(source: Path, name: str, **changes: Any) -> dict[str, Any]:
    """A replay with RED into 1 Gbit/s; answers its statistics."""
    place = source.parent
    values: dict[str, Any] = {"policy": "red", "settings": RED, "link_rate": 1e9, "stats": place / f"{name}.json",
                              "trace": place / f"{name}.csv"}  # fmt: skip
    return replay.replay(Options(source, place / f"{name}.pcap", **(values | changes))).stats


def total(stats: dict[str, Any], key: str) -> int:
    return sum(count[key] for count in stats["dropped"].values())


SETTINGS: dict[str, dict[str, str]] = {
    "drop-tail": {"limit": "20KB"},
    "drop-front": {"limit": "20KB"},
    "red": RED,
    "dt-ecn": {"limit": "20KB", "utilisation": "30%"},
    "isred": RED | {"slope": "1e6"},
    "fn": {"limit": "20KB", "window": "64", "t": "100us", "ecn": "on"},
    "ared": RED | {"interval": "200us"},
    "pie": {"limit": "20KB", "target": "50us", "tupdate": "50us", "burst": "0", "beta": "10", "ecn": "on"},
    "codel": {"limit": "20KB", "target": "20us", "interval": "100us", "ecn": "on"},
    "pi2": {"limit": "20KB", "target": "50us", "tupdate": "50us", "beta": "40"},
}
"""An overload for every policy."""


@pytest.mark.parametrize("policy", SETTINGS)
def test_every_packet_and_byte_is_accounted_for(source: Path, policy: str) -> None:
    stats = run(source, "out", policy=policy, settings=SETTINGS[policy], plot=source.with_name("p.png"))
    assert source.with_name("p.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    sent = [packet.data for packet in read_capture(source)]
    received = [packet.data for packet in read_capture(source.with_name("out.pcap"))]
    assert stats["rx"] == {"packets": len(sent), "bytes": sum(map(len, sent))}
    assert stats["tx"] == {"packets": len(received), "bytes": sum(map(len, received))}
    for key in ("packets", "bytes"):
        assert stats["rx"][key] == stats["tx"][key] + total(stats, key)
    assert total(stats, "packets") > 10
    assert json.loads(source.with_name("out.json").read_text()) == stats


def test_a_queue_over_its_limit_drops_its_oldest_packets(source: Path) -> None:
    tail = run(source, "tail", policy="drop-tail", settings={"limit": "20KB"})
    front = run(source, "front", policy="drop-front", settings={"limit": "20KB"})
    assert front["dropped"]["front"]["packets"] > 10 and front["dropped"]["overflow"]["packets"] == 0
    assert tail["dropped"]["overflow"]["packets"] > 10 and tail["dropped"]["front"]["packets"] == 0
    assert front["delay"]["p50_ns"] < tail["delay"]["p50_ns"]
    last = list(read_capture(source))[-1].data
    assert list(read_capture(source.with_name("front.pcap")))[-1].data == last
    with source.with_name("front.csv").open() as file:
        heads = [row for row in csv.DictReader(file) if row["cause"] == "front"]
    assert {(row["kind"], row["action"]) for row in heads} == {("departure", "drop")}
    assert len(heads) == front["dropped"]["front"]["packets"]
    red = run(source, "red", settings=RED | {"front": "on", "limit": "10KB", "max": "8KB", "probability": "0.01"})
    assert red["dropped"]["front"]["packets"] > 0


def test_only_ect_packets_are_marked_and_checksums_stay_right(source: Path) -> None:
    stats = run(source, "out")
    # payload and length tell the frames of `traffic` apart
    before = {(packet.data[-20:], packet.length): packet.data for packet in read_capture(source)}
    assert len(before) == len(traffic())
    marked = 0
    for packet in read_capture(source.with_name("out.pcap")):
        original = before[packet.data[-20:], packet.length]
        if packet.data == original:
            continue
        new, old = Ether(packet.data), Ether(original)
        if IP in new:
            assert old[IP].tos & 3 in (1, 2) and new[IP].tos & 3 == 3
            checksum = new[IP].chksum
            del new[IP].chksum
            assert Ether(bytes(new))[IP].chksum == checksum
            old[IP].tos, old[IP].chksum = new[IP].tos, checksum
        else:
            assert old[IPv6].tc & 3 in (1, 2) and new[IPv6].tc & 3 == 3
            old[IPv6].tc = new[IPv6].tc
        assert bytes(old)[14:] == packet.data[14:]
        marked += 1
    assert marked == stats["marked"]["packets"] > 5


def test_times_are_those_of_the_capture_and_never_early(source: Path) -> None:
    run(source, "out", policy="drop-tail", settings={})
    sent, received = list(read_capture(source)), list(read_capture(source.with_name("out.pcap")))
    assert [p.data for p in received] == [p.data for p in sent]
    assert all(0 < out.time_ns - came.time_ns for came, out in zip(sent, received, strict=True))
    times = [packet.time_ns for packet in received]
    assert times == sorted(times)
    assert received[0].time_ns - sent[0].time_ns < 1000


def test_speedup_divides_the_times(source: Path) -> None:
    slow = run(source, "slow", policy="drop-tail", settings={}, link_rate=10e9)
    fast = run(source, "fast", policy="drop-tail", settings={}, link_rate=10e9, speedup=3.0)
    assert slow["duration_ns"] / fast["duration_ns"] == pytest.approx(3, rel=0.05)


def test_the_seed_repeats_a_replay_and_another_changes_it(source: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run(source, name, seed=seed)
    content = {name: source.with_name(f"{name}.csv").read_bytes() for name in "abc"}
    same = content["a"] == content["b"]
    assert same
    assert source.with_name("a.pcap").read_bytes() == source.with_name("b.pcap").read_bytes()
    other = content["a"] == content["c"]
    assert not other


def test_skipping_idle_time_changes_no_file(source: Path) -> None:
    skipped = run(source, "skipped")
    plain = run(source, "plain", skip=False)
    for kind in ("pcap", "csv"):
        same = source.with_name(f"skipped.{kind}").read_bytes() == source.with_name(f"plain.{kind}").read_bytes()
        assert same
    assert skipped["cycles_evaluated"] < plain["cycles_evaluated"]


def test_trace_agrees_with_the_statistics(source: Path) -> None:
    stats = run(source, "out")
    with source.with_name("out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "time_ns", "kind", "queue", "action", "cause", "ecn", "length", "q_bytes", "q_packets", "q_frames", "avg",
        "count", "p", "u", "idle_slots", "sojourn_ns", "seq", "unit", "policy", "state0", "state1", "state2", "state3",
    ]  # fmt: skip
    arrivals = [row for row in rows if row["kind"] == "arrival"]
    departures = [row for row in rows if row["kind"] == "departure"]
    assert {(row["policy"], row["unit"]) for row in departures} == {(row["policy"], row["unit"]) for row in arrivals}
    assert len(arrivals) == stats["rx"]["packets"] and len(departures) == stats["tx"]["packets"]
    for cause in ("early", "forced", "overflow"):
        chosen = [row for row in arrivals if (row["action"], row["cause"]) == ("drop", cause)]
        assert len(chosen) == stats["dropped"][cause]["packets"]
        assert sum(int(row["length"]) for row in chosen) == stats["dropped"][cause]["bytes"]
    assert sum(row["action"] == "mark" for row in arrivals) == stats["marked"]["packets"]
    delays = sorted(int(row["sojourn_ns"]) for row in departures)
    assert stats["delay"]["max_ns"] == delays[-1]
    assert stats["delay"]["p50_ns"] == delays[-(-len(delays) // 2) - 1]
    assert stats["delay"]["mean_ns"] == pytest.approx(sum(delays) / len(delays), abs=0.001)
    assert all(row["sojourn_ns"] == "" for row in arrivals) and all(row["avg"] == "" for row in departures)


@pytest.mark.parametrize("l3", [False, True])
@pytest.mark.parametrize("tags", TAGS)
@pytest.mark.parametrize("mode", ["opaque", "split", "transit"])
def test_a_jumbo_frame_that_was_captured_in_part_keeps_its_length(
    tmp_path: Path, mode: str, tags: bytes, l3: bool
) -> None:
    """It is one packet of its true length, and not malformed; whole frames beside it are split or passed as ever."""
    jumbo = build([ipv4(600, number=n, tags=tags) for n in range(5)], [0] * 5, JumboFormat(l3=l3))
    rows = [(EPOCH_NS + 9000 * n, frame) for n, frame in enumerate((jumbo, jumbo[:200], jumbo))]
    source = tmp_path / "in.pcap"
    source.write_bytes(
        pcap(rows[:1], nano=True) + snapped(EPOCH_NS + 9000, jumbo, 200) + pcap(rows[2:], nano=True)[24:]
    )
    result = replay.replay(Options(source, tmp_path / "out.pcap", "drop-tail", jumbo=mode))
    dropped, out = result.stats["dropped"], [packet.data for packet in read_capture(tmp_path / "out.pcap")]
    assert {name: count["packets"] for name, count in dropped.items() if count["packets"]} == {}
    opaque = jumbo[:12] + bytes(len(jumbo) - 12)
    if mode == "opaque":
        assert out == [jumbo, jumbo[:200] + bytes(len(jumbo) - 200), jumbo]
    elif mode == "transit":
        assert [len(frame) for frame in out] == [len(jumbo)] * 3 and out[1] == opaque
    else:
        assert [len(frame) for frame in out] == [614 + len(tags)] * 5 + [len(jumbo)] + [614 + len(tags)] * 5
        assert out[5] == opaque
    assert result.stats["snapped"] == 1 and result.stats["snapped_opaque"] == (mode != "opaque")
    assert ("1 packet, 0 cut inside headers and 1 inside a jumbo frame" in result.notes[0]) == (mode != "opaque")


@pytest.mark.parametrize("ecn", [0, 1, 2])
def test_a_frame_cut_behind_its_ip_header_is_marked_as_a_whole_one(tmp_path: Path, ecn: int) -> None:
    """Marks and drops are those of the whole frames; a frame cut inside its IP header counts as Not-ECT."""
    found = {}
    rows = [(EPOCH_NS + 3000 * n, make(1000, ecn=ecn, number=n)) for n, make in enumerate([ipv4, ipv6] * 100)]
    for snap in (2000, 54, 30):
        source = tmp_path / f"{snap}.pcap"
        source.write_bytes(pcap(rows, nano=True, snap=snap))
        stats = run(source, f"out{snap}")
        found[snap] = (stats["marked"], stats["tx"], stats["dropped"])
        assert stats["snapped_opaque"] == (200 if snap == 30 else 0)
    assert found[54] == found[2000]
    assert (found[2000][0]["packets"] > 20) == (ecn > 0)
    assert found[30][0]["packets"] == 0 < found[30][2]["early"]["packets"]


@pytest.mark.parametrize("snap", [2000, 38, 34])
def test_packets_whose_ports_were_not_captured_are_not_merged(tmp_path: Path, snap: int) -> None:
    """Four flows between the same hosts: with ports they merge by flow, without they would be one."""
    rows = [(EPOCH_NS + 50 * n, ipv4(400, flow=4 * (n % 4), number=n)) for n in range(64)]
    source = tmp_path / "in.pcap"
    source.write_bytes(pcap(rows, nano=True, snap=snap))
    stats = run(source, "out", policy="drop-tail", settings={}, merge="flow")
    assert stats["snapped_opaque"] == (64 if snap == 34 else 0)
    assert (stats["jumbo_out"]["packets"] > 0) == (snap > 34)
    for packet in read_capture(tmp_path / "out.pcap"):
        jumbo = dissect(packet.data)
        if jumbo:
            assert len({ip[20:24] for ip in jumbo.packets}) == 1


@pytest.mark.parametrize("extra", [{"merge": "flow"}, {"jumbo": "split"}, {"jumbo": "transit"}])
def test_traffic_cut_inside_its_headers_adds_up(tmp_path: Path, extra: dict[str, str]) -> None:
    source = tmp_path / "in.pcap"
    source.write_bytes(pcap([(EPOCH_NS + 2000 * n, row[1]) for n, row in enumerate(traffic(8))], nano=True, snap=30))
    stats = run(source, "snapped", policy="drop-tail", settings={}, **extra)
    assert stats["snapped"] == 8 == stats["rx_frames"]["packets"] == stats["tx"]["packets"]


def test_reorder_replays_a_capture_as_if_it_had_been_in_order(tmp_path: Path) -> None:
    """One time of day an hour ahead, and two packets of another interface late: without --reorder all after them collapse."""
    rows = [(EPOCH_NS + 20_000 * n, udp_frame(800, number=n)) for n in range(40)]
    rows.append((EPOCH_NS + 3600 * 10**9, udp_frame(800, number=40)))
    shuffled = [*rows[:5], rows[40], *rows[7:30], rows[5], rows[6], *rows[30:40]]
    times, notes = {}, {}
    for name, these, reorder in (
        ("sorted", rows, False),
        ("as they are", shuffled, False),
        ("reordered", shuffled, True),
    ):
        source = tmp_path / f"{name}.pcap"
        source.write_bytes(pcap(these, nano=True))
        result = replay.replay(Options(source, tmp_path / "out.pcap", "drop-tail", reorder=reorder))
        times[name], notes[name] = [(p.time_ns, p.data) for p in read_capture(tmp_path / "out.pcap")], result.notes
    assert times["reordered"] == times["sorted"] and notes["reordered"] == notes["sorted"] == []
    assert times["as they are"][10][0] - times["as they are"][5][0] < 10_000
    assert "35 packets, by up to 3600 s; they follow it directly; give --reorder" in notes["as they are"][0]


def test_mred_takes_packets_of_jumbo_frames_in_transit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--transit --mred: partial drops, the same by registers, trace and frames; without it RED takes frames as a whole."""
    source, told = tmp_path / "in.pcap", tmp_path / "s.json"
    frames = [build([ipv4(200, number=40 * n + k) for k in range(40)], [0] * 40) for n in range(200)]
    source.write_bytes(pcap([(EPOCH_NS + 7000 * n, f) for n, f in enumerate(frames)], nano=True))
    red = ("--policy", "red", "--set", "limit=500KB", "--set", "min=30KB", "--set", "max=200KB", "--set", "probability=0.3",
           "--set", "weight=0.1", "--link-rate", "4Gbit", "--transit", "--stats", str(told))  # fmt: skip
    found = {}
    for name, extra in (("whole", ()), ("part", ("--mred", "0.1:0.5"))):
        code = cli.main(
            ["replay", str(source), str(tmp_path / "out.pcap"), *red, *extra, "--trace", str(tmp_path / "t.csv")]
        )
        assert code == 0, capsys.readouterr().err
        found[name] = json.loads(told.read_text())
    assert found["whole"]["dropped"]["partial"]["packets"] == 0 and "mred" not in found["whole"]
    assert found["whole"]["dropped"]["early"]["packets"] % 40 == 0 < found["whole"]["dropped"]["early"]["packets"]
    partial = found["part"]["dropped"]["partial"]["packets"]
    assert found["part"]["mred"] == {"enable": True, "low": 0.1, "high": 0.5}
    assert partial > 100 and found["part"]["dropped"]["early"]["packets"] < partial
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    paid = [row for row in rows if row["cause"] == "partial"]
    assert sum(row["kind"] == "departure" and row["action"] == "drop" for row in paid) == partial
    assert {row["action"] for row in paid if row["kind"] == "arrival"} == {"accept"}


def test_snapped_and_disordered_packets_are_noted(tmp_path: Path) -> None:
    source = tmp_path / "in.pcap"
    rows = [(EPOCH_NS + t, udp_frame(800, number=t)) for t in (5000, 1000, 9000)]
    source.write_bytes(pcap(rows, nano=True, snap=100))
    result = replay.replay(Options(source, tmp_path / "out.pcap", "drop-tail"))
    assert result.notes == [
        "captured in part: 3 packets; the rest of each is zeros",
        "earlier than one before them: 1 packet, by up to 4 µs; they follow it directly; give --reorder to put packets in "
        "their places",
    ]
    out = list(read_capture(tmp_path / "out.pcap"))
    assert [packet.data for packet in out] == [row[1][:100] + bytes(700) for row in rows]


def test_runts_and_oversize_frames_of_a_capture_are_counted(tmp_path: Path) -> None:
    source = tmp_path / "in.pcap"
    source.write_bytes(
        pcap([(EPOCH_NS + i * 20_000, bytes([2]) * n) for i, n in enumerate((5, 13, 14, 60, 9216, 9217))])
    )
    stats = replay.replay(Options(source, tmp_path / "out.pcap", "drop-tail")).stats
    assert stats["dropped"]["runt"] == {"packets": 2, "bytes": 18}
    assert stats["dropped"]["oversize"] == {"packets": 1, "bytes": 9217}
    assert stats["tx"] == {"packets": 3, "bytes": 14 + 60 + 9216}


@pytest.mark.parametrize("lie", ["sent", "received", "marked"])
def test_a_packet_that_is_missing_is_told_with_exit_code_3(
    source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    original = replay._check_identity

    def lying(stats: dict[str, Any], tally: Any, core: Any) -> None:
        getattr(tally, lie)["packets"] += 1
        original(stats, tally, core)

    monkeypatch.setattr(replay, "_check_identity", lying)
    before = sorted(source.parent.iterdir())
    code = cli.main(["replay", str(source), str(source.with_name("out.pcap")), "--policy", "red"])
    assert code == 3
    err = capsys.readouterr().err
    assert err.startswith("weir-sim: packets do not add up") and err.count("\n") == 1
    assert sorted(source.parent.iterdir()) == before


@pytest.mark.parametrize("unit", ["bytes", "packets"])
def test_plot_is_a_picture(source: Path, unit: str) -> None:
    settings = RED if unit == "bytes" else {"unit": "packets", "limit": "60", "min": "3", "max": "30"}
    run(source, "out", settings=settings, plot=source.with_name("p.png"))
    assert source.with_name("p.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("below", [None, plot.Below("p"), plot.Below("sojourn", 5e6)])
@pytest.mark.parametrize("count", [0, 500, 20_000])
def test_long_short_and_empty_histories_are_drawn(tmp_path: Path, count: int, below: plot.Below | None) -> None:
    history = plot.History(0, 0)
    if count:
        history.add(made_up(count))
    plot.draw(tmp_path / "p.png", history, "title", "", [("min", 1e4)], below=below)
    assert (tmp_path / "p.png").stat().st_size > 1000


def made_up(count: int) -> Records:
    """Arrivals, departures and ticks in turn."""
    records = np.zeros(count, RECORD)
    records["time_ns"] = np.arange(count) * 1000
    records["kind"] = np.arange(count) % 3
    records["q_bytes"] = 50_000
    records["p"] = 0.25
    records["sojourn_ns"] = 3_000_000
    return records


def test_verdicts_at_departure_are_told_apart() -> None:
    """Tally and picture: by the policy, from the front, or only marked at the arrival."""
    rows = [
        (trace.ARRIVAL, trace.MARK, trace.EARLY), (trace.ARRIVAL, trace.DROP, trace.FORCED),
        (trace.DEPARTURE, trace.MARK, trace.NONE), (trace.DEPARTURE, trace.MARK, trace.FORCED),
        (trace.DEPARTURE, trace.DROP, trace.EARLY), (trace.DEPARTURE, trace.DROP, trace.FORCED),
        (trace.DEPARTURE, trace.DROP, trace.FRONT), (trace.DEPARTURE, trace.DROP, trace.LINK_DOWN),
        (trace.DEPARTURE, trace.ACCEPT, trace.NONE), (trace.TICK, 0, 0),
    ]  # fmt: skip
    records = np.zeros(len(rows), RECORD)
    for name, column in zip(("kind", "action", "cause"), zip(*rows, strict=True), strict=True):
        records[name] = column
    records["length"] = 100
    tally = replay._Tally()
    tally.add(records)
    assert tally.marked == {"packets": 2, "bytes": 200}
    found = {name: count["packets"] for name, count in tally.dropped.items()}
    assert found == {"early": 0, "forced": 3, "overflow": 0, "front": 1, "partial": 0}
    assert len(tally.sojourns[0]) == 3
    history = plot.History(0, 0)
    history.add(records)
    _, action, cause = history.verdicts()
    lanes = {v.name: int(plot._chosen(v, action, cause).sum()) for v in plot.VERDICTS}
    assert lanes == {"marked CE": 2, "early drop": 0, "forced drop": 3, "overflow": 0, "front drop": 1}


def test_ticks_have_their_own_line(tmp_path: Path) -> None:
    words = np.array([[5, 7 | 2 << 16 | 2 << 20, 6 << 16, 11, 12, 13, 14, 99, 99, 99, 99, 99]], np.uint32)
    records = trace.decode(words)
    with (tmp_path / "t.csv").open("wb") as file:
        trace.write_csv_header(file)
        trace.write_csv(file, records)
    (row,) = csv.DictReader((tmp_path / "t.csv").open())
    told = {key: value for key, value in row.items() if value}
    assert told == {
        "time_ns": str(7 << 32 | 5), "kind": "tick", "queue": "2", "policy": "pie", "state0": "11", "state1": "12",
        "state2": "13", "state3": "14",
    }  # fmt: skip
    assert records["q_bytes"][0] == records["length"][0] == records["seq"][0] == records["sojourn_ns"][0] == 0

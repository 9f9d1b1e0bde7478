"""Jumbo frames in the ns-3 coupling: the golden model's bytes and groups, the RTL's frames, and paper 002's network."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import pytest

from jumbo_frames import MACS, ipv4, ipv6
from ns3_programs import ROOT, experiment, run
from weir_sim.jumbo.jfepm import Jfepm
from weir_sim.jumbo.merge import Arrival, Limits
from weir_sim.jumbo.packet import JumboFormat
from weir_sim.jumbo.wire import build, dissect, split

sys.path.insert(0, str(ROOT / "sim" / "reproduce"))

FORM = JumboFormat(l3=True, tick=12)


def ask(lines: list[str]) -> list[str]:
    """The answers of jumbo_check."""
    return run("jumbo_check", text="\n".join(lines) + "\n").stdout.splitlines()


def random_groups(rng: random.Random, count: int) -> list[tuple[list[bytes], list[int]]]:
    """Frames that may travel together, and when they came."""
    groups = []
    for _ in range(count):
        size, now, dscp, frames, times = rng.randrange(1, 30), rng.randrange(1 << 40), rng.randrange(64), [], []
        for n in range(size):
            frames.append(ipv4(rng.randrange(20, 280), 3, ecn=rng.randrange(4), dscp=dscp, number=n))
            times.append(now := now + rng.randrange(1 << 20))
        groups.append((frames, times))
    return groups


def test_jumbo_frames_are_those_of_the_wire_format() -> None:
    """Built and split as weir_sim.jumbo.wire does it, byte for byte; with a mark on the outer header, RFC 6040."""
    rng = random.Random(1)
    groups = random_groups(rng, 60)
    texts = [
        f"build 12 {n} " + " ".join(f"{t} {f.hex()}" for f, t in zip(*g, strict=True)) for n, g in enumerate(groups)
    ]
    for n, (line, (frames, times)) in enumerate(zip(ask(texts), groups, strict=True)):
        assert bytes.fromhex(line) == build(frames, times, FORM, n)
    built = [build(frames, times, FORM, n) for n, (frames, times) in enumerate(groups)]
    changed = []
    for frame in built:
        words = bytearray(frame)
        words[15] = words[15] & 0xFC | rng.randrange(4)
        words[24:26] = bytes(2)
        total = sum(int.from_bytes(words[14 + i : 16 + i], "big") for i in range(0, 20, 2)) % 0xFFFF
        words[24:26] = (0xFFFF - (total or 0xFFFF)).to_bytes(2, "big")
        changed.append(bytes(words))
    for line, frame in zip(ask([f"split {f.hex()}" for f in built + changed]), built + changed, strict=True):
        jumbo = dissect(frame, FORM)
        assert jumbo and [bytes.fromhex(w) for w in line.split()] == split(jumbo).frames


@pytest.mark.parametrize(
    "at,value",
    [(14, 0x46), (20, 0x20), (25, 1), (35, 200), (38, 0x20), (38, 0x11), (39, 32), (41, 19), (41, 255), (17, 3)],
)
def test_a_malformed_jumbo_frame_is_refused(at: int, value: int) -> None:
    """Options, a fragment, a checksum, count, version, flags, tick, lengths, total length: a byte of each is wrong."""
    frame = bytearray(build([ipv4(100, 1, number=n) for n in range(3)], [0, 1, 2], FORM))
    frame[at] = value
    assert ask([f"split {frame.hex()}"])[0].startswith("refused: a jumbo frame is malformed")


def test_ipv6_and_tags_are_refused() -> None:
    """Never a group that is not what the core would build."""
    for frame in (ipv6(80, 0), ipv4(80, 0, tags=bytes.fromhex("81000064"))):
        assert "covers IPv4 without VLAN tags" in ask(["merge 1024 448", f"arrive 0 {frame.hex()}"])[0]


@pytest.mark.parametrize("seed", range(4))
def test_groups_are_those_of_algorithm_1(seed: int) -> None:
    """Random arrivals and departures: the packets that leave together are those that the search of the queue finds
    (paper 002, Algorithm 1, stopping at the first that does not fit). Many slots, so that no flow evicts another."""
    rng = random.Random(seed)
    most = rng.choice((3, 8, 448))
    oracle = Jfepm(Limits(FORM, max_count=most), split_arrivals=False)
    lines, expected, now, waiting, grouped = [f"merge 1000000007 {most}"], [], 0, 0, 0
    for number in range(3000):
        now += rng.choice((0, 500, 20_000))
        length, flow = rng.choice((20, 40, 600, 1400, 1500)), rng.randrange(6)
        frame = ipv4(length, flow, number=number, protocol=rng.choice((6, 17)))
        if rng.random() < 0.03:
            frame = ipv4(length, flow, number=number, trailer=b"x")
        elif rng.random() < 0.03:
            frame = MACS + b"\x08\x06" + bytes(28)
        lines.append(f"arrive {now} {frame.hex()}")
        oracle.arrive(Arrival.of(now, frame, FORM, number))
        waiting += 1
        while waiting and rng.random() < (0.5 if waiting > 30 else 0.2):
            left = [a.number for a in oracle.take(now)]
            waiting -= len(left)
            grouped += len(left) > 1
            lines.append("take")
            expected.append(left)
    assert [[int(w) for w in line.split()] for line in ask(lines)] == expected
    assert grouped > 100


#: Slots of idle time of 1.28 ns.
RED = {"limit": 60_000, "min": 5_000, "max": 15_000, "probability": 0.1, "weight": 0.02, "avpkt": 16, "bandwidth": 1e11}


@pytest.mark.parametrize("flows", [2, 12])
@pytest.mark.parametrize("load", [0.9, 3.0])
@pytest.mark.parametrize(
    "policy,settings",
    [
        ("drop-tail", {"unit": "packets", "limit": 40}),
        ("dt-ecn", {"limit": 30_000, "threshold": 9_000}),
        (
            "fn",
            {
                "limit_bytes": 60_000,
                "window": 64,
                "t": "2ms",
                "qopt": 9_000,
                "mean": 1064,
                "capacity": 1e8,
                "ecn": "on",
            },
        ),
        ("red", RED),
        ("isred", RED | {"slope": 200_000}),
    ],
    ids=["drop-tail", "dt-ecn", "fn", "red", "isred"],
)
def test_a_queue_that_merges_is_predicted(policy: str, settings: dict[str, object], load: float, flows: int) -> None:
    """Every trace record of the RTL, and every frame: its packets, its time, of jumbo frames every byte."""
    rng = random.Random(f"{policy}{load}{flows}")
    words = [w for item in settings.items() for w in item]
    core = "network-jumbo" if policy in ("drop-tail", "red") and load == 3 else "full"
    done = run(
        "port_check", policy, rng.choice(("1e7", "1e8")), 2500, load, rng.randrange(1, 1 << 30), *words,
        "merge", flows, "core", core,
    )  # fmt: skip
    first, rtl, golden = done.stdout.splitlines()
    print(f"{policy} load {load}, {flows} flows, {core}: {first}")
    assert rtl == golden and int(first.split()[0]) == 2500 and int(first.split()[4]) >= 2500


def test_merging_and_the_unit_frames_have_no_golden_model() -> None:
    """One line; the RTL alone would run it."""
    done = run(
        "port_check", "red", "1e7", 100, 1, 1, "unit", "frames", "limit", 60, "min", 5, "max", 15, "merge", 2, code=1
    )
    assert "covers the units bytes and packets" in done.stderr and done.stderr.count("\n") == 1


SMALL: dict[str, Any] = {"duration": 0.001, "warm": 0.001, "load": 1.6}


@pytest.mark.parametrize("merge", ["on", "off"])
def test_the_data_center_is_the_same_with_the_rtl(merge: str) -> None:
    """One uplink and one split are RTL: all records and frames compared, each uplink's trace and each time the same."""
    rtl, golden = (experiment("datacenter", queue=q, merge=merge, **SMALL) for q in ("rtl", "golden"))
    core = rtl["core"]
    print(core)
    assert core["trace_hash"] == golden["core"]["trace_hash"] and rtl["results"] == golden["results"]
    assert core["compared"] == core["records"] > 1000 and core["split_frames_compared"] > 500
    results = rtl["results"]
    assert (results["jumbo_frames"] > 20) == (merge == "on") and results["jumbo_packets"] >= 2 * results["jumbo_frames"]
    assert results["flows"] > 20 and results["unfinished"] == 0


@pytest.mark.parametrize(
    ("limit", "counts", "told"),
    [
        # one is sent, three wait: two places of five, so the next four are dropped; two fit, and then none
        (5, (4, 4, 2, 2), "6 6 6"),
        (5, (5,), "5 0 0"),
        # five places, six packets: none goes up, though five would fit
        (5, (6,), "0 6 6"),
        (40, (10, 10, 10, 10), "40 0 0"),
    ],
)
def test_a_jumbo_frame_is_dropped_whole_if_the_port_has_room_for_some_of_it(
    limit: int, counts: tuple[int, ...], told: str
) -> None:
    """Algorithm 2 of paper 002. Frames that come down at one moment to one host: received, dropped, dropped with their frame."""
    assert run("split_check", limit, *counts).stdout.strip() == told


def test_transfers_take_the_time_that_arithmetic_says() -> None:
    """Hardly any load: no flow is faster than its slow start (window 1, 2, 4, 8, 16, 20), and one inside a rack, with 4 links
    of 25 us in its RTT instead of 8 or 12, takes less than 0.62 of the time of one that leaves it."""
    got = experiment(
        "datacenter", queue="ns3", merge="off", load=0.02, duration=0.05, warm=0.001, elephants=0, size=1460
    )
    results = got["results"]
    assert results["dropped"] == 0 and results["unfinished"] == 0
    assert results["fct_small_us"] < results["fct_middle_us"] < results["fct_large_us"]
    assert 1000 < results["fct_inside_us"] < 0.62 * results["fct_outside_us"] < 2500
    # 95 segments and more: 31 in five rounds, 20 in each after them, one for the SYN; a round takes 100 us at least
    assert results["fct_large_us"] > 9 * 100


@pytest.mark.parametrize(("name", "value"), [("racks", 6), ("host-rate", 5e8), ("up-rate", 5e9), ("delay", 5e-5), ("least", 50_000), ("most", 99_000), ("min-rto", 0.001)])  # fmt: skip
def test_the_tree_and_the_transfers_are_parameters(name: str, value: float) -> None:
    """Each changes the run, and is in its result."""
    common: dict[str, Any] = {"queue": "golden", **SMALL, "hosts": 8, "limit": 5, "elephants": 0}
    changed, same = experiment("datacenter", **common, **{name: value}), experiment("datacenter", **common)
    assert changed["parameters"][name] == value != same["parameters"][name] and same["results"]["flows"] > 0
    assert changed["results"] != same["results"]


def test_a_mean_of_no_transfer_is_null() -> None:
    """All transfers are large: there is no mean of small ones."""
    got = experiment(
        "datacenter", queue="golden", load=0.05, duration=0.001, warm=0, hosts=8, elephants=0, least=1000, most=1000
    )
    results = got["results"]
    assert results["flows"] > 0 and results["fct_small_us"] > 0
    assert results["fct_middle_us"] is None and results["fct_large_us"] is None


def test_all_flows_end_with_merging() -> None:
    """All flows end. Few packets are merged even then: two racks share each link of the core switch, so their uplinks are
    seldom busy (docs/reproduce.md)."""
    got = experiment("datacenter", queue="golden", merge="on", load=1.6, duration=0.004, warm=0.001)
    results = got["results"]
    share = results["jumbo_packets"] / got["core"]["uplink_packets"]
    print(f"{share:.0%} of the packets in {results['jumbo_frames']} jumbo frames")
    assert share > 0.01 and results["jumbo_frames"] > 300 and results["unfinished"] == 0


@pytest.mark.parametrize(
    "words,code,why",
    [
        (["--queue=ns3", "--merge=on"], 2, "ns-3 has no queue that merges"),
        (["--queue=golden", "--rtl=3"], 2, "--rtl is of --queue rtl only"),
        (["--queue=ns3", "--merge=off", "--stretch=50"], 2, "--stretch is of --queue rtl and golden only"),
        (["--hosts=3"], 2, "must be even"),
        (["--racks=3"], 2, "--racks must be even"),
        (["--racks=2", "--rtl=3"], 2, "--rtl=3 may not exceed --racks=2"),
        (["--least=3000", "--most=2000"], 2, "--least may not exceed --most"),
        (["--host-rate=1"], 2, "must be 64000"),
        (
            ["--queue=golden", "--load=0.01", "--duration=0.001", "--warm=0", "--least=1000000", "--most=1000000000"],
            1,
            "no transfer begins between --warm=0 and 0.001 s",
        ),
        (["--hosts=70"], 2, "must be 2 to 60"),
        (["--hosts=2", "--elephants=20"], 2, "--elephants=20 must be 0 to 1, half of --hosts"),
        (["--hosts=4", "--elephants=3"], 2, "--elephants=3 must be 0 to 2"),
        (["--stretch=1.5"], 2, "must be a whole number"),
        (["--size=100"], 2, "must be 200 to 1514"),
        (["--queue=golden", "--stretch=1", "--merge=off", "--duration=0.001"], 1, "up to 100 Mbit/s"),
        (["--model=/nowhere/libweir_model.so", "--duration=0.001"], 1, "the cycle model is missing"),
        (["--latency=1e-8", "--duration=0.001", "--warm=0.001"], 1, "in time"),
    ],
)
def test_bad_input_of_the_data_center_is_one_line(words: list[str], code: int, why: str) -> None:
    """Never a silent default."""
    done = subprocess.run(
        [ROOT / "build" / "ns3" / "bin" / "datacenter", *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code and why in done.stderr and done.stderr.count("\n") == 1 and not done.stdout

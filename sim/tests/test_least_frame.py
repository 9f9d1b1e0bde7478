"""What frames take of a link that is slower than the line: max(L, mpu) + overhead byte times each, in the core and in every tool.

A frame on Ethernet has 64 bytes with FCS at least; preamble and gap are 20 more (IEEE 802.3). So 42 bytes without FCS take 84 byte
times, 672 ns at 1 Gb/s: 1,488,095 frames a second.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from captures import EPOCH_NS, pcap
from jumbo_frames import MACS, ipv4
from weir_sim import Core, cli
from weir_sim.frames import udp_frame
from weir_sim.jumbo.wire import build
from weir_sim.pcap import read_capture
from weir_sim.replay import Options, replay

NS = 8
"""of a byte at 1 Gb/s"""
LATE = 13
"""ns that two times differ by at most: each is that of a cycle of 6.4 ns"""
ARP = MACS + b"\x08\x06" + bytes(28)
BURST = 40
"""frames after which the shaper's burst of 1538 bytes is used up"""


def link(**shaper: int) -> Core:
    """A core with a link of 1 Gb/s."""
    core = Core(egress="mac")
    core.device.queue_replace(0, "drop-tail")
    core.device.shape("1Gbit", **shaper)
    return core


def spaced(core: Core) -> float:
    """Byte times of the link from the start of a frame to that of the next, in the mean, once the burst is used up."""
    core.run_idle()
    first_ns = core.recv_many().first_ns[BURST:].astype(np.int64)
    assert len(first_ns) > 100
    return float(first_ns[-1] - first_ns[0]) / (len(first_ns) - 1) / NS


@pytest.mark.parametrize(
    ("shaper", "length", "expected"),
    [
        ({}, 42, 84), ({}, 59, 84), ({}, 60, 84), ({}, 61, 85), ({}, 1514, 1538),
        ({"mpu": 0}, 42, 66), ({"mpu": 0}, 59, 83), ({"mpu": 42}, 42, 66), ({"mpu": 43}, 42, 67),
        ({"mpu": 16383}, 42, 16407), ({"overhead": -4}, 42, 56), ({"overhead": -4, "mpu": 64}, 42, 60),
        ({"overhead": 0, "mpu": 84}, 42, 84),
    ],
)  # fmt: skip
def test_a_frame_takes_max_of_length_and_mpu_and_overhead(shaper: dict[str, int], length: int, expected: int) -> None:
    core = link(**shaper)
    count = BURST + 150
    core.send_many(udp_frame(length) * count, [length] * count, [core.now_ns] * count)
    assert spaced(core) == pytest.approx(expected, abs=LATE / NS / 140)


def test_packets_out_of_split_jumbo_frames_take_what_a_line_takes_for_them() -> None:
    """Of 40 bytes: 54 with their Ethernet header, which a line pads to 60. 78 byte times without mpu, 7.7 % too much traffic."""
    for shaper, expected in (({}, 84), ({"mpu": 0}, 78)):
        core = link(**shaper)
        core.device.jumbo("split")
        for number in range(2):
            core.send(build([ipv4(40, number=200 * number + n) for n in range(200)], [0] * 200), core.now_ns)
        assert spaced(core) == pytest.approx(expected, abs=LATE / NS / 350)


def test_replay_and_jumbo_report_have_the_same_link(tmp_path: Path) -> None:
    """1000 ARP requests of 42 bytes at one moment, into 1 Gb/s: in both the last leaves 84 byte times behind the one before it."""
    source, reported = tmp_path / "in.pcap", tmp_path / "report.pcap"
    source.write_bytes(pcap([(EPOCH_NS, ARP)] * 1000, nano=True))
    replay(Options(source, tmp_path / "replay.pcap", "drop-tail", link_rate=1e9))
    assert cli.main(["jumbo-report", str(source), "--link-rate", "1Gbit", "--write", str(reported)]) == 0
    spans = []
    for written in (tmp_path / "replay.pcap", reported):
        times = [packet.time_ns for packet in read_capture(written)]
        assert len(times) == 1000
        spans.append(times[-1] - times[BURST])
    assert spans == pytest.approx([(999 - BURST) * 84 * NS] * 2, abs=LATE)

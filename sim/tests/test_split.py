"""Jumbo frames that arrive are split by the core as docs/jumbo.md says; the oracle is weir_sim.jumbo."""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from captures import EPOCH_NS, pcap
from weir_sim.core import Core
from weir_sim.jumbo.wire import JumboFormat, Malformed, build, dissect, header_checksum, split
from weir_sim.pcap import read_capture
from weir_sim.replay import Options, replay

L2, L3 = JumboFormat(), JumboFormat(l3=True)
Rng = random.Random


def ip_packet(rng: Rng, version: int, length: int, dscp: int, ecn: int) -> bytes:
    """An IP packet of `length` bytes: IPv4 from 20, IPv6 from 40."""
    if version == 4:
        head = struct.pack(">BBHHHBBH", 0x45, dscp << 2 | ecn, length, rng.getrandbits(16), 0, 64, 17, 0)
        head += rng.randbytes(8)
        packet = head[:10] + header_checksum(head).to_bytes(2, "big") + head[12:] + rng.randbytes(length - 20)
    else:
        word = 6 << 28 | (dscp << 2 | ecn) << 20 | rng.getrandbits(20)
        packet = struct.pack(">IHBB", word, length - 40, 17, 64) + rng.randbytes(length - 8)
    return packet


def ethernet(rng: Rng, tags: int) -> bytes:
    """Addresses and tags."""
    kinds = {0: b"", 1: b"\x81\x00", 2: b"\x88\xa8"}
    header = b"\x02" + rng.randbytes(11)
    if tags == 2:
        header += kinds[2] + rng.randbytes(2)
    return header + (kinds[1] + rng.randbytes(2) if tags else b"")


def members(rng: Rng, lengths: Sequence[int], l3: bool, ecns: Sequence[int] = (0, 1, 2, 3)) -> list[bytes]:
    """Frames that may travel together."""
    version = 4 if l3 or min(lengths) < 40 else rng.choice((4, 6))
    head, dscp = ethernet(rng, rng.randrange(3)), rng.randrange(64)
    kind = b"\x08\x00" if version == 4 else b"\x86\xdd"
    return [head + kind + ip_packet(rng, version, n, dscp, rng.choice(ecns)) for n in lengths]


def any_lengths(rng: Rng, l3: bool) -> list[int]:
    room = 9216 - 14 - 8 - 20 * l3 - 6
    style = rng.randrange(4)
    low, high = ((20, 60), (46, 46), (20, 1500), (40, 4000))[style]
    count = rng.choice((1, 2, 3, 10, 40, 448))
    lengths: list[int] = []
    while len(lengths) < count:
        length = rng.randint(low, high)
        if sum(lengths) + length > 8960 or sum(lengths) + length + 4 * (len(lengths) + 1) > room:
            break
        lengths.append(length)
    return lengths


def any_jumbo(rng: Rng, ecns: Sequence[int] = (0, 1, 2, 3)) -> tuple[bytes, list[bytes]]:
    """A jumbo frame as a sender builds it, and the frames that it was made of."""
    form = rng.choice((L2, L3))
    frames = members(rng, any_lengths(rng, form.l3), form.l3, ecns)
    spacing = [rng.randrange(4000) for _ in frames]
    return build(frames, [sum(spacing[: n + 1]) for n in range(len(frames))], form, rng.getrandbits(16)), frames


def expected(frame: bytes) -> list[bytes] | None:
    """What the core makes of a frame; None if it drops it whole."""
    try:
        for form in (L2, L3):
            found = dissect(frame, form)
            if found:
                return split(found).frames
    except Malformed:
        return None
    return [frame]


def through(frames: Sequence[bytes], gap_ns: int = 0) -> tuple[list[bytes], Core]:
    """What leaves a core that splits, all through one queue that drops nothing."""
    core = Core(egress="mac")
    core.device.jumbo("split")
    core.device.queue_replace(0, policy="drop-tail")
    for n, frame in enumerate(frames):
        core.send(frame, core.now_ns + 1000 if n == 0 or gap_ns == 0 else core.line_free_ns + gap_ns)
    core.run_idle()
    return [out.data for out in core.recv()], core


@pytest.mark.parametrize("seed", range(4))
def test_splitting_gives_back_what_was_merged(seed: int) -> None:
    """Both forms, tags, IPv4 and IPv6, any lengths, with other frames between them, back to back."""
    rng = Rng(seed)
    sent, wanted, groups = [], [], Counter[int]()
    for _ in range(60):
        if rng.random() < 0.4:
            other = rng.randbytes(12) + rng.choice((b"\x08\x00", b"\x88\xb4", b"\x08\x06")) + rng.randbytes(
                rng.randint(20, 1500))  # fmt: skip
            sent.append(other)
            wanted.append([other])
        else:
            jumbo, frames = any_jumbo(rng)
            sent.append(jumbo)
            wanted.append(frames)
            groups[len(frames)] += 1
    received, core = through(sent, gap_ns=20000)
    flat = [frame for frames in wanted for frame in frames]
    assert received == flat
    assert sum(groups.values()) > 20 and max(groups) > 100 and 1 in groups
    counted = core.stats().core
    assert counted.rx.packets == len(flat) and counted.rx.bytes == sum(map(len, flat))
    assert counted.jumbo_in.packets == sum(groups.values())
    assert counted.rx_wire.packets == len(sent) and counted.rx_wire.bytes == sum(map(len, sent))
    assert counted.malformed.packets == counted.split_discarded.packets == 0


@pytest.mark.parametrize("seed", range(4))
def test_lies_are_dropped_whole_and_harm_nobody(seed: int) -> None:
    """Bytes are changed at random: a frame gives what the model says, or nothing; those behind it are unharmed."""
    rng = Rng(100 + seed)
    sent, wanted, lies, lie_bytes, lost = [], [], 0, 0, 0
    for _ in range(120):
        frame, _ = any_jumbo(rng)
        if rng.random() < 0.7:
            data = bytearray(frame)
            for _ in range(rng.choice((1, 1, 2, 5))):
                data[rng.randrange(12, min(len(data), 12 + 90))] = rng.randrange(256)
            cut = rng.randint(14, len(data)) if rng.random() < 0.2 else len(data)
            frame = bytes(data[:cut]) + rng.randbytes(rng.choice((0, 0, 0, 1, 8)))
        frame = frame[:9216]
        sent.append(frame)
        found = expected(frame)
        if found is None:
            lies, lie_bytes = lies + 1, lie_bytes + len(frame)
        else:
            wanted += found
            lost += sum(split(j).dropped for j in [dissect(frame, L2) or dissect(frame, L3)] if j)
    received, core = through(sent, gap_ns=20000)
    assert received == wanted
    counted = core.stats().core
    assert (counted.malformed.packets, counted.malformed.bytes) == (lies, lie_bytes) and lies > 20
    assert counted.split_discarded.packets == lost
    assert core.device.core_live().free_cells == core.device.capabilities.cells - 1


def test_a_mark_of_the_outer_header_reaches_the_packets() -> None:
    """RFC 6040, section 4.2: CE goes to ECT packets, those that are Not-ECT are dropped and counted."""
    rng = Rng(7)
    frames = members(rng, [100] * 40, True)
    jumbo = bytearray(build(frames, [0] * 40, L3))
    at = jumbo.index(b"\x08\x00", 12) + 2
    before = struct.unpack_from(">H", jumbo, at + 10)[0]
    jumbo[at + 1] |= 3
    jumbo[at + 10 : at + 12] = b"\0\0"
    struct.pack_into(">H", jumbo, at + 10, header_checksum(bytes(jumbo[at : at + 20])))
    assert before != struct.unpack_from(">H", jumbo, at + 10)[0]
    received, core = through([bytes(jumbo)])
    not_ect = [f for f in frames if f[at + 1] & 3 == 0]
    assert len(received) == 40 - len(not_ect) and len(not_ect) > 3
    assert all(f[at + 1] & 3 == 3 for f in received)
    discarded = core.stats().core.split_discarded
    assert (discarded.packets, discarded.bytes) == (len(not_ect), sum(map(len, not_ect)))


def test_a_jumbo_frame_of_46_byte_packets_is_split_at_line_rate() -> None:
    """9000 bytes of 46-byte packets, back to back: none of 20 frames is lost, though each is 178 arrivals."""
    rng = Rng(9)
    frames = [members(rng, [46] * 178, False) for _ in range(20)]
    jumbos = [build(group, [0] * 178) for group in frames]
    assert all(8900 < len(j) <= 9000 for j in jumbos)
    core = Core(egress="mac")
    core.device.jumbo("split")
    core.device.queue_replace(0, policy="drop-tail")
    for jumbo in jumbos:
        core.send(jumbo, core.now_ns)
    core.run_idle()
    counted = core.stats().core
    assert counted.ingress_overflow.packets == 0 and counted.malformed.packets == 0
    assert [f.data for f in core.recv()] == [f for group in frames for f in group]


@pytest.mark.parametrize("seed", range(3))
def test_a_full_buffer_drops_jumbo_frames_whole(seed: int) -> None:
    """A slow link and more than the buffer holds: whole frames or nothing, everything counted, no cell lost."""
    rng = Rng(200 + seed)
    core = Core(egress="mac")
    core.device.jumbo("split")
    core.device.queue_replace(0, policy="drop-tail")
    core.device.shape("2Gbit")
    groups = [members(rng, [rng.randint(100, 1400) for _ in range(6)], False) for _ in range(1500)]
    jumbos = [build(group, [0] * 6) for group in groups]
    for jumbo in jumbos:
        core.send(jumbo, core.now_ns)
    core.run_idle()
    live = core.device.state().core_live
    assert live.free_cells == core.device.capabilities.cells - 1 and live.free_cells_min < 200
    out = [f.data for f in core.recv()]
    lost, at = 0, 0
    for group in groups:
        if out[at : at + 6] == group:
            at += 6
        else:
            lost += 1
            assert not set(out) & set(group), "a jumbo frame comes out in part"
    assert at == len(out)
    counted = core.stats().core
    assert counted.ingress_overflow.packets == lost > 10 and counted.malformed.packets == 0
    assert counted.rx.packets == counted.tx.packets + lost


def test_an_opaque_core_leaves_them_alone() -> None:
    rng = Rng(11)
    jumbos = [any_jumbo(rng)[0] for _ in range(10)]
    core = Core(egress="mac")
    for jumbo in jumbos:
        core.send(jumbo, core.now_ns)
    core.run_idle()
    assert [f.data for f in core.recv()] == jumbos


def test_packets_of_an_l2_frame_go_to_the_queue_of_their_dscp() -> None:
    rng = Rng(13)
    core = Core(egress="mac")
    core.device.jumbo("split")
    core.device.dscp_map([n % 4 for n in range(64)])
    core.device.default_queue(3)
    sent: Counter[int] = Counter()
    for _ in range(30):
        form = rng.choice((L2, L3))
        frames = members(rng, [rng.randint(40, 300) for _ in range(5)], form.l3)
        at = frames[0].index(b"\x08\x00" if frames[0][12:].find(b"\x86\xdd") < 0 else b"\x86\xdd", 12) + 2
        ip = frames[0][at:]
        dscp = ip[1] >> 2 if ip[0] >> 4 == 4 else (ip[0] & 15) << 2 | ip[1] >> 6
        sent[dscp % 4] += 5
        core.send(build(frames, [0] * 5, form), core.now_ns)
    core.run_idle()
    stats = core.stats()
    assert {q: stats.queues[q].arrivals.packets for q in range(4)} == {q: sent[q] for q in range(4)}
    assert len(sent) == 4


def test_a_replay_splits_and_its_sums_hold(tmp_path: Path) -> None:
    rng = Rng(17)
    source, target = tmp_path / "in.pcap", tmp_path / "out.pcap"
    jumbos = [any_jumbo(rng) for _ in range(40)]
    source.write_bytes(pcap([(EPOCH_NS + 40_000 * n, frame) for n, (frame, _) in enumerate(jumbos)], nano=True))
    stats = replay(Options(source, target, "drop-tail", jumbo="split")).stats
    flat = [f for _, frames in jumbos for f in frames]
    assert [p.data for p in read_capture(target)] == flat
    assert stats["jumbo"] == "split"
    assert stats["rx"] == {"packets": len(flat), "bytes": sum(map(len, flat))} == stats["tx"]
    assert stats["rx_frames"] == {"packets": 40, "bytes": sum(len(j) for j, _ in jumbos)} == stats["jumbo_in"]


@pytest.mark.parametrize("seed", range(3))
def test_a_reset_at_any_moment_loses_no_cell(seed: int) -> None:
    """A reset by register while jumbo frames come in and packets leave; those that come after it are whole."""
    rng = Rng(300 + seed)
    core = Core(egress="mac")
    core.device.jumbo("split")
    core.device.queue_replace(0, policy="drop-tail")
    core.device.shape("3Gbit")
    for _ in range(12):
        for _ in range(8):
            core.send(any_jumbo(rng)[0], core.now_ns)
        core.run_until(core.now_ns + rng.randrange(60_000))
        core.device.reset()
        core.run_until(core.line_free_ns + 1000)
        core.device.reset()  # what came after the first reset is gone too
        core.run_idle()
        core.recv()
        jumbo, frames = any_jumbo(rng)
        core.send(jumbo, core.now_ns)
        core.run_idle()
        assert [f.data for f in core.recv()] == frames
        assert core.device.core_live().free_cells == core.device.capabilities.cells - 1


def test_red_decides_packets_of_jumbo_frames_like_any_other() -> None:
    """One decision and one draw a packet; idle time counts for the first packet of a frame that finds the queue empty."""
    rng = Rng(19)
    core = Core(egress="mac")
    core.device.jumbo("split")
    settings = {"min": 3000, "max": 9000, "probability": 0.2, "weight": 0.25, "limit_bytes": 100000, "avpkt": 500}
    core.device.queue_replace(0, policy="red", **settings)
    core.device.trace_enable()
    core.device.shape("1Gbit")
    sent = 0
    for _ in range(40):
        _, frames = jumbo = any_jumbo(rng)
        core.send(jumbo[0], core.now_ns)
        sent += len(frames)
        core.run_idle()
        core.run_until(core.now_ns + 200_000)
    records = core.trace()
    arrivals = records[records["kind"] == 0]
    assert len(arrivals) == sent > 500
    assert len(set(arrivals["u"].tolist())) > 0.99 * sent
    first = arrivals["q_packets"] == 0
    idle = arrivals["idle_slots"]
    # every frame but the first finds an empty queue after a long idle time; packets behind the first do not
    assert (idle[first] > 0).sum() >= 39 and (idle[~first] == 0).all()
    dropped = int((arrivals["action"] == 2).sum())
    stats = core.stats()
    assert (
        dropped
        == sum(c.packets for c in (stats.queues[0].early, stats.queues[0].forced, stats.queues[0].overflow))
        > 20
    )

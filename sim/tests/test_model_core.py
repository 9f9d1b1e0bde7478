"""The cycle model and its Python class, on the real core."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weir
from weir.sim import BusError, Core, Frame
from weir_sim import native
from weir_sim.frames import ECT0, NOT_ECT, udp_frame
from weir_sim.trace import RECORD, decode

MAGIC = 0x57454952
ROOT = Path(__file__).resolve().parents[2]


def cycle(ns: int) -> int:
    """The cycle that begins at `ns`."""
    return -(-ns * 5 // 32)


def ready(policy: str = "drop-tail", skip: bool = True, egress: str = "mac", **settings: object) -> Core:
    """A core with trace and a policy in queue 0."""
    core = Core(egress=egress, skip=skip)
    core.device.trace_enable()
    core.device.queue_replace(0, policy, **settings)  # type: ignore[arg-type]
    return core


def busy_scene(skip: bool, seed: int = 5) -> tuple[list[Frame], bytes, bytes]:
    """Bursts, idle times of all lengths, marks, drops and a shaper; answers everything that came out."""
    core = ready("red", skip, limit="20KB", min="2KB", max="8KB", probability=0.3, weight=0.2, ecn=True)
    core.device.seed(seed)
    core.device.shape(rate="800Mbit")
    rng = np.random.default_rng(seed)
    at = core.now_ns + 20_000
    start = at
    for number in range(400):
        length = int(rng.choice((60, 65, 200, 590, 1514)))
        core.send(udp_frame(length, ecn=int(rng.choice((NOT_ECT, ECT0))), number=number), at, bad=number % 37 == 5)
        if rng.random() < 0.1:
            at += int(rng.choice((50, 3_000, 77_777, 900_001)))
    core.run_until(start + 10_000_000)
    assert core.run_idle(core.now_ns + 10_000_000)
    words, times = core.trace_words()
    return core.recv(), words.tobytes(), times.tobytes()


def test_registers_answer() -> None:
    core = Core()
    assert core.csr_read(0) == MAGIC
    core.csr_write(0x30, 0xDEADBEEF)
    assert core.csr_read(0x30) == 0xDEADBEEF
    for action in (lambda: core.csr_read(0xFFF0), lambda: core.csr_write(0, 1), lambda: core.csr_read(0x31)):
        with pytest.raises(BusError, match="SLVERR"):
            action()
    assert core.csr_read(0x30) == 0xDEADBEEF
    with pytest.raises(BusError):
        core.csr_read(0x10000)


def test_frames_come_out_whole_and_in_order() -> None:
    core = ready()
    sent = [udp_frame(n, number=n) for n in (60, 61, 63, 64, 65, 127, 128, 129, 590, 1514, 1518, 9000, 9216)]
    for frame in sent:
        core.send(frame)
    core.run_idle()
    out = core.recv()
    assert [frame.data for frame in out] == sent
    assert not any(frame.bad for frame in out)
    assert core.recv() == []
    for frame in out:
        assert cycle(frame.last_ns) - cycle(frame.first_ns) == -(-len(frame.data) // 8) - 1


def test_line_keeps_the_spacing_of_10_gigabit_ethernet() -> None:
    core = ready(egress="ready")
    count, at = 1001, core.now_ns + 1000
    for _ in range(count):
        core.send(udp_frame(60), at)
    assert core.line_free_ns == -(-(-(-at * 5 // 4) + count * 84) * 4 // 5)
    core.run_idle()
    records = core.trace()
    times = records["time_ns"][records["kind"] == 0].astype(float)
    assert len(times) == count
    assert (times[-1] - times[-801]) / 800 == pytest.approx(67.2, abs=0.01)


def test_raw_line_sends_back_to_back_and_waits_for_the_time_asked() -> None:
    core = ready(egress="ready")
    core.line = "raw"
    at = core.now_ns + 10_001
    for _ in range(10):
        core.send(udp_frame(128), at)
    core.run_until(at)
    assert core.pending == 10
    core.run_idle()
    records = core.trace()
    times = [cycle(int(t)) for t in records["time_ns"][records["kind"] == 0]]
    assert np.diff(times).tolist() == [16] * 9


def test_egress_is_paced_like_a_mac() -> None:
    core = ready(egress="stopped")
    for _ in range(101):
        core.send(udp_frame(60))
    core.run_until(core.line_free_ns + 2000)
    assert core.recv() == []
    core.egress = "mac"
    core.run_idle()
    first = [frame.first_ns for frame in core.recv()]
    assert len(first) == 101
    assert (first[-1] - first[0]) / 100 == pytest.approx(67.2, abs=0.07)


def test_time_runs_in_cycles_of_6_4_ns() -> None:
    core = Core()
    core.run_until(core.now_ns + 12_345)
    assert core.now_ns == core.cycles * 32 // 5
    now = core.now_ns
    core.run_until(now)
    core.run_until(0)
    assert core.now_ns == now
    core.run_cycles(5)
    assert core.now_ns == now + 32


def test_skipping_changes_nothing() -> None:
    skipped, plain = busy_scene(True), busy_scene(False)
    assert len(plain[0]) > 100
    for ours, theirs in zip(skipped, plain, strict=True):
        same = ours == theirs  # no diff of megabytes
        assert same


def test_skipping_skips() -> None:
    core = ready()
    begin, cycles = core.evaluated, core.cycles
    core.run_until(core.now_ns + 1_000_000_000)
    assert core.cycles - cycles == 156_250_000
    assert core.evaluated - begin < 100_000


def test_the_seed_decides() -> None:
    same = busy_scene(True, 5) == busy_scene(True, 5)
    assert same
    core = [ready("red", min="1KB", max="30KB", probability=0.5, weight=0.5, limit="200KB") for _ in range(2)]
    draws = []
    for i, one in enumerate(core):
        one.device.seed(100 + i)
        for number in range(100):
            one.send(udp_frame(1000, number=number))
        one.run_idle()
        records = one.trace()
        draws.append(records["u"][records["kind"] == 0].tolist())
    assert draws[0] != draws[1]


def test_cores_of_one_process_are_independent() -> None:
    alone = ready()
    alone.send(udp_frame(1514, number=1), alone.now_ns + 1000)
    alone.run_idle()
    expected = alone.recv()

    one, other = ready(), ready()
    one.send(udp_frame(1514, number=1), one.now_ns + 1000)
    for number in range(50):
        other.send(udp_frame(60, number=number))
    other.csr_write(0x30, 7)
    for _ in range(400):
        one.run_cycles(3)
        other.run_cycles(11)
    one.run_idle()
    other.run_idle()
    assert one.recv() == expected
    assert len(other.recv()) == 50
    assert one.csr_read(0x30) != 7


def test_bad_runt_and_oversize_frames_are_counted_once() -> None:
    core = ready()
    core.send(udp_frame(200), bad=True)
    core.send(b"\x02" * 13)
    core.send(b"\x02" * 9217)
    core.send(udp_frame(60))
    core.run_idle()
    assert len(core.recv()) == 1
    stats = core.stats()
    assert (stats.core.bad, stats.core.runt, stats.core.oversize) == (
        weir.Count(1, 200), weir.Count(1, 13), weir.Count(1, 9217))  # fmt: skip
    assert stats.core.rx == weir.Count(4, 200 + 13 + 9217 + 60)
    assert stats.core.tx == weir.Count(1, 60)
    assert (stats.frames_in, stats.frames_out, stats.bytes_out) == (4, 1, 60)


def test_trace_is_decoded_as_libweir_does() -> None:
    _, raw, _ = busy_scene(True)
    words = np.frombuffer(raw, np.uint32).reshape(-1, 12)
    assert len(words) > 500
    for ours, row in zip(decode(words), words.tolist(), strict=True):
        theirs = weir.decode_trace(row)
        assert int(ours["time_ns"]) == theirs.time_ns
        assert int(ours["seq"]) == theirs.number
        assert (int(ours["q_bytes"]), int(ours["length"])) == (theirs.bytes, theirs.length)
        assert (int(ours["packets"]), bool(ours["exempt"])) == (theirs.members, theirs.exempt)
        if ours["kind"] == 0:
            assert float(ours["avg"]) == theirs.average
            assert float(ours["p"]) == theirs.p
            assert int(ours["u"] * 2**24) == theirs.draw
        else:
            assert int(ours["sojourn_ns"]) == theirs.sojourn_ns


def test_every_field_of_a_record_is_decoded() -> None:
    words = np.zeros((2, 12), np.uint32)
    words[0] = [0x89ABCDEF, 0xF2920123 & 0xFFFFFFFF, 0x00214000 | 1514, 70_000, 3 << 16 | 7, 1 << 11, 1 << 31, 9,
                1 << 31, 1 << 23, 12, 99]  # fmt: skip
    words[1] = [5, 1 << 20 | 2 << 16, 1 << 14 | 60, 0, 0, 0xFFFFFFFF, 0x12345, 0, 0, 0, 0, 98]
    one, two = decode(words)
    assert int(one["time_ns"]) == 0x0123_89AB_CDEF
    assert (int(one["queue"]), int(one["kind"]), int(one["action"]), int(one["cause"])) == (2, 1, 2, 2)
    assert (int(two["queue"]), int(two["kind"]), int(two["marked"]), int(two["length"])) == (2, 1, 1, 60)
    assert int(two["sojourn_ns"]) == 0x2345_FFFF_FFFF
    words[0, 1], words[0, 2] = 0xF282_0123, 448 << 22 | 0x00214000 | 1514
    (one, _) = decode(words)
    assert (int(one["kind"]), int(one["ecn"]), int(one["exempt"])) == (0, 3, 1)
    assert float(one["p"]) == 1.5 and float(one["u"]) == 0.5
    assert float(one["avg"]) == (1 << 22 | 1 << 10) / 2**22
    assert (int(one["q_frames"]), int(one["q_packets"]), int(one["count"]), int(one["idle_slots"])) == (3, 7, 9, 12)
    assert (int(one["policy"]), int(one["unit"]), int(one["seq"])) == (1, 2, 99)
    assert (int(one["packets"]), int(one["length"])) == (448, 1514)
    assert len(RECORD.names or ()) == 26


def test_link_down_drops_and_counts() -> None:
    core = ready(egress="stopped")
    for _ in range(10):
        core.send(udp_frame(600))
    core.run_until(core.line_free_ns + 2000)
    core.set_link(False)
    core.run_cycles(2000)
    core.set_link(True)
    core.egress = "mac"
    core.run_idle()
    stats = core.stats()
    assert stats.core.rx.packets == 10
    assert stats.core.tx.packets + stats.queues[0].link_down.packets == 10
    assert stats.queues[0].link_down.packets >= 8


def test_send_many_checks_its_arrays() -> None:
    core = Core()
    with pytest.raises(ValueError, match="do not describe the same frames"):
        core.send_many(bytes(100), [60, 41], [0, 0])
    with pytest.raises(ValueError, match="do not describe the same frames"):
        core.send_many(bytes(100), [60, 40], [0])
    with pytest.raises(ValueError, match="1 to 65535 bytes"):
        core.send(b"")
    assert core.pending == 0
    with pytest.raises(ValueError, match="line is 10gbe or raw"):
        core.line = "slow"
    with pytest.raises(ValueError, match="egress is ready, mac, stopped"):
        core.egress = "slow"


def test_what_is_not_kept_is_counted() -> None:
    core = ready()
    core.keep(frames=False, trace=False)
    core.send(udp_frame(60))
    core.run_idle()
    assert core.recv() == [] and len(core.trace()) == 0
    assert core.stats().frames_out == 1


def test_a_core_that_cannot_become_idle_is_told() -> None:
    core = ready(egress="stopped")
    core.send(udp_frame(60))
    assert core.run_idle(core.now_ns + 50_000) is False
    core.egress = "ready"
    assert core.run_idle() is True


def test_reset_starts_anew() -> None:
    core = ready()
    core.send(udp_frame(60))
    core.run_idle()
    core.reset()
    assert core.device.core_live().held_packets == 0
    core.device.snapshot()
    assert core.device.core_counters().rx.packets == 0


def test_model_without_waveforms_says_so() -> None:
    lib = native.load("full")
    assert lib.weir_model_can_wave() == 0
    assert native.ffi.string(lib.weir_model_preset()) == b"full"


@pytest.mark.parametrize(("preset", "queues"), [("full", 4), ("network", 1)])
def test_a_model_knows_its_queues(preset: str, queues: int) -> None:
    """As its register PARAMS."""
    assert native.load(preset).weir_model_queues() == queues == Core(preset).device.capabilities.queues


def test_a_model_knows_its_rtl() -> None:
    """As `sha256sum` has it of the Verilog of that preset."""
    verilog = sorted((ROOT / "build" / "rtl" / "full").glob("*.v"))
    told = native.ffi.string(native.load("full").weir_model_rtl()).decode()
    assert told == hashlib.sha256(b"".join(path.read_bytes() for path in verilog)).hexdigest() and verilog


def test_cores_end_in_any_order() -> None:
    """Freed memory is overwritten (`MALLOC_PERTURB_` of glibc), so that what a core leaves behind is not used by luck."""
    program = (
        "from weir_sim import Core\n"
        "for first in (0, 1, 2):\n"
        "    cores = [Core('network') for _ in range(3)]\n"
        "    while cores:\n"
        "        cores.pop(first % len(cores)).run_cycles(10)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"MALLOC_PERTURB_": "165"}, capture_output=True, timeout=100
    )
    assert done.returncode == 0, done.stderr.decode()

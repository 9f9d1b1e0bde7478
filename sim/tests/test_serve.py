"""`weir-sim serve`: places, traffic, time, several clients, and how it ends."""

from __future__ import annotations

import gzip
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import weir
from captures import EPOCH_NS, pcap, small_rows, snapped
from jumbo_frames import ipv4
from weir_sim import Core, cli, serve
from weir_sim.errors import UsageError
from weir_sim.jumbo import build
from weir_sim.pcap import CaptureError
from weir_sim.protocol import encode
from weir_sim.serve import Options, Server
from weir_sim.traffic import Capture, Random, source

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    path = os.pathsep.join(str(ROOT / p) for p in ("sw-driver/python", "sim/python"))
    started = subprocess.Popen(
        [sys.executable, "-m", "weir_sim", "serve", "--socket", str(tmp_path / "s"), "--pty", str(tmp_path / "t"), "--traffic",
         "2Gbit", "--link-rate", "1Gbit"],
        env={**os.environ, "PYTHONPATH": path}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    yield started
    started.kill()
    started.wait()


def test_a_served_core_answers_on_both_places_and_leaves_none_behind(
    process: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(2)]
    assert f"preset full at unix:{tmp_path}/s; try: weirctl -d unix:{tmp_path}/s queue show" in lines[0]
    with weir.Device(f"unix:{tmp_path}/s") as one, weir.Device(f"uart:{tmp_path}/t") as two:
        assert one.shape_show()["rate"] == pytest.approx(1e9)
        one.queue_replace(1, "codel")
        assert two.queue_show(1)["policy"] == "codel"
        deadline = time.monotonic() + 20
        while not two.state().queues[0].out.packets:
            assert time.monotonic() < deadline
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert not (tmp_path / "s").exists() and not (tmp_path / "t").is_symlink()


def test_an_ended_server_removes_its_socket(process: subprocess.Popen[str], tmp_path: Path) -> None:
    assert process.stdout is not None
    process.stdout.readline()
    process.terminate()
    assert process.wait(20) == 143 and not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a place: --socket PATH, --pty PATH or both"),
        (["--socket", "absent/s"], "the directory"),
        (["--socket", "file"], "is not a socket"),
        (["--socket", "served"], "another server is there"),
        (["--socket", "x" * 200], "at most 107 bytes"),
        (["--socket", "s", "--traffic", "fast"], "neither a capture nor a rate"),
        (["--socket", "s", "--traffic", "20Gbit"], "out of range: allowed is above 0 to 10Gbit"),
        (["--socket", "s", "--pty", "file"], "file: is there already; choose another path"),
        (["--socket", "s", "--pty", "link"], "link: is there already; choose another path"),
        (["--socket", "s", "--pty", "absent/t"], "absent/t: No such file or directory"),
        (["--socket", "s", "--slow", "-1"], "--slow -1 is out of range: allowed is 0 and above"),
        (["--socket", "s", "--link-rate", "fast"], "--link-rate fast"),
        (["--socket", "s", "--link-rate", "20Gbit"], "rate 20Gbit is out of range"),
    ],
)
def test_what_cannot_be_served_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind("served")
        other.listen()
        assert cli.main(["serve", *words]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "link", "served"] and (tmp_path / "link").is_symlink()


def test_a_socket_that_nobody_serves_is_taken_over(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(tmp_path / "s"))
    server = Server(Core("full"), Options(socket=tmp_path / "s", slow=0))
    server.close()
    assert not (tmp_path / "s").exists()


def test_time_follows_the_clock_and_traffic_its_rate(tmp_path: Path) -> None:
    """2 ms of traffic at 1 Gbit/s on the wire: 250 kB and the mean of Poisson arrivals, 4 sigma."""
    core = Core("full", egress="mac")
    server = Server(core, Options(socket=tmp_path / "s", source=Random(1e9), slow=100))
    begun, first = time.monotonic(), core.now_ns
    while core.now_ns - first < 2_000_000:
        server.turn()
    took = time.monotonic() - begun
    server.close()
    assert took >= 0.19
    stats = core.stats()
    bytes_in = stats.bytes_in + 24 * stats.frames_in
    mean = (64 * 7 + 576 * 4 + 1514) / 12 + 24
    square = ((64 + 24) ** 2 * 7 + (576 + 24) ** 2 * 4 + (1514 + 24) ** 2) / 12
    lead = 1.2  # what was sent ahead is partly in
    assert abs(bytes_in - 250_000) < 4 * (250_000 / mean * square) ** 0.5 + 12_500 * lead


def test_a_capture_comes_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "c.pcap").write_bytes(pcap(small_rows(), nano=True))
    rows = small_rows()
    capture = source(str(tmp_path / "c.pcap"), 1.0, 1)
    assert isinstance(capture, Capture)
    core = Core("full")
    span = rows[-1][0] - rows[0][0]
    for _step in range(40):
        capture.feed(core, core.now_ns + span // 4)
        core.run_until(core.now_ns + span // 4)
    core.run_idle()
    frames = [f.data for f in core.recv()]
    assert (
        len(frames) > 2 * len(rows)
        and frames[: len(rows)] == [data for _, data in rows] == frames[len(rows) : 2 * len(rows)]
    )


def repeated(path: Path, rows: list[tuple[int, bytes]], speedup: float = 1.0) -> Capture:
    path.write_bytes(pcap(rows, nano=True))
    capture = source(str(path), speedup, 1)
    assert isinstance(capture, Capture)
    return capture


def served(capture: Capture, simulated_ns: int) -> tuple[int, int, int]:
    """Frames that came into a core and the time in ns, and the most frames that waited for its line; sent LEAD_NS ahead."""
    core, most = Core("full", egress="mac"), 0
    begun = core.now_ns
    while core.now_ns < begun + simulated_ns:
        capture.feed(core, core.now_ns + serve.LEAD_NS)
        most = max(most, core.pending)
        core.run_until(core.now_ns + serve.LEAD_NS // 2)
    capture.feed(core, core.now_ns + serve.LEAD_NS)
    frames = core.stats().frames_in  # this takes some time of the core
    return frames, core.now_ns - begun, most


@pytest.mark.parametrize(
    ("step_ns", "speedup"),
    [
        pytest.param(0, 1.0, id="one time stamp"),
        pytest.param(1000, 1e6, id="sped up"),
        pytest.param(-1000, 1.0, id="backwards"),
    ],
)
def test_traffic_above_the_line_rate_comes_at_the_line_rate(tmp_path: Path, step_ns: int, speedup: float) -> None:
    """10 Gbit/s carry 14.88 million minimum frames a second, of 84 byte times each."""
    frame = bytes([2] * 12) + b"\x88\xb6" + bytes(46)
    capture = repeated(tmp_path / "c.pcap", [(EPOCH_NS + i * step_ns, frame) for i in range(2)], speedup)
    assert len([note for note in capture.notes if "too fast for the 10 Gbit/s line" in note]) == 1
    frames, took_ns, most = served(capture, 500_000)
    assert frames == pytest.approx(14.88e-3 * took_ns, abs=10) and frames > 5 * 1480
    assert most <= 1488 + 2  # in 100 us


def test_a_packet_earlier_than_the_one_before_it_follows_that_one(tmp_path: Path) -> None:
    rows = small_rows(4, 100_000)
    shuffled = [rows[1], rows[0], rows[3], rows[2]]
    capture = repeated(tmp_path / "c.pcap", shuffled)
    assert len(capture.notes) == 1 and capture.notes[0].startswith("earlier than one before them: 2 packets")
    core = Core("full")
    begun = core.now_ns
    capture.feed(core, begun + 250_000)
    core.run_until(begun + 250_000)
    frames = core.recv()
    assert [f.data for f in frames] == [data for _, data in shuffled]
    times = [f.first_ns - frames[0].first_ns for f in frames]
    # two pairs, 200 us apart; the frames of a pair are next to each other on the line
    assert times[1] < 1000 and times[2] == pytest.approx(200_000, abs=10) and times[3] - times[2] < 1000


def test_random_traffic_at_the_line_rate_does_not_pile_up() -> None:
    core, traffic = Core("full", egress="mac"), Random(10e9)
    longest = 0.8 * (1514 + 24)
    for _ in range(40):
        traffic.feed(core, core.now_ns + serve.LEAD_NS)
        assert core.line_free_ns <= core.now_ns + serve.LEAD_NS + longest + 10
        core.run_until(core.now_ns + serve.LEAD_NS)


def test_a_capture_that_is_kept_is_bounded_by_its_frames_in_full(tmp_path: Path) -> None:
    """1100 frames of 65,535 bytes, 60 of each captured: 100 kB of file, 72 MB of frames."""
    frame = bytes([2] * 12) + b"\x88\xb6" + bytes(65521)
    (tmp_path / "c.pcap").write_bytes(pcap([(EPOCH_NS + i, frame) for i in range(1100)], nano=True, snap=60))
    assert (tmp_path / "c.pcap").stat().st_size < 100_000
    with pytest.raises(UsageError, match="c.pcap: more than 64 MB of frames; cut it"):
        source(str(tmp_path / "c.pcap"), 1.0, 1)


def test_a_capture_beyond_the_core_s_clock_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="78 h; give --speedup"):
        repeated(tmp_path / "c.pcap", small_rows(2, 1 << 48))
    assert repeated(tmp_path / "c.pcap", small_rows(2, 1 << 48), 2.0).notes == []
    with pytest.raises(CaptureError, match="78 h; give --speedup"):
        repeated(tmp_path / "c.pcap", small_rows(), 1e-300)


def test_a_capture_that_is_served_is_read_as_a_replay_reads_it(tmp_path: Path) -> None:
    """Compressed, out of a pipe; a jumbo frame captured in part is opaque, for a client may have jumbo frames split."""
    jumbo = build([ipv4(300, number=n) for n in range(3)], [0] * 3)
    opaque = jumbo[:12] + bytes(len(jumbo) - 12)
    content = pcap([(EPOCH_NS + 9000, ipv4(200)), (EPOCH_NS, ipv4(100))], nano=True)
    content += snapped(EPOCH_NS + 4000, jumbo, 90) + snapped(EPOCH_NS + 20_000, ipv4(60), 74)
    os.mkfifo(tmp_path / "pipe")
    for reorder, frames in (
        (False, [ipv4(200), ipv4(100), opaque, ipv4(60)]),
        (True, [ipv4(100), opaque, ipv4(200), ipv4(60)]),
    ):
        thread = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(gzip.compress(content),))
        thread.start()
        capture = source(str(tmp_path / "pipe"), 1.0, 1, reorder)
        thread.join()
        core = Core("full")
        core.device.jumbo("split")
        out: list[bytes] = []
        while len(out) < len(frames):
            capture.feed(core, core.now_ns + 5000)
            core.run_until(core.now_ns + 5000)
            out += [frame.data for frame in core.recv()]
        assert out[: len(frames)] == frames
        assert "captured in part: 1 packet" in capture.notes[0]
        assert ["give --reorder" in note for note in capture.notes] == [False, True][: 2 - reorder]


def test_a_client_that_never_reads_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers wait up to a limit, lowered here."""
    monkeypatch.setattr(serve, "MOST_WAITING", 1 << 15)
    server = Server(Core("full"), Options(socket=tmp_path / "s", slow=0))
    deaf = socket.socket(socket.AF_UNIX)
    deaf.connect(str(tmp_path / "s"))
    deaf.setblocking(False)
    request = encode(bytes([0x51, 0]) + b"\x01\x00\x13\x40" * 15)  # 15 times 64 words of counters
    dropped = False
    for _ in range(200):
        try:
            deaf.send(request)
        except BlockingIOError:
            pass
        except (BrokenPipeError, ConnectionResetError):
            dropped = True
            break
        server.turn()
    assert dropped
    server.close()


def test_rates_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError):
        Random(0)

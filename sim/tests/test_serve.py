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
        (["--socket", "s", "--slow", "-1"], "--slow must be"),
        (["--socket", "s", "--link-rate", "fast"], "--link-rate fast"),
        (["--socket", "s", "--link-rate", "20Gbit"], "rate 20000000000 is out of range"),
    ],
)
def test_what_cannot_be_served_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind("served")
        other.listen()
        assert cli.main(["serve", *words]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1 and (tmp_path / "file").exists()


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

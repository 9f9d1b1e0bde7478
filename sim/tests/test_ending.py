"""How `weir-sim` ends, and what it says: locales, closed pipes, full disks, missing permission, interrupts, terminals."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from captures import EPOCH_NS, pcap, small_rows

ROOT = Path(__file__).resolve().parents[2]
PATHS = os.pathsep.join(str(ROOT / p) for p in ("sw-driver/python", "sim/python"))
WEIR_SIM = [sys.executable, "-m", "weir_sim"]
VERBS = ("replay", "jumbo-report", "bench", "serve", "live", "waves", "policies")
BARE = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", "--"] if os.geteuid() == 0 else []
"""Before a command: root without its right to ignore permissions."""


def run(*words: object, env: dict[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[bytes]:
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    before = options.pop("before", [])
    return subprocess.run(
        [*before, *WEIR_SIM, *map(str, words)],
        env={**os.environ, "PYTHONPATH": PATHS, "PYTHONUNBUFFERED": "", **(env or {})},
        timeout=60,
        **options,
    )


@pytest.fixture
def good(tmp_path: Path) -> Path:
    (tmp_path / "in.pcap").write_bytes(pcap(small_rows(), nano=True))
    return tmp_path / "in.pcap"


# ---- encodings


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_stream_that_lacks_a_character_gets_another(good: Path, encoding: str) -> None:
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": encoding}
    for words in ((), *((verb,) for verb in VERBS)):
        done = run(*words, "--help", env=env)
        assert done.returncode == 0 and done.stderr == b"" and done.stdout.startswith(b"usage: weir-sim")
    rows = [(EPOCH_NS, bytes([2] * 12) + b"\x88\xb6" + bytes(1500)) for _ in range(20)]
    good.write_bytes(pcap(rows, nano=True))
    done = run("replay", good, "/dev/null", "--policy", "drop-tail", "--link-rate", "1Gbit", env=env)
    assert done.returncode == 0 and done.stderr == b""
    # 20 frames of 1514 bytes back to back at 1 Gbit/s: the last waits for 19 times 12.3 us
    assert re.search(r"\d\d\d µs most" if encoding == "latin-1" else r"\d\d\d us most", done.stdout.decode(encoding))


# ---- pipes and disks


def closed() -> int:
    """A pipe that nobody reads."""
    near, far = os.pipe()
    os.close(near)
    return far


@pytest.mark.parametrize("words", [["policies"], ["--help"], ["replay", "in.pcap", "/dev/null", "--policy", "red"]])
def test_a_pipe_that_nobody_reads_ends_it_in_silence(good: Path, words: list[str]) -> None:
    for unbuffered in ("", "1"):
        with os.fdopen(closed(), "w") as pipe:
            done = run(*words, stdout=pipe, cwd=good.parent, env={"PYTHONUNBUFFERED": unbuffered})
        assert (done.returncode, done.stderr) == (141, b"")


def test_a_reader_of_the_capture_that_goes_ends_it_in_silence(good: Path, tmp_path: Path) -> None:
    good.write_bytes(pcap([(EPOCH_NS + i, bytes(9000)) for i in range(200)], nano=True))
    os.mkfifo(tmp_path / "out")
    with subprocess.Popen(["head", "-c", "100", tmp_path / "out"], stdout=subprocess.DEVNULL):
        done = run("replay", good, tmp_path / "out", "--policy", "red", "--stats", tmp_path / "s.json")
    assert (done.returncode, done.stdout, done.stderr) == (141, b"", b"")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.pcap", "out"]


def test_a_full_disk_is_told_by_the_name_of_the_output(good: Path, tmp_path: Path) -> None:
    """weirctl has the same exit code for it."""
    for words in (["policies"], ["--help"], ["replay", "--help"]):
        for unbuffered in ("", "1"):  # argparse ignores that help cannot be written where that shows at once
            with open("/dev/full", "w") as full:
                done = run(*words, stdout=full, env={"PYTHONUNBUFFERED": unbuffered})
            assert (done.returncode, done.stderr) == (1, b"weir-sim: standard output: No space left on device\n")
    for words in (["/dev/full"], ["/dev/null", "--stats", "/dev/full"], ["/dev/null", "--trace", "/dev/full"],
                  ["/dev/null", "--plot", "/dev/full"]):  # fmt: skip
        done = run("replay", good, *words, "--policy", "red")
        assert (done.returncode, done.stderr) == (1, b"weir-sim: /dev/full: No space left on device\n")


@pytest.mark.parametrize("place", ["-", "/dev/stdout"])
@pytest.mark.parametrize("words", [["replay", "in.pcap", "{}", "--policy", "red"], ["jumbo-report", "in.pcap", "--write", "{}"],
                                   ["replay", "in.pcap", "o.pcap", "--policy", "red", "--stats", "{}"]])  # fmt: skip
def test_a_standard_output_that_is_closed_is_no_place_for_an_output(
    good: Path, tmp_path: Path, words: list[str], place: str
) -> None:
    line = ["sh", "-c", 'exec "$@" >&-', "sh", *WEIR_SIM, *(word.format(place) for word in words)]
    done = subprocess.run(line, capture_output=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": PATHS}, timeout=60)
    said = f"weir-sim: {place}: standard output is closed; name a file, or send it into a file or a pipe\n"
    assert (done.returncode, done.stderr.decode()) == (2, said)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.pcap"]


@pytest.mark.parametrize("closing", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_a_closed_stream_is_no_error_and_gets_into_no_file(good: Path, tmp_path: Path, closing: str) -> None:
    """A file that is opened next would get the stream's number."""
    rows = small_rows()
    good.write_bytes(pcap([rows[1], rows[0]], nano=True))  # worth a note
    words = ["replay", "in.pcap", "out.pcap", "--policy", "red", "--stats", "s.json"]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closing}', "sh", *WEIR_SIM, *words], capture_output=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": PATHS}, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0
    assert (tmp_path / "out.pcap").stat().st_size == 24 + 2 * 16 + 60 + 61
    assert (tmp_path / "s.json").read_text().startswith("{") and (tmp_path / "s.json").read_text().endswith("}\n")
    assert b"note" not in done.stdout and b"arrived" not in done.stderr


# ---- permission


def test_a_place_without_permission_is_told_before_anything_is_done(good: Path, tmp_path: Path) -> None:
    locked, kept = tmp_path / "locked", tmp_path / "kept.pcap"
    locked.mkdir(mode=0o555)
    kept.write_text("mine")
    kept.chmod(0o444)
    places: list[Sequence[object]] = [
        [locked / "o"], [kept], ["o", "--stats", locked / "o"], ["o", "--trace", kept], ["o", "--plot", locked / "o.png"],
        ["o", "--wave", locked / "o.vcd"],
    ]  # fmt: skip
    for words in places:
        done = run("replay", good, *words, "--policy", "red", before=BARE, cwd=tmp_path)
        assert done.returncode == 2 and done.stdout == b""
        assert done.stderr.decode() == f"weir-sim: {words[-1]}: no permission to write it\n"
    for verb in (["jumbo-report", good, "--write", locked / "o"], ["jumbo-report", good, "-j", locked / "o"],
                 ["bench", "--only", "latency", "--output", locked / "o"], ["waves", locked / "o"]):  # fmt: skip
        done = run(*verb, before=BARE)
        assert done.stderr.decode() == f"weir-sim: {locked / 'o'}: no permission to write it\n" and done.returncode == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.pcap", "kept.pcap", "locked"]
    assert not list(locked.iterdir()) and kept.read_text() == "mine"
    for verb in (["--socket", locked / "s"], ["--pty", locked / "t"]):
        done = run("serve", *verb, before=BARE)
        assert done.stderr.decode() == f"weir-sim: {verb[1]}: Permission denied\n" and done.returncode == 2


def test_waves_that_cannot_be_built_are_told_in_one_line(good: Path, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir(mode=0o555)
    done = run("replay", good, tmp_path / "o", "--policy", "red", "--wave", tmp_path / "w.vcd", before=BARE,
               env={"WEIR_MODEL_DIR": str(tmp_path / "models")})  # fmt: skip
    said = done.stderr.decode().splitlines()
    assert done.returncode == 1 and said[0] == "building the model that writes waveforms (once)" and len(said) == 2
    assert said[1].startswith("weir-sim: the model that writes waveforms cannot be built: ")
    assert said[1].endswith("Permission denied")


def test_the_longest_name_that_a_file_can_have_is_taken(good: Path, tmp_path: Path) -> None:
    out, stats = tmp_path / ("o" * 255), tmp_path / ("s" * 255)
    assert run("replay", good, out, "--policy", "red", "--stats", stats).returncode == 0
    assert out.is_file() and stats.is_file()


def test_an_output_keeps_the_mode_of_the_file_that_was_there(good: Path, tmp_path: Path) -> None:
    (tmp_path / "o").write_text("old")
    (tmp_path / "o").chmod(0o640)
    assert run("replay", good, tmp_path / "o", "--policy", "red").returncode == 0
    assert (
        stat.S_IMODE((tmp_path / "o").stat().st_mode) == 0o640
        and (tmp_path / "o").read_bytes()[:4] == b"\x4d\x3c\xb2\xa1"
    )


# ---- interrupts


@pytest.mark.parametrize("module", ["argparse", "cffi", "numpy", "tqdm", "matplotlib"])
def test_an_interrupt_of_an_import_is_one_line(good: Path, tmp_path: Path, module: str) -> None:
    """Each module stands for one moment; the first is that of the first import."""
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / f"{module}.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)\n" * 2)
    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path / "early"), PATHS])}
    done = run("replay", good, tmp_path / "o", "--policy", "red", "--plot", tmp_path / "p.png", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"weir-sim: interrupted\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["early", "in.pcap"]


AT_IMPORT = """
import os, signal, sys
at = sys.argv.pop(1)
sys.modules.pop(at, None)  # an environment may load some at its start
sys.addaudithook(lambda event, given: event == "import" and given[0] == at and os.kill(os.getpid(), signal.SIGINT))
from weir_sim.__main__ import run
run()
"""


@pytest.mark.parametrize("module", ["typing", "contextlib", "threading", "weir.ctl.ending", "weir_sim.cli"])
def test_an_interrupt_of_the_first_imports_is_one_line(module: str) -> None:
    command = [sys.executable, "-c", AT_IMPORT, module, "policies"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": PATHS}, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"weir-sim: interrupted\n")


def test_an_ignored_interrupt_stays_ignored(good: Path, tmp_path: Path) -> None:
    """As of a shell's job in the background."""
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "argparse.py").write_text(
        "import os, signal, sys; os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.path.remove(os.path.dirname(__file__)); del sys.modules['argparse']; import argparse\n"
    )
    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path / "early"), PATHS])}
    ignore = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731
    assert run("policies", "red", env=env).returncode == 130
    done = run("policies", "red", env=env, preexec_fn=ignore)
    assert done.returncode == 0 and done.stdout.startswith(b"red: ")


# ---- progress


PROGRESS = re.compile(rb"\r *(\d+)%\|[^\r]*\[\d\d:\d\d<(?:\d\d:\d\d|\?), [^\r]*B/s\]")


AT_ONCE = "import sys; from weir_sim import cli, progress; progress.DELAY_S = 0; sys.exit(cli.main(sys.argv[1:]))"
"""weir-sim, whose bar does not wait."""


def on_terminal(words: Sequence[object], columns: int) -> bytes:
    """What comes to a terminal of so many columns, and of 24 rows; 0: one that does not tell its size."""
    pid, line = pty.fork()
    if pid == 0:
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("4H", 24 if columns else 0, columns, 0, 0))
        env = {**os.environ, "PYTHONPATH": PATHS, "TERM": "xterm"}
        os.execve(sys.executable, [sys.executable, "-c", AT_ONCE, *map(str, words)], env)
    seen, end = b"", time.monotonic() + 60
    while select.select([line], [], [], max(0.0, end - time.monotonic()))[0]:
        try:
            seen += os.read(line, 65536)
        except OSError:
            break
    os.close(line)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, seen
    return seen


@pytest.mark.parametrize("columns", [0, 100])
@pytest.mark.parametrize("verb", ["replay", "jumbo-report"])
def test_a_terminal_shows_share_rate_and_time_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, columns: int
) -> None:
    """Of a replay also while the core is busy with few packets: 3 ms between two, cycle by cycle."""
    rows = small_rows(2, 3_000_000) if verb == "replay" else small_rows(200) * 150
    (tmp_path / "in.pcap").write_bytes(pcap(rows, nano=True))
    more = ["out.pcap", "--policy", "red", "--no-skip"] if verb == "replay" else []
    monkeypatch.chdir(tmp_path)
    seen = on_terminal([verb, "in.pcap", *more], columns)
    shares = [int(share) for share in PROGRESS.findall(seen)]
    assert len(set(shares)) >= 3 and shares == sorted(shares) and 0 < shares[1] < 100
    assert all(len(piece.decode()) <= (columns or 80) for piece in re.split(rb"[\r\n]", seen) if b"B/s" in piece)


def test_where_there_is_no_terminal_no_progress_is_shown(tmp_path: Path) -> None:
    (tmp_path / "in.pcap").write_bytes(pcap(small_rows(2, 3_000_000), nano=True))
    words = ["replay", "in.pcap", "out.pcap", "--policy", "red", "--no-skip"]
    done = subprocess.run([sys.executable, "-c", AT_ONCE, *words], env={**os.environ, "PYTHONPATH": PATHS}, cwd=tmp_path,
                          capture_output=True, timeout=120)  # fmt: skip
    assert done.returncode == 0 and done.stderr == b"" and b"%" not in done.stdout

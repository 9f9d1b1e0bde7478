"""`weir-sim` with pipes, standard input and output, and compressed files, in processes of their own."""

from __future__ import annotations

import gzip
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from captures import pcap, small_rows
from jumbo_frames import ipv4
from weir_sim import native, read_capture
from weir_sim.files import zstd

REPLAY = ("--policy", "drop-tail")
ROWS = [(1000 * n, ipv4(200, number=n)) for n in range(5)]
CAPTURE = pcap(ROWS, nano=True)
PATHS = [str(native.root() / "sim" / "python"), str(native.root() / "sw-driver" / "python")]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(PATHS)}
WEIR_SIM = (sys.executable, "-m", "weir_sim")


def weir_sim(*arguments: object, **options: object) -> subprocess.CompletedProcess[bytes]:
    """A run of weir-sim that ends well."""
    done: subprocess.CompletedProcess[bytes] = subprocess.run(
        [*WEIR_SIM, *map(str, arguments)], env=ENVIRONMENT, timeout=120,
        **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options),
    )  # type: ignore[call-overload]  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "in.pcap").write_bytes(CAPTURE)
    return tmp_path


@pytest.fixture
def direct(place: Path) -> bytes:
    """What a replay from file to file writes."""
    done = weir_sim("replay", place / "in.pcap", place / "direct.pcap", *REPLAY)
    assert b"arrived" in done.stdout and done.stderr == b""
    return (place / "direct.pcap").read_bytes()


def test_standard_input_to_standard_output_is_the_capture_alone(direct: bytes) -> None:
    done = weir_sim("replay", "-", "-", *REPLAY, input=CAPTURE)
    assert done.stdout == direct
    assert b"arrived" in done.stderr and b"queueing delay" in done.stderr


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-", "mine.pcap"])
def test_a_name_of_standard_output_carries_no_text(place: Path, direct: bytes, name: str) -> None:
    """Also where it is a file that is appended to, and is named itself."""
    for mode in ("wb", "ab"):
        (place / "mine.pcap").write_bytes(b"old ")
        with (place / "mine.pcap").open(mode) as file:
            done = weir_sim("replay", "in.pcap", name, *REPLAY, cwd=place, stdout=file)
        assert (place / "mine.pcap").read_bytes() == (b"old " if mode == "ab" else b"") + direct
        assert b"arrived" in done.stderr
    assert weir_sim("replay", "in.pcap", "/dev/stdout", *REPLAY, cwd=place).stdout == direct


def test_other_outputs_can_be_standard_output(place: Path) -> None:
    done = weir_sim("replay", place / "in.pcap", place / "o", *REPLAY, "--stats", "-")
    assert json.loads(done.stdout)["rx"]["packets"] == 5 and b"arrived" in done.stderr
    done = weir_sim("replay", place / "in.pcap", place / "o", *REPLAY, "--trace", "/dev/stdout")
    assert done.stdout.startswith(b"time_ns,kind,") and done.stdout.count(b"\n") == 11
    done = weir_sim("jumbo-report", "-", "-j", "-", input=CAPTURE)
    assert json.loads(done.stdout)["capture"]["packets"] == 5 and b"packets a frame" in done.stderr
    done = weir_sim("jumbo-report", "-", "--write", "-", "--max-count", "1", input=CAPTURE)
    assert len(done.stdout) == len(CAPTURE) and b"packets a frame" in done.stderr


def test_text_goes_to_standard_output_when_that_carries_nothing_else(place: Path) -> None:
    with open(os.devnull, "wb") as null:
        done = weir_sim("replay", place / "in.pcap", os.devnull, *REPLAY, stdout=null)
    assert done.stderr == b""


def test_process_substitution_is_read_and_written(place: Path, direct: bytes) -> None:
    (place / "in.pcap.gz").write_bytes(gzip.compress(CAPTURE))
    command = f"{' '.join(WEIR_SIM)} replay <(gzip -dc in.pcap.gz) >(cat > out.pcap; touch done) {' '.join(REPLAY)}"
    subprocess.run(["bash", "-c", command + "; until [ -e done ]; do sleep 0.05; done"], cwd=place, env=ENVIRONMENT,
                   check=True, timeout=120, capture_output=True)  # fmt: skip
    assert (place / "out.pcap").read_bytes() == direct


def test_named_pipes_are_read_and_written(place: Path, direct: bytes) -> None:
    for name in ("from", "to"):
        os.mkfifo(place / name)
    command = ["bash", "-c", "cat in.pcap > from & cat to > out.pcap & wait"]
    with subprocess.Popen(command, cwd=place) as shell:
        weir_sim("replay", place / "from", place / "to", *REPLAY)
        assert shell.wait(60) == 0
    assert (place / "out.pcap").read_bytes() == direct


def test_a_name_says_how_an_output_is_compressed(place: Path, direct: bytes) -> None:
    weir_sim("replay", place / "in.pcap", place / "out.pcap.gz", *REPLAY, "--trace", place / "t.csv.zst")
    packed = (place / "out.pcap.gz").read_bytes()
    assert packed[:8] == bytes.fromhex("1f8b0800 00000000")  # RFC 1952: no name and no time, so that it is repeatable
    assert gzip.decompress(packed) == direct
    assert zstd.decompress((place / "t.csv.zst").read_bytes()).count(b"\n") == 11
    assert [packet.data for packet in read_capture(place / "out.pcap.gz")] == [data for _, data in ROWS]
    weir_sim("jumbo-report", place / "out.pcap.gz", "--write", place / "again.pcap.zst", "--max-count", 1)
    assert [packet.data for packet in read_capture(place / "again.pcap.zst")] == [data for _, data in ROWS]


def refused(*arguments: object, **options: object) -> str:
    done = subprocess.run([*WEIR_SIM, *map(str, arguments)], env=ENVIRONMENT, timeout=120, stderr=subprocess.PIPE,
                          **options)  # type: ignore[call-overload]  # fmt: skip
    assert done.returncode == 2
    line: str = done.stderr.decode()
    assert line.startswith("weir-sim: ") and line.count("\n") == 1
    return line


def test_two_outputs_cannot_share_standard_output(place: Path) -> None:
    assert "-: is also another output" in refused("replay", place / "in.pcap", "-", *REPLAY, "--trace", "/dev/stdout",
                                                 stdout=subprocess.PIPE)  # fmt: skip


def test_the_capture_itself_cannot_be_standard_output(place: Path) -> None:
    with (place / "in.pcap").open("ab") as file:
        line = refused("replay", place / "in.pcap", "-", *REPLAY, stdout=file)
    assert "-: is also the capture" in line and (place / "in.pcap").read_bytes() == CAPTURE


@pytest.mark.parametrize("verb", [("replay", "-", *REPLAY), ("jumbo-report", "--write", "-")])
def test_a_capture_is_neither_read_from_nor_written_to_a_terminal(place: Path, verb: tuple[str, ...]) -> None:
    mine, far = pty.openpty()
    line = refused(verb[0], place / "in.pcap", *verb[1:], stdout=far)
    assert "-: standard output is a terminal; send it into a file or a pipe" in line
    line = refused("jumbo-report", "-", stdin=far)
    assert "standard input: is a terminal; send a capture into it, or name a file" in line
    os.close(mine)
    os.close(far)


@pytest.mark.parametrize(("content", "words"), [(b"", "standard input: empty file"), (b"hello", "standard input: not a pcap"),
                                                (CAPTURE[:30], "standard input: truncated")])  # fmt: skip
def test_what_standard_input_lacks_is_told(content: bytes, words: str) -> None:
    assert words in refused("jumbo-report", "-", input=content, stdout=subprocess.PIPE)


def test_notes_of_an_odd_capture_are_told_once(place: Path) -> None:
    odd = pcap([small_rows()[1], (0, b""), small_rows()[0], small_rows()[2]], nano=True, snap=40)[:-1]
    for verb in (("replay", "-", "-", *REPLAY), ("jumbo-report", "-", "--write", "-")):
        told = weir_sim(*verb, input=odd).stderr.decode()
        for words in (
            "standard input is truncated",
            "left out: 1 packet of 0",
            "captured in part: 2",
            "give --reorder",
        ):
            assert told.count(words) == 1
        assert "--reorder" not in weir_sim(*verb, "--reorder", input=odd).stderr.decode()

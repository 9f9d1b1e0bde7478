"""`weir-sim` on bad input: one clear line, exit code 2, no file left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import weir
from captures import EPOCH_NS, enhanced, interface, pcap, pcapng, section, small_rows
from weir_sim import cli, native
from weir_sim.replay import LINE_RATE, Options


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.pcap"
    path.write_bytes(pcap(small_rows(), nano=True))
    return path


def refused(capsys: pytest.CaptureFixture[str], place: Path, *arguments: object, code: int = 2) -> str:
    """Runs weir-sim, which must refuse; answers its line. Nothing may appear beside the inputs."""
    before = sorted(place.iterdir())
    assert cli.main([str(a) for a in arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("weir-sim: ") and err.count("\n") == 1
    assert sorted(place.iterdir()) == before
    return err


CAPTURES = {
    "empty": (b"", "empty file"),
    "no packets": (pcap([]), "no packets"),
    "text": (b"hello, world\n", "not a pcap or pcapng capture"),
    "wireless": (pcap(small_rows(), link=105), "link type 105 (802.11) is not Ethernet, raw IP or Linux cooked"),
    "header cut": (pcap(small_rows())[:30], "truncated"),
    "packet cut": (pcap(small_rows())[:70], "truncated: the file ends inside packet 1 of 60 bytes, before it has a whole"),
}  # fmt: skip


@pytest.mark.parametrize("name", CAPTURES)
def test_unusable_capture_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    content, words = CAPTURES[name]
    (tmp_path / "in.pcap").write_bytes(content)
    line = refused(
        capsys, tmp_path, "replay", tmp_path / "in.pcap", tmp_path / "out.pcap", "--policy", "drop-tail",
        "--stats", tmp_path / "s.json", "--trace", tmp_path / "t.csv", "--plot", tmp_path / "p.png",
    )  # fmt: skip
    assert words in line and "in.pcap" in line


@pytest.mark.parametrize("extra", [[], ["--merge", "flow"], ["--split"], ["--transit"]])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (section() + interface(resolution=9, offset=-100) + enhanced(0, bytes(60)), "before 1970"),
        (pcapng([((1 << 32) * 10**9, bytes(60))]), "beyond the year 2106"),
        (pcapng([(((1 << 32) - 1) * 10**9, bytes(60)), ((1 << 32) * 10**9, bytes(60))]), "beyond the year 2106"),
        (pcap([(EPOCH_NS, bytes(60)), (EPOCH_NS + (1 << 48), bytes(60))], nano=True), "78 h"),
    ],
)
def test_times_that_cannot_be_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, words: str, extra: list[str]
) -> None:
    (tmp_path / "in.pcap").write_bytes(content)
    arguments = (tmp_path / "in.pcap", tmp_path / "out.pcap", "--policy", "drop-tail", *extra)
    assert words in refused(capsys, tmp_path, "replay", *arguments)


SERVE = ("serve", "--socket", "s")
LIVE = ("live", "--socket", "s")
REPORT = ("jumbo-report", "good.pcap")
REPLAY = ("replay", "good.pcap", "o.pcap", "--policy", "red")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*SERVE, "--traffic", "20000000000"), "traffic of 20Gbit is out of range: allowed is above 0 to 10Gbit"),
        ((*SERVE, "--slow", "-1"), "--slow -1 is out of range: allowed is 0 and above"),
        ((*SERVE, "--slow", "inf"), "--slow inf is out of range: allowed is 0 and above"),
        ((*SERVE, "--speedup=-1e20"), "--speedup -100000000000000000000 is out of range: allowed is above 0"),
        ((*SERVE, "--seed", "18446744073709551616"), "--seed 18446744073709551616 is out of range: allowed is 0 to"),
        ((*LIVE, "--link-rate", "20000000000"), "--link-rate 20Gbit is out of range: allowed is 64kbit to 10Gbit"),
        ((*LIVE, "--slow", "1e7"), "--slow 10000000 is out of range: allowed is 1 (real time) to 1000000"),
        ((*LIVE, "--slow", "1e-9"), "--slow 0.000000001 is out of range: allowed is 1 (real time) to 1000000"),
        ((*LIVE, "--delay", "3600s"), "--delay 3600s is out of range: allowed is 0 to 10s"),
        ((*LIVE, "--seconds", "1e6"), "--seconds 1000000 is out of range: allowed is above 0 to 86400"),
        ((*REPORT, "--link-rate", "2000Gbit"), "--link-rate 2000Gbit is out of range: allowed is 1kbit to 1000Gbit"),
        ((*REPORT, "--speedup=-1e20"), "--speedup -100000000000000000000 is out of range: allowed is above 0"),
        ((*REPORT, "--jfet", "20s"), "--jfet 20s is out of range: allowed is 0 to 10s"),
        ((*REPORT, "--prefix", "33"), "--prefix 33 is out of range: allowed is 0 to 32 bits"),
        ((*REPORT, "--prefix6", "129"), "--prefix6 129 is out of range: allowed is 0 to 128 bits"),
        ((*REPLAY, "--link-rate", "200000000000"), "--link-rate 200Gbit is out of range: allowed is 64kbit to 10Gbit"),
        ((*REPLAY, "--speedup", "1e-18"), "a packet comes 277,777,778 h after the first"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_a_value_out_of_range_is_told_as_it_is_typed(
    tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    line = refused(capsys, tmp_path, *words)
    assert said in line and not re.search(r"\de[+-]", line)


def test_policies_and_reports_are_printed_without_exponents(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["policies"]) == 0
    assert cli.main(["jumbo-report", str(good), "--link-rate", "1000Gbit", "--speedup", "1e16"]) == 0
    out = capsys.readouterr().out
    assert not re.search(r"\de[+-]", out)
    assert "bandwidth      1kbit to 100Gbit;" in out and "slope          0.001 to 10000000000 queue unit/s;" in out
    assert "L2 form, 1000Gbit/s, speedup 10000000000000000" in out


def test_a_capture_is_not_written_into_a_name_of_another_format(
    tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("o.pcapng", "o.PCAPNG.gz", "o.ntar", "o.pcap.xz", "o.pcap.bz2", "o.lz4"):
        out = tmp_path / name
        for words in (["replay", good, out, "--policy", "red"], ["jumbo-report", good, "--write", out]):
            line = refused(capsys, tmp_path, *words)
            assert line == f"weir-sim: {out}: a capture's name ends in .pcap, .pcap.gz or .pcap.zst\n"
    assert "a waveform's name ends in .vcd" in refused(capsys, tmp_path, "waves", tmp_path / "w.fst")
    table = tmp_path / "t.xz"
    for words in (["replay", good, tmp_path / "o", "--policy", "red", "--stats", table], ["jumbo-report", good, "-j", table],
                  ["replay", good, tmp_path / "o", "--policy", "red", "--trace", table]):  # fmt: skip
        line = refused(capsys, tmp_path, *words)
        assert line == f"weir-sim: {table}: a table's name ends in .json, .csv, .gz or .zst\n"


def test_endings_count_in_capitals_too(tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, magic in (
        ("o.PCAP", "4d3cb2a1"),
        ("o.pcap.GZ", "1f8b08"),
        ("o.pcap.Zst", "28b52ffd"),
        ("o.tmp", "4d3cb2a1"),
    ):
        for words in (
            ["replay", good, tmp_path / name, "--policy", "red"],
            ["jumbo-report", good, "--write", tmp_path / name],
        ):
            assert cli.main([str(word) for word in words]) == 0
            assert (tmp_path / name).read_bytes().startswith(bytes.fromhex(magic))


def test_missing_capture_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, tmp_path, "replay", tmp_path / "absent", tmp_path / "o", "--policy", "red")
    assert "absent: No such file or directory" in line


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--policy", "wred"], "policy 'wred' is not there; write red in a queue of its own"),
        (["--policy", "red", "--set", "min=90KB", "--set", "max=30KB"], "min"),
        (["--policy", "red", "--set", "weight=0"], "weight"),
        (["--policy", "red", "--set", "limit=100MB"], "limit"),
        (["--policy", "red", "--set", "colour=blue"], "colour"),
        (["--policy", "drop-tail", "--set", "min=30KB"], "min"),
        (["--policy", "red", "--set", "=3"], "write key=value"),
        (["--policy", "red", "--set", "policy=red"], "--policy"),
        (
            ["--policy", "red", "--link-rate", "20Gbit"],
            "--link-rate 20Gbit is out of range: allowed is 64kbit to 10Gbit",
        ),
        (["--policy", "red", "--link-rate", "0"], "--link-rate 0bit is out of range: allowed is 64kbit to 10Gbit"),
        (["--policy", "red", "--link-rate", "1"], "--link-rate 1bit is out of range: allowed is 64kbit to 10Gbit"),
        (["--policy", "red", "--link-rate", "fast"], "--link-rate fast"),
        (["--policy", "red", "--speedup", "0"], "--speedup 0 is out of range: allowed is above 0"),
        (["--policy", "red", "--speedup", "nan"], "--speedup nan is out of range: allowed is above 0"),
        (["--policy", "red", "--seed", "-1"], "--seed -1 is out of range: allowed is 0 to 18446744073709551615"),
        (
            ["--policy", "red", "--merge", "flow", "--max-bytes", "63"],
            "merge max_bytes 63 is out of range: allowed is 64 to 9216",
        ),
        (
            ["--policy", "red", "--merge", "flow", "--max-count", "0"],
            "--max-count 0 is out of range: allowed is 1 and above",
        ),
        (
            ["--policy", "red", "--merge", "class", "--match", "10.0.0.0/8"],
            "--match 10.0.0.0/8: write DESTINATION=CLASS",
        ),
        (
            ["--policy", "red", "--merge", "class", "--match", "10.0.0.0/8=16"],
            "--match 10.0.0.0/8=16: write DESTINATION=CLASS",
        ),
        (["--policy", "red", "--merge", "class", "--jfet", "0"], "--jfet 0 is too short: allowed is 1ns to 1s"),
        (["--policy", "red", "--merge", "class", "--jfet", "2s"], "merge jfet 2s is out of range"),
        (["--policy", "red", "--merge", "class", "--jfet", "soon"], "--jfet soon"),
        (["--policy", "red", "--jfet", "1us"], "--jfet is for packets that are merged; add --merge flow"),
        (["--policy", "red", "--max-bytes", "1500"], "--max-bytes is for packets that are merged"),
        (["--policy", "red", "--match-default", "0"], "--match-default is for packets that are merged"),
        (["--policy", "red", "--l3"], "--l3 is for packets that are merged"),
        (["--policy", "red", "--mred", "0.1:0.5"], "--mred is for jumbo frames that pass as they are; add --transit"),
        (["--policy", "red", "--transit", "--mred", "0.5"], "--mred 0.5: write LOW:HIGH"),
        (["--policy", "red", "--transit", "--mred", "0.5:0.1"], "--mred 0.5:0.1: write LOW:HIGH"),
        (["--policy", "red", "--transit", "--mred", "nan:1"], "--mred nan:1: write LOW:HIGH"),
        (["--policy", "codel", "--transit", "--mred", "0.1:0.5"], "red"),
        (["--policy", "red", "--speedup", "1e-18"], "the core's clock has 48 bits of ns, 78 h"),
        (["--policy", "red", "--wave", "x.fst"], "x.fst: a waveform's name ends in .vcd"),
        (["--policy", "red", "--wave", "x.vcd.gz"], "x.vcd.gz: a waveform's name ends in .vcd"),
        (["--policy", "red", "--wave", "x"], "x: a waveform's name ends in .vcd"),
        (["--policy", "red", "--plot", "pie.gif"], "pie.gif: a picture's name ends in .png, .svg or .pdf"),
        (["--policy", "red", "--plot", "pie"], "pie: a picture's name ends in .png, .svg or .pdf"),
        (["--policy", "red", "--stats", "absent/s.json"], "the directory"),
        (["--policy", "red", "--stats", "."], "is a directory"),
        (["--policy", "red", "--stats", "good.pcap"], "is also the capture"),
        (["--policy", "red", "--stats", "out.pcap"], "is also another output"),
    ],
)
def test_impossible_arguments_are_refused(
    tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str], extra: list[str], words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert words in refused(capsys, tmp_path, "replay", good, tmp_path / "out.pcap", *extra)


@pytest.mark.parametrize("arguments", [[], ["fly"], ["replay"], ["replay", "a", "b"],
                                       ["replay", "a", "b", "--policy", "red", "--merge", "all"]])  # fmt: skip
def test_usage_errors_have_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("preset", "command"), [("tail", "python sim/model/build.py --preset tail"), ("full", "make model")]
)
def test_missing_model_is_told(
    preset: str,
    command: str,
    tmp_path: Path,
    good: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WEIR_MODEL_DIR", str(tmp_path / "nowhere"))
    native.load.cache_clear()
    line = refused(capsys, tmp_path, "replay", good, tmp_path / "o", "--policy", "red", "--preset", preset, code=1)
    assert f"preset '{preset}' is not built; run `{command}`" in line


@pytest.mark.parametrize(("preset", "like"), [("ful", ", did you mean 'full'?"), ("none", ""), ("*", ""), ("", "")])
@pytest.mark.parametrize("verb", ["replay", "serve", "waves"])
def test_a_preset_that_does_not_exist_is_told_with_those_that_do(
    verb: str, preset: str, like: str, tmp_path: Path, good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"replay": [good, tmp_path / "o", "--policy", "red"], "serve": ["--socket", tmp_path / "s"],
             "waves": [tmp_path / "w.vcd"]}[verb]  # fmt: skip
    line = refused(capsys, tmp_path, verb, *words, "--preset", preset)
    names = "full, ten-gig, aqm, board, small, tail, network, network-jumbo"
    assert line == f"weir-sim: preset '{preset}' does not exist{like}; choose one of {names}\n"


def test_the_presets_are_those_of_the_hardware() -> None:
    source = native.root() / "hw" / "src" / "main" / "scala" / "weir"
    presets = re.findall(r'^    WeirConfig\("([a-z-]+)"', (source / "WeirConfig.scala").read_text(), re.M)
    networks = re.findall(r'^    core\("(network[a-z-]*)"', (source / "Reduced.scala").read_text(), re.M)
    assert len(presets) >= 5 and native.PRESETS == (*presets, *networks)


def test_the_models_of_make_model_are_known() -> None:
    makefile = (native.root() / "Makefile").read_text()
    stamps = dict(re.findall(r"^(MODEL\w*) := build/stamps/model-?(\S*)$", makefile, re.M))
    (made,) = re.findall(r"^model: (.*)$", makefile, re.M)
    assert tuple(stamps[name] or "full" for name in re.findall(r"\$\((\w+)\)", made)) == native.MADE


def test_settings_are_pairs_or_flags() -> None:
    assert cli._settings(["min=30KB", "ecn", "limit-packets=5", "a=b=c", "adaptative"]) == {
        "min": "30KB", "ecn": "on", "limit_packets": "5", "a": "b=c", "adaptive": "on",
    }  # fmt: skip


def test_defaults_of_replay() -> None:
    a = cli.parser().parse_args(["replay", "a", "b", "--policy", "red"])
    assert (a.link_rate, a.speedup, a.merge, a.jumbo, a.seed, a.preset, a.no_skip) == (
        "10Gbit", 1.0, "off", "opaque", 1, "full", False)  # fmt: skip
    assert Options(Path("a"), Path("b"), "red").link_rate == LINE_RATE


def test_policies_lists_parameters_with_ranges_and_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["policies"]) == 0
    text = capsys.readouterr().out
    for words in (
        *(f"{policy.name}:" for policy in weir.policies()),
        "1us to 4s",
        "RFC 8289",
        "default 15ms",
        "probability",
        "0.02",
        "tc-red",
        "geometric | uniform | uniform-wait",
    ):
        assert words in text
    assert cli.main(["policies", "drop-tail"]) == 0
    assert "probability" not in capsys.readouterr().out
    assert cli.main(["policies", "drop-front"]) == 0
    assert capsys.readouterr().out.startswith("drop-tail:")
    assert cli.main(["policies", "blue"]) == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupted_replay_leaves_no_file(tmp_path: Path, number: signal.Signals, code: int) -> None:
    long = tmp_path / "in.pcap"
    frame = bytes([2] * 12) + b"\x88\xb6" + bytes(1500)
    long.write_bytes(pcap([(i * 2000, frame) for i in range(60_000)], nano=True))
    command = [sys.executable, "-m", "weir_sim", "replay", str(long), str(tmp_path / "out.pcap"), "--policy", "red",
               "--stats", str(tmp_path / "s.json"), "--trace", str(tmp_path / "t.csv")]  # fmt: skip
    paths = [str(native.root() / "sim" / "python"), str(native.root() / "sw-driver" / "python")]
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        while not any(p.stat().st_size for p in tmp_path.glob(".*.part")):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert out == b""
    assert [p.name for p in tmp_path.iterdir()] == ["in.pcap"]


@pytest.mark.parametrize(
    ("name", "first"), [("pie.svg", b"<?xml"), ("pie.pdf", b"%PDF-"), ("pie.png", b"\x89PNG"), ("PIE.PNG", b"\x89PNG")]
)
def test_a_picture_is_what_its_name_says(tmp_path: Path, good: Path, name: str, first: bytes) -> None:
    words = ["replay", str(good), str(tmp_path / "o"), "--policy", "red", "--plot", str(tmp_path / name)]
    assert cli.main(words) == 0
    assert (tmp_path / name).read_bytes().startswith(first)

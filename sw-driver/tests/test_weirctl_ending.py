"""How weirctl ends, and what it needs around it: interrupts from the first import on, locales, closed and full outputs."""

from __future__ import annotations

import errno
import io
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import weir
from fake_core import POLICIES, FakeCore, RegisterFile
from weir.ctl import completion, output
from weir.ctl.context import Context
from weir.ctl.exporter import place, server
from weir.ctl.main import VERBS, main
from weir.ctl.words import Options

ROOT = Path(__file__).resolve().parents[2]
PATHS = os.pathsep.join(str(ROOT / p) for p in ("sw-driver/python", "sim/python"))
LATIN, PLAIN_C = {"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def start(*words: str, environment: dict[str, str] | None = None, **more: Any) -> subprocess.Popen[bytes]:
    """weirctl as a program."""
    kept = {name: value for name, value in os.environ.items() if name != "WEIR_DEVICE"}
    more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    return subprocess.Popen(
        [sys.executable, "-m", "weir.ctl", *words], env=kept | {"PYTHONPATH": PATHS} | (environment or {}), **more
    )


@pytest.fixture
def device(register_map: RegisterFile, tmp_path: Path) -> weir.Device:
    return weir.Device(FakeCore(register_map, policies=POLICIES))


# ---- locales

TALKS = [["--help"], *([verb, "--help"] for verb in VERBS), ["queue", "help", "red"], ["queue", "show"], ["show"], ["save"],
         ["show", "--commands"], ["stats"], ["top", "--count", "1"], ["exporter", "--once"], ["doctor"], ["regs"]]  # fmt: skip


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
@pytest.mark.parametrize("words", TALKS, ids=" ".join)
def test_everything_is_said_in_any_encoding(
    words: list[str], encoding: str, device: weir.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding))
    assert main(words, device) in (0, 3)
    sys.stdout.flush()
    assert out.getvalue().decode(encoding).strip() and b"\\u" not in out.getvalue()


def test_the_last_bin_of_delays_is_said_in_any_encoding(
    register_map: RegisterFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = FakeCore(register_map)
    core.words[core.address("SOJOURN31_LO", 0)] = 5
    for encoding, sign in (("utf-8", "≥"), ("latin-1", ">="), ("ascii", ">=")):
        out = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding))
        assert main(["stats", "0"], weir.Device(core)) == 0
        sys.stdout.flush()
        assert re.search(f"delay, 99 % +{sign} 2.1s\n", out.getvalue().decode(encoding))


@pytest.mark.parametrize("environment", [LATIN, PLAIN_C])
def test_help_and_messages_of_a_program_in_a_plain_locale(environment: dict[str, str]) -> None:
    for words, code in ((("class", "--help"), 0), (("queue", "réplace"), 2), (("restore", "/absent/…"), 2)):
        process = start(*words, environment=environment | {"WEIR_DEVICE": "unix:/absent"})
        out, err = process.communicate(timeout=60)
        assert process.returncode in (code, 1) and b"Traceback" not in err and err.count(b"\n") <= 1
        assert code or b"DSCP..." in out


def test_a_name_that_is_no_text_is_passed_on_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-d", "unix:/absent/\udcff", "stats"]) == 1
    assert "No such file or directory" in capsys.readouterr().err


# ---- interrupts

AT_IMPORT = """
import os, signal, sys
at = sys.argv.pop(1)
sys.modules.pop(at, None)  # an environment may load some at its start
sys.addaudithook(lambda event, given: event == "import" and given[0] == at and os.kill(os.getpid(), signal.SIGINT))
from weir.ctl.main import run
run()
"""


@pytest.mark.parametrize(
    "module", ["typing", "contextlib", "threading", "weir.ctl.ending", "weir.ctl.verbs", "weir.ctl.words", "http.server", "weir._config", "weir._ffi", "cffi", "pycparser"]
)  # fmt: skip
def test_an_interrupt_while_modules_are_imported_is_one_line(module: str) -> None:
    """The first third of a second is nothing else."""
    command = [sys.executable, "-c", AT_IMPORT, module, "-d", "unix:/absent", "exporter"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": PATHS}, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"weirctl: interrupted\n")


def test_an_interrupt_that_is_ignored_stays_so() -> None:
    """As a shell starts a job in the background."""
    command = [
        sys.executable,
        "-c",
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + AT_IMPORT,
        "cffi",
        "--version",
    ]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": PATHS}, capture_output=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith(b"weirctl") and not done.stderr


# ---- outputs that are closed or full


@pytest.mark.parametrize("words", [("--help",), ("queue", "help", "red"), ("completion", "bash"), ("class", "help")])
def test_a_closed_pipe_is_quiet(words: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    process = start(*words, stdout=write)
    os.close(write)
    assert process.wait(60) == 141 and process.stderr is not None and process.stderr.read() == b""


SAVE = """
import weir
from fake_core import FakeCore, RegisterFile
from libweir_paths import RTL
import json, sys
from weir.ctl.main import main
device = weir.Device(FakeCore(RegisterFile(json.loads((RTL / "weir_regs.json").read_text()))))
sys.exit(main(["save", "/dev/stdout"], device))
"""


def test_a_file_that_is_a_closed_pipe_is_quiet_too() -> None:
    """`weirctl save /dev/stdout | true` says no "/dev/stdout: Broken pipe"."""
    read, write = os.pipe()
    paths = os.pathsep.join((PATHS, str(Path(__file__).parent)))
    process = subprocess.Popen([sys.executable, "-c", SAVE], env={**os.environ, "PYTHONPATH": paths}, stdout=write,
                               stderr=subprocess.PIPE)  # fmt: skip
    os.close(write)
    os.close(read)
    assert process.wait(60) == 141 and process.stderr is not None and process.stderr.read() == b""


def test_a_full_disk_is_told_once() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    process = start("--help", stdout=full)
    assert process.wait(60) == 1 and process.stderr is not None
    assert process.stderr.read() == b"weirctl: standard output: No space left on device\n"
    process = start("nonsense", stderr=full)  # whose code is still that of what was asked for
    assert process.wait(60) == 2
    os.close(full)


@pytest.mark.parametrize("closed", ["0<&-", ">&-", "2>&-", "0<&- >&- 2>&-"])
def test_streams_may_be_closed_from_the_beginning(closed: str) -> None:
    for words, code in (("--help", 0), ("restore -", 2), ("top", 2), ("nonsense", 2)):
        line = f"exec {sys.executable} -m weir.ctl {words} {closed}"
        done = subprocess.run(["sh", "-c", line], env={**os.environ, "PYTHONPATH": PATHS, "WEIR_DEVICE": ""}, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=60)  # fmt: skip
        assert done.returncode == code and b"Traceback" not in done.stderr + done.stdout


def test_without_libweir_one_line_says_so() -> None:
    process = start("stats", environment={"WEIR_LIB": "/absent/libweir.so"})
    assert process.wait(60) == 1 and process.stderr is not None
    assert process.stderr.read() == b"weirctl: libweir is not at /absent/libweir.so; check WEIR_LIB\n"
    assert start("queue", "--help", environment={"WEIR_LIB": "/absent/libweir.so"}).wait(60) == 0


@pytest.mark.parametrize("what", ["no folder", "no permission", "no space"])
def test_a_file_that_cannot_be_written_is_told_by_the_name_it_was_given(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by that of a temporary file beside it."""
    place = tmp_path / "absent" / "f" if what == "no folder" else tmp_path / "f"
    number = {"no folder": errno.ENOENT, "no permission": errno.EACCES, "no space": errno.ENOSPC}[what]
    if what != "no folder":
        monkeypatch.setattr(os, "open" if what == "no permission" else "fdopen", _fails(number))
    with pytest.raises(OSError) as failed:
        output.write(place, "x")
    monkeypatch.undo()
    assert (failed.value.errno, failed.value.filename) == (number, str(place)) and not list(tmp_path.iterdir())


def _fails(number: int) -> Any:
    def fail(name: Any, *_: Any) -> Any:
        raise OSError(number, os.strerror(number), str(name))

    return fail


def test_a_name_of_255_bytes_can_be_written(tmp_path: Path) -> None:
    """NAME_MAX of Linux's file systems; the temporary name is not longer."""
    place = tmp_path / ("x" * 255)
    output.write(place, "content")
    assert place.read_text() == "content" and len(list(tmp_path.iterdir())) == 1


# ---- the exporter


def test_a_scrape_that_is_broken_off_is_quiet(device: weir.Device, capsys: pytest.CaptureFixture[str]) -> None:
    http = server(Context(Options(), device), "127.0.0.1", 0)
    threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True).start()
    for request in (b"GET /metrics HTTP/1.0\r\n\r\n", b"GET /met", b"\xff\xfe\r\n\r\n"):
        for _ in range(5):
            with socket.create_connection(http.server_address[:2]) as client:
                client.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
                )  # a reset, with data under way
                client.sendall(request)
    time.sleep(0.5)
    with urllib.request.urlopen(f"http://127.0.0.1:{http.server_address[1]}/metrics", timeout=10) as answer:
        assert b"weir_up 1" in answer.read()
    http.shutdown()
    http.server_close()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("listen", "host"), [("[::1]:0", "[::1]"), ("[::]:0", "[::1]"), (":0", "127.0.0.1"), ("localhost:0", "localhost")]
)
def test_metrics_at_any_address(listen: str, host: str, device: weir.Device) -> None:
    http = server(Context(Options(), device), *place(listen))
    threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True).start()
    try:
        with urllib.request.urlopen(f"http://{host}:{http.server_address[1]}/metrics", timeout=10) as answer:
            assert b"weir_up 1" in answer.read()
    finally:
        http.shutdown()
        http.server_close()


# ---- completion


def _processor(process: subprocess.Popen[bytes]) -> float:
    """Waits for a program: how long it had a processor, in seconds."""
    used = os.wait4(process.pid, 0)[2]
    process.returncode = 0
    return used.ru_utime + used.ru_stime


def completed(*before: str) -> tuple[list[str], float]:
    """What is offered, and how long it had a processor, in seconds."""
    process = start("completion", "words", "--", *before)
    assert process.stdout is not None and process.stderr is not None
    out, err = process.stdout.read(), process.stderr.read()
    assert err == b""
    return out.decode().split(), _processor(process)


@pytest.mark.parametrize("before", ["", "queue replace", "queue replace 0 red", "-d", "-d sim:full queue replace"])
def test_completion_takes_less_than_a_person_notices(before: str) -> None:
    """0.15 s, or on a machine that is slower or has much to do, eight times what the interpreter takes to do nothing."""
    nothing = min(_processor(subprocess.Popen([sys.executable, "-c", ""])) for _ in range(3))
    runs = [completed(*before.split()) for _ in range(3)]
    assert all(found for found, _ in runs) and min(seconds for _, seconds in runs) < max(0.15, 8 * nothing)


def test_a_device_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "silent"))
        listener.listen()
        begun = time.monotonic()
        assert completion.queues(f"unix:{tmp_path}/silent") == tuple("01234567")
        assert time.monotonic() - begun < 1
        assert f"unix:{tmp_path}/silent" in completion.uris()
        found, _ = completed("-d", f"unix:{tmp_path}/silent", "queue", "replace")
        assert found == list("01234567")
    assert completion.queues(None) == completion.queues("sim:absent") == tuple("01234567")


def test_a_cycle_model_says_how_many_queues_it_has() -> None:
    """`full` has four, `network` one (docs/modules/core.md, docs/ns3.md); `sim:` is `full` (weir-uri(7))."""
    assert completion.queues("sim:full") == completion.queues("sim:") == tuple("0123")
    network = completion.MODELS / "network" / "libweir_model.so"
    assert completion.queues("sim:network") == completion.queues(f"sim:{network}") == ("0",)
    assert completed("-d", "sim:network", "queue", "replace")[0] == ["0"]


def test_cycle_models_that_are_built_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for preset in ("full", "small"):
        (tmp_path / preset).mkdir()
        (tmp_path / preset / "libweir_model.so").touch()
    monkeypatch.setenv("WEIR_MODEL_DIR", str(tmp_path))
    assert [uri for uri in completion.uris() if uri.startswith("sim:")] == ["sim:full", "sim:small"]
    assert completion.following(["-d"])[-2:] == ["sim:full", "sim:small"]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("weirctl -d unix:/tmp/weir queue rep", ["replace"]),
        ("weirctl -d unix:/tmp/weir queue replace 0 re", ["red"]),
        ("weirctl -d sim:", ["small"]),
        ("weirctl -d sim:sm", ["small"]),
        ("weirctl -d si", ["sim:small"]),
        ("weirctl queue replace 0 red spread uniform-", ["uniform-wait"]),
    ],
)
def test_completion_in_bash(line: str, offered: list[str], tmp_path: Path) -> None:
    """bash ends words at its COMP_WORDBREAKS, of which ':' is one, and replaces the last of them alone."""
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "libweir_model.so").touch()
    pieces = [piece for word in line.split() for piece in re.split("([:=@])", word) if piece]
    script = f"""
weirctl() {{ {sys.executable} -m weir.ctl "$@"; }}
{completion._BASH}
COMP_LINE='{line}' COMP_POINT={len(line)} COMP_WORDS=({" ".join(f"'{p}'" for p in pieces)}) COMP_CWORD={len(pieces) - 1}
_weirctl
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    environment = {**os.environ, "PYTHONPATH": PATHS, "WEIR_MODEL_DIR": str(tmp_path)}
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (offered, "")

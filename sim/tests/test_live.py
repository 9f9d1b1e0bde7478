"""`weir-sim live`: time against the clock, ports, the wire back, and this kernel's TCP through the RTL."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

import weir
from weir_sim import Core, cli, host, netns
from weir_sim.direction import Ledger, Options
from weir_sim.errors import IdentityError, UsageError
from weir_sim.frames import ECT0, udp_frame
from weir_sim.live import SERVER, Live, summary
from weir_sim.pace import Pace
from weir_sim.tap import Port, Wire

ROOT = Path(__file__).resolve().parents[2]
BULK = ROOT / "sim" / "live" / "bulk.py"
PATHS = os.pathsep.join(str(ROOT / p) for p in ("sw-driver/python", "sim/python", "sim/live"))
PRESET = "full"


def _refused(user: bool) -> str | None:
    """Why the system allows no namespace with a TAP device, with or without a user namespace: asked of its own tools."""
    words = ["unshare", *(["--user", "--map-root-user"] if user else []), "--net", "--pid", "--fork", "ip", "tuntap", "add",
             "probe", "mode", "tap"]  # fmt: skip
    try:
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PATH": netns.path()})
    except FileNotFoundError as error:
        return f"the command {error.filename} is missing"
    return (done.stderr.strip() or f"unshare ended with code {done.returncode}") if done.returncode else None


REFUSED = {user: _refused(user) for user in (False, True)}
WHY_NOT = REFUSED[False] and REFUSED[True]
hosts = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


# ---- time


def test_time_follows_the_clock_and_tells_what_it_loses() -> None:
    now = [100.0]
    pace = Pace(2.0, 5_000, 0.05, lambda: now[0])
    now[0] += 1.0
    assert pace.due() == 5_000 + 500_000_000
    pace.reached(pace.due() - 10_000_000)  # 20 ms of real time behind: within what is allowed
    assert pace.lost_s == 0 and pace.worst_s == pytest.approx(0.02) and pace.due() == 500_005_000
    pace.reached(400_005_000)  # 200 ms behind
    assert pace.lost_s == pytest.approx(0.2) and pace.worst_s == pytest.approx(0.2)
    assert pace.due() == 400_005_000
    now[0] += 0.5
    assert pace.due() == 650_005_000 and pace.elapsed_s == pytest.approx(1.5)


def test_nothing_happens_before_the_time_that_the_model_tells() -> None:
    """A frame that will come, a packet that the shaper holds, and nothing at all."""
    core = Core(PRESET, egress="mac")
    core.device.shape(1e6)
    core.run_idle()
    core.run_cycles(200)
    assert core.next_ns is None
    start = core.now_ns + 1_000_000
    core.send(udp_frame(1000, 0, ECT0, 0), start)
    assert start - 10 <= core.next_ns <= start + 7
    for number in range(1, 8):
        core.send(udp_frame(1000, 0, ECT0, number), start)
    gap = 1024 * 8000  # 1 Mbit/s, 24 bytes of overhead, once the burst is used up
    core.run_until(start + 100_000)
    core.recv()
    times = []
    while core.next_ns is not None:
        waited = core.next_ns
        core.run_until(waited)
        assert not core.recv_many().lengths.size
        core.run_until(max(waited, core.now_ns) + 5_000)
        times += [frame.first_ns for frame in core.recv()]
    assert len(times) >= 4 and all(abs(b - a - gap) < 100 for a, b in pairwise(times[-4:]))


# ---- ports


def _pair() -> tuple[socket.socket, socket.socket]:
    """Whole frames between two descriptors, as a TAP device has them."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    near.setblocking(False)
    far.setblocking(False)
    return near, far


def test_frames_go_through_the_core_as_they_are_and_are_counted() -> None:
    (near, source), (target, far) = _pair(), _pair()
    core, traced = Core(PRESET, egress="mac"), []
    port = Port(source.fileno(), target.fileno(), lambda records: traced.append(len(records)))
    core.device.trace_enable()
    frames = [udp_frame(60 + 131 * n, 0, ECT0, n) for n in range(9)]
    for frame in frames:
        near.send(frame)
    port.take(core, core.now_ns)
    core.run_idle()
    port.give(core)
    assert [far.recv(2048) for _ in frames] == frames
    total = sum(map(len, frames))
    assert (port.sent, port.sent_bytes, port.received, port.received_bytes) == (9, total, 9, total)
    assert sum(traced) == 18 and port.lost == port.aborted == 0
    port.take(core, core.now_ns)  # nothing waits
    port.give(core)
    far.close()  # a device that takes nothing
    near.send(frames[0])
    port.take(core, core.now_ns)
    core.run_idle()
    port.give(core)
    assert (port.lost, port.lost_bytes, port.received) == (1, len(frames[0]), 9)


def test_the_wire_keeps_order_and_delay() -> None:
    (near, source), (target, far) = _pair(), _pair()
    wire = Wire(source.fileno(), target.fileno(), 0.05)
    wire.start()
    try:
        begun = time.monotonic()
        for number in range(20):
            near.send(bytes([number]) * 60)
        far.settimeout(5)
        got = [far.recv(2048)[0] for _ in range(20)]
        assert got == list(range(20)) and time.monotonic() - begun >= 0.05
    finally:
        wire.stop()
    assert not wire.is_alive()
    assert (wire.moved, wire.moved_bytes, wire.lost) == (20, 1200, 0)  # counted after the write: settled by the stop


@pytest.mark.parametrize("which", ["sent", "received", "registers", "ports"])
def test_counters_that_differ_are_an_error(which: str) -> None:
    right = {
        "sent": (10, 900),
        "ports": ((10, 900), (8, 700)),
        "registers": ((10, 900), (8, 700)),
        "received": (8, 700),
    }
    Ledger(**right).check()  # type: ignore[arg-type]
    Ledger(**{**right, "registers": None}).check()  # type: ignore[arg-type]
    wrong = (10, 901) if which in ("sent", "received") else ((10, 900), (8, 699))
    with pytest.raises(IdentityError, match="hosts' devices count"):
        Ledger(**{**right, which: wrong}).check()  # type: ignore[arg-type]


# ---- bad input


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--link-rate", "20Gbit"], "allowed is 64kbit to 10Gbit"),
        (["--link-rate", "fast"], "--link-rate fast"),
        (["--slow", "0.5"], "allowed is 1 (real time) to 1000000"),
        (["--delay", "11s"], "allowed is 0 to 10s"),
        (["--delay", "soon"], "--delay soon"),
        (["--cores", "2", "--delay", "1ms"], "use --delay 0 with it"),
        (["--mtu", "9001"], "allowed is 576 to 9000"),
        (["--seconds", "0"], "allowed is above 0 to 86400"),
        (["--congestion", "vega3"], "this kernel has"),
        pytest.param(["--policy", "blue"], "blue", marks=hosts),
        pytest.param(["--policy", "red", "--set", "min=3MB"], "min", marks=hosts),
        pytest.param(["--socket", "absent/s"], "the directory absent does not exist", marks=hosts),
    ],
)
def test_what_cannot_be_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["live", "--preset", PRESET, "--socket", str(tmp_path / "s"), *words]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1 and not list(tmp_path.iterdir())


def test_without_the_right_to_a_tap_device_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "TUN", "/dev/null/tun")
    with pytest.raises(UsageError, match=r"/dev/null/tun does not exist \(modprobe tun\); run it as root"):
        host.needs_user_namespace()
    monkeypatch.setattr(host, "TUN", netns.TUN)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(host, "path", lambda: "/nowhere")
    with pytest.raises(UsageError, match="the command ip is missing; as root: apt-get install iproute2"):
        host.needs_user_namespace()


@hosts
def test_what_the_namespace_refuses_is_told_and_leaves_no_process() -> None:
    with pytest.raises(UsageError, match="live: ip link set eth0 address 02:00"):
        host.Host("broken", host.Plan("02:00:zz", ("10.99.0.1/24",), user=host.needs_user_namespace()))
    assert not _helpers(os.getpid())


AS_NOBODY = """
import os, sys
from weir_sim import host
os.setgroups([]), os.setgid(65534), os.setuid(65534)
if os.access(host.TUN, os.R_OK | os.W_OK):
    sys.exit("open to everybody")
try:
    host.needs_user_namespace()
except host.UsageError as error:
    print(error)
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_a_user_without_rights_is_told_to_be_root() -> None:
    """As nobody, to whom the TAP device is refused unless the system opens it to everybody."""
    done = subprocess.run([sys.executable, "-c", AS_NOBODY], text=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": PATHS})  # fmt: skip
    if done.stderr == "open to everybody\n":
        pytest.skip(f"{netns.TUN} is open to everybody here")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "live: /dev/net/tun may not be opened by this user; run it as root, or ask for that right\n"


# ---- hosts


def _helpers(parent: int) -> list[int]:
    """Processes that hold namespaces of `parent`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            ours = int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent
        except (OSError, IndexError):
            continue
        if ours and any(word.endswith(b"netns.py") for word in words):
            found.append(int(entry.name))
    return found


@hosts
@pytest.mark.parametrize("user", [False, True])
def test_a_host_has_its_own_network_and_goes_without_a_trace(user: bool) -> None:
    if refused := REFUSED[user]:
        pytest.skip(refused)
    plan = host.Plan("02:00:00:00:00:07", ("10.99.0.1/24", "fd99::1/64"), mtu=1400, congestion="reno",
                     parameters=(("ipv4/tcp_ecn", "1"),), user=user)  # fmt: skip
    one = host.Host("one", plan)
    try:
        inside = one.start(["sh", "-c", "ip -o link; ip route; cat /proc/sys/net/ipv4/tcp_ecn"], stdout=subprocess.PIPE)
        text = inside.communicate(timeout=10)[0].decode()
        assert "mtu 1400" in text and "02:00:00:00:00:07" in text and "congctl reno" in text and text.endswith("\n1\n")
        assert [line.split(":")[1].strip() for line in text.splitlines() if line[0].isdigit() and ": " in line] == [
            "lo",
            "eth0",
        ]
        sleeper = one.start(["sh", "-c", "(sleep 1000 &) ; sleep 1001"])
        networks = {os.readlink(f"/proc/{one.pid}/ns/net")}
    finally:
        one.close()
    assert sleeper.poll() is not None
    # what was killed is no child of this process, and on a busy machine takes a moment to go
    end = time.monotonic() + 5
    while _inside(networks) and time.monotonic() < end:
        time.sleep(0.01)
    assert not _inside(networks)


class _Scene:
    """A running `Live`, and turns until something is so."""

    def __init__(self, live: Live) -> None:
        self.live = live

    def until(self, done: Callable[[], bool], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, "takes too long"
            self.live.turn()

    def client(self, *words: str, seconds: float = 30) -> str:
        """Runs something on the client and answers its output."""
        child = self.live.client.start(words, stdout=subprocess.PIPE, env=self.live.environment())
        self.until(lambda: child.poll() is not None, seconds)
        assert child.stdout is not None and child.returncode == 0
        return child.stdout.read().decode()

    def serve(self, words: Sequence[str] = (sys.executable, str(BULK), "receive"), port: int = 5001) -> None:
        """Starts a server and waits until it listens."""
        self.live.server.start(words, stdout=subprocess.DEVNULL)
        tables = [Path(f"/proc/{self.live.server.pid}/net/{name}") for name in ("tcp", "tcp6")]
        self.until(lambda: any(f":{port:04X} " in table.read_text() for table in tables), 10)

    def weirctl(self, socket: Path, *words: str) -> None:
        """Runs weirctl beside it."""
        control = subprocess.Popen(
            [sys.executable, "-m", "weir.ctl", "-d", f"unix:{socket}", *words], env={**os.environ, "PYTHONPATH": PATHS}
        )
        self.until(lambda: control.poll() is not None, 30)
        assert control.returncode == 0


@pytest.fixture
def scene(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[_Scene]:
    more = getattr(request, "param", {})
    with Live(Options(**{"preset": PRESET, "socket": tmp_path / "w", "link_rate": 3e6, **more})) as live:
        yield _Scene(live)
    assert not _helpers(os.getpid()) and not list(tmp_path.glob("w*"))


@hosts
def test_real_tcp_goes_through_the_rtl_while_weirctl_changes_it(scene: _Scene, tmp_path: Path) -> None:
    """Cubic with ECN at 3 Mbit/s. The link carries 1448 of 1538 byte times; RED marks, and the senders slow down for it."""
    scene.serve()
    scene.weirctl(tmp_path / "w", "queue", "replace", "0", "red", "limit", "100KB", "min", "8KB", "max", "24KB",
                  "avpkt", "1000", "burst", "12", "probability", "0.1", "ecn", "gentle")  # fmt: skip
    shown = scene.live.there.core.device.queue_show(0)
    assert shown["policy"] == "red" and shown["min"] == pytest.approx(8192)
    sent = json.loads(scene.client(sys.executable, str(BULK), "send", "--flows", "2", "--seconds", "5"))
    (ledger,) = scene.live.finish()
    ledger.check()
    assert ledger.registers is not None and ledger.sent[0] > 100
    flows = sent["flows"]
    goodput = (
        sum(flow["bytes"] for flow in flows) * 8 / (max(f["last"] for f in flows) - min(f["first"] for f in flows))
    )
    assert goodput / 3e6 < 1448 / 1538 * 1.01
    if kept_up := scene.live.there.pace.lost_s < 0.25:  # or the machine had better things to do
        assert goodput / 3e6 > 0.5
    assert {flow["congestion"] for flow in sent["flows"]} == {"cubic"}
    queue = scene.live.there.core.stats().queues[0]
    assert queue.in_ect0.packets > 0.5 * (ledger.sent[0] - 300) and queue.marked.packets > (5 if kept_up else 0)
    assert min(ms for _, ms in sent["probes"]) >= 20  # the wire's delay
    assert "frames of the sender's device into the core" in summary(scene.live, [ledger])[0]


@hosts
@pytest.mark.skipif(not (shutil.which("ping") and shutil.which("iperf3")), reason="ping or iperf3 is missing")
def test_ping_sees_behind_iperf3_what_weirctl_changes(scene: _Scene, tmp_path: Path) -> None:
    """40 KB of Drop-Tail are 107 ms at 3 Mbit/s, and cubic fills them; PIE keeps 10 ms. The wire back adds 20 ms to both."""
    scene.serve(["iperf3", "-s"], 5201)

    def run(*words: str) -> tuple[float, float]:
        """Mbit/s that iperf3's server got, and the median of ping's round trips in ms, with a queue as `words` say."""
        scene.weirctl(tmp_path / "w", "queue", "replace", "0", *words, "limit", "40KB")
        bulk = scene.live.client.start(["iperf3", "-c", SERVER[0], "-t", "4", "-J"], stdout=subprocess.PIPE)
        begun = time.monotonic()
        scene.until(lambda: time.monotonic() - begun > 1.5, 5)
        pings = re.findall(r"time=([\d.]+) ms", scene.client("ping", "-c", "11", "-i", "0.2", SERVER[0]))
        scene.until(lambda: bulk.poll() is not None, 30)
        assert bulk.stdout is not None and bulk.returncode == 0
        assert len(pings) >= 5
        received = json.loads(bulk.stdout.read())["end"]["sum_received"]
        return received["bits_per_second"] / 1e6, statistics.median(map(float, pings))

    tail, tail_ms = run("drop-tail")
    pie, pie_ms = run("pie", "target", "10ms", "ecn")
    (ledger,) = scene.live.finish()
    ledger.check()
    assert min(tail_ms, pie_ms) >= 20 and max(tail, pie) < 3 * 1448 / 1538 * 1.05
    if scene.live.there.pace.lost_s < 0.25:  # or the machine had better things to do
        assert tail_ms > 60 and pie_ms < 0.7 * tail_ms and min(tail, pie) > 1.5, (tail, tail_ms, pie, pie_ms)


@hosts
@pytest.mark.parametrize("scene", [{"cores": 2, "delay_s": 0.0, "link_rate": 5e6}], indirect=True)
def test_two_cores_carry_both_ways_and_a_reset_is_told(scene: _Scene, tmp_path: Path) -> None:
    scene.serve()
    sent = json.loads(scene.client(sys.executable, str(BULK), "send", "--flows", "1", "--seconds", "1.5"))
    assert sent["probes"] and sent["flows"][0]["bytes"] > 0
    with weir.Device(f"unix:{tmp_path}/w-back") as back:  # its thread answers
        assert back.core_counters().rx_wire.packets == 0 and back.queue_show(0)["policy"] == "drop-tail"
    scene.live.there.core.device.reset()
    ledgers = scene.live.finish()
    for ledger in ledgers:
        ledger.check()
    assert [ledger.registers is None for ledger in ledgers] == [True, False]
    assert ledgers[1].sent[0] > 50
    assert any("was reset meanwhile" in line for line in summary(scene.live, ledgers))


@hosts
def test_a_frame_that_is_never_counted_is_noticed(scene: _Scene) -> None:
    """The identity can fail: one frame beside the core."""
    os.write(scene.live.server.tap, udp_frame(100, 0, ECT0, 1))
    (ledger,) = scene.live.finish()
    with pytest.raises(IdentityError):
        ledger.check()


def _inside(networks: set[str]) -> list[int]:
    """Processes in these network namespaces."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "ns" / "net") in networks:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def _started(tmp_path: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "weir_sim", "live", "--preset", PRESET, "--socket", str(tmp_path / "w"), *words],
        env={**os.environ, "PYTHONPATH": PATHS}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


@hosts
@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_however_it_ends_nothing_is_left(tmp_path: Path, how: signal.Signals, code: int) -> None:
    """Not even what a command of the server has started and left."""
    process = _started(tmp_path, "--server", "(sleep 1000 &) ; sleep 1001")
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(5)]
    assert (
        f"client 10.88.0.1 → core, preset {PRESET}, drop-tail, 20Mbit/s → server 10.88.0.2; back: a wire, 20ms"
        in lines[0]
    )
    assert lines[3].split()[0] == "nsenter" and "iperf3 -s" in lines[4]
    networks = {os.readlink(f"/proc/{pid}/ns/net") for pid in _helpers(process.pid)}
    assert len(networks) == 2
    end = time.monotonic() + 10
    while len(_inside(networks)) < 7:  # two helpers, two first processes; a shell and two that sleep
        assert time.monotonic() < end, "the server's command has not started"
        time.sleep(0.05)
    process.send_signal(how)
    assert process.wait(30) == code
    process.stdout.close()
    end = time.monotonic() + 10
    while left := _inside(networks):
        assert time.monotonic() < end, f"processes are left: {left}"
        time.sleep(0.05)
    assert (tmp_path / "w").exists() == (how == signal.SIGKILL)


@hosts
def test_exit_code_and_standard_output_are_the_commands(tmp_path: Path) -> None:
    command = f"sleep 1; echo data; test $WEIR_SERVER = {SERVER[0]} && exit 7"
    process = _started(tmp_path, "--server", "echo served", "--", "sh", "-c", command)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 7 and out == "data\n"
    assert "served\n" in err and "out of it to the receiver's" in err


@hosts
def test_the_session_gives_its_table_and_picture(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "sim" / "live" / "session.py"), "--only", "pie", "--seconds", "4", "--preset", PRESET,
         "--out", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": PATHS}, text=True, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the core's counters equal those of the hosts' devices in every case" in done.stdout
    (row,) = json.loads((tmp_path / "live.json").read_text())
    assert row["policy"] == "pie" and row["goodput_mbit"] > 0 and row["frames"]["core"][0] == row["frames"]["sender"]
    assert (tmp_path / "live.png").read_bytes()[:4] == b"\x89PNG" and "PIE" in (tmp_path / "table.txt").read_text()
    assert {p.name for p in tmp_path.iterdir()} == {"live.png", "live.json", "table.txt"}


@pytest.mark.parametrize(
    ("error", "said", "code"),
    [
        (weir.WeirError(-1, "policy 6 is not built"), "policy 6 is not built", 2),
        (UsageError("live: no TAP device"), "no TAP device", 2),
        (IdentityError("live: counters differ"), "counters differ", 3),
    ],
)
def test_what_ends_a_session_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    said: str,
    code: int,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "sim" / "live")
    import session

    def fails(*_: object) -> session.Result:
        raise error

    monkeypatch.setattr(session, "_run", fails)
    assert session.main(["--only", "pie", "--out", str(tmp_path)]) == code
    assert capsys.readouterr().err == f"live: {said}\n" and not list(tmp_path.iterdir())
    assert session.main(["--seconds", "1"]) == 2
    assert capsys.readouterr().err == "live: --seconds 1 is out of range: allowed is 3 to 3600\n"

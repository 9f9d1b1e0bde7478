"""weirctl as a program on a cycle model that is served with traffic: trace, top, metrics, doctor, and how it ends."""

from __future__ import annotations

import functools
import json
import operator
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import weir
from fake_core import POLICIES, FakeCore, RegisterFile, SlaveError
from served import served
from weir.ctl import completion, exporter, regs, trace
from weir.ctl.context import Context
from weir.ctl.main import main
from weir.ctl.words import Options
from weir_sim import Core
from weir_sim.frames import CE, ECT0, ECT1, NOT_ECT, udp_frame
from weir_sim.traffic import Random

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    with served(folder, Random(2e9), 2000.0, 1e9):
        yield f"unix:{folder}/socket"


@pytest.fixture
def ctl(uri: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("WEIR_DEVICE", uri)

    def call(*words: object) -> tuple[int, str, str]:
        code = main([str(w) for w in words])
        return code, *capsys.readouterr()

    call("queue", "replace", 0, "red", "limit", "400KB", "min", "30KB", "max", "90KB", "probability", 0.1, "ecn")
    return call


def start(*words: str, **more: Any) -> subprocess.Popen[str]:
    path = os.pathsep.join(str(ROOT / p) for p in ("sw-driver/python", "sim/python"))
    return subprocess.Popen([sys.executable, "-m", "weir.ctl", *words], env={**os.environ, "PYTHONPATH": path}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)  # fmt: skip


@pytest.mark.parametrize("kind", ["unix", "uart", "sim", "pci"])
def test_weirctl_on_every_transport(
    kind: str, uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], register_map: RegisterFile
) -> None:
    """The RTL behind three of them; PCI is a file with its registers."""
    place = uri.partition(":")[2]
    bar = tmp_path / "resource0"
    bar.write_bytes(bytes(1 << 16))
    with bar.open("r+b") as file:
        for address, value in FakeCore(register_map, policies=POLICIES).words.items():
            file.seek(address)
            file.write(value.to_bytes(4, "little"))
    device = {"unix": uri, "uart": f"uart:{Path(place).with_name('tty')}", "sim": "sim:full", "pci": f"pci:{bar}"}[kind]

    def call(*words: object) -> str:
        code = main(["-d", device, *map(str, words)])
        out, err = capsys.readouterr()
        assert (code, err) == (0, ""), err
        return out

    file_name = tmp_path / "f.yaml"
    file_name.write_text("weir: 1\nqueues: {3: {policy: ared, limit: 100KB, min: 5KB, max: 15KB, ecn: true}}\n")
    call("restore", file_name)
    if kind != "sim":  # that core has gone with its program
        assert call("queue", "show", 3).startswith("queue 3 ared limit 100KB min 5KB max 15KB ")
        call("queue", "change", 3, "max", "20KB")
        assert "max 20KB" in call("queue", "show", 3)
    call("stats")
    call("queue", "del", 3)


def test_two_restores_at_once_leave_one_of_the_two(uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slowly, so that they would mix. Both name the same three queues, the core's shaper and its DSCPs; whoever is last has all of it."""
    texts = {
        n: f"weir: 1\ncore: {{shape: {{rate: {n}gbit}}, dscp: {{46: {n}}}}}\nqueues:\n"
        + "".join(f"  {q}: {{policy: red, min: {n}KB, max: {4 * n}KB, weight: 0.0{n}}}\n" for q in (1, 2, 3))
        for n in (1, 2)
    }
    for n, content in texts.items():
        (tmp_path / str(n)).write_text(content)
    seen, codes = [], []
    replace = weir.Device.queue_replace

    def slowly(device: weir.Device, *words: Any, **natural: Any) -> dict[str, Any]:
        time.sleep(0.02)
        return replace(device, *words, **natural)

    monkeypatch.setattr(weir.Device, "queue_replace", slowly)

    def restore(n: int) -> None:
        for _ in range(5):
            codes.append(main(["-d", uri, "restore", str(tmp_path / str(n))]))
            with weir.Device(uri) as device, device.lock():
                shown = [device.queue_show(q) for q in (1, 2, 3)]
                seen.append(
                    (
                        device.shape_show()["rate"],
                        device.dscp_map()[46],
                        *(s["min"] for s in shown),
                        *(s["max"] for s in shown),
                    )
                )

    threads = [threading.Thread(target=restore, args=(n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 10
    assert {(round(rate / 1e9), *rest) for rate, *rest in seen} <= {
        (n, n, *[n << 10] * 3, *[4 * n << 10] * 3) for n in (1, 2)
    }
    with weir.Device(uri) as device:
        device.shape("1gbit")
        device.dscp_map([0] * 64)


def test_trace(ctl: Any, uri: str, tmp_path: Path) -> None:
    code, out, _ = ctl("trace", 0, "--count", 20)
    assert code == 0 and len(out.splitlines()) == 20
    assert all(re.match(r" *\d+\.\d{3}us  queue 0  (arrival|departure)", line) for line in out.splitlines())
    code, out, _ = ctl("trace", "-j", "--count", 10)
    assert len([json.loads(line) for line in out.splitlines()]) == 10
    with weir.Device(uri) as device:
        device.trace_enable()
        while not device.trace_level():
            time.sleep(0.05)
        device.trace_enable(False)
    begun = json.loads(ctl("-j", "stats")[1])["time_ns"]
    code, out, _ = ctl("trace", "-j", 0, "--count", 3)  # nothing that an earlier trace has left
    assert all(json.loads(line)["time_ns"] >= begun for line in out.splitlines())
    code, out, _ = ctl("trace", "--csv", "--count", 5)
    columns = out.splitlines()[0].split(",")
    assert len(out.splitlines()) == 6 and all(len(line.split(",")) == len(columns) for line in out.splitlines())
    assert ctl("regs", "TRACE_CTRL")[1].split()[2] == "0x00000000" or "ENABLE=0" in ctl("regs", "TRACE_CTRL")[1]
    code, out, _ = ctl("trace", 0, "--plot", tmp_path / "q.png", "--count", 200)
    assert code == 0 and "200 records" in out and (tmp_path / "q.png").read_bytes().startswith(b"\x89PNG")
    assert ctl("trace", 0, "--plot", tmp_path / "q.svg", "--count", 20)[0] == 0
    assert b"<svg" in (tmp_path / "q.svg").read_bytes()
    assert ctl("trace", 0, "--plot", "/absent/q.png")[0] == 2
    code, _, said = ctl("trace", 0, "--plot", tmp_path / "q.xyz")
    assert code == 2 and said.endswith("q.xyz: a picture's name ends in .png, .svg or .pdf\n")
    assert sorted(p.name for p in tmp_path.glob("*q.*")) == ["q.png", "q.svg"]


@pytest.mark.parametrize("before", [0x0, 0x209, 0x50B, 0xF0F, 0x903])
def test_a_trace_leaves_the_control_as_it_was(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, register_map: RegisterFile, before: int
) -> None:
    """Which queues and what of them, whether it was on or off."""
    core = FakeCore(register_map)
    device = weir.Device(core)
    device.trace_enable(
        bool(before & 1), [q for q in range(4) if before >> (8 + q) & 1], bool(before & 2), bool(before & 4), bool(before & 8)
    )  # fmt: skip
    assert core.applied("TRACE_CTRL") == before
    monkeypatch.setattr(trace, "_QUIET_S", 0.05)
    assert main(["trace", "2"], device) == 0
    assert core.applied("TRACE_CTRL") == before


def test_top_on_a_dumb_terminal_is_plain(uri: str) -> None:
    near, far = os.openpty()
    path = os.pathsep.join(str(ROOT / p) for p in ("sw-driver/python", "sim/python"))
    process = subprocess.Popen([sys.executable, "-m", "weir.ctl", "-d", uri, "top", "--count", "1"], stdin=far, stdout=far,
                               stderr=far, env={**os.environ, "PYTHONPATH": path, "TERM": "dumb"})  # fmt: skip
    assert process.wait(60) == 0
    seen = os.read(near, 65536)
    os.close(near)
    os.close(far)
    assert b"queue 3" in seen and b"\x1b" not in seen


def test_a_trace_without_traffic_ends(capsys: pytest.CaptureFixture[str], register_map: RegisterFile) -> None:
    assert main(["trace"], weir.Device(FakeCore(register_map))) == 0
    assert capsys.readouterr().err == "weirctl: no more records for 3 s; is there traffic?\n"


def test_a_core_without_a_trace_is_told(capsys: pytest.CaptureFixture[str], register_map: RegisterFile) -> None:
    device = weir.Device(FakeCore(register_map, trace=False))
    assert main(["trace"], device) == 2
    assert capsys.readouterr().err == "weirctl: the trace is not built into this core; use a preset with a trace\n"
    assert main(["regs"], device) == 0
    assert "FREE_CELLS" in (out := capsys.readouterr().out) and "TRACE_CTRL" not in out


def test_completion_asks_a_device_for_its_queues(ctl: Any, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completion, "_WAIT_S", 20)
    for before in ("queue replace", f"-d {uri} class default queue", f"--device {uri} regs queue"):
        assert ctl("completion", "words", "--", *before.split())[1].split() == list("0123")
    assert f"unix:{uri.partition(':')[2]}" in completion.uris()


def test_stats_tells_a_reset(uri: str) -> None:
    process = start("-d", uri, "stats", "--watch", "1.5", "--count", "4", "0")
    assert process.stdout is not None
    while "core:" not in process.stdout.readline():
        pass
    with weir.Device(uri) as device:
        device.reset()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and "-" not in out
    assert out.count("the counters began anew: a reset came in between") == 1
    assert out.count("per second") == 2 and out.rindex("per second") > out.index("began anew")


def test_stats_again_and_again(ctl: Any) -> None:
    code, out, _ = ctl("stats", "--watch", 0.2, "--count", 3)
    assert code == 0 and out.count("per second") == 2 and "Mbit" in out


def test_top(ctl: Any) -> None:
    code, out, _ = ctl("top", "--count", 2, "--interval", 0.3)
    assert code == 0 and out.count("device time") == 2
    last = [line.split() for line in out.splitlines() if line.startswith("queue 0")][-1]
    assert last[2:4] == ["red", "400KB"] and last[8].endswith("bit") and 0 <= float(last[7]) <= 1


def test_top_on_a_terminal_ends_by_q(uri: str) -> None:
    near, far = os.openpty()
    os.set_blocking(near, False)
    path = os.pathsep.join(str(ROOT / p) for p in ("sw-driver/python", "sim/python"))
    process = subprocess.Popen([sys.executable, "-m", "weir.ctl", "-d", uri, "top"], stdin=far, stdout=far, stderr=subprocess.PIPE,
                               env={**os.environ, "PYTHONPATH": path, "TERM": "xterm"})  # fmt: skip
    seen, deadline = b"", time.monotonic() + 20
    while b"queue 3" not in seen and time.monotonic() < deadline:
        if select.select([near], [], [], 0.2)[0]:
            seen += os.read(near, 65536)
    os.write(near, b"q")
    assert process.wait(30) == 0
    if select.select([near], [], [], 0.5)[0]:
        seen += os.read(near, 65536)
    assert b"queue 3" in seen and b"\x1b[?1049h" in seen and seen.rstrip().endswith(b"\x1b[?1049l")
    os.close(near)
    os.close(far)


def test_doctor_finds_a_well_device_well(ctl: Any) -> None:
    code, out, _ = ctl("doctor")
    assert (
        code == 0
        and all(line.startswith(("ok ", "note ")) for line in out.splitlines())
        and len(out.splitlines()) == 12
    )
    assert {v["state"] for v in json.loads(ctl("-j", "doctor")[1]).values()} <= {"ok", "note"}


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda core: core.words.update({core.address("SHARED_CELLS"): 5000}), "are more than 2047: some are promised twice"),
        (lambda core: core.words.update({core.address("SHARED_CELLS"): 1547}), "leave 500 of 2047 that nobody can use"),
        (lambda core: core.words.update({core.address("STATUS"): 2}), "a reset is being carried out"),
        (lambda core: core.words.update({core.address("STATUS"): 0}), "the egress has no link"),
        (lambda core: core.words.update({core.address("RX_PACKETS_LO"): 0, core.address("IN_CE_PACKETS_LO", 1): 999}), "do not add up"),
        (lambda core: core.words.update({core.address("POLICY", 2): 1, core.address("RED_MIN", 2): 5 << 20}), "queue 2: max 0 is out of range"),
        (lambda core: core.words.update({core.address(n, q): v for q in (0, 3) for n, v in (("POLICY", 4), ("FN_WINDOW", 100))}), "of queues 0 and 3 overlap"),
    ],
)  # fmt: skip
def test_doctor_finds_what_is_wrong(every: FakeCore, capsys: pytest.CaptureFixture[str], harm: Any, said: str) -> None:
    device = weir.Device(every)
    every.words[every.address("STATUS")] = 1
    harm(every)
    assert main(["doctor"], device) == 3
    out = capsys.readouterr().out
    assert said in " ".join(line for line in out.splitlines() if line.startswith("wrong"))
    assert "the device's time stands still" in out  # this core has no clock


@pytest.mark.parametrize(
    ("mode", "spacing", "merging", "said"),
    [
        ("split", "1ms", {1: "flow", 3: "class"}, ("note", "merging is on (queue 1, 3), but nothing is merged while")),
        ("split", 0, {1: "flow"}, ("ok", "merging is on (queue 1), and no spacing keeps")),
        ("transit", 0, {1: "class"}, ("ok", "merging is on (queue 1), and no spacing keeps")),
        ("split", "1ms", {}, ("ok", "no queue merges")),
    ],
)
def test_doctor_tells_that_nothing_is_merged_while_packets_are_spaced(
    every: FakeCore, capsys: pytest.CaptureFixture[str], mode: str, spacing: Any, merging: Any, said: tuple[str, str]
) -> None:
    device = weir.Device(every)
    device.jumbo(mode, spacing=spacing)
    for queue, how in merging.items():
        device.merge(queue, how)
    main(["-j", "doctor"], device)
    found = json.loads(capsys.readouterr().out)["merging"]
    assert found["state"] == said[0] and found["what"].startswith(said[1])


def test_doctor_finds_a_register_that_forgets(register_map: RegisterFile, capsys: pytest.CaptureFixture[str]) -> None:
    class Forgets(FakeCore):
        def csr_read(self, address: int) -> int:
            return super().csr_read(address) & ~(4 if address == 0x30 else 0)

    assert main(["doctor"], weir.Device(Forgets(register_map))) == 3
    assert "SCRATCH does not keep what is written: wrote 0xFFFFFFFF, read 0xFFFFFFFB" in capsys.readouterr().out


def test_selftest(ctl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = ctl("selftest")
    assert code == 0 and out.startswith("skip  verdicts   not tried")
    before = ctl("show", "--commands")[1]
    code, out, _ = ctl("-d", "sim:full", "selftest")
    assert code == 0 and "1800 arrivals decided as the golden models do" in out
    assert ctl("show", "--commands")[1] == before
    from weir.ctl import scene

    monkeypatch.setattr(scene, "EXPECTED", "0" * 64)
    code, out, _ = ctl("-d", "sim:full", "selftest")
    assert code == 3 and "wrong verdicts" in " ".join(out.split())
    assert ctl("-d", "sim:absent", "selftest")[0] == 1


class Faulty(FakeCore):
    """A core of which one register does something else with what is written, or does not answer."""

    fault: Any = None
    at = 0

    def csr_read(self, address: int) -> int:
        read = super().csr_read(address)
        return self.fault(read) if self.fault and address == self.at else read

    def csr_write(self, address: int, value: int) -> None:
        if self.fault is None and address == self.at:
            raise SlaveError(f"0x{address:04x}")
        super().csr_write(address, value)


def faulty(
    register_map: RegisterFile, name: str, queue: int, fault: Any, policies: tuple[str, ...] = POLICIES
) -> Faulty:
    core = Faulty(register_map, policies=policies)
    core.words[core.address("UPTIME_LO")] = 5
    core.fault, core.at = fault, core.address(name, queue)
    return core


def shadows(core: FakeCore) -> dict[int, int]:
    words = {core.address(r.name, q) for q in range(core.queues) for r in core.map.queue.values() if r.kind == "shadow"}
    return {a: core.words[a] for a in sorted(words & set(core.words))}


@pytest.mark.parametrize(
    ("name", "queue", "fault", "said"),
    [
        ("LIMIT_PACKETS", 0, lambda read: read | 2, "(0x1008): wrote 0x0000A5A5, read 0x0000A5A7"),
        ("RED_MIN", 2, lambda read: 0, "(0x182C): wrote 0x5A5A5A5A, read 0x00000000"),
        ("RED_SLOPE", 1, lambda read: read & ~(1 << 29), "(0x1434): wrote 0x2501A5A5, read 0x0501A5A5"),
        ("PI2_MAX", 3, lambda read: read & ~(1 << 31), "(0x1D3C): wrote 0xA5A5A5A5, read 0x25A5A5A5"),
        ("CODEL_TARGET", 3, lambda read: 0x5A5A5A5A, "(0x1CDC): wrote 0xA5A5A5A5, read 0x5A5A5A5A"),
        ("POLICY", 1, lambda read: read & ~0x10000, "(0x1400): wrote"),
        ("MERGE_JFET", 0, None, "(0x10D4): cannot be written"),
    ],
)  # fmt: skip
def test_selftest_finds_a_shadow_that_sticks(
    register_map: RegisterFile, capsys: pytest.CaptureFixture[str], name: str, queue: int, fault: Any, said: str
) -> None:
    core = faulty(register_map, name, queue, fault)
    before = shadows(core)
    assert main(["-d", "device", "selftest"], weir.Device(core)) == 3
    out = capsys.readouterr().out
    assert f"wrong shadows    {name} of queue {queue} {said}" in out
    assert {**shadows(core), core.at: before[core.at]} == before


class Failing(Faulty):
    """A core of which one register reads wrong, and after some accesses to it does not answer any more."""

    left = 0

    def _access(self, address: int) -> None:
        if address == self.at:
            self.left -= 1
            if self.left < 0:
                raise SlaveError(f"0x{address:04x}")

    def csr_read(self, address: int) -> int:
        self._access(address)
        return super().csr_read(address)

    def csr_write(self, address: int, value: int) -> None:
        self._access(address)
        super().csr_write(address, value)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (0, "cannot be read: "),
        (5, "wrote 0x00005A5A, read 0x00005A5B; whether it holds 0x0000FFFF again is not known: "),
        (6, "wrote 0x00005A5A, read 0x00005A5B; whether it holds 0x0000FFFF again is not known: "),
        (7, "wrote 0x00005A5A, read 0x00005A5B"),
    ],
)
def test_selftest_tells_if_an_old_value_may_not_be_back(
    register_map: RegisterFile, capsys: pytest.CaptureFixture[str], answers: int, said: str
) -> None:
    """Read; write and read of two patterns; write of the old value and read: after so many it fails."""
    core = Failing(register_map)
    core.words[core.address("UPTIME_LO")] = 5
    core.fault, core.at, core.left = (lambda read: read | 1), core.address("LIMIT_PACKETS", 0), 1 << 30
    core.words[core.at] = 0xFFFF
    device = weir.Device(core)
    core.left = answers
    assert main(["-d", "device", "selftest"], device) == 3
    assert f"wrong shadows    LIMIT_PACKETS of queue 0 (0x1008): {said}" in capsys.readouterr().out


@pytest.mark.parametrize("policies", [POLICIES, ("drop-tail",), ("drop-tail", "codel"), ("drop-tail", "red", "pi2")])
@pytest.mark.parametrize("jumbo", [True, False])
def test_selftest_tries_every_bit_of_every_shadow_that_is_built(
    register_map: RegisterFile, capsys: pytest.CaptureFixture[str], policies: tuple[str, ...], jumbo: bool
) -> None:
    core = FakeCore(register_map, policies=policies, jumbo=jumbo)
    before = shadows(core)
    mask = {a: register_map.queue[(a - register_map.base) % register_map.stride].mask for a in before}
    fixed = {core.address("POLICY", q): 0xF for q in range(core.queues)}
    core.words.update((a, mask[a] & 0x1234567 & ~fixed.get(a, 0)) for a in before)
    before = shadows(core)
    device = weir.Device(core)
    core.forget()
    main(["-d", "device", "selftest"], device)
    assert f"ok    shadows    {len(before)} shadow registers keep what is written" in capsys.readouterr().out
    assert shadows(core) == before
    for address in before:
        written = [value for at, value in core.log if at == address]
        free = mask[address] & ~fixed.get(address, 0)
        assert functools.reduce(operator.or_, written) & free == free
        assert functools.reduce(operator.and_, written) & free == 0
    assert not {core.address("APPLY", q) for q in range(core.queues)} & {at for at, _ in core.log}


def test_selftest_without_a_register_map_says_so(
    every: FakeCore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regs, "_map", lambda: None)
    main(["-d", "device", "selftest"], weir.Device(every))
    assert "skip  shadows    not tried: there is no register map; set WEIR_REGS" in capsys.readouterr().out


# ---- metrics


def test_metrics_are_what_prometheus_reads(ctl: Any) -> None:
    """Every line by the text format 0.0.4; counters of one scrape belong together; none goes back."""
    texts = [ctl("exporter", "--once")[1] for _ in range(2)]
    sample = re.compile(r'(weir_[a-z0-9_]+)(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})? (-?[0-9.e+-]+)$')
    values: list[dict[str, float]] = []
    for content in texts:
        kinds: dict[str, str] = {}
        values.append({})
        for line in content.splitlines():
            if line.startswith("#"):
                word, name, rest = line[2:].split(" ", 2)
                assert word in ("HELP", "TYPE") and rest
                if word == "TYPE":
                    assert name not in kinds and rest in ("counter", "gauge", "histogram")
                    kinds[name] = rest
                continue
            match = sample.match(line)
            assert match, line
            name = re.sub(r"_(bucket|count)$", "", match[1])
            assert name in kinds and (kinds[name] != "counter" or name.endswith("_total"))
            values[-1][match[1] + (match[2] or "")] = float(match[4])
    first, second = values
    assert first.keys() == second.keys()
    assert all(second[k] >= v for k, v in first.items() if "_total" in k or "_bucket" in k)
    for q in range(4):
        label = f'{{queue="{q}"}}'
        assert second[f"weir_delay_seconds_count{label}"] == second[f"weir_sent_packets_total{label}"]
        buckets = [v for k, v in second.items() if k.startswith(f'weir_delay_seconds_bucket{{queue="{q}"')]
        assert buckets == sorted(buckets) and len(buckets) == 32


def test_the_exporter_answers_over_http_and_tells_a_device_that_has_gone(uri: str) -> None:
    process = start("-d", uri, "exporter", "--listen", "127.0.0.1:0")
    try:
        assert process.stdout is not None
        place = process.stdout.readline().strip()
        with urllib.request.urlopen(place, timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"weir_queue_bytes" in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(place.replace("metrics", "other"), timeout=10)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert process.stderr is not None and process.stderr.read() == "weirctl: interrupted\n"


@contextmanager
def exported(context: Context) -> Iterator[str]:
    """The address of an exporter in a thread."""
    http = exporter.server(context, "127.0.0.1", 0)
    threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{http.server_address[1]}/metrics"
    finally:
        http.shutdown()
        http.server_close()
        context.close()


def scraped(place: str) -> str:
    with urllib.request.urlopen(place, timeout=10) as answer:
        content: bytes = answer.read()
    return content.decode()


def test_an_exporter_without_its_device_says_so(register_map: RegisterFile) -> None:
    """In a page that Prometheus takes: of other answers than 200 it keeps nothing."""
    core = FakeCore(register_map)
    with exported(Context(Options(), weir.Device(core))) as place:
        core.fail_at = 3
        lines = scraped(place).splitlines()
        assert [line for line in lines if not line.startswith("#")] == ["weir_up 0"]
        assert len(lines) == 4 and "failed" in lines[-1]
        core.fail_at = None
        assert "\nweir_up 1\n" in scraped(place) and "weir_queue_bytes" in scraped(place)


def test_an_exporter_finds_its_device_again_after_that_has_restarted(tmp_path: Path) -> None:
    with exported(Context(Options(device=f"unix:{tmp_path}/socket"))) as place:
        for _ in range(2):
            with served(tmp_path):
                texts = [scraped(place) for _ in range(2)]
                assert "\nweir_up 1\n" in texts[-1] and "weir_queue_bytes" in texts[-1]
            assert "\nweir_up 0\n" in scraped(place)


def test_an_exporter_answers_head_without_asking_the_device(register_map: RegisterFile) -> None:
    core = FakeCore(register_map)
    with exported(Context(Options(), weir.Device(core))) as place:
        core.forget()
        for path, code in (("metrics", 200), ("", 200), ("other", 404)):
            asked = urllib.request.Request(place.replace("metrics", path), method="HEAD")
            try:
                with urllib.request.urlopen(asked, timeout=10) as answer:
                    assert (answer.status, answer.read()) == (code, b"")
            except urllib.error.HTTPError as error:
                assert error.code == code
        assert not core.reads and not core.log


# ---- how it ends


def test_interrupt_and_end_are_quick_and_quiet(uri: str) -> None:
    for number, code, said in ((signal.SIGINT, 130, "weirctl: interrupted\n"), (signal.SIGTERM, 143, "")):
        process = start("-d", uri, "stats", "--watch", "0.3")
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(30) == code and process.stderr.read() == said


def test_a_pipe_that_nobody_reads_is_quiet(uri: str) -> None:
    process = start("-d", uri, "trace", "--follow")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(30) == 141 and process.stderr.read() == ""


def test_a_hangup_before_the_confirmation_goes_back(uri: str, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("weir: 1\nqueues: {3: {policy: drop-tail, limit: 7000b}}\n")
    with weir.Device(uri) as device:
        device.queue_replace(3, "drop-tail")
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            process = start("-d", uri, "restore", str(tmp_path / "f"), "--confirm", "60", stdin=subprocess.PIPE)
            assert process.stdout is not None and process.stderr is not None
            assert "press Enter" in process.stdout.readline()
            assert device.queue_show(3)["limit_bytes"] == 7000
            process.send_signal(number)
            assert process.wait(30) == 4
            assert process.stderr.read() == "weirctl: interrupted; the old configuration is back\n"
            assert device.queue_show(3)["limit_bytes"] == 16383 * 64


def test_the_dashboard_asks_for_metrics_that_there_are(ctl: Any) -> None:
    page = ROOT / "docs" / "dashboard.json"
    asked = set(re.findall(r"weir_[a-z0-9_]+", page.read_text(encoding="utf-8")))
    there = set(re.findall(r"^(weir_[a-z0-9_]+)", ctl("exporter", "--once")[1], flags=re.M))
    assert asked and asked <= there
    json.loads(page.read_text(encoding="utf-8"))


def test_overlimits_are_all_that_the_policy_selected(capsys: pytest.CaptureFixture[str]) -> None:
    """By arithmetic: RED with the queue itself as average and a `max` of two packets selects for certain what finds
    two or more. CoDel's CE threshold selects at departure what is ECT or CE and waited longer; at 64 kbit/s a frame
    takes 11 ms."""
    core = Core("full")

    def ctl(*words: object) -> str:
        assert main([str(w) for w in words], core.device) == 0
        return capsys.readouterr().out

    def send(queue: int, *codepoints: int) -> None:
        for ecn in codepoints:
            core.send(udp_frame(64, queue, ecn))
        core.run_until(core.line_free_ns + 1_000)

    ctl("shape", "replace", "rate", "64kbit", "burst", 0)
    core.device.dscp_map([d % 4 for d in range(64)])
    red = "limit_packets 60 unit packets min 1 max 2 weight 1 probability 0.5 avpkt 64 ecn".split()
    ctl("queue", "replace", 0, "red", *red, "nodrop")
    ctl("queue", "replace", 1, "red", *red)
    ctl("queue", "replace", 2, "codel", "target", "900ms", "interval", "1s", "ecn", "ce_threshold", "1ms")
    send(0, NOT_ECT)  # leaves at once, and takes the link
    send(0, NOT_ECT, NOT_ECT, *6 * (NOT_ECT, ECT0, CE), NOT_ECT)
    send(1, NOT_ECT, NOT_ECT, *5 * (NOT_ECT, ECT0, CE))
    send(2, *3 * (NOT_ECT,), *4 * (CE,), *5 * (ECT1,))
    core.run_idle()
    found = {q: ctl("-s", "queue", "show", q).splitlines() for q in range(3)}
    assert found[0][1].endswith("pkt (dropped 0, overlimits 19 requeues 0)") and found[0][1].split()[3] == "22"
    assert found[0][3] == "  marked 12 early 0 pdrop 0 other 0"
    assert found[1][1].endswith("pkt (dropped 5, overlimits 15 requeues 0)") and found[1][1].split()[3] == "12"
    assert found[1][3] == "  marked 10 early 5 pdrop 0 other 0"
    assert found[2][1].endswith(f"Sent {12 * 64} bytes 12 pkt (dropped 0, overlimits 9 requeues 0)")
    assert found[2][3] == "  marked 9 early 0 pdrop 0 other 0"
    own = core.device.counters(2)
    assert (own.head_marked, own.head_already_ce) == (weir.Count(5, 5 * 64), weir.Count(4, 4 * 64))

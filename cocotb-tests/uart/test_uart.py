"""The bridge from a UART to the registers: its rules, bad lines, its speed, and libweir and weirctl on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weir
from golden.register_protocol import Server, frame, words_of
from harness import ROOT, RTL, build_program, run_bench
from weir_sim.protocol import Answerer, Decoder, Refused, encode, operations

sys.path.append(str(ROOT / "sw-driver" / "tests"))

from fake_core import FakeCore, RegisterFile  # noqa: E402
from lines import serial_line  # noqa: E402

CLOCK_HZ, BAUD = 62_500_000, 4_000_000
"""Of the unit UartBump."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("bench", ["rules_cocotb", "faults_cocotb"])
def test_uart_bridge(bench: str) -> None:
    run_bench("UartBridgeFast", bench, env={"UART_FAST": 1})


# ---- at 1 Mbaud


def snapshots() -> dict[str, dict[str, object]]:
    """What libweir asks for a snapshot of all queues, and what a server in software answers it, by what the core has counted."""
    described = json.loads((RTL / "weir_regs.json").read_text())
    used = {
        "nothing": ((), ()),
        "six counters": (("IN_ECT0", "OUT", "EARLY", "FORCED", "OVERFLOW", "MARKED"), range(12, 24)),
        "all": (("",), range(32)),
    }
    cases: dict[str, dict[str, object]] = {}
    for name, (counters, bins) in used.items():
        for histograms in (False, True):
            core = FakeCore(RegisterFile(described), busy=0)
            assert all(f"{c}_PACKETS_LO" in {core._register(a).name for a in core.words} for c in counters if c)
            packets, octets = (300_000_000, 6_000_000_000) if name != "all" else (11_140_000_000, 420_000_000_000)
            for address in core.words:
                register = core._register(address).name
                what, _, half = register.rpartition("_")
                kind = what.rpartition("_")[2]
                chosen = register.startswith("SOJOURN") and int("".join(c for c in what if c.isdigit())) in bins
                if half in ("LO", "HI") and (
                    chosen or (kind in ("PACKETS", "BYTES") and any(what == f"{c}_{kind}" or not c for c in counters))
                ):
                    value = octets if kind == "BYTES" else packets
                    core.words[address] = value >> 32 if half == "HI" else value & 0xFFFFFFFF
            answers: list[bytes] = []
            with serial_line(core, say=lambda f, n, answers=answers: answers.append(f) or f) as (uri, server):  # type: ignore[misc]
                with weir.Device(uri) as device:
                    answers.clear()
                    server.requests.clear()
                    device.state(histograms)
            cases[f"{name}{', with histograms' if histograms else ''}"] = {
                "words": core.words,
                "requests": [request.hex() for request in server.requests],
                "answers": [answer.hex() for answer in answers],
            }
    return cases


@pytest.mark.timeout(600)
def test_the_line_at_1_mbaud(tmp_path: Path) -> None:
    """A snapshot without histograms stays under 5 ms unless every counter is beyond 2^32."""
    asked, times = tmp_path / "snapshots.json", tmp_path / "times.json"
    asked.write_text(json.dumps(snapshots()))
    run_bench("UartBridge", "serial_cocotb", env={"UART_FAST": 0, "UART_SNAPSHOTS": asked, "UART_TIMES": times})
    took = json.loads(times.read_text())
    for name, case in took.items():
        print(f"snapshot, {name}: {case['bytes']} bytes, {case['ms']} ms")
    assert took["nothing"]["ms"] < took["six counters"]["ms"] < 5 < took["all"]["ms"]


# ---- the two servers


class Words:
    """Registers for both servers: 0x1F0 of every 0x200 bytes refuses, accesses are logged."""

    def __init__(self) -> None:
        self.log: list[tuple[int, int | None]] = []

    def access(self, core: int, address: int, value: int | None) -> tuple[int, int]:
        self.log.append((address, value))
        return (
            (1, 0)
            if address % 0x200 == 0x1F0
            else (0, 0 if value is not None else address * 0x9E3779B1 % 256 ** (address // 4 % 5))
        )

    def read(self, address: int, /) -> int:
        return self._checked(address, None)

    def write(self, address: int, value: int, /) -> None:
        self._checked(address, value)

    def _checked(self, address: int, value: int | None) -> int:
        if address % 4:
            raise Refused(1)
        status, read = self.access(0, address, value)
        if status:
            raise Refused(status)
        return read


OPERATION = st.builds(
    lambda op, address, count, data: bytes([op]) + address.to_bytes(2, "little") + bytes([count]) + data[: 4 * count if op == 2 else 0],
    st.sampled_from([0, 1, 2, 3, 4, 5]), st.one_of(st.integers(0, 0x400).map(lambda n: 4 * n), st.integers(0, 0xFFFF)),
    st.sampled_from([0, 1, 1, 1, 2, 3, 5, 9, 255]), st.binary(min_size=36, max_size=36),
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(
    st.lists(
        st.tuples(st.sampled_from([0x51, 0x52, 0x52]), st.integers(0, 2), st.lists(OPERATION, max_size=6)), max_size=6
    )
)
def test_the_model_of_the_page_and_the_server_in_software_agree(requests: list[tuple[int, int, list[bytes]]]) -> None:
    """Two readings of one page: same answers, same accesses, same idea of what is malformed."""
    one, other = Words(), Words()
    model, server, decoder = Server(one.access), Answerer(other), Decoder()
    for kind, number, operations_ in requests:
        payload = bytes([kind, number]) + b"".join(operations_)
        sent = frame(payload)
        assert sent == encode(payload)
        answers = [server.answer(heard) for heard in decoder.feed(sent)]
        assert list(model.hear(sent)) == [encode(answer) for answer in answers if answer is not None]
        assert (words_of(payload[2:], 1) is None) == (operations(payload) is None)
    assert one.log == other.log


# ---- libweir and weirctl on the RTL


@contextmanager
def rtl_line() -> Iterator[str]:
    """Two cores and their bridge behind a pseudo-terminal; its URI."""
    program = build_program("UartBump", Path(__file__).with_name("line.cpp"))
    with subprocess.Popen(
        [program, str(CLOCK_HZ), str(BAUD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as line:
        assert line.stdin is not None and line.stdout is not None
        try:
            yield f"uart:{line.stdout.readline().strip()}@{BAUD}"
        finally:
            line.stdin.close()
            line.wait(20)


@pytest.fixture(scope="module")
def uri() -> Iterator[str]:
    with rtl_line() as opened:
        yield opened


@pytest.mark.timeout(600)
def test_libweir_configures_and_reads_the_cores_of_a_line(uri: str) -> None:
    """Both cores, apart from each other; nothing repeated on a good line; what is refused is told by its sentence."""
    with weir.Device(uri) as device:
        assert (device.capabilities.queues, device.capabilities.cells) == (4, 1024)
        assert device.capabilities.clock_hz == CLOCK_HZ
        shown = device.queue_replace(2, "dt-ecn", limit="20KB", threshold="5KB")
        assert (shown["limit_bytes"], shown["threshold"]) == (20 << 10, 5 << 10)
        device.shape("100mbit")
        assert device.shape_show()["rate"] == 1e8
        state = device.state()
        assert len(state.queues) == 4 and state.core.rx.packets == 0
        with pytest.raises(weir.WeirError, match="register 0xFFF0: the core answered SLVERR"):
            device.register_read(0xFFF0)
        with pytest.raises(weir.WeirError, match="writing 0x00000005 to register 0x0000: the core answered SLVERR"):
            device.register_write(0, 5)
        device.reset()
        first = device.link_counters()
    with weir.Device(uri + "?core=1") as device:
        assert device.queue_show(2)["policy"] == "drop-tail"
        device.queue_replace(2, "drop-tail", limit="10KB")
        second = device.link_counters()
    with weir.Device(uri + "?core=0") as device:
        assert device.queue_show(2)["policy"] == "dt-ecn" and device.shape_show()["rate"] == 1e8
    assert first.requests > 10 and second.requests > 3
    assert (first.corrupted, second.corrupted) == (0, 0)


def test_a_core_that_is_not_there_is_told_with_those_that_are(uri: str) -> None:
    for number in (2, 15):
        with pytest.raises(
            weir.WeirError, match=rf"core {number} is out of range: allowed is 0 to 1; this line has 2"
        ) as refused:
            weir.Device(f"{uri}?core={number}")
        assert refused.value.name == "RANGE"


def weirctl(*words: str) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    return subprocess.run(
        [sys.executable, "-m", "weir.ctl", *words], capture_output=True, text=True, timeout=120, env=environment
    )


@pytest.mark.timeout(600)
def test_weirctl_works_on_a_line(uri: str, tmp_path: Path) -> None:
    """As a person types it: change, look, save and restore, doctor; each core of the two."""
    for core in (uri, uri + "?core=1"):
        done = weirctl("-d", core, "queue", "replace", "1", "dt-ecn", "limit", "30KB", "threshold", "7KB")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        saved = tmp_path / "saved.yaml"
        assert weirctl("-d", core, "save", str(saved)).returncode == 0
        assert weirctl("-d", core, "queue", "del", "1").returncode == 0
        assert "queue 1 drop-tail" in weirctl("-d", core, "queue", "show", "1").stdout
        assert weirctl("-d", core, "restore", str(saved)).returncode == 0
        shown = weirctl("-d", core, "-j", "queue", "show", "1")
        (queue,) = json.loads(shown.stdout)
        assert (queue["policy"], queue["limit_bytes"], queue["threshold"]) == ("dt-ecn", 30 << 10, 7 << 10)
        assert json.loads(weirctl("-d", core, "-j", "stats").stdout)["queues"][3]["queue"] == 3
        doctor = weirctl("-d", core, "doctor")
        assert doctor.returncode == 0, doctor.stdout
    refused = weirctl("-d", uri + "?core=7", "queue", "show")
    assert refused.returncode == 2 and "allowed is 0 to 1" in refused.stderr

"""Devices by URI: each transport on the RTL model, and what goes wrong with it."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weir
from fake_core import FakeCore, RegisterFile
from lines import scripted, serial_line
from served import served
from weir._ffi import _library_path, lib
from weir_sim.native import library
from weir_sim.traffic import Random

NATURAL: dict[str, Any] = {"limit": "400KB", "min": "30KB", "max": "90KB", "probability": 0.02, "ecn": True}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a served model with traffic, at twice what the link takes."""
    folder = tmp_path_factory.mktemp("served")
    with served(folder, Random(2e9), 2000.0, 1e9):
        yield folder


@pytest.fixture(params=["unix", "uart", "sim"])
def uri(request: pytest.FixtureRequest, place: Path) -> str:
    return {
        "unix": f"unix:{place}/socket", "uart": f"uart:{place}/tty", "sim": f"sim:{library('full', False)}",
    }[request.param]  # fmt: skip


def test_everything_works_on_the_rtl(uri: str) -> None:
    with weir.Device(uri) as device:
        assert device.capabilities.queues == 4 and len(device.capabilities.policies) == 9
        for policy in device.capabilities.policies:
            assert device.queue_replace(2, policy)["policy"] == policy
        shown = device.queue_replace(1, "red", **NATURAL)
        assert (shown["limit_bytes"], shown["min"], shown["max"]) == (400 << 10, 30 << 10, 90 << 10)
        assert device.queue_change(1, max="100KB")["min"] == 30 << 10
        assert device.queue_show(1)["max"] == 100 << 10
        with pytest.raises(weir.WeirError, match=r"min .* is out of range") as refused:
            device.queue_change(1, min="200KB")
        assert refused.value.name == "RANGE" and device.queue_show(1)["min"] == 30 << 10
        device.shape("1gbit")
        assert device.shape_show()["rate"] == 1e9
        assert device.dscp_map({46: 1})[46] == 1 and device.dscp_map({46: 0})[46] == 0
        with pytest.raises(weir.WeirError, match="register 0xFFF0: the core answered SLVERR") as refused:
            device.register_read(0xFFF0)
        assert refused.value.name == "BUS"
        with pytest.raises(weir.WeirError, match="writing 0x00000005 to register 0x0000: the core answered SLVERR"):
            device.register_write(0, 5)
        device.reset()


@pytest.mark.parametrize("name", ["unix", "uart"])
def test_counters_of_one_instant_add_up(place: Path, name: str) -> None:
    """What came in is what went out, was dropped or is held, while traffic runs; the trace comes too."""
    with weir.Device({"unix": f"unix:{place}/socket", "uart": f"uart:{place}/tty"}[name]) as device:
        device.queue_replace(0, "red", **NATURAL)
        device.trace_enable(queues=[0], ticks=False)
        deadline = time.monotonic() + 10
        while device.state(False).queues[0].out.packets < 40:
            assert time.monotonic() < deadline
        state = device.state()
        records = [r for r, _ in zip(device.trace(), range(30), strict=False)]
        device.trace_enable(False)
        q = state.queues[0]
        gone = q.early.packets + q.forced.packets + q.overflow.packets + q.link_down.packets
        assert 0 <= q.arrivals.packets - q.out.packets - gone <= state.live[0].packets + 40
        assert sum(q.sojourn) == q.out.packets and state.core.tx.packets >= q.out.packets
        assert 0 <= state.core.rx.packets - sum(c.arrivals.packets for c in state.queues) <= 32
        assert {r.kind for r in records} <= {"arrival", "departure"} and len(records) == 30
        numbers = [r.number for r in records if r.kind == "arrival"]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_a_snapshot_fits_the_line(place: Path) -> None:
    """Bytes of a snapshot of all queues without histograms at 1 Mbaud, 10 us each: the goal is 5 ms."""
    with weir.Device(f"uart:{place}/tty") as device:
        sizes = []
        for histograms in (False, True):
            for _ in range(20):  # a busy machine may let an answer come too late
                before = device.link_counters()
                device.state(histograms)
                after = device.link_counters()
                if after.repeated == before.repeated:
                    break
            assert after.requests - before.requests == 2
            sizes.append(after.bytes_in - before.bytes_in + after.bytes_out - before.bytes_out)
        assert sizes[0] * 10e-6 < 5e-3 and sizes[0] < sizes[1] < 1000


def test_a_snapshot_of_counters_that_have_run_for_long(core: FakeCore) -> None:
    """All counters in use, at what a day of 10 Gbit/s makes of them; and with every bit of every word set."""
    day = {"PACKETS_LO": 0x9ABCDEF1, "PACKETS_HI": 2, "BYTES_LO": 0x89ABCDE1, "BYTES_HI": 0x62}
    sizes = []
    for full in (False, True):
        for address in core.words:
            name = core._register(address).name
            if name.endswith(("_LO", "_HI")) and ("PACKETS" in name or "BYTES" in name or "SOJOURN" in name):
                core.words[address] = 0x3A3B3C39 if full else day.get("_".join(name.split("_")[-2:]), 0)
        with serial_line(core) as (uri, _), weir.Device(uri) as device:
            before = device.link_counters()
            state = device.state(False)
            after = device.link_counters()
        sizes.append(after.bytes_in - before.bytes_in + after.bytes_out - before.bytes_out)
        expected = 0x3A3B3C393A3B3C39 if full else 0x29ABCDEF1
        assert state.queues[3].early.packets == expected == state.core.rx.packets
    # 78 counters of (4 + 1 + 4 + 1) or 16 bytes of data, a size byte each, 4 x 7 + 7 live words, frames
    assert 780 < sizes[0] < 1100 and 78 * 17 < sizes[1] < 1640


# ---- several clients


def test_two_writers_never_mix_their_configurations(place: Path) -> None:
    """Two programs configure one queue: whoever reads finds one of the two, whole."""
    words = {n: weir.convert_queue("red", min=1000 * n, max=2000 * n, weight=0.5**n, bandwidth="1gbit") for n in (1, 9)}
    both = list(words.values())
    keys = [k for k in both[0] if k.startswith("RED_") and both[0][k] != both[1][k]]
    shown = {n: {"min": 1000 * n, "max": 2000 * n, "weight": 0.5**n} for n in (1, 9)}
    errors: list[BaseException] = []
    seen = set()

    def write(n: int) -> None:
        try:
            with weir.Device(f"unix:{place}/socket") as device:
                for _ in range(15):
                    now = device.queue_replace(3, "red", bandwidth="1gbit", **shown[n])
                    found = {key: now[key] for key in shown[n]}
                    assert found in shown.values()
                    seen.add(found == shown[n])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in (1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and keys and True in seen


def test_a_locked_device_waits_for_its_owner_and_no_longer_than_that(place: Path) -> None:
    one, two = weir.Device(f"unix:{place}/socket"), weir.Device(f"unix:{place}/socket")
    order: list[str] = []
    with one.lock(), one.lock():
        other = threading.Thread(target=lambda: (two.register_read(0), order.append("two")))
        other.start()
        time.sleep(0.2)
        one.queue_replace(3, "drop-tail")
        order.append("one")
    other.join(5)
    assert order == ["one", "two"]
    two._call(lib.weir_lock)
    two.close()  # a holder that leaves holds no longer
    assert one.register_read(0) == 0x57454952
    one.close()


def test_who_waits_for_a_device_has_the_next_turn(place: Path) -> None:
    """Two that hold it again at once do not keep a third out, nor each other."""
    uri = f"unix:{place}/socket"
    turns, ended = [0, 0], threading.Event()

    def again_and_again(n: int) -> None:
        with weir.Device(uri) as device:
            while not ended.is_set():
                with device.lock():
                    turns[n] += 1
                    time.sleep(0.05)

    threads = [threading.Thread(target=again_and_again, args=(n,)) for n in (0, 1)]
    for thread in threads:
        thread.start()
    try:
        with weir.Device(uri) as device:
            waited = []
            for _ in range(10):
                before = sum(turns)
                with device.lock():
                    waited.append(sum(turns) - before)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert sorted(waited)[5] <= 3 and min(turns) > 0, (waited, turns)


def test_a_holder_that_was_silent_for_too_long_is_told_and_writes_nothing(place: Path) -> None:
    """Another has changed the device meanwhile: what the first read is old, and is not written back."""
    uri = f"unix:{place}/socket"
    with weir.Device(uri) as one, weir.Device(uri) as two:
        with one.lock():
            one.queue_replace(3, "drop-tail", quantum=10000)
            time.sleep(5.2)
            two.queue_replace(3, "drop-tail", quantum=11000)
            for _ in range(2):
                with pytest.raises(weir.WeirError, match="said nothing for 5000 ms: others may have changed") as failed:
                    one.queue_replace(3, "drop-tail", quantum=12000)
                assert failed.value.name == "BUSY"
            assert two.queue_show(3)["quantum"] == 11000
        one.queue_replace(3, "drop-tail", quantum=12000)
        assert two.queue_show(3)["quantum"] == 12000


def test_a_lock_belongs_to_someone(place: Path) -> None:
    with weir.Device(f"unix:{place}/socket") as device:
        assert lib.weir_unlock(device._handle) == -5


# ---- what goes wrong


@pytest.mark.parametrize(
    ("uri", "code", "said"),
    [
        ("", "SYNTAX", "no device is named"),
        ("nonsense", "SYNTAX", "has no scheme; write unix:PATH"),
        ("usb:1", "SYNTAX", "scheme 'usb' of device 'usb:1' is not known"),
        ("unix:", "SYNTAX", "the path has 0 bytes"),
        ("unix:" + "a" * 200, "SYNTAX", "the path has 200 bytes, allowed is 1 to 107"),
        ("unix:absent", "OPEN", "unix:absent: No such file or directory; start the server"),
        ("uart:", "SYNTAX", "the path has 0 bytes"),
        ("uart:/dev/null@9601", "SYNTAX", "'9601' is not a speed; allowed are 9600"),
        ("uart:/dev/null@1000000x", "SYNTAX", "'1000000x' is not a speed"),
        ("uart:/dev/null", "OPEN", "not a serial line"),
        ("uart:/dev/null?core=15", "OPEN", "not a serial line"),
        ("uart:/dev/null@9600?core=0", "OPEN", "not a serial line"),
        ("uart:/dev/null?core=16", "SYNTAX", "core '16' is out of range: allowed is 0 to 15"),
        ("uart:/dev/null@9600?core=1x", "SYNTAX", "core '1x' is out of range: allowed is 0 to 15"),
        ("uart:/dev/null?core=-1", "SYNTAX", "core '-1' is out of range: allowed is 0 to 15"),
        ("uart:/dev/null?port=1", "SYNTAX", "'?port=1' is not known; write ?core=0 to 15"),
        ("uart:/dev/null@960?core=1", "SYNTAX", "'960' is not a speed"),
        ("uart:?core=1", "SYNTAX", "the path has 0 bytes"),
        ("uart:/dev/ttyAbsent7", "OPEN", "No such file or directory; check the path and the cable"),
        ("pci:1:2", "SYNTAX", "not a PCI function"),
        ("pci:0000:01:00.0/9", "SYNTAX", "not a PCI function"),
        ("pci:0000:01:00.0?core=16", "SYNTAX", "core '16' is out of range: allowed is 0 to 15"),
        ("pci:0000:01:00.0/1?port=1", "SYNTAX", "'?port=1' is not known; write ?core=0 to 15"),
        ("pci:0000:01:00.0/?core=1", "SYNTAX", "not a PCI function"),
        ("pci:ffff:ff:1f.7/2?core=3", "OPEN", "check the address with lspci -D"),
        ("pci:ffff:ff:1f.7", "OPEN", "check the address with lspci -D"),
        ("sim:a/b", "SYNTAX", "neither a preset nor a path"),
        ("sim:absent", "OPEN", "is not a cycle model; build it with `make model`"),
        ("sim:/lib/x86_64-linux-gnu/libc.so.6", "OPEN", "is not a cycle model"),
    ],
)
def test_what_cannot_be_opened_is_told(
    uri: str, code: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(weir.WeirError) as refused:
        weir.Device(uri)
    assert refused.value.name == code and said in refused.value.message


def test_what_one_has_no_rights_to_is_told(tmp_path: Path) -> None:
    """A socket and a PCI resource that nobody may open; root, who may do everything, becomes another user."""
    (tmp_path / "resource0").write_bytes(bytes(1 << 16))
    (tmp_path / "resource0").chmod(0)
    code = (
        "import ctypes, os, sys; lib = ctypes.CDLL(sys.argv[1])\n"
        "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "h = ctypes.c_void_p()\n"
        "lib.weir_error.restype = ctypes.c_char_p\n"
        "print(lib.weir_open(sys.argv[2].encode(), ctypes.byref(h)), lib.weir_error().decode())\n"
    )
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        if folder != Path("/tmp"):
            folder.chmod(0o755)
    with scripted(tmp_path / "s", lambda p: b""):
        (tmp_path / "s").chmod(0)
        for uri, said in (
            (f"unix:{tmp_path}/s", "ask its owner for access"),
            (f"pci:{tmp_path}/resource0", "run as root"),
        ):
            done = subprocess.run(
                [sys.executable, "-c", code, str(_library_path()), uri], capture_output=True, text=True, check=False
            )
            assert done.stdout.startswith("-10 ") and "Permission denied" in done.stdout and said in done.stdout, done


def test_a_server_that_ends_is_told_and_nothing_hangs(tmp_path: Path) -> None:
    with served(tmp_path):
        device = weir.Device(f"unix:{tmp_path}/socket")
        device.queue_replace(0, "red", **NATURAL)
    begun = time.monotonic()
    for _ in range(2):
        with pytest.raises(weir.WeirError, match="the device has gone; check that its server is running") as failed:
            device.queue_replace(0, "red", **NATURAL)
        assert failed.value.name == "BUS"
    device.close()
    assert time.monotonic() - begun < 2


def test_a_line_that_hangs_up_is_told(core: FakeCore) -> None:
    with serial_line(core) as (uri, _):
        device = weir.Device(uri)
    with pytest.raises(weir.WeirError, match="the device has gone|no answer"):
        device.state()


def test_a_line_has_one_program(core: FakeCore) -> None:
    with serial_line(core) as (uri, _), weir.Device(uri):
        with pytest.raises(weir.WeirError, match="another program uses this line") as refused:
            weir.Device(uri)
        assert refused.value.name == "BUSY"


# ---- PCI, on a file


@pytest.fixture
def resource(tmp_path: Path, register_map: RegisterFile) -> Path:
    """A BAR as a file: registers that only remember."""
    core = FakeCore(register_map)
    words = bytearray(1 << 16)
    for address, value in core.words.items():
        struct.pack_into("<I", words, address, value)
    path = tmp_path / "resource0"
    path.write_bytes(words)
    return path


def test_a_bar_is_mapped(resource: Path, core: FakeCore) -> None:
    with weir.Device(f"pci:{resource}") as device:
        assert device.capabilities.cells == 2048
        device.queue_replace(0, "red", **{**NATURAL, "limit": "100KB"})
        assert device.queue_show(0)["max"] == 90 << 10
        assert device.state().queues[0].arrivals.packets == 0
        with pytest.raises(weir.WeirError, match="register 0x10000: the address is misaligned or beyond the BAR"):
            device.register_read(0x10000)
    word = struct.unpack_from("<I", resource.read_bytes(), core.address("RED_MAX", 0))[0]
    assert word == 90 << 10 << 11


def test_cores_of_one_bar_are_apart(resource: Path, core: FakeCore) -> None:
    """Core n is at n · 64 KiB; what is written to one is in its place alone."""
    words = resource.read_bytes()
    resource.write_bytes(words + b"\xff" * (1 << 16) + words + words[:0x2000])
    with weir.Device(f"pci:{resource}?core=0") as zero, weir.Device(f"pci:{resource}?core=2") as two:
        two.queue_replace(0, "red", **{**NATURAL, "limit": "100KB"})
        assert two.queue_show(0)["max"] == 90 << 10
        assert zero.queue_show(0)["policy"] != "red"
    after = resource.read_bytes()
    assert after[: 2 << 16] == words + b"\xff" * (1 << 16) and after[3 << 16 :] == words[:0x2000]
    assert struct.unpack_from("<I", after, (2 << 16) + core.address("RED_MAX", 0))[0] == 90 << 10 << 11
    with pytest.raises(weir.WeirError, match="nobody answers .all ones."):
        weir.Device(f"pci:{resource}?core=1")
    with weir.Device(f"pci:{resource}?core=3") as three, pytest.raises(weir.WeirError, match="beyond the BAR"):
        three.register_read(0x2000)
    with pytest.raises(weir.WeirError, match="the BAR has 204800 bytes, a Weir core has at least 5120 from 262144 on"):
        weir.Device(f"pci:{resource}?core=4")


def test_a_bar_that_is_none(resource: Path) -> None:
    small = resource.with_name("small")
    small.write_bytes(bytes(4096))
    for path, code, said in (
        (small, "OPEN", "the BAR has 4096 bytes, a Weir core has at least 5120"),
        (resource.with_name("absent"), "OPEN", "No such file or directory"),
    ):
        with pytest.raises(weir.WeirError, match=said) as refused:
            weir.Device(f"pci:{path}")
        assert refused.value.name == code
    resource.write_bytes(b"\xff" * (1 << 16))
    with pytest.raises(weir.WeirError, match="nobody answers .all ones.; write 1 to `enable`"):
        weir.Device(f"pci:{resource}")
    resource.write_bytes(b"RIEV" + bytes((1 << 16) - 4))
    with pytest.raises(weir.WeirError, match="register 0 reads 0x56454952"):
        weir.Device(f"pci:{resource}")


def test_a_pci_device_that_is_pulled_out_is_told(resource: Path) -> None:
    device = weir.Device(f"pci:{resource}")
    with resource.open("r+b") as file:
        file.write(b"\xff" * (1 << 16))
    with pytest.raises(weir.WeirError, match="the device has gone") as failed:
        device.queue_show(0)
    assert failed.value.name == "BUS"
    os.truncate(resource, 0)
    with pytest.raises(weir.WeirError, match="the device has gone"):
        device.queue_show(0)


def test_another_program_that_holds_a_pci_device_is_waited_for(resource: Path) -> None:
    one, two = weir.Device(f"pci:{resource}"), weir.Device(f"pci:{resource}")
    order: list[int] = []
    with one.lock():
        thread = threading.Thread(target=lambda: (two.queue_replace(1, "red", limit="50KB"), order.append(2)))
        thread.start()
        time.sleep(0.2)
        order.append(1)
    thread.join()
    assert order == [1, 2]

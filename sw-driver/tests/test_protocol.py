"""The register protocol: libweir's client in C against the server in Python, on lines that damage what they carry."""

from __future__ import annotations

import subprocess
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weir
from fake_core import FakeCore, RegisterFile
from libweir_paths import ROOT, RTL
from lines import FakeRegisters, Mangle, scripted, serial_line
from weir_sim.protocol import (
    ANSWER,
    BUSY,
    GREETING,
    HELLO,
    LAPSED,
    MALFORMED,
    READ,
    READ_PACKED,
    REPEAT,
    REQUEST,
    SLVERR,
    WRITE,
    Answerer,
    Decoder,
    encode,
    pack,
)

HERE = Path(__file__).parent
RECORD = [5, 1 << 16 | 1 << 20, 1518, 10, 2 | 1 << 16, 7, 0, 0, 0, 0, 0, 9]


def test_random_bytes_are_survived_under_the_sanitizers(sanitized: Path, tmp_path: Path) -> None:
    program = tmp_path / "fuzz"
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-g", "-pthread", "-fsanitize=address,undefined",
               "-fno-sanitize-recover=all", f"-I{ROOT / 'sw-driver' / 'lib'}", f"-I{RTL}", HERE / "fuzz.c",
               sanitized / "libweir.a", "-lm", "-o", program]  # fmt: skip
    built = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program, "20000"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "fuzzed\n"), done.stdout + done.stderr


# ---- frames and requests, from docs/register-protocol.md


def test_the_examples_of_the_page_are_what_is_sent(register_map: RegisterFile) -> None:
    """The page's bytes, their CRC that of the catalogue of parametrised CRC algorithms."""
    page = (ROOT / "docs" / "register-protocol.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith(("| client | `", "| server | `"))]
    assert len(rows) == 8
    for client, server in zip(rows[::2], rows[1::2], strict=True):
        sent, answered = bytes.fromhex(client), bytes.fromhex(server)
        (request,) = Decoder().feed(sent)
        assert encode(request) == sent
        answer = Answerer(FakeRegisters(FakeCore(register_map))).answer(request)
        assert answer is not None and encode(answer) == answered
    assert zlib.crc32(b"123456789") == 0xCBF43926  # CRC-32/ISO-HDLC


@given(st.binary(min_size=2, max_size=300), st.integers(1, 7))
def test_a_payload_comes_through_whatever_it_is(payload: bytes, step: int) -> None:
    frame, decoder = b"\x00\xff noise" + encode(payload), Decoder()
    pieces = [frame[i : i + step] for i in range(0, len(frame), step)]
    assert [p for piece in pieces for p in decoder.feed(piece)] == [payload]
    assert decoder.corrupted == 1 and b"\x7e" not in encode(payload)[1:-1]


@given(st.binary(min_size=2, max_size=60), st.data())
def test_a_damaged_bit_is_always_seen(payload: bytes, data: st.DataObject) -> None:
    frame = bytearray(encode(payload))
    frame[data.draw(st.integers(1, len(frame) - 2))] ^= 1 << data.draw(st.integers(0, 7))
    assert list(Decoder().feed(bytes(frame))) == []


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_the_server_survives_any_bytes_and_hears_the_next_request(
    register_map_file: RegisterFile, noise: list[bytes]
) -> None:
    decoder, answerer = Decoder(), Answerer(FakeRegisters(FakeCore(register_map_file)))
    for piece in noise:
        for payload in decoder.feed(piece):
            answerer.answer(payload)
        answerer.answer(b"\x51\x00" + piece)
        answerer.answer(b"\x52\x00" + piece)
    request = bytes([REQUEST, 9, HELLO, 0, 0, 1])
    (heard,) = [p for p in decoder.feed(b"\x7e" + encode(request)) if p == request]
    assert answerer.answer(heard) == bytes([ANSWER, 9]) + GREETING.to_bytes(4, "little") + b"\x01\x00\x00"


@pytest.mark.parametrize("ops", [b"", b"\x01", b"\x01\x00\x00\x00", b"\x09\x00\x00\x01", b"\x02\x30\x00\x01\x00\x00\x00",
                                 b"\x01\x00\x00\xff" * 5, b"\x00\x00\x00\x02"])  # fmt: skip
def test_malformed_requests_do_nothing(core: FakeCore, ops: bytes) -> None:
    answer = Answerer(FakeRegisters(core)).answer(b"\x51\x07" + ops)
    assert answer == bytes([ANSWER, 7, 0, 0, MALFORMED]) and not core.log and not core.reads


def test_words_are_packed_as_the_page_says() -> None:
    assert pack([0, 0x12, 0x1234, 0x123456, 0x12345678]) == bytes.fromhex("e4 12 3412 56341200 03 78563412")


def test_a_repeated_request_changes_nothing_twice(core: FakeCore) -> None:
    core.records.extend([RECORD, RECORD])
    server = Answerer(FakeRegisters(core))
    pop = b"\x02\xcc\x00\x01\x01\x00\x00\x00" + b"\x01\xd0\x00\x0c"
    first = server.answer(bytes([REQUEST, 1]) + pop)
    assert server.answer(bytes([REPEAT, 1]) + pop) == first and len(core.records) == 1
    assert server.answer(bytes([REPEAT, 2]) + pop) == bytes([ANSWER, 2]) + first[2:]  # type: ignore[index]
    assert not core.records
    refused = server.answer(bytes([REQUEST, 3]) + pop)
    assert refused == bytes([ANSWER, 3, 0, 0, SLVERR]) == server.answer(bytes([REPEAT, 3]) + pop)


# ---- bad lines


def flip(at: int, every: int = 3) -> Mangle:
    """Damages a bit of every so many frames."""
    return lambda f, n: f if n % every else f[: at % len(f)] + bytes([f[at % len(f)] ^ 0x10]) + f[at % len(f) + 1 :]


def with_old() -> Mangle:
    """Before each answer the one before it comes once more, as late answers of repeated requests do."""
    last = b""

    def say(frame: bytes, number: int) -> bytes:
        nonlocal last
        old, last = last, frame
        return old + frame

    return say


LINES: dict[str, dict[str, Mangle]] = {
    "answers are damaged": {"say": flip(7)},
    "requests are damaged": {"hear": flip(5)},
    "flags are damaged": {"say": flip(0), "hear": flip(-1, 4)},
    "answers are cut": {"say": lambda f, n: f[: len(f) // 2] if n % 3 == 1 else f},
    "answers are lost": {"say": lambda f, n: b"" if n % 4 == 2 else f},
    "requests are lost": {"hear": lambda f, n: b"" if n % 4 == 2 else f},
    "noise between": {"say": lambda f, n: b"\xa5noise\x7d" + f + b"\x7e\x7e\x00"},
    "an echo": {"say": lambda f, n: encode(b"\x51\x00\x00\x00\x00\x01") + f},
    "late answers": {"say": with_old()},
    "answers twice": {"say": lambda f, n: f + f},
}


@pytest.mark.parametrize("name", LINES)
def test_a_bad_line_costs_time_and_nothing_else(core: FakeCore, name: str) -> None:
    """Records come once and in order, the configuration is whole, whatever the line loses."""
    records = [[n, *RECORD[1:]] for n in range(40)]
    core.records.extend(records)
    with serial_line(core, **LINES[name]) as (uri, server), weir.Device(uri) as device:
        shown = device.queue_replace(0, "red", limit="100KB", min="5KB", max="15KB", ecn=True)
        assert (shown["min"], shown["max"], shown["ecn"]) == (5120, 15360, True)
        assert core.applied("RED_MAX", 0) == 15360 << 11
        assert [record.time_ns & 0xFFFFFFFF for record in device.trace()] == list(range(40))
        assert len(device.state().queues) == 4
        counters = device.link_counters()
    applies = [a for a, _ in core.log if a == core.address("APPLY", 0)]
    assert len(applies) == 1
    if "damaged" in name or "cut" in name or "lost" in name:
        assert counters.repeated > 0
    requests = {(p[1], p[2:]) for p in server.requests}
    assert counters.requests == counters.repeated + len(requests)


@pytest.mark.parametrize(("mangle", "said"), [
    ({"say": lambda f, n: b""}, "no answer to 4 requests; check the cable"),
    ({"say": flip(6, 1)}, "no good answer to 4 requests, 4 damaged; check the cable"),
])  # fmt: skip
def test_a_dead_line_is_given_up(core: FakeCore, mangle: dict[str, Any], said: str) -> None:
    begun = time.monotonic()
    with serial_line(core, **mangle) as (uri, _), pytest.raises(weir.WeirError, match=said) as failed:
        weir.Device(uri)
    assert failed.value.name == "BUS" and uri in failed.value.message and time.monotonic() - begun < 3


def test_a_line_that_ends_in_the_middle_of_a_configuration_leaves_the_old_one(core: FakeCore) -> None:
    """The request that has all words and APPLY arrives whole or not at all."""
    silent = False
    before = dict(core.live)
    with serial_line(core, hear=lambda f, n: f[: len(f) // 2] if silent and len(f) > 40 else f) as (uri, _):
        device = weir.Device(uri)
        silent = True
        with pytest.raises(weir.WeirError, match="no answer"):
            device.queue_replace(0, "red", limit="100KB", min="5KB", max="15KB")
        assert core.live == before and not core.log
        silent = False
        assert device.queue_replace(0, "red", limit="100KB", min="5KB", max="15KB")["max"] == 15360


ANSWERS = {
    "a wrong greeting": (lambda p: encode(b"\x41" + p[1:2] + b"\x00\x00\x02\x57\x01\x00\x00"), "DEVICE", "greets with 0x57020000"),
    "a closed connection": (lambda p: None, "BUS", "the device has gone"),
    "half a frame, then the end": (lambda p: b"\x7e\x41", "BUS", "no answer"),
    "more data than was asked for": (
        lambda p: encode(b"\x41" + p[1:2] + GREETING.to_bytes(4, "little") + b"\x00\x01\x00\x00"), "BUS", "no good answer to 4 requests, 4 damaged"),
    "less data": (lambda p: encode(b"\x41" + p[1:2] + b"\x01\x00\x00"), "BUS", "no good answer to 4 requests, 4 damaged"),
    "no understanding": (lambda p: encode(b"\x41" + p[1:2] + b"\x00\x00\x02"), "BUS", "does not understand"),
    "silence of the core": (lambda p: encode(b"\x41" + p[1:2] + b"\x00\x00\x03"), "BUS", "the core does not answer"),
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in ANSWERS if "half" not in n])
def test_what_a_server_says_wrong_is_told(tmp_path: Path, name: str) -> None:
    answers, code, said = ANSWERS[name]
    with scripted(tmp_path / "s", answers) as uri, pytest.raises(weir.WeirError, match=said) as failed:
        weir.Device(uri)
    assert failed.value.name == code


def test_a_line_with_one_core_has_no_second(core: FakeCore) -> None:
    with serial_line(core) as (uri, _):
        for number in (1, 15):
            said = f"core={number}: core {number} is out of range: allowed is 0 to 0; this line has 1"
            with pytest.raises(weir.WeirError, match=said) as failed:
                weir.Device(f"{uri}?core={number}")
            assert failed.value.name == "RANGE"
        with weir.Device(f"{uri}?core=0") as device:
            assert device.register_read(0) == 0x57454952


def test_a_line_that_dies_while_cores_are_counted_is_told_as_that(core: FakeCore) -> None:
    with (
        serial_line(core, say=lambda f, n: f if n < 2 else b"") as (uri, _),
        pytest.raises(weir.WeirError, match="no answer to 4 requests") as failed,
    ):
        weir.Device(f"{uri}?core=5")
    assert failed.value.name == "BUS"


def test_operations_are_numbered_as_the_page_says() -> None:
    assert (HELLO, READ, WRITE, READ_PACKED, SLVERR, MALFORMED, BUSY, LAPSED) == (0, 1, 2, 3, 1, 2, 4, 5)


@settings(max_examples=60)
@given(address=st.integers(0, 0xFFFF), count=st.integers(1, 60))
def test_any_block_is_read_as_word_by_word(register_map_file: RegisterFile, address: int, count: int) -> None:
    """READ and READ_PACKED, up to the first register that does not answer."""
    core = FakeCore(register_map_file)
    for a in core.words:
        core.words[a] = a * 2654435761 % (1 << 8 * (a // 4 % 5))
    expected = []
    try:
        for k in range(count):
            expected.append(core.csr_read(address + 4 * k))
    except Exception:
        pass
    status = 0 if len(expected) == count else 1
    end = len(expected).to_bytes(2, "little") + bytes([status])
    server, place = Answerer(FakeRegisters(core)), address.to_bytes(2, "little") + bytes([count])
    plain = b"".join(word.to_bytes(4, "little") for word in expected)
    assert server.answer(bytes([REQUEST, 0, READ]) + place) == b"\x41\x00" + plain + end
    assert server.answer(bytes([REQUEST, 1, READ_PACKED]) + place) == b"\x41\x01" + pack(expected) + end
    assert WRITE == 2

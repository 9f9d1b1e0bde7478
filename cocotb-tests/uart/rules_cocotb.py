"""The rules of docs/register-protocol.md, one by one and at random, at eight cycles a bit."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import Event, Timer

from golden.register_protocol import crc32, frame, stuffed
from uart_bench import CORES, LONGEST, PATIENCE, POP, REFUSE, SLOW, Bench, op, random_body, write


@cocotb.test()
@cocotb.parametrize(stall=[0, 6])
async def random_requests_are_answered_as_the_page_says(dut: Any, stall: int) -> None:
    """All operations on all kinds of registers, repeated or not; answers and accesses are the model's."""
    bench = await Bench.start(dut, f"random {stall}", stall)
    body = b""
    for _ in range(120):
        kind = bench.rng.choice([0x51, 0x51, 0x51, 0x52])
        again = kind == 0x52 and bench.rng.random() < 0.7 and body
        body = body if again else random_body(bench.rng)
        await bench.exchange(body, kind, bench.number if again else None)
    assert len(bench.registers.writes()) > 50


@cocotb.test()
async def words_of_every_size_are_packed(dut: Any) -> None:
    """One to nine words, of 0 to 4 bytes in every place; and plain."""
    bench = await Bench.start(dut, "packed")
    edges = [0, 1, 0xFF, 0x100, 0xFFFF, 0x10000, 0xFFFFFF, 0x1000000, 0xFFFFFFFF, 0x7E, 0x7D7E]
    for count in range(1, 10):
        for _ in range(4):
            values = [bench.rng.choice(edges) for _ in range(count)]
            await bench.exchange(write(0x100, *values) + op(3, 0x100, count) + op(1, 0x100, count))
    await bench.exchange(write(0x40, 0, 0x12, 0x1234, 0x123456, 0x12345678))
    answer = await bench.exchange(op(3, 0x40, 5))
    # the page's example, within kind and number, words done and status
    assert bytes.fromhex("e4 12 34 12 56 34 12 00 03 78 56 34 12 05 00 00") in answer


MALFORMED = {
    "no operation": b"",
    "one byte": b"\x01",
    "three bytes": b"\x01\x00\x00",
    "cut behind an operation": op(1, 0) + b"\x01\x00",
    "count 0": op(1, 0, 0),
    "count 0, write": op(2, 0, 0),
    "write without data": op(2, 0x100, 1),
    "write, a byte short": op(2, 0x100, 2, 1, 2)[:-1],
    "write, a word short": op(2, 0x100, 3, 1, 2),
    "HELLO of 2": op(0, 0, 2),
    "HOLD of 2": op(4, 1, 2),
    **{f"operation {code}": op(code, 0) for code in range(5, 16)},
    **{f"core {core}": op(1, 0, core=core) for core in range(CORES, 16)},
    "HELLO of no core": op(0, 0, core=CORES),
    "1025 words": op(3, POP - 4, 255) * 4 + op(3, 0, 5),
    "1025 words, the last by HELLO": op(3, 0, 255) * 4 + op(1, 0, 4) + op(0, 0),
    "1275 words": op(1, 0, 255) * 5,
    "a write, then an operation of no kind": write(0x100, 1, 2, 3) + op(9, 0),
}


@cocotb.test()
async def malformed_requests_access_nothing(dut: Any) -> None:
    """Every way to be malformed. What was carried out before is still known as the last."""
    bench = await Bench.start(dut, "malformed")
    last = write(0x200, 7) + op(1, POP)
    for name, body in MALFORMED.items():
        await bench.exchange(last, number=5)
        accesses = len(bench.registers.log)
        for kind in (0x51, 0x52):
            answer = await bench.exchange(body, kind, number=9 if kind == 0x51 else 5)
            assert answer[1:6:4] == b"\x41\x02" and answer[3:5] == b"\x00\x00", name
        assert len(bench.registers.log) == accesses, name
        await bench.exchange(last, 0x52, number=5)
    assert bench.registers.writes() == [(0, 0x200, 7)] * len(MALFORMED)


@cocotb.test()
async def a_request_moves_up_to_1024_words(dut: Any) -> None:
    bench = await Bench.start(dut, "1024")
    answer = await bench.exchange(op(3, 0x0, 1) + op(3, REFUSE - 4 * 255, 255) * 4 + op(4, 1) + op(4, 0) + op(0, 0))
    assert len(answer) > 1024
    answer = await bench.exchange(op(1, REFUSE - 4 * 255, 255) * 4 + op(1, 0x40, 4))
    assert len(answer) > 4096 and bench.registers.pops == 2 * 1020


@cocotb.test()
async def the_longest_request_is_taken_and_no_longer_one(dut: Any) -> None:
    """Kind to CRC, however much of it is stuffed."""
    bench = await Bench.start(dut, "longest")
    for filler in (0, 0x7E7E7E7E):
        body = write(0x100, *[filler] * 58) + op(1, 0x100) * 3
        assert 2 + len(body) + 4 == LONGEST - 2
        await bench.exchange(body)
        await bench.exchange(body + b"\x01\x00")  # it was taken: malformed
        for more in (b"\x01\x00\x00", op(1, 0)):
            too_long = frame(b"\x51\x01" + body + more)
            assert not list(bench.model.hear(too_long))
            await bench.say(too_long)
            await bench.silent()
    assert bench.registers.log == bench.expected.log


@cocotb.test()
async def refused_and_impossible_addresses_end_a_request(dut: Any) -> None:
    """Those before are done, those behind not; beyond the space or misaligned the bus sees nothing."""
    bench = await Bench.start(dut, "refused")
    for end in (REFUSE, 0x10000):
        for before in range(1, 6):
            values = [before] * 8
            await bench.exchange(write(0x10, before) + op(3, end - 4 * before, before + 3) + write(0x14, 1))
            await bench.exchange(op(1, 0x20) + write(end - 4 * before, *values) + op(1, 0x24))
    for address in (1, 2, 3, 0xFFFD, 0xFFFF):
        for code in (1, 2, 3):
            accesses = len(bench.registers.log)
            await bench.exchange(op(code, address, 1, *([5] if code == 2 else [])) + op(1, 0x24))
            assert len(bench.registers.log) == accesses
    assert not any(address == 0x14 for _, address, _ in bench.registers.log)


@cocotb.test()
async def repeated_requests_read_again_and_write_nothing(dut: Any) -> None:
    """In any mixture with requests that end early; a repeat of another number is carried out."""
    bench = await Bench.start(dut, "repeat", 2)
    bodies = [
        write(0x10, 1) + op(1, POP) + write(0x14, 2, 3),
        write(0x10, 1, 2, 3) + op(3, POP, 3) + write(REFUSE, 4) + write(0x20, 5),
        op(3, REFUSE - 12, 9) + write(0x20, 5),
        write(REFUSE, 1),
        op(1, 2),
        op(0, 0) + op(4, 1) + write(0x30, 6),
    ]
    number = 0
    for body in bodies:
        for _ in range(2):
            number += 1
            await bench.exchange(body, 0x51, number)
            writes = bench.registers.writes()
            for _ in range(3):
                await bench.exchange(body, 0x52, number)
            assert bench.registers.writes() == writes
        await bench.exchange(body, 0x51, number)  # as a client does that begins
        number += 1
        await bench.exchange(body, 0x52, number)
        await bench.exchange(body, 0x52, number)
    for n in range(256):  # no other number is taken for it
        if n != number:
            await bench.exchange(write(0x40, n), 0x52, n)
            if n % 16 == 0:
                await bench.exchange(write(0x40, n), 0x52, n)


@cocotb.test()
async def a_read_that_is_refused_the_second_time_does_not_fit(dut: Any) -> None:
    """Words and status are those of then, the data end early: the client asks again."""
    bench = await Bench.start(dut, "changed")
    body = op(3, 0x50, 3)
    await bench.exchange(body, number=1)
    for registers in (bench.registers, bench.expected):
        plain = registers.access
        registers.access = lambda c, a, v, plain=plain: (1, 0) if a == 0x54 else plain(c, a, v)  # type: ignore[method-assign]
    bench.model.access = bench.expected.access
    await bench.exchange(body, 0x52, number=1)


@cocotb.test()
async def a_core_that_is_silent_is_told_and_does_not_block_the_other(dut: Any) -> None:
    """The access stays on the bus; the next one waits for it as long, then is silent as well; a late answer is lost."""
    bench = await Bench.start(dut, "silent")
    for body in (op(1, SLOW), write(SLOW, 5), write(0x10, 1) + op(3, SLOW, 9) + write(0x14, 2), op(3, SLOW - 8, 3)):
        await bench.exchange(body)
        await bench.exchange(body, 0x52, bench.number)
        await bench.exchange(op(1, 0x20))
    core = bench.cores[0]
    for stuck in (op(1, 0x44), write(0x48, 9)):
        core.gate = Event()
        for body, seen in ((stuck, True), (op(1, 0x50), False), (write(0x54, 1), False)):
            bench.number += 1
            await bench.say(frame(bytes([0x51, bench.number & 0xFF]) + body))
            got = await bench.frame()
            assert got == frame(bytes([0x41, bench.number & 0xFF, 0, 0, 3]))
            if seen:
                bench.expected.access(0, body[1], None if body[0] == 1 else 9)
        await bench.exchange(op(1, 0x44, core=1) + write(0x10, 3, core=1), number=200)
        core.gate.set()
        core.gate = None
        await Timer(3 * PATIENCE * 16, "ns")
        bench.model.last = None
        await bench.exchange(op(3, 0x40, 8) + write(0x10, 4), number=201)


@cocotb.test()
async def what_is_no_request_is_ignored(dut: Any) -> None:
    bench = await Bench.start(dut, "kinds")
    for kind in (0, 0x41, 0x50, 0x53, 0xD1, 0x7E, 0xFF):
        await bench.say(frame(bytes([kind, 1]) + write(0x10, 1)))
        await bench.say(frame(bytes([kind, 1])))
    await bench.silent(800)
    assert not bench.registers.log
    await bench.exchange(write(0x10, 2))


@cocotb.test()
async def frames_that_are_none_are_thrown_away(dut: Any) -> None:
    """Too short, wrong CRC in every bit, an escape before the flag, flags in a row or shared, noise."""
    bench = await Bench.start(dut, "frames")
    request = frame(bytes([0x51, 3]) + write(0x10, 1))
    for length in range(6):
        body = b"\x51" * (length - 4) if length > 4 else b""
        await bench.say(b"\x7e" + stuffed(body + crc32(body).to_bytes(4, "little"))[:length] + b"\x7e")
    for at in range(1, len(request) - 1):
        broken = bytearray(request)
        broken[at] ^= 1 << bench.rng.randrange(8)
        await bench.say(broken)
    await bench.say(request[:-1] + b"\x7d\x7e")
    await bench.say(b"\x7e\x7d\x7e\x7e\x7e" + request[1:-3] + b"\x7e")
    assert not list(bench.model.hear(b"\x7e"))
    await bench.silent(1500)
    assert not bench.registers.log
    # one flag for two, after noise that begins none
    await bench.say(b"\x00\x7d\x55" + frame(bytes([0x51, 4]) + op(1, 0x20))[:-1] + request)
    for number, body in ((4, op(1, 0x20)), (3, write(0x10, 1))):
        (expected,) = bench.model.hear(frame(bytes([0x51, number]) + body))
        assert await bench.frame() == expected
    assert bench.registers.log == bench.expected.log


@cocotb.test()
async def two_requests_wait_and_a_third_is_lost(dut: Any) -> None:
    """The answer to the first takes longer than the next two."""
    bench = await Bench.start(dut, "three")
    long = frame(bytes([0x51, 1]) + op(1, REFUSE - 400, 100))
    short = [frame(bytes([0x51, n]) + write(0x10, n)) for n in (2, 3)]
    await bench.say(long + short[0] + short[1] + b"\x7e\x55")
    expected = [*bench.model.hear(long), *bench.model.hear(short[0])]
    assert [await bench.frame(), await bench.frame()] == expected
    await bench.silent(2000)
    assert bench.registers.writes() == [(0, 0x10, 2)]
    await bench.say(b"\x7e")
    await bench.exchange(write(0x10, 9))


@cocotb.test()
async def any_bytes_are_survived(dut: Any) -> None:
    """Requests that are cut, doubled, mutated and mixed; the model says what of them is answered."""
    bench = await Bench.start(dut, "fuzz", 2)
    for _ in range(150):
        data = bytearray(
            frame(bytes([bench.rng.choice([0x51, 0x52]), bench.rng.randrange(4)]) + random_body(bench.rng, 120))
        )
        for _ in range(bench.rng.choice([0, 1, 1, 2, 5])):
            at = bench.rng.randrange(len(data))
            match bench.rng.randrange(5):
                case 0:
                    data[at] ^= 1 << bench.rng.randrange(8)
                case 1:
                    del data[at : at + bench.rng.randrange(1, 9)]
                case 2:
                    data[at:at] = bench.rng.randbytes(bench.rng.randrange(1, 5))
                case 3:
                    data[at] = bench.rng.choice([0x7E, 0x7D, 0x5E, 0x5D])
                case 4:
                    data[at:at] = data[: bench.rng.randrange(20)]
            data = data or bytearray(b"\x7e")
        if bench.rng.random() < 0.3:  # malformed, with a CRC that is right
            data = bytearray(frame(bytes([0x51, 9]) + bench.rng.randbytes(bench.rng.randrange(30))))
        for piece in bytes(data).split(b"\x7e"):
            expected = list(bench.model.hear(piece + b"\x7e"))
            await bench.say(piece + b"\x7e")
            for answer in expected:
                assert await bench.frame() == answer, data.hex()
        assert bench.registers.log == bench.expected.log, data.hex()
    await bench.silent()

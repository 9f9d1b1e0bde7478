"""A line that loses, adds and turns bits; resets at any moment: writes happen once, and the bridge always comes back."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import Timer

from golden.register_protocol import frame, payload_of
from uart_bench import BIT_PS, PERIOD_PS, Bench, op, write


class Client:
    """Sends a request until a good answer of its number comes, as the page asks of a client; the line may be bad."""

    def __init__(self, bench: Bench, damage: float) -> None:
        self.bench, self.rng, self.damage = bench, bench.rng, damage
        self.number, self.repeated = bench.rng.randrange(256), 0

    def damaged(self, data: bytes) -> bytes:
        """The bytes with each one lost, turned, or followed by others, at random."""
        out = bytearray()
        for byte in data:
            luck = self.rng.random() / self.damage if self.damage else 9
            if luck < 1:
                out.append(byte ^ 1 << self.rng.randrange(8))
            elif luck < 3:
                out += bytes([byte]) + self.rng.randbytes(1)
            elif luck > 4:
                out.append(byte)
        return bytes(out)

    async def ask(self, body: bytes) -> bytes:
        self.number = (self.number + 1) & 0xFF
        for attempt in range(60):
            self.repeated += attempt > 0
            request = frame(bytes([0x52 if attempt else 0x51, self.number]) + body)
            await self.bench.say(self.damaged(request))
            line = b""
            while (got := await self.bench.frame(500)) is not None:
                line += self.damaged(got)
            for piece in line.split(b"\x7e"):
                payload = payload_of(piece, 5000)
                if payload is not None and payload[:2] == bytes([0x41, self.number]):
                    return payload[2:]
        raise AssertionError("no answer to 60 requests")


@cocotb.test()
@cocotb.parametrize(damage=[0.003, 0.012])
async def every_write_happens_once_on_a_line_that_damages(dut: Any, damage: float) -> None:
    """Also what was read is what stands there, whatever it took."""
    bench = await Bench.start(dut, f"damage {damage}", 3)
    client = Client(bench, damage)
    done: list[tuple[int, int, int]] = []
    for _ in range(40):
        count = bench.rng.randrange(1, 6)
        address, core = 4 * bench.rng.randrange(100), bench.rng.randrange(2)
        values = [bench.rng.getrandbits(32) for _ in range(count)]
        answer = await client.ask(write(address, *values, core=core) + op(1, address, count, core=core))
        assert answer == b"".join(v.to_bytes(4, "little") for v in values) + bytes([2 * count, 0, 0])
        done += [(core, address + 4 * n, value) for n, value in enumerate(values)]
        assert bench.registers.writes() == done
    assert client.repeated > (5 if damage < 0.01 else 20)


@cocotb.test()
async def a_reset_at_any_moment_leaves_a_bridge_that_answers(dut: Any) -> None:
    """Before it the writes of a request are done up to some word, in order, and none twice; behind it a repeat is new."""
    bench = await Bench.start(dut, "resets", 4)
    cut = [0, 0, 0]
    for turn in range(70):
        values = [bench.rng.getrandbits(32) for _ in range(8)]
        body = write(0x100, *values) + op(1, 0x100, 8) + write(0x200, turn)
        request = frame(bytes([0x51, turn]) + body)
        before = len(bench.registers.writes())
        saying = cocotb.start_soon(bench.say(request))
        if turn % 3:  # while it is carried out, or answered
            await saying
            await Timer(bench.rng.randrange(*((20, 400) if turn % 3 == 1 else (2000, 5000))) * PERIOD_PS, "ps")
        else:
            await Timer(bench.rng.randrange(10 * len(request) * BIT_PS), "ps")
        await bench.reset(bench.rng.choice([1, 1, 2, 30]))
        await saying
        await Timer(30 * BIT_PS, "ps")
        bench.heard.clear()
        bench.model.last = None
        fresh = [(0, 0x100 + 4 * n, value) for n, value in enumerate(values)] + [(0, 0x200, turn)]
        done = bench.registers.writes()[before:]
        assert done == fresh[: len(done)]
        cut[0 if not done else 1 if len(done) < 9 else 2] += 1
        await bench.say(b"\x7e")
        bench.expected.log, bench.expected.words = list(bench.registers.log), dict(bench.registers.words)
        bench.expected.pops = bench.registers.pops
        await bench.exchange(body, 0x52, turn)
        assert bench.registers.writes()[before + len(done) :] == fresh
    assert min(cut) > 10, cut


@cocotb.test()
async def a_break_and_bytes_without_a_stop_bit_spoil_one_frame(dut: Any) -> None:
    """Between frames they cost nothing: the next one begins with a flag."""
    bench = await Bench.start(dut, "break")
    request = frame(bytes([0x51, 3]) + write(0x10, 1))
    for at in range(1, len(request)):
        await bench.say(request[:at])
        await bench.say(request[at : at + 1], stop=0)
        await bench.say(request[at + 1 :])
        await bench.say(b"\x7e")
    for bits in (11, 25, 300):  # a break inside a frame
        await bench.say(request[:5])
        dut.uart_rxd.value = 0
        await Timer(bits * BIT_PS, "ps")
        dut.uart_rxd.value = 1
        await Timer(2 * BIT_PS, "ps")
        await bench.say(request[5:])
    await bench.silent(600)
    assert not bench.registers.log
    for bits in (1, 12, 100):
        dut.uart_rxd.value = 0
        await Timer(bits * BIT_PS, "ps")
        dut.uart_rxd.value = 1
        await Timer(12 * BIT_PS, "ps")
        await bench.exchange(write(0x10, bits))


@cocotb.test()
async def short_pulses_are_not_heard(dut: Any) -> None:
    """Shorter than a cycle, and less than half a bit; between bytes and in the middle of their bits."""
    bench = await Bench.start(dut, "pulses")
    for pulse in (PERIOD_PS - 2000, 3 * PERIOD_PS):
        for _ in range(20):
            dut.uart_rxd.value = 0
            await Timer(pulse, "ps")
            dut.uart_rxd.value = 1
            await Timer(bench.rng.randrange(BIT_PS, 2 * BIT_PS), "ps")
        await Timer(2 * BIT_PS, "ps")
        await bench.exchange(write(0x10, pulse))
    for byte in frame(bytes([0x51, 9]) + op(1, 0x20)):  # a spike in each bit
        for bit in (0, *(byte >> n & 1 for n in range(8)), 1):
            at = bench.rng.randrange(PERIOD_PS, BIT_PS - 2 * PERIOD_PS)
            for level, duration in ((bit, at), (1 - bit, PERIOD_PS - 2000), (bit, BIT_PS - at - PERIOD_PS + 2000)):
                dut.uart_rxd.value = level
                await Timer(duration, "ps")
    (expected,) = bench.model.hear(frame(bytes([0x51, 9]) + op(1, 0x20)))
    assert await bench.frame() == expected


@cocotb.test()
async def random_lines_never_stop_it(dut: Any) -> None:
    """Levels that change at any time, then silence of a byte and a flag: the next request is heard."""
    bench = await Bench.start(dut, "noise")
    rng = random.Random(bench.rng.getrandbits(32))
    for turn in range(40):
        for _ in range(rng.randrange(200)):
            dut.uart_rxd.value = rng.getrandbits(1)
            await Timer(rng.randrange(2000, 3 * BIT_PS), "ps")
        dut.uart_rxd.value = 1
        await Timer(12 * BIT_PS, "ps")
        await bench.say(b"\x7e")
        await bench.exchange(write(0x10, turn))

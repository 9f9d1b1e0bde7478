"""The bridge at 62.5 MHz and 1 Mbaud: the page's examples, what its bits are, how far others may be off, how long things take."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import cocotb
from cocotb.simtime import get_sim_time
from cocotb.triggers import ValueChange

from golden.register_protocol import OK, SLVERR, frame
from uart_bench import BIT_PS, PERIOD_PS, Bench, op, write

PAGE = Path(__file__).resolve().parents[2] / "docs" / "register-protocol.md"


@cocotb.test()
async def the_examples_of_the_page_are_answered_byte_for_byte(dut: Any) -> None:
    """Registers as the page has them: MAGIC, SCRATCH, none at 0xFFFC."""
    bench = await Bench.start(dut, "examples")
    words = {0: 0x57454952}

    def access(core: int, address: int, value: int | None) -> tuple[int, int]:
        if address not in (0, 0x30):
            return SLVERR, 0
        if value is not None:
            words[address] = value
        return OK, words.get(address, 0)

    bench.registers.access = access  # type: ignore[method-assign]
    rows = [
        line.split("`")[1]
        for line in PAGE.read_text().splitlines()
        if line.startswith(("| client | `", "| server | `"))
    ]
    assert len(rows) == 8
    for client, server in zip(rows[::2], rows[1::2], strict=True):
        await bench.say(bytes.fromhex(client))
        assert await bench.frame() == bytes.fromhex(server)
    assert words[0x30] == 5  # of the third example


@cocotb.test()
async def bits_are_a_microsecond_and_bytes_follow_without_a_gap(dut: Any) -> None:
    """62.5 cycles: each edge within one cycle of its place, from the first bit of an answer to the last; cores take up to 100
    cycles a word."""
    bench = await Bench.start(dut, "bits", 50)
    edges: list[int] = []

    async def watch() -> None:
        while True:
            await ValueChange(dut.uart_txd)
            edges.append(int(get_sim_time("ps")))

    watcher = cocotb.start_soon(watch())
    for body in (
        op(3, 0x100, 60),
        op(1, 0x100, 60),
        op(1, 0) * 30,
        write(0x100, *[0] * 5) + op(3, 0x100, 5) + op(0, 0),
    ):
        edges.clear()
        answer = await bench.exchange(body)
        for edge in edges:
            bits = round((edge - edges[0]) / BIT_PS)
            assert abs(edge - edges[0] - bits * BIT_PS) <= PERIOD_PS, f"an edge after {(edge - edges[0]) / BIT_PS} bits"
        # the last edge is that of the last stop bit
        assert round((edges[-1] - edges[0]) / BIT_PS) == 10 * len(answer) - 1
    watcher.cancel()


@cocotb.test()
@cocotb.parametrize(percent=[-4.5, -3.0, 3.0, 4.5])
async def a_sender_may_be_off_by_4_5_percent(dut: Any, percent: float) -> None:
    """Bytes back to back, with every kind of bits in them."""
    bench = await Bench.start(dut, f"baud {percent}")
    bench.bit_ps = int(BIT_PS * (1 + percent / 100))
    for values in ([0] * 4, [0xFFFFFFFF] * 4, [0x55AA55AA, 0x7E7D0102], [bench.rng.getrandbits(32) for _ in range(12)]):
        await bench.exchange(write(0x100, *values) + op(1, 0x100, len(values)))


@cocotb.test()
@cocotb.parametrize(percent=[-30.0, -8.0, 8.0, 30.0, 100.0])
async def a_sender_at_another_speed_is_not_understood_and_does_no_harm(dut: Any, percent: float) -> None:
    """Then one at the right speed is heard."""
    bench = await Bench.start(dut, f"speed {percent}")
    bench.bit_ps = int(BIT_PS * (1 + percent / 100))
    for n in range(4):
        await bench.say(frame(bytes([0x51, n]) + write(0x100, n)))
    bench.bit_ps = BIT_PS
    await bench.silent(40)
    assert not bench.registers.log
    await bench.say(b"\x7e")
    await bench.exchange(write(0x100, 1))


@cocotb.test()
async def a_short_request_is_answered_at_once(dut: Any) -> None:
    """The start bit comes half a bit after the end of the request's last stop bit, or earlier: that is known in its middle."""
    bench = await Bench.start(dut, "latency")
    for body in (op(1, 0), write(0x30, 1), op(0, 0)):
        bench.number += 1
        request = frame(bytes([0x51, bench.number & 0xFF]) + body)
        await bench.say(request)
        ended = int(get_sim_time("ps"))
        while not bench.heard:
            await bench.came.wait()
            bench.came.clear()
        took = bench.heard[0][0] - ended
        dut._log.info("answer after %.0f ns", took / 1000)
        assert -BIT_PS // 2 < took < BIT_PS // 2
        assert await bench.frame() is not None


@cocotb.test()
async def a_snapshot_takes_the_time_of_its_bytes(dut: Any) -> None:
    """Requests as libweir sends them for a snapshot of all queues, registers as given; a core answers in ten cycles.

    What the bridge adds is less than a byte for each request."""
    cases = json.loads(Path(os.environ["UART_SNAPSHOTS"]).read_text())
    bench = await Bench.start(dut, "snapshot", 5)
    for case in cases.values():
        words = {int(address): word for address, word in case["words"].items()}
        bench.registers.access = lambda core, address, value, words=words: (OK, words.get(address, 0))  # type: ignore[method-assign]
        size, begin = 0, int(get_sim_time("ps"))
        for request, expected in zip(case["requests"], case["answers"], strict=True):
            await bench.say(frame(bytes.fromhex(request)))
            assert await bench.frame() == bytes.fromhex(expected)
            size += len(frame(bytes.fromhex(request))) + len(bytes.fromhex(expected))
        # the last byte is known half a bit before its end
        took = int(get_sim_time("ps")) - begin + BIT_PS // 2
        assert took < 10 * (size + len(case["requests"])) * BIT_PS
        case["simulated"] = {"bytes": size, "ms": round(took / 1e9, 3)}
    Path(os.environ["UART_TIMES"]).write_text(json.dumps({name: case["simulated"] for name, case in cases.items()}))

"""JumboUnpack under pressure: all kinds of frames at the full rate, stalls, overflow, abort, reset."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from jumbo_stimulus import LIES, addresses, entries, padded, parts
from jumbo_unpack_bench import BAD, GAP_CYCLES, GOOD, OVERSIZE, Bench, plain


def mixed(bench: Bench, frames: int, jumbos: float, longest: int = 300) -> None:
    """Frames of every kind, back to back."""
    rng = bench.rng
    for _ in range(frames):
        choice = rng.random()
        if choice < jumbos:
            made = parts(rng, entries(rng, rng.choice((1, 2, 2, 3, 6, 20)), rng.choice((40, 100, longest)), 0.05))
            if rng.random() < 0.1 and len(made.packets) > 1:
                name = rng.choice([n for n in LIES if n != "versions differ"])
                LIES[name](made, rng)
            frame = padded(made.bytes(), rng)
            kind = rng.random()
            if kind < 0.05:
                bench.send(frame, kind=BAD)
            elif kind < 0.1:
                bench.send(frame, limit=rng.randrange(64, 200))
            else:
                bench.send(frame)
        elif choice < jumbos + 0.1:
            bench.send(addresses(rng)[: rng.randrange(1, 9)])  # one beat
        elif choice < jumbos + 0.15:
            bench.send(padded(plain(rng), rng), kind=BAD)
        elif choice < jumbos + 0.2:
            bench.send(rng.randbytes(rng.randrange(65, 300)), limit=64)
        else:
            bench.send(plain(rng))


@cocotb.test()
@cocotb.parametrize(case=[(0.0, 0.2, 0), (0.0, 0.7, 0), (0.3, 0.2, 0), (0.3, 0.7, 0), (0.0, 0.5, 1)])
async def keeps_the_order_of_all_kinds_at_the_full_rate(dut: Any, case: tuple[float, float, int]) -> None:
    gap, jumbos, transit = case
    bench = await Bench(dut, f"mixed {gap} {jumbos}{' transit' * transit}", gap).start()
    bench.configure(bench.form, transit=transit)
    mixed(bench, 900, jumbos)
    await bench.drain()
    assert {"plain 0", "plain 1", "plain 2", "plain 3", "jumbo 0", "jumbo 1", "jumbo 3", "jumbo 5"} <= set(
        bench.outcomes
    )


@cocotb.test()
async def passes_frames_of_a_beat_every_cycle(dut: Any) -> None:
    """One-beat frames without a pause, also right behind jumbo frames, with which they have to wait."""
    bench = await Bench(dut, "beats").start()
    rng = bench.rng
    for _ in range(12):
        bench.send(parts(rng, entries(rng, 30, 40)).bytes())
        for _ in range(rng.randrange(300)):
            bench.send(rng.randbytes(rng.randrange(1, 9)))
    await bench.drain()


@cocotb.test()
@cocotb.parametrize(stall=[0.1, 0.5, 0.9])
async def holds_what_is_offered_while_ready_is_low(dut: Any, stall: float) -> None:
    """With pauses that make up for the stalls nothing overflows."""
    bench = await Bench(dut, f"stall {stall}", 0.0, stall).start()
    rng = bench.rng
    for _ in range(250 if stall < 0.9 else 60):
        frame = (
            padded(parts(rng, entries(rng, rng.choice((1, 2, 5, 9)), 120)).bytes(), rng)
            if rng.random() < 0.6
            else plain(rng)
        )
        bench.send(frame, pause=int(len(frame) / 4 / (1 - stall)))
    await bench.drain()
    assert bench.outcomes["jumbo 0"] > 20


@cocotb.test()
@cocotb.parametrize(kind=["jumbo", "plain", "both", "tables", "bits"])
async def overflows_by_whole_frames(dut: Any, kind: str) -> None:
    """`ready` stays low for long: frames end as overflow, whole, and those that come afterwards are unharmed."""
    phase = {"low": False}
    bench = await Bench(dut, f"overflow {kind}", 0.0, lambda cycle: phase["low"]).start()
    rng = bench.rng
    for turn in range(6):
        bench.may_overflow = True
        phase["low"] = True
        while sum(1 for _ in bench.beats) < 4000:
            if kind == "tables":  # tables without packets fill the rows, and not the words
                if rng.random() < 0.5:
                    bench.send(padded(parts(rng, [20, 90]).bytes(), rng))
                made = parts(rng, [20] * 448)
                made.cut = made.header_end + 4 * rng.randrange(400, 448)
                bench.send(made.bytes())
            elif kind == "bits":  # frames of a word or two that take a verdict each
                bench.send(addresses(rng) + b"\x88\xb5" + rng.randbytes(rng.randrange(8)))
                if turn % 2:
                    bench.beats.extend([(None, 0)] * GAP_CYCLES)
                    bench.send(rng.randbytes(rng.randrange(1, 30)), pause=GAP_CYCLES)
            elif kind == "plain" or (kind == "both" and rng.random() < 0.5):
                bench.send(plain(rng, 1500))
            else:
                bench.send(padded(parts(rng, entries(rng, rng.choice((2, 30, 300)), 900)).bytes(), rng))
        await bench.run(3900 if turn % 2 else 1500)
        phase["low"] = False
        while bench.beats or bench.expected:
            await bench.step()
        await bench.drain()
        bench.may_overflow = False
        before = dict(bench.outcomes)
        for _ in range(5):
            bench.send(padded(parts(rng, entries(rng, 5, 90)).bytes(), rng))
            bench.send(plain(rng))
        await bench.drain()
        after = bench.outcomes
        assert after.get("jumbo overflow", 0) == before.get("jumbo overflow", 0)
    assert kind == "bits" or bench.outcomes.get("jumbo overflow", 0) + bench.outcomes.get("plain overflow", 0) > 5, (
        bench.outcomes
    )


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def ends_an_aborted_jumbo_frame_as_overflow(dut: Any, stall: float) -> None:
    """`abort` at random moments: the jumbo frame whose packets are being given ends as overflow, no other does."""
    bench = await Bench(dut, f"abort {stall}", 0.0, stall).start()
    rng = bench.rng
    for _ in range(300):
        bench.may_overflow = False
        lengths = entries(rng, rng.choice((2, 4, 30)), rng.choice((60, 200)), 0.0)
        bench.send(padded(parts(rng, lengths, outer_ecn=2).bytes(), rng))
        for _ in range(rng.randrange(3)):
            bench.send(plain(rng) if rng.random() < 0.5 else padded(parts(rng, [20, 30]).bytes(), rng))
        first = bench.expected[0]
        words_wanted = rng.randrange(sum((len(p) + 15) // 16 for p in first.packets))
        while bench.expected and bench.expected[0] is first:
            if bench.words_given > words_wanted:
                break
            await bench.step()
        if bench.expected and bench.expected[0] is first:
            before = bench.outcomes.get("jumbo overflow", 0)
            bench.may_overflow = True
            dut.abort.value = 1
            at_end = bool(int(dut.jumbo_valid.value))
            await bench.step()
            late = not bench.expected or bench.expected[0] is not first
            dut.abort.value = 0
            while bench.expected and bench.expected[0] is first:
                await bench.step()
            after = bench.outcomes.get("jumbo overflow", 0)
            assert late or at_end or after == before + 1, "abort, and the jumbo frame is good"
            bench.may_overflow = False
        await bench.drain()
    assert bench.outcomes["jumbo overflow"] > 150, bench.outcomes


@cocotb.test()
async def ignores_abort_between_jumbo_frames(dut: Any) -> None:
    """While no packet of a jumbo frame has been offered, `abort` is about nothing."""
    bench = await Bench(dut, "abort idle").start()
    rng = bench.rng
    for _ in range(30):
        dut.abort.value = 1
        await bench.run(3)
        bench.send(plain(rng))
        await bench.drain()
        dut.abort.value = 0
        bench.send(padded(parts(rng, entries(rng, 4, 60)).bytes(), rng))
        await bench.drain()


@cocotb.test()
async def starts_anew_after_a_reset_at_any_moment(dut: Any) -> None:
    bench = await Bench(dut, "reset", 0.0, 0.2).start()
    rng = bench.rng
    bench.may_overflow = True
    for _ in range(120):
        mixed(bench, 12, 0.6)
        await bench.run(rng.randrange(1, 400))
        bench.dut.rst.value = 1
        bench.beats.clear()
        bench.forget()
        dut.word_valid.value = dut.end_valid.value = 0
        bench._driving = False
        await RisingEdge(dut.clk)
        for _ in range(rng.randrange(1, 3)):
            await RisingEdge(dut.clk)
            quiet = (dut.packet_valid, dut.packetEnd_valid, dut.jumbo_valid, dut.busy)
            assert not any(int(signal.value) for signal in quiet), "not silent after reset"
        dut.rst.value = 0
        bench.forget()
        for _ in range(4):
            bench.send(padded(parts(rng, entries(rng, 3, 60)).bytes(), rng), pause=20)
            bench.send(plain(rng))
        await bench.drain()


@cocotb.test()
async def takes_frames_of_any_length_that_never_fit(dut: Any) -> None:
    """Oversize jumbo frames, by a byte and by far, and bad ones; the kind is the MAC's, whatever is inside."""
    bench = await Bench(dut, "oversize").start()
    rng = bench.rng
    for limit in (64, 65, 100, 511, 512, 9216):
        for _ in range(12):
            lengths = entries(rng, 12, 60, 0.0) if limit < 9216 else entries(rng, 300, 60, 0.0)
            made = parts(rng, lengths)
            made.trailer = rng.randbytes(max(0, limit + rng.choice((1, 2, 100)) - len(made.bytes())))
            sent = bench.send(made.bytes(), limit=limit)
            assert sent.kind == OVERSIZE
            bench.send(padded(parts(rng, entries(rng, 3, 60)).bytes(), rng), kind=rng.choice((GOOD, BAD)))
    await bench.drain()
    assert bench.outcomes["jumbo 3"] == 72

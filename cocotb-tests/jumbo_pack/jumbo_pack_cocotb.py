"""JumboPack against weir_sim.jumbo.build: bytes, no gap inside a frame, latency and rate, as on its page."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from axis import cycle
from jumbo_pack_bench import Bench
from jumbo_pack_stimulus import any_job, jumbo, lengths_within, single, some_dropped, transit

WORDS, ENTRIES = 512, 1024


def send_any(bench: Bench, count: int) -> None:
    for _ in range(count):
        bench.send([any_job(bench.rng, bench.identification)])


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.4, 0.7], stall=[0.0, 0.4, 0.8])
async def sends_frames_as_the_wire_format_says(dut: Any, gap: float, stall: float) -> None:
    bench = await Bench(dut, f"any {gap} {stall}", gap, stall, late=0.3, steady=gap == 0).start()
    send_any(bench, 120)
    await bench.receive()


@cocotb.test()
@cocotb.parametrize(tags=[0, 1, 2], l3=[False, True])
async def takes_packets_of_every_length(dut: Any, tags: int, l3: bool) -> None:
    """Lengths 20 to 200, one to three of each length in a group, all alignments of what follows."""
    bench = await Bench(dut, f"lengths {tags} {l3}", stall=0.1, steady=True).start()
    for length in range(20, 201):
        lengths = [length] * bench.rng.randrange(1, 4)
        v6 = not l3 and length >= 40 and bench.rng.random() < 0.5
        bench.send([jumbo(bench.rng, lengths, tags, l3, v6, identification=bench.identification)])
    await bench.receive()


@cocotb.test()
@cocotb.parametrize(low=[1, 150, 300])
async def takes_groups_of_every_count(dut: Any, low: int) -> None:
    """1 to 448 entries; packets of 20 bytes, or with many dropped, which leaves entries alone."""
    bench = await Bench(dut, f"counts {low}", steady=True).start()
    for count in range(low, min(low + 150, 449)):
        tags, l3 = bench.rng.randrange(3), bench.rng.random() < 0.5
        # More than 380 of 20 bytes do not fit into 9216.
        kept = bench.rng.choice((1, 2, count // 2, count, count - 1))
        left = frozenset(bench.rng.sample(range(count), min(max(kept, 1), count, (9216 - 48 - 4 * count) // 20)))
        dropped = frozenset(range(count)) - left
        bench.send([jumbo(bench.rng, [20] * count, tags, l3, False, dropped, bench.identification)])
    await bench.receive()


@cocotb.test()
@cocotb.parametrize(tags=[0, 1, 2], l3=[False, True])
async def never_runs_dry_when_words_keep_up(dut: Any, tags: int, l3: bool) -> None:
    """The lengths with most words for their bytes: 20, and 27 behind two tags, as many as fit; then long ones.

    The first half of the groups find nothing before them, so that no word is ahead; the sink never waits.
    """
    bench = await Bench(dut, f"dry {tags} {l3}", steady=True).start()
    pools = [
        [20],
        [27],
        [20, 27],
        [20, 21, 27, 28, 35],
        [27, 1500],
        [20, 1500],
        range(20, 28),
        [8900],
        [21],
        [28],
        [35],
    ]
    for number, pool in enumerate([*pools, *pools]):
        lengths = lengths_within(bench.rng, 448, pool)
        if bench.rng.random() < 0.3:
            lengths.sort(reverse=bench.rng.random() < 0.5)
        dropped = some_dropped(bench.rng, len(lengths)) if number >= len(pools) else frozenset()
        bench.send([jumbo(bench.rng, lengths, tags, l3, False, dropped, bench.identification)])
        if number < len(pools):
            await bench.receive()
    await bench.receive()


@cocotb.test()
@cocotb.parametrize(tags=[0, 1, 2])
async def passes_jumbo_frames_in_transit(dut: Any, tags: int) -> None:
    """The most packets of lengths that take the most words, and few of any: no gap, and what was dropped is out of table and lengths."""
    bench = await Bench(dut, f"transit {tags}", steady=True).start()
    rng = bench.rng
    for number, pool in enumerate(
        [[20], [27], [20, 27], [20, 21, 27, 28, 35], [27, 1500], [20, 1500], range(20, 28), [8900], [28]] * 2
    ):
        lengths = lengths_within(rng, 448, pool)[: 448 if number < 9 else rng.randrange(1, 40)]
        dropped = some_dropped(rng, len(lengths)) if number % 2 else frozenset()
        gone = rng.choice((0, rng.randrange(len(lengths) - len(dropped))))
        bench.send([transit(rng, lengths, tags, number % 3 == 0, False, dropped, gone)])
        if number % 4 == 0:
            await bench.receive()
    await bench.receive()


@cocotb.test()
async def holds_as_many_frames_in_transit_as_are_granted_ahead(dut: Any) -> None:
    """96 of the shortest behind a sink that waits: all are there, in order, when it takes them."""
    bench = await Bench(dut, "held").start()
    for count in (7, 8, 9, 16, 65, 96):
        bench.sink.stall = 1.0
        bench.send([transit(bench.rng, [20], 0, False) for _ in range(count)])
        await ClockCycles(dut.clk, 8 * count + 20)
        assert bench.words.idle, "words wait outside"
        bench.sink.stall = 0.0
        await bench.receive()


@cocotb.test()
async def begins_frames_in_transit_when_enough_is_there(dut: Any) -> None:
    """Of N packets 4 + N/4 + N/8 words, each rounded down, or all; the first beat leaves as soon after the last of them as any frame's."""
    bench = await Bench(dut, "begins").start()
    after = set()
    for count in (1, 2, 3, 4, 7, 8, 9, 16, 40, 150):
        job = transit(bench.rng, [20] * count, 0, True)
        bench.words.gap = 0.8
        words, beats = len(bench.words.sent), len(bench.sink.taken)
        bench.send([job])
        while len(bench.sink.taken) == beats:
            await RisingEdge(dut.clk)
        needed = min(4 + count // 4 + count // 8, len(job.words))
        assert len(bench.words.sent) - words >= needed, (
            f"{count} packets: begun after {len(bench.words.sent) - words} words"
        )
        after.add(bench.sink.taken[beats][0] - bench.words.sent[words + needed - 1][0])
        await bench.receive()
    assert len(after) == 1 and after <= {2, 3, 4}, f"cycles from the word to the beat: {after}"


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.3], stall=[0.0, 0.3])
async def passes_single_frames_of_any_length(dut: Any, gap: float, stall: float) -> None:
    """Every length from 14 to 160, others up to 9216, and groups between them."""
    bench = await Bench(dut, f"single {gap} {stall}", gap, stall, steady=gap == 0).start()
    lengths = [*range(14, 161), *range(161, 9216, 611), *range(9208, 9217)]
    for number, length in enumerate(lengths):
        bench.send([single(bench.rng.randbytes(length), bench.rng)])
        if number % 16 == 5:
            lengths = lengths_within(bench.rng, 3, range(20, 100))
            bench.send([jumbo(bench.rng, lengths, number % 3, identification=bench.identification)])
    await bench.receive()


def gaps_between(bench: Bench) -> list[int]:
    """Cycles without a beat between frames that have left."""
    at = [(when, item["tlast"]) for when, item in bench.sink.taken]
    return [b[0] - a[0] - 1 for a, b in zip(at, at[1:], strict=False) if a[1]]


@cocotb.test()
@cocotb.parametrize(length=[14, 16, 17, 24, 25, 60, 61, 64, 1514])
async def sends_single_frames_back_to_back(dut: Any, length: int) -> None:
    """Words are there: no cycle without a beat, inside a frame or between frames."""
    bench = await Bench(dut, f"back {length}", steady=True).start()
    bench.send(single(bench.rng.randbytes(length), bench.rng) for _ in range(60))
    await bench.receive()
    assert gaps_between(bench) == [0] * 59


@cocotb.test()
@cocotb.parametrize(tags=[0, 1, 2], l3=[False, True])
async def sends_jumbo_frames_back_to_back(dut: Any, tags: int, l3: bool) -> None:
    """Jumbo frames of two packets and more, and single frames between: no cycle without a beat."""
    bench = await Bench(dut, f"jumbos {tags} {l3}", steady=True).start()
    bench.send([single(bench.rng.randbytes(1514), bench.rng)])
    for number in range(80):
        lengths = [bench.rng.randrange(20, 120) for _ in range(bench.rng.randrange(2, 12))]
        bench.send([jumbo(bench.rng, lengths, tags, l3, False, identification=bench.identification)])
        if number % 4 == 3:
            bench.send([single(bench.rng.randbytes(bench.rng.choice((60, 300))), bench.rng)])
    await bench.receive()
    assert not any(gaps_between(bench)), gaps_between(bench)


@cocotb.test()
async def is_quick(dut: Any) -> None:
    """A single frame's first beat two cycles after its first word, a jumbo frame's three after its third."""
    bench = await Bench(dut, "quick", steady=True).start()
    for number in range(60):
        tags, l3 = number % 3, number // 3 % 2 == 1
        if number % 4 == 0:
            job = single(bench.rng.randbytes(bench.rng.randrange(14, 200)), bench.rng)
            wanted, after = 0, 2
        else:
            job = jumbo(bench.rng, [bench.rng.randrange(20, 90)] * 3, tags, l3, identification=bench.identification)
            wanted, after = 2, 3
        words, beats = len(bench.words.sent), len(bench.sink.taken)
        bench.send([job])
        while len(bench.sink.taken) == beats:
            await RisingEdge(dut.clk)
        latency = bench.sink.taken[beats][0] - bench.words.sent[words + wanted][0]
        assert latency == after, f"{latency} cycles, expected {after}: {job.group}"
        await bench.receive()
        await ClockCycles(dut.clk, bench.rng.randrange(12))


@cocotb.test()
async def counts_jumbo_frames_of_the_l3_form(dut: Any) -> None:
    """600 identifications, with frames of the other form and single frames between."""
    bench = await Bench(dut, "identification", steady=True).start()
    for number in range(600):
        bench.send([jumbo(bench.rng, [20, 20], 0, True, identification=number)])
        if number % 7 == 0:
            bench.send([jumbo(bench.rng, [20, 20], 0), single(bench.rng.randbytes(60), bench.rng)])
    await bench.receive()


@cocotb.test()
async def folds_the_checksum_where_it_wraps(dut: Any) -> None:
    """The sum's low half is so large that adding its carries carries again, or just not."""
    bench = await Bench(dut, "fold", steady=True).start()
    for low in (0, 1, *range(0xFFF4, 0x10000)):
        for tags in range(3):
            bench.send([jumbo(bench.rng, [20, 40], tags, True, identification=bench.identification, sum_low=low)])
    await bench.receive()


@cocotb.test()
async def takes_what_it_has_places_for(dut: Any) -> None:
    """512 words behind a sink that waits, 1024 entries before any group, and loses nothing of them."""
    bench = await Bench(dut, "places").start()
    bench.sink.stall = 1.0
    bench.send([single(bench.rng.randbytes(9216), bench.rng)])
    bench.send([jumbo(bench.rng, [20] * 448, 0, dropped=frozenset(range(0, 448, 4))) for _ in range(3)])
    await ClockCycles(dut.clk, 1200)
    assert len(bench.words.sent) >= WORDS and not bench.sink.taken
    assert len(bench.entries.sent) == ENTRIES
    bench.sink.stall = 0.0
    await bench.receive()


@cocotb.test()
async def tells_whether_another_table_fits(dut: Any) -> None:
    """`room`: 448 entries, and 4 that may be on their way, fit behind those that are there; back when a table has been sent."""
    bench = await Bench(dut, "room").start()
    limit = ENTRIES - 448 - 4
    for before, count in ((0, limit), (0, limit + 1), (448, limit - 448), (448, limit - 447), (300, limit - 299)):
        bench.sink.stall = 1.0
        tables = [count] if count < 449 else [448, count - 448]
        sizes = ([before] if before else []) + tables
        bench.send([jumbo(bench.rng, [20] * n, 0, dropped=frozenset(range(1, n))) for n in sizes])
        await ClockCycles(dut.clk, before + count + 20)
        assert bool(int(dut.room.value)) == (before + count <= limit), f"{before} + {count} entries"
        bench.sink.stall = 0.0
        await bench.receive()
        assert int(dut.room.value)


@cocotb.test()
async def starts_anew_after_a_reset_at_any_moment(dut: Any) -> None:
    """Silent from the next cycle; frames after it are whole, identifications count from 0."""
    bench = await Bench(dut, "reset", 0.1, 0.2, late=0.1).start()
    for _ in range(80):
        send_any(bench, 4)
        bench.send([jumbo(bench.rng, [20] * bench.rng.randrange(1, 100), 0, True, identification=bench.identification)])
        await ClockCycles(dut.clk, bench.rng.randrange(1, 260))
        bench.forget()
        dut.rst.value = 1
        await ClockCycles(dut.clk, bench.rng.randrange(1, 3))
        dut.rst.value = 0
        await RisingEdge(dut.clk)
        assert not int(dut.busy.value) and not int(dut.beat_valid.value)
        bench.forget()
        send_any(bench, 3)
        bench.send([jumbo(bench.rng, [20, 30], 1, True, identification=bench.identification)])
        await bench.receive()
        bench.forget()
    assert cycle() > 1000

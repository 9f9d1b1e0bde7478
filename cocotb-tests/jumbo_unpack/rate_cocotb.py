"""How fast JumboUnpack is: words of packets a cycle against the wire's, and the latency of frames that pass."""

from __future__ import annotations

from typing import Any

import cocotb

from jumbo_stimulus import padded, parts
from jumbo_unpack_bench import GAP_CYCLES, Bench, plain


def words(length: int, tags: int) -> int:
    """Words of the frame of a packet of `length` bytes."""
    return (14 + 4 * tags + length + 15) // 16


def lasts(length: int, tags: int) -> bool:
    """Whether a packet's words take no longer than its bytes and its table entry on the wire."""
    return 8 * words(length, tags) <= length + 4


@cocotb.test()
@cocotb.parametrize(tags=range(3))
async def gives_a_word_a_cycle_of_each_length(dut: Any, tags: int) -> None:
    """The time from one packet's end to the next's, when nothing but JumboUnpack limits it, is its words."""
    low = {"now": True}
    bench = await Bench(dut, f"rate {tags}", 0.0, lambda cycle: low["now"]).start()
    rng = bench.rng
    step = 1 if tags == 0 else 7
    lengths = [*range(20, 200), *range(200, 1501, step)]
    slower = [length for length in range(20, 1501) if not lasts(length, tags)]
    assert slower == ([27] if tags == 2 else [])
    for length in lengths:
        sent = bench.send(padded(parts(rng, [length] * 3, tags=tags, l3=bool(length % 2), outer_ecn=0).bytes(), rng))
        low["now"] = True
        while bench.beats:
            await bench.step()
        await bench.run(20)
        low["now"] = False
        bench.packet_ends.clear()
        while sent.given_cycle < 0:
            await bench.step()
        first, second, third = bench.packet_ends
        assert (second - first, third - second) == (words(length, tags),) * 2, f"{length} bytes: {bench.packet_ends}"
    await bench.drain()


@cocotb.test()
@cocotb.parametrize(
    case=[(20, 0), (20, 1), (20, 2), (21, 0), (28, 2), (31, 1), (35, 0), (60, 0), (1500, 1)], l3=[False, True]
)
async def keeps_up_with_jumbo_frames_back_to_back(dut: Any, case: tuple[int, int], l3: bool) -> None:
    """Jumbo frames of the most packets there can be, as close as Ethernet allows: the delay does not grow."""
    length, tags = case
    bench = await Bench(dut, f"sustain {case} {l3}").start()
    header = 14 + 4 * tags + 20 * l3 + 6
    count = min(448, (9216 - header) // (length + 4))
    turns = 8
    sent = [
        bench.send(
            parts(bench.rng, [length] * count, tags=tags, l3=l3, outer_ecn=0, version=4).bytes(), pause=GAP_CYCLES
        )
        for _ in range(turns)
    ]
    await bench.drain()
    delays = [s.given_cycle - s.end_cycle for s in sent]
    assert bench.outcomes == {"jumbo 0": turns}
    dut._log.info("%d bytes, %d tags, l3 %s: %d packets a frame, delays %s", length, tags, l3, count, delays)
    assert max(delays[1:]) <= delays[1], f"the delay grows: {delays}"


@cocotb.test()
@cocotb.parametrize(l3=[False, True])
async def keeps_up_with_the_smallest_jumbo_frames(dut: Any, l3: bool) -> None:
    """Two packets of 20 bytes in a frame, as close as Ethernet allows."""
    bench = await Bench(dut, f"small {l3}").start()
    sent = [
        bench.send(
            padded(parts(bench.rng, [20, 20], tags=n % 3, l3=l3, outer_ecn=0).bytes(), bench.rng), pause=GAP_CYCLES
        )
        for n in range(600)
    ]
    await bench.drain()
    delays = [s.given_cycle - s.end_cycle for s in sent]
    dut._log.info("smallest, l3 %s: delays %d to %d", l3, min(delays), max(delays))
    assert max(delays[300:]) <= max(delays[:300]), "the delay grows"


@cocotb.test()
async def passes_a_frame_with_one_cycle_of_delay(dut: Any) -> None:
    """From a frame's end to its end at the output; short frames of more than a word take up to two more."""
    bench = await Bench(dut, "latency").start()
    rng = bench.rng
    sent = []
    for length in [*range(1, 130), 1514, 9216]:
        frame = (plain(rng) + rng.randbytes(9216))[:length]
        if 12 <= length:
            frame = frame[:12] + b"\x08\x06"[: length - 12] + frame[14:]
        sent += [bench.send(frame, pause=rng.choice((0, 12, 13))) for _ in range(2)]
    await bench.drain()
    for s in sent:
        # driven after the edge before the one at which it is taken
        delay = s.given_cycle - s.end_cycle - 1
        most = 1 if len(s.data) <= 16 or len(s.data) > 56 else 2 if len(s.data) > 40 else 3
        assert 1 <= delay <= most, f"{len(s.data)} bytes: {delay} cycles"


@cocotb.test()
@cocotb.parametrize(case=[(27, 2)])
async def falls_behind_where_the_page_says_so(dut: Any, case: tuple[int, int]) -> None:
    """27 bytes behind two tags: four words in 31 bytes. A few frames fit into the words that wait."""
    length, tags = case
    bench = await Bench(dut, "behind").start()
    count = min(448, (9216 - 28) // (length + 4))
    frames = [parts(bench.rng, [length] * count, tags=tags, l3=False, version=4).bytes() for _ in range(5)]
    sent = [bench.send(frame, pause=GAP_CYCLES) for frame in frames]
    await bench.drain()
    delays = [s.given_cycle - s.end_cycle for s in sent]
    dut._log.info("27 bytes, 2 tags: delays %s", delays)
    assert bench.outcomes == {"jumbo 0": 5}
    assert all(20 <= later - sooner <= 40 for sooner, later in zip(delays, delays[1:], strict=False)), delays

"""What JumboUnpack makes of jumbo frames: well-formed, with lies, damaged, and of frames that only look like them."""

from __future__ import annotations

from typing import Any

import cocotb

from jumbo_stimulus import FORM, LIES, OUTER_LIES, addresses, entries, ip, padded, parts, tag_stack
from jumbo_unpack_bench import BAD, Bench, plain
from weir_sim.jumbo.wire import JumboFormat

FORMS = [(l3, tags) for l3 in (False, True) for tags in range(3)]


@cocotb.test()
@cocotb.parametrize(form=FORMS)
async def gives_packets_of_every_length(dut: Any, form: tuple[bool, int]) -> None:
    """Each length from 20 to 200, beside packets that make every alignment, and lengths up to 8960."""
    bench = await Bench(dut, f"length {form}").start()
    rng = bench.rng
    for length in range(20, 201):
        versions = (4, 6) if length >= 40 else (4,)
        for version in versions if length % 8 == 0 else (rng.choice(versions),):
            other = rng.randrange(20 if version == 4 else 40, 80)
            lengths = [length, other, length, 0, length] if length % 5 else [length]
            bench.send(padded(parts(rng, lengths, l3=form[0], tags=form[1], version=version).bytes(), rng))
    for length in (8960, 8959, rng.randrange(1500, 8960), rng.randrange(200, 1500)):
        for lengths in ([length], [20, length, 0, 60]):
            if sum(lengths) <= 9000:
                bench.send(parts(rng, lengths, l3=form[0], tags=form[1]).bytes())
    await bench.drain()
    assert set(bench.outcomes) == {"jumbo 0"} and bench.outcomes["jumbo 0"] > 181


@cocotb.test()
@cocotb.parametrize(zeros=[0.9, 0.0])
async def gives_every_count(dut: Any, zeros: float) -> None:
    """Tables of 1 to 448 entries with packets of 20 to 30 bytes; entries of length 0 give nothing."""
    bench = await Bench(dut, f"count {zeros}").start()
    for count in range(1, 449) if zeros else (*range(1, 40), 255, 256, 257, 320, 383, 448):
        bench.send(padded(parts(bench.rng, entries(bench.rng, count, 30, zeros)).bytes(), bench.rng), pause=3)
    for count in (1, 2, 3, 4, 5, 8, 447, 448):
        for form in FORMS:
            bench.send(padded(parts(bench.rng, [0] * count, l3=form[0], tags=form[1]).bytes(), bench.rng))
    await bench.drain()
    assert set(bench.outcomes) == {"jumbo 0"}


@cocotb.test()
@cocotb.parametrize(form=FORMS)
async def gives_what_is_before_the_packets_in_transit(dut: Any, form: tuple[bool, int]) -> None:
    """Headers and table first, as they came, whatever their length; then the packets, which nothing is done to; lies are found as in a split."""
    bench = await Bench(dut, f"transit {form}").start()
    bench.configure(FORM, transit=1)
    rng = bench.rng
    l3, tags = form
    for count in (*range(1, 40), 446, 447, 448):
        for longest in (24, 90):
            made = parts(rng, entries(rng, count, longest, rng.choice((0.0, 0.5, 0.97))), l3=l3, tags=tags)
            bench.send(padded(made.bytes(), rng))
    for ecn in range(16):  # whatever the outer header says
        bench.send(parts(rng, [60] * 4, l3=l3, tags=tags, outer_ecn=ecn % 4, inner_ecn=ecn // 4).bytes())
    for count in (1, 3, 448):  # nothing is left of them
        bench.send(padded(parts(rng, [0] * count, l3=l3, tags=tags).bytes(), rng))
    good = len(bench.expected)
    for lie in (*LIES.values(), *(OUTER_LIES.values() if l3 else ())):
        made = parts(rng, [rng.randrange(40, 90) for _ in range(rng.choice((2, 9)))], l3=l3, tags=tags)
        lie(made, rng)
        bench.send(padded(made.bytes(), rng))
        bench.send(padded(parts(rng, [40, 0, 50], l3=l3, tags=tags).bytes(), rng))
        bench.send(plain(rng))
    await bench.drain()
    assert bench.outcomes["jumbo 0"] > good + 20 and bench.outcomes["jumbo 5"] > 20


@cocotb.test()
async def skips_padding_up_to_68_bytes(dut: Any) -> None:
    """Bytes behind the packets belong to frames of at most 68 bytes; in longer ones they are a lie."""
    bench = await Bench(dut, "padding").start()
    rng = bench.rng
    for l3, tags in FORMS:
        for lengths in ([20], [0], [21], [0, 20], [24], [30], [40]):
            for to in (60, 64, 67, 68, 69, 70, 80):
                frame = parts(rng, lengths, l3=l3, tags=tags).bytes()
                if len(frame) < to:
                    bench.send(padded(frame, rng, to))
    await bench.drain()
    assert bench.outcomes["jumbo 0"] > 80 and bench.outcomes["jumbo 5"] > 80


@cocotb.test()
@cocotb.parametrize(form=FORMS)
async def finds_every_lie(dut: Any, form: tuple[bool, int]) -> None:
    """Each rule of "Receiving", broken alone; the frame behind a lie is split as if nothing were before it."""
    bench = await Bench(dut, f"lies {form}").start()
    rng = bench.rng
    l3, tags = form
    for name, lie in {**LIES, **(OUTER_LIES if l3 else {})}.items():
        found = 0
        for _ in range(60):
            longest = rng.choice((60, 60, 300))
            lengths = [rng.randrange(40, longest + 1) for _ in range(rng.choice((2, 2, 3, 9)))]
            made = parts(rng, lengths, l3=l3, tags=tags)
            lie(made, rng)
            data = made.bytes()
            sent = bench.send(data)
            # a header that is cut may leave no jumbo frame at all
            if l3 and name == "IHL 15" and len(data) < 14 + 4 * tags + 60:
                assert not sent.jumbo
                continue
            assert sent.malformed, f"{name}: the model accepts {data[:80].hex()}"
            found += 1
            if rng.random() < 0.5:
                bench.send(padded(parts(rng, [rng.randrange(20, 80)], l3=rng.random() < 0.5).bytes(), rng))
            elif rng.random() < 0.5:
                bench.send(plain(rng))
            if found == 8:
                break
        assert found == 8, f"{name}: {found} in 60 frames"
    await bench.drain()


@cocotb.test()
@cocotb.parametrize(seed=range(2))
async def survives_damage(dut: Any, seed: int) -> None:
    """Bytes changed at random, frames cut and stretched: taken as the model does, or malformed as the model says."""
    bench = await Bench(dut, f"damage {seed}").start()
    rng = bench.rng
    for _ in range(700):
        made = parts(rng, entries(rng, rng.choice((1, 2, 3, 5, 12)), rng.choice((30, 90, 400))))
        data = bytearray(padded(made.bytes(), rng))
        end = rng.choice((14 + 4 * 2 + 20 + 6, made.header_end + 4 * len(made.lengths) + 24, len(data)))
        for _ in range(rng.choice((0, 1, 1, 2))):
            data[rng.randrange(12, min(end, len(data)))] ^= rng.choice((1 << rng.randrange(8), rng.randrange(256)))
        if rng.random() < 0.1:
            del data[rng.randrange(1, len(data)) :]
        elif rng.random() < 0.1:
            data += rng.randbytes(rng.randrange(1, 60))
        bench.send(bytes(data), kind=BAD if rng.random() < 0.05 and len(data) >= 14 else None)
    await bench.drain()
    assert all(bench.outcomes.get(o, 0) > 20 for o in ("jumbo 0", "jumbo 5", "jumbo 1", "plain 0")), bench.outcomes


@cocotb.test()
@cocotb.parametrize(tags=range(3))
async def combines_ecn_as_rfc_6040_says(dut: Any, tags: int) -> None:
    """Every outer codepoint with every inner one, both versions, checksums at the ends of their range; L2 changes nothing."""
    bench = await Bench(dut, f"ecn {tags}").start()
    rng = bench.rng
    checksums = (None, 0x0000, 0x0001, 0x0002, 0x0003, 0x7FFF, 0xFFFC, 0xFFFD, 0xFFFE, 0xFFFF)
    for outer in range(4):
        for inner in range(4):
            for version in (4, 6):
                made = parts(
                    rng, [60] * len(checksums), l3=True, tags=tags, version=version, outer_ecn=outer, inner_ecn=inner
                )
                for n, checksum in enumerate(checksums):
                    if checksum is not None and version == 4:
                        p = made.packets[n]
                        made.packets[n] = p[:10] + checksum.to_bytes(2, "big") + p[12:]
                sent = bench.send(made.bytes())
                lost = outer == 3 and inner == 0
                assert (len(sent.packets), sent.discarded) == ((0, 10) if lost else (10, 0))
            # in the L2 form, where an outer ECN field would be, is the count
            for count in range(1, 5):
                bench.send(parts(rng, [60] * count, l3=False, tags=tags, inner_ecn=inner).bytes())
        bench.send(parts(rng, [40 + rng.randrange(40) for _ in range(12)], l3=True, tags=tags, outer_ecn=outer).bytes())
    await bench.drain()


@cocotb.test()
async def passes_what_is_no_jumbo_frame(dut: Any) -> None:
    """Headers of the jumbo protocol that are not inside the frame, a third tag, other numbers, and `split` off."""
    bench = await Bench(dut, "no jumbo").start()
    rng = bench.rng
    for tags in range(4):
        for ihl in (4, 5, 6, 9, 12, 15):
            head = (
                addresses(rng) + tag_stack(rng, tags) + b"\x08\x00" + bytes([0x40 | ihl]) + rng.randbytes(8) + b"\xfd"
            )
            inside = 14 + 4 * tags + 4 * ihl
            for length in {
                len(head),
                33,
                34,
                35,
                48,
                49,
                *range(inside - 2, inside + 2),
                96,
                97,
                rng.randrange(100, 400),
            }:
                whole = head + rng.randbytes(max(0, length - len(head)))
                bench.send(whole[:length], beyond=whole[length:])
        for length in range(12 + 4 * tags, 30 + 4 * tags):
            head = addresses(rng) + tag_stack(rng, tags) + b"\x88\xb5"
            whole = head + rng.randbytes(30)
            bench.send(whole[:length], beyond=whole[length:])
        version = (
            addresses(rng) + tag_stack(rng, tags) + b"\x08\x00\x55" + rng.randbytes(8) + b"\xfd" + rng.randbytes(60)
        )
        bench.send(version)
    await bench.drain()
    assert bench.outcomes["plain 0"] > 60 and bench.outcomes["jumbo 5"] > 60, bench.outcomes
    for form, split in (
        (JumboFormat(ethertype=0x9999, protocol=200), 1),
        (JumboFormat(), 0),
        (JumboFormat(protocol=0), 1),
    ):
        bench.configure(form, split)
        for numbers in (form, JumboFormat()):
            for _ in range(20):
                bench.send(padded(parts(rng, entries(rng, 4, 80), form=numbers).bytes(), rng))
                nested = parts(rng, [60, 60], form=numbers, version=4)
                nested.packets[1] = ip(rng, 4, 60, 0, protocol=200)
                bench.send(nested.bytes())
        await bench.drain()

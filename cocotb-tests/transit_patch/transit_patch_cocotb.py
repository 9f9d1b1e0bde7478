"""TransitPatch against golden/transit.py: frames whose first packets are gone, beat by beat."""

from __future__ import annotations

import random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from axis import seeded, start
from golden.transit import unit
from weir_sim.jumbo.ecn import header_checksum
from weir_sim.jumbo.wire import JumboFormat, build


def a_packet(rng: random.Random, length: int) -> bytes:
    """A frame with an IPv4 packet of that length; its payload is random."""
    head = bytes((0x45, 0)) + length.to_bytes(2, "big") + rng.randbytes(2) + b"\0\0\x40\x11\0\0" + rng.randbytes(8)
    head = head[:10] + header_checksum(head).to_bytes(2, "big") + head[12:]
    return b"\x08\x00" + head + rng.randbytes(length - 20)


def any_frame(rng: random.Random) -> tuple[bytes, int, int, int, int, bytes]:
    """A jumbo frame as it came but for the packets that are gone: the frame, how many, their bytes, tags, form; and what it should be."""
    tags, l3 = rng.randrange(3), rng.random() < 0.6
    addresses = b"\x02" + rng.randbytes(11) + b"".join(b"\x81\x00" + rng.randbytes(2) for _ in range(tags))
    lengths = [rng.randrange(20, 60) for _ in range(rng.choice((1, 2, 3, 4, 9, 60)))]
    if rng.random() < 0.05:  # long ones: up to 9216 bytes
        lengths = [rng.randrange(20, 1400) for _ in range(6)]
    frames = [addresses + a_packet(rng, n) for n in lengths]
    dropped = {n for n in range(len(frames)) if rng.random() < 0.3} - {rng.randrange(len(frames))}
    times = [rng.randrange(100) + 100 * n for n in range(len(frames))]
    came = build(frames, times, JumboFormat(l3=l3, tick=0), rng.getrandbits(16), dropped)
    u = unit(came)
    assert u and u.jumbo
    gone = rng.randrange(len(u.lengths) + 1)
    u.gone = set(range(gone))
    removed = sum(len(p) for p in u.jumbo.packets[:gone])
    return came[: u.header] + came[u.header + removed :], gone, removed, tags, int(l3), u.sent()


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.4])
async def clears_entries_and_corrects_the_header(dut: Any, stall: float) -> None:
    """Frames of both forms one behind the other, any number of packets gone, entries that came empty; other frames between."""
    await start(dut, opens=0, fire=0)
    rng = seeded(f"patch {stall}")
    patched = 0
    for _ in range(1200):
        data, gone, removed, tags, l3, expected = any_frame(rng)
        beats = [data[n : n + 8].ljust(8, b"\0") for n in range(0, len(data), 8)]
        got = b""
        for n, beat in enumerate(beats):
            dut.data.value, dut.opens.value = int.from_bytes(beat, "little"), int(n == 0)
            # what is not the first beat's job is another's
            dut.job_gone.value = gone if n == 0 else rng.getrandbits(9)
            dut.job_removed.value = removed if n == 0 else rng.getrandbits(14)
            dut.job_tags.value, dut.job_l3.value = (tags, l3) if n == 0 else (rng.randrange(3), rng.getrandbits(1))
            while rng.random() < stall:
                dut.fire.value = 0
                await RisingEdge(dut.clk)
            dut.fire.value = 1
            await FallingEdge(dut.clk)
            got += int(dut.patched.value).to_bytes(8, "little")
            await RisingEdge(dut.clk)
        assert got[: len(data)] == expected, f"{gone} gone, {tags} tags, l3 {l3}"
        patched += gone > 0
        if rng.random() < 0.1:  # another frame, which does not open: as it came
            for _ in range(rng.choice((1, 20, 1152))):
                dut.opens.value, dut.fire.value = 0, 1
                beat = rng.randbytes(8)
                dut.data.value = int.from_bytes(beat, "little")
                await FallingEdge(dut.clk)
                assert int(dut.patched.value).to_bytes(8, "little") == beat, f"behind a frame with {gone} gone"
                await RisingEdge(dut.clk)
    assert patched > 400

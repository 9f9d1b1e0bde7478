"""The table of rates in docs/jumbo.md: its arithmetic, and that a core does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jumbo_frames import ipv4
from weir_sim.core import Core
from weir_sim.jumbo.wire import build

CLOCK_MHZ = 156.25
DOC = Path(__file__).resolve().parents[2] / "docs" / "jumbo.md"
LENGTHS = (20, 24, 28, 32, 36, 40, 46, 50, 64, 100, 576, 1500)


MEASURED = (20, 24, 28, 46, 100)
"""inner lengths that a core is measured with"""
FRAMES = 60
IN_BATCH = 1024
"""packets that wait before ArrivalDecision at the end, and count as taken"""
LESS = {("transit", 20): 2 / 3}
"""where JumboUnpack falls behind, too, and both lose whole frames: the page says what is left"""


def shape(length: int) -> tuple[int, float, int]:
    """Packets of a frame as long as it gets, its cycles on the line, words of a packet."""
    count = min((9216 - 20) // (length + 4), 8960 // length)
    return count, (20 + count * (length + 4) + 24) / 8, -(-(14 + length) // 16)


def longest(length: int, number: int) -> bytes:
    """Such a frame; no two packets of 2^16 are the same."""
    count = shape(length)[0]
    return build([ipv4(length, 0, number=(number * count + n) % 65536) for n in range(count)], [0] * count)


def row(length: int) -> list[str]:
    """The cells of an inner length that are arithmetic."""
    count, line, words = shape(length)

    def share(cycles: int) -> str:
        return f"{100 * min(1.0, line / cycles):.1f} %"

    unpack = f"{CLOCK_MHZ / words:.2f}, {share(5 + count * words)}"
    return [f"{length}", f"{count}", f"{CLOCK_MHZ * count / line:.2f}", unpack, share(4 * count), share(4 * count + 4),
            f"{CLOCK_MHZ / max(words, (length + 4) / 8):.2f}"]  # fmt: skip


def test_the_table_of_rates_follows_from_the_cycles_of_the_units() -> None:
    rows = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in DOC.read_text().splitlines()
            if re.match(r"\| \d+ \| \d+ \| [\d.]+ \|", line)]  # fmt: skip
    assert [cells[:7] for cells in rows] == [row(length) for length in LENGTHS]


@pytest.mark.parametrize("mode", ["split", "transit"])
@pytest.mark.parametrize("length", MEASURED)
def test_a_core_takes_what_unpack_and_admit_can(length: int, mode: str) -> None:
    """Back to back at 10GbE: all, or the share of the slower of the two; what is beyond is lost by whole frames, each counted, and no other is harmed."""
    count, line, words = shape(length)
    share = min(1.0, line / (4 * count + 4 * (mode == "transit")), line / (5 + count * words))
    share = LESS.get((mode, length), share)
    core = Core(egress="ready", line="10gbe")
    core.device.jumbo(mode)
    core.device.queue_replace(0, "drop-tail")
    for n in range(FRAMES):
        core.send(longest(length, n), core.line_free_ns)
    core.run_idle()
    stats = core.stats()
    taken = FRAMES - stats.core.ingress_overflow.packets
    print(
        f"{length} bytes, {mode}: {taken} frames of {FRAMES}, {100 * taken / FRAMES:.1f} %, in the long run {100 * share:.1f} %"
    )
    most = share * FRAMES + (IN_BATCH / count + 1) * (share < 1)
    assert share * FRAMES - 1 <= taken <= most and (taken < FRAMES) == (share < 1)
    assert stats.core.jumbo_in.packets == taken and stats.core.tx.packets == taken * count
    assert len(core.recv()) == taken * (count if mode == "split" else 1)
    assert core.underruns == core.ingress_stalls == 0
    assert core.device.core_live().free_cells == core.device.capabilities.cells - 1


@pytest.mark.parametrize("length", MEASURED)
def test_a_core_sends_what_the_walk_and_pack_can(length: int) -> None:
    """A standing queue of jumbo frames in transit leaves at the line's rate, or a packet in four cycles; never with a gap inside a frame."""
    count, line, words = shape(length)
    rate = max(line, 4 * count + 4, count * words)
    core = Core(egress="stopped", line="10gbe")
    core.device.jumbo("transit")
    core.device.queue_replace(0, "drop-tail")
    number = 24
    for n in range(number):
        core.send(longest(length, n), core.line_free_ns + 6000)  # so that all are taken
    core.run_until(core.line_free_ns + 10_000)
    core.egress = "mac"
    core.run_idle()
    sent = core.recv()
    assert len(sent) == number and core.underruns == 0
    # two or three had been read ahead
    cycles = (sent[-1].first_ns - sent[4].first_ns) / 6.4 / (number - 5)
    print(f"{length} bytes: {cycles:.1f} cycles a frame of {rate:.1f}, {100 * line / cycles:.1f} % of the line")
    assert rate * 0.999 <= cycles <= rate * 1.01

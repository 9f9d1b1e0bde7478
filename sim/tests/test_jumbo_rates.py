"""The table of rates in docs/jumbo.md: its arithmetic."""

from __future__ import annotations

import re
from pathlib import Path

CLOCK_MHZ = 156.25
DOC = Path(__file__).resolve().parents[2] / "docs" / "jumbo.md"
LENGTHS = (20, 24, 28, 32, 36, 40, 46, 50, 64, 100, 576, 1500)


def row(length: int) -> list[str]:
    """The cells of an inner length that are arithmetic."""
    count = min((9216 - 20) // (length + 4), 8960 // length)
    line = (20 + count * (length + 4) + 24) / 8  # cycles of a frame with preamble, FCS and gap
    words = -(-(14 + length) // 16)

    def share(cycles: int) -> str:
        return f"{100 * min(1.0, line / cycles):.1f} %"

    unpack = f"{CLOCK_MHZ / words:.2f}, {share(5 + count * words)}"
    return [f"{length}", f"{count}", f"{CLOCK_MHZ * count / line:.2f}", unpack, share(4 * count), share(4 * count + 4),
            f"{CLOCK_MHZ / max(words, (length + 4) / 8):.2f}"]  # fmt: skip


def test_the_table_of_rates_follows_from_the_cycles_of_the_units() -> None:
    rows = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in DOC.read_text().splitlines()
            if re.match(r"\| \d+ \| \d+ \| [\d.]+ \|", line)]  # fmt: skip
    assert [cells[:7] for cells in rows] == [row(length) for length in LENGTHS]

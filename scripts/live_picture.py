"""Draws docs/recorded/live.svg, the README's picture, from the recorded table of `make live` in docs/weir-sim.md.

    python scripts/live_picture.py [--check]

`--check` changes nothing and fails if the picture is not that of the table.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "weir-sim.md"
PICTURE = ROOT / "docs" / "recorded" / "live.svg"

ROWS = {
    "goodput": "goodput, Mbit/s",
    "mean": "queueing delay, mean",
    "p95": "queueing delay, 95th percentile",
    "marked": "marked CE, packets",
    "dropped": "dropped, packets",
}
"""what the picture shows, and its name in the table"""

WIDTH, HEIGHT = 640, 316
LEFT, SCALE = 104, 3.0
"""x of 0 ms, px a ms"""
TOP, PITCH = 92, 48
"""y of the first policy's row, px from one row to the next"""
STYLE = """
text { font: 15px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #20262e }
.title { font-size: 18px; font-weight: 600 } .name, .delay { font-weight: 600 } .note { font-size: 13px; fill: #5b616b }
.right { text-anchor: end } .mean { fill: #2f6fa8 } .tail { fill: #b9d3ea } .paper { fill: #fff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9ed } .note { fill: #a3abb5 }
  .mean { fill: #6aa9de } .tail { fill: #2b4a66 } .paper { fill: #14181d }
}
"""


def recorded(page: str) -> dict[str, dict[str, float]]:
    """The run's figures, of each policy: delays in ms, goodput in Mbit/s, packets.

    Raises:
        ValueError: the page has no such table, or a row of it is missing
    """
    table = re.search(r"^```\n +(Drop-Tail .*?)^```", page, re.M | re.S)
    if not table:
        raise ValueError(f"{PAGE.name} has no table of a recorded run that begins with Drop-Tail")
    names, *lines = table[1].splitlines()
    policies = names.split()
    rows: dict[str, list[float]] = {}
    for line in lines:
        label, *cells = re.split(r" {2,}", line)
        rows[label] = [float(cell.removesuffix(" ms").removesuffix(" s")) for cell in cells]
    for label in ROWS.values():
        if len(rows.get(label, [])) != len(policies):
            raise ValueError(f"{PAGE.name}: row '{label}' of the recorded run has to have {len(policies)} values")
    return {name: {key: rows[label][n] for key, label in ROWS.items()} for n, name in enumerate(policies)}


def row(name: str, figures: dict[str, float], y: int) -> Iterator[str]:
    """One policy: bars of the mean and of the 95th percentile, the figures beside them."""
    mean, tail = (figures[key] * SCALE for key in ("mean", "p95"))
    counts = f"{figures['marked']:.0f} marked, {figures['dropped']:.0f} dropped"
    yield f'<text class="name" x="16" y="{y + 17}">{name}</text>'
    yield f'<rect class="tail" x="{LEFT}" y="{y}" width="{tail:.1f}" height="24" rx="2"/>'
    yield f'<rect class="mean" x="{LEFT}" y="{y}" width="{mean:.1f}" height="24" rx="2"/>'
    yield f'<text class="delay" x="{LEFT + tail + 8:.1f}" y="{y + 17}">{figures["mean"]} ms</text>'
    yield f'<text class="right" x="{WIDTH - 16}" y="{y + 11}">{figures["goodput"]:.2f} Mbit/s</text>'
    yield f'<text class="note right" x="{WIDTH - 16}" y="{y + 28}">{counts}</text>'


def svg(run: dict[str, dict[str, float]]) -> str:
    """The picture."""
    told = ", ".join(f"{name} {figures['mean']} ms" for name, figures in run.items())
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>Mean queueing delay of TCP through the RTL: {told}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
        '<text class="title" x="16" y="32">Queueing delay of Linux TCP through the RTL</text>',
        '<text class="note" x="16" y="54">4 flows of cubic with ECN for 15 s into 10 Mbit/s, 20 ms back</text>',
        f'<text class="note right" x="{WIDTH - 16}" y="{TOP - 12}">goodput</text>',
    ]
    for n, (name, figures) in enumerate(run.items()):
        lines += row(name, figures, TOP + n * PITCH)
    y = TOP + len(run) * PITCH + 12
    lines += [
        f'<rect class="mean" x="{LEFT}" y="{y - 11}" width="14" height="12" rx="2"/>',
        f'<text class="note" x="{LEFT + 20}" y="{y}">mean</text>',
        f'<rect class="tail" x="{LEFT + 74}" y="{y - 11}" width="14" height="12" rx="2"/>',
        f'<text class="note" x="{LEFT + 94}" y="{y}">95th percentile</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 if the picture is another")
    check = parser.parse_args().check
    try:
        wanted = svg(recorded(PAGE.read_text(encoding="utf-8")))
    except ValueError as error:
        print(f"live_picture: {error}", file=sys.stderr)
        return 1
    if not check:
        PICTURE.write_text(wanted, encoding="utf-8")
    elif not PICTURE.is_file() or PICTURE.read_text(encoding="utf-8") != wanted:
        name = PICTURE.relative_to(ROOT)
        print(f"live_picture: {name} is not of the table; run: scripts/live_picture.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

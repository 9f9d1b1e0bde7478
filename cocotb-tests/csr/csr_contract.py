"""The registers as docs/architecture.md lists them: read from its tables, not from the RTL's source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from golden.policy_page import POLICIES, USERS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "architecture.md"

# Widths that the page leaves to the meaning of the value.
WIDTHS = {"SHARED_CELLS": 15, "DEFAULT_QUEUE": 4, "LIMIT_PACKETS": 16, "RESERVE_CELLS": 15}
# Of MATCH_ACTION0…3 bit 6 of every byte is none.
MASKS = {"MATCH_ACTION0…3": 0xBFBFBFBF}
SCALED = "MANTISSA 17:0, EXPONENT 29:24"


@dataclass(frozen=True)
class Register:
    """One row, or one register of a row that lists several. `reset` is a number or the page's words for it."""

    name: str
    offset: int
    access: str
    reset: int | str = 0
    mask: int = 0xFFFFFFFF
    counter: bool = False

    @property
    def jumbo(self) -> bool:
        """It exists only in builds that know jumbo frames."""
        if self.name in ("MERGE", "MRED", "SPACING") or self.name.startswith(("MERGE_", "MRED_", "MATCH")):
            return True
        return self.name.removesuffix("_LO").removesuffix("_HI").removesuffix("_PACKETS").removesuffix("_BYTES") in (
            "JUMBO", "JUMBO_TYPE", "MALFORMED", "JUMBO_IN", "SPLIT_DISCARDED", "RX_WIRE", "JUMBO_OUT", "MERGED", "EVICTED", "HURRIED"
        )  # fmt: skip

    @property
    def trace(self) -> bool:
        """It exists only in builds with a trace. TRACE_LOST, which the counter unit answers, is always there."""
        return self.name.startswith("TRACE_") and not self.counter

    @property
    def policies(self) -> frozenset[int]:
        """Numbers of the policies that use it: it exists only where one of them is built. Empty if it is of no policy."""
        return USERS.get(self.name.partition("_")[0], frozenset())


def numbers() -> frozenset[int]:
    """Of every policy there is."""
    rows = re.findall(r"^\| (\d+) \| [a-z0-9-]+ \|", POLICIES.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(map(int, rows))


def core() -> list[Register]:
    """Registers of block 0."""
    return [r for row in _rows("Block 0:") for r in _registers(*row, block=0)]


def queue() -> list[Register]:
    """Registers of a queue's block."""
    rows = [*_rows("Queue block"), *_rows("# Registers of the policies", POLICIES)]
    return [r for row in rows for r in _registers(*row, block=1)]


def _rows(title: str, page: Path = PAGE) -> Iterator[tuple[str, str, str]]:
    lines = iter(page.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if line.startswith(title):
            break
    started = False
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| 0x"):
            started = True
            assert len(cells) == 3, f"{page.name}: not three cells: {line}"
            yield cells[0], cells[1], cells[2]
        elif started:
            return
    assert started, f"{page.name} has no table after '{title}'"


def _registers(offsets: str, name: str, meaning: str, block: int) -> Iterator[Register]:
    first = int(re.match(r"0x[0-9A-F]+", offsets).group(), 16)  # type: ignore[union-attr]
    if "16 bytes each" in meaning:
        for counter, at in re.findall(r"\b([A-Z][A-Z0-9_]+) 0x([0-9A-F]{3})\b", meaning):
            for i, part in enumerate(("PACKETS_LO", "PACKETS_HI", "BYTES_LO", "BYTES_HI")):
                yield Register(f"{counter}_{part}", int(at, 16) + 4 * i, "r", counter=True)
        return
    if "8 bytes each" in meaning:
        stem, low, high = _range(name)
        for n in range(low, high + 1):
            for i, part in enumerate(("LO", "HI")):
                yield Register(f"{stem}{n}_{part}", first + 8 * (n - low) + 4 * i, "r", counter=True)
        return
    if words := re.search(r"words ((?:[A-Z]+\d ?)+)", meaning):
        stem, low, high = _range(name)
        for n in range(low, high + 1):
            for i, word in enumerate(words[1].split()):
                yield Register(f"{stem}{n}_{word}", first + 16 * (n - low) + 4 * i, *_core_access(meaning))
        return
    access, reset = _core_access(meaning) if block == 0 else _queue_access(meaning, first)
    if name.endswith("_HI") and name.startswith("THROTTLED"):
        meaning = "snapshot"
    counter = meaning.startswith("r, snapshot") or name in ("THROTTLED_HI", "UPTIME_HI")
    stem, low, high = _range(name)
    for n in range(low, high + 1):
        full = f"{stem}{n}" if high > low else name
        yield Register(full, first + 4 * (n - low), access, reset, _mask(name, meaning), counter)


def _range(name: str) -> tuple[str, int, int]:
    many = re.fullmatch(r"([A-Z_]+)(\d+)…(\d+)", name)
    return (many[1], int(many[2]), int(many[3])) if many else (name, 0, 0)


def _core_access(meaning: str) -> tuple[str, int | str]:
    match = re.match(r"(rw|r|w)(?:, (0x[0-9A-F]+|\d+|CELLS − 1))?", meaning)
    assert match, f"{PAGE.name}: no access in '{meaning}'"
    value = match[2] or "0"
    return match[1], value if value.startswith("CELLS") else int(value, 0)


def _queue_access(meaning: str, offset: int) -> tuple[str, int | str]:
    if 0x100 <= offset < 0x120:
        return "r", 0
    if meaning.startswith("w,"):
        return "w", 0
    match = re.search(r"reset:? (all ones|\d+)", meaning)
    value = match[1] if match else "0"
    return "rw", (1 << int(re.search(r"(\d+) bits", meaning)[1])) - 1 if value == "all ones" else int(value)  # type: ignore[index]


def _mask(name: str, meaning: str) -> int:
    if name in MASKS:
        return MASKS[name]
    if name in WIDTHS:
        return (1 << WIDTHS[name]) - 1
    if "MANTISSA, EXPONENT" in meaning:
        meaning = SCALED
    mask = 0
    for high, low in re.findall(r"\b[A-Z][A-Z_]+ (\d+):(\d+)", meaning):
        mask |= (1 << (int(high) + 1)) - (1 << int(low))
    for bit in re.findall(r"\b[A-Z][A-Z_]+ (\d+)\b(?!:)", meaning):
        mask |= 1 << int(bit)
    if not mask and (width := re.search(r"(?<!low )\b(\d+) bits", meaning)):
        mask = (1 << int(width[1])) - 1
    return mask or 0xFFFFFFFF

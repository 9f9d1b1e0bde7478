"""The match table as its lookup has it: of each four bits of an address, which rules match each of their 16 values (docs/modules/merge.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

RULES, DIGITS = 16, 8
"""rules; groups of four bits in 32"""


def matches(value: int, mask: int, digit: int, n: int) -> bool:
    """Whether the n-th four bits of 32, the lowest first, may be `digit` for a rule with this value and mask."""
    return (value >> 4 * n ^ digit) & mask >> 4 * n & 15 == 0


def columns(rules: Sequence[tuple[int, int]]) -> Iterator[dict[str, int]]:
    """Ports of `column` that make the table of 16 rules' values and masks of 64 bits, one set a cycle."""
    for group in range(RULES // 4):
        for lower in (0, 1):
            four = [
                (v >> 32 * (1 - lower) & 0xFFFFFFFF, m >> 32 * (1 - lower) & 0xFFFFFFFF)
                for v, m in rules[4 * group : 4 * group + 4]
            ]
            for digit in range(16):
                hits = [sum(matches(v, m, digit, n) << k for k, (v, m) in enumerate(four)) for n in range(DIGITS)]
                yield {
                    "valid": 1,
                    "payload_all": 0,
                    "payload_group": group,
                    "payload_lower": lower,
                    "payload_digit": digit,
                } | {f"payload_hits_{n}": hit for n, hit in enumerate(hits)}


class Columns:
    """What has been written through `column` of a unit."""

    def __init__(self) -> None:
        self.table: dict[tuple[int, int, int, int], int] = {}
        """four rules, by group, half, digit's place and digit"""

    def sample(self, dut: Any) -> None:
        """This cycle's write, if there is one."""
        if not int(dut.matching_column_valid.value):
            return
        everything = int(dut.matching_column_payload_all.value)
        mine = (int(dut.matching_column_payload_group.value), int(dut.matching_column_payload_lower.value))
        digit = int(dut.matching_column_payload_digit.value)
        for group, lower in [(g, h) for g in range(RULES // 4) for h in (0, 1)] if everything else [mine]:
            for n in range(DIGITS):
                self.table[group, lower, n, digit] = int(getattr(dut, f"matching_column_payload_hits_{n}").value)

    def check(self, rules: Sequence[tuple[int, int]]) -> None:
        """All of it is that of 16 rules' values and masks of 64 bits."""
        for made in columns(rules):
            place = made["payload_group"], made["payload_lower"]
            for n in range(DIGITS):
                got, want = self.table[(*place, n, made["payload_digit"])], made[f"payload_hits_{n}"]
                assert got == want, (
                    f"rules from {4 * place[0]} on, half {place[1]}, digit {n} = {made['payload_digit']:x}: {got:04b}, not {want:04b}"
                )

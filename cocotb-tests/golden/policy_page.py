"""Which policies use which registers, as docs/policy-registers.md says."""

from __future__ import annotations

import re
from pathlib import Path

POLICIES = Path(__file__).resolve().parents[2] / "docs" / "policy-registers.md"


def _users() -> dict[str, frozenset[int]]:
    """By prefix of its registers' names, the numbers of the policies that use them."""
    found: dict[str, set[int]] = {}
    for number, uses in re.findall(
        r"^\| (\d+) \| [a-z0-9-]+ \| (.*) \|", POLICIES.read_text(encoding="utf-8"), re.MULTILINE
    ):
        for prefix in re.findall(r"([A-Z0-9]+)_\*", uses):
            found.setdefault(prefix, set()).add(int(number))
    assert found, f"{POLICIES.name} has no table of policies"
    return {prefix: frozenset(numbers) for prefix, numbers in found.items()}


USERS = _users()
"""By prefix of the registers' names, the numbers of the policies that use them."""

"""What tools of this repository read of a policy's declaration: build/rtl/weir_policies.json, which `make rtl`
writes."""

from __future__ import annotations

import json
from dataclasses import dataclass

from . import native


@dataclass(frozen=True)
class Described:
    """A policy. `latency` is in cycles, from a request to its verdict; `demo` and `bench` are settings as libweir takes
    them, `demo` None for a policy that has no section of its own on the demo page."""

    name: str
    latency: int
    at_departure: bool
    demo: dict[str, str] | None
    remark: str
    bench: dict[str, str]


def settings(words: str) -> dict[str, str]:
    """ "limit 100KB ecn on" by name."""
    each = words.split()
    return dict(zip(each[::2], each[1::2], strict=True))


def policies() -> tuple[Described, ...]:
    """Every policy, in order of number."""
    found = json.loads((native.root() / "build" / "rtl" / "weir_policies.json").read_text(encoding="utf-8"))
    return tuple(
        Described(
            p["name"],
            p["latency"],
            p["at_departure"],
            settings(p["demo"]["settings"]) if p["demo"] else None,
            p["demo"]["remark"] if p["demo"] else "",
            settings(p["bench"]),
        )
        for p in found
    )

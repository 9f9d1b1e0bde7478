"""Ports of a unit that its benches tie off or never read: what is behind such a port is not tested.

    .venv/bin/python cocotb-tests/ports.py [UNIT …]        after `make test`, or the tests of these units: `make ports`

Every simulation notes in its folder each port that the bench has driven to a second value or read. The list is of what
no bench of a unit has; an entry ends with status 1. Models that have not run since they were built are left out, and
inputs that the unit does not use.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

RECORD = "ports.txt"
"""in the folder of a run: names of ports"""


def watch(port: Any) -> None:
    """Notes a port the first time that it is read or driven to a second value; from then on nothing is in the way."""
    record = os.environ.get("WEIR_PORTS")
    if record is None or not hasattr(port, "get"):
        return
    kind, own = type(port), port.__dict__
    driven: set[int | str] = set()

    def note(what: str) -> None:
        own.pop(what)
        with open(record, "a") as file:
            file.write(f"{what} {port._name}\n")

    def get() -> Any:
        note("get")
        return kind.get(port)

    def drive(value: Any, action: Any) -> None:
        kind._set_value(port, value, action)
        driven.add(number(value))
        if len(driven) > 1:
            note("_set_value")

    own["get"], own["_set_value"] = get, drive


def number(value: Any) -> int | str:
    """What is driven: the same whether it is an int, a bool, bits or digits."""
    try:
        return int(value, 2) if isinstance(value, str) else int(value)
    except (TypeError, ValueError):
        return str(value)


def moves(port: Any) -> None:
    """Notes an input that is driven behind cocotb's back: a clock."""
    if port.__dict__.pop("_set_value", None) is not None:
        with open(os.environ["WEIR_PORTS"], "a") as file:
            file.write(f"_set_value {port._name}\n")


def untouched(top: str, sim: Path, ports: Sequence[tuple[str, str]]) -> list[str] | None:
    """The ports of a top that no run since the last build has touched; None without a run."""
    touched: set[str] = set()
    for stamp in sim.glob(f"{top}*/digest"):
        if stamp.parent.name.removeprefix(top) in ("", "-internals", "-waves", "-internals-waves"):
            for record in stamp.parent.glob(f"runs/*/{RECORD}"):
                if record.stat().st_mtime >= stamp.stat().st_mtime:
                    touched |= set(record.read_text().splitlines())
    if not touched:
        return None
    need = {"input": ("_set_value", "is never driven to a second value"), "output": ("get", "is never read")}
    return [f"{name} {need[way][1]}" for way, name in ports if way in need and f"{need[way][0]} {name}" not in touched]


def used(text: str, ports: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The ports but for inputs that come from a bundle whose other fields are used: they are in the header alone."""
    body = text[text.index(");") : text.index("\nendmodule")]
    words = set(re.findall(r"\w+", body))
    return [(way, name) for way, name in ports if name in words]


def main(units: Sequence[str]) -> int:
    from harness import RTL, SIM, ports_of

    found = 0
    for source in sorted(RTL.rglob("*.v")):
        if units and source.stem not in units:
            continue
        missing = untouched(source.stem, SIM, used(source.read_text(), ports_of(source, source.stem)))
        for line in missing or ():
            print(f"{source.stem}: {line}")
        found += len(missing or ())
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

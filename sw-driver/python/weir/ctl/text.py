"""Values as texts: exact ones that are read back as they were, and short ones for people."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

import weir

_SIZES = (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10), ("b", 1))
_RATES = (("Gbit", 1e9), ("Mbit", 1e6), ("kbit", 1e3), ("bit", 1))
_TIMES = (("s", 1e6), ("ms", 1e3), ("us", 1), ("ns", 1e-3))


def number(value: float) -> str:
    """The shortest decimal number that is this one, without an exponent."""
    if not math.isfinite(value):
        return repr(float(value))
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{Decimal(repr(float(value))):f}"


def _suffixed(value: float, units: Iterable[tuple[str, float]], parse: Callable[[str], float], digits: int = 3) -> str:
    """With the largest unit that gives a number with no more digits after the point."""
    last = ""
    for name, factor in units:
        last = name
        scaled = round(value / factor, digits)
        if scaled >= 1 and parse(f"{number(scaled)}{name}") == value:
            return f"{number(scaled)}{name}"
    if last == "ns":  # microseconds are what a plain number means
        return f"{number(value)}us"
    return f"{number(value)}{last}"


def size(value: float) -> str:
    """Bytes as a size."""
    return _suffixed(value, _SIZES, weir.parse_size, 0)


def rate(value: float) -> str:
    """bit/s as a rate."""
    return _suffixed(value, _RATES, weir.parse_rate)


def time(value: float) -> str:
    """Microseconds as a time."""
    return "0us" if value == 0 else _suffixed(value, _TIMES, weir.parse_time)


def exact(parameter: weir.Parameter, value: Any, unit: str) -> str:
    """A parameter's value as a text that gives the same value again; `unit` is the queue's."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    if math.isinf(value):
        return "off"
    if parameter.kind == "size" or (parameter.kind == "amount" and parameter.unit == "queue unit" and unit == "bytes"):
        return size(value)
    return {"rate": rate, "time": time}.get(parameter.kind, number)(value)


def tidy(shown: Mapping[str, Any], capabilities: weir.Capabilities) -> dict[str, Any]:
    """A queue's values as read back, with the fewest digits that make the same registers."""
    tidied, policy = dict(shown), str(shown["policy"])
    names = [p.name for p in weir.policy_of(policy).parameters if isinstance(shown.get(p.name), float)]
    try:
        words = weir.convert_queue(policy, capabilities, **_natural(tidied))
        for name in names:
            for digits in range(1, 17):
                candidate = float(f"{shown[name]:.{digits}g}")
                with contextlib.suppress(weir.WeirError):
                    if weir.convert_queue(policy, capabilities, **_natural(tidied | {name: candidate})) == words:
                        tidied[name] = candidate
                        break
    except weir.WeirError:  # registers that libweir would not write: as they are
        pass
    return tidied


def _natural(shown: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in shown.items() if name != "policy"}


def _about(value: float, units: Iterable[tuple[str, float]]) -> str:
    """Three digits, or all before the point, and the largest unit of which there is at least one after rounding."""
    counts = [(value / factor, name) for name, factor in units]
    count, name = next((c for c in counts if abs(_rounded(c[0])) >= 1), counts[-1])
    return f"{count:.0f}{name}" if abs(_rounded(count)) >= 1000 else f"{number(_rounded(count))}{name}"


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


_PREFIXES = (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1))


def about(value: float, unit: str = "") -> str:
    """For people: three digits and a prefix by 1000."""
    return f"{_about(value, _PREFIXES)}{unit}"


def about_size(value: float) -> str:
    """Bytes for people, by 1024 as `limit` counts them: 409600 is 400KB."""
    return _about(value, _SIZES)


def about_ns(value: float) -> str:
    """A time in ns for people."""
    return _about(value / 1e3, _TIMES)


def table(rows: Iterable[Iterable[str]]) -> str:
    """Columns side by side: the first to the left, the others to the right."""
    lines = [list(row) for row in rows]
    widths = [max(len(line[i]) for line in lines if i < len(line)) for i in range(max(map(len, lines)))]
    out = []
    for line in lines:
        cells = [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=False))]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)

"""Text that `weir-sim` prints."""

from __future__ import annotations

from typing import Any

import weir

from .errors import UsageError


def duration(ns: float) -> str:
    """A time with three digits: 850 ns, 12.3 µs, 4.56 ms, 1.23 s."""
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= factor:
            return f"{ns / factor:.3g} {unit}" if ns < 100 * factor else f"{ns / factor:.0f} {unit}"
    return f"{ns:.0f} ns"


def summary(stats: dict[str, Any]) -> str:
    """A few lines about a replay."""
    rows = [("arrived", stats["rx"]), ("sent", stats["tx"])]
    rows += [(f"dropped: {name.replace('_', ' ')}", count) for name, count in stats["dropped"].items()
             if count["packets"]]  # fmt: skip
    rows.append(("marked CE", stats["marked"]))
    lines = [f"{name:<26}{count['packets']:>12,} packets {count['bytes']:>16,} bytes" for name, count in rows]
    delay = stats["delay"]
    lines.append(
        f"{'queueing delay':<26}{duration(delay['mean_ns'])} mean, {duration(delay['p50_ns'])} median, "
        f"{duration(delay['p99_ns'])} 99th percentile, {duration(delay['max_ns'])} most"
    )
    return "\n".join(lines)


def _range(parameter: weir.Parameter) -> str:
    if parameter.choices:
        return " | ".join(parameter.choices)
    if parameter.kind == "flag":
        return "on | off"
    return f"{parameter.min:.10g} to {parameter.max:.10g} {parameter.unit}".rstrip()


def policies(only: str | None = None) -> str:
    """The policies that libweir knows, and their parameters."""
    known = [policy for policy in weir.policies() if only is None or policy.name == only]
    if not known:
        raise UsageError(f"policy '{only}' is not known; choose one of {', '.join(p.name for p in weir.policies())}")
    blocks = []
    for policy in known:
        lines = [f"{policy.name}: {policy.help} ({policy.source})"]
        width = max(len(p.name) for p in policy.parameters)
        for p in policy.parameters:
            lines.append(f"  {p.name:<{width}}  {_range(p)}; default {p.default}")
            lines.append(f"  {'':<{width}}    {p.help} [{p.source}]")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)

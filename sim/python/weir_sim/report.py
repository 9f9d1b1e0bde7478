"""Text that `weir-sim` prints."""

from __future__ import annotations

from typing import Any

import weir
from weir.ctl import text


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
    if stats["merge"] != "off":
        rows.append(("sent in jumbo frames", stats["merged"]))
    lines = [f"{name:<26}{count['packets']:>12,} packets {count['bytes']:>16,} bytes" for name, count in rows]
    if stats["merge"] != "off":
        frames, built = stats["tx_frames"], stats["jumbo_out"]
        lines.append(f"{'frames on the wire':<26}{frames['packets']:>12,} frames  {frames['bytes']:>16,} bytes")
        lines.append(f"{'jumbo frames among them':<26}{built['packets']:>12,} frames  {built['bytes']:>16,} bytes")
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
    if parameter.kind == "time":
        return f"{text.time(parameter.min)} to {text.time(parameter.max)}"
    if parameter.kind == "rate":
        return f"{text.rate(parameter.min)} to {text.rate(parameter.max)}"
    least, most = (text.number(float(f"{value:.10g}")) for value in (parameter.min, parameter.max))
    return f"{least} to {most} {parameter.unit}".rstrip()


def policies(only: str | None = None) -> str:
    """The policies that libweir knows, and their parameters."""
    known = weir.policies() if only is None else [weir.policy_of(only)]
    blocks = []
    for policy in known:
        lines = [f"{policy.name}: {policy.help} ({policy.source})"]
        width = max(len(p.name) for p in policy.parameters)
        for p in policy.parameters:
            lines.append(f"  {p.name:<{width}}  {_range(p)}; default {p.default}")
            lines.append(f"  {'':<{width}}    {p.help} [{p.source}]")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)

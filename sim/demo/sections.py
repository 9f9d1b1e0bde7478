"""Sections of the demo page beside the comparison: every policy on the same capture, and jumbo frames."""

from __future__ import annotations

import base64
import html
from collections import Counter
from pathlib import Path
from typing import Any

from weir_sim import described
from weir_sim.errors import IdentityError
from weir_sim.jumbo import report as jumbo
from weir_sim.jumbo.link import wire_bytes
from weir_sim.jumbo.wire import dissect, parse_packet
from weir_sim.pcap import read_capture
from weir_sim.replay import Options, replay
from weir_sim.report import duration

POLICIES: dict[str, tuple[dict[str, str], str]] = {
    "drop-front": ({"limit": "100KB"}, "Drop-Tail that drops the oldest packet: the same loss, seen a queue's delay earlier."),
} | {p.name: (p.demo, p.remark) for p in described.policies() if p.demo is not None}  # fmt: skip
"""Settings for a 1 Gbit/s link; what the plot shows."""


def _picture(path: Path, alt: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{html.escape(alt)}" src="data:image/png;base64,{data}">'


def policies(capture: Path, out: Path, link_rate: float, speedup: float, seed: int) -> str:
    """Replays the capture with every other policy; the HTML section with their plots."""
    rows, pictures = [], []
    for name, (settings, remark) in POLICIES.items():
        stats = replay(
            Options(
                capture,
                out / f"{name}.pcap",
                name,
                settings,
                link_rate,
                speedup,
                seed,
                stats=out / f"stats-{name}.json",
                plot=out / f"{name}.png",
            )  # fmt: skip
        ).stats
        dropped = sum(count["packets"] for count in stats["dropped"].values())
        cells = (f"{stats['tx']['packets']:,}", f"{dropped:,}", f"{stats['marked']['packets']:,}",
                 duration(stats["delay"]["mean_ns"]), duration(stats["delay"]["p99_ns"]))  # fmt: skip
        rows.append(f"<tr><th scope=row>{name}</th>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        given = " ".join(f"{key} {value}" for key, value in settings.items())
        pictures.append(
            f"<h3>{name}</h3><p>{html.escape(remark)} <code>{html.escape(given)}</code></p>"
            + _picture(out / f"{name}.png", f"Queue and verdicts over time, {name}")
        )
    head = "".join(f"<th scope=col>{t}</th>" for t in ("sent", "dropped", "marked CE", "mean delay", "99th percentile"))
    return (
        "<section><h2>Every other policy on the same capture</h2><p>Same link, same limit of 100 KB.</p>"
        f"<div class=scroll><table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f"{''.join(pictures)}</section>"
    )


def _flows(path: Path) -> dict[Any, list[bytes]]:
    """The frames of a capture by flow, in order."""
    flows: dict[Any, list[bytes]] = {}
    for packet in read_capture(path):
        found = parse_packet(packet.data)
        key = found.flow if found and found.flow else "others"
        flows.setdefault(key, []).append(packet.data)
    return flows


def _row(name: str, *cells: str) -> str:
    return f"<tr><th scope=row>{name}</th>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _merged_by_the_core(capture: Path, out: Path, link_rate: float, speedup: float) -> str:
    """Merges the capture in the RTL, with the same link, and splits it in the RTL; the row of the table."""
    merged, target = out / "merged-rtl.pcap", out / "split-rtl.pcap"
    plain = replay(Options(capture, out / "unmerged.pcap", "drop-tail", {}, link_rate, speedup)).stats
    stats = replay(
        Options(capture, merged, "drop-tail", {}, link_rate, speedup, merge="flow", stats=out / "stats-merged-rtl.json")
    ).stats
    again = replay(Options(merged, target, "drop-tail", jumbo="split")).stats
    if _flows(target) != _flows(capture):
        raise IdentityError(f"{target}: merged and split again by the core, the flows of {capture} are not the same")
    sizes, saved = [1], 0
    for packet in read_capture(merged):
        found = dissect(packet.data)
        if found:
            header = len(found.ethernet) + 2
            sizes.append(len(found.packets))
            saved += sum(wire_bytes(header + len(p)) for p in found.packets) - wire_bytes(len(packet.data))
    added = (stats["delay"]["mean_ns"] - plain["delay"]["mean_ns"]) / 1e3
    before, after = stats["tx"]["packets"], stats["tx_frames"]["packets"]
    return _row("by flow, in the RTL", f"{before:,}", f"{after:,}", f"{before / after:.2f}", f"{max(sizes)}", f"{saved:,}",
                f"{added:.1f} µs", f"{again['jumbo_in']['packets']:,}", f"{again['tx']['packets']:,}")  # fmt: skip


def jumbos(capture: Path, out: Path, link_rate: float, speedup: float) -> str:
    """Merges the capture in the RTL and in software, splits it again in the RTL; the HTML section.

    Raises:
        IdentityError: what leaves the core is not, flow by flow and byte for byte, what was merged.
    """
    rows = [_merged_by_the_core(capture, out, link_rate, speedup)]
    for merge in ("flow", "class"):
        merged, target = out / f"merged-{merge}.pcap", out / f"split-{merge}.pcap"
        result, _ = jumbo.report(
            jumbo.Options(capture, merge, round(link_rate), speedup, json=out / f"jumbo-{merge}.json", write=merged)
        )
        stats = replay(
            Options(merged, target, "drop-tail", jumbo="split", stats=out / f"stats-split-{merge}.json")
        ).stats
        if _flows(target) != _flows(capture):
            raise IdentityError(f"{target}: merged by {merge} and split again, the flows of {capture} are not the same")
        frames, factor = result["frames"], Counter(result["merge_factor"]["distribution"])
        most = max(int(n) for n in factor)
        cells = (f"{frames['before']:,}", f"{frames['after']:,}", f"{result['merge_factor']['mean']:.2f}", f"{most}",
                 f"{result['header_bytes_saved']['measured']:,}", f"{result['delay_us']['added']['mean']:.1f} µs",
                 f"{stats['jumbo_in']['packets']:,}", f"{stats['tx']['packets']:,}")  # fmt: skip
        rows.append(_row(f"by {merge}, in software", *cells))
    names = ("packets", "frames", "packets a frame", "most", "header bytes saved", "mean delay added", "split in the RTL",
             "frames that left")  # fmt: skip
    head = "".join(f"<th scope=col>{name}</th>" for name in names)
    return (
        "<section><h2>Jumbo frames</h2><p>The capture merged by the RTL, by flow, and by the software model, by flow (JFEPM) and by "
        "class (JumboGen, 100 µs), then split again by the RTL: flow by flow, every frame came back byte for byte and in "
        "order. (The delay of the RTL's packets ends at the grant, the model's on the link.)</p>"
        f"<div class=scroll><table><thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        "<p>Files: <a href=merged-rtl.pcap>merged-rtl.pcap</a>, <a href=merged-flow.pcap>merged-flow.pcap</a>, <a href=merged-class.pcap>merged-class.pcap</a>, "
        "<a href=jumbo-flow.json>jumbo-flow.json</a>, <a href=jumbo-class.json>jumbo-class.json</a>.</p></section>"
    )

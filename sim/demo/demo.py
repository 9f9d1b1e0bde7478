#!/usr/bin/env python3
"""`make demo`: a capture of real TCP traffic through Weir, with Drop-Tail, with RED and ECN, and with every other policy;
merged to jumbo frames, and split again.

The capture (scripts/record_capture.sh) is replayed faster than it was recorded, into a link that cannot carry it at
its peak. The core is the RTL itself, cycle by cycle. Results are in build/demo/: index.html, plots, the captures
that came out, and statistics.
"""

from __future__ import annotations

import argparse
import base64
import html
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sections

import weir
from weir_sim import ModelError, native
from weir_sim.errors import IdentityError
from weir_sim.pcap import CaptureError
from weir_sim.replay import Options, Result, replay
from weir_sim.report import duration

CAPTURE = Path(__file__).resolve().parent / "capture.pcap"
GUIDE = native.root() / "docs" / "guide-first-minutes.md"
SPEEDUP = 150.0
LINK_RATE = 1e9
SEED = 1


@dataclass(frozen=True)
class Case:
    """One of the runs that are compared."""

    key: str
    title: str
    policy: str
    settings: dict[str, str]
    remark: str


CASES = (
    Case("drop-tail", "Drop-Tail", "drop-tail", {"limit": "100KB"},
         "Packets are dropped only when the buffer is full, so while the overload lasts the queue stays at its limit "
         "and every packet waits for all of it."),
    Case("red", "RED with ECN", "red",
         {"limit": "100KB", "min": "10KB", "max": "30KB", "probability": "0.1", "avpkt": "1000", "burst": "20",
          "ecn": "on", "gentle": "on"},
         "From a moving average of the queue, RED marks ECN-capable packets and drops others early. What leaves has "
         "waited less. In a replay nobody slows down, so RED has to drop the excess just as Drop-Tail does, and for the "
         "shorter queue a little more; a live sender would have answered the marks."),
)  # fmt: skip

LABELS = {"early": "dropped early", "forced": "dropped, forced", "overflow": "dropped, overflow"}


def count(value: dict[str, int]) -> str:
    """Packets and bytes of a count."""
    return f"{value['packets']:,} packets, {value['bytes'] / 1e6:.3f} MB"


def rows(results: list[Result]) -> list[tuple[str, list[str]]]:
    """The table: label, one cell a case."""
    stats: list[dict[str, Any]] = [result.stats for result in results]
    table = [("arrived", [count(s["rx"]) for s in stats]), ("sent", [count(s["tx"]) for s in stats])]
    for cause in stats[0]["dropped"]:
        if cause in LABELS or any(s["dropped"][cause]["packets"] for s in stats):
            label = LABELS.get(cause, f"dropped, {cause.replace('_', ' ')}")
            table.append((label, [count(s["dropped"][cause]) for s in stats]))
    table.append(("marked CE", [count(s["marked"]) for s in stats]))
    table.append(("queueing delay, mean", [duration(s["delay"]["mean_ns"]) for s in stats]))
    table.append(("queueing delay, 99th percentile", [duration(s["delay"]["p99_ns"]) for s in stats]))
    return table


def text_table(table: list[tuple[str, list[str]]]) -> str:
    """The table for a terminal."""
    widths = [max(len(cells[i]) for _, cells in table) for i in range(len(CASES))]
    first = max(len(label) for label, _ in table)
    titles = "   ".join(case.title.rjust(width) for case, width in zip(CASES, widths, strict=True))
    lines = [f"{'':<{first}}   {titles}"]
    for label, cells in table:
        lines.append(
            f"{label:<{first}}   " + "   ".join(c.rjust(width) for c, width in zip(cells, widths, strict=True))
        )
    return "\n".join(lines) + "\n"


def replays(capture: Path, out: Path) -> list[Result]:
    """The runs that are compared, with their files in `out`."""
    return [
        replay(Options(
            capture, out / f"{case.key}.pcap", case.policy, case.settings, LINK_RATE, SPEEDUP, SEED,
            stats=out / f"stats-{case.key}.json", plot=out / f"{case.key}.png",
        ))
        for case in CASES
    ]  # fmt: skip


def summary(capture: Path, results: list[Result]) -> str:
    """What the terminal shows of the runs."""
    source = shown(capture)
    return f"{source}, {SPEEDUP:g} times as fast, into a link of 1 Gbit/s\n\n{text_table(rows(results))}"


def shown(path: Path) -> Path:
    """A path as a person in the clone types it."""
    return path.relative_to(native.root()) if path.is_relative_to(native.root()) else path


def in_guide(guide: str, table: str) -> str:
    """The text of the tutorial with this table in the place of its own."""
    start = guide.index(f"```\n{shown(CAPTURE)}, ") + 4
    return guide[:start] + table + guide[guide.index("```", start) :]


STYLE = """
body{margin:0;background:#f6f7f9;color:#20262e;font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1000px;margin:0 auto;padding:40px 24px 64px}
h1{font-size:30px;line-height:1.2;margin:0 0 8px;letter-spacing:-.01em}h2{font-size:20px;margin:0 0 4px}h3{font-size:17px;margin:24px 0 0}
p{margin:0 0 16px;max-width:46em}.lead{font-size:18px;color:#454c56}
section{background:#fff;border:1px solid #e1e5ea;border-radius:10px;padding:20px 24px;margin:24px 0}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:7px 0 7px 16px;text-align:right;border-bottom:1px solid #e9ecf0;font-weight:400}
th:first-child{text-align:left;padding-left:0;color:#454c56}thead th{font-weight:600;border-bottom:2px solid #c5cad1}
tr:last-child th,tr:last-child td{border-bottom:0}.scroll{overflow-x:auto}
img{width:100%;height:auto;display:block;margin:12px 0}code{font:14px ui-monospace,Menlo,Consolas,monospace;
background:#f0f2f5;border-radius:4px;padding:1px 5px;overflow-wrap:anywhere}a{color:#12598f}
footer{color:#5b616b;font-size:14px}
"""


def command(case: Case, source: Path) -> str:
    """The command line that gives the same files."""
    settings = " ".join(f"--set {key}={value}" for key, value in case.settings.items())
    return (f"weir-sim replay {source} {case.key}.pcap --policy {case.policy} {settings} --link-rate 1Gbit "
            f"--speedup {SPEEDUP:g} --seed {SEED} --stats stats-{case.key}.json --plot {case.key}.png")  # fmt: skip


def page(table: list[tuple[str, list[str]]], source: Path, out: Path, results: list[Result], more: str) -> str:
    """The HTML page, with the pictures in it; `more` sections follow."""
    head = "".join(f"<th scope=col>{html.escape(case.title)}</th>" for case in CASES)
    body = "".join(
        f"<tr><th scope=row>{html.escape(label)}</th>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>"
        for label, cells in table
    )
    parts = []
    for case, result in zip(CASES, results, strict=True):
        picture = base64.b64encode((out / f"{case.key}.png").read_bytes()).decode()
        parts.append(
            f"<section><h2>{html.escape(case.title)}</h2><p>{html.escape(case.remark)}</p>"
            f'<img alt="Queue and verdicts over time, {html.escape(case.title)}" src="data:image/png;base64,{picture}">'
            f"<p>Files: <a href={case.key}.pcap>{case.key}.pcap</a>, "
            f"<a href=stats-{case.key}.json>stats-{case.key}.json</a>, <a href={case.key}.png>{case.key}.png</a>. "
            f"{result.stats['cycles_evaluated']:,} of {result.stats['cycles']:,} clock cycles were simulated, the rest "
            f"was idle. The same by hand:</p><code>{html.escape(command(case, source))}</code></section>"
        )
    return (
        '<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">'
        f"<title>Weir: Drop-Tail and RED on real traffic</title><style>{STYLE}</style><main>"
        "<h1>Drop-Tail and RED on the same traffic</h1>"
        f"<p class=lead>A capture of Linux TCP ({count(results[0].stats['rx'])}), replayed {SPEEDUP:g} times as fast "
        "as it was recorded into a 1 Gbit/s link, through the RTL of Weir.</p>"
        f"<section><div class=scroll><table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        "</section>" + "".join(parts) + more + "<footer><p>A replay is open loop: the recorded senders do not react to "
        "marks and drops, so both runs see the same arrivals. Every packet is accounted for: arrived = sent + dropped, "
        "in packets and bytes, by the core's counters and by the frames themselves.</p></footer></main>\n"
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--capture", type=Path, default=CAPTURE, help="capture to replay")
    parser.add_argument("--out", type=Path, default=native.root() / "build" / "demo", help="directory of the results")
    parser.add_argument("--guide", action="store_true", help="write the table into the tutorial and do no more")
    a = parser.parse_args()
    start = time.perf_counter()
    a.out.mkdir(parents=True, exist_ok=True)
    try:
        results = replays(CAPTURE if a.guide else a.capture, a.out)
        if a.guide:
            table = summary(CAPTURE, results)
            GUIDE.write_text(in_guide(GUIDE.read_text(encoding="utf-8"), table), encoding="utf-8")
            return 0
        more = sections.policies(a.capture, a.out, LINK_RATE, SPEEDUP, SEED)
        more += sections.jumbos(a.capture, a.out, LINK_RATE, SPEEDUP)
    except (CaptureError, weir.WeirError, ModelError, IdentityError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    (a.out / "index.html").write_text(page(rows(results), shown(a.capture), a.out, results, more), encoding="utf-8")
    print(summary(a.capture, results))
    print(f"{time.perf_counter() - start:.1f} s. Pictures and files: {shown(a.out)}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())

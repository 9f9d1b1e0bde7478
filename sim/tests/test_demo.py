"""The demo page and the lists of `make bench` and `make area`: no policy is left out."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import area
import weir
from captures import EPOCH_NS, pcap
from weir_sim import bench
from weir_sim.frames import udp_frame
from weir_sim.pcap import read_capture

ROOT = Path(__file__).resolve().parents[2]
EVERY = {policy.name for policy in weir.policies()}


def test_the_demo_page_has_a_plot_of_every_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "sim" / "demo")
    monkeypatch.delitem(sys.modules, "sections", raising=False)
    import demo  # type: ignore[import-not-found]
    import sections  # type: ignore[import-not-found]

    capture = tmp_path / "in.pcap"
    capture.write_bytes(pcap([(EPOCH_NS + 1_000 * n, udp_frame(1000, number=n)) for n in range(300)], nano=True))
    html = sections.policies(capture, tmp_path, demo.LINK_RATE, 1.0, demo.SEED)
    parts = dict(re.findall(r"<h3>([^<]*)</h3>.*?base64,([^\"]*)", html))
    assert set(parts) | {case.policy for case in demo.CASES} == EVERY | {"drop-front"}
    assert all(picture.startswith("iVBORw0KGgo") for picture in parts.values())  # PNG
    assert len(set(parts.values())) == len(parts), "one picture for two policies"


def test_the_demo_page_has_jumbo_frames_of_the_real_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By flow in the RTL, by flow and by class in software: merged, split by the RTL; all of the capture's packets came back."""
    monkeypatch.syspath_prepend(ROOT / "sim" / "demo")
    monkeypatch.delitem(sys.modules, "sections", raising=False)
    import demo
    import sections

    capture = ROOT / "sim" / "demo" / "capture.pcap"
    packets = sum(1 for _ in read_capture(capture))
    html = sections.jumbos(capture, tmp_path, demo.LINK_RATE, demo.SPEEDUP)
    rows = re.findall(r"<tr><th scope=row>([^<]*)</th>(.*?)</tr>", html)
    assert [name for name, _ in rows] == ["by flow, in the RTL", "by flow, in software", "by class, in software"]
    for _, row in rows:
        cells = [float(cell.replace(",", "").replace(" µs", "")) for cell in re.findall(r"<td>([^<]*)</td>", row)]
        before, after, factor, most, saved, _, split, back = cells
        assert before == back == packets and abs(factor - before / after) < 0.006
        assert factor > 1.2 and most > 5 and saved > 10_000 and split > 50
    for name in re.findall(r"href=([^>]*)>", html):
        assert (tmp_path / name).stat().st_size > 0


def test_the_tutorial_shows_what_the_demo_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "sim" / "demo")
    monkeypatch.delitem(sys.modules, "sections", raising=False)
    import demo

    table = demo.summary(demo.CAPTURE, demo.replays(demo.CAPTURE, tmp_path))
    assert table.count("\n") >= 10
    guide = demo.GUIDE.read_text()
    assert guide == demo.in_guide(guide, table), ".venv/bin/python sim/demo/demo.py --guide writes the table anew"


def test_the_bench_has_rows_of_every_policy() -> None:
    names = [name for name, _ in bench.jobs("full", True)]
    for policy in EVERY:
        assert sum(name.endswith(f" queues, {policy}") for name in names) >= 3, policy


def test_the_area_report_has_a_unit_of_every_policy() -> None:
    assert {name for names in area.units().values() for name in names.split(", ")} == EVERY - {"drop-tail"} | {
        "drop from front"
    }
    assert all((ROOT / "build" / "rtl" / "units" / f"{unit}.v").is_file() for unit in area.units())

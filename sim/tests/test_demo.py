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


def test_the_bench_has_rows_of_every_policy() -> None:
    names = [name for name, _ in bench.jobs("full", True)]
    for policy in EVERY:
        assert sum(name.endswith(f" queues, {policy}") for name in names) >= 3, policy


def test_the_area_report_has_a_unit_of_every_policy() -> None:
    assert {name for names in area.UNITS.values() for name in names.split(", ")} == EVERY - {"drop-tail"}
    assert all((ROOT / "build" / "rtl" / "units" / f"{unit}.v").is_file() for unit in area.UNITS)

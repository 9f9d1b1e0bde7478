"""Paths that are too slow, from a small file of delays in nextpnr's form; expected times are sums by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import paths

SDF = r"""(DELAYFILE
  (SDFVERSION "3.0")
  (TIMESCALE 1ps)
  (CELL
    (CELLTYPE "top")
    (INSTANCE )
    (DELAY
      (ABSOLUTE
        (INTERCONNECT core.a.one.x_FF/Q core.a.one.x_LUT/A (900:1000:1100) (900:1000:1100))
        (INTERCONNECT core.a.one.x_LUT/F core.b.y\$FF/DI (1500:1800:2000) (0:0:0))
        (INTERCONNECT core.a.one.x_FF/Q core.b.z_FF/M (100:200:300) (0:0:0))
        (INTERCONNECT core.b.y\$FF/Q core.top_LUT/B (10:10:10) (0:0:0))
        (INTERCONNECT core.top_LUT/F taken_FF/DI (2700:2700:2700) (0:0:0))
      )
    )
  )
  (CELL (CELLTYPE "TRELLIS_FF") (INSTANCE core.a.one.x_FF)
    (DELAY (ABSOLUTE (IOPATH CLK Q (400:450:500) (400:450:500)))))
  (CELL (CELLTYPE "TRELLIS_COMB") (INSTANCE core.a.one.x_LUT)
    (DELAY (ABSOLUTE (IOPATH A F (100:200:250) (100:200:250)))))
  (CELL (CELLTYPE "TRELLIS_FF") (INSTANCE core.b.y\$FF)
    (DELAY (ABSOLUTE (IOPATH CLK Q (400:450:500) (400:450:500))))
    (TIMINGCHECK (SETUPHOLD (posedge DI) (posedge CLK) (50:100:150) (0:0:0))))
  (CELL (CELLTYPE "TRELLIS_FF") (INSTANCE core.b.z_FF)
    (TIMINGCHECK (SETUPHOLD M (posedge CLK) (0:0:0) (0:0:0))))
  (CELL (CELLTYPE "TRELLIS_COMB") (INSTANCE core.top_LUT)
    (DELAY (ABSOLUTE (IOPATH B F (240:240:240) (240:240:240)))))
  (CELL (CELLTYPE "TRELLIS_FF") (INSTANCE taken_FF)
    (TIMINGCHECK (SETUPHOLD (negedge DI) (posedge CLK) (-20:-20:-20) (0:0:0))))
)
"""


def test_slow_paths_are_grouped_by_where_they_begin_and_end(tmp_path: Path) -> None:
    sdf = tmp_path / "delays.sdf"
    sdf.write_text(SDF)
    delays = paths.read(sdf)
    groups = paths.slow(delays, 3.0)
    assert [(g.begin, g.end, g.paths, round(g.slowest_ns, 3), g.cells) for g in groups] == [
        ("a.one", "b", 1, 0.5 + 1.1 + 0.25 + 2.0 + 0.15, 1),
        ("b", "wrapper", 1, 0.5 + 0.01 + 0.24 + 2.7 - 0.02, 1),
    ]
    assert groups[0].pins == [
        ("core.a.one.x_FF", "Q"),
        ("core.a.one.x_LUT", "A"),
        ("core.a.one.x_LUT", "F"),
        ("core.b.y$FF", "DI"),
    ]
    assert paths.report(groups, 3.0)[0] == "2 paths take more than 3.00 ns:"
    assert paths.slow(delays, 4.1) == [] and paths.report([], 4.1) == ["no path takes more than 4.10 ns"]
    assert [g.end for g in paths.slow(delays, 0.7)] == ["b", "wrapper"] and paths.slow(delays, 0.7)[0].paths == 2


@pytest.mark.parametrize(("cell", "block"), [
    ("core.queues.fifo.count_TRELLIS_FF_Q_3", "queues.fifo"),
    ("core.irq_LUT4_Z", "core"),
    ("core.admit.red.$abc$12.x", "admit.red"),
    ("taken_TRELLIS_FF_Q", "wrapper"),
])  # fmt: skip
def test_a_cell_belongs_to_the_instance_in_its_name(cell: str, block: str) -> None:
    assert paths.block(cell) == block
    assert paths.block(cell, 1) == block.partition(".")[0]

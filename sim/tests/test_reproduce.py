"""The workflow of the experiments: the rule of the verdicts, the plan, the tables, and the quick slice with the RTL."""

from __future__ import annotations

import copy
import dataclasses
import fcntl
import hashlib
import json
import math
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ns3_programs import ROOT

sys.path.insert(0, str(ROOT / "sim" / "reproduce"))
import datacenter  # noqa: E402
import fn_grid  # noqa: E402
import gains  # noqa: E402
import gains_report  # noqa: E402
import grid_report  # noqa: E402
import plan  # noqa: E402
import plots  # noqa: E402
import ratios  # noqa: E402
import report  # noqa: E402
import run as workflow  # noqa: E402
import same  # noqa: E402
import tables  # noqa: E402
from verdicts import HOLDS, NOT, PART, UNDECIDED, Spread, claim_verdict, row_verdict, worded  # noqa: E402


def test_the_interval_is_students() -> None:
    """1, 2, 3: mean 2, deviation 1, t(0.975, 2) = 4.3027: half 4.3027/sqrt(3) = 2.4841."""
    s = Spread.of([1, 2, 3])
    assert s.mean == 2 and abs(s.half - 2.4841) < 1e-4
    assert Spread.of([5]).half == float("inf")


@pytest.mark.parametrize(
    "differences,sign,verdict",
    [
        ([1.0, 1.1, 0.9], 1, HOLDS),
        ([1.0, 1.1, 0.9], -1, NOT),
        ([-1.0, -1.1, -0.9], -1, HOLDS),
        ([1.0, 3.0, -1.0], 1, UNDECIDED),
        ([1.0, 1.1], 1, UNDECIDED),
        ([0.0, 0.0, 0.0], 1, UNDECIDED),
    ],
)
def test_a_row_is_judged_by_sign_and_interval(differences: list[float], sign: int, verdict: str) -> None:
    """Paired by seed: what both sides share does not count."""
    b = {n + 1: 1000.0 * n for n in range(len(differences))}
    a = {n + 1: 1000.0 * n + d for n, d in enumerate(differences)} | {99: 5.0}
    assert row_verdict(a, b, sign)[0] == verdict


@pytest.mark.parametrize(
    "rows,verdict",
    [
        ([HOLDS] * 4, HOLDS),
        ([HOLDS] * 3 + [UNDECIDED], HOLDS),
        ([HOLDS] * 2 + [UNDECIDED] * 2, PART),
        ([HOLDS] * 3 + [NOT], PART),
        ([HOLDS] + [NOT] * 2, NOT),
        ([NOT] + [UNDECIDED] * 3, NOT),
        ([UNDECIDED] * 3, UNDECIDED),
        ([], UNDECIDED),
    ],
)
def test_a_claim_is_judged_by_its_rows(rows: list[str], verdict: str) -> None:
    """Point 3 of the rule."""
    assert claim_verdict(rows) == verdict


@pytest.mark.parametrize(
    "rows,of,words",
    [
        ([HOLDS, NOT, UNDECIDED], 3, "holds in part (1 for, 1 against, of 3)"),
        ([HOLDS, UNDECIDED], 4, "holds in part (1 for, 0 against, of 2; 2 of 4 rows run)"),
        ([HOLDS] * 4, 4, "holds"),
        ([NOT], 2, "does not hold (1 of 2 rows run)"),
    ],
)
def test_a_verdict_in_part_says_by_how_many_rows(rows: list[str], of: int, words: str) -> None:
    """Rows that are not decided are neither for nor against."""
    judged = {str(n): {"verdict": v} for n, v in enumerate(rows)}
    assert worded({"verdict": claim_verdict(rows), "rows": judged, "rows_of_the_claim": of}) == words


#: 001, from the paper's Tables 1 to 4: sums of the columns, sums of the rows
SUMS_001 = {
    ("reno", "sent_bytes"): ([1984259000, 1884410000, 1982093000, 1979084000, 1968755000, 1965992000],
                             [1953081000, 1948110000, 1963281000, 1954848000, 1971918000, 1973355000]),
    ("reno", "dropped_bytes"): ([27559500, 0, 2119500, 4593000, 31470040, 38002540],
                                [5812500, 10066500, 9499500, 20677580, 21769500, 35919000]),
    ("sack", "sent_bytes"): ([2018591000, 1884410000, 2005331000, 2019333500, 2012081000, 2009664500],
                             [1993161000, 1994754000, 1987519500, 1989475500, 1991307000, 1993194000]),
    ("sack", "dropped_bytes"): ([26537380, 0, 2157000, 4651500, 41505040, 49461040],
                                [6355500, 11008500, 9748500, 22944960, 27048000, 47206500]),
}  # fmt: skip


@pytest.mark.parametrize(("tcp", "metric"), SUMS_001)
def test_the_printed_values_of_paper_001_are_its(tcp: str, metric: str) -> None:
    """Each column and each row of Tables 1 to 4 added up from the paper's text: a slip of a digit shows in two sums."""
    printed = plan.table_of("001", f"tables-{tcp}").printed
    queues = ("drop-tail", "dt-ecn-25", "dt-ecn-50", "dt-ecn-75", "red-ecn", "red")
    columns, rows = SUMS_001[tcp, metric]
    assert [sum(printed[row][f"{q} {metric}"] for row in "ABCDEF") for q in queues] == columns
    assert [sum(printed[row][f"{q} {metric}"] for q in queues) for row in "ABCDEF"] == rows
    # of these rows, and no others, the paper says that DT-ECN sends more than RED with ECN: its figures say so too
    claim = next(c for c in plan.table_of("001", f"tables-{tcp}").claims if c.name == "ecn-sent")
    sent = {row: printed[row]["dt-ecn-75 sent_bytes"] > printed[row]["red-ecn sent_bytes"] for row in "ABCDEF"}
    assert claim.rows == tuple(row for row in "ABCDEF" if sent[row]) and len(claim.rows) == 5


def sums_of(printed: dict[str, dict[str, float]], name: str) -> tuple[float, float]:
    """Of a column of a table: its sum, and that of its values times the number of their row, from 1 on."""
    values = [row[name] for row in printed.values()]
    return round(sum(values), 3), round(sum(n * v for n, v in enumerate(values, 1)), 3)


def test_the_printed_values_of_paper_003_are_its() -> None:
    """Table 1: columns added up from the paper's text, also by row; loss = dropped/arrived within the print's rounding."""
    names = ("red arrived", "red dropped", "red loss_percent", "isred arrived", "isred dropped", "isred loss_percent")
    columns = [32203.9, 6125.8, 132.15, 30120.1, 5713.06, 132.2]
    by_row = [131677.0, 26990.0, 571.43, 122907.5, 24449.08, 555.44]
    for t in (t for t in plan.TABLES if t.paper == "003"):
        assert list(t.printed) == ["15", "20", "25", "30", "35", "40", "45"]
        for name, column, weighted in zip(names, columns, by_row, strict=True):
            assert sums_of(t.printed, name) == (column, weighted)
        for row in t.printed.values():
            for side in ("red", "isred"):
                assert abs(100 * row[f"{side} dropped"] / row[f"{side} arrived"] - row[f"{side} loss_percent"]) < 0.03


def test_the_printed_values_of_paper_004_are_its() -> None:
    """Table II: columns of FN added up from the paper's text, also by row (SD{r} in Mb/s), and RED's row once more."""
    columns = [682.114, 30.435, 639197.552, 474299.7, 5.609, 30.435, 0.0, 78367075.306, 18.984]
    by_row = [3107.885, 132.19, 3090754.251, 2228809.6, 23.866, 132.19, 0.0, 349166533.243, 58.798]
    red = (72.093, 4.623, 108864.241, 107891, 0.594, 4.623, 0)
    names = ("utilisation_percent", "loss_bits_percent", "queue_bits_mean", "queue_bits_sd", "below_threshold", "random_percent",
             "overflow_percent", "rate_mean", "rate_sd")  # fmt: skip
    for t in (t for t in plan.TABLES if t.name.startswith("table2-")):
        assert [(o["ws"], o["t"]) for o in t.rows.values()] == [
            (32, 0.512), (64, 0.216), (128, 0.125), (256, 0.064), (512, 0.064), (1024, 0.027), (2048, 0.027), (4096, 0.027)
        ]  # fmt: skip
        for name, column, weighted in zip(names, columns, by_row, strict=True):
            total, by = sums_of(t.printed, f"fn {name}")
            scale = 1e6 if name == "rate_sd" else 1
            assert (round(total / scale, 3), round(by / scale, 3)) == (column, weighted)
        for row in t.printed.values():
            assert tuple(row[f"red {name}"] for name in names[:7]) == red and "red rate_mean" not in row


def test_the_sweeps_of_paper_004_are_those_of_its_section_iv() -> None:
    """Eight windows by twelve cubes of ms for each form, thirty pairs; the printed settings are among them."""
    assert (
        len(fn_grid.FN.rows) == 96 and len(fn_grid.RED.rows) == 30 and set(fn_grid.FN.sides) == {"fn", "fn-quadratic"}
    )
    assert {1, 343, 512, 729, 1000, 1331, 1728} <= set(fn_grid.TIMES_MS), "those that are legible in the paper"
    settings = {(o["ws"], o["t"]) for o in fn_grid.FN.rows.values()}
    assert settings >= {(o["ws"], o["t"]) for o in plan.table_of("004", "table2-20-persistent").rows.values()}
    for rate, sweeps in ((20, (fn_grid.FN, fn_grid.RED)), (10, (fn_grid.FN_10, fn_grid.RED_10))):
        runs = [run for run in plan.runs(False, ("004",)) if run.table in sweeps]
        files = {run.file for run in runs}
        assert len(files) == 3 * (2 * 96 + 30), "no two settings have a run in common"
        assert {run.options(False)["rate"] for run in runs} == {rate * 1e6}
        table = next(t for t in plan.TABLES if t.name == fn_grid.table_two(rate))
        compared = {r.file for r in plan.runs(False, ("004",)) if r.table is table and r.queue == "golden"}
        assert compared <= files and len(compared) == 3 * (2 * 8 + 1), (
            "what the RTL runs is in the sweeps, as the same runs"
        )


def test_the_rtl_runs_every_row_of_papers_001_to_004() -> None:
    """As often as the golden model, and as long; ns-3's own queue too, where there is one. Sweeps and controls are the golden model's."""
    for t in plan.TABLES:
        if t in fn_grid.TABLES or t in datacenter.FLOWS or t.name.startswith(("control", "ns2")):
            assert t.golden_only
            continue
        of = {q: [r for r in plan.runs(False, (t.paper,)) if r.table is t and r.queue == q] for q in ("rtl", "golden", "ns3")}  # fmt: skip
        whole = {(row, side, seed) for row in t.rows for side in t.sides for seed in t.seeds}
        assert {(r.row, r.side, r.seed) for r in of["rtl"]} == {(r.row, r.side, r.seed) for r in of["golden"]} == whole
        assert {(r.row, r.seed) for r in of["ns3"]} == {(row, seed) for row, _, seed in whole}
        assert {r.side for r in of["ns3"]} == set(t.ns3) < set(t.sides)
        assert all(r.options(False)["duration"] == t.options["duration"] for r in of["rtl"])


def test_paper_002_has_a_row_for_each_size_and_load() -> None:
    """Tables 4.2 to 4.9: four TCPs, four sizes, ten loads, among which is each printed "at load", 3 seeds, both sides, all with the RTL."""
    at = {row[n] for of in datacenter.PRINTED.values() for rows in of.values() for row in rows.values() for n in (1, 4)}
    assert at <= set(datacenter.LOADS) and set(datacenter.FOUR) < set(datacenter.LOADS)
    of = [r for r in plan.runs(False, ("002",)) if r.table.name.startswith("tables-")]
    assert {(r.table.name, r.row) for r in of} == {
        (f"tables-{tcp}", f"{size}-{load}")
        for tcp in ("tahoe", "reno", "newreno", "sack") for size in (800, 1000, 1200, 1460)
        for load in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
    }  # fmt: skip
    assert len({r.file for r in of if r.queue == "rtl"}) == 160 * 3 * 2
    assert {r.side for r in of if r.queue == "ns3"} == {"original"}, "ns-3 has no queue that merges"


def test_equal_flows_are_more_load_with_small_packets() -> None:
    """A flow of B bytes takes B/(size - 54) times (size + 102) bytes of its link: 902/746 with 800 bytes, 1562/1406 with 1460."""
    assert abs(datacenter.same_flows(800, 0.95) - 0.95 * (902 / 746) / (1562 / 1406)) < 1e-6
    assert datacenter.same_flows(1460, 0.7) == 0.7
    runs = [r for r in plan.runs(False, ("002",)) if r.table in datacenter.FLOWS]
    assert {(r.queue, r.side) for r in runs} == {("golden", "original")} and len(runs) == 4 * 4 * 4 * 3
    compared = {
        r.file for r in plan.runs(False, ("002",)) if r.table.name.startswith("tables-") and r.queue == "golden"
    }
    shared = [r for r in runs if r.file in compared]
    assert {r.row.split("-")[0] for r in shared} == {"1460"} and len(shared) == 4 * 4 * 3


def test_papers_000_and_003_have_ten_seeds() -> None:
    """As the paper of 003 has; t(0.975, 9) = 2.2622: of 1 to 10 the deviation is 3.02765, half 2.2622 * 3.02765/sqrt(10) = 2.1659. The quick slice has three."""
    for t in plan.TABLES:
        assert t.seeds == (tuple(range(1, 11)) if t.paper in ("000", "003") else (1, 2, 3))
    assert {r.seed for r in plan.runs(True)} == {1, 2, 3}
    assert abs(Spread.of([*range(1, 11)]).half - 2.1659) < 1e-4


def test_the_rule_chooses_the_settings() -> None:
    """Made-up points: too long a queue, too much loss, and the highest utilisation of what is left."""
    point = fn_grid.Point
    pairs = {1: point(60, 5, 50_000), 2: point(70, 4, 105_000), 3: point(80, 3, 105_001)}
    assert fn_grid.red_reference(pairs) == 2 and fn_grid.red_reference({3: pairs[3]}) is None
    times = {1: point(90, 4, 1000), 8: point(85, 3.9, 100_000), 27: point(86, 3.9, 105_000), 64: point(99, 1, 200_000)}
    assert fn_grid.chosen_time(times, pairs[2]) == 27
    assert fn_grid.chosen_time({1: times[1], 64: times[64]}, pairs[2]) is None


def test_the_report_of_the_sweeps_names_the_choice(tmp_path: Path) -> None:
    """Made-up tables, one window of FN run: T of the rule beside the printed one; the figures are drawn."""

    def row(name: str, side: str, *values: float) -> dict[str, Any]:
        metrics = dict(zip(fn_grid.METRICS, [*values, 0, 0], strict=True))
        return {"row": name, "sides": {side: {"queue": "golden", "measured": {"golden": {m: {"mean": v, "half": v / 100} for m, v in metrics.items()}}}}}  # fmt: skip

    red = {"paper": "004", "table": "grid-red", "title": "made up", "rows": [row("k5", "red", 72, 4, 90_000), row("k9", "red", 80, 3, 2e5)]}  # fmt: skip
    found = {"paper": "004", "table": "grid-fn", "title": "made up", "rows": [
        row("ws64-t8", "fn", 81, 3, 50_000), row("ws64-t27", "fn", 83, 3, 90_000), row("ws64-t64", "fn", 95, 3, 2e5)]}  # fmt: skip
    (tmp_path / "004").mkdir()
    (tmp_path / "004" / "grid-red.json").write_text(json.dumps(red))
    lines = grid_report.rows(tmp_path, found)
    assert (
        "RED with k = 5, which the rule chooses of RED's (4 %)" in lines[0]
        and lines[-1] == "| 64 | fn | 216 | 27 | 83 ± 0.83 | 3 ± 0.03 | 90,000 ± 900 |"
    )
    assert any(
        line.startswith("| 5 | 72 ± 0.72 | 4 ± 0.04 | 90,000 ± 900 | chosen by the rule; the paper's")
        for line in grid_report.rows(tmp_path, red)
    )
    for table in (red, found):
        for line in grid_report.figures(tmp_path, table):
            assert (tmp_path / "report" / line.split("(")[1].rstrip(")")).stat().st_size > 1000
    (tmp_path / "004" / "grid-red.json").unlink()
    assert "has not been run" in grid_report.rows(tmp_path, found)[0]


def test_the_printed_gains_are_those_of_paper_002() -> None:
    """Columns of Tables 4.2 to 4.9, added up from its text: largest difference, mean gain, and both percentages."""
    sums = {
        (tcp, of): [round(sum(row[n] for row in rows.values()), 2) for n in (0, 2, 3, 5)]
        for tcp, tables_of in datacenter.PRINTED.items()
        for of, rows in tables_of.items()
    }
    assert sums == {
        ("tahoe", "fct_mean_us"): [95.1, 49.26, 135.62, 60.58], ("tahoe", "dropped"): [12984, 6505.3, 163.47, 67.23],
        ("reno", "fct_mean_us"): [177.1, 133.96, 176.42, 85.88], ("reno", "dropped"): [33983, 20119, 183.76, 87.36],
        ("newreno", "fct_mean_us"): [62.74, 29.14, 132.23, 56.83], ("newreno", "dropped"): [10134, 4798.5, 161.0, 67.57],
        ("sack", "fct_mean_us"): [40.19, 24.46, 145.96, 58.06], ("sack", "dropped"): [12447, 5620.3, 166.33, 68.79],
    }  # fmt: skip


def test_the_printed_values_of_paper_000_fit_its_text() -> None:
    """Its "26 %" less loss is 0.26 points, its "1.56 %" more throughput 1.5 points: differences of what it prints at the end."""
    table = next(t for t in plan.TABLES if (t.paper, t.name) == ("000", "figures"))
    row = table.printed["increase"]
    assert len(row) == 8 and round(sum(row.values()), 2) == 42.45 + 91.7 + 0.69 + 8.24 + 41.06 + 90.2 + 0.9 + 8.5
    assert round(row["red loss_second_percent"] - row["mred loss_second_percent"], 2) == 0.26
    assert round(row["mred throughput_percent"] - row["red throughput_percent"], 2) == 1.5
    # what it claims has the sign of what it prints
    for claim in table.claims:
        a, b = (row.get(f"{side} {claim.metric}") for side in (claim.a, claim.b))
        assert a is None or b is None or claim.rows != ("increase",) or (a - b) * claim.sign > 0
    assert {r for c in table.claims for r in c.rows} == set(table.rows) == {"increase", "decrease"}
    control = next(t for t in plan.TABLES if (t.paper, t.name) == ("000", "control"))
    assert control.golden_only and not control.quick_rows and all(not c.rows for c in control.claims)


def test_gains_are_over_the_loads_of_a_size() -> None:
    """Made-up runs: JFEPM gains 1 % of 1000 us per 0.1 of load, times 4, 3, 2, 1 as packets grow; drops are the same. Loads sum up to 5.45."""
    table = next(t for t in plan.TABLES if (t.paper, t.name) == ("002", "tables-sack"))
    runs: dict[str, Any] = {}
    for n, size in enumerate(datacenter.SIZES):
        for load in datacenter.LOADS:
            gain = {"original": 0.0, "jfepm": 100 * load * (4 - n)}
            runs[datacenter.row_name(size, load)] = {
                side: {s: {"results": {"fct_mean_us": 1000 - g, "dropped": 7}} for s in (1, 2, 3)}
                for side, g in gain.items()
            }
    made = gains.gains(table, runs)
    assert made
    first = made["lines"][0]["measured"]
    assert first[1] == first[4] == 0.95 and abs(first[0]["mean"] - 380) < 1e-9 and abs(first[3]["mean"] - 38) < 1e-9
    assert abs(first[2]["mean"] - 218) < 1e-9 and made["lines"][0]["printed"][2] == 6.77
    verdicts = {c["name"]: c["verdict"] for c in made["claims"]}
    assert verdicts == {
        "gain-fct_mean_us": HOLDS,
        "above-fct_mean_us": HOLDS,
        "gain-dropped": UNDECIDED,
        "above-dropped": UNDECIDED,
        "figure-4.2": UNDECIDED,
        "figure-4.3": UNDECIDED,
    }
    del runs["800-0.4"]
    assert gains.gains(table, runs) is None, "never a gain over some of the loads"


def sweep_runs(dropped: dict[float, tuple[int, int]]) -> dict[str, Any]:
    """Made-up runs of a sweep: 1000 us, JFEPM 40, 30, 20 and 10 us less as packets grow; drops of both sides by load (others 100
    and 90), of which seed 1 has none where the original has none."""
    runs: dict[str, Any] = {}
    for n, size in enumerate(datacenter.SIZES):
        for load in datacenter.LOADS:
            drops = dropped.get(load, (100, 90))
            runs[datacenter.row_name(size, load)] = {
                side: {
                    seed: {"results": {"fct_mean_us": 1000 - gain, "dropped": drop if seed == 1 or drops[0] else 50}}
                    for seed in (1, 2, 3)
                }
                for side, gain, drop in (("original", 0, drops[0]), ("jfepm", 10 * (4 - n), drops[1]))
            }
    return runs


def test_a_load_without_drops_has_no_percentage() -> None:
    """Seed 1 drops nothing at load 0.1, with JFEPM 7: no percentage there, nor part in the mean; -7 packets count in the mean gain."""
    table = plan.table_of("002", "tables-reno")
    made = gains.gains(table, sweep_runs({0.1: (0, 7)}))
    assert made
    line = next(one for one in made["lines"] if one["of"] == "dropped")
    assert line["without"] == [0.1] and "0.1" not in line["by_load"] and line["gain_by_load"]["0.1"]["mean"] == -7 / 3
    mean, percent = line["measured"][2], line["measured"][5]
    assert (
        abs(mean["mean"] - (9 * 10 - 7 / 3) / 10) < 1e-9 and abs(percent["mean"] - 10) < 1e-9 and percent["half"] < 1e-9
    )
    assert "dropped packets at 800 bytes without 0.1;" in gains_report.without(made["lines"])[0]
    # nowhere a drop: no percentage at all, and nothing to decide
    made = gains.gains(table, sweep_runs(dict.fromkeys(datacenter.LOADS, (0, 0))))
    assert made and made["lines"][4]["measured"][3:] == [None] * 3


def test_a_sweep_of_paper_002_is_read_as_the_rule_says() -> None:
    """The mean gain over ten loads falls as packets grow, three rows, and is above 0, four rows; without JFEPM all sizes are alike."""
    table = plan.table_of("002", "tables-reno")
    runs = sweep_runs({})
    made = gains.gains(table, runs)
    assert made
    assert {c["name"]: (c["verdict"], len(c["rows"])) for c in made["claims"]} == {
        "gain-fct_mean_us": (HOLDS, 3), "above-fct_mean_us": (HOLDS, 4),
        "gain-dropped": (UNDECIDED, 3), "above-dropped": (HOLDS, 4),
        "figure-4.2": (UNDECIDED, 6), "figure-4.3": (UNDECIDED, 6),
    }  # fmt: skip
    assert made["lines"][0]["measured"][2]["mean"] == 40 and made["lines"][0]["printed"][2] == 49.91
    del runs["800-0.3"]
    assert gains.gains(table, runs) is None, "never a gain over some of the loads"


def test_a_sweep_of_paper_002_has_a_line_for_each_load_and_its_figures(tmp_path: Path) -> None:
    """Of made-up runs as files: forty lines, and eighty of all metrics, four figures. Seed 1 drops nothing with JFEPM nor without at load
    0.2: no row of the claim of fewer drops; at 0.1 it drops with JFEPM alone, which is one: 36 of 40 are judged, in 4 of which the interval has 0."""
    table = plan.table_of("002", "tables-reno")
    rest = dict.fromkeys(table.metrics, 0)
    for row, sides in sweep_runs({0.1: (0, 7), 0.2: (0, 0)}).items():
        for side, seeds in sides.items():
            for seed, run in seeds.items():
                file = tmp_path / plan.Run(table, row, side, "golden", seed).file
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(
                    json.dumps(
                        {"results": rest | run["results"], "wall_s": 1.0, "cpu_s": 1.5, "memory_kib": 1024, "core": {}}
                    )
                )
    made = json.loads(json.dumps(tables.make(tmp_path, table, quick=False)))
    summary, body = report.section(tmp_path, table, made, quick=False)
    assert (
        len(summary) == 3 + 6
        and sum(line.startswith(f"| 002 | {table.title} | the mean gain") for line in summary) == 4
    )
    drops = next(c for c in made["claims"] if c["name"] == "drops")
    assert (
        drops["without"] == [f"{size}-0.2" for size in datacenter.SIZES]
        and drops["rows_of_the_claim"] == len(drops["rows"]) == 36
    )
    undecided = {row for row, j in drops["rows"].items() if j["verdict"] == UNDECIDED}
    assert undecided == {f"{size}-0.1" for size in datacenter.SIZES}
    assert drops["verdict"] == HOLDS and any("Left out: 800-0.2, 1000-0.2" in line for line in body)
    lines = [line for line in body if line.startswith(("| 800 |", "| 1000 |", "| 1200 |", "| 1460 |"))]
    assert len(lines) == 40 and "| 1,000 ± 0 | 960 ± 0 | 40 ± 0 | 4 ± 0 |" in lines[0] and lines[0].endswith("| none |")
    assert sum(line.startswith(("| 800-", "| 1000-", "| 1200-", "| 1460-")) for line in body) == 80
    for name in ("load", "gain", "fct_mean_us", "dropped"):
        assert (tmp_path / "report" / f"002-tables-reno-{name}.png").stat().st_size > 10000


def test_a_file_has_one_set_of_options() -> None:
    """Also where several rows or tables have a run; and the quick slice has the RTL in every paper."""
    for quick in (False, True):
        options: dict[str, Any] = {}
        for run in plan.runs(quick):
            assert options.setdefault(run.file, run.options(quick)) == run.options(quick)
        files = [r for r in plan.runs(quick) if r.queue == "rtl"]
        assert {r.table.paper for r in files} == {"000", "001", "002", "003", "004"}


def table1() -> plan.Table:
    """003's first table, also of a plan that a test has changed."""
    return plan.table_of("003", "table1")


def result(dropped: int, trace_hash: str, compared: int = 10) -> dict[str, Any]:
    """A run's file with what a table of 003 needs."""
    names = ("arrived", "dropped", "loss_percent", "overflow", "average_sd")
    return {
        "parameters": {"late": 10}, "series": {"packets": [3, 5], "average": [1, 2.5], "drops_per_s": [0] * 8 + [1, 2, 50]},
        "results": dict.fromkeys(names, 0) | {"dropped": dropped, "loss_percent": dropped}, "goodput_bytes": 5, "wall_s": 1.0,
        "cpu_s": 1.5, "memory_kib": 1024, "sources": "03" * 32,
        "core": {"trace_hash": trace_hash, "records": 10, "compared": compared, "cycles": 1, "rtl": "01" * 32},
    }  # fmt: skip


def write(folder: Path, golden_hash: str, compared: int = 10) -> None:
    """Runs of one row, RED and ISRED, three seeds of ten."""
    for side, dropped in (("red", 20), ("isred", 10)):
        for queue in ("rtl", "golden"):
            for seed in (1, 2, 3):
                file = folder / plan.Run(table1(), "30", side, queue, seed).file
                file.parent.mkdir(parents=True, exist_ok=True)
                known = golden_hash if queue == "golden" else "aa"
                file.write_text(json.dumps(result(dropped + seed, known, compared)))


def test_a_table_has_printed_and_measured_values_and_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """21, 22, 23 against 11, 12, 13: the difference is 10 in each seed."""
    write(tmp_path, "aa")
    made = tables.make(tmp_path, table1(), quick=False)
    assert made["rows"][0]["sides"]["red"]["queue"] == "golden", "seven of ten runs of the RTL are missing"
    monkeypatch.setattr(
        plan, "TABLES", tuple(dataclasses.replace(t, seeds=(1, 2, 3)) if t.name == "table1" else t for t in plan.TABLES)
    )
    made = tables.make(tmp_path, table1(), quick=False)
    side = made["rows"][0]["sides"]["red"]
    assert side["printed"]["dropped"] == 889.5 and side["measured"]["rtl"]["dropped"]["mean"] == 22
    assert side["queue"] == "rtl" and side["records_compared"] == 30
    claims = {c["name"]: c for c in made["claims"]}
    assert claims["loss-many"]["verdict"] == HOLDS and claims["loss-many"]["rows"]["30"]["difference"] == -10
    # |3 - 1| and |5 - 2.5|; 1 and 2 in the first ten seconds
    assert side["measured"]["rtl"]["mismatch"]["mean"] == 2.25 and side["measured"]["rtl"]["dropped_first"]["mean"] == 3
    assert set(claims["initially"]["rows"]) == {"30"}
    assert claims["overflow"]["verdict"] == UNDECIDED and "loss-few" not in claims


def test_a_mean_of_nothing_is_no_value() -> None:
    """null in a run: it does not count in the mean, and its seed is no part of the row; of none at all the cell is empty."""
    runs = {s: {"results": {"fct_small_us": v}} for s, v in ((1, 10), (2, None), (3, 20))}
    assert tables.spread(runs, "fct_small_us") | {"half": 0} == {"mean": 15, "half": 0, "seeds": 2}
    nothing = tables.spread({1: {"results": {"fct_small_us": None}}}, "fct_small_us")
    assert nothing == {"mean": None, "half": None, "seeds": 0} and gains_report.with_spread(nothing) == ""
    a = {s: tables.metric(run, "fct_small_us") for s, run in runs.items()}
    verdict, difference = row_verdict(a, dict.fromkeys(a, 5.0), 1)
    assert verdict == UNDECIDED and difference and (difference.mean, difference.count) == (10, 2)


def test_a_run_that_several_rows_are_compared_with_counts_once(tmp_path: Path) -> None:
    """The same RED runs in two rows: three runs of RED and three of ISRED in each row, of other traces, are nine."""
    write(tmp_path, "aa")
    made = tables.make(tmp_path, table1(), quick=False)
    assert report.cost_rows(made)[0].startswith("60 records of the RTL, all equal to the golden model's (6 cycles). ")
    other = copy.deepcopy(made["rows"][0])
    for core in other["sides"]["isred"]["core"].values():
        core["trace_hash"] = "cc"
    made["rows"].append(other)
    assert report.cost_rows(made)[0].startswith("90 records of the RTL, all equal to the golden model's (9 cycles). ")


def test_a_table_says_which_rtl_it_is_of_and_what_it_cost(tmp_path: Path) -> None:
    """Two sides, three seeds, two queues, 1.5 s each; a run of another RTL among them is no part of a table."""
    write(tmp_path, "aa")
    made = tables.make(tmp_path, table1(), quick=False)
    assert made["rtl"] == "01" * 32 and made["cost"] == {q: {"runs": 6, "cpu_s": 9.0} for q in ("golden", "rtl")}
    line = report.cost_rows(made)[0]
    assert line.endswith(
        " Runs and their CPU time: golden 6 in 9 s, rtl 6 in 9 s."
        " SHA-256 of the RTL's Verilog 0101010101010101…, of the programs' sources 0303030303030303…."
    )
    twice = [run for run in plan.runs(False) if run.table is table1()] * 2
    assert tables.cost(tmp_path, twice) == made["cost"], "a run that two tables have counts once"
    file = tmp_path / plan.Run(table1(), "30", "red", "rtl", 2).file
    for now, other, what in (("01", "02", "RTL"), ("03", "04", "programs")):
        before = file.read_text()
        file.write_text(before.replace(now * 32, other * 32))
        with pytest.raises(tables.Disagreement, match=f"003 table1, {what} of its runs: 2 versions"):
            tables.make(tmp_path, table1(), quick=False)
        file.write_text(before)


def test_a_run_of_another_version_than_is_built_makes_no_table(tmp_path: Path) -> None:
    """Of other sources, or of another RTL of its core; what is not known is not compared."""
    write(tmp_path, "aa")
    table = table1()
    file = tmp_path / plan.Run(table, "30", "red", "rtl", 2).file
    run = json.loads(file.read_text())
    run["parameters"]["core"] = "network"
    file.write_text(json.dumps(run))
    alike = tables.Versions("03" * 32, {"network": "01" * 32, "network-jumbo": "05" * 32})
    assert (
        tables.make(tmp_path, table, False, alike)["rows"] and tables.make(tmp_path, table, False, tables.ANY)["rows"]
    )
    for now, what in (
        (tables.Versions("04" * 32), "sources, SHA-256 0303030303030303…, than what is built, 0404040404040404…"),
        (tables.Versions(None, {"network": "02" * 32}), "RTL, SHA-256 0101010101010101…, than what is built, 0202020202020202…"),
    ):  # fmt: skip
        with pytest.raises(tables.Disagreement, match=rf"-rtl-\d\.json: of other {what}; run `make reproduce`"):
            tables.make(tmp_path, table, False, now)


def test_a_program_says_what_it_was_built_from(tmp_path: Path) -> None:
    """The library does, beside which it was copied; a program with a library of other sources runs nothing."""
    for name in ("bin/isred", "libweir-ns3.so"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "build" / "ns3" / name, tmp_path / name)
    isred = tmp_path / "bin" / "isred"
    loaded = subprocess.run(["ldd", isred], capture_output=True, text=True, check=True).stdout
    assert str(ROOT / "build" / "ns3") not in loaded and f"{tmp_path}/bin/../libweir-ns3.so" in loaded
    said = tables.Versions.of(isred, tmp_path).sources
    run = [isred, "--queue=golden", "--duration=0.1"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert said and len(said) == 64 and json.loads(done.stdout)["sources"] == said
    library = tmp_path / "libweir-ns3.so"
    library.write_bytes(library.read_bytes().replace(said.encode(), b"0" * 64))
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr == (
        "isred: program and libweir-ns3.so are of different sources; run `make ns3`, or copy both\n"
    )
    assert tables.Versions.of(tmp_path / "nowhere", tmp_path) == tables.ANY


def test_the_report_is_by_paper_and_in_the_plans_order() -> None:
    papers = [t.paper for t in plan.TABLES]
    assert papers == sorted(papers)
    first, second = (t for t in plan.TABLES if t.paper == "003" and not t.title.startswith("Control"))
    other = next(t for t in plan.TABLES if t.paper == "000")
    rows = [
        f"| {t.paper} | {t.title} | a claim | {word} |\n"
        for t, word in ((second, "holds"), (first, "holds"), (other, "x"))
    ]
    gone = "| 003 | no longer | a claim | holds |\n"
    sections = [f"{report.heading(t)}\n\n| 128 | fn | {t.name} |\n\n" for t in (second, first, other)]
    old = "## 003: ISRED against RED. no longer\n\nrows\n\n"
    page = (
        "# Title\n\n## Verdicts\n\n" + gone + "".join(rows) + "\n" + old + "".join(sections) + "## Not run\n\n- 001\n"
    )
    assert report.in_order(page) == (
        "# Title\n\n## Verdicts\n\n"
        + "".join(rows[::-1])
        + gone
        + "\n"
        + "".join(sections[::-1])
        + old
        + "## Not run\n\n- 001\n"
    )


def test_a_table_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (ROOT / report.KEPT / "report.md").read_bytes()
    monkeypatch.setattr(sys, "argv", ["report.py", "splice", str(tmp_path), "003/table1"])
    assert report.main() == 1
    assert capsys.readouterr().err == f"report: 003/table1 is not in {tmp_path}; `run.py --table 003/table1` makes it\n"
    assert (ROOT / report.KEPT / "report.md").read_bytes() == before


def test_only_a_whole_table_of_the_plan_goes_to_the_docs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """003's first table has 7 rows, 4 sides with two queues, RED a third, ten seeds: 630 runs; twelve are there."""
    write(tmp_path, "aa")
    of = table1()
    file = tmp_path / of.paper / f"{of.name}.json"
    file.parent.mkdir()
    file.write_text(json.dumps(tables.make(tmp_path, of, quick=False)))
    planned = [r for r in plan.runs(False) if r.table is of]
    assert len(planned) == 630 and report.refused(tmp_path, plan.TABLES)
    assert capsys.readouterr().err.startswith(
        "report: 003 table1: 618 runs of the plan are missing (runs/003/table1/15-"
    )
    for run in planned:
        (tmp_path / run.file).touch()
    assert report.unfit(tmp_path, of) == "003 table1: it has other rows and claims than the plan; make the table again"
    keys = ("name", "text", "metric", "sign", "a", "b")
    whole = {
        "seeds": list(range(1, 11)), "rows": [{"row": row} for row in of.rows], "options": of.options,
        "claims": [{key: getattr(claim, key) for key in keys} for claim in of.claims],
    }  # fmt: skip
    file.write_text(json.dumps(whole))
    assert report.unfit(tmp_path, of) is None and not report.refused(tmp_path, plan.TABLES)
    file.write_text(json.dumps(whole | {"seeds": [1, 2, 3]}))
    assert report.unfit(tmp_path, of) == "003 table1: it has other seeds than the plan; make the table again"


def test_drops_of_splits_and_what_comes_behind_a_stop_are_in_the_tables() -> None:
    """Of three sources with a stop the one whose last byte came latest; none where none stops."""
    assert tables.metric({"results": {}, "after_stop_s": [0.25, 1.5, -0.1]}, "after_stop_s") == 1.5
    assert math.isnan(tables.metric({"results": {}}, "after_stop_s"))
    assert tables.metric({"results": {"dropped_split": 4}}, "dropped_split") == 4
    for paper, name in (("001", "after_stop_s"), ("002", "dropped_split")):
        assert all(name in t.metrics and name in report.UNITS for t in plan.TABLES if t.paper == paper)


def test_the_order_of_the_queues_is_by_intervals() -> None:
    """Made up: 30 ± 1, 29 ± 0.5, 20 ± 1; printed 30, 30, 40. 30 and 29 overlap, 29 and 20 do not."""
    sides = {
        name: {
            "queue": "rtl",
            "printed": {"sent_bytes": p},
            "measured": {"rtl": {"sent_bytes": {"mean": m, "half": h}}},
        }
        for name, p, m, h in (("drop-tail", 30, 30, 1), ("red", 30, 29, 0.5), ("red-ecn", 40, 20, 1))
    }
    lines = report.order_rows({"rows": [{"row": "A", "sides": sides}]})
    assert lines[2:] == ["| A | sent, bytes | red-ecn > drop-tail = red | drop-tail = red > red-ecn |"]


def test_a_table_that_was_made_again_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its section and its verdicts change, those of the other tables stay."""
    monkeypatch.setattr(report, "figures", lambda *_: ["![x](x.png)"])
    write(tmp_path, "aa")
    of, other = table1(), plan.table_of("003", "table1-half")
    made = tables.make(tmp_path, of, quick=False) | {"commit": "0123abc", "date": "2026-01-02"}
    summary, body = report.section(tmp_path, of, made, quick=False)
    assert any("Made of commit 0123abc, 2026-01-02." in line for line in body)
    rest = [report.heading(other), "", "what was", "", "## Not run", ""]
    stale = [f"| {of.paper} | {of.title} | {c['text']} | stale |" for c in made["claims"]]
    foreign = f"| {other.paper} | {other.title} | a claim | holds |"
    page = "\n".join(["# Head", "", *stale, foreign, "", report.heading(of), "", "stale", "", *rest]) + "\n"
    now = report.spliced(page, of, summary, body)
    assert now == "\n".join(["# Head", "", *summary, foreign, "", *body, *rest]) + "\n" and "stale" not in now
    # one that the report does not have comes behind its paper's
    last = report.heading(other)
    summary = [line.replace(of.title, "New") for line in summary]
    new = dataclasses.replace(of, name="new", title="New")
    now = report.spliced(page, new, summary, [report.heading(new), "", "x", ""])
    assert now.index(last) < now.index("\n## 003: ISRED against RED. New\n\nx\n\n## Not run\n")
    assert f"{foreign}\n{summary[0]}\n" in now and now.count("| New |") == len(summary)
    with pytest.raises(ValueError, match="nothing of paper 000"):
        report.spliced(page, dataclasses.replace(new, paper="000"), [], [])
    fewer = report.spliced(page, of, summary[:2], body)
    assert fewer.count(f"| {of.paper} | New |") == 2, "it may have other claims than before"


def test_a_table_that_the_plan_has_no_longer_leaves_the_report() -> None:
    """Its section and its verdicts; nothing else."""
    of = table1()
    kept = [
        "# Head",
        "",
        "## Verdicts",
        "",
        f"| {of.paper} | {of.title} | a claim | holds |",
        "",
        report.heading(of),
        "",
        "x",
        "",
        "## Not run",
        "- 000: x",
    ]
    old = [f"| {of.paper} | Old | a claim | holds |"]
    page = (
        "\n".join(
            [*kept[:5], *old, *kept[5:10], "## 003: ISRED against RED. Old", "", "| a | b | c | d |", "", *kept[10:]]
        )
        + "\n"
    )
    assert report.pruned(page) == "\n".join(kept) + "\n" and report.pruned(report.pruned(page)) == report.pruned(page)


def test_the_report_says_which_tables_are_of_one_version() -> None:
    """Made up: two tables of the same programs and RTL, made on two days; one of the same programs with other RTL, one of other programs without, one
    that does not tell."""
    tables_of = [("003", "a", "11", "aa", 1), ("004", "b", "11", "aa", 3), ("001", "e", "11", "bb", 2), ("000", "c", "22", None, 2), ("002", "d", None, None, 1)]  # fmt: skip
    made = [
        {"paper": paper, "table": name, "sources": s and s * 32, "rtl": r and r * 32, "commit": f"{name}000000", "date": f"2026-01-0{day}"}
        for paper, name, s, r, day in tables_of
    ]  # fmt: skip
    all_of_them = len(plan.TABLES)
    lines = [
        f"| {'11' * 8}… | {'aa' * 8}… | 2 of {all_of_them}: 003 a, 004 b | a000000, b000000 | 2026-01-01 to 2026-01-03 |",
        f"| {'11' * 8}… | {'bb' * 8}… | 1 of {all_of_them}: 001 e | e000000 | 2026-01-02 |",
        f"| {'22' * 8}… | none | 1 of {all_of_them}: 000 c | c000000 | 2026-01-02 |",
        "",
        f"Of {all_of_them - 4} tables it is not known, or they were not run.",
    ]
    page = "# Head\n\n## Verdicts\n\n| x |\n"
    once = report.with_versions(page, made)
    assert (
        "\n".join(lines) in once
        and once.startswith("# Head\n\n## Made of\n")
        and once.endswith("\n## Verdicts\n\n| x |\n")
    )
    assert report.with_versions(once, made) == once, "in place of the one before"


def test_the_figures_show_every_side_and_every_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All six queues of 001 in 001-*-queue, RED and ISRED alone in 003's Figures 3 and 7."""
    series = {"time": [0, 1], "packets": [1, 2], "average": [0, 1], "arrivals_per_s": [3] * 31, "drops_per_s": [1]}
    shown: list[list[str]] = []
    drawn = {"over_time": plots.over_time, "rates_over_time": plots.rates_over_time}
    for name, draw in drawn.items():

        def noted(of: dict[str, Any], *rest: Any, draw: Any = draw) -> None:
            shown.append([side.split(",")[0] for side in of])
            draw(of, *rest)

        monkeypatch.setattr(plots, name, noted)
    run = {"series": series, "parameters": {"duration": 30}, "experiment": "made up"}
    monkeypatch.setattr(report, "load", lambda *_: {1: run})
    for paper, name in (("001", "tables-reno"), ("003", "table1")):
        of = next(t for t in plan.TABLES if (t.paper, t.name) == (paper, name))
        value = {
            "queue": "rtl",
            "measured": {"rtl": {m: {"mean": 1.0, "half": 0.1} for m in of.metrics}},
            "printed": {},
        }
        table = {"paper": paper, "table": name, "title": of.title, "shortened": False,
                 "rows": [{"row": row, "sides": dict.fromkeys(of.sides, value)} for row in of.rows]}  # fmt: skip
        for line in report.figures(tmp_path, table, of):
            assert (tmp_path / "report" / line.split("(")[1].rstrip(")")).stat().st_size > 1000
    of_001, of_003 = (next(t for t in plan.TABLES if t.paper == paper) for paper in ("001", "003"))
    assert shown == [list(of_001.sides), list(of_003.sides), ["red", "isred"]] and len(of_001.sides) == 6


def test_the_report_of_the_docs_has_its_figures_beside_it() -> None:
    """As HTML, which `make docs` makes of it; each figure and each table's values are of the report."""
    kept = ROOT / report.KEPT
    figures = re.findall(r'src="([^"]+)"', report.as_html((kept / "report.md").read_text()))
    assert len(figures) > 30 and sorted(figures) == sorted(file.name for file in kept.glob("*.png"))
    assert {file.suffix for file in kept.iterdir()} == {".png", ".json", ".md"}, "no generated twin of the report"


@pytest.mark.parametrize("golden_hash,compared,why", [("bb", 10, "different traces"), ("aa", 9, "9 of 10 records")])
def test_a_table_is_refused_if_rtl_and_golden_model_differ(
    tmp_path: Path, golden_hash: str, compared: int, why: str
) -> None:
    """Never a table of runs that disagree."""
    write(tmp_path, golden_hash, compared)
    with pytest.raises(tables.Disagreement, match=why):
        tables.make(tmp_path, table1(), quick=False)


def test_a_run_of_the_rtl_needs_one_of_the_golden_model(tmp_path: Path) -> None:
    """Nothing that was not compared."""
    write(tmp_path, "aa")
    (tmp_path / plan.Run(table1(), "30", "isred", "golden", 3).file).unlink()
    with pytest.raises(tables.Disagreement, match="30, isred, seed 3: no run of the golden model"):
        tables.make(tmp_path, table1(), quick=False)


@pytest.mark.parametrize("name", ["004/table2-20-persistent", "002/tables-newreno"])
def test_the_workflow_makes_a_table_of_all_its_runs(tmp_path: Path, name: str) -> None:
    """Also of those that a sweep has too."""
    command = [
        sys.executable,
        ROOT / "sim" / "reproduce" / "run.py",
        "--folder",
        tmp_path,
        "--table",
        name,
        "--",
        "--dry-run",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    planned = {r.file for r in plan.runs(False) if f"{r.table.paper}/{r.table.name}" == name}
    assert set(re.findall(r"^run +(\d+)$", done.stdout + done.stderr, re.MULTILINE)) == {str(len(planned))}


def test_asking_what_would_run_takes_nothing_away(tmp_path: Path) -> None:
    """The report of before stays, and would be made again."""
    page = tmp_path / "report" / "index.html"
    page.parent.mkdir()
    page.write_text("before")
    command = [
        sys.executable,
        ROOT / "sim" / "reproduce" / "run.py",
        "--quick",
        "--folder",
        tmp_path,
        "--",
        "--dry-run",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert re.search(r"^report +1$", done.stdout + done.stderr, re.MULTILINE) and page.read_text() == "before"


def test_a_failed_run_stops_no_other_and_only_other_content_runs_again(tmp_path: Path) -> None:
    """A program that fails with seed 2: the others run, the failed one is named. Made whole, with another time or another content:
    what is not there runs, nothing, everything."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in {t.program for t in plan.TABLES}:
        (programs / name).write_text("#!/bin/sh\nexit 1\n")
        (programs / name).chmod(0o755)
    (tmp_path / "libweir-ns3.so").write_text("of before")
    isred = programs / "isred"

    def write(body: str) -> None:
        isred.write_text(
            f'#!/bin/sh\nfor word; do case $word in --seed=*) seed=$word;; --out=*) out="${{word#--out=}}";; esac; done\n{body}\necho "{{}}" > "$out"\n'
        )

    def go() -> tuple[int, set[str], str]:
        """Exit code, files that were written, what was told."""
        before = {f: f.stat().st_mtime_ns for f in (tmp_path / "results").glob("runs/003/table1/*.json")}
        command = [sys.executable, ROOT / "sim" / "reproduce" / "run.py", "--folder", tmp_path / "results", "--programs", programs,
                   "--table", "003/table1", "--quick", "--without-rtl", "--cores", "4"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        now = {f: f.stat().st_mtime_ns for f in (tmp_path / "results").glob("runs/003/table1/*.json")}
        return done.returncode, {f.name for f in now if now[f] != before.get(f)}, done.stderr

    everything = {Path(r.file).name for r in plan.runs(True, ("003",), True) if r.table.name == "table1"}
    second = {name for name in everything if name.endswith("-2.json")}
    write('test "$seed" != --seed=2 || exit 1')
    code, made, told = go()
    assert code != 0 and made == everything - second and len(everything) == 18 and len(second) == 6
    assert "reproduce: 6 runs failed or were not made\n  runs/003/table1/15-isred-golden-2.json\n" in told
    isred.touch()
    code, made, _ = go()
    assert code != 0 and not made, "another time is no other program"
    write("")
    for kind in ("input", "output"):  # as Snakemake leaves it where it is killed
        lock = tmp_path / "results" / ".snakemake" / "locks" / f"0.{kind}.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.write_text("".join(f"runs/003/table1/{name}\n" for name in sorted(everything)))
    code, made, told = go()
    assert "its lock is taken away" in told and not lock.exists()
    assert code != 0 and made == everything, "the table is not made of what such a program writes"
    assert "were not made" not in told, "all runs are there"
    (tmp_path / "libweir-ns3.so").write_text("of now")
    assert go()[1] == everything, "another library is another content"
    with (tmp_path / "results" / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        code, made, told = go()
    assert code == 1 and not made and told == f"reproduce: another run is at work in {tmp_path / 'results'}\n"
    (tmp_path / "libweir-ns3.so").unlink()
    code, made, told = go()
    assert (
        code == 1
        and not made
        and told.startswith(f"reproduce: {tmp_path / 'libweir-ns3.so'} is missing, which the programs use;")
    )


def test_the_ratio_is_of_wall_times(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A run of 003 for real; and the arithmetic: 2 s of 0.5 are 4.0 times, 3 s of processors 6.0, in turns 5.0."""
    done = subprocess.run(
        [sys.executable, ROOT / "sim" / "reproduce" / "ratios.py", "--only", "003", "--runs", "1"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "| 003, RED, 30 sources, 30 s |" in done.stdout and done.stdout.count("\n") == 3
    costs = {("ns3", "on"): (0.5, 0.5), ("rtl", "on"): (2.0, 3.0), ("rtl", "off"): (2.5, 2.5)}
    monkeypatch.setattr(ratios, "run", lambda case, queue, thread: ratios.Cost(*costs[queue, thread]))
    monkeypatch.setattr(sys, "argv", ["ratios.py", "--only", "002"])
    assert ratios.main() == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert len(rows) == (len(datacenter.SIZES) + 3) * len(datacenter.FOUR) + 1, "with one size of three more TCPs"
    assert rows[0] == "| 002, 800 bytes, load 0.1 | 0.50 s | 2.00 s | 2.50 s | **4.0** | 6.0 | 5.0 |"
    assert rows[-1] == "| 002, together | 14.00 s | 56.00 s | 70.00 s | **4.0** | 6.0 | 5.0 |"


def test_without_the_cycle_model_nothing_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The quick slice, too: one line, and an exit code."""
    monkeypatch.setattr(workflow, "MODELS", [ROOT / "build" / "model" / "nowhere" / "libweir_model.so"])
    monkeypatch.setattr(sys, "argv", ["run.py", "--quick"])
    assert workflow.main() == 1
    told = capsys.readouterr()
    assert told.err == "reproduce: the cycle model is missing: build/model/nowhere/libweir_model.so; run `make model`\n"
    assert not told.out


@pytest.mark.parametrize(
    "words,message",
    [
        (["--papers", "007"], "not one of 000, 001"),
        (["--cores", "0"], "--cores 0: must be 1 or more"),
        (["--papers", "004", "--table", "003/table1"], "003/table1 is not of the papers 004"),
        (["--quick", "--table", "004/grid-fn-10"], "004/grid-fn-10 is not part of the quick slice"),
        (["--foo"], "unrecognized arguments: --foo"),
        (["--table", "003/tabel"], "invalid choice: '003/tabel' (choose from '000/figures', "),
        (["--cores", "two"], "invalid int value: 'two'"),
    ],
)
def test_bad_input_is_one_line(words: list[str], message: str) -> None:
    """Before anything runs."""
    command = [sys.executable, ROOT / "sim" / "reproduce" / "run.py", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


@pytest.mark.parametrize(
    ("table", "longest"),
    [
        ("000/figures", "2"),
        pytest.param("003/control-m", "0.6", marks=[pytest.mark.long, pytest.mark.full]),
    ],
)  # tables made since idle time begins at a grant (CHANGELOG); the others are of models before
def test_the_programs_give_the_traces_of_the_report(
    table: str, longest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its shortest runs, of seed 1; cells of a control. A report of another trace or of another mean is told."""
    words = ["same", "--table", table, "--longest", longest]
    monkeypatch.setattr(sys, "argv", words)
    assert same.main() == 0
    whole = re.search(r"\n(\d+) of \1 are as in the report\n", capsys.readouterr().out)
    assert whole and int(whole[1]) >= 2
    kept = same.REPORT / f"{table.replace('/', '-')}.json"
    errors: tuple[tuple[str, object, str], ...] = (("trace_hash", "0" * 32, "another trace than the report's"),)
    if plan.table_of(*table.split("/")).golden_only:
        errors = (("dropped", {"mean": 1.0, "half": 0.0, "seeds": 10}, "other values than the report's: dropped\n"),)
    for key, other, told in errors:
        changed = json.loads(kept.read_text())
        for side in (s for row in changed["rows"] for s in row["sides"].values()):
            (side["core"].get("1") or side["measured"]["golden"])[key] = other
        (tmp_path / kept.name).write_text(json.dumps(changed))
        monkeypatch.setattr(same, "REPORT", tmp_path)
        assert same.main() == 1
        err = capsys.readouterr().err
        assert err.count(told) == err.count("\n") == int(whole[1])
        monkeypatch.setattr(same, "REPORT", ROOT / "docs" / "reproduced")


def test_values_and_figures_that_the_report_has_no_longer_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`report.py prune`, in the docs of another tree."""
    kept = tmp_path / "docs" / "reproduced"
    kept.mkdir(parents=True)
    page = (ROOT / report.KEPT / "report.md").read_text()
    (kept / "report.md").write_text(page)
    for name in ("003-table1.json", "003-table1-queue.png", "003-loads.json", "003-loads-gain.png"):
        (kept / name).write_text("")
    monkeypatch.setattr(report, "ROOT", tmp_path)
    report.prune()
    assert sorted(f.name for f in kept.iterdir()) == ["003-table1-queue.png", "003-table1.json", "report.md"]
    assert (kept / "report.md").read_text() == page


def test_a_model_from_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would stand for every core."""
    monkeypatch.setenv("WEIR_MODEL", "/nowhere")
    assert workflow.missing(False) == "WEIR_MODEL is set: every core would be that model; unset it"


def test_a_profile_runs_it_elsewhere(tmp_path: Path) -> None:
    """Two runs as jobs of a cluster, whose queue is a shell: what is submitted runs by itself, and the results are those of the same run."""
    submit = tmp_path / "submit.sh"
    submit.write_text(f'echo "$1" >> {tmp_path}/submitted\nsetsid sh "$1" > {tmp_path}/$$.log 2>&1 &\necho $!\n')
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile" / "config.yaml").write_text(
        f"executor: cluster-generic\ncluster-generic-submit-cmd: sh {submit}\njobs: 2\nlatency-wait: 30\nseconds-between-status-checks: 1\n"
    )
    wanted = [plan.Run(table1(), "15", "red", queue, 1).file for queue in ("rtl", "golden")]
    done = subprocess.run(
        [sys.executable, ROOT / "sim" / "reproduce" / "run.py", "--quick", "--folder", tmp_path / "results",
         "--", "--profile", tmp_path / "profile", "--", *wanted],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert len((tmp_path / "submitted").read_text().splitlines()) == 2
    rtl, golden = (json.loads((tmp_path / "results" / file).read_text())["core"] for file in wanted)
    assert rtl["compared"] == rtl["records"] > 1000 and rtl["trace_hash"] == golden["trace_hash"]


@pytest.mark.slow(110)
def test_the_quick_slice_runs_with_the_rtl() -> None:
    """`make reproduce QUICK=1`: every table but the sweeps has RTL runs whose records were all compared, and there is a report."""
    folder = ROOT / "build" / "reproduce" / "quick"
    subprocess.run(["rm", "-rf", folder], check=True)
    begin = time.monotonic()
    done = subprocess.run(
        ["make", "reproduce", "QUICK=1"], cwd=ROOT, capture_output=True, text=True, timeout=850, check=False
    )
    print(done.stdout[-600:], f"{time.monotonic() - begin:.0f} s")
    assert done.returncode == 0, done.stderr[-2000:]
    assert time.monotonic() - begin < 300, "within 5 minutes"
    made = [json.loads(f.read_text()) for f in sorted(folder.glob("0*/*.json"))]
    assert {t["paper"] for t in made} == {"000", "001", "002", "003", "004"}
    sweeps = [t for t in made if t["table"].startswith("grid-")]
    assert len(sweeps) == 2 and all(len(t["rows"]) == 2 for t in sweeps), "of the golden model"
    verilog = ROOT / "build" / "rtl" / "reduced"
    rtl = {
        core: hashlib.sha256(b"".join(f.read_bytes() for f in sorted((verilog / core).glob("*.v")))).hexdigest()
        for core in ("network", "network-jumbo")
    }
    for t in [t for t in made if t not in sweeps]:
        assert t["rtl"] == rtl["network-jumbo" if t["paper"] in ("000", "002") else "network"]
    ns3 = ROOT / "sim" / "ns3"
    parts = sorted(
        f.relative_to(ns3).as_posix() for d in ("experiments", "golden", "tcp", "weir") for f in (ns3 / d).iterdir()
    )
    sources = hashlib.sha256(b"".join((ns3 / part).read_bytes() for part in parts)).hexdigest()
    assert {t["sources"] for t in made} == {sources}
    for t in [t for t in made if t not in sweeps]:
        sides = [s for r in t["rows"] for s in r["sides"].values()]
        assert sides and all(s["queue"] == "rtl" and s["records_compared"] > 1000 for s in sides)
        assert t["claims"] and all(c["rows"] or c["without"] for c in t["claims"])
    page = (folder / "report" / "index.html").read_text()
    assert "Verdicts" in page and page.count("<img") >= 12

"""`weir-sim bench`: a row that is not of the case it is named for must not look reached."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weir_sim import bench
from weir_sim.errors import UsageError


@pytest.mark.parametrize(
    ("goal", "value", "reached"),
    [(">= 2", 2.0, True), (">= 2", 1.99, False), ("<= 40", 40, True), ("<= 40", 41, False), ("within 3", -2.9, True),
     ("within 3", -3.1, False), ("0", 0, True), ("0", -1, False), ("", 7, None)],
)  # fmt: skip
def test_goals(goal: str, value: float, reached: bool | None) -> None:
    assert bench.Row("x", value, "", goal, "").reached is reached


@pytest.mark.parametrize("overload", [False, True])
def test_line_rate_holds_its_own_conditions(overload: bool) -> None:
    rows = bench.line_rate("full", "64-byte", 60, 4, "red", overload, 1000)
    assert all(row.reached for row in rows), rows
    assert "NOT MEASURED" not in rows[0].how
    assert ("0 dropped" in rows[0].how) is not overload
    if not overload:
        assert rows[1].value <= 100.05


def test_merging_at_line_rate_holds_its_own_conditions() -> None:
    lost, use = bench.merge_rate("full", 46, 20, 240, 1000)
    assert lost.reached and "NOT MEASURED" not in lost.how and "4.0 packets a jumbo frame" in lost.how
    assert 99 < use.value <= 100.05


def test_merging_by_class_at_line_rate_holds_its_own_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    lost, _ = bench.merge_rate("full", 46, 1000, 9216, 1500, "class")
    assert lost.reached and "NOT MEASURED" not in lost.how
    monkeypatch.setattr(bench, "JFET", "1ns")
    (lost,) = bench.merge_rate("full", 46, 1000, 9216, 1500, "class")
    assert lost.reached is False and "NOT MEASURED: only" in lost.how


def test_mred_at_line_rate_holds_its_own_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = bench.mred_rate("full", 1500, 2000, 5e9)
    assert row.reached and "NOT MEASURED" not in row.how
    lost, used = bench.mred_rate("full", 46, 20000, 10e9)
    assert lost.reached and used.reached and used.goal
    monkeypatch.setattr(type(bench.Core().device), "mred", lambda *_: {})
    (row,) = bench.mred_rate("full", 1500, 2000, 5e9)
    assert row.reached is False and "fewer than 200 packets were dropped by MRED" in row.how


def test_only_what_is_asked_for_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {name: [bench.Row(name, 0, "", "", "")] for name in ("split, 46", "merge, 46")}
    monkeypatch.setattr(bench, "jobs", lambda preset, quick: [(name, lambda r=r: r) for name, r in rows.items()])
    assert bench.run(tmp_path / "b.json", "full", True, "merge") == 0
    assert [row["name"] for row in json.loads((tmp_path / "b.json").read_text())] == ["merge, 46"]
    with pytest.raises(UsageError, match="no job has 'absent' in its name"):
        bench.run(tmp_path / "b.json", "full", True, "absent")


def test_an_overload_that_drops_nothing_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "_limits", lambda size, cells, descriptors: {"limit_packets": descriptors})
    (row,) = bench.line_rate("full", "64-byte", 60, 1, "drop-tail", True, 200)
    assert row.reached is False
    assert "NOT MEASURED: the overload did not reach the limit" in row.how


def test_an_overfull_shuffle_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    original = bench._shuffle

    def overfill(core: bench.Core, rng: bench.np.random.Generator) -> None:
        original(core, rng)
        core.egress = "stopped"
        core.send_many(bytes(9000) * 120, [9000] * 120, [0] * 120)
        core.run_until(core.line_free_ns + 2000)
        core.egress = "mac"
        core.run_idle()

    monkeypatch.setattr(bench, "_shuffle", overfill)
    rows = bench.line_rate("full", "64-byte", 60, 1, "drop-tail", False, 200)
    assert rows[0].reached is False
    assert "the buffer overflowed before the measurement" in rows[0].how


def test_only_what_cannot_be_measured_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unmeasurable() -> list[bench.Row]:
        raise bench.BenchError("no average")

    slow = bench.Row("speed", 1.0, "Mcycle/s", ">= 2", "clock")
    monkeypatch.setattr(bench, "jobs", lambda preset, quick: [("slow", lambda: [slow])])
    assert bench.run(tmp_path / "b.json", "full", True) == 0
    assert "missed: speed: 1 Mcycle/s, goal >= 2" in capsys.readouterr().out
    assert json.loads((tmp_path / "b.json").read_text())[0]["value"] == 1.0
    monkeypatch.setattr(bench, "jobs", lambda preset, quick: [("bad", unmeasurable)])
    assert bench.run(tmp_path / "b.json", "full", True) == 1
    assert "NOT MEASURED: no average" in capsys.readouterr().out


def test_latency_is_taken_with_an_average_above_zero() -> None:
    first, record = bench.latency("full")
    assert first.value <= 40
    assert record.goal == ""


def test_every_policy_decides_every_four_cycles() -> None:
    records = {}
    for policy in ("red", "fn", "codel"):
        record, interval = bench.decisions("full", policy)
        assert interval.value == 4 and interval.reached
        records[policy] = record.value
        assert record.reached
    # verdicts come after 10 cycles, of FN after 20 (docs/policies.md); the record of each follows it as soon
    assert records["red"] > 10 and records["fn"] - records["red"] == 20 - 10


@pytest.mark.parametrize("policy", ["codel", "pi2"])
def test_policies_that_decide_at_departure_do_so_within_a_frame(policy: str) -> None:
    """Longer than the grant's walk and the question (docs/modules/codel.md, Timing), shorter than a minimum frame."""
    (row,) = bench.departures("full", policy)
    assert 4 < row.value <= 10.5 and row.reached

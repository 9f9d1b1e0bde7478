"""Paper 002: the gains of JFEPM at each packet size over all loads, as its tables have them, and the claims about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from datacenter import COLUMNS, GAINS, HEAVY, LOADS, PRINTED, SIZES, row_name
from experiment import Table
from verdicts import Spread, claim_verdict, row_verdict


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def gains(table: Table, runs: Mapping[str, Mapping[str, Mapping[int, Any]]]) -> dict[str, Any] | None:
    """Gains of each size over its loads, printed and measured, and the claims about them; None if not all rows are there.

    Args:
        runs: of each row and side the runs by seed.
    """
    if table.name.removeprefix("tables-") not in PRINTED or set(table.rows) - set(runs):
        return None
    printed = PRINTED[table.name.removeprefix("tables-")]

    def value(size: int, load: float, side: str, seed: int, name: str) -> float:
        return float(runs[row_name(size, load)][side][seed]["results"][name])

    seeds = sorted(set.intersection(*(set(side) for row in runs.values() for side in row.values())))
    lines, by_seed = [], {}
    for name in GAINS:
        for size in SIZES:
            before = {ld: {s: value(size, ld, "original", s, name) for s in seeds} for ld in LOADS}
            gain = {ld: {s: before[ld][s] - value(size, ld, "jfepm", s, name) for s in seeds} for ld in LOADS}
            percent = {
                ld: {s: 100 * gain[ld][s] / before[ld][s] if before[ld][s] else 0.0 for s in seeds} for ld in LOADS
            }
            by_seed[name, size] = {s: _mean([gain[ld][s] for ld in LOADS]) for s in seeds}
            most = max(LOADS, key=lambda ld: _mean(list(gain[ld].values())))
            most_percent = max(LOADS, key=lambda ld: _mean(list(percent[ld].values())))
            spreads = [Spread.of(list(v.values())) for v in (gain[most], by_seed[name, size], percent[most_percent])]
            spreads.append(Spread.of([_mean([percent[ld][s] for ld in LOADS]) for s in seeds]))
            numbers = [{"mean": s.mean, "half": s.half if s.count > 1 else None, "seeds": s.count} for s in spreads]
            lines.append({
                "of": name, "size": size, "printed": dict(zip(range(len(COLUMNS)), printed[name][size], strict=True)),
                "measured": [numbers[0], most, numbers[1], numbers[2], most_percent, numbers[3]],
                "by_load": {str(ld): {"mean": (p := Spread.of(list(percent[ld].values()))).mean, "half": p.half} for ld in LOADS},
            })  # fmt: skip
    claims = []
    for name, text in GAINS.items():
        judged = {}
        for small, large in zip(SIZES, SIZES[1:], strict=False):
            judged[f"{small} above {large}"] = row_verdict(by_seed[name, small], by_seed[name, large], 1)
        claims.append(_claim(f"gain-{name}", f"the mean gain ({text}) falls as packets grow", judged))
    for name, text, figure in (
        ("fct_mean_us", "flows complete sooner", "4.2"),
        ("dropped", "fewer packets are dropped", "4.3"),
    ):
        judged = {}
        for small, large in zip(SIZES, SIZES[1:], strict=False):
            for load in HEAVY:
                a, b = ({s: value(size, load, "original", s, name) for s in seeds} for size in (large, small))
                judged[f"{large} against {small} at {load}"] = row_verdict(a, b, -1)
        claims.append(
            _claim(
                f"figure-{figure}", f"{text} as packets grow, without JFEPM (Figure {figure}, loads from 0.7)", judged
            )
        )
    return {"lines": lines, "claims": claims}


def _claim(name: str, text: str, judged: dict[str, tuple[str, Spread | None]]) -> dict[str, Any]:
    rows = {
        r: {"verdict": v, "difference": d.mean if d else None, "half": d.half if d else None}
        for r, (v, d) in judged.items()
    }
    return {"name": name, "text": text, "rows": rows, "rows_of_the_claim": len(rows),
            "verdict": claim_verdict([v for v, _ in judged.values()])}  # fmt: skip

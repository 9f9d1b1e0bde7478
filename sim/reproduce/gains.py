"""Paper 002: the gains of JFEPM at each packet size over all loads, as its tables have them, and the claims about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from datacenter import COLUMNS, FLOWS, GAINS, HEAVY, LOADS, PRINTED, SIZES, row_name
from experiment import Table
from verdicts import Spread, claim_verdict, row_verdict

#: of a load or of several, by seed
BySeed = dict[int, float]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _number(values: BySeed) -> dict[str, Any]:
    s = Spread.of(list(values.values()))
    return {"mean": s.mean, "half": s.half if s.count > 1 else None, "seeds": s.count}


def _over(by_load: Mapping[float, BySeed]) -> BySeed:
    """Mean over the loads, of each seed."""
    seeds = next(iter(by_load.values()))
    return {s: _mean([of[s] for of in by_load.values()]) for s in seeds}


def _line(before: Mapping[float, BySeed], gain: Mapping[float, BySeed]) -> dict[str, Any]:
    """What a row of the paper's tables has. A load at which the original has nothing in some seed has no percentage."""
    percent = {ld: {s: 100 * gain[ld][s] / before[ld][s] for s in gain[ld]} for ld in gain if all(before[ld].values())}

    def highest(of: Mapping[float, BySeed]) -> float:
        return max(of, key=lambda ld: _mean(list(of[ld].values())))

    most = highest(gain)
    measured: list[Any] = [_number(gain[most]), most, _number(_over(gain)), None, None, None]
    if percent:
        most = highest(percent)
        measured[3:] = [_number(percent[most]), most, _number(_over(percent))]
    return {
        "measured": measured,
        "without": [ld for ld in gain if ld not in percent],
        "by_load": {str(ld): _number(percent[ld]) for ld in percent},
        "gain_by_load": {str(ld): _number(gain[ld]) for ld in gain},
    }


def gains(table: Table, runs: Mapping[str, Mapping[str, Mapping[int, Any]]]) -> dict[str, Any] | None:
    """Gains of each size over its loads, printed and measured, and the claims about them; of equal flow rates the claims about Figures 4.2
    and 4.3 alone. None if not all rows are there.

    Args:
        runs: of each row and side the runs by seed.
    """
    if table.name.startswith("control") or set(table.rows) - set(runs):
        return None
    printed = PRINTED[str(table.options["tcp"])]

    def value(size: int, load: float, side: str, seed: int, name: str) -> float:
        return float(runs[row_name(size, load)][side][seed]["results"][name])

    seeds = sorted(set.intersection(*(set(side) for row in runs.values() for side in row.values())))
    lines, by_seed = [], {}
    for name in GAINS:
        for size in () if table in FLOWS else SIZES:
            before = {ld: {s: value(size, ld, "original", s, name) for s in seeds} for ld in LOADS}
            gain = {ld: {s: before[ld][s] - value(size, ld, "jfepm", s, name) for s in seeds} for ld in LOADS}
            by_seed[name, size] = _over(gain)
            columns = dict(zip(range(len(COLUMNS)), printed[name][size], strict=True))
            lines.append({"of": name, "size": size, "printed": columns} | _line(before, gain))
    claims = []
    for name, text in () if table in FLOWS else GAINS.items():
        judged = {}
        for small, large in zip(SIZES, SIZES[1:], strict=False):
            judged[f"{small} above {large}"] = row_verdict(by_seed[name, small], by_seed[name, large], 1)
        claims.append(_claim(f"gain-{name}", f"the mean gain ({text}) falls as packets grow", judged))
        nothing = dict.fromkeys(seeds, 0.0)
        judged = {str(size): row_verdict(by_seed[name, size], nothing, 1) for size in SIZES}
        claims.append(_claim(f"above-{name}", f"the mean gain ({text}) is above 0", judged))
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

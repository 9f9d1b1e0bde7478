"""From figures to a verdict, by the rule of docs/reproduce.md (committed before the runs)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import t as student  # type: ignore[attr-defined]

CONFIDENCE = 0.95
LEAST_SEEDS = 3
#: of a claim's rows that have to hold for the claim to hold
SHARE = 0.75

HOLDS, PART, NOT, UNDECIDED = "holds", "holds in part", "does not hold", "not decided"


@dataclass(frozen=True)
class Spread:
    """Mean of some values, and half the width of its confidence interval (infinite for one value)."""

    mean: float
    half: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Student's t with n - 1 degrees of freedom."""
        n = len(values)
        mean = math.fsum(values) / n
        if n < 2:
            return cls(mean, math.inf, n)
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
        return cls(mean, float(student.ppf((1 + CONFIDENCE) / 2, n - 1)) * deviation / math.sqrt(n), n)


def row_verdict(a: Mapping[int, float], b: Mapping[int, float], sign: int) -> tuple[str, Spread | None]:
    """One row: a - b of the same seed, where both have a value; it holds if its interval lies on the claimed side of 0, fails on the other."""
    seeds = sorted(s for s in set(a) & set(b) if not math.isnan(a[s] - b[s]))
    if len(seeds) < LEAST_SEEDS:
        return UNDECIDED, Spread.of([a[s] - b[s] for s in seeds]) if seeds else None
    difference = Spread.of([a[s] - b[s] for s in seeds])
    if abs(difference.mean) <= difference.half:
        return UNDECIDED, difference
    return (HOLDS if difference.mean * sign > 0 else NOT), difference


def claim_verdict(rows: Sequence[str]) -> str:
    """All rows of a claim together."""
    holds, fails = rows.count(HOLDS), rows.count(NOT)
    if holds + fails == 0:
        return UNDECIDED
    if fails == 0 and holds >= SHARE * len(rows):
        return HOLDS
    return NOT if holds == 0 or fails > holds else PART


def worded(claim: Mapping[str, Any]) -> str:
    """The verdict of a claim's JSON; if it holds in part, by how many rows; and of how many of the paper's rows, if not of all."""
    rows = [r["verdict"] for r in claim["rows"].values()]
    run, whole = len(rows), claim["rows_of_the_claim"]
    notes = [f"{rows.count(HOLDS)} for, {rows.count(NOT)} against, of {run}"] if claim["verdict"] == PART else []
    notes += [f"{run} of {whole} rows run"] if run < whole else []
    return str(claim["verdict"]) + (f" ({'; '.join(notes)})" if notes else "")

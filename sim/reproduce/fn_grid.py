"""The sweeps behind paper 004's Table II: FN over (Ws, T), RED over (k, 3k), and the paper's rule that chose the printed rows.

Section IV: 96 settings of each form of FN, eight windows by twelve time constants of i^3 ms; 30 of RED. Of RED the setting with the
highest utilisation among those with E(Q) <= Qopt is the reference (printed: k = 5). Of each window the T with the highest
utilisation among those with E(Q) <= Qopt and a smaller loss than the reference's is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiment import Table, Value

WINDOWS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
TIMES_MS = tuple(i**3 for i in range(1, 13))
PAIRS = tuple(range(1, 31))
#: bits
QOPT = 105_000
#: what Table II prints: T in ms by window, and k
PRINTED_T = {32: 512, 64: 216, 128: 125, 256: 64, 512: 64, 1024: 27, 2048: 27, 4096: 27}
PRINTED_K = 5
METRICS = ("utilisation_percent", "loss_bits_percent", "queue_bits_mean", "queue_bits_sd", "below_threshold")
FORMS = ("fn", "fn-quadratic")

#: the table that the RTL runs, with the same options
TABLE_II = "table2-20-persistent"
OPTIONS: dict[str, Value] = {"duration": 120, "sample": 0.1, "rate": 20e6, "traffic": "persistent"}
_NOTE = "A sweep, of the golden model. Those of its settings that Table II prints are the same runs there, and equal to the RTL's."


def fn_row(window: int, t_ms: int) -> str:
    """Name of a setting of FN."""
    return f"ws{window}-t{t_ms}"


FN = Table(
    "004", "grid-fn", "The sweep of (Ws, T) at 20 Mb/s, persistent", "fn-red", OPTIONS,
    {fn_row(ws, t): {"ws": ws, "t": t / 1000} for ws in WINDOWS for t in TIMES_MS},
    {form: {"policy": form} for form in FORMS}, {}, METRICS, (), (_NOTE,),
    quick_rows=(fn_row(64, 64), fn_row(64, 216)), quick_sides=("fn",), quick={"duration": 1.5}, golden_only=True,
)  # fmt: skip
RED = Table(
    "004", "grid-red", "The sweep of (k, 3k) of RED at 20 Mb/s, persistent", "fn-red", OPTIONS,
    {f"k{k}": {"k": k} for k in PAIRS}, {"red": {"policy": "red"}}, {}, METRICS, (), (_NOTE,),
    quick_rows=("k5", "k10"), quick_sides=("red",), quick={"duration": 1.5}, golden_only=True,
)  # fmt: skip
TABLES = (FN, RED)


def runs_of(table: Table, row: str) -> tuple[str, str]:
    """Table and row whose runs a row of a sweep has: a printed setting those of Table II, so that RTL and sweep have the same golden
    run."""
    printed = {fn_row(ws, t): f"ws{ws}" for ws, t in PRINTED_T.items()} | {f"k{PRINTED_K}": "all"}
    return (TABLE_II, printed[row]) if row in printed else (table.name, row)


@dataclass(frozen=True)
class Point:
    """A setting's means over the seeds."""

    utilisation: float
    loss: float
    queue: float

    @classmethod
    def of(cls, measured: Mapping[str, Mapping[str, float]]) -> Point:
        """Of a row's measured values."""
        return cls(*(measured[m]["mean"] for m in METRICS[:3]))


def red_reference(points: Mapping[int, Point]) -> int | None:
    """k with the highest utilisation among those with E(Q) <= Qopt; nothing if there is none."""
    fit = {k: p for k, p in points.items() if p.queue <= QOPT}
    return max(fit, key=lambda k: fit[k].utilisation) if fit else None


def chosen_time(points: Mapping[int, Point], reference: Point) -> int | None:
    """T in ms of a window with the highest utilisation among those with E(Q) <= Qopt and a loss below the reference's."""
    fit = {t: p for t, p in points.items() if p.queue <= QOPT and p.loss < reference.loss}
    return max(fit, key=lambda t: fit[t].utilisation) if fit else None

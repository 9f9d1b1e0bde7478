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


def fn_row(window: int, t_ms: int) -> str:
    """Name of a setting of FN."""
    return f"ws{window}-t{t_ms}"


def table_two(rate: int) -> str:
    """The name of the table that the RTL runs, with the same options."""
    return f"table2-{rate}-persistent"


def options(rate: int) -> dict[str, Value]:
    """Of a sweep, and of that table."""
    return {"duration": 120, "sample": 0.1, "rate": rate * 1e6, "traffic": "persistent"}


def _sweep(kind: str, rate: int, quick_rows: tuple[str, ...]) -> Table:
    """All settings of FN, or of RED, at a rate in Mb/s."""
    what, sides = ("(Ws, T)", FORMS) if kind == "fn" else ("(k, 3k) of RED", ("red",))
    rows: dict[str, dict[str, Value]] = {f"k{k}": {"k": k} for k in PAIRS}
    if kind == "fn":
        rows = {fn_row(ws, t): {"ws": ws, "t": t / 1000} for ws in WINDOWS for t in TIMES_MS}
    return Table(
        "004", f"grid-{kind}" + ("" if rate == 20 else f"-{rate}"), f"The sweep of {what} at {rate} Mb/s, persistent", "fn-red",
        options(rate), rows, {side: {"policy": side} for side in sides}, {}, METRICS, (),
        ("A sweep, of the golden model. The settings that Table II prints are the same runs as there, where the RTL is compared with them.",),
        quick_rows=quick_rows, quick_sides=sides[:1], quick={"duration": 1.5}, golden_only=True,
    )  # fmt: skip


FN, RED = _sweep("fn", 20, (fn_row(64, 64), fn_row(64, 216))), _sweep("red", 20, ("k5", "k10"))
FN_10, RED_10 = _sweep("fn", 10, ()), _sweep("red", 10, ())
TABLES = (FN, RED, FN_10, RED_10)


def runs_of(table: Table, row: str) -> tuple[str, str]:
    """Table and row whose runs a row of a sweep has: a printed setting those of Table II, so that RTL and sweep have the same golden
    run."""
    printed = {fn_row(ws, t): f"ws{ws}" for ws, t in PRINTED_T.items()} | {f"k{PRINTED_K}": "all"}
    rate = 10 if table in (FN_10, RED_10) else 20
    return (table_two(rate), printed[row]) if row in printed else (table.name, row)


def pairs_of(table: Table) -> Table:
    """The sweep of RED whose reference the rule takes for a sweep of FN."""
    return RED_10 if table is FN_10 else RED


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

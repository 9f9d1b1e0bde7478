"""What a table of a paper is to the workflow: rows, sides, printed values, claims."""

from __future__ import annotations

from dataclasses import dataclass, field

Value = str | float

#: of a table that names no others
SEEDS = (1, 2, 3)
#: of the papers whose runs cost a second or few
TEN = tuple(range(1, 11))
#: of the quick slice, whatever its tables name
QUICK_SEEDS = SEEDS


@dataclass(frozen=True)
class Claim:
    """`metric` of side `a` is lower (sign -1) or higher (+1) than that of side `b`, in each of `rows` (none: all). With
    `where_any` only in rows in which in every seed one of the two has some."""

    name: str
    text: str
    metric: str
    sign: int
    a: str
    b: str
    rows: tuple[str, ...] = ()
    where_any: bool = False


@dataclass(frozen=True)
class Table:
    """A printed table, or what stands for it."""

    paper: str
    name: str
    title: str
    program: str
    options: dict[str, Value]
    rows: dict[str, dict[str, Value]]
    sides: dict[str, dict[str, Value]]
    #: row -> "side metric" -> printed value
    printed: dict[str, dict[str, float]]
    metrics: tuple[str, ...]
    claims: tuple[Claim, ...]
    notes: tuple[str, ...] = ()
    #: sides that ns-3 has a queue for
    ns3: tuple[str, ...] = ()
    #: sides and rows of the quick slice, and what is shorter in it
    quick_rows: tuple[str, ...] = ()
    quick_sides: tuple[str, ...] = ()
    quick: dict[str, Value] = field(default_factory=dict)
    #: only the golden model runs it (sweeps, controls)
    golden_only: bool = False
    #: what is averaged over
    seeds: tuple[int, ...] = SEEDS

    def seeds_of(self, quick: bool) -> tuple[int, ...]:
        """Those of a mode."""
        return QUICK_SEEDS if quick else self.seeds

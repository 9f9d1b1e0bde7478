"""DT-ECN: the integer model against the rule of docs/modules/dt-ecn.md in natural units; the RTL against the model."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from random import Random

import pytest

from golden import dt_ecn
from golden.red import ACCEPT, CE, ECT0, ECT1, FORCED, MARK, NONE, NOT_ECT
from harness import run_bench


@pytest.mark.parametrize("unit", [dt_ecn.BYTES, dt_ecn.PACKETS, dt_ecn.FRAMES])
def test_marks_from_the_utilisation_on(unit: int) -> None:
    """θ = limit·utilisation/100 need not be whole; its register is its ceiling."""
    rng = Random(1)
    for _ in range(5000):
        limit, utilisation = rng.randrange(1, 1 << 16), rng.randrange(1, 101)
        theta = Fraction(limit * utilisation, 100)
        length = rng.randrange(14, 9217)
        q = max(int(theta) + rng.randrange(-3, 3) - (length if unit == 0 else 0), 0)
        held = [rng.randrange(1 << 16) for _ in range(3)]
        held[unit] = q
        ecn = rng.randrange(4)
        got = dt_ecn.verdict(length, (held[0], held[1], held[2]), unit, ecn, ceil(theta))
        above = q + (length if unit == 0 else 1) >= theta
        assert got.action == (MARK if above and ecn in (ECT0, ECT1) else ACCEPT)
        assert got.cause == (FORCED if above else NONE)


def test_not_ect_and_ce_are_never_touched() -> None:
    for ecn in (NOT_ECT, CE):
        assert dt_ecn.verdict(1514, (1 << 20, 1000, 1000), 0, ecn, 0).action == ACCEPT


def test_the_largest_threshold_is_never_reached() -> None:
    assert dt_ecn.verdict((1 << 14) - 1, ((1 << 21) - 1, 0, 0), 0, ECT0, (1 << 22) - 1).action == ACCEPT


def test_dt_ecn_rtl() -> None:
    run_bench("DtEcn", "dt_ecn_cocotb", seeds=[1, 2])

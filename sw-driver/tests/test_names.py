"""The figures of docs/names.md that tell Weir from other implementations, computed from what those do.

Each is written here from its source: iproute2's `tc_red.c`, the kernel's `red.h`, `codel_impl.h` and `sch_pie.c`,
DPDK's `rte_red.h`.
"""

from __future__ import annotations

import math
import re
from itertools import count
from random import Random
from statistics import fmean, pstdev

import pytest

from libweir_paths import ROOT

PAGE = re.sub(r"\s+", " ", (ROOT / "docs" / "names.md").read_text(encoding="utf-8"))
MIN, MAX, W_LOG = 30_000, 90_000, 9
SLOT_US = 8.0  # 1000 bytes at 1 Gbit/s


def decay_table() -> tuple[int, list[int]]:
    """tc's: shifts by natural logarithms, over cells of 2^log ticks of 64 ns; and log."""
    rate = -math.log(1 - 2**-W_LOG) / math.ceil(SLOT_US / 0.064)
    log = next(c for c in count() if 31 / rate / 2**c < 512)
    return log, [min(31, int((i << log) * rate)) for i in range(255)] + [31]


def after_silence(average: int, us: int, log: int, table: list[int]) -> int:
    """The kernel's, which reads the table by microseconds; linear where the shift is 0."""
    us = min(us, 255 << log)
    shift = table[us >> log]
    return average >> shift if shift else average - min(average * us >> log, average >> 1)


def test_an_idle_average_of_linux_and_by_the_law() -> None:
    def linux(below: int) -> float:
        log, table = decay_table()
        return next(us for us in count() if after_silence(MAX << W_LOG, us, log, table) >> W_LOG <= below) / 1e3

    def law(below: float) -> float:
        return SLOT_US * math.log(below / MAX) / math.log(1 - 2**-W_LOG) / 1e3

    assert f"falls below 10000 after {linux(10_000):.0f} ms of silence" in PAGE
    assert f"the law, and Weir, have {law(10_000):.1f} ms" in PAGE
    assert f"at one half after {linux(45_000):.1f} ms, where the law needs {law(45_000):.1f}" in PAGE
    log, table = decay_table()
    assert after_silence(MAX, 3000, log, table) > MAX * (1 - 2**-W_LOG) ** (3000 / SLOT_US)


def test_codels_reciprocal_root_in_linux() -> None:
    """Q0.16, a Newton step for each drop of a stay above the target."""
    root, errors = 0xFFFF, {}
    for drops in range(2, 7):
        inverse = root << 16
        value = (3 << 32) - drops * (inverse * inverse >> 32)
        root = (value >> 2) * inverse >> 31 >> 16
        errors[drops] = 1 - root / 65536 * math.sqrt(drops)
        if drops == 2:
            step = 100 * root / 65536
    assert f"its interval is {step:.1f} ms in place of {100 / math.sqrt(2):.1f}" in PAGE
    assert f"{errors[2] * 100:.0f} % too short. At" in PAGE
    assert f"At count 3 it is {errors[3] * 100:.1f} % too short, at 6 {errors[6] * 100:.1f} %" in PAGE
    assert f"third drop of a queue comes {100 / math.sqrt(2) - step:.0f} ms sooner" in PAGE


def test_pies_probability_for_the_same_drops() -> None:
    """Linux, RFC 8033 5.4: no drop until the sum of p is 0.85, one for certain at 8.5. Weir's spacing is 1/p."""

    def spacing(p: float) -> float:
        left, mean = 1.0, 0.0
        for n in range(1, math.ceil(8.5 / p) + 1):
            mean += left
            left *= 0 if n * p >= 8.5 else 1 - p if n * p >= 0.85 - 1e-12 else 1
        return mean

    ratios = [1 / (p * spacing(p)) for p in (0.01, 0.1, 0.3)]
    assert "{:.2f} of Linux's at 1 %, {:.2f} at 10 % and {:.2f} at 30 %".format(*ratios) in PAGE
    assert f"up to {1 / ratios[1]:.1f} times the drops and marks of Linux" in PAGE


def dpdk(band: int, inverse: int, share: float, seed: int = 1) -> tuple[float, float]:
    """Mean times p_b and sd/mean of the spacings, at `share` of the band: a draw of 22 bits for each drop."""
    rng, scale = Random(seed), 1 << 10
    height, whole = round(share * band * scale), 2 * band * inverse * scale
    spacings = []
    for _ in range(4000):
        draw = rng.getrandbits(22)
        passed = next(n for n in count() if whole <= n * height or draw % (whole - n * height) < height)
        spacings.append(passed + 1)
    return fmean(spacings) * share / inverse, pstdev(spacings) / fmean(spacings)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_dpdks_spacing_is_uniform_over_twice_the_range(share: float) -> None:
    """sd/mean of uniform spacings is 1/√3, of geometric ones 1; the mean is geometric's."""
    mean, deviation = dpdk(60, 25, share)
    assert mean == pytest.approx(1, abs=0.1) and deviation == pytest.approx(1 / math.sqrt(3), abs=0.06)
    assert (
        "| DPDK | uniform over 1 to 2/p_b | 1/p_b | 0.58 |" in PAGE
        and "rte_red_config_init(&red, 9, 30, 90, 25)" in PAGE
    )


def test_dpdks_draw_ends_at_22_bits() -> None:
    """2·(max − min)·maxp_inv·1024 above 2^22: the smallest spacings are never drawn."""
    assert 2 * 2048 * 1024 == 1 << 22
    mean, _ = dpdk(60, 50, 0.5)
    assert f"= 2048 it selects less often, with a mean of {mean:.2f}/p_b at {60 * 50}" in PAGE
    assert f"{(1 << 22) * 8 / 1e9 * 1e3:.0f} ms at 1 Gb/s" in PAGE

"""Progress on a terminal: share, rate and time left. Nothing where standard error is none."""

from __future__ import annotations

import os
import sys
from typing import Any

from tqdm import tqdm

DELAY_S = 2
"""What takes less has no bar."""


def bar(total: float | None, **options: Any) -> Any:
    """A tqdm bar that vanishes at its end. tqdm would draw nothing on a terminal of unknown size: it gets 80 by 24."""
    if sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns == 0:
        options |= {"ncols": 80, "nrows": 24}
    return tqdm(total=total, leave=False, disable=not sys.stderr.isatty(), **options)


def of_bytes(total: int | None) -> Any:
    """A bar of bytes that are read; None: nobody knows how many there are."""
    return bar(total, unit="B", unit_scale=True, delay=DELAY_S)

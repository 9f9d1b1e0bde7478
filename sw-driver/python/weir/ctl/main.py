"""The entry point of weirctl. It imports little itself, so that an interrupt is one line from the first moment on."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from .ending import interrupted_quits

with interrupted_quits("weirctl"):
    from .verbs import VERBS, main

__all__ = ["VERBS", "main", "run"]


def run() -> NoReturn:
    """The entry point."""
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is done: the interpreter only cleans up
    sys.exit(code)

"""The entry point of weirctl. An interrupt of its imports is one line; until `interrupt` is there, it is Python's."""

import signal
import sys

from .interrupt import interrupted_quits

with interrupted_quits("weirctl"):
    from typing import NoReturn

    from .verbs import VERBS, main

__all__ = ["VERBS", "main", "run"]


def run() -> NoReturn:
    """The entry point."""
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is done: the interpreter only cleans up
    sys.exit(code)

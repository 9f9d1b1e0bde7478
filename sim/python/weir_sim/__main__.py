"""`weir-sim` and `python -m weir_sim`. It imports little itself: an interrupt is one line from the first moment on."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from weir.ctl.ending import interrupted_quits

with interrupted_quits("weir-sim"):
    from .cli import main


def run() -> NoReturn:
    """The entry point."""
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is done: the interpreter only cleans up
    sys.exit(code)


if __name__ == "__main__":
    run()

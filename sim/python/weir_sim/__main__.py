"""`weir-sim`. An interrupt of its imports is one line; until `interrupt` is there, it is Python's."""

import signal
import sys

from weir.ctl.interrupt import interrupted_quits

with interrupted_quits("weir-sim"):
    from typing import NoReturn

    from .cli import main


def run() -> NoReturn:
    """The entry point."""
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is done: the interpreter only cleans up
    sys.exit(code)


if __name__ == "__main__":
    run()

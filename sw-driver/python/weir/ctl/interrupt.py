"""An interrupt while modules are imported. It imports little itself, to be there before the imports."""

import os
import signal

INTERRUPTED = 130
"""Exit code of a program that was interrupted."""


class interrupted_quits:  # noqa: N801 - is used as contextlib's are
    """In this context an interrupt ends the program at once, with one line and exit code 130.

    For imports: in them KeyboardInterrupt may come out anywhere, also where it is printed and ignored. SIGINT that is
    ignored stays so, and outside of the main thread nothing changes. The start of the interpreter itself is not covered.
    """

    def __init__(self, program: str) -> None:
        self._line = f"{program}: interrupted\n".encode()
        self._before = signal.getsignal(signal.SIGINT)

    def _quits(self, number: int, frame: object) -> None:
        try:
            os.write(2, self._line)
        except OSError:  # a terminal that has gone
            pass
        os._exit(INTERRUPTED)

    def _set(self, handler: object) -> None:
        if self._before not in (None, signal.SIG_IGN):
            try:
                signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]
            except ValueError:  # not the main thread
                pass

    def __enter__(self) -> None:
        self._set(self._quits)

    def __exit__(self, *_: object) -> None:
        self._set(self._before)

"""How a program ends: interrupts, standard streams that are closed or know few characters, signals while a configuration
is being changed."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

_PLAIN = {"µ": "u", "…": "...", "≥": ">=", "≤": "<=", "→": "->", "×": "x"}


def _plain(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that a stream's encoding lacks: "..." for an ellipsis, an escape for others."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking), error.end


codecs.register_error("weir-plain", _plain)


def prepare_streams() -> None:
    """Makes standard streams that any text can be written to, in any locale; those that are closed lead nowhere."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8", errors="weir-plain"))
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="weir-plain")


def give_up(stream: Any) -> None:
    """Leads a standard stream that could not be written nowhere: what is left in it is not tried again at the end."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def complain(program: str, line: str) -> None:
    """Writes a line to standard error, after the program's name; one that nobody can read leads nowhere."""
    try:
        print(f"{program}: {line}", file=sys.stderr, flush=True)
    except OSError:  # a terminal that has gone, a full disk
        give_up(sys.stderr)


_NUMBERS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)


class Interrupted(Exception):
    """Somebody interrupts or ends the program, or its terminal has gone."""

    def __init__(self) -> None:
        super().__init__("interrupted")


class Ending:
    """In this context, signals that end the program are noted, and raise Interrupted only where that is asked for.

    So they come between two writes and never into one, and going back is not interrupted. SIGHUP that is ignored (nohup)
    stays so. Outside of the main thread signals are nobody's.
    """

    def __init__(self) -> None:
        self._noted = False
        self._raises = False
        self._old: dict[int, Any] = {}

    def __enter__(self) -> Ending:
        with contextlib.suppress(ValueError):  # not the main thread
            for number in _NUMBERS:
                if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                    self._old[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: object) -> None:
        self._noted = True
        if self._raises:
            self._raises = False
            raise Interrupted

    def check(self) -> None:
        """Raises Interrupted if a signal has come."""
        if self._noted:
            raise Interrupted

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """In this context, a signal raises Interrupted at once, one that has come already does at its beginning."""
        self._raises = True
        try:
            self.check()
            yield
        finally:
            self._raises = False


#: What is called between two writes.
Check = Callable[[], None]


def go_on() -> None:
    """A Check that stops nothing."""

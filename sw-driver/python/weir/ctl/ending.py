"""Signals that end the program, while a configuration is being changed."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from typing import Any

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

"""What ends weirctl, and with which exit code."""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FAILED: Final = 1
"""The device is not there, failed, or has gone."""
REFUSED: Final = 2
"""Bad arguments, values or files; nothing was written."""
UNSOUND: Final = 3
"""doctor or selftest found something."""
REVERTED: Final = 4
"""A configuration was not confirmed, or could not be applied whole, and the old one is back."""
BROKEN_PIPE: Final = 141

#: Names of WeirError that are the caller's doing.
CALLERS: Final = frozenset({"RANGE", "SYNTAX", "UNKNOWN", "UNSUPPORTED", "CONFLICT"})


class Refusal(Exception):
    """Arguments or a file that cannot be; one line says what to write instead."""


class Ended(Exception):
    """Ends with a code; the line, if there is one, goes to standard error."""

    def __init__(self, code: int, line: str = "") -> None:
        super().__init__(line)
        self.code = code

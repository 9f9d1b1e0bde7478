"""Parameters of the scripts here."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line, without the usage before it. `text`: the script's own documentation."""

    def __init__(self, name: str, text: str | None) -> None:
        super().__init__(description=(text or "").split("\n", 1)[0], allow_abbrev=False)
        self.name = name

    def error(self, message: str) -> NoReturn:
        """Ends the program, code 2."""
        print(f"{self.name}: {message}; see --help", file=sys.stderr)
        sys.exit(2)

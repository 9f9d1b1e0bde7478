"""Output files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO


class Outputs:
    """A set of output files written under temporary names beside their places.

    On a clean exit of the context all of them get their names, each in one step; on any exception, Ctrl-C
    included, none does and the temporary files are removed. A place that is not a regular file (a pipe, a
    terminal) is written directly.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[Path, Path]] = []
        self._open: list[BinaryIO] = []

    def path(self, place: str | os.PathLike[str]) -> Path:
        """The path to write for `place`, for code that opens files itself."""
        target = Path(place)
        if target.exists() and not target.is_file():
            return target
        target = target.resolve()  # a symbolic link stays one
        part = target.with_name(f".{target.name}.{os.getpid()}-{len(self._parts)}.part")
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        self._parts.append((part, target))
        return part

    def open(self, place: str | os.PathLike[str]) -> BinaryIO:
        """A binary file for `place`."""
        file = open(self.path(place), "wb")
        self._open.append(file)
        return file

    def __enter__(self) -> Outputs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for file in self._open:
                file.close()
            if kind is None:
                for part, target in self._parts:
                    part.replace(target)
        finally:
            for part, _ in self._parts:
                part.unlink(missing_ok=True)

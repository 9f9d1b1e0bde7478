"""Output files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, cast

from weir.ctl.ending import Ending


@contextlib.contextmanager
def _naming(place: str | os.PathLike[str]) -> Iterator[None]:
    """An OSError in this context names the place that a person knows, not a temporary file or nothing."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(place)) from None


class _File(io.FileIO):
    """A file whose errors name the place that was asked for."""

    def __init__(self, file: Path | int, place: str | os.PathLike[str]) -> None:
        super().__init__(file, "w")
        self._place = place

    def write(self, data: Any, /) -> int:
        with _naming(self._place):
            return super().write(data)


class Outputs:
    """A set of output files written under temporary names beside their places.

    On a clean exit of the context all of them get their names, each in one step; on any exception, Ctrl-C
    included, none does and the temporary files are removed. A place that is not a regular file (a pipe, a
    terminal) is written directly. A symbolic link stays one, and a file that was there keeps its mode.
    Errors are OSErrors that name the place.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[Path, Path, str | os.PathLike[str]]] = []
        self._open: list[BinaryIO] = []

    def path(self, place: str | os.PathLike[str]) -> Path:
        """The path to write for `place`, for code that opens files itself."""
        target = Path(place)
        if target.exists() and not target.is_file():
            return target
        target = Path(os.path.realpath(target))
        part = target.with_name(f".weir-{secrets.token_hex(6)}.part")
        with _naming(place):
            if target.exists() and not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            self._parts.append((part, target, place))
            if target.exists():
                part.chmod(stat.S_IMODE(target.stat().st_mode))
        return part

    def open(self, place: str | os.PathLike[str]) -> BinaryIO:
        """A binary file for `place`."""
        path = self.path(place)
        with _naming(place):
            file = cast(BinaryIO, io.BufferedWriter(_File(path, place)))
        self._open.append(file)
        return file

    def __enter__(self) -> Outputs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for file in self._open:
                with contextlib.suppress(OSError) if kind else contextlib.nullcontext():
                    file.close()
            with Ending():  # an interrupt between two names would leave some
                for part, target, place in () if kind else self._parts:
                    with _naming(place):
                        part.replace(target)
        finally:
            with Ending():
                for part, _, _ in self._parts:
                    part.unlink(missing_ok=True)

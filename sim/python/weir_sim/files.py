"""Files of `weir-sim`: input from anywhere, and output that appears whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, cast

from weir.ctl.ending import Ending

from .errors import UsageError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STDIN, STDOUT = 0, 1
ENDINGS = {
    "waveform": (".vcd",),
    "picture": (".png", ".svg", ".pdf"),
    "capture": (".pcap", ".pcap.gz", ".pcap.zst"),
    "table": (".json", ".csv", ".gz", ".zst"),
}
"""What the names of outputs end in."""
OTHERS = (".pcapng", ".pcapng.gz", ".pcapng.zst", ".ntar", ".bz2", ".lz4", ".xz", ".zip")
"""Endings that a capture and a table do not have. Any other is taken."""
BROKEN = (zlib.error, zstd.ZstdError)
"""What reading from `uncompressed` can raise besides OSError, and EOFError where the file ends too early."""


class _Rejoined(io.RawIOBase):
    """A file whose first bytes have been read already."""

    def __init__(self, head: bytes, rest: io.FileIO) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int | None:  # type: ignore[override]
        if not self._head:
            return self._rest.readinto(buffer)
        size = min(len(self._head), len(buffer))
        buffer[:size], self._head = self._head[:size], self._head[size:]
        return size


def open_input(place: str | os.PathLike[str]) -> io.FileIO:
    """A file to read: a path, of a pipe as well, or `-`, which is standard input. OSError if it cannot be opened."""
    if os.fspath(place) != "-":
        return open(place, "rb", buffering=0)
    if os.isatty(STDIN):
        raise OSError(0, "is a terminal; send a capture into it, or name a file")
    return open(STDIN, "rb", buffering=0, closefd=False)


def uncompressed(file: io.FileIO) -> io.BufferedIOBase:
    """What a file that was just opened holds, uncompressed if it begins as gzip or zstd does."""
    head = b""
    while len(head) < 4 and (more := file.read(4 - len(head))):
        head += more
    whole = io.BufferedReader(_Rejoined(head, file), 1 << 16)
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=whole)
    if head == b"\x28\xb5\x2f\xfd":
        return cast(io.BufferedIOBase, zstd.ZstdFile(whole))
    return whole


def is_trailing(error: Exception) -> bool:
    """Whether reading from `uncompressed` ended with this since other bytes follow the compressed data."""
    return str(error).startswith("Not a gzipped file") or str(error).endswith("Unknown frame descriptor")


def is_stdout(place: str | os.PathLike[str] | None) -> bool:
    """Whether a place is where text on standard output goes: `-`, or the same pipe or file by another name."""
    if place is None or os.fspath(place) == "-":
        return place is not None
    try:
        there, here = os.stat(place), os.fstat(STDOUT)
    except OSError:
        return False
    return os.path.samestat(there, here) and (not stat.S_ISCHR(here.st_mode) or os.isatty(STDOUT))  # not /dev/null


def check_ending(place: str | os.PathLike[str] | None, what: str) -> None:
    """Refuses a name that says another format than what is written; a stream or a device may have any name. None is nothing.

    Raises:
        UsageError: the place is a file, and its name does not end in what ENDINGS has for `what`.
    """
    if place is None:
        return
    path, endings = Path(place), ENDINGS[what]
    name = path.name.lower()
    if is_stdout(path) or (path.exists() and not path.is_file()):
        return
    if name.endswith(OTHERS) if what in ("capture", "table") else not name.endswith(endings):
        raise UsageError(
            f"{path}: a {what}'s name ends in {', '.join(endings[:-1])}{' or ' * (len(endings) > 1)}{endings[-1]}"
        )


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
    terminal), `-` and what standard output goes to are written directly. A name that ends in `.gz` or `.zst` gets its
    content compressed. A symbolic link stays one, and a file that was there keeps its mode. Errors are OSErrors
    that name the place.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[Path, Path, str | os.PathLike[str]]] = []
        self._open: list[BinaryIO] = []

    def path(self, place: str | os.PathLike[str]) -> Path:
        """The path to write for `place`, for code that opens files itself."""
        target = Path(place)
        if is_stdout(place):
            return Path("/dev/stdout")
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
        # not by its name: that would begin a file anew to which standard output is appended
        there = os.dup(STDOUT) if is_stdout(place) else self.path(place)
        with _naming(place):
            file = cast(BinaryIO, io.BufferedWriter(_File(there, place)))
        self._open.append(file)
        name = os.fspath(place).lower()
        if name.endswith((".gz", ".zst")):
            # no name and no time in it: the same content gives the same file
            packed = gzip.GzipFile("", "wb", 6, file, 0) if name.endswith(".gz") else zstd.ZstdFile(file, "wb")
            self._open.insert(-1, cast(BinaryIO, packed))
            return cast(BinaryIO, packed)
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

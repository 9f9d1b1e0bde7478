"""A file that appears whole or not at all; as weir_sim.files, of which this package knows nothing."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path


def write(place: str | os.PathLike[str], content: str | bytes) -> None:
    """Writes a file under a temporary name beside its place, and renames it. Raises OSError that names the place.

    A symbolic link stays one, a file that was there keeps its mode, a new one has that of the umask. A place that is no
    regular file (a device, a pipe, a terminal) is written directly.
    """
    data, target = content.encode() if isinstance(content, str) else content, Path(place)
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as direct:
                direct.write(data)
        else:
            _replace(target.resolve(), data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(place)) from None


def _replace(target: Path, data: bytes) -> None:
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    # not after the target, whose name may be as long as names can be
    part = target.with_name(f".weir.{os.getpid()}.{threading.get_ident()}.part")
    descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise

"""libweir through cffi (ABI mode): where the library is, its declarations, errors as exceptions."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, ClassVar, cast

import cffi

_ROOT = Path(__file__).resolve().parents[3]
_INSTALLED = ("/usr/local/lib/libweir.so", "/usr/lib/libweir.so")


def _library_path() -> Path:
    """The shared library: WEIR_LIB if it is set, else build/lib in the repository, else an installed one."""
    named = os.environ.get("WEIR_LIB")
    built = _ROOT / "build" / "lib" / "libweir.so"
    paths = [Path(named)] if named else [built, *map(Path, _INSTALLED)]
    for path in paths:
        if path.is_file():
            return path
    how = "check WEIR_LIB" if named else "build it with: make -C sw-driver/lib BUILD=../../build/lib, or install it"
    raise ImportError(f"libweir is not at {paths[0]}; {how}")


def _header() -> Path:
    """weir.h of the repository, or the one that is installed with the library."""
    ours = _ROOT / "sw-driver" / "lib" / "weir.h"
    theirs = [folder / "include" / "weir.h" for folder in _library_path().resolve().parents]
    for path in [ours, *theirs]:
        if path.is_file():
            return path
    raise ImportError(
        f"weir.h is neither at {ours} nor in an include folder above {_library_path()}; install it with the library"
    )


def _with_includes(header: Path) -> str:
    """weir.h with the generated headers in the places where it includes them; in the repository they are in
    build/rtl."""
    folders = (header.parent, _ROOT / "build" / "rtl")

    def included(match: re.Match[str]) -> str:
        for folder in folders:
            if (folder / match[1]).is_file():
                return (folder / match[1]).read_text(encoding="utf-8")
        raise ImportError(
            f"{header} includes {match[1]}, which is neither beside it nor in {folders[1]}; run: make rtl"
        )

    return re.sub(r'#include "(\w+\.h)".*', included, header.read_text(encoding="utf-8"))


def _declarations() -> str:
    """weir.h as cffi reads it: no preprocessor lines but plain numeric constants, no C++ wrapper, no functions with a
    body."""
    text = _with_includes(_header())
    members = re.search(r"#define WEIR_POLICY_MEMBERS (.*)", text)
    text = re.sub(r"^\tWEIR_POLICY_MEMBERS", members[1] if members else "", text, flags=re.M)
    text = re.sub(r"^static inline .*\n", "", text, flags=re.M)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    kept = [
        line
        for line in text.splitlines()
        if not line.startswith("#") or re.fullmatch(r"#define WEIR_\w+ \(?-?\d+\)?\s*", line)
    ]
    return re.sub(r"(#define \w+) \((-?\d+)\)", r"\1 \2", "\n".join(kept))


ffi: Any = cast(Any, cffi).FFI()
ffi.cdef(_declarations())
lib: Any = ffi.dlopen(str(_library_path()))


class WeirError(Exception):
    """A call that libweir refused or that failed.

    Attributes: `code`, the negative `enum weir_status`; `name`, its name without the prefix (``"RANGE"``);
    `message`, one sentence that says what was wrong, what is allowed and what to do.
    """

    names: ClassVar[dict[int, str]] = {
        -1: "RANGE",
        -2: "SYNTAX",
        -3: "UNKNOWN",
        -4: "UNSUPPORTED",
        -5: "CONFLICT",
        -6: "DEVICE",
        -7: "BUS",
        -8: "TIMEOUT",
        -9: "MEMORY",
        -10: "OPEN",
        -11: "BUSY",
    }

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.name = self.names.get(code, str(code))


def text(pointer: Any) -> str:
    """A C string; "" for NULL."""
    return "" if pointer == ffi.NULL else bytes(ffi.string(pointer)).decode("utf-8", "replace")


def check(status: int) -> int:
    """The status of a call that worked; raises WeirError for one that did not."""
    if status < 0:
        raise WeirError(status, text(lib.weir_error()))
    return status

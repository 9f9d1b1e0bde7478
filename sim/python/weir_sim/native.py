"""The C library of the cycle model, loaded by cffi. The declarations are those of weir_model.h itself."""

from __future__ import annotations

import glob
import os
from functools import cache
from pathlib import Path
from typing import Any

import cffi

from weir.ctl.words import near

from .errors import UsageError

ffi: Any = cffi.FFI()  # type: ignore[no-untyped-call]

MADE = ("full", "network", "network-jumbo")
"""The presets whose cycle models `make model` builds."""
PRESETS = ("full", "ten-gig", "aqm", "board", "small", "tail", "network", "network-jumbo")
"""All that people choose from (WeirConfig.scala, Reduced.scala)."""


class ModelError(Exception):
    """The cycle model is not there or failed; the text says what to do."""


def root() -> Path:
    """The directory of the repository; the environment variable WEIR_ROOT overrides it."""
    given = os.environ.get("WEIR_ROOT")
    return Path(given) if given else Path(__file__).resolve().parents[3]


def header() -> Path:
    """The model's C header."""
    return root() / "sim" / "model" / "weir_model.h"


def library(preset: str, wave: bool) -> Path:
    """Where the library of a preset is built; WEIR_MODEL_DIR overrides build/model."""
    base = Path(os.environ.get("WEIR_MODEL_DIR") or root() / "build" / "model")
    return base / preset / f"libweir_model{'-wave' if wave else ''}.so"


@cache
def _declare() -> None:
    text = header().read_text()
    ffi.cdef(text.split("/* [cdef] */", 1)[1].split("/* [/cdef] */", 1)[0])


def check_preset(preset: str) -> None:
    """Refuses a preset that does not exist: UsageError. One whose Verilog or model was generated does."""
    generated = preset and any((root() / "build" / "rtl").glob(f"*/{glob.escape(preset)}/*.v"))
    if preset not in PRESETS and not generated and not library(preset, False).exists():
        raise UsageError(f"preset '{preset}' does not exist{near(preset, PRESETS)}; choose one of {', '.join(PRESETS)}")


@cache
def load(preset: str = "full", wave: bool = False) -> Any:
    """The library of a preset.

    Raises:
        ModelError: it is not built.
        UsageError: there is no such preset.
    """
    path = library(preset, wave)
    if not path.exists():
        check_preset(preset)
        command = f"python sim/model/build.py --preset {preset}" + (" --wave" if wave else "")
        if preset in MADE and not wave:
            command = "make model"
        raise ModelError(f"the cycle model of preset '{preset}' is not built; run `{command}`")
    _declare()
    return ffi.dlopen(str(path))

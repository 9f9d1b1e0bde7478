"""The programs of `make ns3` for the tests."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build" / "ns3" / "bin"


def run(program: str, *words: object, code: int = 0, text: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end; its exit code has to be `code`."""
    done = subprocess.run(
        [str(PROGRAMS / program), *map(str, words)], input=text, capture_output=True, text=True, timeout=600, check=False,
        env=os.environ | env,
    )  # fmt: skip
    assert done.returncode == code, f"{program} {words}: code {done.returncode}, {done.stderr[-400:]}"
    return done


def experiment(program: str, **options: object) -> Any:
    """The result of an experiment's program."""
    return json.loads(run(program, *(f"--{name}={value}" for name, value in options.items())).stdout)

"""Asks the generator's configurations in Java, which needs nothing but the classes of `make rtl`."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROBE = ROOT / "hw" / "src" / "test" / "java" / "ConfigProbe.java"


def answers(asked: Iterable[str]) -> dict[str, str]:
    """What ConfigProbe answers to each: `ok`, or the message of what is refused."""
    questions = list(asked)
    command = ["mvn", "-q", "-B", "-f", str(ROOT / "hw" / "pom.xml"), "exec:exec", "-Dexec.executable=java"]
    command.append(f"-Dexec.args=-cp %classpath {PROBE} {' '.join(questions)}")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    said = [line.removeprefix("requirement failed: ") for line in re.findall(r"probe: (.*)", done.stdout)]
    assert len(said) == len(questions), done.stdout + done.stderr
    return dict(zip(questions, said, strict=True))

"""docs/adding-a-policy.md shows the sources as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "adding-a-policy.md").read_text()
SHOWN = ("hw/src/main/scala/weir/policy/DtEcn.scala", "hw/src/main/scala/weir/policy/Policy.scala", "hw/src/main/scala/weir/Units.scala",
         "cocotb-tests/golden/dt_ecn.py")  # fmt: skip


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("language", ["scala", "python"])
def test_its_code_is_that_of_the_example(language: str) -> None:
    sources = {line for path in SHOWN for line in lines((ROOT / path).read_text())}
    shown = [line for block in re.findall(rf"```{language}\n(.*?)```", PAGE, re.S) for line in lines(block)]
    assert len(shown) > 5 and [line for line in shown if line not in sources] == []


def test_every_file_that_it_names_is_there() -> None:
    named = set(re.findall(r"`([\w.-]+/[\w./-]+)`", PAGE)) - {"build/rtl/units/DtEcn.v"}
    assert len(named) > 8 and [path for path in sorted(named) if not (ROOT / path).exists()] == []

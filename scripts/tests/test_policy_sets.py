"""A build may leave out any policy, and the trace (`weir.Reduced`): every such core is elaborated, those with the fewest are linted too."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import lint_rtl

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "policy-registers.md").read_text()
BITS = {name: 1 << int(number) for number, name in re.findall(r"^\| (\d+) \| ([a-z0-9-]+) \|", PAGE, re.M)}


def policies(source: Path) -> set[str]:
    """What the register FEATURES of a core tells."""
    text = source.read_text()
    (chosen,) = re.findall(r"\(hit_core_FEATURES \? (\w+) :", text)
    (word,) = re.findall(rf"assign {chosen} = 32'h([0-9a-f]{{8}});", text)
    return {name for name, bit in BITS.items() if int(word, 16) & bit}


@pytest.mark.long
@pytest.mark.slow(60)
def test_every_set_of_policies_makes_a_core_without_warnings(tmp_path: Path) -> None:
    """One run of Java for all, which is not worth compiling well."""
    command = ["mvn", "-q", "-B", "-f", str(ROOT / "hw" / "pom.xml"), "exec:java", f"-Dexec.args={tmp_path} reduced"]
    quick = {**os.environ, "MAVEN_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, env=quick)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    cores = {path.parent.name: path for path in tmp_path.glob("reduced/*/*.v")}
    others = [name for name in BITS if name != "drop-tail"]
    wanted = {f"{how}-{name}" for how in ("without", "only") for name in others}
    assert set(cores) == wanted | {"none", "none-jumbo", "all-jumbo", "all-untraced"}
    has = {name: policies(path) for name, path in cores.items()}
    for name in others:
        assert {"drop-tail", name} <= has[f"only-{name}"]
        # what needs another policy goes with that one
        assert has[f"without-{name}"] == {"drop-tail"} | {other for other in others if name not in has[f"only-{other}"]}
    assert has["none"] == has["none-jumbo"] == {"drop-tail"} and has["all-jumbo"] == has["all-untraced"] == set(BITS)
    # where least is left, most may have lost its use; a core without one policy differs little from the presets
    few = [path for name, path in cores.items() if not name.startswith("without-")]
    assert [text for text in map(lint_rtl.lint, few) if text] == []

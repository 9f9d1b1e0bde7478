"""The commands of the README and the guides, typed as they stand: none is refused."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from captures import EPOCH_NS, pcap
from weir_sim.frames import udp_frame

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "docs/guide-first-minutes.md", "docs/guide-tuning-red.md",
         "docs/guide-board.md", "docs/weirctl.md", "docs/weir-sim.md"]  # fmt: skip
ENDS = {"top": "--count 1", "trace": "--count 5"}
"""what makes a command end at once that goes on, or waits for many packets"""
LONG = {"serve", "live", "bench", "waves"}


def commands(page: str) -> Iterator[str]:
    """Lines of a page's blocks that call weirctl or weir-sim, without the prompt, a comment and the place of the program."""
    for block in re.findall(r"```\n(.*?)```", (ROOT / page).read_text(), re.S):
        for line in block.replace("\\\n", " ").splitlines():
            typed = re.sub(r"\s+# .*", "", line.strip().removeprefix("$ ")).removeprefix(".venv/bin/")
            if not re.match(r"weirctl|weir-sim", typed):
                continue
            if "  " in re.sub(r" {2,}--", " --", typed) or re.search(r"PATH|\[", typed):
                continue  # of a list of verbs
            yield re.sub(r" {2,}", " ", typed)


def test_the_pages_have_commands() -> None:
    assert all(list(commands(page)) for page in PAGES)
    assert sum(len(list(commands(page))) for page in PAGES) > 35


def test_the_first_minutes_build_the_core_and_libweir_and_nothing_else() -> None:
    """What `make serve` would do in a fresh clone: each goal ends by touching its stamp."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # of `make test`
    done = subprocess.run(["make", "-nB", "serve"], cwd=ROOT, env=own, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    goals = re.findall(r"^touch (?:build/stamps/)?(\S+)$", done.stdout, re.M)
    assert sorted(goals) == [".venv/stamp", "lib", "model", "rtl", "tools"]
    assert re.findall(r"model/build\.py (.*)", done.stdout) == ["--preset full"]
    assert done.stdout.splitlines()[-1].endswith("weir_sim serve --socket /tmp/weir --traffic 2Gbit --link-rate 1Gbit")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a shell that has a served core and a capture `in.pcap` in its folder."""
    (tmp_path / "in.pcap").write_bytes(
        pcap([(EPOCH_NS + 10_000 * n, udp_frame(1000, number=n)) for n in range(100)], nano=True)
    )
    device = f"unix:{tmp_path}/s"
    served = subprocess.Popen(
        [sys.executable, "-m", "weir_sim", "serve", "--socket", f"{tmp_path}/s", "--traffic", "200Mbit", "--link-rate", "1Gbit"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert served.stdout is not None and device in served.stdout.readline()
    yield {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "WEIR_DEVICE": device}
    served.send_signal(signal.SIGINT)
    assert served.wait(30) == 0


@pytest.mark.slow(40)
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_runs(page: str, terminal: dict[str, str], tmp_path: Path) -> None:
    for line in commands(page):
        words = shlex.split(line)
        if words[0] == "weir-sim" and words[1] in LONG:
            continue
        if "-d" in words:
            del words[words.index("-d") : words.index("-d") + 2]
        words += [
            word for verb, more in ENDS.items() if verb in words and "--count" not in words for word in more.split()
        ]
        done = subprocess.run(
            words, cwd=tmp_path, env=terminal, input="\n", capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"

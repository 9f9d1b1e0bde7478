"""What `weir.Generate` answers, and that its output depends on the sources only."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRESETS = ["full", "ten-gig", "aqm", "board", "small", "tail"]


def generate(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the classes that `make rtl` compiled."""
    command = ["mvn", "-q", "-B", "-f", str(ROOT / "hw" / "pom.xml"), "exec:java"]
    command.append("-Dexec.args=" + " ".join(map(str, arguments)))
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_an_unknown_preset_is_refused_in_one_line_with_those_that_exist(tmp_path: Path) -> None:
    done = generate(tmp_path, "ten-gigs")
    assert done.returncode == 2
    # the JVM and Maven may have warnings of their own
    (line,) = [line for line in done.stderr.splitlines() if "weir.Generate:" in line]
    assert "'ten-gigs'" in line
    for preset in PRESETS:
        assert preset in line
    assert not list(tmp_path.iterdir())


def test_without_a_folder_the_usage_is_shown() -> None:
    done = generate()
    assert done.returncode == 2
    assert "usage: weir.Generate <outDir>" in done.stderr


def test_the_same_sources_give_the_same_files_and_leave_them_untouched(tmp_path: Path) -> None:
    assert generate(tmp_path, "tail").returncode == 0
    files = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    assert Path("tail/weir_tail.v") in files and Path("weir_regs.json") in files
    for file in files:
        assert (tmp_path / file).read_bytes() == (ROOT / "build" / "rtl" / file).read_bytes(), file
    times = [(tmp_path / file).stat().st_mtime_ns for file in files]
    assert generate(tmp_path, "tail").returncode == 0
    assert [(tmp_path / file).stat().st_mtime_ns for file in files] == times


@pytest.mark.parametrize("preset", PRESETS)
def test_every_core_has_the_ports_of_the_architecture(preset: str) -> None:
    top = f"weir_{preset.replace('-', '_')}"
    text = (ROOT / "build" / "rtl" / preset / f"{top}.v").read_text()
    head = text[text.index(f"module {top} (") :]
    head = head[: head.index(");")]
    ports = {line.rstrip(",").split()[-1] for line in head.splitlines() if "put" in line}
    stream = {"tdata", "tkeep", "tvalid", "tready", "tlast", "tuser"}
    expected = {"clk", "rst", "now_ns", "quiet", "wake_ns", "link_up", "irq", "trace_valid", "trace_data"}
    expected |= {f"{side}_axis_{name}" for side in "sm" for name in stream}
    expected |= {"csr_awaddr", "csr_wdata", "csr_bresp", "csr_araddr", "csr_rdata"}
    assert expected <= ports

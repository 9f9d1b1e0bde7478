"""libweir from C: a program under AddressSanitizer and UBSan, and what the library shows and needs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from libweir_paths import ROOT, RTL

LIBRARY = ROOT / "sw-driver" / "lib"
HERE = Path(__file__).parent
FLAGS = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror", "-g", "-pthread"]


def run(*command: str | Path) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_everything_runs_clean_under_address_and_undefined_behaviour_sanitizers(
    sanitized: Path, tmp_path: Path
) -> None:
    program = tmp_path / "unit"
    run("cc", *FLAGS, "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{LIBRARY}", f"-I{RTL}",
        HERE / "unit.c", sanitized / "libweir.a", "-lm", "-o", program)  # fmt: skip
    assert run(program) == "6 parts passed\n"


@pytest.mark.parametrize(
    "line", ["int a[2]; volatile int i = 2; return a[i];", "volatile int i = 0x7FFFFFFF; return i + 1;"]
)
def test_the_sanitizers_are_at_work(tmp_path: Path, line: str) -> None:
    source = tmp_path / "fault.c"
    source.write_text(f"int main(void) {{ {line} }}\n", encoding="ascii")
    run("cc", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", source, "-o", tmp_path / "fault")
    done = subprocess.run([tmp_path / "fault"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "runtime error" in done.stderr + done.stdout


def test_the_header_stands_alone_in_c_and_cpp(tmp_path: Path) -> None:
    for compiler, name, standard in (("cc", "use.c", "c11"), ("c++", "use.cpp", "c++17")):
        source = tmp_path / name
        source.write_text('#include "weir.h"\nint main() { return weir_error()[0]; }\n', encoding="ascii")
        run(compiler, f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{LIBRARY}", f"-I{RTL}",
            source)  # fmt: skip


def test_the_library_needs_nothing_but_libc_and_exports_nothing_but_weir(tmp_path: Path) -> None:
    run("make", "-s", "-C", LIBRARY, f"BUILD={tmp_path}", f"RTL={RTL.resolve()}")
    dynamic = run("readelf", "-d", tmp_path / "libweir.so")
    needed = {line.split("[")[1].split("]")[0].split(".")[0] for line in dynamic.splitlines() if "NEEDED" in line}
    assert needed <= {"libm", "libc", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64"}
    names = [line.split()[-1] for line in run("nm", "-D", "--defined-only", tmp_path / "libweir.so").splitlines()]
    assert names and all(name.startswith("weir_") for name in names)
    header = re.sub(r"/\*.*?\*/", "", (LIBRARY / "weir.h").read_text(encoding="utf-8"), flags=re.S)
    declared = set(re.findall(r"^[a-z].*?\b(weir_\w+)\(", header, flags=re.M))
    assert len(declared) > 50 and "weir_parameter_called" in declared and declared <= set(names)


def test_an_installed_library_is_found_by_pkg_config_and_runs(tmp_path: Path) -> None:
    """`make install DESTDIR=`; a program that is built and run from there alone."""
    root = tmp_path / "root"
    run("make", "-s", "-C", LIBRARY, f"BUILD={tmp_path / 'build'}", f"RTL={RTL.resolve()}", f"DESTDIR={root}", "PREFIX=/usr",
        "install")  # fmt: skip
    found = {str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir()}
    assert found == {
        "usr/include/weir.h", "usr/include/weir_policies.h", "usr/include/weir_trace.h", "usr/lib/libweir.a",
        "usr/lib/libweir.so", "usr/lib/libweir.so.0.2", "usr/lib/libweir.so.0.2.0",
        "usr/lib/pkgconfig/weir.pc", "usr/share/man/man1/weirctl.1", "usr/share/man/man3/libweir.3", "usr/share/man/man7/weir-uri.7",
    }  # fmt: skip
    described = (root / "usr/lib/pkgconfig/weir.pc").read_text(encoding="ascii")
    assert "@" not in described and "libdir=/usr/lib\n" in described and "Libs: -L${libdir} -lweir\n" in described
    source = tmp_path / "use.c"
    source.write_text(
        '#include <stdio.h>\n#include <weir.h>\nint main(void) { struct weir *w; int s = weir_open("usb:", &w);\n'
        'printf("%d %s\\n", s, weir_error()); return 0; }\n',
        encoding="ascii",
    )
    run(
        "cc",
        source,
        f"-I{root}/usr/include",
        f"-L{root}/usr/lib",
        f"-Wl,-rpath,{root}/usr/lib",
        "-lweir",
        "-o",
        tmp_path / "use",
    )
    assert run(tmp_path / "use").startswith("-2 scheme 'usb' of device 'usb:' is not known")


def test_the_python_package_works_with_an_installed_library_alone(tmp_path: Path) -> None:
    root = tmp_path / "root"
    run("make", "-s", "-C", LIBRARY, f"BUILD={tmp_path / 'build'}", f"RTL={RTL.resolve()}", f"DESTDIR={root}", "PREFIX=/usr",
        "install")  # fmt: skip
    shutil.copytree(ROOT / "sw-driver" / "python" / "weir", tmp_path / "a" / "b" / "c" / "weir")
    done = subprocess.run([sys.executable, "-m", "weir.ctl", "queue", "help", "red"], capture_output=True, text=True, check=False,
                          cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "a" / "b" / "c"), "WEIR_LIB": str(root / "usr/lib/libweir.so")})  # fmt: skip
    assert done.returncode == 0 and "tc-red(8)" in done.stdout, done.stderr


@pytest.mark.parametrize("page", ["lib/man/libweir.3", "lib/man/weir-uri.7", "lib/man/weirctl.1"])
def test_manual_pages_are_formatted_without_a_complaint(page: str) -> None:
    if shutil.which("groff") is None:
        pytest.skip("needs groff")
    done = subprocess.run(["groff", "-mdoc", "-Tutf8", "-ww", "-z", str(ROOT / "sw-driver" / page)], capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0 and done.stderr == ""

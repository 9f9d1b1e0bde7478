"""`make release`: what an integrator needs, in one archive that is the same, byte for byte, for the same sources and bitstreams.

build/release/weir-<version>.tar.gz holds the FuseSoC cores with their Verilog (every preset, every board), the register map as JSON, C
header, Markdown and Python, the sources of libweir and of weirctl, the bitstreams that are built and current, and SHA256SUMS over all of
it. SHA256 of the archive is beside it. Times, owners and order of the files do not depend on who builds.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

import boards
import cores

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "release"
REGISTERS = (
    "weir_regs.json",
    "weir_regs.h",
    "weir_regs.md",
    "weir_regs.py",
    "weir_policies.h",
    "weir_policies.c",
    "weir_trace.h",
)

Files = dict[str, bytes]


class ReleaseError(Exception):
    """What a person has to know, in one line."""


def _tracked(folder: str) -> list[Path]:
    """Files of a folder that belong to the project; all of them where there is no git."""
    done = subprocess.run(["git", "ls-files", "-z", "--", folder], cwd=ROOT, capture_output=True)
    if done.returncode == 0 and done.stdout:
        return sorted(ROOT / name for name in done.stdout.decode().split("\0") if name and (ROOT / name).is_file())
    return sorted(path for path in (ROOT / folder).rglob("*") if path.is_file())


def commit() -> str:
    """The commit that the sources are of, with a mark if they have changes of their own."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)

    head = git("rev-parse", "HEAD")
    if head.returncode != 0:
        return "unknown"
    changed = git("status", "--porcelain", "--untracked-files=no").stdout.strip()
    return head.stdout.strip() + (" with changes" if changed else "")


def python_package() -> Files:
    """The package `weir` with weirctl, by its path below the archive's `python`, for pip; without the simulation's packages."""
    described = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = described["project"]
    kept = {key: project[key] for key in ("name", "version", "requires-python", "license", "dependencies")}
    lines = ["[build-system]", *(f"{key} = {json.dumps(value)}" for key, value in described["build-system"].items())]
    lines += ["", "[project]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in kept.items()]
    lines += ["", "[project.scripts]", f"weirctl = {json.dumps(project['scripts']['weirctl'])}"]
    lines += ["", "[tool.setuptools]", 'packages = ["weir", "weir.ctl"]', "", "[tool.setuptools.package-data]"]
    lines += ['weir = ["py.typed"]', ""]
    source = ROOT / "sw-driver" / "python"
    files = {str(path.relative_to(source)): path.read_bytes() for path in _tracked("sw-driver/python")}
    return {**files, "pyproject.toml": "\n".join(lines).encode()}


def bitstreams(rtl: Path, built: Path) -> tuple[Files, list[str]]:
    """Bitstreams of boards, and why others are left out. One that was built from other Verilog is refused."""
    found: Files = {}
    notes = []
    for board in cores.boards(rtl):
        bit = boards.current(board, built, rtl)
        if bit is None:
            where = ", with Vivado" if boards.by_vivado(boards.load(board)) else ""
            notes.append(f"{board}: no bitstream; BITSTREAMS=1 builds it{where}")
            continue
        found[f"bitstreams/{board}.bit"] = bit.read_bytes()
    return found, notes


def contents(rtl: Path, built: Path) -> tuple[Files, list[str]]:
    """Every file of the archive by its path in it, without the checksums, and notes for the person.

    Raises:
        ReleaseError: something that belongs in there is not built.
    """
    files: Files = {}
    with tempfile.TemporaryDirectory() as scratch:
        for core in cores.write(Path(scratch), rtl):
            for path in sorted(core.parent.iterdir()):
                files[f"cores/{core.parent.name}/{path.name}"] = path.read_bytes()
    for name in REGISTERS:
        path = rtl / name
        if not path.is_file():
            raise ReleaseError(f"{path} is missing; `make rtl` writes it")
        files[f"registers/{name}"] = path.read_bytes()
    library = ROOT / "sw-driver" / "lib"
    for path in _tracked("sw-driver/lib"):
        files[f"libweir/{path.relative_to(library)}"] = path.read_bytes()
    files |= {f"python/{name}": data for name, data in python_package().items()}
    for board in cores.boards(rtl):
        for path in _tracked(f"fpga-boards/{board}"):
            files[f"boards/{board}/{path.name}"] = path.read_bytes()
    for name in (
        "LICENSE",
        "CHANGELOG.md",
        "docs/packaging.md",
        "docs/boards.md",
        "docs/netfpga.md",
        "docs/register-protocol.md",
        "docs/libweir.md",
        "docs/weirctl.md",
    ):
        files[Path(name).name] = (ROOT / name).read_bytes()
    more, notes = bitstreams(rtl, built)
    files |= more
    files["VERSION"] = f"{cores.version()}\n{commit()}\n".encode()
    return files, notes


def checksums(files: Files) -> bytes:
    """As sha256sum writes them, and checks with -c."""
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items())).encode()


def archive(files: Files, folder: str) -> bytes:
    """A tar.gz of the files below `folder`; the same files give the same bytes."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=9, mtime=0) as out:
        out.write(raw.getvalue())
    return packed.getvalue()


def release(out: Path, rtl: Path, built: Path) -> tuple[Path, list[str]]:
    """Writes the archive and its checksum; answers its path and the notes."""
    files, notes = contents(rtl, built)
    files["SHA256SUMS"] = checksums(files)
    name = f"weir-{cores.version()}"
    data = archive(files, name)
    out.mkdir(parents=True, exist_ok=True)
    target = out / f"{name}.tar.gz"
    sums = f"{hashlib.sha256(data).hexdigest()}  {target.name}\n".encode()
    for path, text in ((target, data), (target.with_name(target.name + ".sha256"), sums)):
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            part.write_bytes(text)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return target, notes


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the archive (default build/release)")
    parser.add_argument("--rtl", type=Path, default=cores.RTL, help="folder of the Verilog (default build/rtl)")
    parser.add_argument("--built", type=Path, default=ROOT / "build" / "boards", help="folder of the boards' builds")
    parser.add_argument("--bitstreams", action="store_true", help="build every board's bitstream first (20 minutes)")
    a = parser.parse_args()
    try:
        if a.bitstreams:
            for board in cores.boards(a.rtl):
                if boards.by_vivado(boards.load(board)) and shutil.which("vivado") is None:
                    continue
                boards.build(board, [1], 1800, pack=True)
        path, notes = release(a.out, a.rtl, a.built)
    except (ReleaseError, cores.CoreError, boards.BoardError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 2
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    place = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    print(f"{place}: {path.stat().st_size / 1e6:.1f} MB, {cores.version()}, commit {commit()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

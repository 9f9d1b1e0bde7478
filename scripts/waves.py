"""Waveform of a bench: `make waves T=<unit>`.

Runs the bench of cocotb-tests/<unit>/ with tracing, or lists the units. The view `<unit>.gtkw` beside the bench
opens with the dump. K='<pytest expression>' chooses tests.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCHES = ROOT / "cocotb-tests"


def benches() -> dict[str, Path]:
    """Benches that run a simulation, by the name of their folder."""
    found = {}
    for file in sorted(BENCHES.glob("*/test_*.py")):
        if "run_bench" in file.read_text():
            found[file.parent.name] = file.parent
    return found


def view_of(folder: Path) -> Path | None:
    """The committed GTKWave view of a bench."""
    views = sorted(folder.glob("*.gtkw"))
    return views[0] if views else None


def dump(folder: Path, expression: str) -> int:
    before = {p: p.stat().st_mtime_ns for p in (ROOT / "build" / "sim").glob("*-waves/runs/*/dump.vcd")}
    command = [sys.executable, "-m", "pytest", "-q", "-x", str(folder.relative_to(ROOT))]
    command += ["-k", expression] if expression else []
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ, WAVES="1"))
    dumps = (ROOT / "build" / "sim").glob("*-waves/runs/*/dump.vcd")
    fresh = sorted(p for p in dumps if p.stat().st_mtime_ns != before.get(p))
    if not fresh:
        print(f"waves: {folder.name} wrote no dump", file=sys.stderr)
        return done.returncode or 1
    view = view_of(folder)
    for path in fresh:
        size = path.stat().st_size / 1e6
        shown = f" {view.relative_to(ROOT)}" if view else ""
        print(f"gtkwave {path.relative_to(ROOT)}{shown}    # {size:.1f} MB")
    return done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("unit", nargs="?", help="folder in cocotb-tests/")
    parser.add_argument("-k", default=os.environ.get("K", ""), help="pytest expression that chooses tests")
    a = parser.parse_args()
    known = benches()
    if a.unit is None:
        print(f"make waves T=<unit>, one of: {' '.join(known)}")
        return 0
    if a.unit not in known:
        print(f"waves: no bench '{a.unit}'; choose one of {', '.join(known)}", file=sys.stderr)
        return 2
    return dump(known[a.unit], a.k)


if __name__ == "__main__":
    sys.exit(main())

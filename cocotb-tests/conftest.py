"""Lets benches import `harness`, `golden` and the Python packages of the repository from wherever pytest starts."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

for directory in (ROOT / "sw-driver" / "python", ROOT / "sim" / "python", ROOT / "cocotb-tests"):
    if str(directory) not in sys.path:
        sys.path.insert(0, str(directory))

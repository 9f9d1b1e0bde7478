"""Where the tests of libweir find the project and the generated register map."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RTL = Path(os.environ.get("WEIR_RTL", ROOT / "build" / "rtl"))

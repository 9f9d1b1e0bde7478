"""The compact policies have the stimuli of the fast ones."""

import sys
from pathlib import Path

AQM = Path(__file__).resolve().parents[1] / "aqm"

if str(AQM) not in sys.path:
    sys.path.append(str(AQM))

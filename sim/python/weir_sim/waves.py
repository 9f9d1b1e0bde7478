"""The waveform of a short, busy scene: marks, drops and a shaped egress within 60 µs."""

from __future__ import annotations

import random
from pathlib import Path

from . import native
from .core import Core
from .files import Outputs
from .frames import ECT0, NOT_ECT, udp_frame

FRAMES = 60


def run(path: Path, preset: str) -> int:
    """Writes the dump and prints how to open it."""
    with Outputs() as outputs:
        core = Core(preset, wave=outputs.path(path), egress="mac")
        device = core.device
        device.seed(1)
        device.shape(rate=4e9)
        device.queue_replace(0, policy="red", limit="12KB", min="1KB", max="5KB", probability="0.5", weight="0.3",
                             ecn=True)  # fmt: skip
        device.trace_enable()
        random.seed(1)
        start = core.now_ns + 500
        for number in range(FRAMES):
            length = random.choice((60, 60, 65, 128, 590, 1514))
            core.send(udp_frame(length, ecn=random.choice((ECT0, NOT_ECT)), number=number), start)
        core.run_idle()
        core.end_wave()
        verdicts = core.trace()
    dropped = int(((verdicts["kind"] == 0) & (verdicts["action"] == 2)).sum())
    marked = int(((verdicts["kind"] == 0) & (verdicts["action"] == 1)).sum())
    print(f"{path}: {FRAMES} frames from {start} ns on, {marked} marked, {dropped} dropped, {core.cycles} cycles")
    view = native.root() / "sim" / "waves" / "core.gtkw"
    print(f"open it with: gtkwave {path} {view}")
    return 0

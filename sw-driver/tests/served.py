"""A cycle model that is served in this process, for tests of what speaks to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weir_sim import Core
from weir_sim.serve import Options, Server, Source


@contextmanager
def served(
    folder: Path, source: Source | None = None, slow: float = 0.0, link_rate: float | None = None
) -> Iterator[Server]:
    """A core at folder/socket and folder/tty, in a thread of its own."""
    options = Options("full", folder / "socket", folder / "tty", source, link_rate, slow)
    server = Server(Core("full", egress="mac"), options)
    if link_rate is not None:
        server.core.device.shape(link_rate)
    running = True

    def serve() -> None:
        while running:
            server.turn()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        running = False
        thread.join(5)
        server.close()

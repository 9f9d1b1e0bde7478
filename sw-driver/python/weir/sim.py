"""The cycle model of a core: `from weir.sim import Core`. The code is in sim/python/weir_sim."""

from weir_sim import (
    RECORD,
    BusError,
    CaptureError,
    Core,
    Frame,
    Frames,
    ModelError,
    Packet,
    PcapWriter,
    Stats,
    decode,
    read_capture,
)

__all__ = [
    "RECORD",
    "BusError",
    "CaptureError",
    "Core",
    "Frame",
    "Frames",
    "ModelError",
    "Packet",
    "PcapWriter",
    "Stats",
    "decode",
    "read_capture",
]

"""Weir's cycle model for Python, and `weir-sim`."""

from .core import BusError, Core, Frame, Frames, Stats
from .native import ModelError
from .pcap import CaptureError, Packet, PcapWriter, read_capture
from .trace import RECORD, decode

__all__ = [
    "RECORD", "BusError", "CaptureError", "Core", "Frame", "Frames", "ModelError", "Packet", "PcapWriter", "Stats",
    "decode", "read_capture",
]  # fmt: skip

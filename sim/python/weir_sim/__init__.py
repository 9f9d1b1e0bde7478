"""Weir's cycle model for Python, and `weir-sim`. What the package offers is loaded when it is first used."""

TYPE_CHECKING = False  # typing takes a while to import

if TYPE_CHECKING:
    from .core import BusError, Core, Frame, Frames, Stats
    from .native import ModelError
    from .pcap import CaptureError, Packet, PcapWriter, read_capture
    from .trace import RECORD, decode
else:

    def __getattr__(name: str) -> object:
        """What the package offers, from the module that has it."""
        from importlib import import_module

        if name in __all__:
            for home in ("native", "pcap", "trace", "core"):
                module = import_module(f".{home}", __name__)
                if hasattr(module, name):
                    return globals().setdefault(name, getattr(module, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "RECORD", "BusError", "CaptureError", "Core", "Frame", "Frames", "ModelError", "Packet", "PcapWriter", "Stats",
    "decode", "read_capture",
]  # fmt: skip

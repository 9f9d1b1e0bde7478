"""Weir from Python: configuration in natural units, counters and trace, on libweir.

All conversion to the hardware's fixed point happens in libweir (docs/libweir.md). It is loaded when something of it is
first used: `import weir` alone takes no time, and does not fail without the library.
"""

TYPE_CHECKING = False  # typing takes a while to import

if TYPE_CHECKING:
    from ._config import (
        Capabilities,
        Parameter,
        Policy,
        Value,
        complete,
        convert_queue,
        convert_queue_back,
        convert_red,
        convert_shaper,
        full_capabilities,
        parameter_called,
        parse_number,
        parse_rate,
        parse_size,
        parse_time,
        policies,
        policy_of,
        shaper_parameters,
        weight_from_burst,
    )
    from ._device import (
        Bus,
        CoreCounters,
        CoreLive,
        Count,
        Device,
        LinkCounters,
        NativeBus,
        QueueCounters,
        QueueLive,
        State,
    )
    from ._ffi import WeirError
    from ._trace import TraceField, TraceRecord, decode_trace, state_fields, trace_choices, trace_fields
else:

    def __getattr__(name: str) -> object:
        """What the package offers, from the module that has it."""
        from importlib import import_module

        if name in __all__:
            for home in ("_config", "_trace", "_device"):
                module = import_module(f".{home}", __name__)
                if hasattr(module, name):
                    return globals().setdefault(name, getattr(module, name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Bus",
    "Capabilities",
    "CoreCounters",
    "CoreLive",
    "Count",
    "Device",
    "LinkCounters",
    "NativeBus",
    "Parameter",
    "Policy",
    "QueueCounters",
    "QueueLive",
    "State",
    "TraceField",
    "TraceRecord",
    "Value",
    "WeirError",
    "complete",
    "convert_queue",
    "convert_queue_back",
    "convert_red",
    "convert_shaper",
    "decode_trace",
    "full_capabilities",
    "parameter_called",
    "parse_number",
    "parse_rate",
    "parse_size",
    "parse_time",
    "policies",
    "policy_of",
    "shaper_parameters",
    "state_fields",
    "trace_choices",
    "trace_fields",
    "weight_from_burst",
]

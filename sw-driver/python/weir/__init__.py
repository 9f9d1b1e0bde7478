"""Weir from Python: configuration in natural units, counters and trace, on libweir.

All conversion to the hardware's fixed point happens in libweir (docs/libweir.md).
"""

from ._config import (
    Capabilities,
    Parameter,
    Policy,
    Value,
    complete,
    convert_queue,
    convert_red,
    convert_shaper,
    full_capabilities,
    parse_number,
    parse_rate,
    parse_size,
    policies,
    shaper_parameters,
    weight_from_burst,
)
from ._device import (
    Bus,
    CoreCounters,
    CoreLive,
    Count,
    Device,
    NativeBus,
    QueueCounters,
    QueueLive,
    TraceRecord,
    decode_trace,
)
from ._ffi import WeirError

__all__ = [
    "Bus",
    "Capabilities",
    "CoreCounters",
    "CoreLive",
    "Count",
    "Device",
    "NativeBus",
    "Parameter",
    "Policy",
    "QueueCounters",
    "QueueLive",
    "TraceRecord",
    "Value",
    "WeirError",
    "complete",
    "convert_queue",
    "convert_red",
    "convert_shaper",
    "decode_trace",
    "full_capabilities",
    "parse_number",
    "parse_rate",
    "parse_size",
    "policies",
    "shaper_parameters",
    "weight_from_burst",
]

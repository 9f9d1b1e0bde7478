"""Parameters, policies, and conversions that need no device."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ._ffi import WeirError, check, ffi, lib, text

#: What a parameter may be given as: a text as tc writes it ("30KB", "10Gbit", "on"), a number, a flag.
Value = str | int | float | bool | None

KINDS: Final = ("flag", "choice", "size", "amount", "count", "number", "rate")
_NUMBERS: Final = (
    "limit_bytes",
    "limit_packets",
    "reserve",
    "quantum",
    "min",
    "max",
    "probability",
    "weight",
    "avpkt",
    "bandwidth",
)
_WHOLE: Final = frozenset({"limit_bytes", "limit_packets", "reserve", "quantum", "avpkt"})
_FLAGS: Final = ("strict", "gentle", "ecn", "harddrop", "nodrop", "exempt_first")
_CHOICES: Final = ("unit", "spread", "bytemode")


@dataclass(frozen=True)
class Parameter:
    """One parameter: `kind` is one of KINDS, the range [min, max] is in `unit`; `choices` are the texts of a choice."""

    name: str
    kind: str
    unit: str
    min: float
    max: float
    default: str
    choices: tuple[str, ...]
    source: str
    help: str


@dataclass(frozen=True)
class Policy:
    """A queue management policy and what can be set for it."""

    id: int
    name: str
    help: str
    source: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Capabilities:
    """What a core is built with. Rates are in bit/s; `link_rate` is the shaper's, or the line's when it is off."""

    version: tuple[int, int, int]
    features: int
    queues: int
    data_width: int
    cells: int
    cell_bytes: int
    descriptors: int
    clock_hz: int
    line_rate: float
    link_rate: float

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies that are built."""
        return tuple(p.name for p in policies() if self.features >> p.id & 1)

    @property
    def trace(self) -> bool:
        """Whether the trace is built."""
        return bool(self.features >> 16 & 1)

    @property
    def buffer_bytes(self) -> int:
        """Bytes that the cells hold: the largest limit."""
        return (self.cells - 1) * self.cell_bytes


def _capabilities(c: Any) -> Capabilities:
    version = (c.version >> 16, c.version >> 8 & 255, c.version & 255)
    return Capabilities(
        version,
        c.features,
        c.queues,
        c.data_width,
        c.cells,
        c.cell_bytes,
        c.descriptors,
        c.clock_hz,
        c.line_rate,
        c.link_rate,
    )


def _c_capabilities(capabilities: Capabilities | None) -> Any:
    c = ffi.new("struct weir_capabilities *")
    if capabilities is None:
        lib.weir_capabilities_full(c)
    else:
        major, minor, patch = capabilities.version
        c.version = major << 16 | minor << 8 | patch
        for name in (
            "features",
            "queues",
            "data_width",
            "cells",
            "cell_bytes",
            "descriptors",
            "clock_hz",
            "line_rate",
            "link_rate",
        ):
            setattr(c, name, getattr(capabilities, name))
    return c


def full_capabilities() -> Capabilities:
    """The capabilities of preset `full`, for conversions without a device."""
    return _capabilities(_c_capabilities(None))


def _parameters() -> list[tuple[Parameter, int, int]]:
    """All parameters with their scope and mask of policies."""
    rows = []
    i = 0
    while (p := lib.weir_parameter_at(i)) != ffi.NULL:
        choices = tuple(text(p.choices).split("|")) if p.choices != ffi.NULL else ()
        parameter = Parameter(
            text(p.name),
            KINDS[p.kind],
            text(p.unit),
            p.min,
            p.max,
            text(p.default_text),
            choices,
            text(p.source),
            text(p.help),
        )
        rows.append((parameter, int(p.scope), int(p.policies)))
        i += 1
    return rows


def policies() -> tuple[Policy, ...]:
    """All policies that the library knows, with their parameters and ranges (of the largest build)."""
    rows = _parameters()
    result = []
    i = 0
    while (p := lib.weir_policy_at(i)) != ffi.NULL:
        mine = tuple(parameter for parameter, scope, mask in rows if scope == 0 and mask >> p.id & 1)
        result.append(Policy(p.id, text(p.name), text(p.help), text(p.source), mine))
        i += 1
    return tuple(result)


def shaper_parameters() -> tuple[Parameter, ...]:
    """What can be set for the shaper."""
    return tuple(parameter for parameter, scope, _ in _parameters() if scope == 1)


def _as_text(name: str, value: str | int | float | bool) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, float) or hasattr(value, "__float__"):
        return repr(float(value))
    raise TypeError(f"{name} must be a text, a number or a flag, not {type(value).__name__}")


def make_config(policy: str | int, natural: Mapping[str, Value]) -> Any:
    """A C `struct weir_queue_config *` from natural values; None leaves a parameter unset."""
    number = policy if isinstance(policy, int) else check(lib.weir_policy_by_name(policy.encode()))
    config = ffi.new("struct weir_queue_config *")
    check(lib.weir_queue_defaults(number, config))
    set_config(config, natural)
    return config


def set_config(config: Any, natural: Mapping[str, Value]) -> None:
    """Sets parameters of a C configuration by name."""
    for name, value in natural.items():
        if value is not None:
            check(lib.weir_queue_set(config, name.encode(), _as_text(name, value).encode()))


def show_config(config: Any) -> dict[str, Any]:
    """A C configuration as a dictionary of natural values; what is unset is left out."""
    policy = next(p for p in policies() if p.id == config.policy)
    choices = {p.name: p.choices for p in policy.parameters if p.kind == "choice"}
    shown: dict[str, Any] = {"policy": policy.name}
    for parameter in policy.parameters:
        name = parameter.name
        value = getattr(config, name)
        if name in _NUMBERS:
            if not math.isnan(value):
                shown[name] = int(value) if name in _WHOLE and value == int(value) else value
        elif name in _FLAGS:
            if value >= 0:
                shown[name] = bool(value)
        elif name in _CHOICES and value >= 0:
            shown[name] = choices[name][value] if value < len(choices[name]) else str(value)
    return shown


def _c_registers(policy: str | int, natural: Mapping[str, Value], capabilities: Capabilities | None) -> Any:
    registers = ffi.new("struct weir_queue_registers *")
    check(lib.weir_convert_queue(_c_capabilities(capabilities), make_config(policy, natural), registers))
    return registers


def complete(policy: str | int, capabilities: Capabilities | None = None, **natural: Value) -> dict[str, Any]:
    """All values of a configuration, the unset ones filled in and everything checked.

    The result also has `burst` when the weight was derived from it. Raises WeirError.
    """
    c = _c_capabilities(capabilities)
    config = make_config(policy, natural)
    check(lib.weir_config_complete(c, config))
    check(lib.weir_config_check(c, config))
    shown = show_config(config)
    if not math.isnan(config.burst):
        shown["burst"] = int(config.burst)
    return shown


def convert_queue(policy: str | int, capabilities: Capabilities | None = None, **natural: Value) -> dict[str, int]:
    """The words of a queue's registers by register name, in the order in which they are written. Raises WeirError."""
    registers = _c_registers(policy, natural, capabilities)
    size = int(lib.WEIR_QUEUE_WORDS)
    values = ffi.new("uint32_t[]", size)
    names = ffi.new("const char *[]", size)
    count = lib.weir_queue_words(registers, ffi.NULL, values, names)
    return {text(names[i]): int(values[i]) for i in range(count)}


def convert_red(capabilities: Capabilities | None = None, **natural: Value) -> dict[str, int]:
    """RED's parameters as its registers hold them, for natural values. Raises WeirError.

    Keys: weight, decay, idle_rate_mantissa, idle_rate_exponent, minimum, maximum, slope_mantissa, slope_exponent,
    gentle_slope_mantissa, gentle_slope_exponent, max_p, mean_mantissa, mean_exponent, spread, byte_mode, gentle, ecn,
    hard_drop, no_drop, exempt_first, and of the queue unit, limit_bytes, limit_packets.
    """
    r = _c_registers("red", natural, capabilities)
    c = ffi.new("struct weir_queue_config *")
    check(lib.weir_convert_queue_back(_c_capabilities(capabilities), r, c))
    fields = {
        "weight": r.red_weight,
        "decay": r.red_decay,
        "minimum": r.red_min,
        "maximum": r.red_max,
        "max_p": r.red_maxp,
        "spread": c.spread,
        "byte_mode": c.bytemode,
        "gentle": c.gentle,
        "ecn": c.ecn,
        "hard_drop": c.harddrop,
        "no_drop": c.nodrop,
        "exempt_first": c.exempt_first,
        "unit": c.unit,
        "limit_bytes": r.limit_bytes,
        "limit_packets": r.limit_packets,
    }
    for name, scaled in (
        ("idle_rate", r.red_idle_rate),
        ("slope", r.red_slope),
        ("gentle_slope", r.red_gentle_slope),
        ("mean", r.red_mean),
    ):
        fields[f"{name}_mantissa"] = scaled.mantissa
        fields[f"{name}_exponent"] = scaled.exponent
    return {name: int(value) for name, value in fields.items()}


def make_shaper(rate: str | int | float, burst: Value = None, overhead: Value = None) -> Any:
    """A C `struct weir_shaper *`; rate "off" or 0 turns it off."""
    shaper = ffi.new("struct weir_shaper *")
    shaper.rate = 0.0 if isinstance(rate, str) and rate.lower() in ("off", "unlimited") else parse_rate(rate)
    shaper.burst = math.nan if burst is None else parse_size(burst)
    shaper.overhead = math.nan if overhead is None else parse_number(overhead)
    return shaper


def convert_shaper(
    rate: str | int | float, burst: Value = None, overhead: Value = None, capabilities: Capabilities | None = None
) -> dict[str, int]:
    """The shaper's registers: cost (ns a byte, UQ17.19), burst (ns), overhead (bytes). Raises WeirError."""
    registers = ffi.new("struct weir_shaper_registers *")
    check(lib.weir_convert_shaper(_c_capabilities(capabilities), make_shaper(rate, burst, overhead), registers))
    return {"cost": int(registers.cost), "burst": int(registers.burst), "overhead": int(registers.overhead)}


def _parse(function: Any, name: str, value: Value) -> float:
    if value is None:
        raise WeirError(-2, f"{name} needs a value")
    result = ffi.new("double *")
    check(function(_as_text(name, value).encode(), result))
    return float(result[0])


def parse_size(value: Value) -> float:
    """Bytes of a size as tc writes it: "30KB", "1.5m" (x1024), 30000. Raises WeirError."""
    return _parse(lib.weir_parse_size, "size", value)


def parse_rate(value: Value) -> float:
    """bit/s of a rate as tc writes it: "64kbit", "10Gbit" (x1000), "1mbps" (bytes), 1000. Raises WeirError."""
    return _parse(lib.weir_parse_rate, "rate", value)


def parse_number(value: Value) -> float:
    """A number: "0.02", "2%", 0.02. Raises WeirError."""
    return _parse(lib.weir_parse_number, "number", value)


def weight_from_burst(burst: float, qmin: float) -> float:
    """The weight by tc's equation (1-(1-w)^burst)/w = burst + 1 - qmin, qmin = min/avpkt packets. Raises WeirError."""
    weight = ffi.new("double *")
    check(lib.weir_weight_from_burst(float(burst), float(qmin), weight))
    return float(weight[0])

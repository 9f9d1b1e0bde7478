"""Parameters, policies, and conversions that need no device."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ._ffi import WeirError, check, ffi, lib, text

#: What a parameter may be given as: a text as tc writes it ("30KB", "10Gbit", "on"), a number, a flag.
Value = str | int | float | bool | None

KINDS: Final = ("flag", "choice", "size", "amount", "count", "number", "rate", "time", "percent")
#: Changes the policy, so that the others can be those of the new one.
_FIRST: Final = "adaptive"


@dataclass(frozen=True)
class Parameter:
    """One parameter: `kind` is one of KINDS, the range [min, max] is in `unit`; `choices` are the texts of a choice.

    `default` is a value of its kind, or says how the default is derived.
    """

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
    """A queue management policy and what can be set for it.

    `plot` is what a picture shows beside the queue: "queue" nothing, "average", "p" or "sojourn".
    """

    id: int
    name: str
    help: str
    source: str
    plot: str
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
    def jumbo(self) -> bool:
        """Whether jumbo frames are built: merging, splitting, transit."""
        return bool(self.features >> 17 & 1)

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


def _parameter(p: Any) -> Parameter:
    choices = tuple(text(p.choices).split("|")) if p.choices != ffi.NULL else ()
    kind = KINDS[p.kind]
    return Parameter(
        text(p.name), kind, text(p.unit), p.min, p.max, text(p.default_text), choices, text(p.source), text(p.help)
    )


def _all(at: Any, *arguments: int) -> Iterator[Any]:
    """What `at(*arguments, i)` points to, for i from 0 until it is NULL."""
    i = 0
    while (found := at(*arguments, i)) != ffi.NULL:
        yield found
        i += 1


@cache
def policies() -> tuple[Policy, ...]:
    """All policies that the library knows, with their parameters and ranges (of the largest build)."""
    return tuple(
        Policy(p.id, text(p.name), text(p.help), text(p.source), text(p.plot),
               tuple(_parameter(q) for q in _all(lib.weir_parameter_at, p.id)))
        for p in _all(lib.weir_policy_at)
    )  # fmt: skip


def encoded(name: str) -> bytes:
    """A text for the C library, where it would end at a NUL. Raises WeirError."""
    try:
        if "\0" not in name:
            return name.encode()
    except UnicodeEncodeError:
        pass
    raise WeirError(-2, f"{name!r} is not a text that can be meant here: it holds a NUL or is not Unicode")


def policy_of(name: str) -> Policy:
    """The policy of a name or alias. Raises WeirError."""
    number = check(lib.weir_policy_by_name(encoded(name)))
    return next(p for p in policies() if p.id == number)


def parameter_called(policy: str, word: str) -> str | None:
    """The name of the parameter that papers or other tools call `word`, None if there is none. Raises WeirError."""
    found = lib.weir_parameter_called(policy_of(policy).id, encoded(word))
    return None if found == ffi.NULL else text(found)


@cache
def shaper_parameters() -> tuple[Parameter, ...]:
    """What can be set for the shaper."""
    return tuple(_parameter(p) for p in _all(lib.weir_shaper_parameter_at))


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
    config = ffi.new("struct weir_queue_config *")
    if isinstance(policy, int):
        check(lib.weir_queue_defaults(policy, config))
    else:
        check(lib.weir_queue_defaults_of(encoded(policy), config))
    set_config(config, natural)
    return config


def set_config(config: Any, natural: Mapping[str, Value]) -> None:
    """Sets parameters of a C configuration by name; `adaptive` first, since it changes the policy."""
    for name, value in sorted(natural.items(), key=lambda item: item[0] != _FIRST):
        if value is not None:
            check(lib.weir_queue_set(config, encoded(name), encoded(_as_text(name, value))))


def _shown(parameter: Parameter, value: float) -> Any:
    """A parameter's number as a person gives it."""
    if parameter.kind == "flag":
        return bool(value)
    if parameter.kind == "choice":
        return parameter.choices[int(value)] if value < len(parameter.choices) else str(int(value))
    if math.isinf(value):
        return "off"
    whole = parameter.kind in ("size", "count") or parameter.unit == "cells"
    return int(value) if whole and value == int(value) else value


def show_config(config: Any) -> dict[str, Any]:
    """A C configuration as a dictionary of natural values, times in us; what is unset is left out."""
    policy = next(p for p in policies() if p.id == config.policy)
    shown: dict[str, Any] = {"policy": policy.name}
    value = ffi.new("double *")
    for parameter in policy.parameters:
        if check(lib.weir_queue_get(config, parameter.name.encode(), value)):
            shown[parameter.name] = _shown(parameter, value[0])
    return shown


def _c_registers(policy: str | int, natural: Mapping[str, Value], capabilities: Capabilities | None) -> Any:
    registers = ffi.new("struct weir_queue_registers *")
    check(lib.weir_convert_queue(_c_capabilities(capabilities), make_config(policy, natural), registers))
    return registers


def _words(registers: Any) -> dict[str, int]:
    return {text(w.name): int(w.value) for w in registers.words[0 : registers.count]}


def complete(policy: str | int, capabilities: Capabilities | None = None, **natural: Value) -> dict[str, Any]:
    """All values of a configuration, the unset ones filled in and everything checked.

    The result also has `burst` when RED's weight was derived from it, and `utilisation` when DT-ECN's threshold was.
    Raises WeirError.
    """
    c = _c_capabilities(capabilities)
    config = make_config(policy, natural)
    check(lib.weir_config_complete(c, config))
    check(lib.weir_config_check(c, config))
    return show_config(config)


def convert_queue(policy: str | int, capabilities: Capabilities | None = None, **natural: Value) -> dict[str, int]:
    """The words of a queue's registers by register name, in the order in which they are written. Raises WeirError."""
    return _words(_c_registers(policy, natural, capabilities))


def convert_queue_back(
    policy: str | int, words: Mapping[str, int], capabilities: Capabilities | None = None
) -> dict[str, Any]:
    """The natural values of a queue's register words, as `convert_queue` gives them. Raises WeirError."""
    registers = _c_registers(policy, {}, capabilities)
    for word in registers.words[0 : registers.count]:
        word.value = words[text(word.name)]
    config = ffi.new("struct weir_queue_config *")
    check(lib.weir_convert_queue_back(_c_capabilities(capabilities), registers, config))
    return show_config(config)


def convert_red(capabilities: Capabilities | None = None, **natural: Value) -> dict[str, int]:
    """RED's parameters as its registers hold them, for natural values. Raises WeirError.

    Keys: weight, decay, idle_rate_mantissa, idle_rate_exponent, minimum, maximum, slope_mantissa, slope_exponent,
    gentle_slope_mantissa, gentle_slope_exponent, max_p, mean_mantissa, mean_exponent, spread, byte_mode, gentle, ecn,
    hard_drop, no_drop, exempt_first, and of the queue unit, limit_bytes, limit_packets.
    """
    r = _c_registers("red", natural, capabilities)
    c = ffi.new("struct weir_queue_config *")
    check(lib.weir_convert_queue_back(_c_capabilities(capabilities), r, c))
    words = _words(r)
    fields = {
        "weight": words["RED_WEIGHT_HI"] << 32 | words["RED_WEIGHT_LO"],
        "decay": words["RED_DECAY_HI"] << 32 | words["RED_DECAY_LO"],
        "minimum": words["RED_MIN"],
        "maximum": words["RED_MAX"],
        "max_p": words["RED_MAXP"],
        "spread": c.red.spread,
        "byte_mode": c.red.bytemode,
        "gentle": c.red.gentle,
        "ecn": c.red.ecn,
        "hard_drop": c.red.harddrop,
        "no_drop": c.red.nodrop,
        "exempt_first": c.red.exempt_first,
        "unit": c.unit,
        "limit_bytes": words["LIMIT_BYTES"],
        "limit_packets": words["LIMIT_PACKETS"],
    }
    for name in ("idle_rate", "slope", "gentle_slope", "mean"):
        fields[f"{name}_mantissa"] = words[f"RED_{name.upper()}"] & (1 << 18) - 1
        fields[f"{name}_exponent"] = words[f"RED_{name.upper()}"] >> 24
    return {name: int(value) for name, value in fields.items()}


def make_shaper(rate: str | int | float, burst: Value = None, overhead: Value = None, mpu: Value = None) -> Any:
    """A C `struct weir_shaper *`; rate "off" or 0 turns it off."""
    shaper = ffi.new("struct weir_shaper *")
    shaper.rate = 0.0 if isinstance(rate, str) and rate.lower() in ("off", "unlimited") else parse_rate(rate)
    shaper.burst = math.nan if burst is None else parse_size(burst)
    shaper.overhead = math.nan if overhead is None else parse_number(overhead)
    shaper.mpu = math.nan if mpu is None else parse_number(mpu)
    return shaper


def convert_shaper(
    rate: str | int | float,
    burst: Value = None,
    overhead: Value = None,
    mpu: Value = None,
    capabilities: Capabilities | None = None,
) -> dict[str, int]:
    """The shaper's registers: cost (ns a byte, UQ17.19), burst (ns), overhead and mpu (bytes). Raises WeirError."""
    registers = ffi.new("struct weir_shaper_registers *")
    check(lib.weir_convert_shaper(_c_capabilities(capabilities), make_shaper(rate, burst, overhead, mpu), registers))
    return {name: int(getattr(registers, name)) for name in ("cost", "burst", "overhead", "mpu")}


def _parse(function: Any, name: str, value: Value) -> float:
    if value is None:
        raise WeirError(-2, f"{name} needs a value")
    result = ffi.new("double *")
    check(function(encoded(_as_text(name, value)), result))
    return float(result[0])


def parse_size(value: Value) -> float:
    """Bytes of a size as tc writes it: "30KB", "1.5m" (x1024), 30000. Raises WeirError."""
    return _parse(lib.weir_parse_size, "size", value)


def parse_rate(value: Value) -> float:
    """bit/s of a rate as tc writes it: "64kbit", "10Gbit" (x1000), "1mbps" (bytes), 1000. Raises WeirError."""
    return _parse(lib.weir_parse_rate, "rate", value)


def parse_time(value: Value) -> float:
    """Microseconds of a time as tc writes it: "15ms", "1.5s", "500us", "64ns", 20 (us). Raises WeirError."""
    return _parse(lib.weir_parse_time, "time", value)


def parse_number(value: Value) -> float:
    """A number: "0.02", "2%", 0.02. Raises WeirError."""
    return _parse(lib.weir_parse_number, "number", value)


def weight_from_burst(burst: float, qmin: float) -> float:
    """The weight that tc takes: the largest of 1/2, 1/4 … 2^-16 with (1-(1-w)^burst)/w >= burst + 1 - qmin, where qmin is
    min/avpkt in packets. Raises WeirError."""
    weight = ffi.new("double *")
    check(lib.weir_weight_from_burst(float(burst), float(qmin), weight))
    return float(weight[0])

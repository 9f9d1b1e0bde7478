"""What makes no sense is refused: with the value, the allowed range and what to do, and nothing is written."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import weir
from fake_core import FakeCore, RegisterFile
from weir._config import make_config
from weir._ffi import ffi, lib

# a policy's name, what is given, what the message has to say besides the advice
REFUSED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("red", {"min": "90KB", "max": "30KB"}, ["min 92160", "0 to 30719", "max"]),
    ("red", {"min": 30719.5, "max": "30KB"}, ["min 30719.5", "0 to 30719", "or as max, which is 30720"]),
    ("red", {"min": 1000, "max": 1000.5}, ["min 1000", "0 to 999.5"]),
    ("red", {"limit": 60000, "max": 131009}, ["max 131009", "1 to 131008"]),
    ("red", {"min": 50000, "max": None}, ["max 150000", "1 to 131008", "3*min"]),
    ("red", {"unit": "packets", "limit": 40, "max": 1025}, ["max 1025", "1 to 1024 packets"]),
    ("red", {"max": 0.5}, ["max 0.5", "1 to"]),
    ("red", {"min": -1}, ["min -1", "0 to"]),
    ("red", {"weight": 0}, ["weight 0", "1.52587891e-05 to 1"]),
    ("red", {"weight": 1.0000001}, ["weight 1.0000001", "to 1"]),
    ("red", {"weight": -0.002}, ["weight -0.002"]),
    ("red", {"probability": 0}, ["probability 0", "1e-06 to 1"]),
    ("red", {"probability": 1.1}, ["probability 1.1", "1e-06 to 1"]),
    ("red", {"probability": "150%"}, ["probability 1.5"]),
    ("red", {"avpkt": 0}, ["avpkt 0", "16 to 9216 bytes"]),
    ("red", {"avpkt": 1000.5}, ["avpkt 1000.5", "whole number", "try 1001"]),
    ("red", {"burst": 0}, ["burst 0", "1 to 1000000"]),
    ("red", {"burst": 1.5}, ["burst 1.5", "whole number"]),
    ("red", {"min": "30KB", "burst": 10}, ["burst 10", "31 to"]),
    ("red", {"min": "30KB", "burst": 999999}, ["burst 999999", "31 to"]),
    ("red", {"bandwidth": 0}, ["bandwidth 0", "1kbit to 100Gbit"]),
    ("red", {"bandwidth": "1tbit"}, ["bandwidth 1000Gbit", "1kbit to"]),
    ("red", {"nodrop": True}, ["nodrop", "ecn"]),
    ("red", {"unit": "packets", "min": "5KB", "max": 15}, ["min", "bytes", "packets"]),
    ("red", {"unit": "frames", "max": "5KB"}, ["max", "bytes", "frames"]),
    ("red", {"spread": "poisson"}, ["'poisson'", "geometric|uniform|uniform-wait"]),
    ("red", {"bytemode": "on"}, ["'on'", "off|after|before"]),
    ("red", {"ecn": "maybe"}, ["'maybe'", "on, off"]),
    ("red", {"min": math.nan}, ["min", "'nan'"]),
    ("red", {"max": math.inf}, ["max", "'inf'"]),
    ("drop-tail", {"limit": "128KB"}, ["limit_bytes 131072", "64 to 131008 bytes", "2048 cells"]),
    ("drop-tail", {"limit": 131009}, ["limit_bytes 131009", "64 to 131008"]),
    ("drop-tail", {"limit": 0}, ["limit_bytes 0", "64 to 131008"]),
    ("drop-tail", {"limit_packets": 1025}, ["limit_packets 1025", "1 to 1024 packets"]),
    ("drop-tail", {"limit_packets": 0}, ["limit_packets 0", "1 to 1024"]),
    ("drop-tail", {"limit_packets": 1.5}, ["limit_packets 1.5", "whole number"]),
    ("drop-tail", {"unit": "bits"}, ["'bits'", "bytes|packets|frames"]),
    ("drop-tail", {"quantum": 9215}, ["quantum 9215", "9216 to 1048575"]),
    ("drop-tail", {"quantum": "1m"}, ["quantum 1048576", "9216 to 1048575"]),
    ("drop-tail", {"reserve": 2048}, ["reserve 2048", "0 to 2047 cells"]),
    ("drop-tail", {"reserve": -1}, ["reserve -1", "0 to 2047"]),
    ("drop-tail", {"ecn": True}, ["'ecn'", "limit"]),
]


@pytest.mark.parametrize(("policy", "natural", "said"), REFUSED, ids=[f"{p}-{n}" for p, n, _ in REFUSED])
def test_a_value_that_makes_no_sense_is_refused_and_nothing_is_written(
    core: FakeCore, device: weir.Device, policy: str, natural: dict[str, Any], said: list[str]
) -> None:
    natural = {"limit": "100KB", "max": "90KB", **natural} if policy == "red" and "unit" not in natural else natural
    for call in (device.queue_replace, device.queue_check):
        with pytest.raises(weir.WeirError) as refused:
            call(1, policy, **natural)
        for part in said:
            assert part in refused.value.message
        assert not core.log


#: What is far beyond every range, as it is typed for each kind.
FAR = {"size": "gb", "amount": "gb", "rate": "gbit", "time": "s", "percent": "%", "count": "", "number": "%"}


@pytest.mark.parametrize("policy", [policy.name for policy in weir.policies()])
def test_a_refusal_says_a_number_as_people_write_it(register_map: RegisterFile, policy: str) -> None:
    """1e20 or 100GB, never 1e+20: of every parameter of a queue."""
    device = weir.Device(core := FakeCore(register_map, policies=tuple(p.name for p in weir.policies())))
    for p in weir.policy_of(policy).parameters:
        for number in ("3e13", "-3e13", "1e15", "1e20", "-1e20", "123456789e20", "1e200"):
            for value in (number, number + FAR.get(p.kind, "")):
                with pytest.raises(weir.WeirError) as refused:
                    device.queue_replace(0, policy, **{"limit": "100KB", p.name: value})
                assert p.name in refused.value.message and "e+" not in refused.value.message
    assert not core.log


def test_other_refusals_say_a_number_as_people_write_it(core: FakeCore, device: weir.Device) -> None:
    device.queue_replace(0, "red", limit="100KB")
    core.forget()
    for number in (1e12, -1e12, 1e15, 1e20, -1e20, 1.25e200):
        calls: dict[str, Callable[[], Any]] = {
            "rate": lambda n=number: device.shape(n),
            "burst": lambda n=number: device.shape("64kbit", n),
            "overhead": lambda n=number: device.shape("64kbit", overhead=n),
            "mpu": lambda n=number: device.shape("64kbit", mpu=n),
            "mred low": lambda n=number: device.mred(0, n, 1),
            "mred high": lambda n=number: device.mred(0, 0, n),
            "spacing": lambda n=number: device.jumbo("split", spacing=n),
            "jfet": lambda n=number: device.merge(0, "class", jfet=n),
            "burst ": lambda n=number: weir.weight_from_burst(n, 10),
        }
        for name, call in calls.items():
            with pytest.raises(weir.WeirError) as refused:
                call()
            assert name in refused.value.message and "e+" not in refused.value.message
    assert not core.log
    with pytest.raises(weir.WeirError, match="^rate 1e20 is out of range: allowed is 64kbit to 10Gbit; "):
        device.shape(1e20)
    with pytest.raises(weir.WeirError, match="^mred low 1000000000000 is out of range: allowed is 0 to 1; try 0.025$"):
        device.mred(0, 1e12, 1)


@pytest.mark.parametrize("queue", [4, 255, 2**32 - 1, 2**32, -1])
def test_a_queue_that_is_not_built_is_refused(core: FakeCore, device: weir.Device, queue: int) -> None:
    for call in (
        lambda: device.queue_replace(queue, "drop-tail"),
        lambda: device.queue_change(queue, limit=1000),
        lambda: device.queue_show(queue),
        lambda: device.counters(queue),
        lambda: device.live(queue),
        lambda: device.default_queue(queue),
        lambda: device.dscp_map({0: queue}),
        lambda: device.trace_enable(queues=[queue]),
    ):
        with pytest.raises(weir.WeirError, match=f"{queue}.* is out of range: allowed is 0 to") as refused:
            call()
        assert refused.value.name == "RANGE"
    assert not core.log


def test_a_policy_that_is_not_built_is_refused_with_those_that_are(register_map) -> None:
    core = FakeCore(register_map, queues=1, policies=("drop-tail",))
    device = weir.Device(core)
    assert device.capabilities.policies == ("drop-tail",)
    with pytest.raises(weir.WeirError, match="policy red is not built into this core; choose one of drop-tail"):
        device.queue_replace(0, "red")
    assert not core.log
    assert device.queue_replace(0, "drop-tail", limit=5000)["limit_bytes"] == 5000


SHAPER: list[tuple[dict[str, Any], list[str]]] = [
    ({"rate": 63999}, ["rate 63.999kbit", "64kbit to 10Gbit"]),
    ({"rate": "10001mbit"}, ["rate 10.001Gbit", "64kbit to 10Gbit"]),
    ({"rate": -1}, ["rate -1"]),
    ({"rate": "64kbit", "burst": 34360}, ["burst 34360", "0 to 34359 bytes"]),
    ({"rate": "64kbit", "burst": -1}, ["burst -1", "0 to"]),
    ({"rate": "1mbit", "overhead": 32768}, ["overhead 32768", "-32768 to 32767"]),
    ({"rate": "1mbit", "overhead": -32769}, ["overhead -32769", "-32768 to 32767"]),
    ({"rate": "1mbit", "overhead": 0.5}, ["overhead 0.5", "whole number"]),
    ({"rate": "1mbit", "mpu": -1}, ["mpu -1", "0 to 16383 bytes", "0 for none"]),
    ({"rate": "1mbit", "mpu": 16384}, ["mpu 16384", "0 to 16383 bytes"]),
    ({"rate": "1mbit", "mpu": 59.5}, ["mpu 59.5", "whole number; try 60"]),
    ({"rate": "off", "mpu": 16384}, ["mpu 16384", "0 to 16383 bytes"]),
    ({"rate": 0, "burst": -5}, ["burst -5"]),
    ({"rate": "fast"}, ["'fast'", "is not a rate"]),
]


@pytest.mark.parametrize(("values", "said"), SHAPER, ids=[str(v) for v, _ in SHAPER])
def test_shaper_values_are_refused(
    core: FakeCore, device: weir.Device, values: dict[str, Any], said: list[str]
) -> None:
    with pytest.raises(weir.WeirError) as refused:
        device.shape(**values)
    for part in said:
        assert part in refused.value.message
    assert not core.log


def test_other_values_are_refused(core: FakeCore, device: weir.Device) -> None:
    for call, said in [
        (lambda: device.max_frame(63), "max_frame 63 is out of range: allowed is 64 to 9216 bytes"),
        (lambda: device.max_frame(9217), "max_frame 9217 is out of range"),
        (lambda: device.jumbo("merge"), "jumbo mode 'merge' is not known; allowed is opaque, split or transit"),
        (lambda: device.jumbo("split", 0x05FF), "jumbo ethertype 0x05FF is out of range: allowed is 0x0600 to 0xFFFF"),
        (lambda: device.jumbo("split", 0x10000), "jumbo ethertype 0x10000 is out of range"),
        (lambda: device.jumbo("split", 0x86DD), "jumbo ethertype 0x86DD belongs to IP or to VLAN tags"),
        (lambda: device.jumbo("split", 0, 17), "jumbo protocol 17 is out of range: allowed is 146 to 254"),
        (lambda: device.jumbo("split", 0, 255), "jumbo protocol 255 is out of range"),
        (
            lambda: device.jumbo("split", spacing="1.1s"),
            "jumbo spacing 1.1s is out of range: allowed is 1ns to 1s",
        ),
        (lambda: device.jumbo("split", spacing=-1.0), "jumbo spacing -1us is out of range"),
        (lambda: device.jumbo("split", spacing=float("nan")), "'nan' is not a time"),
        (
            lambda: device.jumbo("transit", spacing="1ms"),
            "only packets that are split wait for their spacing; set mode split",
        ),
        (lambda: device.mred(0, -0.1, 0.5), "mred low -0.1 is out of range: allowed is 0 to 1"),
        (lambda: device.mred(0, 0.5, 0.4), "mred high 0.4 is out of range: allowed is 0.5 (low) to 1"),
        (lambda: device.mred(0, 0.5, 1.1), "mred high 1.1 is out of range"),
        (lambda: device.mred(4, 0.1, 0.5), "queue 4 is out of range"),
        (lambda: device.mred(0, 0.1, 0.5), "mred needs red, isred or ared in queue 0"),
        (lambda: device.fix_draw(1 << 24), "draw 16777216 is out of range: allowed is 0 to 16777215"),
        (lambda: device.fix_draw(-1), "draw -1 is out of range"),
        (lambda: device.seed(1 << 64), "seed 18446744073709551616 is out of range"),
        (lambda: device.dscp_map({64: 0}), "DSCP 64 is out of range: allowed is 0 to 63"),
        (lambda: device.dscp_map([0] * 63), "a DSCP map of 63 queues"),
        (lambda: device.dscp_map([4] * 64), "queue 4 of DSCP 0 is out of range: allowed is 0 to 3"),
    ]:
        with pytest.raises(weir.WeirError) as refused:
            call()
        assert said in refused.value.message
    assert not core.log


def test_reserves_may_not_pass_the_buffer(core: FakeCore, device: weir.Device) -> None:
    device.queue_replace(0, "drop-tail", reserve=1000)
    device.queue_replace(1, "drop-tail", reserve=1000)
    assert device.shared_cells() == 2047 - 2000
    core.forget()
    with pytest.raises(weir.WeirError, match="reserve 48 is out of range: allowed is 0 to 47 cells, .* reserve 2000"):
        device.queue_replace(2, "drop-tail", reserve=48)
    assert not core.log
    device.queue_replace(2, "drop-tail", reserve=47)
    assert device.shared_cells() == 0
    assert device.queue_replace(1, "drop-tail", reserve=1000)["reserve"] == 1000


NUMBERS = ["limit_bytes", "limit_packets", "reserve", "quantum", "min", "max", "probability", "weight", "burst",
           "avpkt", "bandwidth"]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(NUMBERS), st.floats(allow_nan=False), st.data())
def test_any_number_outside_its_range_is_refused_by_the_c_library(
    core: FakeCore, device: weir.Device, name: str, value: float, data: st.DataObject
) -> None:
    """Infinite values too, which only C can give; the message has the parameter's name and both ends."""
    core.forget()
    parameter = next(p for p in weir.policies()[1].parameters if p.name == name)
    assume(not parameter.min <= value <= parameter.max)
    config = make_config("red", {"limit": "100KB"})
    setattr(config if hasattr(config, name) else config.red, name, value)
    status = lib.weir_queue_apply(device._handle, 0, config)
    message = bytes(ffi.string(lib.weir_error())).decode()
    assert status == -1 and message.startswith(f"{name} ") and " is out of range: allowed is " in message
    assert not core.log


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(["unit", "strict", "gentle", "ecn", "harddrop", "nodrop", "spread", "bytemode", "exempt_first"]),
       st.integers(-(2**31), 2**31 - 1))  # fmt: skip
def test_any_choice_outside_its_range_is_refused_by_the_c_library(
    core: FakeCore, device: weir.Device, name: str, value: int
) -> None:
    core.forget()
    parameter = next(p for p in weir.policies()[1].parameters if p.name == name)
    assume(value != -1 and not parameter.min <= value <= parameter.max)
    config = make_config("red", {"limit": "100KB"})
    setattr(config if hasattr(config, name) else config.red, name, value)
    assert lib.weir_queue_apply(device._handle, 0, config) == -1
    assert f"{name} {value} is out of range: allowed is 0 to" in bytes(ffi.string(lib.weir_error())).decode()
    assert not core.log


@given(st.dictionaries(st.sampled_from([*NUMBERS, "limit", "ecn", "gentle", "unit", "spread", "junk"]), st.text()))
def test_any_text_is_taken_or_refused(natural: dict[str, str]) -> None:
    clean: dict[str, weir.Value] = {k: v.replace("\0", "") for k, v in natural.items()}
    try:
        weir.convert_queue("red", **clean)
    except weir.WeirError as refused:
        assert refused.message and refused.code in (-1, -2, -3, -5)


def test_setting_a_value_that_is_refused_changes_nothing() -> None:
    config = make_config("red", {"min": 5, "unit": "packets", "spread": "uniform"})
    before = bytes(ffi.buffer(config))
    for name, text in [(b"min", b"x"), (b"spread", b"x"), (b"unit", b""), (b"ecn", b"?"), (b"none", b"1")]:
        assert lib.weir_queue_set(config, name, text) < 0
    assert bytes(ffi.buffer(config)) == before

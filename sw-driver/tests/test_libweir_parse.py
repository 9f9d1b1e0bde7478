"""Values as tc writes them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weir
from fake_core import POLICIES
from weir._ffi import ffi, lib


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("30000", 30000), ("30k", 30720), ("30KB", 30720), ("30kb", 30720), ("1.5m", 1572864),
        ("1MB", 1 << 20), ("1g", 1 << 30), ("2Gb", 2 << 30), ("7b", 7), ("64kbit", 8192), ("8mbit", 1 << 20),
        ("1gbit", 1 << 27), ("1e3", 1000), (".5k", 512), ("-5", -5), ("+5", 5),
    ],
)  # fmt: skip
def test_sizes_count_by_1024(text: str, value: float) -> None:
    assert weir.parse_size(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("64kbit", 64e3), ("1.5Mbit", 1.5e6), ("10Gbit", 10e9), ("1tbit", 1e12), ("1000", 1000), ("1bit", 1),
        ("1bps", 8), ("1kbps", 8e3), ("1mbps", 8e6), ("1gbps", 8e9), ("1kibit", 1024), ("1mibit", 1 << 20),
        ("1gibit", 1 << 30), ("1kibps", 8192), ("1mibps", 8 << 20), ("1gibps", 8 << 30),
    ],
)  # fmt: skip
def test_rates_count_by_1000(text: str, value: float) -> None:
    assert weir.parse_rate(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20", 20), ("15ms", 15000), ("1.5s", 1.5e6), ("2sec", 2e6), ("1SECS", 1e6), ("3msec", 3000), ("3msecs", 3000),
        ("7us", 7), ("7usec", 7), ("7usecs", 7), ("500ns", 0.5), ("500nsec", 0.5), ("500nsecs", 0.5), ("0", 0),
    ],
)  # fmt: skip
def test_times_are_microseconds(text: str, value: float) -> None:
    assert weir.parse_time(text) == value


@pytest.mark.parametrize(("text", "value"), [("0.02", 0.02), ("2%", 0.02), ("1e-3", 1e-3), ("1", 1)])
def test_numbers(text: str, value: float) -> None:
    assert math.isclose(weir.parse_number(text), value, rel_tol=1e-15)


WRONG = ["", " ", "x", "KB", "30 KB", "30KBx", "0x10", "inf", "nan", "1e999", "--1", "1..2", "e5", "1k2", "9" * 80]


@pytest.mark.parametrize("text", WRONG)
@pytest.mark.parametrize("parse", [weir.parse_size, weir.parse_rate, weir.parse_time, weir.parse_number])
def test_other_texts_are_refused_with_an_example(parse, text: str) -> None:
    with pytest.raises(weir.WeirError) as refused:
        parse(text)
    assert refused.value.name == "SYNTAX"
    assert f"'{text[:40]}'" in refused.value.message and "write" in refused.value.message


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for parse in (weir.parse_size, weir.parse_rate, weir.parse_time, weir.parse_number):
        try:
            assert math.isfinite(parse(text.replace("\0", "")))
        except weir.WeirError as refused:
            assert refused.name == "SYNTAX"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_python_numbers_arrive_exactly(value: float) -> None:
    assert weir.parse_number(value) == value


def test_flags() -> None:
    for text, wanted in [("on", 1), ("off", 0), ("YES", 1), ("no", 0), ("true", 1), ("False", 0), ("1", 1), ("0", 0)]:
        value = ffi.new("int *")
        assert lib.weir_parse_flag(text.encode(), value) == 0 and value[0] == wanted
    assert lib.weir_parse_flag(b"maybe", ffi.new("int *")) == -2
    assert b"'maybe' is neither on nor off" in ffi.string(lib.weir_error())


def test_a_flag_needs_no_value_and_others_do() -> None:
    config = ffi.new("struct weir_queue_config *")
    assert lib.weir_queue_defaults(1, config) == 0
    assert lib.weir_queue_set(config, b"ecn", ffi.NULL) == 0 and config.red.ecn == 1
    assert lib.weir_queue_set(config, b"limit", ffi.NULL) == -2
    assert b"limit needs a value" in ffi.string(lib.weir_error())


def test_dashes_are_underscores() -> None:
    assert weir.convert_queue("drop-tail", **{"limit-packets": 7})["LIMIT_PACKETS"] == 7


def test_policy_names() -> None:
    assert weir.convert_queue("RED")["POLICY"] == 1
    assert weir.convert_queue("droptail")["POLICY"] == 0
    with pytest.raises(weir.WeirError, match="policy 'blue' is not there; no core has it; red, pie, codel and fn are"):
        weir.convert_queue("blue")
    with pytest.raises(weir.WeirError, match="policy number 15 is not known"):
        weir.convert_queue(15)


def test_the_table_of_parameters_is_complete() -> None:
    by_name = {p.name: p for p in weir.policies()}
    assert tuple(by_name) == POLICIES
    red = {p.name: p for p in by_name["red"].parameters}
    common = {"unit", "limit", "limit_bytes", "limit_packets", "reserve", "quantum", "strict", "front"}
    assert {p.name for p in by_name["drop-tail"].parameters} == common
    assert set(red) - common == {
        "min", "max", "probability", "avpkt", "burst", "weight", "bandwidth", "gentle", "ecn", "harddrop", "nodrop",
        "spread", "bytemode", "exempt_first", "adaptive",
    }  # fmt: skip
    assert {p.name for p in weir.shaper_parameters()} == {"rate", "burst", "overhead"}
    for parameter in [*(p for policy in by_name.values() for p in policy.parameters), *weir.shaper_parameters()]:
        assert parameter.source and parameter.help and parameter.default and parameter.min < parameter.max
        assert bool(parameter.choices) == (parameter.kind == "choice")


def test_an_unknown_key_lists_the_known_ones() -> None:
    with pytest.raises(weir.WeirError) as refused:
        weir.convert_queue("drop-tail", min=5)
    assert refused.value.name == "UNKNOWN"
    for name in ("'min'", "limit", "quantum", "strict"):
        assert name in refused.value.message
    assert "probability" not in refused.value.message

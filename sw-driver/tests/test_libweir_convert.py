"""Natural units to fixed point, against exact arithmetic, within the bounds that docs/libweir.md states."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import exact_conversion as exact
import weir
from weir._ffi import lib

HALF = Fraction(1, 2)
#: Rounding to 18 bits, and the double arithmetic before it.
MANTISSA_ERROR = Fraction(1, 1 << 18) * (1 + Fraction(1, 1 << 30))
FULL = weir.full_capabilities()

weights = st.one_of(
    st.floats(2.0**-16, 1.0),
    st.floats(-16, 0).map(lambda power: max(2.0**-16, 2.0**power)),
    st.integers(1, 1 << 20).map(lambda n: 1 - n * 2.0**-36),
)


@given(weights)
@example(1.0)
@example(2.0**-16)
@example(0.002)
@example(1 - 2.0**-37)
@example(math.nextafter(1 - 2.0**-37, 0))
def test_weight_is_rounded_to_the_nearest(weight: float) -> None:
    word = lib.weir_to_weight(weight)
    assert abs(word - Fraction(weight) * (1 << 36)) <= HALF
    assert 1 << 20 <= word <= 1 << 36


@given(st.one_of(st.integers(1 << 20, (1 << 36) - 1), st.integers(1, 1 << 24).map(lambda n: (1 << 36) - n)))
@example(1 << 20)
@example((1 << 36) - 1)
@example(1 << 35)
def test_decay_is_the_logarithm_of_the_rounded_weight(word: int) -> None:
    assert abs(lib.weir_to_decay(word) - exact.decay(word)) <= Fraction(51, 100)


def test_decay_of_weight_one_is_all_ones() -> None:
    assert lib.weir_to_decay(1 << 36) == (1 << 42) - 1


@given(st.floats(2.0**-46, 2.0**17))
@example(2.0**-46)
@example(1.0)
@example(math.nextafter(1.0, 0))
@example((2.0**18 - 0.5) / 2.0**18)
def test_scaled_numbers_have_18_bits(value: float) -> None:
    scaled = lib.weir_to_scaled(value)
    assert 1 << 17 <= scaled.mantissa < 1 << 18 and 0 <= scaled.exponent <= 63
    assert exact.relative_error(exact.scaled(scaled.mantissa, scaled.exponent), Fraction(value)) <= Fraction(1, 1 << 18)
    assert lib.weir_from_scaled(scaled) == math.ldexp(scaled.mantissa, -scaled.exponent)


@pytest.mark.parametrize(
    ("value", "mantissa", "exponent"),
    [
        (0.0, 0, 0),
        (-1.0, 0, 0),
        (math.nan, 0, 0),
        (1e300, (1 << 18) - 1, 0),
        (2.0**-60, 8, 63),
        (2.0**-80, 0, 63),
        (2.0**18, (1 << 18) - 1, 0),
    ],
)
def test_scaled_numbers_outside_the_format_stay_inside_it(value: float, mantissa: int, exponent: int) -> None:
    scaled = lib.weir_to_scaled(value)
    assert (scaled.mantissa, scaled.exponent) == (mantissa, exponent)


@st.composite
def bands(draw: st.DrawFn) -> tuple[float, float]:
    low = draw(st.one_of(st.integers(0, FULL.buffer_bytes - 1), st.floats(0, FULL.buffer_bytes - 1)))
    high = draw(st.one_of(st.integers(math.ceil(low) + 1, FULL.buffer_bytes), st.floats(low + 1, FULL.buffer_bytes)))
    return low, high


probabilities = st.one_of(
    st.floats(1e-6, 1), st.floats(-6, 0).map(lambda p: min(1.0, max(1e-6, 10.0**p))), st.just(1.0)
)


@given(bands(), probabilities)
@example((200000, 200001), 1.0)
@example((0, 1), 1.0)
@example((0, FULL.buffer_bytes), 1e-6)
def test_thresholds_slopes_and_max_p_agree(band: tuple[float, float], probability: float) -> None:
    red = weir.convert_red(min=band[0], max=band[1], probability=probability, weight=0.002)
    low, high = Fraction(red["minimum"], 2048), Fraction(red["maximum"], 2048)
    assert abs(low - Fraction(band[0])) <= Fraction(1, 4096)
    assert abs(high - Fraction(band[1])) <= Fraction(1, 4096)
    max_p = Fraction(1) if red["max_p"] == (1 << 32) - 1 else Fraction(red["max_p"], 1 << 32)
    bound = Fraction(1, 1 << 33) if probability < 1 - 2.0**-31 else Fraction(3, 1 << 33)
    assert abs(max_p - Fraction(probability)) <= bound
    slope = exact.scaled(red["slope_mantissa"], red["slope_exponent"])
    assert exact.relative_error(slope, max_p / (high - low) * (1 << 17)) <= MANTISSA_ERROR
    gentle = exact.scaled(red["gentle_slope_mantissa"], red["gentle_slope_exponent"])
    if max_p == 1:
        assert gentle == 0
    else:
        assert exact.relative_error(gentle, (1 - max_p) / high * (1 << 17)) <= MANTISSA_ERROR


@given(st.integers(16, 9216), st.one_of(st.floats(1000, 100e9), st.floats(3, 11).map(lambda p: min(100e9, 10.0**p))))
@example(9216, 1000.0)
@example(16, 100e9)
def test_idle_rate_and_mean(avpkt: int, bandwidth: float) -> None:
    red = weir.convert_red(avpkt=avpkt, bandwidth=bandwidth, weight=0.002)
    rate = exact.scaled(red["idle_rate_mantissa"], red["idle_rate_exponent"])
    assert exact.relative_error(rate, exact.idle_rate(bandwidth, avpkt)) <= MANTISSA_ERROR
    mean = exact.scaled(red["mean_mantissa"], red["mean_exponent"])
    assert exact.relative_error(mean, Fraction(1 << 20, avpkt)) <= MANTISSA_ERROR


@st.composite
def shapers(draw: st.DrawFn) -> tuple[float, float]:
    rate = draw(st.one_of(st.floats(64e3, 10e9), st.floats(4.81, 10).map(lambda p: min(10e9, 10.0**p))))
    return rate, draw(st.floats(0, 4.29 * rate / 8))


@given(shapers(), st.integers(-32768, 32767), st.integers(0, 16383))
@example((64000.0, 1538.0), 24, 60)
@example((10e9, 0.0), -24, 0)
def test_shaper_keeps_its_rate_in_the_long_run(shaper: tuple[float, float], overhead: int, mpu: int) -> None:
    rate, burst = shaper
    r = weir.convert_shaper(rate, burst, overhead, mpu)
    assert 0 < r["cost"] < 1 << 36
    kept = Fraction(8 * 10**9) * (1 << 19) / r["cost"]
    assert exact.relative_error(kept, Fraction(rate)) <= Fraction(rate) / (8 * 10**9 << 20) * Fraction(100001, 100000)
    assert exact.relative_error(kept, Fraction(rate)) <= Fraction(12, 10**7)
    wanted = Fraction(burst) * 8 * 10**9 / Fraction(rate)
    assert abs(r["burst"] - wanted) <= HALF + wanted / (1 << 50)
    assert (r["overhead"], r["mpu"]) == (overhead, mpu)


def test_shaper_off_and_defaults() -> None:
    """IEEE 802.3: a frame has 64 bytes with FCS at least, preamble and gap take 20 more."""
    ethernet = {"overhead": 24, "mpu": 60}
    assert weir.convert_shaper(0) == weir.convert_shaper("off") == {"cost": 0, "burst": 0} | ethernet
    assert weir.convert_shaper("1gbit") == {"cost": 8 << 19, "burst": 1538 * 8} | ethernet


@given(st.integers(2, 3000), st.floats(1.01, 2000))
def test_weight_is_the_power_of_two_that_tc_takes(burst: int, qmin: float) -> None:
    """The largest of 1/2, 1/4 … with (1-(1-w)^burst)/w >= burst + 1 - qmin, as tc_red_eval_ewma() of iproute2 searches it."""
    wanted = Decimal(burst + 1 - qmin)
    averages = {k: exact.burst_average(burst, 2.0**-k) for k in range(1, 17)}
    assume(all(abs(average / wanted - 1) > Decimal("1e-9") for average in averages.values()) if wanted >= 1 else True)
    fitting = [k for k, average in averages.items() if average >= wanted >= 1]
    if fitting:
        assert weir.weight_from_burst(burst, qmin) == 2.0 ** -fitting[0]
    else:
        with pytest.raises(weir.WeirError, match="burst .* is out of range: allowed with min"):
            weir.weight_from_burst(burst, qmin)


@pytest.mark.parametrize(
    ("burst", "qmin", "ewma"), [(55, 30, 5), (51, 30.72, 5), (30, 30, 1), (2, 1.5, 1), (2, 1.25, 2), (3, 1.75, 2), (1, 1, 1), (180, 30, 9)]
)  # fmt: skip
def test_weights_of_tc(burst: int, qmin: float, ewma: int) -> None:
    """tc-red(8)'s example, tc's smallest burst, and cases in which both sides of the equation are the same number."""
    assert weir.weight_from_burst(burst, qmin) == 2.0**-ewma


def test_refused_burst_names_a_range_that_holds() -> None:
    with pytest.raises(weir.WeirError, match=r"allowed with min 87.376 packets is 88 to (\d+) packets") as refused:
        weir.weight_from_burst(10**6, 87.376)
    last = int(refused.value.message.split(" to ")[1].split()[0])
    assert weir.weight_from_burst(88, 87.376) < 1
    assert weir.weight_from_burst(last, 87.376) >= 2.0**-16
    with pytest.raises(weir.WeirError):
        weir.weight_from_burst(last + 1, 87.376)
    with pytest.raises(weir.WeirError):
        weir.weight_from_burst(87, 87.376)


def test_the_weight_by_default_is_tcs() -> None:
    """tc red limit 400KB min 30KB max 90KB avpkt 1000: burst 51, ewma 5, that is w = 1/32."""
    red = weir.complete("red", limit="400KB", min="30KB", max="90KB", avpkt=1000)
    assert red["burst"] == 51 and red["weight"] == 1 / 32
    assert weir.complete("red", limit="400KB", min="30KB", max="90KB", avpkt=1000, weight=0.04)["weight"] == 0.04


def test_defaults_are_tcs() -> None:
    red = weir.complete("red", limit=400000)
    assert red["max"] == 100000 and red["min"] == 33333
    assert red["avpkt"] == 1000 and red["probability"] == 0.02
    assert red["burst"] == (2 * 33333 + 100000) // 3000
    assert red["bandwidth"] == 10e9  # the link's, where tc takes 10 Mbit
    assert not any(red[flag] for flag in ("ecn", "harddrop", "nodrop", "gentle", "strict"))
    assert red["spread"] == "uniform" and red["exempt_first"] and red["bytemode"] == "off"


def test_the_first_packet_is_exempt_where_a_count_spreads() -> None:
    """As in Linux (always uniform), ns-2 and ns-3; geometric draws are independent."""
    assert weir.complete("red", spread="uniform-wait")["exempt_first"] is True
    assert weir.complete("red", spread="uniform-wait", exempt_first=False)["exempt_first"] is False
    assert weir.complete("red", spread="geometric")["exempt_first"] is False
    assert weir.complete("red", spread="geometric", exempt_first=True)["exempt_first"] is True


def test_without_a_band_max_is_a_step() -> None:
    """As tc and the kernel take it: below it nothing is selected, from it on everything."""
    words = weir.convert_queue("red", min=30000, max=30000, weight=1, ecn=True)
    assert words["RED_MIN"] == words["RED_MAX"] == 30000 << 11 and words["RED_SLOPE"] == 0
    shown = weir.convert_queue_back("red", words)
    assert shown["min"] == shown["max"] == 30000
    assert weir.convert_queue("red", **{k: v for k, v in shown.items() if k != "policy"}) == words


def test_weight_wins_over_burst_in_any_order() -> None:
    for natural in ({"weight": 0.5, "burst": 200}, {"burst": 200, "weight": 0.5}):
        assert weir.complete("red", **natural)["weight"] == 0.5


def test_a_minimum_below_one_packet_has_floyds_weight() -> None:
    assert weir.complete("red", unit="packets", min=0.9, max=3)["weight"] == 0.002
    assert weir.complete("red", unit="packets", min=1, max=3)["weight"] == 0.5  # tc's equation has a solution: burst 1
    with pytest.raises(weir.WeirError, match="min is 0.5 packets of avpkt and has to be more than 1"):
        weir.complete("red", min=500, max=2000, burst=20)


@pytest.mark.parametrize("unit", ["bytes", "packets", "frames"])
def test_limit_is_in_the_queues_unit(unit: str) -> None:
    words = weir.convert_queue("drop-tail", unit=unit, limit=100)
    assert words["LIMIT_BYTES"] == (100 if unit == "bytes" else FULL.buffer_bytes)
    assert words["LIMIT_PACKETS"] == (FULL.descriptors if unit == "bytes" else 100)
    assert weir.convert_queue("drop-tail", unit=unit, limit="100KB")["LIMIT_BYTES"] == 102400


def test_reserve_in_bytes_is_rounded_up_to_cells() -> None:
    assert weir.convert_queue("drop-tail", reserve=3)["RESERVE_CELLS"] == 3
    assert weir.convert_queue("drop-tail", reserve="65b")["RESERVE_CELLS"] == 2
    assert weir.convert_queue("drop-tail", reserve="64KB")["RESERVE_CELLS"] == 1024


def test_convert_red_and_convert_queue_are_the_same_numbers() -> None:
    natural: dict[str, weir.Value] = {
        "min": "30KB", "max": "90KB", "ecn": True, "gentle": True, "spread": "uniform-wait", "bytemode": "before",
        "unit": "bytes", "harddrop": True, "nodrop": True, "weight": 0.002,
    }  # fmt: skip
    red, words = weir.convert_red(**natural), weir.convert_queue("red", **natural)
    assert words["RED_WEIGHT_HI"] << 32 | words["RED_WEIGHT_LO"] == red["weight"]
    assert words["RED_DECAY_HI"] << 32 | words["RED_DECAY_LO"] == red["decay"]
    for word, name in (
        ("IDLE_RATE", "idle_rate"),
        ("SLOPE", "slope"),
        ("GENTLE_SLOPE", "gentle_slope"),
        ("MEAN", "mean"),
    ):
        assert words[f"RED_{word}"] == red[f"{name}_exponent"] << 24 | red[f"{name}_mantissa"]
    assert (words["RED_MIN"], words["RED_MAX"], words["RED_MAXP"]) == (red["minimum"], red["maximum"], red["max_p"])
    assert words["RED_FLAGS"] == 2 | 2 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8
    assert red["exempt_first"] == 1 and red["spread"] == 2 and red["byte_mode"] == 2


def test_drop_tail_has_no_red_registers() -> None:
    assert list(weir.convert_queue("drop-tail")) == [
        "POLICY",
        "LIMIT_BYTES",
        "LIMIT_PACKETS",
        "RESERVE_CELLS",
        "QUANTUM",
    ]


def test_the_default_burst_is_raised_where_tcs_is_too_small() -> None:
    """tc's (2*min+max)/(3*avpkt) is 1 here, less than min/avpkt = 1.5."""
    red = weir.complete("red", min=1500, max=1600, avpkt=1000)
    assert red["burst"] == 2 and red["weight"] == 0.5
    assert weir.complete("red", min=200000, max=200001, avpkt=8000)["burst"] == 25  # not smaller than min/avpkt

"""Every policy: its registers against exact arithmetic and docs/policy-registers.md, back again, its defaults, what it
refuses, and what depends on the other queues."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import exact_conversion as exact
import weir
from fake_core import POLICIES, FakeCore, RegisterFile, contract, uses
from libweir_paths import ROOT
from weir._config import make_config
from weir._ffi import ffi, lib

HALF = Fraction(1, 2)
#: Rounding to 18 bits, and the double arithmetic before it.
MANTISSA_ERROR = Fraction(1, 1 << 18) * (1 + Fraction(1, 1 << 30))
#: Two numbers that have the same 18-bit word.
SHORTEST = 2.0**-17 * (1 + 2.0**-17)
FULL = weir.full_capabilities()
COMMON = ("POLICY", "LIMIT_BYTES", "LIMIT_PACKETS", "RESERVE_CELLS", "QUANTUM")
times = st.one_of(
    st.floats(1, 4e6), st.floats(0, 6.6).map(lambda power: min(4e6, 10.0**power)), st.integers(1, 4000000)
)
shares = st.one_of(st.floats(0, 1), st.floats(-6, 0).map(lambda power: min(1.0, 10.0**power)), st.sampled_from([0, 1]))


def gains(most: float) -> st.SearchStrategy[float]:
    return st.one_of(st.floats(0, most), st.floats(-6, math.log10(most)).map(lambda power: min(most, 10.0**power)))


def same_time(word: int, us: float) -> bool:
    return abs(word - Fraction(us) * 1000) <= HALF + Fraction(us) / (1 << 42)


def same_share(word: int, share: float) -> bool:
    bound = Fraction(1, 1 << 33) if share < 1 - 2.0**-31 else Fraction(3, 1 << 33)
    return abs(exact.probability_word(word) - Fraction(share)) <= bound


def same_scaled(word: int, value: Fraction) -> bool:
    """To 18 bits, or to 2^-64 where the exponent ends."""
    error = abs(exact.scaled_word(word) - value)
    return error <= value * MANTISSA_ERROR or error <= Fraction(1, 1 << 64)


def same_gain(word: int, per_second: float) -> bool:
    return same_scaled(word, Fraction(per_second) / 10**9 * (1 << 40))


def back(policy: str, words: dict[str, int]) -> dict[str, Any]:
    """The natural values of words; they have to convert to the same words."""
    shown = weir.convert_queue_back(policy, words)
    assert shown["policy"] == policy
    assert weir.convert_queue(**shown) == words
    return shown


# ---- the contract


def page() -> str:
    return (ROOT / "docs" / "policy-registers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_writes_just_the_registers_of_the_contract(policy: str, every: FakeCore) -> None:
    offsets = {**every.map.queue_at, **contract(page())}
    wanted = [name for name in offsets if name.split("_")[0] in uses(page())[policy]]
    assert sorted(weir.convert_queue(policy)) == sorted([*COMMON, *wanted])
    device = weir.Device(every)
    every.forget()
    device.queue_replace(1, policy)
    block = every.address("POLICY", 1)
    assert every.log[-1] == (every.address("APPLY", 1), 1)
    assert {a - block for a, _ in every.log} == {offsets[name] for name in [*COMMON, *wanted, "APPLY"]}


def test_numbers_and_names_are_those_of_the_contract() -> None:
    rows = re.findall(r"^\| (\d+) \| ([a-z0-9-]+) \|", page(), flags=re.M)
    known = {p.id: p.name for p in weir.policies()}
    assert {int(number): name for number, name in rows} == known


def test_registers_of_a_policy_that_is_not_built_are_not_written(register_map: RegisterFile) -> None:
    core = FakeCore(register_map, policies=("drop-tail", "pie"))
    device = weir.Device(core)
    with pytest.raises(weir.WeirError, match="policy codel is not built into this core; choose one of drop-tail, pie"):
        device.queue_replace(0, "codel")
    assert not core.log
    device.queue_replace(0, "pie")
    assert device.queue_show(0)["target"] == 15000


# ---- defaults


@pytest.mark.parametrize("policy", weir.policies(), ids=lambda p: p.name)
def test_defaults_are_those_of_the_table(policy: weir.Policy) -> None:
    full = weir.complete(policy.name)
    parsers = {"size": weir.parse_size, "rate": weir.parse_rate, "time": weir.parse_time, "count": weir.parse_number,
               "number": weir.parse_number}  # fmt: skip
    told = 0
    for p in policy.parameters:
        if p.name in ("limit", "adaptive"):
            assert p.name not in full
            continue
        if p.kind in ("choice", "flag"):
            values = {"flag": {"on": True, "off": False}.get(p.default), "choice": p.default}
            wanted = values[p.kind]
        else:
            try:
                wanted = "off" if p.default == "off" else parsers[p.kind](p.default)
            except (weir.WeirError, KeyError):
                continue
        assert full[p.name] == wanted or (wanted is None and " " in p.default), p.name
        told += 1
        weir.complete(policy.name, **{p.name: full[p.name]})
    assert told >= 4


def test_defaults_of_the_sources() -> None:
    """RFC 8033, RFC 8289, RFC 9332, Floyd 2001, docs/modules."""
    wanted: dict[str, dict[str, Any]] = {
        "pie": {"target": 15e3, "tupdate": 15e3, "alpha": 0.125, "beta": 1.25, "burst": 150e3, "mark_ecnth": 0.1},
        "codel": {"target": 5e3, "interval": 100e3, "maxpacket": 1514, "ce_threshold": "off", "ecn": False},
        "pi2": {"target": 15e3, "tupdate": 15e3, "alpha": 0.15, "beta": 3, "coupling_factor": 2, "p_cmax": 0.25},
        "ared": {"interval": 500e3, "bottom": 0.01, "top": 0.5, "alpha": 0.01, "beta": 0.9},
        "isred": {"mode": "certain", "source": "avg", "slope": 0.8 * 30},
        "dt-ecn": {"utilisation": 50, "threshold": 15},
        "fn": {"window": 1024, "t": 27e3, "capacity": 10e9, "qopt": FULL.buffer_bytes // 16},
    }
    for policy, values in wanted.items():
        full = weir.complete(policy, unit="packets", limit=30)
        assert {name: full[name] for name in values} == values
    ared = weir.complete("ared", limit=4000, min=1000, max=2000)
    assert (ared["low"], ared["high"]) == (1400, 1600)
    assert weir.complete("pi2", target="50ms")["tupdate"] == 33333
    assert weir.complete("pi2", coupling_factor=0.5)["p_cmax"] == 1


# ---- conversions


@given(st.integers(64, FULL.buffer_bytes), st.integers(0, 10000), st.sampled_from(["bytes", "packets"]))
@example(450, 2500, "packets")
@example(3000, 110, "packets")
def test_dt_ecn_rounds_theta_up(limit: int, hundredths: int, unit: str) -> None:
    limit = min(limit, FULL.descriptors) if unit == "packets" else limit
    words = weir.convert_queue("dt-ecn", unit=unit, limit=limit, utilisation=f"{hundredths / 100}%")
    assert words["DTECN_THRESHOLD"] == math.ceil(Fraction(limit * hundredths, 10000))
    shown = back("dt-ecn", words)
    assert shown["threshold"] == words["DTECN_THRESHOLD"] and "utilisation" not in shown


def test_dt_ecns_threshold_wins_over_utilisation_unless_it_was_read_back(every: FakeCore) -> None:
    assert weir.convert_queue("dt-ecn", limit=1000, threshold=99.5, utilisation=20)["DTECN_THRESHOLD"] == 100
    assert weir.convert_queue("dt-ecn", limit=1000, utilisation=20, threshold="0.25k")["DTECN_THRESHOLD"] == 256
    device = weir.Device(every)
    device.queue_replace(0, "dt-ecn", limit=1000, threshold=99)
    assert device.queue_change(0, utilisation="20%")["threshold"] == 200
    assert device.queue_change(0, quantum=10000)["threshold"] == 200


@given(gains(1e10).map(lambda s: max(s, 0.001)), gains(1000).map(lambda g: max(g, 0.001)), st.integers(0, 2),
       st.integers(0, 1))  # fmt: skip
@example(1e10, 1000.0, 2, 1)
@example(0.001, 0.001, 0, 0)
def test_isred(slope: float, gain: float, mode: int, source: int) -> None:
    words = weir.convert_queue(
        "isred", slope=slope, gain=gain, mode=("certain", "chance", "gain")[mode], source=("avg", "q")[source]
    )
    assert words["ISRED_CTRL"] == mode | source << 2
    assert (
        exact.relative_error(exact.scaled_word(words["ISRED_SLOPE"]), Fraction(slope) / 10**9 * 4096) <= MANTISSA_ERROR
    )
    assert exact.relative_error(exact.scaled_word(words["ISRED_GAIN"]), Fraction(gain)) <= MANTISSA_ERROR
    shown = back("isred", words)
    assert math.isclose(shown["slope"], slope, rel_tol=SHORTEST) and math.isclose(shown["gain"], gain, rel_tol=SHORTEST)


@st.composite
def adaptive(draw: st.DrawFn) -> dict[str, Any]:
    low, high = sorted((draw(st.floats(0, 50000)), draw(st.floats(0, 50000))))
    assume(high - low >= 1.001)
    inner = sorted((draw(st.floats(low, high)), draw(st.floats(low, high))))
    bottom, probability, top = sorted(draw(st.floats(1e-6, 1)) for _ in range(3))
    return {
        "min": low, "max": high, "low": inner[0], "high": inner[1], "bottom": bottom, "top": top,
        "probability": probability, "alpha": draw(shares), "beta": draw(shares),
        "interval": draw(times.filter(lambda t: t >= 100)), "weight": 0.002,
    }  # fmt: skip


#: A narrow band, where rounding max to 2^-11 changes ARED_BAND and ARED_GENTLE.
NARROW = {"min": 0.0, "max": 1.0003, "low": 0.3, "high": 0.5, "bottom": 0.01, "top": 0.5, "probability": 0.02,
          "alpha": 0.01, "beta": 0.9, "interval": 100.0, "weight": 0.002}  # fmt: skip


@given(adaptive())
@example(NARROW)
def test_ared(natural: dict[str, Any]) -> None:
    words = weir.convert_queue("ared", limit=60000, **natural)
    red = weir.convert_queue("red", limit=60000, **{k: natural[k] for k in ("min", "max", "probability", "weight")})
    assert {k: v for k, v in words.items() if k.startswith("RED_")} == {
        k: v for k, v in red.items() if k.startswith("RED_")
    }
    assert same_time(words["ARED_INTERVAL"], natural["interval"])
    for word, name in (("LOW", "low"), ("HIGH", "high")):
        assert abs(Fraction(words[f"ARED_{word}"], 2048) - Fraction(natural[name])) <= Fraction(1, 4096)
    for word, name in (("BOTTOM", "bottom"), ("TOP", "top"), ("INCREASE", "alpha"), ("DECREASE", "beta")):
        assert same_share(words[f"ARED_{word}"], natural[name])
    low, high = Fraction(words["RED_MIN"], 2048), Fraction(words["RED_MAX"], 2048)
    assert exact.relative_error(exact.scaled_word(words["ARED_BAND"]), (1 << 17) / (high - low)) <= MANTISSA_ERROR
    assert exact.relative_error(exact.scaled_word(words["ARED_GENTLE"]), (1 << 17) / high) <= MANTISSA_ERROR
    shown = back("ared", words)
    for name in ("bottom", "top", "alpha", "beta", "probability"):
        assert abs(shown[name] - natural[name]) <= 2.0**-32 * 1.001
    assert abs(shown["interval"] - natural["interval"]) <= 0.000501


@given(times, times.filter(lambda t: t >= 10), gains(1), gains(10), times, shares, st.integers(0, FULL.buffer_bytes),
       st.booleans())  # fmt: skip
@example(15000.0, 15000.0, 0.125, 1.25, 150000.0, 0.1, 3000, False)
@example(4e6, 4e6, 1.0, 10.0, 4e6, 1, 0, True)
def test_pie(
    target: float, tupdate: float, alpha: float, beta: float, burst: float, share: float, bypass: int, ecn: bool
) -> None:
    words = weir.convert_queue("pie", target=target, tupdate=tupdate, alpha=alpha, beta=beta, burst=burst,
                               mark_ecnth=share, bypass=bypass, ecn=ecn)  # fmt: skip
    assert (words["PIE_CTRL"], words["PIE_BYPASS"]) == (ecn, bypass)
    for word, us in (("INTERVAL", tupdate), ("TARGET", target), ("BURST", burst)):
        assert same_time(words[f"PIE_{word}"], us)
    assert same_gain(words["PIE_ALPHA"], alpha) and same_gain(words["PIE_BETA"], beta)
    assert same_share(words["PIE_ECN_MAX"], share)
    shown = back("pie", words)
    for name, value in (("target", target), ("tupdate", tupdate), ("burst", burst)):
        assert abs(shown[name] - value) <= 0.000501
    for name, value in (("alpha", alpha), ("beta", beta)):
        assert math.isclose(shown[name], value, rel_tol=SHORTEST, abs_tol=1e-18)
    assert abs(shown["mark_ecnth"] - share) <= 2.0**-32 * 1.001


@given(times, times, st.integers(0, 9216), st.one_of(times, st.just(0.0), st.just("off")), st.booleans())
def test_codel(target: float, interval: float, mtu: int, threshold: float | str, ecn: bool) -> None:
    words = weir.convert_queue(
        "codel", target=target, interval=interval, maxpacket=mtu, ce_threshold=threshold, ecn=ecn
    )
    assert (words["CODEL_CTRL"], words["CODEL_MTU"]) == (ecn, mtu)
    assert same_time(words["CODEL_TARGET"], target) and same_time(words["CODEL_INTERVAL"], interval)
    if isinstance(threshold, str):
        assert words["CODEL_CE_THRESHOLD"] == (1 << 32) - 1
    else:
        assert same_time(words["CODEL_CE_THRESHOLD"], threshold)
    shown = back("codel", words)
    assert shown["ce_threshold"] == threshold or abs(shown["ce_threshold"] - threshold) <= 0.000501  # type: ignore[operator]


@given(times, times.filter(lambda t: t >= 10), gains(40), gains(40), times, st.floats(0, 15), shares, st.booleans(),
       st.booleans(), st.integers(0, 3))  # fmt: skip
def test_pi2(
    target: float, tupdate: float, alpha: float, beta: float, step: float, k: float, most: float, ecn: bool,
    low_latency: bool, coupled: int,
) -> None:  # fmt: skip
    words = weir.convert_queue("pi2", target=target, tupdate=tupdate, alpha=alpha, beta=beta, step_thresh=step,
                               coupling_factor=k, p_cmax=most, ecn=ecn, low_latency=low_latency, coupled=coupled)  # fmt: skip
    assert words["PI2_CTRL"] == ecn | low_latency << 1 | coupled << 4
    for word, us in (("INTERVAL", tupdate), ("TARGET", target), ("STEP", step)):
        assert same_time(words[f"PI2_{word}"], us)
    assert same_gain(words["PI2_ALPHA"], alpha) and same_gain(words["PI2_BETA"], beta)
    assert abs(Fraction(words["PI2_COUPLING"], 4096) - Fraction(k)) <= Fraction(1, 8192)
    assert same_share(words["PI2_MAX"], most)
    shown = back("pi2", words)
    assert abs(shown["coupling_factor"] - k) <= 2.0**-12 and shown["coupled"] == coupled
    assert shown["low_latency"] is low_latency and shown["ecn"] is ecn


@given(st.integers(1, 4096), times, st.integers(0, 60000), st.floats(3, 11).map(lambda p: min(100e9, 10.0**p)),
       st.integers(16, 9216), st.integers(0, 7))  # fmt: skip
@example(4096, 4e6, 60000, 100e9, 9216, 7)
@example(1, 1.0, 0, 1e3, 16, 0)
@example(32, 1.728e6, 13125, 20e6, 1064, 6)
def test_fn(window: int, t: float, qopt: int, capacity: float, mean: int, flags: int) -> None:
    natural = {"window": window, "t": t, "qopt": qopt, "capacity": capacity, "mean": mean, "limit_bytes": 60000,
               "spread": "uniform" if flags & 1 else "geometric", "bytemode": bool(flags & 2),
               "ecn": bool(flags & 4)}  # fmt: skip
    words = weir.convert_queue("fn", **natural)
    assert words["FN_CTRL"] == flags << 1 and words["FN_WINDOW"] == window
    t_ns = exact.wide_word(words["FN_T"])
    assert exact.relative_error(t_ns, Fraction(t) * 1000) <= MANTISSA_ERROR
    room = Fraction(words["FN_ROOM_HI"] << 32 | words["FN_ROOM_LO"], 16)
    assert words["FN_ROOM_HI"] < 1 << 8
    wanted = Fraction(capacity) * t_ns / (8 * 10**9) + qopt
    assert abs(room - wanted) <= Fraction(1, 16) + wanted / (1 << 50)
    assert words["FN_QOPT"] == qopt * 16
    assert exact.relative_error(exact.scaled_word(words["FN_MEAN"]), Fraction(1 << 20, mean)) <= MANTISSA_ERROR
    half = exact.wide_word(words["FN_HALF_T2"], bias=0)
    assert exact.relative_error(half, t_ns * t_ns / 2) <= MANTISSA_ERROR
    shown = back("fn", words)
    assert math.isclose(shown["t"], t, rel_tol=SHORTEST) and shown["window"] == window and shown["mean"] == mean
    assert shown["qopt"] == qopt
    drains = t_ns / (8 * 10**9)
    assert abs(Fraction(shown["capacity"]) - Fraction(capacity)) * drains <= Fraction(1, 16) + wanted / (1 << 48)


@given(st.floats(0, 60000), st.floats(3, 11).map(lambda p: min(100e9, 10.0**p)), times)
@example(0.03, 1e3, 1.0)
@example(59999.97, 100e9, 1.0)
def test_fn_reads_back_what_was_set(qopt: float, capacity: float, t: float) -> None:
    words = weir.convert_queue("fn", qopt=qopt, capacity=capacity, t=t, limit_bytes=60000)
    shown = back("fn", words)
    assert abs(shown["qopt"] - qopt) <= 1 / 16
    assert weir.convert_queue(**shown) == words


@pytest.mark.parametrize(("rate", "t", "qopt"), [(10e9, "27ms", 25600), (10e9, "1728ms", 13125), (10e9, "1ms", 0),
                                                 (20e6, "216ms", 13125), (1e9, "1ms", 3), (333e3, "100ms", 1)])  # fmt: skip
def test_fn_reads_back_round_numbers_as_they_were_typed(rate: float, t: str, qopt: int) -> None:
    shown = back("fn", weir.convert_queue("fn", t=t, qopt=qopt, capacity=rate, limit=60000))
    assert (shown["qopt"], shown["capacity"], shown["t"]) == (qopt, rate, weir.parse_time(t))


@pytest.mark.parametrize(
    ("given", "room", "qopt"),
    [
        ({"t": 1e3, "qopt": 0, "capacity": 100e9}, 12_500_000 * 16 + 80, 5),  # more than the fastest link drains
        ({"t": 4e6, "qopt": 0, "capacity": 1e3}, 0, 0),  # less than the slowest
        ({"t": 1e3, "qopt": 9e3, "capacity": 1e9}, 1000, 62.375),  # less than FN_QOPT; the slowest link drains 0.125
        ({"t": 1e3, "qopt": 0, "capacity": 100e9}, 20_000_000 * 16, 60000),  # and past the limit
    ],
)
def test_fn_shows_something_legal_for_what_another_program_wrote(given: dict[str, float], room: int, qopt: int) -> None:
    words = weir.convert_queue("fn", limit_bytes=60000, **given)
    shown = weir.convert_queue_back("fn", words | {"FN_ROOM_LO": room & 0xFFFFFFFF, "FN_ROOM_HI": room >> 32})
    assert shown["qopt"] == qopt and 1e3 <= shown["capacity"] <= 100e9
    weir.convert_queue(**shown)


@given(st.floats(2.0**-40, 2.0**49))
@example(2.0**49)
@example(2.0**49 * (1 - 2.0**-18))
@example(math.nextafter(2.0, 0))
def test_wide_numbers_have_18_bits(us: float) -> None:
    """By T of FN, over its range; outside it the word is the nearest there is."""
    us = min(max(us, 1), 4e6)
    word = weir.convert_queue("fn", t=us)["FN_T"]
    assert 1 << 17 <= word & (1 << 18) - 1 and exact.relative_error(exact.wide_word(word), Fraction(us) * 1000) <= (
        MANTISSA_ERROR
    )


# ---- flags, aliases


@pytest.mark.parametrize("policy", POLICIES)
def test_any_policy_drops_from_the_front(policy: str) -> None:
    assert weir.convert_queue(policy)["POLICY"] >> 12 & 1 == 0
    words = weir.convert_queue(policy, front=True)
    assert words["POLICY"] == weir.convert_queue(policy)["POLICY"] | 1 << 12
    assert back(policy, words)["front"] is True


def test_drop_front_is_drop_tail_from_the_front() -> None:
    assert weir.convert_queue("drop-front", limit=5000) == weir.convert_queue("drop-tail", limit=5000, front=True)
    assert weir.convert_queue("Drop-Front", front=False)["POLICY"] == 0
    assert weir.policy_of("drop-front").name == "drop-tail"


def test_adaptive_makes_red_ared_and_back(every: FakeCore) -> None:
    assert weir.convert_queue("red", interval="1s", adaptive=True) == weir.convert_queue("ared", interval="1s")
    assert weir.convert_queue("ared", adaptive=False) == weir.convert_queue("red", adaptive=False)
    device = weir.Device(every)
    before = device.queue_replace(0, "red", min=1000, max=9000, weight=0.01)
    after = device.queue_change(0, adaptive=True)
    assert (before["policy"], after["policy"]) == ("red", "ared") and after["weight"] == before["weight"]
    with pytest.raises(weir.WeirError, match="red has no parameter 'interval'"):
        weir.convert_queue("red", interval="1s")


# ---- refusals


REFUSED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("dt-ecn", {"utilisation": 101}, ["utilisation 101", "0 to 100 %"]),
    ("dt-ecn", {"utilisation": "-1%"}, ["utilisation -1"]),
    ("dt-ecn", {"utilisation": "half"}, ["'half' is not a percentage"]),
    ("dt-ecn", {"limit": 5000, "threshold": 5001}, ["threshold 5001", "0 to 5000 bytes", "raise limit"]),
    ("dt-ecn", {"unit": "packets", "threshold": "5KB"}, ["threshold is given in bytes", "packets"]),
    ("dt-ecn", {"ecn": True}, ["dt-ecn has no parameter 'ecn'", "utilisation"]),
    ("fn", {"Ws": 100}, ["fn has no parameter 'Ws', it is window here"]),
    ("fn", {"mu": 0}, ["'mu', it is capacity here"]),
    ("fn", {"q_weight_": 0.1}, ["fn has no parameter 'q_weight_'; it has"]),
    ("red", {"q_weight": 0.1}, ["'q_weight', it is weight here"]),
    ("red", {"": 0.1}, ["red has no parameter ''; it has"]),
    ("red", {"_": 0.1}, ["red has no parameter '_'; it has"]),
    ("isred", {"slope": 0}, ["slope 0", "0.001 to 10000000000", "queue units a second"]),
    ("isred", {"gain": 1001}, ["gain 1001", "0.001 to 1000"]),
    ("isred", {"mode": "maybe"}, ["'maybe'", "certain|chance|gain"]),
    ("isred", {"min": 90000, "max": 30000}, ["min 90000"]),
    ("ared", {"interval": "99us"}, ["interval 99", "100us to 4s"]),
    ("ared", {"interval": "5s"}, ["interval 5s"]),
    ("ared", {"min": 30000, "max": 30000}, ["min 30000", "0 to 29999", "max_p"]),
    ("ared", {"min": 1000, "max": 2000, "low": 999}, ["low 999", "1000 to 2000 bytes"]),
    ("ared", {"min": 1000, "max": 2000, "low": 1500, "high": 1400}, ["high 1400", "1500 to 2000"]),
    ("ared", {"unit": "packets", "high": "1k"}, ["high is given in bytes"]),
    ("ared", {"bottom": 0.6}, ["top 0.5", "0.6 to 1"]),
    ("ared", {"probability": 0.6}, ["probability 0.6", "0.01 to 0.5", "bottom or top"]),
    ("ared", {"beta": 1.1}, ["beta 1.1", "0 to 1", "0.9"]),
    ("fn", {"window": 0}, ["window 0", "1 to 4096 packets"]),
    ("fn", {"window": 4097}, ["window 4097", "1 to 4096"]),
    ("fn", {"window": 1.5}, ["window 1.5", "whole number"]),
    ("fn", {"t": 0}, ["t 0", "1us to 4s"]),
    ("fn", {"t": "27"}, []),
    ("fn", {"t": "27 ms"}, ["'27 ms' is not a time"]),
    ("fn", {"limit": 5000, "qopt": 5001}, ["qopt 5001", "0 to 5000 bytes"]),
    ("fn", {"capacity": 1}, ["capacity 1", "1kbit to"]),
    ("fn", {"spread": "uniform-wait"}, ["geometric|uniform"]),
    ("pie", {"target": 0}, ["target 0", "1us to 4s", "15ms"]),
    ("pie", {"tupdate": "9us"}, ["tupdate 9", "10us to 4s"]),
    ("pie", {"alpha": 2}, ["alpha 2", "0 to 1 1/s", "sixteenths"]),
    ("pie", {"beta": 20}, ["beta 20", "0 to 10 1/s", "sixteenths"]),
    ("pie", {"mark_ecnth": "110%"}, ["mark_ecnth 1.1"]),
    ("pie", {"bypass": 131009}, ["bypass 131009", "0 to 131008"]),
    ("codel", {"target": "5 s"}, ["is not a time"]),
    ("codel", {"target": "off"}, ["'off' is not a time"]),
    ("codel", {"interval": "5s"}, ["interval 5s"]),
    ("codel", {"maxpacket": 9217}, ["maxpacket 9217", "0 to 9216"]),
    ("codel", {"ce_threshold": "-1us"}, ["ce_threshold -1", "or off"]),
    ("pi2", {"coupled": 4}, ["coupled 4", "0 to 3"]),
    ("pi2", {"low_latency": True, "coupled": 1}, ["coupled 1 is this queue itself"]),
    ("pi2", {"coupling_factor": 16}, ["coupling_factor 16", "0 to 15"]),
    ("pi2", {"p_cmax": -0.1}, ["p_cmax -0.1"]),
    ("pi2", {"alpha": 41}, ["alpha 41", "0 to 40"]),
]  # fmt: skip


@pytest.mark.parametrize(("policy", "natural", "said"), REFUSED, ids=[f"{p}-{n}" for p, n, _ in REFUSED])
def test_what_makes_no_sense_is_refused_and_nothing_is_written(
    every: FakeCore, policy: str, natural: dict[str, Any], said: list[str]
) -> None:
    device = weir.Device(every)
    every.forget()
    if not said:
        device.queue_replace(1, policy, **natural)
        return
    for call in (device.queue_replace, device.queue_check):
        with pytest.raises(weir.WeirError) as refused:
            call(1, policy, **natural)
        for part in said:
            assert part in refused.value.message
        assert not every.log


NUMBERS = [(policy.name, p) for policy in weir.policies() if policy.id > 1 for p in policy.parameters
           if p.kind not in ("flag", "choice") and p.name not in ("limit", "min", "max", "burst", "avpkt")]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(NUMBERS), st.floats())
def test_any_number_outside_its_range_is_refused_by_the_c_library(
    every: FakeCore, row: tuple[str, weir.Parameter], value: float
) -> None:
    policy, parameter = row
    assume(not parameter.min <= value <= parameter.max and not math.isnan(value))
    assume(not (parameter.default == "off" and value == math.inf))
    device = weir.Device(every)
    every.forget()
    config = make_config(policy, {"limit_bytes": 60000})
    part = config
    if not hasattr(config, parameter.name):
        part = getattr(config, policy.replace("-", "_"))
        part = part if hasattr(part, parameter.name) else config.red
    setattr(part, parameter.name, value)
    assert lib.weir_queue_apply(device._handle, 0, config) == -1
    message = bytes(ffi.string(lib.weir_error())).decode()
    assert message.startswith(f"{parameter.name} ") and " is out of range: allowed is " in message
    assert not every.log


# ---- windows of FN


def base(core: FakeCore, queue: int) -> int:
    return core.applied("FN_WINDOW", queue) >> 16


def test_windows_of_fn_do_not_overlap(every: FakeCore) -> None:
    device = weir.Device(every)
    for queue in range(4):
        device.queue_replace(queue, "fn")
    assert [base(every, q) for q in range(4)] == [0, 1024, 2048, 3072]
    every.forget()
    with pytest.raises(weir.WeirError) as refused:
        device.queue_change(1, window=1025)
    assert refused.value.message == (
        "window 1025 is out of range: allowed is 1 to 1024 packets, because the windows of the other queues hold 3072 of "
        "4096; make one of them smaller first"
    )
    assert not every.log
    device.queue_change(1, window=1000, t="5ms")  # stays where it is
    assert base(every, 1) == 1024
    device.queue_replace(2, "drop-tail")
    device.queue_change(1, window=2048)
    assert base(every, 1) == 1024
    device.queue_replace(0, "drop-tail")
    device.queue_change(1, window=900)  # stays, although there is room before it
    assert base(every, 1) == 1024
    device.queue_change(1, window=3072)  # moves to the front
    assert base(every, 1) == 0
    with pytest.raises(weir.WeirError, match="window 1 is out of range: allowed is 0 packets"):
        device.queue_replace(0, "fn", window=1)
    device.queue_replace(3, "red")
    device.queue_replace(1, "fn", window=4096)
    assert every.applied("FN_WINDOW", 1) == 4096
    assert device.queue_show(1)["window"] == 4096


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["fn", "fn", "fn", "drop-tail"]), st.integers(1, 4096)),
                max_size=25))  # fmt: skip
def test_windows_never_overlap_whatever_is_asked(register_map: RegisterFile, steps: list[tuple[int, str, int]]) -> None:
    core = FakeCore(register_map, policies=POLICIES)
    device = weir.Device(core)
    sizes: dict[int, int] = {}
    for queue, policy, window in steps:
        natural: dict[str, Any] = {"window": window} if policy == "fn" else {}
        others = [(base(core, q), size) for q, size in sizes.items() if q != queue]
        fits = any(
            start + window <= 4096 and all(start + window <= b or b + s <= start for b, s in others)
            for start in [0, *(b + s for b, s in others)]
        )
        try:
            device.queue_replace(queue, policy, **natural)
        except weir.WeirError:
            assert policy == "fn" and not fits
            continue
        assert policy != "fn" or fits
        sizes.pop(queue, None)
        if policy == "fn":
            sizes[queue] = window
        taken = [n for q, size in sizes.items() for n in range(base(core, q), base(core, q) + size)]
        assert len(set(taken)) == len(taken) and max(taken, default=0) < 4096


def test_the_contract_has_the_registers_that_are_generated(register_map: RegisterFile) -> None:
    generated = {r.name: offset for offset, r in register_map.queue.items() if r.policy is not None}
    assert generated == contract(page())
    owners = {name.split("_")[0]: register_map.queue[offset].policy for name, offset in generated.items()}
    assert all(prefix in uses(page())[owner] for prefix, owner in owners.items() if owner)


@pytest.mark.parametrize(
    ("policy", "word", "name"),
    [
        ("red", "thresh_", "min"), ("red", "thresh", "min"), ("red", "MAXTHRESH_", "max"), ("red", "q_weight", "weight"),
        ("isred", "mean_pktsize_", "avpkt"), ("fn", "mu", "capacity"), ("fn", "Ws", "window"), ("red", "mu", None),
        ("red", "thres", None), ("red", "", None), ("red", "_", None), ("red", ", ", None), ("drop-tail", "thresh_", None),
    ],
)  # fmt: skip
def test_what_a_parameter_is_called_here(policy: str, word: str, name: str | None) -> None:
    assert weir.parameter_called(policy, word) == name


def test_no_word_of_no_policy_is_a_parameter() -> None:
    assert (
        lib.weir_parameter_called(99, b"mu") == lib.weir_parameter_called(1, weir._ffi.ffi.NULL) == weir._ffi.ffi.NULL
    )
    with pytest.raises(weir.WeirError, match="NUL"):
        weir.parameter_called("red", "mu\0")

"""RED typed as for tc gives what tc and Linux make of it: thresholds, weight, and how often packets are selected.

The rules are written here once more, after iproute2's `tc red` and the kernel's `red_action()`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import weir
from fake_core import FakeCore, RegisterFile
from golden.params import RedParams
from golden.red import NOT_ECT, Red
from weir.ctl.main import main

FACTORS = {"": 1, "b": 1, "k": 1024, "kb": 1024, "m": 1 << 20, "mb": 1 << 20, "kbit": 128, "mbit": 1 << 17}


class Unlike(Exception):
    """tc refuses the command, or it is out of this core's ranges."""


def size(text: str) -> int:
    """tc's: the product is cut to whole bytes."""
    number = text.rstrip("bkmit")
    return int(float(number) * FACTORS[text[len(number) :]])


def tc(command: dict[str, str], buffer: int) -> dict[str, Any]:
    """What `tc qdisc … red` sends to the kernel; integers where it has integers."""
    given = {name: size(text) for name, text in command.items() if name not in ("burst", "probability")}
    limit, avpkt = given["limit"], given["avpkt"]
    low, high = given.get("min", 0), given.get("max", 0)
    high = high or (low * 3 if low else limit // 4)
    low = low or high // 3
    burst = int(command.get("burst", 0)) or (2 * low + high) // (3 * avpkt)
    fitting = [k for k in range(1, 32) if burst + 1 - low / avpkt <= (1 - (1 - 0.5**k) ** burst) * 2.0**k]
    if burst + 1 - low / avpkt < 1 or not fitting or high < low:
        raise Unlike
    if not (64 <= limit <= buffer and 1 <= high <= buffer and 16 <= avpkt <= 9216 and fitting[0] <= 16):
        raise Unlike
    probability = float(command.get("probability", 0.02))
    return {"limit_bytes": limit, "min": low, "max": high, "weight": 0.5 ** fitting[0], "probability": probability}


def commands(number: int, seed: int) -> Iterator[dict[str, str]]:
    """Parameters of `tc … red`, each of the optional ones in half of them."""
    rng = Random(seed)
    for _ in range(number):
        limit = rng.choice([rng.randrange(20_000, 1_000_000), 1 << rng.randrange(15, 20), 400_000])
        low = rng.choice([rng.randrange(1000, limit), limit // 12, 50_000])
        high = rng.choice([rng.randrange(low, low + limit), 3 * low, low, low, low, limit])
        avpkt = rng.choice([1000, 1500, 64, 512, rng.randrange(40, 9000)])
        bursts = (rng.randrange(1, 2000), low // avpkt + rng.randrange(1, 200), (2 * low + high) // (3 * avpkt) + 1)
        kilo = low / 1024
        optional = {
            "min": rng.choice([str(low), f"{low}b", f"{kilo:.1f}k", f"{kilo + 1:.0f}kb", f"{8 * kilo:.2f}kbit"]),
            "max": rng.choice([str(high), f"{high / 1024 + 0.2:.1f}KB".lower(), f"{high // 1000}000"]),
            "burst": str(rng.choice(bursts)),
            "probability": str(rng.choice([0.01, 0.1, 1, 0.5])),
        }  # fmt: skip
        named = {name: text for name, text in optional.items() if rng.random() < 0.5}
        yield {"limit": rng.choice([str(limit), f"{limit / 1024:.2f}k"]), "avpkt": str(avpkt)} | named


@pytest.fixture
def device(register_map: RegisterFile) -> weir.Device:
    """A core with a buffer of 1 MB."""
    return weir.Device(FakeCore(register_map, cells=16384, descriptors=16384))


def test_a_command_gives_tcs_thresholds_weight_and_probability(
    device: weir.Device, capsys: pytest.CaptureFixture[str]
) -> None:
    compared = {"min alone": 0, "max alone": 0, "both": 0, "neither": 0, "a step": 0, "max above the limit": 0}
    for command in commands(2000, 21):
        try:
            wanted = tc(command, device.capabilities.buffer_bytes)
        except Unlike:
            continue
        words = [word for pair in command.items() for word in pair]
        assert main(["queue", "replace", "0", "red", *words], device) == 0, (words, capsys.readouterr())
        shown = device.queue_show(0)
        assert {name: shown[name] for name in wanted} == pytest.approx(wanted, rel=1e-9), words
        low, high = "min" in command, "max" in command
        compared["both" if low and high else "min alone" if low else "max alone" if high else "neither"] += 1
        compared["a step"] += wanted["min"] == wanted["max"]
        compared["max above the limit"] += wanted["max"] > wanted["limit_bytes"]
    assert min(compared.values()) >= 20, compared


def test_without_max_it_is_three_times_min(device: weir.Device) -> None:
    """The issue's: tc takes max 150000 and w = 2^-6."""
    red = device.queue_replace(0, "red", limit=400000, min=50000, avpkt=1000)
    assert (red["max"], red["weight"]) == (150000, 2**-6)
    assert device.queue_replace(0, "red", limit=400000, avpkt=1000)["max"] == 100000
    assert device.queue_replace(0, "red", limit=400000, max=90000)["min"] == 30000


def test_a_burst_that_tc_refuses_is_refused(device: weir.Device) -> None:
    """tc: "burst 29 is too small ? Try burst 31"; of 100000 with 30 packets it finds no weight that Weir has."""
    for burst in (29, 100000):
        with pytest.raises(
            weir.WeirError, match=f"burst {burst} is out of range: allowed with min 30 packets is 30 to"
        ):
            device.queue_replace(0, "red", limit=400000, min=30000, max=90000, avpkt=1000, burst=burst)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", {"limit_bytes": 1048512, "avpkt": 1000, "bandwidth": 10e9}),
        ("min 0", {"min": 0, "max": 100000}),
        ("min 30.7k", {"min": 31436}),
        ("min 30000.5", {"min": 30000.5}),
        ("burst 055", {"weight": 2**-5}),  # 2^-4 of 45
        ("probability 2%", {"probability": 0.02}),
        ("max 500000", {"max": 500000}),
        ("min 30000 max 30000", {"min": 30000, "max": 30000}),
        ("min 900 max 2700", {"weight": 0.002}),
    ],
)
def test_what_is_taken_otherwise_than_by_tc(device: weir.Device, words: str, found: dict[str, Any]) -> None:
    """The table of docs/names.md."""
    limit = ["limit", "400000"] if words else []
    assert main(["queue", "replace", "0", "red", *limit, *words.split()], device) == 0
    shown = device.queue_show(0)
    assert {name: shown.get(name) for name in found} == pytest.approx(found, rel=1e-5)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("bandwidth 50%", "'50%' is not a rate"),
        ("max 0", "max 0 is out of range: allowed is 1 to"),
        ("burst 0", "burst 0 is out of range: allowed is 1 to"),
        ("bandwidth 0", "bandwidth 0 is out of range: allowed is 1kbit to"),
        ("max 2000000", "max 2000000 is out of range: allowed is 1 to 1048512 bytes"),
        ("limit 1048513", "limit_bytes 1048513 is out of range: allowed is 64 to 1048512 bytes"),
        ("limit 30000.5", "limit_bytes 30000.5 is not a whole number"),
        ("min 0x7530", "'0x7530' is not a size"),
        ("qevent early_drop block 10", "red has no parameter 'qevent'"),
    ],
)
def test_what_tc_takes_and_weirctl_refuses(
    device: weir.Device, capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    """The table of docs/names.md."""
    assert main(["queue", "replace", "0", "red", *words.split()], device) == 2
    out, err = capsys.readouterr()
    assert said in err and err.count("\n") == 1 and not out


def test_sizes_are_cut_to_whole_bytes_as_tc_does() -> None:
    assert [weir.parse_size(t) for t in ("30.7k", "1.1kb", "0.3m", "0.01kbit")] == [31436, 1126, 314572, 1]
    assert weir.parse_size("30000.5") == 30000.5  # refused where it has to be whole


def test_adaptative_is_tcs_other_word_for_adaptive(device: weir.Device, register_map: RegisterFile) -> None:
    core = FakeCore(register_map, policies=("drop-tail", "red", "ared"))
    own = weir.Device(core)
    assert main(["queue", "replace", "0", "red", "adaptative", "limit", "100KB"], own) == 0
    assert own.queue_show(0)["policy"] == "ared"
    with pytest.raises(weir.WeirError, match="no parameter 'adaptative', it is adaptive here"):
        device.queue_replace(0, "red", adaptative=True)


# ---- the first packet of a visit

LOW, HIGH = 30_000, 90_000
P = 0.02
AVERAGE = 60_000  # p_b = P/2
VISITS, OF = 40_000, 4


def linux(rng: Random) -> int:
    """Marks of the kernel's red_action() in visits of some packets: `count` is −1 outside the band."""
    marks = 0
    for _ in range(VISITS):
        count, drawn = -1, 0.0
        for _ in range(OF):
            count += 1
            if count and (AVERAGE - LOW) * count >= drawn:
                marks, count = marks + 1, 0
                drawn = rng.random() * (HIGH - LOW) / P
            elif not count:
                drawn = rng.random() * (HIGH - LOW) / P
    return marks


def weirs(rng: Random, **natural: Any) -> int:
    """The same of the golden model with a configuration's words; below `min` between two visits."""
    words = weir.convert_red(limit=400_000, min=LOW, max=HIGH, probability=P, **natural)
    params = RedParams(
        minimum=words["minimum"], maximum=words["maximum"], max_p=words["max_p"], spread=words["spread"],
        slope_mantissa=words["slope_mantissa"], slope_exponent=words["slope_exponent"],
        exempt_first=bool(words["exempt_first"]),
    )  # fmt: skip
    red, marks = Red(), 0
    for _ in range(VISITS):
        for average in (0, *(AVERAGE,) * OF):
            verdict = red.take(average << 22, 10, 1000, NOT_ECT, rng.getrandbits(24), params)
            red.commit(1000, verdict.selected, verdict.action == 2)
            marks += verdict.selected
    return marks


def test_short_visits_are_marked_as_often_as_by_linux() -> None:
    """Four packets at p_b = 0.01: Linux never selects the first, so 3·p_b a visit and not 4·p_b."""
    expected = 3 * P / 2 * VISITS
    sigma = math.sqrt(expected)
    assert abs(linux(Random(1)) - expected) < 3 * sigma
    assert abs(weirs(Random(2)) - expected) < 3 * sigma
    assert weirs(Random(3), exempt_first=False) > expected + 5 * sigma

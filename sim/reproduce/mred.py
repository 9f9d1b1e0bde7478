"""Paper 000, MRED with DDF against RED with tail drop: what is run, and what its text prints of Figures 6 to 9."""

from __future__ import annotations

from experiment import TEN, Claim, Table, Value

#: throughput at half of the time and at its end, loss in either half, all in percent
_NAMES = ("throughput_half_percent", "throughput_percent", "loss_first_percent", "loss_second_percent")
_PRINTED = {"mred": (42.45, 91.7, 0.69, 8.24), "red": (41.06, 90.20, 0.90, 8.50)}
_METRICS = (
    *_NAMES,
    "loss_percent",
    "loss_bits_percent",
    "average_first",
    "average_second",
    "overflow",
    "partial",
    "goodput_bytes",
)
_SIDES: dict[str, dict[str, Value]] = {"red": {"side": "red"}, "mred": {"side": "mred"}}
_UP, _DOWN = ("increase",), ("decrease",)
_CLAIMS = (
    Claim("loss-end", "congestion rises: in the second half MRED with DDF loses a smaller share of the packets than RED", "loss_second_percent", -1, "mred", "red", _UP),
    Claim("loss-half", "congestion rises: it does in the first half too", "loss_first_percent", -1, "mred", "red", _UP),
    Claim("throughput-end", "congestion rises: more throughput at the end", "throughput_percent", 1, "mred", "red", _UP),
    Claim("throughput-half", "congestion rises: more throughput at half of the time too", "throughput_half_percent", 1, "mred", "red", _UP),
    Claim("average", "congestion rises: the average is kept lower, away from max", "average_second", -1, "mred", "red", _UP),
    Claim("loss-fall", "congestion falls: a smaller share of the packets is lost (conclusion; nothing is printed)", "loss_percent", -1, "mred", "red", _DOWN),
    Claim("throughput-fall", "congestion falls: more throughput (conclusion; nothing is printed)", "throughput_percent", 1, "mred", "red", _DOWN),
)  # fmt: skip


#: options that RED does not have
OF_MRED = ("low", "high")


def _printed() -> dict[str, float]:
    return {f"{side} {name}": v for side, values in _PRINTED.items() for name, v in zip(_NAMES, values, strict=True)}


def _of_all_rows(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    return tuple(Claim(c.name, c.text, c.metric, c.sign, c.a, c.b) for c in claims if c.rows == _UP)


TABLES = (
    Table(
        "000", "figures", "Figures 6 to 9", "mred", {"duration": 50, "sample": 0.05},
        {row: {"scenario": row} for row in (*_UP, *_DOWN)}, _SIDES, {"increase": _printed()}, _METRICS, _CLAIMS,
        ("Throughput is what has come over the link by that time, in percent of all that the link can carry in 50 s: only so are 42 % at half of the time and"
         " 92 % at its end of one run. Loss is of packets, not frames, in each half.",
         "Of the average the paper prints that MRED brings it down to 6 to 7, and that RED's is near 15. Its decrease of 26 % is 0.26 points, its increase of 1.56 % is"
         " 1.5 points. Of the falling congestion it prints nothing.",
         "ns-3's own RED, which has no average to show here, counts 20 frames of any size; the core counts 60,000 bytes."),
        ("red",), _UP, ("red", "mred"), {"duration": 6, "weight": 0.03}, seeds=TEN,
    ),
    Table(
        "000", "control", "Control [ours]: what the paper leaves open, congestion rises", "mred", {"duration": 50, "sample": 0},
        {"newreno": {"tcp": "newreno"}, "reno": {"tcp": "reno"}, "one-packet": {"low": 0.025, "high": 0.025}, "gentle": {"gentle": "on"},
         "no-spacing": {"shape": "off"}},
        _SIDES, {}, _METRICS, _of_all_rows(_CLAIMS),
        ("Each row changes one choice. one-packet: the printed 0.025 as the share of a jumbo frame that is dropped, so one packet of up to 40.",),
        golden_only=True, seeds=TEN,
    ),
)  # fmt: skip

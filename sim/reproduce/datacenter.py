"""Paper 002, JFEPM in a data center: what is run, and what Tables 4.2 to 4.9 print.

The paper's rows are packet sizes, and their values are taken over all loads. Here a row is a size at a load; the gains
of a size over its loads are a table of their own beside it (gains.py).
"""

from __future__ import annotations

from experiment import Claim, Table, Value

SIZES = (800, 1000, 1200, 1460)
#: "0.1 to 0.95"; those that the paper names are among them
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
#: those that controls have, and curves against the size
FOUR = (0.1, 0.4, 0.7, 0.95)
#: "after a certain load" of Figures 4.2 and 4.3
HEAVY = (0.7, 0.95)
#: what a gain is of: a metric of a run, its name
GAINS = {"fct_mean_us": "FCT, µs", "dropped": "dropped packets"}
#: columns of the printed tables, for each of GAINS
COLUMNS = ("largest difference", "at load", "mean gain", "largest gain, %", "at load", "mean gain, %")

# size: largest difference, its load, mean gain, largest gain in percent, its load, mean gain in percent
PRINTED: dict[str, dict[str, dict[int, tuple[float, ...]]]] = {
    "tahoe": {
        "fct_mean_us": {800: (33, 0.6, 19.58, 42.17, 0.1, 21.33), 1000: (26.5, 0.5, 13.81, 31.90, 0.4, 14.38),
                        1200: (21.2, 0.5, 9.98, 33.39, 0.4, 11.76), 1460: (14.4, 0.5, 5.89, 28.16, 0.3, 13.11)},
        "dropped": {800: (5477, 0.95, 3015.4, 60.66, 0.1, 24.82), 1000: (3266, 0.6, 1963.8, 32.74, 0.4, 15.72),
                    1200: (2509, 0.6, 1150.8, 34.36, 0.4, 12.09), 1460: (1732, 0.5, 375.3, 35.71, 0.1, 14.60)},
    },
    "reno": {
        "fct_mean_us": {800: (61.94, 0.7, 49.91, 54.74, 0.1, 26.82), 1000: (51.62, 0.7, 38.13, 39.43, 0.1, 21.22),
                        1200: (34.67, 0.7, 27.40, 36.76, 0.1, 19.0), 1460: (28.87, 0.6, 18.52, 45.49, 0.1, 18.84)},
        "dropped": {800: (13778, 0.95, 7790.3, 56.57, 0.1, 27.37), 1000: (9263, 0.8, 5730, 40.65, 0.1, 21.31),
                    1200: (6800, 0.95, 4077.5, 38.02, 0.1, 19.28), 1460: (4142, 0.6, 2521.2, 48.52, 0.1, 19.40)},
    },
    "newreno": {
        "fct_mean_us": {800: (20.27, 0.5, 10.67, 38.39, 0.3, 19.19), 1000: (18.17, 0.5, 7.14, 33.34, 0.4, 13.60),
                        1200: (14.58, 0.5, 6.82, 32.61, 0.4, 11.88), 1460: (9.72, 0.9, 4.51, 27.89, 0.2, 12.16)},
        "dropped": {800: (4196, 0.95, 1969.4, 53.90, 0.1, 24.20), 1000: (2504, 0.9, 1308.9, 35.83, 0.4, 15.80),
                    1200: (2311, 0.95, 1041.4, 35.59, 0.4, 13.28), 1460: (1123, 0.5, 478.8, 35.68, 0.2, 14.29)},
    },
    "sack": {
        "fct_mean_us": {800: (9.83, 0.95, 6.77, 33.76, 0.2, 13.97), 1000: (10.57, 0.5, 5.85, 37.86, 0.1, 14.36),
                        1200: (8.77, 0.5, 6.61, 30.31, 0.2, 13.40), 1460: (11.02, 0.5, 5.23, 44.03, 0.1, 16.33)},
        "dropped": {800: (5264, 0.95, 2013.3, 40.88, 0.1, 17.81), 1000: (3130, 0.9, 1465.6, 43.18, 0.1, 17.15),
                    1200: (2646, 0.95, 1335.1, 33.33, 0.2, 15.46), 1460: (1407, 0.5, 806.3, 48.94, 0.1, 18.37)},
    },
}  # fmt: skip

_METRICS = ("fct_mean_us", "fct_p95_us", "fct_p99_us", "fct_small_us", "fct_middle_us", "fct_large_us", "dropped",
            "dropped_uplink", "dropped_aggregation", "dropped_host", "dropped_split", "jumbo_packets", "unfinished")  # fmt: skip
_CLAIMS = (
    Claim("fct", "flows complete sooner with JFEPM, on average", "fct_mean_us", -1, "jfepm", "original"),
    Claim("p99", "the slowest flows (99th percentile) complete sooner [ours]", "fct_p99_us", -1, "jfepm", "original"),
    Claim(
        "drops",
        "fewer packets are dropped with JFEPM, where either drops in every seed",
        "dropped",
        -1,
        "jfepm",
        "original",
        (),
        True,
    ),
)
_SIDES: dict[str, dict[str, Value]] = {"original": {"merge": "off"}, "jfepm": {"merge": "on"}}
_NUMBERS = {"tahoe": "4.2 and 4.3", "reno": "4.4 and 4.5", "newreno": "4.6 and 4.7", "sack": "4.8 and 4.9"}


def row_name(size: int, load: float) -> str:
    """Of a size at a load."""
    return f"{size}-{load:g}"


def runs_of(table: Table, row: str) -> str:
    """The table whose runs a row has: of an equal rate of flows the packets of 1460 bytes, whose load is the table's, those that the RTL is
    compared with."""
    shared = {row_name(SIZES[-1], load) for load in FOUR}
    return table.name.replace("flows-", "tables-") if table in FLOWS and row in shared else table.name


def same_flows(size: int, load: float) -> float:
    """The load that packets of that size are with as many flows a second as those of 1460 bytes at `load`. A flow's bytes go in segments of
    size - 54 bytes, each of which takes size + 24 of a link, and its acknowledgement 54 + 24."""

    def on_the_link(of: int) -> float:
        return (of + 102) / (of - 54)

    return round(load * on_the_link(size) / on_the_link(SIZES[-1]), 6)


def _rows(*points: tuple[int, float]) -> dict[str, dict[str, Value]]:
    return {row_name(size, load): {"size": size, "load": load} for size, load in points}


_RTL_NOTE = (
    "The uplink of rack 0 and the split of rack 2 are RTL (`rtl`); the other three of each are the golden model. Every frame that the "
    "split gives out is compared with the golden model's, byte for byte."
)


_FACTOR_NOTE = (
    'The paper\'s "reduction factor" is not defined: if it is the mean completion time with JFEPM over that without, the mean gain over 1 − factor is the mean without,'
    " and that is 131 to 277 µs in its 16 rows, less than its round trip of 300 µs."
)


def _table(tcp: str) -> Table:
    quick = ("800-0.95",) if tcp == "newreno" else ()
    return Table(
        "002", f"tables-{tcp}", f"Tables {_NUMBERS[tcp]}, {tcp}", "datacenter",
        {"tcp": tcp, "duration": 0.015, "warm": 0.005}, _rows(*((s, ld) for s in SIZES for ld in LOADS)), _SIDES, {},
        _METRICS, _CLAIMS, (_RTL_NOTE, _FACTOR_NOTE), ("original",), quick, ("original", "jfepm"),
        {"duration": 0.001, "warm": 0.001},
    )  # fmt: skip


def _flows(tcp: str) -> Table:
    rows: dict[str, dict[str, Value]] = {
        row_name(size, load): {"size": size, "load": same_flows(size, load)} for size in SIZES for load in FOUR
    }
    return Table(
        "002", f"flows-{tcp}", f"Control [ours]: Figures 4.2 and 4.3 with equal flows a second, {tcp}", "datacenter",
        {"tcp": tcp, "duration": 0.015, "warm": 0.005}, rows, {"original": _SIDES["original"]}, {}, _METRICS, (),
        ("A row's load is that of packets of 1460 bytes; those of other sizes come in as many flows a second, so that their headers are"
         " load on top: up to 8.8 % with 800 bytes. In the tables above a load is the same share of the link for each size, and smaller packets come in fewer flows.",),
        golden_only=True,
    )  # fmt: skip


FLOWS = tuple(_flows(tcp) for tcp in PRINTED)
PRINTED_TABLES = tuple(_table(tcp) for tcp in PRINTED)
TABLES = (
    *PRINTED_TABLES,
    Table(
        "002", "control-newreno", "Control [ours]: aggregation and core switches count bytes, newreno", "datacenter",
        {"tcp": "newreno", "duration": 0.015, "warm": 0.005, "count": "bytes"}, _rows(*((800, ld) for ld in FOUR)), _SIDES,
        {}, _METRICS, _CLAIMS,
        ("Their queues hold 40 times the packet size in bytes, not 40 frames of any size, so that a jumbo frame has no room for free.",),
        golden_only=True,
    ),
    Table(
        "002", "control-long", "Control [ours]: ten times as long, newreno", "datacenter",
        {"tcp": "newreno", "duration": 0.15, "warm": 0.005}, _rows(*((s, ld) for s in (800, 1460) for ld in (0.7, 0.95))), _SIDES,
        {}, _METRICS, _CLAIMS,
        ("In the tables flows begin within 15 ms, and the slowest hundredth takes longer than that. Here it is 150 ms.",), golden_only=True,
    ),
    *FLOWS,
)  # fmt: skip

"""Live configuration as docs/architecture.md describes it: from register words to the values the core gets."""

from __future__ import annotations

from collections.abc import Mapping

MAX_FRAME = 9216


def queue_config(words: Mapping[str, int]) -> dict[str, int]:
    """Signals of `queueConfig` (names without the queue) for the shadow registers `words`."""
    unit = words["POLICY"] >> 8 & 3
    merge = {
        "mred": words["MRED"] & 1,
        "merge_flow": int(words["MERGE"] & 3 == 1),
        "merge_classes": int(words["MERGE"] & 3 == 2),
        "merge_jfetNs": words["MERGE_JFET"],
        "merge_maxBytes": min(words["MERGE_MAX_BYTES"], 9216),
        "merge_maxSum": min(words["MERGE_MAX_SUM"], 8960),
        "merge_maxCount": min(words["MERGE_MAX_COUNT"], 448),
    } if "MERGE" in words else {}  # fmt: skip
    return merge | {
        "policy": words["POLICY"] & 0xF,
        "unit": 0 if unit == 3 else unit,
        "dropFront": words["POLICY"] >> 12 & 1,
        "strict": words["POLICY"] >> 16 & 1,
        "limitBytes": words["LIMIT_BYTES"],
        "limitPackets": words["LIMIT_PACKETS"],
        "reserveCells": words["RESERVE_CELLS"],
        "quantum": max(words["QUANTUM"], MAX_FRAME),
    }


def core_config(words: Mapping[str, int], queues: int) -> dict[str, int]:
    """Signals of `coreConfig` for the shadow registers `words`."""

    def built(queue: int) -> int:
        return queue if queue < queues else 0

    live = {
        "maxFrame": min(words["MAX_FRAME"], MAX_FRAME),
        "sharedCells": words["SHARED_CELLS"],
        "defaultQueue": built(words["DEFAULT_QUEUE"]),
        "shaperCost": words["SHAPER_COST_HI"] << 32 | words["SHAPER_COST_LO"],
        "shaperBurst": words["SHAPER_BURST"],
        "shaperOverhead": words["SHAPER_OVERHEAD"] & 0xFFFF,
        "shaperMpu": words["SHAPER_OVERHEAD"] >> 16,
        "lfsrFixed": words["LFSR_FIXED"] >> 31,
        "lfsrFixedDraw": words["LFSR_FIXED"] & 0xFFFFFF,
        "split": int(words.get("JUMBO", 0) & 3 in (1, 2)),
        "transit": int(words.get("JUMBO", 0) & 3 == 2),
        "jumboL3": words.get("JUMBO", 0) >> 4 & 1,
        "jumboTick": min(words.get("JUMBO", 0) >> 8 & 31, 16),
        "jumboEtherType": words.get("JUMBO_TYPE", 0) & 0xFFFF,
        "jumboProtocol": words.get("JUMBO_TYPE", 0) >> 16,
    }
    if "TRACE_CTRL" in words:
        control = words["TRACE_CTRL"]
        live |= {
            "traceEnable": control & 1,
            "traceKinds": control >> 1 & 7,
            "traceQueues": control >> 8 & ((1 << queues) - 1),
        }
    if "MATCH" in words:
        live |= {
            "spacing": int(words["JUMBO"] & 3 == 1) & words["SPACING"] >> 31,
            "spacingLimitNs": words["SPACING"] & 0x3FFFFFFF,
        }
        live |= {"matching_unmatchedClass": words["MATCH"] & 15, "matching_unmatchedBypass": words["MATCH"] >> 4 & 1}
        for n in range(16):
            action = words[f"MATCH_ACTION{n // 4}"] >> 8 * (n % 4)
            live |= {f"matching_rules_{n}_klass": action & 15, f"matching_rules_{n}_bypass": action >> 4 & 1,
                     f"matching_rules_{n}_v6": action >> 5 & 1, f"matching_rules_{n}_enable": action >> 7 & 1}  # fmt: skip
    for dscp in range(64):
        live[f"dscpQueue_{dscp}"] = built(words[f"DSCP_MAP{dscp // 8}"] >> 4 * (dscp % 8) & 0xF)
    return live


def match_rules(words: Mapping[str, int]) -> list[tuple[int, int]]:
    """Value and mask of each rule, 64 bits, of the words of the match table."""
    parts = ("VALUE0", "VALUE1", "MASK0", "MASK1")
    rules = ([words[f"MATCH{n}_{part}"] for part in parts] for n in range(16))
    return [(value0 << 32 | value1, mask0 << 32 | mask1) for value0, value1, mask0, mask1 in rules]

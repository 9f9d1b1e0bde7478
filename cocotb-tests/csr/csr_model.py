"""Live configuration as docs/architecture.md describes it: from register words to the values the core gets."""

from __future__ import annotations

from collections.abc import Mapping

MAX_FRAME = 9216


def _scaled(prefix: str, word: int) -> dict[str, int]:
    return {f"{prefix}_mantissa": word & 0x3FFFF, f"{prefix}_exponent": word >> 24 & 0x3F}


def queue_config(words: Mapping[str, int], red: bool) -> dict[str, int]:
    """Signals of `queueConfig` (names without the queue) for the shadow registers `words`."""
    unit = words["POLICY"] >> 8 & 3
    live = {
        "policy": words["POLICY"] & 0xF,
        "unit": 0 if unit == 3 else unit,
        "strict": words["POLICY"] >> 16 & 1,
        "limitBytes": words["LIMIT_BYTES"],
        "limitPackets": words["LIMIT_PACKETS"],
        "reserveCells": words["RESERVE_CELLS"],
        "quantum": max(words["QUANTUM"], MAX_FRAME),
    }
    flags = words["RED_FLAGS"] if red else 0
    get = words.__getitem__ if red else lambda name: 0
    live |= {
        "red_weight": min(get("RED_WEIGHT_HI") << 32 | get("RED_WEIGHT_LO"), 1 << 36),
        "red_decay": get("RED_DECAY_HI") << 32 | get("RED_DECAY_LO"),
        "red_minimum": get("RED_MIN"),
        "red_maximum": get("RED_MAX"),
        "red_maxP": get("RED_MAXP"),
        "red_spread": min(flags & 3, 2),
        "red_byteMode": flags >> 2 & 3,
        "red_gentle": flags >> 4 & 1,
        "red_ecn": flags >> 5 & 1,
        "red_hardDrop": flags >> 6 & 1,
        "red_noDrop": flags >> 7 & 1,
        "red_exemptFirst": flags >> 8 & 1,
    }
    for signal, register in (
        ("idleRate", "RED_IDLE_RATE"),
        ("slope", "RED_SLOPE"),
        ("gentleSlope", "RED_GENTLE_SLOPE"),
        ("meanReciprocal", "RED_MEAN"),
    ):
        live |= _scaled(f"red_{signal}", get(register))
    return live


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
        "shaperOverhead": words["SHAPER_OVERHEAD"],
        "traceEnable": words["TRACE_CTRL"] & 1,
        "traceKinds": words["TRACE_CTRL"] >> 1 & 3,
        "traceQueues": words["TRACE_CTRL"] >> 8 & ((1 << queues) - 1),
        "lfsrFixed": words["LFSR_FIXED"] >> 31,
        "lfsrFixedDraw": words["LFSR_FIXED"] & 0xFFFFFF,
    }
    for dscp in range(64):
        live[f"dscpQueue_{dscp}"] = built(words[f"DSCP_MAP{dscp // 8}"] >> 4 * (dscp % 8) & 0xF)
    return live

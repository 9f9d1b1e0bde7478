"""Every policy in the whole core, in the cycle model: its decisions against the golden models, changes under traffic,
line rate, and drop from front."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from policy_models import NAMES
from policy_scene import QUEUES, Report, Scene

FASTEST = 0x3FFFF
"""MANTISSA of the largest gain, exponent 0: 238 per second, so that PIE and PI2 arrive within a millisecond"""

BYTES: dict[str, Any] = {"limit_bytes": 60_000}
RED: dict[str, Any] = BYTES | {
    "min": 4_000, "max": 24_000, "probability": 0.2, "weight": 0.05, "bandwidth": "2Gbit", "gentle": True,
}  # fmt: skip
PACKETS: dict[str, Any] = {
    "unit": "packets", "limit_packets": 60, "min": 4, "max": 30, "probability": 0.3, "weight": 0.1,
    "bandwidth": "2Gbit", "avpkt": 500,
}  # fmt: skip
PIE: dict[str, Any] = BYTES | {"target": "20us", "tupdate": "12us", "burst": "40us", "mark_ecnth": 0.3}
PIE_RAW = {"PIE_ALPHA": FASTEST, "PIE_BETA": FASTEST}
PI2: dict[str, Any] = BYTES | {"target": "20us", "tupdate": "12us"}
PI2_RAW = {"PI2_ALPHA": FASTEST, "PI2_BETA": FASTEST}
CODEL: dict[str, Any] = BYTES | {"target": "20us", "interval": "60us"}
FN: dict[str, Any] = BYTES | {"window": 64, "t": "50us", "qopt": 8_000}

Case = tuple[str, dict[str, Any], dict[str, int]]
CASES: dict[str, Case] = {
    "dt-ecn bytes": ("dt-ecn", BYTES | {"utilisation": "30%"}, {}),
    "dt-ecn packets": ("dt-ecn", {"unit": "packets", "limit_packets": 50, "utilisation": "30%"}, {}),
    "isred certain": ("isred", RED | {"slope": "3e7", "ecn": True}, {}),
    "isred chance": (
        "isred",
        PACKETS | {"slope": "1e5", "mode": "chance", "spread": "uniform-wait", "source": "q"},
        {},
    ),
    "isred gain": ("isred", RED | {"slope": "1e7", "mode": "gain", "gain": 3, "bytemode": "after", "source": "q"}, {}),
    "fn linear": ("fn", FN | {"ecn": True}, {}),
    "fn quadratic": ("fn", FN | {"quadratic": True, "spread": "geometric", "bytemode": True, "window": 200}, {}),
    "ared bytes": ("ared", RED | {"interval": "100us", "ecn": True}, {}),
    "ared often": ("ared", PACKETS | {"top": 0.9, "bottom": 0.05, "alpha": 0.05, "beta": 0.7}, {"ARED_INTERVAL": 0}),
    "pie drop": ("pie", PIE, PIE_RAW),
    "pie ecn": ("pie", PIE | {"ecn": True, "bypass": 6_000}, PIE_RAW),
    "codel drop": ("codel", CODEL, {}),
    "codel ecn": ("codel", CODEL | {"ecn": True, "ce_threshold": "80us", "mtu": 500, "target": "40us"}, {}),
    "pi2 drop": ("pi2", PI2 | {"ecn": False}, PI2_RAW),
    "pi2 ecn": ("pi2", PI2 | {"p_cmax": 0.15}, PI2_RAW),
}
REACHED: dict[str, tuple[str, ...]] = {
    "dt-ecn": ("mark forced", "accept forced", "drop overflow"),
    "isred certain": ("mark early", "drop early", "rapid", "m bounded"),
    "isred chance": ("drop early", "rapid", "m bounded"),
    "isred gain": ("drop early", "rapid", "m bounded"),
    "fn linear": ("mark early", "drop early", "accept early", "mark forced", "certain"),
    "fn quadratic": ("drop early", "drop forced", "accelerating"),
    "ared": ("drop early", "rises", "falls", "revived"),
    "pie drop": ("drop early", "asleep", "roused"),
    "pie ecn": ("drop early", "mark early", "accept early"),
    "codel drop": ("at departure: drop forced", "count > 1"),
    "codel ecn": ("at departure: mark forced", "at departure: drop forced", "at departure: accept forced"),
    "pi2 drop": ("drop early", "asleep", "roused"),
    "pi2 ecn": ("drop early", "mark early", "accept early", "overload"),
}
"""What a case must have met, by policy or case."""

TICKING = {"ared", "pie", "pi2"}
LOADS = (1.3, 1.3, 2.5, 0.6)
RATE = 2e9


def reached(report: Report, case: str, policy: str) -> None:
    """The case has met what it is for."""
    for name in (case, policy):
        for what in REACHED.get(name, ()):
            assert report.outcomes[f"{policy} {what}"] + report.seen[f"{policy} {what}"], f"{what}: {report}"


@pytest.mark.parametrize("case", CASES)
def test_decides_in_the_core_as_the_golden_model_does(case: str) -> None:
    """The policy in one queue, three others beside it; bursts, pauses, overload into a shaped egress."""
    seed = 1 + list(CASES).index(case)
    policy, natural, raw = CASES[case]
    scene = Scene(seed, RATE)
    own = seed % QUEUES
    # ticks of two engines in one cycle spoil each other's records (below)
    mixes = TICKING if policy in TICKING else {scene.rng.choice(sorted(TICKING))} ^ TICKING
    others = scene.rng.sample([c for c, (p, _, _) in CASES.items() if p != policy and p not in mixes], QUEUES - 1)
    scene.configure(own, policy, raw, **natural)
    for queue, other in zip([q for q in range(QUEUES) if q != own], others, strict=True):
        name, values, words = CASES[other]
        scene.configure(queue, name, words, **values)
    for load in LOADS:
        scene.traffic(600, load, RATE, (own, own, *range(QUEUES)))
    scene.core.run_until(scene.at)
    scene.core.run_until(scene.core.now_ns + 1_000_000)
    scene.traffic(300, 2.0, RATE, (own, own, *range(QUEUES)))
    report = scene.finish()
    print(f"{case}: {report}")
    reached(report, case, policy)

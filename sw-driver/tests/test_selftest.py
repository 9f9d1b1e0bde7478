"""The self-test's expected verdicts: computed by the golden models from the arrivals alone, and decided by the RTL."""

from __future__ import annotations

import weir
from golden import dt_ecn
from golden.core import Setup
from golden.ewma import Ewma
from golden.lfsr import Lfsr
from golden.red import DROP, Red
from weir.ctl import scene, selftest

ACTIONS, CAUSES = ("accept", "mark", "drop"), ("none", "early", "forced", "overflow")
OVERFLOW = 3


class Queue:
    """A queue that nothing leaves but the first frame of the scene, decided by the golden models."""

    def __init__(self, policy: str, values: dict[str, str]) -> None:
        self.policy, words = policy, weir.convert_queue(policy, **values)
        self.setup = Setup.of(words)
        self.threshold = words.get("DTECN_THRESHOLD", 0)
        self.bytes = self.packets = 0
        self.average, self.red = Ewma(), Red()

    def arrive(self, length: int, ecn: int, draw: int, now_ns: int) -> tuple[str, str]:
        action, cause, selected = 0, 0, False
        if self.policy == "red":
            average = self.average.request(now_ns, self.packets, self.bytes, self.setup.red)
            verdict = self.red.take(average.average, self.packets, length, ecn, draw, self.setup.red)
            action, cause, selected = verdict.action, verdict.cause, verdict.selected
        elif self.policy == "dt-ecn":
            verdict = dt_ecn.verdict(length, (self.bytes, self.packets, self.packets), 0, ecn, self.threshold)
            action, cause = verdict.action, verdict.cause
        if self.bytes + length > self.setup.limit_bytes:
            action, cause = DROP, OVERFLOW
        if self.policy == "red":
            self.red.commit(length, selected, action == DROP)
        if action != DROP:
            self.bytes += length
            self.packets += 1
        return ACTIONS[action], CAUSES[cause]


def expected() -> list[tuple[int, str, str]]:
    queues = [Queue(policy, values) for policy, values in scene.QUEUES]
    random = Lfsr(scene.SEED)
    found = []
    for n, a in enumerate(scene.arrivals()):
        found.append((a.queue, *queues[a.queue].arrive(a.length, a.ecn, random.draw(), 10_000 + n * scene.GAP_NS)))
        if n == 0:  # the shaper lets it go at once, and nothing after it
            queues[a.queue].bytes = queues[a.queue].packets = 0
    return found


def test_the_hash_is_that_of_the_golden_models() -> None:
    found = expected()
    assert scene.digest(found) == scene.EXPECTED
    kinds = {
        (policy, action, cause)
        for (policy, _), q in zip(scene.QUEUES, range(4), strict=True)
        for queue, action, cause in found
        if queue == q
    }
    assert {("red", "mark", "early"), ("red", "drop", "early"), ("red", "drop", "forced"), ("red", "mark", "forced"),
            ("dt-ecn", "mark", "forced"), ("drop-tail", "drop", "overflow"), ("red", "accept", "none")} <= kinds  # fmt: skip


def test_the_rtl_decides_as_the_golden_models() -> None:
    assert selftest.verdicts("full") == expected()


def test_another_verdict_is_another_hash() -> None:
    found = expected()
    for n in (0, 300, scene.ARRIVALS - 1):
        queue, action, cause = found[n]
        assert (
            scene.digest([*found[:n], (queue, "drop" if action != "drop" else "mark", cause), *found[n + 1 :]])
            != scene.EXPECTED
        )

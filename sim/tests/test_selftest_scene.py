"""`weirctl selftest`: the parts in which frames leave, with every decision derived again by the golden models."""

from __future__ import annotations

import pytest

import weir
from policy_scene import Change, Scene, cycle_of
from weir.ctl import scene, selftest


def test_the_parts_have_every_policy() -> None:
    queues = [*scene.QUEUES, *(q for part in scene.PARTS for q in part.queues)]
    assert {policy for policy, _ in queues} == {p.name for p in weir.policies()}


@pytest.mark.parametrize("part", scene.PARTS, ids=lambda part: " ".join(policy for policy, _ in part.queues))
def test_every_decision_of_a_part_is_that_of_the_golden_models(part: scene.Part) -> None:
    """The same configuration and frames in a scene that is checked; its verdicts are those whose hash is compared."""
    checked = Scene(scene.SEED, 0, line="raw")
    for queue, (policy, values) in enumerate(part.queues):
        checked.configure(queue, policy, **values)
    checked.core.device.shape(scene.RATE)

    def apply(queue: int) -> None:
        first = cycle_of(checked.core.now_ns)
        written = cycle_of(checked.apply(queue))
        checked.changes.append(Change(queue, first, written, cycle_of(checked.core.now_ns), checked.current[queue]))

    selftest.play(checked.core, part, apply, checked.send)
    checked.collect()
    records = [weir.decode_trace([int(w) for w in row]) for words in checked.words for row in words]
    found = [(r.queue, r.action, r.cause) for r in records if r.kind != "tick"]
    report = checked.finish()
    print(report)
    assert found == selftest.outcomes("full", part)
    assert scene.digest(found) == part.expected

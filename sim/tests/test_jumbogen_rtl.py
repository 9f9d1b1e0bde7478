"""JumboGen's queues (paper 000), in software, at the moments at which the core links and grants: the same frames in the same order."""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from jumbo_frames import spread, traffic
from test_merge import ACCURACY_NS, LINK, cycle_of
from weir_sim.core import Core
from weir_sim.jumbo.merge import Arrival, ClassMerger, Limits, by_destination
from weir_sim.jumbo.packet import JumboFormat, Packet
from weir_sim.jumbo.wire import build
from weir_sim.trace import ARRIVAL, DEPARTURE

RULES: dict[int, tuple[str, int | str]] = {
    0: ("10.0.3.0/24", "bypass"),
    1: ("10.0.1.0/24", 0),
    2: ("10.0.2.0/24", 1),
    3: ("10.0.4.0/24", 15),
    **{3 + n: (f"fd00:{n}::/32", 3 + n) for n in range(1, 5)},
}
"""classes of the destinations of `spread`, as the core is told"""


def class_of(packet: Packet) -> Hashable | None:
    """The same classes, as the software is told."""
    key = by_destination(24, 32)(packet)
    return None if key == (4, 0x0A0003) else key


@dataclass
class Closed:
    """A group of the software that a link may take."""

    time_ns: int
    numbers: list[int]


class Queue:
    """A merger of the software, and what has closed in it, by time."""

    def __init__(self, merger: ClassMerger) -> None:
        self.merger = merger
        self.closed: list[Closed] = []

    def run(self, until_ns: int) -> None:
        """Takes what closes up to that time, each group when it does."""
        while (wake := self.merger.wake_ns()) is not None and wake <= until_ns:
            self._take(wake)
        self._take(until_ns)

    def _take(self, now_ns: int) -> None:
        while group := self.merger.take(now_ns):
            self.closed.append(Closed(now_ns, [m.number for m in group]))

    def leave(self, number: int) -> Closed:
        """The group of that first packet. None may wait that closed before it, but by less than the core's timers may be late."""
        group = next((g for g in self.closed if g.numbers[0] == number), None)
        assert group, f"packet {number} was granted, and in the software no group that has closed begins with it"
        first = self.closed[0]
        assert group.time_ns - first.time_ns <= ACCURACY_NS, (
            f"packet {number} was granted before {first.numbers[0]}, whose group closed earlier"
        )
        self.closed.remove(group)
        return group


def by_software(
    frames: list[bytes], core: Core, form: JumboFormat, queues: dict[int, Queue]
) -> tuple[list[bytes], int]:
    """The frames that the software makes, and how many of them left in another order than they had closed.

    An arrival's time is that of its link, from which timers count; its spacing is that of the decision (docs/modules/merge.md).
    """
    events: list[tuple[int, bool, int, int]] = []
    decided: dict[int, int] = {}
    for record in core.trace():
        number, queue, time_ns = int(record["seq"]), int(record["queue"]), int(record["time_ns"])
        if record["kind"] == ARRIVAL:
            decided[number] = time_ns
            events.append((cycle_of(time_ns) + LINK, False, number, queue))
        elif record["kind"] == DEPARTURE:
            events.append((cycle_of(time_ns), True, number, queue))
    made: list[bytes] = []
    members = passed = outer = 0
    for cycle, departs, number, queue in sorted(events):
        software, link_ns = queues[queue], 32 * (cycle - 1) // 5
        if not departs:
            software.run(link_ns - 1)
            software.merger.arrive(Arrival.of(link_ns, frames[number], form, number))
            software.run(link_ns)
        elif members:  # a record for each packet of a frame that was granted before
            members -= 1
        else:
            software.run(link_ns)
            passed += software.closed[0].numbers[0] != number if software.closed else 0
            group = software.leave(number).numbers
            members = len(group) - 1
            if members:
                made.append(
                    build([frames[n] for n in group], [decided[n] for n in group], form, outer if form.l3 else 0)
                )
                outer += form.l3
            else:
                made.append(frames[number])
    assert not members and not any(q.closed or q.merger.wake_ns() for q in queues.values())
    return made, passed


def through_the_core(
    rng: random.Random, form: JumboFormat, count: int, make: type[ClassMerger] = ClassMerger
) -> tuple[list[bytes], Core, dict[int, Queue]]:
    """Random traffic, bursts and pauses, into four queues that merge by class, each with limits and a timer of its own."""
    core = Core(egress="mac", line="raw")
    device = core.device
    device.jumbo("opaque", form="l3" if form.l3 else "l2")
    device.dscp_map([d % 4 for d in range(64)])
    device.match(RULES, "bypass")
    queues: dict[int, Queue] = {}
    for queue, jfet_ns in enumerate((150_000, 1, 20_000, 2000)):
        limits = Limits(form, *rng.choice(((9216, 8960, 448), (1500, 8960, 448), (9216, 3000, 448), (9216, 8960, 5))))
        device.queue_replace(queue, "drop-tail")
        device.merge(queue, "class", limits.max_bytes, limits.max_sum, limits.max_count, f"{jfet_ns}ns")
        queues[queue] = Queue(make(limits, jfet_ns, class_of))
    device.shape(rng.choice(("1Gbit", "4Gbit", "10Gbit")))
    device.trace_enable()
    frames = [spread(frame) for _, frame in traffic(rng, count, longest=600)]
    at = core.now_ns + 1000
    for frame in frames:
        core.send(frame, at)
        if rng.random() < 0.1:
            at = max(at, core.line_free_ns) + rng.choice((100, 1000, 5000))
    core.run_idle()
    return frames, core, queues


@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
@pytest.mark.parametrize("seed", range(3))
def test_the_core_makes_the_frames_of_jumbogen(seed: int, l3: bool) -> None:
    """Every kind of packet, byte for byte; in the order of closing, but for groups whose timers end within 100 ns of each other."""
    form = JumboFormat(l3=l3)
    frames, core, queues = through_the_core(random.Random(seed), form, 2000)
    sent = [frame.data for frame in core.recv()]
    made, passed = by_software(frames, core, form, queues)
    assert sent == made
    stats = core.stats().core
    print(
        f"{len(frames)} packets in {len(sent)} frames, {stats.merged.packets} of them in {stats.jumbo_out.packets} jumbo frames; "
        f"{passed} passed one that had closed less than {ACCURACY_NS} ns before"
    )
    assert stats.merged.packets > len(frames) // 4 and stats.jumbo_out.packets > 50
    assert passed < len(sent) // 20


class Late(ClassMerger):
    """Its timers end 100 ns later: as much as the core may take."""

    def __init__(self, limits: Limits, jfet_ns: int, *rest: Any) -> None:
        super().__init__(limits, jfet_ns + ACCURACY_NS, *rest)


class Unlimited(ClassMerger):
    """Knows no limit but a frame's."""

    def __init__(self, limits: Limits, *rest: Any) -> None:
        super().__init__(Limits(limits.form), *rest)


class Careless(ClassMerger):
    """A packet that may not join does not close its class's group."""

    def arrive(self, arrival: Arrival) -> None:
        packet = arrival.packet
        super().arrive(replace(arrival, packet=None) if packet and not packet.may_join else arrival)


@pytest.mark.parametrize("wrong", [Late, Unlimited, Careless])
def test_the_comparison_notices_another_merger(wrong: type[ClassMerger]) -> None:
    form = JumboFormat()
    frames, core, queues = through_the_core(random.Random(1), form, 1000, wrong)
    with pytest.raises((AssertionError, ValueError)):
        assert [frame.data for frame in core.recv()] == by_software(frames, core, form, queues)[0]

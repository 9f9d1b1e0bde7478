"""Algorithm 1 of paper 002, literally, at the moments at which the core links and grants: the same frames in the same order."""

from __future__ import annotations

import random

import pytest

from golden.merge import slot_of
from jumbo_frames import ipv4, traffic
from weir_sim.core import Core
from weir_sim.jumbo.jfepm import Jfepm
from weir_sim.jumbo.merge import Arrival, Limits
from weir_sim.jumbo.packet import JumboFormat, parse_packet
from weir_sim.jumbo.wire import build
from weir_sim.trace import ARRIVAL, DEPARTURE

SLOTS = 1024
LINK_CYCLES = 13
"""from a packet's record to its place in the queue (docs/modules/merge.md: it joins a grant 13 cycles after it or later)"""
KINDS = {
    "one kind": lambda rng: [ipv4(rng.choice((20, 40, 300, 1400)), rng.randrange(12), number=n) for n in range(1200)],
    "every kind": lambda rng: [frame for _, frame in traffic(rng, 2000, longest=600)],
}


def without_collisions(frames: list[bytes]) -> list[bytes]:
    """The frames but those of a flow whose slot of the core's table another flow has: those close each other's groups."""
    owner: dict[int, object] = {}
    kept = []
    for frame in frames:
        packet = parse_packet(frame)
        if (
            packet is None
            or packet.flow is None
            or owner.setdefault(slot_of(packet, SLOTS), packet.flow) == packet.flow
        ):
            kept.append(frame)
    return kept


def cycles(time_ns: int) -> int:
    """The cycle of a time of the trace, at 156.25 MHz."""
    return -(-5 * time_ns // 32)


def literal(frames: list[bytes], core: Core, form: JumboFormat) -> list[bytes]:
    """What Algorithm 1 makes of them, asked when the core granted."""
    events = []
    for record in core.trace():
        number, time_ns = int(record["seq"]), int(record["time_ns"])
        if record["kind"] == ARRIVAL:
            events.append((cycles(time_ns) + LINK_CYCLES, 0, number, time_ns))
        elif record["kind"] == DEPARTURE:
            events.append((cycles(time_ns), 1, number, time_ns))
    model = Jfepm(Limits(form), split_arrivals=False, one_stops_all=True)
    made: list[bytes] = []
    members = outer = 0
    for _, departs, number, time_ns in sorted(events):
        if not departs:
            model.arrive(Arrival.of(time_ns, frames[number], form, number))
        elif members:  # a record for each packet of a frame that was granted before
            members -= 1
        else:
            group = model.take(time_ns)
            assert group, "the core granted what the model does not have"
            members = len(group) - 1
            if members:
                made.append(build([m.frame for m in group], [m.time_ns for m in group], form, outer if form.l3 else 0))
                outer += form.l3
            else:
                made.append(group[0].frame)
    return made


@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_core_makes_the_frames_of_algorithm_1(seed: int, kind: str, l3: bool) -> None:
    frames = without_collisions(KINDS[kind](random.Random(seed)))
    form = JumboFormat(l3=l3)
    core = Core(egress="mac", line="raw")
    device = core.device
    device.jumbo("opaque", form="l3" if l3 else "l2")
    device.queue_replace(0, "drop-tail")
    device.merge(0, "flow")
    device.shape("2Gbit")
    device.trace_enable()
    for frame in frames:
        core.send(frame, core.now_ns + 1000)
    core.run_idle()
    sent = [frame.data for frame in core.recv()]
    stats = core.stats().core
    assert sent == literal(frames, core, form)
    print(
        f"{len(frames)} packets in {len(sent)} frames, {stats.merged.packets} of them in {stats.jumbo_out.packets} jumbo frames"
    )
    assert stats.merged.packets > len(frames) // 4 and stats.jumbo_out.packets > 50

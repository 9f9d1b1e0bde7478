"""Every kind of jumbo frame that lies, through a whole core: dropped whole, counted, no cell lost, the next frame unharmed."""

from __future__ import annotations

import random

import pytest

from jumbo_frames import ipv4
from jumbo_stimulus import LIES, OUTER_LIES, parts
from weir_sim.core import Core
from weir_sim.jumbo.packet import JumboFormat
from weir_sim.jumbo.wire import Malformed, build, dissect


@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
@pytest.mark.parametrize("mode", ["split", "transit"])
def test_each_lie_is_dropped_whole_and_counted(mode: str, l3: bool) -> None:
    rng = random.Random(3)
    core = Core(egress="mac")
    core.device.jumbo(mode)
    core.device.queue_replace(0, "drop-tail")
    expected: list[bytes] = []
    lies = told = 0
    for name, lie in {**LIES, **(OUTER_LIES if l3 else {})}.items():
        for _ in range(4):
            made = parts(rng, [rng.randrange(40, 200) for _ in range(4)], l3=l3, tags=rng.randrange(3))
            lie(made, rng)
            data = made.bytes()[:9216]
            try:
                if dissect(data) is None:
                    continue  # no jumbo frame any more: it travels as it is, which other tests are about
            except Malformed:
                told += 1
            else:
                raise AssertionError(f"{name}: no lie")
            core.send(data, max(core.now_ns, core.line_free_ns) + 3000)
            packets = [ipv4(60, lies % 5, number=lies), ipv4(80, lies % 5, number=lies + 7)]
            follower = build(packets, [0, 0], JumboFormat(l3=l3))
            core.send(follower, max(core.now_ns, core.line_free_ns) + 100)
            expected += packets if mode == "split" else [follower]
            lies += 1
    core.run_idle()
    assert [frame.data for frame in core.recv()] == expected
    assert core.stats().core.malformed.packets == told > 3 * len(LIES)
    assert core.device.core_live().free_cells == core.device.capabilities.cells - 1


@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
@pytest.mark.parametrize(("length", "number"), [(20, 40), (22, 40), (26, 200)])
@pytest.mark.parametrize("mode", ["split", "transit"])
def test_packets_too_short_for_the_rate_end_with_their_whole_frame(
    mode: str, length: int, number: int, l3: bool
) -> None:
    """Frames as long as they get, back to back at 10GbE: what does not fit is counted and gone, the rest is complete and in order."""
    core = Core(egress="ready", line="10gbe")
    core.device.jumbo(mode)
    core.device.queue_replace(0, "drop-tail")
    count = (9216 - 14 - 20 * l3 - 6) // (length + 4)
    groups = [[ipv4(length, 0, number=k * 400 + i) for i in range(count)] for k in range(number)]
    frames = [build(group, [0] * count, JumboFormat(l3=l3)) for group in groups]
    for frame in frames:
        core.send(frame, core.now_ns)
    core.run_idle()
    sent = [frame.data for frame in core.recv()]
    units = groups if mode == "split" else [[frame] for frame in frames]
    left = set(sent)
    kept = [unit for unit in units if left.issuperset(unit)]
    assert sent == [frame for unit in kept for frame in unit]
    lost = core.stats().core.ingress_overflow.packets
    assert lost == len(units) - len(kept) > 0
    assert core.underruns == 0

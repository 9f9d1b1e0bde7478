"""Algorithms 1 and 2 of paper 002, literally, at the moments at which the core links and grants: the same frames in the same order."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from golden.merge import slot_of
from jumbo_frames import ipv4, traffic
from weir_sim.core import Core
from weir_sim.jumbo.jfepm import Jfepm, cells_of
from weir_sim.jumbo.merge import Arrival, Limits
from weir_sim.jumbo.packet import JumboFormat, parse_packet
from weir_sim.jumbo.wire import Malformed, build, dissect, split
from weir_sim.trace import ARRIVAL, DEPARTURE

SLOTS = 1024
STOP_DSCP = 62
STOP = ipv4(1000, dscp=STOP_DSCP, options=bytes(4))
STOPS = 9
LARGE = 1_048_512
MOST_GRANTED = 2 * 9216 // 64
"""cells of frames that have been granted and wait to be read"""
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


class Bench:
    """A core that splits what arrives and merges in queue 0, and Algorithms 1 and 2, which are given the same frames.

    The paper inserts all packets of a jumbo frame at once, the core at one every few cycles. So the line stands still while frames come:
    frames of a queue that goes first hold whatever may be granted ahead.
    """

    def __init__(self, l3: bool, model: type[Jfepm] = Jfepm) -> None:
        self.form = JumboFormat(l3=l3)
        self.model = model(Limits(self.form), one_stops_all=True)
        self.core = Core(egress="stopped", line="10gbe")
        device = self.core.device
        device.jumbo("split", form="l3" if l3 else "l2")
        device.queue_replace(0, "drop-tail", limit_bytes=LARGE)
        device.queue_replace(1, "drop-tail", strict=1)
        device.dscp_map([int(d == STOP_DSCP) for d in range(64)])
        device.merge(0, "flow")
        device.trace_enable()
        self.decided: dict[bytes, int] = {}
        """times of the packets' decisions; no two packets are the same"""
        self.made: list[bytes] = []
        self.members = self.outer = self.split = 0
        self.whole: list[bytes] = []
        """frames that the buffer had no room for"""

    def stop(self) -> None:
        """From now on nothing of queue 0 is granted."""
        self.core.egress = "stopped"
        for _ in range(STOPS):
            # of no known flow, so that they take no flow's slot
            self.core.send(STOP, self.core.line_free_ns)
        # until as much of them has been read ahead as there are places for
        self.core.run_until(self.core.line_free_ns + 10_000)
        self._grants(self.core.trace())

    def arrive(self, frames: list[bytes]) -> None:
        """Frames come to both. The queue may hold all cells but those of the frames that hold the line."""
        elsewhere, lacking = self._elsewhere(), len(self.whole)
        self.model.buffer_cells = self.core.device.capabilities.cells - 1 - elsewhere
        for frame in frames:
            self.core.send(frame, self.core.line_free_ns)
        self.core.run_until(self.core.line_free_ns + 20_000)
        records = self.core.trace()
        assert not any(r["kind"] == DEPARTURE and r["queue"] == 0 for r in records)
        times = iter([int(r["time_ns"]) for r in records if r["kind"] == ARRIVAL])
        for frame in frames:
            dropped = self.model.dropped
            self.model.arrive(Arrival.of(self.core.now_ns, frame, self.form))
            try:
                jumbo = dissect(frame, self.form)
            except Malformed:
                continue
            if self.model.dropped > dropped:
                self.whole.append(frame)
                continue
            packets = split(jumbo).frames if jumbo else [frame]
            for packet in packets:
                assert packet not in self.decided
                self.decided[packet] = next(times)
            self.split += len(packets) if jumbo else 0
        assert next(times, None) is None
        # some of them are read ahead when the first long group waits
        assert self._elsewhere() == elsewhere or (self._elsewhere() < elsewhere and len(self.whole) == lacking)

    def _elsewhere(self) -> int:
        """Cells of frames that hold the line, or have been granted."""
        cells = self.core.device.capabilities.cells - 1 - self.core.device.core_live().free_cells - self.model.cells
        assert 0 <= cells <= STOPS * cells_of(STOP) + MOST_GRANTED
        return cells

    def leave(self, cycles: int | None) -> None:
        """Frames leave for that time; None: all."""
        self.core.egress = "mac"
        if cycles is None:
            self.core.run_idle()
        else:
            self.core.run_cycles(cycles)
        self._grants(self.core.trace())

    def _grants(self, records: Iterable[Any]) -> None:
        for record in records:
            if record["kind"] != DEPARTURE or record["queue"] != 0:
                continue
            if self.members:
                self.members -= 1
                continue
            group = [m.frame for m in self.model.take(int(record["time_ns"]))]
            assert group, "the core granted what the model does not have"
            self.members = len(group) - 1
            if self.members:
                number = self.outer if self.form.l3 else 0
                self.made.append(build(group, [self.decided[f] for f in group], self.form, number))
                self.outer += self.form.l3
            else:
                self.made += group


def in_jumbo_frames(rng: random.Random, rows: list[bytes], most: int) -> Iterator[bytes]:
    """The frames, most of those that may travel together in jumbo frames of both forms, of any flows; one in ten of these is malformed."""
    like: dict[object, list[bytes]] = {}
    for row in rows:
        packet = parse_packet(row)
        if packet is None or not packet.may_join or rng.random() < 0.1:
            yield row
            continue
        some = like.setdefault((packet.ethernet, packet.dscp), [])
        some.append(row)
        if len(some) < rng.randrange(2, most):
            continue
        form = JumboFormat(l3=packet.version == 4 and rng.random() < 0.5)
        jumbo = bytearray(build(some, [100 * n for n in range(len(some))], form, rng.getrandbits(16)))
        if rng.random() < 0.1:
            jumbo[len(packet.ethernet) + 20 * form.l3 + 1] ^= 1  # the count
        yield bytes(jumbo)
        some.clear()


@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_core_inserts_the_packets_of_algorithm_2(seed: int, l3: bool) -> None:
    """What arrives as jumbo frames is split, merged again with what waits, and leaves as the paper's two algorithms say."""
    rng = random.Random(seed)
    bench = Bench(l3)
    rows = without_collisions(
        [frame for _, frame in traffic(rng, 2500, longest=400)]
        if seed
        else [ipv4(rng.choice((28, 46, 300)), rng.randrange(12), number=n) for n in range(2500)]
    )
    rows = list(dict.fromkeys(rows))  # times are known by the bytes
    frames = list(in_jumbo_frames(rng, rows, 12))
    while frames:
        n = rng.randrange(1, 60)
        bench.stop()
        bench.arrive(frames[:n])
        frames = frames[n:]
        bench.leave(rng.randrange(20_000) if frames else None)
    sent = [f.data for f in bench.core.recv()]
    stats = bench.core.stats().core
    assert [f for f in sent if f != STOP] == bench.made
    print(
        f"{len(rows)} packets, {bench.split} of them split out of {stats.jumbo_in.packets} jumbo frames; {stats.malformed.packets} malformed; "
        f"{stats.merged.packets} merged again in {stats.jumbo_out.packets}"
    )
    assert bench.split > len(rows) // 4 and stats.merged.packets > len(rows) // 4
    assert bench.model.dropped == stats.malformed.packets > 5


def over_full(rng: random.Random, number: int) -> list[bytes]:
    """Frames and jumbo frames of the largest packets, so that a few hundred fill the buffer."""
    lengths = [rng.choice((1400, 1400, rng.randrange(600, 1400))) for _ in range(number)]
    rows = [ipv4(length, rng.randrange(12), number=n) for n, length in enumerate(lengths)]
    return list(in_jumbo_frames(rng, without_collisions(rows), 7))


def fill(bench: Bench, frames: list[bytes], rng: random.Random) -> list[bytes]:
    """Frames come while the line stands still, many more than leave between; what has left, without the frames that hold the line."""
    while frames:
        n = rng.randrange(40, 160)
        bench.stop()
        bench.arrive(frames[:n])
        frames = frames[n:]
        bench.leave(rng.randrange(2_000, 40_000) if frames else None)
    return [f.data for f in bench.core.recv() if f.data != STOP]


@pytest.mark.parametrize("l3", [False, True], ids=["l2", "l3"])
def test_what_the_buffer_has_no_room_for_is_dropped_whole(l3: bool) -> None:
    """Algorithm 2 where it drops: a jumbo frame whose packets do not all find cells leaves nothing behind; what fits goes on."""
    rng = random.Random(5)
    frames = over_full(rng, 3000)
    bench = Bench(l3)
    sent = fill(bench, frames, rng)
    stats = bench.core.stats().core
    assert sent == bench.made
    jumbos = sum(dissect(f, bench.form) is not None for f in bench.whole)
    print(f"{len(frames)} frames, {len(bench.whole)} dropped whole, {jumbos} of them jumbo frames")
    assert bench.model.dropped == stats.malformed.packets + stats.ingress_overflow.packets
    assert len(bench.whole) > len(frames) // 10 and jumbos > 30
    assert stats.merged.packets > 400


class Whole(Jfepm):
    """Leaves jumbo frames as they are."""

    def __init__(self, limits: Limits, **settings: Any) -> None:
        super().__init__(limits, **settings, split_arrivals=False)


class Front(Jfepm):
    """Inserts the packets at the front."""

    def arrive(self, arrival: Arrival) -> None:
        before, self._queue = self._queue, []
        super().arrive(arrival)
        self._queue += before


class Piecewise(Jfepm):
    """Drops the packets that do not fit, and not the whole."""

    def arrive(self, arrival: Arrival) -> None:
        room, self.buffer_cells = self.buffer_cells, None
        assert room is not None
        super().arrive(arrival)
        while self.cells > room:
            self._queue.pop()


class ByTheFrame(Jfepm):
    """Counts the cells of the jumbo frame, and not of its packets."""

    def arrive(self, arrival: Arrival) -> None:
        room, self.buffer_cells = self.buffer_cells, None
        assert room is not None
        if self.cells + cells_of(arrival.frame) > room:
            self.dropped += 1
        else:
            super().arrive(arrival)


@pytest.mark.parametrize("wrong", [Piecewise, ByTheFrame])
def test_the_comparison_notices_another_room(wrong: type[Jfepm]) -> None:
    rng = random.Random(5)
    bench = Bench(False, wrong)
    with pytest.raises((AssertionError, ValueError, StopIteration)):
        assert fill(bench, over_full(rng, 1500), rng) == bench.made


@pytest.mark.parametrize("wrong", [Whole, Front])
def test_the_comparison_notices_another_algorithm_2(wrong: type[Jfepm]) -> None:
    bench = Bench(False, wrong)
    frames = [ipv4(100, n % 3, number=n) for n in range(30)]
    bench.stop()
    with pytest.raises((AssertionError, ValueError)):
        bench.arrive([*frames[:5], build(frames[5:25], [0] * 20), *frames[25:]])
        bench.leave(None)
        assert [f.data for f in bench.core.recv() if f.data != STOP] == bench.made

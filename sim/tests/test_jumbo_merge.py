"""Mergers: the paper's search against O(1) grouping, limits, timers, and that merge then split changes nothing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumbo_frames import MACS, TAG, ipv4, ipv6, traffic
from weir_sim.jumbo import JumboFormat, dissect, split
from weir_sim.jumbo.jfepm import Jfepm
from weir_sim.jumbo.link import Sent, serve, wire_bytes
from weir_sim.jumbo.merge import Arrival, ClassMerger, FlowMerger, Limits, Merger, by_destination
from weir_sim.jumbo.packet import Packet, parse_packet

L3 = JumboFormat(l3=True)
US = 1000
Rows = Sequence[tuple[int, bytes]]


def arrivals(rows: Rows, form: JumboFormat) -> list[Arrival]:
    return [Arrival.of(time_ns, frame, form, number) for number, (time_ns, frame) in enumerate(rows)]


def random_limits(rng: random.Random) -> Limits:
    return Limits(
        JumboFormat(l3=rng.random() < 0.5, tick=rng.choice((0, 6, 6, 10))),
        max_bytes=rng.choice((9216, 9216, 1518, 3000, 64)),
        max_sum=rng.choice((8960, 8960, 1000, 40)),
        max_count=rng.choice((448, 448, 2, 5)),
    )


def split_all(sent: Sequence[Sent], limits: Limits) -> list[bytes]:
    """What the far end gives: each frame as sent, or its packets."""
    out = []
    for number, item in enumerate(sent):
        frame = item.frame(limits, number)
        assert len(frame) == item.length
        if len(item.members) == 1:
            out.append(frame)
            continue
        assert len(frame) <= limits.max_bytes and len(item.members) <= limits.max_count
        jumbo = dissect(frame, limits.form)
        assert jumbo is not None and sum(e.length for e in jumbo.entries) <= limits.max_sum
        frames, dropped, _ = split(jumbo)
        assert not dropped and frames == [m.frame for m in item.members]
        out += frames
    return out


def check_order(before: Sequence[bytes], after: Sequence[bytes], form: JumboFormat) -> None:
    """No flow has changed its order, no packet has passed one of an unknown flow between its addresses."""
    assert Counter(before) == Counter(after)

    def sequences(frames: Sequence[bytes]) -> dict[object, list[object]]:
        lists: dict[object, list[object]] = {}
        for frame in frames:
            packet = parse_packet(frame, form)
            if packet is None:
                lists.setdefault(None, []).append(frame)
                continue
            # Of two addresses: what passed before each packet of an unknown flow, and these in order.
            marks = lists.setdefault(packet.pair, [])
            if packet.flow is None:
                marks.append(frame)
                marks.append(Counter())
            else:
                lists.setdefault(packet.flow, []).append(frame)
                if not marks or not isinstance(marks[-1], Counter):
                    marks.append(Counter())
                counter = marks[-1]
                assert isinstance(counter, Counter)
                counter[frame] += 1
        return lists

    assert sequences(before) == sequences(after)


def check_merging(groups: Sequence[int], every_size_to: int) -> None:
    """Merging happens: at least half the packets are in jumbo frames, and every small size occurs."""
    sizes = Counter(groups)
    joined = sum(n * times for n, times in sizes.items() if n > 1)
    total = sum(n * times for n, times in sizes.items())
    print(f"{total} packets, {100 * joined / total:.0f} % in jumbo frames, {total / len(groups):.2f} packets a frame")
    assert 2 * joined >= total
    assert all(sizes[n] for n in range(1, every_size_to + 1))


def merge_and_split(rows: Rows, merger: Merger, limits: Limits, rate: int) -> list[Sent]:
    sent = list(serve(arrivals(rows, limits.form), merger, rate, limits))
    check_order([frame for _, frame in rows], split_all(sent, limits), limits.form)
    return sent


class NeverMerges:
    """A FIFO: what the tests of merging must notice."""

    def __init__(self) -> None:
        self._fifo: list[Arrival] = []

    def arrive(self, arrival: Arrival) -> None:
        self._fifo.append(arrival)

    def take(self, now_ns: int) -> list[Arrival]:
        return [self._fifo.pop(0)] if self._fifo else []

    def wake_ns(self) -> int | None:
        return None


class Forgetful(FlowMerger):
    """Reorders: forgets to close groups when a flow cannot be known."""

    def arrive(self, arrival: Arrival) -> None:
        packet = arrival.packet
        if packet and packet.flow is None:
            arrival = replace(arrival, packet=None)
        super().arrive(arrival)


def flow_mode(limits: Limits) -> Merger:
    return FlowMerger(limits)


def class_mode(limits: Limits) -> Merger:
    return ClassMerger(limits, 100 * US, by_destination(24, 64))


def class_of_hosts(limits: Limits) -> Merger:
    return ClassMerger(limits, 20 * US, by_destination(32, 128))


def busy(make: Callable[[Limits], Merger], limits: Limits, seed: int = 1) -> list[int]:
    """Sizes of the groups of much traffic on a slow link, merged and split."""
    rows = traffic(random.Random(seed), 6000, sixes=0 if limits.form.l3 else 0.3)
    return [len(s.members) for s in merge_and_split(rows, make(limits), limits, 1_000_000_000)]


@pytest.mark.parametrize("l3", [False, True])
@pytest.mark.parametrize("make", [flow_mode, class_mode])
def test_merge_then_split_is_the_identity_and_keeps_order(make: Callable[[Limits], Merger], l3: bool) -> None:
    check_merging(busy(make, Limits(JumboFormat(l3=l3))), every_size_to=6)


def test_the_checks_notice_a_merger_that_never_merges() -> None:
    with pytest.raises(AssertionError):
        check_merging(busy(lambda limits: NeverMerges(), Limits()), every_size_to=6)


def test_the_checks_notice_a_merger_that_reorders() -> None:
    with pytest.raises(AssertionError):
        busy(Forgetful, Limits())


@settings(deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from([flow_mode, class_mode, class_of_hosts]), st.integers(10**6, 10**11))
def test_any_traffic_on_any_link_is_the_same_behind_the_split(
    seed: int, make: Callable[[Limits], Merger], rate: int
) -> None:
    rng = random.Random(seed)
    limits = random_limits(rng)
    merge_and_split(traffic(rng, 200, longest=rng.choice((60, 1500, 8950))), make(limits), limits, rate)


def take_both(rows: Rows, rng: random.Random, limits: Limits, alone: Callable[[Packet], bool]) -> list[int]:
    """The same arrivals and dequeues for the search and for grouping; answers the sizes of the frames."""
    oracle, grouping = Jfepm(limits, alone, split_arrivals=False), FlowMerger(limits, alone)
    patience, sizes = rng.choice((0.3, 0.7, 0.9)), []

    def take(now_ns: int) -> bool:
        expected, got = oracle.take(now_ns), grouping.take(now_ns)
        assert [m.number for m in got] == [m.number for m in expected]
        sizes.append(len(expected))
        return bool(expected)

    now = 0
    for arrival in arrivals(rows, limits.form):
        now = arrival.time_ns
        oracle.arrive(arrival)
        grouping.arrive(arrival)
        while rng.random() > patience and take(now):
            pass
    while take(now):
        pass
    assert sum(sizes) == len(rows)
    assert not grouping._open and not grouping._flows
    return [n for n in sizes if n]


@settings(deadline=None)
@given(st.integers(0, 1 << 32))
def test_grouping_gives_the_frames_of_the_papers_search(seed: int) -> None:
    rng = random.Random(seed)
    rack = rng.choice((None, bytes((10, 0, 0, 2))))
    rows = traffic(rng, rng.randrange(1, 150), longest=rng.choice((60, 1500, 8950)))
    take_both(rows, rng, random_limits(rng), lambda packet: packet.pair.source == rack)


def test_grouping_and_the_search_do_merge() -> None:
    sizes = []
    for seed in range(30):
        rng = random.Random(seed)
        form = JumboFormat(l3=seed % 2 == 0)
        rows = traffic(rng, 200, sixes=0 if form.l3 else 0.3)
        sizes += take_both(rows, rng, Limits(form), lambda packet: False)
    check_merging(sizes, every_size_to=6)


def test_the_search_splits_what_arrives_as_algorithm_2_does() -> None:
    limits, far = Limits(), Jfepm(Limits())
    rows = traffic(random.Random(5), 1500)
    rows = [(t, f) for t, f in rows if f[12:14] != b"\x08\x00" or f[23] != 253]  # malformed at the far end
    sent = list(serve(arrivals(rows, limits.form), FlowMerger(limits), 10**9, limits))
    assert sum(len(s.members) > 1 for s in sent) > 100
    for number, item in enumerate(sent):
        far.arrive(Arrival.of(item.end_ns, item.frame(limits, number), limits.form))
    merged_again = []
    while members := far.take(0):
        merged_again.append(len(members))
    assert sum(merged_again) == len(rows) and not far.dropped


def test_algorithm_2_drops_what_does_not_fit_whole_and_what_is_malformed() -> None:
    limits = Limits()
    pair = arrivals([(0, ipv4(100)), (0, ipv4(100))], limits.form)
    jumbo = Sent(0, 0, 228, pair).frame(limits)
    assert len(jumbo) == 14 + 14 + 200
    for room, kept in ((227, 0), (228, 2)):
        queue = Jfepm(limits, buffer_bytes=room)
        queue.arrive(Arrival.of(0, jumbo, limits.form))
        assert (len(queue.take(0)), queue.dropped) == (kept, 1 - kept // 2)
    queue = Jfepm(limits)
    queue.arrive(Arrival.of(0, jumbo + b"\0", limits.form))
    assert queue.take(0) == [] and queue.dropped == 1


def grouped(rows: Rows, merger: Merger, limits: Limits) -> list[list[int]]:
    """Numbers of the frames that leave together, when nothing is taken before all have come and timers ended."""
    for arrival in arrivals(rows, limits.form):
        merger.arrive(arrival)
    out = []
    while members := merger.take(1 << 60):
        out.append([m.number for m in members])
    return out


BASE = 1 << 40  # a multiple of every tick
CASES: dict[str, tuple[Limits, Rows, list[list[int]]]] = {
    "one flow": (Limits(), [(0, ipv4())] * 3, [[0, 1, 2]]),
    "two flows": (Limits(), [(0, ipv4(flow=n % 2)) for n in range(4)], [[0, 2], [1, 3]]),
    "bytes fit exactly": (Limits(max_bytes=14 + 6 + 8 + 80), [(0, ipv4())] * 3, [[0, 1], [2]]),
    "bytes do not fit": (Limits(max_bytes=14 + 6 + 8 + 79), [(0, ipv4())] * 2, [[0], [1]]),
    "bytes with a tag": (Limits(max_bytes=14 + 6 + 8 + 80), [(0, ipv4(tags=TAG))] * 2, [[0], [1]]),
    "bytes in L3": (Limits(L3, max_bytes=34 + 6 + 8 + 80), [(0, ipv4())] * 3, [[0, 1], [2]]),
    "bytes in L3 do not fit": (Limits(L3, max_bytes=34 + 6 + 8 + 79), [(0, ipv4())] * 2, [[0], [1]]),
    "the sum": (Limits(max_sum=120), [(0, ipv4())] * 4, [[0, 1, 2], [3]]),
    "the sum does not fit": (Limits(max_sum=119), [(0, ipv4())] * 3, [[0, 1], [2]]),
    "the paper's 8960": (Limits(), [(0, ipv4(1280))] * 8, [[0, 1, 2, 3, 4, 5, 6], [7]]),
    "the count": (Limits(max_count=2), [(0, ipv4())] * 5, [[0, 1], [2, 3], [4]]),
    "a small one may not pass a large one": (
        Limits(max_sum=120), [(0, ipv4(60)), (0, ipv4(80)), (0, ipv4(28))], [[0], [1, 2]]),
    "spacing fits": (Limits(), [(BASE + 63, ipv4()), (BASE + 64 * 65535 + 63, ipv4())], [[0, 1]]),
    "spacing does not": (Limits(), [(BASE + 63, ipv4()), (BASE + 64 * 65536, ipv4())], [[0], [1]]),
    "spacing of the last, not the first": (
        Limits(), [(BASE + n * 64 * 65535, ipv4()) for n in range(3)], [[0, 1, 2]]),
    "a DSCP": (Limits(), [(0, ipv4()), (0, ipv4(dscp=1)), (0, ipv4(dscp=1))], [[0], [1, 2]]),
    "a tag": (Limits(), [(0, ipv4()), (0, ipv4(tags=TAG)), (0, ipv4())], [[0], [1], [2]]),
    "an address": (Limits(), [(0, ipv4()), (0, ipv4(macs=MACS[6:] + MACS[:6]))], [[0], [1]]),
    "padding": (Limits(), [(0, ipv4()), (0, ipv4(trailer=bytes(6))), (0, ipv4())], [[0], [1], [2]]),
    "the first may not join": (Limits(), [(0, ipv4(trailer=bytes(6))), (0, ipv4()), (0, ipv4())], [[0], [1, 2]]),
    "a fragment between the same addresses": (
        Limits(), [(0, ipv4()), (0, ipv4(fragment=0x2001, protocol=6)), (0, ipv4())], [[0], [1], [2]]),
    "a first fragment joins": (Limits(), [(0, ipv4()), (0, ipv4(fragment=0x2000))], [[0, 1]]),
    "options between the same addresses": (
        Limits(), [(0, ipv4()), (0, ipv4(options=bytes(4))), (0, ipv4())], [[0], [1], [2]]),
    "IPv6 in L3": (Limits(L3), [(0, ipv6()), (0, ipv6())], [[0], [1]]),
    "IPv6": (Limits(), [(0, ipv6()), (0, ipv6())], [[0, 1]]),
    "not IP": (Limits(), [(0, ipv4()), (0, MACS + b"\x88\xb6" + bytes(46)), (0, ipv4())], [[0, 2], [1]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_who_travels_together(name: str) -> None:
    limits, rows, expected = CASES[name]
    assert grouped(rows, FlowMerger(limits), limits) == expected
    assert grouped(rows, Jfepm(limits, split_arrivals=False), limits) == expected
    if name not in ("two flows", "not IP"):  # one class is one flow here, and the timer never ends before
        assert grouped(rows, ClassMerger(limits, 1 << 59, by_destination(0, 0)), limits) == expected


def test_a_fragment_closes_every_group_between_its_addresses_and_no_other() -> None:
    rows = [(0, ipv4(flow=0)), (0, ipv4(flow=4)), (0, ipv4(flow=1)), (0, ipv4(flow=0, fragment=1)),
            (0, ipv4(flow=0)), (0, ipv4(flow=4)), (0, ipv4(flow=1))]  # fmt: skip
    assert grouped(rows, FlowMerger(Limits()), Limits()) == [[0], [1], [2, 6], [3], [4], [5]]


def test_a_class_holds_several_flows_and_bypass_none() -> None:
    rows = [(0, ipv4(flow=n % 3)) for n in range(6)]
    limits = Limits()
    assert grouped(rows, ClassMerger(limits, 1000, by_destination(24, 64)), limits) == [[0, 1, 2, 3, 4, 5]]
    assert grouped(rows, ClassMerger(limits, 1000, lambda packet: None), limits) == [[n] for n in range(6)]


def test_classes_are_leading_bits_of_the_destination() -> None:
    of = by_destination(24, 64)
    v4, v6 = parse_packet(ipv4()), parse_packet(ipv6())
    assert v4 and v6 and of(v4) == (4, 0x0A0001) and of(v6) == (6, 0xFD00 << 48)
    assert by_destination(0, 0)(v4) == (4, 0) and by_destination(32, 128)(v6) == (6, (0xFD00 << 112) + 2)


def test_a_class_closes_when_its_timer_ends_and_no_sooner() -> None:
    limits = Limits()
    merger = ClassMerger(limits, 500, by_destination(24, 64))
    first, second, late = arrivals([(0, ipv4()), (499, ipv4()), (500, ipv4())], limits.form)
    merger.arrive(first)
    merger.arrive(second)
    assert merger.wake_ns() == 500 and merger.take(499) == []
    merger.arrive(late)  # the timer ends first
    assert merger.take(500) == [first, second] and merger.wake_ns() == 1000
    assert merger.take(999) == [] and merger.take(1000) == [late] and merger.wake_ns() is None


def test_a_timer_of_a_closed_group_does_not_close_the_next() -> None:
    limits = Limits(max_count=2)
    merger = ClassMerger(limits, 500, by_destination(24, 64))
    rows = arrivals([(0, ipv4()), (100, ipv4()), (200, ipv4()), (600, ipv4())], limits.form)
    for arrival in rows[:3]:
        merger.arrive(arrival)
    assert merger.take(300) == rows[:2] and merger.wake_ns() == 700
    merger.arrive(rows[3])
    assert merger.take(699) == [] and merger.take(700) == rows[2:]


def test_parked_groups_join_the_rear_when_they_close() -> None:
    limits = Limits()
    merger = ClassMerger(limits, 500, by_destination(32, 128))
    rows = arrivals([(0, ipv4()), (10, MACS + b"\x88\xb6" + bytes(46)), (20, ipv4())], limits.form)
    sent = list(serve(rows, merger, 10**10, limits))
    assert [[m.number for m in s.members] for s in sent] == [[1], [0, 2]]
    assert [s.start_ns for s in sent] == [10, 500]


@settings(deadline=None)
@given(st.integers(0, 1 << 32), st.integers(0, 50 * US))
def test_no_packet_is_parked_longer_than_the_timer(seed: int, jfet_ns: int) -> None:
    rng = random.Random(seed)
    limits = random_limits(rng)
    fast = 10**18  # nothing waits for the link
    merger = ClassMerger(limits, jfet_ns, by_destination(24, 64))
    for item in serve(arrivals(traffic(rng, 150), limits.form), merger, fast, limits):
        assert item.start_ns - item.members[0].time_ns <= jfet_ns
        if len(item.members) == 1 and item.members[0].packet is None:
            assert item.start_ns == item.members[0].time_ns


def test_a_link_takes_the_time_that_its_bytes_need() -> None:
    limits = Limits()
    assert wire_bytes(20) == 84 and wire_bytes(60) == 84 and wire_bytes(1514) == 1538
    rows = arrivals([(100, ipv4(1500)), (100, ipv4(40)), (20_000, ipv4(1500))], limits.form)
    sent = list(serve(rows, NeverMerges(), 1_000_000_000, limits))
    assert [(s.start_ns, s.end_ns) for s in sent] == [
        (100, 100 + 8 * 1538), (100 + 8 * 1538, 100 + 8 * 1538 + 672), (20_000, 20_000 + 8 * 1538)]  # fmt: skip
    sent = list(serve(rows, FlowMerger(limits), 1_000_000_000, limits))
    assert [(len(s.members), s.length) for s in sent] == [(2, 14 + 14 + 1540), (1, 1514)]


@pytest.mark.parametrize("wrong", [{"max_bytes": 63}, {"max_bytes": 9217}, {"max_sum": 39}, {"max_sum": 8961},
                                   {"max_count": 0}, {"max_count": 449}])  # fmt: skip
def test_limits_have_ranges(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Limits(**wrong)  # type: ignore[arg-type]

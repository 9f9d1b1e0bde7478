"""Scheduler against the rule of its page: strict queues, DWRR with deficits, work conservation, gates."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from axis import seeded, start

QUEUES = 4
INTERVAL = 4
LATENCY = 3
NONE, LINK_DOWN, FRONT = 0, 4, 5


#: what waits: the length of a packet, or the lengths of a group's packets and the bytes that it is sent with
Item = int | tuple[tuple[int, ...], int]


class Bench:
    """Queues that a scheduler sees: ready, empty, and a departure three cycles after a grant, of a group one every
    four cycles."""

    def __init__(self, dut: Any, name: str) -> None:
        self.dut, self.rng = dut, seeded(name)
        self.waiting: list[deque[Item]] = [deque() for _ in range(QUEUES)]
        self.grants: list[tuple[int, int, Item, int]] = []
        self.cycle = 0
        self.causes: list[int] = []
        self.slots: list[int] = []
        """cycles in which a packet is dropped out of a group"""
        self.decision = 0
        self._departing: deque[dict[str, int]] = deque()
        """inputs of a departure, with its cycle"""
        self._walks = (0, -1)
        """first and last cycle of a group's way out"""
        self._sent: tuple[int, int] | None = None
        """when a group has been sent, and its bytes"""
        self._decides = -1
        """cycle of the departure that is being decided"""

    async def start(self, strict: int = 0, quanta: tuple[int, ...] = (9216,) * QUEUES) -> Bench:
        named = {f"quantum_{q}": quanta[q] for q in range(QUEUES)}
        await start(self.dut, strict=strict, ready=0, empty=15, linkUp=1, hold=0, allowed=1, room=1, covered=0,
                    over=0, decides=0, held=0, candidates=0, departure_valid=0, departure_payload_first=1, departure_payload_last=1,
                    walking=0, sent_valid=0, partial=0, **named)  # fmt: skip
        return self

    async def step(self) -> None:
        """One cycle."""
        dut = self.dut
        await RisingEdge(dut.clk)
        self.cycle += 1
        granted, slot = dut.grant_valid.value == 1, dut.slot.value == 1
        free = self._check_busy()
        assert not (granted or slot) or (granted != slot and free), f"cycle {self.cycle}: grant {granted}, slot {slot}"
        if slot:
            assert dut.partial.value == 1, f"cycle {self.cycle}: a slot for nothing"
            self.slots.append(self.cycle)
        if granted:
            queue, discard = int(dut.grant_payload_queue.value), int(dut.grant_payload_discard.value)
            assert int(dut.ready.value) >> queue & 1, f"cycle {self.cycle}: queue {queue} is not ready"
            item = self.waiting[queue].popleft()
            self.grants.append((self.cycle, queue, item, discard))
            self.causes.append(int(dut.grant_payload_cause.value))
            decided = int(dut.decides.value) >> queue & 1 and not discard
            self._depart(queue, item, discard, self.cycle + LATENCY + decided * self.decision)
            if decided:
                self._decides = self.cycle + LATENCY + self.decision
        dut.departure_valid.value = 0
        if self._departing and self._departing[0]["cycle"] == self.cycle + 1:
            departure = self._departing.popleft()
            dut.departure_valid.value, dut.departure_payload_queue.value = 1, departure["queue"]
            dut.departure_payload_descriptor_length.value = departure["length"]
            for name in ("discard", "first", "last"):
                getattr(dut, f"departure_payload_{name}").value = departure[name]
        dut.sent_valid.value = 0
        if self._sent is not None and self._sent[0] == self.cycle + 1:
            dut.sent_valid.value, dut.sent_payload.value = 1, self._sent[1]
            self._sent = None
        dut.walking.value = int(self._walks[0] <= self.cycle + 1 <= self._walks[1])
        # the queue that was granted has its next head in the fourth cycle
        newest = self.grants[-1] if self.grants else (-9, 0, 0, 0)
        busy = 1 << newest[1] if self.cycle + 1 - newest[0] < INTERVAL else 0
        held = sum(1 << q for q in range(QUEUES) if self.waiting[q])
        dut.ready.value, dut.empty.value = held & ~busy, held ^ 15
        # a queue seems to be one for another cycle
        seeming = 1 << newest[1] if newest[0] == self.cycle else 0
        dut.candidates.value = (held & ~busy | seeming) & ~int(dut.held.value)

    def _depart(self, queue: int, item: Item, discard: int, first: int) -> None:
        """Departures of what was granted; the first in cycle `first`."""
        lengths, size = item if isinstance(item, tuple) else ((item,), 0)
        for n, length in enumerate(lengths):
            self._departing.append({"cycle": first + INTERVAL * n, "queue": queue, "length": length, "discard": discard,
                                    "first": int(n == 0), "last": int(n == len(lengths) - 1)})  # fmt: skip
        if len(lengths) > 1:
            end = first + INTERVAL * (len(lengths) - 1)
            self._walks = (first + 1, end + 2)
            self._sent = None if discard else (end + 1, size)

    def _check_busy(self) -> bool:
        """Whether there may be a grant: not within four cycles of a grant or a slot, before a decision nor while a
        group departs. `busy` tells that, and that a head or a packet of a group is to be dropped; `throttled` that
        what waits waits for the shaper."""
        dut = self.dut
        last = max([-9, *self.slots[-1:], *(cycle for cycle, *_ in self.grants[-1:])])
        free = not (0 < self.cycle - last < INTERVAL or last < self.cycle <= self._decides or dut.walking.value == 1)
        wanted = int(dut.over.value) & int(dut.candidates.value)
        busy = not free or wanted != 0 or dut.partial.value == 1
        assert bool(dut.busy.value) == busy, f"cycle {self.cycle}: busy is {dut.busy.value}"
        waits = int(dut.ready.value) & ~int(dut.held.value)
        throttled = waits != 0 and dut.linkUp.value == 1 and dut.allowed.value == 0
        assert bool(dut.throttled.value) == throttled, f"cycle {self.cycle}: throttled is {dut.throttled.value}"
        return free

    async def reset(self) -> None:
        """For one edge, with nothing waiting and nothing under way before or after it."""
        self.__init__(self.dut, f"after cycle {self.cycle}")  # type: ignore[misc]
        for name in ("ready", "candidates", "departure_valid", "sent_valid", "walking"):
            getattr(self.dut, name).value = 0
        self.dut.empty.value, self.dut.rst.value = 15, 1
        await RisingEdge(self.dut.clk)
        self.dut.rst.value = 0

    async def drain(self, partial: float = 0.0) -> list[tuple[int, Item]]:
        """Grants until all queues are empty: queue and what was granted. `partial`: how often a packet of a group is
        to be dropped."""
        before = len(self.grants)
        limit = self.cycle + 32 * sum(len(w) for w in self.waiting) + 100
        while any(self.waiting) or self._departing:
            if partial:
                self.dut.partial.value = int(self.rng.random() < partial)
            await self.step()
            assert self.cycle < limit, "packets wait, but nothing is granted"
        for _ in range(8):
            await self.step()
        self.dut.partial.value = 0
        return [(q, item) for _, q, item, _ in self.grants[before:]]

    def fill(self, packets: int) -> None:
        for w in self.waiting:
            w.extend(self.rng.choice((14, 60, 64, 590, 1514, 9216)) for _ in range(packets))


def bytes_of(item: Item) -> int:
    """What is charged."""
    return item[1] if isinstance(item, tuple) else item


def expected(lengths: list[deque[Item]], quanta: tuple[int, ...], strict: int, turn: int) -> tuple[list[int], int]:
    """The order of queues by the page's rule (the register file has clamped the quanta), all packets waiting at the start; and whose turn it is then."""
    queues, deficit, order = [deque(w) for w in lengths], [0] * QUEUES, []
    while any(queues):
        first = next((q for q in range(QUEUES) if strict >> q & 1 and queues[q]), None)
        if first is not None:
            queues[first].popleft()
            order.append(first)
            continue
        if not (queues[turn] and deficit[turn] > 0):
            turn = next(q % QUEUES for q in range(turn + 1, turn + QUEUES + 1) if queues[q % QUEUES])
            deficit[turn] += quanta[turn]
        deficit[turn] -= bytes_of(queues[turn].popleft())
        order.append(turn)
        if not queues[turn]:
            deficit[turn] = 0
    return order, turn


@cocotb.test()
@cocotb.parametrize(strict=[0, 0b0010, 0b0101, 0b1111])
async def serves_strict_queues_first_and_the_others_by_deficit(dut: Any, strict: int) -> None:
    bench = Bench(dut, f"order {strict}")
    quanta = tuple(bench.rng.choice((9216, 9217, 12000, 30000, 1048575)) for _ in range(QUEUES))
    await bench.start(strict, quanta)
    turn = 0
    for n_round in range(4):
        start_turn = turn
        bench.fill(bench.rng.randrange(1, 60))
        order, turn = expected(bench.waiting, quanta, strict, turn)

        got = [q for q, _ in await bench.drain()]
        first = next((n for n, (a, b) in enumerate(zip(got, order, strict=True)) if a != b), None)
        assert first is None, (
            f"strict {strict:04b}, quanta {quanta}: grant {first} is queue {got[first]}, expected {order[first]}; "
            f"turn was {start_turn} in round {n_round}; got {got[max(0, first - 3) : first + 9]}, expected "
            f"{order[max(0, first - 3) : first + 9]}"
        )


@cocotb.test()
@cocotb.parametrize(partial=[0.0, 0.3])
async def charges_a_group_once_with_the_bytes_of_its_frame(dut: Any, partial: float) -> None:
    """Whatever its packets' lengths are; no grant comes while they depart, and slots between grants change nothing."""
    bench = Bench(dut, f"groups {partial}")
    quanta = tuple(bench.rng.choice((9216, 9217, 12000)) for _ in range(QUEUES))
    await bench.start(0b0100, quanta)
    turn = 0
    for _ in range(4):
        bench.fill(10)
        for waiting in bench.waiting:
            for _ in range(10):
                lengths = tuple(bench.rng.randrange(60, 1515) for _ in range(bench.rng.randrange(2, 7)))
                waiting.insert(bench.rng.randrange(len(waiting)), (lengths, bench.rng.randrange(60, 9217)))
        order, turn = expected(bench.waiting, quanta, 0b0100, turn)
        assert [q for q, _ in await bench.drain(partial)] == order
    assert bool(bench.slots) == bool(partial)


@cocotb.test()
async def spends_exactly_the_quantum_on_the_first_visit_after_a_reset(dut: Any) -> None:
    """Six, eight, twelve and seven frames of 1536 bytes, queue 1 first; a reset at any time, even of one edge, forgets
    turn and deficits, and a decision that is awaited."""
    quanta = (9216, 12288, 18432, 10752)
    bench = await Bench(dut, "resets").start(quanta=quanta)
    for n in range(12):
        await bench.reset()
        dut.decides.value = 0b1111 if n % 3 == 0 else 0
        bench.decision = 9
        for waiting in bench.waiting:
            waiting.extend([1536] * 30)
        order, _ = expected(bench.waiting, quanta, 0, 0)
        assert order[:21] == [1] * 8 + [2] * 12 + [3]
        for _ in range(bench.rng.randrange(100, 400)):
            await bench.step()
        got = [queue for _, queue, *_ in bench.grants]
        assert len(got) > 6 and got == order[: len(got)], f"round {n}"


@cocotb.test()
async def gives_slots_in_turn_with_grants_to_send(dut: Any) -> None:
    """To drop packets of groups: behind heads that are to be discarded, and without shaper, egress or `hold`."""
    bench = await Bench(dut, "slots").start()
    bench.fill(100)

    async def events(cycles: int, **inputs: int) -> list[str]:
        """What came, one every four cycles."""
        for name, value in inputs.items():
            getattr(dut, name).value = value
        for _ in range(6):
            await bench.step()
        begin = bench.cycle
        for _ in range(cycles):
            await bench.step()
        named = [(cycle, "slot") for cycle in bench.slots]
        named += [(g[0], "head" if bench.causes[n] == FRONT else "grant") for n, g in enumerate(bench.grants)]
        recent = sorted(event for event in named if event[0] > begin)
        assert {b[0] - a[0] for a, b in zip(recent, recent[1:], strict=False)} <= {INTERVAL}
        return [name for _, name in recent]

    assert set(await events(40)) == {"grant"}
    both = await events(80, partial=1)
    assert both in (["slot", "grant"] * 10, ["grant", "slot"] * 10)
    for gate, value in (("hold", 1), ("allowed", 0), ("room", 0)):
        assert await events(40, **{gate: value}) == ["slot"] * 10
        assert set(await events(16, **{gate: 1 - value})) == {"slot", "grant"}
    assert await events(40, over=0b0010, covered=1) == ["head"] * 10
    assert await events(40, over=0, covered=0, partial=0) == ["grant"] * 10
    await bench.drain()
    assert not await events(20)
    assert await events(40, partial=1) == ["slot"] * 10


@cocotb.test()
async def shares_bytes_as_the_quanta_say(dut: Any) -> None:
    """While all queues wait: each queue's bytes are within a quantum and a frame of its share."""
    quanta = (9216, 18432, 27648, 46080)
    bench = await Bench(dut, "shares").start(0, quanta)
    bench.fill(600)
    got = [0] * QUEUES
    while all(bench.waiting):
        before = len(bench.grants)
        await bench.step()
        for _, queue, length, _ in bench.grants[before:]:
            got[queue] += bytes_of(length)
    total = sum(got)
    for queue in range(QUEUES):
        share = total * quanta[queue] / sum(quanta)
        assert abs(got[queue] - share) <= quanta[queue] + 9216, f"{got} of {total}"


@cocotb.test()
async def grants_every_four_cycles_while_packets_wait(dut: Any) -> None:
    bench = await Bench(dut, "work").start()
    bench.fill(100)
    await bench.drain()
    gaps = [b[0] - a[0] for a, b in zip(bench.grants, bench.grants[1:], strict=False)]
    assert set(gaps[:300]) == {INTERVAL}, sorted(set(gaps))


@cocotb.test()
@cocotb.parametrize(gate=["allowed", "room", "hold"])
async def waits_for_the_shaper_the_egress_and_a_reset(dut: Any, gate: str) -> None:
    bench = await Bench(dut, f"gate {gate}").start()
    bench.fill(40)
    for _ in range(20):
        for _ in range(bench.rng.randrange(1, 12)):
            await bench.step()
        getattr(dut, gate).value = int(gate == "hold")
        for _ in range(3):
            await bench.step()
        count = len(bench.grants)
        for _ in range(20):
            await bench.step()
        assert len(bench.grants) == count, f"a grant against {gate}"
        if gate == "allowed":
            assert dut.throttled.value == 1
        getattr(dut, gate).value = int(gate != "hold")
    assert len(bench.grants) > 20


@cocotb.test()
async def discards_everything_while_the_link_is_down(dut: Any) -> None:
    """The shaper and a full egress do not hold it up."""
    bench = await Bench(dut, "down").start()
    dut.linkUp.value = dut.allowed.value = dut.room.value = 0
    for _ in range(3):
        await bench.step()
    bench.fill(50)
    await bench.drain()
    assert len(bench.grants) == 200 and all(discard for _, _, _, discard in bench.grants)
    dut.linkUp.value = dut.allowed.value = dut.room.value = 1
    for _ in range(3):
        await bench.step()
    bench.fill(5)
    await bench.drain()
    assert not any(discard for _, _, _, discard in bench.grants[200:])


@cocotb.test()
@cocotb.parametrize(gate=["covered", "shaper", "hold", "link"])
async def discards_heads_of_queues_over_their_limits(dut: Any, gate: str) -> None:
    """One in four cycles while the line is kept busy or nothing can be sent; in turn with what the link being down discards."""
    bench = await Bench(dut, f"trim {gate}").start(strict=0b1000)
    name, value = {"covered": ("covered", 1), "shaper": ("allowed", 0), "hold": ("hold", 1), "link": ("linkUp", 0)}[
        gate
    ]
    getattr(dut, name).value = value
    bench.fill(60)
    for _ in range(4):
        await bench.step()
    dut.over.value = 0b0110
    begin = len(bench.grants)
    while len(bench.waiting[1]) > 10:
        await bench.step()
    dut.over.value = 0
    trimmed = [n for n in range(begin + 2, len(bench.grants)) if bench.causes[n] == FRONT]
    assert all(bench.grants[n][3] == 1 and bench.grants[n][1] == 1 for n in trimmed), "queue 1 comes before queue 2"
    gaps = {b[0] - a[0] for a, b in zip(bench.grants[begin:], bench.grants[begin + 1 :], strict=False)}
    assert gaps == {INTERVAL}, gaps
    if gate == "link":
        assert {b - a for a, b in zip(trimmed, trimmed[1:], strict=False)} == {2}
        other = [n for n in range(begin + 2, len(bench.grants)) if n not in trimmed]
        assert all(bench.causes[n] == LINK_DOWN for n in other)
    else:
        assert len(trimmed) == len(bench.grants) - begin - 2
    getattr(dut, name).value = 1 - value
    for _ in range(3):
        await bench.step()
    await bench.drain()


@cocotb.test()
async def sends_first_while_the_line_is_not_kept_busy(dut: Any) -> None:
    """A head is discarded after 127 grants to send all the same; without room nothing is, until the line is covered."""
    bench = await Bench(dut, "uncovered").start()
    bench.fill(200)
    for _ in range(4):
        await bench.step()
    begin = len(bench.grants)
    dut.over.value = 0b0001
    while len(bench.grants) < begin + 400:
        await bench.step()
    trimmed = [n for n in range(begin + 2, len(bench.grants)) if bench.causes[n] == FRONT]
    assert len(trimmed) >= 3 and {b - a for a, b in zip(trimmed, trimmed[1:], strict=False)} == {128}, trimmed
    gaps = {b[0] - a[0] for a, b in zip(bench.grants[begin:], bench.grants[begin + 1 :], strict=False)}
    assert gaps == {INTERVAL}, gaps
    dut.room.value = 0
    for _ in range(6):
        await bench.step()
    count = len(bench.grants)
    for _ in range(30):
        await bench.step()
    assert len(bench.grants) == count
    dut.covered.value = 1
    for _ in range(30):
        await bench.step()
    assert len(bench.grants) > count + 5 and all(cause == FRONT for cause in bench.causes[count:])
    dut.over.value, dut.room.value, dut.covered.value = 0, 1, 0
    await bench.drain()


@cocotb.test()
@cocotb.parametrize(decision=[1, 2, 5, 13])
async def waits_for_the_decision_at_departure(dut: Any, decision: int) -> None:
    """No grant of any queue between one to a queue that decides and its departure; then at once."""
    bench = await Bench(dut, f"decides {decision}").start()
    dut.decides.value = 0b0101
    bench.decision = decision
    bench.fill(60)
    await bench.drain()
    for before, after in zip(bench.grants, bench.grants[1:], strict=False):
        gap = after[0] - before[0]
        want = max(INTERVAL, LATENCY + decision + 1) if before[1] in (0, 2) else INTERVAL
        assert gap == want, f"{gap} cycles from a grant of queue {before[1]} to the next"


@cocotb.test()
async def gives_no_grant_to_a_queue_that_is_held(dut: Any) -> None:
    """Neither to send nor to discard, strict or not; the others go on."""
    bench = await Bench(dut, "held").start(strict=0b0001)
    bench.fill(60)
    for _ in range(4):
        await bench.step()
    dut.held.value, dut.over.value = 0b0011, 0b0110
    await bench.step()
    begin = len(bench.grants)
    for _ in range(200):
        await bench.step()
    assert {g[1] for g in bench.grants[begin:]} == {2, 3}
    dut.held.value = dut.over.value = 0
    await bench.drain()

"""CoDel: the integer model against RFC 8289's pseudocode and in closed loop; the RTL against the model."""

from __future__ import annotations

from collections import deque as fifo
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import isqrt
from random import Random

import pytest

from codel_stimulus import STYLES, Stimulus, Style, params_of, without_wrap
from golden.codel import COUNT_MAX, EPOCH, TIME, Codel, CodelParams, Departing, Ruling, step, step_error
from golden.codel_oracle import CodelQueue, ControlLaw, Number
from golden.red import ACCEPT, CE, DROP, ECT0, ECT1, MARK, NOT_ECT
from harness import run_bench

MS = 1_000_000
FATES = {ACCEPT: "send", MARK: "mark", DROP: "drop"}


# ---- the control law


@pytest.mark.parametrize("interval", [1, 1000, 10 * MS, 100 * MS, (1 << 32) - 1])
def test_the_step_is_within_its_bound_for_every_count(interval: int) -> None:
    for count in range(1, COUNT_MAX + 1):
        scaled = isqrt((interval << 64) ** 2 // count)  # interval/sqrt(count)·2^64
        error = abs(float(Fraction(step(interval, count) * (1 << 64) - scaled, 1 << 64)))
        assert error <= step_error(interval, count), (interval, count)


# ---- the sequence


@dataclass
class Run:
    """What the model made of a sequence of departures."""

    packets: list[Departing] = field(default_factory=list)
    rulings: list[Ruling] = field(default_factory=list)
    states: list[tuple[bool, int, int, int]] = field(default_factory=list)


def _model_run(style: Style, seed: int, departures: int) -> tuple[CodelParams, Run]:
    rng = Random(seed)
    params = params_of(style, rng)
    stimulus, model, run, now = Stimulus(style, rng, params), Codel(), Run(), style.start_ns
    for _ in range(departures):
        now += 36 + stimulus.rest(model, now)
        packet = stimulus.departure(now)
        model.sweep(now)
        run.packets.append(packet)
        run.rulings.append(model.depart(packet, params))
        run.states.append((model.dropping, model.count, model.lastcount, model.next_drop.ns))
    return params, run


def _head(waiting: fifo[Departing]) -> Departing | None:
    return waiting.popleft() if waiting else None


def _steps(t: Number, interval: Number, count: int) -> int:
    return int(t) + step(int(interval), count)


@pytest.mark.parametrize("name", [n for n in STYLES if n not in ("time_wraps", "long_rests")])
def test_verdicts_and_state_are_those_of_the_rfc(name: str) -> None:
    """The loop of `deque()` over the same packets; the state is compared whenever it returns."""
    dropped = counts = 0
    for seed in range(40):
        params, run = _model_run(without_wrap(STYLES[name]), seed, 1500)
        waiting = fifo(run.packets)
        oracle = CodelQueue(partial(_head, waiting), params, _steps)
        while waiting:
            before = len(oracle.log)
            oracle.deque()
            for i in range(before, len(oracle.log)):
                packet, fate = oracle.log[i]
                assert packet is run.packets[i]
                assert fate == FATES[run.rulings[i].action] or _late(packet, params, run.rulings[i])
            if waiting:
                dropping, count, lastcount, drop_next = run.states[len(oracle.log) - 1]
                assert (oracle.dropping, oracle.count, oracle.lastcount) == (dropping, count, lastcount)
                assert not count or oracle.drop_next % TIME == drop_next
            counts = max(counts, oracle.count)
        dropped += sum(r.action == DROP for r in run.rulings)
    assert dropped > 1000 or name == "marks" and counts > 10, (dropped, counts)


def _late(packet: Departing, params: CodelParams, ruling: Ruling) -> bool:
    """Marked by the CE threshold, which the RFC does not have."""
    return ruling.action == MARK and packet.sojourn_ns > params.ce_threshold and packet.ecn in (ECT0, ECT1)


class Bounded(CodelQueue):
    """The RFC in doubles. Where a time is within the accumulated error of the steps, the model's choice is taken."""

    def __init__(self, run: Run, params: CodelParams) -> None:
        self.run = run
        self.waiting = fifo(run.packets)
        self.error = 0.0
        self.ties = 0
        self.compared = 0
        self.entering = False
        super().__init__(lambda: self.waiting.popleft() if self.waiting else None, params, self._law)

    def _law(self, t: Number, interval: Number, count: int) -> Number:
        self.error = (0.0 if self.entering else self.error) + step_error(int(interval), count)
        self.entering = False
        return t + float(interval) / count**0.5

    def _enter(self, now: Number) -> None:
        self.entering = True
        super()._enter(now)

    def reached(self, packet: Departing | None) -> bool:
        self.compared += 1
        if abs(self.now - self.drop_next) <= self.error:
            self.ties += 1
            return self.run.rulings[len(self.log)].selected
        return super().reached(packet)

    def recently(self) -> bool:
        if abs(self.now - self.drop_next - 16 * self.params.interval) <= self.error:
            self.ties += 1
            return self.run.states[len(self.log) - 1][1] > 1
        return super().recently()


@pytest.mark.parametrize("name", ["mixed", "drops_only", "overload"])
def test_verdicts_are_those_of_the_rfc_in_doubles_outside_the_bound(name: str) -> None:
    compared = ties = 0
    for seed in range(40):
        params, run = _model_run(replace(without_wrap(STYLES[name]), edges=0.0, intervals=(MS, 100 * MS)), seed, 1500)
        oracle = Bounded(run, params)
        while oracle.waiting:
            oracle.deque()
        for (packet, fate), want, ruling in zip(oracle.log, run.packets, run.rulings, strict=True):
            assert packet is want
            assert fate == FATES[ruling.action] or _late(packet, params, ruling), (seed, packet, fate, ruling)
        compared += oracle.compared
        ties += oracle.ties
    print(f"{compared} comparisons with drop_next, {ties} ties")
    assert compared > 5000
    assert ties < 0.02 * compared, (ties, compared)


def test_one_clock_reading_a_dequeue_is_the_rfc_to_the_letter() -> None:
    """All packets of one `deque()` leave at the same time: bulk arrivals, a slow link, drops that take no time."""
    dropped = 0
    for seed in range(30):
        params = CodelParams(target=5_000, interval=20_000, mtu=1514)
        sent_model, drops_model = _link(seed, params, None)
        sent_rfc, drops_rfc = _link(seed, params, _steps)
        assert (sent_model, drops_model) == (sent_rfc, drops_rfc)
        dropped += len(drops_model)
    assert dropped > 500


def _link(seed: int, params: CodelParams, law: ControlLaw | None) -> tuple[list[int], list[int]]:
    """A link that takes a packet a µs, fed in bulk; the model or, with a control law, the RFC. Packets sent, dropped."""
    rng = Random(seed)
    stamps: fifo[tuple[int, int]] = fifo()
    clock, held, number = 0, 0, 0
    sent: list[int] = []
    dropped: list[int] = []
    numbers: dict[int, int] = {}
    leaving: list[Departing] = []

    def pop() -> Departing | None:
        nonlocal held
        if not stamps:
            return None
        stamp, n = stamps.popleft()
        held -= 1000
        packet = Departing(clock, clock - stamp, held)
        numbers[id(packet)] = n
        leaving.append(packet)
        return packet

    model = Codel()
    rfc = CodelQueue(pop, params, law or _steps)
    for _ in range(4000):
        clock += 1000
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 3]) if rng.random() < 0.99 else rng.randrange(60)):
            stamps.append((clock - rng.randrange(900), number))
            held += 1000
            number += 1
        if law is not None:
            before = len(rfc.log)
            rfc.deque()
            for packet, fate in rfc.log[before:]:
                (dropped if fate == "drop" else sent).append(numbers[id(packet)])
        else:
            while (packet := pop()) is not None:
                gone = model.depart(packet, params).action == DROP
                (dropped if gone else sent).append(numbers[id(packet)])
                if not gone:
                    break
    return sent, dropped


# ---- closed loop


def _overload(interval: int, gap_ns: int, packets: int, sojourn: int = 50 * MS) -> list[int]:
    """Times of the drops of a queue that an unresponsive source keeps at `sojourn`."""
    model, params = Codel(), CodelParams(interval=interval)
    drops, now = [], EPOCH
    for _ in range(packets):
        now += gap_ns
        if model.depart(Departing(now, sojourn, 1 << 20), params).action == DROP:
            drops.append(now)
    return drops


POINTS = [(100 * MS, 12_000, 500_000), (20 * MS, 1_200, 500_000), (10 * MS, 120_000, 200_000)]


def _worst(drops: list[int], interval: int) -> float:
    """Largest distance of a drop from Σ interval/√k, the time that the law gives it, ns."""
    expected, worst = float(drops[0]), 0.0
    for count, time in enumerate(drops[1:], 1):
        expected += interval / count**0.5
        worst = max(worst, abs(time - expected))
    return worst


@pytest.mark.parametrize(("interval", "gap_ns", "packets"), POINTS)
def test_drops_of_an_unresponsive_source_follow_interval_over_sqrt_count(
    interval: int, gap_ns: int, packets: int
) -> None:
    slowest = int((interval / gap_ns / 2) ** 2)  # beyond this count the law asks for more drops than there are packets
    drops = _overload(interval, gap_ns, packets)[:slowest]
    assert len(drops) > 200
    assert drops[0] - EPOCH - gap_ns in range(interval, interval + gap_ns)
    bound = gap_ns + sum(step_error(interval, k) for k in range(1, len(drops)))
    assert _worst(drops, interval) <= bound
    for factor in (0.9, 1.1):
        assert _worst(drops, int(interval * factor)) > 10 * bound


@pytest.mark.parametrize("interval", [1 * MS, 100 * MS])
def test_a_standing_queue_below_target_is_never_touched(interval: int) -> None:
    assert not _overload(interval, 1_200, 300_000, sojourn=5 * MS - 1)
    model, params = Codel(), CodelParams(interval=interval, mtu=9216)
    for now in range(0, 300 * MS, 12_000):
        assert model.depart(Departing(now, 50 * MS, 9216), params).action == ACCEPT


def test_a_count_that_was_good_lately_is_taken_up_again() -> None:
    for pause, resumed in ((1, True), (15, True), (17, False)):
        model, params, now = Codel(), CodelParams(interval=MS, target=1000), 0
        for sojourn, length in ((2000, 200), (0, 1), (2000, 200)):
            for _ in range(length):
                now += MS // 20
                model.depart(Departing(now, sojourn, 1 << 20), params)
                if sojourn and model.count > 4 and length == 200 and not model.above:
                    break
            if sojourn == 0:
                reached = model.count
                now = model.drop_next.ns + (pause - 1) * MS
                assert reached > 4
            if not model.dropping and sojourn:
                break
        entered = model.lastcount
        assert (entered > 1) == resumed, (pause, entered)


def test_a_first_above_time_of_zero_is_a_time() -> None:
    """now + INTERVAL wraps to 0: the RFC's code would take that for `not above`."""
    params = CodelParams(interval=1000, target=10)
    model = Codel()
    assert model.depart(Departing(TIME - 1000, 50, 1 << 20), params).action == ACCEPT
    assert model.first_above.ns == 0
    assert model.above
    assert model.depart(Departing(TIME - 1, 50, 1 << 20), params).action == ACCEPT
    assert model.depart(Departing(0, 50, 1 << 20), params).action == DROP


@pytest.mark.parametrize("rest", [EPOCH, 2 * EPOCH, 3 * EPOCH])
def test_ages_saturate(rest: int) -> None:
    """A queue that rested for 19 h or more: past stays past, also where the modular difference has changed its sign."""
    params = CodelParams(interval=1000, target=10)
    model, now = Codel(), 5 * 36
    for _ in range(2000):
        now += 36
        model.depart(Departing(now, 50, 1 << 20), params)
    assert model.dropping
    assert model.count > 1
    for part in range(8):
        model.sweep(now + rest * part // 8)
    now += rest
    model.sweep(now)
    assert model.depart(Departing(now, 50, 1 << 20), params).action == DROP
    model.depart(Departing(now, 0, 1 << 20), params)
    assert not model.dropping
    model.depart(Departing(now, 50, 1 << 20), params)
    assert model.depart(Departing(now + 1000, 50, 1 << 20), params).action == DROP
    assert model.count == 1, "16 intervals are long past"


def test_what_is_ce_already_counts_as_marked_with_ecn_only() -> None:
    for ecn, want in ((True, ACCEPT), (False, DROP)):
        model, params = Codel(), CodelParams(interval=1000, target=10, ecn=ecn)
        model.depart(Departing(0, 50, 1 << 20, CE), params)
        ruling = model.depart(Departing(1000, 50, 1 << 20, CE), params)
        assert (ruling.action, ruling.selected) == (want, True)
        assert model.dropping
    assert NOT_ECT == 0


# ---- the RTL

CASES = [
    *STYLES,
    "reset_and_clear",
    "the_count_saturates",
    "a_drop_next_that_lies_ahead_is_recent",
    "wake_is_the_next_epoch_also_of_a_first_above_time_alone",
    "arrivals_are_accepted",
    "a_rest_of_days",
]


@pytest.mark.parametrize("case", CASES)
def test_codel_rtl(case: str) -> None:
    run_bench("Codel", "codel_cocotb", testcase=case, seeds=[1])

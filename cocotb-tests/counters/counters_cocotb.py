"""Counters against their golden model: every word, at one instant, under the highest rates there are."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from golden import counters as golden

QUEUES = 4
JUMBO = os.environ.get("WEIR_COUNTERS", "TallyCounters") == "TallyCounters"
"""TallyCounters, which a core with jumbo frames has; else RowCounters"""
GAP = 1 if JUMBO else 8
"""cycles from one event of a kind to the next: a frame of 60 bytes has 8 beats"""
CALM = 4 * 156 + 120 if JUMBO else 20 * 203
"""cycles in which a snapshot is taken (docs/modules/counters.md)"""
SEED = int(os.environ.get("WEIR_SEED", "1"), 0)
TIME = 1 << 48

ARRIVALS = [
    (ecn, action, cause)
    for ecn in range(4)
    for action, cause in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2), (2, 3)]
]
# discard, cause, marked by the policy at departure, selected by it but CE already
DEPARTURES = (
    [(False, 0, False, False)] * 4
    + [(False, cause, not ce, ce) for cause in (1, 2) for ce in (False, True)]
    + [(True, cause, False, False) for cause in (1, 2, 4, 5, 6)]
    + [(True, cause, False, True) for cause in (1, 2)]
)
PAIRS = (
    "rx",
    "tx",
    "bad",
    "runt",
    "oversize",
    "overflow",
    "traceLost",
    *(f"jumbo_{n}" for n in range(6)),
    "singles_0",
    "singles_1",
)
TALLIES = {
    2 * n + part: name if single else f"{name}_{('packets', 'octets')[part]}"
    for n, name in enumerate(PAIRS)
    for single in [name == "traceLost" or name.startswith("singles")]
    for part in range(1 if single else 2)
}
"""Where each row of CounterAccumulator counts."""


class Bench:
    """Drives all inputs cycle by cycle at the falling edge and keeps the golden model in step."""

    def __init__(self, dut, salt: object) -> None:
        self.dut = dut
        self.random = random.Random(f"{SEED}/{salt}")
        self.model = golden.Counters(QUEUES, jumbo=JUMBO)
        self.snapshot: dict[int, int] | None = None
        self.snapshots = 0
        self.now = self.random.randrange(TIME)
        self.step = 6
        self.departure_gap = max(4, GAP)
        self.credit = 0
        """cycles for which arrivals have held back, four for each that may come now: no more than five"""
        self.since_arrival = self.since_departure = self.since_jumbo = self.since_ingress = 99
        self.arrival_of: Callable[[], tuple] = self.random_arrival
        self.departure_of: Callable[[], tuple] = self.random_departure
        self.ending: tuple[int, bool] | None = None
        """how all frames at the ingress end, with as many bytes as there may be, and whether they were jumbo frames"""
        self.rate = 0.0
        """probability of every event in a cycle in which it may come"""
        self.throttled = False
        self.ask = self.wipe = False
        self.history: list[dict[int, int]] | None = None

    def random_arrival(self):
        r = self.random
        return (r.randrange(QUEUES), r.choice((0, 60, 1514, 9216, 16383, r.randrange(16384))), *r.choice(ARRIVALS))

    def random_departure(self):
        r = self.random
        sojourn = r.choice((r.getrandbits(r.randrange(49)), 1 << r.randrange(48), 0))
        return r.randrange(QUEUES), r.randrange(16384), sojourn, *r.choice(DEPARTURES)

    async def start(self) -> None:
        dut = self.dut
        for flow in (
            dut.io_arrival_valid,
            dut.io_departure_valid,
            dut.io_ingress_valid,
            dut.io_bus_valid,
            *([dut.io_jumboOut_valid] if JUMBO else []),
        ):
            flow.value = 0
        for pin in (
            *([dut.io_evicted, dut.io_hurried] if JUMBO else []),
            dut.io_traceLost,
            dut.io_throttled,
            dut.io_queued,
            dut.io_spaced,
            dut.io_snapshot,
            dut.io_clear,
            dut.io_bus_write,
        ):
            pin.value = 0
        dut.io_now.value = self.now
        dut.rst.value = 1
        cocotb.start_soon(Clock(dut.clk, 6400, "ps").start())
        for _ in range(4):
            await FallingEdge(dut.clk)
        dut.rst.value = 0
        cocotb.start_soon(self.run())

    async def run(self) -> None:
        """Starts with the cycle of the falling edge that it is started at: the first one without reset."""
        while True:
            self.cycle()
            await FallingEdge(self.dut.clk)

    def cycle(self) -> None:
        dut, r, model = self.dut, self.random, self.model
        dut.io_now.value = self.now
        dut.io_throttled.value = self.throttled
        dut.io_queued.value = queued = r.getrandbits(16)
        dut.io_spaced.value = spaced = r.getrandbits(16)
        model.tick(self.now, self.throttled, queued, spaced)
        self.now = (self.now + self.step) % TIME

        self.since_arrival += 1
        self.since_departure += 1
        # decisions of two latencies may commit two cycles apart, no more than one in four cycles and four beside
        self.credit = min(self.credit + 1, 20)
        arrives = self.since_arrival >= max(2, GAP) and self.credit >= 4 and r.random() < self.rate
        dut.io_arrival_valid.value = arrives
        if arrives:
            self.since_arrival = 0
            self.credit -= 4
            queue, length, ecn, action, cause = event = self.arrival_of()
            dut.io_arrival_payload_queue.value = queue
            dut.io_arrival_payload_length.value = length
            dut.io_arrival_payload_ecn.value = ecn
            dut.io_arrival_payload_action.value = action
            dut.io_arrival_payload_cause.value = cause
            model.arrival(*event)
        leaves = self.since_departure >= self.departure_gap and r.random() < self.rate
        dut.io_departure_valid.value = leaves
        if leaves:
            self.since_departure = 0
            queue, length, sojourn, discard, cause, marked, already_ce = event = self.departure_of()
            dut.io_departure_payload_queue.value = queue
            dut.io_departure_payload_length.value = length
            dut.io_departure_payload_sojournNs.value = sojourn
            dut.io_departure_payload_discard.value = discard
            dut.io_departure_payload_cause.value = cause
            dut.io_departure_payload_marked.value = marked
            dut.io_departure_payload_alreadyCe.value = already_ce
            merged = JUMBO and r.random() < 0.5
            if JUMBO:
                dut.io_departure_payload_merged.value = merged
            model.departure(*event, merged)
        if JUMBO:
            self.jumbo_events()
        self.since_ingress += 1
        ends = self.since_ingress >= GAP and r.random() < self.rate
        dut.io_ingress_valid.value = ends
        if ends:
            self.since_ingress = 0
            end, size = r.randrange(6 if JUMBO else 5), r.choice((8, 1 << 24, r.randrange(1 << 24) + 1)) - 1
            packets, own, discarded, discarded_size = 1, size, 0, 0
            jumbo = JUMBO and end == 0 and r.random() < 0.5
            if jumbo:
                packets, own = r.randrange(512), r.choice((0, (1 << 24) - 1, r.randrange(1 << 24)))
                discarded, discarded_size = r.randrange(512), r.randrange(1 << 24)
            if self.ending:
                end, jumbo = self.ending
                size = own = (1 << 24) - 1
                packets, discarded, discarded_size = (511, 511, size) if jumbo else (1, 0, 0)
            payload = {"end": end, "packets": packets, "bytes": own, "wireBytes": size, "jumbo": jumbo,
                       "discarded": discarded, "discardedBytes": discarded_size}  # fmt: skip
            for name, value in payload.items() if JUMBO else [(n, payload[n]) for n in ("end", "bytes")]:
                getattr(dut, f"io_ingress_payload_{name}").value = value
            if jumbo:
                model.split(size, packets, own, (discarded, discarded_size))
            else:
                model.ingress(end, size)
        lost = r.random() < self.rate
        dut.io_traceLost.value = lost
        if lost:
            model.trace_lost()

        dut.io_clear.value = self.wipe
        dut.io_snapshot.value = self.ask
        if self.wipe:
            model.clear()
            self.snapshot = None
        if self.ask:
            if not int(dut.io_snapshotBusy.value):
                self.snapshot = model.words()
                self.snapshots += 1
        if self.history is not None:
            self.history.append(model.words())
        self.ask = self.wipe = False

    def jumbo_events(self) -> None:
        """What only a core with jumbo frames counts."""
        dut, r, model = self.dut, self.random, self.model
        self.since_jumbo += 1
        builds = self.since_jumbo >= 4 and r.random() < self.rate
        dut.io_jumboOut_valid.value = builds
        if builds:
            self.since_jumbo = 0
            dut.io_jumboOut_payload.value = wire = r.randrange(1 << 14)
            model.jumbo_out(wire)
        evicted = r.random() < self.rate
        dut.io_evicted.value = evicted
        if evicted:
            model.evicted()
        hurried = r.random() < self.rate
        dut.io_hurried.value = hurried
        if hurried:
            model.hurried()

    async def cycles(self, count: int) -> None:
        for _ in range(count):
            await FallingEdge(self.dut.clk)

    async def take(self) -> None:
        """A snapshot in the next cycle in which none is under way."""
        await self.calm()
        self.ask = True
        before = self.snapshots
        for _ in range(2):
            await FallingEdge(self.dut.clk)
            if self.snapshots > before:
                return
        raise AssertionError("the snapshot pulse met a busy unit")

    async def calm(self) -> None:
        """Until no snapshot is under way."""
        for _ in range(CALM):
            if not int(self.dut.io_snapshotBusy.value):
                return
            await FallingEdge(self.dut.clk)
        raise AssertionError("snapshotBusy does not fall")

    async def settle(self) -> None:
        """No events; until all is counted."""
        self.rate = 0.0
        for _ in range(3000):
            await FallingEdge(self.dut.clk)
            if not int(self.dut.io_busy.value):
                return
        raise AssertionError("busy does not fall")

    async def access(self, address: int, write: bool = False) -> tuple[int, bool]:
        dut = self.dut
        dut.io_bus_address.value = address // 4
        dut.io_bus_write.value = write
        dut.io_bus_wdata.value = self.random.getrandbits(32)
        dut.io_bus_valid.value = 1
        for _ in range(3000):
            await FallingEdge(dut.clk)
            if int(dut.io_bus_ready.value):
                answer = int(dut.io_bus_rdata.value), bool(int(dut.io_bus_error.value))
                await FallingEdge(dut.clk)
                dut.io_bus_valid.value = 0
                return answer
        raise AssertionError(f"no answer at {address:#x}")

    async def compare(self, expected: dict[int, int], share: float = 1.0) -> None:
        addresses = [a for a in expected if self.random.random() < share]
        self.random.shuffle(addresses)
        wrong = []
        for address in addresses:
            value, error = await self.access(address)
            assert not error, f"error at {address:#x}"
            if value != expected[address]:
                wrong.append(f"{address:#06x}: {value:#x}, not {expected[address]:#x}")
        assert not wrong, "; ".join(wrong[:10])

    async def read_all(self, addresses) -> dict[int, int]:
        return {a: (await self.access(a))[0] for a in addresses}


@cocotb.test()
async def counts_every_event_by_queue_and_cause(dut):
    bench = Bench(dut, "every")
    await bench.start()
    bench.rate = 0.3
    bench.throttled = True
    await bench.cycles(4000)
    await bench.settle()
    await bench.take()
    assert bench.snapshot
    assert all(sum(bench.model.bins[q]) for q in range(QUEUES))
    assert all(p[0] for p in bench.model.pairs.values()), "a counter was never touched"
    await bench.compare(bench.snapshot)


@cocotb.test()
async def snapshot_holds_exactly_the_events_up_to_its_cycle(dut):
    bench = Bench(dut, "instant")
    await bench.start()
    for turn in range(25):
        bench.rate = (1.0, 0.5, 0.05)[turn % 3]
        bench.throttled = bool(turn & 1)
        await bench.cycles(bench.random.randrange(200))
        await bench.take()
        assert bench.snapshot
        await bench.compare(dict(bench.snapshot), 0.4)


async def highest_rates(bench: Bench) -> None:
    """Thousands of cycles: events as close as they may come, snapshots as often as can be."""
    await bench.start()
    bench.rate = 1.0
    for _ in range(5000 if JUMBO else 10000):
        await FallingEdge(bench.dut.clk)
        bench.ask = not int(bench.dut.io_snapshotBusy.value)
    assert bench.snapshots > (5 if JUMBO else 2), bench.snapshots
    await bench.settle()
    await bench.take()
    assert bench.snapshot
    await bench.compare(bench.snapshot)


@cocotb.test()
async def loses_nothing_at_the_highest_rates_on_the_same_counters(dut):
    bench = Bench(dut, "worst same")
    bench.arrival_of, bench.departure_of = (
        lambda: (2, 1500, 3, 2, 1),
        lambda: (1, 9000, 1 << 20, False, 0, False, False),
    )
    await highest_rates(bench)


@cocotb.test()
async def loses_nothing_at_the_highest_rates_on_random_counters(dut):
    await highest_rates(Bench(dut, "worst random"))


@cocotb.test()
async def counts_what_came_during_a_copy_if_nothing_follows(dut):
    bench = Bench(dut, "during")
    await bench.start()
    for _ in range(3):
        await bench.take()
        bench.rate = 1.0
        await bench.cycles(20 + bench.random.randrange(10))
        await bench.settle()
        await bench.take()
        assert bench.snapshot
        await bench.compare(bench.snapshot)


@cocotb.test()
async def loses_nothing_of_the_largest_frames_in_every_cycle(dut):
    bench = Bench(dut, "largest")
    bench.arrival_of = lambda: (0, (1 << 14) - 1, 0, 0, 0)
    bench.departure_of = lambda: (0, (1 << 14) - 1, 0, False, 0, False, False)
    await bench.start()
    bench.rate = 1.0
    for end, jumbo in (*([(0, True), (5, False)] if JUMBO else []), *((end, False) for end in range(5))):
        bench.ending = (end, jumbo)
        for _ in range(4):  # without a snapshot; then some, a sweep or more apart
            await bench.cycles(1500 + bench.random.randrange(300))
            for _ in range(3):
                await bench.take()
                await bench.calm()
                await bench.cycles(bench.random.randrange(260))
        await bench.take()
        assert bench.snapshot
        await bench.compare({a: v for a, v in bench.snapshot.items() if a < 0x1000})


@cocotb.test()
async def counts_events_in_the_first_cycles_after_reset(dut):
    bench = Bench(dut, "reset")
    bench.rate = 1.0
    await bench.start()
    await bench.take()
    assert bench.snapshot
    await bench.compare(dict(bench.snapshot))


@cocotb.test()
async def clear_forgets_up_to_its_cycle_and_counts_from_the_next(dut):
    bench = Bench(dut, "clear")
    await bench.start()
    for turn in range(16):
        bench.rate = (1.0, 0.4)[turn & 1]
        await bench.cycles(bench.random.randrange(400))
        if turn % 4 == 3:  # a clear in the midst of a snapshot
            await bench.take()
            await bench.cycles(bench.random.randrange(200))
        bench.wipe = True
        await bench.cycles(1 + bench.random.randrange(3))
        if turn % 4 == 2:  # twice
            await bench.cycles(bench.random.randrange(150))
            bench.wipe = True
            await bench.cycles(2)
        for address in bench.random.sample(list(bench.model.words()), 8):
            assert await bench.access(address) == (0, False), "not 0 before the first snapshot after a clear"
        await bench.take()
        assert bench.snapshot
        await bench.compare(dict(bench.snapshot), 0.3)


@cocotb.test()
async def snapshot_asked_for_while_busy_is_taken_when_it_falls(dut):
    bench = Bench(dut, "pending")
    await bench.start()
    for turn in range(8):
        bench.rate = 1.0
        await bench.take()
        await bench.cycles(2 + bench.random.randrange(100))
        assert int(dut.io_snapshotBusy.value)
        bench.history = []
        bench.ask = True
        for _ in range(2 * CALM):
            await FallingEdge(dut.clk)
            if not int(dut.io_snapshotBusy.value):
                break
        else:
            raise AssertionError("snapshotBusy does not fall")
        history, bench.history = bench.history, None
        seen = await bench.read_all(history[0])
        assert seen in history, f"turn {turn}: the copy is not the state of any one cycle"
        assert seen != history[0]


@cocotb.test()
async def throttled_time_follows_jumps_and_the_wrap_of_time(dut):
    bench = Bench(dut, "throttled")
    await bench.start()
    for _ in range(60):
        bench.throttled = bench.random.random() < 0.6
        bench.step = bench.random.choice((0, 6, 7, 1000, 1 << 40, TIME - 1, bench.random.randrange(TIME)))
        if bench.random.random() < 0.3:
            await bench.take()
            assert bench.snapshot
            for address in (0x10C, 0x110, 0x118, 0x11C):
                assert await bench.access(address) == (bench.snapshot[address], False)
        await bench.cycles(bench.random.randrange(1, 12))
    assert bench.model.throttled_ns > 1 << 48


@cocotb.test()
async def sojourn_bin_is_the_floor_of_the_logarithm(dut):
    bench = Bench(dut, "sojourn")
    await bench.start()
    times = [t for n in range(48) for t in ((1 << n) - 1, 1 << n, (1 << n) + 1)]
    bench.departure_of = lambda: (3, 100, times.pop(), False, 0, False, False)
    bench.rate = 1.0
    while times:
        await FallingEdge(dut.clk)
        if not times:
            bench.rate = 0.0
    await bench.settle()
    await bench.take()
    assert bench.snapshot
    assert bench.model.bins[3][31] > 45
    await bench.compare(bench.snapshot, 0.5)


@cocotb.test()
async def counters_carry_beyond_32_bits_and_wrap_at_64(dut):
    bench = Bench(dut, "carry")
    await bench.start()
    await bench.settle()
    near = [(1 << 32) - 3, (1 << 64) - 3, (1 << 33) - 1]
    start = near[SEED % 3]
    if JUMBO:
        await set_tallies(bench, start)
    else:
        await set_rows(bench, start)
    bench.rate = 1.0
    await bench.cycles(2000)
    await bench.take()
    assert bench.snapshot
    await bench.compare(dict(bench.snapshot))


async def set_rows(bench: Bench, start: int) -> None:
    """All counters of RowCounters are `start`; there are no bytes of lost trace records."""
    rows = 49 * QUEUES + 7
    for row in range(rows):
        bench.dut.counters_ram[row].value = start if row == rows - 1 else start << 64 | start
    model = bench.model
    for address, pair in model.pairs.items():
        pair[:] = [start, 0 if address == model.core_address("trace_lost") else start]
    model.bins = [[start] * 32 for _ in range(QUEUES)]
    await bench.cycles(1)


async def set_tallies(bench: Bench, start: int) -> None:
    """All pairs of TallyCounters are `start`."""
    dut, model = bench.dut, bench.model
    for queue in range(QUEUES):
        for kind, name in enumerate(golden.QUEUE_COUNTERS):
            if kind < 10:  # the first is the last one's row
                dut.arrivals.counters_ram[(kind - 1) % 10 * QUEUES + queue].value = start << 64 | start
            else:
                dut.departures.counters_ram[(kind + 22) * QUEUES + queue].value = start << 64 | start
            model.pairs[model.queue_address(queue, name)] = [start, start]
    await bench.take()  # the first sweep after a reset takes totals for 0
    await bench.settle()
    totals = dut.totals_unit
    for address, pair in model.pairs.items():
        for part in range(2) if address < 0x1000 else ():
            row = (address - 0x200) // 8 + part
            if row in TALLIES:
                totals.update_ram[2 * row].value = start & 0xFFFFFFFF
                totals.update_ram[2 * row + 1].value = start >> 32
                for tally in (getattr(dut, f"core_{TALLIES[row]}_live"), getattr(totals, f"held_{row}")):
                    tally.value = start & ((1 << len(tally)) - 1)
                pair[part] = start


@cocotb.test()
async def only_counters_answer_and_writes_are_errors(dut):
    bench = Bench(dut, "map")
    await bench.start()
    await bench.settle()
    known = bench.model.words()
    around = {a + d for a in known for d in (-4, 0, 4)} | {0x270, 0x114, 0x120, 0x2000, 0x2200, 0xFFFC, 0x300}
    around |= {0x11C, 0x128, 0x268, 0x26C}
    around |= {4 * bench.random.randrange(1 << 14) for _ in range(300)}
    for address in sorted(a for a in around if 0 <= a < 1 << 16):
        value, error = await bench.access(address)
        assert error == (address not in known), f"{address:#x}: error {error}"
        if bench.random.random() < 0.3:
            assert (await bench.access(address, write=True))[1], f"a write of {address:#x} was taken"


@cocotb.test()
async def reads_wait_for_the_snapshot(dut):
    """A read in the cycle after the snapshot pulse gets the new copy, never the old one."""
    bench = Bench(dut, "wait")
    await bench.start()
    bench.rate = 1.0
    for _ in range(20):
        await bench.cycles(bench.random.randrange(50))
        await bench.take()
        assert bench.snapshot
        address = bench.random.choice(list(bench.snapshot))
        assert await bench.access(address) == (bench.snapshot[address], False)


@cocotb.test()
async def every_counter_can_be_the_first_that_is_read(dut):
    """Each has changed since the snapshot before; its read waits for the copy."""
    bench = Bench(dut, "first")
    await bench.start()
    bench.rate = 1.0
    lost = bench.model.core_address("trace_lost")
    for address in [lost, *bench.random.sample(list(bench.model.words()), 40), lost]:
        await bench.cycles(30 + bench.random.randrange(30))
        bench.rate = bench.random.choice((0.0, 1.0))
        await bench.cycles(bench.random.randrange(40))
        await bench.take()
        assert bench.snapshot
        assert await bench.access(address) == (bench.snapshot[address], False), hex(address)
        bench.rate = 1.0


@cocotb.test()
async def a_clear_soon_after_the_snapshot_leaves_nothing_behind(dut):
    """0 to 8 cycles after the pulse, for one cycle or for four, as a reset of the path takes."""
    bench = Bench(dut, "soon")
    await bench.start()
    for turn in range(36):
        bench.rate = (1.0, 0.2)[turn & 1]
        await bench.cycles(bench.random.randrange(60))
        await bench.take()
        await bench.cycles(turn % 9)
        for _ in range((1, 4)[turn // 9 & 1]):
            bench.wipe = True
            await bench.cycles(1)
        await bench.cycles(bench.random.randrange(500))
        await bench.take()
        assert bench.snapshot
        await bench.compare(dict(bench.snapshot), 0.1)
    await bench.settle()
    await bench.take()
    assert bench.snapshot
    await bench.compare(dict(bench.snapshot))

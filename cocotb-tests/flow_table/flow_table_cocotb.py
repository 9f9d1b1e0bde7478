"""FlowTable against golden/merge.py: the kind of every arrival, its slot, and which arrivals are of one flow."""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from axis import seeded, start
from flow_stimulus import frame
from golden.frame import classify
from golden.merge import CLASSES, FlowTable, Found, Rule
from match_columns import columns
from weir_sim.jumbo.packet import ethernet_length

SLOTS, PROTOCOL = 256, 253
ALL_SLOTS = SLOTS + 4 * CLASSES
LATEST = 10
"""cycles from a packet's end to its tag, at most"""
KINDS = ("none", "unknown", "barred", "joinable")
MAP = [0] * 64


def table_pins(rules: tuple[Rule, ...], unmatched: int | None) -> dict[str, int]:
    """What the rules do, at the unit's ports; unused ones would match everything."""
    pins = {
        "matching_actions_unmatchedBypass": int(unmatched is None),
        "matching_actions_unmatchedClass": unmatched or 0,
    }
    for n in range(16):
        rule = rules[n] if n < len(rules) else None
        name = f"matching_actions_rules_{n}"
        pins |= {f"{name}_enable": int(rule is not None), f"{name}_v6": int(rule is not None and rule.version == 6),
                 f"{name}_bypass": int(rule is not None and rule.klass is None),
                 f"{name}_klass": rule.klass or 0 if rule else 0}  # fmt: skip
    return pins


def values_and_masks(rules: tuple[Rule, ...]) -> list[tuple[int, int]]:
    """Of all 16; those of IPv4 are in the upper half, and what is in the lower does not count."""
    up = [32 * (rule.version == 4) for rule in rules]
    below = [0x5A5A5A5A if shift else 0 for shift in up]
    used = [(rule.value << s | b, rule.mask << s | b) for rule, s, b in zip(rules, up, below, strict=True)]
    return used + [(0, 0)] * (16 - len(rules))


class Bench:
    """Packets word by word, with gaps; tags as they come."""

    def __init__(self, dut: Any, name: str, gap: float, classed: tuple[int, ...] = ()) -> None:
        self.dut, self.rng, self.gap = dut, seeded(name), gap
        self.cycle = 0
        self.model = FlowTable(PROTOCOL, SLOTS, classed)
        self.epochs: list[int] = []
        """of the tags"""
        self.expected: list[tuple[int, int, Found]] = []
        """cycle of the end, index, what is to be found"""
        self.seen: list[tuple[int, int, int, int]] = []
        """index, kind, slot, number"""
        self.numbers: dict[int, int] = {}
        """the unit's number of each of the model's"""
        self.slowest = 0

    async def start(self) -> Bench:
        await start(self.dut, word_valid=0, end_1=0, arrival_valid=0, protocol=PROTOCOL, matchChanged=0, matching_column_valid=0,
                    **table_pins((), 0))  # fmt: skip
        for _ in range(ALL_SLOTS + 8):
            await self.step()
        return self

    async def match(self, rules: tuple[Rule, ...], unmatched: int | None) -> None:
        """Another match table; while it is made no rule counts."""
        await self.change(())
        for pins in columns(values_and_masks(rules)):
            for name, value in pins.items():
                getattr(self.dut, f"matching_column_{name}").value = value
            await self.step()
        self.dut.matching_column_valid.value = 0
        await self.change(rules, unmatched)
        self.model.rules, self.model.unmatched = rules, unmatched

    async def change(self, rules: tuple[Rule, ...], unmatched: int | None = None) -> None:
        """Other rules, from the next cycle on."""
        self.dut.matchChanged.value = 1
        await self.step()
        self.dut.matchChanged.value = 0
        for name, value in table_pins(rules, unmatched).items():
            getattr(self.dut, name).value = value

    async def step(self) -> None:
        """One cycle."""
        dut = self.dut
        await RisingEdge(dut.clk)
        self.cycle += 1
        dut.word_valid.value = dut.end_1.value = dut.arrival_valid.value = 0
        if dut.tag_valid.value == 1:
            assert self.expected, f"cycle {self.cycle}: a tag of nothing"
            at, index, found = self.expected.pop(0)
            got = tuple(
                int(getattr(dut, f"tag_payload_{name}").value)
                for name in ("index", "tag_kind", "tag_slot", "tag_number")
            )
            self.slowest = max(self.slowest, self.cycle - at)
            assert got[:2] == (index, KINDS.index(found.kind)), (
                f"index {got[0]}: {KINDS[got[1]]}, not {found.kind} of {index}"
            )
            if got[1] >= 2:
                assert got[2] == found.slot, f"slot {got[2]}, not {found.slot}"
                known = self.numbers.setdefault(found.number, got[3])
                assert known == got[3], f"the flow's number is {got[3]}, was {known}"
                assert list(self.numbers.values()).count(got[3]) == 1, f"number {got[3]} was given twice"
            self.seen.append(got)
            self.epochs.append(int(dut.tag_payload_tag_epoch.value))

    async def send(self, data: bytes, arrives: bool, index: int, late: int = 0, queue: int = 0) -> None:
        """A packet; `late`: its end comes so many cycles after its last word."""
        dut, rng = self.dut, self.rng
        words = [data[n : n + 16] for n in range(0, len(data), 16)]
        for n, word in enumerate(words):
            while rng.random() < self.gap:
                await self.step()
            padded = word + rng.randbytes(16 - len(word))
            dut.word_valid.value, dut.word_payload_data.value = 1, int.from_bytes(padded, "little")
            dut.word_payload_first.value, dut.word_payload_last.value = int(n == 0), int(n == len(words) - 1)
            if n == len(words) - 1 and not late:
                dut.end_1.value = 1
            await self.step()
        for n in range(late):
            dut.end_1.value = int(n == late - 1)
            await self.step()
        end = self.cycle
        meta = classify(data, 0, MAP)
        dut.arrival_valid.value, dut.arrival_payload_index.value = int(arrives), index
        dut.arrival_payload_length.value = len(data)
        dut.arrival_payload_ipVersion.value = meta.ip_version
        dut.arrival_payload_tags.value = meta.ip_offset
        dut.arrival_payload_exempt.value = int(data[:5] == b"\x01\x80\xc2\x00\x00" and data[5] < 16)
        dut.arrival_payload_queue.value = queue
        dut.arrival_payload_classed.value = int(queue in self.model.classed)
        if arrives:
            self.expected.append((end, index, self.model.look_up(data, queue)))

    async def break_off(self, data: bytes) -> None:
        """The first words of a packet that goes no further, as out of a jumbo frame that is malformed or finds no room: no end comes."""
        words = [data[n : n + 16] for n in range(0, len(data), 16)]
        for n, word in enumerate(words[: self.rng.randint(1, max(1, len(words) - 1))]):
            while self.rng.random() < self.gap:
                await self.step()
            self.dut.word_valid.value, self.dut.word_payload_data.value = 1, int.from_bytes(word, "little")
            self.dut.word_payload_first.value, self.dut.word_payload_last.value = int(n == 0), 0
            await self.step()

    async def drain(self) -> None:
        """Until every tag has come."""
        for _ in range(24):
            await self.step()
        assert not self.expected and not int(self.dut.busy.value)


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.4], longest=[20, 400], odd=[0.0, 0.5])
async def tells_flows_apart(dut: Any, gap: float, longest: int, odd: float) -> None:
    """Packets back to back and with gaps; some are no arrivals, and leave no trace."""
    bench = await Bench(dut, f"flows {gap} {longest} {odd}", gap).start()
    counts = dict.fromkeys(KINDS, 0)
    index = 0
    for _ in range(1500):
        data = frame(bench.rng, longest=longest, odd=odd)
        arrives = bench.rng.random() < 0.9
        await bench.send(data, arrives, index, late=bench.rng.randrange(3) if bench.rng.random() < 0.05 else 0)
        if arrives:
            index = (index + 1) % 2048
    await bench.drain()
    for _, kind, _, _ in bench.seen:
        counts[KINDS[kind]] += 1
    cocotb.log.info("%s, %d numbers, %d cycles at most", counts, len(bench.numbers), bench.slowest)
    assert bench.slowest <= LATEST
    assert counts["joinable"] > 300 and len(bench.numbers) < sum(counts.values())
    if odd:
        assert min(counts.values()) > 20


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.4])
async def forgets_packets_that_are_broken_off(dut: Any, gap: float) -> None:
    """Packets of a jumbo frame that is given up in the midst of one: those behind them are of their own flows."""
    bench = await Bench(dut, f"broken {gap}", gap).start()
    kinds = 0
    for index in range(600):
        for _ in range(bench.rng.randrange(3)):
            await bench.break_off(frame(bench.rng, longest=200, odd=0.2))
            for _ in range(bench.rng.randrange(1, 6)):
                await bench.step()
        await bench.send(frame(bench.rng, longest=200, odd=0.2), True, index)
        kinds += bench.expected[-1][2].kind == "joinable"
    await bench.drain()
    assert kinds > 200


@cocotb.test()
async def tells_flows_of_long_packets(dut: Any) -> None:
    """Packets of 8 KiB to 9216 bytes, whose lengths use every bit, between short ones of the same flows."""
    bench = await Bench(dut, "long", 0.0).start()
    versions = {4: 0, 6: 0}
    for index in range(100):
        data = frame(bench.rng, odd=0.1)
        while index % 2 and not 8192 <= len(data) <= 9216:
            data = frame(bench.rng, longest=9180, odd=0.1)
        await bench.send(data, True, index)
        version = classify(data, 0, MAP).ip_version
        if index % 2 and bench.expected and bench.expected[-1][2].kind == "joinable":
            versions[6 if version == 2 else 4] += 1
    await bench.drain()
    cocotb.log.info("joinable and long: %s", versions)
    assert min(versions.values()) > 8


@cocotb.test()
async def tells_flows_of_one_slot_apart(dut: Any) -> None:
    """Flows that share a slot and differ in one place only, wherever that is: each has a number of its own."""
    bench = await Bench(dut, "slot", 0.0).start()
    rng = bench.rng
    index = 0
    for v6 in (False, True):
        head = bytes.fromhex("60000000000c1140") if v6 else bytes.fromhex("450000200000000040110000")
        start, size = (8, 16) if v6 else (12, 4)
        first = bytearray(
            bytes(12) + (b"\x86\xdd" if v6 else b"\x08\x00") + head + rng.randbytes(2 * size) + rng.randbytes(12)
        )
        for place in range(14 + start, 14 + start + 2 * size + 4):
            pair = place if place + 1 < 14 + start + 2 * size + 4 else place - 1
            slot = FlowTable(PROTOCOL, SLOTS).look_up(bytes(first)).slot
            other = bytearray(first)
            while other == first or FlowTable(PROTOCOL, SLOTS).look_up(bytes(other)).slot != slot:
                other[pair : pair + 2] = rng.randbytes(2)
            for frame_ in (first, other, other, first):
                await bench.send(bytes(frame_), True, index)
                index = (index + 1) % 2048
    await bench.drain()
    assert len(bench.numbers) >= 2 * (12 + 36)


@cocotb.test()
async def does_not_fall_behind(dut: Any) -> None:
    """The shortest packets of IPv4 and IPv6 without a gap, in any order: a tag no more than 10 cycles after its packet."""
    bench = await Bench(dut, "short", 0.0).start()
    rng = bench.rng
    shortest = {4: bytes.fromhex("020000000001020000000002080045000014000000004000fb000a0000010a000002"),
                6: bytes.fromhex("02000000000102000000000286dd6000000000003b40" + "fd" + "00" * 14 + "01" + "fd" + "00" * 14 + "02")}  # fmt: skip
    assert (
        [ethernet_length(f) for f in shortest.values()] == [14, 14]
        and len(shortest[4]) == 34
        and len(shortest[6]) == 54
    )
    for n in range(2000):
        await bench.send(shortest[rng.choice((4, 6)) if n >= 1000 else (4, 6)[n % 2]], True, n % 2048)
    await bench.drain()
    cocotb.log.info("%d cycles at most", bench.slowest)
    assert bench.slowest <= LATEST and len(bench.numbers) == 2


@cocotb.test()
async def knows_nothing_until_it_is_empty(dut: Any) -> None:
    """After a reset keys of before are forgotten; in the sweep everything is of kind none."""
    bench = await Bench(dut, "reset", 0.0).start()
    data = [frame(bench.rng, odd=0) for _ in range(40)]
    for n, one in enumerate(data):
        await bench.send(one, True, n)
    await bench.drain()
    dut.rst.value = 1
    await bench.step()
    dut.rst.value = 0
    bench.model, bench.numbers = FlowTable(PROTOCOL, SLOTS), {}
    for n, one in enumerate(data[:8]):
        await bench.send(one, True, n)
        bench.expected[-1] = (*bench.expected[-1][:2], Found("none", -1, -1, None))
    for _ in range(ALL_SLOTS + 8):
        await bench.step()
    bench.model = FlowTable(PROTOCOL, SLOTS)
    for n, one in enumerate(data):
        await bench.send(one, True, n)
    await bench.drain()
    assert len(bench.numbers) > 10


RULES = (Rule(4, 0x0A000100, 0xFFFFFFFF, 1), Rule(4, 0x0A010102, 0xFF01FFFF, None), Rule(6, 0xFD01 << 48, 0xFFFF << 48, 7),
         Rule(4, 0x0A010000, 0xFFFF0000, 15), Rule(6, 0xFC << 56, 0xFE << 56, None))  # fmt: skip


@cocotb.test()
@cocotb.parametrize(gap=[0.0, 0.4], longest=[4, 400], odd=[0.0, 0.4])
async def tells_classes_by_the_destination(dut: Any, gap: float, longest: int, odd: float) -> None:
    """Queues 1 and 3 by class, the others by flow; bypasses hold for both. The table is changed now and then, and each tag has its epoch."""
    bench = await Bench(dut, f"classes {gap} {longest} {odd}", gap, (1, 3)).start()
    rng, index, changes = bench.rng, 0, []
    for n in range(1500):
        if n % 250 == 0:
            await bench.drain()
            changes.append(len(bench.seen))
            rules = tuple(rng.sample(RULES, rng.randrange(1, 6))) + (Rule(4, 0, 0xFF000001, 3),) * rng.randrange(2)
            await bench.match(rules[: 1 + n // 250], (4, None)[n // 250 % 2])
        data = frame(rng, longest=longest, odd=odd)
        await bench.send(data, rng.random() < 0.95, index, queue=rng.randrange(4))
        index = (index + 1) % 2048
    await bench.drain()
    told = [e if seen[1] else None for e, seen in zip(bench.epochs, bench.seen, strict=True)]
    groups = [set(told[a:b]) - {None} for a, b in zip(changes, [*changes[1:], len(told)], strict=True)]
    assert all(len(g) <= 1 for g in groups) and len(set.union(*groups)) == sum(map(len, groups)) > 3, groups
    kinds = [KINDS[kind] for _, kind, _, _ in bench.seen]
    places = {slot for _, kind, slot, _ in bench.seen if kind >= 2 and slot >= SLOTS}
    cocotb.log.info(
        "%d places of classes, %d numbers, %d cycles at most", len(places), len(bench.numbers), bench.slowest
    )
    assert bench.slowest <= LATEST and len(places) >= 6 and kinds.count("none") > 100 < kinds.count("joinable")

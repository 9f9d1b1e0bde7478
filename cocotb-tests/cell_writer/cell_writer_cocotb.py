"""CellWriter against a list model: words into cells, chains, what is taken back or counted; whole jumbo frames."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from axis import seeded, start

GOOD, BAD, RUNT, OVERSIZE, OVERFLOW, MALFORMED = range(6)
META = {"length": 14, "queue": 2, "ecn": 2, "ipVersion": 2, "ipOffset": 2, "exempt": 1}
CELLS = 2048


@dataclass
class Frame:
    """What the bench sends for one frame, or for one packet of a jumbo frame."""

    kind: int
    data: list[int]
    silent: bool
    size: int
    meta: dict[str, int]
    inner: bool = False
    header: bool = False
    wait_ns: int = 0
    room: bool = True
    mine: list[int] = field(default_factory=list)
    lost: bool = False
    ended_at: int = 0


def any_frame(rng: Random, inner: bool = False, longest: int = 60) -> Frame:
    words = rng.choice((1, 1, 4, 5, 8, 9, rng.randrange(1, longest)))
    kind = GOOD if inner else rng.choice((GOOD, GOOD, GOOD, BAD, RUNT, OVERSIZE))
    meta = {name: rng.getrandbits(width) for name, width in META.items()}
    return Frame(
        kind, [rng.getrandbits(128) for _ in range(words)], kind == OVERSIZE and rng.random() < 0.5,
        rng.getrandbits(24), meta, inner, wait_ns=rng.getrandbits(30),
    )  # fmt: skip


class Bench:
    """Cells come from a list in the order 0, 1, …; a rollback makes its cells the next ones again."""

    def __init__(self, dut: Any, name: str, shortage: float, exhausted: float) -> None:
        self.dut, self.rng = dut, seeded(name)
        self.shortage, self.exhausted = shortage, exhausted
        self.next_cell = self.cycle = self.waits = 0
        self.taken: list[int] = []
        self.written: dict[tuple[int, int], int] = {}
        self.arrivals: list[tuple[int, int, tuple[int, ...]]] = []
        self.events: list[tuple[int, ...]] = []
        self.rollbacks: list[tuple[int, int]] = []
        self.verdicts: list[tuple[int, str]] = []
        self.jumbo = int(os.environ.get("SPLITS", "0")) == 1
        """the core knows jumbo frames"""
        self.transits: list[tuple[int, int, int]] = []
        """of each arrival: header, member, waitNs"""
        self.wholes: list[dict[str, int]] = []
        self.next_flow = self.kept_flow = 0

    async def start(self) -> Bench:
        await start(
            self.dut,
            packet_valid=0,
            end_valid=0,
            jumbo_valid=0,
            available=1,
            known=1,
            cell_1=0,
            room=1,
        )
        return self

    async def step(self) -> bool:
        """Ends the cycle: notes what happened in it; whether the word on offer was taken."""
        dut = self.dut
        await FallingEdge(dut.clk)  # inputs have settled
        fired = dut.packet_valid.value == 1 and dut.packet_ready.value == 1
        if dut.packet_valid.value == 1 and not fired:
            self.waits += 1
        if dut.write_valid.value == 1:
            place = int(dut.write_payload_cell.value), int(dut.write_payload_index.value)
            self.written[place] = int(dut.write_payload_data.value)
        take, back = dut.take.value == 1, dut.rollback_valid.value == 1
        assert not (take and back), "takes and gives back in one cycle"
        if take:
            assert dut.available.value == 1, "takes a cell that is not there"
            self.taken.append(self.next_cell)
            self.next_cell = (self.next_cell + 1) % CELLS
        if back:
            first, cells = int(dut.rollback_payload_first.value), int(dut.rollback_payload_cells.value)
            self.rollbacks.append((first, cells))
            assert self.taken[-cells] == first, f"{cells} cells from {first} on are not those taken last"
            del self.taken[-cells:]
            self.next_cell = first
        if dut.arrival_valid.value == 1:
            parts = [f"meta_{name}" for name in META] + ["chain_first", "chain_last", "chain_cells"]
            values = tuple(int(getattr(dut, f"arrival_payload_{p}").value) for p in parts)
            self.arrivals.append((self.cycle, int(dut.inner.value), values))
            if self.jumbo:
                self.arrives(values)
        if dut.event_valid.value == 1:
            names = ("end", "packets", "bytes", "wireBytes", "jumbo", "discarded", "discardedBytes")
            self.events.append(tuple(int(getattr(dut, f"event_payload_{n}").value) for n in names))
        for name in ("commit", "discard"):
            if getattr(dut, name).value == 1:
                self.verdicts.append((self.cycle, name))
                if name == "commit":
                    self.kept_flow = self.next_flow
                else:
                    self.next_flow = self.kept_flow
        if self.jumbo and dut.commit.value == 1:
            names = ("queue", "length", "packets", "cells", "ecn")
            self.wholes.append({name: int(getattr(dut, f"whole_{name}").value) for name in names})
        await RisingEdge(dut.clk)
        self.cycle += 1
        dut.cell_1.value = self.next_cell
        dut.available.value, dut.known.value = 1, 1
        return fired

    def arrives(self, values: tuple[int, ...]) -> None:
        """The number of an arrival is the next one, or that of one that was taken back; it stands for itself until
        CommitFifo knows more."""
        dut = self.dut
        assert int(dut.arrival_payload_flow.value) == self.next_flow % CELLS
        self.next_flow += 1
        if dut.inner.value == 0:
            self.kept_flow = self.next_flow
        alone = [int(getattr(dut, f"arrival_payload_transit_{name}").value) for name in ("packets", "cells", "bytes")]
        assert alone == [1, values[-1], values[0]] and dut.arrival_payload_held.value == 0
        names = ("arrival_payload_transit_header", "arrival_payload_transit_member", "waitNs")
        self.transits.append(tuple(int(getattr(dut, name).value) for name in names))

    async def send(self, frame: Frame, spacing: int, full: float = 0.0, waiting: bool = False) -> None:
        """Sends a frame's words and its end. `waiting`: a cell that is not there comes later."""
        dut, rng = self.dut, self.rng
        for n, value in enumerate(frame.data):
            last = n == len(frame.data) - 1 and not frame.silent
            dut.packet_valid.value, dut.packet_payload_data.value = 1, value
            dut.packet_payload_first.value, dut.packet_payload_last.value = int(n == 0), int(last)
            dut.packet_payload_index.value = n % 4
            if n % 4 == 0:
                lacking = rng.random() < self.exhausted
                if not lacking and rng.random() < self.shortage:
                    lacking = not waiting
                    if waiting and not frame.lost:
                        for _ in range(rng.randrange(1, 6)):
                            dut.available.value = dut.known.value = 0
                            assert not await self.step(), "takes a word for which there is no cell yet"
                dut.available.value = int(not lacking)
                if lacking or frame.lost:
                    frame.lost = True
                else:
                    frame.mine.append(self.next_cell)
            elif waiting and not frame.lost:
                # whether there is another cell is of no consequence to a word in the midst of one
                dut.available.value = dut.known.value = rng.randrange(2)
            if last:
                self.end(frame, full)
            assert await self.step(), "a word is not taken"
            dut.packet_valid.value = dut.end_valid.value = 0
            for _ in range(spacing - 1):
                await self.step()
        if frame.silent:
            self.end(frame, full)
            await self.step()
            dut.end_valid.value = 0

    def end(self, frame: Frame, full: float) -> None:
        dut = self.dut
        frame.room = self.rng.random() >= full
        frame.ended_at = self.cycle
        dut.room.value = int(frame.room)
        dut.end_valid.value, dut.end_payload_kind.value, dut.end_payload_bytes.value = 1, frame.kind, frame.size
        dut.end_payload_inner.value = int(frame.inner)
        if self.jumbo:
            dut.end_payload_header.value, dut.end_payload_waitNs.value = int(frame.header), frame.wait_ns
        for name, value in frame.meta.items():
            getattr(dut, f"end_payload_meta_{name}").value = value

    def check_words(self, frame: Frame) -> tuple[int, ...]:
        """The arrival that a kept frame gives; its words are where they belong."""
        for n, value in enumerate(frame.data):
            assert self.written[frame.mine[n // 4], n % 4] == value, f"word {n} of {len(frame.data)}"
        return (*frame.meta.values(), frame.mine[0], frame.mine[-1], len(frame.mine))

    def clear(self) -> None:
        self.arrivals.clear(), self.events.clear(), self.rollbacks.clear(), self.verdicts.clear()
        self.transits.clear(), self.wholes.clear()


@cocotb.test()
@cocotb.parametrize(shortage=[0.0, 0.05, 0.3], full=[0.0, 0.2], spacing=[1, 2])
async def stores_good_frames_and_takes_back_the_others(dut: Any, shortage: float, full: float, spacing: int) -> None:
    splits = int(os.environ.get("SPLITS", "0")) == 1
    lacking = {"shortage": 0.2, "exhausted": shortage} if splits else {"shortage": shortage, "exhausted": 0.0}
    bench = await Bench(dut, f"store {shortage} {full} {spacing}", **lacking).start()
    for _ in range(500):
        frame = any_frame(bench.rng)
        first = bench.next_cell
        bench.clear()
        await bench.send(frame, spacing, full, waiting=splits)
        for _ in range(3):
            await bench.step()
        dut.room.value = 1
        kept = frame.kind == GOOD and not frame.lost and frame.room
        if frame.lost and frame.kind != GOOD:
            ends = (frame.kind, OVERFLOW)
        else:
            ends = (GOOD if kept else OVERFLOW if frame.kind == GOOD else frame.kind,)
        size = frame.size
        assert len(bench.events) == 1 and bench.events[0][0] in ends, f"{bench.events}, expected one of {ends}"
        assert bench.events[0][1:] == (1, size, size, 0, 0, 0), bench.events
        assert not bench.verdicts
        if kept:
            arrival = bench.check_words(frame)
            assert [a[1:] for a in bench.arrivals] == [(0, arrival)]
            assert bench.arrivals[0][0] == frame.ended_at + 1, "one cycle after its end"
            assert not bench.rollbacks
        else:
            assert not bench.arrivals
            assert bench.next_cell == first, f"cells from {first} to {bench.next_cell} are lost"
            assert len(bench.rollbacks) <= 1
    assert not int(dut.busy.value)
    assert bool(bench.waits) == splits, f"{bench.waits} words had to wait for a cell"


@cocotb.test()
@cocotb.parametrize(exhausted=[0.0, 0.02, 0.2], full=[0.0, 0.05])
async def keeps_the_packets_of_a_jumbo_frame_together(dut: Any, exhausted: float, full: float) -> None:
    """All packets or none; frames between them are as ever. Ends in the cycle of the last packet's end, or later."""
    bench = await Bench(dut, f"jumbo {exhausted} {full}", 0.2, exhausted).start()
    rng = bench.rng
    outcomes: dict[str, int] = {}
    for _ in range(160):
        bench.clear()
        if rng.random() < 0.3:
            plain = any_frame(rng)
            await bench.send(plain, rng.choice((1, 2)), waiting=True)
        for _ in range(4):
            await bench.step()
        bench.clear()
        first = bench.next_cell
        packets = [any_frame(rng, inner=True, longest=20) for _ in range(rng.choice((0, 1, 2, 3, 20)))]
        kind = rng.choice((GOOD, GOOD, GOOD, BAD, OVERSIZE, MALFORMED, OVERFLOW))
        broken = kind != GOOD and packets and rng.random() < 0.5
        wire, discarded = rng.getrandbits(24), rng.choice((0, 0, rng.randrange(448)))
        discarded_bytes = discarded * rng.randrange(34, 120)
        together = rng.random() < 0.5 and bool(packets) and not broken
        for n, packet in enumerate(packets):
            if broken and n == len(packets) - 1:
                packet.data, packet.silent = packet.data[: max(1, len(packet.data) - 1)] + [0], True
                await _words_only(bench, packet)
                break
            if together and n == len(packets) - 1:
                ahead = packet.data.pop()
                if packet.data:
                    packet.silent = True
                    await _words_only(bench, packet)
                packet.data.append(ahead)
                await _last_with_end(bench, packet, full, kind, wire, len(packets), discarded, discarded_bytes)
            else:
                await bench.send(packet, 1, full, waiting=True)
        if not together:
            for _ in range(rng.randrange(3)):
                await bench.step()
            _end_jumbo(dut, kind, wire, len(packets), discarded, discarded_bytes)
            await bench.step()
            dut.jumbo_valid.value = 0
        dut.room.value = 1
        for _ in range(5):
            await bench.step()
        given = packets[:-1] if broken else packets
        failed = any(p.lost or not p.room for p in given)
        kept = kind == GOOD and not failed
        end = GOOD if kept else OVERFLOW if kind == GOOD else kind
        if kept:
            own = sum(p.meta["length"] for p in given) + discarded_bytes
            expected = (GOOD, len(given) + discarded, own, wire, 1, discarded, discarded_bytes)
            expected = tuple(v % (1 << 24 if n in (2,) else 1 << 62) for n, v in enumerate(expected))
            assert bench.events == [(expected[0], expected[1] % 512, *expected[2:])], f"{bench.events}, {expected}"
            assert [a[2] for a in bench.arrivals] == [bench.check_words(p) for p in given]
            assert all(inner for _, inner, _ in bench.arrivals) and not bench.rollbacks
            assert bench.transits == [(0, 0, p.wait_ns) for p in given]
            assert [v for _, v in bench.verdicts] == ["commit"]
            assert all(a[0] < bench.verdicts[0][0] for a in bench.arrivals), "committed before its last packet came"
        else:
            assert bench.events == [(end, 1, wire, wire, 0, 0, 0)], f"{bench.events}, {end}"
            assert [v for _, v in bench.verdicts] == ["discard"]
            assert bench.next_cell == first, f"cells from {first} to {bench.next_cell} are lost"
        outcomes["kept" if kept else str(end)] = outcomes.get("kept" if kept else str(end), 0) + 1
        assert not int(dut.busy.value) and not int(dut.abort.value)
    assert outcomes["kept"] > 5 and outcomes[str(MALFORMED)] > 5, outcomes


@cocotb.test()
@cocotb.parametrize(exhausted=[0.0, 0.02])
async def tells_of_a_jumbo_frame_in_transit_as_a_whole(dut: Any, exhausted: float) -> None:
    """docs/modules/transit.md: its queue and ECN are the outer header's; without one, in the L2 form, the queue is the
    first packet's, and the ECN what a builder writes, or CE if all packets are CE. The header counts in no unit but
    cells."""
    bench = await Bench(dut, f"transit {exhausted}", 0.1, exhausted).start()
    rng, seen = bench.rng, set()
    for _ in range(200):
        l3, codepoints = rng.random() < 0.4, rng.choice(((0, 1, 2, 3), (1, 2, 3), (1, 3), (2, 3), (3,)))
        header = any_frame(rng, inner=True, longest=12)
        header.header, header.meta["ipVersion"] = True, rng.choice((1, 2)) if l3 else 0
        packets = [any_frame(rng, inner=True, longest=20) for _ in range(rng.randrange(1, 8))]
        for packet in packets:
            packet.meta |= {"length": rng.randrange(60, 1515), "ecn": rng.choice(codepoints)}
        if rng.random() < 0.3:
            await bench.send(any_frame(rng), 1)
        for _ in range(4):
            await bench.step()
        bench.clear()
        for packet in (header, *packets):
            await bench.send(packet, 1, waiting=True)
            for _ in range(rng.randrange(2, 5)):
                await bench.step()
        _end_jumbo(dut, GOOD, rng.getrandbits(24), len(packets), 0, 0)
        await bench.step()
        dut.jumbo_valid.value = 0
        for _ in range(5):
            await bench.step()
        if any(packet.lost for packet in (header, *packets)):
            assert [name for _, name in bench.verdicts] == ["discard"] and not bench.wholes
            continue
        ecns = {packet.meta["ecn"] for packet in packets}
        queue = header.meta["queue"] if l3 else packets[0].meta["queue"]
        ecn = header.meta["ecn"] if l3 else next(e for e in (0, 2, 1, 3) if e in ecns)
        length, cells = sum(p.meta["length"] for p in packets), sum(len(p.mine) for p in (header, *packets))
        whole = {"queue": queue, "length": length, "packets": len(packets), "cells": cells, "ecn": ecn}
        assert bench.wholes == [whole]
        assert bench.transits == [(1, 0, header.wait_ns), *((0, 1, p.wait_ns) for p in packets)]
        of = list(META).index("queue")
        assert [a[2][of] for a in bench.arrivals] == [header.meta["queue"], *[queue] * len(packets)]
        seen.add((l3, ecn))
    assert len(seen) == 8, seen


async def _words_only(bench: Bench, packet: Frame) -> None:
    """Sends words without an end."""
    dut = bench.dut
    for n, value in enumerate(packet.data):
        dut.packet_valid.value, dut.packet_payload_data.value = 1, value
        dut.packet_payload_first.value, dut.packet_payload_last.value = int(n == 0), 0
        dut.packet_payload_index.value = n % 4
        if n % 4 == 0:
            packet.mine.append(bench.next_cell)
        assert await bench.step()
        dut.packet_valid.value = 0


async def _last_with_end(
    bench: Bench, packet: Frame, full: float, kind: int, wire: int, count: int, discarded: int, discarded_bytes: int
) -> None:
    """The last word of a packet, its end and the jumbo frame's end in one cycle."""
    dut = bench.dut
    n = len(packet.data) - 1
    dut.packet_valid.value, dut.packet_payload_data.value = 1, packet.data[n]
    dut.packet_payload_first.value, dut.packet_payload_last.value = int(n == 0), 1
    dut.packet_payload_index.value = n % 4
    if n % 4 == 0:
        packet.mine.append(bench.next_cell)
    bench.end(packet, full)
    _end_jumbo(dut, kind, wire, count, discarded, discarded_bytes)
    assert await bench.step()
    dut.packet_valid.value = dut.end_valid.value = dut.jumbo_valid.value = 0


def _end_jumbo(dut: Any, kind: int, wire: int, count: int, discarded: int, discarded_bytes: int) -> None:
    dut.jumbo_valid.value, dut.jumbo_payload_kind.value, dut.jumbo_payload_bytes.value = 1, kind, wire
    dut.jumbo_payload_count.value = count
    dut.jumbo_payload_discarded.value, dut.jumbo_payload_discardedBytes.value = discarded, discarded_bytes

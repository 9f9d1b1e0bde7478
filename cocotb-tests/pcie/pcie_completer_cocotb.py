"""PcieCompleter behind a model of the vendor's block and a root complex, and with requests beat by beat.

What has to come back is derived from the PCI Express base specification (2.2.9, 2.3.1) and the descriptors of PG023.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.xilinx.us import UltraScalePcieDevice

from axis import seeded

CLOCK_NS = 4
BAR = 1 << 19
READ, WRITE, IO_READ, IO_WRITE, FETCH_ADD, READ_LOCKED, MESSAGE = 0, 1, 2, 3, 4, 7, 12


class Words:
    """What the completer reads and writes: words that take their time; `log` has every access."""

    def __init__(self, dut: Any, rng: random.Random, slow: int = 12) -> None:
        self.dut, self.rng, self.slow = dut, rng, slow
        self.words: dict[int, int] = {}
        self.log: list[tuple[bool, int, int]] = []

    def start(self) -> None:
        cocotb.start_soon(self._run())

    def peek(self, address: int) -> int:
        return self.words.setdefault(address, self.rng.getrandbits(32))

    async def _run(self) -> None:
        dut = self.dut
        dut.access_ready.value = 0
        while True:
            await RisingEdge(dut.clk)
            if not int(dut.access_valid.value) or int(dut.access_ready.value):
                dut.access_ready.value = 0
                continue
            cut = False
            for _ in range(self.rng.randrange(self.slow)):
                await RisingEdge(dut.clk)
                cut = cut or bool(int(dut.rst.value))
                assert int(dut.access_valid.value) or cut, "an access was taken back"
            if cut:
                continue
            address, strobe = int(dut.access_address.value), int(dut.access_strobe.value)
            if int(dut.access_write.value):
                old, new = self.peek(address), int(dut.access_wdata.value)
                mask = sum(0xFF << 8 * n for n in range(4) if strobe >> n & 1)
                self.words[address] = old & ~mask | new & mask
                self.log.append((True, address, strobe))
            else:
                dut.access_rdata.value = self.peek(address)
                self.log.append((False, address, strobe))
            dut.access_ready.value = 1


class Host:
    """A root complex, the vendor's block as cocotbext-pcie models it, and the device's BAR 0."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.rc = RootComplex()
        self.device = UltraScalePcieDevice(
            pcie_generation=1, pcie_link_width=8, user_clk_frequency=250e6, user_clk=dut.clk, user_reset=dut.rst,
            cq_bus=AxiStreamBus.from_prefix(dut, "s_axis_cq"), cc_bus=AxiStreamBus.from_prefix(dut, "m_axis_cc"),
        )  # fmt: skip
        self.device.functions[0].configure_bar(0, BAR)
        self.rc.make_port().connect(self.device)
        self.rng = rng


@asynccontextmanager
async def hosted(dut: Any, name: str) -> AsyncIterator[tuple[Any, Words, random.Random]]:
    rng = seeded(f"pcie {name}")
    words = Words(dut, rng)
    words.start()
    host = Host(dut, rng)
    await with_timeout(RisingEdge(dut.rst), 1, "us")
    await host.rc.enumerate()
    device = host.rc.find_device(host.device.functions[0].pcie_id)
    await device.enable_device()
    yield device.bar_window[0], words, rng


def touched(address: int, length: int) -> list[tuple[int, int]]:
    """Words and byte enables of `length` bytes from `address` on."""
    return [
        (word, sum(1 << n for n in range(4) if address <= 4 * word + n < address + length))
        for word in range(address // 4, (address + length + 3) // 4)
    ]


@cocotb.test()
async def a_host_reads_and_writes_words(dut: Any) -> None:
    """As libweir does; every access reaches its word once, in order."""
    async with hosted(dut, "words") as (window, words, rng):
        for _ in range(60):
            address = 4 * rng.randrange(BAR // 4)
            if rng.random() < 0.5:
                value = rng.getrandbits(32)
                await window.write_dword(address, value)
                assert await window.read_dword(address) == value
                assert words.log == [(True, address // 4, 15), (False, address // 4, 15)]
            else:
                assert await window.read_dword(address) == words.peek(address // 4)
                assert words.log == [(False, address // 4, 15)]
            words.log.clear()


@cocotb.test()
async def a_host_reads_and_writes_any_bytes(dut: Any) -> None:
    """Any start, up to 600 bytes, across the boundaries of completions and pages; each word once, with the enables of its bytes."""
    async with hosted(dut, "bytes") as (window, words, rng):
        words.slow = 3
        for turn in range(70):
            length = rng.choice([1, 2, 3, 4, 5, 8, 61, 64, 65, 128, rng.randrange(1, 600)])
            address = rng.choice(
                [rng.randrange(BAR - length), 4096 - rng.randrange(length + 1), 64 * 77 - rng.randrange(length + 1)]
            )
            expected = b"".join(words.peek(word).to_bytes(4, "little") for word, _ in touched(address, length))
            offset = address % 4
            if turn % 2:
                data = rng.randbytes(length)
                await window.write(address, data)
                after = expected[:offset] + data + expected[offset + length :]
                # a read pushes the writes before it
                assert await window.read(address, length) == data
                assert [words.peek(word).to_bytes(4, "little") for word, _ in touched(address, length)] == [
                    after[n : n + 4] for n in range(0, len(after), 4)
                ]
                writes = [(word, strobe) for write, word, strobe in words.log if write]
                assert writes == touched(address, length), f"{length} bytes at {address:#x}"
            else:
                assert await window.read(address, length) == expected[offset : offset + length]
            reads = [(word, strobe) for write, word, strobe in words.log if not write]
            assert reads == touched(address, length), f"{length} bytes at {address:#x}"
            words.log.clear()


@dataclass
class Request:
    """A request as the block presents it (PG023, completer request descriptor)."""

    kind: int
    address: int = 0
    count: int = 1
    first: int = 15
    last: int = 0
    payload: tuple[int, ...] = ()
    tag: int = 0
    requester: int = 0
    traffic: int = 0
    attributes: int = 0
    function: int = 0

    def descriptor(self) -> list[int]:
        return [
            self.address & 0xFFFFFFFC,
            self.address >> 32,
            self.requester << 16 | self.kind << 11 | self.count,
            self.attributes << 28 | self.traffic << 25 | 19 << 19 | self.function << 8 | self.tag,
        ]

    def dwords(self) -> list[int]:
        return [*self.descriptor(), *self.payload]

    def enabled(self) -> list[int]:
        """Offsets of the bytes that are asked for."""
        enables = [self.first, *[15] * (self.count - 2), self.last] if self.count > 1 else [self.first]
        return [4 * n + byte for n, e in enumerate(enables) for byte in range(4) if e >> byte & 1]

    def completions(self, words: Words) -> list[list[int]]:
        """Dwords of the completions, one for each 64 bytes."""
        third = self.attributes << 28 | self.traffic << 25 | self.function << 8 | self.tag
        if self.kind not in (READ, READ_LOCKED):
            header = [4 << 16, self.requester << 16 | 1 << 11, third, self.last << 4 | self.first, *self.descriptor()]
            return [header]
        enabled = self.enabled() or [0]
        first, behind = enabled[0], enabled[-1] + 1
        answers, word = [], 0
        while word < self.count:
            place = self.address // 4 + word
            n = min(16 - place % 16, self.count - word)
            start = max(first, 4 * word)
            lower = (4 * (self.address // 4) + start) & 0x7F
            head = [(self.kind == READ_LOCKED) << 29 | (behind - start) << 16 | lower, self.requester << 16 | n, third]
            answers.append(head + [words.peek((place + k) % (BAR // 4)) for k in range(n)])
            word += n
        return answers


class Beats:
    """Requests in and completions out, beat by beat."""

    def __init__(self, dut: Any, rng: random.Random) -> None:
        self.dut, self.rng = dut, rng
        self.answers: list[list[int]] = []
        self.stalled = 0.3
        #: a reset ends what is under way
        self.cut = False

    @classmethod
    async def make(cls, dut: Any, name: str) -> tuple[Beats, Words]:
        rng = seeded(f"pcie beats {name}")
        beats, words = cls(dut, rng), Words(dut, rng, slow=5)
        Clock(dut.clk, CLOCK_NS, "ns").start()
        dut.rst.value, dut.s_axis_cq_tvalid.value, dut.m_axis_cc_tready.value = 1, 0, 0
        await Timer(10 * CLOCK_NS, "ns")
        await RisingEdge(dut.clk)
        dut.rst.value = 0
        words.start()
        cocotb.start_soon(beats._collect())
        return beats, words

    async def send(self, request: Request) -> None:
        """Dwords two by two; the enables come with the first beat. The upper half of an odd end is noise."""
        dut, dwords = self.dut, request.dwords()
        for n in range(0, len(dwords), 2):
            while self.rng.random() < 0.3:
                dut.s_axis_cq_tvalid.value = 0
                await RisingEdge(dut.clk)
            pair = [*dwords[n : n + 2], self.rng.getrandbits(32)][:2]
            dut.s_axis_cq_tdata.value = pair[1] << 32 | pair[0]
            dut.s_axis_cq_tkeep.value = 3 if n + 1 < len(dwords) else 1
            dut.s_axis_cq_tlast.value = n + 2 >= len(dwords)
            enables = request.last << 4 | request.first if n == 0 else self.rng.getrandbits(8)
            dut.s_axis_cq_tuser.value = (n == 0) << 40 | enables
            dut.s_axis_cq_tvalid.value = 1
            for _ in range(20000):
                await RisingEdge(dut.clk)
                if int(dut.s_axis_cq_tready.value):
                    break
            else:
                raise AssertionError("a request is not taken")
        dut.s_axis_cq_tvalid.value = 0

    async def _collect(self) -> None:
        """A completion has no gap, and stands still while it is not taken."""
        dut, packet, held = self.dut, [], None
        while True:
            dut.m_axis_cc_tready.value = int(self.rng.random() >= self.stalled)
            await ReadOnly()
            if self.cut:
                packet, held = [], None
                await RisingEdge(dut.clk)
                continue
            valid, ready = int(dut.m_axis_cc_tvalid.value), int(dut.m_axis_cc_tready.value)
            assert valid or not packet, "a gap in a completion"
            if valid:
                beat = (int(dut.m_axis_cc_tdata.value), int(dut.m_axis_cc_tkeep.value), int(dut.m_axis_cc_tlast.value))
                assert held is None or beat == held, "a beat that waited has changed"
                assert int(dut.m_axis_cc_tuser.value) == 0
                held = None if ready else beat
                if ready:
                    data, keep, last = beat
                    assert keep in ((1, 3) if last else (3,))
                    packet += [data & 0xFFFFFFFF, data >> 32][: 2 if keep == 3 else 1]
                    if last:
                        self.answers.append(packet)
                        packet = []
            else:
                assert held is None, "a beat was taken back"
            await RisingEdge(dut.clk)

    async def quiet(self) -> None:
        for _ in range(400):
            await RisingEdge(self.dut.clk)


def some(rng: random.Random, kind: int, **fields: Any) -> Request:
    """A request with random names, so that each field shows where it goes."""
    return Request(
        kind, tag=rng.randrange(256), requester=rng.randrange(1 << 16), traffic=rng.randrange(8),
        attributes=rng.randrange(8), function=rng.randrange(256), **fields,
    )  # fmt: skip


def ragged(rng: random.Random, kind: int) -> Request:
    """Any length and any enables that PCI Express allows: those of one dword may have holes, those of more are contiguous."""
    count = rng.choice([1, 1, 2, 3, 15, 16, 17, 33, rng.randrange(1, 130)])
    address = rng.getrandbits(64) & ~(BAR - 1) | 4 * rng.randrange(BAR // 4 - count)
    if count == 1:
        return some(rng, kind, address=address, first=rng.randrange(16))
    return some(
        rng, kind, address=address, count=count, first=rng.choice([15, 14, 12, 8]), last=rng.choice([15, 7, 3, 1])
    )


@cocotb.test()
@cocotb.parametrize(stalled=[0.0, 0.6])
async def every_read_is_answered_as_the_standard_says(dut: Any, stalled: float) -> None:
    """Byte count, lower address, tag, requester, class and attributes of each completion; locked reads too."""
    beats, words = await Beats.make(dut, f"reads {stalled}")
    beats.stalled = stalled
    for _ in range(60):
        request = ragged(beats.rng, beats.rng.choice([READ, READ, READ_LOCKED]))
        expected = request.completions(words)
        await beats.send(request)
        await with_timeout(_until(beats, len(expected)), 60, "us")
        if request.first == 0 and request.count == 1:
            # nothing is read, so what the word is does not matter
            assert beats.answers[0][:3] == expected[0][:3] and len(beats.answers[0]) == 4
            assert words.log == []
        else:
            assert beats.answers == expected, request
        beats.answers.clear()
        words.log.clear()


async def _until(beats: Beats, n: int) -> None:
    while len(beats.answers) < n:
        await RisingEdge(beats.dut.clk)


@cocotb.test()
async def writes_reach_each_enabled_byte_once(dut: Any) -> None:
    """Payloads of any length; a write of no byte, and words of which none is enabled, reach nothing. There is no completion."""
    beats, words = await Beats.make(dut, "writes")
    for _ in range(60):
        request = ragged(beats.rng, WRITE)
        request.payload = tuple(beats.rng.getrandbits(32) for _ in range(request.count))
        place = request.address % BAR // 4
        before = [words.peek(place + n).to_bytes(4, "little") for n in range(request.count)]
        whole = bytearray(b"".join(before))
        data = b"".join(word.to_bytes(4, "little") for word in request.payload)
        for byte in request.enabled():
            whole[byte] = data[byte]
        await beats.send(request)
        await beats.quiet()
        assert b"".join(words.peek(place + n).to_bytes(4, "little") for n in range(request.count)) == whole, request
        assert words.log == [
            (True, place + n, sum(1 << b for b in range(4) if 4 * n + b in request.enabled()))
            for n in range(request.count)
            if any(4 * n <= byte < 4 * n + 4 for byte in request.enabled())
        ]
        words.log.clear()
    assert beats.answers == []


@cocotb.test()
async def what_is_not_understood_does_no_harm(dut: Any) -> None:
    """I/O and atomic requests are unsupported (UR, with their header), messages end there; the reads between are answered."""
    beats, words = await Beats.make(dut, "others")
    expected = []
    for turn in range(80):
        kind = beats.rng.choice([READ, IO_READ, IO_WRITE, FETCH_ADD, 5, 6, 8, 11, MESSAGE, 13, 14, 15])
        payload = {IO_WRITE: 1, FETCH_ADD: 1, 5: 1, 6: 2, MESSAGE: turn % 4}.get(kind, 0)
        request = some(
            beats.rng,
            kind,
            address=4 * beats.rng.randrange(BAR // 4),
            first=15 if kind == READ else beats.rng.randrange(16),
        )
        request.payload = tuple(beats.rng.getrandbits(32) for _ in range(payload))
        if kind < MESSAGE:
            expected += request.completions(words)
        await beats.send(request)
    await beats.quiet()
    assert beats.answers == expected
    assert not any(write for write, _, _ in words.log)


@cocotb.test()
async def a_reset_amid_a_request_leaves_nothing(dut: Any) -> None:
    """Wherever it comes, the request after it is answered, and only that."""
    beats, words = await Beats.make(dut, "reset")
    for cycles in range(1, 60):
        cut = some(beats.rng, READ, address=64 * beats.rng.randrange(99), count=9, last=15)
        sending = cocotb.start_soon(beats.send(cut))
        for _ in range(cycles):
            await RisingEdge(dut.clk)
        sending.cancel()
        dut.rst.value, dut.s_axis_cq_tvalid.value = 1, 0
        beats.cut = True
        for _ in range(4):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        beats.cut = False
        beats.answers.clear()
        request = some(beats.rng, READ, address=64 * beats.rng.randrange(99), count=3, last=15)
        expected = request.completions(words)
        await beats.send(request)
        await with_timeout(_until(beats, 1), 20, "us")
        assert beats.answers == expected
        beats.answers.clear()

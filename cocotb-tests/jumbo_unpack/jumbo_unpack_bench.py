"""Drives JumboUnpack as Ingress does and checks all it gives against weir_sim's model of the wire format.

One coroutine drives and samples: values are driven after a rising edge and sampled at the next.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

from cocotb.triggers import RisingEdge

from axis import seeded, start
from golden.frame import BAD, GOOD, OVERSIZE, RUNT, classify
from weir_sim.jumbo.wire import JumboFormat, Malformed, dissect, split, waits_ns

OVERFLOW, MALFORMED = 4, 5
META = ("length", "queue", "ecn", "ipVersion", "ipOffset", "exempt")
WORD = ("first", "last", "index")
BYTES_MAX = (1 << 24) - 1
GAP_CYCLES = 3
"""preamble 8, FCS 4, gap 12 bytes between frames on the wire, at 8 bytes a cycle"""


@dataclass
class Sent:
    """A frame at the input and what has to become of it."""

    data: bytes
    kind: int
    meta: tuple[int, ...]
    split: bool
    form: JumboFormat
    written: int
    """bytes that come in words"""
    beyond: bytes = b""
    """what the last word holds behind the frame; random behind that"""
    jumbo: bool = False
    malformed: bool = False
    packets: list[bytes] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    """of each packet: sum of the spacings up to its own, ns"""
    transit: bool = False
    """its packets stay together: what is before them comes as one more, first"""
    discarded: int = 0
    discarded_bytes: int = 0
    end_cycle: int = -1
    given_cycle: int = -1


@dataclass
class Given:
    """A frame at the output, as far as it has come."""

    words: list[int] = field(default_factory=list)
    inner: bool = False
    cycle: int = -1
    end: dict[str, int] = field(default_factory=dict)


def judge(sent: Sent) -> Sent:
    """Fills in what the model says."""
    if sent.kind == RUNT or not sent.split:
        return sent
    try:
        jumbo = dissect(sent.data, sent.form)
    except Malformed:
        sent.jumbo = sent.malformed = True
        return sent
    if jumbo is not None:
        sent.jumbo = True
        if sent.transit:
            start = len(jumbo.ethernet) + 2
            before = sent.data[: start + 20 * jumbo.l3 + 6 + 4 * jumbo.count]
            types = [b"\x08\x00" if ip[0] >> 4 == 4 else b"\x86\xdd" for ip in jumbo.packets]
            frames = [jumbo.ethernet + kind + ip for kind, ip in zip(types, jumbo.packets, strict=True)]
            sent.packets = [before, *frames] if frames else []
            return sent
        found = split(jumbo)
        sent.packets, sent.discarded, sent.discarded_bytes = found.frames, found.dropped, found.dropped_bytes
        sent.waits = waits_ns(jumbo)
    return sent


class Bench:
    """Sends frames, and compares what comes out, in order, with what has to.

    Args:
        gap: probability that the wire pauses before a beat.
        stall: probability that `ready` is low in a cycle; a callable gets the cycle and says whether it is.
    """

    def __init__(self, dut: Any, name: str, gap: float = 0.0, stall: float = 0.0) -> None:
        self.dut, self.rng, self.gap, self.stall = dut, seeded(f"unpack {name}"), gap, stall
        self.form, self.split, self.transit = JumboFormat(), 1, 0
        self.dscp_queue = [self.rng.randrange(4) for _ in range(64)]
        self.default_queue = self.rng.randrange(4)
        self.beats: deque[tuple[Sent | None, int]] = deque()
        self.expected: deque[Sent] = deque()
        self.cycle = 0
        self.may_overflow = False
        """frames may end as overflow, and words be withdrawn"""
        self.outcomes: dict[str, int] = {}
        self.packet_ends: list[int] = []
        self.jumbo_cycles: list[int] = []
        self._packets: list[Given] = []
        self._given = Given()
        self._offered: tuple[int, ...] | None = None
        self._withdrawn = False
        self._driving = False

    async def start(self) -> Bench:
        d = self.dut
        self._word = [getattr(d, f"packet_payload_{name}") for name in WORD]
        self._in_word = {name: getattr(d, f"word_payload_{name}") for name in ("data", *WORD)}
        self._in_meta = [getattr(d, f"end_payload_meta_{name}") for name in META]
        self._end = {
            n: getattr(d, f"packetEnd_payload_{n}")
            for n in ("kind", "bytes", "inner", "header", "waitNs", *(f"meta_{m}" for m in META))
        }
        self._jumbo = {
            n: getattr(d, f"jumbo_payload_{n}") for n in ("kind", "bytes", "count", "discarded", "discardedBytes")
        }
        await start(d, word_valid=0, end_valid=0, packet_ready=1, abort=0, config_split=1, config_transit=0,
                    config_etherType=self.form.ethertype, config_protocol=self.form.protocol,
                    config_defaultQueue=self.default_queue,
                    **{f"config_dscpQueue_{n}": q for n, q in enumerate(self.dscp_queue)})  # fmt: skip
        return self

    def configure(self, form: JumboFormat, split: int = 1, transit: int = 0) -> None:
        """For frames that are sent from now on; nothing may be on its way in."""
        self.form, self.split, self.transit = form, split, transit
        self.dut.config_split.value = split
        self.dut.config_transit.value = transit
        self.dut.config_etherType.value = form.ethertype
        self.dut.config_protocol.value = form.protocol

    def send(
        self, frame: bytes, kind: int | None = None, limit: int = 9216, pause: int = 0, beyond: bytes = b""
    ) -> Sent:
        """Queues a frame; `pause` idle cycles go before it. Frames longer than `limit` are oversize."""
        if kind is None:
            kind = RUNT if len(frame) < 14 else OVERSIZE if len(frame) > limit else GOOD
        if kind == RUNT:
            meta: tuple[int, ...] = tuple(self.rng.randrange(2) for _ in META)
        else:
            m = classify(frame, self.default_queue, self.dscp_queue)
            meta = (m.length % 16384, m.queue, m.ecn, m.ip_version, m.ip_offset, int(m.exempt))
        whole = len(frame) <= limit
        written = len(frame) if whole else limit // 8 * 8 // 16 * 16
        sent = judge(Sent(frame, kind, meta, bool(self.split), self.form, written, beyond, transit=bool(self.transit)))
        self.expected.append(sent)
        self.beats.extend([(None, 0)] * pause)
        self.beats.extend((sent, n) for n in range((len(frame) + 7) // 8))
        return sent

    async def drain(self, most: int = 200_000) -> None:
        """Runs until all that has been sent has come out."""
        end = self.cycle + most
        while self.beats or self.expected or self._driving:
            await self.step()
            assert self.cycle < end, f"{len(self.expected)} frames do not come out; first: {self._show()}"
        for _ in range(12):
            await self.step()
        assert not int(self.dut.busy.value), "busy without a frame"

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            await self.step()

    async def step(self) -> None:
        """A cycle: samples what the last one gave, drives the next."""
        await RisingEdge(self.dut.clk)
        self.cycle += 1
        self._sample()
        self._drive()

    # ---- input

    def _drive(self) -> None:
        d = self.dut
        stalled = self.stall(self.cycle) if callable(self.stall) else self.stall and self.rng.random() < self.stall
        ready = int(not stalled)
        if ready != self._ready_now:
            d.packet_ready.value = ready
            self._ready_now = ready
        word = end = None
        if self.beats and not (self.gap and self.rng.random() < self.gap):
            sent, n = self.beats.popleft()
            if sent is not None:
                word, end = self._beat(sent, n)
        if word is not None or self._driving:
            d.word_valid.value = int(word is not None)
            d.end_valid.value = int(end is not None)
            values = word or {name: self.rng.getrandbits(len(s)) for name, s in self._in_word.items()}
            for name, signal in self._in_word.items():
                signal.value = values[name]
        elif end is not None:
            d.end_valid.value = 1
        self._driving = word is not None or end is not None
        if end is not None:
            end.end_cycle = self.cycle
            d.end_payload_kind.value = end.kind
            d.end_payload_bytes.value = min(len(end.data), BYTES_MAX)
            for signal, value in zip(self._in_meta, end.meta, strict=True):
                signal.value = value

    _ready_now = 1

    def _beat(self, sent: Sent, n: int) -> tuple[dict[str, int] | None, Sent | None]:
        """The word that beat n completes, and the end that comes with it."""
        last = 8 * n + 8 >= len(sent.data)
        word = None
        if (n % 2 or last) and 16 * (n // 2) < sent.written and (not last or sent.written == len(sent.data)):
            at = 16 * (n // 2)
            part = sent.data[at : at + 16]
            part = (part + sent.beyond)[:16]
            word = {
                "data": int.from_bytes(part + self.rng.randbytes(16 - len(part)), "little"),
                "first": int(at == 0),
                "last": int(last),
                "index": n // 2 % 4,
            }
        return word, sent if last else None

    # ---- output

    def _sample(self) -> None:
        d = self.dut
        ended = bool(int(d.packetEnd_valid.value))
        if int(d.packet_valid.value):
            word = (
                int(d.packet_payload_data.value),
                *(int(s.value) for s in self._word),
                int(d.packetEnd_payload_inner.value),
            )
            assert self._offered is None or self._offered == word, f"changed while offered: {self._offered} to {word}"
            self._offered = None if self._ready_now else word
            if self._ready_now:
                self._take(word)
                assert bool(word[2]) == ended, "the end comes with the last word"
            else:
                assert not ended, "an end before its word is taken"
        elif self._offered is not None:
            assert self.may_overflow, f"withdrawn: {self._offered}"
            self._withdrawn, self._offered = True, None
        if ended:
            self._given.end = {name: int(s.value) for name, s in self._end.items()}
            self._given.cycle = self.cycle
            self._given.inner = bool(self._given.end["inner"])
            given, self._given = self._given, Given()
            if given.inner:
                self._packets.append(given)
                self.packet_ends.append(self.cycle)
            else:
                self._check_plain(given)
        if int(d.jumbo_valid.value):
            self.jumbo_cycles.append(self.cycle)
            self._check_jumbo({name: int(s.value) for name, s in self._jumbo.items()})

    def _take(self, word: tuple[int, ...]) -> None:
        data, first, _, index, _ = word
        at = len(self._given.words)
        assert first == (at == 0) and index == at % 4, f"word {at}: {word[1:]}"
        self._given.words.append(data)

    def _show(self) -> str:
        if not self.expected:
            return "nothing"
        e = self.expected[0]
        return f"{len(e.data)} bytes, kind {e.kind}, jumbo {e.jumbo}, malformed {e.malformed}, {len(e.packets)} packets"

    def _count(self, outcome: str) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def _check_plain(self, given: Given) -> None:
        assert self.expected, "a frame that nobody sent"
        sent = self.expected.popleft()
        end = given.end
        assert not sent.jumbo, f"a jumbo frame passed: {self._show_jumbo(sent)}, end {end}, {len(given.words)} words"
        assert not self._packets, "a frame comes between packets and their jumbo"
        sent.given_cycle = given.cycle
        assert end["bytes"] == min(len(sent.data), BYTES_MAX)
        got = b"".join(w.to_bytes(16, "little") for w in given.words)
        if end["kind"] == OVERFLOW:
            assert self.may_overflow and sent.kind == GOOD
            assert sent.data.startswith(got)
            self._count("plain overflow")
            return
        assert end["kind"] == sent.kind, f"kind {end['kind']} of {sent.kind}"
        if sent.kind == GOOD:
            assert tuple(end[f"meta_{name}"] for name in META) == sent.meta
            assert len(got) == (len(sent.data) + 15) // 16 * 16
        if not self._withdrawn:
            assert got[: sent.written] == sent.data[: sent.written], f"{len(got)} bytes"
        self._withdrawn = False
        self._count(f"plain {sent.kind}")

    def _check_jumbo(self, end: dict[str, int]) -> None:
        assert self.expected, "a jumbo that nobody sent"
        sent = self.expected.popleft()
        assert sent.jumbo, "a frame was taken for a jumbo frame"
        packets, self._packets, self._given = self._packets, [], Given()
        self._withdrawn, self._offered = False, None
        sent.given_cycle = self.cycle
        assert end["bytes"] == min(len(sent.data), BYTES_MAX)
        whole = [given.end["header"] for given in packets]
        assert whole == [int(sent.transit and n == 0) for n in range(len(packets))], f"headers {whole}"
        assert end["count"] == len(packets) - sum(whole), f"count {end['count']}, {len(packets)} given"
        kind = sent.kind if sent.kind != GOOD else MALFORMED if sent.malformed else GOOD
        if end["kind"] == OVERFLOW:
            assert self.may_overflow and sent.kind == GOOD, "overflow"
            self._count("jumbo overflow")
        else:
            assert end["kind"] == kind, f"{self._show_jumbo(sent)}: kind {end['kind']}, expected {kind}"
            self._count(f"jumbo {kind}")
        if end["kind"] == GOOD:
            assert len(packets) == len(sent.packets), f"{len(packets)} packets, expected {len(sent.packets)}"
            assert (end["discarded"], end["discardedBytes"]) == (sent.discarded, sent.discarded_bytes)
        if not sent.malformed and sent.kind in (GOOD, BAD):
            for given, frame in zip(packets, sent.packets, strict=False):
                self._check_packet(given, frame)
            for given, wait in zip(packets, sent.waits, strict=False):
                assert given.end["waitNs"] == min(wait, (1 << 30) - 1), (
                    f"{given.end['waitNs']} ns, the table says {wait}"
                )

    def _show_jumbo(self, sent: Sent) -> str:
        return f"{len(sent.data)} bytes {sent.data[:64].hex()}"

    def _check_packet(self, given: Given, frame: bytes) -> None:
        got = b"".join(w.to_bytes(16, "little") for w in given.words)
        assert len(given.words) == (len(frame) + 15) // 16
        assert got[: len(frame)] == frame, f"{got[:48].hex()}\nexpected {frame[:48].hex()}"
        m = classify(frame, self.default_queue, self.dscp_queue)
        e = given.end
        if e["header"]:
            # of the Ethernet header, whatever the form
            m = replace(m, ip_offset=ethernet_tags(frame))
        want = (GOOD, len(frame), len(frame), m.queue, m.ecn, m.ip_version, m.ip_offset, int(m.exempt))
        assert (e["kind"], e["bytes"], *(e[f"meta_{name}"] for name in META)) == want

    @property
    def words_given(self) -> int:
        """Words of packets since the last jumbo, or of the frame that is being passed."""
        return sum(len(p.words) for p in self._packets) + len(self._given.words)

    def forget(self) -> None:
        """Forgets all that is on its way, as a reset does."""
        self.beats.clear()
        self.expected.clear()
        self._packets, self._given, self._offered, self._withdrawn = [], Given(), None, False


def ethernet_tags(frame: bytes) -> int:
    """VLAN tags of a frame, 2 at most."""
    tags = 0
    while tags < 2 and frame[12 + 4 * tags : 14 + 4 * tags] in (b"\x81\x00", b"\x88\xa8"):
        tags += 1
    return tags


def plain(rng: random.Random, longest: int = 200) -> bytes:
    """A frame that is not a jumbo frame, one byte long or longer; its EtherType may be near to one."""
    choice = rng.random()
    if choice < 0.3:
        return rng.randbytes(rng.randrange(1, 70))
    frame = bytearray(rng.randbytes(rng.randrange(14, longest)))
    tags = rng.randrange(4)
    stack = b"".join(rng.choice((b"\x81\x00", b"\x88\xa8")) + rng.randbytes(2) for _ in range(tags))
    body = stack + rng.choice((b"\x08\x00\x45", b"\x86\xdd\x60", b"\x88\xb4", b"\x88\xb6", b"\x08\x06"))
    frame[12 : 12 + len(body)] = body
    return bytes(frame)


__all__ = ["BAD", "GAP_CYCLES", "GOOD", "MALFORMED", "OVERFLOW", "OVERSIZE", "RUNT", "Bench", "Sent", "plain"]

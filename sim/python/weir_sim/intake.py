"""A capture as a tool takes it in: every frame of its true length, at times that never go back."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from .jumbo.packet import IPV4, IPV6, TCP, UDP, JumboFormat, ethernet_length, u16
from .jumbo.wire import recognise
from .pcap import Capture, Packet, many
from .report import duration

WINDOW_PACKETS, WINDOW_BYTES = 10_000, 64 << 20
"""What waits at most to be put in order."""


def in_order(packets: Iterable[Packet]) -> Iterator[Packet]:
    """The packets by their times, those of one time as they came, as far as the window reaches."""
    waiting: list[tuple[int, int, Packet]] = []
    held = 0
    for number, packet in enumerate(packets):
        heapq.heappush(waiting, (packet.time_ns, number, packet))
        held += len(packet.data)
        while len(waiting) > WINDOW_PACKETS or held > WINDOW_BYTES:
            first = heapq.heappop(waiting)[2]
            held -= len(first.data)
            yield first
    while waiting:
        yield heapq.heappop(waiting)[2]


def has_headers(packet: Packet, ports: bool) -> bool:
    """Whether enough was captured of a frame to tell the IP header that it has, if any, and with `ports` those of TCP and UDP."""
    data, rest = packet.data, packet.length - len(packet.data)
    start = ethernet_length(data)
    if start is None or not rest:
        return not rest
    kind, there = u16(data, start - 2), len(data) - start
    if kind == IPV4:
        if there < 20:
            return False
        size, protocol = max(20, 4 * (data[start] & 15)), data[start + 9]
    elif kind == IPV6:
        if there < 40:
            return False
        size, protocol = 40, data[start + 6]
    else:
        return True
    return there >= size + 4 * (ports and protocol in (TCP, UDP))


class Intake(Iterator[Packet]):
    """The frames of a capture, whole.

    - What was captured in part is filled with zeros to its length. Where the capture ends inside headers that matter,
      or inside a jumbo frame, the frame is made opaque: its MAC addresses, then zeros. It is neither IP nor a jumbo frame.
    - A frame that is earlier than the one before it gets that one's time.

    Args:
        capture: what is read.
        reorder: put packets in the order of their times first, within a window of 10,000 packets and 64 MB.
        form: whose jumbo frames are looked into; None: a jumbo frame is a frame like any other.
        ports: whether those of TCP and UDP matter.
    """

    def __init__(
        self, capture: Capture, reorder: bool = False, form: JumboFormat | None = None, ports: bool = False
    ) -> None:
        self.capture = capture
        self.cut = self.headless = self.jumbo = self.backwards = 0
        """frames captured in part; of them, those cut inside their headers, and jumbo frames; frames out of order"""
        self._reorder, self._form, self._ports = reorder, form, ports
        self._packets = in_order(capture) if reorder else capture
        self._last_ns: int | None = None
        self._most_ns = 0

    @property
    def opaque(self) -> int:
        """Frames that were made opaque."""
        return self.headless + self.jumbo

    def __next__(self) -> Packet:
        packet = next(self._packets)
        last_ns = packet.time_ns if self._last_ns is None else self._last_ns
        if packet.time_ns < last_ns:
            self.backwards += 1
            self._most_ns = max(self._most_ns, last_ns - packet.time_ns)
        self._last_ns = max(last_ns, packet.time_ns)
        return Packet(self._last_ns, self._whole(packet), packet.length)

    def _whole(self, packet: Packet) -> bytes:
        data, missing = packet.data, packet.length - len(packet.data)
        if not missing:
            return data
        self.cut += 1
        if not has_headers(packet, self._ports):
            self.headless += 1
        elif self._form and recognise(data, self._form):
            self.jumbo += 1
        else:
            return data + bytes(missing)
        return data[:12].ljust(packet.length, b"\0")

    def notes(self) -> list[str]:
        """What a person should know, once everything has been read: one line each."""
        notes = self.capture.notes()
        if self.cut:
            text = f"captured in part: {many(self.cut)}; the rest of each is zeros"
            if self.opaque:
                text += (
                    f"; opaque, neither IP nor jumbo frames: {many(self.opaque)}, {self.headless} cut inside headers and "
                    f"{self.jumbo} inside a jumbo frame; capture with a longer snap length"
                )
            notes.append(text)
        if self.backwards:
            remedy = (
                f"too far for --reorder ({WINDOW_PACKETS:,} packets, {WINDOW_BYTES >> 20} MB): sort the file with reordercap"
                if self._reorder
                else "give --reorder to put packets in their places"
            )
            notes.append(
                f"earlier than one before them: {many(self.backwards)}, by up to {duration(self._most_ns)}; they follow it "
                f"directly; {remedy}"
            )
        return notes

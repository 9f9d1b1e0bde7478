"""The core's 64-bit counters, from the register map in docs/architecture.md."""

from __future__ import annotations

MASK64 = (1 << 64) - 1
MASK48 = (1 << 48) - 1

ACCEPT, MARK, DROP = range(3)
NONE, EARLY, FORCED, OVERFLOW, LINK_DOWN, FRONT, PARTIAL = range(7)
CE = 3

QUEUE_COUNTERS = (
    "nodrop", "in_not_ect", "in_ect1", "in_ect0", "in_ce", "early", "forced", "overflow", "marked", "already_ce",
    "out", "link_down", "front", "head_dropped", "head_marked", "partial", "head_already_ce",
)  # fmt: skip
ARRIVED = ("in_not_ect", "in_ect1", "in_ect0", "in_ce")
CORE_COUNTERS = (
    "rx", "tx", "bad", "runt", "oversize", "ingress_overflow", "trace_lost", "malformed", "jumbo_in", "split_discarded",
    "rx_wire", "jumbo_out", "merged", "evicted", "hurried",
)  # fmt: skip
JUMBO_COUNTERS = ("malformed", "jumbo_in", "split_discarded", "rx_wire", "jumbo_out", "merged", "evicted", "hurried")
"""Only in builds that know jumbo frames."""
ENDS = (None, "bad", "runt", "oversize", "ingress_overflow", "malformed")


def sojourn_bin(sojourn_ns: int) -> int:
    """Bin of a sojourn time in ns: max(0, floor(log2 s)), 31 from 2^31 ns on."""
    return min(31, max(0, sojourn_ns.bit_length() - 1))


class Counters:
    """Counts events like the hardware. `tick` is called once a clock cycle, with that cycle's events."""

    def __init__(self, queues: int, jumbo: bool = False) -> None:
        self.queues = queues
        self.jumbo = jumbo
        self._now: int | None = None
        self._throttled = False
        self.clear()

    def clear(self) -> None:
        """Everything starts at 0."""
        self.pairs: dict[int, list[int]] = {}
        self.bins = [[0] * 32 for _ in range(self.queues)]
        self.throttled_ns = 0
        self.uptime = 0
        self.held = (0, 0)
        for name in CORE_COUNTERS:
            if name in JUMBO_COUNTERS and not self.jumbo:
                continue
            self.pairs[self.core_address(name)] = [0, 0]
        for queue in range(self.queues):
            for name in QUEUE_COUNTERS:
                self.pairs[self.queue_address(queue, name)] = [0, 0]

    @staticmethod
    def core_address(name: str) -> int:
        """Byte address of the first word of a core counter."""
        return 0x200 + 16 * CORE_COUNTERS.index(name)

    @staticmethod
    def queue_address(queue: int, name: str) -> int:
        """Byte address of the first word of a queue's counter."""
        return 0x1000 + 0x400 * queue + 0x1F0 + 16 * QUEUE_COUNTERS.index(name)

    def _core(self, name: str, size: int) -> None:
        self._add(self.core_address(name), size)

    def _queue(self, queue: int, name: str, size: int) -> None:
        self._add(self.queue_address(queue, name), size)

    def _add(self, address: int, size: int, packets: int = 1) -> None:
        pair = self.pairs[address]
        pair[0] = (pair[0] + packets) & MASK64
        pair[1] = (pair[1] + size) & MASK64

    def arrival(self, queue: int, length: int, ecn: int, action: int, cause: int) -> None:
        """One arrival at its commit."""
        self._queue(queue, ARRIVED[ecn], length)
        if action == DROP:
            self._queue(queue, {EARLY: "early", FORCED: "forced", OVERFLOW: "overflow"}[cause], length)
        elif action == MARK:
            self._queue(queue, "marked", length)
        elif cause in (EARLY, FORCED):
            self._queue(queue, "already_ce" if ecn == CE else "nodrop", length)

    def departure(
        self, queue: int, length: int, sojourn_ns: int, discard: bool, cause: int = NONE, marked: bool = False,
        already_ce: bool = False, merged: bool = False,
    ) -> None:  # fmt: skip
        """One packet that left the buffer; `marked` by its policy at departure, or selected by it but `already_ce`;
        `merged`: in a jumbo frame."""
        if discard:
            name = {LINK_DOWN: "link_down", FRONT: "front", PARTIAL: "partial"}.get(cause, "head_dropped")
            self._queue(queue, name, length)
        else:
            self._queue(queue, "head_already_ce" if already_ce else "head_marked" if marked else "out", length)
            self._core("tx", length)
            if merged:
                self._core("merged", length)
            self.bins[queue][sojourn_bin(sojourn_ns)] += 1

    def ingress(self, end: int, size: int) -> None:
        """One frame that ended at the ingress and was not split."""
        self._core("rx", size)
        if self.jumbo:
            self._core("rx_wire", size)
        name = ENDS[end]
        if name:
            self._core(name, size)

    def split(self, wire: int, packets: int, size: int, discarded: tuple[int, int]) -> None:
        """One jumbo frame of `wire` bytes that was split; the packets that RFC 6040 drops, and their bytes, are among all."""
        self._core("rx_wire", wire)
        self._core("jumbo_in", wire)
        self._add(self.core_address("rx"), size, packets)
        self._add(self.core_address("split_discarded"), discarded[1], discarded[0])

    def jumbo_out(self, wire: int) -> None:
        """One jumbo frame of `wire` bytes that was built."""
        self._core("jumbo_out", wire)

    def evicted(self) -> None:
        """One group that was closed because another flow needed its place."""
        self._core("evicted", 0)

    def hurried(self) -> None:
        """One packet that did not wait for all of its spacing."""
        self._core("hurried", 0)

    def trace_lost(self) -> None:
        """One trace record that did not fit."""
        self._core("trace_lost", 0)

    def tick(self, now_ns: int, throttled: bool, queued: int = 0, spaced: int = 0) -> None:
        """One cycle with rst low: time, packets in the queues, packets that wait for their spacing."""
        self.held = queued, spaced
        if self._throttled and self._now is not None:
            self.throttled_ns += (now_ns - self._now) & MASK48
        self._now, self._throttled = now_ns, throttled
        self.uptime += 1

    def words(self) -> dict[int, int]:
        """All counters as 32-bit words by byte address."""
        result: dict[int, int] = {}

        def put(address: int, value: int) -> None:
            result[address] = value & 0xFFFFFFFF
            result[address + 4] = value >> 32 & 0xFFFFFFFF

        put(0x10C, self.throttled_ns)
        put(0x118, self.uptime)
        result[0x120], result[0x124] = self.held
        for address, (packets, size) in self.pairs.items():
            put(address, packets)
            put(address + 8, size)
        for queue, bins in enumerate(self.bins):
            for number, value in enumerate(bins):
                put(0x1000 + 0x400 * queue + 0x300 + 8 * number, value)
        return result

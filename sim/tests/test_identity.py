"""`weirctl doctor` on a healthy core under traffic, read over buses that take 5 to 20 µs an access (docs/guide-counters.md)."""

from __future__ import annotations

import pytest

import weir
from jumbo_frames import ipv4
from weir.ctl.doctor import _identity
from weir_sim import Core
from weir_sim.frames import udp_frame
from weir_sim.jumbo.packet import JumboFormat
from weir_sim.jumbo.wire import build

QUEUED = 0x120


class SlowBus:
    """A core's registers, each access after `ns` of the core's time; `off` is added to the packets that are in the queues."""

    def __init__(self, core: Core, ns: int, off: int = 0) -> None:
        self.core, self.ns, self.off = core, ns, off

    def csr_read(self, address: int) -> int:
        """Reads a word."""
        self.core.run_until(self.core.now_ns + self.ns)
        return self.core.csr_read(address) + (self.off if address == QUEUED else 0)

    def csr_write(self, address: int, value: int) -> None:
        """Writes a word."""
        self.core.run_until(self.core.now_ns + self.ns)
        self.core.csr_write(address, value)


def bursts(core: Core, count: int, every_ns: int) -> None:
    """600 minimum frames back to back, again and again."""
    start = core.now_ns + 1_000
    data = b"".join(udp_frame(60, n % 64, 2, n) for n in range(600))
    for n in range(count):
        core.send_many(data, [60] * 600, [start + n * every_ns] * 600)


@pytest.mark.parametrize("access_ns", [5_000, 20_000])
def test_doctor_believes_a_healthy_core_over_a_slow_bus(access_ns: int) -> None:
    """What moves between two accesses does not count: up to 500 packets wait one moment, and none the next."""
    core = Core("full", egress="mac")
    core.device.shape(rate=4e9)
    core.device.dscp_map([d % 4 for d in range(64)])
    bursts(core, 130 * access_ns // 5_000, 130_000)
    device = weir.Device(SlowBus(core, access_ns))
    held = []
    while core.pending:
        finding = _identity(device)
        assert finding.state == "ok", finding.what
        held.append(device.core_counters().queued)
    assert len(held) > 5 and max(held) > 100 > min(held), held


def test_doctor_knows_packets_that_wait_for_their_spacing() -> None:
    """Two jumbo frames of 60 packets, a millisecond apart inside: while they wait they are no arrivals."""
    core = Core("full", egress="mac")
    core.device.jumbo("split", spacing="1s")
    for k in range(2):
        packets = [ipv4(100, k, number=n) for n in range(60)]
        core.send(build(packets, [n * 1_000_000 for n in range(60)], JumboFormat(tick=6)), core.now_ns + 500)
    for _ in range(6):
        core.run_until(core.now_ns + 10_300_000)
        state = core.device.state(False)
        arrived = sum(q.arrivals.packets for q in state.queues)
        assert state.core.rx.packets == 120 == arrived + state.core.spaced and state.core.queued == 0
        assert state.core_live.held_packets == state.core.spaced
        assert _identity(core.device).state == "ok"
    assert arrived == 120


@pytest.mark.parametrize(("off", "state"), [(0, "ok"), (1, "wrong"), (40, "wrong"), (400, "wrong")])
def test_doctor_finds_packets_that_are_missing(off: int, state: str) -> None:
    """Against a count of the packets in the queues that is wrong; in a core in which nothing moves one packet is enough."""
    core = Core("full", egress="mac")
    bursts(core, 1, 0)
    core.run_idle()
    device = weir.Device(SlowBus(core, 0, off))
    finding = _identity(device)
    assert finding.state == state, finding.what
    assert (
        finding.what.startswith("600 packets arrived")
        and f"600 left or {'were ' if off else ''}dropped" in finding.what
    )
    assert device.core_counters().queued == off


def test_peaks_lose_nothing_between_two_snapshots() -> None:
    """A burst that comes and goes while a slow bus reads one state shows in the peaks of the next."""
    core = Core("full", egress="mac")
    core.device.shape(rate=4e9)
    device = weir.Device(SlowBus(core, 5_000))
    device.state()
    for _ in range(8):
        bursts(core, 1, 0)
        seen = [device.state(), device.state(), device.state()]
        assert max(s.live[0].peak_packets for s in seen) > 300
        assert min(s.core_live.free_cells_min for s in seen) < device.capabilities.cells - 300
        quiet = device.state()
        assert quiet.live[0].peak_packets < 5

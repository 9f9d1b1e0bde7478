"""libweir on a register device: round trips, atomic application, counters, trace, devices that fail."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weir
from fake_core import FakeCore, RegisterFile, SlaveError
from weir._ffi import ffi, lib

BUFFER = 2047 * 64


def test_capabilities(device: weir.Device) -> None:
    c = device.capabilities
    assert (c.queues, c.cells, c.descriptors, c.data_width, c.cell_bytes) == (4, 2048, 1024, 64, 64)
    assert c.version == (0, 1, 0) and c.line_rate == c.link_rate == 10e9 and c.buffer_bytes == BUFFER
    assert c.policies == ("drop-tail", "red") and c.trace


@pytest.mark.parametrize("queues", [1, 2, 8])
@pytest.mark.parametrize("cells", [64, 16384])
def test_sizes_come_from_the_core(register_map: RegisterFile, queues: int, cells: int) -> None:
    device = weir.Device(FakeCore(register_map, queues=queues, cells=cells, descriptors=16, clock_hz=125000000))
    assert device.capabilities.queues == queues and device.capabilities.line_rate == 8e9
    shown = device.queue_replace(queues - 1, "drop-tail")
    assert shown["limit_bytes"] == (cells - 1) * 64 and shown["limit_packets"] == 16


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"magic": 0xDEADBEEF}, "register 0 reads 0xDEADBEEF, a Weir core has 0x57454952"),
        ({"version": 0x10203}, r"version 1\.2\.3, this library knows 0\.x"),
        ({"cells": 0}, "0 cells"),
        ({"clock_hz": 0}, "at 0 Hz"),
    ],
)
def test_what_is_not_a_weir_core_is_refused(register_map: RegisterFile, changed: dict[str, Any], said: str) -> None:
    core = FakeCore(register_map, **changed)
    with pytest.raises(weir.WeirError, match=said) as refused:
        weir.Device(core)
    assert refused.value.name == "DEVICE" and not core.log


# ---- round trips


@st.composite
def legal(draw: st.DrawFn) -> dict[str, Any]:
    """A legal configuration of RED, over the whole range of every parameter."""
    unit = draw(st.sampled_from(["bytes", "packets", "frames"]))
    limit_bytes, limit_packets = draw(st.integers(64, BUFFER)), draw(st.integers(4, 1024))
    limit = limit_bytes if unit == "bytes" else limit_packets
    low = draw(st.one_of(st.integers(0, limit - 1), st.floats(0, limit - 1)))
    narrowest = low + 1 if isinstance(low, int) else min(limit, low + 1 + 2.0**-11)
    high = draw(st.floats(narrowest, limit))
    ecn = draw(st.booleans())
    return {
        "unit": unit,
        "limit_bytes": limit_bytes,
        "limit_packets": limit_packets,
        "reserve": draw(st.integers(0, 2047)),
        "quantum": draw(st.integers(9216, (1 << 20) - 1)),
        "strict": draw(st.booleans()),
        "front": draw(st.booleans()),
        "min": low,
        "max": high,
        "probability": draw(st.floats(1e-6, 1)),
        "weight": draw(st.one_of(st.floats(2.0**-16, 1), st.floats(-16, 0).map(lambda p: max(2.0**-16, 2**p)))),
        "avpkt": draw(st.integers(16, 9216)),
        "bandwidth": draw(st.one_of(st.floats(1e3, 100e9), st.sampled_from([1e3, 10e6, 100e9]))),
        "gentle": draw(st.booleans()),
        "ecn": ecn,
        "harddrop": draw(st.booleans()),
        "nodrop": ecn and draw(st.booleans()),
        "spread": draw(st.sampled_from(["geometric", "uniform", "uniform-wait"])),
        "bytemode": draw(st.sampled_from(["off", "after", "before"])),
        "exempt_first": draw(st.booleans()),
    }


def close(name: str, shown: float, wanted: float) -> bool:
    """Within the round-trip error of docs/libweir.md."""
    if name in ("min", "max"):
        return abs(shown - wanted) <= 2.0**-12
    if name == "weight":
        return abs(shown - wanted) <= 2.0**-37
    if name == "probability":
        return abs(shown - wanted) <= (2.0**-33 if wanted < 1 - 2.0**-31 else 1.5 * 2.0**-32)
    if name == "bandwidth":
        return math.isclose(shown, wanted, rel_tol=2.0**-18 * (1 + 2.0**-17))
    return shown == wanted


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(legal(), st.integers(0, 3))
def test_a_configuration_reads_back_within_the_documented_error(
    register_map: RegisterFile, natural: dict[str, Any], queue: int
) -> None:
    core = FakeCore(register_map)
    device = weir.Device(core)
    shown = device.queue_replace(queue, "red", **natural)
    assert set(shown) == {"policy", *natural}
    for name, wanted in natural.items():
        assert close(name, shown[name], wanted), (name, shown[name], wanted)
    # what was read back converts to the same words, and so does an empty change
    words = dict(core.words)
    generation = core.address("GENERATION")
    assert device.queue_replace(queue, **shown) == shown
    assert device.queue_change(queue) == shown
    words[generation] = core.words[generation]
    assert core.words == words
    # the shadow words are those of the pure conversion
    for name, value in weir.convert_queue("red", device.capabilities, **natural).items():
        assert core.applied(name, queue) == value


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(64e3, 10e9), st.floats(0, 4.29), st.integers(-32768, 32767), st.integers(0, 16383))
def test_the_shaper_reads_back_within_the_documented_error(
    register_map: RegisterFile, rate: float, seconds: float, overhead: int, mpu: int
) -> None:
    device = weir.Device(FakeCore(register_map))
    burst = seconds * rate / 8
    device.shape(rate, burst, overhead, mpu)
    shown = device.shape_show()
    assert math.isclose(shown["rate"], rate, rel_tol=1.2e-6)
    assert abs(shown["burst"] - burst) <= 0.51 * rate / 8e9 + burst * 1.2e-6
    assert (shown["overhead"], shown["mpu"]) == (overhead, mpu)
    assert device.capabilities.link_rate == shown["rate"]
    device.shape(**shown)
    assert device.shape_show() == shown


@pytest.mark.parametrize("rate", [64e3, 10e9])
def test_the_ends_of_the_shapers_range_can_be_set_again(device: weir.Device, rate: float) -> None:
    device.shape(rate, 0)
    assert device.shape_show()["rate"] == rate
    device.shape(**device.shape_show())


def test_a_core_that_nobody_has_shaped_has_ethernets_least_frame(core: FakeCore, device: weir.Device) -> None:
    """The words after a reset are those of the defaults; a word without MPU, as software that does not know it writes, is none."""
    assert (device.shape_show()["overhead"], device.shape_show()["mpu"]) == (24, 60)
    assert core.applied("SHAPER_OVERHEAD") == 60 << 16 | 24
    device.shape("off")
    assert core.applied("SHAPER_OVERHEAD") == 60 << 16 | 24
    device.register_write(core.address("SHAPER_OVERHEAD"), 24)
    assert (device.shape_show()["overhead"], device.shape_show()["mpu"]) == (24, 0)


def test_the_idle_rate_follows_the_shaped_link(core: FakeCore, device: weir.Device) -> None:
    device.shape("100mbit")
    assert math.isclose(device.queue_replace(0, "red")["bandwidth"], 100e6, rel_tol=1e-5)
    assert math.isclose(device.queue_replace(0, "red", bandwidth="1gbit")["bandwidth"], 1e9, rel_tol=1e-5)
    assert weir.Device(core).capabilities.link_rate == device.capabilities.link_rate
    device.shape(0)
    assert math.isclose(device.queue_replace(0, "red")["bandwidth"], 10e9, rel_tol=1e-5)


def test_after_reset_a_queue_is_drop_tail_with_the_whole_buffer(device: weir.Device) -> None:
    assert device.queue_show(0) == {
        "policy": "drop-tail", "unit": "bytes", "limit_bytes": BUFFER, "limit_packets": 1024, "reserve": 0,
        "quantum": 9216, "strict": False, "front": False,
    }  # fmt: skip
    assert device.queue_change(0, limit="64KB")["limit_bytes"] == 65536


def test_a_change_touches_only_what_is_named(device: weir.Device) -> None:
    before = device.queue_replace(2, "red", limit="100KB", min="5KB", max="15KB", weight=0.002, ecn=True)
    after = device.queue_change(2, probability=0.1)
    assert {k for k in before if before[k] != after[k]} == {"probability"}
    burst = device.queue_change(2, burst=20)
    assert {k for k in before if after[k] != burst[k]} == {"weight"}


# ---- application


def test_all_is_written_before_one_apply(core: FakeCore, device: weir.Device) -> None:
    device.queue_replace(3, "red", limit="100KB", ecn=True)
    block = core.address("POLICY", 3)
    assert [a for a, _ in core.log].count(core.address("APPLY", 3)) == 1
    assert core.log[-1][0] == core.address("APPLY", 3)
    assert all(block <= address < block + 0x100 for address, _ in core.log)
    assert core.applied("POLICY", 3) == 1 and core.applied("LIMIT_BYTES", 3) == 102400


def test_cells_are_never_promised_twice(core: FakeCore, device: weir.Device) -> None:
    def order() -> list[str]:
        names = {core.address("APPLY", 1): "queue", core.address("CORE_APPLY"): "core"}
        found = [names[a] for a, _ in core.log if a in names]
        core.forget()
        return found

    device.queue_replace(1, "drop-tail", reserve=100)
    assert order() == ["core", "queue"] and core.applied("SHARED_CELLS") == 1947
    device.queue_replace(1, "drop-tail", reserve=40)
    assert order() == ["queue", "core"] and core.applied("SHARED_CELLS") == 2007
    device.queue_replace(1, "drop-tail", reserve=40, limit=5000)
    assert order() == ["queue"]


def test_a_device_that_dies_leaves_no_half_configuration(register_map: RegisterFile) -> None:
    """Whichever access fails: the datapath has all of the old configuration, or all of the new. Cells are shared or reserved, but for a
    device that dies between two accesses, the one that shrinks the share and the one that takes over the queue; never both."""
    natural: dict[str, Any] = {
        "limit": "100KB",
        "min": "5KB",
        "max": "15KB",
        "weight": 0.01,
        "ecn": True,
        "reserve": 500,
    }
    reference = FakeCore(register_map)
    weir.Device(reference).queue_replace(1, "red", **natural)
    block = range(reference.address("POLICY", 1), reference.address("APPLY", 1), 4)
    new = {a: reference.live[a] for a in block if a in reference.live}
    outcomes, gaps = set(), 0
    for n in range(200):
        core = FakeCore(register_map)
        device = weir.Device(core)
        old = {a: core.live[a] for a in new}
        core.fail_at = n
        try:
            device.queue_replace(1, "red", **natural)
        except weir.WeirError as failed:
            assert failed.name == "BUS" and "register 0x" in failed.message and "failed" in failed.message
            assert isinstance(failed.__cause__, SlaveError)
        else:
            break
        live = {a: core.live[a] for a in new}
        assert live in (old, new)
        outcomes.add(live == new)
        cells = core.applied("SHARED_CELLS") + core.applied("RESERVE_CELLS", 1)
        assert cells in (2047, 1547)
        gaps += cells == 1547
    else:
        pytest.fail("200 accesses did not configure a queue")
    assert outcomes == {True, False} and gaps == 1


def test_every_call_reports_a_device_that_is_gone(core: FakeCore, device: weir.Device) -> None:
    calls = [
        lambda: device.queue_show(0), lambda: device.queue_replace(0, "red"), lambda: device.shape(1e6),
        device.shape_show, device.dscp_map, lambda: device.dscp_map({0: 1}), device.default_queue,
        lambda: device.default_queue(1), device.max_frame, lambda: device.max_frame(1518), device.shared_cells,
        lambda: device.seed(1), lambda: device.fix_draw(1), device.reset, device.snapshot, lambda: device.counters(0),
        device.core_counters, lambda: device.live(0), device.core_live, device.trace_enable, device.trace_level,
        device.trace_read, lambda: device.register_read(0), lambda: device.register_write(0x30, 1),
    ]  # fmt: skip
    for call in calls:
        core.fail_at = 0
        with pytest.raises(weir.WeirError, match="check that the device is there") as failed:
            call()
        assert failed.value.name == "BUS"
        core.fail_at = None
        call()


def test_an_interrupt_passes_through_the_library(register_map: RegisterFile) -> None:
    class Interrupted(FakeCore):
        def csr_read(self, address: int) -> int:
            if armed:
                raise KeyboardInterrupt
            return super().csr_read(address)

    armed = False
    device = weir.Device(Interrupted(register_map))
    armed = True
    with pytest.raises(KeyboardInterrupt):
        device.queue_show(0)
    armed = False
    assert device.queue_show(0)["policy"] == "drop-tail"


@pytest.mark.parametrize("call", ["snapshot", "reset"])
def test_a_core_that_never_finishes_is_given_up(core: FakeCore, device: weir.Device, call: str) -> None:
    core.busy = 10**9
    with pytest.raises(weir.WeirError, match=r"did not finish .* \(STATUS 0x0000000[0-9A-F]\)") as failed:
        getattr(device, call)()
    assert failed.value.name == "TIMEOUT"


def test_a_closed_device_says_so(device: weir.Device) -> None:
    device.close()
    device.close()
    with pytest.raises(weir.WeirError, match="closed"):
        device.queue_show(0)


def test_threads_do_not_mix_their_configurations(core: FakeCore, device: weir.Device) -> None:
    """Two writers of one queue: what is applied is one of the two, never a mixture."""
    words = {
        n: weir.convert_queue("red", device.capabilities, min=1000 * n, max=2000 * n, weight=0.5**n) for n in (1, 9)
    }
    errors: list[BaseException] = []

    def write(n: int) -> None:
        try:
            for _ in range(40):
                device.queue_replace(0, "red", min=1000 * n, max=2000 * n, weight=0.5**n)
                with pytest.raises(weir.WeirError, match=f"weight {n + 1} is out of range"):
                    device.queue_replace(0, "red", weight=n + 1)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in (1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    start = core.address("POLICY", 0)
    writes = [(a, v) for a, v in core.log if start <= a <= core.address("APPLY", 0)]
    assert len(writes) == 80 * 18
    for first in range(0, len(writes), 18):
        assert [v for _, v in writes[first : first + 17]] in [list(w.values()) for w in words.values()]


# ---- the rest of the core


def test_core_registers(core: FakeCore, device: weir.Device) -> None:
    assert device.default_queue(2) == 2 and core.applied("DEFAULT_QUEUE") == 2
    assert device.max_frame(1518) == 1518 and core.applied("MAX_FRAME") == 1518
    of_reset = {"ethertype": 0x88B5, "protocol": 253, "form": "l2", "tick": 6, "spacing": 0.0}
    assert device.jumbo() == {"mode": "opaque"} | of_reset
    assert device.jumbo("split") == {"mode": "split"} | of_reset
    assert (core.applied("JUMBO"), core.applied("JUMBO_TYPE")) == (1 | 6 << 8, 253 << 16 | 0x88B5)
    assert device.jumbo("split", spacing="12345ns") == {"mode": "split"} | of_reset | {"spacing": 12.345}
    assert core.applied("SPACING") == 1 << 31 | 12345
    assert device.jumbo("transit") == {"mode": "transit"} | of_reset and core.applied("JUMBO") == 2 | 6 << 8
    assert device.jumbo("opaque", 0x88B6, 254, form="l3", tick=16)["mode"] == "opaque"
    assert (core.applied("JUMBO"), core.applied("JUMBO_TYPE")) == (1 << 4 | 16 << 8, 254 << 16 | 0x88B6)
    assert device.jumbo() == {"mode": "opaque", "ethertype": 0x88B6, "protocol": 254, "form": "l3", "tick": 16,
                              "spacing": 0.0}  # fmt: skip
    assert core.applied("SPACING") == 1_000_000
    device.fix_draw(0xABCDEF)
    assert core.applied("LFSR_FIXED") == 1 << 31 | 0xABCDEF
    device.fix_draw(None)
    assert core.applied("LFSR_FIXED") == 0
    device.seed(0x0123456789ABCDEF)
    assert core.log[-2:] == [(core.address("LFSR_SEED_LO"), 0x89ABCDEF), (core.address("LFSR_SEED_HI"), 0x01234567)]
    device.shape("1gbit", 3000, -4)
    assert core.applied("SHAPER_COST_LO") == 8 << 19 and core.applied("SHAPER_COST_HI") == 0
    assert core.applied("SHAPER_BURST") == 24000 and core.applied("SHAPER_OVERHEAD") == 60 << 16 | 0xFFFC
    device.shape("1gbit", 3000, -4, 0)
    assert core.applied("SHAPER_OVERHEAD") == 0xFFFC
    device.shape("1gbit", mpu=16383)
    assert core.applied("SHAPER_OVERHEAD") == 16383 << 16 | 24
    device.shape("64kbit")
    assert core.applied("SHAPER_COST_HI") << 32 | core.applied("SHAPER_COST_LO") == 125000 << 19
    device.reset()
    device.snapshot()
    assert (core.resets, core.snapshots) == (1, 1)
    device.register_write(core.address("SCRATCH"), 0xCAFE)
    assert device.register_read(core.address("SCRATCH")) == 0xCAFE


def test_dscp_map(core: FakeCore, device: weir.Device) -> None:
    assert device.dscp_map() == [0] * 64
    changed = device.dscp_map({0: 3, 46: 1, 63: 2})
    assert (changed[0], changed[46], changed[63], sum(changed)) == (3, 1, 2, 6)
    assert (
        core.applied("DSCP_MAP0") == 3 and core.applied("DSCP_MAP5") == 1 << 24 and core.applied("DSCP_MAP7") == 2 << 28
    )
    queues = [d % 4 for d in range(64)]
    assert device.dscp_map(queues) == queues


def put(core: FakeCore, name: str, value: int, queue: int | None = None) -> None:
    core.words[core.address(f"{name}_LO", queue)] = value & 0xFFFFFFFF
    core.words[core.address(f"{name}_HI", queue)] = value >> 32


def test_merging(core: FakeCore, device: weir.Device) -> None:
    assert device.merge(0) == {"mode": "off", "max_bytes": 9216, "max_sum": 8960, "max_count": 448}
    assert device.merge(3, "flow", 1500, max_count=2) == {
        "mode": "flow",
        "max_bytes": 1500,
        "max_sum": 8960,
        "max_count": 2,
    }
    names = ("MERGE", "MERGE_MAX_BYTES", "MERGE_MAX_SUM", "MERGE_MAX_COUNT")
    assert [core.applied(name, 3) for name in names] == [1, 1500, 8960, 2]
    before = list(core.log)
    for arguments, sentence in (
        ((4, "flow"), "queue 4 is out of range"),
        ((0, "classes"), "merge mode 'classes' is not known; allowed is off, flow or class"),
        ((0, "flow", 63), "merge max_bytes 63 is out of range: allowed is 64 to 9216"),
        ((0, "flow", 9217), "max_bytes 9217"),
        ((0, "flow", 0, 39), "merge max_sum 39 is out of range: allowed is 40 to 8960"),
        ((0, "flow", 0, 0, 1), "merge max_count 1 is out of range: allowed is 2 to 448"),
    ):
        with pytest.raises(weir.WeirError, match=sentence):
            device.merge(*arguments)
    assert core.log == before


def test_every_counter_is_read_from_its_own_registers(core: FakeCore, device: weir.Device) -> None:
    queue_names = ["nodrop", "in_not_ect", "in_ect1", "in_ect0", "in_ce", "early", "forced", "overflow", "marked", "already_ce",
                   "out", "link_down", "front", "head_dropped", "head_marked", "partial", "head_already_ce"]  # fmt: skip
    jumbo_names = ["malformed", "jumbo_in", "split_discarded", "rx_wire", "jumbo_out", "merged"]
    core_names = ["rx", "tx", "bad", "runt", "oversize", "ingress_overflow"]
    for q in range(4):
        for i, name in enumerate(queue_names):
            put(core, f"{name.upper()}_PACKETS", (q + 1 << 40) + i, q)
            put(core, f"{name.upper()}_BYTES", (q + 1 << 50) + i, q)
        for b in range(32):
            put(core, f"SOJOURN{b}", (q + 1 << 33) + b, q)
    for i, name in enumerate(core_names):
        put(core, f"{name.upper()}_PACKETS", (1 << 60) + i)
        put(core, f"{name.upper()}_BYTES", (1 << 61) + i)
    put(core, "TRACE_LOST_PACKETS", 7 << 32)
    put(core, "THROTTLED", 8 << 32 | 1)
    put(core, "UPTIME", 9 << 32 | 2)
    core.words[core.address("QUEUED_PACKETS")], core.words[core.address("SPACED_PACKETS")] = 1234, 56
    for q in range(4):
        counters = device.counters(q)
        for i, name in enumerate(queue_names):
            count = weir.Count((q + 1 << 40) + i, (q + 1 << 50) + i)
            if name == "out":  # OUT, HEAD_MARKED and HEAD_ALREADY_CE
                count = weir.Count(count.packets + 2 * (q + 1 << 40) + 30, count.bytes + 2 * (q + 1 << 50) + 30)
            assert getattr(counters, name) == count
        assert counters.sojourn == tuple((q + 1 << 33) + b for b in range(32))
        assert counters.arrivals.packets == 4 * (q + 1 << 40) + 10
    for i, name in enumerate(jumbo_names):
        put(core, f"{name.upper()}_PACKETS", (1 << 59) + i)
        put(core, f"{name.upper()}_BYTES", (1 << 58) + i)
    totals = device.core_counters()
    for i, name in enumerate(jumbo_names):
        assert getattr(totals, name) == weir.Count((1 << 59) + i, (1 << 58) + i)
    for i, name in enumerate(core_names):
        assert getattr(totals, name) == weir.Count((1 << 60) + i, (1 << 61) + i)
    assert (totals.trace_lost, totals.throttled_ns, totals.uptime) == (7 << 32, 8 << 32 | 1, 9 << 32 | 2)
    assert (totals.queued, totals.spaced) == (1234, 56)


def test_a_core_without_jumbo_frames(register_map: RegisterFile) -> None:
    core = FakeCore(register_map, jumbo=False)
    device = weir.Device(core)
    assert device.jumbo("opaque")["mode"] == "opaque"
    with pytest.raises(weir.WeirError, match="this core cannot split jumbo frames") as refused:
        device.jumbo("split")
    assert refused.value.name == "UNSUPPORTED" and not core.log
    put(core, "RX_PACKETS", 5)
    put(core, "RX_BYTES", 500)
    totals = device.core_counters()
    assert totals.rx_wire == totals.rx == weir.Count(5, 500)
    assert totals.malformed == totals.jumbo_in == totals.split_discarded == weir.Count(0, 0)


def test_live_values(core: FakeCore, device: weir.Device) -> None:
    names = ["LIVE_BYTES", "LIVE_PACKETS", "LIVE_FRAMES", "LIVE_CELLS", "LIVE_AVERAGE", "PEAK_BYTES", "PEAK_PACKETS"]
    for i, name in enumerate(names):
        core.words[core.address(name, 2)] = 1000 + i
    assert device.live(2) == weir.QueueLive(1000, 1001, 1002, 1003, 1004 / 2048, 1005, 1006)
    for i, name in enumerate(["FREE_CELLS", "FREE_CELLS_MIN", "HELD_PACKETS", "GENERATION"]):
        core.words[core.address(name)] = 50 + i
    put(core, "NOW", 0x123456789ABC)
    core.words[core.address("STATUS")] = 0b00101
    assert device.core_live() == weir.CoreLive(0x123456789ABC, 50, 51, 52, 53, True, False, True)


# ---- trace

ARRIVAL = [0x11223344, 0x8000 | 3 << 16 | 0 << 20 | 2 << 22 | 1 << 24 | 2 << 28 | 1 << 30, 9216 | 1 << 16 | 2 << 20,
           2000000, 300 | 200 << 16, 0xFFFFFFFF, 0xFFE00000, 12345, 0x80000000, 0xABCDEF, 0x3FFFFE, 77]  # fmt: skip
DEPARTURE = [
    5,
    1 << 16 | 1 << 20 | 2 << 22 | 4 << 24,
    1518 | 1 << 14,
    10,
    2 | 1 << 16,
    0x89ABCDEF,
    0x4567,
    0,
    0,
    0,
    0,
    9,
]


def test_trace_records_are_decoded() -> None:
    arrival = weir.decode_trace(ARRIVAL)
    assert arrival.time_ns == 0x8000 << 32 | 0x11223344
    assert (arrival.queue, arrival.kind, arrival.action, arrival.cause, arrival.ecn) == (
        3,
        "arrival",
        "drop",
        "early",
        2,
    )
    assert arrival.exempt and (arrival.length, arrival.policy, arrival.unit) == (9216, 1, 2)
    assert (arrival.bytes, arrival.packets, arrival.frames) == (2000000, 300, 200)
    assert arrival.average_raw == (1 << 43) - 1 and arrival.average == ((1 << 43) - 1) / (1 << 22)
    assert (arrival.p_raw, arrival.p) == (1 << 31, 0.5)
    assert (arrival.count, arrival.draw, arrival.idle_slots, arrival.number) == (12345, 0xABCDEF, 0x3FFFFE, 77)
    certain = weir.decode_trace([ARRIVAL[0], ARRIVAL[1] | 1 << 31, *ARRIVAL[2:8], 0, *ARRIVAL[9:]])
    assert certain.p == 1.0 and certain.p_raw == 1 << 32
    departure = weir.decode_trace(DEPARTURE)
    assert (departure.kind, departure.queue, departure.action, departure.cause) == ("departure", 1, "drop", "link_down")
    assert departure.marked and departure.length == 1518 and departure.sojourn_ns == 0x456789ABCDEF
    assert departure.average_raw == departure.p_raw == departure.draw == 0 and departure.number == 9
    front = weir.decode_trace([*DEPARTURE[:1], DEPARTURE[1] & ~(15 << 24) | 5 << 24, *DEPARTURE[2:]])
    assert (front.action, front.cause) == ("drop", "front")
    tick = weir.decode_trace([5, 7 | 2 << 16 | 2 << 20, 6 << 16, 11, 12, 13, 0xFFFFFFFF, 99, 99, 99, 99, 99])
    assert (tick.kind, tick.queue, tick.policy, tick.time_ns) == ("tick", 2, 6, 7 << 32 | 5)
    assert tick.state == (11, 12, 13, 0xFFFFFFFF)
    transit = weir.decode_trace([*ARRIVAL[:2], ARRIVAL[2] & ~(0x1FF << 22) | 448 << 22, *ARRIVAL[3:]])
    assert transit.members == 448 and (transit.length, transit.unit) == (arrival.length, arrival.unit)
    assert tick.length == tick.bytes == tick.packets == tick.sojourn_ns == tick.number == 0
    with pytest.raises(weir.WeirError, match="a trace record of 3 words"):
        weir.decode_trace([1, 2, 3])


def test_trace_is_read_until_it_is_empty(core: FakeCore, device: weir.Device) -> None:
    device.trace_enable(queues=[0, 3])
    assert core.applied("TRACE_CTRL") == 1 | 2 | 4 | 8 | 0b1001 << 8
    device.trace_enable(departures=False)
    assert core.applied("TRACE_CTRL") == 1 | 2 | 8 | 0b1111 << 8
    device.trace_enable(arrivals=False, ticks=False, queues=[])
    assert core.applied("TRACE_CTRL") == 1 | 4
    device.trace_enable(False)
    assert core.applied("TRACE_CTRL") == 0
    core.records.extend([ARRIVAL, DEPARTURE])
    assert device.trace_level() == 2
    assert [r.number for r in device.trace()] == [77, 9]
    assert device.trace_read() is None


def test_a_core_without_a_trace_says_so(register_map: RegisterFile) -> None:
    core = FakeCore(register_map, trace=False)
    device = weir.Device(core)
    assert not device.capabilities.trace
    core.forget()
    for call in (device.trace_enable, lambda: device.trace_enable(False), device.trace_level, device.trace_read,
                 lambda: next(device.trace())):  # fmt: skip
        with pytest.raises(weir.WeirError, match="the trace is not built into this core") as refused:
            call()
        assert refused.value.name == "UNSUPPORTED"
    assert not core.log and not core.reads
    assert device.core_counters().trace_lost == 0


# ---- native bus


def test_a_native_bus_is_used_without_python(register_map: RegisterFile) -> None:
    """Function pointers: here the library's own register calls, on another handle."""
    inner = weir.Device(FakeCore(register_map))
    address = {n: int(ffi.cast("uintptr_t", ffi.addressof(lib, f"weir_register_{n}"))) for n in ("read", "write")}
    bus = weir.NativeBus(int(ffi.cast("uintptr_t", inner._handle)), address["read"], address["write"], owner=inner)
    device = weir.Device(bus)
    assert device.queue_replace(0, "red", limit="100KB") == inner.queue_show(0)
    with pytest.raises(weir.WeirError, match="reading register 0xFFFC failed"):
        device.register_read(0xFFFC)

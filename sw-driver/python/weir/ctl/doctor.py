"""`weirctl doctor`: looks at a device and says what is not as it should be."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import weir

from . import text
from .context import Context
from .errors import DONE, UNSOUND
from .queue import all_other_rates
from .words import Words

HELP = """\
weirctl doctor                             is this device well? -j: JSON. Exit code 3 if something is wrong

It writes the SCRATCH register (and puts it back) and takes a snapshot; traffic is not disturbed.
"""
#: arrivals that are being decided and packets that are being released; of a jumbo frame in transit its packets come one by one
UNDER_WAY, MOST_PACKETS = 32, 448
_SCRATCH, _PATTERNS = 0x030, (0x00000000, 0xFFFFFFFF, 0xA5A5A5A5, 0x5A5A5A5A, 0x7D7E7D7E)


@dataclass(frozen=True)
class Finding:
    """What an examination found: "ok", "note" or "wrong"."""

    state: str
    what: str


def _scratch(device: weir.Device) -> Finding:
    with device.lock():
        before = device.register_read(_SCRATCH)
        wrong = []
        for pattern in _PATTERNS:
            device.register_write(_SCRATCH, pattern)
            if (read := device.register_read(_SCRATCH)) != pattern:
                wrong.append(f"wrote 0x{pattern:08X}, read 0x{read:08X}")
        device.register_write(_SCRATCH, before)
    if wrong:
        return Finding("wrong", f"SCRATCH does not keep what is written: {wrong[0]}; check the bus")
    return Finding("ok", f"registers keep what is written ({len(_PATTERNS)} patterns)")


def _line(device: weir.Device) -> Finding:
    begun = device.link_counters()
    times = []
    for _ in range(10):
        start = time.perf_counter()
        device.register_read(0)
        times.append(time.perf_counter() - start)
    now = device.link_counters()
    each = f"{sorted(times)[5] * 1e3:.2f} ms an access"
    if not now.requests:
        return Finding("ok", each)
    if now.repeated > begun.repeated or now.corrupted > begun.corrupted:
        return Finding(
            "wrong",
            f"the line loses requests: {now.repeated} repeated, {now.corrupted} frames damaged; check the cable",
        )
    return Finding("ok", f"{each}, no request lost")


def _clock(device: weir.Device) -> Finding:
    first = device.core_live().now_ns
    time.sleep(0.02)
    second = device.core_live().now_ns
    passed = (second - first) % (1 << 48)
    if not passed:
        return Finding("wrong", "the device's time stands still; check its clock")
    return Finding("ok", f"time passes ({text.about_ns(passed)} of device time in 20 ms and two accesses)")


def _state(device: weir.Device) -> Finding:
    live = device.core_live()
    if live.resetting:
        return Finding(
            "wrong", "a reset is being carried out and does not end; check that frames at the egress are taken"
        )
    if not live.link_up:
        return Finding("wrong", "the egress has no link: everything is dropped there; check the cable and the MAC")
    return Finding("ok", "link up, no reset pending")


def _cells(device: weir.Device) -> Finding:
    c = device.capabilities
    shared = device.shared_cells()
    reserved = sum(device.queue_show(q)["reserve"] for q in range(c.queues))
    if shared + reserved > c.cells - 1:
        return Finding("wrong", f"{shared} shared and {reserved} reserved cells are more than {c.cells - 1}: some are promised "
                                "twice; configure a queue again")  # fmt: skip
    if shared + reserved < c.cells - 1:
        return Finding("wrong", f"{shared} shared and {reserved} reserved cells leave {c.cells - 1 - shared - reserved} of {c.cells - 1} "
                                "that nobody can use; configure a queue again")  # fmt: skip
    return Finding("ok", f"{shared} cells shared, {reserved} reserved of {c.cells - 1}")


def _queues(device: weir.Device) -> Finding:
    problems = []
    for q in range(device.capabilities.queues):
        try:
            shown = device.queue_show(q)
            device.queue_check(q, shown["policy"], **{k: v for k, v in shown.items() if k != "policy"})
        except weir.WeirError as error:
            problems.append(f"queue {q}: {error.message}")
    if problems:
        return Finding("wrong", problems[0])
    return Finding("ok", "every queue's configuration is one that libweir would write")


def _rates(device: weir.Device) -> Finding:
    """RED's bandwidth and FN's capacity stay as they were set when the shaper changes."""
    if found := all_other_rates(device):
        return Finding("note", "; ".join(found))
    return Finding("ok", "no queue is configured for another rate than the link's")


def _merging(device: weir.Device) -> Finding:
    """While packets that are split wait for their spacing nothing is merged (docs/modules/spacing.md)."""
    merging = [str(q) for q in range(device.capabilities.queues) if device.merge(q)["mode"] != "off"]
    if not merging:
        return Finding("ok", "no queue merges")
    jumbo = device.jumbo()
    if jumbo["mode"] == "split" and jumbo["spacing"]:
        return Finding("note", f"merging is on (queue {', '.join(merging)}), but nothing is merged while packets that are split wait for "
                               "their spacing; `weirctl split on spacing off`, or `weirctl merge N off`")  # fmt: skip
    return Finding("ok", f"merging is on (queue {', '.join(merging)}), and no spacing keeps packets from it")


def _windows(device: weir.Device) -> Finding:
    """FN's windows share a pool."""
    taken = []
    for q in range(device.capabilities.queues):
        if device.queue_show(q)["policy"] == "fn":
            word = device.register_read(0x1000 + 0x400 * q + 0x084)
            taken.append((word >> 16 & 0xFFF, word & 0x1FFF, q))
    for (a, size, one), (b, _, other) in zip(sorted(taken), sorted(taken)[1:], strict=False):
        if a + size > b:
            return Finding(
                "wrong", f"the windows of FN of queues {one} and {other} overlap; configure one of them again"
            )
    return Finding("ok", f"{len(taken)} windows of FN, none overlap" if taken else "no queue runs FN")


def _identity(device: weir.Device) -> Finding:
    """Arrivals = departures + drops + those in the queues, all of one snapshot. While packets move, those that are under way are counted on
    one side only; a core in which nothing moves has none, and is looked at three times, for it may have moved in between."""
    transit = device.capabilities.jumbo and device.jumbo()["mode"] == "transit"
    most = UNDER_WAY + MOST_PACKETS * transit
    for _ in range(3):
        quiet = device.core_live().quiet
        state = device.state(False)
        held = state.core.queued
        arrived = sum(q.arrivals.packets for q in state.queues)
        gone = sum(q.out.packets + q.early.packets + q.forced.packets + q.overflow.packets + q.front.packets + q.partial.packets
                   + q.head_dropped.packets + q.link_down.packets for q in state.queues)  # fmt: skip
        moving = arrived - gone - held
        if moving == 0 or abs(moving) <= most and not (quiet and device.core_live().quiet):
            under_way = f", {abs(moving)} under way" if moving else ""
            return Finding(
                "ok", f"{arrived} packets arrived = {gone} left or dropped + {held} in the queues{under_way}"
            )
        if abs(moving) > most:
            break
    return Finding("wrong", f"{arrived} packets arrived, {gone} left or were dropped, {held} wait: they do not add up")


def _losses(device: weir.Device) -> Finding:
    core = device.core_counters()
    lost = {n: getattr(core, n).packets for n in ("bad", "runt", "oversize", "malformed", "ingress_overflow")}
    if core.trace_lost:
        lost["trace records"] = core.trace_lost
    if any(lost.values()):
        return Finding(
            "note", "since the last reset: " + ", ".join(f"{n.replace('_', ' ')} {v}" for n, v in lost.items() if v)
        )
    return Finding("ok", "no frame refused at the ingress, no trace record lost")


EXAMINATIONS: tuple[tuple[str, Callable[[weir.Device], Finding]], ...] = (
    ("line", _line), ("registers", _scratch), ("clock", _clock), ("state", _state), ("cells", _cells), ("queues", _queues),
    ("windows", _windows), ("rates", _rates), ("merging", _merging), ("counters", _identity), ("losses", _losses),
)  # fmt: skip


def run(context: Context, words: Words) -> int:
    """The verb."""
    words.end()
    device = context.device
    c = device.capabilities
    what = f"Weir {'.'.join(map(str, c.version))}, {c.queues} queues, {c.cells} cells, {len(c.policies)} policies"
    found = {"device": Finding("ok", what)}
    for name, examine in EXAMINATIONS:
        found[name] = examine(device)
    if context.options.json:
        context.json({name: {"state": f.state, "what": f.what} for name, f in found.items()})
    else:
        for name, f in found.items():
            context.say(f"{f.state:<6}{name:<11}{f.what}")
    return UNSOUND if any(f.state == "wrong" for f in found.values()) else DONE

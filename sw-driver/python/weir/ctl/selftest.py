"""`weirctl selftest`: known arrivals through the decision units, and whether the verdicts are the known ones."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import weir

from . import regs, scene
from .context import Context
from .errors import DONE, UNSOUND, Ended, Refusal
from .interrupt import interrupted_quits
from .words import Words

HELP = """\
weirctl -d sim:PRESET selftest             a built-in arrival trace through the decision units; the verdicts' hash is compared
weirctl selftest                           other devices: every bit of the queues' shadow registers but the policy's number,
                                           and counters, since frames cannot be sent from here. Nothing is applied, and old
                                           values come back, but in a register that is found wrong: configure its queue anew

Exit code 3 if something is wrong. Registers are those of the map: WEIR_REGS or build/rtl/weir_regs.json.
"""
_SHAPER_BITS = 64000
_PATTERNS = (0x5A5A5A5A, 0xA5A5A5A5)
_POLICY = 0xF
"""bits of POLICY that name the policy"""
_APPLY, _STRIDE = 0x10FC, 0x400
"""address of the first queue's APPLY (docs/architecture.md, Register map)"""


def verdicts(preset: str) -> list[tuple[int, str, str]]:
    """Queue, action and cause of each arrival of the scene, decided by the RTL of a preset. Raises ImportError."""
    with interrupted_quits("weirctl"):
        from weir_sim import Core
        from weir_sim.frames import udp_frame

    core = Core(preset, egress="mac", line="raw")
    device = core.device
    last = device.capabilities.queues
    if last < len(scene.QUEUES):
        raise Refusal(f"the scene needs {len(scene.QUEUES)} queues, preset {preset} has {last}; try sim:full")
    device.seed(scene.SEED)
    device.shape(_SHAPER_BITS, 0)
    device.dscp_map({8 * q: q for q in range(len(scene.QUEUES))})
    for queue, (policy, values) in enumerate(scene.QUEUES):
        device.queue_replace(queue, policy, **values)
    device.trace_enable(departures=False, ticks=False)
    start = core.now_ns + 10_000
    for n, a in enumerate(scene.arrivals()):
        core.send(udp_frame(a.length, 8 * a.queue, a.ecn, n), start + n * scene.GAP_NS)
    core.run_until(start + (scene.ARRIVALS + 5) * scene.GAP_NS)
    words, _ = core.trace_words()
    records = [weir.decode_trace([int(w) for w in row]) for row in words]
    return [(r.queue, r.action, r.cause) for r in records if r.kind == "arrival"]


def outcomes(preset: str, part: scene.Part) -> list[tuple[int, str, str]] | None:
    """Queue, action and cause of each arrival and departure of another part; none if the preset lacks one of its policies. Raises
    ImportError."""
    from weir_sim import Core

    core = Core(preset, egress="mac", line="raw")
    device = core.device
    if not {policy for policy, _ in part.queues} <= set(device.capabilities.policies):
        return None
    device.dscp_map([q % len(part.queues) for q in range(64)])
    for queue, (policy, values) in enumerate(part.queues):
        device.queue_replace(queue, policy, **values)
    device.shape(scene.RATE)
    device.trace_enable()
    play(core, part, lambda queue: core.csr_write(_APPLY + queue * _STRIDE, 1), core.send)
    words, _ = core.trace_words()
    records = [weir.decode_trace([int(w) for w in row]) for row in words]
    return [(r.queue, r.action, r.cause) for r in records if r.kind != "tick"]


def play(core: Any, part: scene.Part, apply: Callable[[int], None], send: Callable[[bytes, int], None]) -> None:
    """A part's frames, through a core that is configured for it; `apply` has a queue take over its words again."""
    from weir_sim.frames import udp_frame

    core.device.seed(scene.SEED)
    for queue in range(len(part.queues)):
        core.run_until(scene.START_NS + queue * 100_000)
        apply(queue)
    start = scene.START_NS + 1_000_000
    for n, a in enumerate(scene.arrivals()):
        send(udp_frame(a.length, a.queue, a.ecn, n), start + n * scene.SLOW_GAP_NS)
    core.run_until(start + (scene.ARRIVALS + 2000) * scene.SLOW_GAP_NS)


def _model(preset: str) -> tuple[bool, str]:
    try:
        parts = [(part, found) for part in scene.PARTS if (found := outcomes(preset, part)) is not None]
        scenes = [(verdicts(preset), scene.EXPECTED), *((found, part.expected) for part, found in parts)]
    except ImportError as error:
        raise Ended(1, f"the cycle model's Python package is not there: {error}") from None
    except Exception as error:
        if type(error).__name__ not in ("ModelError", "UsageError"):  # not built; no such preset
            raise
        raise Ended(1, str(error)) from None
    policies = ", ".join(
        dict.fromkeys(policy for queues in (scene.QUEUES, *(p.queues for p, _ in parts)) for policy, _ in queues)
    )
    hashes = [(scene.digest(found), expected) for found, expected in scenes]
    counted = Counter(
        action if cause == "none" else f"{action} {cause}" for found, _ in scenes for _, action, cause in found
    )
    said = ", ".join(f"{what} {n}" for what, n in sorted(counted.items()))
    arrivals = f"{len(scenes) * scene.ARRIVALS} arrivals"
    if all(found == expected for found, expected in hashes):
        return (
            True,
            f"{arrivals} decided as the golden models do, with {policies}: {said} (hashes {', '.join(h[:16] for h, _ in hashes)})",
        )
    wrong = ", ".join(
        f"part {n}: hash {found[:16]}, not {expected[:16]}"
        for n, (found, expected) in enumerate(hashes, 1)
        if found != expected
    )
    return False, f"{arrivals}, other verdicts than those of the golden models: {said} ({wrong})"


def _built(register: regs.Register, capabilities: weir.Capabilities) -> bool:
    if register.jumbo:
        return capabilities.jumbo
    return register.policy is None or register.policy in capabilities.policies


def _shadows(device: weir.Device) -> tuple[bool | None, str]:
    """Writes each bit of every shadow register of the queues, of every policy that is built, as 0 and as 1, and reads it back. What was
    there comes back, APPLY is never written. None without a register map."""
    tried = 0
    capabilities = device.capabilities
    if not regs.registers(0):
        return None, "not tried: there is no register map; set WEIR_REGS to weir_regs.json"
    with device.lock():
        for queue in range(capabilities.queues):
            shadows = [r for r in regs.registers(queue).values() if r.kind == "shadow" and _built(r, capabilities)]
            for register in shadows:
                if wrong := _shadow(device, register):
                    return False, f"{register.name} of queue {queue} (0x{register.address:04X}): {wrong}"
            tried += len(shadows)
    return True, f"{tried} shadow registers keep what is written; the old values are back, nothing was applied"


def _shadow(device: weir.Device, register: regs.Register) -> str:
    """What is wrong with a shadow register, or nothing."""
    address = register.address
    try:
        before = device.register_read(address)
    except weir.WeirError as error:
        return f"cannot be read: {error.message}"
    # a policy that is not built is refused: the queue's own number stays
    fixed = _POLICY if register.name == "POLICY" else 0
    wrong = ""
    try:
        for pattern in _PATTERNS:
            word = pattern & register.mask & ~fixed | before & fixed
            device.register_write(address, word)
            if (read := device.register_read(address)) != word:
                wrong = wrong or f"wrote 0x{word:08X}, read 0x{read:08X}"
    except weir.WeirError as error:
        wrong = wrong or f"cannot be written: {error.message}"
    finally:
        with contextlib.suppress(weir.WeirError):  # whether it is back is looked at below
            device.register_write(address, before)
    try:
        read = device.register_read(address)
    except weir.WeirError as error:
        return f"{wrong or 'cannot be read again'}; whether it holds 0x{before:08X} again is not known: {error.message}"
    if read != before:
        wrong = f"{wrong}; " if wrong else ""
        wrong += f"held 0x{before:08X}, does not take it back: 0x{read:08X}"
    return wrong


def _counters(device: weir.Device) -> tuple[bool, str]:
    """Two snapshots: counters never go back, time passes."""
    first, second = device.state(), device.state()
    if second.core.uptime <= first.core.uptime:
        return False, "UPTIME does not grow from snapshot to snapshot"
    for q, (a, b) in enumerate(zip(first.queues, second.queues, strict=True)):
        if b.arrivals.packets < a.arrivals.packets or b.out.packets < a.out.packets:
            return False, f"a counter of queue {q} has gone back"
    return True, "counters grow from snapshot to snapshot"


def run(context: Context, words: Words) -> int:
    """The verb."""
    words.end()
    results: list[tuple[str, bool | None, str]] = []
    if context.uri.startswith("sim:") and "/" not in context.uri:
        results.append(("verdicts", *_model(context.uri.partition(":")[2] or "full")))
    else:
        results.append(("verdicts", None, "not tried: frames cannot be sent from here (sim:PRESET can)"))
    results.append(("shadows", *_shadows(context.device)))
    results.append(("counters", *_counters(context.device)))
    if context.options.json:
        context.json({name: {"passed": passed, "what": what} for name, passed, what in results})
    else:
        for name, passed, what in results:
            context.say(f"{ {True: 'ok', False: 'wrong', None: 'skip'}[passed]:<6}{name:<11}{what}")
    return UNSOUND if any(passed is False for _, passed, _ in results) else DONE

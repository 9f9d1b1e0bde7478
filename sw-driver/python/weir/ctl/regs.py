"""`weirctl regs`: registers as they are, by name or address."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import weir

from .context import Context
from .errors import Refusal
from .words import Words, near

HELP = """\
weirctl regs                               registers of the core and of the queues, without counters
weirctl regs NAME|0xADDRESS                one, with its fields
weirctl regs queue N [NAME]                of a queue
weirctl regs [queue N] NAME|0xADDRESS VALUE    writes it, unchecked; configuration counts from the next APPLY on

Names are those of build/site/registers.html, which `make docs` makes; the map is WEIR_REGS or build/rtl/weir_regs.json.
Addresses work without it.
"""


@dataclass(frozen=True)
class Register:
    """A register of the map at an address of the device."""

    name: str
    address: int
    access: str
    kind: str
    mask: int
    fields: tuple[tuple[str, int, int], ...]
    policy: str | None
    jumbo: bool
    trace: bool


@cache
def _map() -> dict[str, Any] | None:
    named = os.environ.get("WEIR_REGS")
    path = Path(named) if named else Path(__file__).resolve().parents[4] / "build" / "rtl" / "weir_regs.json"
    try:
        described: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return described


def registers(queue: int | None) -> dict[str, Register]:
    """The registers of block 0, or of a queue's; empty without a map."""
    described = _map()
    if described is None:
        return {}
    block = described["blocks"][0 if queue is None else 1]
    base = block["base"] + (queue or 0) * block["stride"]
    return {
        r["name"]: Register(r["name"], base + r["offset"], r["access"], r["kind"], r["mask"],
                            tuple((f["name"], f["high"], f["low"]) for f in r["fields"]), r["policy"], r["jumbo"], r["trace"])
        for r in block["registers"]
    }  # fmt: skip


def _number(word: str) -> int | None:
    try:
        return int(word, 0)
    except ValueError:
        return None


def _find(word: str, queue: int | None) -> tuple[str, int, Register | None]:
    address = _number(word)
    known = registers(queue)
    if address is not None:
        if not 0 <= address <= 0xFFFF:
            raise Refusal(f"address {word} is out of range: allowed is 0 to 0xFFFF")
        if queue is not None:
            raise Refusal("an address is that of the device; leave out `queue N`, or give a name")
        return f"0x{address:04X}", address, None
    found = known.get(word.upper())
    if found is None:
        why = near(word.upper(), known) if known else "; there is no register map, set WEIR_REGS or give an address"
        raise Refusal(f"register '{word}' is not known{why}")
    return found.name, found.address, found


def _line(register: Register, value: int) -> str:
    fields = " ".join(f"{name}={value >> low & (1 << high - low + 1) - 1}" for name, high, low in register.fields)
    return f"0x{register.address:04X}  {register.name:<18} 0x{value:08X}  {fields}".rstrip()


def _all(context: Context, queue: int | None) -> list[dict[str, Any]]:
    found = []
    for register in registers(queue).values():
        if register.access == "w" or register.address & 0x3FF >= 0x200 or register.name.startswith("TRACE_DATA"):
            continue
        try:
            value = context.device.register_read(register.address)
        except weir.WeirError:
            if register.policy is None and not (register.jumbo or register.trace):
                raise
            continue  # of something that is not built
        if not context.options.json:
            context.say(_line(register, value))
        found.append({"queue": queue, "name": register.name, "address": register.address, "value": value})
    return found


def run(context: Context, words: Words) -> int:
    """The verb."""
    device = context.device
    queue = None
    if words.peek() == "queue":
        words.take("queue")
        queue = context.queue(words.take("number of the queue"))
    if not words:
        if not registers(None):
            raise Refusal("there is no register map; set WEIR_REGS to weir_regs.json, or give an address")
        found = [] if queue is not None else _all(context, None)
        for q in range(device.capabilities.queues) if queue is None else [queue]:
            if not context.options.json:
                context.say(f"queue {q}")
            found += _all(context, q)
        if context.options.json:
            context.json(found)
        return 0
    name, address, register = _find(words.take("register"), queue)
    if words:
        value = words.number("value", 0, 0xFFFFFFFF)
        words.end()
        device.register_write(address, value)
        return 0
    value = device.register_read(address)
    if context.options.json:
        context.json({"queue": queue, "name": name, "address": address, "value": value})
    else:
        context.say(_line(register, value) if register else f"0x{address:04X}  0x{value:08X}")
    return 0

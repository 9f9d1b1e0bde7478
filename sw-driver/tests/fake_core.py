"""A core's registers in Python, from weir_regs.json: shadows, APPLY, masks, SLVERR. No datapath."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import weir

NUMBERS = {policy.name: policy.id for policy in weir.policies()}
#: In order of their numbers.
POLICIES = tuple(NUMBERS)


def uses(page: str) -> dict[str, tuple[str, ...]]:
    """By policy, the prefixes of the registers that it uses, in the text of docs/policy-registers.md."""
    rows = re.findall(r"^\| \d+ \| ([a-z0-9-]+) \| (.*) \|", page, flags=re.M)
    return {name: tuple(re.findall(r"([A-Z0-9]+)_\*", used)) for name, used in rows}


def contract(page: str) -> dict[str, int]:
    """Offsets by name of the policies' registers in the text of docs/policy-registers.md."""
    rows = re.findall(r"^\| 0x([0-9A-F]{3}) \| ([A-Z0-9_]+) \|", page, flags=re.M)
    return {name: int(offset, 16) for offset, name in rows}


class SlaveError(Exception):
    """The core answered SLVERR."""


@dataclass(frozen=True)
class Register:
    name: str
    access: str
    kind: str
    mask: int
    reset: int | str
    policy: str | None
    jumbo: bool = False
    trace: bool = False


class RegisterFile:
    """The register map: offsets by name, registers by offset, of block 0 and of a queue's block."""

    def __init__(self, described: dict[str, Any]) -> None:
        core, queue = described["blocks"]
        self.core = self._registers(core)
        self.queue = self._registers(queue)
        self.at = {r.name: offset for offset, r in self.core.items()}
        self.queue_at = {r.name: offset for offset, r in self.queue.items()}
        self.base, self.stride = queue["base"], queue["stride"]

    @staticmethod
    def _registers(block: dict[str, Any]) -> dict[int, Register]:
        return {
            r["offset"]: Register(
                r["name"], r["access"], r["kind"], r["mask"], r["reset"], r["policy"], r["jumbo"], r["trace"]
            )
            for r in block["registers"]
        }


@dataclass
class FakeCore:
    """Registers of a core with `queues` queues. `log` has every write (address, value) that was answered OKAY.

    `fail_at`: the n-th access from now fails (0 is the next). `busy`: STATUS reads that say busy after an apply,
    snapshot or reset.
    """

    map: RegisterFile
    queues: int = 4
    cells: int = 2048
    descriptors: int = 1024
    clock_hz: int = 156250000
    policies: tuple[str, ...] = ("drop-tail", "red")
    jumbo: bool = True
    trace: bool = True
    busy: int = 2
    magic: int = 0x57454952
    version: int = 0x100
    log: list[tuple[int, int]] = field(default_factory=list)
    reads: int = 0
    fail_at: int | None = None
    records: deque[Sequence[int]] = field(default_factory=deque)
    snapshots: int = 0
    resets: int = 0

    def __post_init__(self) -> None:
        self.words: dict[int, int] = {}
        self.live: dict[int, int] = {}
        self._busy_reads = 0
        self._busy_mask = 0
        for block, base in [(self.map.core, 0)] + [
            (self.map.queue, self.map.base + q * self.map.stride) for q in range(self.queues)
        ]:
            for offset, r in block.items():
                if (
                    (r.policy is None or self._built(r.policy))
                    and (self.jumbo or not r.jumbo)
                    and (self.trace or not r.trace)
                ):
                    self.words[base + offset] = r.reset if isinstance(r.reset, int) else 0
        built = {
            "MAGIC": self.magic,
            "VERSION": self.version,
            "FEATURES": sum(1 << NUMBERS[p] for p in self.policies) | self.trace << 16 | 3 * self.jumbo << 17,
            "PARAMS": 64 << 8 | self.queues,
            "CELLS": self.cells,
            "DESCRIPTORS": self.descriptors,
            "CLOCK_HZ": self.clock_hz,
            "CELL_BYTES": 64,
            "SHARED_CELLS": self.cells - 1,
        }
        for name, value in built.items():
            self.words[self.map.at[name]] = value
        self.live = dict(self.words)

    def _built(self, policy: str) -> bool:
        """Registers of RED are there for its family too."""
        return bool({policy, *(("isred", "ared") if policy == "red" else ())} & set(self.policies))

    def forget(self) -> None:
        """Empties the log."""
        self.log.clear()
        self.reads = 0

    def address(self, name: str, queue: int | None = None) -> int:
        """The address of a register of block 0, or of a queue's block."""
        return self.map.at[name] if queue is None else self.map.base + queue * self.map.stride + self.map.queue_at[name]

    def applied(self, name: str, queue: int | None = None) -> int:
        """A configuration register as the datapath has it."""
        return self.live[self.address(name, queue)]

    def _register(self, address: int) -> Register:
        if address % 4 or address not in self.words:
            raise SlaveError(f"0x{address:04x}")
        if address < self.map.base:
            return self.map.core[address]
        return self.map.queue[(address - self.map.base) % self.map.stride]

    def _count_down(self) -> None:
        if self.fail_at is not None:
            self.fail_at -= 1
            if self.fail_at < 0:
                raise SlaveError("the device is gone")

    def csr_read(self, address: int) -> int:
        self._count_down()
        self.reads += 1
        register = self._register(address)
        if register.access == "w":
            return 0
        if register.name == "STATUS":
            if self._busy_reads:
                self._busy_reads -= 1
                return self.words[address] | self._busy_mask
            return self.words[address]
        if register.name == "TRACE_LEVEL":
            return len(self.records)
        return self.words[address]

    def csr_write(self, address: int, value: int) -> None:
        self._count_down()
        register = self._register(address)
        if register.access == "r":
            raise SlaveError(f"{register.name} is read-only")
        if register.name == "POLICY" and value & 15 not in [NUMBERS[p] for p in self.policies]:
            raise SlaveError("policy not built")
        if register.kind == "trigger":
            if value & 1:
                self._trigger(register.name, address)
        else:
            self.words[address] = value & register.mask
        self.log.append((address, value))

    def _trigger(self, name: str, address: int) -> None:
        if name == "TRACE_POP":
            if not self.records:
                raise SlaveError("no record")
            for i, word in enumerate(self.records.popleft()):
                self.words[self.map.at[f"TRACE_DATA{i}"]] = word
            return
        if name == "APPLY":
            low, high, bit = address - 0xFC, address, 4
            self.live.update({a: self.words[a] for a in range(address + 0x24, address + 0x104, 4) if a in self.words})
        elif name == "CORE_APPLY":
            low, high, bit = 0x40, 0xC0, 4
        else:
            low, high, bit = 0, 0, {"SNAPSHOT": 3, "CTRL": 1}[name]
            self.snapshots += name == "SNAPSHOT"
            self.resets += name == "CTRL"
        self.live.update({a: self.words[a] for a in range(low, high, 4) if a in self.words})
        if bit == 4:
            self.words[self.map.at["GENERATION"]] += 1
        self._busy_mask, self._busy_reads = 1 << bit, self.busy

"""The assembler refuses what the engine cannot carry out: a program for each message (`weir.policy.compact.Faults`), and the
listings of what it takes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LISTINGS = ROOT / "build" / "rtl" / "compact"

#: the page's hazards and sizes (docs/modules/compact.md): the value and what is allowed, in a message each
REFUSED = {
    "rom": ("513 steps", "512"),
    "states": ("65 words of a queue", "64"),
    "shared": ("65 shared words", "64"),
    "constant": (str(1 << 47), "-2^47 to 2^47-1"),
    "limb": ("limb 3", "0, 1 and 2"),
    "flag": ("bit 16", "0 to 15"),
    "register": ("MERGE_MAX_COUNT", "0 to 31"),
    "table size": ("1 entries", "64"),
    "table place": ("place 5", "1 to 4"),
    "table entry": (str(1 << 48), "0 to 2^48-1"),
    "table twice": ("zeros and ones", "place 1"),
    "two words": ("avg and count", "one word"),
    "shift": ("acc >> 17", "acc >> 18"),
    "x shift": ("acc >> 18", "acc >> 7"),
    "store": ("stores to 1", "State and Scratch"),
    "two effects": ("flags and select", "two steps"),
    "store, then read": ("kept", "one step between"),
    "index, then table": ("index", "one step between"),
    "no product": ("step 2", "does not multiply"),
    "no product at an entry": ("step 0", "entry"),
    "early": ("length after 0 steps", "after 2"),
    "stores early": ("after 2 steps", "3 steps"),
    "stores in a row": ("4th time", "3 at most"),
    "loop": ("faulty", "loop"),
    "branch in a slot": ("step 1", "delay slot of step 0"),
    "label": ("nowhere", "labels are faulty"),
    "label twice": ("here stands twice", "rename"),
    "end": ("endless", "Effect.Done"),
    "end and branch": ("step 0", "ends the program and branches"),
    "unreachable": ("step 1", "no entry"),
    "entry": ("entry other", "entries are faulty"),
    "entry twice": ("two programs", "entry faulty"),
}


@pytest.fixture(scope="module")
def messages() -> dict[str, str]:
    command = ["mvn", "-q", "-B", "-f", str(ROOT / "hw" / "pom.xml"), "exec:exec", "-Dexec.executable=java"]
    command.append("-Dexec.args=-Xss8m -cp %classpath weir.policy.compact.Faults")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(re.findall(r"fault ([^:\n]+): (.*)", done.stdout))


def test_every_fault_is_refused_with_its_value_and_what_is_allowed(messages: dict[str, str]) -> None:
    assert messages.keys() == REFUSED.keys()
    for name, parts in REFUSED.items():
        assert all(part in messages[name] for part in parts), f"{name}: {messages[name]}"


def ways(program: str) -> dict[str, int]:
    """The labels of every way through a program, and the cycles from one request to the next."""
    text = (LISTINGS / f"{program}.lst").read_text()
    return {way: int(cycles) for cycles, way in re.findall(r"^ +\d+ +(\d+)  (\S.*)$", text, re.M)}


def test_a_packet_that_finds_others_is_decided_within_a_minimum_frame_at_1_gbit() -> None:
    """84 byte times of 8 ns: 42 cycles at 62.5 MHz, 84 at 125 MHz. Of RED without byte modes."""
    assert max(ways("dt-ecn").values()) <= 42
    packets = [cycles for way, cycles in ways("red").items() if "empty" not in way and "bytes" not in way]
    assert len(packets) >= 4 and max(packets) <= 84

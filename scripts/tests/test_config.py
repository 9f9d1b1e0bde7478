"""Every message of WeirConfig's and UartConfig's requirements, and what is just allowed."""

from __future__ import annotations

import re
from pathlib import Path

import config_probe
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCALA = ROOT / "hw" / "src" / "main" / "scala" / "weir"
SOURCES = (SCALA / "WeirConfig.scala", SCALA / "board" / "uart" / "UartConfig.scala")

#: what is refused, with the field and its value in the message and the value to try instead
REFUSED = {
    "dataWidth=32": "WeirConfig.dataWidth=32 is not supported; use 64",
    "dataWidth=128": "WeirConfig.dataWidth=128 is not supported; use 64",
    "queues=0": "WeirConfig.queues=0 must be 1 to 8; try 4",
    "queues=9": "WeirConfig.queues=9 must be 1 to 8; try 4",
    "cells=4": "WeirConfig.cells=4 must be a power of two from 8 to 16384; try 8",
    "cells=1000": "WeirConfig.cells=1000 must be a power of two from 8 to 16384; try 1024",
    "cells=32768": "WeirConfig.cells=32768 must be a power of two from 8 to 16384; try 16384",
    "cells=-8": "WeirConfig.cells=-8 must be a power of two from 8 to 16384; try 8",
    "descriptors=2": "WeirConfig.descriptors=2 must be a power of two from 4 to 16384; try 4",
    "descriptors=65": "WeirConfig.descriptors=65 must be a power of two from 4 to 16384; try 64",
    "descriptors=32768": "WeirConfig.descriptors=32768 must be a power of two from 4 to 16384; try 16384",
    "policies=red": "WeirConfig.policies must contain Policy.DropTail",
    "policies=drop-tail+isred": "WeirConfig.policies with isred must contain red, whose registers it uses",
    "policies=drop-tail+ared": "WeirConfig.policies with ared must contain red, whose registers it uses",
    "policies=none": "WeirConfig.policies must contain Policy.DropTail",
    "flowSlots=8": "WeirConfig.flowSlots=8 must be a power of two from 16 to 4096; try 16",
    "flowSlots=1000": "WeirConfig.flowSlots=1000 must be a power of two from 16 to 4096; try 1024",
    "flowSlots=8192": "WeirConfig.flowSlots=8192 must be a power of two from 16 to 4096; try 4096",
    "traceDepth=2": "WeirConfig.traceDepth=2 must be a power of two from 4 to 4096, or 0 for none; try 4",
    "traceDepth=100": "WeirConfig.traceDepth=100 must be a power of two from 4 to 4096, or 0 for none; try 128",
    "traceDepth=8192": "WeirConfig.traceDepth=8192 must be a power of two from 4 to 4096, or 0 for none; try 4096",
    "compact=true": "WeirConfig.compact is not built with jumbo; leave one of them out",
    "compact=true,jumbo=false,queues=5": "WeirConfig.queues=5 must be 1 to 4 with compact; try 4",
    "compact=true,jumbo=false,policies=drop-tail+red+isred": "WeirConfig.policies with compact must be of red, dt-ecn, drop-tail, which have programs; leave isred out",
    "clockHz=0": "WeirConfig.clockHz=0 must be positive; try 156250000",
    "clockHz=-1": "WeirConfig.clockHz=-1 must be positive; try 156250000",
    "UartConfig=62500000,0,1,1024,64": "UartConfig.baud=0 must be positive and at most an eighth of clockHz=62500000; try 1000000",
    "UartConfig=62500000,-9600,1,1024,64": "UartConfig.baud=-9600 must be positive and at most an eighth of clockHz=62500000; try 1000000",
    "UartConfig=4000000,1000000,1,1024,64": "UartConfig.baud=1000000 must be positive and at most an eighth of clockHz=4000000; try 500000",
    "UartConfig=62500000,1000000,0,1024,64": "UartConfig.cores=0 must be 1 to 16; try 2",
    "UartConfig=62500000,1000000,17,1024,64": "UartConfig.cores=17 must be 1 to 16; try 2",
    "UartConfig=62500000,1000000,2,32,64": "UartConfig.requestBytes=32 must be a power of two from 64 to 1024; try 1024",
    "UartConfig=62500000,1000000,2,1000,64": "UartConfig.requestBytes=1000 must be a power of two from 64 to 1024; try 1024",
    "UartConfig=62500000,1000000,2,2048,64": "UartConfig.requestBytes=2048 must be a power of two from 64 to 1024; try 1024",
    "UartConfig=62500000,1000000,2,1024,4": "UartConfig.patience=4 must be a power of two of 8 or more; try 65536",
    "UartConfig=62500000,1000000,2,1024,100": "UartConfig.patience=100 must be a power of two of 8 or more; try 65536",
}
ALLOWED = (
    "UartConfig=62500000,7812500,1,64,8", "UartConfig=156250000,115200,16,1024,65536", "UartConfig=100000000,9600,2,512,64",
    "compact=true,jumbo=false,policies=drop-tail+red+dt-ecn", "queues=1", "queues=8", "cells=8,descriptors=4", "cells=16384", "descriptors=4", "descriptors=16384",
    "policies=drop-tail", "policies=drop-tail+red+isred+ared", "flowSlots=16", "flowSlots=4096", "traceDepth=0", "traceDepth=4", "traceDepth=4096", "clockHz=1",
)  # fmt: skip


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    """What each argument was answered; one run of Java for all."""
    return config_probe.answers([*REFUSED, *ALLOWED])


@pytest.mark.parametrize("argument", REFUSED)
def test_what_cannot_be_built_is_refused_by_name(answers: dict[str, str], argument: str) -> None:
    assert answers[argument] == REFUSED[argument]


@pytest.mark.parametrize("argument", ALLOWED)
def test_the_ends_of_every_range_are_allowed(answers: dict[str, str], argument: str) -> None:
    assert answers[argument] == "ok"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_every_requirement_has_a_case(path: Path) -> None:
    """A message that is added without a case here is found."""
    source = path.read_text()
    messages = re.findall(r'require\(.*?,\s*s?"([^"]*)"\)', source, re.S)
    assert len(messages) == len(re.findall(r"\brequire\(", source)) > 3
    for message in messages:
        parts = re.split(r"\$\{[^}]*\}|\$\w+", message)
        pattern = re.compile(".+".join(map(re.escape, parts)))
        assert any(pattern.fullmatch(expected) for expected in REFUSED.values()), f"no case is refused with: {message}"

"""What the tests of libweir share: the register map, a register device in Python, the sanitized library."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import settings

import weir
from fake_core import POLICIES, FakeCore, RegisterFile
from libweir_paths import ROOT, RTL

# a machine that does other things as well makes an example slow, not wrong
settings.register_profile("weir", deadline=None)
settings.load_profile("weir")


@pytest.fixture(scope="session")
def register_map() -> RegisterFile:
    path = RTL / "weir_regs.json"
    assert path.is_file(), f"{path} is missing; run: make rtl"
    return RegisterFile(json.loads(path.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def register_map_file(register_map: RegisterFile) -> RegisterFile:
    """The same; hypothesis wants fixtures that outlive an example."""
    return register_map


@pytest.fixture
def core(register_map: RegisterFile) -> FakeCore:
    return FakeCore(register_map)


@pytest.fixture
def every(register_map: RegisterFile) -> FakeCore:
    """A core with every policy."""
    return FakeCore(register_map, policies=POLICIES)


@pytest.fixture
def device(core: FakeCore) -> weir.Device:
    opened = weir.Device(core)
    core.forget()
    return opened


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a libweir.a built with AddressSanitizer and UBSan."""
    build = tmp_path_factory.mktemp("sanitized")
    make = ["make", "-s", "-C", str(ROOT / "sw-driver" / "lib"), f"BUILD={build}", f"RTL={RTL.resolve()}", "SANITIZE=1"]
    done = subprocess.run(make, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return build

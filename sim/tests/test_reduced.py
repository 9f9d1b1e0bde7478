"""Builds that leave policies out (`weir.Reduced`): what is there decides as the golden models do, what is not there is refused."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import weir
from captures import EPOCH_NS, pcap
from policy_models import CASES, NAMES, ON_BYTES, Case
from policy_scene import QUEUES, Scene
from test_policies import LOADS, RATE, gaps_of_a_burst, identity, missing
from weir.ctl.main import main as weirctl
from weir_sim import Core, cli, native
from weir_sim.core import BusError
from weir_sim.frames import udp_frame

FAMILY = ("red", "isred", "ared")
BUILDS: dict[str, tuple[str, ...]] = {
    "no-red": tuple(name for name in NAMES if name not in FAMILY),
    "drop-tail-fn": ("drop-tail", "fn"),
    "drop-tail-codel": ("drop-tail", "codel"),
}
"""Of each build what it has, in order of number."""

MAP = json.loads((native.root() / "build" / "rtl" / "weir_regs.json").read_text())
NUMBERS = {policy.name: policy.id for policy in weir.policies()}
PLAIN: Case = ("drop-tail", ON_BYTES | {"limit_bytes": 8_000}, {})
SHORT: Case = ("drop-tail", {"limit_bytes": 20_000, "front": True}, {})


@pytest.fixture(scope="module", params=BUILDS)
def build(request: pytest.FixtureRequest) -> str:
    """The name of a build, whose cycle model is there."""
    name = str(request.param)
    place = native.library(name, False).parent
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [
            sys.executable,
            native.root() / "sim" / "model" / "build.py",
            "--plain",
            "--preset",
            name,
            "--out",
            place,
        ]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return name


# ---- what is there


def test_what_is_built_decides_as_the_golden_model_does(build: str) -> None:
    """Every case of every policy of the build; the last part on a line without gaps, where verdicts of both latencies
    meet. That q is right at each decision, commits keep their distance and each packet comes out is checked by the scene."""
    cases = [case for case in CASES.values() if case[0] in BUILDS[build]]
    pie, pi2 = [c for c in cases if c[0] == "pie"], [c for c in cases if c[0] == "pi2"]
    rest = [c for c in cases if c not in pie + pi2]
    scenes = [[*rest[::2], *pie], [*rest[1::2], *pi2]] if pie else [rest]
    seen: set[str] = set()
    for seed, chosen in enumerate(scenes):
        scene = Scene(seed, RATE, preset=build)
        for part in range(3):
            mix = [*chosen, PLAIN, SHORT] * 2
            for queue, (name, natural, raw) in enumerate(mix[part * 2 : part * 2 + QUEUES]):
                scene.configure(queue, name, raw, **natural)
                seen.add(name)
            if part == 2:
                scene.core.line = "raw"
            scene.traffic(150, LOADS[part], RATE, sizes=(42, 44, 46, 60, 64) if part == 2 else (60, 300, 1514))
            scene.core.run_until(scene.at)
        identity(scene)
        report = scene.finish()
        print(f"{build}: {report}")
        assert missing(scene) == 0 and scene.core.device.core_live().free_cells == scene.capabilities.cells - 1
    assert seen == set(BUILDS[build])


def test_a_decision_every_four_cycles_without_red_too(build: str) -> None:
    """Of both latencies: commits of arrivals four cycles apart fall between each other."""
    if "fn" not in BUILDS[build]:
        assert gaps_of_a_burst(("codel", "drop-tail") * 2, [bytes(16)] * 24, 9, preset=build) == [4] * 23
        return
    rng = Random(build)
    found: list[int] = []
    for seed, policy in enumerate(p for p in BUILDS[build] if p != "fn"):
        frames = [bytes(16)] * 20 + [udp_frame(42, rng.randrange(QUEUES), 2)[:34] for _ in range(28)]
        gaps = gaps_of_a_burst(("fn", policy, policy, "fn"), frames, seed, preset=build)
        found += gaps[:30]
    print(f"{build}: {sum(found) / len(found):.2f} cycles from decision to decision, {max(found)} at most")
    assert set(found) == {4}


# ---- what is not


def registers(core: Core) -> dict[int, int | None]:
    """What every register of the queues' blocks reads, but for live values and counters; None where there is none."""
    block = next(b for b in MAP["blocks"] if b["stride"])
    found: dict[int, int | None] = {}
    for queue in (0, QUEUES - 1):
        for register in block["registers"]:
            if register["kind"] == "shadow":
                address = block["base"] + queue * block["stride"] + register["offset"]
                try:
                    found[address] = core.csr_read(address)
                except BusError:
                    found[address] = None
    return found


def test_the_registers_tell_what_is_built(build: str) -> None:
    core, has = Core(build), BUILDS[build]
    assert core.device.capabilities.policies == has
    assert core.device.capabilities.features & 0xFFFF == sum(1 << NUMBERS[name] for name in has)
    block = next(b for b in MAP["blocks"] if b["stride"])
    there = {r["offset"] for r in block["registers"] if r["kind"] == "shadow" and not r["jumbo"]
             and (r["policy"] is None or r["policy"] in has)}  # fmt: skip
    read = registers(core)
    assert {address - block["base"] for address, value in read.items()
            if value is not None and address < block["base"] + block["stride"]} == there  # fmt: skip


def test_a_policy_number_that_is_not_built_is_refused_and_changes_nothing(build: str) -> None:
    core = Core(build)
    block = next(b for b in MAP["blocks"] if b["stride"])
    numbers = {NUMBERS[name] for name in BUILDS[build]}
    for queue in (0, QUEUES - 1):
        address = block["base"] + queue * block["stride"]
        for there in numbers:
            core.csr_write(address, 0x10100 | there)
            before = registers(core)
            for number in sorted(set(range(16)) - numbers):
                with pytest.raises(BusError, match="SLVERR"):
                    core.csr_write(address, 0x200 | number)
            assert registers(core) == before and before[address] == 0x10100 | there
            core.csr_write(address, there)


def test_the_tools_refuse_it_with_the_list_of_those_that_are(
    build: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    core, has = Core(build), BUILDS[build]
    source = tmp_path / "in.pcap"
    source.write_bytes(pcap([(EPOCH_NS, udp_frame(60))]))
    generation = MAP["blocks"][0]["registers"]
    at = next(r["offset"] for r in generation if r["name"] == "GENERATION")
    before = registers(core), core.csr_read(at)
    others = [name for name in NUMBERS if name not in has]
    assert others
    for name in others:
        said = f"policy {name} is not built into this core; choose one of {', '.join(has)}"
        with pytest.raises(weir.WeirError) as refused:
            core.device.queue_replace(0, name)
        assert refused.value.message == said
        assert weirctl(["queue", "replace", "0", name], core.device) == 2
        assert capsys.readouterr().err == f"weirctl: {said}\n"
    assert (registers(core), core.csr_read(at)) == before
    words = ["replay", str(source), str(tmp_path / "out.pcap"), "--preset", build, "--policy"]
    assert cli.main([*words, others[0]]) == 2
    assert (
        capsys.readouterr().err
        == f"weir-sim: policy {others[0]} is not built into this core; choose one of {', '.join(has)}\n"
    )
    assert not (tmp_path / "out.pcap").exists()
    assert cli.main([*words, has[-1]]) == 0
    assert weirctl(["queue", "replace", "0", has[-1]], core.device) == 0

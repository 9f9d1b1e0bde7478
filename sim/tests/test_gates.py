"""Units that may stand still do, and it changes nothing.

A library built with `--check` tries in each cycle whether what stands still would have changed with its clock, and counts the
cycles in which something would. What it tells is of registers and wires, not of memories of more than 32 KiB. The scenes are those
of other tests, so that each unit of a core has its work.
"""

from __future__ import annotations

import fcntl
import random
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pytest

import test_idle_edges
import test_merge_identity
import test_model_core
import test_policies
import test_split_spacing
import test_transit
from weir_sim import Core, native, trace
from weir_sim.frames import udp_frame

STILL, STRAYS = 13, 14
SKIP = 2
RTL = native.root() / "build" / "rtl"


def build(preset: str, *more: str) -> Path:
    """Builds a library of the cycle model; returns where it is."""
    with (native.root() / "build" / f"gates-{preset}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [sys.executable, native.root() / "sim" / "model" / "build.py", "--preset", preset, *more]
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return native.root() / done.stdout.split()[-1]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """Cores are of libraries in this directory from now on."""

    def use(directory: Path) -> None:
        monkeypatch.setenv("WEIR_MODEL_DIR", str(directory))
        native.load.cache_clear()

    yield use
    native.load.cache_clear()


def counted(preset: str) -> tuple[int, int]:
    """Of all cores of the library so far: cycles in which a clock stood still, and in which it should not have."""
    core = Core(preset)
    return core._get(STILL), core._get(STRAYS)


def any_traffic(preset: str, seed: int, skip: bool = True) -> tuple[object, ...]:
    """Frames of all lengths, bad ones too, idle times, register accesses, changes of policy, link losses and a reset at any moment;
    answers what came out, with its times, and the trace."""
    rng = random.Random(seed)
    core = Core(preset, egress="mac", skip=skip)
    device = core.device
    policies = device.capabilities.policies
    device.trace_enable()
    device.shape(rate=rng.choice(("300Mbit", "2Gbit", "9Gbit")))
    for number in range(400):
        at = core.now_ns + rng.choice((0, 0, 40, 700, 5_000, 60_000))
        for _ in range(rng.choice((1, 1, 1, 2, 12))):
            length = rng.choice((14, 60, 61, 64, 130, 400, 1000, 1514, 9216))
            frame = udp_frame(max(length, 60), number=number, dscp=rng.randrange(64))[:length]
            core.send(frame, at, bad=rng.random() < 0.05)
        core.run_until(at + rng.choice((20, 300, 3_000, 40_000)))
        match rng.randrange(12):
            case 0:
                core.stats()
            case 1:
                device.queue_replace(rng.randrange(device.capabilities.queues), rng.choice(policies))
            case 2:
                core.csr_read(rng.choice((0, 0x10, 0x108)))
            case 3 if number % 5 == 0:
                core.set_link(False)
                core.run_cycles(rng.randrange(200))
                core.set_link(True)
            case 4 if number % 25 == 0:
                core.reset()
                device.trace_enable()
            case _:
                pass
    core.run_idle(core.now_ns + 10**9)
    words, times = core.trace_words()
    return core.recv(), words.tobytes(), times.tobytes(), core.csr_read(0x108)


def timers(timer_ns: int, skip: bool = True) -> list[tuple[int, bytes]]:
    """Packets of a class that is parked for so long, with nothing else going on."""
    core = Core(egress="mac", line="raw", skip=skip)
    device = core.device
    device.jumbo("opaque")
    device.match({}, 3)
    device.merge(0, "class", 9000, 3000, 6, f"{timer_ns}ns")
    for number in range(20):
        for length in (200, 300)[: 1 + (number % 3 == 0)]:
            core.send(udp_frame(length, number=number), core.now_ns + 3_000)
        core.run_until(core.now_ns + 20_000)
    core.run_idle()
    return [(frame.first_ns, frame.data) for frame in core.recv()]


def any_jumbo(preset: str, seed: int, skip: bool = True) -> tuple[object, ...]:
    """Jumbo frames and packets that are split, with spacing or without, kept together, or merged by flow or class for a time; idle times
    of any length. Answers what came out, with its times, and the trace."""
    rng = random.Random(seed)
    core = Core(preset, egress="mac", skip=skip)
    device = core.device
    device.trace_enable()
    device.shape(rate=rng.choice(("300Mbit", "2Gbit", "9Gbit")))
    device.match({}, 3)
    for number, frame in enumerate(test_split_spacing.jumbo_traffic(rng, 500)):
        if number % 12 == 0:
            device.merge(0, "off")
            match rng.randrange(6):
                case 0:
                    device.jumbo("split")
                case 1 | 2:
                    device.jumbo("split", spacing=rng.choice(("20us", "1ms")))
                case 3:
                    device.jumbo("transit")
                case 4:
                    device.merge(0, "flow")
                case _:
                    device.merge(0, "class", jfet=f"{rng.choice((92, 500, 3_000, 40_000))}ns")
        at = core.now_ns + rng.choice((0, 40, 700, 5_000, 60_000)) + rng.randrange(100)
        core.send(frame, at)
        core.run_until(at + rng.choice((20, 300, 3_000, 40_000)) + rng.randrange(100))
    core.run_idle(core.now_ns + 10**9)
    words, times = core.trace_words()
    return core.recv(), words.tobytes(), times.tobytes(), core.csr_read(0x108)


SCENES: dict[str, Callable[[], object]] = {
    "any traffic": lambda: any_traffic("full", 1),
    "RED and a shaper": lambda: test_model_core.busy_scene(True),
    "all policies in turn": lambda: test_policies.test_policies_change_under_traffic(1),
    "a coupled pair": lambda: test_policies.test_a_coupled_pair_decides_as_the_golden_model_does(3),
    "averages of an idle queue": lambda: test_idle_edges.test_a_header_before_an_apply_decays_the_average_with_the_new_words(1),
    "merge by flow, split": lambda: test_merge_identity.one_round({}, 3, False, "flow"),
    "merge by class, split": lambda: test_merge_identity.one_round({}, 5, False, "class"),
    "classes whose timers end soon": lambda: [timers(ns) for ns in range(92, 200, 6)],
    "in transit": lambda: test_transit.test_any_jumbo_frame(2),
    "in transit, policies": lambda: test_transit.test_policies_decide_about_jumbo_frames(("red", "fn")),
    "in transit, MRED": lambda: test_transit.test_long_jumbo_frames_pay_and_nothing_else_changes(),
    "in transit, resets, link losses": lambda: test_transit.test_resets_and_link_losses_in_the_middle(1),
    "any jumbo frames": lambda: any_jumbo("full", 1),
    "split with spacing": lambda: test_split_spacing.test_no_flow_changes_its_order_and_nothing_is_lost(1),
}  # fmt: skip

#: Scenes whose units move in the other ones too.
MORE = {"classes whose timers end soon", "in transit, resets, link losses"}


def in_full(name: str, full: Collection[str]) -> object:
    return pytest.param(name, marks=pytest.mark.full) if name in full else name


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("scene", [in_full(scene, MORE) for scene in SCENES])
def test_nothing_moves_that_stands_still(
    scene: str, models: Callable[[Path], None], capfd: pytest.CaptureFixture[str]
) -> None:
    models(build("full", "--check").parents[1])
    before = counted("full")
    SCENES[scene]()
    still, strays = (now - then for now, then in zip(counted("full"), before, strict=True))
    assert strays == 0, capfd.readouterr().err
    assert still > 1000


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.slow(70)
@pytest.mark.parametrize(
    "preset",
    [
        in_full(preset, ["small", "network", "network-jumbo"])
        for preset in ("board", "small", "network", "network-jumbo")
    ],
)
def test_nothing_moves_that_stands_still_in_other_cores(preset: str, models: Callable[[Path], None]) -> None:
    models(build(preset, "--check").parents[1])
    for seed in range(3):
        any_traffic(preset, seed)
        if preset == "network-jumbo":
            any_jumbo(preset, seed)
    still, strays = counted(preset)
    assert (strays, still > 10_000) == (0, True)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("preset", ["full", "network", "network-jumbo"])
def test_standing_still_changes_nothing(preset: str) -> None:
    """The model with all that is left out, and without."""
    same = any_traffic(preset, 7) == any_traffic(preset, 7, skip=False)
    assert same


@pytest.mark.timeout(600)
@pytest.mark.parametrize("preset", ["full", "network-jumbo"])
@pytest.mark.parametrize("seed", range(3))
def test_standing_still_changes_nothing_for_jumbo_frames(preset: str, seed: int) -> None:
    skipped = any_jumbo(preset, seed)
    assert len(skipped[0]) > 100  # type: ignore[arg-type]
    same = skipped == any_jumbo(preset, seed, skip=False)
    assert same


def rests(preset: str, skip: int) -> tuple[bytes, bytes]:
    """Policies with ticks are selected after times in which no queue runs them, during which their units stand still."""
    rng = random.Random(1)
    core = Core(preset, egress="mac", line="raw")
    core._set(SKIP, skip)
    core.device.trace_enable()
    core.device.shape(rate="2Gbit")
    for number in range(12):
        core.run_cycles(700 + rng.randrange(50))
        # of all queues the first has the frames
        core.device.queue_replace(0, ("pie", "pi2")[number % 2], target="20us", tupdate="12us")
        for _ in range(60):
            core.send(udp_frame(rng.choice((60, 400, 1500)), number=number), core.now_ns + rng.randrange(1500))
        core.run_cycles(12_000 + rng.randrange(50))
        core.device.queue_replace(0, "droptail")
    words, times = core.trace_words()
    assert (trace.decode(words)["kind"] == trace.TICK).sum() > 30, "too few records of ticks"
    return words.tobytes(), times.tobytes()


@pytest.mark.timeout(600)
def test_a_policy_that_rested_does_the_same() -> None:
    """With each clock's edges left out alone, and with none."""
    same = rests("full", skip=2) == rests("full", skip=0)
    assert same


#: lines of the Verilog and what is wrong instead: a cause that lets the clock run is forgotten, or the clock stops too soon
FAULTS = {
    "sends": (r"assign grantable = .*;", "assign grantable = 1'b0;"),
    "lingers": (r"assign packetRuns = \((\w+) \|\| .*;", r"assign packetRuns = \1;"),
}


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", FAULTS)
def test_what_moves_and_should_not_is_found(
    fault: str, tmp_path: Path, models: Callable[[Path], None], capfd: pytest.CaptureFixture[str]
) -> None:
    """The check can fail."""
    pattern, wrong = FAULTS[fault]
    text, found = re.subn(pattern, wrong, (RTL / "small" / "weir_small.v").read_text())
    assert found >= 1
    rtl = tmp_path / "rtl" / "small"
    rtl.mkdir(parents=True)
    (rtl / "weir_small.v").write_text(text)
    (tmp_path / "rtl" / "weir_regs.h").write_text((RTL / "weir_regs.h").read_text())
    models(build("small", "--check", "--rtl", str(rtl), "--out", str(tmp_path / "model" / "small")).parents[1])
    core = Core("small", line="raw")
    core.device.queue_replace(0, "red", min="4KB", max="8KB", limit="12KB")
    for number in range(10):  # more than the egress has room for; then it goes
        core.egress = "stopped"
        for _ in range(40):
            core.send(udp_frame(60, number=number), core.now_ns + 3_000)
        core.run_until(core.now_ns + 9_000)
        core.egress = "mac"
        core.run_until(core.now_ns + 9_000)
    assert core._get(STRAYS) > 0
    assert "moves while its clock stands still" in capfd.readouterr().err

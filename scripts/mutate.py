"""Puts one fault at a time into the Verilog; the bench of the unit, or of the core, has to fail: `make mutate`.

    .venv/bin/python scripts/mutate.py [--units ArrivalDecision,Queues] [--seed N] [--sites N] [--only N,N]
        [--list] [--record]

Faults are drawn from the unit's module by a seed (faults.py); nothing here names what is in it. Needs what `make test`
needs: build/rtl and libweir. Works on copies below build/mutants/. All faults of a file are compiled into one model and
chosen by a plusarg, so that a file is built once; without a choice the copy has to pass.

A fault is *caught* if a bench fails or hangs, *equivalent* if yosys proves that no input shows it, and has *survived*
otherwise: then a bench is too weak, or what shows the fault cannot happen. Survivors end with status 1.
Results: build/mutation.json; with --record also the table of docs/mutation.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from faults import CHOICE, Design, Fault, equivalent, instrument

ROOT = Path(__file__).resolve().parent.parent
RTL = ROOT / "build" / "rtl"
WORK = ROOT / "build" / "mutants"
RESULTS = ROOT / "build" / "mutation.json"
PAGE = ROOT / "docs" / "mutation.md"


@dataclass(frozen=True)
class Unit:
    """Where a unit's Verilog is, its module, and the tests that have to notice, in the order in which they are
    tried."""

    file: str
    tests: tuple[str, ...]
    module: str = ""


def _core(*cases: str) -> tuple[str, ...]:
    return tuple(f"cocotb-tests/core/test_core.py::test_core[{case}]" for case in cases)


CORE = ("drops", "frames", "cells", "egress", "policy", "reset", "trace", "front")

BOARD = ("cocotb-tests/board/test_board.py::test_colorlight_5a_75b",)

UNITS = {
    "ArrivalDecision": Unit("small/weir_small.v", _core(*CORE)),
    "Queues": Unit("units/Queues.v", ("cocotb-tests/queues",)),
    "Scheduler": Unit("units/Scheduler.v", ("cocotb-tests/scheduler",)),
    "Backlog": Unit("units/Backlog.v", ("cocotb-tests/backlog",)),
    "HeadDrop": Unit("units/HeadDrop.v", ("cocotb-tests/head_drop",)),
    "Egress": Unit("small/weir_small.v", _core(*CORE)),
    "CellWriter": Unit("units/CellWriter.v", ("cocotb-tests/cell_writer",)),
    "CommitFifo": Unit("units/CommitFifo.v", ("cocotb-tests/commit_fifo",)),
    "Spacing": Unit("units/Spacing.v", ("cocotb-tests/spacing",)),
    "FlowTable": Unit("units/FlowTable.v", ("cocotb-tests/flow_table/test_flow_table.py::test_flow_table",)),
    "FlowGroups": Unit("units/FlowGroups.v", ("cocotb-tests/flow_groups/test_flow_groups.py::test_flow_groups",)),
    "Parking": Unit("units/Parking.v", ("cocotb-tests/parking/test_parking.py::test_parking",)),
    "GroupAccumulator": Unit(
        "units/GroupAccumulator.v",
        ("cocotb-tests/group_accumulator/test_group_accumulator.py::test_group_accumulator",),
    ),
    "JumboUnpack": Unit(
        "units/JumboUnpack.v",
        tuple(
            f"cocotb-tests/jumbo_unpack/test_jumbo_unpack.py::{test}"
            for test in ("test_splits_jumbo_frames", "test_unpack_under_pressure")
        ),
    ),
    "MatchLookup": Unit("units/FlowTable.v", ("cocotb-tests/flow_table/test_flow_table.py::test_flow_table",)),
    "AxiLiteDemux": Unit("units/AxiLiteDemux.v", ("cocotb-tests/netfpga/test_netfpga.py::test_axi_lite_demux",)),
    "JumboPack": Unit("units/JumboPack.v", ("cocotb-tests/jumbo_pack",)),
    "PartialDrop": Unit("units/PartialDrop.v", ("cocotb-tests/partial_drop/test_partial_drop.py::test_partial_drop",)),
    "TransitPatch": Unit(
        "units/TransitPatch.v", ("cocotb-tests/transit_patch/test_transit_patch.py::test_transit_patch",)
    ),
    "JumboList": Unit("units/JumboList.v", ("cocotb-tests/jumbo_list/test_jumbo_list.py::test_jumbo_list",)),
    "MarkWords": Unit("units/MarkWords.v", ("cocotb-tests/mark_words/test_mark_words.py::test_mark_words",)),
    "FreeList": Unit("units/FreeList.v", ("cocotb-tests/free_list",)),
    "Rewrite": Unit("units/Rewrite.v", ("cocotb-tests/rewrite",)),
    "Red": Unit("units/RedPolicy.v", ("cocotb-tests/red/test_red_policy.py",)),
    "RedCount": Unit("units/RedPolicy.v", ("cocotb-tests/red/test_red_policy.py",)),
    "RedFamily": Unit("units/RedFamily.v", ("cocotb-tests/red/test_red_family.py",)),
    "Ewma": Unit("units/Ewma.v", ("cocotb-tests/red/test_ewma.py",)),
    "Fn": Unit("units/Fn.v", ("cocotb-tests/fn/test_fn_rtl.py",)),
    "IdleDecay": Unit("units/IdleDecay.v", ("cocotb-tests/red/test_idle_decay.py",)),
    "RedPolicy": Unit("units/RedPolicy.v", ("cocotb-tests/red/test_red_policy.py",)),
    "Codel": Unit("units/Codel.v", ("cocotb-tests/codel/test_codel.py::test_codel_rtl",), "CodelUnit"),
    "Pie": Unit("units/Pie.v", ("cocotb-tests/pie/test_pie.py",), "PieUnit"),
    "PiController": Unit("units/Pie.v", ("cocotb-tests/pie/test_pie.py",)),
    "TickTimer": Unit("units/Pie.v", ("cocotb-tests/pie/test_pie.py",)),
    "Pi2": Unit("units/Pi2.v", ("cocotb-tests/pi2/test_pi2.py",), "Pi2Unit"),
    "DtEcn": Unit("units/DtEcn.v", ("cocotb-tests/dt_ecn/test_dt_ecn.py::test_dt_ecn_rtl",), "DtEcnUnit"),
    "GatedEngine": Unit("units/DtEcn.v", ("cocotb-tests/dt_ecn/test_dt_ecn.py::test_dt_ecn_rtl",), "DtEcn"),
    "RateTest": Unit("units/RedFamily.v", ("cocotb-tests/red/test_red_family.py",)),
    "AdaptMaxP": Unit("units/RedFamily.v", ("cocotb-tests/red/test_red_family.py",)),
    "Lfsr": Unit("units/Lfsr.v", ("cocotb-tests/lfsr/test_lfsr.py",)),
    "FrameCloser": Unit("units/FrameCloser.v", ("cocotb-tests/frame_closer",)),
    "DescriptorPool": Unit("units/DescriptorPool.v", ("cocotb-tests/descriptor_pool",)),
    "Ingress": Unit("units/Ingress.v", ("cocotb-tests/ingress",)),
    "Core": Unit("small/weir_small.v", _core(*CORE), "weir_small"),
    "TraceMerge": Unit("units/TraceMerge.v", ("cocotb-tests/trace_merge",)),
    "TraceFifo": Unit("units/TraceFifo.v", ("cocotb-tests/trace_fifo",)),
    "Shaper": Unit("units/Shaper.v", ("cocotb-tests/shaper",)),
    "RowCounters": Unit("units/RowCounters.v", ("cocotb-tests/counters",)),
    "CounterBank": Unit("units/TallyCounters.v", ("cocotb-tests/counters",)),
    "CounterAccumulator": Unit("units/TallyCounters.v", ("cocotb-tests/counters",)),
    "RegisterFile": Unit(
        "units/CsrUnit.v",
        tuple(
            f"cocotb-tests/csr/test_csr.py::test_csr[CsrUnit-{bench}-0]"
            for bench in ("csr_apply_cocotb", "csr_access_cocotb", "csr_bus_cocotb")
        ),
    ),
    "TenGigabitMac": Unit("units/TenGigabitMac.v", ("cocotb-tests/mac/test_mac.py::test_ten_gigabit_mac",)),
    "GigabitMac": Unit("units/GigabitMac.v", ("cocotb-tests/mac/test_mac.py::test_gigabit_mac",)),
    "RgmiiMacEcp5": Unit(
        "units/RgmiiMacEcp5.v", ("cocotb-tests/mac/test_mac.py::test_rgmii_mac[RgmiiMacEcp5]",), "RgmiiPort"
    ),
    "RgmiiMac7Series": Unit(
        "units/RgmiiMac7Series.v", ("cocotb-tests/mac/test_mac.py::test_rgmii_mac[RgmiiMac7Series]",), "RgmiiPort"
    ),
    "UartBridge": Unit(
        "units/UartBridgeFast.v",
        tuple(
            f"cocotb-tests/uart/test_uart.py::test_uart_bridge[{bench}]" for bench in ("rules_cocotb", "faults_cocotb")
        ),
        "UartBridgeFast",
    ),
    "PcieCompleter": Unit("units/PcieCompleter.v", ("cocotb-tests/pcie/test_pcie.py::test_pcie_completer",)),
    "AccessCrossing": Unit("units/AccessCrossingUnit.v", ("cocotb-tests/pcie/test_pcie.py::test_access_crossing",)),
    "Si5324Setup": Unit("units/Si5324Setup.v", ("cocotb-tests/sume/test_sume.py::test_si5324_setup",)),
    "SumeRegisters": Unit("units/NetFpgaSume.v", ("cocotb-tests/sume/test_sume.py::test_netfpga_sume",)),
    "BumpInTheWire": Unit("boards/colorlight-5a-75b/colorlight_5a_75b.v", BOARD),
}


@dataclass
class Score:
    """What became of a unit's faults."""

    faults: int
    caught: int
    equivalent: int
    survivors: list[str]


def faults_of(unit: str, sites: int, seed: int) -> list[Fault]:
    """A unit's faults: of its module and of those below it that are no units themselves."""
    own = UNITS[unit].module or unit
    others = frozenset(u.module or name for name, u in UNITS.items()) - {own}
    return Design(RTL / UNITS[unit].file).faults(own, others, sites, seed)


def prepare(unit: str, faults: Sequence[Fault]) -> None:
    """Copies the Verilog, with these faults in it; their numbers are those of their order, from 1."""
    copy = WORK / unit / "rtl"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(RTL, copy, copy_function=os.symlink)
    (copy / UNITS[unit].file).unlink()
    (copy / UNITS[unit].file).write_text(instrument((RTL / UNITS[unit].file).read_text(), list(enumerate(faults, 1))))


def run(unit: str, number: int, limit: float) -> str:
    """Runs the tests of a unit with one fault; what fails or hangs, or nothing."""
    environment = dict(os.environ, WEIR_RTL=str(WORK / unit / "rtl"), WEIR_SIM=str(WORK / "sim"),
                       WEIR_PLUSARGS=f"+{CHOICE}={number}", COCOTB_MAX_FAILURES="1")  # fmt: skip
    for test in UNITS[unit].tests:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", test]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, start_new_session=True)  # fmt: skip
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"{test} (hung)"
        if process.returncode == 1:
            failed = re.search(r"BenchError: \S+: (.*?)(?: failed)?;", output)
            return failed[1] if failed else test
        if process.returncode != 0:
            raise SystemExit(f"mutate: {test} does not run:\n{output[-2000:]}")
    return ""


def score(unit: str, faults: Sequence[Fault], only: Sequence[int], limit: float) -> Score:
    """Runs a unit's faults and prints a line for each."""
    text = (RTL / UNITS[unit].file).read_text()
    prepare(unit, faults)
    if failed := run(unit, 0, limit):
        raise SystemExit(f"mutate: {unit}: without a fault {failed} fails; nothing can be said")
    result = Score(0, 0, 0, [])
    for number, fault in enumerate(faults, 1):
        if only and number not in only:
            continue
        begin = time.monotonic()
        result.faults += 1
        if by := run(unit, number, limit):
            result.caught += 1
        elif equivalent(text, fault, WORK / unit / f"{number}"):
            result.equivalent += 1
            by = "equivalent"
        else:
            result.survivors.append(str(fault))
            by = "SURVIVED"
        print(f"{unit} {number:3} {time.monotonic() - begin:4.0f} s  {str(fault)[:100]:100}  {by[:60]}", flush=True)
    print(f"{unit}: {result.caught} of {result.faults} caught, {result.equivalent} equivalent", flush=True)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Faults put into the Verilog that the benches have to notice.")
    parser.add_argument("--units", default="", help=f"only these, by comma: {', '.join(UNITS)}")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--sites", type=int, default=15, help="faults of each unit")
    parser.add_argument("--only", default="", help="only the faults of these numbers, by comma")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which a bench hangs")
    parser.add_argument("--list", action="store_true", help="show what is drawn, run nothing")
    parser.add_argument("--record", action="store_true", help="write the units' rows of docs/mutation.md")
    options = parser.parse_args(arguments)
    units = [u for u in options.units.split(",") if u] or list(UNITS)
    unknown = [u for u in units if u not in UNITS]
    if unknown:
        parser.error(f"--units {','.join(unknown)}: choose from {', '.join(UNITS)}")
    only = [int(number) for number in options.only.split(",") if number]
    survived = 0
    for unit in units:
        faults = faults_of(unit, options.sites, options.seed)
        if options.list:
            for number, fault in enumerate(faults, 1):
                print(f"{unit} {number:3} {fault}")
            continue
        result = score(unit, faults, only, options.limit)
        survived += len(result.survivors)
        if not only:
            keep(unit, options.seed, result)
            if options.record:
                record(unit, result)
    return 1 if survived else 0


def keep(unit: str, seed: int, result: Score) -> None:
    """Puts a unit's score beside those of other units."""
    scores = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    scores[unit] = {"seed": seed, **asdict(result)}
    RESULTS.write_text(json.dumps(scores, indent=1) + "\n")


def record(unit: str, result: Score) -> None:
    """Writes a unit's row of the page's table."""
    heading = r"^(\| unit .*\n\|.*\n)((?:\|.*\n)*)"
    before, head, rows, after = re.split(heading, PAGE.read_text(), maxsplit=1, flags=re.M)
    by_unit = {row.split("|")[1].strip(): row for row in rows.splitlines(keepends=True)}
    figures = (unit, result.faults, result.caught, result.equivalent, len(result.survivors))
    by_unit[unit] = f"| {' | '.join(map(str, figures))} |\n"
    PAGE.write_text(before + head + "".join(by_unit[name] for name in UNITS if name in by_unit) + after)


if __name__ == "__main__":
    sys.exit(main())

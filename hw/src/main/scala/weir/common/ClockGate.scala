package weir.common
import spinal.core._
import spinal.lib._

/** The clock of units that stand still together.
  *
  * In a device it is the current clock. The cycle model leaves out its edges in cycles without `run`
  * (docs/modules/model.md), so the units must not change at an edge without `run`. `run` is a function of registers.
  * What ports stir, the model adds: `ingress` runs while a beat is shown, `front` while a register access is open.
  * The model, built with `--check`, finds a register for which that is not so.
  *
  * @param name   of the units; `packet_<unit>` is a clock that has an edge only when `packet` has one
  */
class ClockGate(name: String) extends Area {
  private val cell = new ClockGateCell
  cell.setName(s"${name}_gate")
  Clock.sync(cell.io.gated, ClockDomain.current.clock)

  /** `domain` with this clock */
  def apply(domain: ClockDomain): ClockDomain = domain.copy(clock = cell.io.gated)
  def runs(when: Bool): Unit = cell.io.run := when
}

object ClockGate {
  /** IsSuccessor in the same cycle what stirs the units, and lingers for what they do afterwards and do not tell.
    *
    * @param lingers cycles
    */
  def run(units: String, lingers: Int)(stirs: Bool*): Bool = {
    require(lingers >= 1)
    val stirred = stirs.reduceBalancedTree(_ || _)
    val left = Reg(UInt(log2Up(lingers + 1) bits)) init lingers
    left.setName(s"${units}_lingers")
    when(stirred)(left := lingers) elsewhen (left =/= 0)(left := left - 1)
    stirred || left =/= 0
  }
}

/** A wire from `clk` to `gated`; with `WEIR_CYCLE_MODEL` the model makes the edges of `gated`. */
private class ClockGateCell extends BlackBox {
  private val module = s"${GlobalData.get.phaseContext.config.globalPrefix}ClockGate"
  setDefinitionName(module)
  val io = new Bundle {
    val clk, run = in Bool ()
    val gated = out Bool ()
  }
  noIoPrefix()
  mapCurrentClockDomain(io.clk)
  setInlineVerilog(s"""// The clock of units that stand still together: `clk` itself, but in the cycle model, which makes the edges.
module $module (
  input  wire clk,
  input  wire run,
  output wire gated
);
`ifdef WEIR_CYCLE_MODEL
  reg  made /* verilator public_flat_rw */;
  wire runs /* verilator public_flat_rd */ = run;
  assign gated = made;
`else
  assign gated = clk;
`endif
endmodule
""")
}

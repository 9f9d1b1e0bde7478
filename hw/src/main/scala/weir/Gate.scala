package weir

import scala.collection.mutable.ArrayBuffer

import spinal.core._
import spinal.lib._

/** A clock for units that stand still together, in a core for the cycle model (`WeirConfig.gated`): port `clk_<units>` has the
  * edges of `clk` while `run_<units>` is high, and may leave out the others. A core for a device has one clock, and this is it.
  *
  * What has this clock must not change at an edge in a cycle without `run`. `run` is a function of registers, and follows what
  * stirs the units in the same cycle; it lingers for what they do afterwards and do not tell. What ports stir, the model adds: the clock `ingress`
  * runs while a beat is shown, `front` while a register access is open. The model, built with `--check`,
  * finds a register for which that is not so (docs/modules/model.md).
  *
  * @param lingers cycles
  */
class Gate(units: String, gated: Boolean, lingers: Int) extends Area {
  require(lingers >= 1)
  private val clk = gated generate (in Bool ())
  private val run = gated generate (out Bool ())
  if (gated) {
    clk.setName(s"clk_$units")
    run.setName(s"run_$units")
    Clock.sync(clk, ClockDomain.current.clock)
  }
  private val stirred = ArrayBuffer[Bool]()

  /** `domain` with this clock. */
  def apply(domain: ClockDomain): ClockDomain = if (gated) domain.copy(clock = clk) else domain

  /** Something that the units may react to, or are busy with. */
  def stir(causes: Bool*): Unit = stirred ++= causes

  /** The clock has its next edge: what the units show may be new after it. After `close`. */
  def runs: Bool = run

  /** After the last `stir`. */
  def close(): Unit = if (gated) {
    val stirs = stirred.toSeq.reduceBalancedTree(_ || _)
    val left = Reg(UInt(log2Up(lingers + 1) bits)) init lingers
    left.setName(s"${units}_lingers")
    when(stirs)(left := lingers) elsewhen (left =/= 0)(left := left - 1)
    run := stirs || left =/= 0
  }
}

package weir

import spinal.core._
import spinal.lib._

/** Lets a clock of [[Domains]] stand still, in a core for the cycle model (`WeirConfig.gated`).
  *
  * What has this clock must not change at an edge in a cycle without `run`. `run` is a function of registers. It
  * follows in the same cycle what stirs the units, and lingers for what they do afterwards and do not tell. What ports
  * stir, the model adds: the clock `ingress` runs while a beat is shown, `front` while a register access is open. The
  * model, built with `--check`, finds a register for which that is not so (docs/modules/model.md).
  *
  * @param lingers cycles
  */
object Gate {
  def apply(units: String, lingers: Int)(stirs: Bool*): Bool = {
    require(lingers >= 1)
    val stirred = stirs.reduceBalancedTree(_ || _)
    val left = Reg(UInt(log2Up(lingers + 1) bits)) init lingers
    left.setName(s"${units}_lingers")
    when(stirred)(left := lingers) elsewhen (left =/= 0)(left := left - 1)
    stirred || left =/= 0
  }
}

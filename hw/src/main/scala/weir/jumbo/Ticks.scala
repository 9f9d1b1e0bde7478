package weir.jumbo

import spinal.core._
import weir.WeirConfig
import weir.aqm.Multiply

/** A time in units of 2^tick ns, tick up to 16: a barrel shifter made of three multipliers.
  *
  * @param factor [[Ticks.factor]], with `enable`
  */
class Ticks(c: WeirConfig, time: UInt, factor: UInt, enable: Bool) extends Area {
  require(time.getWidth == c.timeWidth && c.timeWidth == 48)
  /** 16 bits each, times 2^(16 − tick) */
  private val products = for (low <- 0 until 48 by 16) yield Multiply(time(low, 16 bits), factor, enable)
  /** in the cycle after `enable` */
  val value: UInt = {
    val upper = products.map(_(31 downto 16))
    val lower = products.tail.map(_(15 downto 0)) :+ U(0, 16 bits)
    upper.zip(lower).map { case (high, low) => high | low }.reduceLeft((low, high) => high @@ low)
  }
}

object Ticks {
  /** 2^(16 − tick) */
  def factor(tick: UInt): UInt = B(for (n <- 0 to 16) yield tick === 16 - n).asUInt
}

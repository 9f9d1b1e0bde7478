package weir.aqm

import spinal.core._

/** A product of at most 18 × 18 bits with a register behind it, to be used in the cycle after `enable`: later it is something
  * else. The register has no clock enable, so it can be the one inside the FPGA's multiplier (scripts/ecp5.py); also not that
  * of a unit that rests, which it does with nothing under way.
  */
object Multiply {
  def apply(a: UInt, b: UInt, enable: Bool): UInt = {
    val product = Meaningful(enable)(a * b)
    ClockDomain.current.copy(clockEnable = null)(RegNext(product))
  }
}

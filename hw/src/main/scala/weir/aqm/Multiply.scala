package weir.aqm

import spinal.core._

/** A product of at most 18 × 18 bits with a register behind it, to be used in the cycle after `enable`: later it is something
  * else. The register has no clock enable, so it can be the one inside the FPGA's multiplier; also not that
  * of a unit that rests, which it does with nothing under way.
  */
object Multiply {
  def apply(a: UInt, b: UInt, enable: Bool): UInt = {
    val product = Meaningful(enable)(a * b)
    ClockDomain.current.copy(clockEnable = null)(RegNext(product))
  }
}

/** One multiplier for stages that are never at work in the same cycle: requests come four cycles apart or more, so two stages of a
  * pipeline less than four apart are not. Each use is one [[Multiply]], with a choice before the operands.
  */
class Multiplier extends Area {
  private val a, b = UInt(PartialProducts.limb bits)
  private val wanted = Bool()
  a.assignDontCare()
  b.assignDontCare()
  wanted := False
  private val product = Multiply(a, b, wanted)

  /** a·b of operands of at most 18 bits */
  def apply(x: UInt, y: UInt, enable: Bool): UInt = {
    require(x.getWidth <= a.getWidth && y.getWidth <= b.getWidth, s"operands of ${x.getWidth} and ${y.getWidth} bits")
    when(enable) {
      a := x.resized
      b := y.resized
      wanted := True
    }
    product.resize(x.getWidth + y.getWidth)
  }
}

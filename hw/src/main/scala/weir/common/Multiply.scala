package weir.common
import spinal.core._

/** A product of at most 18 × 18 bits with a register behind it. The register has no enable, so it can be the one inside
  * the FPGA's multiplier.
  */
object Multiply {
  def apply(a: UInt, b: UInt): UInt = RegNext(a * b)
}

/** One multiplier for stages that are never at work in the same cycle: requests come four cycles apart or more, so two
  * stages of a pipeline less than four apart are not. Each use is one [[Multiply]], with a choice before the operands.
  */
class Multiplier extends Area {
  private val a, b = UInt(PartialProducts.limb bits)
  a.assignDontCare()
  b.assignDontCare()
  private val product = Multiply(a, b)

  /** a·b of operands of at most 18 bits, in the cycle after `enable` */
  def apply(x: UInt, y: UInt, enable: Bool): UInt = {
    require(x.getWidth <= a.getWidth && y.getWidth <= b.getWidth, s"operands of ${x.getWidth} and ${y.getWidth} bits")
    when(enable) {
      a := x.resized
      b := y.resized
    }
    product.resize(x.getWidth + y.getWidth)
  }
}

object Multiplier {
  /** the products of `multipliers` in the cycle after `enable` */
  def at(enable: Bool, multipliers: Seq[Multiplier]): Seq[(UInt, UInt) => UInt] =
    multipliers.map(m => (x: UInt, y: UInt) => m(x, y, enable))
}

package weir.aqm

import spinal.core._

/** A product too wide for one multiplier of the FPGA, cut into products of 18 × 18 bits or less that are registered:
  * `a·b = Σ terms`. Latency of the terms: one cycle; their sum is the user's next stage. Give it registers as inputs.
  */
class PartialProducts(a: UInt, b: UInt) extends Area {
  private def limbs(x: UInt): Seq[(Int, UInt)] = (0 until x.getWidth by PartialProducts.limb).map { low =>
    low -> x(math.min(low + PartialProducts.limb, x.getWidth) - 1 downto low)
  }
  private val pairs = for ((i, x) <- limbs(a); (j, y) <- limbs(b)) yield (i + j, x * y)

  /** weight of each term: it counts `2^offset` times */
  val offsets: Seq[Int] = pairs.map(_._1)
  val terms: Seq[UInt] = pairs.map { case (_, p) => RegNext(p) }

  /** Σ terms, `width` bits of it */
  def sum(width: Int): UInt = PartialProducts.sum(terms.zip(offsets), width)
}

object PartialProducts {
  /** operand width of an ECP5 MULT18X18D */
  val limb = 18

  /** Σ term·2^offset, `width` bits of it */
  def sum(terms: Seq[(UInt, Int)], width: Int): UInt =
    terms.map { case (t, offset) => (t << offset).resize(width) }.reduce(_ + _)
}

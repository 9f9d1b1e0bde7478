package weir.common
import spinal.core._

/** A product too wide for one multiplier of the FPGA, cut into products of 18 × 18 bits or less that are registered:
  * `a·b = Σ term·2^offset`. Latency of the terms: one cycle; their sum is the user's next stage. The operands should come
  * from registers.
  *
  * @param multipliers for the products, in the order of `terms`: [[Multiplier.at]]; none: each has its own
  */
class PartialProducts(a: UInt, b: UInt, multipliers: Seq[(UInt, UInt) => UInt] = Nil) extends Area {
  private def limbs(x: UInt): Seq[(Int, UInt)] = (0 until x.getWidth by PartialProducts.limb).map { low =>
    low -> x(math.min(low + PartialProducts.limb, x.getWidth) - 1 downto low)
  }
  private val pairs = for ((i, x) <- limbs(a); (j, y) <- limbs(b)) yield (i + j, x, y)
  require(multipliers.isEmpty || multipliers.size == pairs.size, s"${pairs.size} products, ${multipliers.size} multipliers")

  val offsets: Seq[Int] = pairs.map(_._1)
  val terms: Seq[UInt] = pairs.zipWithIndex.map { case ((_, x, y), n) =>
    if (multipliers.isEmpty) Multiply(x, y) else multipliers(n)(x, y)
  }

  /** the terms with their offsets */
  def parts: Seq[(UInt, Int)] = terms zip offsets

  /** a·b, `width` bits of it */
  def sum(width: Int): UInt = CarrySave.sum(parts, width)
}

object PartialProducts {
  /** operand width of an ECP5 MULT18X18D */
  val limb = 18
}

package weir.aqm

import spinal.core._
import spinal.lib._

/** `min(value >> exponent, 2^bits − 1)` in one stage: the highest bits of the exponent first, so that no step is wider than
  * what is wanted of it.
  */
object ShiftSaturate {
  /** of the exponent: the last steps, beside which an overflow is found */
  private val fineBits = 4

  /** `bits` of `value >> exponent` */
  def shift(value: UInt, exponent: UInt, bits: Int): UInt = steps(value, exponent, exponent.getWidth - 1 to 0 by -1, bits)

  private def steps(value: UInt, exponent: UInt, of: Seq[Int], bits: Int): UInt =
    of.foldLeft(value.resize(bits + (1 << exponent.getWidth) - 1)) { (all, n) =>
      val wanted = bits + (1 << n) - 1
      Mux(exponent(n), all(wanted + (1 << n) - 1 downto 1 << n), all(wanted - 1 downto 0))
    }

  /** exponent ≤ limit, without a carry chain */
  private def atMost(exponent: UInt, limit: Int): Bool =
    (0 until exponent.getWidth).foldLeft(True: Bool) { (lower, b) =>
      if ((limit >> b & 1) == 1) !exponent(b) || lower else !exponent(b) && lower
    }

  /** whether a bit from `from` on is high */
  def above(value: UInt, from: Int): Bool = if (from < value.getWidth) value(value.getWidth - 1 downto from) =/= 0 else False

  /** Whether `value >> exponent` needs more than `bits`. */
  def overflow(value: UInt, exponent: UInt, bits: Int): Bool = {
    val coarse = exponent(exponent.getWidth - 1 downto fineBits)
    val near = steps(value, exponent, exponent.getWidth - 1 to fineBits by -1, bits)
    val left = near.getWidth - bits
    val far = Vec((0 until 1 << coarse.getWidth).map(n => above(value, near.getWidth + (n << fineBits))))
    far(coarse) || (0 until left).map(b => near(bits + b) && atMost(exponent(fineBits - 1 downto 0), b)).orR
  }

  def apply(value: UInt, exponent: UInt, bits: Int): UInt =
    Mux(overflow(value, exponent, bits), U(BigInt(2).pow(bits) - 1, bits bits), shift(value, exponent, bits))
}

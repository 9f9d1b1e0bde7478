package weir.aqm

import spinal.core._
import weir.csr.Scaled

/** `min((m·x) >> k, 2^bits − 1)` where m·2^-k is known a cycle before x: with k = 16·c + f, m is multiplied by 2^(15 − f), so that
  * of the product m·2^(15 − f)·x one of four places is the result. A multiplier takes the place of most of a shifter.
  */
object FineShift {
  private val fine = 4
  private val least = (1 << fine) - 1

  /** m·2^(15 − f), as with [[Multiply]] to be used in the cycle after `enable` */
  def apply(number: Scaled, enable: Bool): UInt = {
    val left = ~number.exponent(fine - 1 downto 0)
    Multiply(number.mantissa, U(1, 1 << fine bits) |<< left, enable).resize(number.mantissa.getWidth + least)
  }

  /** `bits` of `(m·x·2^ahead) >> k`, of the product with what `apply` gave */
  def result(product: UInt, exponent: UInt, bits: Int, ahead: Int = 0): UInt =
    place(exponent)(low => (product >> (low - ahead)).resize(bits))

  /** whether it needs more */
  def overflow(product: UInt, exponent: UInt, bits: Int, ahead: Int = 0): Bool =
    place(exponent)(low => ShiftSaturate.above(product, low - ahead + bits))

  def saturated(product: UInt, exponent: UInt, bits: Int): UInt =
    Mux(overflow(product, exponent, bits), U(BigInt(2).pow(bits) - 1, bits bits), result(product, exponent, bits))

  private def place[T <: Data](exponent: UInt)(at: Int => T): T = {
    val coarse = exponent(exponent.getWidth - 1 downto fine)
    Vec((0 until 1 << coarse.getWidth).map(c => at(least + (c << fine))))(coarse)
  }
}

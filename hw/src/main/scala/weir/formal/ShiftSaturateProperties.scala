package weir.formal

import spinal.core._
import spinal.core.formal._
import weir.aqm.{FineShift, ShiftSaturate}

/** `ShiftSaturate`, and `FineShift` of a value that came with its fine shift, are `min(value >> exponent, 2^bits − 1)`, for
  * every value and every exponent.
  *
  * @param width of the value
  * @param leak  the exponent of an overflow is one more
  */
class ShiftSaturateProperties(width: Int, bits: Int, leak: Boolean) extends Properties {
  val value = any(UInt(width bits))
  val exponent = any(UInt(6 bits))
  val result = ShiftSaturate.shift(value, exponent, bits)
  val overflow = ShiftSaturate.overflow(value, if (leak) exponent + 1 else exponent, bits)
  val product = value << ~exponent(3 downto 0)

  val exact = value >> exponent
  val fits = exact(width - 1 downto bits) === 0

  when(running) {
    assert(overflow === !fits)
    assert(FineShift.overflow(product, exponent, bits) === !fits)
    assert(result === exact(bits - 1 downto 0))
    assert(FineShift.result(product, exponent, bits) === exact(bits - 1 downto 0))
    cover(!fits && exponent === width - bits - 1)
    cover(fits && exponent === width - bits - 1 && result.andR)
    cover(exponent === 63 && result === 1)
  }
}

package weir.formal

import spinal.core._
import spinal.core.formal._
import spinal.lib._
import weir.aqm.ShiftSaturate

/** `ShiftSaturate` is `min(value >> exponent, 2^bits − 1)`, for every value and every exponent.
  *
  * @param width of the value
  * @param leak  the bit just above the result counts as below
  */
class ShiftSaturateProperties(width: Int, bits: Int, leak: Boolean) extends Properties {
  val value = any(UInt(width bits))
  val exponent = any(UInt(6 bits))
  val above = ShiftSaturate.above(width, exponent, bits)
  val result = ShiftSaturate(value, exponent, if (leak) above |<< 1 else above, bits)

  val exact = value >> exponent
  val fits = exact(width - 1 downto bits) === 0

  when(running) {
    assert(result === (fits ? exact(bits - 1 downto 0) | U(result.maxValue, bits bits)))
    assert(ShiftSaturate.overflow(value, above) === !fits)
    cover(!fits && exponent === width - bits - 1)
    cover(fits && exponent === width - bits - 1 && result.andR)
    cover(exponent === 63 && result === 1)
  }
}

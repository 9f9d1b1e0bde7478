package weir.formal
import spinal.core._
import spinal.core.formal._
import weir.common.ShiftSaturate

/** `ShiftSaturate` is `min(value >> exponent, 2^bits − 1)`, for every value and every exponent.
  *
  * @param width of the value
  * @param leak  the exponent of an overflow is one more
  */
class ShiftSaturateProperties(width: Int, bits: Int, leak: Boolean) extends Properties {
  val value = any(UInt(width bits))
  val exponent = any(UInt(6 bits))
  val result = ShiftSaturate.coarse(value, exponent, bits).result
  val overflow = ShiftSaturate.coarse(value, if (leak) exponent + 1 else exponent, bits).overflow
  val saturated = ShiftSaturate(value, exponent, bits)

  val exact = value >> exponent
  val fits = exact(width - 1 downto bits) === 0

  when(running) {
    assert(overflow === !fits)
    assert(result === exact(bits - 1 downto 0))
    assert(saturated === (fits ? exact(bits - 1 downto 0) | U((BigInt(1) << bits) - 1, bits bits)))
    cover(!fits && exponent === width - bits - 1)
    cover(fits && exponent === width - bits - 1 && result.andR)
    cover(exponent === ((width - 1) min 63) && result === 1)
  }
}

package weir.aqm

import spinal.core._

/** `min(value >> exponent, 2^bits − 1)` in one stage: the overflow is found beside the shift, not after it. */
object ShiftSaturate {
  /** Which bits of a value of `width` make `value >> exponent` pass `bits`. To be registered: the exponent is known before
    * the value.
    */
  def above(width: Int, exponent: UInt, bits: Int): Bits = {
    val mask = Bits(width bits)
    for (b <- 0 until width) {
      val limit = b - bits // bit b is above iff exponent <= limit
      if (limit < 0) mask(b) := False
      else if (limit >= (1 << exponent.getWidth) - 1) mask(b) := True
      else mask(b) := exponent <= limit
    }
    mask
  }

  def overflow(value: UInt, above: Bits): Bool = (value.asBits & above).orR

  /** @param above the mask of `above(value.getWidth, exponent, bits)` */
  def apply(value: UInt, exponent: UInt, above: Bits, bits: Int): UInt = {
    val shifted = (value >> exponent).resize(bits)
    shifted | overflow(value, above).asUInt(1 bit).asSInt.resize(bits).asUInt
  }
}

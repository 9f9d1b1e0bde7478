package weir.aqm

import spinal.core._

/** `value >> amount` of 36 bits, as a product by a power of two and a choice of steps of 16 places: two multipliers take
  * less room than six levels of choices.
  *
  * The result belongs to the cycle after `enable`, as with [[Multiply]].
  */
class ShiftRight(value: UInt, amount: UInt, enable: Bool) extends Area {
  require(value.getWidth == 36 && amount.getWidth == 6, s"a shift of ${value.getWidth} bits by ${amount.getWidth} bits")
  private val power = Vec((0 to 16).map(n => amount(3 downto 0) === (16 - n) % 16 && Bool(n > 0))).asBits.asUInt
  private val low = Multiply(value(17 downto 0), power, enable)
  private val high = Multiply(value(35 downto 18), power, enable)
  private val steps = RegNextWhen(amount(5 downto 4), enable)
  /** shifted by less than 16 places */
  private val fine = (high(33 downto 0) << 2) | (low >> 16).resize(36)
  val result: UInt = Vec((0 to 3).map(n => fine |>> (16 * n)))(steps)
}

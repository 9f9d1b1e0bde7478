package weir.common
import spinal.core._

/** `value >> amount` in two cycles: by less than 16 in that of `enable`, by multiples of 16 in the next, to which the result belongs. */
class ShiftRight(value: UInt, amount: UInt, enable: Bool) extends Area {
  require(amount.getWidth > 4, s"a shift by ${amount.getWidth} bits needs no second cycle")
  private val fine = RegNextWhen(value >> amount(3 downto 0), enable)
  private val multiple = RegNextWhen(amount(amount.getWidth - 1 downto 4), enable)
  val result: UInt = fine >> (multiple @@ U(0, 4 bits))
}

package weir.common
import spinal.core._
import spinal.lib._

/** `min(value >> exponent, 2^bits − 1)`: the highest bits of the exponent first, so that no step is wider than what is
  * wanted of it.
  */
object ShiftSaturate {
  /** of the exponent: the last steps, beside which an overflow is found */
  private val fineBits = 4

  /** A shift whose multiples of 16 are done, to `bits`. */
  class Coarse(shifted: UInt, lost: Seq[Bool], left: UInt, bits: Int) extends Area {
    /** still to go by `exponent` */
    val value = shifted
    /** a bit of each part of what `value` has lost is high */
    val above = lost
    val exponent = left
    def result: UInt = steps(value, exponent, bits)
    /** whether it needs more than `bits` */
    def overflow: Bool = above.foldLeft(False: Bool)(_ || _) || (0 until value.getWidth - bits).map(b => value(bits + b) && atMost(exponent, b)).orR
    /** all ones by an OR, not by a register's set: an overflow is found late */
    def saturated: UInt = result | U(bits bits, default -> overflow)
    /** the same a cycle later */
    def next(enable: Bool): Coarse =
      new Coarse(RegNextWhen(value, enable), above.map(RegNextWhen(_, enable)), RegNextWhen(exponent, enable), bits)
  }

  /** The first half of the steps, for a register behind it. */
  def coarse(value: UInt, exponent: UInt, bits: Int): Coarse = {
    val multiple = exponent(exponent.getWidth - 1 downto fineBits)
    val near = bits + (1 << fineBits) - 1
    val far = for (n <- 0 until 1 << multiple.getWidth; part <- above(value, near + (n << fineBits))) yield part && multiple === n
    new Coarse(steps(value, multiple, near, fineBits), far, exponent(fineBits - 1 downto 0), bits)
  }

  def apply(value: UInt, exponent: UInt, bits: Int): UInt = coarse(value, exponent, bits).saturated

  /** `bits` of `value >> (exponent << unit)` */
  private def steps(value: UInt, exponent: UInt, bits: Int, unit: Int = 0): UInt = {
    val most = ((1 << exponent.getWidth) - 1) << unit
    (exponent.getWidth - 1 to 0 by -1).foldLeft(value.resize(bits + most)) { (all, n) =>
      val by = 1 << (n + unit)
      val wanted = bits + by - (1 << unit)
      Mux(exponent(n), all(wanted + by - 1 downto by), all(wanted - 1 downto 0))
    }
  }

  /** exponent ≤ limit, without a carry chain */
  private def atMost(exponent: UInt, limit: Int): Bool =
    (0 until exponent.getWidth).foldLeft(True: Bool) { (lower, b) =>
      if ((limit >> b & 1) == 1) !exponent(b) || lower else !exponent(b) && lower
    }

  /** whether a bit from `from` on is high, two by two: each a LUT with a choice of two bits, where a sum comes late */
  private def above(value: UInt, from: Int): Seq[Bool] =
    (from until value.getWidth by 2).map(b => value((b + 1 min value.getWidth - 1) downto b) =/= 0)
}

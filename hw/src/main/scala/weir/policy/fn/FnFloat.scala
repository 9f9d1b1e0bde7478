package weir.policy.fn
import spinal.core._

/** A normalised value: `mantissa·2^(width − 18 − shift)`; bit 17 of the mantissa is set unless the value is 0. */
case class FnFloat() extends Bundle {
  val mantissa = UInt(18 bits)
  val shift = UInt(6 bits)
  def isZero: Bool = !mantissa.msb
}

/** A signed number `±mantissa·2^exponent`. */
case class FnSigned() extends Bundle {
  val negative = Bool()
  val mantissa = UInt(18 bits)
  val exponent = SInt(10 bits)
}

/** Shifts a value left until its top bit is set, and `companion` by as much, in three registered steps of 16, 4 and
  * 1 bits. Latency 3 cycles, one value a cycle. A value of 0 is shifted by 47.
  *
  * @param enables the steps load with these
  */
class FnNormaliser(value: UInt, companion: UInt, enables: Seq[Bool]) extends Area {
  private val width = value.getWidth

  /** How many groups of `size` bits at the top are 0, `most` at most. */
  private def zeros(v: UInt, size: Int, most: Int): UInt = {
    val count = UInt(2 bits)
    count := most
    for (n <- (0 until most).reverse) when(v(width - 1 - n * size downto width - (n + 1) * size) =/= 0)(count := n)
    count
  }
  /** The zeros that come in below are an AND's, not a register's reset: how many, comes late. */
  private def shifted(v: UInt, size: Int, most: Int, groups: UInt): UInt =
    (0 to most).map(n => (v |<< (n * size)).resize(v.getWidth) & U(v.getWidth bits, default -> (groups === n))).reduce(_ | _)

  private def step(v: UInt, other: UInt, size: Int, most: Int, enable: Bool): (UInt, UInt, UInt) = {
    val groups = zeros(v, size, most)
    (RegNextWhen(shifted(v, size, most, groups), enable), RegNextWhen(shifted(other, size, most, groups), enable),
      RegNextWhen(groups, enable))
  }

  private val (v1, c1, g1) = step(value, companion, 16, 2, enables(0))
  private val (v2, c2, g2) = step(v1, c1, 4, 3, enables(1))
  private val g12 = RegNextWhen(g1 @@ g2.getZero, enables(1))
  private val groups3 = zeros(v2, 1, 3)
  /** before the last register, for a user that adds to it */
  val lastValue: UInt = shifted(v2, 1, 3, groups3)
  val lastCompanion: UInt = shifted(c2, 1, 3, groups3)
  /** the value and the shift, after the last register */
  val result = Reg(FnFloat())
  when(enables(2)) {
    result.mantissa := lastValue(width - 1 downto width - 18)
    result.shift := (g12(3 downto 2) @@ g2 @@ groups3)
  }
}

/** 2^35/m for a mantissa of 2^17 to 2^18 − 1 out of 1024 entries, relative error up to 2^-11. */
object FnReciprocal {
  def entry(i: Int): Int = {
    val middle = BigInt((1 << 17) + (i << 7) + (1 << 6))
    (((BigInt(1) << 36) + middle) / (middle * 2)).toInt
  }

  def rom(): Mem[UInt] = Mem(UInt(18 bits), (0 until 1024).map(i => U(entry(i), 18 bits)))

  /** Address from a register; the result is registered twice. */
  def read(rom: Mem[UInt], mantissa: UInt, enable: Bool, next: Bool): UInt =
    RegNextWhen(rom.readSync(mantissa(16 downto 7), enable), next)
}

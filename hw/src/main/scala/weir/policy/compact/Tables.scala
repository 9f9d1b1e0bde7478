package weir.policy.compact

import weir.policy.red.Exp2Rom

/** The tables of the engine's memory. A shift is a product with a power of two: there is no shifter but `acc >> 18`. */
object Tables {
  private def two(n: Int): BigInt = BigInt(1) << n

  /** 2^(36-i); the index is i - 40 modulo 64, what `Index.High` leaves of (i - 40)·2^9. */
  val power: Table = Table("power", 1, (0 until 64).map { n =>
    val i = (n + 40) % 64
    if (i <= 36) two(36 - i) else BigInt(0)
  })

  /** For `value·mantissa >> exponent` as `(value·mantissa·2^(18-b)) >> 18(a+1)`, with exponent = 18a + b: limbs 0 and 1
    * are 2^(18-b), limb 2 has bit n set if a > n.
    */
  val scale: Table = Table("scale", 2, (0 until 64).map { exponent =>
    two(18 - exponent % 18) + two(36) * (two(exponent / 18) - 1)
  })

  /** The same, 0 for exponents of 54 and more: a product of 54 bits leaves nothing then. */
  val narrow: Table = Table("narrow", 3, scale.entries.zipWithIndex.map { case (entry, exponent) =>
    if (exponent < 54) entry else BigInt(0)
  })

  /** 2^(36 - f/512), f the index */
  val exp2: Table = Table("exp2", Table.large, Exp2Rom.table)
}

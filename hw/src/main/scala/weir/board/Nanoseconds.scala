package weir.board
import spinal.core._
import weir.WeirConfig

/** `now_ns` from the clock: 0 at reset, and after n cycles n · 10^9 / clockHz, rounded down. */
class Nanoseconds(c: WeirConfig) extends Area {
  private val second = 1000000000
  private val common = BigInt(second).gcd(c.clockHz)
  private val (over, parts) = ((BigInt(second % c.clockHz) / common).toInt, (c.clockHz / common).toInt)
  val now = Reg(c.time) init 0
  /** parts of a nanosecond */
  private val more = if (over == 0) False else {
    val rest = Reg(UInt(log2Up(parts) bits)) init 0
    val sum = rest +^ U(over, widthOf(rest) bits)
    val carry = sum >= parts
    rest := (carry ? (sum - parts) | sum).resized
    carry
  }
  now := now + second / c.clockHz + more.asUInt
}

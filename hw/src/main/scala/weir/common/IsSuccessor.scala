package weir.common
import spinal.core._

/** `b` is `a + 1`, modulo 2^width, found without a carry: if it is, bit n of both tells what is carried into it, and out of it. */
object IsSuccessor {
  def apply(a: UInt, b: UInt): Bool = {
    val carries = (a & ~b) |<< 1
    (a ^ b ^ carries) === 1
  }
}

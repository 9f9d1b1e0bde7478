package weir.policy.red
import spinal.core._

/** `T(f) = min(round(2^(−f/512)·2^36), 2^36 − 1)` for f = 0…511.
  *
  * Latency: two cycles (the read and an output register). Throughput: one a cycle. One block RAM of 512 × 36.
  */
case class Exp2Rom() extends Component {
  val io = new Bundle {
    val fraction = in(UInt(9 bits))
    val value = out(UInt(36 bits))
  }
  noIoPrefix()

  /** A case statement rather than a memory with a file of contents: tools infer the block RAM from it, too. */
  val read = Reg(UInt(36 bits))
  switch(io.fraction) {
    for ((value, f) <- Exp2Rom.table.zipWithIndex)
      if (f < Exp2Rom.size - 1) is(f)(read := value) else default(read := value)
  }
  val output = RegNext(read)
  io.value := output
}

object Exp2Rom {
  val size = 512
  private val one = BigInt(1) << 36

  /** Correctly rounded with integers only: the largest T with `T − 1/2 ≤ 2^(36 − f/512)`, which is
    * `(2T − 1)^512 ≤ 2^(37·512 − f)`. (A tie is impossible: for f > 0 the value is irrational.)
    */
  private def entry(f: Int): BigInt = {
    val bound = BigInt(1) << (37 * size - f)
    def fits(t: BigInt) = (2 * t - 1).pow(size) <= bound
    var low = BigInt(1) // fits
    var high = one + 1 // does not fit
    while (high - low > 1) {
      val middle = (low + high) / 2
      if (fits(middle)) low = middle else high = middle
    }
    low min (one - 1)
  }

  lazy val table: Seq[BigInt] = (0 until size).map(entry)
}

package weir.policy.codel
import spinal.core._

/** `round(2^18/√(a/256))`, at most `2^18 − 1`, for a = 256…1023: `1/√m` for m = a/256 in [1, 4).
  *
  * Latency: two cycles (the read and an output register); `enable` with the address. One block RAM of 1024 × 18.
  */
case class InverseSqrtRom() extends Component {
  val io = new Bundle {
    val enable = in Bool ()
    val address = in(UInt(10 bits))
    val value = out(UInt(18 bits))
  }
  noIoPrefix()

  /** A case statement rather than a memory with a file of contents: tools infer the block RAM from it, too. */
  val read = Reg(UInt(18 bits))
  when(io.enable) {
    switch(io.address) {
      for ((value, a) <- InverseSqrtRom.table.zipWithIndex)
        if (a < InverseSqrtRom.table.size - 1) is(a)(read := value) else default(read := value)
    }
  }
  val output = RegNextWhen(read, RegNext(io.enable) init False)
  io.value := output
}

object InverseSqrtRom {
  /** Correctly rounded with integers only: the largest V with `(V − 1/2)²·a ≤ 2^44`. Addresses below 256 are not used. */
  private def entry(a: Int): BigInt = {
    val bound = BigInt(1) << 46
    def fits(v: BigInt) = (2 * v - 1).pow(2) * a <= bound
    var (low, high) = (BigInt(1), BigInt(1) << 19) // low fits, high does not
    while (high - low > 1) {
      val middle = (low + high) / 2
      if (fits(middle)) low = middle else high = middle
    }
    low min ((BigInt(1) << 18) - 1)
  }

  lazy val table: Seq[BigInt] = Seq.fill(256)(BigInt(0)) ++ (256 until 1024).map(entry)
}

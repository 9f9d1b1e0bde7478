package weir.csr

import spinal.core._
import weir.WeirConfig

/** A trace record: 12 words of 32 bits, word 0 in the lowest bits (docs/modules/trace.md). */
object TraceRecord {
  val words = 12
  val width: Int = 32 * words
  val kindArrival = 0
  val kindDeparture = 1
  val kindTick = 2
}

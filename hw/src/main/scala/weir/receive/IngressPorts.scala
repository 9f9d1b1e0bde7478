package weir.receive
import spinal.core._
import weir.WeirConfig

/** What [[Ingress]] needs of the core's configuration; any cycle may change it. */
case class IngressConfig(c: WeirConfig) extends Bundle {
  /** bytes; more than 9216 counts as 9216 */
  val maxFrame = c.length
  val defaultQueue = c.queueId
  val dscpQueue = Vec(c.queueId, 64)
}

/** 16 bytes of a frame, its first byte in bits 7:0. */
case class IngressWord(c: WeirConfig) extends Bundle {
  /** bytes beyond the frame's length are undefined */
  val data = Bits(c.wordWidth bits)
  /** first word of a frame */
  val first = Bool()
  /** place of the word in its cell: from 0 on in each frame, one after the other, as CellWriter counts on */
  val index = UInt(log2Up(c.wordsPerCell) bits)
  /** last word of the frame: `end` is valid in the same cycle */
  val last = Bool()
}

/** How a frame ended. */
case class IngressEnd(c: WeirConfig) extends Bundle {
  /** [[weir.control.counters.FrameEnd]]: good, bad, runt or oversize */
  val kind = UInt(3 bits)
  val meta = FrameMeta(c)
  /** all bytes that arrived, saturating */
  val bytes = UInt(24 bits)
}

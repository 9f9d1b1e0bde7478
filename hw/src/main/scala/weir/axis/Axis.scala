package weir.axis
import spinal.core._
import spinal.lib._

/** One beat of an AXI4-Stream of Ethernet frames: first byte in bits 7:0, no preamble, no FCS.
  *
  * @param width bits of `tdata`
  */
case class AxisBeat(width: Int) extends Bundle {
  val tdata = Bits(width bits)
  val tkeep = Bits(width / 8 bits)
  val tlast = Bool()
  /** bit 0 on the last beat: the frame is bad */
  val tuser = Bits(1 bits)
}

object Axis {
  /** Gives a stream's signals the names of the AXI4-Stream standard: `<prefix>_tvalid`, `<prefix>_tdata`, … */
  def name(stream: Stream[AxisBeat], prefix: String): Unit = {
    stream.valid.setName(s"${prefix}_tvalid")
    stream.ready.setName(s"${prefix}_tready")
    stream.tdata.setName(s"${prefix}_tdata")
    stream.tkeep.setName(s"${prefix}_tkeep")
    stream.tlast.setName(s"${prefix}_tlast")
    stream.tuser.setName(s"${prefix}_tuser")
  }
}

package weir.board.pcie
import spinal.core._
import spinal.lib._

/** A beat of the completer's streams of Xilinx's Gen3 block, 64 bits wide (PG023): `tkeep` is of dwords. */
case class PcieBeat(userWidth: Int) extends Bundle {
  val tdata = Bits(64 bits)
  val tkeep = Bits(2 bits)
  val tlast = Bool()
  val tuser = Bits(userWidth bits)
}

object PcieBeat {
  /** completer request and completer completion */
  val requestUser = 85
  val completionUser = 33

  def name(stream: Stream[PcieBeat], prefix: String): Unit = {
    for ((signal, field) <- Seq(stream.tdata -> "tdata", stream.tkeep -> "tkeep", stream.tlast -> "tlast", stream.tuser -> "tuser"))
      signal.setName(s"${prefix}_$field")
    stream.valid.setName(s"${prefix}_tvalid")
    stream.ready.setName(s"${prefix}_tready")
  }
}

/** Request types and completion states in the block's descriptors (PG023, PCI Express base specification 2.2). */
object PcieRequest {
  val read = 0
  val write = 1
  val readLocked = 7
  /** this and above: messages, which want no completion */
  val firstMessage = 12
  val successful = 0
  val unsupported = 1
}

package weir.board.pcie
import spinal.core._
import spinal.lib._

/** One access to a word of a register space of 2^addressWidth bytes. Held until a cycle with `ready`, in which `rdata` is valid. */
case class WordAccess(addressWidth: Int) extends Bundle with IMasterSlave {
  val valid = Bool()
  val write = Bool()
  /** byte address / 4 */
  val address = UInt(addressWidth - 2 bits)
  val strobe = Bits(4 bits)
  val wdata = Bits(32 bits)
  val ready = Bool()
  val rdata = Bits(32 bits)

  override def asMaster(): Unit = {
    out(valid, write, address, strobe, wdata)
    in(ready, rdata)
  }
}

object WordAccess {
  /** What a read gives where nobody answers, as on PCI. */
  val nobody: BigInt = BigInt(0xFFFFFFFFL)
}

package weir.control.registers
import spinal.core._
import spinal.lib._

/** AXI4-Lite with 32 data bits, signals named as in the standard. */
case class AxiLitePort(addressWidth: Int) extends Bundle with IMasterSlave {
  val awaddr = UInt(addressWidth bits)
  val awprot = Bits(3 bits)
  val awvalid, awready = Bool()
  val wdata = Bits(32 bits)
  val wstrb = Bits(4 bits)
  val wvalid, wready = Bool()
  val bresp = Bits(2 bits)
  val bvalid, bready = Bool()
  val araddr = UInt(addressWidth bits)
  val arprot = Bits(3 bits)
  val arvalid, arready = Bool()
  val rdata = Bits(32 bits)
  val rresp = Bits(2 bits)
  val rvalid, rready = Bool()

  override def asMaster(): Unit = {
    out(awaddr, awprot, awvalid, wdata, wstrb, wvalid, bready, araddr, arprot, arvalid, rready)
    in(awready, wready, bresp, bvalid, arready, rdata, rresp, rvalid)
  }
}

object AxiLitePort {
  val okay = 0
  val slvErr = 2
}

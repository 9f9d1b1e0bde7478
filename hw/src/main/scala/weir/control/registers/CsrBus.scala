package weir.control.registers
import spinal.core._
import spinal.lib._

/** The register bus inside the core: one access at a time. The master holds `valid` and the request (`wdata` in writes) until a
  * cycle with `ready`; `rdata` and `error` are valid in that cycle. Word addresses are byte addresses / 4.
  */
case class CsrBus(addressWidth: Int) extends Bundle with IMasterSlave {
  val valid = Bool()
  val write = Bool()
  val address = UInt(addressWidth bits)
  val wdata = Bits(32 bits)
  val ready = Bool()
  val rdata = Bits(32 bits)
  val error = Bool()

  override def asMaster(): Unit = {
    out(valid, write, address, wdata)
    in(ready, rdata, error)
  }
}

package weir.control.registers
import spinal.core._
import spinal.lib._
import weir.WeirConfig

/** [[AxiLiteFront]] and [[RegisterFile]]: everything between the host's bus and the core. The response to an access
  * stands 7 cycles after the handshake of its request (of the later of AW and W).
  */
case class CsrUnit(c: WeirConfig) extends Component {
  val io = new RegisterPorts(c) {
    val csr = slave(AxiLitePort(RegisterMap.addressWidth))
  }
  noIoPrefix()

  val front = AxiLiteFront()
  val registers = RegisterFile(c)
  front.io.csr <> io.csr
  front.io.bus <> registers.io.bus

  private val inner = registers.io.elements.toMap
  for ((name, outer) <- io.elements if name != "csr" && name != "busy")
    for ((port, register) <- outer.flatten.zip(inner(name).flatten))
      if (port.isInput) register := port else port := register
  io.busy := front.io.busy || registers.io.busy
}

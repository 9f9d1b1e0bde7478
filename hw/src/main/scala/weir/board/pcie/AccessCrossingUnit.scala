package weir.board.pcie
import spinal.core._
import spinal.lib._
import weir.control.registers.AxiLitePort
import weir.mac.MacClocks

/** [[AccessCrossing]] by itself, with the bus's clock and reset as ports. */
class AccessCrossingUnit(addressWidth: Int, patienceWidth: Int) extends Component {
  val bus_clk, bus_rst = in Bool ()
  val access = slave(WordAccess(addressWidth))
  val axi = master(AxiLitePort(addressWidth))
  val crossing = new AccessCrossing(addressWidth, patienceWidth, MacClocks.domain(bus_clk, bus_rst))
  crossing.access <> access
  axi <> crossing.axi
}

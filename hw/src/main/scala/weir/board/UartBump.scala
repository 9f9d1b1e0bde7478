package weir.board
import spinal.core._
import spinal.lib._
import weir.WeirConfig
import weir.axis.AxisBeat
import weir.board.uart.{UartBridge, UartConfig, UartPins}

/** A [[BumpInTheWire]] whose cores' registers are reached over one serial line: core n is core n of the register protocol.
  */
class UartBump(c: WeirConfig, baud: Int) extends Component {
  val io = new Bundle {
    val rx = Vec(slave(Stream(AxisBeat(c.dataWidth))), 2)
    val tx = Vec(master(Stream(AxisBeat(c.dataWidth))), 2)
    val uart = UartPins()
    val bypass = in Bool ()
  }
  noIoPrefix()

  val bump = new BumpInTheWire(c)
  val bridge = new UartBridge(UartConfig(c.clockHz, baud, cores = 2))
  bridge.uart.rxd := io.uart.rxd
  io.uart.txd := bridge.uart.txd
  bump.io.bypass := io.bypass
  bump.io.up.foreach(_ := True)
  for (n <- 0 until 2) {
    bump.io.rx(n) << io.rx(n)
    io.tx(n) << bump.io.tx(n)
    bump.io.csr(n) <> bridge.axi(n)
  }
}
